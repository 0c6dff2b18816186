//! Serves the one client over stdin and stdout through a hub, until the client leaves or no hub can serve it any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout};

use super::ending;
use super::run::Pumps;
use crate::actors::gateway::{Spawn, Tree};
use crate::actors::relay::RelaySeat;
use crate::core::requests::Holder;
use crate::core::shutdown::ShutdownReason;
use crate::core::user_text;
use crate::limits::hub::HUB_VERDICTS_MAX;
use crate::limits::{FIRST_SESSION_MAX, FLUSH_MAX};
use crate::protocol::jsonrpc::RpcError;
use crate::runtime::enter;
use crate::runtime::messages::session::{Delivered, Message};
use crate::storage::call_files::CallFile;

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
        hand_over(seat);
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
    let open = enter(&seat.requests).take_all().into_iter().filter(|request| request.hold.is_open());
    for request in open {
        let text = if request.sent { user_text::HUB_LEFT } else { user_text::SHUT_DOWN };
        client.outbox.answer_error(request.hold.key(), &RpcError::internal(text));
    }
    ending::answer_all(client, why).await;
}

/// Passes the open requests to the session actor of the gateway that is about to start in this process.
fn hand_over(seat: &Arc<RelaySeat>) {
    let (requests, initialized) = {
        let mut requests = enter(&seat.requests);
        let told = requests.told(Instant::now());
        seat.client.continues(seat.name.as_str().into(), told);
        (requests.take_all(), requests.is_initialized())
    };
    let client = Arc::clone(&seat.client);
    if seat.served.load(Ordering::Relaxed) {
        // Whether a call was sent is in the records of the hub. If they cannot be read, it may have been.
        if let Ok(former) = CallFile::read(&seat.folder.records())
            && Some(&former.gateway) == enter(&seat.records).as_ref()
        {
            let _ = seat.env.former.set(Arc::new(former));
        }
    }
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
