//! Messages to the editor (the greeting, calls and questions), and the data of a call that is to be sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{Expected, Reply, Secret};
use crate::protocol::framing::http::Request;
use crate::protocol::ids::CallId;
use crate::protocol::trace::TraceContext;

/// What the greeting says to the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// The id of this gateway process, unique among all gateways.
    pub gateway: String,
    /// Random hex digits, new for each connection.
    pub challenge: String,
    /// The identity that the editor must have.
    pub expected: Option<Expected>,
    /// The client's name, shown in the editor.
    pub client_name: String,
    /// The port on which the gateway connects to the editor.
    pub editor_port: u16,
    /// `127.0.0.1:PORT` of our push listener, if it runs.
    pub push_endpoint: Option<String>,
    /// The token that the editor must repeat in every push message, if its dialect can.
    pub push_token: Secret,
}

/// One attempt to send a call.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// The id of the call.
    pub call: CallId,
    /// Number of the attempt for this call, from 1.
    pub nth: u8,
    /// A number that rises with each attempt to send any call of this process.
    pub seq: u64,
    /// The journal of the connected editor ([`Met::journal`](super::Met::journal)).
    pub journal: Option<&'a str>,
    /// Whether the project is known, so that its files can be read later.
    pub project_known: bool,
}

impl Sending<'_> {
    /// The first attempt to send a call, to an editor without a journal.
    pub fn first(call: CallId, project_known: bool) -> Self {
        Self { call, nth: 1, seq: 1, journal: None, project_known }
    }
}

/// Identifies one attempt to send a call in an editor's journal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct JournalKey {
    /// The journal of one editor process.
    pub journal: String,
    /// The id of the attempt in that journal.
    pub id: String,
    /// The number of the attempt ([`Sending::seq`](super::Sending::seq)).
    pub seq: u64,
}

/// The identity of one message to the editor. Numbers rise during the life of the process and are never used twice, so a reply
/// from an older connection matches no open message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireId {
    /// Unique in this process.
    pub number: u64,
    /// The call that the message belongs to. If the dialect's ids can hold it, it is part of the id on the wire: then the same
    /// text identifies the call everywhere, from the client to Unity's console.
    pub call: Option<CallId>,
    /// What the greeting agreed on ([`Met::agreed`](super::Met::agreed)); `None` before its end.
    pub agreed: Option<u32>,
}

/// What a dialect hands to a connection to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// A whole frame, header included, for a stream that carries all messages.
    Frame(Bytes),
    /// A request over HTTP, which has a connection of its own.
    Request(Request),
}

impl Encoded {
    /// Returns the bytes that count towards [`Properties::request_max_bytes`](super::Properties::request_max_bytes): the frame, or
    /// the body of the request.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Frame(frame) => frame,
            Self::Request(request) => request.body,
        }
    }
}

/// A message to the editor.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The next message of the greeting.
    Greeting {
        /// The content of the greeting.
        hello: &'a Hello,
        /// The editor's replies to the greeting so far.
        said: &'a [Reply],
    },
    /// A request for the tool list, by the dialect's `step`-th list method (0 first; see
    /// [`ListStep::TryNext`](super::ListStep::TryNext)).
    ListTools {
        /// Index into the dialect's list methods.
        step: usize,
        /// Whether to include development-only tools.
        development: bool,
    },
    /// A tool call.
    Call {
        /// The tool's own name in the editor.
        tool: &'a str,
        /// The call, prepared by [`Dialect::prepare_call`](super::Dialect::prepare_call).
        call: &'a PreparedCall,
        /// The identity that the editor must have, for a dialect that checks it with each call.
        expected: Option<&'a Expected>,
        /// Whether the client wants progress reports.
        progress: bool,
    },
    /// A question about the outcomes of these attempts, for an editor with a journal ([`Met::journal`](super::Met::journal)).
    Outcomes(&'a [JournalKey]),
    /// Cancels the call of this attempt. The editor does not answer it.
    Cancel(&'a JournalKey),
    /// A question about the editor's condition ([`Properties::heartbeat`](super::Properties::heartbeat)).
    Heartbeat,
}

/// How the outcome of a call can be learned if its connection ends before its reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// The outcome cannot be learned.
    None,
    /// The editor writes the result to a file of the project.
    ResultFile {
        /// Path of the file, relative to the project root.
        path: String,
        /// While one of these files exists, the editor is not finished.
        busy_files: &'static [&'static str],
        /// How long the result must be complete and all busy files absent before it is accepted.
        quiet: Duration,
    },
    /// The call only begins some work. How far it is stands in a file of the project: one for all clients. Until the reply says that the
    /// work has begun, the file tells nothing of this call.
    StatusFile {
        /// Path of the file, relative to the project root.
        path: &'static str,
        /// A file that is there while the work runs, if there is one.
        running: Option<&'static str>,
        /// A number that stands for the status file before the call was sent. The connection fills it in.
        before: u64,
        /// Members with these values tell this work from another client's, where the file has them.
        of: Vec<(&'static str, String)>,
    },
    /// The editor's journal knows the outcome under this key.
    Journal(JournalKey),
    /// The call causes a domain reload. The gateway can only see the editor return, which shows that the reload is over.
    Inferred,
}

/// Files of the project that show whether a compile has changed anything: without a change no domain reload follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReloadSigns {
    /// The folder of the assemblies that Unity compiles the project's scripts to, relative to the project root. Unity writes them
    /// before it reports the end of a compile.
    pub assemblies: &'static str,
    /// While one of these files exists, the editor is not finished.
    pub busy_files: &'static [&'static str],
}

/// A call ready to be encoded.
#[derive(Debug)]
pub struct PreparedCall {
    /// The arguments as they will be sent.
    pub arguments: Box<RawValue>,
    /// How the outcome can be learned if the connection ends.
    pub recovery: Recovery,
    /// The tool's own time limit: from the arguments, or the tool's default.
    pub timeout: Option<Duration>,
    /// A time limit to send to the editor in place of the tool's own.
    pub limit: Option<Duration>,
    /// Whether a domain reload may follow the answer without an announcement.
    pub reload_follows: bool,
    /// What shows that no reload follows after all; `None` if nothing can show it.
    pub reload_signs: Option<ReloadSigns>,
    /// What the editor would misread in the arguments, as a sentence. Such a call is not sent.
    pub misread: Option<String>,
    /// Whether the editor is asked to run the call as a job, for a dialect that can leave it.
    pub as_job: bool,
    /// The trace that the call belongs to, for a dialect that can send it.
    pub trace: Option<Arc<TraceContext>>,
}

impl PreparedCall {
    /// A call that is sent unchanged, with no recovery and no time limit.
    pub fn as_given(arguments: &RawValue) -> Self {
        Self {
            arguments: arguments.to_owned(),
            recovery: Recovery::None,
            timeout: None,
            limit: None,
            reload_follows: false,
            reload_signs: None,
            misread: None,
            trace: None,
            as_job: false,
        }
    }
}
