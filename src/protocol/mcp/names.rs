//! The names under which an editor's tools are listed.
//!
//! Clients put a prefix before a name, and models accept only some characters, so a name must match `[A-Za-z0-9_-]{1,48}`. The
//! rule depends on the set of names and not on their order:
//!
//! 1. Every other character becomes `_`.
//! 2. A name that then equals that of a gateway tool gets the suffix `_unity`.
//! 3. A name that is too long keeps its first 39 characters and gets `_` and 8 hexadecimal digits: the 32-bit FNV-1a hash of
//!    the editor's own name.
//! 4. A name that needs none of this is never changed. A changed name that equals another one is marked as in 3.

use std::collections::{HashMap, HashSet};

use crate::limits::TOOL_NAME_MAX_BYTES;

use super::gateway_tool_schemas::GatewayTool;
use crate::protocol::text::cut;

/// Returns the listed name of each of these names, in the same order. The input names must be distinct; then the listed names are
/// distinct too.
pub(super) fn assign(originals: &[&str]) -> Vec<String> {
    let wishes: Vec<String> = originals.iter().map(|original| wish(original)).collect();
    let mut claims: HashMap<&str, usize> = HashMap::new();
    for wish in &wishes {
        *claims.entry(wish).or_default() += 1;
    }
    let granted = |original: &str, wish: &str| original == wish || claims.get(wish) == Some(&1);
    let mut taken: HashSet<String> = GatewayTool::ALL.iter().map(|tool| tool.name().to_owned()).collect();
    let pairs = || originals.iter().copied().zip(&wishes);
    taken.extend(pairs().filter(|(original, wish)| granted(original, wish)).map(|(_, wish)| wish.clone()));
    pairs()
        .map(|(original, wish)| {
            if granted(original, wish) {
                return wish.clone();
            }
            // More than one round is needed only if two 32-bit hashes are equal.
            let mut round = 0;
            let mut name = marked(wish, original, round);
            while !taken.insert(name.clone()) {
                round += 1;
                name = marked(wish, original, round);
            }
            name
        })
        .collect()
}

fn wish(original: &str) -> String {
    let fitted: String =
        original.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
    if GatewayTool::from_name(&fitted).is_some() {
        format!("{fitted}_unity")
    } else if fitted.len() > TOOL_NAME_MAX_BYTES {
        marked(&fitted, original, 0)
    } else {
        fitted
    }
}

fn marked(fitted: &str, original: &str, round: u32) -> String {
    let hash = fnv1a(original.bytes().chain(round.to_le_bytes().into_iter().filter(|_| round > 0)));
    let mark = format!("_{hash:08x}");
    format!("{}{mark}", cut(fitted, TOOL_NAME_MAX_BYTES - mark.len()))
}

/// FNV-1a with 32 bits: small, and the same on every machine and in every version.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a("".bytes()), 0x811c_9dc5);
        assert_eq!(fnv1a("a".bytes()), 0xe40c_292c);
        assert_eq!(fnv1a("foobar".bytes()), 0xbf9c_f968);
    }
}
