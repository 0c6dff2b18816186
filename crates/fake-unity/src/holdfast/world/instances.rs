//! Prefabs and their instances: an instance is a copy that remembers of which object of the prefab each of its objects comes. When
//! the prefab changes, what an instance has not changed follows.

use super::node::{Component, Node};
use super::{Open, World};

/// Makes the file of a prefab from an object: its ids become those of the file, and the object becomes an instance of it.
pub(super) fn file_of(node: &mut Node, path: &str) -> Node {
    node.prefab = Some(path.to_owned());
    let mut file = node.clone();
    file.each_mut(&mut |one| {
        (one.id, one.source) = (0, None);
    });
    file.prefab = None;
    node.each_mut(&mut |one| one.source = Some(one.file));
    file
}

/// Takes the changes of an instance into the prefab it came from: what both have keeps its id in the file.
pub(super) fn applied(instance: &mut Node, path: &str) -> Node {
    instance.each_mut(&mut |one| one.source = one.source.or(Some(one.file)));
    let mut file = instance.clone();
    file.each_mut(&mut |one| {
        (one.id, one.file) = (0, one.source.unwrap_or(one.file));
        one.source = None;
    });
    file.prefab = None;
    instance.prefab = Some(path.to_owned());
    file
}

/// A copy of a property or a component: the prefab's new one, unless the instance has changed it.
fn follows<T: Clone + PartialEq>(old: Option<&T>, new: &T, own: Option<&T>) -> T {
    match (old, own) {
        (Some(old), Some(own)) if own != old => own.clone(),
        _ => new.clone(),
    }
}

fn component(old: Option<&Component>, new: &Component, own: Option<&Component>) -> Component {
    let properties = new.properties.iter().map(|property| {
        let (before, now) =
            (old.and_then(|old| old.property(&property.name)), own.and_then(|own| own.property(&property.name)));
        follows(before, property, now)
    });
    Component {
        kind: new.kind.clone(),
        enabled: follows(old.map(|old| &old.enabled), &new.enabled, own.map(|own| &own.enabled)),
        properties: properties.collect(),
    }
}

/// The number of components of its type before this one.
fn turn(all: &[Component], at: usize) -> usize {
    let kind = all.get(at).map(|one| &one.kind);
    all.iter().take(at).filter(|one| Some(&one.kind) == kind).count()
}

fn same<'a>(all: &'a [Component], kind: &str, turn: usize) -> Option<&'a Component> {
    all.iter().filter(|one| one.kind == kind).nth(turn)
}

impl World {
    /// Makes an object of an instance from an object of the prefab. `own`: the object as it was; `root`: it is the instance's root,
    /// whose name and place are its own.
    pub(super) fn follow(&mut self, old: Option<&Node>, new: &Node, own: Option<&Node>, root: Option<&str>) -> Node {
        let mut made = self.new_node(&new.name);
        if let Some(own) = own {
            (made.id, made.file) = (own.id, own.file);
        }
        made.source = Some(new.file);
        made.prefab = root.map(str::to_owned).or_else(|| new.prefab.clone());
        let keeps = root.is_some().then_some(own).flatten();
        made.name = keeps.map_or_else(
            || follows(old.map(|old| &old.name), &new.name, own.map(|own| &own.name)),
            |own| own.name.clone(),
        );
        made.active = follows(old.map(|old| &old.active), &new.active, own.map(|own| &own.active));
        made.tag = follows(old.map(|old| &old.tag), &new.tag, own.map(|own| &own.tag));
        made.layer = follows(old.map(|old| &old.layer), &new.layer, own.map(|own| &own.layer));
        let of = |node: Option<&Node>| node.map(|node| node.components.clone()).unwrap_or_default();
        let (olds, owns) = (of(old), of(own));
        made.components = Vec::new();
        for (at, one) in new.components.iter().enumerate() {
            let turn = turn(&new.components, at);
            let (before, now) = (same(&olds, &one.kind, turn), same(&owns, &one.kind, turn));
            match (at, keeps) {
                // The place of an instance is its own.
                (0, Some(own)) => made.components.extend(own.components.first().cloned()),
                // What the instance has removed stays removed.
                _ if before.is_some() && own.is_some() && now.is_none() => {}
                _ => made.components.push(component(before, one, now)),
            }
        }
        // What was added to the instance.
        for (at, one) in owns.iter().enumerate() {
            let turn = turn(&owns, at);
            if same(&olds, &one.kind, turn).is_none() && same(&made.components, &one.kind, turn).is_none() {
                made.components.push(one.clone());
            }
        }
        for child in &new.children {
            let of = |node: Option<&Node>, by: fn(&Node) -> Option<u64>| {
                node.and_then(|node| node.children.iter().find(|one| by(one) == Some(child.file))).cloned()
            };
            let (before, now) = (of(old, |one| Some(one.file)), of(own, |one| one.source));
            if before.is_none() || own.is_none() || now.is_some() {
                let child = self.follow(before.as_ref(), child, now.as_ref(), None);
                made.children.push(child);
            }
        }
        let added = |one: &&Node| one.source.is_none();
        made.children.extend(own.into_iter().flat_map(|own| own.children.iter().filter(added)).cloned());
        made
    }

    /// Lets every instance in the open scenes follow its prefab, which was `old`.
    pub(super) fn update_instances(&mut self, path: &str, old: &Node, new: &Node) {
        let mut open = std::mem::replace(&mut self.open, Open { scenes: Vec::new(), active: 0, stage: None });
        for scene in &mut open.scenes {
            let before = scene.roots.clone();
            self.update_list(&mut scene.roots, path, old, new);
            scene.dirty |= before != scene.roots;
        }
        self.open = open;
    }

    fn update_list(&mut self, list: &mut [Node], path: &str, old: &Node, new: &Node) {
        for node in list {
            if node.prefab.as_deref() == Some(path) {
                *node = self.follow(Some(old), new, Some(node), Some(path));
            } else {
                self.update_list(&mut node.children, path, old, new);
            }
        }
    }
}
