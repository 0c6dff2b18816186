//! What the user can configure: rules on tools, and the audit of each call.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod names;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Gateway, PATIENT, PORT, Setup, editor, gateway, unity, until};
use holdfast::config::{Config, PortSource};
use holdfast::fsm::registry::Source;
use holdfast::limits::AUDIT_WRITE_MAX;
use holdfast::platform::host::Host as _;
use holdfast::protocol::dialect;
use holdfast::protocol::ids::SessionId;
use holdfast::protocol::policy::{Pattern, Policy};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, PACKAGES, Package};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const AUDIT: &str = "/audit.jsonl";

fn rules(deny: &[&str], allow: &[&str]) -> Policy {
    let parse = |rules: &[&str]| rules.iter().map(|rule| Pattern::parse(rule).unwrap()).collect();
    let mut policy = Policy::default();
    policy.deny(parse(deny), "--deny");
    policy.allow(parse(allow), "--allow");
    policy
}

fn with(config: Config) -> Setup {
    Setup { config: Config { ports: vec![(PORT, PortSource::Flag)], seed: Some(7), ..config }, ..Setup::default() }
}

fn denying(deny: &[&str]) -> Setup {
    with(Config { policy: rules(deny, &[]), ..Config::default() })
}

fn audited(config: Config) -> Setup {
    with(Config { audit: Some(AUDIT.into()), ..config })
}

async fn opened(setup: Setup) -> Gateway {
    let mut it = gateway(setup);
    it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
    it
}

async fn connected(setup: Setup) -> (Gateway, FakeUnity) {
    let unity = unity(&setup.net, editor()).await;
    let it = opened(setup).await;
    it.ready().await;
    (it, unity)
}

/// Calls a tool. Returns the text of the result, and whether it is an error.
async fn told(it: &mut Gateway, tool: &str, arguments: Value) -> (String, bool) {
    let id = it.client.call(tool, arguments).await;
    it.client.text(&id).await
}

fn lines(it: &Gateway) -> Vec<Value> {
    let bytes = it.host.read(Path::new(AUDIT), usize::MAX).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap();
    // A line that a full disk cut off is not JSON.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Describes each line of the audit file by its tool, event, verdict and cause.
fn story(it: &Gateway) -> Vec<String> {
    let text = |line: &Value, member: &str| line[member].as_str().unwrap_or("-").to_owned();
    let all = |line: &Value| ["tool", "event", "verdict", "cause"].map(|member| text(line, member)).join(" ");
    lines(it).iter().map(all).collect()
}

// ---- policy ------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_denied_tool_never_runs_and_the_answer_names_the_rule_and_its_place_at_once() {
    let (mut it, unity) = connected(denying(&["cou*"])).await;
    let began = Instant::now();
    let (text, error) = told(&mut it, "count", json!({"key": "denied"})).await;
    assert!(error && text.starts_with("Not executed: policy refuses it: deny \"cou*\" (--deny)."), "{text}");
    assert!(text.contains("the user's decision") && text.contains("was not sent to Unity"), "{text}");
    assert!(began.elapsed() < Duration::from_millis(10));
    it.client.ok("echo", json!({})).await;
    assert!(it.client.tools().await.contains(&"count".to_owned()), "it is listed all the same");
    let calls = it.client.ok("holdfast_calls", json!({"verdict": "not_executed"})).await;
    assert!(calls.contains("\"cause\": \"policy\""), "{calls}");
    assert_eq!(unity.runs("denied"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_there_before_the_list_is_judged_by_the_list() {
    let mut it = opened(denying(&["@destructive"])).await;
    let destroys = it.client.call("count", json!({"key": "early"})).await;
    let reads = it.client.call("get-logs", json!({})).await;
    sleep(Duration::from_millis(300)).await;
    assert!(it.client.answered(&destroys).is_none(), "nobody can know yet");
    let unity = unity(&it.net, editor()).await;
    let (text, error) = it.client.text(&destroys).await;
    assert!(error && text.contains("deny \"@destructive\""), "{text}");
    let (text, error) = it.client.text(&reads).await;
    assert!(!error, "{text}");
    assert_eq!(unity.runs("early"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_allow_list_admits_only_what_it_names_and_never_touches_our_own_tools() {
    let setup = with(Config { policy: rules(&["holdfast_*"], &["echo"]), ..Config::default() });
    let (mut it, unity) = connected(setup).await;
    it.client.ok("echo", json!({})).await;
    let (text, error) = told(&mut it, "count", json!({"key": "left out"})).await;
    assert!(error && text.contains("not among what is allowed (--allow)"), "{text}");
    let status = it.client.ok("holdfast_status", json!({})).await;
    assert!(status.contains("deny holdfast_* (--deny)") && status.contains("allow only echo (--allow)"), "{status}");
    it.client.ok("holdfast_wait_ready", json!({})).await;
    assert_eq!(unity.runs("left out"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_sessions_list_says_decides_nothing() {
    let (it, _unity) = connected(denying(&["count"])).await;
    assert!(it.parts.link().tools.refusal_at_once("count", RawValue::NULL, SessionId::STDIO).is_some());
    it.parts.link().tools.published.send_modify(|published| published.source = Source::Disk);
    assert_eq!(
        it.parts.link().tools.refusal_at_once("count", RawValue::NULL, SessionId::STDIO),
        None,
        "it waits for the live list"
    );
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_cannot_be_read_refuses_every_tool_before_there_is_an_editor() {
    let mut policy = Policy::default();
    policy.refuse_all("config.toml, line 3: no TOML; correct it".to_owned());
    let mut it = opened(with(Config { policy, ..Config::default() })).await;
    let began = Instant::now();
    let (text, error) = told(&mut it, "no-such-tool", json!({})).await;
    assert!(error && text.contains("config.toml, line 3") && text.contains("holdfast doctor"), "{text}");
    assert!(began.elapsed() < Duration::from_millis(10));
    it.client.ok("holdfast_status", json!({})).await;
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_packages_own_server_answered_is_judged_too() {
    for early in [true, false] {
        let setup = denying(&["focus-*"]);
        let _unity = if early { None } else { Some(unity(&setup.net, editor()).await) };
        let mut it = opened(setup).await;
        if !early {
            it.ready().await;
        }
        let (text, error) = told(&mut it, "focus-window", json!({})).await;
        assert!(error && text.contains("deny \"focus-*\""), "{text}");
        it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_guests_call_is_judged_too() {
    let without_results = || Package::that(|facts| !facts.results);
    let setup = denying(&["execute_code"]);
    let setup = Setup { config: Config { dialects: dialect::only(without_results().name), ..setup.config }, ..setup };
    let unity = unity(&setup.net, FakeUnityConfig { package: without_results(), ..editor() }).await;
    let it = opened(setup).await;
    it.ready().await;
    let arguments = serde_json::value::to_raw_value(&json!({"code": "count(\"guest\")"})).unwrap();
    let call = it.parts.link().calls.take_from_guest("execute_code", arguments, Duration::from_secs(60)).unwrap();
    let answer = call.answer.await.unwrap();
    assert_eq!(answer.verdict.cause(), Some("policy"));
    assert_eq!(unity.runs("guest"), 0);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_projects_file_narrows_and_a_change_of_it_holds_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let project = dunce::canonicalize(folder.path()).unwrap();
    let file: PathBuf = project.join("holdfast.toml");
    let setup = with(Config { project: Some(project), policy: rules(&[], &["echo", "count"]), ..Config::default() });
    setup.host.put(&file, "[policy]\nallow = ['echo', 'get-logs']\n");
    let (mut it, unity) = connected(setup).await;
    it.client.ok("echo", json!({})).await;
    let (text, error) = told(&mut it, "count", json!({"key": "narrowed"})).await;
    assert!(error && text.contains("holdfast.toml"), "{text}");
    let (text, error) = told(&mut it, "get-logs", json!({})).await;
    assert!(error && text.contains("--allow"), "a project widens nothing: {text}");

    let unreadable =
        || it.parts.link().contact.survey.borrow().as_ref().unwrap().rules.policy.refusal_of_all().is_some();
    it.host.put(&file, "[policy]\nalow = ['echo']\n");
    until("it is read again", unreadable).await;
    let (text, error) = told(&mut it, "echo", json!({})).await;
    assert!(error && text.contains("line 2: [policy] has no key \"alow\""), "{text}");
    let status = it.client.ok("holdfast_status", json!({})).await;
    assert!(status.contains("write allow if that is what you mean"), "{status}");

    it.host.put(&file, "[policy]\ndeny = ['x']\n");
    until("it is fixed", || {
        it.parts.link().contact.survey.borrow().as_ref().unwrap().rules.policy.refusal_of_all().is_none()
    })
    .await;
    it.client.ok("count", json!({"key": "narrowed"})).await;
    assert_eq!(unity.runs("narrowed"), 1);
    it.close().await;
}

// ---- audit -------------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn each_call_has_a_line_before_it_is_sent_and_one_for_its_end() {
    let (mut it, _unity) = connected(audited(Config { policy: rules(&["fail"], &[]), ..Config::default() })).await;
    it.client.ok("echo", json!({"secret": "CANARY"})).await;
    told(&mut it, "throw", json!({})).await;
    told(&mut it, "fail", json!({})).await;
    it.client.ok("holdfast_status", json!({})).await;
    it.parts.link().calls.audit.written().await;
    assert_eq!(
        story(&it),
        [
            "echo sent - -",
            "echo verdict ok -",
            "throw sent - -",
            "throw verdict tool_error -",
            "fail refused not_executed policy",
        ]
    );
    let all = lines(&it);
    let of = |line: usize, member: &str| all[line][member].clone();
    assert_eq!(of(0, "call"), of(1, "call"));
    assert_eq!((of(0, "client"), of(0, "dialect")), (json!(PATIENT), json!(PACKAGES[0].name)));
    assert_eq!((of(0, "read_only"), of(0, "sending")), (json!(false), json!(1)));
    assert_eq!(of(4, "rule"), "deny \"fail\" (--deny)");
    assert!(of(0, "arguments_bytes").is_u64() && of(4, "arguments_sha256").is_string());
    assert!(!format!("{all:?}").contains("CANARY"), "arguments are told by size and digest only");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_recorded_does_not_run_and_does_once_it_can() {
    for full in [io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied, io::ErrorKind::WriteZero] {
        let (mut it, unity) = connected(audited(Config::default())).await;
        it.client.ok("count", json!({"key": "before"})).await;
        it.parts.link().calls.audit.written().await;
        it.host.fill(Some(full));
        let (text, error) = told(&mut it, "count", json!({"key": "unrecorded"})).await;
        assert!(error && text.starts_with("Not executed: the audit file /audit.jsonl cannot be written"), "{text}");
        it.parts.link().calls.audit.written().await;
        let status = it.client.ok("holdfast_status", json!({})).await;
        assert!(status.contains("could not be added to the audit file"), "{status}");
        it.host.fill(None);
        it.client.ok("count", json!({"key": "fixed"})).await;
        it.parts.link().calls.audit.written().await;
        let status = it.client.ok("holdfast_status", json!({})).await;
        assert!(!status.contains("could not be added"), "{status}");
        assert_eq!(["before", "unrecorded", "fixed"].map(|key| unity.runs(key)), [1, 0, 1]);
        // The line that was cut off has damaged no other line.
        assert_eq!(story(&it), ["count sent - -", "count verdict ok -", "count sent - -", "count verdict ok -"]);
        it.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_answer_holds_a_call_no_longer_than_its_bound() {
    let (mut it, unity) = connected(audited(Config::default())).await;
    it.host.slow(Duration::from_secs(3600));
    let began = Instant::now();
    let (text, error) = told(&mut it, "count", json!({"key": "slow"})).await;
    assert!(error && text.contains("writing took longer than"), "{text}");
    assert!(began.elapsed() < AUDIT_WRITE_MAX + Duration::from_secs(1));
    assert_eq!(unity.runs("slow"), 0);
    // The end of the gateway does not wait for the audit file either.
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_line_is_written_keeps_the_call_from_leaving() {
    let (mut it, unity) = connected(audited(Config::default())).await;
    it.host.slow(Duration::from_secs(2));
    let id = it.client.call("count", json!({"key": "cancelled"})).await;
    sleep(Duration::from_secs(1)).await;
    it.client.cancel(&id).await;
    it.client.ok("echo", json!({})).await;
    it.parts.link().calls.audit.written().await;
    assert_eq!(unity.runs("cancelled"), 0);
    let story = story(&it);
    assert!(story.contains(&"count verdict cancelled -".to_owned()), "{story:?}");
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_learned_late_has_its_line_too() {
    let (mut it, unity) =
        connected(audited(Config { patience: Some(Duration::from_secs(20)), ..Config::default() })).await;
    let (text, _) = told(&mut it, "hold", json!({})).await;
    assert!(text.starts_with("Still running"), "{text}");
    unity.release();
    until("its end is recorded", || story(&it).len() == 3).await;
    let cut = it.client.call("hold", json!({})).await;
    until("it runs", || unity.stats().running == 1).await;
    it.net.cut();
    it.client.text(&cut).await;
    it.parts.link().calls.audit.written().await;
    assert_eq!(
        story(&it),
        [
            "hold sent - -",
            "hold verdict still_running -",
            "hold verdict ok -",
            "hold sent - -",
            "hold verdict outcome_unknown disconnect",
        ]
    );
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_sent_again_has_a_line_for_each_sending() {
    let (mut it, unity) = connected(audited(Config::default())).await;
    unity.freeze();
    let id = it.client.call("get-logs", json!({})).await;
    sleep(Duration::from_secs(1)).await;
    it.net.cut();
    unity.thaw();
    it.client.text(&id).await;
    it.parts.link().calls.audit.written().await;
    let all = lines(&it);
    let sendings: Vec<&Value> =
        all.iter().filter(|line| line["event"] == "sent").map(|line| &line["sending"]).collect();
    assert_eq!(sendings, [&json!(1), &json!(2)]);
    let calls: BTreeSet<String> = all.iter().map(|line| line["call"].to_string()).collect();
    assert_eq!(calls.len(), 1);
    it.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_line_names_who_asked_and_not_who_opened_the_session() {
    let (mut it, _unity) = connected(audited(Config::default())).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "another", "version": "2"},
    });
    let id = it.client.request("tools/call", json!({"name": "echo", "arguments": {}, "_meta": meta})).await;
    it.client.answer(&id).await;
    it.client.ok("echo", json!({})).await;
    until("every line is there", || lines(&it).len() == 4).await;
    let asked = |client: &str| lines(&it).iter().filter(|line| line["client"] == client).count();
    assert_eq!((asked("another"), asked(PATIENT)), (2, 2), "{:?}", lines(&it));
    it.close().await;
}
