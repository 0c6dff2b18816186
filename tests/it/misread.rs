//! A message of the editor that our own decoder fails on costs that message: a call that runs keeps its connection and its answer.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdfast::config::Config;
use holdfast::platform::host::{Caller, Liveness, Owner};
use holdfast::protocol::dialect::{
    self, BadGreeting, BadMessage, BadOutcomes, Companion, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded,
    Endpoint, Greeted, Heartbeat, Hello, Inbound, JournalKey, JournalOutcome, ListStep, Order, PackageTool,
    PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent, Reception, Reply, Secret, Sending,
    UnreadableCalls, WireId,
};
use holdfast::protocol::framing::Framer;
use holdfast_fake_unity::{FakeUnityConfig, Machine, PACKAGES, Package, Port, Shape};
use holdfast_testkit::sabotage::MARK;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::sleep;

use crate::support::{PATIENT, PORT, Setup, editor, gateway, quiet_sabotage, unity, until};

/// Another dialect, whose decoder panics at the next message once it is told to.
#[derive(Debug)]
struct Misreading {
    inner: &'static dyn Dialect,
    fails: AtomicBool,
}

impl Dialect for Misreading {
    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        if self.fails.swap(false, Ordering::SeqCst) {
            std::panic::panic_any(MARK);
        }
        self.inner.decode(frame)
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn title(&self) -> &'static str {
        self.inner.title()
    }
    fn properties(&self) -> &'static Properties {
        self.inner.properties()
    }
    fn project_files(&self) -> &'static [ProjectFile] {
        self.inner.project_files()
    }
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        self.inner.read_project(files)
    }
    fn endpoint(&self, port: u16, facts: &ProjectFacts) -> Endpoint {
        self.inner.endpoint(port, facts)
    }
    fn reception(&self) -> Option<Box<dyn Reception>> {
        self.inner.reception()
    }
    fn announces(&self, version: Option<&str>) -> Option<bool> {
        self.inner.announces(version)
    }
    fn moves_up(&self) -> u16 {
        self.inner.moves_up()
    }
    fn framer(&self) -> Box<dyn Framer> {
        self.inner.framer()
    }
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        self.inner.encode(id, order)
    }
    fn read_unnamed(&self, frame: &[u8]) -> Option<Reply> {
        self.inner.read_unnamed(frame)
    }
    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        self.inner.check_greeting(hello, said)
    }
    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        self.inner.read_tools(reply, step)
    }
    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        self.inner.prepare_call(sending, name, tool, arguments)
    }
    fn package_tool(&self, name: &str) -> Option<PackageTool> {
        self.inner.package_tool(name)
    }
    fn tools_within(&self, tool: &str, arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        self.inner.tools_within(tool, arguments)
    }
    fn log_prefix(&self, tool: &str) -> Option<&'static str> {
        self.inner.log_prefix(tool)
    }
    fn companions(&self) -> &'static [Companion] {
        self.inner.companions()
    }
    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        self.inner.read_answer(reply)
    }
    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply> {
        self.inner.read_result_file(bytes)
    }
    fn read_outcomes(&self, reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        self.inner.read_outcomes(reply, asked)
    }
    fn read_heartbeat(&self, reply: &Reply) -> Option<Heartbeat> {
        self.inner.read_heartbeat(reply)
    }
    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage> {
        self.inner.decode_push(line, token)
    }
    fn push_sequence(&self, line: &[u8]) -> Option<u64> {
        self.inner.push_sequence(line)
    }
}

/// Whether the editor says something while a call is held: a change of its tools, or the answer to another call.
fn is_told_beside(package: &Package) -> bool {
    package.facts.shape != Shape::ConnectionEach && (package.facts.tells_of_changes || package.facts.window > 1)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_our_decoder_fails_on_costs_that_message_and_no_call() {
    quiet_sabotage();
    for package in PACKAGES.iter().copied().filter(|package| is_told_beside(package)) {
        let spoken = dialect::named(package.name).unwrap();
        let misreading: &'static Misreading =
            Box::leak(Box::new(Misreading { inner: spoken, fails: AtomicBool::new(false) }));
        let dialects: &'static [&'static dyn Dialect] = Box::leak(Box::new([misreading as &dyn Dialect]));
        let folder = tempfile::tempdir().unwrap();
        for name in ["Assets", "ProjectSettings"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let project = dunce::canonicalize(folder.path()).unwrap();
        let setup = Setup::default();
        // Nobody but the user can name some ports.
        let ports = if package.facts.port == Port::Told { setup.config.ports.clone() } else { Vec::new() };
        let config = Config { project: Some(project.clone()), ports, dialects, ..setup.config };
        let setup = Setup { config, ..setup };
        setup.host.set_process(4711, Liveness::Alive);
        let owner = Owner { pid: 4711, name: "Unity".to_owned(), command_line: vec!["Unity".to_owned()] };
        for port in [PORT].into_iter().chain(40_000..40_020) {
            setup.host.set_owner(port, owner.clone());
        }
        setup.host.set_caller(None, Caller::Process(owner));
        let machine = Some(Machine(setup.host.clone()));
        let config = FakeUnityConfig { package, project: Some(project), machine, ..editor() };
        let unity = unity(&setup.net, config).await;
        let mut it = gateway(setup);
        it.client.open_as(PATIENT, "2025-06-18", json!({})).await;
        it.ready().await;
        let held = it.client.call("hold", json!({})).await;
        sleep(Duration::from_secs(1)).await;
        let connections = it.parts.link().contact.view.borrow().connections;

        misreading.fails.store(true, Ordering::SeqCst);
        // A package that announces nothing is asked something.
        let _ = unity.tools_changed().await;
        let beside = it.client.call("echo", json!({"text": "x"})).await;
        until("the message is lost", || !misreading.fails.load(Ordering::SeqCst)).await;
        sleep(Duration::from_secs(1)).await;
        unity.release();
        let (text, failed) = it.client.text(&held).await;
        assert!(!failed, "{spoken:?}: {text}");
        assert_eq!(it.parts.link().contact.view.borrow().connections, connections, "{spoken:?} kept its connection");
        drop(beside);
        it.close().await;
    }
}
