//! How each AI client opens its session, replayed literally: its name, the version and capabilities that it sends, how many
//! copies of the server it starts at once, in which environment and directory, and how it ends them.
//!
//! What is known about each client, and how reliably, is in its row of `src/protocol/mcp/clients/table.rs`. If a client's
//! version or capability is not known, its opening has what its SDK sends.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast::limits::TOOLS_WAIT;
use serde_json::{Value, json};

use super::client::{self, Client, Verdict};
use super::unity::Unity;
use super::{Room, SOON, once_within, until};

/// How a client ends its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Closes stdin and waits.
    Stdin,
    /// Sends SIGTERM to the process group while stdin is still open.
    Group,
}

/// The kind of MCP that the opening uses: with a handshake, or stateless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    Stateless,
}

struct Opening {
    name: &'static str,
    title: Option<&'static str>,
    version: &'static str,
    sends: &'static str,
    capabilities: &'static str,
    era: Era,
    copies: usize,
    /// The id of the first request: the TypeScript SDK counts from 0, others from 1.
    first_id: u64,
    end: End,
}

const PLAIN: Opening = Opening {
    name: "",
    title: None,
    version: "1.0.0",
    sends: "2025-11-25",
    capabilities: "{}",
    era: Era::Handshake,
    copies: 2,
    first_id: 0,
    end: End::Stdin,
};

/// The variables that the TypeScript SDK passes on to a server; Codex clears all and sets about the same ones.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("LOGNAME", "dev"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("SHELL", "/bin/sh"),
    ("TERM", "dumb"),
    ("USER", "dev"),
];

const OPENINGS: [Opening; 19] = [
    Opening { name: "claude-code", version: "2.1.240", capabilities: r#"{"roots":{},"elicitation":{}}"#, ..PLAIN },
    // With negotiation turned on (MCP_PROTOCOL_NEGOTIATION=auto).
    Opening { name: "claude-code", version: "2.1.240", era: Era::Stateless, ..PLAIN },
    // One start of the application starts both of these sessions.
    Opening { name: "claude-ai", version: "0.1.0", end: End::Group, ..PLAIN },
    Opening { name: "local-agent-mode-holdfast", end: End::Group, ..PLAIN },
    Opening { name: "cursor-vscode", ..PLAIN },
    Opening {
        name: "cursor-vscode",
        sends: "2025-06-18",
        // An old version of this client sends booleans instead of objects.
        capabilities: r#"{"tools":true,"prompts":true,"resources":true,"logging":false,"elicitation":{},"roots":{"listChanged":false}}"#,
        ..PLAIN
    },
    Opening {
        name: "Visual Studio Code",
        version: "1.125.0",
        capabilities: r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{}}}"#,
        first_id: 1,
        ..PLAIN
    },
    Opening {
        name: "codex-mcp-client",
        title: Some("Codex"),
        version: "0.154.0",
        sends: "2025-06-18",
        capabilities: r#"{"elicitation":{}}"#,
        copies: 3,
        end: End::Group,
        ..PLAIN
    },
    Opening {
        name: "gemini-cli-mcp-client",
        version: "0.0.1",
        capabilities: r#"{"roots":{"listChanged":true}}"#,
        ..PLAIN
    },
    Opening { name: "Cline", version: "3.86.0", ..PLAIN },
    Opening { name: "@cline/core", ..PLAIN },
    Opening { name: "windsurf-client", sends: "2025-03-26", first_id: 1, ..PLAIN },
    Opening { name: "Zed", version: "0.220.0", sends: "2025-03-26", end: End::Group, ..PLAIN },
    Opening { name: "opencode", ..PLAIN },
    Opening { name: "amp-mcp-client", version: "0.0.0-dev", sends: "2025-06-18", ..PLAIN },
    Opening { name: "goose", sends: "2025-03-26", capabilities: r#"{"sampling":{},"elicitation":{}}"#, ..PLAIN },
    Opening {
        name: "JetBrains-IU-copilot-intellij",
        sends: "2025-06-18",
        capabilities: r#"{"roots":{"listChanged":true}}"#,
        first_id: 1,
        ..PLAIN
    },
    // A client with an early SDK, and one with a new SDK in its default settings.
    Opening { name: "mcp", version: "0.1.0", sends: "2024-11-05", ..PLAIN },
    Opening { name: "mcp", version: "0.1.0", era: Era::Stateless, copies: 3, first_id: 1, ..PLAIN },
];

impl Opening {
    fn information(&self) -> Value {
        let mut information = json!({"name": self.name, "version": self.version});
        if let Some(title) = self.title {
            information["title"] = json!(title);
        }
        information
    }

    fn capabilities(&self) -> Value {
        serde_json::from_str(self.capabilities).expect("JSON")
    }

    fn is_asked_for_roots(&self) -> bool {
        self.capabilities().get("roots").is_some()
    }

    /// Returns the params in the form that this client sends.
    fn params(&self, mut params: Value) -> Value {
        if self.era == Era::Stateless {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = self.information();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        params
    }

    /// Starts the gateway. If the client declares roots, the gateway asks it for the project; otherwise the client's
    /// configuration names the project.
    fn start(&self, room: &Room) -> Client {
        let mut command = Command::new(super::program());
        client::bare(&mut command, room);
        command.envs(ENVIRONMENT).current_dir("/");
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if !self.is_asked_for_roots() {
            command.args(["--project".into(), room.project()]);
        }
        command.stdin(Stdio::piped());
        let mut client = Client::spawn(room, command);
        client.count_from(self.first_id);
        client
    }

    /// Opens the session. Returns how long that took.
    fn open(&self, client: &mut Client) -> Duration {
        let began = Instant::now();
        match self.era {
            Era::Handshake => {
                let params = json!({"protocolVersion": self.sends, "capabilities": self.capabilities(), "clientInfo": self.information()});
                let id = client.ask("initialize", &params);
                let answer = client.answer(id).0;
                assert_eq!(answer["result"]["protocolVersion"], self.sends, "{}: {answer}", self.name);
                assert_eq!(answer["result"]["serverInfo"]["name"], "holdfast", "{}: {answer}", self.name);
                client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            }
            Era::Stateless => {
                let id = client.ask("server/discover", &self.params(json!({})));
                let answer = client.answer(id).0;
                let versions = answer["result"]["supportedVersions"].as_array().expect("a list");
                assert!(versions.contains(&json!("2026-07-28")), "{}: {answer}", self.name);
            }
        }
        began.elapsed()
    }

    fn answer_roots(&self, client: &mut Client, room: &Room) {
        if !self.is_asked_for_roots() {
            assert_eq!(client.notified("roots/list"), 0, "{} is not to be asked", self.name);
            return;
        }
        until("roots/list", || client.notified("roots/list") > 0);
        let id = client.asked_by_server("roots/list").expect("it was asked");
        let uri = room.project_uri();
        let roots = json!([{"uri": uri, "name": "project"}]);
        client.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}));
    }

    fn list(&self, client: &mut Client) -> Vec<String> {
        let id = client.ask("tools/list", &self.params(json!({})));
        let answer = client.answer(id).0;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{}: no tools: {answer}", self.name));
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// Checks the tool list, a ping and a call. Returns whether the first list was complete or the client gets change
    /// notifications. Fails if a client that never asks again gets an incomplete list before [`TOOLS_WAIT`] has passed.
    fn works(&self, client: &mut Client) -> bool {
        let began = Instant::now();
        let traits = holdfast::protocol::mcp::traits_of(self.name);
        let hears = traits.list_changed && self.era == Era::Handshake;
        let is_whole = |tools: &[String]| tools.iter().any(|tool| tool == "echo");
        let first = self.list(client);
        let waited = began.elapsed();
        assert!(first.iter().any(|tool| tool == "holdfast_status"), "{}: {first:?}", self.name);
        let whole = hears || is_whole(&first);
        if !is_whole(&first) {
            assert!(
                hears || waited >= TOOLS_WAIT,
                "{} never asks again, and after {waited:?} its only list lacks the editor's tools: {first:?}",
                self.name
            );
            // The first list may have been incomplete; the rest is listed later.
            until("the editor's tools", || is_whole(&self.list(client)));
        }
        if self.era == Era::Handshake {
            let id = client.ask("ping", &json!({}));
            assert_eq!(client.answer(id).0["result"], json!({}), "{}", self.name);
        }
        let call = self.params(json!({"name": "echo", "arguments": {"text": self.name}}));
        let id = client.ask("tools/call", &call);
        let answer = client.answer(id);
        assert_eq!((answer.verdict(), &answer.body()["Echo"]), (Verdict::Ok, &json!(self.name)), "{}", answer.0);
        whole
    }

    /// Ends the session. Returns how long that took.
    fn end(&self, mut client: Client, room: &Room) -> Duration {
        match self.end {
            #[cfg(unix)]
            End::Group => {
                let group = nix::unistd::Pid::from_raw(i32::try_from(client.pid()).expect("a pid"));
                nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGTERM).expect("the group is there");
            }
            // Windows has no such signal: there these clients also close stdin before they end the process.
            _ => client.close_stdin(),
        }
        let (status, took) = client.ended_within(SOON);
        assert_eq!(status.code(), Some(0), "{}: {status} after {took:?}", self.name);
        client.check(room);
        took
    }

    /// Runs as many copies as this client does. Returns how long the slowest copy took to open and to end, and whether each
    /// list was complete.
    fn run(&self, room: &Room) -> (Duration, Duration, bool) {
        let mut copies: Vec<Client> = (0..self.copies).map(|_| self.start(room)).collect();
        let opened = copies.iter_mut().map(|client| self.open(client)).max();
        for client in &mut copies {
            self.answer_roots(client, room);
        }
        let mut whole = true;
        for client in &mut copies {
            whole &= self.works(client);
        }
        let ended = copies.into_iter().map(|client| self.end(client, room)).max();
        let left = holdfast::storage::instance_record::all(&room.state_in_home());
        assert!(left.is_empty(), "{}: records left behind: {left:?}", self.name);
        (opened.expect("a copy"), ended.expect("a copy"), whole)
    }
}

#[test]
fn every_client_opens_as_many_copies_as_it_does_and_each_works_and_leaves_nothing() {
    let room = Room::new();
    let unity = Unity::of_project(&room, &["--quiet"]);
    for opening in &OPENINGS {
        // On a busy machine it may take several attempts until each step is quick once.
        let (mut opened, mut ended, mut whole) = (Duration::MAX, Duration::MAX, false);
        once_within(opening.name, Duration::from_secs(3), || {
            let go = opening.run(&room);
            (opened, ended, whole) = (opened.min(go.0), ended.min(go.1), whole || go.2);
            // Clients give up a start after 5 s at the earliest, the SDKs wait for 2 s before they send the next signal, and some
            // clients never ask for the list again.
            if ended < Duration::from_secs(2) && whole { opened } else { Duration::MAX }
        });
    }
    drop(unity);
}

#[test]
fn every_client_in_the_table_has_its_opening_here() {
    let replayed: Vec<&str> =
        OPENINGS.iter().map(|opening| holdfast::protocol::mcp::traits_of(opening.name).name).collect();
    for client in holdfast::protocol::mcp::clients::known_clients() {
        // The names of some clients are unknown, and the Inspector is tested with its own program: see tests/clients/run.sh.
        let told = client.names.is_empty() || client.label == "mcp_inspector";
        assert!(told || replayed.contains(&client.label), "{} is not replayed", client.label);
    }
}
