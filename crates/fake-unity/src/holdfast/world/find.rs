//! Finds the object that a caller names. Every tool takes the same names, and returns them.

use serde_json::{Value, json};

use super::node::{self, Node, Spot};
use super::{Found, Stop, World, guid, kinds, stem};

/// Most objects of one name that a refusal lists (the package's own number).
const SAME_MAX: usize = 10;

impl World {
    /// Finds an asset, or an object or a component of what is open.
    pub(super) fn find(&self, name: &str, parameter: &str) -> Result<Found, Stop> {
        let wanted = name.trim();
        if wanted.is_empty() {
            return Stop::wrong(format!("{parameter} is empty"));
        }
        // Any text may be an object's name, so what is there by the whole text comes first.
        let mut found = self.by_place(wanted, "");
        if let (true, Some((place, kind, id))) = (found.is_empty(), reference(wanted)) {
            let same = id.and_then(|id| self.spot(id)).filter(|spot| spot.path == place);
            found = match same {
                Some(spot) => self.typed(Found::Object(spot.node.id), kind),
                None => self.by_place(place, kind),
            };
        }
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] if is_stable(wanted) => Stop::wrong(format!(
                "There is no object {wanted} ({parameter}). An object of a scene is found only while the scene is open"
            )),
            [] => Stop::wrong(format!(
                "No open scene has an object {wanted} ({parameter}). A path begins at the root, such as World/Player; find-game-objects finds objects by name"
            )),
            several => {
                let named = |one: &Found| match one {
                    Found::Object(id) => id.to_string(),
                    other => self.reference(other).unwrap_or_default(),
                };
                let list: Vec<String> = several.iter().take(SAME_MAX).map(named).collect();
                let more = if several.len() > SAME_MAX { ", ..." } else { "" };
                let (list, path) = (list.join(", "), wanted.trim_matches('/'));
                Stop::wrong(match several.first() {
                    Some(Found::Object(_)) => {
                        format!("Several objects have the path {path} ({parameter}); name one by its id: {list}{more}")
                    }
                    _ => format!("Several objects are called {wanted} ({parameter}); name one of {list}{more}"),
                })
            }
        }
    }

    /// Finds a GameObject of what is open. A component stands for its own.
    pub(super) fn game_object(&self, name: &str, parameter: &str) -> Result<u64, Stop> {
        match self.find(name, parameter)? {
            Found::Object(id) | Found::Component(id, _) => Ok(id),
            Found::Asset(path) if path.ends_with(".prefab") => Stop::wrong(format!(
                "{name} is a prefab's file ({parameter}). Open it with prefabs and change it there, or name an instance in a scene"
            )),
            Found::Asset(_) => Stop::wrong(format!("{name} is no GameObject ({parameter})")),
        }
    }

    fn by_place(&self, place: &str, kind: &str) -> Vec<Found> {
        let mut found = Vec::new();
        if is_stable(place) {
            if self.type_of(place).is_some() {
                found.push(Found::Asset(place.to_owned()));
            } else if place.starts_with("GlobalObjectId_") {
                let same = |id: Option<String>| id.as_deref() == Some(place);
                let objects = node::walk(self.roots()).into_iter().map(|spot| Found::Object(spot.node.id));
                let assets = self.files.all().into_iter().map(Found::Asset);
                found.extend(objects.chain(assets).find(|one| same(self.global_id(one))));
            }
        } else {
            let id = place.parse().ok().filter(|id| self.spot(*id).is_some());
            found.extend(id.map(Found::Object));
            let mut same = Vec::new();
            self.roots().into_iter().for_each(|root| at_path(root, place.trim_matches('/'), &mut same));
            found.extend(same.into_iter().filter(|other| Some(*other) != id).map(Found::Object));
        }
        found.into_iter().flat_map(|one| self.typed(one, kind)).collect()
    }

    /// The object itself, or its components of this type.
    fn typed(&self, one: Found, kind: &str) -> Vec<Found> {
        match one {
            _ if kind.is_empty() || kind == "GameObject" => vec![one],
            Found::Object(id) => {
                let components = self.spot(id).map(|spot| spot.node.components.as_slice()).unwrap_or_default();
                let fits = components.iter().enumerate().filter(|(_, component)| kinds::is_a(&component.kind, kind));
                fits.map(|(at, _)| Found::Component(id, at)).collect()
            }
            Found::Component(..) | Found::Asset(_) => vec![one],
        }
    }

    /// Returns an object of what is open, with its path.
    pub(super) fn spot(&self, id: u64) -> Option<Spot<'_>> {
        node::walk(self.roots()).into_iter().find(|spot| spot.node.id == id)
    }

    /// Full name of the type of an asset; `None` if there is no such asset.
    pub(super) fn type_of(&self, path: &str) -> Option<String> {
        if self.files.is_folder(path) {
            return Some("UnityEditor.DefaultAsset".to_owned());
        }
        if !self.files.is_file(path) {
            return None;
        }
        let kind = match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("cs") => "UnityEditor.MonoScript",
            Some("unity") => "UnityEditor.SceneAsset",
            Some("prefab") => "UnityEngine.GameObject",
            Some("shader") => "UnityEngine.Shader",
            Some("asmdef") => "UnityEditorInternal.AssemblyDefinitionAsset",
            Some("txt" | "json" | "xml" | "md" | "csv" | "yaml" | "yml") => "UnityEngine.TextAsset",
            Some("png" | "jpg") => "UnityEngine.Texture2D",
            Some("mat" | "asset") => return self.values(path).map(|values| values.kind),
            _ => "UnityEditor.DefaultAsset",
        };
        Some(kind.to_owned())
    }

    /// The id that stays the same in later sessions; `None` in an open prefab.
    pub(super) fn global_id(&self, found: &Found) -> Option<String> {
        match found {
            Found::Asset(path) => Some(format!("GlobalObjectId_V1-1-{}-11400000-0", guid(path))),
            Found::Object(id) | Found::Component(id, _) => {
                let node = self.spot(*id)?.node;
                let scene = self.open.scenes.iter().find(|scene| scene.roots.iter().any(|root| root.contains(*id)))?;
                let part = if let Found::Component(_, at) = found { format!("-{at}") } else { String::new() };
                Some(format!("GlobalObjectId_V1-2-{}-{}{part}-0", guid(&scene.path), node.file))
            }
        }
    }

    /// How results refer to an object: its place, its type, and its id.
    pub(super) fn reference(&self, found: &Found) -> Option<String> {
        match found {
            Found::Asset(path) => Some(format!("{path} ({})", node::short(&self.type_of(path)?))),
            Found::Object(id) => self.spot(*id).map(|spot| format!("{} (GameObject, {id})", spot.path)),
            Found::Component(id, at) => {
                let spot = self.spot(*id)?;
                Some(format!("{} ({})", spot.path, spot.node.components.get(*at)?.short()))
            }
        }
    }

    /// Describes an object with every name by which tools find it again.
    pub(super) fn info(&self, found: &Found) -> Value {
        let global = self.global_id(found).unwrap_or_default();
        match found {
            Found::Asset(path) => json!({
                "GlobalId": global, "Id": "", "Name": stem(path), "Type": self.type_of(path), "Path": "", "AssetPath": path,
            }),
            Found::Object(id) | Found::Component(id, _) => {
                let spot = self.spot(*id);
                let part =
                    |at: usize| spot.as_ref().and_then(|spot| spot.node.components.get(at)).map(|one| one.kind.clone());
                let kind = if let Found::Component(_, at) = found { part(*at) } else { None };
                json!({
                    "GlobalId": global, "Id": id.to_string(),
                    "Name": spot.as_ref().map(|spot| spot.node.name.as_str()).unwrap_or_default(),
                    "Type": kind.unwrap_or_else(|| "UnityEngine.GameObject".to_owned()),
                    "Path": spot.as_ref().map(|spot| spot.path.as_str()).unwrap_or_default(), "AssetPath": "",
                })
            }
        }
    }
}

fn is_stable(name: &str) -> bool {
    ["GlobalObjectId_", "Assets/", "Packages/"].iter().any(|start| name.starts_with(start))
}

/// Splits a reference such as `World/Player (BoxCollider, 12)`.
fn reference(text: &str) -> Option<(&str, &str, Option<u64>)> {
    let (place, rest) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (kind, id) = rest.split_once(", ").map_or((rest, None), |(kind, id)| (kind, Some(id)));
    let id = id.map(|id| id.parse().ok());
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+');
    let fits = !place.is_empty() && !kind.is_empty() && kind.chars().all(word) && id != Some(None);
    fits.then_some((place, kind, id.flatten()))
}

/// Adds the objects with this path. A name may have a `/` itself, so the path is not split.
fn at_path(node: &Node, path: &str, found: &mut Vec<u64>) {
    match path.strip_prefix(node.name.as_str()) {
        Some("") => found.push(node.id),
        Some(rest) => {
            if let Some(below) = rest.strip_prefix('/') {
                node.children.iter().for_each(|child| at_path(child, below, found));
            }
        }
        None => {}
    }
}
