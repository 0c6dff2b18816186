//! `holdfast fake-unity` in a project that somebody works on: their files are not its own.

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_fake_unity::PACKAGES;
use serde_json::json;

use crate::binary::{Place, Unity, text};

#[tokio::test]
async fn a_simulated_editor_changes_no_file_of_a_real_project() {
    for dialect in PACKAGES.iter().map(|package| package.name) {
        let place = Place::new();
        let project = place.project("Castle");
        let version = "m_EditorVersion: 6000.0.30f1\n";
        place.write("Castle/ProjectSettings/ProjectVersion.txt", version);
        let before = all_files(&project);
        let words = ["--dialect", dialect, "--project", text(&project)];
        let mut unity = Unity::start(&place, &words).await;
        let left = unity.hear("left_alone").await;
        assert_eq!(left["files"], json!(["ProjectSettings/ProjectVersion.txt"]), "{dialect}");
        assert_eq!(all_files(&project)["ProjectSettings/ProjectVersion.txt"], version.as_bytes(), "{dialect}");
        unity.quit().await;
        assert_eq!(all_files(&project), before, "{dialect}: what it made is gone");

        // A manifest without the package cannot be worked with; it is not changed, whatever it costs.
        let manifest = r#"{"dependencies": {"com.unity.ugui": "1.0.0"}}"#;
        place.write("Castle/Packages/manifest.json", manifest);
        place.write("Castle/Library/EditorInstance.json", r#"{"process_id": 1}"#);
        let before = all_files(&project);
        let refused = place.run(["fake-unity", "--port", "0"].into_iter().chain(words)).await;
        assert!(refused.code == Some(1) && refused.err.contains("Name a folder of its own"), "{dialect}: {refused:?}");
        assert_eq!(all_files(&project), before, "{dialect}: nothing is left of what it began");

        // A folder that it made itself is its own, also the next time.
        let own = place.path("Own");
        for _ in 0..2 {
            Unity::start(&place, &["--dialect", dialect, "--project", text(&own)]).await.quit().await;
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_mark_that_came_with_somebody_elses_project_is_not_believed() {
    let place = Place::new();
    let precious = place.write("precious.txt", "keep");
    let project = place.project("Castle");
    place.write("Castle/ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 6000.0.30f1\n");
    let lies = [
        json!({"root": "/elsewhere", "whole": true, "temp": true, "made": []}),
        json!({"root": project, "whole": false, "temp": false, "made": ["../precious.txt", text(&precious)]}),
    ];
    for mark in lies {
        place.write("Castle/.holdfast-fake-unity.json", mark.to_string());
        let mut unity = Unity::start(&place, &["--project", text(&project)]).await;
        unity.hear("left_alone").await;
        unity.quit().await;
        assert!(precious.exists() && project.join("ProjectSettings/ProjectVersion.txt").exists(), "{mark}");
    }
    std::os::unix::fs::symlink(&precious, project.join(".holdfast-fake-unity.json")).expect("writable");
    let refused = place.run(["fake-unity", "--port", "0", "--project", text(&project)]).await;
    assert!(refused.code == Some(1) && refused.err.contains("no regular file"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&precious).expect("there"), "keep");
}

#[tokio::test]
async fn a_folder_with_files_in_it_was_made_by_somebody_else() {
    let place = Place::new();
    place.write("Half/Temp/keep.txt", "keep");
    place.write("Half/notes.md", "mine");
    let before = all_files(&place.path("Half"));
    let half = place.path("Half");
    Unity::start(&place, &["--project", text(&half)]).await.quit().await;
    let after = all_files(&half);
    assert!(before.iter().all(|(name, bytes)| after.get(name) == Some(bytes)), "{:?}", after.keys());
}

/// Every file below a folder, with its bytes.
fn all_files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").to_string_lossy().replace('\\', "/");
                files.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    files
}
