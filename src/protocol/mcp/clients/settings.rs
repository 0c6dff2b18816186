//! The user's settings for clients, which replace facts of the table: `[clients.NAME]` in a configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::facts::{Client, ClientTraits};
use super::lookup::{begins, client_of, labelled, traits_of};
use crate::limits::{
    CLIENT_FIELD_MAX_BYTES, PATIENCE_MARGIN, PATIENCE_MAX, RESULT_INLINE_MAX_BYTES, RESULT_TEXT_MIN_BYTES,
};
use crate::protocol::policy::pattern::Pattern;

/// One `[clients.NAME]` section. A missing key keeps the value of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSettings {
    /// Seconds that the client waits for a call.
    pub patience: Option<u64>,
    /// Whether the client fetches the list again after `tools/list_changed`.
    pub list_changed: Option<bool>,
    /// How many bytes of text in a result reach the model; 0 means no limit.
    pub result_text_max: Option<usize>,
    /// Whether images in results are passed on.
    pub images: Option<bool>,
    /// Whether audio in results is passed on.
    pub audio: Option<bool>,
    /// How many tools the client shows; 0 means no limit.
    pub tools_max: Option<usize>,
    /// Whether `oneOf`, `anyOf` and `allOf` at the top of a schema are removed.
    pub flatten_schemas: Option<bool>,
    /// The tools that the client lists and may call. They become part of the policy. A hub gets that policy, and not
    /// this key.
    #[serde(skip_serializing)]
    pub tools: Option<Vec<Pattern>>,
}

impl ClientSettings {
    /// Returns a text for each invalid value. Each text begins with the key.
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

    /// Returns the given habits, each replaced by the setting for it if there is one.
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

/// Returns the position of the NAME that means the client with this `clientInfo.name` most specifically. An exact name
/// comes before a prefix, a longer prefix before a shorter one, and any prefix before the label of a client of the
/// table. `None` if no NAME means it.
pub fn most_specific<'a>(words: impl Iterator<Item = &'a str>, name: &str) -> Option<usize> {
    let name = name.trim();
    let meant = words.enumerate().filter_map(|(at, word)| Some((Whom::of(word).ok()?, at)));
    meant.filter(|(whom, _)| whom.means(name)).max().map(|(_, at)| at)
}

/// The clients that a `[clients.NAME]` section is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// The client of the table with this label.
    Label(&'static str),
    /// Every client whose `clientInfo.name` begins with this.
    From(String),
    /// The client with exactly this `clientInfo.name`.
    Exactly(String),
}

impl Whom {
    /// Interprets NAME: a label of the table, otherwise a client's name, or a prefix if it ends in `*`.
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

    /// Returns the NAME that [`of`](Self::of) makes this value of.
    fn word(&self) -> String {
        match self {
            Self::Label(label) => (*label).to_owned(),
            Self::From(prefix) => format!("{prefix}*"),
            Self::Exactly(name) => name.clone(),
        }
    }

    fn means(&self, name: &str) -> bool {
        match self {
            Self::Label(label) => client_of(name).is_some_and(|client| client.label == *label),
            Self::From(prefix) => begins(name, prefix),
            Self::Exactly(wanted) => name.eq_ignore_ascii_case(wanted),
        }
    }
}

/// All of the user's settings for clients; empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientOverrides(Vec<(Whom, ClientSettings)>);

impl Serialize for ClientOverrides {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(whom, settings)| (whom.word(), settings)))
    }
}

impl<'de> Deserialize<'de> for ClientOverrides {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = BTreeMap::<String, ClientSettings>::deserialize(deserializer)?;
        Self::new(said).map_err(|faults| serde::de::Error::custom(faults.join("; ")))
    }
}

impl ClientOverrides {
    /// Reads the settings, each with the NAME of its `[clients.NAME]` section.
    ///
    /// # Errors
    /// A text for each error in the settings, with its key and the fix.
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
        // Broader sections first, so that a more specific one overrides them.
        said.sort_by(|(one, _), (other, _)| one.cmp(other));
        if faults.is_empty() { Ok(Self(said)) } else { Err(faults) }
    }

    /// The habits of the client with this `clientInfo.name`, as the table has them, with the user's settings applied.
    pub fn traits_of(&self, name: &str) -> ClientTraits {
        let name = name.trim();
        self.0
            .iter()
            .filter(|(whom, _)| whom.means(name))
            .fold(traits_of(name), |traits, (_, settings)| settings.over(traits))
    }

    /// The tools that the user chose for clients, each with the NAME of its section.
    pub fn tools(&self) -> impl Iterator<Item = (String, &[Pattern])> {
        self.0.iter().filter_map(|(whom, settings)| Some((whom.word(), settings.tools.as_deref()?)))
    }

    /// Whether the user has settings for a client with this name.
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|(whom, _)| whom.means(name.trim()))
    }

    /// The habits of a client of the table, with only the user's settings for its label.
    pub fn traits_of_client(&self, client: &Client) -> ClientTraits {
        let said = self.0.iter().filter(|(whom, _)| *whom == Whom::Label(client.label));
        said.fold(client.traits(), |traits, (_, settings)| settings.over(traits))
    }
}
