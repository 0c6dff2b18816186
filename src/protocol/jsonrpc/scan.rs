//! Finds the id of a message that cannot be parsed because it is too long to keep, cut, or broken.

use memchr::memchr2;

use super::RequestId;
use crate::limits::REQUEST_ID_MAX_BYTES;

/// The longest key that is searched for is `method`. Each of its six letters may be an escape of six bytes.
const KEY_MAX_BYTES: usize = 6 * 6;

/// An incremental scan of one message for its top-level `id`. Strings and nesting are respected. Official SDKs write the id last,
/// after parameters of any size.
///
/// Memory is bounded by [`REQUEST_ID_MAX_BYTES`] for any input, and the result does not depend on how the bytes are split. Broken
/// JSON is tolerated as long as brackets and quotes match, because an error with an id is better than one without. If brackets do
/// not match, the scan keeps what it saw before and ignores the rest. No id is returned if there are two, or if the end of the
/// message may have cut a number.
#[derive(Debug, Clone)]
pub struct IdScanner {
    place: Place,
    /// Number of open brackets; 1 is inside the message's own object.
    depth: u64,
    /// Which of the outer 128 open brackets are square, one bit each. Deeper brackets are only counted.
    square: u128,
    /// Whether the previous byte was a backslash inside a string.
    escaped: bool,
    /// The bytes so far of a top-level key, or of the id's value.
    taken: Vec<u8>,
    /// Whether there were more bytes than the bound of `taken`.
    overflow: bool,
    key: Key,
    ids: u8,
    id: Option<RequestId>,
    method: bool,
    outcome: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Only white space so far.
    Before,
    /// In the top-level object, where a key must follow.
    KeyDue,
    KeyString,
    ColonDue,
    ValueDue,
    IdString,
    IdNumber,
    /// After a value, or inside one that is skipped.
    ValueRest,
    /// Below the top level.
    Nested,
    /// In a string that is skipped.
    SomeString,
    /// After the object.
    Done,
    /// The message is not an object, or its brackets do not match.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Id,
    Method,
    Outcome,
    Other,
}

impl Default for IdScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl IdScanner {
    /// Makes a scanner that has seen nothing.
    pub fn new() -> Self {
        Self {
            place: Place::Before,
            depth: 0,
            square: 0,
            escaped: false,
            taken: Vec::new(),
            overflow: false,
            key: Key::Other,
            ids: 0,
            id: None,
            method: false,
            outcome: false,
        }
    }

    /// Takes the next bytes of the message, however they are split.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            match self.place {
                Place::Done | Place::Lost => return,
                Place::SomeString if !self.escaped => {
                    let Some(at) = memchr2(b'"', b'\\', rest) else { return };
                    let (_, found) = rest.split_at(at);
                    let Some((&byte, tail)) = found.split_first() else { return };
                    self.step(byte);
                    rest = tail;
                }
                _ => {
                    self.step(byte);
                    rest = tail;
                }
            }
        }
    }

    /// Returns the id if exactly one `id` with a complete and valid value was found at the top level; otherwise `None`.
    pub fn finish(&self) -> Option<RequestId> {
        if self.ids == 1 { self.id.clone() } else { None }
    }

    /// Whether there was a top-level `method`: the message is a request or a notification.
    pub fn saw_method(&self) -> bool {
        self.method
    }

    /// Whether there was a top-level `result` or `error` and no `method`: the message is a response.
    pub fn is_response(&self) -> bool {
        self.outcome && !self.method
    }

    /// Whether a message that was not kept must be answered, with its id or with null. False for a response, a complete
    /// notification, and a blank line.
    pub fn owes_answer(&self) -> bool {
        let notification = self.method && self.ids == 0 && self.place == Place::Done;
        !(self.is_response() || notification || self.place == Place::Before)
    }

    fn step(&mut self, byte: u8) {
        match self.place {
            Place::Before => match byte {
                // The three bytes of a BOM are accepted in any order, because they cannot occur otherwise before an object.
                b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => {}
                b'{' => self.open(byte),
                _ => self.place = Place::Lost,
            },
            Place::KeyDue => match byte {
                b'"' => self.take_from(Place::KeyString),
                b':' => {
                    self.key = Key::Other;
                    self.place = Place::ValueDue;
                }
                _ => self.step_between(byte),
            },
            Place::ColonDue => match byte {
                b':' => {
                    match self.key {
                        Key::Id => self.ids = self.ids.saturating_add(1),
                        Key::Method => self.method = true,
                        Key::Outcome => self.outcome = true,
                        Key::Other => {}
                    }
                    self.place = Place::ValueDue;
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => {
                    self.key = Key::Other;
                    self.step_between(byte);
                }
            },
            Place::ValueDue => match byte {
                b'"' if self.key == Key::Id => {
                    self.take_from(Place::IdString);
                    self.take(byte, REQUEST_ID_MAX_BYTES);
                }
                b'-' | b'0'..=b'9' if self.key == Key::Id => {
                    self.take_from(Place::IdNumber);
                    self.take(byte, REQUEST_ID_MAX_BYTES);
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'"' | b',' | b'{' | b'[' | b'}' | b']' => self.step_between(byte),
                _ => self.place = Place::ValueRest,
            },
            Place::ValueRest | Place::Nested => self.step_between(byte),
            Place::SomeString => {
                if self.string_ends(byte) {
                    self.leave_value();
                }
            }
            Place::KeyString => {
                if self.string_ends(byte) {
                    self.key = self.read_key();
                    self.place = Place::ColonDue;
                } else {
                    self.take(byte, KEY_MAX_BYTES);
                }
            }
            Place::IdString => {
                self.take(byte, REQUEST_ID_MAX_BYTES);
                if self.string_ends(byte) {
                    self.read_id();
                    self.place = Place::ValueRest;
                }
            }
            Place::IdNumber => match byte {
                b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' => self.take(byte, REQUEST_ID_MAX_BYTES),
                _ => {
                    if matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\r' | b'\n') {
                        self.read_id();
                    }
                    self.place = Place::ValueRest;
                    self.step_between(byte);
                }
            },
            Place::Done | Place::Lost => {}
        }
    }

    /// Handles a byte outside the strings that are read.
    fn step_between(&mut self, byte: u8) {
        match byte {
            b'"' => self.place = Place::SomeString,
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(byte),
            b',' if self.depth == 1 => self.place = Place::KeyDue,
            _ => {}
        }
    }

    fn open(&mut self, byte: u8) {
        if let Some(bit) = bit(self.depth) {
            if byte == b'[' {
                self.square |= bit;
            } else {
                self.square &= !bit;
            }
        }
        self.depth += 1;
        self.place = if self.depth == 1 { Place::KeyDue } else { Place::Nested };
    }

    fn close(&mut self, byte: u8) {
        self.depth = self.depth.saturating_sub(1);
        let pairs = bit(self.depth).is_none_or(|bit| (self.square & bit != 0) == (byte == b']'));
        if !pairs {
            self.place = Place::Lost;
        } else if self.depth == 0 {
            self.place = Place::Done;
        } else {
            self.leave_value();
        }
    }

    fn leave_value(&mut self) {
        self.place = if self.depth == 1 { Place::ValueRest } else { Place::Nested };
    }

    /// Whether this byte of a string is its closing quote.
    fn string_ends(&mut self, byte: u8) -> bool {
        if self.escaped {
            self.escaped = false;
            return false;
        }
        self.escaped = byte == b'\\';
        byte == b'"'
    }

    fn take_from(&mut self, place: Place) {
        self.taken.clear();
        self.overflow = false;
        self.place = place;
    }

    fn take(&mut self, byte: u8, max: usize) {
        if self.taken.len() < max {
            self.taken.push(byte);
        } else {
            self.overflow = true;
        }
    }

    fn read_key(&self) -> Key {
        if self.overflow {
            return Key::Other;
        }
        let plain = |name: &[u8]| match name {
            b"id" => Key::Id,
            b"method" => Key::Method,
            b"result" | b"error" => Key::Outcome,
            _ => Key::Other,
        };
        if !self.taken.contains(&b'\\') {
            return plain(&self.taken);
        }
        let quoted = [b"\"", self.taken.as_slice(), b"\""].concat();
        serde_json::from_slice::<String>(&quoted).map_or(Key::Other, |name| plain(name.as_bytes()))
    }

    fn read_id(&mut self) {
        if !self.overflow {
            self.id = str::from_utf8(&self.taken).ok().and_then(RequestId::from_json);
        }
    }
}

/// Returns the bit for the bracket at this depth; `None` for a depth whose brackets are only counted.
fn bit(depth: u64) -> Option<u128> {
    u32::try_from(depth).ok().and_then(|depth| 1u128.checked_shl(depth))
}
