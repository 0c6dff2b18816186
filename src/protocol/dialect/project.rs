//! The words for what a project's files say of its editor, and whom that editor must prove to be. Values only.

use std::collections::BTreeMap;

/// A file of a Unity project that tells something about its editor. Paths are relative to the project root, with `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path below the project root.
    pub path: &'static str,
    /// Whether the content matters or only that the file is there.
    pub content: bool,
    /// An editor writes it while it runs, and its own process id into it.
    pub names_process: bool,
}

/// What was found of one [`ProjectFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// There is no such file.
    Missing,
    /// It is there, but its content was not asked for.
    Present,
    /// It is there, with this content.
    Content(Vec<u8>),
    /// It is there, and its content cannot be had.
    Unreadable(Unreadable),
}

/// Why the content of a file that is there cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It is a symbolic link. None is followed: a project could lead anywhere by one.
    Link,
    /// It is no regular file.
    NotAFile,
    /// It is larger than any such file.
    TooLarge,
    /// This user may not read it; the system's words.
    Denied(String),
    /// Something else; the system's words.
    Other(String),
}

impl Unreadable {
    /// What is told of the file at this path: what is wrong, and what fixes that. `anew`: what has the file written anew.
    pub(super) fn told(&self, path: &str, anew: &str) -> String {
        match self {
            Self::Link => {
                format!("{path} is a symbolic link, which is not followed: put a copy of the file in its place.")
            }
            Self::NotAFile => format!("{path} is no regular file, so it is not read: move it away, then {anew}."),
            Self::TooLarge => format!("{path} is larger than such a file ever is, so it is not read: {anew}."),
            Self::Denied(reason) => format!("{path} cannot be read ({reason}): allow this user to read it."),
            Self::Other(reason) => {
                format!("{path} cannot be read ({reason}): see to what the system names, and it is read again.")
            }
        }
    }
}

/// The files of one project, by their path as the dialect named it.
pub type ProjectFiles = BTreeMap<&'static str, FileState>;

/// What a project's files say about its editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFacts {
    /// The package is part of the project, as far as its files tell.
    pub installed: bool,
    /// Only a record that an editor made says so: one that crashed may have left it behind.
    pub by_record: bool,
    /// The package's version, if the files tell it.
    pub package_version: Option<String>,
    /// The port the package is set to, and the file that says so.
    pub port: Option<(u16, &'static str)>,
    /// The pid of the project's editor.
    pub editor_pid: Option<u32>,
    /// Another pid that some file names: of an editor that left its file behind, or of its successor that has not written yet.
    pub other_pid: Option<u32>,
    /// The version of Unity that this editor is.
    pub editor_version: Option<String>,
    /// Whom the editor must prove to be when it is called.
    pub expected: Option<Expected>,
    /// What lock files say the editor is doing.
    pub activity: Option<Activity>,
    /// What is wrong with the files, one sentence each with the fix.
    pub problems: Vec<String>,
}

/// The identity that an editor must have to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Told with each call: the editor refuses one that is meant for another.
    Told {
        /// The project root as the editor's own settings spell it.
        project_root: String,
        /// The editor's server session.
        server_session_id: String,
    },
    /// Proven by both sides while they greet each other, before the first call.
    Proven(Credentials),
}

/// What an editor's instance file says of it, to be proven by the one that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The project as the editor spells it.
    pub project: String,
    /// The editor's process.
    pub pid: u32,
    /// The name of that process, among all that had or will have this pid.
    pub nonce: String,
    /// What only that process and those who may read its file know.
    pub token: Secret,
}

/// A text that appears in no log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for a computation or for the peer that may know it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What an editor is doing, from its lock files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Activity {
    /// Compiling scripts.
    Compiling,
    /// Reloading its domain.
    Reloading,
    /// Its bridge is starting.
    Starting,
}
