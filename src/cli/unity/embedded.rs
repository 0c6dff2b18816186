//! The Unity package that this binary carries. Its files are the tree's, byte for byte; `placed` says which.

use std::path::PathBuf;

use serde_json::Value;

use super::sums::{Sums, sum};

include!(concat!(env!("OUT_DIR"), "/unity_package.rs"));

/// The package's name, and that of its folder in `Packages/`.
pub const NAME: &str = "dev.holdfast.unity";
/// What people call it.
pub const TITLE: &str = "Holdfast for Unity";

/// Every file: its path in the package, with `/`, and its bytes.
pub fn files() -> &'static [(&'static str, &'static [u8])] {
    FILES
}

/// The sum of every file.
pub fn sums() -> Sums {
    FILES.iter().map(|(path, bytes)| ((*path).to_owned(), Some(sum(path, bytes)))).collect()
}

/// What `package.json` says.
#[derive(Debug, Clone)]
pub struct About {
    /// The package's version.
    pub version: String,
    /// The oldest Unity that it is for, `2022.3`.
    pub unity: String,
    /// The packages that it needs: name and version.
    pub dependencies: Vec<(String, String)>,
}

impl About {
    /// Of the package that this binary carries.
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

/// A path of the package as the system writes it.
pub fn native(path: &str) -> PathBuf {
    path.split('/').collect()
}
