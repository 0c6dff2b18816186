//! Carries out one action.

use holdfast::fsm::bridge::{ConnectFailure, Drop, Event, Evidence, Sign, Timer};
use holdfast::fsm::cause::{Cause, Loss};
use holdfast::protocol::dialect::{Activity, LeaveReason};

use super::action::{Action, cost};
use super::journal::Status;
use super::line::{Frame, Line, Order};
use super::shell;
use super::world::{Bridge, Broken, Editor, MAX_CALLS, News, Setting, Stage, World, Wrong};

/// The world after an action.
pub fn step(world: &World, setting: &Setting, action: Action) -> World {
    let mut world = world.clone();
    world.faults -= cost(&world, action);
    Step { world: &mut world, setting }.run(action);
    if world.editor == Editor::Up {
        let World { lines, journal, .. } = &mut world;
        let open = lines.iter_mut().filter(|line| line.open && !line.peer_gone);
        open.for_each(|line| line.exchange(journal, setting));
    }
    world
}

struct Step<'a> {
    world: &'a mut World,
    setting: &'a Setting,
}

impl Step<'_> {
    fn broken(&self, how: Broken) -> bool {
        self.setting.broken == how
    }

    fn settle(&mut self, said: Vec<super::seam::Said>) {
        self.world.settle_all(self.setting, said);
    }

    fn line(&mut self, index: u8) -> &mut Line {
        &mut self.world.lines[usize::from(index)]
    }

    fn run(&mut self, action: Action) {
        match action {
            Action::Call(call) => self.call(call),
            Action::Cancel(call) => {
                let said = self.world.ledger.cancel(call);
                self.settle(said);
            }
            Action::Elapse => {
                self.world.due = false;
                let said = self.world.ledger.elapse();
                // What was looked for as long as it may be is given up.
                self.world.settle(self.setting.broken, said);
            }
            Action::Learn(call) => {
                let said = self.world.ledger.learn(call);
                self.settle(said);
            }
            Action::Ask(line) => self.ask(line),
            Action::Hear => {
                if let Some(news) = self.world.news.pop_front() {
                    shell::hear(self.world, self.setting, news);
                }
            }
            Action::Wake => {
                self.world.wakings -= 1;
                shell::feed(self.world, self.setting, Event::CallsWaiting);
            }
            Action::HearStop => {
                self.world.stop_under_way = false;
                shell::feed(self.world, self.setting, Event::StopRequested);
            }
            Action::Fire(timer) => self.fire(timer),
            Action::Offer => self.offer(),
            Action::LoseList(line) => {
                self.line(line).back.pop_front();
                self.line(line).settle(Order::List);
                self.registry_restarts();
            }
            Action::RegistryCrashes => self.registry_restarts(),
            Action::AskList => {
                self.world.registry_asks = false;
                shell::feed(self.world, self.setting, Event::ListWanted);
            }
            Action::NoPermit(line) => self.end_with(line, Event::ConnectFailed(ConnectFailure::PermitHeld)),
            Action::Refuse(line) => self.end_with(line, Event::ConnectFailed(ConnectFailure::Refused)),
            Action::Connect(line) => {
                let process = self.world.journal.process;
                self.line(line).open = true;
                self.line(line).process = process;
                let epoch = self.line(line).epoch;
                self.world.ledger.open_epoch(epoch);
                self.world.tell(epoch, Event::Connected { checked: true });
            }
            Action::Take(line) => self.take(line, false),
            Action::TakeLate(line) => self.take(line, true),
            Action::Unsendable(line) => {
                if let Some(call) = self.line(line).orders.pop_front() {
                    let said = self.world.ledger.refuse(call);
                    self.settle(said);
                    self.free_place(line);
                }
            }
            Action::Write(line) => self.write(line),
            Action::WriteNothing(line) => {
                self.revoke(line);
                self.end_with(line, Event::Disconnected(Drop::Reset));
            }
            Action::Tear(line) => self.tear(line),
            Action::Read(line) => self.read(line),
            Action::Misgreet(line) => {
                self.line(line).back.pop_front();
                let epoch = self.line(line).epoch;
                self.world.tell(epoch, Event::GreetingRefused);
            }
            Action::End(line) => self.end_with(line, Event::Disconnected(Drop::Eof)),
            Action::Break(line) => self.end_with(line, Event::Disconnected(Drop::Reset)),
            Action::Fall(line) => self.fall(line),
            Action::Keep(line) => {
                let epoch = self.line(line).epoch;
                self.world.stray = self.line(line).running.take().map(|call| (epoch, call));
                self.end_with(line, Event::Disconnected(Drop::Reset));
            }
            Action::Misdeliver(line) => {
                if let Some((epoch, call)) = self.world.stray.take() {
                    self.line(line).back.push_back(Frame::Stray(epoch, call));
                }
            }
            Action::BridgeCrashes => {
                self.world.bridge = Bridge::Crashed;
                self.forget_messages();
                // Its end of the connection falls with its state.
                shell::leave(self.world, u64::MAX);
            }
            Action::Settle => self.close_all(),
            Action::Succeed => {
                self.world.ghost.over = self.newest();
                shell::begin(self.world, self.setting);
            }
            Action::Enlist => {
                if let Bridge::Alive(shell) = &mut self.world.bridge {
                    shell.enlisted = true;
                }
            }
            Action::Drain => {
                self.world.stage = Stage::Draining;
                if !self.broken(Broken::DrainForgotten) {
                    let said = self.world.ledger.drain();
                    self.settle(said);
                }
            }
            Action::TellStop => {
                self.world.stage = Stage::Told;
                self.world.stop_under_way = self.world.found().is_some();
            }
            Action::TakeDown => {
                self.world.stage = Stage::Falling;
                self.forget_messages();
                shell::leave(self.world, u64::MAX);
                self.close_all();
            }
            Action::Finish => {
                self.world.stage = Stage::Ended;
                self.close_all();
            }
            Action::EditorTakes(_)
            | Action::EditorReplies(_)
            | Action::EditorRepeats(_)
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
            | Action::Freeze
            | Action::ComeBack => self.editor(action),
        }
    }

    // ---- the client, the clock, discovery ----

    fn call(&mut self, call: u8) {
        self.world.ghost.accepted |= 1 << call;
        let said = self.world.ledger.accept(call, call);
        self.settle(said);
        if self.world.found().is_some() && !self.broken(Broken::WakeUpLost) {
            self.world.wakings += 1;
        }
    }

    /// What it held is settled: a list that may be lost with it, told behind whatever it told before. Then its successor asks
    /// again, while the link is up.
    fn registry_restarts(&mut self) {
        if let Some(epoch) = self.world.linked {
            self.world.tell(epoch, Event::ListLost);
            self.world.registry_asks = true;
        }
    }

    fn fire(&mut self, timer: Timer) {
        let mut connection = None;
        if let Bridge::Alive(shell) = &mut self.world.bridge {
            shell.armed.remove(timer);
            connection = shell.connection;
        }
        shell::feed(self.world, self.setting, Event::Elapsed(timer));
        if let (Timer::Liveness, Some(epoch), Editor::Dead) = (timer, connection, self.world.editor) {
            shell::hear(self.world, self.setting, News { epoch, event: Event::EditorVanished });
            let said = self.world.ledger.journals_gone(None);
            self.settle(said);
        }
    }

    fn offer(&mut self) {
        self.world.discovery_asked = false;
        let (editor, activity) = match self.world.editor {
            Editor::Up | Editor::Frozen => (Sign::Alive, None),
            Editor::Reloading => (Sign::Alive, Some(Activity::Reloading)),
            Editor::Dead => (Sign::Dead, None),
        };
        let evidence = Evidence { editor, activity, announces: Some(true) };
        let event = match editor {
            Sign::Dead => Event::NothingOffered { cause: Cause::NotRunning, evidence },
            Sign::Alive | Sign::Unknown => Event::TargetsOffered { count: 1, evidence },
        };
        shell::feed(self.world, self.setting, event);
    }

    // ---- a connection's task ----

    /// A task says how it ended, and falls.
    fn end_with(&mut self, index: u8, event: Event) {
        let epoch = self.line(index).epoch;
        self.world.tell(epoch, event);
        self.fall(index);
    }

    /// What it had written may still arrive, unless the editor closed its end.
    fn fall(&mut self, index: u8) {
        let line = self.world.lines.remove(usize::from(index));
        if line.open && !line.peer_gone {
            for order in line.out {
                let Order::Call(call) = order else { continue };
                if self.setting.has_journal() {
                    self.world.journal.late.push((call, line.nths[usize::from(call)]));
                } else {
                    self.world.adrift[usize::from(call)] += 1;
                }
            }
        }
    }

    fn free_place(&mut self, index: u8) {
        let more = self.world.ledger.has_held();
        let epoch = self.line(index).epoch;
        self.world.tell(epoch, Event::WorkFinished { more });
    }

    fn take(&mut self, index: u8, late: bool) {
        let Some(call) = self.line(index).orders.pop_front() else { return };
        let epoch = self.line(index).epoch;
        let kind = self.setting.calls[usize::from(call)];
        if self.broken(Broken::WritesBeforeClaim) {
            self.put(index, call);
        }
        self.world.due |= late;
        let process = self.line(index).process;
        let asked = (!self.broken(Broken::JournalUnasked)).then_some(process);
        match self.world.ledger.claim(call, kind, epoch, late, asked) {
            Some(said) => {
                self.world.sent_to[usize::from(call)] = process;
                self.settle(said);
            }
            None if self.broken(Broken::ClaimsTwice) => {}
            None => return self.free_place(index),
        }
        if self.world.stage >= Stage::Draining {
            self.world.mark(Wrong::AfterStop);
        }
        let running_max = super::seam::terms(kind, None).running_max();
        self.world.tell(epoch, Event::CallSent { running_max });
        let line = self.line(index);
        line.owed |= Line::bit(Order::Call(call));
        // Not more than the window is with the editor at once, the list included.
        if (line.owed & !1).count_ones() > u32::from(self.setting.window) {
            self.world.mark(Wrong::Window);
        }
        if !self.broken(Broken::WritesBeforeClaim) {
            self.line(index).writing = Some(call);
        }
    }

    /// Bytes of a call leave, and all of them.
    fn put(&mut self, index: u8, call: u8) {
        if !self.setting.has_journal() {
            self.world.ghost.sent[usize::from(call)] += 1;
        }
        let nth = self.world.ledger.nth(call);
        let own = self.setting.has_journal();
        let line = self.line(index);
        if own {
            line.nths[usize::from(call)] = nth;
        }
        if !line.peer_gone {
            line.out.push_back(Order::Call(call));
        }
    }

    fn write(&mut self, index: u8) {
        if let Some(call) = self.line(index).writing.take() {
            self.put(index, call);
        }
    }

    fn revoke(&mut self, index: u8) {
        let epoch = self.line(index).epoch;
        if let Some(call) = self.line(index).writing.take() {
            let said = self.world.ledger.revoke_claim(call, epoch);
            self.settle(said);
        }
    }

    fn tear(&mut self, index: u8) {
        if let Some(call) = self.line(index).writing.filter(|_| !self.setting.has_journal()) {
            self.world.ghost.sent[usize::from(call)] += 1;
        }
        if self.broken(Broken::RevokesTorn) {
            self.revoke(index);
        }
        self.end_with(index, Event::Disconnected(Drop::Reset));
    }

    fn read(&mut self, index: u8) {
        let Some(frame) = self.line(index).back.pop_front() else { return };
        let epoch = self.line(index).epoch;
        match frame {
            Frame::Greeting => {
                let line = self.line(index);
                line.settle(Order::Greeting);
                line.greeted = true;
                self.world.tell(epoch, Event::Greeted { window: self.setting.window, pulse: false });
            }
            Frame::List => {
                self.line(index).settle(Order::List);
                self.world.tell(epoch, Event::ListAnswered);
            }
            Frame::Outcomes => self.outcomes(index),
            Frame::Reload => self.world.tell(epoch, Event::LeavingAnnounced(LeaveReason::Reload)),
            Frame::Quit => self.world.tell(epoch, Event::LeavingAnnounced(LeaveReason::Quit)),
            // Its number is not open any more.
            Frame::Again(call) => {
                if self.line(index).settle(Order::Call(call)) {
                    self.replied(index, call, epoch);
                }
            }
            // Its number is none of this connection's.
            Frame::Stray(from, call) => {
                if self.broken(Broken::OldFrameAccepted) && self.line(index).settle(Order::Call(call)) {
                    self.replied(index, call, from);
                }
            }
        }
    }

    fn replied(&mut self, index: u8, call: u8, from: u64) {
        let epoch = self.line(index).epoch;
        let (known, said) = self.world.ledger.reply(call, epoch);
        if known && from <= self.world.ghost.over {
            self.world.mark(Wrong::OldFrame);
        }
        self.settle(said);
        self.free_place(index);
    }

    /// The question what became of calls; those of other journals are lost.
    fn ask(&mut self, index: u8) {
        let process = self.line(index).process;
        let said = self.world.ledger.journals_gone(Some(process));
        self.settle(said);
        let sought = self.world.ledger.sought(process);
        let line = self.line(index);
        if !sought.is_empty() && !line.peer_gone {
            line.asked.push_back(sought);
            line.out.push_back(Order::Outcomes);
        }
    }

    fn outcomes(&mut self, index: u8) {
        let answers = self.line(index).answers.pop_front().unwrap_or_default();
        let (process, any) = (self.line(index).process, self.broken(Broken::StaleOutcomeCounts));
        for (sending, status) in answers {
            let said = self.world.ledger.told(sending, process, status, any);
            self.settle(said);
        }
        if self.world.ledger.has_held() && self.world.found().is_some() {
            // One that is under way says as much as two.
            self.world.wakings = self.world.wakings.max(1);
        }
    }

    fn postponed(&mut self, index: u8) {
        let line = self.line(index);
        let (epoch, Some(Order::Call(call))) = (line.epoch, line.out.pop_front()) else { return };
        if line.settle(Order::Call(call)) {
            let (known, said) = self.world.ledger.postponed(call, epoch);
            self.settle(said);
            if known {
                self.world.tell(epoch, Event::LeavingAnnounced(LeaveReason::Reload));
                self.free_place(index);
            }
        }
    }

    fn turned_away(&mut self, index: u8) {
        let line = self.line(index);
        let (epoch, Some(Order::Call(call))) = (line.epoch, line.out.pop_front()) else { return };
        if line.settle(Order::Call(call)) {
            // The editor's own word that it ran nothing: as if it had never been sent.
            self.world.ghost.sent[usize::from(call)] -= 1;
            let (known, said) = self.world.ledger.turned_away(call, epoch);
            if known && epoch <= self.world.ghost.over {
                self.world.mark(Wrong::OldFrame);
            }
            self.settle(said);
            self.end_with(index, Event::Disconnected(Drop::Eof));
        }
    }

    // ---- the editor ----

    fn editor(&mut self, action: Action) {
        match action {
            Action::EditorTakes(index) => {
                let own = self.setting.has_journal();
                let line = self.line(index);
                if let Some(Order::Call(call)) = line.out.pop_front() {
                    let sending = (call, line.nths[usize::from(call)]);
                    if own {
                        if self.world.journal.read(sending) {
                            self.line(index).running = Some(call);
                        }
                        return;
                    }
                    self.world.ghost.executions[usize::from(call)] += 1;
                    self.line(index).running = Some(call);
                }
            }
            Action::EditorReplies(index) | Action::EditorRepeats(index) => {
                let line = self.line(index);
                let (epoch, Some(call)) = (line.epoch, line.running.take()) else { return };
                let sending = (call, line.nths[usize::from(call)]);
                if matches!(action, Action::EditorRepeats(_)) {
                    line.back.push_back(Frame::Again(call));
                }
                if self.setting.has_journal() {
                    self.world.journal.moves(sending, Status::Done);
                }
                let line = self.line(index);
                if !line.settle(Order::Call(call)) {
                    return;
                }
                self.replied(index, call, epoch);
            }
            Action::EditorTurnsAway(index) => self.turned_away(index),
            Action::EditorPostpones(index) => self.postponed(index),
            Action::Begins(call) => {
                if let Some(sending) = self.world.journal.first(call, Status::Queued) {
                    self.world.journal.moves(sending, Status::Running);
                    self.world.ghost.executions[usize::from(call)] += 1;
                }
            }
            Action::Ends(call) => {
                if let Some(sending) = self.world.journal.first(call, Status::Running) {
                    self.world.journal.moves(sending, Status::Done);
                }
            }
            Action::ReadLate(_) => {
                let sending = self.world.journal.late.remove(0);
                self.world.journal.read(sending);
            }
            Action::EditorAnnounces(index) => self.line(index).back.push_back(Frame::Reload),
            Action::EditorQuits(index) => {
                self.line(index).back.push_back(Frame::Quit);
                self.lose_sockets(Editor::Dead);
            }
            Action::RunAdrift(call) => {
                self.world.adrift[usize::from(call)] -= 1;
                self.world.ghost.executions[usize::from(call)] += 1;
            }
            Action::Reload => self.lose_sockets(Editor::Reloading),
            Action::Crash => self.lose_sockets(Editor::Dead),
            Action::Freeze => self.world.editor = Editor::Frozen,
            Action::ComeBack => self.world.editor = Editor::Up,
            _ => {}
        }
    }

    fn lose_sockets(&mut self, becomes: Editor) {
        self.world.editor = becomes;
        match becomes {
            Editor::Reloading => self.world.journal.reload(),
            Editor::Dead if self.setting.has_journal() => self.world.journal.die(),
            Editor::Dead | Editor::Up | Editor::Frozen => {}
        }
        self.world.adrift = [0; MAX_CALLS];
        for line in &mut self.world.lines {
            line.lose_peer();
        }
    }

    // ---- the supervisor and the end ----

    fn newest(&self) -> u64 {
        self.world.lines.iter().map(|line| line.epoch).max().unwrap_or_default()
    }

    fn forget_messages(&mut self) {
        self.world.news.clear();
        self.world.wakings = 0;
        self.world.stop_under_way = false;
    }

    fn close_all(&mut self) {
        if !(self.broken(Broken::EndUnsettled) && self.world.stage >= Stage::Falling) {
            let ending = self.world.stage >= Stage::Draining;
            let said = self.world.ledger.close_all_epochs(if ending { Loss::Shutdown } else { Loss::Gateway });
            self.settle(said);
        }
        self.world.bridge = Bridge::Settled;
        if self.world.linked.take().is_some() {
            self.world.hope = true;
        }
        self.world.ghost.over = self.newest();
    }
}
