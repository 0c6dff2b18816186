//! What every dialect can do.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, BadOutcomes, Companion, EditorAnswer, EditorTool, EncodeError, Greeted, Heartbeat, Hello,
    Inbound, JournalKey, JournalOutcome, ListStep, Order, PackageTool, PreparedCall, ProjectFacts, ProjectFile,
    ProjectFiles, Properties, PushEvent, Reply, Secret, Sending, WireId,
};
use crate::protocol::framing::Framer;

/// One Unity package's wire protocol.
pub trait Dialect: Send + Sync + std::fmt::Debug + 'static {
    /// Its name in flags, logs and labels.
    fn name(&self) -> &'static str;
    /// Its package's name for people.
    fn title(&self) -> &'static str;
    /// What is true of every editor that speaks it.
    fn properties(&self) -> &'static Properties;
    /// The project's files that [`read_project`](Dialect::read_project) wants to see.
    fn project_files(&self) -> &'static [ProjectFile];
    /// What those files say.
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts;
    /// Whether the editor says so before it reloads or quits; `version` is the package's, if it is known. `None` if that takes a
    /// version that is not known.
    fn announces(&self, version: Option<&str>) -> Option<bool>;
    /// How many ports above its own the package tries when that one is taken, without writing anywhere which it took.
    fn moves_up(&self) -> u16 {
        0
    }
    /// A decoder for a new connection.
    fn framer(&self) -> Box<dyn Framer>;
    /// A whole frame, header included.
    ///
    /// # Errors
    /// [`EncodeError`]; nothing was sent.
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Bytes, EncodeError>;
    /// What a frame's body says.
    ///
    /// # Errors
    /// [`BadMessage`]: the peer is not this dialect's editor, or broken.
    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage>;
    /// The reply in a frame that names no request, where the package answers so and means the only one that is open on the
    /// connection; `None` for every other frame.
    fn read_unnamed(&self, _frame: &[u8]) -> Option<Reply> {
        None
    }
    /// What the replies to the greeting so far mean; the last one is new.
    ///
    /// # Errors
    /// What the peer said that this dialect's editor, or the one that is meant, does not say.
    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting>;
    /// What a reply to the `step`-th list method means.
    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep;
    /// Makes a call ready: the package's own parameters for surviving a reload, its time limit. `tool` is `None` when the tool
    /// is not in the list.
    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall;
    /// Whether a tool is one that the package's own server answered without its editor, and which.
    fn package_tool(&self, _name: &str) -> Option<PackageTool> {
        None
    }
    /// How the log of each operation of a tool is called, where the package has one for each; the time of its end is added.
    fn log_prefix(&self, _tool: &str) -> Option<&'static str> {
        None
    }
    /// The HTTP services that the package's documents have beside its own server.
    fn companions(&self) -> &'static [Companion] {
        &[]
    }
    /// An editor's reply to a call, ready for the client.
    fn read_answer(&self, reply: Reply) -> EditorAnswer;
    /// The reply that a [`Recovery::ResultFile`](super::Recovery::ResultFile) holds; `None` while it is not whole.
    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply>;
    /// What a reply to [`Order::Outcomes`] says of each of the sendings that were asked for, in their order.
    ///
    /// # Errors
    /// Why it is no such answer.
    fn read_outcomes(&self, _reply: Reply, _asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        Err(BadOutcomes::NotSpoken)
    }
    /// What a reply to [`Order::Heartbeat`] says.
    fn read_heartbeat(&self, _reply: &Reply) -> Option<Heartbeat> {
        None
    }
    /// What a line on the push socket says; `token` is [`Hello::push_token`].
    ///
    /// # Errors
    /// [`BadMessage`]: counted, ignored.
    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage>;
    /// The number of such a line, where lines have one: it rises by one with each, from 1 in each process of the editor.
    fn push_sequence(&self, _line: &[u8]) -> Option<u64> {
        None
    }
}

impl PartialEq for dyn Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Dialect {}
