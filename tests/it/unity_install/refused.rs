//! What `holdfast unity install` refuses to change, and the text of each refusal.

use std::fs;
use std::path::Path;

use super::{NAME, RECORD, age, castle, files, folder, in_packages, install, installed, times};
#[cfg(unix)]
use crate::binary::text;
use crate::binary::{Done, Place};

/// Checks that a command is refused: exit code 1, these words in the output, and no change to any file or modification time.
async fn is_refused(place: &Place, project: &Path, words: &[&str], says: &[&str]) -> Done {
    let before = (files(project), times(project));
    let done = install(place, project, words).await;
    assert_eq!((done.code, &*done.out), (Some(1), ""), "{done:?}");
    for word in says.iter().chain(&["Nothing was changed."]) {
        assert!(done.err.contains(word), "{word}: {done:?}");
    }
    assert_eq!((files(project), times(project)), before, "{done:?}");
    done
}

#[tokio::test]
async fn what_is_no_project_is_wrong_usage() {
    let place = Place::new();
    let here = place.run(["unity", "install"]).await;
    assert!(
        here.code == Some(2) && here.err.contains("is not a Unity project") && here.err.contains("--project"),
        "{here:?}"
    );
    let elsewhere = install(&place, &place.path("elsewhere"), &["--check"]).await;
    assert!(elsewhere.code == Some(2) && elsewhere.err.contains("is not a Unity project"), "{elsewhere:?}");
    let nowhere = install(&place, &place.path("nowhere"), &["--remove"]).await;
    assert!(nowhere.code == Some(2) && nowhere.err.contains("there is no folder"), "{nowhere:?}");
    assert!(fs::read_dir(place.path("elsewhere")).expect("there").next().is_none());
}

#[tokio::test]
async fn flags_that_contradict_each_other_are_wrong_usage() {
    let place = Place::new();
    let project = castle(&place);
    for words in [&["--check", "--remove"][..], &["--check", "--force"], &["--check", "--dry-run"], &["--json"]] {
        let done = install(&place, &project, words).await;
        assert_eq!(done.code, Some(2), "{words:?}: {done:?}");
    }
}

#[tokio::test]
async fn a_unity_that_is_too_old_is_refused() {
    for (version, taken) in [
        ("2021.3.45f1", false),
        ("2022.2.21f1", false),
        ("5.6.7f1", false),
        ("2022.3.0f1", true),
        ("6000.0.58f2", true),
        ("6000.5.0a3", true),
    ] {
        let place = Place::new();
        let project = castle(&place);
        let text = format!("m_EditorVersion: {version}\nm_EditorVersionWithRevision: {version} (1a2b3c)\n");
        place.write("Castle/ProjectSettings/ProjectVersion.txt", text);
        if taken {
            let done = install(&place, &project, &[]).await;
            assert_eq!(done.code, Some(0), "{version}: {done:?}");
        } else {
            is_refused(&place, &project, &[], &[version, "2022.3 or newer"]).await;
            is_refused(&place, &project, &["--force"], &[version]).await;
        }
    }
}

#[tokio::test]
async fn a_package_that_the_project_has_from_elsewhere_is_refused() {
    for wish in ["0.1.0", "https://example.org/holdfast.git?path=unity#v0.1.0", "file:../../holdfast/unity"] {
        let place = Place::new();
        let project = castle(&place);
        place.write("Castle/Packages/manifest.json", format!(r#"{{"dependencies":{{"{NAME}":"{wish}"}}}}"#));
        is_refused(&place, &project, &[], &["manifest.json already brings", wish, "take it out"]).await;
        is_refused(&place, &project, &["--force"], &[wish]).await;
    }
    let place = Place::new();
    let project = castle(&place);
    place.write("Castle/Packages/holdfast/package.json", format!(r#"{{"name":"{NAME}","version":"0.0.1"}}"#));
    is_refused(&place, &project, &[], &["Packages/holdfast holds a package", "remove one"]).await;
}

#[tokio::test]
async fn a_manifest_is_read_as_unity_reads_it() {
    let place = Place::new();
    let project = castle(&place);
    place.write("Castle/Packages/manifest.json", "{\"dependencies\": {");
    is_refused(&place, &project, &[], &["manifest.json cannot be understood"]).await;
    // These are accepted: the package's own folder as the dependency, a byte order mark, no dependencies, no manifest.
    for manifest in [
        &format!(r#"{{"dependencies":{{"{NAME}":"file:{NAME}"}}}}"#),
        &format!(r#"{{"dependencies":{{"{NAME}":"file:./{NAME}"}}}}"#),
        "\u{feff}{\"dependencies\":{}}",
        "{}",
    ] {
        place.write("Castle/Packages/manifest.json", manifest);
        let done = install(&place, &project, &[]).await;
        assert_eq!(done.code, Some(0), "{manifest}: {done:?}");
    }
    fs::remove_dir_all(project.join("Packages")).expect("there");
    let done = install(&place, &project, &[]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[tokio::test]
async fn work_in_the_folder_is_named_and_kept() {
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    place.write(&format!("Castle/Packages/{NAME}/Editor/Mine.cs"), "// mine\n");
    // With the same version the file may stay; with another version the whole folder would be replaced.
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && done.out.contains("yours") && done.out.contains("Editor/Mine.cs"), "{done:?}");
    is_refused(&place, &project, &["--remove"], &["added: Editor/Mine.cs", "--force"]).await;
    age(&project);
    is_refused(&place, &project, &[], &["added: Editor/Mine.cs", "--force"]).await;
    place.write(&format!("Castle/Packages/{NAME}/Core/Limits.cs"), "// mine too\n");
    is_refused(&place, &project, &[], &["changed: Core/Limits.cs; added: Editor/Mine.cs"]).await;
    is_refused(&place, &project, &["--dry-run"], &["changed: Core/Limits.cs"]).await;
    let done = install(&place, &project, &["--force"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(files(&folder(&project)), fresh);
    place.write(&format!("Castle/Packages/{NAME}/Core/Limits.cs"), "// mine again\n");
    is_refused(&place, &project, &["--remove"], &["changed: Core/Limits.cs"]).await;
    let done = install(&place, &project, &["--remove", "--force"]).await;
    assert_eq!((done.code, in_packages(&project)), (Some(0), vec!["manifest.json".to_owned()]), "{done:?}");
}

#[tokio::test]
async fn a_folder_of_somebody_else_is_kept() {
    for record in [None, Some("not JSON"), Some(r#"{"package":"another","version":"1.0.0","about":"","files":{}}"#)] {
        let place = Place::new();
        let project = castle(&place);
        let manifest = format!("Castle/Packages/{NAME}/package.json");
        place.write(&manifest, format!(r#"{{"name":"{NAME}","version":"0.0.5"}}"#));
        if let Some(record) = record {
            place.write(&format!("Castle/Packages/{NAME}/{RECORD}"), record);
        }
        is_refused(&place, &project, &[], &["holdfast did not put it there", "--force"]).await;
        is_refused(&place, &project, &["--remove"], &["holdfast did not put it there"]).await;
        let check = install(&place, &project, &["--check", "--json"]).await;
        assert_eq!((check.code, &check.json()["state"]), (Some(1), &"foreign".into()));
        let done = install(&place, &project, &["--force"]).await;
        assert_eq!((done.code, in_packages(&project).len()), (Some(0), 2), "{done:?}");
    }
    // There is a file in place of the package's folder.
    let place = Place::new();
    let project = castle(&place);
    place.write(&format!("Castle/Packages/{NAME}"), "x");
    is_refused(&place, &project, &[], &["holdfast did not put it there"]).await;
    let done = install(&place, &project, &["--force"]).await;
    assert_eq!((done.code, in_packages(&project).len()), (Some(0), 2), "{done:?}");
    assert!(folder(&project).join("package.json").is_file());
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    // The folder belongs to another project and looks like an installed package.
    let outside = installed(&place).await;
    age(&outside);
    let kept = (files(&outside), times(&outside));
    for linked in ["Packages", &format!("Packages/{NAME}"), "Packages/.holdfast-install~"] {
        let other = Place::new();
        let project = castle(&other);
        let at = project.join(linked);
        let _ = fs::remove_dir_all(&at);
        let to = if linked == "Packages" { outside.join("Packages") } else { folder(&outside) };
        symlink(&to, &at).expect("it can be made");
        for words in [&[][..], &["--force"], &["--remove"], &["--remove", "--force"]] {
            let done = install(&other, &project, words).await;
            let nothing_to_do = linked.ends_with('~') && words.contains(&"--remove");
            assert!(done.code == Some(1) || nothing_to_do, "{linked} {words:?}: {done:?}");
            assert!(done.err.contains(text(&at)) || nothing_to_do, "{linked} {words:?}: {done:?}");
            assert!(at.is_symlink(), "{linked} {words:?}: {done:?}");
        }
        assert_eq!((files(&outside), times(&outside)), kept, "{linked}");
    }
    // A link inside the package is treated as a change by the user. With `--force` the link itself is replaced, not the file
    // that it leads to.
    let other = Place::new();
    let project = installed(&other).await;
    let file = folder(&project).join("Core/Bridge.cs");
    fs::remove_file(&file).expect("there");
    symlink(folder(&outside).join("Core/Bridge.cs"), &file).expect("it can be made");
    symlink(&outside, folder(&project).join("Core/Link")).expect("it can be made");
    is_refused(&other, &project, &[], &["changed: Core/Bridge.cs; added: Core/Link)"]).await;
    let done = install(&other, &project, &["--force"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!file.is_symlink() && !folder(&project).join("Core/Link").is_symlink());
    assert_eq!((files(&outside), times(&outside)), kept);
}

/// Creates a clone next to the original, as ParrelSync makes it, with its own Library.
#[cfg(unix)]
fn cloned(project: &Path) -> std::path::PathBuf {
    let clone = project.with_file_name("Castle_clone_0");
    fs::create_dir_all(clone.join("Library")).expect("writable");
    for part in ["Assets", "Packages", "ProjectSettings"] {
        std::os::unix::fs::symlink(project.join(part), clone.join(part)).expect("it can be made");
    }
    clone
}

#[cfg(unix)]
#[tokio::test]
async fn a_clone_has_the_package_of_its_original() {
    let place = Place::new();
    let project = castle(&place);
    let clone = cloned(&project);
    let command = format!("holdfast unity install --project {}", text(&project));
    let is_clone = format!("{} is a clone of {}", text(&clone), text(&project));
    let told = || async {
        let done = place.run(["doctor", "--json", "--project", text(&clone)]).await.json();
        let all = done["findings"].as_array().expect("a list").clone();
        let of_package = all.into_iter().filter(|one| one["about"] == "package").collect::<Vec<_>>();
        assert_eq!(of_package.len(), 1, "{of_package:?}");
        of_package[0].clone()
    };
    for words in [&[][..], &["--force"], &["--dry-run"], &["--remove"]] {
        is_refused(&place, &clone, words, &[&is_clone, &command]).await;
    }
    let absent = told().await;
    assert!(absent["mend"].as_str().expect("a fix").contains(&command), "{absent}");

    let done = install(&place, &project, &[]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let there = told().await;
    assert_eq!((&there["level"], &there["mend"]), (&"ok".into(), &serde_json::Value::Null), "{there}");
    let says = there["says"].as_str().expect("a sentence");
    assert!(says.contains(&is_clone) && says.contains("is installed, which is this program's"), "{says}");
    let check = install(&place, &clone, &["--check", "--json"]).await;
    assert_eq!((check.code, &check.json()["clone_of"]), (Some(0), &text(&project).into()), "{check:?}");
    for words in [&[][..], &["--force"], &["--remove"], &["--remove", "--force"]] {
        is_refused(&place, &clone, words, &[&is_clone, &command]).await;
    }

    age(&project);
    let old = told().await;
    assert_ne!(old["level"], "ok", "{old}");
    assert_eq!(old["mend"], command, "{old}");
    assert!(!old.to_string().contains("put a folder in its place"), "{old}");
}
