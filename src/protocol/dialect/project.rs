//! Types for what a project's files say about its editor, and for the identity that the editor must prove.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protocol::crossing::UNKNOWN;

/// A file of a Unity project with facts about its editor. Paths are relative to the project root, with `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path below the project root.
    pub path: &'static str,
    /// Whether the content is read; if not, only the existence of the file matters.
    pub content: bool,
    /// Whether a running editor writes the file and its own process id into it.
    pub names_process: bool,
}

/// A file of the user in which an editor says of one project what it does. Its folder is below the user's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// How users read it, with the same text for every project. [`ProjectFiles`] has its content under this name.
    pub label: &'static str,
    /// The folder in the user's home.
    pub folder: &'static str,
    /// The environment variable that names another folder.
    pub variable: &'static str,
    /// The file's name in that folder.
    pub name: String,
    /// The member that changes all the time, without news.
    pub beat: &'static str,
}

/// The state of one [`ProjectFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// There is no such file.
    Missing,
    /// The file exists; its content was not asked for.
    Present,
    /// The file exists and has this content.
    Content(Vec<u8>),
    /// The file exists, but its content could not be read.
    Unreadable(Unreadable),
}

/// Why the content of an existing file could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// The file is a symbolic link. Links are not followed, because a project could point anywhere with one.
    Link,
    /// The path is not a regular file.
    NotAFile,
    /// The file is larger than the bound for such files.
    TooLarge,
    /// This user may not read the file; the text is the system's message.
    Denied(String),
    /// Another error; the text is the system's message.
    Other(String),
}

impl Unreadable {
    /// Returns a sentence about the file at `path`: the problem and its fix. `anew` says how to make the editor write the file
    /// again.
    pub(super) fn told(&self, path: &str, anew: &str) -> String {
        match self {
            Self::Link => {
                format!("{path} is a symbolic link, which is not followed: put a copy of the file in its place.")
            }
            Self::NotAFile => format!("{path} is not a regular file, so it is not read: move it away, then {anew}."),
            Self::TooLarge => format!("{path} is larger than such a file can be, so it is not read: {anew}."),
            Self::Denied(reason) => format!("{path} cannot be read ({reason}): allow this user to read it."),
            Self::Other(reason) => {
                format!("{path} cannot be read ({reason}): see to what the system names, and it is read again.")
            }
        }
    }
}

/// The files of one project. The keys are the paths and labels that the dialect names.
pub type ProjectFiles = BTreeMap<&'static str, FileState>;

/// What a project's files say about its editor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectFacts {
    /// Whether the package is part of the project, according to the files.
    pub installed: bool,
    /// Whether the only sign of the package is a file that a running editor writes, which a crashed editor may have left behind.
    pub by_record: bool,
    pub package_version: Option<String>,
    /// The port that the package is set to, and the file that names it. Only the port crosses to another process, and
    /// there the file is [`UNKNOWN`].
    #[serde(serialize_with = "port_alone", deserialize_with = "port_of_unknown")]
    pub port: Option<(u16, &'static str)>,
    /// The process id of the project's editor.
    pub editor_pid: Option<u32>,
    /// A different process id, named by another file. Either one of the two files was left behind by an editor that has ended, or
    /// a new editor has not yet written both of its files.
    pub other_pid: Option<u32>,
    /// The Unity version of the editor.
    pub editor_version: Option<String>,
    /// The identity that the editor must have to be called. It may hold the editor's token, so it does not cross to
    /// another process. In another process, `None` does not mean that nothing is expected.
    #[serde(skip)]
    pub expected: Option<Expected>,
    /// The token that the editor's HTTP server asks for, if the files have one. It does not cross to another process.
    #[serde(skip)]
    pub token: Option<Secret>,
    /// What the editor is doing, according to lock files or its own record.
    pub activity: Option<Activity>,
    /// Problems with the files, one sentence each, with the fix.
    pub problems: Vec<String>,
    /// What a reader may want to know of the files although nothing is wrong, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

type NamedPort = Option<(u16, &'static str)>;

fn port_alone<S: Serializer>(port: &NamedPort, serializer: S) -> Result<S::Ok, S::Error> {
    port.map(|(port, _)| port).serialize(serializer)
}

fn port_of_unknown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NamedPort, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|port| (port, UNKNOWN)))
}

/// The identity that an editor must have to be called. It never crosses to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Sent with each call. An editor refuses a call that is meant for another editor.
    Told {
        /// The project root as the editor's settings spell it.
        project_root: String,
        /// The id of the editor's server session.
        server_session_id: String,
    },
    /// Proven by both sides in the greeting, before the first call.
    Proven(Credentials),
}

/// The identity in an editor's instance file. The peer must prove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The project path as the editor spells it.
    pub project: String,
    /// The process id of the editor.
    pub pid: u32,
    /// A unique name of that process, because process ids are reused.
    pub nonce: String,
    /// The secret, which only that process and the readers of its instance file know.
    pub token: Secret,
}

/// A text that must not appear in a log; its `Debug` output hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for a computation or for the peer that may know it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What an editor is doing, according to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Activity {
    /// Compiling scripts.
    Compiling,
    /// Reloading its domain.
    Reloading,
    /// Starting its bridge.
    Starting,
}
