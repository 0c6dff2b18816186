//! The bridge actor: the shell around [`fsm::bridge`](crate::fsm::bridge).
//!
//! *Owns* the connection's handle, the offered targets and the timers. *Receives* targets from discovery, news from the
//! connection, hints from push, work from session and registry. *Sends* orders to the connection, the link's outlook to the
//! ledger and the session. *Dies* only of our own bugs; its supervisor then closes its epoch in the ledger first.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use super::connection::{self, Connection, Order, Surroundings};
use super::probe;
use crate::config::PortSource;
use crate::core::calls::Wanted;
use crate::core::link::EditorIdentity;
use crate::fsm::Driver;
use crate::fsm::bridge::{Bridge, ConnectFailure, Effect, Event, Sign, Timer};
use crate::fsm::cause::{Loss, Outlook, Return};
use crate::fsm::{retry, session as session_machine};
use crate::limits::{HINT_DIAL_SPACING, LIKELY_AFTER_LOSS, PART_AFTER, RETRY_UNLIKELY_MAX};
use crate::platform::host::Liveness;
use crate::protocol::dialect::Recovery;
use crate::protocol::ids::Epoch;
use crate::runtime::messages::bridge::{Message, News};
use crate::runtime::messages::{discovery, registry, session};
use crate::runtime::supervisor::Tasks;
use crate::runtime::timers::Timers;
use crate::survey::{Identity, Survey, Target};

/// The actor.
pub struct BridgeActor {
    /// What it works with, and each of its connections.
    pub with: Surroundings,
    /// Its tasks.
    pub tasks: Tasks,
}

/// What an incarnation keeps.
pub struct State {
    driver: Driver<Bridge>,
    timers: Timers<Timer, Message>,
    me: ActorRef<Message>,
    targets: Vec<Target>,
    /// The project that everything known here is about; `None`: nothing is known yet.
    project: Option<Option<PathBuf>>,
    /// Targets that were dialled and are somebody else's, and when that was seen.
    refused: Vec<(Target, ConnectFailure, Instant)>,
    connection: Option<Connection>,
    last_dial: Option<Instant>,
    /// The files that are looked for: each is one sending's.
    probing: BTreeSet<String>,
    /// The domain of the editor that was greeted last.
    domain: Option<u64>,
    told: Option<(&'static str, Outlook, bool)>,
}

impl Actor for BridgeActor {
    type Msg = Message;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Message>, (): ()) -> Result<State, ActorProcessingErr> {
        self.with.addresses.bridge.fill(me.clone());
        let mut timers = Timers::new(me.clone(), Message::Timer);
        // A predecessor's editor is as likely to be there as it was for it.
        let hope = self.with.link.view.borrow().outages.back().and_then(|last| {
            LIKELY_AFTER_LOSS
                .checked_sub(last.at.elapsed())
                .filter(|left| !matches!(last.loss, Loss::Quit | Loss::ProjectChanged) && !left.is_zero())
        });
        let machine = match hope {
            Some(left) => {
                timers.arm(Timer::Hope, left);
                Bridge::after_loss()
            }
            None => Bridge::new(),
        };
        let (driver, _) = Driver::start(machine);
        self.with.env.events.machine_started(driver.machine(), driver.state());
        Ok(State {
            driver,
            timers,
            me,
            targets: Vec::new(),
            project: self.with.link.view.borrow().target.as_ref().map(|target| target.project.clone()),
            refused: Vec::new(),
            connection: None,
            last_dial: None,
            probing: BTreeSet::new(),
            domain: None,
            told: None,
        })
    }

    async fn post_start(&self, _me: ActorRef<Message>, state: &mut State) -> Result<(), ActorProcessingErr> {
        self.publish(state);
        self.look_for_outcomes(state);
        // A predecessor may have heard of it, and not a word of it is left.
        self.project_moved(state);
        if self.with.env.is_draining() {
            // The order to stop may have gone to a predecessor.
            self.feed(state, Event::StopRequested);
        } else if self.with.calls.ledger(|ledger, _| ledger.has_held()) {
            self.feed(state, Event::CallsWaiting);
        } else if self.with.link.is_wanted() {
            self.feed(state, Event::Wanted);
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
            Message::Wanted => self.feed(state, Event::Wanted),
            Message::ProjectMoved => self.project_moved(state),
            Message::Offered(survey) | Message::NothingOffered(survey) => self.offered(state, &survey),
            Message::GoodNews => {
                state.refused.clear();
                self.feed(state, Event::NewsArrived);
            }
            Message::News(epoch, news, _permit) => self.hear(state, epoch, news),
            Message::CallsWaiting => self.feed(state, Event::CallsWaiting),
            Message::ListWanted => self.feed(state, Event::ListWanted),
            Message::ListLost => {
                // One that is still on the wire will find the next registry.
                if state.connection.as_ref().is_some_and(|connection| !connection.awaits_list()) {
                    self.feed(state, Event::ListLost);
                }
            }
            Message::Hint(hint) => self.feed(state, Event::HintReceived(hint)),
            Message::ProbeEnded(path) => {
                state.probing.remove(&path);
            }
            Message::Withdrawn(key) => {
                // Kindness, and never needed: what the editor answers to it counts for nobody.
                self.order(state, Order::Cancel(key));
            }
            Message::NobodyWaits(epoch) => {
                if state.connection.as_ref().is_some_and(|connection| connection.epoch == epoch) {
                    self.feed(state, Event::NobodyWaits);
                }
            }
            Message::ConnectionFailed(epoch) => {
                if state.connection.as_ref().is_some_and(|connection| connection.epoch == epoch) {
                    // Our bug: the supervisor closes the epoch and starts anew.
                    return Err(format!("the task of connection {epoch} panicked").into());
                }
            }
            Message::EditorVanished(epoch) => {
                if state.connection.as_ref().is_some_and(|connection| connection.epoch == epoch) {
                    self.feed(state, Event::EditorVanished);
                    self.with.calls.decide(|ledger, now| ledger.journals_gone(None, now));
                }
            }
            Message::Timer(timer) => {
                if state.timers.fired(timer) {
                    self.feed(state, Event::Elapsed(timer));
                }
            }
            Message::Stop => self.feed(state, Event::StopRequested),
        }
        Ok(())
    }
}

impl BridgeActor {
    /// Asks anew which project is wanted, and tells the machine what that means for what it knows.
    fn project_moved(&self, state: &mut State) {
        // In question: the ledger lets nothing out meanwhile.
        let Wanted::Settled(project) = self.with.link.wanted() else { return };
        // Before the first look around nothing tells that there is none.
        let before =
            if self.with.link.survey.borrow().is_some() { state.project.replace(project.clone()) } else { None };
        if before.is_some_and(|before| before != project) {
            state.refused.clear();
            self.feed(state, Event::ProjectChanged);
        } else if self.with.calls.ledger(|ledger, _| ledger.has_held()) {
            self.feed(state, Event::CallsWaiting);
        }
    }

    /// Discovery looked around. What is another project's leads nowhere. While it is in question which one is wanted, the first one
    /// is followed: most likely it is the one.
    fn offered(&self, state: &mut State, survey: &Survey) {
        let wanted = match self.with.link.wanted() {
            Wanted::Settled(wanted) => wanted,
            Wanted::Asked => state.project.get_or_insert_with(|| survey.project.clone()).clone(),
        };
        let is_wanted = survey.project == wanted;
        if !is_wanted && survey.project.is_some() {
            return;
        }
        self.mind_the_dead(survey);
        let evidence = survey.evidence;
        // The wanted one is out of sight for a moment: whose a named port is cannot be told.
        if !is_wanted || survey.targets.is_empty() {
            return self.feed(state, Event::NothingOffered { cause: survey.cause(), evidence });
        }
        // A dial under way keeps the targets it was given: the machine ignores the offer then.
        if state.connection.is_none() {
            state.targets.clone_from(&survey.targets);
            self.remember_where_it_moved(state);
            let targets = &state.targets;
            state.refused.retain(|(target, ..)| targets.contains(target));
        }
        let count = u8::try_from(state.targets.len()).unwrap_or(u8::MAX);
        self.feed(state, Event::TargetsOffered { count, evidence });
    }

    /// News of a connection that is not the current one is of no interest: its epoch is closed.
    fn hear(&self, state: &mut State, epoch: Epoch, news: News) {
        let Some(connection) = state.connection.as_ref().filter(|connection| connection.epoch == epoch) else { return };
        if matches!(news, News::ListAnswered | News::ListFailed) && connection.awaits_list() {
            // A registry ended in between and its successor asked again: only the answer that is owed frees the place.
            return;
        }
        let event = match news {
            News::Connected(identity) => Event::Connected { checked: identity == Identity::Checked },
            News::ConnectFailed(failure) => {
                state.connection = None;
                self.remember_refusal(state, failure);
                Event::ConnectFailed(failure)
            }
            News::Greeted { window, pulse, domain } => {
                state.domain = domain;
                Event::Greeted { window, pulse }
            }
            News::GreetingRefused => {
                self.remember_refusal(state, ConnectFailure::WrongPeer);
                Event::GreetingRefused
            }
            News::ListAnswered => Event::ListAnswered,
            News::ListFailed => Event::ListLost,
            News::CallSent { running_max } => Event::CallSent { running_max },
            News::WorkFinished { more } => Event::WorkFinished { more },
            News::BytesArrived => Event::BytesArrived,
            News::PulseArrived => Event::PulseArrived,
            News::Leaving(reason) => Event::LeavingAnnounced(reason),
            News::Ended(drop) => Event::Disconnected(drop),
        };
        self.feed(state, event);
    }

    /// While it reloads, an editor that moved from its own port is seen nowhere, and its own port is somebody else's: it is away for
    /// a moment, and comes back where it was met last.
    fn remember_where_it_moved(&self, state: &mut State) {
        let Some(last) = self.with.link.view.borrow().target.clone() else { return };
        let Some(first) = state.targets.first() else { return };
        let same = last.project == first.project && last.editor_pid == first.editor_pid && last.editor_pid.is_some();
        let known = state.targets.iter().any(|target| target.port == last.port || target.source == PortSource::Process);
        if last.source == PortSource::Process && same && !known {
            state.targets.insert(0, Target { port: last.port, source: last.source, ..first.clone() });
        }
    }

    /// Somebody else's editor is not connected to, and its owner not looked up, ten times a second while ours is away.
    fn remember_refusal(&self, state: &mut State, failure: ConnectFailure) {
        let target = state.targets.get(usize::from(state.driver.machine().target()));
        if let Some(target) = target.filter(|_| failure.is_somebody_else()) {
            state.refused.retain(|(known, ..)| known != target);
            state.refused.push((target.clone(), failure, Instant::now()));
        }
    }

    fn feed(&self, state: &mut State, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let before = state.driver.state();
            let out = state.driver.feed(&event);
            self.with.env.events.stepped(&out, before, &event);
            for effect in out.effects {
                if effect == Effect::ShortenRetry {
                    self.shorten_wait(state, &event);
                }
                self.carry_out(state, effect, &mut events);
            }
        }
        self.publish(state);
    }

    fn carry_out(&self, state: &mut State, effect: Effect, events: &mut VecDeque<Event>) {
        match effect {
            Effect::AskTargets => {
                self.with.addresses.discovery.cast(discovery::Message::Wanted);
            }
            Effect::Dial { target } => self.dial(state, usize::from(target), events),
            Effect::Greet => self.order(state, Order::Greeting),
            Effect::SendList => self.order(state, Order::List { step: 0 }),
            Effect::SendNextCall => self.send_next_call(state, events),
            Effect::HangUp(loss) => self.hang_up(state, loss),
            Effect::TellUp => self.tell_up(state),
            Effect::TellDown => {
                self.with.addresses.registry.cast(registry::Message::LinkLost);
            }
            Effect::TellToolsChanged => {
                self.with.addresses.registry.cast(registry::Message::ChangeHinted(None));
            }
            Effect::CheckEditor => self.check_editor(state),
            Effect::AskPulse => self.order(state, Order::Pulse),
            Effect::AwaitClients => self.await_clients(state),
            Effect::Retry { attempt, likely } => {
                let likely = likely || self.with.calls.ledger(|ledger, _| ledger.has_held());
                let delay = retry::delay(u32::from(attempt), likely, self.with.env.die());
                self.with.env.events.backing_off(delay);
                state.timers.arm(Timer::Retry, delay);
            }
            // Done where the event is known that brought it.
            Effect::ShortenRetry => {}
            Effect::Arm(timer, delay) => state.timers.arm(timer, delay),
            Effect::Disarm(timer) => state.timers.disarm(timer),
        }
    }

    fn await_clients(&self, state: &State) {
        let Some(connection) = &state.connection else { return };
        let (epoch, me, ledger) = (connection.epoch, state.me.clone(), Arc::clone(&self.with.calls.shared));
        self.tasks.spawn(async move {
            ledger.settled_on(epoch).await;
            tokio::time::sleep(PART_AFTER).await;
            let _ = me.cast(Message::NobodyWaits(epoch));
        });
    }

    fn shorten_wait(&self, state: &mut State, because: &Event) {
        let since = state.last_dial.map_or(HINT_DIAL_SPACING, |dial| dial.elapsed());
        if state.timers.bring_forward(Timer::Retry, HINT_DIAL_SPACING.saturating_sub(since)) {
            self.with.env.events.wait_cut_short(because);
        }
    }

    fn dial(&self, state: &mut State, index: usize, events: &mut VecDeque<Event>) {
        let Some(target) = state.targets.get(index).cloned() else {
            events.push_back(Event::ConnectFailed(ConnectFailure::Refused));
            return;
        };
        let refused = state.refused.iter().find(|(known, ..)| *known == target);
        if let Some((_, failure, _)) = refused.filter(|(.., seen)| seen.elapsed() < RETRY_UNLIKELY_MAX) {
            events.push_back(Event::ConnectFailed(*failure));
            return;
        }
        state.last_dial = Some(Instant::now());
        state.connection = Some(connection::open(self.with.clone(), &self.tasks, target, state.me.clone()));
    }

    fn order(&self, state: &State, order: Order) {
        // A connection that has ended says so by its own news; the order needs no answer then.
        if let Some(connection) = &state.connection {
            connection.order(order);
        }
    }

    fn send_next_call(&self, state: &State, events: &mut VecDeque<Event>) {
        let Some(connection) = &state.connection else { return };
        match self.with.calls.ledger(|ledger, _| ledger.reserve(connection.epoch)) {
            Some(held) => {
                let (call, epoch) = (held.id, connection.epoch);
                if !connection.order(Order::Call(held)) {
                    self.with.calls.ledger(|ledger, _| ledger.unreserve(call, epoch));
                    // The connection asks for it when it has room again.
                    return events.push_back(Event::WorkFinished { more: false });
                }
                if self.with.calls.ledger(|ledger, _| ledger.has_held()) {
                    events.push_back(Event::CallsWaiting);
                }
            }
            None => events.push_back(Event::WorkFinished { more: false }),
        }
    }

    fn hang_up(&self, state: &mut State, loss: Loss) {
        let Some(connection) = state.connection.take() else { return };
        let epoch = connection.epoch;
        // The ledger first: from here on no claim, write or frame of that epoch counts. Then the socket falls.
        self.with.calls.decide(|ledger, now| ledger.close_epoch(epoch, loss, now));
        drop(connection);
        if loss == Loss::Quit {
            self.with.calls.decide(|ledger, now| ledger.journals_gone(None, now));
        }
        // One that was never greeted is no loss of the editor.
        self.with.link.lost(loss);
        self.look_for_outcomes(state);
    }

    fn tell_up(&self, state: &State) {
        let Some(connection) = &state.connection else { return };
        let target = state.targets.get(usize::from(state.driver.machine().target())).cloned();
        let pid = target.as_ref().and_then(|target| target.editor_pid);
        let editor = EditorIdentity { pid, domain: state.domain };
        // Another project's editor tells nothing of the absence of this one.
        let before = self.with.link.view.borrow().clone();
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
            self.with.env.events.link_up(connection.epoch, target.port, target.source.into(), waited_for, back);
        }
        self.with.link.view.send_modify(|link| {
            link.epoch = Some(connection.epoch);
            link.target = target;
            link.editor = editor;
            link.stranger = None;
            link.connections += 1;
            link.is_back(back);
        });
        self.with.addresses.registry.cast(registry::Message::LinkReady(connection.epoch));
        self.order(state, Order::Outcomes);
    }

    /// A journal dies with its process.
    fn mind_the_dead(&self, survey: &Survey) {
        if survey.evidence.editor == Sign::Dead {
            self.with.calls.decide(|ledger, now| ledger.journals_gone(None, now));
        }
    }

    fn check_editor(&self, state: &State) {
        let Some(connection) = &state.connection else { return };
        let target = state.targets.get(usize::from(state.driver.machine().target()));
        let Some(target) = target.filter(|target| target.editor_pid.is_some()).cloned() else { return };
        let (epoch, me, host) = (connection.epoch, state.me.clone(), Arc::clone(&self.with.env.host));
        self.tasks.spawn(async move {
            let its = Arc::clone(&host);
            let liveness = crate::platform::host::run(&*host, move || target.liveness(&*its)).await;
            if liveness.flatten() == Some(Liveness::Dead) {
                let _ = me.cast(Message::EditorVanished(epoch));
            }
        });
    }

    fn look_for_outcomes(&self, state: &mut State) {
        let recovering = self.with.calls.ledger(|ledger, _| ledger.recovering());
        if recovering.iter().any(|(_, how)| matches!(how, Recovery::Journal(_))) {
            self.order(state, Order::Outcomes);
        }
        for (call, recovery) in recovering {
            if let Recovery::ResultFile { path, .. } = &recovery
                && state.probing.insert(path.clone())
            {
                probe::start(
                    &self.with.link,
                    &self.with.env.host,
                    &self.with.calls,
                    &self.tasks,
                    (call, recovery),
                    state.me.clone(),
                );
            }
        }
    }

    /// Tells the ledger, the session and whoever watches what may be expected of the link, when that changed.
    fn publish(&self, state: &mut State) {
        let machine = state.driver.machine();
        let label: &'static str = state.driver.state().into();
        let outlook = machine.outlook(state.driver.state());
        let undecided = machine.undecided(state.driver.state());
        let now = Some((label, outlook, undecided));
        if state.told == now {
            return;
        }
        let outlook_changed =
            state.told.map(|(_, outlook, undecided)| (outlook, undecided)) != Some((outlook, undecided));
        state.told = now;
        self.with.link.view.send_modify(|link| {
            link.state = label;
            link.outlook = outlook;
            link.undecided = undecided;
            link.since = Instant::now();
            let cause = outlook.cause();
            if let Some(outage) = link.outage() {
                outage.cause = cause.or(outage.cause);
            }
        });
        if outlook_changed {
            self.with.env.events.outlook_changed(outlook);
            self.with.calls.decide(|ledger, now| ledger.set_outlook(outlook, now));
            let outlook = session_machine::Outlook::of_link(outlook, undecided);
            self.with.attached.tell(|| session::Message::OutlookChanged(outlook));
        }
    }
}

#[cfg(test)]
mod tests;
