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
//!
//! In a union of several editors' tools, a name that means different tools gets `_` and the editor's name as well.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::limits::{EDITOR_SUFFIX_MAX_BYTES, TOOL_NAME_MAX_BYTES};

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

/// Returns the listed name of one editor's tool in a union, and adds it to the names that are `taken`. If the name is
/// too long, or taken, its two parts are cut and a hash of both is added.
pub(super) fn of_editor(name: &str, editor: &str, taken: &mut HashSet<String>) -> String {
    let (whole, editor) = (format!("{name}\0{editor}"), fitted(editor));
    let mut listed = format!("{name}_{editor}");
    let mut round = 0;
    while listed.len() > TOOL_NAME_MAX_BYTES
        || GatewayTool::from_name(&listed).is_some()
        || !taken.insert(listed.clone())
    {
        let short = cut(&editor, EDITOR_SUFFIX_MAX_BYTES);
        let room = TOOL_NAME_MAX_BYTES - "_".len() - short.len() - HASH_BYTES;
        listed = marked(&format!("{}_{short}", cut(name, room)), &whole, round);
        round += 1;
    }
    listed
}

/// Returns the names under which a union of several editors' tools may list this tool of this project's editor. The
/// other editors decide which name it is: their names decide how many folders are in this editor's name.
pub fn names_in_unions(name: &str, project: &Path) -> Vec<String> {
    let folders: Vec<String> = project.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for from in 0..folders.len() {
        let editor = folders.get(from..).unwrap_or_default().join("/");
        // The second name is for the case that another tool has the first name already.
        names.extend([of_editor(name, &editor, &mut taken), of_editor(name, &editor, &mut taken)]);
    }
    names
}

/// Returns the name with each forbidden character replaced.
fn fitted(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// The bytes that [`marked`] adds at the end.
const HASH_BYTES: usize = "_01234567".len();

fn wish(original: &str) -> String {
    let fitted = fitted(original);
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
    fn a_name_with_its_editor_fits_and_stays_unique() {
        let mut taken = HashSet::from([String::from("look_Castle"), String::from("x")]);
        let names = [
            ("look", "Forest"),
            ("look", "Castle"),
            ("look", "a/Castle"),
            ("look", "a.Castle"),
            (&"long".repeat(12), "Castle"),
            (&"long".repeat(12), "Castles of the Northern Kingdom"),
            (&"long".repeat(12), "Castles of the Northern Empire"),
            ("holdfast", "status"),
            ("look", ""),
            ("look", "Škoda"),
        ];
        let listed = names.map(|(name, editor)| of_editor(name, editor, &mut taken));
        assert_eq!(listed[0], "look_Forest");
        assert_eq!(listed[2], "look_a_Castle");
        assert!(listed[1].starts_with("look_Castle_") && listed[3].starts_with("look_a_Castle_"), "{listed:?}");
        assert!(listed[5].contains("_Castles_of_the_N_"), "{listed:?}");
        let is_fit = |name: &String| (1..=TOOL_NAME_MAX_BYTES).contains(&name.len()) && fitted(name) == *name;
        assert!(listed.iter().all(|name| is_fit(name) && GatewayTool::from_name(name).is_none()), "{listed:?}");
        assert_eq!(taken.len(), 2 + names.len(), "each is another: {listed:?}");
        let mut again = HashSet::from([String::from("look_Castle"), String::from("x")]);
        assert_eq!(names.map(|(name, editor)| of_editor(name, editor, &mut again)), listed);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a("".bytes()), 0x811c_9dc5);
        assert_eq!(fnv1a("a".bytes()), 0xe40c_292c);
        assert_eq!(fnv1a("foobar".bytes()), 0xbf9c_f968);
    }
}
