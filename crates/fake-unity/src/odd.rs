//! Answers that are not the JSON they should be, as tools of real projects produce them: nested too deep, or not JSON at all.

use std::str::FromStr;

use crate::json::Object;
use crate::limits::ODD_LEVELS_MAX;

/// A character that stands for the byte 0xFF, which is never part of UTF-8, until a message becomes bytes ([`bytes()`]).
const BAD_BYTE: char = '\u{fdd0}';

/// The form of an odd answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// A value of this many levels.
    Deep(usize),
    /// A bare NaN, which some serializers write for a float.
    Nan,
    /// A control character inside a text.
    Control,
    /// A number that no float can hold; it is valid JSON.
    Number,
    /// Half a surrogate pair, escaped; it is valid JSON.
    Surrogate,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A quote inside a text that is not escaped, and a bracket that nothing closes.
    Torn,
}

/// The names of all forms but [`Odd::Deep`], which is named by its number of levels.
const NAMES: [(&str, Odd); 6] = [
    ("nan", Odd::Nan),
    ("control", Odd::Control),
    ("number", Odd::Number),
    ("surrogate", Odd::Surrogate),
    ("utf8", Odd::NotUtf8),
    ("torn", Odd::Torn),
];

impl FromStr for Odd {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name.parse() {
            Ok(levels) if levels <= ODD_LEVELS_MAX => Ok(Self::Deep(levels)),
            Ok(_) => Err(()),
            Err(_) => NAMES.iter().find(|(known, _)| *known == name).map(|(_, odd)| *odd).ok_or(()),
        }
    }
}

impl Odd {
    /// Makes a result with an odd value. It says that the tool succeeded.
    pub(crate) fn result(self) -> Object {
        let value = match self {
            Self::Deep(levels) => format!("{}{}", "[".repeat(levels), "]".repeat(levels)),
            Self::Nan => "NaN".to_owned(),
            Self::Control => "\"a\u{1}b\"".to_owned(),
            Self::Number => "1e400".to_owned(),
            Self::Surrogate => r#""half \ud83d""#.to_owned(),
            Self::NotUtf8 => format!("\"a{BAD_BYTE}b\""),
            Self::Torn => r#""he said "so" [and"#.to_owned(),
        };
        Object::new().flag("Success", true).raw("Odd", &value)
    }
}

/// Returns the bytes of a message on the wire.
pub(crate) fn bytes(message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len());
    for (index, part) in message.split(BAD_BYTE).enumerate() {
        if index > 0 {
            out.push(0xff);
        }
        out.extend_from_slice(part.as_bytes());
    }
    out
}
