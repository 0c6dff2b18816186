//! Finds the project of the editor that `--editor NAME` means.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::editors::{self, Choice, Known, Presence, Refusal, Scope, choose};
use crate::core::router::Route;
use crate::platform::host::RealHost;
use crate::protocol::text::nearest;
use crate::storage::{catalogue_file, instance_record};

/// Returns the project of the editor with this name, among those of running gateways and of earlier sessions. The name
/// of an editor is its project's folder, with as many folders above it as are needed to tell it from the others.
pub fn project_of(name: &str, state_dir: Option<&Path>) -> Result<PathBuf, String> {
    let Some(state) = state_dir else {
        return Err("--editor finds no editor, as there is no state folder; name the project with --project".to_owned());
    };
    let known = known(state);
    match choose(&Route::Nobody(Vec::new()), &Scope::All, || known.clone(), &[name.to_owned()]) {
        Choice::Editor(project) => Ok(project),
        Choice::Refused(Refusal::Ambiguous { fits, .. }) => {
            Err(format!("--editor {name} fits several projects; name one of them in full: {}", fits.join(", ")))
        }
        Choice::Routed | Choice::Refused(_) => {
            let names: Vec<String> = editors::named(&Scope::All, &known).into_iter().map(|(name, _)| name).collect();
            if let Some(meant) = nearest(name, names.iter().map(String::as_str)) {
                return Err(format!("--editor {name}: no editor is known by that name; did you mean {meant}?"));
            }
            let names = names.join(", ");
            let known = if names.is_empty() { "none is known yet".to_owned() } else { format!("known are {names}") };
            Err(format!("--editor {name}: no editor is known by that name ({known}); --project DIR names any project"))
        }
    }
}

/// Returns the projects of running gateways and of earlier sessions.
pub fn known(state: &Path) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for record in instance_record::all(state) {
        let Some(project) = record.pointer("/project").and_then(Value::as_str).map(PathBuf::from) else { continue };
        if !known.iter().any(|known| known.project == project) {
            known.push(Known { project, editor: Presence::Open });
        }
    }
    for head in catalogue_file::heads(&RealHost, state) {
        if !known.iter().any(|known| known.project == head.project) {
            known.push(Known { project: head.project, editor: Presence::Unknown });
        }
    }
    known
}
