//! How the model's world changes when the editor acts.

use holdfast::protocol::dialect::Refusal;

use super::action::Action;
use super::journal::Status;
use super::line::{Frame, Line, Message};
use super::setting::{Kind, MAX_CALLS};
use super::step::Step;
use super::world::Editor;

impl Step<'_> {
    /// Carries out an action of the editor.
    pub(super) fn editor(&mut self, action: Action) {
        match action {
            Action::EditorTakes(index) => {
                let own = self.setting.has_journal();
                let setting = self.setting;
                let line = self.line(index);
                if let Some(Message::Call(call)) = line.out.pop_front() {
                    let sending = (call, line.nths[usize::from(call)]);
                    if setting.calls[usize::from(call)] == Kind::Job {
                        // Its place is taken until the job has ended.
                        line.back.push_back(Frame::Job(call));
                        self.world.journal.read(sending);
                        return;
                    }
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
                let (epoch, Some(call)) = (line.epoch(), line.running.take()) else { return };
                let sending = (call, line.nths[usize::from(call)]);
                line.owed &= !Line::bit(Message::Call(call));
                if matches!(action, Action::EditorRepeats(_)) {
                    line.back.push_back(Frame::Again(call));
                }
                if self.setting.has_journal() {
                    self.world.journal.moves(sending, Status::Done);
                }
                self.replied(index, call, epoch, None);
            }
            Action::EditorDoubles(index) => {
                let line = self.line(index);
                let (epoch, Some(call)) = (line.epoch(), line.running) else { return };
                self.replied(index, call, epoch, Some(Refusal::Double));
            }
            Action::EditorTurnsAway(index) => self.refuse(index, Refusal::OtherProject),
            Action::EditorPostpones(index) => self.refuse(index, Refusal::Leaving),
            Action::Begins(call) => {
                if let Some(sending) = self.world.journal.first(call, Status::Queued) {
                    self.world.journal.moves(sending, Status::Running);
                    self.world.ghost.executions[usize::from(call)] += 1;
                }
            }
            Action::Ends(call) => {
                if let Some(sending) = self.world.journal.first(call, Status::Running) {
                    self.world.journal.moves(sending, Status::Done);
                    self.owes_no_job(|of| of == call);
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
            Action::Forget => {
                self.world.journal.forget();
                self.owes_no_job(|_| true);
            }
            Action::Freeze => self.world.editor = Editor::Frozen,
            Action::ComeBack => self.world.editor = Editor::Up,
            _ => {}
        }
    }

    /// The editor does not owe the end of these jobs any more.
    fn owes_no_job(&mut self, which: impl Fn(u8) -> bool) {
        for (call, kind) in (0u8..).zip(&self.setting.calls) {
            if *kind == Kind::Job && which(call) {
                self.world.lines.iter_mut().for_each(|line| line.owed &= !Line::bit(Message::Call(call)));
            }
        }
    }

    fn lose_sockets(&mut self, becomes: Editor) {
        self.world.editor = becomes;
        match becomes {
            Editor::Reloading if self.setting.has_jobs() && self.setting.jobs_survive => self.world.journal.interrupt(),
            // A journal that is lost with the domain has another name then.
            Editor::Reloading if self.setting.has_jobs() => self.world.journal.end_process(),
            Editor::Reloading => self.world.journal.reload(),
            Editor::Dead if self.setting.is_asked() => self.world.journal.end_process(),
            Editor::Dead | Editor::Up | Editor::Frozen => {}
        }
        self.world.adrift = [0; MAX_CALLS];
        for line in &mut self.world.lines {
            line.lose_peer();
        }
    }
}
