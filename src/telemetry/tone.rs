//! What a state means for a person who waits. The recorder writes it, and everything that draws the record reads it.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// What a state means; the worse, the greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Nothing is wanted of it.
    #[default]
    Plain,
    /// It works.
    Good,
    /// Somebody waits.
    Waiting,
    /// Nobody can know.
    Unsure,
    /// Trouble from outside.
    Trouble,
    /// A broken promise.
    Broken,
}

impl Tone {
    /// A letter for it, for strips of many.
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

    /// The one with this letter.
    pub fn of_letter(letter: char) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|tone| tone.letter() == letter)
    }
}
