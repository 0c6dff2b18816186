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
        let is_open = meaning.get(self.table).and_then(|table| table.get(self.field)) == Some(&json!(true));
        let network = match is_open {
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
        let is_alone = edit::entry(&meaning, slot).and_then(Value::as_object).is_some_and(|table| table.len() == 1);
        if !is_alone {
            // The other settings of the table are the user's. Off is what the client takes if nothing is set.
            return Ok((Some(edit::put(format, text, slot, &self.fields(false))?), false));
        }
        let bare = edit::take(format, text, slot)?;
        let is_new = bare.is_empty() && original.backup().is_none();
        Ok((Some(bare).filter(|_| !is_new), false))
    }

    /// Plans as [`Self::plan`] and carries it out.
    ///
    /// # Errors
    /// Returns [`ChangeError`].
    pub fn make(&self, client: &Client, file: &Path, places: &Places, open: bool) -> Result<(Plan, Done), ChangeError> {
        carry_out(|| self.plan(client, file, places, open), |text| tokens::token(client, text).is_some())
    }
}
