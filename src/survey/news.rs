//! Follows the files of the user in which editors say what they do. An editor writes its file twice a second, mostly without news.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;

use super::look::user_file;
use crate::limits::PROJECT_FILE_MAX_BYTES;
use crate::platform::host::{Host, follow, run};
use crate::protocol::dialect::{Dialects, UserFile};

/// Calls `changed` when one of the files about this project says something else than before. Returns when they cannot be watched
/// (any more).
pub async fn follow_user_files(host: &Arc<dyn Host>, project: &Path, dialects: Dialects, changed: impl Fn()) {
    let (seeker, project) = (Arc::clone(host), project.to_path_buf());
    let seek = move || dialects.iter().filter_map(|dialect| user_file(&*seeker, &project, *dialect)).collect();
    let files: Vec<(UserFile, PathBuf)> = run(&**host, seek).await.unwrap_or_default();
    if files.is_empty() {
        return;
    }
    let paths: Vec<PathBuf> = files.iter().map(|(_, path)| path.clone()).collect();
    let files = Arc::new(files);
    let touched = Notify::new();
    let compare = async {
        let mut known: Vec<Option<Value>> = vec![None; files.len()];
        let mut is_known = false;
        loop {
            let (reader, files) = (Arc::clone(host), Arc::clone(&files));
            let read = move || files.iter().map(|(file, path)| read(&*reader, file, path)).collect::<Vec<_>>();
            let now = run(&**host, read).await.unwrap_or_default();
            let mut news = false;
            for (known, now) in known.iter_mut().zip(now) {
                let Read::Says(now) = now else { continue };
                news |= *known != now;
                *known = now;
            }
            if news && is_known {
                changed();
            }
            is_known = true;
            touched.notified().await;
        }
    };
    tokio::select! {
        biased;
        () = follow(host, &paths, || touched.notify_one()) => {}
        () = compare => {}
    }
}

/// What a file says, without what changes all the time.
enum Read {
    /// `None`: there is no such file.
    Says(Option<Value>),
    /// It is being written.
    Torn,
}

fn read(host: &dyn Host, file: &UserFile, path: &Path) -> Read {
    if !host.exists(path) {
        return Read::Says(None);
    }
    let bytes = host.read(path, PROJECT_FILE_MAX_BYTES).unwrap_or_default();
    let Ok(mut said) = serde_json::from_slice::<Value>(&bytes) else { return Read::Torn };
    if let Some(members) = said.as_object_mut() {
        members.remove(file.beat);
    }
    Read::Says(Some(said))
}
