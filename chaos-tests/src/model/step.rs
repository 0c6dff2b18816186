//! Carries out one action of the model.

use holdfast::core::calls::{LedgerAccess as _, Settlement};
use holdfast::core::exchange::{After, Errand, JobState, JobStep, Learned, Next, ReplyTo, Settled, Unsendable};
use holdfast::fsm::bridge::{ConnectFailure, Disconnect, Event, Evidence, Sign, Timer};
use holdfast::fsm::cause::{Cause, Loss};
use holdfast::limits::OUTCOMES_ASKED_EVERY;
use holdfast::protocol::dialect::{Activity, LeaveReason, Met, Refusal};

use super::action::{Action, cost};
use super::bridge;
use super::journal::{Sending, Status};
use super::line::{Frame, Line, Message, Task};
use super::records::Records;
use super::seam::{self, said};
use super::setting::{Broken, Kind, MAX_CALLS, Setting};
use super::world::{Bridge, Editor, News, Stage, World, Wrong};

/// Returns the world after an action.
pub fn step(world: &World, setting: &Setting, action: Action) -> World {
    let mut world = world.clone();
    world.faults -= cost(&world, action);
    let mut step = Step { world: &mut world, setting };
    step.run(action);
    step.write_what_waits();
    if world.editor == Editor::Up {
        let World { lines, journal, .. } = &mut world;
        let open = lines.iter_mut().filter(|line| line.open && !line.peer_gone);
        open.for_each(|line| line.serve(journal, setting));
    }
    world
}

/// One action on one world.
pub(super) struct Step<'a> {
    pub(super) world: &'a mut World,
    pub(super) setting: &'a Setting,
}

impl Step<'_> {
    fn broken(&self, how: Broken) -> bool {
        self.setting.broken == how
    }

    fn settle(&mut self, settlements: Vec<Settlement>) {
        self.world.settle_all(self.setting, said(settlements));
    }

    fn settled(&mut self, index: u8, settled: Settled) {
        self.settle(settled.settlements);
        let epoch = self.line(index).epoch();
        for event in settled.events {
            self.world.tell(epoch, event);
        }
    }

    fn tell_all(&mut self, index: u8, events: impl IntoIterator<Item = Event>) {
        let epoch = self.line(index).epoch();
        events.into_iter().for_each(|event| self.world.tell(epoch, event));
    }

    /// The task has read something.
    fn heard(&mut self, index: u8) {
        let told = self.line(index).exchange.heard(seam::now());
        self.tell_all(index, told);
    }

    /// The registry has dealt with the list, or has lost it.
    fn list_is_over(&mut self, index: u8, published: bool) {
        let line = self.line(index);
        let told = line.exchange.list_is_over(published, seam::now());
        line.woken = true;
        self.tell_all(index, told);
    }

    pub(super) fn line(&mut self, index: u8) -> &mut Line {
        &mut self.world.lines[usize::from(index)]
    }

    fn run(&mut self, action: Action) {
        match action {
            Action::Call(call) => self.call(call),
            Action::Cancel(call) if self.world.forgoes(call) => {}
            Action::Cancel(call) => {
                let said = self.world.ledger.cancel(call);
                self.world.settle_all(self.setting, said);
            }
            Action::Elapse => {
                self.world.due = false;
                let said = self.world.ledger.elapse();
                // Giving up an outcome is allowed here, because the time to look for it is over. So `settle_all`, which would
                // count that as a broken promise, is not called.
                self.world.settle(self.setting.broken, said);
            }
            Action::Learn(call) => {
                let said = self.world.ledger.learn(call);
                self.world.settle_all(self.setting, said);
            }
            Action::Ask(line) => {
                self.line(line).exchange.order(Errand::Outcomes);
                self.line(line).woken = true;
            }
            Action::AskAnew(line) => self.ask(line, true),
            Action::Hear => {
                if let Some(news) = self.world.news.pop_front() {
                    bridge::hear(self.world, self.setting, news);
                }
            }
            Action::Wake => {
                self.world.wakings -= 1;
                bridge::feed(self.world, self.setting, Event::CallsWaiting);
            }
            Action::HearStop => {
                self.world.stop_under_way = false;
                bridge::feed(self.world, self.setting, Event::StopRequested);
            }
            Action::Fire(timer) => self.fire(timer),
            Action::Quiet(line) => {
                let exchange = &mut self.line(line).exchange;
                let told = exchange.deadline().and_then(|deadline| exchange.overdue(deadline));
                self.tell_all(line, told);
            }
            Action::Offer => self.offer(),
            Action::LoseList(line) => {
                self.line(line).back.pop_front();
                if self.list_came(line) {
                    self.list_is_over(line, false);
                }
                // The registry's successor asks again.
                self.world.registry_asks |= self.world.linked.is_some();
            }
            Action::RegistryCrashes => {
                if let Some(epoch) = self.world.linked {
                    let line = self.world.lines.iter().position(|line| line.epoch() == epoch);
                    if let Some(line) = line.filter(|_| self.broken(Broken::OldListCounts)) {
                        self.list_is_over(u8::try_from(line).unwrap_or(u8::MAX), true);
                    }
                    // The registry's successor asks again.
                    self.world.registry_asks = true;
                }
            }
            Action::AskList => {
                self.world.registry_asks = false;
                let linked = self.world.linked;
                for line in self.world.lines.iter_mut().filter(|line| Some(line.epoch()) == linked) {
                    line.exchange.want_list();
                    line.woken = true;
                }
            }
            Action::NoPermit(line) => self
                .end_with(line, Event::ConnectFailed { target: 0, failure: ConnectFailure::PermitHeld, dialled: true }),
            Action::Refuse(line) => {
                self.end_with(
                    line,
                    Event::ConnectFailed { target: 0, failure: ConnectFailure::Refused, dialled: true },
                );
            }
            Action::Connect(line) => {
                let process = self.world.journal.process;
                self.line(line).open = true;
                self.line(line).process = process;
                let epoch = self.line(line).epoch();
                self.world.ledger.open_epoch(epoch);
                self.world.tell(epoch, Event::Connected { target: 0, checked: true });
            }
            Action::Take(line) => self.take(line),
            Action::Claim(line) => self.claim(line, false),
            Action::ClaimLate(line) => self.claim(line, true),
            Action::Unsendable(line) => {
                if let Task::Holding(call) = self.line(line).task {
                    self.line(line).task = Task::Idle;
                    let before = self.line(line).exchange.clone();
                    let World { lines, ledger, .. } = &mut *self.world;
                    let exchange = &mut lines[usize::from(line)].exchange;
                    let why = Unsendable::Refused(Cause::TooLarge);
                    let settled = ledger.with(|ledger, now| exchange.unsendable(seam::id(call), why, ledger, now));
                    if self.broken(Broken::PlaceKept) {
                        self.line(line).exchange = before;
                    }
                    self.settled(line, settled);
                }
            }
            Action::Write(line) => self.write(line),
            Action::WriteNothing(line) => {
                self.revoke(line);
                self.end_with(line, Event::Disconnected(Disconnect::Reset));
            }
            Action::Tear(line) => self.tear(line),
            Action::Read(line) => self.read(line),
            Action::Misgreet(line) => {
                self.line(line).back.pop_front();
                let epoch = self.line(line).epoch();
                self.world.tell(epoch, Event::GreetingRefused(ConnectFailure::WrongPeer));
            }
            Action::End(line) => self.end_with(line, Event::Disconnected(Disconnect::Eof)),
            Action::Break(line) => self.end_with(line, Event::Disconnected(Disconnect::Reset)),
            Action::Fall(line) => self.fall(line),
            Action::Keep(line) => {
                let epoch = self.line(line).epoch();
                self.world.stray = self.line(line).running.take().map(|call| (epoch, call));
                self.end_with(line, Event::Disconnected(Disconnect::Reset));
            }
            Action::Misdeliver(line) => {
                if let Some((epoch, call)) = self.world.stray.take() {
                    self.line(line).back.push_back(Frame::Stray(epoch, call));
                }
            }
            Action::BridgeCrashes => {
                self.world.bridge = Bridge::Crashed;
                self.forget_messages();
                // The bridge's ends of the connections are dropped with its state.
                bridge::leave(self.world, u64::MAX);
            }
            Action::Settle => self.close_all(),
            Action::Succeed => {
                self.world.ghost.over = self.newest();
                bridge::begin(self.world, self.setting);
            }
            Action::Enlist => {
                if let Bridge::Alive(actor) = &mut self.world.bridge {
                    actor.enlisted = true;
                }
            }
            Action::Drain => {
                self.world.stage = Stage::Draining;
                if !self.broken(Broken::DrainForgotten) {
                    let said = self.world.ledger.drain();
                    self.world.settle_all(self.setting, said);
                }
            }
            Action::TellStop => {
                self.world.stage = Stage::Told;
                self.world.stop_under_way = self.world.found().is_some();
            }
            Action::TakeDown => {
                self.world.stage = Stage::Falling;
                self.forget_messages();
                bridge::leave(self.world, u64::MAX);
                self.close_all();
            }
            Action::Finish => {
                self.world.stage = Stage::Ended;
                self.close_all();
            }
            Action::HubEnds(harm) => self.hub_ends(harm),
            Action::BothKilled(next) => self.both_killed(next),
            Action::HubLeaves => self.hub_leaves(),
            Action::StandStill => self.stands_still(),
            Action::Bring(call) => self.bring(call),
            Action::Deliver => self.deliver(),
            Action::EditorTakes(_)
            | Action::EditorReplies(_)
            | Action::EditorRepeats(_)
            | Action::EditorDoubles(_)
            | Action::EditorTurnsAway(_)
            | Action::EditorPostpones(_)
            | Action::Begins(_)
            | Action::Ends(_)
            | Action::ReadLate(_)
            | Action::EditorAnnounces(_)
            | Action::EditorQuits(_)
            | Action::RunAdrift(_)
            | Action::Reload
            | Action::Crash
            | Action::Forget
            | Action::Freeze
            | Action::ComeBack => self.editor(action),
        }
    }

    // ---- the client, the clock, discovery ----

    fn call(&mut self, call: u8) {
        self.world.ghost.accepted |= 1 << call;
        if self.world.leaving {
            // The session keeps it for the successor.
            self.world.away |= 1 << call;
            return;
        }
        self.world.records(Records::attach);
        self.accept(call, false);
    }

    /// The gateway gets a call of the client, the first time or from the predecessor of a hub, which may have sent it.
    pub(super) fn accept(&mut self, call: u8, may_have_run: bool) {
        let said = self.world.ledger.accept(call, call, may_have_run);
        self.world.settle_all(self.setting, said);
        if !self.broken(Broken::WakeUpLost) {
            self.world.wake();
        }
    }

    fn fire(&mut self, timer: Timer) {
        let mut connection = None;
        if let Bridge::Alive(actor) = &mut self.world.bridge {
            actor.armed.remove(timer);
            connection = actor.core.epoch();
        }
        bridge::feed(self.world, self.setting, Event::Elapsed(timer));
        if let (Timer::Liveness, Some(epoch), Editor::Dead) = (timer, connection, self.world.editor) {
            bridge::hear(self.world, self.setting, News { epoch: epoch.0, event: Event::EditorVanished });
        }
    }

    fn offer(&mut self) {
        self.world.discovery_asked = false;
        let (editor, activity) = match self.world.editor {
            Editor::Up | Editor::Frozen => (Sign::Alive, None),
            Editor::Reloading => (Sign::Alive, Some(Activity::Reloading)),
            Editor::Dead => (Sign::Dead, None),
        };
        let evidence =
            Evidence { editor, activity, announces: Some(true), unpackaged: false, port_named: false, arrives: false };
        let event = match editor {
            Sign::Dead => Event::NothingOffered { cause: Cause::NotRunning, evidence },
            Sign::Alive | Sign::Unknown => Event::TargetsOffered { count: 1, evidence },
        };
        bridge::feed(self.world, self.setting, event);
    }

    // ---- a connection's task ----

    /// Every free task carries out its next orders, except calls, which are separate actions.
    fn write_what_waits(&mut self) {
        for index in 0..u8::try_from(self.world.lines.len()).unwrap_or(u8::MAX) {
            self.line(index).is_to_call = false;
            while self.line(index).open && self.line(index).woken && self.is_free(index) {
                let epoch = self.line(index).epoch();
                let (mut exchange, mut ledger) = (self.line(index).exchange.clone(), self.world.ledger.clone());
                let next = ledger.with(|ledger, now| exchange.next(ledger, now));
                if matches!(next, Next::Call(_)) {
                    // To reserve a call is a step of its own.
                    self.line(index).is_to_call = true;
                    break;
                }
                self.line(index).exchange = exchange;
                self.world.ledger = ledger;
                match next {
                    Next::Errand(Errand::Greeting) => {
                        let line = self.line(index);
                        line.exchange.asks_greeting(Line::number(epoch, Message::Greeting));
                        line.put(Message::Greeting);
                    }
                    Next::List { step } => {
                        let line = self.line(index);
                        line.exchange.asks_list(Line::number(epoch, Message::List), step);
                        line.put(Message::List);
                        self.watch_the_window(index);
                    }
                    Next::Errand(Errand::Outcomes) => self.ask(index, false),
                    Next::Errand(
                        Errand::Cancel(_)
                        | Errand::Heartbeat
                        | Errand::MainThread
                        | Errand::HangUp(_)
                        | Errand::Framing(_),
                    )
                    | Next::Call(_) => {}
                    Next::Wait => self.line(index).woken = false,
                }
            }
        }
    }

    fn is_free(&mut self, index: u8) -> bool {
        let setting = self.setting;
        self.line(index).is_free(setting)
    }

    /// Notes a broken promise if the editor has more to do than the window allows. The list counts as one.
    fn watch_the_window(&mut self, index: u8) {
        if self.line(index).owed.count_ones() > u32::from(self.setting.window) {
            self.world.mark(Wrong::Window);
        }
    }

    /// Sends the bridge the event with which a task ends, and ends the task.
    pub(super) fn end_with(&mut self, index: u8, event: Event) {
        let epoch = self.line(index).epoch();
        self.world.tell(epoch, event);
        self.fall(index);
    }

    /// Ends the task. Calls that it has written may still reach the editor, unless the editor closed its end.
    pub(super) fn fall(&mut self, index: u8) {
        let line = self.world.lines.remove(usize::from(index));
        if line.open && !line.peer_gone {
            for message in line.out {
                let Message::Call(call) = message else { continue };
                if self.setting.has_journal() {
                    self.world.journal.late.push((call, line.nths[usize::from(call)]));
                } else {
                    self.world.adrift[usize::from(call)] += 1;
                }
            }
        }
    }

    /// The task receives the order to send a call, and reserves the next held call.
    fn take(&mut self, index: u8) {
        let sent_before = |call: &u8| self.world.ghost.sent[usize::from(*call)] == 1;
        let again = (0u8..).take(self.setting.calls.len()).find(sent_before);
        if let Some(call) = again.filter(|_| self.broken(Broken::ClaimsTwice)) {
            self.line(index).task = Task::Holding(call);
            return;
        }
        let World { lines, ledger, .. } = &mut *self.world;
        let line = &mut lines[usize::from(index)];
        if let Next::Call(held) = ledger.with(|ledger, now| line.exchange.next(ledger, now)) {
            let call = seam::number(held.id);
            line.nths[usize::from(call)] = held.nth;
            line.task = Task::Holding(call);
        }
    }

    fn claim(&mut self, index: u8, late: bool) {
        let Task::Holding(call) = self.line(index).task else { return };
        let kind = self.setting.calls[usize::from(call)];
        if self.broken(Broken::WritesBeforeClaim) {
            self.put(index, call);
        }
        self.world.due |= late;
        let (process, epoch) = (self.line(index).process, self.line(index).epoch());
        let key = seam::key((call, self.line(index).nths[usize::from(call)]), process);
        let key = (!self.broken(Broken::JournalUnasked)).then_some(key);
        let after = After { in_file: kind == Kind::Reported, reload: kind == Kind::Reloading, ..After::default() };
        let number = Line::number(epoch, Message::Call(call));
        if !self.broken(Broken::SendsUnrecorded) {
            let key = key.clone();
            self.world.records(|records| records.sent(call, kind, key));
        }
        let mut terms = seam::terms(kind, key);
        terms.repeatable |= kind == Kind::Job && self.broken(Broken::SubmissionAgain);
        let terms = (terms, after);
        let World { lines, ledger, .. } = &mut *self.world;
        let exchange = &mut lines[usize::from(index)].exchange;
        let deadline = ledger.deadline();
        let claimed = ledger.with(|ledger, now| {
            exchange.claim(number, seam::id(call), terms, ledger, if late { deadline } else { now })
        });
        match claimed {
            Ok((_, settlements)) => {
                self.world.sent_to[usize::from(call)] = process;
                self.settle(settlements);
            }
            Err(_) if self.broken(Broken::ClaimsTwice) => {}
            Err(settled) => {
                self.line(index).task = Task::Idle;
                self.world.records(|records| records.dropped(call));
                return self.settled(index, settled);
            }
        }
        if self.world.stage >= Stage::Draining {
            self.world.mark(Wrong::AfterStop);
        }
        if self.line(index).left {
            self.world.mark(Wrong::AfterGoodbye);
        }
        self.line(index).owed |= Line::bit(Message::Call(call));
        self.watch_the_window(index);
        self.line(index).task = if self.broken(Broken::WritesBeforeClaim) { Task::Idle } else { Task::Writing(call) };
    }

    /// Writes all bytes of a call.
    fn put(&mut self, index: u8, call: u8) {
        if !self.setting.has_journal() {
            self.world.ghost.sent[usize::from(call)] += 1;
        }
        self.line(index).put(Message::Call(call));
    }

    fn write(&mut self, index: u8) {
        if let Task::Writing(call) = self.line(index).task {
            self.line(index).task = Task::Idle;
            self.put(index, call);
        }
    }

    fn revoke(&mut self, index: u8) {
        if let Task::Writing(call) = self.line(index).task {
            self.world.records(|records| records.dropped(call));
            let World { lines, ledger, .. } = &mut *self.world;
            let exchange = &mut lines[usize::from(index)].exchange;
            let settlements = ledger.with(|ledger, now| exchange.not_written(seam::id(call), ledger, now));
            self.settle(settlements);
        }
    }

    fn tear(&mut self, index: u8) {
        if let (Task::Writing(call), false) = (self.line(index).task, self.setting.has_journal()) {
            self.world.ghost.sent[usize::from(call)] += 1;
        }
        if self.broken(Broken::RevokesTorn) {
            self.revoke(index);
        }
        self.end_with(index, Event::Disconnected(Disconnect::Reset));
    }

    fn read(&mut self, index: u8) {
        let Some(frame) = self.line(index).back.pop_front() else { return };
        let epoch = self.line(index).epoch();
        self.heard(index);
        match frame {
            Frame::Greeting => {
                let journal = self.setting.is_asked().then(|| self.line(index).process.to_string());
                let (window, has_jobs) = (self.setting.window, self.setting.has_jobs());
                let exchange = &mut self.line(index).exchange;
                if exchange.reply(Line::number(epoch, Message::Greeting), None) == ReplyTo::Greeting {
                    if has_jobs {
                        exchange.jobs.are_asked_alone = true;
                    }
                    exchange.greeted(Met { journal, ..Met::default() }, usize::from(window), false, seam::now());
                    self.world.tell(epoch, Event::Greeted { heartbeat: false });
                }
            }
            Frame::List => {
                if self.list_came(index) {
                    self.list_is_over(index, true);
                }
            }
            Frame::Outcomes(question) => self.outcomes(index, question),
            Frame::Job(call) if self.broken(Broken::NameIsAnswer) => self.replied(index, call, epoch, None),
            Frame::Job(call) => self.submitted(index, call),
            Frame::Reload => self.leaves(index, LeaveReason::Reload),
            Frame::Quit => self.leaves(index, LeaveReason::Quit),
            // The exchange no longer has an open request with this number.
            Frame::Again(call) => self.replied(index, call, epoch, None),
            // The number belongs to another connection.
            Frame::Stray(from, call) => self.replied(index, call, from, None),
        }
    }

    /// Reads the reply that the editor runs a call as a job.
    fn submitted(&mut self, index: u8, call: u8) {
        let line = self.line(index);
        let key = seam::key((call, line.nths[usize::from(call)]), line.process);
        let number = Line::number(line.epoch(), Message::Call(call));
        line.woken = true;
        let ReplyTo::Call(id, after) = line.exchange.reply(number, None) else { return };
        self.world.records(|records| records.is_job(call, key.clone()));
        let before = self.world.ledger.clone();
        let World { lines, ledger, .. } = &mut *self.world;
        let exchange = &mut lines[usize::from(index)].exchange;
        let settlements = ledger.with(|ledger, now| exchange.submitted((id, after), key, ledger, now));
        if self.broken(Broken::JobUnnamed) {
            self.world.ledger = before;
        }
        self.world.ghost.named |= 1 << call;
        self.settle(settlements);
    }

    /// Reads the list. Returns whether the exchange was waiting for one.
    fn list_came(&mut self, index: u8) -> bool {
        let line = self.line(index);
        line.owed &= !Line::bit(Message::List);
        let number = Line::number(line.epoch(), Message::List);
        matches!(line.exchange.reply(number, None), ReplyTo::List { .. })
    }

    fn leaves(&mut self, index: u8, why: LeaveReason) {
        let unheard = self.broken(Broken::GoodbyeUnheard);
        let line = self.line(index);
        line.left |= line.exchange.met().is_some();
        let epoch = line.epoch();
        let event = if unheard { Event::LeavingAnnounced(why) } else { line.exchange.leaves(why) };
        self.world.tell(epoch, event);
    }

    /// Reads the editor's reply to a call that was sent on the connection `from`.
    pub(super) fn replied(&mut self, index: u8, call: u8, from: u64, refusal: Option<Refusal>) {
        let epoch = self.line(index).epoch();
        let number = |epoch, call| Line::number(epoch, Message::Call(call));
        let number = match self.setting.broken {
            Broken::OldFrameAccepted => number(epoch, call),
            Broken::RepliesInOrder => {
                let exchange = &self.line(index).exchange;
                let open = |call: &u8| exchange.clone().reply(number(epoch, *call), None) != ReplyTo::Nothing;
                let first = (0..u8::try_from(MAX_CALLS).unwrap_or(u8::MAX)).find(open);
                number(epoch, first.unwrap_or(call))
            }
            _ => number(from, call),
        };
        let refusal =
            refusal.filter(|refusal| !(*refusal == Refusal::Double && self.setting.broken == Broken::DoubleCounts));
        self.heard(index);
        self.line(index).woken = true;
        let World { lines, ledger, .. } = &mut *self.world;
        let exchange = &mut lines[usize::from(index)].exchange;
        let ReplyTo::Call(id, after) = exchange.reply(number, refusal) else { return };
        let answered = ledger.with(|ledger, now| exchange.answered((id, after), refusal, seam::answer(), ledger, now));
        if answered.known && from <= self.world.ghost.over && refusal.is_none() {
            self.world.mark(Wrong::OldFrame);
        }
        self.settled(index, answered.settled);
        if answered.hang_up {
            self.end_with(index, Event::Disconnected(Disconnect::Eof));
        }
    }

    /// Asks for outcomes. `anew` means that the previous question was not answered in time.
    fn ask(&mut self, index: u8, anew: bool) {
        let line = self.line(index);
        let epoch = line.epoch();
        let taken = |question: u8| {
            line.asked.iter().any(|(known, _)| *known == question)
                || line.answers.iter().any(|(known, _)| *known == question)
        };
        let question = (0..8).find(|question| !taken(*question)).unwrap_or_default();
        let number = Line::number(epoch, Message::Outcomes(question));
        let World { lines, ledger, .. } = &mut *self.world;
        let line = &mut lines[usize::from(index)];
        let (keys, settlements) = ledger.with(|ledger, now| {
            let now = if anew { now + OUTCOMES_ASKED_EVERY } else { now };
            line.exchange.asks_outcomes(number, ledger, now)
        });
        if let (Some(keys), false) = (keys, line.peer_gone) {
            let sending = |key: &holdfast::protocol::dialect::JournalKey| seam::sending(key);
            line.asked.push_back((question, keys.iter().map(sending).collect()));
            line.put(Message::Outcomes(question));
        }
        self.settle(settlements);
    }

    fn outcomes(&mut self, index: u8, question: u8) {
        let (_, answers) = self.line(index).answers.pop_front().unwrap_or_default();
        let (process, epoch) = (self.line(index).process, self.line(index).epoch());
        let exchange = &mut self.line(index).exchange;
        let ReplyTo::Outcomes(asked) = exchange.reply(Line::number(epoch, Message::Outcomes(question)), None) else {
            if self.broken(Broken::StaleOutcomeCounts) {
                self.told(index, process, answers);
            }
            return;
        };
        let _ = exchange.outcomes_told(&asked, true);
        self.line(index).woken = true;
        self.told(index, process, answers);
    }

    fn told(&mut self, index: u8, process: u8, answers: Vec<(Sending, Status)>) {
        for (sending, status) in answers {
            let call = seam::id(sending.0);
            let unrun = self.broken(Broken::LostJobUnrun);
            let status = if unrun && status == Status::Forgotten { Status::NotRun } else { status };
            let state = match status {
                Status::Queued | Status::Running => JobState::Runs,
                Status::Done => JobState::Ended,
                Status::Interrupted | Status::NotRun | Status::Forgotten => JobState::Lost(Loss::Forgotten),
            };
            let World { lines, ledger, .. } = &mut *self.world;
            let exchange = &mut lines[usize::from(index)].exchange;
            match ledger.with(|ledger, now| exchange.job_is(call, state, ledger, now)) {
                None => {}
                Some(JobStep::GoesOn) => continue,
                Some(JobStep::Ended(after)) => {
                    let answered =
                        ledger.with(|ledger, now| exchange.answered((call, after), None, seam::answer(), ledger, now));
                    self.settled(index, answered.settled);
                    continue;
                }
                Some(JobStep::Lost(settled)) => self.settled(index, settled),
            }
            let any = self.broken(Broken::StaleOutcomeCounts);
            let settlements = self.world.ledger.with(|ledger, now| {
                let sought = ledger.recovering().into_iter().find(|(id, _)| *id == call);
                let key = match sought {
                    Some((_, holdfast::protocol::dialect::Recovery::Journal(key))) if any => key,
                    _ => seam::key(sending, process),
                };
                let learned = match status {
                    Status::Done => Learned::Ended(seam::answer()),
                    Status::Interrupted => Learned::Interrupted,
                    Status::NotRun => Learned::NotRun { sealed: true },
                    Status::Queued | Status::Running => Learned::Running,
                    Status::Forgotten => Learned::Forgotten,
                };
                learned.tell(call, &key, ledger, now)
            });
            self.settle(settlements);
        }
    }

    /// The editor refuses the next call on the connection, and does not run it.
    pub(super) fn refuse(&mut self, index: u8, refusal: Refusal) {
        let line = self.line(index);
        let (epoch, Some(Message::Call(call))) = (line.epoch(), line.out.pop_front()) else { return };
        line.owed &= !Line::bit(Message::Call(call));
        if refusal == Refusal::OtherProject {
            // The editor itself reports that it ran nothing, so this attempt does not count.
            self.world.ghost.sent[usize::from(call)] -= 1;
        }
        self.replied(index, call, epoch, Some(refusal));
    }

    // ---- the supervisor and the end ----

    fn newest(&self) -> u64 {
        self.world.lines.iter().map(Line::epoch).max().unwrap_or_default()
    }

    pub(super) fn forget_messages(&mut self) {
        self.world.news.clear();
        self.world.wakings = 0;
        self.world.stop_under_way = false;
    }

    fn close_all(&mut self) {
        if !(self.broken(Broken::EndUnsettled) && self.world.stage >= Stage::Falling) {
            let ending = self.world.stage >= Stage::Draining;
            let said = self.world.ledger.close_all_epochs(if ending { Loss::Shutdown } else { Loss::Gateway });
            self.world.settle_all(self.setting, said);
        }
        self.world.bridge = Bridge::Settled;
        if self.world.linked.take().is_some() {
            self.world.hope = true;
        }
        self.world.ghost.over = self.newest();
    }
}
