//! The package that is embedded in the binary, compared with the source files from which it was built.

#[path = "../../../src/cli/unity/placed.rs"]
mod placed;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::placed::{LEFT_OUT, PLACED, passed_over};
use super::{RECORD, files, folder, installed, record, sha256};
use crate::binary::Place;

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("unity")
}

/// Returns the source files that belong to the package, found without the build script.
fn belonging() -> BTreeSet<String> {
    let all = files(&tree()).into_keys();
    all.filter(|path| {
        let mut parts = path.split('/');
        parts.next().is_some_and(|top| PLACED.contains(&top)) && !parts.any(passed_over)
    })
    .collect()
}

#[tokio::test]
async fn what_is_installed_is_the_tree_byte_for_byte() {
    let place = Place::new();
    let project = installed(&place).await;
    let mut placed = files(&folder(&project));
    let written = placed.remove(RECORD).expect("a record");
    assert!(written.starts_with(b"{\n"));
    assert_eq!(placed.keys().cloned().collect::<BTreeSet<_>>(), belonging());
    let record = record(&project);
    let files = record["files"].as_object().expect("a map");
    assert_eq!(files.len(), placed.len());
    for (path, bytes) in &placed {
        assert_eq!(fs::read(tree().join(path)).expect("readable"), *bytes, "{path}");
        // The line ends are as committed, so that anybody can verify a checksum with `sha256sum`.
        if !path.ends_with(".meta") {
            assert_eq!(files[path], sha256(bytes), "{path}");
        }
    }
}

#[test]
fn the_list_decides_about_everything_in_the_package() {
    let top: BTreeSet<String> = fs::read_dir(tree())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("Unicode"))
        .filter(|name| !name.starts_with('.'))
        .collect();
    let decided: BTreeSet<String> = PLACED.iter().chain(LEFT_OUT).map(|name| (*name).to_owned()).collect();
    assert_eq!(top, decided);
    assert!(PLACED.iter().all(|name| !LEFT_OUT.contains(name)));
}

#[test]
fn what_belongs_in_is_whole_without_the_rest() {
    let files = belonging();
    let in_folder = |folder: &str| files.iter().any(|path| path.starts_with(&format!("{folder}/")));
    // Unity would create a missing .meta, with another GUID in every project. It warns about a .meta without its asset.
    for path in &files {
        match path.strip_suffix(".meta") {
            Some(asset) => assert!(files.contains(asset) || in_folder(asset), "{path} belongs to nothing"),
            None => {
                let mut above = path.as_str();
                let hidden_at = above.split('/').position(|part| part.ends_with('~'));
                // Documentation~ and Samples~ themselves have no .meta, nor has what Unity never sees; a sample is copied with
                // its own.
                let wants = hidden_at.is_none() || above.starts_with("Samples~/");
                while wants && !above.ends_with('~') && !above.is_empty() {
                    assert!(files.contains(&format!("{above}.meta")), "{above} has no .meta");
                    above = above.rsplit_once('/').map_or("", |(above, _)| above);
                }
            }
        }
    }
    let json =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(tree().join(path)).expect("there")).expect("JSON") };
    let manifest = json("package.json");
    assert_eq!(manifest["name"], super::NAME);
    for sample in manifest["samples"].as_array().expect("a list") {
        assert!(in_folder(sample["path"].as_str().expect("a path")), "{sample}");
    }
    let assemblies: Vec<Value> = files.iter().filter(|path| path.ends_with(".asmdef")).map(|path| json(path)).collect();
    for reference in assemblies.iter().flat_map(|assembly| assembly["references"].as_array().into_iter().flatten()) {
        let ours = reference.as_str().is_some_and(|name| name.starts_with("Holdfast"));
        assert!(!ours || assemblies.iter().any(|assembly| assembly["name"] == *reference), "{reference} is left out");
    }
}
