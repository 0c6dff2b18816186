//! The union of several editors' catalogues, for a session that may use them all.
//!
//! A tool that several editors have with the same schema is listed once, and a call of it names its editor
//! ([`editor_argument`](super::editor_argument)). A name that means different tools is listed once for each editor, with the
//! editor's name in it; such a name says which editor is meant. The union depends only on the editors' names and catalogues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::editor_argument::{EDITOR_META, alternatives, with_editor};
use super::names;
use super::tools::{Catalogue, Entry, Origin};
use crate::limits::DESCRIPTION_MAX_BYTES;
use crate::protocol::dialect::{Annotations, EditorTool, Turn};
use crate::protocol::text::cut_with_ellipsis;

/// One editor of a union.
#[derive(Debug, Clone)]
pub struct Member {
    /// The editor's name, which no other member has.
    pub name: String,
    /// The editor's tools.
    pub catalogue: Arc<Catalogue>,
}

/// Tools with the same name that are the same in some editors.
struct Variant<'a> {
    tool: &'a Arc<EditorTool>,
    /// The positions of the editors that have the tool.
    owners: Vec<usize>,
    annotations: Annotations,
    turn: Turn,
}

/// Makes the union of these editors' tools. The tools are in the order of the members, and of each member's list.
pub fn union(members: &[Member]) -> Catalogue {
    let mut order: Vec<&str> = Vec::new();
    let mut by_name: HashMap<&str, Vec<Variant<'_>>> = HashMap::new();
    for (owner, member) in members.iter().enumerate() {
        for entry in member.catalogue.entries() {
            let variants = by_name.entry(&entry.name).or_insert_with(|| {
                order.push(&entry.name);
                Vec::new()
            });
            let same = |known: &&mut Variant<'_>| {
                known.tool.name == entry.tool.name && known.tool.input_schema == entry.tool.input_schema
            };
            match variants.iter_mut().find(same) {
                Some(known) => {
                    known.owners.push(owner);
                    known.annotations = cautious(&known.annotations, &entry.tool.annotations);
                    known.turn = known.turn.min(entry.turn);
                }
                None => {
                    let annotations = entry.tool.annotations.clone();
                    let (tool, turn) = (&entry.tool, entry.turn);
                    variants.push(Variant { tool, owners: vec![owner], annotations, turn });
                }
            }
        }
    }
    let is_one = |name: &&str| by_name.get(*name).is_some_and(|variants| variants.len() == 1);
    let mut taken: HashSet<String> = order.iter().filter(|name| is_one(name)).map(|name| String::from(*name)).collect();
    let suffixed = suffixed_names(members, &by_name, &mut taken);
    let name_of = |owner: usize| members.get(owner).map(|member| member.name.clone()).unwrap_or_default();
    let mut entries = Vec::new();
    for name in order {
        let variants = by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        if let [only] = variants {
            let editors: Vec<String> = only.owners.iter().map(|owner| name_of(*owner)).collect();
            let origin = Origin { name: name.to_owned(), editors, is_bound: false };
            entries.push(Entry {
                name: name.to_owned(),
                tool: chosen_by_call(only, &origin.editors),
                // The editor's own list knows these names, and a call is looked up there.
                own: None,
                origin: Some(origin),
                turn: only.turn,
            });
            continue;
        }
        let mut bound: Vec<(usize, &Variant<'_>)> =
            variants.iter().flat_map(|variant| variant.owners.iter().map(move |owner| (*owner, variant))).collect();
        bound.sort_by_key(|(owner, _)| *owner);
        for (owner, variant) in bound {
            let Some(listed) = suffixed.get(&(name, owner)) else { continue };
            let editor = name_of(owner);
            let tool = with_note(variant.tool, &format!(" Runs in the Unity Editor `{editor}`."));
            let origin = Origin { name: name.to_owned(), editors: vec![editor], is_bound: true };
            let (name, turn) = (listed.clone(), variant.turn);
            entries.push(Entry { name, tool: Arc::new(tool), own: None, origin: Some(origin), turn });
        }
    }
    Catalogue::of_union(entries, members.iter().map(|member| member.name.clone()).collect())
}

/// Returns the listed name of each tool whose name means different tools. The names are assigned in their own order,
/// because an editor's list may be in any order.
fn suffixed_names<'a>(
    members: &[Member],
    by_name: &HashMap<&'a str, Vec<Variant<'_>>>,
    taken: &mut HashSet<String>,
) -> BTreeMap<(&'a str, usize), String> {
    let several = by_name.iter().filter(|(_, variants)| variants.len() > 1);
    let mut wanted: Vec<(&'a str, usize)> = several
        .flat_map(|(name, variants)| variants.iter().flat_map(|variant| &variant.owners).map(|owner| (*name, *owner)))
        .collect();
    wanted.sort_unstable();
    let assigned = wanted.into_iter().map(|(name, owner)| {
        let editor = members.get(owner).map_or("", |member| member.name.as_str());
        ((name, owner), names::of_editor(name, editor, taken))
    });
    assigned.collect()
}

/// Returns the listed form of a tool whose calls must name their editor.
fn chosen_by_call(variant: &Variant<'_>, editors: &[String]) -> Arc<EditorTool> {
    let tool = match with_editor(&variant.tool.input_schema, editors) {
        Some(input_schema) => EditorTool { input_schema, ..EditorTool::clone(variant.tool) },
        None => with_note(
            variant.tool,
            &format!(" The call names its Unity Editor in `_meta` as `{EDITOR_META}`: {}.", alternatives(editors)),
        ),
    };
    Arc::new(EditorTool { annotations: variant.annotations.clone(), ..tool })
}

/// Returns the tool with a note at the end of its description. A long description is cut to make room.
fn with_note(tool: &EditorTool, note: &str) -> EditorTool {
    let note = cut_with_ellipsis(note, DESCRIPTION_MAX_BYTES / 2);
    let description = cut_with_ellipsis(&tool.description, DESCRIPTION_MAX_BYTES - note.len());
    EditorTool { description: format!("{description}{note}"), ..tool.clone() }
}

/// What is true of a tool in every editor: it is harmless only if it is harmless in all of them.
fn cautious(a: &Annotations, b: &Annotations) -> Annotations {
    Annotations {
        title: a.title.clone(),
        read_only_hint: a.read_only_hint && b.read_only_hint,
        destructive_hint: a.destructive_hint || b.destructive_hint,
        idempotent_hint: a.idempotent_hint && b.idempotent_hint,
        open_world_hint: a.open_world_hint || b.open_world_hint,
    }
}
