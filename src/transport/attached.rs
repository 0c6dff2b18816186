//! The session over stdin and stdout whose links a hub has, until the session ends or no hub can have them any more.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::actors::attachment::HubSeat;
use crate::actors::gateway::{Spawn, Tree};
use crate::core::ShutdownReason;
use crate::core::call_records::Origin;
use crate::core::call_records::fate::{Adopter, Facts, Fate, fate};
use crate::core::calls::NewCall;
use crate::core::said::Said;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::limits::hub::{HUB_GONE_WITHIN, HUB_LOCK_ATTEMPTS, HUB_TAKEN_OVER_WITHIN, HUB_VERDICTS_MAX};
use crate::limits::{CLAIM_PAUSE, OPEN_CALLS_MAX_BYTES};
use crate::link::{Calling, Ports, Resumed, TakenIn};
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::{AnswerForm, ToolResult};
use crate::runtime::enter;
use crate::runtime::messages::attachment::Message;
use crate::runtime::messages::session;
use crate::storage::gateway_calls;

/// Keeps the session attached to a hub until `end`, or until its links must be in this process. Returns whether they must.
pub(super) async fn run<S: Spawn>(seat: &Arc<HubSeat>, spawn: S, mut end: watch::Receiver<bool>) -> bool {
    let (stop, stopping) = watch::channel(false);
    let mut embeds = seat.embeds.subscribe();
    let exhausted = Arc::new(Notify::new());
    let mut tree = seat.env.health.spawn("attachment_tree", {
        let (tree, exhausted) = (Tree::of_attachment(seat, spawn), Arc::clone(&exhausted));
        async move {
            tree.run(stopping).await;
            exhausted.notify_one();
        }
    });
    let embeds = tokio::select! {
        biased;
        _ = embeds.wait_for(|embeds| *embeds) => true,
        // A bug of ours costs the session its hub, but not its client.
        () = exhausted.notified() => true,
        _ = end.wait_for(|end| *end) => false,
    };
    let _ = stop.send(true);
    if !tree.is_finished() {
        let _ = (&mut tree).await;
    }
    if !embeds {
        return false;
    }
    tokio::select! {
        biased;
        () = know_former(seat) => {}
        // The open requests are answered at the end of the session.
        _ = end.wait_for(|end| *end) => return false,
    }
    come_here(seat);
    true
}

/// At the end of the session, waits until the hub has answered its calls. Calls that the hub does not answer in time
/// are answered here. The hub knows how each call stands, and gives its last answers as soon as it is told of the end.
pub(super) async fn end(seat: &HubSeat, why: ShutdownReason) {
    let port = &seat.port;
    if why != ShutdownReason::ClientGone {
        seat.actor.cast(Message::InputEnded);
        let mut embeds = seat.embeds.subscribe();
        let verdicts = async {
            tokio::select! {
                () = seat.client.outbox.calls_answered() => {}
                // No hub answers any more.
                _ = embeds.wait_for(|embeds| *embeds) => {}
            }
        };
        let _ = timeout(HUB_VERDICTS_MAX, verdicts).await;
    }
    let open: Vec<Said> = port.take_all().into_iter().filter(|said| said.hold.is_open()).collect();
    let has_sent = open.iter().any(|said| said.sent);
    // One that still serves the session hangs. It keeps its lock, so a wait for that would be in vain.
    let gone_within = if port.is_attached() { Duration::ZERO } else { HUB_GONE_WITHIN };
    let records = if has_sent { seat.former_records(gone_within).await } else { None };
    for said in open {
        let origin = Origin { session: seat.name.as_str().into(), number: said.hold.key().number };
        let fate = fate(Facts {
            known: records.as_ref().and_then(|records| records.known(&origin)),
            was_sent: said.sent,
            are_lost: records.is_none(),
            is_damaged: records.as_ref().is_some_and(|records| records.is_damaged),
            waited: said.since.elapsed(),
            is_ending: true,
            adopter: Adopter::Reader,
        });
        let tool = &said.call.tool;
        let call = match fate {
            Fate::Answered(result) => {
                let result = ToolResult::from_stored(result.get());
                let verdict = records.as_ref().and_then(|records| records.verdict(&origin)).unwrap_or(Verdict::Ok);
                seat.answer_here(&said, verdict, result.with_line(user_text::TAKEN_OVER));
                continue;
            }
            Fate::New => {
                let verdict = Verdict::NotExecuted(Cause::ShuttingDown);
                seat.answer_here(&said, verdict, ToolResult::error(user_text::not_sent_at_the_end(tool)));
                continue;
            }
            // No ledger is left that could have the call, and nothing is sent again.
            Fate::Adopt { sent, .. } => Some(sent.call),
            Fate::Again => None,
            Fate::Unknown(call) => call,
        };
        let verdict = Verdict::OutcomeUnknown(Loss::Shutdown);
        seat.answer_here(&said, verdict, ToolResult::error(user_text::hub_left(tool, call)));
    }
}

/// Notes, in the records of a hub that has ended, how this session's calls stand. This is done when the client has its
/// answers.
pub(super) async fn conclude(seat: &HubSeat) {
    let Some(state) = seat.env.config.state_dir.as_deref().filter(|_| enter(&seat.records).is_some()) else { return };
    if seat.client.has_all() {
        for _ in 0..HUB_LOCK_ATTEMPTS {
            if gateway_calls::conclude(state, &seat.name) {
                return;
            }
            sleep(CLAIM_PAUSE).await;
        }
    }
    if let Some(own) = seat.env.own.get()
        && gateway_calls::is_owed(state, &seat.name)
    {
        own.leave();
    }
}

/// Takes the records of this session's calls along. From here on nobody brings their requests to a hub, and what
/// happens to them is recorded here. If a hub has the records, they stay with the hub.
async fn follow(seat: &HubSeat) {
    let (Some(own), Some(state)) = (seat.env.own.get(), &seat.env.config.state_dir) else { return };
    let open = seat.port.told().into_iter().map(|open| open.request).collect();
    for _ in 0..HUB_LOCK_ATTEMPTS {
        if gateway_calls::follow(state, &own.file, &seat.name, &open) {
            return;
        }
        // A process that only looks whether a hub runs holds the hub's lock for a moment.
        sleep(CLAIM_PAUSE).await;
    }
}

/// Learns how the calls that were given to a hub stand. The hub's records say whether each one was sent. If they cannot
/// be read, each may have been sent.
async fn know_former(seat: &HubSeat) {
    if let Some(former) = seat.former_records(HUB_TAKEN_OVER_WITHIN).await {
        let _ = seat.env.former.set(Arc::new(former));
    }
    follow(seat).await;
}

/// Makes the hub's links those of this process, and takes the open calls there.
fn come_here(seat: &HubSeat) {
    seat.client.continues(seat.name.as_str().into(), seat.port.told());
    seat.client.meant(|meant| meant.look_every = Duration::ZERO);
    let said = seat.port.embed();
    seat.embeds.send_replace(true);
    seat.env.health.set_problem("hub", None);
    seat.links.come_here();
    let links = Ports::of_all(Arc::clone(&seat.links));
    for said in said {
        take(seat, &links, said);
    }
    // The router decides anew, in this process.
    seat.client.actor.cast(session::Message::EditorWanted);
}

/// Takes a call that was given to a hub to its link in this process.
fn take(seat: &HubSeat, links: &Ports, said: Said) {
    let (asked, waited) = (said.asked(), said.since.elapsed());
    let Said { hold, id, project, call, sent, .. } = said;
    if !hold.is_open() {
        // The record of the call was taken along, and nobody waits for that call any more.
        if let (Some(own), Some(origin)) = (seat.env.own.get(), seat.client.origin_of(hold.key())) {
            own.file.delivered(origin);
        }
        return;
    }
    let Ok(link) = links.to_project(&project) else {
        // The limit of links is reached. The hub had no more links than that.
        let error = RpcError::internal(user_text::INTERNAL);
        seat.client.refuse(hold.key(), &error);
        return;
    };
    link.want();
    let mut may_have_run = false;
    // To read a resource twice does no harm, so such a request is handled like a new one.
    if let (AnswerForm::ToolResult, true, Some(origin)) = (&asked.form, sent, seat.client.origin_of(hold.key())) {
        match link.resume(asked.clone(), (&call.tool, &call.arguments), &origin, waited) {
            Resumed::Settled => return,
            Resumed::New => seat.client.brought_unsent(hold.key()),
            Resumed::Again => may_have_run = true,
        }
    }
    let refused = link.refusal_at_once(&call.tool, &call.arguments, hold.key().session);
    let call = NewCall { waited, ..call };
    let calling = Calling { call, hold: &hold, id: &id, may_have_run, refused, turned_down: None };
    match link.call(calling) {
        TakenIn::Yes | TakenIn::Cancelled => {}
        TakenIn::NoRoom if may_have_run => {
            seat.client.refuse(hold.key(), &RpcError::internal(user_text::too_many_bytes(OPEN_CALLS_MAX_BYTES)));
        }
        TakenIn::NoRoom => {
            let result = ToolResult::error(user_text::too_many_bytes(OPEN_CALLS_MAX_BYTES));
            seat.client.own(&seat.env, asked, result, (seat.env.next_call_id(), None));
        }
    }
}
