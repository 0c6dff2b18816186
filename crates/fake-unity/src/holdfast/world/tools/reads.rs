//! Tools that read what is open, what is selected, and the console.

use serde_json::{Value, json};

use super::objects;
use super::told::{Told, at_least_zero, no_references};
use super::words::{Filter, Match};
use crate::holdfast::world::console::{Entry, counted};
use crate::holdfast::world::node::{self, Component, Node, Spot};
use crate::holdfast::world::{Facts, Found, Scene, Stop, World, kinds, stem};
use crate::tools::Arguments;

/// Most selected objects, and most names of children (the package's own numbers).
const SELECTED_MAX: usize = 200;
const CHILDREN_MAX: usize = 200;

pub(super) fn logs(world: &World, given: &Arguments) -> Told {
    let kind = given.word("LogType");
    let most = at_least_zero(given, "MaxCount")?;
    let how = if given.flag("UseRegex") { Match::Regex } else { Match::Contains };
    let filter = Filter::new("SearchText", given.word("SearchText"), how, true)?;
    let fitting: Vec<&Entry> = world
        .console
        .entries()
        .filter(|entry| (kind == "All" || entry.kind == kind) && filter.fits(&entry.message))
        .collect();
    let first = fitting.len().saturating_sub(most);
    let with_stack = given.flag("IncludeStackTrace");
    let shown: Vec<Value> = fitting.iter().skip(first).map(|entry| {
        json!({
            "Type": entry.kind, "Message": entry.message, "StackTrace": with_stack.then_some(""), "File": entry.file,
            "Line": entry.line,
        })
    }).collect();
    Ok(json!({
        "TotalCount": fitting.len(), "DisplayedCount": shown.len(), "LogType": kind, "MaxCount": most,
        "SearchText": given.word("SearchText"), "IncludeStackTrace": with_stack, "Logs": shown,
        "ConsoleCounts": counted(world.console.counts()), "Truncated": false,
    }))
}

pub(super) fn clear_console(world: &mut World, given: &Arguments) -> Told {
    let before = world.console.counts();
    world.console.clear();
    let after = world.console.counts();
    let mut left = after.iter();
    let cleared = before.map(|count| count - left.next().copied().unwrap_or_default());
    let (count, remaining): (usize, usize) = (cleared.iter().sum(), after.iter().sum());
    let stay = if remaining > 0 { format!("; {remaining} stay, which Unity does not clear") } else { String::new() };
    let message = format!("Cleared {count} console entries{stay}");
    if given.flag("AddConfirmationMessage") {
        world.console.log(message.clone());
    }
    Ok(json!({
        "Success": true, "ClearedLogCount": count, "ClearedCounts": counted(cleared), "Message": message, "ErrorMessage": "",
        "RemainingCount": remaining,
    }))
}

fn names(components: &[Component]) -> Vec<&str> {
    components.iter().map(Component::short).collect()
}

/// What a reader of the hierarchy asked for, and what was seen so far.
struct Reader {
    inactive: bool,
    components: bool,
    depth: Option<usize>,
    nodes: usize,
    deepest: usize,
}

impl Reader {
    fn read(&mut self, node: &Node, depth: usize, above: bool) -> Value {
        self.nodes += 1;
        self.deepest = self.deepest.max(depth);
        let active = above && node.active;
        let inactive = self.inactive;
        let below: Vec<&Node> = node.children.iter().filter(|child| inactive || child.active).collect();
        let cut = self.depth == Some(depth);
        let components = if self.components { names(&node.components) } else { Vec::new() };
        let children: Vec<Value> =
            below.iter().filter(|_| !cut).map(|child| self.read(child, depth + 1, active)).collect();
        let mut value = json!({
            "id": node.id.to_string(), "name": node.name, "depth": depth, "isActive": active, "components": components,
            "children": children,
        });
        if cut && !below.is_empty() {
            value["childrenCut"] = json!(true);
        }
        value
    }
}

pub(super) fn hierarchy(world: &World, facts: &Facts, given: &Arguments) -> Told {
    let depth = given.whole("MaxDepth").unwrap_or(-1);
    if depth < -1 {
        return Stop::wrong("MaxDepth must not be below -1");
    }
    let bound = at_least_zero(given, "MaxResponseSizeKB")?.saturating_mul(1024);
    let root = given.word("RootPath");
    let from = if root.is_empty() { None } else { Some(world.game_object(root, "RootPath")?) };
    let from = from.and_then(|id| world.spot(id));
    let (inactive, components) = (given.flag("IncludeInactive"), given.flag("IncludeComponents"));
    let mut reader = Reader { inactive, components, depth: usize::try_from(depth).ok(), nodes: 0, deepest: 0 };
    let above = from.as_ref().is_none_or(|spot| spot.active || !spot.node.active);
    let roots = from.map_or_else(|| world.roots(), |spot| vec![spot.node]);
    let tree: Vec<Value> =
        roots.into_iter().filter(|root| inactive || root.active).map(|root| reader.read(root, 0, above)).collect();
    let (kind, name) = match &world.open.stage {
        Some(stage) => ("prefab", stem(&stage.path).to_owned()),
        None => {
            let active = world.open.scenes.get(world.open.active);
            let kind = if facts.playing { "playmode" } else { "editor" };
            (kind, active.map(|scene| scene.name().to_owned()).unwrap_or_default())
        }
    };
    let scenes: Vec<&str> = match &world.open.stage {
        Some(_) => vec![name.as_str()],
        None => world.open.scenes.iter().map(Scene::name).collect(),
    };
    let context = json!({
        "sceneType": kind, "sceneName": name, "nodeCount": reader.nodes, "maxDepth": reader.deepest, "scenes": scenes,
        "truncated": false,
    });
    let size = serde_json::to_vec(&tree).map_or(0, |text| text.len());
    // The real package writes a larger one to a file. The simulated editor has no place for results.
    if size > bound {
        return Stop::wrong(format!(
            "The hierarchy has {size} bytes of JSON, more than {bound}, and the simulated editor writes no files of results; ask for a part with RootPath or MaxDepth (MaxResponseSizeKB)"
        ));
    }
    Ok(json!({
        "hierarchy": tree, "context": context, "hierarchySavedToFile": false, "hierarchyFilePath": "", "saveToFileReason": "",
    }))
}

pub(super) fn find_game_objects(world: &World, given: &Arguments) -> Told {
    let most = at_least_zero(given, "MaxResults")?;
    let (pattern, tag, layer) = (given.word("NamePattern"), given.word("Tag"), given.whole("Layer"));
    let required: Vec<&str> = given.items("RequiredComponents").iter().filter_map(Value::as_str).collect();
    let missing = given.flag("MissingScripts");
    no_references(given)?;
    if pattern.is_empty() && required.is_empty() && tag.is_empty() && layer.is_none() && !missing {
        return Stop::wrong(
            "Give at least one of NamePattern, RequiredComponents, Tag, Layer, ReferencesTo, MissingScripts",
        );
    }
    let mode = given.word("SearchMode");
    let (how, pattern) = match mode {
        "Regex" => (Match::Regex, pattern),
        "Contains" => (Match::Contains, pattern),
        "Path" => (Match::Exact, pattern.trim_matches('/')),
        _ => (Match::Exact, pattern),
    };
    let filter = Filter::new("NamePattern", pattern, how, mode == "Contains")?;
    let inactive = given.flag("IncludeInactive") || missing;
    let fits = |spot: &Spot<'_>| {
        // No script is missing here.
        !missing
            && (inactive || spot.active)
            && filter.fits(if mode == "Path" { &spot.path } else { &spot.node.name })
            && (tag.is_empty() || spot.node.tag == tag)
            && layer.is_none_or(|layer| u64::try_from(layer) == Ok(layer_number(spot.node)))
            && required.iter().all(|kind| spot.node.has(kind))
    };
    let all = node::walk(world.roots());
    let searched = all.iter().filter(|spot| inactive || spot.active).count();
    let found: Vec<Spot<'_>> = all.into_iter().filter(fits).collect();
    let page = given.word("Page");
    let first = match found.iter().position(|spot| spot.node.id.to_string() == page) {
        Some(last) => last + 1,
        None if page.is_empty() => 0,
        None => {
            return Stop::wrong("The object at which Page ends is not found any more: begin again without Page");
        }
    };
    let shown: Vec<&Spot<'_>> = found.iter().skip(first).take(most).collect();
    let described = |one: &Component| {
        let mut described = world.described(one);
        if let (false, Some(members)) = (given.flag("IncludeProperties"), described.as_object_mut()) {
            members.remove("properties");
        }
        described
    };
    let results = shown.iter().map(|spot| {
        json!({
            "id": spot.node.id.to_string(), "name": spot.node.name, "path": spot.path, "isActive": spot.active, "tag": spot.node.tag,
            "layer": layer_number(spot.node), "layerName": spot.node.layer,
            "components": spot.node.components.iter().map(described).collect::<Vec<_>>(),
        })
    });
    let results: Vec<Value> = results.collect();
    let mut answer = json!({"results": results, "totalFound": found.len(), "searched": searched, "errorMessage": ""});
    if let Some(last) = shown.last().filter(|_| first + shown.len() < found.len()) {
        answer["nextPage"] = json!(last.node.id.to_string());
    }
    Ok(answer)
}

fn layer_number(node: &Node) -> u64 {
    objects::LAYERS.iter().find(|(name, _)| *name == node.layer).map_or(0, |(_, number)| *number)
}

pub(super) fn inspect(world: &mut World, given: &Arguments) -> Told {
    let found = world.find(given.word("Object"), "Object")?;
    let mut told = world.info(&found);
    let prefab = if let Found::Asset(path) = &found { world.prefab(path) } else { None };
    let wanted: Vec<&str> = given.items("Components").iter().filter_map(Value::as_str).collect();
    let (spot, whole) = match (&found, &prefab) {
        (Found::Object(id), _) => (world.spot(*id), true),
        (Found::Component(id, _), _) => (world.spot(*id), false),
        (Found::Asset(_), Some(root)) => (node::walk([root]).into_iter().next(), true),
        (Found::Asset(_), None) => (None, false),
    };
    let components: Vec<Value> = match (&found, &spot) {
        (Found::Component(_, at), Some(spot)) => {
            spot.node.components.get(*at).map(|one| world.described(one)).into_iter().collect()
        }
        (Found::Asset(path), None) => {
            let values = world.values(path).filter(|_| path.ends_with(".mat") || path.ends_with(".asset"));
            let none =
                || Component { kind: world.type_of(path).unwrap_or_default(), enabled: None, properties: Vec::new() };
            vec![world.described(&values.unwrap_or_else(none))]
        }
        (_, Some(spot)) => {
            let fits = |one: &&Component| wanted.is_empty() || wanted.iter().any(|kind| kinds::is_a(&one.kind, kind));
            let read: Vec<Value> = spot.node.components.iter().filter(fits).map(|one| world.described(one)).collect();
            if !wanted.is_empty() && read.is_empty() {
                let all = names(&spot.node.components).join(", ");
                let (name, list) = (&spot.node.name, wanted.join(", "));
                return Stop::wrong(format!("{name} has no component {list} (Components); it has {all}"));
            }
            read
        }
        (_, None) => Vec::new(),
    };
    if let (Some(spot), true) = (&spot, whole) {
        let children: Vec<&str> =
            spot.node.children.iter().take(CHILDREN_MAX).map(|child| child.name.as_str()).collect();
        told["ActiveSelf"] = json!(spot.node.active);
        told["ActiveInHierarchy"] = json!(spot.active);
        told["Tag"] = json!(spot.node.tag);
        told["Layer"] = json!(spot.node.layer);
        told["Children"] = json!(children);
    }
    told["Components"] = json!(components);
    told["Message"] = json!("");
    Ok(told)
}

pub(super) fn selection(world: &World) -> Told {
    // What is gone, or not open now, is not selected.
    let there = |one: &&Found| world.reference(one).is_some();
    let selected: Vec<Value> = world.selection.iter().filter(there).map(|one| world.info(one)).collect();
    Ok(json!({"Selected": selected, "SelectedCount": selected.len()}))
}

pub(super) fn select(world: &mut World, given: &Arguments) -> Told {
    let names = given.items("Objects");
    if names.len() > SELECTED_MAX {
        return Stop::wrong(format!("Objects has more than {SELECTED_MAX} entries"));
    }
    let mut selected = Vec::new();
    for name in names {
        let one = world.find(name.as_str().unwrap_or_default(), "Objects")?;
        if !selected.contains(&one) {
            selected.push(one);
        }
    }
    world.selection = selected;
    selection(world)
}
