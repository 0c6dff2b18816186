//! The sums of the package's files.

use std::borrow::Cow;
use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The sums of files by their paths (written with `/`). A sum is `None` if holdfast cannot have written the file (a link, a pipe,
/// too large, unreadable); then the file counts as changed.
pub type Sums = BTreeMap<String, Option<String>>;

/// Returns the sum of a file in hexadecimal: SHA-256 of its bytes with `
/// ` as line ends, or of the line with the GUID in a `.meta` file. Version control may change line ends, and versions of Unity
/// rewrite the `.meta` files of an embedded package. Neither is a change by the user.
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
