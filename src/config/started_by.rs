//! What the client that started this process says of itself in the environment. Which client uses which variables is in the
//! table of clients.

use std::path::{Path, PathBuf};

use crate::limits::hub::{CLIENT_FOLDER_MAX_BYTES, CLIENT_SESSION_MAX_BYTES};
use crate::platform::host::System;
use crate::protocol::mcp::clients::{Client, known_clients};
use crate::protocol::text::{clean, cut_with_ellipsis};

/// What one client of the table says, if it started this process. Only the client itself tells whether it did: the variables
/// of one client also reach the servers of another that was started inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedBy {
    /// The client's label in the table.
    pub label: &'static str,
    /// The folder of its project.
    pub folder: Option<PathBuf>,
    /// Whether that folder is in a Unity project.
    pub is_in_project: bool,
    /// Its own id of its session.
    pub session: Option<String>,
}

impl StartedBy {
    /// Reads what each client of the table says. A client that says nothing is left out.
    pub fn all(variable: impl Fn(&str) -> Option<String>, is_in_project: impl Fn(&Path) -> bool) -> Vec<Self> {
        known_clients().iter().filter_map(|client| Self::of(client, &variable, &is_in_project)).collect()
    }

    fn of(
        client: &Client,
        variable: impl Fn(&str) -> Option<String>,
        is_in_project: impl Fn(&Path) -> bool,
    ) -> Option<Self> {
        let said = |name: Option<&str>| name.and_then(&variable);
        // A relative folder, or a placeholder that nobody has replaced, would be another folder for each working directory.
        let is_folder =
            |text: &String| text.len() <= CLIENT_FOLDER_MAX_BYTES && System::HERE.is_absolute(text.as_ref());
        let folder = said(client.project_variable.value()).filter(is_folder).map(PathBuf::from);
        let session = said(client.session_variable.value()).and_then(|text| session_id(&text));
        (folder.is_some() || session.is_some()).then(|| Self {
            label: client.label,
            is_in_project: folder.as_deref().is_some_and(is_in_project),
            folder,
            session,
        })
    }
}

/// Makes another process's id of a session fit for a line of text: without control characters, and short. `None` if it is empty.
pub fn session_id(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| cut_with_ellipsis(&clean(text), CLIENT_SESSION_MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(folder: &str, session: &str) -> Vec<StartedBy> {
        let variable = |name: &str| match name {
            "CLAUDE_PROJECT_DIR" => Some(folder.to_owned()),
            "CLAUDE_CODE_SESSION_ID" => Some(session.to_owned()),
            _ => None,
        };
        StartedBy::all(variable, |folder| folder.ends_with("Castle"))
    }

    #[test]
    fn what_a_client_says_in_the_environment_counts_for_that_client() {
        let here = std::env::current_dir().unwrap();
        for (folder, is_in_project) in [(here.join("Castle"), true), (here, false)] {
            let [one] = &said(folder.to_str().unwrap(), "0f6f1c1e")[..] else { panic!("one client") };
            assert_eq!((one.label, one.is_in_project), ("claude_code", is_in_project));
            assert_eq!((&one.folder, one.session.as_deref()), (&Some(folder), Some("0f6f1c1e")));
        }
        assert_eq!(StartedBy::all(|_| None, |_| true), []);
    }

    #[test]
    fn a_folder_or_an_id_that_is_none_is_not_used() {
        let long = format!("/{}", "x".repeat(CLIENT_FOLDER_MAX_BYTES));
        for folder in ["", ".", "game", "${CLAUDE_PROJECT_DIR}", &long] {
            assert_eq!(said(folder, " "), [], "{folder}");
        }
        let odd = said("", "a\u{1b}[2J\u{202e}\nb");
        assert_eq!(odd[0].session.as_deref(), Some("a\\u{1b}[2J\\u{202e}\\u{a}b"));
        let long = said("", &"ü".repeat(CLIENT_SESSION_MAX_BYTES));
        assert!(long[0].session.as_ref().is_some_and(|id| id.len() <= CLIENT_SESSION_MAX_BYTES), "{long:?}");
    }
}
