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
mod open;
mod picture;
mod scripts;
pub(crate) mod source;
mod state;
mod tools;
mod transform;
mod values;

pub(crate) use self::open::{Answer, Facts, Found, Open, Scene, Stage, Stop, guid, stem};
pub(crate) use self::state::World;
pub(crate) use self::tools::{asked_tests, change_packages, package, picture, run, summary};
