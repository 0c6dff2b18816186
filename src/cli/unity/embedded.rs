//! The Unity package that this binary contains. Its files equal those in `unity/` byte for byte; the module `placed` lists them.

use std::path::PathBuf;

use serde_json::Value;

use super::sums::{Sums, sum};

include!(concat!(env!("OUT_DIR"), "/unity_package.rs"));

/// The name of the package and of its folder in `Packages/`.
pub const NAME: &str = "dev.holdfast.unity";
/// The package's name for people.
pub const TITLE: &str = "Holdfast for Unity";

/// Returns every file: its path in the package (written with `/`) and its bytes.
pub fn files() -> &'static [(&'static str, &'static [u8])] {
    FILES
}

/// Returns the sum of every file.
pub fn sums() -> Sums {
    FILES.iter().map(|(path, bytes)| ((*path).to_owned(), Some(sum(path, bytes)))).collect()
}

/// The fields of `package.json` that are used.
#[derive(Debug, Clone)]
pub struct About {
    /// The package's version.
    pub version: String,
    /// The oldest Unity version that the package supports, for example `2022.3`.
    pub unity: String,
    /// The packages that this package depends on: name and version.
    pub dependencies: Vec<(String, String)>,
}

impl About {
    /// Reads the `package.json` of the package that this binary contains.
    pub fn this() -> Self {
        let (_, bytes) = FILES.iter().find(|(path, _)| *path == "package.json").expect("a package has a package.json");
        let manifest: Value = serde_json::from_slice(bytes).expect("the package's own package.json is JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let dependencies = manifest["dependencies"].as_object().into_iter().flatten();
        Self {
            version: text(&manifest["version"]),
            unity: text(&manifest["unity"]),
            dependencies: dependencies.map(|(name, version)| (name.clone(), text(version))).collect(),
        }
    }
}

/// Returns a path of the package in this system's notation.
pub fn native(path: &str) -> PathBuf {
    path.split('/').collect()
}
