//! The trait that every dialect implements.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{
    BadGreeting, BadMessage, BadOutcomes, Companion, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint, Greeted,
    Heartbeat, Hello, Inbound, JobProgress, JournalKey, JournalOutcome, ListStep, LocalSocket, Order, OwnServer,
    PackageResource, PackageTool, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties, PushEvent,
    Reception, Recovery, Reply, Secret, Sending, Shape, Standing, ToolListing, Turn, UnreadableCalls, UserFile, WireId,
    WorkStatus, Wreck,
};
use crate::limits::EDITOR_MESSAGE_MAX_BYTES;
use crate::protocol::framing::Framer;
use crate::protocol::framing::http::{Request, Response};
use crate::protocol::framing::lines::Lines;

/// The wire protocol of one Unity package.
pub trait Dialect: Send + Sync + std::fmt::Debug + 'static {
    /// The dialect's name in flags, logs and metric labels.
    fn name(&self) -> &'static str;
    /// The package's name as people know it.
    fn title(&self) -> &'static str;
    /// Facts about every editor that speaks the dialect.
    fn properties(&self) -> &'static Properties;
    /// The project's files that [`read_project`](Dialect::read_project) needs.
    fn project_files(&self) -> &'static [ProjectFile];
    /// The user's file about this project that [`read_project`](Dialect::read_project) needs too, if the package has one. `project`:
    /// the path without links, as the system spells it.
    fn user_file(&self, _project: &str) -> Option<UserFile> {
        None
    }
    /// Reads the facts about the editor from those files.
    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts;
    /// Returns where the editor is reached, if it is met at this port.
    fn endpoint(&self, port: u16, _facts: &ProjectFacts) -> Endpoint {
        Endpoint::Port(port)
    }
    /// Returns the local socket of the editor that has this project open, if the package listens on one. `project`: the path without
    /// links, as the system spells it.
    fn local_socket(&self, _project: &str) -> Option<LocalSocket> {
        None
    }
    /// Whether a project with another package that holdfast speaks is served by that one, unless a setting names this dialect.
    fn gives_way(&self) -> bool {
        false
    }
    /// Returns the package's id in Unity's registry, and its newest version that is known, if the registry has it.
    fn registry(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// Whether the editor announces a reload or a quit. `version` is the package's version, if known. Returns `None` if the
    /// answer depends on the version and the version is not known.
    fn announces(&self, version: Option<&str>) -> Option<bool>;
    /// How many higher ports the package tries if its own port is taken. Some versions do not record which port they took.
    fn moves_up(&self) -> u16 {
        0
    }
    /// The server that the package brings for AI clients, if it has one.
    fn own_server(&self) -> Option<&'static OwnServer> {
        None
    }
    /// What a server with these first bytes is, if the package's bridge begins with them. It is only shown to people.
    fn recognizes(&self, _said: &[u8]) -> Option<&'static str> {
        None
    }
    /// Makes a reader of the first words of a peer that has connected to us, for a dialect whose editor does that
    /// ([`Endpoint::Arrival`]).
    fn reception(&self) -> Option<Box<dyn Reception>> {
        None
    }
    /// What a user can do if a program with this command line has the port to which the editor would connect, as an instruction. It says
    /// first what the program is, if the package knows it.
    fn frees_port(&self, _command_line: &[String]) -> &'static str {
        "end it, or set another port in the editor and name that one here (--port)"
    }
    /// What a user does in the package's window so that editor and gateway meet, as a sentence without its end.
    fn connects_by(&self) -> Option<&'static str> {
        None
    }
    /// Makes a decoder for a new stream of frames. A dialect without frames has none.
    fn framer(&self) -> Box<dyn Framer> {
        Box::new(Lines::new(EDITOR_MESSAGE_MAX_BYTES))
    }
    /// Encodes an order.
    ///
    /// # Errors
    /// [`EncodeError`]: nothing was sent.
    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError>;
    /// Decodes the body of a frame. A reply that cannot be read but names its request is a [`Reply::Wreck`].
    ///
    /// # Errors
    /// [`BadMessage`]: it cannot be read what the message is, or to which request it belongs.
    fn decode(&self, _frame: &[u8]) -> Result<Inbound, BadMessage> {
        Err(BadMessage::NotAMessage("this dialect has no frames"))
    }
    /// Reads the response to a request over HTTP that was encoded for the message `id`. One that cannot be read is a
    /// [`Reply::Wreck`].
    fn read_response(&self, _id: WireId, _request: &Request, response: Response) -> Reply {
        Reply::Wreck(Wreck::of_message(&response.body))
    }
    /// Reads the reply in a frame that names no request. Some packages send such replies. The reply then belongs to the only open
    /// request of the connection. `None` for every other frame.
    fn read_unnamed(&self, _frame: &[u8]) -> Option<Reply> {
        None
    }
    /// Whether two responses to the first request of the greeting show the same editor. The second is asked for before each call.
    fn greets_alike(&self, first: &Response, now: &Response) -> bool {
        first == now
    }
    /// Decides whether the greeting is complete, from all replies to it so far, the newest last.
    ///
    /// # Errors
    /// [`BadGreeting`]: the replies are not those of an editor with this dialect, or not those of the expected editor.
    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting>;
    /// Reads the reply to the `step`-th list method.
    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep;
    /// Returns the tools that the package is known to have, for a project whose editor has never been met. `None`: only the editor tells.
    fn stated_tools(&self) -> Option<ToolListing> {
        None
    }
    /// The file of the project, if there is one, in which the editor keeps its tool list, for a project whose editor was not met yet.
    fn list_file(&self) -> Option<&'static str> {
        None
    }
    /// Reads the list in that file. `None`: it is none.
    fn read_list_file(&self, _bytes: &[u8]) -> Option<ToolListing> {
        None
    }
    /// When a tool is listed.
    fn turn(&self, tool: &EditorTool) -> Turn {
        if self.properties().lists_first(tool) { Turn::First } else { Turn::Usual }
    }
    /// Prepares a call: adds the package's own parameters for surviving a reload, and finds its time limit. `tool` is `None` if
    /// the tool is not in the list.
    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall;
    /// Returns the package tool with this name: a tool that the package's own server answered without its editor. `None` if there
    /// is none.
    fn package_tool(&self, _name: &str) -> Option<PackageTool> {
        None
    }
    /// The resources of the package's own server that the editor can answer.
    fn resources(&self) -> &'static [PackageResource] {
        &[]
    }
    /// Returns the names of the tools that a call of this tool would call in the editor, by the editor's own names.
    /// Most tools call no other tools.
    ///
    /// # Errors
    /// [`UnreadableCalls`]: the arguments have a form in which the tools cannot be found.
    fn tools_within(&self, _tool: &str, _arguments: &RawValue) -> Result<Vec<String>, UnreadableCalls> {
        Ok(Vec::new())
    }
    /// The prefix of log names for this tool, if the package keeps a log for each operation. The end time is appended.
    fn log_prefix(&self, _tool: &str) -> Option<&'static str> {
        None
    }
    /// The HTTP services that the package's documents describe in addition to its own server.
    fn companions(&self) -> &'static [Companion] {
        &[]
    }
    /// Returns the key of the job that the editor runs a call as, if its reply to the call says no more than that. `journal`: the
    /// name of what keeps its jobs ([`Met::journal`](super::Met::journal)). Only for [`Shape::Jobs`].
    fn submitted(&self, _reply: &Reply, _journal: &str) -> Option<JournalKey> {
        None
    }
    /// Whether a question for outcomes names one attempt only.
    fn asks_outcomes_alone(&self) -> bool {
        self.properties().shape == Shape::Jobs
    }
    /// Whether the end of its connection is the only cancel of a call. Such a dialect has one place for calls.
    fn hangs_up_to_cancel(&self) -> bool {
        false
    }
    /// Whether an editor that runs jobs answers each call with a job at the most, and never with its result. Then a torn reply to a call
    /// is no result.
    fn answers_with_jobs(&self) -> bool {
        false
    }
    /// Whether the reply to a call whose result the editor keeps ([`Recovery::Journal`]) has nothing in it, so that the result is asked for.
    fn is_empty_reply(&self, _reply: &Reply) -> bool {
        false
    }
    /// Whether the reply to a call says that the editor's own server waits for the call no longer, or failed. The call may still wait
    /// or run in the editor, and nobody will say how it ends.
    fn gives_up(&self, _reply: &Reply) -> bool {
        false
    }
    /// If the reply to a call says no more than that some work has begun, returns the file in which its end will stand
    /// ([`Recovery::StatusFile`]). `asked`: the file as it was prepared for the call.
    fn begins_work(&self, _reply: &Reply, _asked: &Recovery) -> Option<Recovery> {
        None
    }
    /// Reads such a file; `None` while it is not whole, says nothing of work, or tells of another client's.
    fn read_status_file(&self, _of: &Recovery, _bytes: &[u8]) -> Option<WorkStatus> {
        None
    }
    /// Converts an editor's reply to a call into an answer.
    fn read_answer(&self, reply: Reply) -> EditorAnswer;
    /// Returns the files of the project with the pictures that an answer only names, as paths from the project's root or from that of
    /// the file system. They are read and added to the answer.
    fn picture_files(&self, _tool: &str, _answer: &EditorAnswer) -> Vec<String> {
        Vec::new()
    }
    /// Reads the reply in the file of a [`Recovery::ResultFile`]. `None` while the file is
    /// incomplete.
    fn read_result_file(&self, bytes: &[u8]) -> Option<Reply>;
    /// Reads the reply to [`Order::Outcomes`]: one outcome for each attempt in `asked`, in the same order.
    ///
    /// # Errors
    /// [`BadOutcomes`]: why the reply is not such an answer.
    fn read_outcomes(&self, _reply: Reply, _asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
        Err(BadOutcomes::NotSpoken)
    }
    /// Reads the reply to [`Order::Heartbeat`]. `None` if it is not such a reply.
    fn read_heartbeat(&self, _reply: &Reply) -> Option<Heartbeat> {
        None
    }
    /// Reads from the reply to [`Order::Heartbeat`] whether the editor takes calls. `None` if the reply does not tell.
    fn read_standing(&self, _reply: &Reply) -> Option<Standing> {
        None
    }
    /// How often the editor says by itself that it works on a call, if it does ([`Inbound::Alive`]).
    fn alive_every(&self) -> Option<Duration> {
        None
    }
    /// Whether the editor says so also while it works on no call.
    fn is_alive_always(&self) -> bool {
        false
    }
    /// Whether the main thread is asked on the connection that calls go over, because the editor works on one thing at a time.
    fn asks_main_thread_here(&self) -> bool {
        false
    }
    /// Whether there is a [`main_thread_question`](Self::main_thread_question).
    fn has_main_thread_question(&self) -> bool {
        false
    }
    /// Returns the question that only the editor's main thread answers, if nothing else tells of that thread. It is asked on a
    /// connection of its own, while no call is open. Its silence shows that the thread stands still.
    fn main_thread_question(&self, _id: WireId) -> Option<Encoded> {
        None
    }
    /// Reads the reply to that question. `None` if it is not such a reply.
    fn read_main_thread(&self, _reply: &Reply) -> Option<Heartbeat> {
        None
    }
    /// Reads how far a job is from what the editor says of it. `None` if it does not tell.
    fn read_job_progress(&self, _reply: &Reply) -> Option<JobProgress> {
        None
    }
    /// Decodes a line of the push connection. `token` is [`Hello::push_token`].
    ///
    /// # Errors
    /// [`BadMessage`]: the line is not a push message of this editor. It is counted and ignored.
    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage>;
    /// The sequence number of a push line, if the dialect has one. It starts at 1 in each process of the editor and rises by one.
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
