//! Which tools a client lists, and how the others are found. Each listed tool costs the client's model context, and models choose
//! worse among many. A tool that is not listed can be called like any other.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::clients::ClientProfile;
use super::editor_argument::with_editor;
use super::gateway_tool_schemas::{Definition, GatewayTool};
use super::tools::{Catalogue, Entry, schema_for};
use crate::limits::{
    DESCRIPTION_MAX_BYTES, TOOLS_LISTED_MAX, TOOLS_SHOWN_MAX, TOOLS_SHOWN_MAX_BYTES, TOOLS_WORDS_MAX_BYTES,
};
use crate::protocol::dialect::{EditorTool, Turn};
use crate::protocol::policy::Toolset;
use crate::protocol::text::{cut_with_ellipsis, first_sentence};

/// What decides which tools of a catalogue a client lists.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// How many tools of all its servers together the client shows to its model, if known.
    pub tools_max: Option<usize>,
    /// What the user wants to be listed.
    pub toolsets: &'a [Toolset],
    /// The names of the tools that were found, the newest first.
    pub found: &'a [String],
}

impl Catalogue {
    /// Returns what a client lists of this catalogue: all of it, if that is at most [`TOOLS_LISTED_MAX`] tools with the gateway's own.
    /// Otherwise the toolsets that the user chose come first, then what the package's facts name, then the editor's order. Of
    /// several editors each gets its turn, so that a long list of one does not push out another's. What was found is listed besides;
    /// what the package's facts set apart is listed in no other way, unless the user chose it.
    pub fn listed(self: &Arc<Self>, terms: &Terms<'_>) -> Arc<Self> {
        let entries = self.entries();
        let is_chosen = |entry: &Entry| {
            !terms.toolsets.is_empty() && {
                let facts = entry.facts();
                terms.toolsets.iter().any(|toolset| toolset.has(&facts))
            }
        };
        let mut turns: HashMap<(u8, &str), usize> = HashMap::new();
        let ranked = entries.iter().enumerate().map(|(at, entry)| {
            let owner = entry.origin.as_ref().and_then(|origin| origin.editors.first()).map_or("", String::as_str);
            let rank = if is_chosen(entry) { 0 } else { 1 + entry.turn as u8 };
            let turn = turns.entry((rank, owner)).or_default();
            *turn += 1;
            (rank, *turn, at)
        });
        let mut ranked: Vec<(u8, usize, usize)> = ranked.collect();
        ranked.sort_unstable();
        let chosen = ranked.iter().take_while(|(rank, ..)| *rank == 0).count();
        let own = GatewayTool::ALL.len();
        let most = terms.tools_max.unwrap_or(usize::MAX);
        let apart = ranked.iter().filter(|(rank, ..)| *rank == 1 + Turn::Apart as u8).count();
        // Without a rest, the tool that finds it is not listed.
        if apart == 0 && entries.len() + own - 1 <= TOOLS_LISTED_MAX.max(chosen + own - 1).min(most) {
            return Arc::clone(self);
        }
        let at_first: HashSet<usize> = ranked
            .iter()
            .take(ranked.len() - apart)
            .map(|(.., at)| *at)
            .take((TOOLS_LISTED_MAX - own).max(chosen))
            .collect();
        let found = terms.found.iter().filter_map(|name| entries.iter().position(|entry| entry.name == *name));
        let besides: Vec<usize> = found.filter(|at| !at_first.contains(at)).collect();
        // A client's limit leaves out the last of those that are listed at first, not what its model has just found.
        let ranked = ranked.iter().map(|(.., at)| *at).take(at_first.len());
        let shown: HashSet<usize> = besides.into_iter().chain(ranked).take(most.saturating_sub(own)).collect();
        let rest = entries.iter().enumerate().filter(|(at, _)| !shown.contains(at));
        let rest = rest.map(|(_, entry)| entry.name.clone()).collect();
        Arc::new(self.part(|at, _| shown.contains(&at), rest))
    }

    /// The `result` of `tools/list`: JSON on one line. It depends only on the catalogue and the client profile. If this is a union,
    /// the gateway tools that speak of one editor take its name too.
    pub fn list_result(&self, profile: &ClientProfile) -> String {
        let own = self.own().map(|tool| {
            let Definition { description, input_schema, .. } = tool.definition();
            let named = Some(&input_schema).filter(|_| tool.takes_editor() && !self.editors().is_empty());
            let input_schema = named.and_then(|schema| with_editor(schema, self.editors())).unwrap_or(input_schema);
            let description = match tool {
                GatewayTool::Tools => {
                    let (count, names) = (self.rest().len(), self.rest().join(", "));
                    let says = format!("{description} {count} tools are not listed: {names}");
                    Cow::Owned(cut_with_ellipsis(&says, DESCRIPTION_MAX_BYTES))
                }
                _ => description,
            };
            Definition { description, input_schema, ..tool.definition() }
        });
        self.result_of(&own.collect::<Vec<_>>(), profile)
    }

    /// Returns the tools that these words fit, the best first. A word counts most in a tool's name, least in its description.
    pub fn search(&self, words: &str) -> Vec<&Entry> {
        let asked = cut_with_ellipsis(words.trim(), TOOLS_WORDS_MAX_BYTES).to_lowercase();
        let words: Vec<&str> = asked.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
        let score = |entry: &Entry| -> usize {
            let EditorTool { description, group, .. } = &*entry.tool;
            let names = entry.names().join(" ").to_lowercase();
            let (description, group) =
                (description.to_lowercase(), group.as_deref().unwrap_or_default().to_lowercase());
            let part_of = |word: &str| names.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
            let of_word = |word: &&str| {
                // Models ask for "materials" as often as for "material".
                let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
                match () {
                    () if part_of(word) || part_of(stem) => 8,
                    () if names.contains(stem) => 6,
                    () if group.contains(stem) => 3,
                    () if description.contains(stem) => 2,
                    () => 0,
                }
            };
            // Words of one letter are none, so a name of such words is found as a whole only.
            let whole = if entry.names().iter().any(|name| name.to_lowercase() == asked) { 100 } else { 0 };
            whole + words.iter().map(of_word).sum::<usize>()
        };
        let mut fits: Vec<(usize, &Entry)> = self.entries().iter().map(|entry| (score(entry), entry)).collect();
        fits.retain(|(score, _)| *score > 0);
        // Stable: of equals, the editor's order counts.
        fits.sort_by_key(|(score, _)| Reverse(*score));
        fits.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// What `holdfast_tools` tells of the tools that it found.
#[derive(Debug, Serialize)]
pub struct Found<'a> {
    /// The tools that fit best, at most [`TOOLS_SHOWN_MAX`].
    pub tools: Vec<FoundTool<'a>>,
    /// How many more fit.
    pub more: usize,
    /// How the model goes on.
    pub next: &'static str,
}

/// A tool that was found.
#[derive(Debug, Serialize)]
pub struct FoundTool<'a> {
    /// The name under which it is called.
    pub name: &'a str,
    /// The first sentence of its description.
    pub does: String,
    /// The group that the editor's package puts it in, if it has groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    /// The schema of its arguments; `None` if the answer had no room for it.
    pub input_schema: Option<Cow<'a, RawValue>>,
}

impl<'a> Found<'a> {
    /// Makes it of these tools, the best first.
    pub fn of(all: &[&'a Entry], profile: &ClientProfile) -> Self {
        let mut room = TOOLS_SHOWN_MAX_BYTES;
        let tools = all.iter().take(TOOLS_SHOWN_MAX).map(|entry| {
            let schema = schema_for(&entry.tool.input_schema, profile);
            let bytes = schema.get().len();
            let input_schema = (bytes <= room).then_some(schema);
            room -= if input_schema.is_some() { bytes } else { 0 };
            FoundTool {
                name: &entry.name,
                does: first_sentence(&entry.tool.description),
                group: entry.tool.group.as_deref(),
                input_schema,
            }
        });
        let tools: Vec<_> = tools.collect();
        let next = match tools.iter().all(|tool| tool.input_schema.is_some()) {
            _ if tools.is_empty() => "No tool has these words in its name or description. Use other words.",
            true => CALL,
            false => CALL_WITHOUT_SCHEMA,
        };
        Self { more: all.len() - tools.len(), tools, next }
    }
}

const CALL: &str = "Call a tool by its name, with arguments that fit its input_schema. If you cannot call a name that tools/list does not \
                    have, call holdfast_tools with `call` (the name) and `arguments`.";
const CALL_WITHOUT_SCHEMA: &str = "A schema that is null had no room here: look for that tool alone by its name, or list the tools again. \
                                   Call a tool by its name, or call holdfast_tools with `call` (the name) and `arguments`.";
