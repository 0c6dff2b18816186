//! What is open in the editor, what a caller's name stands for, and why a tool does not do what it was asked.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::node::Node;
use crate::limits::{SCENE_LEVELS_MAX, SCENES_MAX_BYTES};
use crate::work::Fault;

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
    pub(super) fn name(&self) -> &str {
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

impl Open {
    /// Checks the bounds of what is open.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let lists = self.scenes.iter().map(|scene| &scene.roots).chain(self.stage.iter().map(|stage| &stage.roots));
        let mut bytes = 0;
        for roots in lists {
            if roots.iter().any(|root| root.levels() > SCENE_LEVELS_MAX) {
                return Stop::no(format!("The simulated editor has at most {SCENE_LEVELS_MAX} levels of GameObjects"));
            }
            bytes += serde_json::to_vec(roots).map_or(usize::MAX, |text| text.len());
        }
        if bytes > SCENES_MAX_BYTES {
            return Stop::no(format!("What is open in the simulated editor has at most {SCENES_MAX_BYTES} bytes"));
        }
        Ok(())
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A GameObject, by its id.
    Object(u64),
    /// A component of a GameObject, by its place among the components.
    Component(u64, usize),
    /// An asset, by its path.
    Asset(String),
}

/// The name of a file without its folders and its ending.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The GUID of an asset. A real one is random and in the file's `.meta`; this one follows from the path.
pub(crate) fn guid(path: &str) -> String {
    Sha256::digest(path).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
