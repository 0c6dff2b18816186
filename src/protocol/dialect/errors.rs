//! Why something of a dialect fails. The texts go on after whoever it is about: they are shown to people.

use std::borrow::Cow;

/// Why an order cannot be put on the wire. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The encoded message is larger than the editor accepts.
    #[error("the request has {bytes} bytes on the wire, more than the {max} that the editor accepts")]
    TooLarge {
        /// Encoded size, header included.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// The dialect has no such message.
    #[error("this editor's protocol has no such message")]
    NotSpoken,
    /// The greeting cannot go on.
    #[error("the editor cannot be greeted: {0}")]
    NoGreeting(#[from] BadGreeting),
}

/// Why a message is not one of the dialect. The connection has a wrong peer or a broken one and is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum BadMessage {
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not JSON.
    #[error("not JSON")]
    NotJson,
    /// Nested deeper than the bound.
    #[error("nested too deep")]
    TooDeep,
    /// JSON, but no message of this dialect.
    #[error("not a message of this dialect: {0}")]
    NotAMessage(&'static str),
}

/// Why what a peer answers to the greeting does not make it the editor that is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGreeting {
    /// It answered nothing.
    #[error("it said nothing")]
    Silent,
    /// It answered with an error.
    #[error("it refused the {what}: {why}")]
    Refused {
        /// What was refused.
        what: &'static str,
        /// In its words, for a log.
        why: String,
    },
    /// It is the package, and not ready.
    #[error("the editor is still starting its bridge: {0}")]
    Starting(String),
    /// Nothing is known that one of both could prove itself by.
    #[error(
        "its project's Library/Holdfast/instance.json is not known, and without it neither side can prove who it is: name the \
         project (--project)"
    )]
    NoCredentials,
    /// It does not prove to be the editor that is meant.
    #[error("{0}")]
    Unproven(Cow<'static, str>),
    /// It does not answer as the package does.
    #[error("{0}")]
    ForeignPeer(Cow<'static, str>),
}

/// Why a reply tells nothing of the sendings that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOutcomes {
    /// The dialect has no such question.
    #[error("this editor's protocol has no journal")]
    NotSpoken,
    /// The editor answered with an error.
    #[error("the editor refused: {0}")]
    Refused(String),
    /// The answer is none.
    #[error("{0}")]
    Malformed(String),
    /// It is the answer to another question.
    #[error("it answers for other calls than those asked for")]
    OtherCalls,
    /// It names a status that is not known.
    #[error("a status that is not known: {0}")]
    UnknownStatus(String),
}
