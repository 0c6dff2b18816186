//! Serves the one client over stdin and stdout through a hub, until the client leaves or no hub can serve it any more.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::ending;
use super::run::Pumps;
use crate::actors::gateway::{Spawn, Tree};
use crate::actors::relay::RelaySeat;
use crate::core::call_records::Origin;
use crate::core::call_records::fate::{Adopter, Facts, Fate, fate};
use crate::core::relayed::Relayed;
use crate::core::requests::Holder;
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::limits::hub::{HUB_GONE_WITHIN, HUB_LOCK_ATTEMPTS, HUB_TAKEN_OVER_WITHIN, HUB_VERDICTS_MAX};
use crate::limits::{CLAIM_PAUSE, FIRST_SESSION_MAX, FLUSH_MAX};
use crate::protocol::mcp::ToolResult;
use crate::runtime::enter;
use crate::runtime::messages::session::{Delivered, Message};
use crate::storage::gateway_calls;

/// Why a hub does not serve the session any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The session has ended, and its client has all answers.
    Ended(ShutdownReason),
    /// The session goes on in this process: start a gateway, which gets the open requests.
    Embed,
}

/// Runs the session until it ends or must be served in this process.
pub async fn run<S: Spawn>(
    seat: &Arc<RelaySeat>,
    spawn: S,
    pumps: &mut Pumps,
    quit: &mut mpsc::Receiver<ShutdownReason>,
) -> Outcome {
    let (stop, stopping) = watch::channel(false);
    let mut embeds = seat.embeds.subscribe();
    let exhausted = Arc::new(Notify::new());
    let mut tree = seat.env.health.spawn("relay_tree", {
        let (tree, exhausted) = (Tree::of_relay(Arc::clone(seat)), Arc::clone(&exhausted));
        async move {
            tree.run(spawn, stopping).await;
            exhausted.notify_one();
        }
    });
    let (input, output) = pumps.tasks();
    let outcome = tokio::select! {
        biased;
        () = seat.env.health.task_failed() => Outcome::Ended(ShutdownReason::Exhausted),
        Some(why) = quit.recv() => Outcome::Ended(why),
        _ = input => Outcome::Ended(ShutdownReason::InputEnded),
        _ = output => Outcome::Ended(ShutdownReason::ClientGone),
        _ = embeds.wait_for(|embeds| *embeds) => Outcome::Embed,
        () = exhausted.notified() => Outcome::Ended(ShutdownReason::Exhausted),
    };
    match outcome {
        Outcome::Ended(why) => end(seat, why).await,
        Outcome::Embed => {
            // From here on messages wait for the session actor. Those that are on their way to the relay actor come into its table.
            seat.client.actor.clear();
            let _ = timeout(FLUSH_MAX, seat.client.mailbox.idle()).await;
        }
    }
    let _ = stop.send(true);
    if !tree.is_finished() {
        let _ = (&mut tree).await;
    }
    if outcome == Outcome::Embed {
        hand_over(seat).await;
    }
    outcome
}

/// Ends the session. The hub knows what became of each request, and gives its last answers as soon as it is told of the end. What it
/// does not answer in time is answered here.
async fn end(seat: &RelaySeat, why: ShutdownReason) {
    let client = &seat.client;
    seat.env.events.ending(why);
    seat.env.drain();
    if why != ShutdownReason::ClientGone {
        // It is told after what was read before the end of input.
        client.actor.cast(Message::InputEnded(None));
        let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
        let mut embeds = seat.embeds.subscribe();
        let verdicts = async {
            tokio::select! {
                () = client.outbox.calls_answered() => {}
                // No hub answers any more.
                _ = embeds.wait_for(|embeds| *embeds) => {}
            }
        };
        let _ = timeout(HUB_VERDICTS_MAX, verdicts).await;
    }
    client.outbox.end_subscriptions();
    // What the client still sends comes to nobody from here on, and is refused with what is left below.
    client.actor.clear();
    let _ = timeout(FLUSH_MAX, client.mailbox.idle()).await;
    let open = enter(&seat.requests).take_all();
    let open: Vec<Relayed> = open.into_iter().filter(|request| request.hold.is_open()).collect();
    let has_sent = open.iter().any(|request| request.sent && request.tool().is_some());
    let records = if has_sent { seat.former_records(HUB_GONE_WITHIN).await } else { None };
    for request in open {
        let origin = Origin { session: seat.name.as_str().into(), number: request.hold.key().number };
        let known = records.as_ref().and_then(|records| records.known(&origin));
        let fate = fate(Facts {
            known: known.filter(|_| request.tool().is_some()),
            was_sent: request.sent,
            are_lost: records.is_none(),
            is_damaged: records.as_ref().is_some_and(|records| records.is_damaged),
            waited: request.since.elapsed(),
            is_ending: true,
            adopter: Adopter::Reader,
        });
        let call = match fate {
            Fate::Answered(result) => {
                let result = ToolResult::from_stored(result.get()).with_line(user_text::TAKEN_OVER);
                client.own(&seat.env, seat.asked(&request), result, (seat.env.next_call_id(), None));
                continue;
            }
            Fate::New => {
                seat.answer_here(&request, user_text::not_sent_at_the_end, user_text::SHUT_DOWN);
                continue;
            }
            // No ledger is left that could have it, and nothing is sent again.
            Fate::Adopt { sent, .. } => Some(sent.call),
            Fate::Again => None,
            Fate::Unknown(call) => call,
        };
        seat.answer_here(&request, |tool| user_text::hub_left(tool, call), user_text::HUB_LEFT);
    }
    ending::answer_all(client, why).await;
    conclude(seat).await;
}

/// Says in the records of a hub that has ended how this session's calls stand.
async fn conclude(seat: &RelaySeat) {
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

/// Takes the records of this session's calls along. From here on nobody brings their requests to a hub, and whatever becomes of them is
/// recorded here. If a hub has the records, they stay with it.
async fn follow(seat: &RelaySeat) {
    let (Some(own), Some(state)) = (seat.env.own.get(), &seat.env.config.state_dir) else { return };
    let open = enter(&seat.requests).told(Instant::now()).into_iter().map(|open| open.request).collect();
    for _ in 0..HUB_LOCK_ATTEMPTS {
        if gateway_calls::follow(state, &own.file, &seat.name, &open) {
            return;
        }
        // Whoever only looks whether a hub runs holds its lock for a moment.
        sleep(CLAIM_PAUSE).await;
    }
}

/// Passes the open requests to the session actor of the gateway that is about to start in this process.
async fn hand_over(seat: &Arc<RelaySeat>) {
    // Whether a call was sent is in the records of the hub. If they cannot be read, it may have been.
    if let Some(former) = seat.former_records(HUB_TAKEN_OVER_WITHIN).await {
        let _ = seat.env.former.set(Arc::new(former));
    }
    follow(seat).await;
    let (requests, initialized) = {
        let mut requests = enter(&seat.requests);
        let told = requests.told(Instant::now());
        seat.client.continues(seat.name.as_str().into(), told);
        (requests.take_all(), requests.is_initialized())
    };
    let client = Arc::clone(&seat.client);
    seat.env.health.spawn("hand_over", async move {
        if initialized && let Some(actor) = client.actor.up(Instant::now() + FIRST_SESSION_MAX, None).await {
            // The session asks for the client's roots then.
            let message = Delivered::Notification { method: "notifications/initialized".to_owned(), params: None };
            let _ = actor.cast(Message::Delivered(message, None));
        }
        for request in requests {
            let Some(actor) = client.actor.up(Instant::now() + FIRST_SESSION_MAX, None).await else { return };
            request.hold.pass(Holder::Session);
            let message = Delivered::Request {
                hold: request.hold,
                id: request.id,
                requester: request.requester,
                method: request.method,
                params: request.params,
            };
            let _ = actor.cast(Message::Delivered(message, None));
        }
    });
}
