//! Keeps the record of this gateway, `<state>/run/<pid>.json`, by which `holdfast status` sees every running gateway.
//!
//! Kept from the first session on (a client that only probes leaves no trace), renewed when something happens (a state, a call,
//! the link; twice a second at most) and every few seconds, removed at exit. What a killed process left behind is told by its lock ([`crate::storage::locked_record`]).

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::gateway_tools::GatewayTools;
use crate::limits::{FLUSH_MAX, RUN_RECORD_BUSY_EVERY, RUN_RECORD_EVERY, RUN_RECORD_SPACING};
use crate::storage::instance_record;
use crate::storage::locked_record::{self, StateRecord};

/// Our own record.
#[derive(Debug)]
pub struct RunRecord {
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    task: JoinHandle<()>,
    /// Falls when the record is to be kept no longer.
    stop: oneshot::Sender<()>,
}

impl RunRecord {
    /// Keeps a record of this gateway, if there is a state folder.
    pub fn keep(seen: &GatewayTools) -> Self {
        let Some(folder) = seen.env.config.state_dir.as_ref().map(|state| state.join(instance_record::FOLDER)) else {
            return Self { keeper: None };
        };
        let path = locked_record::path_in(&folder);
        let (stop, stopped) = oneshot::channel();
        let task = seen.env.health.spawn("run_record", renew(seen.clone(), path, stopped));
        Self { keeper: Some(Keeper { task, stop }) }
    }

    /// Removes the record, if it was claimed. A write that is under way ends first: it cannot be called back, and would leave the record behind.
    pub async fn remove(self) {
        let Some(Keeper { mut task, stop }) = self.keeper else { return };
        drop(stop);
        if timeout(FLUSH_MAX, &mut task).await.is_err() {
            task.abort();
            // The record goes with it.
            let _ = task.await;
        }
    }
}

async fn renew(seen: GatewayTools, path: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut link = seen.link.view.subscribe();
    let mut transitions = seen.env.events.transitions();
    // The first session is what the link is first wanted for.
    while !seen.client.handshake().opened {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            changed = link.changed() => if changed.is_err() { return },
        }
    }
    let record = match StateRecord::claim(&seen.env.host, path).await {
        Ok(record) => record,
        Err(error) => return seen.env.events.catalogue_trouble("run_record", &error.to_string()),
    };
    let mut reaped = false;
    loop {
        let snapshot = seen.snapshot().to_string();
        if let Err(error) = record.write(&seen.env.host, snapshot.into_bytes()).await {
            seen.env.events.catalogue_trouble("run_record", &error.to_string());
        }
        // Behind the first record: nobody waits for it.
        if !std::mem::replace(&mut reaped, true)
            && let Some(state) = seen.env.config.state_dir.clone()
        {
            let host = Arc::clone(&seen.env.host);
            crate::platform::host::run(&*seen.env.host, move || locked_record::reap(&*host, &state)).await;
        }
        let pause = async {
            sleep(RUN_RECORD_SPACING).await;
            let news = async {
                tokio::select! {
                    _ = link.changed() => {}
                    _ = transitions.changed() => {}
                    () = seen.calls.shared.moved() => {}
                }
            };
            let idle = seen.calls.ledger(|ledger, _| ledger.counts()) == (0, 0);
            let _ = timeout(if idle { RUN_RECORD_EVERY } else { RUN_RECORD_BUSY_EVERY }, news).await;
        };
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = pause => {}
        }
    }
}
