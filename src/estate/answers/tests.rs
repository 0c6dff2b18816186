use std::time::Duration;

use tokio::io::AsyncBufReadExt as _;
use tokio::time::Instant;

use super::*;
use crate::config::Config;
use crate::host::RealHost;
use crate::ledger::{NewCall, Terms};
use crate::net::Tcp;
use crate::protocol::dialect::{AnswerBody, Recovery};
use crate::protocol::ids::Epoch;
use crate::protocol::mcp::ProtocolVersion;

fn estate(config: Config) -> Arc<Estate> {
    Estate::new(Config { seed: Some(1), ..config }, Arc::new(Tcp), Arc::new(RealHost))
}

/// A call of an open request that is sent.
fn sent_call(estate: &Arc<Estate>, number: u64) -> CallId {
    let (id, request) = (estate.next_call_id(), RequestId::from_number(number));
    estate.front.open(&request, crate::protocol::mcp::Method::CallTool, None).unwrap();
    let call = NewCall {
        id,
        request: request.clone(),
        tool: "get-logs".to_owned(),
        arguments: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
        progress_token: None,
        trace: None,
        parallel: false,
        patience: Duration::from_secs(600),
        audience: ProtocolVersion::LATEST.into(),
    };
    estate.decide(|ledger, now| ledger.accept(call, now));
    estate.front.became_call(&request);
    estate.ledger(|ledger, _| ledger.open_epoch(Epoch(1)));
    estate.ledger(|ledger, _| ledger.reserve(Epoch(1))).unwrap();
    let terms = Terms { recovery: Recovery::None, tool_timeout: Duration::ZERO, repeatable: false };
    estate.ledger(|ledger, now| ledger.claim(id, Epoch(1), terms, now)).unwrap();
    id
}

fn answered(estate: &Arc<Estate>, call: CallId, text: String) {
    let answer = EditorAnswer { is_error: false, body: AnswerBody::Text(text) };
    let (known, settlements) = estate.ledger(|ledger, now| ledger.reply(call, Epoch(1), answer, now));
    assert!(known);
    estate.settle(settlements);
}

/// The next line that the client reads.
async fn line(estate: &Arc<Estate>) -> String {
    let (near, far) = tokio::io::duplex(1 << 16);
    let pump = tokio::spawn({
        let estate = Arc::clone(estate);
        async move { estate.front.pump_out(near).await }
    });
    let mut far = tokio::io::BufReader::new(far);
    let mut line = String::new();
    let read = far.read_line(&mut line);
    tokio::time::timeout(Duration::from_secs(20), read).await.expect("an answer comes").unwrap();
    pump.abort();
    line
}

#[tokio::test]
async fn an_answer_goes_to_its_request_and_nobody_waits_any_more() {
    let estate = estate(Config::default());
    let call = sent_call(&estate, 1);
    answered(&estate, call, "hello".to_owned());
    estate.settled().await;
    let line = line(&estate).await;
    assert!(line.contains(r#""id":1"#) && line.contains("hello"), "{line}");
    assert!(estate.front.requests_with_call().is_empty());
}

#[tokio::test]
async fn a_large_result_goes_to_a_private_file_that_the_answer_names() {
    let state = tempfile::tempdir().unwrap();
    let estate = estate(Config { state_dir: Some(state.path().to_path_buf()), ..Config::default() });
    let call = sent_call(&estate, 1);
    answered(&estate, call, "x".repeat(RESULT_INLINE_MAX_BYTES + 1));
    assert!(!estate.front.requests_with_call().is_empty(), "its call is settled, its answer is still owed");
    let line = line(&estate).await;
    let path = state.path().join("results").join(format!("{call}.json"));
    assert!(line.contains(path.to_str().unwrap()) && line.len() < 2000, "{line}");
    assert_eq!(std::fs::read(&path).unwrap().len(), RESULT_INLINE_MAX_BYTES + 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_large_result_without_a_folder_says_that_the_tool_ran() {
    let estate = estate(Config::default());
    let call = sent_call(&estate, 1);
    answered(&estate, call, "x".repeat(CLIENT_TOO_MUCH));
    let line = line(&estate).await;
    assert!(line.contains("Executed") && line.contains("isError"), "{line}");
}

/// More than any message may have.
const CLIENT_TOO_MUCH: usize = crate::limits::CLIENT_MESSAGE_MAX_BYTES + 1;

#[test]
fn old_results_are_removed_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let ours = |number: u8| folder.path().join(format!("{}.json", CallId::from_random([number; 16])));
    for number in 0..u8::try_from(RESULT_FILES_MAX).unwrap() + 5 {
        std::fs::write(ours(number), "x").unwrap();
    }
    let theirs = ["thesis.json", "notes.txt"].map(|name| folder.path().join(name));
    for path in &theirs {
        std::fs::write(path, "x").unwrap();
    }
    forget_old_results(&RealHost, folder.path());
    assert!(theirs.iter().all(|path| path.exists()));
    // One place is left for the result that follows.
    assert_eq!(RealHost.list(folder.path()).unwrap().len(), RESULT_FILES_MAX - 1 + theirs.len());
}

#[cfg(unix)]
#[test]
fn a_project_whose_logs_lead_elsewhere_gets_no_results_there() {
    let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let state = Path::new("/state");
    let plain = project.path().join("Logs/holdfast/results");
    assert_eq!(results_folder(Some(project.path()), Some(state)), Some(plain));
    std::os::unix::fs::symlink(elsewhere.path(), project.path().join("Logs")).unwrap();
    assert_eq!(results_folder(Some(project.path()), Some(state)), Some(state.join("results")));
    assert_eq!(results_folder(Some(project.path()), None), None);
}

/// The clock of the ledger runs by itself.
#[tokio::test(start_paused = true)]
async fn what_has_lasted_too_long_is_ended_by_the_clock() {
    let estate = estate(Config::default());
    tokio::spawn(Arc::clone(&estate).sweep());
    sent_call(&estate, 1);
    let began = Instant::now();
    estate.settled().await;
    assert_eq!(began.elapsed().as_secs(), crate::limits::RUNNING_MAX.as_secs());
    let line = line(&estate).await;
    assert!(line.contains("Still running"), "{line}");
}
