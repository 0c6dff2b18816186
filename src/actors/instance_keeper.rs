//! Writes the record of this gateway, `<state>/run/<pid>.json`. `holdfast status` finds every running gateway by its record.
//!
//! The record is written once the session has opened, so a client that only tests the server leaves no trace. It is rewritten
//! every few seconds, and earlier when the link, a call or a machine changes state, but at most twice a second. It is removed at
//! exit. The lock of a record shows whether its process was killed ([`crate::storage::locked_record`]).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::editors;
use super::parts::Parts;
use super::seat::Seat;
use crate::core::user_text;
use crate::limits::{FLUSH_MAX, RUN_RECORD_BUSY_EVERY, RUN_RECORD_EVERY, RUN_RECORD_MAX_BYTES, RUN_RECORD_SPACING};
use crate::runtime::environment::Environment;
use crate::storage::instance_record;
use crate::storage::locked_record::{self, StateRecord};

/// This gateway's own run record, or nothing if there is no state folder.
#[derive(Debug)]
pub struct RunRecord {
    keeper: Option<Keeper>,
}

#[derive(Debug)]
struct Keeper {
    task: JoinHandle<()>,
    /// Dropped to end the task.
    stop: oneshot::Sender<()>,
}

impl RunRecord {
    /// Starts the task that writes this gateway's record. Does nothing if there is no state folder.
    pub fn keep(seat: Seat) -> Self {
        let Some(folder) = seat.env.config.state_dir.as_ref().map(|state| state.join(instance_record::FOLDER)) else {
            return Self { keeper: None };
        };
        let path = locked_record::path_in(&folder);
        let (stop, stopped) = oneshot::channel();
        let task = Arc::clone(&seat.env).health.spawn("run_record", renew(seat, path, stopped));
        Self { keeper: Some(Keeper { task, stop }) }
    }

    /// Removes the record, if it was claimed. Waits for a write that is under way: it cannot be cancelled, and would leave the
    /// record behind.
    pub async fn remove(self) {
        let Some(Keeper { mut task, stop }) = self.keeper else { return };
        drop(stop);
        if timeout(FLUSH_MAX, &mut task).await.is_err() {
            task.abort();
            // The record is removed when the task drops it.
            let _ = task.await;
        }
    }
}

/// The record of a hub, with a snapshot of each session.
#[derive(Debug)]
pub struct HubRecord(RunRecord);

impl HubRecord {
    /// Starts the task that writes the hub's record. Does nothing if there is no state folder.
    pub fn keep(parts: &Arc<Parts>) -> Self {
        let Some(folder) = parts.env.config.state_dir.as_ref().map(|state| state.join(instance_record::FOLDER)) else {
            return Self(RunRecord { keeper: None });
        };
        let (stop, stopped) = oneshot::channel();
        let renewing = renew_hub(Arc::clone(parts), locked_record::path_in(&folder), stopped);
        let task = parts.env.health.spawn("run_record", renewing);
        Self(RunRecord { keeper: Some(Keeper { task, stop }) })
    }

    /// Removes the record, as [`RunRecord::remove`] does.
    pub async fn remove(self) {
        self.0.remove().await;
    }
}

async fn renew_hub(parts: Arc<Parts>, path: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut renewed = Renewed::new();
    let Some(record) = claimed(&parts.env, &path, &mut stopped, &mut renewed).await else { return };
    loop {
        let snapshots = hub_snapshots(&parts);
        let bytes = serde_json::to_vec(&snapshots).unwrap_or_default();
        // With very many calls and machines a record may be too long to be read back.
        if bytes.len() <= RUN_RECORD_MAX_BYTES {
            let written = record.write(&parts.env.host, bytes).await;
            renewed.note(&parts.env, &written);
        }
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            // A session that opens or ends is shown soon.
            () = async {
                let next = Instant::now() + RUN_RECORD_BUSY_EVERY;
                while Instant::now() < next && opened_sessions(&parts) == snapshots.len() {
                    sleep(RUN_RECORD_SPACING).await;
                }
            } => {}
        }
    }
}

/// Claims the record, as soon as the folder can be written. `None` once `stopped`.
async fn claimed(
    env: &Environment,
    path: &Path,
    stopped: &mut oneshot::Receiver<()>,
    renewed: &mut Renewed,
) -> Option<StateRecord> {
    loop {
        match StateRecord::claim(&env.host, path.to_path_buf()).await {
            Ok(record) => return Some(record),
            Err(error) => renewed.note(env, &Err(error)),
        }
        tokio::select! {
            biased;
            _ = &mut *stopped => return None,
            () = sleep(RUN_RECORD_EVERY) => {}
        }
    }
}

/// When the record was written last, and whether it can still be written.
struct Renewed {
    at: Instant,
    fails: bool,
}

impl Renewed {
    fn new() -> Self {
        Self { at: Instant::now(), fails: false }
    }

    /// Remembers whether the record could be written. A failure is logged once.
    fn note(&mut self, env: &Environment, written: &io::Result<()>) {
        let fails = std::mem::replace(&mut self.fails, written.is_err());
        let problem = match written {
            Ok(()) => {
                self.at = Instant::now();
                None
            }
            Err(error) => {
                if !fails {
                    env.events.trouble_with("run_record", &error.to_string());
                }
                Some(user_text::record_is_old(self.at.elapsed(), &error.to_string()))
            }
        };
        env.health.set_problem("run_record", problem);
    }
}

/// Returns a snapshot of each open session of a hub, if its client has opened it.
pub fn hub_snapshots(parts: &Parts) -> Vec<Value> {
    let clients = parts.sessions.local();
    let opened = clients.iter().filter(|client| client.handshake().opened);
    opened.map(|client| editors::snapshot(&parts.seat(client))).collect()
}

/// The number of open sessions of a hub whose clients have opened them.
fn opened_sessions(parts: &Parts) -> usize {
    parts.sessions.local().iter().filter(|client| client.handshake().opened).count()
}

async fn renew(seat: Seat, path: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut seen = seat.tools();
    let mut transitions = seen.env.events.transitions();
    // When the session opens, its machine moves: so it is enough to check after each transition.
    while !seen.client.handshake().opened {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            changed = transitions.changed() => if changed.is_err() { return },
        }
    }
    let (mut reaped, mut renewed) = (false, Renewed::new());
    let Some(record) = claimed(&seen.env, &path, &mut stopped, &mut renewed).await else { return };
    loop {
        // The session may be on another link than before.
        seen = seat.tools();
        let mut link = seen.link.changes();
        let snapshot = editors::snapshot(&seat).to_string();
        let written = record.write(&seen.env.host, snapshot.into_bytes()).await;
        renewed.note(&seen.env, &written);
        // Old records are removed only after the first record is written, so that they do not delay it.
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
                    () = seen.link.calls_moved() => {}
                }
                seen.env.events.handed_over("instance_keeper");
            };
            let told = seen.link.status();
            let idle = (told.held, told.running) == (0, 0);
            let _ = timeout(if idle { RUN_RECORD_EVERY } else { RUN_RECORD_BUSY_EVERY }, news).await;
        };
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = pause => {}
        }
    }
}
