//! What the editor says: replies, answers over HTTP, and what its journal knows.

use holdfast::protocol::dialect::{
    AnswerBody, CallProgress, Credentials, Dialect, EditorAnswer, EncodeError, Expected, Greeted, Hello, Inbound,
    JobProgress, JournalKey, JournalOutcome, ListStep, Met, Order, Refusal, Reply, Secret, Sending, WireId, Wreck,
    WreckPart,
};
use holdfast_fake_unity::observer::{Answered, Fate};
use holdfast_fake_unity::{Identity, Shape, Task};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::recorded::reply_to;
use super::sides::{
    NUMBER, SEPARATOR, Sides, call_id, check_loggable, check_words, fields, json, number_of, raw, says, some,
};

/// The calls that a response may be an answer to. The first one is sent without its arguments.
const ANSWERED: [Task; 5] = [Task::Echo, Task::Echo, Task::Look, Task::Compile, Task::Fail];
/// How the gateway says that it takes a refusal for proof.
const NOTHING_RAN: &str = "Nothing of the call ran";

/// Decodes the body of a frame.
pub(super) fn decode(sides: &Sides, body: &[u8]) {
    let (dialect, wire) = (sides.dialect, &sides.package.wire);
    let message = json(body);
    let inbound = dialect.decode(body);
    if let Some(reply) = dialect.read_unnamed(body) {
        let Reply::Error(error) = reply else { panic!("only errors may lack their id") };
        check_words(&error.message);
        assert!(!matches!(inbound, Ok(Inbound::Reply { .. })), "it names its request");
        if let Some(message) = &message {
            assert!(message.get("id").is_none_or(Value::is_null));
            let all_named = sides.facts().shape != Shape::Stream { names_calls: false, names_all: false };
            assert!(!all_named || (wire.is_unrun)(message), "what was read is answered by its name");
        }
    }
    // The dialect reads each member by itself, so it accepts a message with a member that `Value` cannot hold (a lone surrogate,
    // a number out of range). Such a message cannot be checked here.
    let (Ok(inbound), Some(message)) = (inbound, message) else { return };
    assert!(message.is_object() || matches!(inbound, Inbound::Next(_)), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            assert_eq!(own_number(sides, &message), Some(number), "only our own spelling is ours: {message}");
            check_reply(sides, reply, body, &message);
        }
        Inbound::Next(reply) => {
            assert!(sides.facts().unnumbered, "replies have a name");
            check_reply(sides, reply, body, &message);
        }
        Inbound::Progress(progress) => check_progress(sides, &progress, &message),
        Inbound::Alive(_) => assert!((wire.answered)(&message).is_none(), "it answers a request: {message}"),
        Inbound::Event(event) => {
            assert!(sides.speaks_unasked(), "this package says nothing unasked: {event:?}");
            assert!((wire.says)(&message).is_some(), "it answers a request: {message}");
        }
        Inbound::Unmatched { what } => check_loggable(&what),
    }
}

/// Returns the number in the id of a reply, if the id is spelt as this package's are.
fn own_number(sides: &Sides, message: &Value) -> Option<u64> {
    match sides.facts().shape {
        Shape::Stream { names_calls: true, .. } => message.get("id")?.as_str()?.rsplit('.').next()?.parse().ok(),
        Shape::Stream { names_calls: false, .. } => {
            let id = message.get("id")?;
            id.as_u64().or_else(|| number_of(id.as_str()?))
        }
        Shape::ConnectionEach => None,
    }
}

fn check_progress(sides: &Sides, progress: &CallProgress, message: &Value) {
    assert!(sides.facts().progress, "this protocol has no {progress:?}");
    assert!(message.get("method").is_some_and(Value::is_string));
    assert!(progress.done.is_finite() && progress.done >= 0.0);
    assert!(progress.total.is_none_or(|total| total.is_finite() && total >= 0.0));
    assert!(progress.message.as_ref().is_none_or(|message| !message.contains(char::is_control)));
    let params = message.get("params").unwrap_or(&Value::Null);
    assert!(says(params, &progress.call.to_string()), "progress of a call that it does not name");
}

/// Checks a reply, read as a greeting, as a sign of life, and as an answer to a call.
fn check_reply(sides: &Sides, reply: Reply, body: &[u8], message: &Value) {
    let (dialect, wire) = (sides.dialect, &sides.package.wire);
    let said = [reply];
    check_greeted(sides, &Hello::default(), &said);
    let [reply] = said;
    if let Some(heartbeat) = dialect.read_heartbeat(&reply) {
        assert!(sides.facts().heartbeat);
        let age = u64::try_from(heartbeat.frame_age.as_millis()).ok();
        assert!(some(message, &|value| value.as_u64() == age), "the age that was told");
    }
    if let Some(told) = dialect.read_main_thread(&reply) {
        assert!((sides.facts().main_thread_question)(sides.package.newest()).is_some() && told.inferred);
    }
    if let Some(JobProgress { done, total, message }) = dialect.read_job_progress(&reply) {
        assert!(done.is_finite() && done >= 0.0 && total.is_none_or(|total| total.is_finite() && total > 0.0));
        assert!(message.is_none_or(|message| !message.contains(char::is_control)));
    }
    let mut refusal = None;
    match &reply {
        Reply::Wreck(wreck) => return check_wreck(dialect, wreck),
        Reply::Result(_) => {}
        Reply::Error(error) => {
            check_words(&error.message);
            assert_eq!(error.refusal.is_some(), (wire.is_unrun)(message), "a refusal is a proof, and no guess");
            refusal = error.refusal.as_ref().map(|refused| refused.how);
        }
    }
    let answered = (wire.answered)(message).expect("the observer sees a reply too");
    assert_eq!(matches!(&reply, Reply::Result(_)), answered.is_result);
    let EditorAnswer { is_error, body: answer } = dialect.read_answer(reply);
    assert!(is_error || answered.is_result && !answered.failed, "a failure is told as one");
    match &answer {
        AnswerBody::Text(text) => {
            check_words(text);
            let denies = text.trim_end_matches('.').ends_with(NOTHING_RAN);
            let proven = refusal.is_some_and(|how| how != Refusal::Double);
            assert!(!denies || proven || message.to_string().contains(NOTHING_RAN), "{text}");
        }
        AnswerBody::Json(said) | AnswerBody::JsonAndBlocks(said, _) => check_result(said, &answered, body, message),
        AnswerBody::Wreck(left) => check_words(&left.says),
        AnswerBody::Blocks(blocks) => {
            assert!(answered.is_result && blocks.iter().all(|block| stands_in(block.get(), body, message)));
        }
    }
}

/// Checks that a result is what the tool returned, without a byte touched.
fn check_result(said: &RawValue, answered: &Answered, body: &[u8], message: &Value) {
    assert!(answered.is_result, "an error became {said}");
    let value: Option<Value> = serde_json::from_str(said.get()).ok();
    assert!(value.is_none_or(|value| value == answered.result), "{said} is not what the tool returned");
    let is_nothing = answered.result.is_null() && said.get() == "null";
    assert!(is_nothing || stands_in(said.get(), body, message), "no byte of a result is touched");
}

/// Whether a text stands in a message, or in one of its members that are texts.
fn stands_in(text: &str, body: &[u8], message: &Value) -> bool {
    let within = |value: &Value| value.as_str().is_some_and(|whole| whole.contains(text));
    holds(body, text.as_bytes()) || message.as_object().is_some_and(|members| members.values().any(within))
}

fn holds(whole: &[u8], part: &[u8]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

/// Checks the answer to a call from a reply that cannot be read: it says so, and is no success unless the editor has said one.
fn check_wreck(dialect: &dyn Dialect, wreck: &Wreck) {
    let answer = dialect.read_answer(Reply::Wreck(wreck.clone()));
    assert!(wreck.part == WreckPart::Result || answer.is_error, "{wreck:?} is no success");
    match answer.body {
        AnswerBody::Wreck(left) => check_words(&left.says),
        AnswerBody::JsonAndBlocks(json, _) => assert!(String::from_utf8_lossy(&wreck.bytes).contains(json.get())),
        other => panic!("{wreck:?} became {other:?}"),
    }
}

/// Returns the results of the recorded greeting, alone and in a row.
pub(super) fn greetings(sides: &Sides) -> Vec<Vec<u8>> {
    let said = &sides.recorded().greeting;
    said.iter().cloned().chain([said.join(&SEPARATOR)]).collect()
}

/// Checks the replies to the messages of the greeting, each a field of the input. A peer that does not know the secret must not
/// pass where both sides prove that they know it.
pub(super) fn greeting(sides: &Sides, input: &[u8]) {
    let replies: [&[u8]; 3] = fields(input);
    let hello = &sides.recorded().hello;
    let mut said = Vec::new();
    for reply in replies.into_iter().map_while(raw) {
        said.push(Reply::Result(reply));
        let met = check_greeted(sides, hello, &said);
        if sides.facts().identity != Identity::Proven {
            continue;
        }
        let is_refused = |hello: &Hello| sides.dialect.check_greeting(hello, &said).is_err();
        assert!(is_refused(&Hello { expected: None, ..hello.clone() }), "without a secret nobody is greeted");
        match met {
            None => {}
            Some(Greeted::Done(met)) => assert!(said.len() > 1, "greeted before it proved anything: {met:?}"),
            Some(Greeted::NotYet) => {
                let Some(Expected::Proven(known)) = &hello.expected else { panic!("the files have no secret") };
                let stranger = Credentials { token: Secret::new("0".repeat(64)), ..known.clone() };
                let other = Hello { expected: Some(Expected::Proven(stranger)), ..hello.clone() };
                assert!(is_refused(&other), "the proof holds for any token");
                let fresh = Hello { challenge: "f".repeat(32), ..hello.clone() };
                assert!(is_refused(&fresh), "the proof holds for any challenge");
            }
        }
    }
}

/// Checks what the replies so far are taken for; `None` if they are refused.
fn check_greeted(sides: &Sides, hello: &Hello, said: &[Reply]) -> Option<Greeted> {
    let greeted = sides.dialect.check_greeting(hello, said);
    match &greeted {
        Err(why) => check_words(&why.to_string()),
        Ok(Greeted::NotYet) => {
            let next = |said: &[Reply]| sides.encode(None, &Order::Greeting { hello, said }).ok();
            let before = &said[..said.len().saturating_sub(1)];
            assert!(next(said).is_some() && next(said) != next(before), "there is nothing more to say");
        }
        Ok(Greeted::Done(Met { journal, .. })) => {
            let facts = sides.facts();
            assert_eq!(journal.is_some(), facts.journal || facts.jobs || facts.keeps_results);
        }
    }
    greeted.ok()
}

/// Returns the recorded responses, each as the answer to every call.
pub(super) fn answers(sides: &Sides) -> Vec<Vec<u8>> {
    let all = sides.recorded().responses.iter();
    all.flat_map(|body| (0..ANSWERED.len()).map(|nth| [&b"xxxx"[..nth], b"200", body].join(&SEPARATOR))).collect()
}

/// Reads a response. The fields of the input: what was asked (chosen by the length of the field), the status, the body.
pub(super) fn answer(sides: &Sides, input: &[u8]) {
    let [asked, status, body]: [&[u8]; 3] = fields(input);
    let status = std::str::from_utf8(status).ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let order = Order::Greeting { hello: &Hello::default(), said: &[] };
    let said = [reply_to(sides.dialect, WireId { number: NUMBER, call: None, agreed: None }, &order, status, body)];
    let greeted = check_greeted(sides, &Hello::default(), &said).is_some();
    match sides.dialect.read_tools(&said[0], 0) {
        ListStep::Tools(listing) => {
            let is_told = !sides.facts().fixed_list || greeted && !listing.tools.is_empty();
            assert!(is_told, "tools without a greeting");
        }
        ListStep::Failed(why) => check_words(&why),
        ListStep::TryNext => {}
    }
    let nth = asked.len() % ANSWERED.len();
    let call = sides.package.calls(ANSWERED[nth], "text");
    let arguments = if nth == 0 { "{}".to_owned() } else { call.arguments.to_string() };
    let arguments = RawValue::from_string(arguments).expect("JSON");
    let prepared = sides.dialect.prepare_call(&Sending::first(call_id(), true), call.tool, None, &arguments);
    let order = Order::Call { tool: call.tool, call: &prepared, expected: None, progress: false };
    let id = WireId { number: NUMBER, call: Some(call_id()), agreed: None };
    if sides.dialect.encode(id, &order) == Err(EncodeError::NotSpoken) {
        return;
    }
    let EditorAnswer { is_error, body } = sides.dialect.read_answer(reply_to(sides.dialect, id, &order, status, body));
    assert!(status == 200 || is_error, "{status} is no success: {body:?}");
    match &body {
        AnswerBody::Text(text) => check_words(text),
        AnswerBody::Json(said) => {
            let own = serde_json::from_str(said.get()).ok().filter(|_| !sides.facts().results);
            assert!(own.is_none_or(|said| says(&said, &call_id().to_string())), "an answer bears the id of its call");
        }
        AnswerBody::Wreck(left) if sides.speaks_json() => check_words(&left.says),
        other => panic!("{other:?}"),
    }
}

/// Checks the answer to a question for outcomes. It may be accepted only if it has exactly the calls that were asked for, in
/// the same order.
pub(super) fn outcomes(sides: &Sides, result: &[u8]) {
    let (Some(raw), Some(value)) = (raw(result), json(result)) else { return };
    let told = (sides.package.wire.outcomes)(&value);
    let journal = told.journal.clone().unwrap_or_default();
    let key = |id: &str| JournalKey { journal: journal.clone(), id: id.to_owned(), seq: 1 };
    let asked: Vec<JournalKey> = told.calls.iter().map(|(id, _)| key(id)).collect();
    let read = |asked: &[JournalKey]| sides.dialect.read_outcomes(Reply::Result(raw.clone()), asked);
    match read(&asked) {
        Err(why) => check_words(&why.to_string()),
        Ok(outcomes) => {
            assert_eq!(outcomes.len(), asked.len());
            for (outcome, (id, fate)) in outcomes.iter().zip(&told.calls) {
                let read = match outcome {
                    JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_) => Some(Fate::Ended),
                    JournalOutcome::GivenUp => Some(Fate::GivenUp),
                    JournalOutcome::Running => Some(Fate::Running),
                    JournalOutcome::NotRun { .. } => Some(Fate::NotRun),
                    JournalOutcome::Interrupted => Some(Fate::Interrupted),
                    JournalOutcome::Forgotten => Some(Fate::Forgotten),
                    JournalOutcome::Unreadable | JournalOutcome::NotYet => continue,
                };
                assert_eq!(read, *fate, "{id:?} became {outcome:?}");
            }
        }
    }
    let facts = sides.facts();
    if !facts.journal && !facts.jobs {
        // Where the editor is asked for one call, its answer need not name it: it has the number of the question.
        return assert!(read(&[key("one"), key("two")]).is_err(), "an answer to fewer");
    }
    let more: Vec<JournalKey> = asked.iter().cloned().chain([key("one more")]).collect();
    assert!(read(&more).is_err(), "an answer to fewer");
    let is_refused = |change: &dyn Fn(&mut JournalKey)| {
        let mut others = asked.clone();
        others.iter_mut().for_each(change);
        others.is_empty() || read(&others).is_err()
    };
    assert!(is_refused(&|key| key.id.push('.')), "an answer about other calls");
    let of_another_journal = is_refused(&|key| key.journal.push('.'));
    assert!(told.journal.is_none() || of_another_journal, "an answer of another journal");
}
