//! Every event that is told, one function each: its log line (and, beside it, its metric). No line holds arguments, results or
//! tokens; what comes from a peer is cleaned.

use std::time::Duration;

use super::clean;
use crate::fsm::{Machine, Outbox};
use crate::ledger::Answer;
use crate::protocol::ids::{CallId, Epoch};

/// What a machine did with an event.
pub fn stepped<M: Machine>(out: &Outbox<M>, event: &M::Event) {
    for (from, to) in &out.hops {
        let (from, to): (&'static str, &'static str) = ((*from).into(), (*to).into());
        if from != to {
            tracing::debug!(event = "state_changed", machine = M::NAME, from, to);
        }
    }
    if out.unexpected {
        tracing::warn!(event = "unexpected_event", machine = M::NAME, what = %clean(&format!("{event:?}")));
    }
}

/// A client opened (or reopened) the session.
pub fn session_opened(client: &str, protocol: &str, honours_changes: bool) {
    tracing::info!(event = "session_opened", client = %clean(client), protocol, honours_changes);
}

/// A call was accepted.
pub fn call_accepted(call: CallId, tool: &str, request: &str) {
    tracing::debug!(event = "call_accepted", %call, tool = %clean(tool), mcp_id = %clean(request));
}

/// A call was claimed for a connection: its bytes leave now.
pub fn call_sent(call: CallId, epoch: Epoch, wire: u64) {
    tracing::debug!(event = "call_sent", %call, epoch = epoch.0, wire);
}

/// A call was answered.
pub fn call_answered(answer: &Answer) {
    let (verdict, cause) = (answer.verdict.label(), answer.verdict.cause().unwrap_or(""));
    let millis = u64::try_from(answer.took.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(event = "call_answered", call = %answer.call, tool = %clean(&answer.tool), verdict, cause, millis);
}

/// What became of a call whose client waits no more.
pub fn call_noted(call: CallId, tool: &str, verdict: &'static str) {
    tracing::info!(event = "call_noted", %call, tool = %clean(tool), verdict);
}

/// A reply that belongs to nothing that is open on its connection.
pub fn reply_unmatched(epoch: Epoch, what: &str) {
    tracing::warn!(event = "reply_unmatched", epoch = epoch.0, what = %clean(what));
}

/// A connection to the editor is usable.
pub fn link_up(epoch: Epoch, port: u16, source: &'static str) {
    tracing::info!(event = "link_up", epoch = epoch.0, port, source);
}

/// A dial gave no usable connection.
pub fn dial_failed(port: u16, reason: &'static str, detail: &str) {
    tracing::debug!(event = "dial_failed", port, reason, detail = %clean(detail));
}

/// A connection that was up ended: once for each [`link_up`], whoever saw it end.
pub fn link_down(epoch: Epoch, reason: &'static str) {
    tracing::info!(event = "link_down", epoch = epoch.0, reason);
}

/// The editor's side sent what is no frame.
pub fn bad_frame(epoch: Epoch, why: &str) {
    tracing::warn!(event = "bad_frame", epoch = epoch.0, why = %clean(why));
}

/// What listens on the port is no bridge of this dialect.
pub fn wrong_peer(port: u16, said: &str) {
    tracing::warn!(event = "wrong_peer", port, said = %clean(said));
}

/// The tool list was read.
pub fn tools_listed(count: usize, dropped: &[(String, String)]) {
    tracing::info!(event = "tools_listed", count, dropped = dropped.len());
    for (name, why) in dropped.iter().take(20) {
        tracing::warn!(event = "tool_dropped", tool = %clean(name), why = %clean(why));
    }
}

/// The catalogue on disk could not be used or written.
pub fn catalogue_trouble(what: &'static str, detail: &str) {
    tracing::warn!(event = "catalogue_trouble", what, detail = %clean(detail));
}

/// Something in the project's files is wrong.
pub fn project_problem(problem: &str) {
    tracing::warn!(event = "project_problem", problem = %clean(problem));
}

/// A push message that means nothing to us, or a push line that is none.
pub fn push_ignored(why: &str) {
    tracing::debug!(event = "push_ignored", why = %clean(why));
}

/// A line of the client that is no request of MCP.
pub fn bad_line(fault: &'static str) {
    tracing::warn!(event = "bad_client_line", fault);
}

/// An actor was started, again or for the first time.
pub fn actor_started(actor: &'static str) {
    tracing::debug!(event = "actor_started", actor);
}

/// An actor ended and is started again.
pub fn actor_restarting(actor: &'static str, reason: &'static str) {
    tracing::error!(event = "actor_restarting", actor, reason);
}

/// A supervisor gave up.
pub fn escalated(supervisor: &'static str) {
    tracing::error!(event = "supervisor_escalated", supervisor);
}

/// Main builds the tree again.
pub fn rebuilding(nth: usize, after: Duration) {
    tracing::error!(event = "tree_rebuilding", nth, after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
}

/// The gateway ends.
pub fn ending(why: &str) {
    tracing::info!(event = "gateway_ending", why);
}
