//! The setup state of each client: found or not, set up or not, and what is wrong with its file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::clients::{CLIENTS, Client};
use crate::edit::{self, EditError};
use crate::entry;
use crate::file::{Original, ReadError};
use crate::old_servers::{self, OldServer};
use crate::places::Places;

/// The state of our entry in a client's file.
#[derive(Debug)]
pub enum State {
    /// The entry starts the given program, or our package by a package runner.
    Configured,
    /// The entry connects to a service over HTTP.
    Connects {
        /// Its URL.
        url: String,
    },
    /// There is no entry.
    NotConfigured,
    /// The entry starts a program that does not exist.
    Stale {
        /// The program as it is written in the entry.
        program: String,
    },
    /// The entry starts another program.
    Other {
        /// The canonical path of that program.
        program: PathBuf,
    },
    /// The entry exists but starts no program and connects to nothing, so it was not written by us.
    NoProgram,
    /// The file cannot be read or parsed.
    Broken(BrokenError),
}

/// Why a client's file cannot be read or parsed.
#[derive(Debug, thiserror::Error)]
pub enum BrokenError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text is not in the client's format.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// The setup state of one client.
#[derive(Debug)]
pub struct Standing {
    /// The client.
    pub client: &'static Client,
    /// The file, folder or program that shows that the client is installed; `None` if nothing shows it.
    pub sign: Option<PathBuf>,
    /// The file that the client reads, which need not exist.
    pub file: PathBuf,
    /// The project, if `file` is the project's own and not the user's.
    pub project: Option<PathBuf>,
    /// The state of our entry in the file.
    pub state: State,
    /// The old servers' entries in the file.
    pub old: Vec<OldServer>,
    /// Whether the file begins with a byte order mark, which some clients cannot read.
    pub marked: bool,
}

impl Standing {
    /// Returns the setup state of all clients. `program` is the canonical path of the program that our entry should start.
    pub fn all(places: &Places, program: &Path) -> Vec<Self> {
        CLIENTS.iter().filter_map(|client| Self::of(client, places, program)).collect()
    }

    /// Returns the setup state of one client; `None` if no file of it is known on this system.
    fn of(client: &'static Client, places: &Places, program: &Path) -> Option<Self> {
        let file = places.file(client)?;
        let project = places.project.clone().filter(|_| places.of_project(client));
        let (state, old, marked) = match meaning(client, &file, places) {
            Ok((meaning, marked)) => {
                (state(client, &meaning, places, program), old_servers::find(&places.servers, client, &meaning), marked)
            }
            Err(error) => (State::Broken(error), Vec::new(), false),
        };
        Some(Self { client, sign: places.sign(client), file, project, state, old, marked })
    }

    /// Whether our entry starts the given program, or connects to a service over HTTP.
    pub fn is_configured(&self) -> bool {
        matches!(self.state, State::Configured | State::Connects { .. })
    }
}

/// Parses a client's file. Also returns whether it begins with a byte order mark.
fn meaning(client: &Client, file: &Path, places: &Places) -> Result<(Value, bool), BrokenError> {
    let original = Original::of(client, file, places)?;
    Ok((edit::meaning(client.format, original.text())?, original.has_mark()))
}

fn state(client: &Client, meaning: &Value, places: &Places, wanted: &Path) -> State {
    let Some(ours) = edit::entry(meaning, entry::slot(client)) else { return State::NotConfigured };
    let Some(program) = entry::program(&client.shape, ours) else {
        let url = entry::url(client, ours).map(str::to_owned);
        return url.map_or(State::NoProgram, |url| State::Connects { url });
    };
    // A bare name is looked up on PATH, as the client does.
    let named = Path::new(program);
    let bare = named.components().count() == 1 && !named.is_absolute();
    let found = if bare { places.program(program) } else { Some(named.to_path_buf()) };
    // A package runner that starts our package: the entry of a file that a team shares.
    let package = |word: &String| word == "holdfast-mcp" || word.starts_with("holdfast-mcp@");
    let runs_package = old_servers::words(client, ours).iter().skip(1).any(package);
    match found.and_then(|path| (places.disk.canonical)(&path)) {
        Some(path) if path == wanted || runs_package => State::Configured,
        Some(program) => State::Other { program },
        None => State::Stale { program: program.to_owned() },
    }
}
