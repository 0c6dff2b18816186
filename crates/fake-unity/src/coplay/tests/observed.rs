//! What an observer reads of the bytes of a connection.

use super::*;
use crate::observer::{self, Answered, NoFrame};
use crate::{Call, Task};

fn framed(text: &str) -> Vec<u8> {
    [(text.len() as u64).to_be_bytes().as_slice(), text.as_bytes()].concat()
}

#[test]
fn frames_and_the_greeting_have_their_lengths() {
    let length = PACKAGE.wire.length;
    assert_eq!(length(b"WELCOME UNITY-MCP 1 FRAMING=1\n\0\0"), Ok(Some(30)));
    assert_eq!(length(b"WELCOME"), Ok(None));
    for text in ["ping", r#"{"type":"echo","params":{"text":"a"}}"#] {
        let frame = framed(text);
        assert_eq!(length(&frame[..frame.len() - 1]), Ok(None));
        assert_eq!(length(&[frame.as_slice(), b"next"].concat()), Ok(Some(frame.len())));
    }
    assert_eq!((length(&[]), length(&[0, 0])), (Ok(None), Ok(None)));
    assert_eq!(length(&[0; 8]), Err(NoFrame));
    assert_eq!(length(b"HTTP/1.1 200"), Err(NoFrame));
    assert_eq!(length(&[0, 1, 0, 0, 0, 0, 0, 0]), Err(NoFrame));
}

#[test]
fn requests_are_told_apart_and_their_arguments_read() {
    let asked = |text: &str| {
        let frame = framed(text);
        let message = observer::message(&frame);
        ((PACKAGE.wire.asked)(&frame, &message).method, (PACKAGE.wire.arguments)(&message))
    };
    assert_eq!(asked("ping"), ("raw ping".to_owned(), Value::Null));
    assert_eq!(asked(r#"{"type":"echo","params":{"text":"a"}}"#), ("echo".to_owned(), json!({"text": "a"})));
}

#[tokio::test(start_paused = true)]
async fn answers_refusals_and_lists_are_read() {
    let stage = Stage::with(FakeUnityConfig { blocked_tools: vec!["big".to_owned()], ..config() }).await;
    let is_unrun = PACKAGE.wire.is_unrun;
    let reply = stage.ask("count", json!({"key": "k"})).await;
    let counted = (PACKAGE.wire.answered)(&reply).unwrap();
    assert_eq!((counted.is_result, counted.failed, &counted.result["Runs"]), (true, false, &json!(1)));
    assert!((PACKAGE.wire.answered)(&stage.ask("fail", json!({})).await).unwrap().failed);
    for name in ["nowhere", "big", ""] {
        let refused = stage.ask(name, json!({})).await;
        assert!(is_unrun(&refused), "{refused}");
        assert_eq!((PACKAGE.wire.answered)(&refused), Some(Answered::default()));
    }
    // What a tool throws may have the same words.
    for words in ["Tool 'x' is disabled in the Unity Editor.", "Unknown or unsupported command type: x"] {
        assert!(!is_unrun(&stage.ask("throw", json!({"text": words})).await), "{words}");
    }
    assert!(!is_unrun(&reply) && !is_unrun(&stage.ask("fail", json!({})).await));
    stage.result("run_tests", json!({})).await;
    assert!(is_unrun(&stage.ask("run_tests", json!({})).await));
    let list = stage.result("get_tool_states", json!({})).await;
    assert_eq!((PACKAGE.wire.listed)(&list), Some(stage.unity.stats().tools + 6 + 18));
    let with_own = json!({"data": {"tools": [{"name": "get_tags"}, {"name": "echo"}]}});
    assert_eq!((PACKAGE.wire.listed)(&with_own), Some(2 + 17));
    assert_eq!((PACKAGE.wire.listed)(&counted.result), None);
}

#[tokio::test(start_paused = true)]
async fn every_task_of_a_suite_is_a_call_that_does_it() {
    for name in VERSIONS {
        let stage = Stage::with(version(name)).await;
        let ask = async |task: Task| {
            let Call { tool, arguments, .. } = (PACKAGE.call)(task, "x", name.parse().unwrap());
            match arguments.get("tool_name").and_then(Value::as_str) {
                // The gateway makes this command of it.
                Some(own) => stage.ask(own, arguments["parameters"].clone()).await,
                None => stage.ask(tool, arguments).await,
            }
        };
        assert_eq!(ask(Task::Echo).await["result"]["Echo"], "x");
        assert_eq!(ask(Task::Count).await["result"]["Runs"], 1);
        assert_eq!(ask(Task::Logs).await["result"]["success"], true);
        assert_eq!(ask(Task::Fail).await["result"]["success"], false);
        assert_eq!(ask(Task::Throw).await["status"], "error");
        assert_eq!(ask(Task::Big(9)).await["result"]["Text"], "xxxxxxxxx");
        assert_eq!(ask(Task::Unheard).await["status"], "error");
        let Call { tool, arguments, .. } = PACKAGE.calls(Task::Compile, "x");
        let mut peer = stage.client().await;
        peer.send(tool, arguments).await;
        assert!(peer.next().await.is_some(), "it is answered at once");
        assert_eq!(peer.next().await, None, "and reloads");
    }
}

#[test]
fn the_home_has_the_file_that_names_the_port() {
    assert_eq!(PACKAGE.facts.port, Port::InHome(".unity-mcp", "unity_port"));
    assert_eq!(PACKAGE.facts.port.file(), None, "it is no file of the project");
}
