//! Facts about every editor that speaks a dialect.

use super::EditorTool;

/// Facts about every editor that speaks a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// How many calls may be outstanding at once on one connection. 1 means that the bridge works strictly in order.
    pub window: usize,
    /// Whether the editor connects to our push listener if the greeting names one.
    pub push: bool,
    /// Whether the editor answers [`Order::Heartbeat`](super::Order::Heartbeat) while its main thread is busy.
    pub heartbeat: bool,
    /// The largest message that the editor accepts, in bytes: with its frame header, or over HTTP the body alone.
    pub request_max_bytes: usize,
    /// Whether a call's message holds all arguments, so that it is never shorter than they are in compact form.
    pub sends_all_arguments: bool,
    /// Whether an editor closes the connection of its client when another one connects. Then nothing is connected to before its owner is
    /// known.
    pub one_client: bool,
    /// Ports to try if no file or flag names one, best first.
    pub default_ports: &'static [u16],
    /// Whether the package's own server takes the editor's address from `UNITY_HOST` and `UNITY_PORT`.
    pub reads_unity_port: bool,
    /// The shape of the exchange with the editor.
    pub shape: Shape,
    /// The purposes of some of the editor's tools.
    pub roles: Roles,
    /// The groups whose tools, and the single tools, that are listed before others if a client's list has no room for all; empty: the
    /// editor's order counts.
    pub listed_first: &'static [&'static str],
}

impl Properties {
    /// Whether the tool is listed before others: it is in such a group, or it has a role, so that resources and prompts name it.
    pub fn lists_first(&self, tool: &EditorTool) -> bool {
        let in_group = tool.group.as_deref().is_some_and(|group| self.listed_first.contains(&group));
        let is_named = self.listed_first.contains(&tool.name.as_str());
        in_group || is_named || self.roles.all().into_iter().flatten().any(|name| *name == tool.name)
    }
}

/// When a tool is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Before others, if a client's list has no room for all.
    First,
    /// In the editor's order, as far as there is room.
    Usual,
    /// Only when the user chose it or it was found.
    Apart,
}

/// The editor's own names of tools, by purpose: the gateway's resources and prompts use them, and tools of other
/// packages may have the same purpose. Versions of a package name a tool differently, and a package may have several
/// tools for one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Compiles the scripts. [`Compiled::read`](super::Compiled::read) can read its results.
    pub compile: &'static [&'static str],
    /// Returns the newest entries of Unity's console, without arguments.
    pub console: &'static [&'static str],
    /// Begins, pauses or ends play mode.
    pub play_mode: &'static [&'static str],
    /// Runs code in the editor.
    pub code: &'static [&'static str],
    /// Tells about the editor and its project.
    pub editor_state: &'static [&'static str],
    /// Executes a menu item.
    pub menu_item: &'static [&'static str],
}

impl Roles {
    /// A package without such tools.
    pub const NONE: Self =
        Self { compile: &[], console: &[], play_mode: &[], code: &[], editor_state: &[], menu_item: &[] };

    /// All roles, each with its tools.
    pub(super) fn all(&self) -> [&'static [&'static str]; 6] {
        let Self { compile, console, play_mode, code, editor_state, menu_item } = *self;
        [compile, console, play_mode, code, editor_state, menu_item]
    }
}

/// The shape of the exchange with an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One stream for all messages of both sides, which the dialect cuts into frames.
    Stream,
    /// A connection for each request, which brings its answer; requests are sent one after another.
    Requests,
    /// As [`Requests`](Self::Requests), and the answer to a call may be no more than the name of a job
    /// ([`Dialect::submitted`](super::Dialect::submitted)), which is asked for ([`Order::Outcomes`](super::Order::Outcomes), one
    /// attempt at a time) until it has ended.
    Jobs,
}

/// An HTTP service that a package's documents describe in addition to its own server. The gateway can provide it instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Companion {
    /// Receives the logs that the editor posts.
    Logger,
    /// The HTTP API that the package's documents place between client and editor.
    DocumentedHop,
}

impl Companion {
    /// The port that the package's documents name, or its code.
    pub fn port(self) -> u16 {
        match self {
            Self::Logger => 3030,
            Self::DocumentedHop => 8080,
        }
    }
}

/// The server that a package brings for AI clients. Its windows and documents write entries for it into the clients' configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnServer {
    /// The package, for users.
    pub of: &'static str,
    /// Packages of npm that are the server.
    pub npm: &'static [&'static str],
    /// Ends of the paths of its program.
    pub files: &'static [&'static str],
    /// Parts of paths. The program's path must have one of them; empty: any path.
    pub within: &'static [&'static str],
    /// The word that must follow the program, for one that is more than this server.
    pub then: Option<&'static str>,
    /// Ends of the addresses at which it serves, if it serves HTTP.
    pub urls: &'static [&'static str],
}

/// A tool that the package's own server answered without its editor. The gateway answers it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageTool {
    /// Waits until the editor is ready.
    WaitReady,
    /// Brings the editor's window to the front.
    FocusWindow,
    /// Returns the late result of a call, found by its id.
    Result,
    /// Returns the newest entry of each log.
    Logs,
    /// Returns the entries of one log.
    LogByName,
    /// Returns what is known of one call, found by its id.
    LogDetails,
    /// Returns a fixed text.
    Help(&'static str),
}
