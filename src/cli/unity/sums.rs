//! The sums of files of the package.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The sums of files by their paths, with `/`. `None`: what lies there is no file that we would have written (a link, a pipe,
/// too large, unreadable), so it equals nothing.
pub type Sums = BTreeMap<String, Option<String>>;

/// The sum of a file: SHA-256 of what it means, in hexadecimal. Version control may turn line ends, and Unity writes the
/// `.meta` files of an embedded package anew as its versions like; nobody's work is in either.
pub fn sum(path: &str, bytes: &[u8]) -> String {
    let digest = Sha256::digest(meaning(path, bytes));
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn meaning<'a>(path: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if path.ends_with(".meta") {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        if let Some(guid) = lines.into_iter().find(|line| line.starts_with(b"guid:")) {
            return Cow::Borrowed(guid);
        }
    }
    if !bytes.contains(&b'\r') {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if !(*byte == b'\r' && bytes.get(index + 1) == Some(&b'\n')) {
            plain.push(*byte);
        }
    }
    Cow::Owned(plain)
}
