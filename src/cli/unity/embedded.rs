//! The Unity package that this binary contains. Its files equal those in `unity/` byte for byte:
//! `build.rs` takes what `src/cli/unity/placed.rs` names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

include!(concat!(env!("OUT_DIR"), "/unity_package.rs"));

/// The bytes of all files, one after the other.
static PLAIN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/unity_package.deflate"));
    miniz_oxide::inflate::decompress_to_vec(packed).expect("the build script has compressed them")
});

static FILES: LazyLock<Vec<(&str, &[u8])>> = LazyLock::new(|| {
    let mut rest = PLAIN.as_slice();
    let mut take = |length| rest.split_off(..length).expect("the build script has counted them");
    PACKED.iter().map(|(path, length)| (*path, take(*length))).collect()
});

/// The name of the package and of its folder in `Packages/`.
pub const NAME: &str = "dev.holdfast.unity";
pub const TITLE: &str = "Holdfast for Unity";

/// Returns every file: its path in the package (written with `/`) and its bytes.
pub fn files() -> &'static [(&'static str, &'static [u8])] {
    &FILES
}

pub fn sums() -> Sums {
    FILES.iter().map(|(path, bytes)| ((*path).to_owned(), Some(sum(path, bytes)))).collect()
}

#[derive(Debug, Clone)]
pub struct About {
    pub version: String,
    /// The oldest Unity version that the package supports, for example `2022.3`.
    pub unity: String,
    pub dependencies: Vec<(String, String)>,
}

impl About {
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

/// The sums of files by their paths (written with `/`). A sum is `None` if holdfast cannot have written the file (a link, a pipe,
/// too large, unreadable); then the file counts as changed.
pub type Sums = BTreeMap<String, Option<String>>;

/// Returns the sum of a file in hexadecimal. It is the SHA-256 of the file's bytes with LF as line ends, or, for a
/// `.meta` file, of the line with the GUID. Version control may change line ends, and versions of Unity rewrite the
/// `.meta` files of an embedded package. Neither is a change by the user.
pub fn sum(path: &str, bytes: &[u8]) -> String {
    let digest = Sha256::digest(meaning(path, bytes));
    digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn meaning<'a>(path: &str, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if path.ends_with(".meta") {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        if let Some(guid) = lines.into_iter().find(|line| line.starts_with(b"guid:")) {
            return Cow::Borrowed(guid);
        }
    }
    if !bytes.contains(&b'\r') {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if !(*byte == b'\r' && bytes.get(index + 1) == Some(&b'\n')) {
            plain.push(*byte);
        }
    }
    Cow::Owned(plain)
}
