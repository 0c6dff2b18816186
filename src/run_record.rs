//! The run record: `<state>/run/<pid>.json`, by which `holdfast status` sees every running gateway.
//!
//! Kept from the first session on (a client that only probes leaves no trace), renewed when the link changes and every few
//! seconds, removed at exit. A lock on a sibling file tells a record that a killed process left behind, without trusting pids.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::actors::gateway_tools;
use crate::estate::Estate;
use crate::limits::{FLUSH_MAX, PROJECT_FILE_MAX_BYTES, RUN_RECORD_EVERY, RUN_RECORD_SPACING};
use crate::telemetry::events;

/// Our own record.
#[derive(Debug)]
pub struct RunRecord {
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    task: JoinHandle<()>,
    path: PathBuf,
    /// Falls when the record is to be kept no longer.
    stop: oneshot::Sender<()>,
}

impl RunRecord {
    /// Keeps a record of this gateway, if there is a state folder.
    pub fn keep(estate: &Arc<Estate>) -> Self {
        let Some(folder) = estate.config.state_dir.as_ref().map(|state| state.join("run")) else {
            return Self { keeper: None };
        };
        let path = folder.join(format!("{}.json", std::process::id()));
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(renew(Arc::clone(estate), path.clone(), stopped));
        Self { keeper: Some(Keeper { task, path, stop }) }
    }

    /// Removes the record. A write that is under way ends first: it cannot be called back, and would leave the record behind.
    pub async fn remove(self) {
        let Some(Keeper { mut task, path, stop }) = self.keeper else { return };
        drop(stop);
        if timeout(FLUSH_MAX, &mut task).await.is_err() {
            task.abort();
        }
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_file(lock_of(&path));
    }
}

fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

async fn renew(estate: Arc<Estate>, path: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut link = estate.link.subscribe();
    // The first session is what the link is first wanted for.
    while !estate.client().opened {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            changed = link.changed() => if changed.is_err() { return },
        }
    }
    let Some(_lock) = lock(&estate, &path).await else { return };
    loop {
        let record = gateway_tools::status(&estate).to_string();
        let host = Arc::clone(&estate.host);
        let to = path.clone();
        let written = crate::host::run(&*estate.host, move || host.write(&to, record.as_bytes())).await;
        if let Some(Err(error)) = written {
            events::catalogue_trouble("run_record", &error.to_string());
        }
        let pause = async {
            sleep(RUN_RECORD_SPACING).await;
            let _ = timeout(RUN_RECORD_EVERY, link.changed()).await;
        };
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = pause => {}
        }
    }
}

/// Takes the lock that says that this process lives; held as long as the file is open.
async fn lock(estate: &Arc<Estate>, path: &Path) -> Option<std::fs::File> {
    let (host, at) = (Arc::clone(&estate.host), lock_of(path));
    let opened = crate::host::run(&*estate.host, move || {
        host.write(&at, b"")?;
        let file = std::fs::OpenOptions::new().write(true).open(&at)?;
        file.try_lock().map_err(std::io::Error::from)?;
        Ok::<_, std::io::Error>(file)
    });
    match opened.await? {
        Ok(file) => Some(file),
        Err(error) => {
            events::catalogue_trouble("run_record", &error.to_string());
            None
        }
    }
}

/// The records of all running gateways; what killed ones left behind is removed on the way.
pub fn all(state_dir: &Path) -> Vec<Value> {
    use crate::host::Host as _;
    let host = crate::host::RealHost;
    let mut records: Vec<(PathBuf, Value)> = Vec::new();
    for (path, _) in host.list(&state_dir.join("run")).unwrap_or_default() {
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let held =
            std::fs::OpenOptions::new().write(true).open(lock_of(&path)).is_ok_and(|file| file.try_lock().is_err());
        if !held {
            let _ = host.remove(&path);
            let _ = host.remove(&lock_of(&path));
            continue;
        }
        let read = host.read(&path, PROJECT_FILE_MAX_BYTES).ok();
        if let Some(record) = read.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            records.push((path, record));
        }
    }
    records.sort_by(|(a, _), (b, _)| a.cmp(b));
    records.into_iter().map(|(_, record)| record).collect()
}
