//! The run record: `<state>/run/<pid>.json`, by which `holdfast status` sees every running gateway.
//!
//! Kept from the first session on (a client that only probes leaves no trace), renewed when something happens (a state, a call,
//! the link; twice a second at most) and every few seconds, removed at exit. What a killed process left behind is told by its lock ([`crate::state_record`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::actors::gateway_tools;
use crate::estate::Estate;
use crate::limits::{FLUSH_MAX, RUN_RECORD_EVERY, RUN_RECORD_MAX_BYTES, RUN_RECORD_SPACING};
use crate::state_record::{self, StateRecord};

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
        let path = state_record::path_in(&folder);
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
        state_record::remove(&path);
    }
}

async fn renew(estate: Arc<Estate>, path: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut link = estate.link.subscribe();
    let mut transitions = estate.events.transitions();
    // The first session is what the link is first wanted for.
    while !estate.client().opened {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            changed = link.changed() => if changed.is_err() { return },
        }
    }
    let record = match StateRecord::claim(&estate.host, path).await {
        Ok(record) => record,
        Err(error) => return estate.events.catalogue_trouble("run_record", &error.to_string()),
    };
    loop {
        let picture = gateway_tools::picture(&estate).to_string();
        if let Err(error) = record.write(&estate.host, picture.into_bytes()).await {
            estate.events.catalogue_trouble("run_record", &error.to_string());
        }
        let pause = async {
            sleep(RUN_RECORD_SPACING).await;
            let news = async {
                tokio::select! {
                    _ = link.changed() => {}
                    _ = transitions.changed() => {}
                    () = estate.calls_moved() => {}
                }
            };
            let _ = timeout(RUN_RECORD_EVERY, news).await;
        };
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = pause => {}
        }
    }
}

/// The records of all running gateways; what killed ones left behind is removed on the way.
pub fn all(state_dir: &Path) -> Vec<Value> {
    use crate::host::Host as _;
    let host = crate::host::RealHost;
    let read = |path: &PathBuf| {
        let bytes = host.read(path, RUN_RECORD_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    state_record::living(&host, &state_dir.join("run")).iter().filter_map(read).collect()
}
