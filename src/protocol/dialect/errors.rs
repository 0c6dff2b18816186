//! Errors of the dialects. People read their texts, which continue a sentence about the peer ("it said nothing").

use std::borrow::Cow;

/// Why an order cannot be encoded. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The encoded message is larger than the editor accepts.
    #[error("the request has {bytes} bytes on the wire, more than the {max} that the editor accepts")]
    TooLarge {
        /// Encoded size in bytes: with its frame header, or over HTTP the body alone.
        bytes: usize,
        /// The largest size that the editor accepts, in bytes.
        max: usize,
    },
    /// The dialect has no message for this order.
    #[error("this editor's protocol has no such message")]
    NotSpoken,
    /// The greeting cannot continue.
    #[error("the editor cannot be greeted: {0}")]
    NoGreeting(#[from] BadGreeting),
}

/// Why a message is not valid in the dialect. Before the greeting has succeeded, the peer is then taken for a foreign one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum BadMessage {
    /// The message is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The message is not JSON.
    #[error("not JSON")]
    NotJson,
    /// The message is JSON, but not a message of this dialect.
    #[error("not a message of this dialect: {0}")]
    NotAMessage(&'static str),
}

impl BadMessage {
    /// The message is one of ours that the peer sends back.
    pub(super) const ECHO: Self = Self::NotAMessage("a request of ours, sent back");
    /// The message has a method, but not a name of one.
    pub(super) const ODD_METHOD: Self = Self::NotAMessage("the method is not a text");

    /// Whether the message is a request or a notification, so that it answers nothing.
    pub fn is_request(&self) -> bool {
        *self == Self::ECHO || *self == Self::ODD_METHOD
    }
}

/// Why the answers to the greeting do not show that the peer is the expected editor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGreeting {
    /// The peer answered nothing.
    #[error("it said nothing")]
    Silent,
    /// The peer answered with an error.
    #[error("it refused the {what}: {why}")]
    Refused {
        /// The message that the peer refused.
        what: &'static str,
        /// The peer's error text, for a log.
        why: String,
    },
    /// The peer has the package, but its bridge is not ready.
    #[error("the editor is still starting its bridge: {0}")]
    Starting(String),
    /// holdfast does not know the content of the instance file, so neither side can prove its identity.
    #[error(
        "its project's Library/Holdfast/instance.json is not known, and without it neither side can prove who it is: name the \
         project (--project)"
    )]
    NoCredentials,
    /// The peer takes requests only with another token than the one that its file names. The text says which file.
    #[error("{0}")]
    TokenRefused(Cow<'static, str>),
    /// The peer does not prove that it is the expected editor; the text says why.
    #[error("{0}")]
    Unproven(Cow<'static, str>),
    /// The peer does not answer as the package does; the text says how.
    #[error("{0}")]
    ForeignPeer(Cow<'static, str>),
}

/// Why the editor's reply does not give the outcomes that the gateway asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOutcomes {
    /// The dialect has no request for outcomes.
    #[error("this editor's protocol has no journal")]
    NotSpoken,
    /// The editor answered with an error.
    #[error("the editor refused: {0}")]
    Refused(String),
    /// The answer cannot be parsed; the text is the parser's message.
    #[error("{0}")]
    Malformed(String),
    /// The answer is about other calls, or from another journal.
    #[error("it answers for other calls than those asked for")]
    OtherCalls,
}
