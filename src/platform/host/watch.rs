//! Watches files whose folders are removed and created again: Unity removes `Temp/` when it quits and creates it when it starts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::interface::{Host, Watch, run};
use crate::limits::WATCH_SPACING;

/// Calls `changed` after changes of these files, at most once per [`WATCH_SPACING`], since an editor may write many files at
/// once. Returns when the files cannot be watched (any more).
pub async fn follow(host: &Arc<dyn Host>, files: &[PathBuf], changed: impl Fn()) {
    let mut is_first = true;
    loop {
        let (looking, wanted) = (Arc::clone(host), files.to_vec());
        let Some(Some(mut watch)) = run(&**host, move || looking.watch(&wanted)).await else { return };
        // If this is not the first watch, `changed` is called after the watch has begun: files may have changed before that.
        let mut news = !std::mem::take(&mut is_first);
        loop {
            if news {
                changed();
                tokio::time::sleep(WATCH_SPACING).await;
            }
            if watch.changes.recv().await.is_none() {
                return;
            }
            if watch.is_outdated() {
                break;
            }
            news = true;
        }
    }
}

/// Starts a watch of files of the real machine. Returns `None` if none of their folders, and none above them, can be watched.
pub(super) fn real(files: &[PathBuf]) -> Option<Watch> {
    let (sender, changes) = mpsc::channel(1);
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let wanted: Vec<PathBuf> = files.to_vec();
    let above: BTreeSet<PathBuf> =
        folders.iter().flat_map(|folder| folder.ancestors()).map(Path::to_path_buf).collect();
    let outdated = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&outdated);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        let moved = comes_or_goes(event.kind) && event.paths.iter().any(|path| above.contains(path));
        if moved {
            flag.store(true, Ordering::Release);
        }
        // An event without paths means that events were lost. They may have been changes of these files.
        let changed = event.paths.is_empty() || event.paths.iter().any(|path| wanted.contains(path));
        if moved || changed && !matches!(event.kind, EventKind::Access(_)) {
            // If the channel is full, an earlier change was not received yet, and it stands for this one too.
            let _ = sender.try_send(());
        }
    })
    .ok()?;
    let mut watched = BTreeSet::new();
    let mut aim = |folder: &Path| {
        watched.contains(folder)
            || watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() && watched.insert(folder.to_path_buf())
    };
    for folder in folders {
        // If a folder is missing, the nearest existing folder above it is watched, to see when the next one is created. If the
        // folder exists, the folder above it is watched too, because not every system reports the removal of a folder to a watch
        // of that folder.
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !aim(folder)).collect();
        if missing.is_empty() {
            folder.parent().map(&mut aim);
        }
        // Some of the missing folders may have been created before the watch of their parent began.
        let _ = missing.into_iter().rev().all(&mut aim);
    }
    (!watched.is_empty()).then(|| Watch { changes, outdated, _guard: Box::new(watcher) })
}

fn comes_or_goes(kind: EventKind) -> bool {
    matches!(kind, EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;

    #[tokio::test]
    async fn a_file_is_news_also_in_a_folder_that_was_removed_and_made_anew() {
        let project = tempfile::tempdir().unwrap();
        let project = dunce::canonicalize(project.path()).unwrap();
        let temp = project.join("Temp");
        let lock = temp.join("deeper/compiling.lock");
        let folder = lock.parent().unwrap();
        std::fs::create_dir_all(folder).unwrap();
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let (tell, mut told) = mpsc::channel(16);
        let files = vec![lock.clone(), project.join("holdfast.toml")];
        let following = tokio::spawn(async move { follow(&host, &files, || _ = tell.try_send(())).await });
        let mut heard_of = async |what: &str, act: &dyn Fn()| {
            // The change is repeated until it is reported, since nothing shows when the watch has begun.
            let seen = async {
                loop {
                    act();
                    if tokio::time::timeout(3 * WATCH_SPACING, told.recv()).await.is_ok() {
                        break;
                    }
                }
                // Receives any further reports of the same change.
                while tokio::time::timeout(3 * WATCH_SPACING, told.recv()).await.is_ok() {}
            };
            tokio::time::timeout(std::time::Duration::from_secs(30), seen).await.expect(what);
        };
        heard_of("a file in a folder that is there", &|| std::fs::write(&lock, "1").unwrap()).await;
        for round in 0..2 {
            heard_of("the folder goes", &|| {
                std::fs::create_dir_all(folder).unwrap();
                std::fs::remove_dir_all(&temp).unwrap();
            })
            .await;
            std::fs::create_dir_all(folder).unwrap();
            let write = || std::fs::write(&lock, format!("{round}")).unwrap();
            heard_of("a file in the new folder", &write).await;
            heard_of("and again", &write).await;
        }
        following.abort();
    }
}
