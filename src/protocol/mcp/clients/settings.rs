//! What a user says of clients, in place of the table: `[clients.NAME]` of a configuration.

use std::time::Duration;

use serde::Deserialize;

use super::facts::{Client, ClientTraits};
use super::lookup::{begins, client_of, labelled, traits_of};
use crate::limits::{
    CLIENT_FIELD_MAX_BYTES, PATIENCE_MARGIN, PATIENCE_MAX, RESULT_INLINE_MAX_BYTES, RESULT_TEXT_MIN_BYTES,
};

/// One `[clients.NAME]`. What is left out stays as the table has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSettings {
    /// Seconds that it waits for a call.
    pub patience: Option<u64>,
    /// It fetches the list again after `tools/list_changed`.
    pub list_changed: Option<bool>,
    /// Most bytes of text in a result; 0: no limit.
    pub result_text_max: Option<usize>,
    /// Images in results are passed on.
    pub images: Option<bool>,
    /// Audio in results is passed on.
    pub audio: Option<bool>,
    /// Most tools that it shows; 0: no limit.
    pub tools_max: Option<usize>,
    /// `oneOf`, `anyOf` and `allOf` at the top of a schema are taken away.
    pub flatten_schemas: Option<bool>,
}

impl ClientSettings {
    /// What is wrong with it, each in words that begin with the key.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(patience) = self.patience
            && !(PATIENCE_MARGIN.as_secs() + 1..=PATIENCE_MAX.as_secs()).contains(&patience)
        {
            faults.push(format!(
                "patience is {patience}, and must be a number of seconds from {} to {}",
                PATIENCE_MARGIN.as_secs() + 1,
                PATIENCE_MAX.as_secs()
            ));
        }
        if let Some(bytes) = self.result_text_max
            && bytes != 0
            && !(RESULT_TEXT_MIN_BYTES..=RESULT_INLINE_MAX_BYTES).contains(&bytes)
        {
            faults.push(format!(
                "result_text_max is {bytes}, and must be a number of bytes from {RESULT_TEXT_MIN_BYTES} to \
                 {RESULT_INLINE_MAX_BYTES}, or 0 for no limit"
            ));
        }
        faults
    }

    /// These habits with what is said here.
    fn over(&self, traits: ClientTraits) -> ClientTraits {
        let limit = |said: Option<usize>, known: Option<usize>| said.map_or(known, |most| (most != 0).then_some(most));
        ClientTraits {
            patience: self.patience.map_or(traits.patience, Duration::from_secs),
            list_changed: self.list_changed.unwrap_or(traits.list_changed),
            result_text_max: limit(self.result_text_max, traits.result_text_max),
            images: self.images.unwrap_or(traits.images),
            audio: self.audio.unwrap_or(traits.audio),
            tools_max: limit(self.tools_max, traits.tools_max),
            flatten_schemas: self.flatten_schemas.unwrap_or(traits.flatten_schemas),
            ..traits
        }
    }
}

/// Whom a `[clients.NAME]` means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// The client of the table with this label.
    Label(&'static str),
    /// Every `clientInfo.name` that begins so.
    From(String),
    /// This `clientInfo.name`.
    Exactly(String),
}

impl Whom {
    /// A label wins; else it is a name, or with a `*` at its end the beginning of names.
    fn of(word: &str) -> Result<Self, String> {
        let word = word.trim();
        if let Some(client) = labelled(word) {
            if client.names.is_empty() {
                return Err(format!(
                    "how {} calls itself is not known, so that it cannot be recognised by this word; put the name here that \
                     holdfast_status shows under gateway.client",
                    client.title
                ));
            }
            return Ok(Self::Label(client.label));
        }
        if word.is_empty() || word == "*" || word.len() > CLIENT_FIELD_MAX_BYTES {
            return Err(format!(
                "a client is named by its word (`holdfast doctor --clients` lists them), or by the name it gives itself, of 1 to \
                 {CLIENT_FIELD_MAX_BYTES} bytes; a `*` at the end stands for anything behind it"
            ));
        }
        Ok(match word.strip_suffix('*') {
            Some(prefix) => Self::From(prefix.to_owned()),
            None => Self::Exactly(word.to_owned()),
        })
    }

    fn means(&self, name: &str) -> bool {
        match self {
            Self::Label(label) => client_of(name).is_some_and(|client| client.label == *label),
            Self::From(prefix) => begins(name, prefix),
            Self::Exactly(wanted) => name.eq_ignore_ascii_case(wanted),
        }
    }
}

/// All that a user says of clients; the default says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientOverrides(Vec<(Whom, ClientSettings)>);

impl ClientOverrides {
    /// The settings by the NAME of their `[clients.NAME]`.
    ///
    /// # Errors
    /// All that is wrong with them, each with its key and the fix.
    pub fn new(settings: impl IntoIterator<Item = (String, ClientSettings)>) -> Result<Self, Vec<String>> {
        let (mut said, mut faults) = (Vec::new(), Vec::new());
        for (word, settings) in settings {
            match Whom::of(&word) {
                Ok(whom) => {
                    if said.iter().any(|(other, _)| *other == whom) {
                        faults.push(format!("clients.{word}: the same client is set twice; keep one of the two"));
                    }
                    faults.extend(settings.faults().into_iter().map(|fault| format!("clients.{word}.{fault}")));
                    said.push((whom, settings));
                }
                Err(fault) => faults.push(format!("clients.{word}: {fault}")),
            }
        }
        // What is said of more names first, so that the closer word has the last say.
        said.sort_by(|(one, _), (other, _)| one.cmp(other));
        if faults.is_empty() { Ok(Self(said)) } else { Err(faults) }
    }

    /// The habits of the client with this `clientInfo.name`: the table's, and what the user says of them.
    pub fn traits_of(&self, name: &str) -> ClientTraits {
        let name = name.trim();
        self.0
            .iter()
            .filter(|(whom, _)| whom.means(name))
            .fold(traits_of(name), |traits, (_, settings)| settings.over(traits))
    }

    /// Whether the user says anything of a client that calls itself so.
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|(whom, _)| whom.means(name.trim()))
    }

    /// The habits of a client of the table, whatever it calls itself.
    pub fn traits_of_client(&self, client: &Client) -> ClientTraits {
        let said = self.0.iter().filter(|(whom, _)| *whom == Whom::Label(client.label));
        said.fold(client.traits(), |traits, (_, settings)| settings.over(traits))
    }
}
