//! The bridge actor: the shell around [`core::bridge`](crate::core::bridge).
//!
//! *Owns* the connection's handle, the offered targets and the timers. *Receives* targets from discovery, events of the
//! connection, hints from push, work from the sessions and the registry. *Sends* orders to the connection, and the link's
//! availability to the sessions. *Dies* only of our own bugs; the supervisor then closes the connection's epoch in the ledger
//! before it starts a successor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::connection::{self, Aim, Connection, Dial, Surroundings};
use super::{probe, safe_mode};
use crate::config::PortSource;
use crate::core::bridge::{BridgeCore, Expectation, Hands};
use crate::core::calls::{Ledger, LedgerAccess, Settlement, Wanted};
use crate::core::exchange::Errand;
use crate::core::link::{EditorIdentity, Fact};
use crate::fsm::Reaction;
use crate::fsm::bridge::{self as machine, Bridge, ConnectFailure, Disconnect, Effect, Event, Timer};
use crate::fsm::cause::{Cause, Loss, Return};
use crate::fsm::displaced::Displaced;
use crate::fsm::retry::{self, Useless};
use crate::limits::displaced::{DISPLACED_PAUSE_FIRST, DISPLACED_PAUSE_MAX};
use crate::limits::{HINT_DIAL_SPACING, LIKELY_AFTER_LOSS, PART_AFTER, STRANGER_REMEMBERED};
use crate::link::Link;
use crate::platform::host::Liveness;
use crate::protocol::dialect::{Endpoint, PushEvent};
use crate::protocol::ids::{CallId, Epoch};
use crate::runtime::arrivals::{self, Awaited};
use crate::runtime::messages::bridge::Message;
use crate::runtime::messages::{discovery, registry, session};
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::survey::{Survey, Target};

pub struct BridgeActor {
    /// What this actor and each of its connections work with.
    pub with: Surroundings,
    /// The tasks of this actor.
    pub tasks: Tasks,
    /// Whether one of them looks into Unity's log.
    pub looking: Arc<AtomicBool>,
}

/// The state of the running actor. It is lost when the actor is restarted.
pub struct State {
    core: BridgeCore<Connection>,
    rest: Rest,
}

/// What the actor remembers in addition to the machine.
struct Rest {
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    targets: Vec<Target>,
    /// The project that all state here is about. `None`: not known yet; `Some(None)`: there is no project.
    project: Option<Option<PathBuf>>,
    /// Targets that were dialled and belong to another program, with the failure and the time at which it was found.
    refused: Vec<(Target, ConnectFailure, Instant)>,
    last_dial: Option<Instant>,
    /// Connections that were of no use: the pauses between them grow.
    useless: Useless,
    /// Connections that another client took, if the editor serves one.
    displaced: Displaced,
    /// The editor that connects to us, if the targets are such.
    arrival: Option<Arc<Awaited>>,
    /// The calls that probes look for, each with its file. Several calls may follow one file.
    probing: BTreeSet<(CallId, String)>,
}

/// Whether a refusal was seen so lately that it still counts.
fn still_counts(seen: Instant) -> bool {
    seen.elapsed() < STRANGER_REMEMBERED
}

impl Rest {
    /// Why this target was found to be somebody else's a moment ago; `None` if it was not.
    fn refused_lately(&self, target: &Target) -> Option<ConnectFailure> {
        self.refused
            .iter()
            .find(|(known, _, seen)| known == target && still_counts(*seen))
            .map(|(_, failure, _)| *failure)
    }

    /// Forgets the refusals that are too old to count. Returns whether there were any.
    fn forgets_a_refusal(&mut self) -> bool {
        let before = self.refused.len();
        self.refused.retain(|(.., seen)| still_counts(*seen));
        self.refused.len() < before
    }
}

impl Actor for BridgeActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        let mut timers = Timers::new(me.clone(), Message::Timer);
        // An editor that a predecessor of this actor lost is as likely to come back as it was before.
        let recently_lost = self.with.contact.view.borrow().outages.back().and_then(|last| {
            LIKELY_AFTER_LOSS
                .checked_sub(last.at.elapsed())
                .filter(|left| !matches!(last.loss, Loss::Quit | Loss::ProjectChanged) && !left.is_zero())
        });
        if let Some(left) = recently_lost {
            timers.arm(Timer::Hope, left);
        }
        let core = BridgeCore::new(recently_lost.is_some());
        self.with.env.events.machine_started(core.machine(), core.state());
        let rest = Rest {
            timers,
            me,
            targets: Vec::new(),
            project: self.with.contact.view.borrow().target.as_ref().map(|target| target.project.clone()),
            refused: Vec::new(),
            last_dial: None,
            useless: Useless::default(),
            displaced: Displaced::default(),
            arrival: None,
            probing: BTreeSet::new(),
        };
        Ok(State { core, rest })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        self.publish(&mut state.core);
        self.look_for_results(&mut state.rest);
        // `ProjectMoved` may have gone to a predecessor, whose state is lost.
        self.project_moved(state);
        let (draining, wanted) = (self.with.env.is_draining(), self.with.contact.is_wanted());
        let ledger = &mut &*self.with.calls.shared;
        if let Some(event) = BridgeCore::<Connection>::first_event(draining, wanted, ledger) {
            self.feed(state, event);
        }
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Told(event) => self.feed(state, event),
            Message::ProjectMoved => self.project_moved(state),
            Message::Offered { survey, news } => {
                self.offered(state, &survey);
                if news {
                    let others = !std::mem::take(&mut state.rest.refused).is_empty();
                    // A patient dial left out the targets that were refused. They count again now.
                    let begins_anew = others && state.core.machine().is_dialling_patiently();
                    self.feed(state, if begins_anew { Event::TargetGone } else { Event::NewsArrived });
                }
            }
            Message::Heard(epoch, event, _permit) => self.hear(state, epoch, event),
            Message::OutcomeOpen => self.look_for_results(&mut state.rest),
            Message::ProbeEnded(call, path) => {
                state.rest.probing.remove(&(call, path));
            }
            Message::ConnectionFailed(epoch) => {
                if state.core.epoch() == Some(epoch) {
                    // Our bug: the supervisor closes the epoch and starts a new bridge.
                    return Err(format!("the task of connection {epoch} panicked").into());
                }
            }
            Message::Timer(timer) => {
                if state.rest.timers.fired(timer) {
                    self.feed(state, Event::Elapsed(timer));
                }
            }
        }
        Ok(())
    }
}

impl BridgeActor {
    /// Creates the bridge of a link.
    pub fn of(link: &Link, tasks: Tasks) -> Self {
        let with = Surroundings {
            env: Arc::clone(&link.env),
            addresses: Arc::clone(&link.addresses),
            attached: link.attached.clone(),
            contact: Arc::clone(&link.contact),
            tools: Arc::clone(&link.tools),
            calls: Arc::clone(&link.calls),
        };
        Self { with, tasks, looking: Arc::default() }
    }

    /// Reads which project is wanted. Feeds the machine an event if the project changed, or else if calls are held.
    fn project_moved(&self, state: &mut State) {
        // While it is not known which project is wanted, the ledger sends no calls.
        let Wanted::Settled(project) = self.with.contact.wanted() else { return };
        // Before the first survey, `None` does not mean that there is no project.
        let before = if self.with.contact.survey.borrow().is_some() {
            state.rest.project.replace(project.clone())
        } else {
            None
        };
        if before.is_some_and(|before| before != project) {
            state.rest.refused.clear();
            self.feed(state, Event::ProjectChanged);
        } else if self.with.calls.ledger(|ledger, _| ledger.has_held()) {
            match self.with.contact.exchange() {
                Some(exchange) => exchange.look_for_calls(),
                None => self.feed(state, Event::CallsWaiting),
            }
        }
    }

    /// Handles a survey from discovery. A survey of a project that is not wanted is ignored. While it is not known which project
    /// is wanted, surveys of the project that was known first are used: most likely it is the wanted one.
    fn offered(&self, state: &mut State, survey: &Survey) {
        let wanted = match self.with.contact.wanted() {
            Wanted::Settled(wanted) => wanted,
            Wanted::Asked => state.rest.project.get_or_insert_with(|| survey.project.clone()).clone(),
        };
        let is_wanted = survey.project == wanted;
        if !is_wanted && survey.project.is_some() {
            return;
        }
        let evidence = survey.evidence;
        // If the wanted project is not found for a moment, the owner of a port that the user named cannot be determined either.
        if !is_wanted || survey.targets.is_empty() {
            return self.feed(state, Event::NothingOffered { cause: survey.cause(), evidence });
        }
        let targets = self.with_where_it_moved(&survey.targets);
        // A dial under way keeps its targets, and leaves out those that were somebody else's. It begins anew if the editor is
        // elsewhere by now, and when a target that it left out counts again.
        if state.core.machine().is_dialling_patiently()
            && (targets != state.rest.targets || state.rest.forgets_a_refusal())
        {
            return self.feed(state, Event::TargetGone);
        }
        if state.core.epoch().is_some()
            && let Some(target) = state.rest.targets.get(usize::from(state.core.machine().target()))
            // A survey never finds a port that is only remembered.
            && target.source != PortSource::Process
            && !survey.targets.iter().any(|known| known.endpoint.port() == target.endpoint.port())
        {
            return self.feed(state, Event::TargetGone);
        }
        if state.core.epoch().is_none() {
            state.rest.targets = targets;
            self.expect_arrival(&mut state.rest);
            let targets = &state.rest.targets;
            state.rest.refused.retain(|(target, ..)| targets.contains(target));
        }
        let count = u8::try_from(state.rest.targets.len()).unwrap_or(u8::MAX);
        self.feed(state, Event::TargetsOffered { count, evidence });
    }

    /// Expects the editor, if it is one that connects to us. That goes on between dials.
    fn expect_arrival(&self, state: &mut Rest) {
        let arrives = |target: &Target| match target.endpoint {
            Endpoint::Arrival(number) => Some(arrivals::Port { number, is_named: target.source.is_named() }),
            Endpoint::Port(_) | Endpoint::Http { .. } | Endpoint::Local(_) => None,
        };
        let ports: Vec<arrivals::Port> = state.targets.iter().filter_map(arrives).collect();
        // All targets have the same dialect and project.
        let expected = state.targets.first().filter(|_| !ports.is_empty());
        let Some((dialect, project)) = expected.and_then(|target| Some((target.dialect, target.project.clone()?)))
        else {
            state.arrival = None;
            return;
        };
        if state.arrival.as_ref().is_some_and(|known| known.is_at(&ports, dialect, &project)) {
            return;
        }
        let env = &self.with.env;
        let with = arrivals::Surroundings {
            net: Arc::clone(&env.net),
            host: Arc::clone(&env.host),
            events: env.events.clone(),
        };
        let me = state.me.clone();
        let tell =
            Box::new(move || drop(me.cast(Message::Told(Event::HintReceived(PushEvent::ConnectionEstablished)))));
        let (arrival, tasks) = env.arrivals.expect(&with, &ports, dialect, project, tell);
        tasks.into_iter().for_each(|task| drop(env.health.spawn("arrivals", task)));
        state.arrival = Some(arrival);
    }

    /// Handles an event of a connection. Events of a connection that is not the current one are dropped: that connection's epoch
    /// is closed.
    fn hear(&self, state: &mut State, epoch: Epoch, event: Event) {
        if state.core.epoch() != Some(epoch) {
            return;
        }
        match event {
            Event::ConnectFailed { target, failure, .. } => self.remember_refusal(state, target, failure),
            Event::GreetingRefused(failure) => {
                self.remember_refusal(state, state.core.machine().target(), failure);
            }
            _ => {}
        }
        let State { core, rest } = state;
        let event = self.is_displaced(core, rest, &event).unwrap_or(event);
        core.hear(epoch, event, &mut Shell { actor: self, rest });
        self.publish(core);
    }

    /// Returns the end of a connection that another client took, instead of one that says no more than that it ended.
    fn is_displaced(&self, core: &BridgeCore<Connection>, rest: &mut Rest, event: &Event) -> Option<Event> {
        let is_cut = matches!(event, Event::Disconnected(Disconnect::Eof | Disconnect::Reset));
        let target = rest.targets.get(usize::from(core.machine().target()))?;
        let is_up = matches!(core.state(), machine::State::Ready | machine::State::Stalled | machine::State::Greeting);
        let used = core.connection()?.shared.lock().used();
        let is_one = is_cut && is_up && target.dialect.properties().one_client;
        let lasted = rest.last_dial.map(|dial| dial.elapsed()).unwrap_or_default();
        (is_one && rest.displaced.cut(used, lasted)).then_some(Event::Disconnected(Disconnect::Displaced))
    }

    /// Returns these targets, and one more for the port on which an editor that changed its port was last met. While such an
    /// editor reloads, no survey finds that port, and the port that its files name belongs to another program. The editor comes
    /// back on the port where it was last met.
    fn with_where_it_moved(&self, targets: &[Target]) -> Vec<Target> {
        let mut targets = targets.to_vec();
        let Some(last) = self.with.contact.view.borrow().target.clone() else { return targets };
        let Some(first) = targets.first() else { return targets };
        let same = last.project == first.project && last.editor_pid == first.editor_pid && last.editor_pid.is_some();
        let known =
            targets.iter().any(|target| target.endpoint == last.endpoint || target.source == PortSource::Process);
        if last.source == PortSource::Process && same && !known {
            targets.insert(0, Target { endpoint: last.endpoint, source: last.source, ..first.clone() });
        }
        targets
    }

    /// Remembers a target that belongs to another program. Otherwise it would be dialled, and its owner looked up, again and
    /// again while our editor is away.
    fn remember_refusal(&self, state: &mut State, target: u8, failure: ConnectFailure) {
        let rest = &mut state.rest;
        let target = rest.targets.get(usize::from(target));
        if let Some(target) = target.filter(|_| failure.is_somebody_else()) {
            rest.refused.retain(|(known, ..)| known != target);
            rest.refused.push((target.clone(), failure, Instant::now()));
        }
    }

    fn feed(&self, state: &mut State, event: Event) {
        let State { core, rest } = state;
        core.feed(event, &mut Shell { actor: self, rest });
        self.publish(core);
    }

    fn await_clients(&self, state: &Rest, epoch: Epoch) {
        let (me, ledger) = (state.me.clone(), Arc::clone(&self.with.calls.shared));
        self.tasks.spawn(async move {
            ledger.settled_on(epoch).await;
            tokio::time::sleep(PART_AFTER).await;
            let _ = me.cast(Message::Heard(epoch, Event::NobodyWaits, None));
        });
    }

    fn shorten_wait(&self, state: &mut Rest, because: &Event) {
        let is_displaced = state.displaced.pause().is_some();
        let for_calls = *because == Event::CallsWaiting;
        if for_calls && state.useless.circles() && !is_displaced {
            // Calls are held again by each such connection, and that would cut every pause short.
            return;
        }
        let spacing = if for_calls && is_displaced { DISPLACED_PAUSE_FIRST } else { HINT_DIAL_SPACING };
        let since = state.last_dial.map_or(spacing, |dial| dial.elapsed());
        state.timers.bring_forward(Timer::Retry, spacing.saturating_sub(since));
    }

    fn dial(&self, state: &mut Rest, first: u8, patient: bool) -> Result<(Epoch, Connection), ConnectFailure> {
        // An outdated offer may name a target that is no longer known.
        let target = state.targets.get(usize::from(first)).ok_or(ConnectFailure::Refused)?;
        if let Some(failure) = state.refused_lately(target) {
            return Err(failure);
        }
        let aim = Aim { nth: first, target: target.clone() };
        let others = (0..).zip(&state.targets).filter(|(nth, target)| {
            // Targets that belong to somebody else are not dialled now.
            patient && *nth != first && state.refused_lately(target).is_none()
        });
        let others = others.map(|(nth, target)| Aim { nth, target: target.clone() }).collect();
        state.last_dial = Some(Instant::now());
        let epoch = self.with.contact.next_epoch();
        let dial = Dial { aim, others, patient, arrival: state.arrival.clone() };
        Ok((epoch, connection::open(self.with.clone(), &self.tasks, dial, epoch, state.me.clone())))
    }

    fn tell_up(&self, state: &Rest, at: u8, (epoch, connection): (Epoch, &Connection)) {
        let target = state.targets.get(usize::from(at)).cloned();
        let pid = target.as_ref().and_then(|target| target.editor_pid);
        let met = connection.shared.lock().met().cloned().unwrap_or_default();
        let domain = met.domain;
        let editor = EditorIdentity { pid, domain };
        // If the last connection was to another project's editor, it shows nothing about how long this editor was away.
        let before = self.with.contact.view.borrow().clone();
        let project = |target: Option<&Target>| target.map(|target| target.project.clone());
        let is_same = project(before.target.as_ref()) == project(target.as_ref());
        let back = if is_same { before.editor.since(editor) } else { Return::Unknown };
        let waited_for = self.with.calls.ledger(|ledger, now| {
            if back == Return::OtherProcess {
                ledger.editor_replaced(now);
            }
            ledger.has_held()
        });
        if let Some(target) = &target {
            self.with.env.events.link_up(epoch, target.endpoint.port(), target.source.into(), waited_for, back);
        }
        self.with.contact.view.tell(Fact::Greeted { epoch, target, editor, back });
        if let Some(standing) = met.standing {
            self.with.calls.ledger(|ledger, _| connection.shared.lock().stands(&standing, ledger));
            self.with.contact.view.tell(Fact::Obstructed(standing.obstacle().map(str::to_owned)));
        }
        self.with.contact.set_exchange(Some(Arc::clone(&connection.shared)));
        self.with.addresses.registry.cast(registry::Message::LinkReady(epoch));
    }

    fn check_editor(&self, state: &Rest, at: u8, epoch: Epoch) {
        let target = state.targets.get(usize::from(at));
        let Some(target) = target.filter(|target| target.editor_pid.is_some()).cloned() else { return };
        let (me, host) = (state.me.clone(), Arc::clone(&self.with.env.host));
        self.tasks.spawn(async move {
            let its = Arc::clone(&host);
            let liveness = crate::platform::host::run(&*host, move || target.liveness(&*its)).await;
            if liveness.flatten() == Some(Liveness::Dead) {
                let _ = me.cast(Message::Heard(epoch, Event::EditorVanished, None));
            }
        });
    }

    /// Starts a probe for each missing result that the editor also writes to a file, unless a probe for it is running
    /// already.
    fn look_for_results(&self, state: &mut Rest) {
        let recovering = self.with.calls.ledger(|ledger, _| ledger.recovering());
        for (call, recovery) in recovering {
            if let Some(path) = probe::file_of(&recovery)
                && state.probing.insert((call, path.to_owned()))
            {
                probe::start(
                    &self.with.contact,
                    &self.with.env.host,
                    &self.with.calls,
                    &self.tasks,
                    (call, recovery),
                    state.me.clone(),
                );
            }
        }
    }

    /// If the machine's state or what callers may expect of the link has changed, publishes it in the link's view. If the
    /// expectation has changed, also carries out the ledger's settlements and notifies the sessions.
    fn publish(&self, core: &mut BridgeCore<Connection>) {
        let Some(told) = core.expectation(&mut &*self.with.calls.shared) else { return };
        let Expectation { state, availability, undecided, changed } = told;
        self.with.contact.view.tell(Fact::Expected { state, availability, undecided });
        if let Some(settlements) = changed {
            self.with.env.events.availability_changed(availability);
            if availability.cause() == Some(Cause::BridgeDown) {
                safe_mode::look(&self.with.contact, &self.with.env, &self.tasks, &self.looking);
            }
            self.with.calls.settle(settlements);
            self.with.attached.tell(|| session::Message::LinkChanged);
        }
    }
}

/// The bridge's [`Hands`]: carries out the effects of the machine.
struct Shell<'s> {
    actor: &'s BridgeActor,
    rest: &'s mut Rest,
}

impl LedgerAccess for Shell<'_> {
    fn with<T>(&mut self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        self.actor.with.calls.ledger(operation)
    }
}

impl Hands<Connection> for Shell<'_> {
    fn stepped(&mut self, before: machine::State, out: &Reaction<Bridge>, event: Event) {
        self.actor.with.env.events.stepped(out, before, &event);
        self.rest.useless.note(&event);
    }

    fn settle(&mut self, settlements: Vec<Settlement>) {
        self.actor.with.calls.settle(settlements);
    }

    fn dial(&mut self, target: u8, patient: bool) -> Result<(Epoch, Connection), ConnectFailure> {
        self.actor.dial(self.rest, target, patient)
    }

    fn hurry(&mut self, connection: &Connection) {
        connection.hurry.notify_one();
    }

    fn order(&mut self, connection: &Connection, errand: Errand) {
        connection.shared.order(errand);
    }

    fn end_sending(&mut self, connection: &Connection) -> bool {
        connection.shared.lock().end_sending()
    }

    fn hang_up(&mut self, connection: Connection, _epoch: Epoch, loss: Loss) {
        self.rest.useless.ended(connection.shared.lock().used());
        drop(connection);
        let contact = &self.actor.with.contact;
        contact.set_exchange(None);
        // `lost` ignores a connection that was never greeted: no editor was lost.
        contact.lost(loss);
        self.actor.look_for_results(self.rest);
    }

    fn carry_out(&mut self, effect: Effect, because: Event, machine: &Bridge, current: Option<(Epoch, &Connection)>) {
        let Self { actor, rest } = self;
        let addresses = &actor.with.addresses;
        match effect {
            Effect::AskTargets => {
                addresses.discovery.cast(discovery::Message::Told(discovery::Event::Wanted));
            }
            Effect::TellUp => {
                if let Some(current) = current {
                    actor.tell_up(rest, machine.target(), current);
                }
            }
            Effect::TellDown => {
                addresses.registry.cast(registry::Message::LinkLost);
            }
            Effect::TellToolsChanged => {
                addresses.registry.cast(registry::Message::ChangeHinted(None));
            }
            Effect::CheckEditor => {
                if let Some((epoch, _)) = current {
                    actor.check_editor(rest, machine.target(), epoch);
                }
            }
            Effect::AwaitClients => {
                if let Some((epoch, _)) = current {
                    actor.await_clients(rest, epoch);
                }
            }
            Effect::Retry { attempt, likely } => {
                let (attempt, likely) = rest.useless.paced(attempt, likely);
                let delay = retry::delay(u32::from(attempt), likely, actor.with.env.random_fraction());
                let is_displaced = machine.availability().cause() == Some(Cause::Displaced);
                let calls_wait = actor.with.calls.ledger(|ledger, _| ledger.has_held());
                let longest = if calls_wait { DISPLACED_PAUSE_FIRST } else { DISPLACED_PAUSE_MAX };
                let pause = rest.displaced.pause().filter(|_| is_displaced);
                let delay = pause.map_or(delay, |pause| pause.min(longest));
                rest.timers.arm(Timer::Retry, delay);
            }
            Effect::ShortenRetry => actor.shorten_wait(rest, &because),
            Effect::Arm(timer, delay) => rest.timers.arm(timer, delay),
            Effect::Disarm(timer) => rest.timers.disarm(timer),
            Effect::Dial { .. }
            | Effect::Hurry
            | Effect::Greet
            | Effect::AskHeartbeat
            | Effect::EndSending
            | Effect::HangUp(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
