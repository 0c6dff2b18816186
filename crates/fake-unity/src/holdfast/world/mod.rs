//! The small world behind the package's tools: scenes and prefabs with GameObjects, assets, scripts, the console, and what an editor
//! does with them. It lives as long as the editor's process, over reloads; what is in files outlives the process too.
//!
//! What differs from a real editor is on purpose, and a tool says it where it matters: no code runs, a compilation finds only what no
//! parser takes ([`source`]), and the model has the commonest types of components ([`kinds`]). Results have the members of the real
//! tools, and wrong arguments are refused in their words.

mod console;
mod files;
mod find;
mod history;
mod instances;
pub(crate) mod kinds;
mod node;
mod picture;
mod scripts;
pub(crate) mod source;
mod tools;
mod transform;
mod values;

use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use self::console::Console;
use self::files::Files;
use self::find::Found;
use self::history::History;
use self::node::Node;
use self::scripts::Scripts;
use crate::work::Fault;

pub(crate) use self::scripts::Found as CompilerIssue;
pub(crate) use self::tools::{asked_tests, change_packages, package, picture, run, summary};

/// The scene that a new project has.
const FIRST_SCENE: &str = "Assets/Scenes/SampleScene.unity";

/// Why a tool does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A parameter is wrong: the call is refused.
    Wrong(String),
    /// The editor does not do it: the result says so.
    No(String),
}

impl Stop {
    pub(crate) fn wrong<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Wrong(message.into()))
    }

    pub(crate) fn no<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::No(message.into()))
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::No(error.to_string())
    }
}

/// What a tool answers, or that a parameter is wrong.
pub(crate) type Answer = Result<Value, Fault>;

/// What the world knows about the editor around it.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) playing: bool,
    pub(crate) compiling: bool,
    pub(crate) importing: bool,
    /// Whether the person who steers the editor wants the scripts to fail.
    pub(crate) broken: bool,
    pub(crate) project: String,
    pub(crate) package_version: &'static str,
}

/// An open scene.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    /// Its file. Every scene has one: a tool that creates a scene saves it.
    pub(crate) path: String,
    pub(crate) roots: Vec<Node>,
    pub(crate) dirty: bool,
}

impl Scene {
    fn name(&self) -> &str {
        stem(&self.path)
    }
}

/// The prefab that is open for editing. Its one root takes the place of the scenes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stage {
    pub(crate) path: String,
    pub(crate) roots: Vec<Node>,
    pub(crate) dirty: bool,
}

/// What a step of undo brings back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Open {
    pub(crate) scenes: Vec<Scene>,
    /// The scene that gets new objects.
    pub(crate) active: usize,
    pub(crate) stage: Option<Stage>,
}

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
    open: Open,
    selection: Vec<Found>,
    history: History,
    /// The last id that was given to an object.
    last_id: u64,
    files: Files,
    console: Console,
    scripts: Scripts,
    game: Option<Game>,
    /// Names and versions of the packages that the manifest names.
    packages: Vec<(String, String)>,
}

/// The name of a file without its folders and its ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The GUID of an asset. A real one is random and in the file's `.meta`; this one follows from the path.
fn guid(path: &str) -> String {
    Sha256::digest(path).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
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
    fn new_node(&mut self, name: &str) -> Node {
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

    fn new_scene(&mut self, path: &str, empty: bool) -> Scene {
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

    fn load_scene(&mut self, path: &str) -> Option<Scene> {
        let mut roots: Vec<Node> = serde_json::from_slice(&self.files.read(path)?).ok()?;
        roots.iter_mut().for_each(|root| self.fresh_ids(root));
        Some(Scene { path: path.to_owned(), roots, dirty: false })
    }

    fn save_scene(&mut self, scene: &Scene) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(&scene.roots)?;
        self.files.write(&scene.path, &text)
    }

    /// Reads the prefab in a file; its objects have the ids of the file only.
    fn prefab(&mut self, path: &str) -> Option<Node> {
        if !path.ends_with(".prefab") {
            return None;
        }
        let mut root: Node = serde_json::from_slice(&self.files.read(path)?).ok()?;
        // A new object gets none of its ids.
        root.each_mut(&mut |one| self.last_id = self.last_id.max(one.file));
        Some(root)
    }

    /// Gives objects that come from a file their ids of this session.
    fn fresh_ids(&mut self, node: &mut Node) {
        node.each_mut(&mut |one| {
            self.last_id = self.last_id.max(one.file) + 1;
            one.id = self.last_id;
        });
    }

    /// The roots of what tools see: the open prefab, else all open scenes.
    fn roots(&self) -> Vec<&Node> {
        match &self.open.stage {
            Some(stage) => stage.roots.iter().collect(),
            None => self.open.scenes.iter().flat_map(|scene| &scene.roots).collect(),
        }
    }

    /// The list of roots in which the object with this id is; it is marked as changed.
    fn changing(&mut self, id: u64) -> Option<&mut Vec<Node>> {
        let Open { scenes, stage, .. } = &mut self.open;
        if let Some(stage) = stage {
            stage.dirty = true;
            return Some(&mut stage.roots);
        }
        let scene = scenes.iter_mut().find(|scene| scene.roots.iter().any(|root| root.contains(id)))?;
        scene.dirty = true;
        Some(&mut scene.roots)
    }

    fn node_mut(&mut self, id: u64) -> Result<&mut Node, Stop> {
        let gone = || Stop::No("The object is gone".to_owned());
        self.changing(id).and_then(|roots| node::find_mut(roots, id)).ok_or_else(gone)
    }

    /// Whether a prefab with unsaved changes is open.
    fn has_dirty_prefab(&self) -> bool {
        self.open.stage.as_ref().is_some_and(|stage| stage.dirty)
    }

    // ---- The game ---------------------------------------------------------------------------------------------------

    /// Why play mode cannot begin; `None` if it can.
    pub(crate) fn obstacle(&self, facts: &Facts) -> Option<String> {
        if self.scripts.are_red() || facts.broken {
            return Some(
                "The scripts do not compile, so Unity does not enter play mode; compile tells the errors".to_owned(),
            );
        }
        self.has_dirty_prefab().then(|| tools::UNSAVED_PREFAB.to_owned())
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
    pub(crate) fn compile(&mut self) -> Vec<CompilerIssue> {
        let issues = self.scripts.compile(&self.files);
        self.console.compiled(&issues);
        issues
    }

    /// Whether the last compilation had errors.
    pub(crate) fn is_red(&self) -> bool {
        self.scripts.are_red()
    }
}
