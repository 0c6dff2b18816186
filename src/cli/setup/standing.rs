//! How each client stands: found or not, set up or not, and what is wrong with its file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::clients::{CLIENTS, Client};
use super::edit;
use super::entry::{self, Launch};
use super::file::Original;
use super::old_servers::{self, OldServer};
use super::places::Places;
use crate::config;

/// How our entry stands.
#[derive(Debug, Clone, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// It starts this program.
    Configured,
    /// There is none.
    NotConfigured,
    /// It starts something that is not there.
    Stale(String),
    /// It starts another program than this one.
    Other(String),
    /// The file cannot be understood.
    Broken(String),
}

/// How a client stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Which.
    pub client: &'static Client,
    /// What shows that it is installed.
    pub sign: Option<PathBuf>,
    /// Its file, which need not exist.
    pub file: PathBuf,
    /// The project whose own file that is.
    pub project: Option<PathBuf>,
    /// How our entry stands in it.
    pub state: State,
    /// The old servers' entries in it.
    pub old: Vec<OldServer>,
}

impl Standing {
    /// Looks at one client.
    fn of(client: &'static Client, places: &Places, launch: &Launch) -> Option<Self> {
        let file = places.file(client)?;
        let project = places.project.clone().filter(|_| places.of_project(client));
        let (state, old) = match read(client, &file, project.as_deref()) {
            Ok(meaning) => (state(client, &meaning, places, launch), old_servers::find(client, &meaning)),
            Err(why) => (State::Broken(why), Vec::new()),
        };
        Some(Self { client, sign: places.sign(client), file, project, state, old })
    }

    /// The command that mends it, if it needs one.
    pub fn mend(&self) -> Option<String> {
        match self.state {
            State::Configured => None,
            State::Broken(_) => Some(format!("correct {} by hand", self.file.display())),
            State::NotConfigured | State::Stale(_) | State::Other(_) => {
                Some(format!("holdfast setup {}{}", self.client.name, self.option()))
            }
        }
    }

    /// The option of `setup` that means this file.
    pub fn option(&self) -> String {
        self.project.as_ref().map(|project| format!(" --project {}", project.display())).unwrap_or_default()
    }

    /// Each old server in it: what is to be said, and the command that puts us in its place. `ours`: the client starts us too.
    pub fn of_old(&self, ours: bool) -> impl Iterator<Item = (String, String)> {
        self.old.iter().map(move |old| {
            (format!("{} ({})", old.says(ours), self.file.display()), old.mend(self.client, &self.option()))
        })
    }

    /// What is to be said beside the state.
    pub fn why(&self) -> Option<&str> {
        match &self.state {
            State::Configured | State::NotConfigured => None,
            State::Stale(why) | State::Other(why) | State::Broken(why) => Some(why),
        }
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        json!({
            "client": self.client.name,
            "title": self.client.title(),
            "found": self.sign.is_some(),
            "found_by": self.sign.as_ref().map(|sign| sign.display().to_string()),
            "scope": if self.project.is_some() { "project" } else { "user" },
            "file": self.file.display().to_string(),
            "state": <&str>::from(&self.state),
            "why": self.why(),
            "mend": self.mend(),
            "old_servers": self.old.iter().map(|old| json!({
                "entry": old.key, "of": old.of, "starts": old.starts, "mend": old.mend(self.client, &self.option()),
            })).collect::<Vec<_>>(),
            "source": self.client.source,
        })
    }
}

/// All clients, on this machine, and those that have a file of their own in this project by that file. `None` if the user's
/// home or this program's own path is not known.
pub fn here(project: Option<&Path>) -> Option<(Vec<Standing>, Vec<Standing>)> {
    let (places, launch) = (Places::here()?, Launch::this_program().ok()?);
    let own = project.map(|project| of_project(project, places.clone(), &launch)).unwrap_or_default();
    Some((all(&places, &launch), own))
}

/// The clients that have a file of their own in this project, by that file.
pub(super) fn of_project(project: &Path, mut places: Places, launch: &Launch) -> Vec<Standing> {
    places.project = Some(project.to_path_buf());
    all(&places, launch).into_iter().filter(|standing| standing.project.is_some()).collect()
}

/// All clients.
pub(super) fn all(places: &Places, launch: &Launch) -> Vec<Standing> {
    CLIENTS.iter().filter_map(|client| Standing::of(client, places, launch)).collect()
}

/// What a client's file means, or why that is not known.
fn read(client: &Client, file: &Path, project: Option<&Path>) -> Result<Value, String> {
    let original = Original::read(file, project).map_err(|unusable| unusable.to_string())?;
    edit::meaning(client.format, original.text()).map_err(|trouble| trouble.to_string())
}

fn state(client: &Client, meaning: &Value, places: &Places, launch: &Launch) -> State {
    let Some(ours) = edit::entry(meaning, entry::slot(client)) else { return State::NotConfigured };
    let Some(program) = entry::program(&client.shape, ours) else {
        return State::Other(format!("the entry \"{}\" there starts no program", entry::NAME));
    };
    // A bare name is looked for as the client does, on PATH.
    let named = Path::new(program);
    let bare = named.components().count() == 1 && !named.is_absolute();
    let found = if bare { places.program(program) } else { Some(named.to_path_buf()) };
    match found.and_then(|path| config::canonical(&path)) {
        Some(path) if path == Path::new(&launch.program) => State::Configured,
        Some(path) => State::Other(format!("it starts {}", path.display())),
        None => State::Stale(format!("it starts {program}, which does not exist")),
    }
}
