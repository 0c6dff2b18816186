//! A connection: the gateway's own [`Exchange`], the task that reads and writes its bytes, the socket, and the editor's end.

use std::collections::VecDeque;

use holdfast::core::exchange::Exchange;
use holdfast::protocol::ids::Epoch;

use super::journal::{Journal, Sending, Status};
use super::setting::{Broken, MAX_CALLS, Setting};

/// A message to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// The greeting.
    Greeting,
    /// The request for the tool list.
    List,
    /// A call.
    Call(u8),
    /// A question for the outcomes of calls, with the number of the question.
    Outcomes(u8),
}

/// A message on its way to the gateway. The answer to a call is normally sent and read in one step, because an answer that
/// the gateway never reads has no effect. Only a message that may be read late, twice or on another connection has a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    /// The greeting's answer.
    Greeting,
    /// The tool list.
    List,
    /// A second answer to the same call.
    Again(u8),
    /// An answer to a call that was sent on an older connection: that connection's epoch, and the call.
    Stray(u64, u8),
    /// The outcomes of calls, in answer to the question with this number.
    Outcomes(u8),
    /// The editor runs this call as a job.
    Job(u8),
    /// The editor says that it is about to reload.
    Reload,
    /// The editor says that it quits.
    Quit,
}

/// What the task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// The task waits for orders.
    Idle,
    /// The task prepares a call that it has reserved: it encodes and records the call, and connects for it.
    Holding(u8),
    /// The task is about to write a call that it has claimed; no byte is written yet.
    Writing(u8),
}

/// One connection and its task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// Decides what may be written, and what replies mean.
    pub exchange: Exchange,
    /// The bridge has closed its end. The task may still be in the middle of a step.
    pub hung_up: bool,
    /// The task has the link's permit, and the socket is open.
    pub open: bool,
    /// What the task is doing.
    pub task: Task,
    /// The task must look for what it may write next.
    pub woken: bool,
    /// The task has looked, and the next is a call.
    pub is_to_call: bool,
    /// The answers that the editor really must still give, as bits: bit 0 for the list, the next bits for the calls.
    pub owed: u8,
    /// Messages on their way to the editor.
    pub out: VecDeque<Message>,
    /// The call that the editor has read and not answered.
    pub running: Option<u8>,
    /// Messages on their way to the gateway.
    pub back: VecDeque<Frame>,
    /// The editor's end is closed. Messages on their way to the gateway may still be read.
    pub peer_gone: bool,
    /// The gateway has read the editor's announcement that it quits.
    pub left: bool,
    /// The number of the editor process at the other end of the connection.
    pub process: u8,
    /// The sendings that each open question asks about, with the number of the question.
    pub asked: VecDeque<(u8, Vec<Sending>)>,
    /// The states in each answer that is on its way to the gateway, with the number of the question.
    pub answers: VecDeque<(u8, Vec<(Sending, Status)>)>,
    /// For each call, the number of the last attempt to send it that used this connection.
    pub nths: [u8; MAX_CALLS],
}

impl Line {
    /// Creates a connection whose task was just spawned.
    pub fn new(epoch: u64) -> Self {
        Self {
            exchange: Exchange::new(Epoch(epoch)),
            hung_up: false,
            open: false,
            task: Task::Idle,
            woken: true,
            is_to_call: false,
            owed: 0,
            out: VecDeque::new(),
            running: None,
            back: VecDeque::new(),
            peer_gone: false,
            left: false,
            process: 0,
            asked: VecDeque::new(),
            answers: VecDeque::new(),
            nths: [0; MAX_CALLS],
        }
    }

    /// The epoch (the number) of the connection.
    pub fn epoch(&self) -> u64 {
        self.exchange.epoch().0
    }

    /// Returns the number of a message on the wire. The gateway counts up. In the model, messages with the same connection
    /// and meaning have the same number, which keeps the graph finite.
    pub fn number(epoch: u64, message: Message) -> u64 {
        let place = match message {
            Message::Greeting => 0,
            Message::List => 1,
            Message::Outcomes(question) => 2 + u64::from(question),
            Message::Call(call) => 10 + u64::from(call),
        };
        100 * epoch + place
    }

    /// Whether the task may write next: it is idle and, if messages are sent one by one, has read the last answer.
    pub fn is_free(&self, setting: &Setting) -> bool {
        self.open && self.task == Task::Idle && !(setting.one_by_one() && self.exchange.awaits_reply())
    }

    /// Sends a message to the editor. It is lost if the editor's end is closed.
    pub fn put(&mut self, message: Message) {
        self.owed |= Self::bit(message);
        if !self.peer_gone {
            self.out.push_back(message);
        }
    }

    /// Returns the bit in `owed` of a message that takes up a slot at the editor; 0 if the message takes none.
    pub fn bit(message: Message) -> u8 {
        match message {
            Message::List => 1,
            Message::Call(call) => 2 << call,
            Message::Greeting | Message::Outcomes(_) => 0,
        }
    }

    /// The editor closes its end: messages that it has not read are lost, and so is the call that it runs.
    pub fn lose_peer(&mut self) {
        if self.open {
            self.peer_gone = true;
            self.out.clear();
            self.running = None;
        }
    }

    /// Answers the messages that wait at the editor, up to the next call. While a call runs, an editor without a journal
    /// answers nothing.
    pub fn serve(&mut self, journal: &mut Journal, setting: &Setting) {
        let own = setting.has_journal();
        while let Some(message) = self.out.front().copied() {
            if matches!(message, Message::Call(_)) || self.running.is_some() && !own {
                return;
            }
            self.out.pop_front();
            self.back.push_back(match message {
                Message::Greeting => {
                    if setting.broken != Broken::NeitherFencedNorSealed && !setting.has_jobs() {
                        journal.fence();
                    }
                    Frame::Greeting
                }
                Message::Outcomes(_) => {
                    let (question, asked) = self.asked.pop_front().unwrap_or_default();
                    let seals = setting.broken != Broken::NeitherFencedNorSealed;
                    let lies = setting.broken == Broken::JournalDenies;
                    let say = |sending| match setting.has_jobs() {
                        true => (sending, journal.ask_job(sending)),
                        false => (sending, if lies { Status::NotRun } else { journal.ask(sending, seals) }),
                    };
                    self.answers.push_back((question, asked.into_iter().map(say).collect()));
                    Frame::Outcomes(question)
                }
                Message::List | Message::Call(_) => Frame::List,
            });
        }
    }
}
