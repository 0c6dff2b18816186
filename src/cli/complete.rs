//! The words that can be completed: the AI clients, the tools of the project's editor as the last session saw them, and
//! the editors. No connection is made for this.

use std::path::{Path, PathBuf};

use clap_complete::engine::CompletionCandidate;
use holdfast_client_config::{CLIENTS, SKILL_FOLDERS};

use super::named_editor::known;
use super::variables::{state_dir, variable};
use crate::config;
use crate::core::editors::{self, Scope};
use crate::platform::host::{RealHost, System};
use crate::protocol::mcp::clients::labelled;
use crate::protocol::mcp::{Catalogue, GatewayTool};
use crate::protocol::text::clean;
use crate::storage::catalogue_file;

pub fn clients() -> Vec<CompletionCandidate> {
    CLIENTS.iter().map(|client| client_candidate(client.name)).collect()
}

/// Returns the clients that are known to read skills.
pub fn clients_with_skills() -> Vec<CompletionCandidate> {
    SKILL_FOLDERS.iter().map(|folder| client_candidate(folder.client)).collect()
}

fn client_candidate(name: &'static str) -> CompletionCandidate {
    CompletionCandidate::new(name).help(Some(client_title(name).into()))
}

/// Returns holdfast's own tools, and the tools that the editor had in an earlier session. The project is the one around
/// the working directory; without one, the tools of every project are returned.
pub fn tools() -> Vec<CompletionCandidate> {
    let named = variable("HOLDFAST_PROJECT").map(PathBuf::from).or_else(|| std::env::current_dir().ok());
    let project = named.and_then(|folder| config::named_project(&folder).ok());
    let mut tools: Vec<(String, String)> = GatewayTool::ALL
        .iter()
        .map(|tool| (tool.name().to_owned(), tool.definition().description.to_string()))
        .collect();
    let folder = state();
    let heads = folder.as_deref().map(|folder| catalogue_file::heads(&RealHost, folder)).unwrap_or_default();
    for head in heads.iter().filter(|head| project.as_ref().is_none_or(|project| *project == head.project)) {
        let Some(file) = folder.as_deref().and_then(|folder| read(folder, head)) else { continue };
        let catalogue = Catalogue::new(file.tools, false);
        for entry in catalogue.entries() {
            if !tools.iter().any(|(name, _)| *name == entry.name) {
                tools.push((entry.name.clone(), entry.tool.description.clone()));
            }
        }
    }
    let candidate = |(name, says): (String, String)| {
        let first = says.lines().next().unwrap_or_default();
        let first = first.split_once(". ").map_or(first, |(first, _)| first);
        CompletionCandidate::new(name).help(Some(clean(first).into()))
    };
    tools.into_iter().map(candidate).collect()
}

fn read(folder: &Path, head: &catalogue_file::Head) -> Option<catalogue_file::CatalogueFile> {
    catalogue_file::read(&RealHost, folder, &head.project, &head.dialect).ok()
}

pub fn editors() -> Vec<CompletionCandidate> {
    let Some(folder) = state() else { return Vec::new() };
    let named = editors::named(&Scope::All, &known(&folder)).into_iter();
    named
        .map(|(name, editor)| CompletionCandidate::new(name).help(Some(editor.project.display().to_string().into())))
        .collect()
}

/// Returns the state folder, as the environment says.
pub(super) fn state() -> Option<PathBuf> {
    variable("HOLDFAST_STATE_DIR").map(PathBuf::from).or_else(|| state_dir(System::HERE, variable))
}

fn client_title(name: &'static str) -> &'static str {
    labelled(name).map_or(name, |client| client.title)
}
