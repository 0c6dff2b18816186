//! Ends calls before their tools do: because of a cancel, the end of the connection, or the end of the domain.

use std::sync::Arc;

use super::{Call, Phase};
use crate::events::Event;
use crate::holdfast::desk::{Desk, HoldfastFace, Inner};
use crate::holdfast::journal::{Answer, Status};
use crate::holdfast::wire::Refusal;
use crate::model::Editor;
use crate::work::Fault;

impl HoldfastFace {
    /// Asks a running call to stop. A call that has not begun is removed and answered. Returns the status in the journal
    /// afterwards; `None` if the id is unknown.
    pub(crate) fn cancel(&self, editor: &Arc<Editor>, id: &str) -> Option<Status> {
        let mut inner = self.desk.lock();
        let is_it = |call: &Call| call.identity.as_ref().is_some_and(|identity| identity.id == id);
        let found = inner.calls.iter().find(|(_, call)| is_it(call)).map(|(key, call)| (*key, call.phase));
        match found {
            Some((key, Phase::Running)) => {
                if let Some(call) = inner.calls.get(&key) {
                    call.signal.send_modify(|signal| signal.cancelled = true);
                }
            }
            Some((key, _)) => {
                if let Some(call) = discard(editor, &mut inner, key, "cancelled") {
                    let (answer, status) = if call.resumed.is_some() {
                        (call.answer(Err(Fault::Cancelled)).0, Status::Done)
                    } else {
                        let refusal = Refusal::new("cancelled", -32006, false, "Cancelled before it began");
                        let refusal = refusal.with("callId", id).with("tool", &call.tool.name);
                        (Answer { json: refusal.json(), is_error: true }, Status::NotRun)
                    };
                    self.reply(&inner, &call, &answer, status, None);
                }
                self.pump(editor, &mut inner);
            }
            None => {}
        }
        inner.journal.at(Desk::now(editor)).find(id).map(|entry| entry.status)
    }

    /// Called when the domain, or the bridge in it, is about to end. Afterwards no call begins and none is answered. The journal
    /// gets its final state now; calls that saved a state stay `running` in it.
    pub(crate) fn interrupt(&self, editor: &Editor, because: &'static str, state: &'static str) {
        let mut inner = self.desk.lock();
        if inner.closed.is_none() {
            (inner.closed, inner.leaving) = (Some(because), Some(state));
        }
        inner.compiling = false;
        for (call, status) in inner.journal.at(Desk::now(editor)).interrupt() {
            editor.event(Event::CallSettled { call, status: status.word() });
        }
        let calls = std::mem::take(&mut inner.calls);
        let count = |phase| calls.values().filter(|call| call.phase == phase && !is_scheduled_on_main(call)).count();
        let waited = count(Phase::Waiting) + count(Phase::Scheduled);
        leaves_the_queue(editor, waited);
        editor.state().lost += u64::try_from(waited).unwrap_or(0);
        let cut = calls.values().filter(|call| call.phase == Phase::Running && call.traits.off_main_thread).count();
        let cut = u64::try_from(cut).unwrap_or(0);
        let mut model = editor.state();
        model.running = model.running.saturating_sub(cut);
        model.interrupted += cut;
        drop(model);
        inner.tasks.abort_all();
    }

    /// Drops a connection's calls that are not running. No answer is sent.
    pub(crate) fn drop_calls_of(editor: &Editor, inner: &mut Inner, connection: u64) {
        let of = |call: &Call| call.caller.as_ref().is_some_and(|caller| caller.connection == connection);
        let keys: Vec<u64> = inner
            .calls
            .iter()
            .filter(|(_, call)| of(call) && call.phase != Phase::Running)
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            discard(editor, inner, key, "dropped");
        }
    }
}

/// Removes a call that is not running. A call that began before a reload and waits to continue is recorded as cancelled; any
/// other is recorded as not run. Returns the call, or `None` if the key is unknown.
fn discard(editor: &Editor, inner: &mut Inner, key: u64, reason: &'static str) -> Option<Call> {
    let call = inner.calls.remove(&key)?;
    if let Some(identity) = &call.identity {
        let journal = inner.journal.at(Desk::now(editor));
        let status = if call.resumed.is_some() {
            journal.complete(&identity.id, call.answer(Err(Fault::Cancelled)).0);
            Status::Done
        } else {
            journal.drop_call(&identity.id, reason);
            Status::NotRun
        };
        editor.event(Event::CallSettled { call: identity.id.clone(), status: status.word() });
    }
    if !is_scheduled_on_main(&call) {
        leaves_the_queue(editor, 1);
    }
    Some(call)
}

/// Whether the call is already in the main thread's queue. Such calls are counted by the main thread.
fn is_scheduled_on_main(call: &Call) -> bool {
    call.phase == Phase::Scheduled && !call.traits.off_main_thread
}

pub(super) fn leaves_the_queue(editor: &Editor, count: usize) {
    let mut state = editor.state();
    state.queued = state.queued.saturating_sub(u64::try_from(count).unwrap_or(0));
}
