//! Describes the state of a client's configuration, for people and for programs.

use std::path::Path;

use holdfast_client_config::{Client, ENTRY_NAME, OldServer, Places, Standing, State};
use serde_json::{Value, json};

use super::program::{self, this_program};
use crate::core::user_text::quoted;
use crate::protocol::mcp::clients::labelled;

/// Returns the state of all clients on this machine, and the state of the clients that have their own file in this project.
/// `None` if the user's home or this program's own path is unknown.
pub fn here(project: Option<&Path>) -> Option<(Vec<Standing>, Vec<Standing>)> {
    let (places, launch) = (program::places()?, this_program().ok()?);
    let program = Path::new(&launch.program);
    let own = project.map(|project| of_project(project, places.clone(), program)).unwrap_or_default();
    Some((Standing::all(&places, program), own))
}

/// Returns the state of the clients that have their own file in this project.
pub fn of_project(project: &Path, mut places: Places, program: &Path) -> Vec<Standing> {
    places.project = Some(project.to_path_buf());
    Standing::all(&places, program).into_iter().filter(|standing| standing.project.is_some()).collect()
}

/// The words about a file that has our entry, and that the client may not be able to read.
const MARKED: &str =
    "the file begins with a byte order mark, which some clients cannot read; `holdfast setup` takes it away";

pub fn title(client: &Client) -> &'static str {
    labelled(client.name).map_or(client.name, |client| client.title)
}

/// Returns the fix of a client's entry: a command, or the advice to correct a broken file by hand. `None` if the entry is right.
pub fn fix(standing: &Standing) -> Option<String> {
    match standing.state {
        State::Configured | State::Connects { .. } if !standing.marked => None,
        State::Broken(_) => Some(format!("correct {} by hand", standing.file.display())),
        // A bare name is in a file that a team shares, and this file must not get a path of this machine.
        State::Stale { ref program } if !program.contains(['/', '\\']) => Some(format!(
            "put {program} on the PATH that {} sees, or set it up on this machine alone: holdfast setup {}",
            title(standing.client),
            standing.client.name
        )),
        State::Connects { .. } => Some(format!("holdfast setup {}{} --http", standing.client.name, option(standing))),
        _ => Some(format!("holdfast setup {}{}", standing.client.name, option(standing))),
    }
}

/// Returns the option of `setup` that selects a client's file; empty for the user's file.
fn option(standing: &Standing) -> String {
    standing.project.as_ref().map(|project| format!(" --project {}", quoted(project))).unwrap_or_default()
}

/// Describes an old server's entry. `ours`: our entry exists too.
pub fn says_of_old(old: &OldServer, ours: bool) -> String {
    let twice = if ours { ", so the AI sees every tool twice" } else { "" };
    format!("the entry \"{}\" starts the server of {}{twice}", old.key, old.of)
}

/// Returns the command that takes a client's old servers out. The command keeps a copy of the file. `option` selects the file.
pub fn fix_of_old(client: &Client, option: &str) -> String {
    format!("holdfast setup {}{option} --replace", client.name)
}

/// Returns a description of each old server in a client's file, and the command that replaces it by holdfast. `ours`: the client
/// starts holdfast too.
pub fn of_old(standing: &Standing, ours: bool) -> impl Iterator<Item = (String, String)> {
    standing.old.iter().map(move |old| {
        let says = format!("{} ({})", says_of_old(old, ours), standing.file.display());
        (says, fix_of_old(standing.client, &option(standing)))
    })
}

/// Returns an explanation of a client's state; `None` if the state explains itself.
pub fn why(standing: &Standing) -> Option<String> {
    if standing.marked && standing.is_configured() {
        return Some(MARKED.to_owned());
    }
    match &standing.state {
        State::Configured | State::NotConfigured => None,
        State::Connects { url } => Some(format!("it connects to {url}")),
        State::Stale { program } => Some(format!("it starts {program}, which does not exist")),
        State::Other { program } => Some(format!("it starts {}", program.display())),
        State::NoProgram => Some(format!("the entry \"{ENTRY_NAME}\" there starts no program and connects to no hub")),
        State::Broken(error) => Some(error.to_string()),
    }
}

fn word(state: &State) -> &'static str {
    match state {
        State::Configured | State::Connects { .. } => "configured",
        State::NotConfigured => "not_configured",
        State::Stale { .. } => "stale",
        State::Other { .. } | State::NoProgram => "other",
        State::Broken(_) => "broken",
    }
}

pub fn as_json(standing: &Standing) -> Value {
    json!({
        "client": standing.client.name,
        "title": title(standing.client),
        "found": standing.sign.is_some(),
        "found_by": standing.sign.as_ref().map(|sign| sign.display().to_string()),
        "scope": if standing.project.is_some() { "project" } else { "user" },
        "file": standing.file.display().to_string(),
        "state": word(&standing.state),
        "url": match &standing.state {
            State::Connects { url } => Some(url),
            _ => None,
        },
        "why": why(standing),
        "mend": fix(standing),
        "old_servers": standing.old.iter().map(|old| json!({
            "entry": old.key, "of": old.of, "starts": old.starts, "mend": fix_of_old(standing.client, &option(standing)),
        })).collect::<Vec<_>>(),
        "source": standing.client.source,
    })
}
