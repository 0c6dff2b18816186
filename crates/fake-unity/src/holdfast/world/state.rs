//! The world of one process of the editor.

use std::path::PathBuf;

use serde_json::json;

use super::console::Console;
use super::files::Files;
use super::history::History;
use super::node::{self, Node};
use super::scripts::{self, Scripts};
use super::{Facts, Found, Open, Scene, Stop, kinds, transform};

/// The scene that a new project has.
const FIRST_SCENE: &str = "Assets/Scenes/SampleScene.unity";
/// Why tools do not leave an open prefab.
pub(super) const UNSAVED_PREFAB: &str = "A prefab with unsaved changes is open, and Unity would ask about it; call prefabs with Save, or with Close and Discard";

/// The game that runs.
struct Game {
    /// The scenes as they were before it began.
    before: Vec<Scene>,
    active: usize,
    /// Number of steps of undo then.
    steps: usize,
    paused: bool,
}

/// The world of one process of the editor.
pub(crate) struct World {
    pub(super) open: Open,
    pub(super) selection: Vec<Found>,
    pub(super) history: History,
    /// The last id that was given to an object.
    pub(super) last_id: u64,
    pub(super) files: Files,
    pub(super) console: Console,
    pub(super) scripts: Scripts,
    game: Option<Game>,
    /// Names and versions of the packages that the manifest names.
    pub(super) packages: Vec<(String, String)>,
}

impl World {
    /// Opens the project. `folder`: a folder on disk that a fake editor made; without it, all is in memory.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let mut world = Self {
            open: Open { scenes: Vec::new(), active: 0, stage: None },
            selection: Vec::new(),
            history: History::default(),
            last_id: 0,
            files: Files::new(folder),
            console: Console::default(),
            scripts: Scripts::default(),
            game: None,
            packages: vec![
                ("com.unity.test-framework".to_owned(), "1.4.5".to_owned()),
                ("com.unity.ugui".to_owned(), "2.0.0".to_owned()),
            ],
        };
        let scene = world.load_scene(FIRST_SCENE).unwrap_or_else(|| {
            let scene = world.new_scene(FIRST_SCENE, false);
            // A folder that cannot be written has no scene; the scene is open all the same.
            drop(world.save_scene(&scene));
            scene
        });
        world.open.scenes.push(scene);
        // A real editor has compiled the scripts when it has opened.
        world.scripts.opened(&world.files);
        world
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Makes a GameObject with a Transform.
    pub(super) fn new_node(&mut self, name: &str) -> Node {
        let id = self.next_id();
        Node {
            id,
            file: id,
            name: name.to_owned(),
            active: true,
            tag: "Untagged".to_owned(),
            layer: "Default".to_owned(),
            components: kinds::component("UnityEngine.Transform").into_iter().collect(),
            prefab: None,
            source: None,
            children: Vec::new(),
        }
    }

    pub(super) fn new_scene(&mut self, path: &str, empty: bool) -> Scene {
        let mut roots = Vec::new();
        if !empty {
            let mut camera = self.new_node("Main Camera");
            "MainCamera".clone_into(&mut camera.tag);
            camera
                .components
                .extend(["UnityEngine.Camera", "UnityEngine.AudioListener"].into_iter().filter_map(kinds::component));
            if let Some(transform) = camera.components.first_mut() {
                transform::Pose { position: [0.0, 1.0, -10.0], ..transform::NOWHERE }.write(transform);
            }
            let mut light = self.new_node("Directional Light");
            light.components.extend(kinds::component("UnityEngine.Light"));
            if let Some(light) = light.components.last_mut() {
                light.put("m_Type", "Enum", json!("Directional"));
            }
            roots.extend([camera, light]);
        }
        Scene { path: path.to_owned(), roots, dirty: false }
    }

    pub(super) fn load_scene(&mut self, path: &str) -> Option<Scene> {
        let mut roots: Vec<Node> = serde_json::from_slice(&self.files.read(path)?).ok()?;
        roots.iter_mut().for_each(|root| self.fresh_ids(root));
        Some(Scene { path: path.to_owned(), roots, dirty: false })
    }

    pub(super) fn save_scene(&mut self, scene: &Scene) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(&scene.roots)?;
        self.files.write(&scene.path, &text)
    }

    /// Reads the prefab in a file; its objects have the ids of the file only.
    pub(super) fn prefab(&mut self, path: &str) -> Option<Node> {
        if !path.ends_with(".prefab") {
            return None;
        }
        let mut root: Node = serde_json::from_slice(&self.files.read(path)?).ok()?;
        // A new object gets none of its ids.
        root.each_mut(&mut |one| self.last_id = self.last_id.max(one.file));
        Some(root)
    }

    /// Gives objects that come from a file their ids of this session.
    pub(super) fn fresh_ids(&mut self, node: &mut Node) {
        node.each_mut(&mut |one| {
            self.last_id = self.last_id.max(one.file) + 1;
            one.id = self.last_id;
        });
    }

    /// The roots of what tools see: the open prefab, else all open scenes.
    pub(super) fn roots(&self) -> Vec<&Node> {
        match &self.open.stage {
            Some(stage) => stage.roots.iter().collect(),
            None => self.open.scenes.iter().flat_map(|scene| &scene.roots).collect(),
        }
    }

    /// The list of roots in which the object with this id is; it is marked as changed.
    pub(super) fn changing(&mut self, id: u64) -> Option<&mut Vec<Node>> {
        let Open { scenes, stage, .. } = &mut self.open;
        if let Some(stage) = stage {
            stage.dirty = true;
            return Some(&mut stage.roots);
        }
        let scene = scenes.iter_mut().find(|scene| scene.roots.iter().any(|root| root.contains(id)))?;
        scene.dirty = true;
        Some(&mut scene.roots)
    }

    pub(super) fn node_mut(&mut self, id: u64) -> Result<&mut Node, Stop> {
        let gone = || Stop::No("The object is gone".to_owned());
        self.changing(id).and_then(|roots| node::find_mut(roots, id)).ok_or_else(gone)
    }

    /// Whether a prefab with unsaved changes is open.
    pub(super) fn has_dirty_prefab(&self) -> bool {
        self.open.stage.as_ref().is_some_and(|stage| stage.dirty)
    }

    // ---- Undo -------------------------------------------------------------------------------------------------------

    /// Makes a change as one step of undo. If it fails, or what is open becomes too large, nothing is changed.
    pub(super) fn change<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let before = self.open.clone();
        let done = change(self).and_then(|done| self.open.check().map(|()| done));
        match &done {
            Err(_) => self.open = before,
            Ok(_) if !self.history.grouped => self.history.push(&format!("AI: {name}"), before),
            Ok(_) => {}
        }
        done
    }

    /// Makes several calls, which are undone in one step.
    pub(crate) fn begin_group(&mut self) -> Open {
        self.history.grouped = true;
        self.open.clone()
    }

    /// Ends the step that began with `before`.
    pub(crate) fn end_group(&mut self, name: &str, before: Open) {
        self.history.grouped = false;
        // Scenes that were opened meanwhile are no step.
        let paths = |open: &Open| open.scenes.iter().map(|scene| scene.path.clone()).collect::<Vec<_>>();
        if self.open != before
            && paths(&self.open) == paths(&before)
            && self.open.stage.is_some() == before.stage.is_some()
        {
            self.history.push(name, before);
        }
    }

    /// Undoes a step, or does one again. Returns its name; `None` if there is no such step.
    pub(super) fn step(&mut self, undo: bool) -> Option<String> {
        let name = self.history.step(undo, &mut self.open)?;
        // What a tool saved since then is not what is open now.
        self.open.scenes.iter_mut().for_each(|scene| scene.dirty = true);
        self.open.stage.iter_mut().for_each(|stage| stage.dirty = true);
        Some(name)
    }

    // ---- The game ---------------------------------------------------------------------------------------------------

    /// Why play mode cannot begin; `None` if it can.
    pub(crate) fn obstacle(&self, facts: &Facts) -> Option<String> {
        if self.scripts.are_red() || facts.broken {
            return Some(
                "The scripts do not compile, so Unity does not enter play mode; compile tells the errors".to_owned(),
            );
        }
        self.has_dirty_prefab().then(|| UNSAVED_PREFAB.to_owned())
    }

    /// Begins the game, unless it runs. Whatever it and tools then change in the scenes is lost at its end.
    pub(crate) fn begin_game(&mut self) {
        if self.game.is_none() {
            // Unity closes an open prefab, which has no unsaved changes here.
            if self.open.stage.take().is_some() {
                self.history.clear();
            }
            let (before, active) = (self.open.scenes.clone(), self.open.active);
            self.game = Some(Game { before, active, steps: self.history.len(), paused: false });
        }
    }

    /// Ends the game, if it runs.
    pub(crate) fn end_game(&mut self) {
        if let Some(game) = self.game.take() {
            (self.open.scenes, self.open.active) = (game.before, game.active);
            self.history.forget_after(game.steps);
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.game.as_ref().is_some_and(|game| game.paused)
    }

    pub(crate) fn pause(&mut self, on: bool) {
        if let Some(game) = &mut self.game {
            game.paused = on;
        }
    }

    // ---- Compilations -----------------------------------------------------------------------------------------------

    /// Compiles the scripts. Returns the errors, which are also in the console until they are mended.
    pub(crate) fn compile(&mut self) -> Vec<scripts::Found> {
        let issues = self.scripts.compile(&self.files);
        self.console.compiled(&issues);
        issues
    }

    /// Whether the last compilation had errors.
    pub(crate) fn is_red(&self) -> bool {
        self.scripts.are_red()
    }
}
