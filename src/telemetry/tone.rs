//! What a state means for a person who waits. The flight recorder stores this tone, and everything that draws the
//! record reads it.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// The meaning of a state, ordered from harmless to worst.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Not in use.
    #[default]
    Plain,
    /// Working.
    Good,
    /// A wait for the editor, a connection, or the tool list.
    Waiting,
    /// The outcome cannot be known.
    Unsure,
    /// A fault outside of holdfast.
    Trouble,
    /// A broken promise.
    Broken,
}

impl Tone {
    /// Returns the letter of this tone in a sparkline.
    pub fn letter(self) -> char {
        match self {
            Self::Plain => '-',
            Self::Good => 'G',
            Self::Waiting => 'W',
            Self::Unsure => 'U',
            Self::Trouble => 'T',
            Self::Broken => 'B',
        }
    }

    /// Returns the tone of a letter; `None` if no tone has this letter.
    pub fn of_letter(letter: char) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|tone| tone.letter() == letter)
    }
}
