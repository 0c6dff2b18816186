use serde_json::json;

use super::*;

fn hear(session: &mut Session<u32>, message: &Value) {
    let at = u32::try_from(session.lines().len()).expect("few");
    session.received(message.to_string().as_bytes(), at);
}

fn answer(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {}})
}

fn progress(token: &str, progress: f64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": progress}})
}

fn asked() -> Session<u32> {
    let mut session = Session::default();
    let (id, line) = session.request("tools/call", &json!({"name": "echo", "_meta": {"progressToken": "t"}}));
    assert_eq!((id, session.next_id()), (1, 2));
    assert_eq!(
        serde_json::from_str::<Value>(&line).expect("JSON"),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": {"progressToken": "t"}}})
    );
    session
}

#[test]
fn each_request_has_one_answer_that_is_found_by_its_id() {
    let mut session = asked();
    assert_eq!(session.unpaired(), ["0 answers to 1, not 1"]);
    hear(&mut session, &progress("t", 1.0));
    hear(&mut session, &progress("t", 1.5));
    hear(&mut session, &answer(1));
    assert_eq!(session.answer(&json!(1)).map(|line| line.at), Some(2));
    assert!(session.faults().is_empty() && session.unasked().is_empty() && session.unpaired().is_empty());
    hear(&mut session, &answer(1));
    assert_eq!((session.faults().len(), session.unpaired().len()), (1, 1), "a second answer is a fault");
    for unread in [false, true] {
        assert_eq!(session.broken(Promise::Answers, unread), ["2 answers to 1, not 1"], "told once");
    }
}

#[test]
fn what_nobody_read_may_lack() {
    let session = asked();
    assert_eq!(session.broken(Promise::Answers, false), ["0 answers to 1, not 1"]);
    assert_eq!(session.broken(Promise::Answers, true), [""; 0]);
}

#[test]
fn what_was_cancelled_may_be_answered_which_is_told() {
    let mut session = asked();
    session.cancel(&json!(1));
    assert!(session.unpaired().is_empty() && session.answered_though_cancelled().is_empty());
    hear(&mut session, &answer(1));
    assert!(session.unpaired().is_empty());
    assert_eq!(session.answered_though_cancelled(), ["1"]);
}

#[test]
fn an_id_that_is_used_again_while_open_is_owed_a_refusal_too() {
    let mut session = asked();
    session.request_again(&json!(1), "ping", &json!({}));
    hear(&mut session, &answer(1));
    assert_eq!(session.unpaired(), ["1 answers to 1, not 2"]);
    hear(&mut session, &json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "open"}}));
    assert!(session.unpaired().is_empty() && session.faults().is_empty());
    session.cancel(&json!(1));
    assert_eq!(session.answered_though_cancelled(), ["1"], "the refusal alone was owed");
}

#[test]
fn every_fault_of_the_server_is_noted() {
    let number = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t"}});
    for (messages, fault) in [
        (vec![json!("hello")], "no JSON-RPC message"),
        (vec![json!([answer(1)])], "no JSON-RPC message"),
        (vec![json!({"id": 1, "result": {}})], "no JSON-RPC message"),
        (vec![json!({"jsonrpc": "2.0", "result": {}})], "without an id"),
        (vec![json!({"jsonrpc": "2.0", "id": 1})], "neither one result"),
        (vec![json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}})], "neither one result"),
        (vec![json!({"jsonrpc": "2.0", "id": 1, "result": {}, "method": "x"})], "neither one result"),
        (vec![json!({"jsonrpc": "2.0", "method": 7})], "neither one result"),
        (vec![number], "odd progress"),
        (vec![progress("t", 1.0), progress("t", 1.0)], "does not rise"),
        (vec![answer(1), progress("t", 1.0)], "after its answer"),
    ] {
        let mut session = asked();
        messages.iter().for_each(|message| hear(&mut session, message));
        let [told] = session.faults() else { panic!("{messages:?}: {:?}", session.faults()) };
        assert!(told.what.contains(fault), "{told}");
        assert_eq!(session.broken(told.promise, true), [told.to_string()]);
    }
    let mut session = asked();
    session.received(b"{", 0);
    session.cut();
    assert_eq!(session.faults().len(), 2);
}

#[test]
fn what_was_not_asked_is_told_apart() {
    let mut session = asked();
    hear(&mut session, &answer("1"));
    hear(&mut session, &progress("another", 1.0));
    assert_eq!((session.unasked().len(), session.faults().len()), (2, 0));
    hear(&mut session, &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "m"}}));
    assert_eq!(session.take_unaddressed().map(|answer| answer["error"]["code"].clone()), Some(json!(-32700)));
    assert!(session.take_unaddressed().is_none() && session.unasked().len() == 2);
    assert_eq!((session.broken(Promise::Answers, true).len(), session.broken(Promise::Progress, true).len()), (1, 1));
}
