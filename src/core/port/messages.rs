//! The messages of the port between a session and a hub, as JSON-RPC. The session is the client: it names a link by its project.
//!
//! The session numbers its requests itself, and never uses a number twice. Besides these messages it sends
//! `notifications/cancelled` and `ping` as MCP has them, and the messages of [`hub`](crate::protocol::hub). Unknown
//! members of a message are skipped.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Seen;
use crate::fsm::call::Verdict;
use crate::fsm::registry::Source;
use crate::protocol::dialect::EditorTool;
use crate::protocol::ids::CallId;
use crate::protocol::policy::Policy;

/// The request of a session to make a call: [`Call`]. Its answer is a [`Settled`].
pub const CALL: &str = "port/call";
/// The request for what a hub finds where a session's client works: [`Look`]. Its answer is a survey.
pub const LOOK: &str = "port/look";
/// The request for the tools of a link: [`Of`]. Its answer is [`Tools`].
pub const TOOLS: &str = "port/tools";
/// The request for how all links stand: [`Ask`].
pub const ASK: &str = "port/ask";
/// The notification with which a session says who its client is: [`Opened`].
pub const OPENED: &str = "port/opened";
/// The notification that an editor is wanted: [`Of`].
pub const WANT: &str = "port/want";
/// The notification of where a session is now: [`Here`].
pub const HERE: &str = "port/here";
/// The notification that a session does not mean an editor any more: [`Of`]. Its calls that were not sent are refused.
pub const LEAVE: &str = "port/leave";
/// The hub's notification of what is seen of a link: [`Sighting`]. Of several that wait, only the newest is sent.
pub const SEEN: &str = "port/seen";
/// The hub's notification that a link is gone, or cannot be opened: [`Of`].
pub const GONE: &str = "port/gone";
/// The hub's notification of how a call goes on: [`Progress`].
pub const PROGRESS: &str = "port/progress";
/// The hub's notification of a part of an answer that is too long for one line: [`Piece`]. The answer itself then says how many there
/// were ([`Settled::pieces`]).
pub const PIECE: &str = "port/piece";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Call {
    /// The call's id. The session has told it already, or may tell it. Older sessions leave it to the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    pub project: PathBuf,
    /// The tool's name as the session lists it.
    pub tool: String,
    /// The arguments: a JSON object.
    pub arguments: Box<RawValue>,
    /// Whether the client wants to be told how the call goes on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub progress: bool,
    /// The address of the resource that the client reads by this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
    /// The `_meta` of the trace that the call is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<RawValue>>,
    /// The client, if it is another than the one that opened the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Opened>,
    /// How long the session has had the request, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
    /// Whether the client takes results of every size as they are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settled {
    pub call: CallId,
    /// How the call ended. `None`: it was no call of an editor's tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The result as it is stored. `None`: it came in [`pieces`](Self::pieces).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<RawValue>>,
    /// The number of pieces in which the result came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pieces: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Whether the call was sent and an editor said that it did not run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unrun: bool,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub request: u64,
    /// The number of the piece, from 0.
    pub nth: usize,
    pub text: String,
}

/// How a call goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    pub request: u64,
    /// A value that rises.
    pub progress: f64,
    /// The final value, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What the call waits for or does.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Of {
    pub project: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The client's name, as it gives it.
    pub name: String,
    /// The client's version, as it gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The version of MCP that it speaks.
    pub version: String,
    /// The client's own id of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Where a session is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Here {
    /// The project of the link that it is on; `None` while it is on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The projects of the editors that it has a choice of, if they are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choice: Vec<PathBuf>,
}

/// Where a client works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The project that the session was started for, as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<PathBuf>,
    /// The directory that the session was started in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<PathBuf>,
    /// The folder that the client named in the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_dir: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<PathBuf>,
    /// The project that was found before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<PathBuf>,
}

/// What is seen of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    pub project: PathBuf,
    pub seen: Seen,
    /// Where the tools come from.
    pub source: Source,
    /// Whether the catalogue on disk was looked for.
    pub disk_read: bool,
    /// The digest of the tools and of the project's rules for them. A session asks for them if it has others.
    pub digest: String,
}

/// The tools of a link, with what decides how they are listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    pub digest: String,
    /// The name of the package's dialect.
    pub dialect: String,
    /// The version of the package, if the project's files name it.
    #[serde(default)]
    pub package_version: Option<String>,
    pub tools: Vec<std::sync::Arc<EditorTool>>,
    /// The entries of the editor's list that cannot be used, each with the reason.
    #[serde(default)]
    pub unusable: Vec<(String, String)>,
    #[serde(default)]
    pub hub_rules: Policy,
    /// The rules of the project's own configuration file; `None` while no survey of it was made.
    #[serde(default)]
    pub rules: Option<Policy>,
}

/// A question for how all links stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The call whose result is wanted too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Whether the calls on record are wanted too, which may be thousands.
    #[serde(default, skip_serializing_if = "is_false")]
    pub calls: bool,
    /// Whether the projects are wanted too whose tools are on disk.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_disk: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::Arc;

    use serde::de::DeserializeOwned;
    use serde_json::{Value, json, to_value};

    use super::*;
    use crate::core::calls::Wanted;
    use crate::core::router::Running;
    use crate::fsm::cause::{Availability, Cause};
    use crate::protocol::policy::Pattern;

    fn vectors() -> Vec<Value> {
        let path = format!("{}/tests/vectors/port/messages.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    /// Returns what the vector of this name carries, and checks that the value is written so and read back so.
    fn is<T: Serialize + DeserializeOwned + Debug>(name: &str, value: &T) {
        let all = vectors();
        let vector = all.iter().find(|vector| vector["is"] == name).unwrap_or_else(|| panic!("no vector {name}"));
        let carried = vector.get("params").unwrap_or(&vector["result"]);
        let text = |value: &Value| serde_json::to_string_pretty(value).unwrap();
        let written: Value = serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap();
        assert_eq!(text(&written), text(carried), "{name}");
        // A later program may say more.
        let mut more = carried.clone();
        more["of a later program"] = json!(true);
        for told in [carried, &more] {
            let read: T = serde_json::from_str(&told.to_string()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{value:?}"), "{name}");
        }
    }

    #[test]
    fn the_messages_are_those_of_the_vectors() {
        let (castle, forest) = (PathBuf::from("/games/Castle"), PathBuf::from("/games/Forest"));
        let opened =
            Opened { name: "codex".into(), release: Some("1.2".into()), version: "2025-11-25".into(), session: None };
        let id = CallId::parse("c63493d2-0466-4a56-8ca1-fd801b14e93b").unwrap();
        let call = Call {
            call: Some(id),
            project: castle.clone(),
            tool: "create".into(),
            arguments: raw(r#"{"name":"Cube","n":1.5}"#),
            progress: true,
            reads: Some("holdfast://console".into()),
            trace: Some(raw(r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#)),
            client: Some(opened.clone()),
            waited_ms: 7,
            whole: true,
        };
        is("a call", &call);
        let plain = Call {
            call: None,
            progress: false,
            reads: None,
            trace: None,
            client: None,
            waited_ms: 0,
            whole: false,
            ..call
        };
        is("a call with nothing beside", &plain);
        let settled = Settled {
            call: id,
            verdict: Some(Verdict::NotExecuted(Cause::Reloading)),
            answer: Some(raw(r#"{"content":[{"type":"text","text":"x"}],"isError":true}"#)),
            pieces: 0,
            project: Some(castle.clone()),
            unrun: true,
        };
        is("how a call ended", &settled);
        let pieces =
            Settled { verdict: Some(Verdict::Ok), answer: None, pieces: 3, project: None, unrun: false, ..settled };
        is("how a call ended whose result came in pieces", &pieces);
        is("a piece", &Piece { request: 7, nth: 2, text: "\"}".into() });
        is("progress", &Progress { request: 7, progress: 2.5, total: Some(10.0), message: "importing".into() });
        is("who the client is", &opened);
        let of_session = Opened { session: Some("019dba93".into()), ..opened };
        is("who the client is, and its own session", &of_session);
        is("a link", &Of { project: castle.clone() });
        is("where a session is", &Here { project: Some(castle.clone()), choice: Vec::new() });
        is("what a session has a choice of", &Here { project: None, choice: vec![castle.clone(), forest.clone()] });
        is(
            "where a client works",
            &Look {
                named: Some(castle.clone()),
                working_dir: Some("/games".into()),
                client_dir: Some(castle.join("Assets")),
                roots: vec![forest],
                former: None,
            },
        );
        is("a question for a result", &Ask { call: Some(id), ..Ask::default() });
        is("a question for all calls and projects", &Ask { call: None, calls: true, on_disk: true });
        is("a question", &Ask::default());
        let seen = Seen {
            revision: 9,
            availability: Availability::Open,
            undecided: false,
            connections: 2,
            running: Some(Running { project: castle.clone(), is_known: true }),
            wanted: Wanted::Settled(Some(castle.clone())),
            leads_to_the_wanted: true,
            project: Some(castle.clone()),
            ambiguous: Vec::new(),
        };
        let digest = "0123456789abcdef".to_owned();
        is(
            "what is seen",
            &Sighting { project: castle, seen, source: Source::Live, disk_read: true, digest: digest.clone() },
        );
        let tool: EditorTool = serde_json::from_value(json!({
            "name": "create", "description": "Creates.", "input_schema": {"type": "object"},
            "annotations": {"title": "Create", "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false},
        }))
        .unwrap();
        let mut hub_rules = Policy::default();
        hub_rules.deny(vec![Pattern::parse("delete-*").unwrap()], "--deny");
        is(
            "the tools of a link",
            &Tools {
                digest,
                dialect: crate::protocol::dialect::FALLBACK[0].name().into(),
                package_version: Some("2.1.1".into()),
                tools: vec![Arc::new(tool)],
                unusable: vec![("odd".into(), "it has no name".into())],
                hub_rules,
                rules: Some(Policy::default()),
            },
        );
    }

    /// A message of a kind that a vector does not show could change unseen.
    #[test]
    fn every_method_has_a_vector() {
        let all = vectors();
        let shown = |method: &str| all.iter().any(|vector| vector["method"] == method);
        for method in [CALL, LOOK, TOOLS, ASK, OPENED, WANT, HERE, LEAVE, SEEN, GONE, PROGRESS, PIECE] {
            assert!(shown(method), "{method}");
        }
        assert!(to_value(Verdict::Ok).is_ok());
    }
}
