//! The catalogue: an editor's tools under the names and in the form that clients accept.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::limits::{
    DESCRIPTION_MAX_BYTES, LOG_FIELD_MAX_BYTES, LOG_NAME_MAX_BYTES, TOOL_SCHEMA_MAX_BYTES, TOOLS_LIST_MAX_BYTES,
    TOOLS_LISTED_MAX, TOOLS_MAX,
};
use crate::protocol::dialect::{Annotations, EditorTool, InputSchema, OwnName, Turn, under_own_names};
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::policy::pattern::ToolFacts;

use super::caching::with_hints;
use super::clients::{Audience, ClientProfile, ClientTraits};
use super::gateway_tool_schemas::{Definition, GatewayTool};
use super::handshake::ProtocolVersion;
use super::params::invalid;
use super::schema::Fitted;
use super::{names, schema};
use crate::protocol::text::{cut_with_ellipsis, nearest};

/// A listed tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The tool's name for clients: `[A-Za-z0-9_-]{1,48}` and unique. The module `names` has the rule.
    pub name: String,
    /// The tool. Its `name` is the editor's own; its description and schema are the ones that the list shows.
    pub tool: Arc<EditorTool>,
    /// The tool as the editor has it. Set only if some parameters are listed under other names.
    pub own: Option<Arc<Own>>,
    /// Where the tool comes from, if the list is a union of several editors' tools.
    pub origin: Option<Origin>,
    /// When the tool is listed.
    pub turn: Turn,
}

impl Entry {
    /// What rules compare of the tool.
    pub fn facts(&self) -> ToolFacts<'_> {
        ToolFacts::new(self.names(), &self.tool.annotations, self.tool.group.as_deref())
    }

    /// The tool with the editor's own names of parameters.
    pub fn in_editor(&self) -> &EditorTool {
        self.own.as_ref().map_or(&self.tool, |own| &own.tool)
    }

    /// Gives a call's arguments the editor's own names. `None` if they need no change.
    pub fn under_own_names(&self, arguments: &RawValue) -> Option<Box<RawValue>> {
        under_own_names(arguments, &self.own.as_ref()?.names)
    }

    /// All the names that the tool has: for clients, in the editor, and in other packages.
    pub fn names(&self) -> Vec<&str> {
        let others = self.tool.other_names.iter().map(|other| other.name.as_str());
        [self.name.as_str(), self.tool.name.as_str()].into_iter().chain(others).collect()
    }
}

/// A tool as its editor has it, and the parameters that are listed under other names.
#[derive(Debug, PartialEq)]
pub struct Own {
    tool: Arc<EditorTool>,
    names: Vec<OwnName>,
}

/// Where a tool of a union comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The tool's name in the catalogues of its editors.
    pub name: String,
    /// The names of the editors that have the tool.
    pub editors: Vec<String>,
    /// Whether the listed name itself says which editor is meant.
    pub is_bound: bool,
}

/// The tools of one editor in the editor's order, or the union of several editors' tools. Empty by default. The
/// gateway's own tools are listed with every catalogue.
///
/// Two catalogues are equal if they have the same tools under the same names, in any order. Clients are notified of a change only
/// if the catalogues differ.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    by_other_name: HashMap<String, usize>,
    dropped: Vec<(String, String)>,
    repaired: Vec<(String, String)>,
    /// The names of the editors of a union.
    editors: Vec<String>,
    /// The names of the tools that a client's list leaves out. They can be called and found.
    rest: Vec<String>,
}

impl PartialEq for Catalogue {
    fn eq(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self.editors == other.editors
            && self.rest == other.rest
            && self.entries.iter().all(|entry| other.find(&entry.name) == Some(entry))
    }
}

impl Catalogue {
    /// Makes a catalogue of these tools. Development-only tools are left out unless `development` is set.
    ///
    /// A tool that cannot be listed is dropped with a reason; the others stay. Bounds: [`TOOLS_MAX`] tools,
    /// [`TOOLS_LIST_MAX_BYTES`] of JSON in all, [`TOOL_SCHEMA_MAX_BYTES`] a schema, [`DESCRIPTION_MAX_BYTES`] a description
    /// (longer ones are cut).
    pub fn new(tools: impl IntoIterator<Item = impl Into<Arc<EditorTool>>>, development: bool) -> Self {
        let mut catalogue = Self::default();
        let mut seen = HashSet::new();
        let mut fit = Vec::new();
        for tool in tools.into_iter().map(Into::into).filter(|tool| development || !tool.development_only) {
            let label = cut_with_ellipsis(&tool.name, LOG_FIELD_MAX_BYTES);
            if tool.name.is_empty() {
                catalogue.dropped.push((label, String::from("it has no name and cannot be called")));
            } else if !seen.insert(tool.name.clone()) {
                catalogue
                    .dropped
                    .push((label, String::from("the editor lists this name twice; the first one is kept")));
            } else {
                match prepare(tool) {
                    Ok((tool, own, changes)) => {
                        if !changes.is_empty() {
                            catalogue.repaired.push((label, changes.join("; ")));
                        }
                        fit.push((tool, own));
                    }
                    Err(reason) => catalogue.dropped.push((label, reason)),
                }
            }
        }
        let names = names::assign(&fit.iter().map(|(tool, _)| tool.name.as_str()).collect::<Vec<_>>());
        let entries = names.into_iter().zip(fit).map(|(name, (tool, own))| Entry {
            name,
            tool,
            own,
            origin: None,
            turn: Turn::Usual,
        });
        catalogue.take(entries);
        catalogue
    }

    /// Returns the catalogue, in which each tool is listed as the package's facts say.
    #[must_use]
    pub fn with_turns(mut self, turn: impl Fn(&EditorTool) -> Turn) -> Self {
        for entry in &mut self.entries {
            entry.turn = turn(entry.in_editor());
        }
        self
    }

    /// Makes the union of the tools of the editors with these names.
    pub(super) fn of_union(entries: Vec<Entry>, editors: Vec<String>) -> Self {
        let mut catalogue = Self { editors, ..Self::default() };
        catalogue.take(entries);
        catalogue
    }

    /// Returns the catalogue without the tools that have one of these names for clients.
    #[must_use]
    pub fn without(&self, hidden: &HashSet<&str>) -> Self {
        self.part(|_, entry| !hidden.contains(entry.name.as_str()), Vec::new())
    }

    /// Returns the catalogue with only those tools that it `keeps`, by their position. `rest`: the names of the others, if the list
    /// tells of them.
    pub(super) fn part(&self, keeps: impl Fn(usize, &Entry) -> bool, rest: Vec<String>) -> Self {
        let (dropped, repaired) = (self.dropped.clone(), self.repaired.clone());
        let mut part = Self { editors: self.editors.clone(), dropped, repaired, rest, ..Self::default() };
        let kept = self.entries.iter().enumerate().filter(|(at, entry)| keeps(*at, entry));
        part.take(kept.map(|(_, entry)| entry.clone()));
        part
    }

    /// Adds these tools as far as the list has room for them.
    fn take(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let (mut bytes, mut surplus) = (0, 0_usize);
        for entry in entries {
            let Entry { name, tool, .. } = &entry;
            let size = serde_json::to_string(&listed(name, tool, &ProtocolVersion::LATEST.into()))
                .map_or(usize::MAX, |json| json.len() + 1);
            if surplus > 0 || self.entries.len() >= TOOLS_MAX || size > TOOLS_LIST_MAX_BYTES - bytes {
                surplus += 1;
                continue;
            }
            bytes += size;
            self.by_name.insert(name.clone(), self.entries.len());
            for other in &tool.other_names {
                // Of two tools that claim a name, the first one keeps it.
                self.by_other_name.entry(other.name.clone()).or_insert(self.entries.len());
            }
            self.entries.push(entry);
        }
        if surplus > 0 {
            let reason = format!(
                "the list is longer than {TOOLS_MAX} tools or {TOOLS_LIST_MAX_BYTES} bytes; switch off tools in the editor that are \
                 not needed"
            );
            self.dropped.push((format!("the last {surplus} tools"), reason));
        }
    }

    /// The tools, in the editor's order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the facts that rules compare, for all tools of an editor. Tools that clients do not get are among them.
    pub fn facts_of<'a>(&'a self, all: &'a [Arc<EditorTool>]) -> Vec<ToolFacts<'a>> {
        let listed: HashSet<&str> = self.entries.iter().map(|entry| entry.tool.name.as_str()).collect();
        let others = all.iter().filter(|tool| !listed.contains(tool.name.as_str()));
        let others =
            others.map(|tool| ToolFacts::new(vec![tool.name.as_str()], &tool.annotations, tool.group.as_deref()));
        self.entries.iter().map(Entry::facts).chain(others).collect()
    }

    /// The names of the editors, if the list is a union of several editors' tools.
    pub fn editors(&self) -> &[String] {
        &self.editors
    }

    /// The names of the tools that this list of a client leaves out.
    pub fn rest(&self) -> &[String] {
        &self.rest
    }

    /// The tool with this name for clients, or else the one that has it in another package; `None` if the list has none.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).or_else(|| self.by_other_name.get(name)).and_then(|index| self.entries.get(*index))
    }

    /// The error for a tool that is not in this list. The list must be live, because the text says so. MCP demands −32602 here,
    /// not a tool error.
    pub fn unknown_tool(&self, name: &str, audience: Audience) -> RpcError {
        let own = GatewayTool::ALL.iter().map(|tool| tool.name());
        let names = self.entries.iter().map(|entry| entry.name.as_str()).chain(own);
        let meant = self.behind_a_prefix(name).or_else(|| nearest(name, names));
        let meant = meant.map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
        let list = match audience {
            Audience::Agent if self.entries.len() > TOOLS_LISTED_MAX => {
                "tools/list has the names; holdfast_tools finds those that are not listed."
            }
            Audience::Agent => "tools/list has the names.",
            Audience::Person => "`holdfast tools` lists the names.",
        };
        invalid(format!(
            "Unity's current tool list has no tool `{}`; nothing was executed.{meant} {list}",
            cut_with_ellipsis(name, LOG_FIELD_MAX_BYTES)
        ))
    }

    /// The listed tool whose name, in some spelling, is this one or its end: clients and models put the name of a server before a
    /// name, as in `mcp__unity__run_tests`. The longest end counts.
    fn behind_a_prefix(&self, name: &str) -> Option<&str> {
        if name.len() > LOG_NAME_MAX_BYTES {
            return None;
        }
        let plain =
            |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
        let own = GatewayTool::ALL.iter().map(|tool| (tool.name(), vec![tool.name()]));
        let theirs = self.entries.iter().map(|entry| {
            let facts = entry.facts();
            (entry.name.as_str(), [facts.names, facts.elsewhere].concat())
        });
        let known: Vec<(&str, Vec<String>)> =
            theirs.chain(own).map(|(name, all)| (name, all.into_iter().map(plain).collect())).collect();
        let ends = name.match_indices([':', '/', '.', '_']).map(|(at, mark)| &name[at + mark.len()..]);
        [name]
            .into_iter()
            .chain(ends)
            .map(plain)
            .filter(|end| !end.is_empty())
            .find_map(|end| known.iter().find(|(_, all)| all.contains(&end)).map(|(name, _)| *name))
    }

    /// The tools that could not be listed: the editor's name (cut for a log) and the reason. Hidden development tools are not
    /// included.
    pub fn dropped(&self) -> &[(String, String)] {
        &self.dropped
    }

    /// The tools whose schema had to be changed for the list: the editor's name (cut for a log) and the changes.
    pub fn repaired(&self) -> &[(String, String)] {
        &self.repaired
    }

    /// The tools that are changed only for this client: the name for clients and the change.
    pub fn changed_for(&self, client: &ClientTraits) -> Vec<(String, String)> {
        let changed = |entry: &&Entry| client.flatten_schemas && entry.tool.input_schema.has_any(&schema::ALTERNATIVES);
        let entries = self.entries.iter().filter(changed);
        entries.map(|entry| (entry.name.clone(), schema::FLATTENED.to_owned())).collect()
    }

    /// The result of `tools/list` with these of the gateway's tools.
    pub(super) fn result_of(&self, own: &[Definition], profile: &ClientProfile) -> String {
        with_hints("tools", &array_of(own, self.entries.iter(), profile), profile)
    }

    /// The gateway's tools in this list. [`GatewayTool::Tools`] is one of them if the list leaves tools out.
    pub fn own(&self) -> impl Iterator<Item = GatewayTool> {
        let finds = !self.rest.is_empty();
        GatewayTool::ALL.into_iter().filter(move |tool| finds || *tool != GatewayTool::Tools)
    }

    /// The array in [`list_result`](Self::list_result): first the gateway's tools, then the editor's.
    pub fn tools_array(&self, profile: &ClientProfile) -> String {
        array_of(&self.own().map(GatewayTool::definition).collect::<Vec<_>>(), self.entries.iter(), profile)
    }
}

fn array_of<'a>(own: &[Definition], entries: impl Iterator<Item = &'a Entry>, profile: &ClientProfile) -> String {
    let own = own
        .iter()
        .map(|tool| Listed::new(tool.name, &tool.description, &tool.input_schema, &tool.annotations, profile));
    let theirs = entries.map(|entry| listed(&entry.name, &entry.tool, profile));
    serde_json::to_string(&own.chain(theirs).collect::<Vec<_>>()).unwrap_or_default()
}

/// A tool as it is listed; the tool as the editor has it, if its parameters have other names there; and the changes in
/// words.
type Prepared = (Arc<EditorTool>, Option<Arc<Own>>, Vec<String>);

/// Prepares everything of a tool except its name, or says why it cannot be listed. A tool that needs no change keeps its shared copy.
fn prepare(given: Arc<EditorTool>) -> Result<Prepared, String> {
    let mut tool = EditorTool::clone(&given);
    let Fitted { schema, names, changes } = schema::fitted(&tool.input_schema).map_err(str::to_owned)?;
    tool.input_schema = schema;
    let bytes = tool.input_schema.raw().get().len();
    if bytes > TOOL_SCHEMA_MAX_BYTES {
        return Err(format!(
            "its input schema has {bytes} bytes, more than the {TOOL_SCHEMA_MAX_BYTES} that are listed"
        ));
    }
    if tool.description.trim().is_empty() {
        tool.description = format!("Runs the Unity tool {}.", tool.name);
    }
    tool.description = cut_with_ellipsis(&tool.description, DESCRIPTION_MAX_BYTES);
    if tool.annotations.title.trim().is_empty() {
        tool.annotations.title.clone_from(&tool.name);
    }
    tool.annotations.title = cut_with_ellipsis(&tool.annotations.title, LOG_FIELD_MAX_BYTES);
    let own = (!names.is_empty()).then(|| Arc::new(Own { tool: Arc::clone(&given), names }));
    Ok((if tool == *given { given } else { Arc::new(tool) }, own, changes))
}

fn listed<'a>(name: &'a str, tool: &'a EditorTool, profile: &ClientProfile) -> Listed<'a> {
    Listed::new(name, &tool.description, &tool.input_schema, &tool.annotations, profile)
}

/// A schema in the form that one client profile gets.
pub(super) fn schema_for<'a>(input_schema: &'a InputSchema, profile: &ClientProfile) -> Cow<'a, RawValue> {
    let flat = profile.client.flatten_schemas && input_schema.has_any(&schema::ALTERNATIVES);
    let flattened = flat.then(|| to_raw_value(&schema::flattened(&input_schema.parsed())).ok()).flatten();
    flattened.map_or(Cow::Borrowed(input_schema.raw()), Cow::Owned)
}

/// A tool in the form that one client profile gets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: Cow<'a, RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a Annotations>,
}

impl<'a> Listed<'a> {
    fn new(
        name: &'a str,
        description: &'a str,
        input_schema: &'a InputSchema,
        annotations: &'a Annotations,
        profile: &ClientProfile,
    ) -> Self {
        let version = profile.version;
        Self {
            name,
            title: version.title().then_some(annotations.title.as_str()),
            description,
            input_schema: schema_for(input_schema, profile),
            annotations: version.annotations().then_some(annotations),
        }
    }
}
