//! Finds the parts of a message that no JSON parser reads: it is nested too deep, is not UTF-8, or is broken somewhere.
//!
//! Nothing here is recursive, and nothing is kept but positions. Strings and brackets are respected, so that a broken
//! value costs only itself. If a value breaks the brackets or the quotes around it, the parts after it are not found,
//! and [`Parts::is_whole`] says so.

use super::text::string_end;

/// The longest name of a member that is compared, in bytes: six letters for each escaped one.
const NAME_MAX_BYTES: usize = 6 * 32;

/// The members of an object, or the items of an array, one after another.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    text: &'a [u8],
    at: usize,
    close: u8,
    is_whole: Option<bool>,
}

/// The parts of an object; `None` if the text does not begin with one.
pub fn members(text: &[u8]) -> Option<Members<'_>> {
    Parts::begin(text, b'{', b'}').map(Members)
}

/// The items of an array; `None` if the text does not begin with one.
pub fn items(text: &[u8]) -> Option<Parts<'_>> {
    Parts::begin(text, b'[', b']')
}

impl<'a> Parts<'a> {
    fn begin(text: &'a [u8], open: u8, close: u8) -> Option<Self> {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).trim_ascii();
        (text.first() == Some(&open)).then_some(Self { text, at: 1, close, is_whole: None })
    }

    /// Whether the closing bracket was found where the text ends. False before the last part was taken.
    pub fn is_whole(&self) -> bool {
        self.is_whole == Some(true)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.is_whole.is_some() {
            return None;
        }
        let end = separator(self.text, self.at, None);
        let part = self.text.get(self.at..end).unwrap_or_default().trim_ascii();
        self.at = end + 1;
        if self.text.get(end) != Some(&b',') {
            self.is_whole = Some(self.text.get(end) == Some(&self.close) && self.at == self.text.len());
            return Some(part).filter(|part| !part.is_empty());
        }
        Some(part)
    }
}

/// The members of an object, each as its name without quotes, as it is written, and its value.
#[derive(Debug, Clone)]
pub struct Members<'a>(Parts<'a>);

impl<'a> Members<'a> {
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let part = self.0.next()?;
        let colon = separator(part, 0, Some(b':'));
        let name = part.get(..colon).unwrap_or_default().trim_ascii();
        let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or_default();
        Some((name, part.get(colon + 1..).unwrap_or_default().trim_ascii()))
    }
}

/// What was found of the members with certain names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a, const N: usize> {
    /// The values in the order of the names; `None` if there is no such member, or more than one.
    pub values: [Option<&'a [u8]>; N],
    /// Whether the object ends where the text ends, and none of the names occurs twice.
    pub is_whole: bool,
}

/// Finds the members with these names; `None` if the text is not an object.
pub fn find<'a, const N: usize>(text: &'a [u8], names: [&str; N]) -> Option<Found<'a, N>> {
    let mut members = members(text)?;
    let mut counts = [0_u8; N];
    let mut values = [None; N];
    for (written, value) in &mut members {
        let found = names.iter().position(|name| is_named(written, name));
        if let Some((count, slot)) = found.and_then(|index| Some((counts.get_mut(index)?, values.get_mut(index)?))) {
            *count = count.saturating_add(1);
            *slot = (*count == 1).then_some(value);
        }
    }
    Some(Found { values, is_whole: members.is_whole() && counts.iter().all(|count| *count <= 1) })
}

/// Whether the name of a member, as it is written, is this one.
pub fn is_named(written: &[u8], name: &str) -> bool {
    if written == name.as_bytes() {
        return true;
    }
    if !written.contains(&b'\\') || written.len() > NAME_MAX_BYTES {
        return false;
    }
    let quoted = [b"\"", written, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok_and(|plain| plain == name)
}

/// Returns the index of the next comma, closing bracket or `extra` byte outside of strings and inner brackets; or the length of
/// the text.
fn separator(text: &[u8], mut at: usize, extra: Option<u8>) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at + 1);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            byte if depth == 0 && extra == Some(*byte) => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &[u8]) -> ([Option<&[u8]>; 2], bool) {
        let found = find(text, ["id", "result"]).unwrap();
        (found.values, found.is_whole)
    }

    #[test]
    fn the_parts_around_a_broken_value_are_found() {
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        let bad: [&[u8]; 8] =
            [b"NaN", b"-Infinity", b"1e400", b"\"a\x01b\"", b"\"\xff\xed\xa0\x80\"", b"{\"a\":.5,}", b"0,5", &deep];
        for value in bad {
            let text = [b"{\"result\":".as_slice(), value, b", \"id\" : \"x\" }"].concat();
            let ([id, result], is_whole) = found(&text);
            assert_eq!((id, is_whole), (Some(b"\"x\"".as_slice()), true), "{}", String::from_utf8_lossy(value));
            assert!(result == Some(value) || value == b"0,5");
        }
        let escaped: &[u8] = br#"{"\u0069d":7,"i":8,"result":"}],\"id\":9"}"#;
        assert_eq!(found(escaped), ([Some(b"7".as_slice()), Some(br#""}],\"id\":9""#.as_slice())], true));
    }

    #[test]
    fn what_is_torn_or_said_twice_is_not_whole() {
        assert_eq!(found(br#"{"id":1,"id":2}"#), ([None, None], false));
        assert_eq!(found(br#"{"id":1} and more"#), ([Some(b"1".as_slice()), None], false));
        assert_eq!(found(br#"{"id":1,"result":{"a":["#).0[0], Some(b"1".as_slice()));
        for torn in [&br#"{"id":1"#[..], br#"{"id":1]"#, br#"{"result":"he said "so [","id":1}"#, b"{"] {
            assert!(!found(torn).1, "{}", String::from_utf8_lossy(torn));
        }
        assert_eq!((find(b"[]", ["id"]), find(b"", ["id"]), find(b"nope", ["id"])), (None, None, None));
    }

    #[test]
    fn the_items_of_a_list_are_apart() {
        let list = |text: &'static [u8]| items(text).unwrap().collect::<Vec<_>>();
        assert_eq!(list(b" [ {\"a\":[1,2]} , NaN,\"],\" ] "), [b"{\"a\":[1,2]}".as_slice(), b"NaN", b"\"],\""]);
        assert_eq!((list(b"[]"), list(b"[1")), (vec![], vec![b"1".as_slice()]));
        assert!(items(b"{}").is_none());
    }
}
