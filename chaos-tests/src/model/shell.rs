//! The bridge's shell: carries out what the real machine orders (`src/actors/bridge.rs`).

use std::collections::VecDeque;

use holdfast::fsm::Driver;
use holdfast::fsm::bridge::{Bridge as Machine, ConnectFailure, Effect, Event, State, Timer};
use holdfast::fsm::cause::{Loss, Outlook};

use super::line::{Line, Order};
use super::world::{Bridge, Broken, News, Setting, Stage, World, Wrong};

/// Armed timers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Timers(u16);

impl Timers {
    const ALL: [Timer; 9] = [
        Timer::Seek,
        Timer::Retry,
        Timer::Greeting,
        Timer::Stall,
        Timer::Silence,
        Timer::Liveness,
        Timer::Hope,
        Timer::Leave,
        Timer::Drain,
    ];

    fn insert(&mut self, timer: Timer) {
        self.0 |= 1 << timer as u16;
    }

    /// A timer fires, or is disarmed.
    pub fn remove(&mut self, timer: Timer) {
        self.0 &= !(1 << timer as u16);
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Timer> {
        Self::ALL.into_iter().filter(move |timer| self.0 & (1 << *timer as u16) != 0)
    }
}

/// An incarnation of the bridge's actor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shell {
    /// The real machine.
    pub machine: Driver<Machine>,
    /// The current connection.
    pub connection: Option<u64>,
    /// Timers that may fire.
    pub armed: Timers,
    told: Option<(Outlook, bool)>,
    /// Others find it under its address.
    pub enlisted: bool,
}

impl Shell {
    /// A fresh incarnation; `hope`: its predecessor lost an editor a moment ago.
    pub fn new(hope: bool) -> Self {
        let (machine, _) = Driver::start(if hope { Machine::after_loss() } else { Machine::new() });
        let mut armed = Timers::default();
        if hope {
            armed.insert(Timer::Hope);
        }
        Self { machine, connection: None, armed, told: None, enlisted: false }
    }

    /// The machine's state.
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// The state's name.
    pub fn label(&self) -> &'static str {
        self.state().into()
    }
}

/// Feeds the machine of the living bridge and carries out what it orders.
pub fn feed(world: &mut World, setting: &Setting, event: Event) {
    let placeholder = Bridge::Settled;
    let Bridge::Alive(mut shell) = std::mem::replace(&mut world.bridge, placeholder) else { return };
    if event == Event::StopRequested {
        world.ghost.stop_heard = true;
    }
    let mut events = VecDeque::from([event]);
    while let Some(event) = events.pop_front() {
        let out = shell.machine.feed(&event);
        if out.unexpected {
            world.mark(Wrong::Surprise);
        }
        for effect in out.effects {
            carry_out(world, setting, &mut shell, effect, &mut events);
        }
    }
    publish(world, setting, &mut shell);
    world.bridge = Bridge::Alive(shell);
}

fn carry_out(world: &mut World, setting: &Setting, shell: &mut Shell, effect: Effect, events: &mut VecDeque<Event>) {
    match effect {
        Effect::AskTargets => world.discovery_asked = true,
        // The model has one target, so only a stale offer can name another.
        Effect::Dial { target: 0 } => {
            if world.ghost.stop_heard {
                world.mark(Wrong::AfterStop);
            }
            let epoch = world.next_epoch();
            world.lines.push(Line::new(epoch));
            shell.connection = Some(epoch);
        }
        Effect::Dial { .. } => events.push_back(Event::ConnectFailed(ConnectFailure::Refused)),
        Effect::Greet => order(world, shell, Order::Greeting),
        Effect::SendList => order(world, shell, Order::List),
        Effect::SendNextCall => {
            let Some(epoch) = shell.connection else { return };
            match reserve(world, setting, epoch) {
                Some(call) => {
                    order(world, shell, Order::Call(call));
                    if world.ledger.has_held() {
                        events.push_back(Event::CallsWaiting);
                    }
                }
                None => events.push_back(Event::WorkFinished { more: false }),
            }
        }
        Effect::HangUp(loss) => hang_up(world, setting, shell, loss),
        Effect::TellUp => {
            world.linked = shell.connection;
            world.registry_asks = true;
        }
        // The registry knows that there is nobody to ask.
        Effect::TellDown => world.registry_asks = false,
        Effect::TellToolsChanged | Effect::CheckEditor | Effect::AskPulse | Effect::ShortenRetry => {}
        // The model has one project, which no connection parts from.
        Effect::AwaitClients => {}
        Effect::Retry { .. } => shell.armed.insert(Timer::Retry),
        Effect::Arm(timer, _) => shell.armed.insert(timer),
        Effect::Disarm(timer) => shell.armed.remove(timer),
    }
}

fn reserve(world: &mut World, setting: &Setting, epoch: u64) -> Option<u8> {
    let again = || {
        let ended =
            |call: &u8| world.ghost.sent[usize::from(*call)] == 1 && setting.calls.get(usize::from(*call)).is_some();
        (0..3).find(|call| ended(call))
    };
    if setting.broken == Broken::ClaimsTwice
        && let Some(call) = again()
    {
        return Some(call);
    }
    world.ledger.reserve(epoch)
}

fn order(world: &mut World, shell: &Shell, order: Order) {
    let line = world.lines.iter_mut().find(|line| Some(line.epoch) == shell.connection);
    match (line, order) {
        (Some(line), Order::Call(call)) => line.orders.push_back(call),
        (Some(line), Order::Greeting | Order::List) => {
            line.owed |= Line::bit(order);
            if !line.peer_gone {
                line.out.push_back(order);
            }
        }
        (None, _) | (Some(_), Order::Outcomes) => {}
    }
}

fn hang_up(world: &mut World, setting: &Setting, shell: &mut Shell, loss: Loss) {
    let Some(epoch) = shell.connection.take() else { return };
    if setting.broken != Broken::EpochStaysOpen {
        let said = world.ledger.close_epoch(epoch, loss);
        world.settle_all(setting, said);
    }
    if loss == Loss::Quit {
        let said = world.ledger.journals_gone(None);
        world.settle_all(setting, said);
    }
    if world.linked.take_if(|linked| *linked == epoch).is_some() {
        world.hope = loss != Loss::Quit;
    }
    world.ghost.over = world.ghost.over.max(epoch);
    leave(world, epoch);
}

/// The bridge's end of a connection is dropped.
pub fn leave(world: &mut World, epoch: u64) {
    for line in world.lines.iter_mut().filter(|line| line.epoch <= epoch) {
        line.hung_up = true;
    }
}

fn publish(world: &mut World, setting: &Setting, shell: &mut Shell) {
    let (machine, state) = (shell.machine.machine(), shell.machine.state());
    let now = (machine.outlook(state), machine.undecided(state));
    if shell.told != Some(now) {
        shell.told = Some(now);
        let said = world.ledger.set_outlook(now.0);
        world.settle(setting.broken, said);
    }
}

/// Hears what a connection's task says: only of the current connection.
pub fn hear(world: &mut World, setting: &Setting, news: News) {
    let Bridge::Alive(shell) = &mut world.bridge else { return };
    if shell.connection == Some(news.epoch) {
        // A list that is still on the wire will find the next registry; nothing else frees its place.
        let awaited = |line: &Line| line.epoch == news.epoch && line.owed & Line::bit(Order::List) != 0;
        let guarded = match news.event {
            Event::ListLost => true,
            Event::ListAnswered => setting.broken != Broken::OldListCounts,
            _ => false,
        };
        if guarded && world.lines.iter().any(awaited) {
            return;
        }
        if matches!(news.event, Event::ConnectFailed(_)) {
            shell.connection = None;
        }
        feed(world, setting, news.event);
    }
}

/// A fresh incarnation begins: its `post_start`.
pub fn begin(world: &mut World, setting: &Setting) {
    let mut shell = Shell::new(world.hope);
    shell.enlisted = setting.broken != Broken::EnlistedTooLate;
    publish(world, setting, &mut shell);
    world.bridge = Bridge::Alive(shell);
    if world.stage >= Stage::Draining && setting.broken != Broken::SuccessorUnaware {
        feed(world, setting, Event::StopRequested);
    } else if world.ledger.has_held() {
        feed(world, setting, Event::CallsWaiting);
    } else {
        feed(world, setting, Event::Wanted);
    }
}
