//! Looks for the result file of a call whose connection ended before its answer. A task of the bridge, one for each such call.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ractor::ActorRef;
use tokio::time::Instant;

use crate::limits::{RECOVERY_POLL, RELOAD_GRACE, RESULT_FILE_MAX_BYTES};
use crate::link::{Calls, Contact};
use crate::platform::host::{Host, Liveness};
use crate::protocol::dialect::{Dialect, Recovery, Reply, WorkStatus};
use crate::protocol::ids::CallId;
use crate::runtime::messages::bridge;
use crate::runtime::supervisor::Tasks;
use crate::survey::Target;

/// Starts a probe. It sends `ProbeEnded` to the bridge when the outcome is known, or when the editor's process has
/// ended without a result. It also sends it when the ledger no longer looks for the outcome: the ledger limits the
/// time. If the call's project is not known, it sends it at once. Does nothing if `recovery` names no file.
pub fn start(
    contact: &Arc<Contact>,
    host: &Arc<dyn Host>,
    calls: &Arc<Calls>,
    tasks: &Tasks,
    (call, recovery): (CallId, Recovery),
    bridge: ActorRef<bridge::Message>,
) {
    let Some(path) = file_of(&recovery).map(str::to_owned) else { return };
    // This is the editor that the call was sent to, even if another project was found since.
    let target = contact.view.borrow().target.clone();
    let sent_to = calls.ledger(|ledger, _| ledger.project_of(call));
    let Some((project, target)) = sent_to.zip(target) else {
        let _ = bridge.cast(bridge::Message::ProbeEnded(call, path));
        return;
    };
    let dialect = target.dialect;
    // If the link's last target belongs to another project, its process shows nothing about this call.
    let its = Some(target).filter(|target| target.project.as_ref() == Some(&project));
    let (contact, calls, host) = (Arc::clone(contact), Arc::clone(calls), Arc::clone(host));
    let domain = contact.view.borrow().editor.domain;
    let probe = Probe { contact, calls, host, dialect, its, domain, call, recovery };
    tasks.spawn(async move {
        let file = project.join(&path);
        match &probe.recovery {
            Recovery::ResultFile { busy_files, quiet, .. } => {
                let busy = busy_files.iter().map(|name| project.join(name)).collect();
                probe.await_result(file, busy, *quiet).await;
            }
            Recovery::StatusFile { running, before, .. } => {
                probe.follow(file, running.map(|running| project.join(running)), *before).await;
                // Calls waited for the end of the work.
                probe.calls.tell_of_held();
            }
            Recovery::None | Recovery::Journal(_) | Recovery::Inferred => {}
        }
        let _ = bridge.cast(bridge::Message::ProbeEnded(call, path));
    });
}

/// Returns the file in which the outcome of a call may stand.
pub fn file_of(recovery: &Recovery) -> Option<&str> {
    match recovery {
        Recovery::ResultFile { path, .. } => Some(path),
        Recovery::StatusFile { path, .. } => Some(path),
        Recovery::None | Recovery::Journal(_) | Recovery::Inferred => None,
    }
}

/// Returns a number that stands for a file as it is now, and its content.
pub fn state_of(host: &dyn Host, file: &Path) -> (u64, Option<Vec<u8>>) {
    let content = host.read(file, RESULT_FILE_MAX_BYTES).ok();
    let mut hasher = DefaultHasher::new();
    (host.changed(file), &content).hash(&mut hasher);
    (hasher.finish(), content)
}

/// What a probe works with.
struct Probe {
    contact: Arc<Contact>,
    calls: Arc<Calls>,
    host: Arc<dyn Host>,
    dialect: &'static dyn Dialect,
    /// The editor that the call was sent to, if its process can be looked at.
    its: Option<Target>,
    /// The domain in which the call began, if the editor tells.
    domain: Option<u64>,
    call: CallId,
    recovery: Recovery,
}

/// What a status file shows of the work that a call may have begun.
enum Seen {
    /// The file is as before the call, or says nothing.
    Nothing,
    Status(WorkStatus),
}

impl Probe {
    /// Whether the outcome is still looked for.
    fn is_sought(&self) -> bool {
        let sought = self.calls.ledger(|ledger, _| ledger.recovering());
        sought.iter().any(|(id, how)| *id == self.call && *how == self.recovery)
    }

    /// Looks at files, and whether the editor's process has ended: then it writes no more.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn Host, bool) -> T + Send + 'static,
    ) -> Option<(T, bool)> {
        let (host, its) = (Arc::clone(&self.host), self.its.clone());
        let look = move || {
            let dead = its.and_then(|target| target.liveness(&*host)) == Some(Liveness::Dead);
            (look(&*host, dead), dead)
        };
        crate::platform::host::run(&*self.host, look).await
    }

    /// Whether the editor is known to be in another domain than the one in which the call began.
    fn has_reloaded(&self) -> bool {
        self.domain.zip(self.contact.view.borrow().editor.domain).is_some_and(|(then, now)| then != now)
    }

    fn learn(&self, reply: Reply) {
        let answer = self.dialect.read_answer(reply);
        self.calls.decide(|ledger, now| ledger.learn(self.call, answer, now));
    }

    fn give_up(&self) {
        self.calls.decide(|ledger, now| ledger.give_up(self.call, now));
    }

    async fn await_result(&self, file: PathBuf, busy: Vec<PathBuf>, quiet: Duration) {
        let mut quiet_since: Option<Instant> = None;
        while self.is_sought() {
            let (dialect, file, busy) = (self.dialect, file.clone(), busy.clone());
            // The lock files of a process that has ended mean nothing: the result file is final.
            let look = self.look(move |host, dead| look(host, dialect, &file, if dead { &[] } else { &busy })).await;
            match look.unwrap_or((None, false)) {
                (None, true) => return self.give_up(),
                (Some(reply), _) => {
                    let since = *quiet_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= quiet {
                        return self.learn(reply);
                    }
                }
                (None, false) => quiet_since = None,
            }
            tokio::time::sleep(RECOVERY_POLL).await;
        }
    }

    /// Follows work through its file to its end, and through the reload that may follow the end. Nothing but a new connection shows
    /// that this reload is over, and only time that there is none. `before`: what stood for the file before the call.
    async fn follow(&self, file: PathBuf, running: Option<PathBuf>, before: u64) {
        let mut since: Option<Instant> = None;
        while self.is_sought() {
            let (dialect, file, running) = (self.dialect, file.clone(), running.clone());
            let of = self.recovery.clone();
            let look = self.look(move |host, _| {
                let (now, content) = state_of(host, &file);
                let told = content.filter(|_| now != before).and_then(|bytes| dialect.read_status_file(&of, &bytes));
                let runs =
                    || running.filter(|running| host.exists(running)).map(|_| WorkStatus::Runs { over_reload: true });
                told.or_else(runs).map_or(Seen::Nothing, Seen::Status)
            });
            let (seen, dead) = look.await.unwrap_or((Seen::Nothing, false));
            let (is_open, is_back) = self.calls.ledger(|ledger, _| ledger.is_back(self.call));
            let over = is_open && since.get_or_insert_with(Instant::now).elapsed() >= RELOAD_GRACE;
            match seen {
                Seen::Status(WorkStatus::Ended { reply, reload_follows })
                    if !reload_follows || is_back || over || dead =>
                {
                    return self.learn(reply);
                }
                // What was begun is lost with the process. A call of which nothing shows after its connection was most likely
                // dropped with the domain, but that is no proof.
                _ if dead => return self.give_up(),
                Seen::Nothing if is_back && over => return self.give_up(),
                Seen::Status(WorkStatus::Runs { over_reload: false }) if self.has_reloaded() && over => {
                    return self.give_up();
                }
                Seen::Status(WorkStatus::Runs { over_reload }) => {
                    since = since.filter(|_| !over_reload && self.has_reloaded());
                    self.calls.ledger(|ledger, now| ledger.found_running(self.call, now));
                }
                _ if !is_open => since = None,
                _ => {}
            }
            tokio::time::sleep(RECOVERY_POLL).await;
        }
    }
}

/// Returns the reply in the file; `None` if a lock file shows that the editor is still busy, or if the file is missing or
/// incomplete.
fn look(host: &dyn Host, dialect: &dyn Dialect, file: &Path, busy: &[PathBuf]) -> Option<Reply> {
    if busy.iter().any(|path| host.exists(path)) {
        return None;
    }
    dialect.read_result_file(&host.read(file, RESULT_FILE_MAX_BYTES).ok()?)
}
