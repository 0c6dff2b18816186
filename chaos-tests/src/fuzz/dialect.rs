//! The harness of every dialect: what its codec reads and writes, for any bytes from an editor, its push socket or its project's
//! files. The codec is held against the observer and the facts of its simulated package, which share no code with it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use holdfast::limits::{JSON_DEPTH_MAX, LOG_FIELD_MAX_BYTES, TOOL_TIMEOUT_MAX, TOOLS_MAX};
use holdfast::protocol::dialect::{
    self, Annotations, AnswerBody, BadOutcomes, CallProgress, Credentials, Dialect, EditorAnswer, EditorTool,
    EncodeError, Expected, FileState, Greeted, Hello, Inbound, JournalKey, JournalOutcome, ListStep, Met, Order,
    PreparedCall, ProjectFacts, ProjectFiles, Recovery, Refusal, Reply, Secret, Sending, Transport, Unreadable, WireId,
    Wreck, WreckPart,
};
use holdfast::protocol::ids::CallId;
use holdfast::protocol::jsonrpc;
use holdfast_fake_unity::observer::{self, Answered, Asked, Fate};
use holdfast_fake_unity::{Facts, Identity, Package, Port, Shape, Task};
use serde_json::Value;
use serde_json::value::RawValue;

use super::recorded::{self, PUSH_TOKEN, Recorded, TASKS, reply_to, wire_bytes};
use super::{SEPARATOR, fields};

/// Number of the messages in the targets.
const NUMBER: u64 = 9;
/// More list methods than a package has.
const LIST_METHODS: usize = 4;
/// The calls that a response may be an answer to. The first one is sent without its arguments.
const ANSWERED: [Task; 5] = [Task::Echo, Task::Echo, Task::Look, Task::Compile, Task::Fail];
/// How the gateway says that it takes a refusal for proof.
const NOTHING_RAN: &str = "Nothing of the call ran";

/// A package from its two sides.
pub struct Sides {
    /// The gateway's.
    dialect: &'static dyn Dialect,
    /// The simulated editor's.
    package: &'static Package,
    recorded: OnceLock<Recorded>,
}

/// What is fuzzed of a dialect.
pub struct Kind {
    /// The second part of the targets' names.
    pub name: &'static str,
    /// Panics if the dialect breaks a promise on these bytes.
    pub run: fn(&Sides, &[u8]),
    /// Returns the inputs to begin from, beside the corpus.
    pub seeds: fn(&Sides) -> Vec<Vec<u8>>,
    /// Whether the dialect has it.
    pub is_of: fn(&Sides) -> bool,
    /// As in [`Target`](super::Target).
    pub rounds: u32,
    /// As in [`Target`](super::Target).
    pub max_bytes: usize,
}

/// Everything that is fuzzed of a dialect.
pub static KINDS: [Kind; 9] = [
    Kind {
        name: "decode",
        run: decode,
        seeds: |sides| sides.recorded().frames.clone(),
        is_of: |_| true,
        rounds: 15_000,
        max_bytes: 4096,
    },
    Kind {
        name: "greeting",
        run: greeting,
        seeds: |sides| {
            let said = &sides.recorded().greeting;
            said.iter().cloned().chain([said.join(&SEPARATOR)]).collect()
        },
        is_of: Sides::is_stream,
        rounds: 5_000,
        max_bytes: 2048,
    },
    Kind {
        name: "answer",
        run: answer,
        seeds: |sides| {
            let of = |body: &Vec<u8>| {
                (0..ANSWERED.len()).map(|nth| [&b"xxxxx"[..nth], b"200", body].join(&SEPARATOR)).collect::<Vec<_>>()
            };
            sides.recorded().responses.iter().flat_map(of).collect()
        },
        is_of: |sides| !sides.is_stream(),
        rounds: 5_000,
        max_bytes: 4096,
    },
    Kind {
        name: "outcomes",
        run: outcomes,
        seeds: |sides| sides.recorded().results.clone(),
        is_of: Sides::has_journal,
        rounds: 10_000,
        max_bytes: 4096,
    },
    Kind {
        name: "tools",
        run: tools,
        seeds: |sides| sides.recorded().results.iter().flat_map(|result| shortened(result)).collect(),
        is_of: Sides::is_stream,
        rounds: 5_000,
        max_bytes: 8192,
    },
    Kind {
        name: "project",
        run: project,
        seeds: |sides| vec![sides.recorded().files.join(&SEPARATOR)],
        is_of: |_| true,
        rounds: 10_000,
        max_bytes: 4096,
    },
    Kind {
        name: "push",
        run: push,
        seeds: |sides| sides.recorded().pushed.clone(),
        is_of: |sides| sides.dialect.properties().push,
        rounds: 20_000,
        max_bytes: 2048,
    },
    Kind {
        name: "result_file",
        run: result_file,
        seeds: |sides| sides.recorded().result_file.iter().cloned().collect(),
        is_of: |sides| sides.dialect.read_result_file(b"{}").is_some(),
        rounds: 20_000,
        max_bytes: 4096,
    },
    Kind { name: "call", run: call, seeds: calls, is_of: |_| true, rounds: 5_000, max_bytes: 8192 },
];

/// Returns every dialect of the gateway's list with its simulated package.
pub fn all() -> impl Iterator<Item = Sides> {
    dialect::ALL.iter().map(|dialect| Sides {
        dialect: *dialect,
        package: Package::named(dialect.name()).unwrap_or_else(|| panic!("{} has no simulated editor", dialect.name())),
        recorded: OnceLock::new(),
    })
}

impl Sides {
    /// The first part of the targets' names.
    pub fn name(&self) -> String {
        self.package.name.replace('-', "_")
    }

    fn recorded(&self) -> &Recorded {
        self.recorded.get_or_init(|| recorded::of(self.dialect, self.package))
    }

    fn facts(&self) -> &'static Facts {
        &self.package.facts
    }

    fn is_stream(&self) -> bool {
        self.dialect.properties().transport == Transport::Stream
    }

    fn has_journal(&self) -> bool {
        let unspoken = self.dialect.read_outcomes(Reply::Wreck(Wreck::of_message(b"")), &[]);
        unspoken.is_ok() || !matches!(unspoken, Err(BadOutcomes::NotSpoken))
    }

    /// Whether the editor may say something that nobody asked for.
    fn speaks_unasked(&self) -> bool {
        let announces = || self.facts().versions.iter().any(|version| (self.facts().announces)(*version));
        self.facts().tells_of_changes || announces()
    }

    fn encode(&self, call: Option<CallId>, order: &Order<'_>) -> Result<Vec<u8>, EncodeError> {
        wire_bytes(self.dialect, self.recorded().hello.editor_port, WireId { number: NUMBER, call }, order)
    }
}

fn call_id() -> CallId {
    CallId::from_random([7; 16])
}

fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).ok()
}

fn raw(text: &[u8]) -> Option<Box<RawValue>> {
    RawValue::from_string(std::str::from_utf8(text).ok()?.to_owned()).ok()
}

/// Reads a JSON object that may be part of a message: nested one level less than a message may be. Returns `None` for
/// anything else.
fn object(text: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let within = jsonrpc::depth_ok(text.as_bytes(), JSON_DEPTH_MAX - 1);
    if within && text.starts_with('{') { RawValue::from_string(text.to_owned()).ok() } else { None }
}

fn check_words(text: &str) {
    assert!(!text.trim().is_empty(), "a sentence says something");
}

fn check_loggable(what: &str) {
    check_words(what);
    assert!(what.len() <= LOG_FIELD_MAX_BYTES && !what.contains(char::is_control), "{what:?} is fit for a log");
}

/// Whether this holds for some value in a message, at any depth.
fn some(value: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    let within = match value {
        Value::Array(items) => items.iter().any(|item| some(item, is)),
        Value::Object(members) => members.values().any(|member| some(member, is)),
        _ => false,
    };
    within || is(value)
}

/// Whether a text begins so at some place in a message.
fn says(message: &Value, begins: &str) -> bool {
    some(message, &|value| value.as_str().is_some_and(|text| text.starts_with(begins)))
}

// ---- What the editor says -----------------------------------------------------------------------------------------------

/// Decodes the body of a frame.
fn decode(sides: &Sides, body: &[u8]) {
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
    assert!(message.is_object(), "a message is an object");
    match inbound {
        Inbound::Reply { number, reply } => {
            assert_eq!(own_number(sides, &message), Some(number), "only our own spelling is ours: {message}");
            check_reply(sides, reply, body, &message);
        }
        Inbound::Progress(progress) => check_progress(sides, &progress, &message),
        Inbound::Event(event) => {
            assert!(sides.speaks_unasked(), "this package says nothing unasked: {event:?}");
            assert!(message.get("method").is_some_and(Value::is_string));
        }
        Inbound::Unmatched { what } => check_loggable(&what),
    }
}

/// Returns the number in the id of a reply, if the id is spelt as this package's are.
fn own_number(sides: &Sides, message: &Value) -> Option<u64> {
    match sides.facts().shape {
        Shape::Stream { names_calls: true, .. } => message.get("id")?.as_str()?.rsplit('.').next()?.parse().ok(),
        Shape::Stream { names_calls: false, .. } => message.get("id")?.as_u64(),
        Shape::ConnectionEach => message.get("number")?.as_u64(),
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
    if !sides.is_stream() {
        let body = dialect.read_answer(reply).body;
        assert!(matches!(body, AnswerBody::Json(_) | AnswerBody::Text(_)), "{body:?}");
        return;
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

// ---- The greeting -------------------------------------------------------------------------------------------------------

/// Checks the replies to the messages of the greeting, each a field of the input. A peer that does not know the secret must not
/// pass where both sides prove that they know it.
fn greeting(sides: &Sides, input: &[u8]) {
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
        Ok(Greeted::Done(Met { journal, .. })) => assert_eq!(journal.is_some(), sides.facts().journal),
    }
    greeted.ok()
}

// ---- Over HTTP ----------------------------------------------------------------------------------------------------------

/// Reads a response. The fields of the input: what was asked (chosen by the length of the field), the status, the body.
fn answer(sides: &Sides, input: &[u8]) {
    let [asked, status, body]: [&[u8]; 3] = fields(input);
    let status = std::str::from_utf8(status).ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let order = Order::Greeting { hello: &Hello::default(), said: &[] };
    let said = [reply_to(sides.dialect, WireId { number: NUMBER, call: None }, &order, status, body)];
    let greeted = check_greeted(sides, &Hello::default(), &said).is_some();
    match sides.dialect.read_tools(&said[0], 0) {
        ListStep::Tools(listing) => assert!(greeted && !listing.tools.is_empty(), "tools without a greeting"),
        ListStep::Failed(why) => check_words(&why),
        ListStep::TryNext => {}
    }
    let nth = asked.len() % ANSWERED.len();
    let call = sides.package.calls(ANSWERED[nth], "text");
    let arguments = if nth == 0 { "{}".to_owned() } else { call.arguments.to_string() };
    let arguments = RawValue::from_string(arguments).expect("JSON");
    let prepared = sides.dialect.prepare_call(&Sending::first(call_id(), true), call.tool, None, &arguments);
    let order = Order::Call { tool: call.tool, call: &prepared, expected: None, progress: false };
    let id = WireId { number: NUMBER, call: Some(call_id()) };
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
        other => panic!("{other:?}"),
    }
}

// ---- What became of calls -----------------------------------------------------------------------------------------------

/// Checks the answer to a question for outcomes. It may be accepted only if it has exactly the calls that were asked for, in
/// the same order.
fn outcomes(sides: &Sides, result: &[u8]) {
    let (Some(raw), Some(value)) = (raw(result), json(result)) else { return };
    let told = (sides.package.wire.outcomes)(&value);
    let key = |id: &str| JournalKey { journal: told.journal.clone(), id: id.to_owned(), seq: 1 };
    let asked: Vec<JournalKey> = told.calls.iter().map(|(id, _)| key(id)).collect();
    let read = |asked: &[JournalKey]| sides.dialect.read_outcomes(Reply::Result(raw.clone()), asked);
    match read(&asked) {
        Err(why) => check_words(&why.to_string()),
        Ok(outcomes) => {
            assert_eq!(outcomes.len(), asked.len());
            for (outcome, (id, fate)) in outcomes.iter().zip(&told.calls) {
                let read = match outcome {
                    JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_) => Some(Fate::Ended),
                    JournalOutcome::Running => Some(Fate::Running),
                    JournalOutcome::NotRun { .. } => Some(Fate::NotRun),
                    JournalOutcome::Interrupted => Some(Fate::Interrupted),
                    JournalOutcome::Forgotten => Some(Fate::Forgotten),
                    JournalOutcome::Unreadable => continue,
                };
                assert_eq!(read, *fate, "{id:?} became {outcome:?}");
            }
        }
    }
    let more: Vec<JournalKey> = asked.iter().cloned().chain([key("one more")]).collect();
    assert!(read(&more).is_err(), "an answer to fewer");
    let other = |key: &JournalKey| JournalKey { journal: format!("{}.", key.journal), ..key.clone() };
    let others: Vec<JournalKey> = asked.iter().map(other).collect();
    assert!(asked.is_empty() || read(&others).is_err(), "an answer of another journal");
}

// ---- Tools --------------------------------------------------------------------------------------------------------------

/// Reads a tool list, as if it were the reply to each of the list methods in turn: as it is, and as a text in a reply.
fn tools(sides: &Sides, result: &[u8]) {
    let text = std::str::from_utf8(result).ok().map(|text| Value::from(text).to_string());
    for result in [raw(result), text.and_then(|text| RawValue::from_string(text).ok())].into_iter().flatten() {
        for step in 0..LIST_METHODS {
            check_tools(sides, &result, step);
        }
    }
}

/// Checks a tool list: every entry is either in the list or named as dropped, and every tool in the list can be offered.
fn check_tools(sides: &Sides, result: &RawValue, step: usize) {
    let ListStep::Tools(listing) = sides.dialect.read_tools(&Reply::Result(result.to_owned()), step) else { return };
    assert!(listing.tools.len() <= TOOLS_MAX);
    let names: BTreeSet<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), listing.tools.len(), "no name twice");
    for (name, reason) in &listing.dropped {
        assert!(!name.is_empty());
        check_words(reason);
    }
    if let Some(value) = json(result.get().as_bytes()) {
        let entries = (sides.package.wire.listed)(&value);
        // A text in a reply need not be JSON as a whole.
        assert!(entries.is_some() || value.is_string(), "the observer sees a list too");
        let read = listing.tools.len() + listing.dropped.len();
        let is_all = |entries: usize| entries > TOOLS_MAX || read == entries;
        assert!(entries.is_none_or(is_all), "{read} of {entries:?} entries: one vanished");
    }
    listing.tools.iter().for_each(|tool| check_tool(tool));
}

fn check_tool(tool: &EditorTool) {
    assert!(!tool.name.trim().is_empty() && !tool.annotations.title.is_empty());
    check_words(&tool.description);
    assert_eq!(tool.input_schema.parsed().get("type"), Some(&Value::from("object")));
    assert!(tool.input_schema.parsed().get("properties").is_none_or(Value::is_object));
    assert!(!tool.repeatable || tool.annotations.read_only_hint || tool.annotations.idempotent_hint);
    // The catalogue on disk must restore the same tool.
    let kept = serde_json::to_string(tool).expect("a tool is JSON");
    assert_eq!(serde_json::from_str::<EditorTool>(&kept).ok().as_ref(), Some(tool));
}

/// Returns a list with two entries of each array, so that it is no longer than inputs are, and also the text that it may be.
fn shortened(result: &[u8]) -> Vec<Vec<u8>> {
    fn short(value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().take(2).map(short).collect(),
            Value::Object(members) => members.into_iter().map(|(name, member)| (name, short(member))).collect(),
            other => other,
        }
    }
    let Some(value) = json(result) else { return Vec::new() };
    let text = value.as_str().and_then(|text| json(text.as_bytes()));
    [Some(value), text].into_iter().flatten().map(|value| short(value).to_string().into_bytes()).collect()
}

// ---- The project's files ------------------------------------------------------------------------------------------------

/// Reads a project's files; each field of the input is the content of one file. An empty field means that the file does not
/// exist, `?` that it cannot be read.
fn project(sides: &Sides, input: &[u8]) {
    let contents: [&[u8]; 10] = fields(input);
    let wanted = sides.dialect.project_files();
    let state = |content: &[u8], whole: bool| match (content, whole) {
        (b"", _) => FileState::Missing,
        (b"?", _) => FileState::Unreadable(Unreadable::Denied("Permission denied".to_owned())),
        (_, false) => FileState::Present,
        (content, true) => FileState::Content(content.to_vec()),
    };
    let files: ProjectFiles =
        wanted.iter().zip(contents).map(|(file, content)| (file.path, state(content, file.content))).collect();
    let facts = sides.dialect.read_project(&files);
    facts.problems.iter().for_each(|problem| check_words(problem));
    assert!(facts.port.is_none_or(|(port, file)| port > 0 && files.contains_key(file)));
    assert!(facts.editor_pid != Some(0));
    // A package that is installed in a version that the dialect does not speak must be named in a problem.
    assert!(facts.package_version.is_none() || facts.installed || !facts.problems.is_empty());
    if files.values().all(|state| *state == FileState::Missing) {
        assert_eq!(facts, ProjectFacts::default());
    }
    if let Some((_, file)) = facts.port {
        assert_eq!(sides.facts().port.file().map(|(path, _)| path), Some(file), "the port is in another file");
        assert!(
            !matches!(sides.facts().port, Port::Record(..)) || facts.editor_pid.is_some(),
            "a port is its process's"
        );
    }
    check_expected(sides, &facts);
}

/// Checks that the editor is expected to be known as this package's editors are.
fn check_expected(sides: &Sides, facts: &ProjectFacts) {
    match (&facts.expected, sides.facts().identity) {
        (None, _) => {}
        (Some(Expected::Told { project_root, server_session_id }), Identity::WithEachCall) => {
            assert!(!project_root.trim().is_empty() && !server_session_id.trim().is_empty());
        }
        (Some(Expected::Proven(known)), Identity::Proven) => {
            assert!(!known.project.is_empty() && known.pid > 0);
            assert!(!known.nonce.is_empty() && known.token.reveal().len() >= 32, "a secret can be guessed");
            assert!(!format!("{facts:?}").contains(known.token.reveal()), "the token is in no log");
        }
        (Some(_), identity) => panic!("{identity:?} is how this package is known"),
    }
}

// ---- Push messages ------------------------------------------------------------------------------------------------------

/// Decodes a line of the push socket. Where the package proves itself, a line without our token must be refused.
fn push(sides: &Sides, line: &[u8]) {
    let decode = |line: &[u8], token: &str| sides.dialect.decode_push(line, &Secret::new(token));
    let (said, message) = (decode(line, PUSH_TOKEN), json(line));
    assert!(said.is_err() || message.as_ref().is_none_or(Value::is_object), "a hint is an object");
    let Ok(event) = said else { return };
    if !line.starts_with(b"\xEF\xBB\xBF") {
        let padded = [b" ", line, b"\r"].concat();
        assert_eq!(decode(&padded, PUSH_TOKEN).ok(), Some(event), "space around a line says nothing");
    }
    if sides.facts().identity == Identity::Proven {
        assert!(message.as_ref().is_none_or(|message| says(message, PUSH_TOKEN)), "it does not bear our token");
        assert!(decode(line, "another").is_err(), "any token will do");
    }
    if let (Some(number), Some(message)) = (sides.dialect.push_sequence(line), &message) {
        assert!(some(message, &|value| value.as_u64() == Some(number)), "its number is the one that stands there");
    }
}

// ---- Result files -------------------------------------------------------------------------------------------------------

/// Reads the result file of a compilation: `None` until the file is complete, and then what the editor wrote.
fn result_file(sides: &Sides, bytes: &[u8]) {
    let Some(reply) = sides.dialect.read_result_file(bytes) else {
        assert!(!json(bytes).is_some_and(|value| value.is_object()), "a whole object is a result");
        return;
    };
    let Reply::Result(result) = reply else { panic!("a file is a result: {reply:?}") };
    assert!(result.get().starts_with('{'));
    let text = std::str::from_utf8(bytes).expect("a result is text");
    if !text.contains(result.get()) {
        let (left, whole) = (json(result.get().as_bytes()).expect("JSON"), json(bytes).expect("an object"));
        for (name, value) in left.as_object().expect("an object") {
            assert_eq!(whole.get(name), Some(value), "what is left is not touched");
        }
    }
    // A shorter part of the file, as the editor may have written it so far, must never be accepted as complete.
    let end = text.trim_end().len();
    for cut in (0..end).rev().take(64) {
        assert!(sides.dialect.read_result_file(&bytes[..cut]).is_none(), "whole after {cut} of {end} bytes");
    }
}

// ---- Calls --------------------------------------------------------------------------------------------------------------

/// Returns the calls of the recorded session, each with the schema of its tool.
fn calls(sides: &Sides) -> Vec<Vec<u8>> {
    let of = |task| {
        let call = sides.package.calls(task, "text");
        let tool = sides.recorded().tools.iter().find(|tool| tool.name == call.tool);
        let schema = tool.map(|tool| Value::from(tool.input_schema.parsed()).to_string()).unwrap_or_default();
        [call.tool, &call.arguments.to_string(), &schema, "/project"].map(str::as_bytes).join(&SEPARATOR)
    };
    TASKS.map(of).to_vec()
}

/// Encodes a call. The fields of the input: tool name, arguments, the tool's schema, the root of the project that the call is
/// meant for.
fn call(sides: &Sides, input: &[u8]) {
    let [name, arguments, schema, expected]: [&[u8]; 4] = fields(input);
    let name = String::from_utf8_lossy(name);
    let Some(arguments) = object(arguments) else { return };
    let tool = tool(&name, schema);
    let expected = (!expected.is_empty()).then(|| Expected::Told {
        project_root: String::from_utf8_lossy(expected).into_owned(),
        server_session_id: "s".to_owned(),
    });
    let journal = sides.facts().journal.then_some("j");
    let mut ids = BTreeSet::new();
    for (nth, project_known) in [(1, false), (1, true), (2, true), (3, true)] {
        let seq = NUMBER + u64::from(nth);
        let sending = Sending { nth, seq, journal, ..Sending::first(call_id(), project_known) };
        let prepared = sides.dialect.prepare_call(&sending, &name, tool.as_ref(), &arguments);
        check_prepared(sides, &sending, &name, &prepared, &arguments);
        if let Recovery::Journal(key) = &prepared.recovery {
            ids.insert(key.id.clone());
        }
        check_encoded(sides, &name, &prepared, expected.as_ref());
    }
    assert_eq!(ids.len(), if journal.is_some() { 3 } else { 0 }, "each sending has an id of its own");
}

/// Makes a tool with this schema and no other information. Returns `None` if the schema is not one.
fn tool(name: &str, schema: &[u8]) -> Option<EditorTool> {
    serde_json::from_slice(schema).ok().map(|input_schema| EditorTool {
        name: name.to_owned(),
        description: "d".to_owned(),
        input_schema,
        annotations: Annotations {
            title: "t".to_owned(),
            read_only_hint: false,
            destructive_hint: true,
            idempotent_hint: false,
            open_world_hint: true,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        group: None,
        other_names: Vec::new(),
    })
}

/// Checks what a call is prepared to.
fn check_prepared(sides: &Sides, sending: &Sending<'_>, name: &str, prepared: &PreparedCall, given: &RawValue) {
    let facts = sides.facts();
    assert!(prepared.timeout.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    assert!(prepared.limit.is_none_or(|limit| limit <= TOOL_TIMEOUT_MAX));
    let compile = sides.package.calls(Task::Compile, "");
    let compiles = name == compile.tool;
    assert!(!prepared.reload_follows || compiles, "no reload follows {name:?}");
    let asks_it = compiles && json(given.get().as_bytes()) == Some(compile.arguments);
    // An editor with a journal announces its reloads, and answers again after them.
    assert!(!asks_it || prepared.reload_follows || facts.journal, "a reload follows");
    let file = match &prepared.recovery {
        Recovery::None => {
            assert!(!(facts.journal || asks_it && facts.compile_tells), "nothing would tell of {name:?}");
            None
        }
        Recovery::Journal(key) => {
            assert_eq!((Some(key.journal.as_str()), key.seq), (sending.journal, sending.seq));
            let id = call_id().to_string();
            assert!(key.id == id || sending.nth > 1 && key.id.starts_with(&id), "{key:?} is not of its call");
            None
        }
        Recovery::Inferred => {
            assert!(compiles && facts.compile_tells, "{name:?} ends in no reload");
            None
        }
        Recovery::ResultFile { path, .. } => {
            assert!(compiles && facts.compile_file && sending.project_known, "{name:?} leaves no file");
            let (folder, file) = path.rsplit_once('/').expect("a folder");
            assert!(folder.split('/').all(|part| !part.is_empty() && part != ".."), "{path} leads elsewhere");
            let id = file.strip_suffix(".json").unwrap_or(file);
            assert!(!id.is_empty() && !id.contains(['/', '\\', '.', ':']), "{path} leads elsewhere");
            Some(id)
        }
    };
    let sent = json(prepared.arguments.get().as_bytes());
    if let Some(id) = file {
        let told = |sent: &Value| some(sent, &|value| value.as_str() == Some(id));
        assert!(sent.as_ref().is_none_or(told), "the editor is told the file's name");
    } else if !facts.adds_arguments {
        assert_eq!(prepared.arguments.get(), given.get(), "no byte of the arguments is touched");
    }
    check_kept(given, sent.as_ref(), file);
}

/// Checks that every argument of the caller is sent unchanged, except one that names the file of the result.
fn check_kept(given: &RawValue, sent: Option<&Value>, file: Option<&str>) {
    let (Ok(Value::Object(given)), Some(Value::Object(sent))) = (serde_json::from_str(given.get()), sent) else {
        return;
    };
    let names_file = |name: &str| {
        let mut alike = sent.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        file.is_some() && alike.any(|(_, value)| value.as_str() == file)
    };
    for (key, value) in &given {
        assert!(sent.get(key) == Some(value) || names_file(key), "the argument {key:?} is lost");
    }
}

/// Checks every message that may be sent for a call: the editor must read in it what was meant, and the gateway must not take it
/// for an editor's.
fn check_encoded(sides: &Sides, tool: &str, prepared: &PreparedCall, expected: Option<&Expected>) {
    let recorded = &sides.recorded().hello;
    let hello = Hello { client_name: tool.to_owned(), push_endpoint: Some(tool.to_owned()), ..recorded.clone() };
    let key = match &prepared.recovery {
        Recovery::Journal(key) => key.clone(),
        _ => JournalKey { journal: "j".to_owned(), id: call_id().to_string(), seq: NUMBER },
    };
    let keys = [key.clone(), key.clone()];
    let call = |expected| Order::Call { tool, call: prepared, expected, progress: true };
    check_call(sides, tool, prepared, &call(expected));
    if expected.is_some() {
        let differs = sides.encode(Some(call_id()), &call(expected)) != sides.encode(Some(call_id()), &call(None));
        let is_told = sides.facts().identity == Identity::WithEachCall;
        assert_eq!(differs, is_told, "whether this editor is told who it should be");
    }
    let (_, methods) = sides.facts().greeting;
    let others = [
        (Order::Greeting { hello: &hello, said: &[] }, true),
        (Order::ListTools { step: tool.len() % LIST_METHODS, development: expected.is_some() }, true),
        (Order::Outcomes(&keys), sides.facts().journal),
        (Order::Heartbeat, sides.facts().heartbeat),
        (Order::Cancel(&key), sides.facts().withdraws),
    ];
    for (order, is_spoken) in &others {
        match sides.encode(Some(call_id()), order) {
            Err(EncodeError::NotSpoken) => assert!(!is_spoken, "this editor knows {order:?}"),
            Ok(bytes) => {
                let asked = check_bytes(sides, &bytes);
                assert!(!asked.is_call && asked.sending.is_none(), "{order:?} is no call");
                let id = if matches!(order, Order::Cancel(_)) { String::new() } else { id_text(sides) };
                assert_eq!(asked.id, id, "{order:?}");
                let is_greeting = methods.is_empty() || methods.contains(&asked.method.as_str());
                assert!(!matches!(order, Order::Greeting { .. }) || is_greeting, "{} is no greeting", asked.method);
            }
            Err(other) => check_too_large(sides, &other),
        }
    }
}

fn check_call(sides: &Sides, tool: &str, prepared: &PreparedCall, order: &Order<'_>) {
    let bytes = match sides.encode(Some(call_id()), order) {
        Ok(bytes) => bytes,
        // Tools that the package's own server answered are not the editor's.
        Err(EncodeError::NotSpoken) => return assert!(sides.facts().fixed_list, "a call is not spoken"),
        Err(other) => return check_too_large(sides, &other),
    };
    let asked = check_bytes(sides, &bytes);
    if !sides.is_stream() && !asked.is_call {
        // There is nothing to execute in it.
        return;
    }
    let sent_as = sides.facts().sent_as.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, other)| other);
    // A message adds levels to what its arguments have.
    let is_flat = jsonrpc::depth_ok(prepared.arguments.get().as_bytes(), JSON_DEPTH_MAX - 4);
    let arguments: Option<Value> = serde_json::from_str(prepared.arguments.get()).ok().filter(|_| is_flat);
    let message = observer::message(&bytes);
    // A message whose arguments have members that `Value` cannot hold (lone surrogates) is sent as it is, and cannot be
    // checked here.
    if sides.is_stream() && message.is_null() {
        return assert!(arguments.is_none(), "our own message is not JSON");
    }
    assert_eq!(asked.method, sent_as);
    let journal = if let Recovery::Journal(key) = &prepared.recovery { Some(key.id.clone()) } else { None };
    assert_eq!(asked.sending, journal, "the id in the journal");
    assert_eq!(asked.id, id_text(sides));
    if let (Some(arguments), true) = (arguments, sides.is_stream()) {
        assert_eq!((sides.package.wire.arguments)(&message), arguments, "the editor reads other arguments");
    }
}

/// Returns the id of a message as this package spells it.
fn id_text(sides: &Sides) -> String {
    match sides.facts().shape {
        Shape::Stream { names_calls: true, .. } => format!("{}.{NUMBER}", call_id()),
        Shape::Stream { names_calls: false, .. } => NUMBER.to_string(),
        Shape::ConnectionEach => String::new(),
    }
}

/// Checks that these bytes are exactly one message, within the editor's limit, and not one that the gateway takes for an editor's.
/// Returns what they ask.
fn check_bytes(sides: &Sides, bytes: &[u8]) -> Asked {
    let length = |bytes: &[u8]| (sides.package.wire.length)(bytes);
    assert_eq!(length(bytes), Ok(Some(bytes.len())), "one message and no byte more");
    assert_eq!(length(&bytes[..bytes.len() - 1]), Ok(None), "it is whole before its end");
    let asked = (sides.package.wire.asked)(bytes, &observer::message(bytes));
    if !sides.is_stream() {
        let head = String::from_utf8_lossy(bytes);
        let head: Vec<&str> = head.split("\r\n").take_while(|line| !line.is_empty()).collect();
        assert_eq!(head.iter().filter(|line| line.starts_with("Content-Length: ")).count(), 1, "{head:?}");
        assert_eq!(head.first().map(|first| first.split(' ').count()), Some(3), "{head:?}");
        return asked;
    }
    assert!(bytes.len() <= sides.facts().request_max_bytes, "it is more than the editor takes");
    let mut framer = sides.dialect.framer();
    framer.push(bytes);
    let body = framer.next_frame().expect("our own frame is one").expect("and whole");
    assert!(framer.at_boundary(), "one frame and no byte more");
    let echo = sides.dialect.decode(&body);
    let is_nobodys = matches!(echo, Ok(Inbound::Unmatched { .. }));
    assert!(echo.is_err() || asked.id.is_empty() && is_nobodys, "our own message is no editor's: {echo:?}");
    asked
}

/// Checks that a message was not sent because it is more than the editor takes.
fn check_too_large(sides: &Sides, error: &EncodeError) {
    let EncodeError::TooLarge { bytes, max } = error else { panic!("{error:?}") };
    assert!(bytes > max && *max == sides.facts().request_max_bytes, "{error:?}");
    // Inputs are short, so only a limit that is short too can be passed.
    assert!(*bytes < 1 << 18, "a small message fits: {error:?}");
}
