//! Looks for the result file of a call whose connection ended before its answer. A task of the bridge, one for each such call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ractor::ActorRef;
use tokio::time::Instant;

use crate::limits::{RECOVERY_POLL, RESULT_FILE_MAX_BYTES};
use crate::link::{Calls, Contact};
use crate::platform::host::{Host, Liveness};
use crate::protocol::dialect::{Dialect, Recovery, Reply};
use crate::protocol::ids::CallId;
use crate::runtime::messages::bridge;
use crate::runtime::supervisor::Tasks;

/// Starts a probe. It sends `ProbeEnded` to the bridge when the outcome is known, or when the editor's process has
/// ended without a result. It also sends it when the ledger no longer looks for the outcome: the ledger limits the
/// time. If the call's project is not known, it sends it at once. Does nothing if `recovery` is not a result file.
pub fn start(
    contact: &Contact,
    host: &Arc<dyn Host>,
    calls: &Arc<Calls>,
    tasks: &Tasks,
    (call, recovery): (CallId, Recovery),
    bridge: ActorRef<bridge::Message>,
) {
    let Recovery::ResultFile { path, busy_files, quiet } = &recovery else { return };
    let (path, busy_files, quiet) = (path.clone(), *busy_files, *quiet);
    // This is the editor that the call was sent to, even if another project was found since.
    let target = contact.view.borrow().target.clone();
    let sent_to = calls.ledger(|ledger, _| ledger.project_of(call));
    let Some((project, target)) = sent_to.zip(target) else {
        let _ = bridge.cast(bridge::Message::ProbeEnded(path));
        return;
    };
    let dialect = target.dialect;
    // If the link's last target belongs to another project, its process shows nothing about this call.
    let its = Some(target).filter(|target| target.project.as_ref() == Some(&project));
    let (calls, host) = (Arc::clone(calls), Arc::clone(host));
    tasks.spawn(async move {
        let file = project.join(&path);
        let busy: Vec<PathBuf> = busy_files.iter().map(|name| project.join(name)).collect();
        let mut quiet_since: Option<Instant> = None;
        while calls.ledger(|ledger, _| ledger.recovering().iter().any(|(id, how)| *id == call && *how == recovery)) {
            let look = {
                let (host, its) = (Arc::clone(&host), its.clone());
                let (file, busy) = (file.clone(), busy.clone());
                move || {
                    // A process that has ended writes no more, and its lock files mean nothing: the result file is final.
                    let dead = its.and_then(|target| target.liveness(&*host)) == Some(Liveness::Dead);
                    (look(&*host, dialect, &file, if dead { &[] } else { &busy }), dead)
                }
            };
            match crate::platform::host::run(&*host, look).await.unwrap_or((None, false)) {
                (None, true) => {
                    calls.decide(|ledger, now| ledger.give_up(call, now));
                    break;
                }
                (Some(reply), _) => {
                    let since = *quiet_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= quiet {
                        let answer = dialect.read_answer(reply);
                        calls.decide(|ledger, now| ledger.learn(call, answer, now));
                        break;
                    }
                }
                (None, false) => quiet_since = None,
            }
            tokio::time::sleep(RECOVERY_POLL).await;
        }
        let _ = bridge.cast(bridge::Message::ProbeEnded(path));
    });
}

/// Returns the reply in the file; `None` if a lock file shows that the editor is still busy, or if the file is missing or
/// incomplete.
fn look(host: &dyn Host, dialect: &dyn Dialect, file: &Path, busy: &[PathBuf]) -> Option<Reply> {
    if busy.iter().any(|path| host.exists(path)) {
        return None;
    }
    dialect.read_result_file(&host.read(file, RESULT_FILE_MAX_BYTES).ok()?)
}
