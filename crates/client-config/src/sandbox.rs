//! The network in the sandbox in which a client runs commands. It is opened only if the user asks for it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::change::{ChangeError, Done, Plan, carry_out};
use crate::clients::Client;
use crate::edit::{self, EditError, Slot};
use crate::file::Original;
use crate::places::Places;
use crate::tokens;

/// The sandbox of a client, and the setting that opens the network in it.
#[derive(Debug, Clone, Copy)]
pub struct Sandbox {
    /// The client's name in [`CLIENTS`](crate::CLIENTS).
    pub client: &'static str,
    /// The table of the setting, in the client's file.
    pub table: &'static str,
    /// The setting, a switch.
    pub field: &'static str,
    /// A setting with which the table does not count, unless `mode` is set too.
    pub profile: &'static str,
    /// The setting that chooses the sandbox's kind.
    pub mode: &'static str,
    /// The source of these facts.
    pub source: &'static str,
    /// The day on which the source was read.
    pub read_on: &'static str,
}

/// The one sandbox that is known to forbid connections to this machine.
pub const SANDBOX: Sandbox = Sandbox {
    client: "codex",
    table: "sandbox_workspace_write",
    field: "network_access",
    profile: "default_permissions",
    mode: "sandbox_mode",
    source: "developers.openai.com/codex/permissions, and its configuration reference; that 127.0.0.1 is closed too: github.com/openai/codex, \
             issue 33227, and pull request 9522, which was not taken",
    read_on: "2026-11-29",
};

/// The first line of a file that holdfast made. Only such a file is deleted.
const MADE: &str = "# holdfast made this file; `holdfast skill remove codex --allow-network` takes it out";

/// Whether commands in a sandbox reach this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The setting opens the network.
    Open,
    /// It does not, or it is not set.
    Closed,
    /// Profiles decide, and the setting does not count.
    ByProfile,
}

impl Sandbox {
    fn slot(&self) -> Slot<'static> {
        Slot { keys: &[], name: self.table }
    }

    fn fields(&self, open: bool) -> Map<String, Value> {
        std::iter::once((self.field.to_owned(), json!(open))).collect()
    }

    fn opens(&self, meaning: &Value) -> bool {
        meaning.get(self.table).and_then(|table| table.get(self.field)) == Some(&json!(true))
    }

    /// Returns the setting as it is written in the file.
    pub fn snippet(&self) -> String {
        format!("[{}]\n{} = true\n", self.table, self.field)
    }

    /// Returns what a client's file says.
    ///
    /// # Errors
    /// Returns [`ChangeError`] if the file cannot be read or parsed.
    pub fn network(&self, client: &Client, file: &Path, places: &Places) -> Result<Network, ChangeError> {
        Ok(self.read(client, file, places)?.1)
    }

    fn read(&self, client: &Client, file: &Path, places: &Places) -> Result<(Original, Network), ChangeError> {
        let original = Original::of(client, file, places)?;
        let refused = |error| ChangeError::Edit { path: original.path.clone(), error };
        let meaning = edit::meaning(client.format, original.text()).map_err(refused)?;
        let has = |key: &str| meaning.get(key).is_some();
        let network = match self.opens(&meaning) {
            _ if has(self.profile) && !has(self.mode) => Network::ByProfile,
            true => Network::Open,
            false => Network::Closed,
        };
        Ok((original, network))
    }

    /// Plans to open the network, or to close it again.
    ///
    /// # Errors
    /// Returns [`ChangeError`]. Nothing was written.
    pub fn plan(&self, client: &Client, file: &Path, places: &Places, open: bool) -> Result<Plan, ChangeError> {
        let (original, network) = self.read(client, file, places)?;
        let refused = |error| ChangeError::Edit { path: original.path.clone(), error };
        let (format, slot, text) = (client.format, self.slot(), original.text());
        let (text, backup_done) = match (network, open) {
            (Network::ByProfile, true) => {
                let says = format!(
                    "\"{}\" chooses a profile there, and beside it [{}] does not count; in a profile of yours set enabled = true in \
                     [permissions.NAME.network]",
                    self.profile, self.table
                );
                return Err(refused(EditError::Unusual(says)));
            }
            (Network::Closed, true) => {
                let made = format!("{MADE}\n");
                let text = if original.exists() { text } else { &made };
                (Some(edit::put(format, text, slot, &self.fields(true)).map_err(refused)?), false)
            }
            (Network::Open, false) => self.closed(client, &original).map_err(refused)?,
            (Network::Open, true) | (Network::Closed | Network::ByProfile, false) => (Some(text.to_owned()), false),
        };
        let first = original.backup().filter(|_| backup_done);
        let marked = first.as_ref().unwrap_or(&original).has_mark();
        let mut plan = Plan::whole(original, text, backup_done);
        plan.marked = marked;
        Ok(plan)
    }

    /// Returns a file's text without the setting, or `None` if the file is to go; and whether this is its first state.
    fn closed(&self, client: &Client, original: &Original) -> Result<(Option<String>, bool), EditError> {
        let (format, slot, text) = (client.format, self.slot(), original.text());
        let first = original.backup().filter(|first| {
            edit::put(format, first.text(), slot, &self.fields(true)).is_ok_and(|with_it| with_it == text)
        });
        if let Some(first) = first {
            return Ok((Some(first.text().to_owned()), true));
        }
        let meaning = edit::meaning(format, text)?;
        let was_closed = |first: Original| {
            first.text().starts_with(MADE)
                || edit::meaning(format, first.text()).is_ok_and(|before| !self.opens(&before))
        };
        if !text.starts_with(MADE) && !original.backup().is_some_and(was_closed) {
            let says = format!(
                "[{}] {} = true there is not known to be holdfast's, so it stays; take it out yourself to close the network",
                self.table, self.field
            );
            return Err(EditError::Unusual(says));
        }
        let is_alone = edit::entry(&meaning, slot).and_then(Value::as_object).is_some_and(|table| table.len() == 1);
        if !is_alone {
            // The other settings of the table are the user's. Off is what the client takes if nothing is set.
            return Ok((Some(edit::put(format, text, slot, &self.fields(false))?), false));
        }
        let bare = edit::take(format, text, slot)?;
        Ok((Some(bare).filter(|bare| bare.trim_end() != MADE), false))
    }

    /// Plans as [`Self::plan`] and carries it out.
    ///
    /// # Errors
    /// Returns [`ChangeError`].
    pub fn make(&self, client: &Client, file: &Path, places: &Places, open: bool) -> Result<(Plan, Done), ChangeError> {
        carry_out(|| self.plan(client, file, places, open), |text| tokens::token(client, text).is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::clients::named;
    use crate::disk::Disk;
    use crate::places::System;

    #[test]
    fn only_a_file_that_holdfast_made_is_deleted_and_only_what_it_opened_is_closed() {
        let home = tempfile::tempdir().expect("a folder");
        let variable = |_: &str| Some(home.path().into());
        let places = Places::of(System::HERE, variable, Disk::PLAIN).expect("a home");
        let (client, file) = (named("codex").expect("a client"), home.path().join("config.toml"));
        let make = |open| SANDBOX.make(client, &file, &places, open).map(|(_, done)| done);

        let own = "[sandbox_workspace_write]\nnetwork_access = true\n";
        fs::write(&file, own).expect("written");
        assert_eq!(make(true).expect("it is open"), Done::Already);
        let says = make(false).expect_err("it was open before").to_string();
        assert!(says.contains("so it stays"), "{says}");
        assert_eq!(fs::read_to_string(&file).expect("there"), own);

        fs::remove_file(&file).expect("it is there");
        make(true).expect("it can be written");
        let made = fs::read_to_string(&file).expect("there");
        assert_eq!(made, format!("{MADE}\n\n{own}"));
        assert_eq!(make(false).expect("it can be deleted"), Done::Deleted);
        assert!(!file.exists());

        // What was added to it stays.
        fs::write(&file, format!("{MADE}\nmodel = \"o5\"\n\n{own}")).expect("written");
        make(false).expect("it can be written");
        assert_eq!(fs::read_to_string(&file).expect("there"), format!("{MADE}\nmodel = \"o5\"\n"));
    }
}
