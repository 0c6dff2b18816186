//! The protocol between a session of `holdfast serve` and the hub: the gateway that several sessions share.
//!
//! A session connects and writes one line, [`Hello`]. The hub answers with one line, [`Reply`]. After a welcome both
//! sides speak JSON-RPC, one message on each line: the session is the client. It numbers its requests itself, so an id
//! is never used twice. In version 2 the messages are those of the port
//! ([`core::port::messages`](crate::core::port::messages)), in version 1 those of MCP, as on stdin and stdout. Four
//! notifications are in both versions. The session sends [`DELIVERED`], [`RETIRE`] and [`INPUT_ENDED`], and the hub
//! sends [`GIVEN_BACK`]. Hello, reply and [`RETIRE`] are the same in every version.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::protocol::mcp::Audience;
use crate::protocol::mcp::clients::ClientOverrides;
use crate::protocol::policy::Policy;

/// The version since which both sides speak the port.
pub const PORT: u32 = 2;
/// The newest version of this protocol.
pub const NEWEST: u32 = PORT;
/// The oldest version that this program speaks. A session of this program asks a hub of that version only to retire. A
/// hub of this program still serves sessions of that version, which speak MCP.
pub const OLDEST: u32 = 1;

/// The notification with which a session says that the client has the answer to one of its requests: `{"request": NUMBER}`.
pub const DELIVERED: &str = "holdfast/delivered";
/// The notification with which a session of a newer version asks the hub to end as soon as the calls that it sent are answered.
pub const RETIRE: &str = "holdfast/retire";
/// The notification with which a session says that its client sends nothing more. The hub answers the open requests, as
/// a gateway does at the end of stdin. After that it takes only [`DELIVERED`].
pub const INPUT_ENDED: &str = "holdfast/input_ended";

/// The notification with which a hub that makes way gives a request back: `{"request": NUMBER}`. Nothing was sent for
/// the request, and the session takes it to another gateway. A session that does not know this notification brings the
/// request too, once the connection ends.
pub const GIVEN_BACK: &str = "holdfast/given_back";

/// The first line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The oldest version of the protocol that the session speaks.
    pub oldest: u32,
    /// The newest version of the protocol that the session speaks.
    pub newest: u32,
    /// The version of the session's program.
    pub build: String,
    /// The pid of the session's process, as that process sees it itself.
    pub pid: u32,
    /// The session's own name: 32 hexadecimal digits. It stays the same when the session comes to another hub.
    pub session: String,
    /// The requests that are not answered. The session sends them after the welcome.
    #[serde(default)]
    pub open: Vec<OpenRequest>,
    /// The name of the records of the hub to which requests were sent ([`Welcome::records`]). A hub without these
    /// records does not know how the requests stand.
    #[serde(default)]
    pub records: Option<String>,
    /// What the session brings itself.
    pub rules: SessionRules,
}

/// A request that a session brings to a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// The session's number of the request.
    pub request: u64,
    /// Whether the session sent the request to an earlier hub.
    pub sent: bool,
    /// How long the client has waited for the answer, in milliseconds.
    pub waited_ms: u64,
}

/// What a session brings to the hub: where it works, and the user's settings for it. The hub applies these rules in
/// addition to its own, and the stricter rule holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRules {
    /// The folder that the session was told to use as its project.
    pub project: Option<PathBuf>,
    /// The directory that the session was started in.
    pub working_dir: Option<PathBuf>,
    /// The name that the editor is told if the client gives none.
    pub client_name: Option<String>,
    /// Which tools the session may call.
    pub policy: Policy,
    /// The file in which the session's calls are recorded.
    pub audit: Option<PathBuf>,
    /// The user's settings for single clients.
    pub clients: ClientOverrides,
    /// How long the client waits for an answer, in seconds. Replaces what is known of the client.
    pub patience: Option<u64>,
    /// Whether the client honours `tools/list_changed`. Replaces what is known of the client.
    pub list_changed: Option<bool>,
    /// Who reads holdfast's own texts.
    pub audience: Audience,
    /// Settings of the session that cannot be used, each with the reason and the fix.
    pub complaints: Vec<String>,
}

/// The parameters of [`DELIVERED`] and of [`GIVEN_BACK`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    /// The number of the request.
    pub request: u64,
}

/// The hub's answer to a [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The session is open.
    Welcome(Welcome),
    /// The session is not open, and the connection ends.
    Refused(Refusal),
}

/// A hub that takes a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the protocol that is spoken from here on.
    pub protocol: u32,
    /// The version of the hub's program.
    pub build: String,
    /// The pid of the hub's process, as that process sees it itself.
    pub pid: u32,
    /// The name of this hub: a new one for each process.
    pub hub: String,
    /// The name of the hub's records. Each hub has a new one, and a successor knows the names of the records that it
    /// has taken over.
    pub records: String,
}

/// Why a hub does not take a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    /// The two have no version of the protocol in common.
    Protocol,
    /// As many sessions are open as there may be.
    Full,
    /// The hub is ending. A successor can be expected.
    Ending,
    /// The first line is not a [`Hello`].
    BadHello,
}

/// A hub that does not take a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub reason: Reason,
    /// The reason as a sentence for the log.
    pub says: String,
}

/// Returns the newest version that both sides speak; `None` if there is none.
pub fn negotiate(oldest: u32, newest: u32) -> Option<u32> {
    let common = newest.min(NEWEST);
    (common >= oldest.max(OLDEST)).then_some(common)
}

/// Whether the version `this` of the program is newer than `that`. False if one of them is not a version.
pub fn is_newer(this: &str, that: &str) -> bool {
    fn version(text: &str) -> Option<Vec<u64>> {
        let release = text.split(['-', '+']).next()?;
        release.split('.').map(|part| part.parse().ok()).collect()
    }
    version(this).zip(version(that)).is_some_and(|(this, that)| this > that)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::policy::{Asker, Pattern, unstated_tool};

    #[test]
    fn two_sides_speak_the_newest_version_that_both_know() {
        for (oldest, newest, spoken) in
            [(1, 1, Some(1)), (1, 2, Some(2)), (1, 9, Some(2)), (3, 9, None), (0, 0, None), (0, 1, Some(1))]
        {
            assert_eq!(negotiate(oldest, newest), spoken, "{oldest}..{newest}");
        }
    }

    #[test]
    fn a_version_is_newer_by_its_numbers() {
        for (this, that, newer) in [
            ("0.2.0", "0.1.9", true),
            ("0.10.0", "0.9.0", true),
            ("0.1.0", "0.1.0", false),
            ("0.1.0", "0.2.0", false),
            ("0.2.0-dev", "0.1.0", true),
            ("next", "0.1.0", false),
        ] {
            assert_eq!(is_newer(this, that), newer, "{this} {that}");
        }
    }

    /// A rule that is lost on the way would let a call run that its user forbids.
    #[test]
    fn a_sessions_rules_arrive_as_they_were_sent() {
        let mut policy = Policy::default();
        policy.deny(vec![Pattern::parse("delete-*").unwrap(), Pattern::parse("@destructive").unwrap()], "--deny");
        policy.allow(vec![Pattern::parse("get-*").unwrap()], "HOLDFAST_ALLOW");
        policy.choose_for_client("codex".to_owned(), vec![Pattern::parse("get-a").unwrap()], "[clients.codex] tools");
        policy.choose_in_project("Castle".to_owned(), vec![Pattern::parse("@group:Scenes").unwrap()], "a file");
        policy.hide_denied("--hide-denied");
        policy.refuse_all("the file is broken".to_owned());
        let clients = ClientOverrides::new([
            ("codex".to_owned(), serde_json::from_str(r#"{"patience": 77}"#).unwrap()),
            ("Some*".to_owned(), serde_json::from_str(r#"{"tools_max": 0}"#).unwrap()),
        ])
        .unwrap();
        let rules = SessionRules {
            project: Some("/games/Castle".into()),
            working_dir: Some("/games".into()),
            client_name: Some("me".to_owned()),
            policy: policy.clone(),
            audit: Some("/tmp/audit".into()),
            clients,
            patience: Some(9),
            list_changed: Some(true),
            audience: Audience::Person,
            complaints: vec!["a line".to_owned()],
        };
        let line = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<SessionRules>(&line).unwrap(), rules, "{line}");
        assert!(policy.refusal(&unstated_tool(&["get-x"]), &Asker::default()).is_some());
        let unknown = line.replacen("\"policy\"", "\"forbids\":[],\"policy\"", 1);
        assert!(
            serde_json::from_str::<SessionRules>(&unknown).is_err(),
            "a rule that is not understood is not ignored"
        );
    }
}
