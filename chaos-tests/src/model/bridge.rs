//! The bridge's actor in the model: carries out the commands of the gateway's [`BridgeCore`].

use holdfast::core::bridge::{BridgeCore, Command, Step};
use holdfast::core::exchange::Order;
use holdfast::fsm::bridge::{ConnectFailure, Event, Timer};
use holdfast::fsm::cause::Loss;
use holdfast::protocol::ids::Epoch;

use super::line::Line;
use super::seam::said;
use super::setting::{Broken, Setting};
use super::world::{Actor, Bridge, News, Stage, Timers, World, Wrong};

/// Starts the bridge, the first time or as a successor of a crashed one.
pub fn begin(world: &mut World, setting: &Setting) {
    let mut armed = Timers::default();
    if world.hope {
        armed.insert(Timer::Hope);
    }
    let enlisted = setting.broken != Broken::EnlistedTooLate;
    let mut actor = Actor { core: BridgeCore::new(world.hope), armed, enlisted };
    publish(world, setting, &mut actor);
    world.bridge = Bridge::Alive(actor);
    let draining = world.stage >= Stage::Draining && setting.broken != Broken::SuccessorUnaware;
    let wanted = !setting.rests || world.ghost.accepted != 0;
    if let Some(event) = BridgeCore::<()>::first_event(draining, wanted, &mut world.ledger) {
        feed(world, setting, event);
    }
}

/// Feeds an event to the bridge, if it is alive.
pub fn feed(world: &mut World, setting: &Setting, event: Event) {
    run(world, setting, event, |core, world| Some(core.feed(event, &mut world.ledger)));
}

/// Feeds an event of a connection to the bridge, if it is alive.
pub fn hear(world: &mut World, setting: &Setting, News { epoch, event }: News) {
    run(world, setting, event, |core, world| core.hear(Epoch(epoch), event, &mut world.ledger));
}

fn run(
    world: &mut World,
    setting: &Setting,
    event: Event,
    first: impl FnOnce(&mut BridgeCore<()>, &mut World) -> Option<Step<()>>,
) {
    let Bridge::Alive(mut actor) = std::mem::replace(&mut world.bridge, Bridge::Settled) else { return };
    if event == Event::StopRequested {
        world.ghost.stop_heard = true;
    }
    // Settlements that follow from this event may send messages to the bridge, which must be alive to receive them.
    world.bridge = Bridge::Alive(actor.clone());
    let before = world.ledger.clone();
    let mut next = first(&mut actor.core, world);
    if let Some(step) = &next
        && setting.broken == Broken::EpochStaysOpen
        && step.commands.iter().any(|command| matches!(command, Command::HangUp { .. }))
    {
        world.ledger = before;
    }
    let heard = next.is_some();
    while let Some(step) = next.take() {
        if step.out.unexpected {
            world.mark(Wrong::Surprise);
        }
        for command in step.commands {
            if let Some(failed) = carry_out(world, setting, &mut actor, command) {
                next = Some(actor.core.feed(failed, &mut world.ledger));
            }
        }
    }
    if heard {
        publish(world, setting, &mut actor);
    }
    world.bridge = Bridge::Alive(actor);
}

fn carry_out(world: &mut World, setting: &Setting, actor: &mut Actor, command: Command<()>) -> Option<Event> {
    match command {
        Command::AskTargets => world.discovery_asked = true,
        // The model has one target, so only a stale offer can name another one.
        Command::Dial { target: 0 } => {
            if world.ghost.stop_heard {
                world.mark(Wrong::AfterStop);
            }
            let epoch = world.next_epoch();
            world.lines.push(Line::new(epoch));
            actor.core.dialled(Epoch(epoch), ());
        }
        Command::Dial { .. } => return Some(Event::ConnectFailed(ConnectFailure::Refused)),
        Command::Order(order) => self::order(world, actor, order),
        Command::KeepPlaces => {
            let epoch = actor.core.epoch();
            let line = world.lines.iter_mut().find(|line| Some(line.exchange.epoch()) == epoch);
            if let Some(line) = line {
                line.exchange.keep_places();
            }
        }
        Command::Settle(_) if setting.broken == Broken::EpochStaysOpen => {}
        Command::Settle(settlements) => world.settle_all(setting, said(settlements)),
        Command::HangUp { epoch: Epoch(epoch), loss, .. } => {
            if setting.broken != Broken::EpochStaysOpen {
                world.ledger.closed(epoch);
            }
            if world.linked.take_if(|linked| *linked == epoch).is_some() {
                world.hope = loss != Loss::Quit;
            }
            world.ghost.over = world.ghost.over.max(epoch);
            leave(world, epoch);
        }
        Command::TellUp => {
            world.linked = actor.core.epoch().map(|Epoch(epoch)| epoch);
            world.registry_asks = true;
        }
        // The registry does not ask for a list while the link is down.
        Command::TellDown => world.registry_asks = false,
        // Not modelled: there is one project, and every connection is to its editor.
        Command::TellToolsChanged | Command::CheckEditor | Command::ShortenRetry | Command::AwaitClients => {}
        Command::Retry { .. } => actor.armed.insert(Timer::Retry),
        Command::Arm(timer, _) => actor.armed.insert(timer),
        Command::Disarm(timer) => actor.armed.remove(timer),
    }
    None
}

fn order(world: &mut World, actor: &Actor, order: Order) {
    let epoch = actor.core.epoch();
    if let Some(line) = world.lines.iter_mut().find(|line| Some(line.exchange.epoch()) == epoch) {
        line.exchange.order(order);
    }
}

/// Hangs up every connection whose epoch is not greater than this one.
pub fn leave(world: &mut World, epoch: u64) {
    for line in world.lines.iter_mut().filter(|line| line.epoch() <= epoch) {
        line.hung_up = true;
    }
}

fn publish(world: &mut World, setting: &Setting, actor: &mut Actor) {
    if let Some(settlements) = actor.core.expectation(&mut world.ledger).and_then(|told| told.changed) {
        world.settle(setting.broken, said(settlements));
    }
}
