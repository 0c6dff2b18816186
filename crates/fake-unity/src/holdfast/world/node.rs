//! GameObjects with their components, as a tree.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A serialised property of a component or an asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Property {
    pub(crate) name: String,
    /// Its type as `inspect` shows it, such as `float`, `Vector3` or `PPtr<$Material>`.
    pub(crate) kind: String,
    pub(crate) value: Value,
}

/// A component; also the values of an asset, such as a material.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Component {
    /// Full name of its type.
    pub(crate) kind: String,
    /// Whether it is switched on; `None` if it has no such switch.
    pub(crate) enabled: Option<bool>,
    pub(crate) properties: Vec<Property>,
}

impl Component {
    /// Name of its type without the namespace.
    pub(crate) fn short(&self) -> &str {
        short(&self.kind)
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|one| one.name == name)
    }

    /// Sets a property that it has, or adds it.
    pub(crate) fn put(&mut self, name: &str, kind: &str, value: Value) {
        match self.properties.iter_mut().find(|one| one.name == name) {
            Some(one) => one.value = value,
            None => self.properties.push(Property { name: name.to_owned(), kind: kind.to_owned(), value }),
        }
    }
}

/// The name of a type without its namespace.
pub(crate) fn short(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}

/// A GameObject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Its id in this session; a file has none.
    #[serde(skip)]
    pub(crate) id: u64,
    /// Its id in the file of its scene or prefab, which stays the same.
    pub(crate) file: u64,
    pub(crate) name: String,
    pub(crate) active: bool,
    pub(crate) tag: String,
    pub(crate) layer: String,
    /// The first is its Transform.
    pub(crate) components: Vec<Component>,
    /// The prefab of which it is an instance; only the root of an instance has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prefab: Option<String>,
    /// The id, in the file of the prefab, of the object that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<u64>,
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Calls `see` with this object and all below it, parents first.
    pub(crate) fn each_mut(&mut self, see: &mut impl FnMut(&mut Node)) {
        see(self);
        self.children.iter_mut().for_each(|child| child.each_mut(see));
    }

    /// Number of levels, this one included.
    pub(crate) fn levels(&self) -> usize {
        1 + self.children.iter().map(Self::levels).max().unwrap_or(0)
    }

    /// Whether the object with this id is this one or below it.
    pub(crate) fn contains(&self, id: u64) -> bool {
        self.id == id || self.children.iter().any(|child| child.contains(id))
    }

    pub(crate) fn transform(&self) -> &[Property] {
        self.components.first().map(|one| one.properties.as_slice()).unwrap_or_default()
    }
}

/// An object with its place in a tree.
#[derive(Clone)]
pub(crate) struct Spot<'a> {
    pub(crate) node: &'a Node,
    /// The names from the root to it, joined with `/`.
    pub(crate) path: String,
    /// Whether it and all its parents are active.
    pub(crate) active: bool,
    /// Its parents, the root first.
    pub(crate) parents: Vec<&'a Node>,
}

/// Returns all objects of a list of roots, parents before their children, in the order of the hierarchy.
pub(crate) fn walk<'a>(roots: impl IntoIterator<Item = &'a Node>) -> Vec<Spot<'a>> {
    fn into<'a>(found: &mut Vec<Spot<'a>>, node: &'a Node, above: Option<&Spot<'a>>) {
        let path = above.map_or_else(|| node.name.clone(), |above| format!("{}/{}", above.path, node.name));
        let active = node.active && above.is_none_or(|above| above.active);
        let mut parents = above.map(|above| above.parents.clone()).unwrap_or_default();
        parents.extend(above.map(|above| above.node));
        let spot = Spot { node, path, active, parents };
        found.push(spot.clone());
        node.children.iter().for_each(|child| into(found, child, Some(&spot)));
    }
    let mut found = Vec::new();
    roots.into_iter().for_each(|root| into(&mut found, root, None));
    found
}

/// Returns the list that holds the object with this id, and its place in it; `None` if it is not there.
pub(crate) fn holder(roots: &mut Vec<Node>, id: u64) -> Option<(&mut Vec<Node>, usize)> {
    if let Some(at) = roots.iter().position(|node| node.id == id) {
        return Some((roots, at));
    }
    let above = roots.iter().position(|node| node.contains(id))?;
    holder(&mut roots.get_mut(above)?.children, id)
}

/// Returns the object with this id.
pub(crate) fn find_mut(roots: &mut Vec<Node>, id: u64) -> Option<&mut Node> {
    holder(roots, id).and_then(|(list, at)| list.get_mut(at))
}
