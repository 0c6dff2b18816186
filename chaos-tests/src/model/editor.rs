//! How the model's world changes when the editor acts.

use holdfast::protocol::dialect::Refusal;

use super::action::Action;
use super::journal::Status;
use super::line::{Frame, Line, Message};
use super::setting::MAX_CALLS;
use super::step::Step;
use super::world::Editor;

impl Step<'_> {
    /// Carries out an action of the editor.
    pub(super) fn editor(&mut self, action: Action) {
        match action {
            Action::EditorTakes(index) => {
                let own = self.setting.has_journal();
                let line = self.line(index);
                if let Some(Message::Call(call)) = line.out.pop_front() {
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
            Editor::Dead if self.setting.has_journal() => self.world.journal.end_process(),
            Editor::Dead | Editor::Up | Editor::Frozen => {}
        }
        self.world.adrift = [0; MAX_CALLS];
        for line in &mut self.world.lines {
            line.lose_peer();
        }
    }
}
