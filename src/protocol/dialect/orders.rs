//! What is sent to the editor: the greeting, calls, questions; and what a call must carry to be sent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{Expected, Reply, Secret};
use crate::protocol::ids::CallId;
use crate::protocol::trace::TraceContext;

/// What the editor is told first on a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// This process of the gateway, among all others.
    pub gateway: String,
    /// Hex digits that were never used before.
    pub challenge: String,
    /// Who the editor must be.
    pub expected: Option<Expected>,
    /// The client's name, shown in the editor.
    pub client_name: String,
    /// The editor's port that was dialled.
    pub editor_port: u16,
    /// `127.0.0.1:PORT` of our push listener, if there is one.
    pub push_endpoint: Option<String>,
    /// What the editor must say on that listener with every message, where its dialect can.
    pub push_token: Secret,
}

/// One sending of a call.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// The call.
    pub call: CallId,
    /// 1 for the first time.
    pub nth: u8,
    /// Rises with every sending of this process.
    pub seq: u64,
    /// The journal that this connection's editor keeps ([`Met::journal`](super::Met::journal)).
    pub journal: Option<&'a str>,
    /// Files of the project can be read afterwards.
    pub project_known: bool,
    /// The version of the package in the project, if its files tell it.
    pub package_version: Option<&'a str>,
}

impl Sending<'_> {
    /// The first sending of a call to an editor without a journal.
    pub fn first(call: CallId, project_known: bool) -> Self {
        Self { call, nth: 1, seq: 1, journal: None, project_known, package_version: None }
    }
}

/// Under what an editor's journal knows a sending.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JournalKey {
    /// The journal: that of one process of the editor.
    pub journal: String,
    /// The sending's id there.
    pub id: String,
    /// [`Sending::seq`](super::Sending::seq).
    pub seq: u64,
}

/// The identity of one message to the editor. Numbers rise over the life of the process and are never used twice, so a reply
/// of an older connection matches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireId {
    /// Unique in this process.
    pub number: u64,
    /// The call it belongs to; part of the id on the wire where the dialect's ids can carry it, so that one word follows a
    /// call from the client to Unity's console.
    pub call: Option<CallId>,
}

/// A message to the editor.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The next message of the greeting.
    Greeting {
        /// What there is to tell.
        hello: &'a Hello,
        /// What the editor has said to the greeting so far.
        said: &'a [Reply],
    },
    /// The tool list, by the `step`-th of the dialect's known methods (0 first; see [`ListStep::TryNext`](super::ListStep::TryNext)).
    ListTools {
        /// Index into the dialect's ladder of list methods.
        step: usize,
        /// Ask for development-only tools too.
        development: bool,
    },
    /// A tool call.
    Call {
        /// The tool's own name in the editor.
        tool: &'a str,
        /// The call, made ready by [`Dialect::prepare_call`](super::Dialect::prepare_call).
        call: &'a PreparedCall,
        /// Whom the editor must be, where the dialect can ask.
        expected: Option<&'a Expected>,
        /// The client wants to hear how far it is.
        progress: bool,
    },
    /// What became of these sendings, where the editor keeps a journal ([`Met::journal`](super::Met::journal)).
    Outcomes(&'a [JournalKey]),
    /// This sending is not wanted any more; nothing answers it.
    Cancel(&'a JournalKey),
    /// How the editor is ([`Properties::heartbeat`](super::Properties::heartbeat)).
    Heartbeat,
}

/// How the outcome of a call may still be learned when its connection ends before its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Not at all.
    None,
    /// The editor writes the result into a file of the project.
    ResultFile {
        /// Path of the file below the project root.
        path: String,
        /// While one of these files exists the editor is not done.
        busy_files: &'static [&'static str],
        /// For how long none of them may exist.
        quiet: Duration,
    },
    /// The editor's journal knows it by this.
    Journal(JournalKey),
    /// Only that the editor came back can be told: the reload it caused followed.
    Inferred,
}

/// A call ready to be encoded.
#[derive(Debug)]
pub struct PreparedCall {
    /// The arguments as they are sent.
    pub arguments: Box<RawValue>,
    /// How its outcome may be learned after a cut.
    pub recovery: Recovery,
    /// The tool's own time limit, if an argument or its default says one.
    pub timeout: Option<Duration>,
    /// The time limit that the editor is told, in place of the tool's own.
    pub limit: Option<Duration>,
    /// A domain reload may follow its answer, without a word.
    pub reload_follows: bool,
    /// The trace that it is part of, for a dialect that has a place for it.
    pub trace: Option<Arc<TraceContext>>,
}

impl PreparedCall {
    /// A call that is sent as it was given, and of which nothing more is known.
    pub fn as_given(arguments: &RawValue) -> Self {
        Self {
            arguments: arguments.to_owned(),
            recovery: Recovery::None,
            timeout: None,
            limit: None,
            reload_follows: false,
            trace: None,
        }
    }
}
