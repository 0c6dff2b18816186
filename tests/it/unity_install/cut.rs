//! An interrupted installation leaves either the old or the new package, and the next run cleans up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{NAME, age, castle, files, folder, in_packages, install, installed};
use crate::binary::{Place, text, within};
use crate::process::room::start;

fn work(project: &Path) -> PathBuf {
    project.join("Packages/.holdfast-install~")
}

#[tokio::test]
async fn an_unfinished_package_is_thrown_away() {
    let place = Place::new();
    let project = castle(&place);
    place.write("Castle/Packages/.holdfast-install~/lock", "");
    place.write("Castle/Packages/.holdfast-install~/new/Core/Bridge.cs", "// half");
    let check = install(&place, &project, &["--check", "--json"]).await;
    assert_eq!(check.json()["state"], "absent");
    let done = install(&place, &project, &[]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
    // That also happens if there is nothing else to do, and if the request is refused.
    place.write("Castle/Packages/.holdfast-install~/new/Core/Bridge.cs", "// half");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && done.out.contains("already installed"), "{done:?}");
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
    fs::write(folder(&project).join("Core/Bridge.cs"), "// mine\n").expect("writable");
    place.write("Castle/Packages/.holdfast-install~/new/Core/Bridge.cs", "// half");
    let done = install(&place, &project, &[]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
}

#[tokio::test]
async fn a_former_package_that_waits_is_put_back_and_then_replaced() {
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    age(&project);
    fs::create_dir(work(&project)).expect("writable");
    fs::rename(folder(&project), work(&project).join("former")).expect("it can be moved");
    let check = install(&place, &project, &["--check", "--json"]).await;
    assert_eq!((check.code, &check.json()["state"]), (Some(1), &"interrupted".into()), "{check:?}");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(0) && done.err.contains("was put back") && done.out.contains("0.0.9"), "{done:?}");
    assert_eq!(files(&folder(&project)), fresh);
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
}

/// The user's changes are as safe in a package that was moved aside as in one in its folder.
#[tokio::test]
async fn a_former_package_with_somebodys_work_comes_back_with_it() {
    let place = Place::new();
    let project = installed(&place).await;
    fs::write(folder(&project).join("Core/Bridge.cs"), "// mine\n").expect("writable");
    let mine = files(&folder(&project));
    for words in [&[][..], &["--remove"]] {
        fs::create_dir(work(&project)).expect("writable");
        fs::rename(folder(&project), work(&project).join("former")).expect("it can be moved");
        let done = install(&place, &project, words).await;
        assert!(done.code == Some(1) && done.err.contains("changed: Core/Bridge.cs"), "{done:?}");
        assert_eq!(files(&folder(&project)), mine);
        assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
    }
}

#[tokio::test]
async fn what_was_replaced_or_removed_and_not_yet_deleted_goes() {
    for left in ["former", "new", "gone"] {
        let place = Place::new();
        let project = installed(&place).await;
        let fresh = files(&folder(&project));
        place.write(&format!("Castle/Packages/.holdfast-install~/{left}/package.json"), "{}");
        let done = install(&place, &project, &[]).await;
        assert_eq!((done.code, files(&folder(&project))), (Some(0), fresh), "{left}: {done:?}");
        assert_eq!(in_packages(&project), [NAME, "manifest.json"], "{left}");
    }
    // A removal that was interrupted is treated as done.
    let place = Place::new();
    let project = installed(&place).await;
    fs::create_dir(work(&project)).expect("writable");
    fs::rename(folder(&project), work(&project).join("gone")).expect("it can be moved");
    let done = install(&place, &project, &["--remove"]).await;
    assert!(done.code == Some(0) && done.out.contains("Nothing to change"), "{done:?}");
    assert_eq!(in_packages(&project), ["manifest.json"]);
}

#[tokio::test]
async fn a_second_one_at_the_same_time_is_turned_away() {
    let place = Place::new();
    let project = castle(&place);
    let path = place.write("Castle/Packages/.holdfast-install~/lock", "");
    let lock = fs::File::options().write(true).open(path).expect("there");
    lock.try_lock().expect("nobody else has it");
    let done = install(&place, &project, &[]).await;
    assert!(done.code == Some(1) && done.err.contains("another holdfast is installing"), "{done:?}");
    assert!(!folder(&project).exists() && work(&project).join("lock").exists());
    drop(lock);
    let done = install(&place, &project, &[]).await;
    assert_eq!((done.code, in_packages(&project).len()), (Some(0), 2), "{done:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_refused_write_leaves_the_older_package() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let project = installed(&place).await;
    age(&project);
    let before = files(&folder(&project));
    let packages = project.join("Packages");
    fs::set_permissions(&packages, fs::Permissions::from_mode(0o555)).expect("ours");
    // For root nothing is read-only.
    let bound = fs::create_dir(packages.join("probe")).is_err();
    let done = install(&place, &project, &[]).await;
    fs::set_permissions(&packages, fs::Permissions::from_mode(0o755)).expect("ours");
    if bound {
        assert!(done.code == Some(1) && done.err.contains("cannot be written"), "{done:?}");
        assert_eq!(files(&folder(&project)), before);
    } else {
        assert_eq!(done.code, Some(0), "{done:?}");
    }
}

/// Kills the installation at moments spread over a whole run. After each kill, one complete package exists. It is in its
/// folder, unless the system cannot exchange two folders.
#[tokio::test]
async fn a_kill_at_any_moment_leaves_one_whole_package() {
    const KILLS: u32 = 24;
    let place = Place::new();
    let project = installed(&place).await;
    let fresh = files(&folder(&project));
    age(&project);
    let older = files(&folder(&project));
    let begun = tokio::time::Instant::now();
    assert_eq!(install(&place, &project, &[]).await.code, Some(0));
    let whole = begun.elapsed().max(Duration::from_millis(10));
    let mut cut = 0;
    for kill in 0..KILLS {
        if files(&folder(&project)) == fresh {
            age(&project);
        }
        let words = ["unity", "install", "--project", text(&project)];
        let mut child = start(|| place.command(words).spawn());
        tokio::time::sleep(whole * kill / KILLS).await;
        child.start_kill().expect("it is ours");
        let ended = within("its end", child.wait()).await.expect("it can be waited for");
        cut += u32::from(!ended.success());
        let waits = work(&project).join("former");
        let stepped_aside = !cfg!(target_os = "linux") && !folder(&project).exists() && waits.exists();
        if stepped_aside {
            fs::rename(waits, folder(&project)).expect("it can be moved");
        }
        let now = files(&folder(&project));
        assert!(now == fresh || now == older, "kill {kill}: {:?}", now.keys().collect::<Vec<_>>());
    }
    assert!(cut > 0, "not one of {KILLS} was cut");
    let done = install(&place, &project, &[]).await;
    assert_eq!((done.code, files(&folder(&project))), (Some(0), fresh), "{done:?}");
    assert_eq!(in_packages(&project), [NAME, "manifest.json"]);
}
