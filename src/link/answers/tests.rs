use std::time::Duration;

use tokio::io::AsyncBufReadExt as _;
use tokio::time::Instant;

use super::super::calls::{Calls, TakenIn};
use super::*;
use crate::client::Sessions;
use crate::config::Config;
use crate::core::calls::{Lookup, NewCall, Terms};
use crate::net::Tcp;
use crate::platform::host::RealHost;
use crate::protocol::dialect::{AnswerBody, Recovery};
use crate::protocol::ids::{Epoch, LinkId, RequestKey};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::mcp::{AnswerForm, ProtocolVersion};
use crate::runtime::messages::Addresses;

struct Parts {
    env: Arc<Environment>,
    client: Arc<Client>,
    calls: Arc<Calls>,
}

fn parts(config: Config) -> Arc<Parts> {
    let env = Environment::new(Config { seed: Some(1), ..config }, Arc::new(Tcp), Arc::new(RealHost));
    let (addresses, ledger) = (Arc::<Addresses>::default(), Arc::<SharedLedger>::default());
    let (sessions, client) = Sessions::with_stdio(Arc::clone(&env.config), env.events.clone());
    let attached = Attached::to(LinkId::FIRST, sessions);
    let contact = Arc::new(Contact::new(env.clone(), addresses.clone(), ledger.clone()));
    let tools = Arc::new(Tools::new(env.clone(), attached.clone(), contact.clone()));
    let calls = Arc::new(Calls::new(env.clone(), addresses, attached, ledger, contact, tools));
    Arc::new(Parts { env, client, calls })
}

fn of_client(name: &str) -> ClientProfile {
    ClientProfile { client: mcp::traits_of(name), ..ProtocolVersion::LATEST.into() }
}

/// Opens a request and sends a call for it.
fn sent_call(parts: &Arc<Parts>, number: u64) -> CallId {
    sent_call_of(parts, number, ProtocolVersion::LATEST.into())
}

fn sent_call_of(parts: &Arc<Parts>, number: u64, profile: ClientProfile) -> CallId {
    let id = parts.env.next_call_id();
    let request = RequestId::from_number(number);
    let hold = parts.client.outbox.open(&request, crate::protocol::mcp::Method::CallTool, None).unwrap();
    let request = hold.key();
    let call = NewCall {
        id,
        request,
        tool: "get-logs".to_owned(),
        arguments: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap().into(),
        progress_token: None,
        trace: None,
        requester: None,
        parallel: false,
        patience: Duration::from_secs(600),
        waited: Duration::ZERO,
        profile,
        form: AnswerForm::ToolResult,
    };
    parts.calls.decide(|ledger, now| ledger.accept(call, now));
    assert!(hold.pass(crate::core::requests::Holder::Ledger));
    parts.calls.ledger(|ledger, _| ledger.open_epoch(Epoch(1)));
    parts.calls.ledger(|ledger, _| ledger.reserve(Epoch(1))).unwrap();
    let terms = Terms { recovery: Recovery::None, tool_timeout: Duration::ZERO, repeatable: false };
    parts.calls.ledger(|ledger, now| ledger.claim(id, Epoch(1), terms, now)).unwrap();
    id
}

fn answered(parts: &Arc<Parts>, call: CallId, text: String) {
    answered_with(parts, call, AnswerBody::Text(text));
}

fn answered_with(parts: &Arc<Parts>, call: CallId, body: AnswerBody) {
    let answer = EditorAnswer { is_error: false, body };
    let (known, settlements) = parts.calls.ledger(|ledger, now| ledger.reply(call, Epoch(1), answer, now));
    assert!(known);
    parts.calls.settle(settlements);
}

/// The next line that the client reads.
async fn line(parts: &Arc<Parts>) -> String {
    let (near, far) = tokio::io::duplex(1 << 16);
    let pump = tokio::spawn({
        let parts = Arc::clone(parts);
        async move { parts.client.outbox.pump_out(near).await }
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
    let parts = parts(Config::default());
    let call = sent_call(&parts, 1);
    answered(&parts, call, "hello".to_owned());
    parts.calls.shared.settled().await;
    let line = line(&parts).await;
    assert!(line.contains(r#""id":1"#) && line.contains("hello"), "{line}");
    assert!(parts.client.outbox.requests_with_call().is_empty());
}

#[tokio::test]
async fn a_large_result_goes_to_a_private_file_that_the_answer_names() {
    let state = tempfile::tempdir().unwrap();
    let parts = parts(Config { state_dir: Some(state.path().to_path_buf()), ..Config::default() });
    let call = sent_call(&parts, 1);
    answered(&parts, call, "x".repeat(RESULT_INLINE_MAX_BYTES + 1));
    assert!(!parts.client.outbox.requests_with_call().is_empty(), "its call is settled, its answer is still owed");
    let line = line(&parts).await;
    let path = state.path().join("results").join(format!("{call}.json"));
    let named = serde_json::to_string(path.to_str().unwrap()).unwrap();
    assert!(line.contains(named.trim_matches('"')) && line.len() < 2000, "{line}");
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
    let parts = parts(Config::default());
    let call = sent_call(&parts, 1);
    answered(&parts, call, "x".repeat(CLIENT_TOO_MUCH));
    let line = line(&parts).await;
    assert!(line.contains("Executed") && line.contains("isError"), "{line}");
}

/// Longer than any message may be.
const CLIENT_TOO_MUCH: usize = crate::limits::CLIENT_MESSAGE_MAX_BYTES + 1;

#[tokio::test]
async fn a_text_that_the_client_would_cut_is_cut_with_a_note_and_all_of_it_is_in_a_private_file() {
    let state = tempfile::tempdir().unwrap();
    let parts = parts(Config { state_dir: Some(state.path().to_path_buf()), ..Config::default() });
    let codex = of_client("codex-mcp-client");
    let call = sent_call_of(&parts, 1, codex);
    let whole: String = (0..9000).map(|number| format!("line {number}\n")).collect();
    answered(&parts, call, whole.clone());
    let line: serde_json::Value = serde_json::from_str(&line(&parts).await).unwrap();
    let content = line["result"]["content"].as_array().unwrap();
    let (note, shown) = (content[0]["text"].as_str().unwrap(), content[1]["text"].as_str().unwrap());
    let path = state.path().join("results").join(format!("{call}.json"));
    assert!(note.contains(path.to_str().unwrap()) && note.contains(&format!("{} bytes", whole.len())), "{note}");
    assert!(whole.starts_with(shown) && shown.ends_with('\n') && shown.len() > 30_000, "{} bytes", shown.len());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}

#[tokio::test]
async fn a_sound_that_the_client_does_not_take_lies_decoded_in_a_file() {
    let state = tempfile::tempdir().unwrap();
    let parts = parts(Config { state_dir: Some(state.path().to_path_buf()), ..Config::default() });
    let call = sent_call_of(&parts, 1, of_client("Zed"));
    let blocks = [
        r#"{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}"#,
        r#"{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"~","mimeType":"audio/mpeg"}"#,
    ];
    let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
    answered_with(&parts, call, AnswerBody::Blocks(blocks.map(raw).to_vec()));
    let line: serde_json::Value = serde_json::from_str(&line(&parts).await).unwrap();
    let content = line["result"]["content"].as_array().unwrap();
    let path = state.path().join("results").join(format!("{call}-1.wav"));
    let note = content[0]["text"].as_str().unwrap();
    assert!(note.contains(path.to_str().unwrap()) && note.contains("audio/wav, 4 bytes"), "{note}");
    assert_eq!(std::fs::read(&path).unwrap(), b"RIFF");
    assert_eq!(content[1]["type"], "image", "Zed shows images");
    assert!(content[2]["text"].as_str().unwrap().ends_with("the tool gave this text:] ~"), "{line}");
}

#[tokio::test]
async fn without_a_folder_a_long_text_is_left_to_the_client_and_a_sound_is_named() {
    let parts = parts(Config::default());
    let call = sent_call_of(&parts, 1, of_client("codex-mcp-client"));
    answered(&parts, call, "x".repeat(90_000));
    assert!(line(&parts).await.contains(&"x".repeat(90_000)), "nothing is lost by us");
    let call = sent_call_of(&parts, 2, of_client("Zed"));
    let sound = RawValue::from_string(r#"{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}"#.to_owned());
    answered_with(&parts, call, AnswerBody::Blocks(vec![sound.unwrap()]));
    let line = line(&parts).await;
    assert!(line.contains("left out") && line.contains("could not be written"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_late_result_is_kept_and_shown_as_its_client_takes_it() {
    let state = tempfile::tempdir().unwrap();
    let parts = parts(Config { state_dir: Some(state.path().to_path_buf()), ..Config::default() });
    parts.client.with_handshake(|client| client.profile = of_client("codex-mcp-client"));
    tokio::spawn(Arc::clone(&parts.calls).run_deadlines());
    let call = sent_call_of(&parts, 1, of_client("codex-mcp-client"));
    parts.calls.shared.settled().await;
    answered(&parts, call, "y\n".repeat(40_000));
    let kept = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            if let Lookup::Kept(json) = parts.calls.look_up(call) {
                return json;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let kept = kept.await.expect("it is kept");
    assert!(kept.len() < 45_000 && kept.contains("80000 bytes") && kept.contains(&format!("{call}.json")), "{kept}");
    let _said_that_it_runs = line(&parts).await;
    let id = RequestId::from_number(2);
    let key = parts.client.outbox.open(&id, mcp::Method::CallTool, None).unwrap().key();
    let asked = Asked { key, profile: of_client("codex-mcp-client"), form: AnswerForm::ToolResult };
    parts.client.own(&parts.env, asked, ToolResult::text("z\n".repeat(40_000)), (call, None));
    assert_eq!(parts.client.outbox.requests_with_call(), [key], "the end of the session waits for it");
    let shown = line(&parts).await;
    assert!(
        shown.len() < 45_000 && shown.contains("80000 bytes") && shown.contains(&format!("{call}.json")),
        "{shown}"
    );
}

/// The ledger's deadline ends the call without any other event.
#[tokio::test(start_paused = true)]
async fn what_has_lasted_too_long_is_ended_by_the_clock() {
    let parts = parts(Config::default());
    tokio::spawn(Arc::clone(&parts.calls).run_deadlines());
    sent_call(&parts, 1);
    let began = Instant::now();
    parts.calls.shared.settled().await;
    assert_eq!(began.elapsed().as_secs(), crate::limits::RUNNING_MAX.as_secs());
    let line = line(&parts).await;
    assert!(line.contains("Still running"), "{line}");
}

fn new_call(parts: &Parts, request: RequestKey) -> NewCall {
    NewCall {
        id: parts.env.next_call_id(),
        request,
        tool: "get-logs".to_owned(),
        arguments: RawValue::from_string("{}".to_owned()).unwrap().into(),
        progress_token: None,
        trace: None,
        requester: None,
        parallel: false,
        patience: Duration::from_secs(600),
        waited: Duration::ZERO,
        profile: ProtocolVersion::LATEST.into(),
        form: AnswerForm::ToolResult,
    }
}

/// Cancels as the stdin reader does: first the request, then the call.
fn cancel(parts: &Parts, id: &RequestId) {
    if let Some(request) = parts.client.outbox.cancel(id) {
        parts.calls.decide(|ledger, now| ledger.cancel(request, now).1);
    }
}

#[test]
fn a_request_that_was_cancelled_before_the_ledger_had_it_becomes_no_call() {
    let parts = parts(Config::default());
    let id = RequestId::from_number(1);
    let hold = parts.client.outbox.open(&id, mcp::Method::CallTool, None).unwrap();
    cancel(&parts, &id);
    let taken = parts.calls.take_from_client(new_call(&parts, hold.key()), false, &hold, None, "1");
    assert_eq!(taken, TakenIn::Cancelled);
    assert_eq!(parts.calls.ledger(|ledger, _| ledger.open_records().count()), 0);
}

#[test]
fn a_cancel_that_races_with_the_taking_in_of_its_call_leaves_no_call_that_could_be_sent() {
    let parts = parts(Config::default());
    for number in 0..5000 {
        let id = RequestId::from_number(number);
        let hold = parts.client.outbox.open(&id, mcp::Method::CallTool, None).unwrap();
        let new = new_call(&parts, hold.key());
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                cancel(&parts, &id);
            });
            start.wait();
            // A delay that varies, so that each order of the two occurs.
            (0..number % 50).for_each(|_| std::hint::spin_loop());
            parts.calls.take_from_client(new, false, &hold, None, "1");
        });
        assert_eq!(parts.calls.ledger(|ledger, _| ledger.counts()), (0, 0), "round {number}");
        assert!(parts.client.outbox.requests_with_call().is_empty() && !hold.is_open());
    }
}
