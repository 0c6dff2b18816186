//! What is known of a client, and what follows from it.

use std::time::Duration;

use crate::limits::{PATIENCE_MAX, PATIENCE_UNKNOWN};

/// The habits of one client, as far as they decide what is done for it. A user's setting may replace each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientTraits {
    /// Its label in logs, metrics and settings; unique in the table.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How long it waits for the answer to a call, if nobody configured it otherwise; at most [`PATIENCE_MAX`].
    pub patience: Duration,
    /// It fetches the list of tools again after `notifications/tools/list_changed`.
    pub list_changed: bool,
    /// Most tools of all its servers together that it shows to the model, if known.
    pub tools_max: Option<usize>,
    /// Most bytes of text in a result, as JSON strings, beyond which its model loses the rest; `None`: no such limit is known,
    /// or the client keeps the rest itself.
    pub result_text_max: Option<usize>,
    /// Its model sees images in results.
    pub images: bool,
    /// Its model hears audio in results.
    pub audio: bool,
    /// It reads `structuredContent` in place of the content blocks, so that an image beside it is lost.
    pub structured_alone: bool,
    /// `oneOf`, `anyOf` and `allOf` at the top of a schema cost it the tool, or the whole request.
    pub flatten_schemas: bool,
}

/// Where a fact comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Evidence {
    /// Seen on the wire.
    Measured,
    /// Read in its source code.
    Source,
    /// Its vendor's documents say so.
    Documents,
    /// Its users report it.
    Users,
    /// Only a community's registry of clients says so.
    Registry,
    /// Follows from something else that is known: [`ASSUMED_FROM`].
    Assumed,
}

impl Evidence {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Source => "read in its source",
            Self::Documents => "its documents",
            Self::Users => "reported by users",
            Self::Registry => "a community registry",
            Self::Assumed => "assumed",
        }
    }
}

/// What is known of one habit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact<T> {
    /// This, from there.
    Known(T, Evidence),
    /// Nobody has looked, or could tell.
    Unknown,
}

impl<T: Copy> Fact<T> {
    /// The value, if it is known.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Known(value, _) => Some(value),
            Self::Unknown => None,
        }
    }

    /// Where it comes from, if it is known.
    pub fn evidence(self) -> Option<Evidence> {
        match self {
            Self::Known(_, evidence) => Some(evidence),
            Self::Unknown => None,
        }
    }
}

/// How long a client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// This long.
    For(Duration),
    /// It has no limit of its own.
    Endless,
}

/// How much text of a result a client hands to its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimit {
    /// Bytes; a limit in tokens is counted as the client counts them, else as four bytes a token.
    pub bytes: usize,
    /// What becomes of the rest.
    pub beyond: Beyond,
}

/// What becomes of text beyond a client's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The model never sees it.
    Lost,
    /// The client puts all of it into a file of its own and tells the model.
    Kept,
}

/// One client: a row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// Its label in logs, metrics and settings. `holdfast setup` knows it by the same word, with `-` for `_`.
    pub label: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its `clientInfo.name`s.
    pub names: &'static [Named],
    /// The newest protocol version that it asks for over stdio.
    pub version: Fact<&'static str>,
    /// How long it waits for the answer to a call.
    pub patience: Fact<Wait>,
    /// The settings of its own that give it more patience, for calls or for the start.
    pub raised_by: Option<&'static str>,
    /// How it is told of a server, for clients that `holdfast setup` does not know.
    pub by_hand: Option<&'static str>,
    /// How long a server may take to start, the first list of tools included.
    pub start: Fact<Wait>,
    /// It fetches the list of tools again after `notifications/tools/list_changed`.
    pub list_changed: Fact<bool>,
    /// What it puts before the name of a tool of a server that is called `holdfast`.
    pub prefix: Fact<&'static str>,
    /// Most bytes of a tool's name with that prefix.
    pub full_name_max: Fact<usize>,
    /// Most tools of all its servers together.
    pub tools_max: Fact<usize>,
    /// Most bytes of a tool's description; it cuts what is longer.
    pub description_max: Fact<usize>,
    /// Most text of one result.
    pub text_max: Fact<TextLimit>,
    /// Its model sees images in results.
    pub images: Fact<bool>,
    /// Its model hears audio in results.
    pub audio: Fact<bool>,
    /// It reads `structuredContent` in place of the content blocks.
    pub structured_alone: Fact<bool>,
    /// It, or an API that it hands schemas to, refuses `oneOf`, `anyOf` and `allOf` at the top of a schema.
    pub refuses_alternatives: Fact<bool>,
    /// How it ends a server.
    pub shutdown: Fact<&'static str>,
    /// How many copies of a server it starts at once.
    pub copies: Fact<u8>,
    /// It must be started anew (or a new session begun) after its configuration changed.
    pub restart: Fact<bool>,
    /// What else its user should know: one sentence each.
    pub notes: &'static [&'static str],
    /// Where all of this comes from.
    pub sources: &'static str,
}

/// How a `clientInfo.name` is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Exactly this.
    Exactly(&'static str),
    /// This and anything behind it.
    From(&'static str),
}

/// A client of which nothing is known.
static UNKNOWN_ROW: Client = Client::unknown("unknown", "MCP client");

/// What is done for a client that is not in the table: 60 s of patience (the SDKs' default), no ear for changes, which costs such
/// a client at most one short wait at its first `tools/list`, and nothing else changed: whoever tests a server or writes a client
/// of their own gets what the editor wrote.
pub static UNKNOWN_CLIENT: ClientTraits = UNKNOWN_ROW.traits();

/// From what follows that a client loses tools with alternatives at the top of a schema, where that is [`Evidence::Assumed`].
pub const ASSUMED_FROM: &str = "Assumed, since its users can choose a model of Anthropic or OpenAI, whose APIs refuse such a schema \
                                and every request with it; whether the client changes schemas itself is not known.";

/// When the table was last gone through.
pub const AS_OF: &str = "November 2026";

impl Client {
    /// Nothing but a name.
    pub(super) const fn unknown(label: &'static str, title: &'static str) -> Self {
        Self {
            label,
            title,
            names: &[],
            version: Fact::Unknown,
            patience: Fact::Unknown,
            raised_by: None,
            by_hand: None,
            start: Fact::Unknown,
            list_changed: Fact::Unknown,
            prefix: Fact::Unknown,
            full_name_max: Fact::Unknown,
            tools_max: Fact::Unknown,
            description_max: Fact::Unknown,
            text_max: Fact::Unknown,
            images: Fact::Unknown,
            audio: Fact::Unknown,
            structured_alone: Fact::Unknown,
            refuses_alternatives: Fact::Unknown,
            shutdown: Fact::Unknown,
            copies: Fact::Unknown,
            restart: Fact::Unknown,
            notes: &[],
            sources: "",
        }
    }

    /// What is done for it. What is unknown is taken as what costs the least if it is wrong: the common patience, no ear for
    /// changes; and everything passed through.
    pub const fn traits(&self) -> ClientTraits {
        ClientTraits {
            name: self.label,
            title: self.title,
            patience: match self.patience {
                Fact::Known(Wait::Endless, _) => PATIENCE_MAX,
                Fact::Known(Wait::For(patience), _) if patience.as_secs() < PATIENCE_MAX.as_secs() => patience,
                Fact::Known(Wait::For(_), _) => PATIENCE_MAX,
                Fact::Unknown => PATIENCE_UNKNOWN,
            },
            // Only a registry's word is not enough: a client that does not hear would keep an empty list.
            list_changed: match self.list_changed {
                Fact::Known(heard, evidence) => heard && !matches!(evidence, Evidence::Registry),
                Fact::Unknown => false,
            },
            tools_max: match self.tools_max {
                Fact::Known(most, _) => Some(most),
                Fact::Unknown => None,
            },
            result_text_max: match self.text_max {
                Fact::Known(TextLimit { bytes, beyond: Beyond::Lost }, _) => Some(bytes),
                Fact::Known(TextLimit { beyond: Beyond::Kept, .. }, _) | Fact::Unknown => None,
            },
            images: !matches!(self.images, Fact::Known(false, _)),
            audio: !matches!(self.audio, Fact::Known(false, _)),
            structured_alone: matches!(self.structured_alone, Fact::Known(true, _)),
            // Who does not tell its name is not recognised, and so nothing is done for it.
            flatten_schemas: matches!(self.refuses_alternatives, Fact::Known(true, _)) && !self.names.is_empty(),
        }
    }
}
