//! The bridge's actor in the model: the hands of the gateway's [`BridgeCore`].

use holdfast::core::bridge::{BridgeCore, Hands};
use holdfast::core::calls::{Ledger, LedgerAccess, Settlement};
use holdfast::core::exchange::Errand;
use holdfast::fsm::Reaction;
use holdfast::fsm::bridge::{self as machine, ConnectFailure, Effect, Event, Timer};
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
    run(world, setting, event, |core, hands| {
        core.feed(event, hands);
        true
    });
}

/// Feeds an event of a connection to the bridge, if it is alive.
pub fn hear(world: &mut World, setting: &Setting, News { epoch, event }: News) {
    run(world, setting, event, |core, hands| core.hear(Epoch(epoch), event, hands));
}

fn run(
    world: &mut World,
    setting: &Setting,
    event: Event,
    feed: impl FnOnce(&mut BridgeCore<()>, &mut Shell<'_>) -> bool,
) {
    let Bridge::Alive(mut actor) = std::mem::replace(&mut world.bridge, Bridge::Settled) else { return };
    if event == Event::StopRequested {
        world.ghost.stop_heard = true;
    }
    // Settlements that follow from this event may send messages to the bridge, which must be alive to receive them.
    world.bridge = Bridge::Alive(actor.clone());
    let before = world.ledger.clone();
    let mut shell = Shell { world, setting, armed: actor.armed, hung_up: false };
    let heard = feed(&mut actor.core, &mut shell);
    let hung_up = shell.hung_up;
    actor.armed = shell.armed;
    if hung_up && setting.broken == Broken::EpochStaysOpen {
        world.ledger = before;
    }
    if heard {
        publish(world, setting, &mut actor);
    }
    world.bridge = Bridge::Alive(actor);
}

struct Shell<'w> {
    world: &'w mut World,
    setting: &'w Setting,
    armed: Timers,
    hung_up: bool,
}

impl Shell<'_> {
    fn line(&mut self, current: Option<Epoch>) -> Option<&mut Line> {
        self.world.lines.iter_mut().find(|line| Some(line.exchange.epoch()) == current)
    }

    /// The newest connection is the bridge's, if it has one.
    fn current(&self) -> Option<Epoch> {
        self.world
            .lines
            .iter()
            .filter(|line| !line.hung_up)
            .map(|line| line.exchange.epoch())
            .max_by_key(|epoch| epoch.0)
    }
}

impl LedgerAccess for Shell<'_> {
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, tokio::time::Instant) -> T) -> T {
        self.world.ledger.with(operation)
    }
}

impl Hands<()> for Shell<'_> {
    fn stepped(&mut self, _before: machine::State, out: &Reaction<machine::Bridge>, _event: Event) {
        if out.unexpected {
            self.world.mark(Wrong::Surprise);
        }
    }

    fn settle(&mut self, settlements: Vec<Settlement>) {
        if self.setting.broken != Broken::EpochStaysOpen {
            self.world.settle_all(self.setting, said(settlements));
        }
    }

    fn dial(&mut self, target: u8, _: bool) -> Result<(Epoch, ()), ConnectFailure> {
        // The model has one target, so only a stale offer can name another one.
        if target > 0 {
            return Err(ConnectFailure::Refused);
        }
        if self.world.ghost.stop_heard {
            self.world.mark(Wrong::AfterStop);
        }
        let epoch = self.world.next_epoch();
        self.world.lines.push(Line::new(epoch));
        Ok((Epoch(epoch), ()))
    }

    // A dial in the model is refused or not; how often it was tried makes no difference.
    fn hurry(&mut self, (): &()) {}

    fn order(&mut self, (): &(), errand: Errand) {
        let current = self.current();
        if let Some(line) = self.line(current) {
            line.exchange.order(errand);
            line.woken = true;
        }
    }

    fn end_sending(&mut self, (): &()) -> bool {
        let current = self.current();
        self.line(current).is_none_or(|line| line.exchange.end_sending())
    }

    fn hang_up(&mut self, (): (), Epoch(epoch): Epoch, loss: Loss) {
        self.hung_up = true;
        let world = &mut *self.world;
        if self.setting.broken != Broken::EpochStaysOpen {
            world.ledger.closed(epoch);
        }
        if world.linked.take_if(|linked| *linked == epoch).is_some() {
            world.hope = loss != Loss::Quit;
        }
        world.ghost.over = world.ghost.over.max(epoch);
        leave(world, epoch);
    }

    fn carry_out(&mut self, effect: Effect, _: Event, _: &machine::Bridge, current: Option<(Epoch, &())>) {
        let world = &mut *self.world;
        match effect {
            Effect::AskTargets => world.discovery_asked = true,
            Effect::TellUp => {
                world.linked = current.map(|(Epoch(epoch), ())| epoch);
                world.registry_asks = true;
            }
            // The registry does not ask for a list while the link is down.
            Effect::TellDown => world.registry_asks = false,
            Effect::Retry { .. } => self.armed.insert(Timer::Retry),
            Effect::Arm(timer, _) => self.armed.insert(timer),
            Effect::Disarm(timer) => self.armed.remove(timer),
            // The first are not modelled: there is one project, and every connection is to its editor.
            Effect::TellToolsChanged
            | Effect::CheckEditor
            | Effect::ShortenRetry
            | Effect::AwaitClients
            | Effect::Dial { .. }
            | Effect::Hurry
            | Effect::Greet
            | Effect::AskHeartbeat
            | Effect::EndSending
            | Effect::HangUp(_) => {}
        }
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
