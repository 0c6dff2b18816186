//! The facts about a client, and the habits that follow from them.

use std::time::Duration;

use crate::limits::{IMAGE_BASE64_MAX_BYTES, IMAGE_SIDE_MAX_PIXELS, PATIENCE_MAX, PATIENCE_UNKNOWN};

/// The habits of one client that decide how holdfast treats it. A user's settings may replace most of them (`ClientSettings`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientTraits {
    /// The client's label in logs, metrics and settings; unique in the table.
    pub name: &'static str,
    /// The client's name as people know it.
    pub title: &'static str,
    /// Whether the client is known, and `holdfast setup` sets it up.
    pub by_command: bool,
    /// How long the client waits for the answer to a call with its default settings; at most [`PATIENCE_MAX`].
    pub patience: Duration,
    /// Whether the client fetches the tool list again after `notifications/tools/list_changed`.
    pub list_changed: bool,
    /// How many tools of all its servers together the client shows to its model, if known.
    pub tools_max: Option<usize>,
    /// How many bytes of text in a result, counted as JSON strings, reach the client's model; the rest is lost. `None` if no
    /// limit is known, or if the client keeps the rest itself.
    pub result_text_max: Option<usize>,
    /// Whether the client's model sees images in results.
    pub images: bool,
    /// The largest image that the client's model takes.
    pub image_limit: ImageLimit,
    /// Whether the client's model hears audio in results.
    pub audio: bool,
    /// Whether the client reads `structuredContent` instead of the content blocks, so that an image in those blocks is lost.
    pub structured_alone: bool,
    /// Whether the client's model must search for a tool before it sees it.
    pub defers_tools: bool,
    /// Whether `oneOf`, `anyOf` or `allOf` at the top of a schema makes the client lose the tool, or the whole request.
    pub flatten_schemas: bool,
}

/// The source of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Evidence {
    /// Observed on the wire.
    Measured,
    /// Read in the client's source code.
    Source,
    /// Stated in the vendor's documents.
    Documents,
    /// Reported by users.
    Users,
    /// Stated only in a community's registry of clients.
    Registry,
    /// Concluded from another fact; [`ASSUMED_FROM`] explains the conclusion.
    Assumed,
}

impl Evidence {
    /// The source in words for people.
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

/// A fact about one habit, or its absence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact<T> {
    /// This value, from this source.
    Known(T, Evidence),
    /// Nobody has checked, or nobody could find out.
    Unknown,
}

impl<T: Copy> Fact<T> {
    /// The value, if known.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Known(value, _) => Some(value),
            Self::Unknown => None,
        }
    }

    /// The source, if the fact is known.
    pub fn evidence(self) -> Option<Evidence> {
        match self {
            Self::Known(_, evidence) => Some(evidence),
            Self::Unknown => None,
        }
    }
}

/// How a client tells its servers which project is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TellsProject {
    /// It sends its roots when it is asked.
    ByRoots,
    /// Never: the client starts its servers elsewhere, and has no roots.
    Never,
}

/// How long a client waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// At most this long.
    For(Duration),
    /// Without a limit.
    Endless,
}

/// How much text of a result a client gives to its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimit {
    /// The limit in bytes. A limit in tokens is converted as the client does it; if that is not known, with four bytes per token.
    pub bytes: usize,
    /// What happens to the rest.
    pub beyond: Beyond,
}

/// What happens to text beyond a client's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// The model never sees the rest.
    Lost,
    /// The client writes the whole text to a file and tells the model.
    Kept,
}

/// The largest image that an API takes; it refuses every request of a conversation with a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimit {
    /// In bytes of base64.
    pub base64_bytes: usize,
    /// The longer side, in pixels.
    pub side_pixels: u32,
    /// Whether GIF is read, besides PNG, JPEG and WebP.
    pub gif: bool,
}

/// The strictest limit of the known APIs, for a client whose model is not known: Anthropic's.
/// Sources: platform.claude.com/docs/en/build-with-claude/vision, anthropics/claude-code#11181 ("> 5242880 bytes"), #5147 ("8000
/// pixels").
pub const IMAGE_LIMIT_ASSUMED: ImageLimit =
    ImageLimit { base64_bytes: IMAGE_BASE64_MAX_BYTES, side_pixels: IMAGE_SIDE_MAX_PIXELS, gif: true };

/// One client: a row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// The client's label in logs, metrics and settings. `holdfast setup` uses the same word, with `-` for `_`.
    pub label: &'static str,
    /// The client's name as people know it.
    pub title: &'static str,
    /// The `clientInfo.name` values of the client.
    pub names: &'static [Named],
    /// The newest protocol version that the client requests over stdio.
    pub version: Fact<&'static str>,
    /// How the client tells its servers which project is open.
    pub project: Fact<TellsProject>,
    /// The variable with the folder of the project, in the environment of the servers that the client starts.
    pub project_variable: Fact<&'static str>,
    /// The variable there with the client's own id of its session.
    pub session_variable: Fact<&'static str>,
    /// How long the client waits for the answer to a call.
    pub patience: Fact<Wait>,
    /// The client's own settings that make it wait longer, for calls or for the start.
    pub raised_by: Option<&'static str>,
    /// How to add a server to the client by hand, if `holdfast setup` does not support the client.
    pub by_hand: Option<&'static str>,
    /// The client's own command that adds a server.
    pub own_command: Fact<&'static str>,
    /// What adds holdfast with one click, if `holdfast` is on the client's PATH.
    pub link: Fact<&'static str>,
    /// Where the client shows or keeps a server's stderr.
    pub log: Fact<&'static str>,
    /// How a server is started again.
    pub again: Fact<&'static str>,
    /// How a team shares the entry.
    pub share: Fact<&'static str>,
    /// How long a server may take to start, including the first tool list.
    pub start: Fact<Wait>,
    /// Whether the client fetches the tool list again after `notifications/tools/list_changed`.
    pub list_changed: Fact<bool>,
    /// The prefix that the client puts before tool names of a server called `holdfast`.
    pub prefix: Fact<&'static str>,
    /// The longest tool name in bytes, with that prefix.
    pub full_name_max: Fact<usize>,
    /// Whether the client's model must search for a tool before it sees it, with the client's default settings.
    pub defers_tools: Fact<bool>,
    /// How many tools of all its servers together the client accepts.
    pub tools_max: Fact<usize>,
    /// The longest tool description in bytes; the client cuts longer ones.
    pub description_max: Fact<usize>,
    /// How much text of one result the client accepts.
    pub text_max: Fact<TextLimit>,
    /// Whether the client's model sees images in results.
    pub images: Fact<bool>,
    /// The largest image that the client's model takes, if it always has a model of the same API.
    pub image_limit: Fact<ImageLimit>,
    /// Whether the client's model hears audio in results.
    pub audio: Fact<bool>,
    /// Whether the client reads `structuredContent` instead of the content blocks.
    pub structured_alone: Fact<bool>,
    /// Whether the client, or an API to which it sends schemas, refuses `oneOf`, `anyOf` and `allOf` at the top of a schema.
    pub refuses_alternatives: Fact<bool>,
    /// How the client ends a server.
    pub shutdown: Fact<&'static str>,
    /// How many copies of a server the client starts at once.
    pub copies: Fact<u8>,
    /// Whether the client must be restarted, or a new session begun, after a change of its configuration.
    pub restart: Fact<bool>,
    /// Further facts for users, one sentence each.
    pub notes: &'static [&'static str],
    /// The sources of all these facts.
    pub sources: &'static str,
}

/// How a client is recognised by `clientInfo.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// Exactly this name.
    Exactly(&'static str),
    /// Every name that begins with this text.
    From(&'static str),
}

/// The row of a client without any known fact.
static UNKNOWN_ROW: Client = Client::unknown("unknown", "MCP client");

/// The habits assumed for a client that is not in the table. Its patience is 60 s (the SDKs' default). It is assumed
/// not to react to changes, which costs at most one short wait at its first `tools/list`. Results and schemas are
/// changed for it only if every client or a known API of models refuses them. So a developer who tests a server or
/// writes a client gets what the editor wrote.
pub static UNKNOWN_CLIENT: ClientTraits = UNKNOWN_ROW.traits();

/// Why a client is assumed to lose tools with alternatives at the top of a schema, if the source of that fact is
/// [`Evidence::Assumed`].
pub const ASSUMED_FROM: &str = "Assumed, since its users can choose a model of Anthropic or OpenAI, whose APIs refuse such a schema \
                                and every request with it; whether the client changes schemas itself is not known.";

/// When the whole table was last checked.
pub const AS_OF: &str = "November 2026";

impl Client {
    /// A client with a label and a title, and no known fact.
    pub(super) const fn unknown(label: &'static str, title: &'static str) -> Self {
        Self {
            label,
            title,
            names: &[],
            version: Fact::Unknown,
            project: Fact::Unknown,
            project_variable: Fact::Unknown,
            session_variable: Fact::Unknown,
            patience: Fact::Unknown,
            raised_by: None,
            by_hand: None,
            own_command: Fact::Unknown,
            link: Fact::Unknown,
            log: Fact::Unknown,
            again: Fact::Unknown,
            share: Fact::Unknown,
            start: Fact::Unknown,
            list_changed: Fact::Unknown,
            prefix: Fact::Unknown,
            full_name_max: Fact::Unknown,
            defers_tools: Fact::Unknown,
            tools_max: Fact::Unknown,
            description_max: Fact::Unknown,
            text_max: Fact::Unknown,
            images: Fact::Unknown,
            image_limit: Fact::Unknown,
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

    /// The habits that follow from the facts. An unknown fact gets the value that does the least harm if it is wrong: the usual
    /// patience, no reaction to changes, and nothing removed from results or schemas.
    pub const fn traits(&self) -> ClientTraits {
        ClientTraits {
            name: self.label,
            title: self.title,
            by_command: self.by_hand.is_none() && !self.names.is_empty(),
            patience: match self.patience {
                Fact::Known(Wait::Endless, _) => PATIENCE_MAX,
                Fact::Known(Wait::For(patience), _) if patience.as_secs() < PATIENCE_MAX.as_secs() => patience,
                Fact::Known(Wait::For(_), _) => PATIENCE_MAX,
                Fact::Unknown => PATIENCE_UNKNOWN,
            },
            // A registry alone is not enough evidence: a client that does not react to the change would keep an empty list.
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
            image_limit: match self.image_limit {
                Fact::Known(limit, _) => limit,
                Fact::Unknown => IMAGE_LIMIT_ASSUMED,
            },
            audio: !matches!(self.audio, Fact::Known(false, _)),
            defers_tools: matches!(self.defers_tools, Fact::Known(true, _)),
            structured_alone: matches!(self.structured_alone, Fact::Known(true, _)),
            // A client whose name is not known cannot be recognised, so its schemas are not changed.
            flatten_schemas: matches!(self.refuses_alternatives, Fact::Known(true, _)) && !self.names.is_empty(),
        }
    }
}
