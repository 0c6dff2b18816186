//! A connection: the gateway's own [`Exchange`], the task that carries its bytes, the socket, and the editor's end of it.

use std::collections::VecDeque;

use holdfast::core::exchange::{Exchange, Order};
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
    /// A question what became of calls.
    Outcomes(u8),
}

/// A message on its way to the gateway. An answer of which the gateway reads nothing might as well not have been sent, so
/// calls are answered and read in one step; only what can be read in two ways stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    /// The greeting's answer.
    Greeting,
    /// The tool list.
    List,
    /// A call's answer, for the second time.
    Again(u8),
    /// A call's answer on an older connection.
    Stray(u64, u8),
    /// What became of calls.
    Outcomes(u8),
    /// The editor says that it is about to reload.
    Reload,
    /// The editor says that it quits.
    Quit,
}

/// Where the task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Task {
    /// It waits for orders.
    Idle,
    /// It has reserved a call and prepares it: encodes it, records it, connects for it.
    Holding(u8),
    /// It has claimed a call, of which nothing is written yet.
    Writing(u8),
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// What may be written, and what replies mean.
    pub exchange: Exchange,
    /// The bridge's end was dropped. The task may be in the middle of a step still.
    pub hung_up: bool,
    /// It has the link's permit, and the socket is open.
    pub open: bool,
    /// Where the task stands.
    pub task: Task,
    /// What the editor truly owes, as the observer sees it: bit 0 the list, then the calls.
    pub owed: u8,
    /// On its way to the editor.
    pub out: VecDeque<Message>,
    /// The editor runs it and has not answered.
    pub running: Option<u8>,
    /// On its way to the gateway.
    pub back: VecDeque<Frame>,
    /// The editor's end is closed: what is on its way may still be read.
    pub peer_gone: bool,
    /// The editor's goodbye was read.
    pub left: bool,
    /// The process of the editor that it was made to.
    pub process: u8,
    /// What each question for outcomes on its way asks for.
    pub asked: VecDeque<(u8, Vec<Sending>)>,
    /// What each answer on its way says.
    pub answers: VecDeque<(u8, Vec<(Sending, Status)>)>,
    /// Which sending of a call left here.
    pub nths: [u8; MAX_CALLS],
}

impl Line {
    /// A task that was just spawned.
    pub fn new(epoch: u64) -> Self {
        Self {
            exchange: Exchange::new(Epoch(epoch)),
            hung_up: false,
            open: false,
            task: Task::Idle,
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

    /// Its number.
    pub fn epoch(&self) -> u64 {
        self.exchange.epoch().0
    }

    /// The number of a message on the wire. (The gateway counts up. Here a message that means the same has the same number, which
    /// keeps the graph finite; no two of different connections or meanings share one.)
    pub fn number(epoch: u64, message: Message) -> u64 {
        let place = match message {
            Message::Greeting => 0,
            Message::List => 1,
            Message::Outcomes(question) => 2 + u64::from(question),
            Message::Call(call) => 10 + u64::from(call),
        };
        100 * epoch + place
    }

    /// The task takes the next order as soon as it is done with the one before; over HTTP, with its response too.
    pub fn is_free(&self, setting: &Setting) -> bool {
        self.open && self.task == Task::Idle && !(setting.http && self.exchange.awaits_reply())
    }

    /// The next order is to send a call.
    pub fn is_to_call(&self) -> bool {
        self.exchange.peek() == Some(&Order::Call)
    }

    /// A message leaves. Nothing that leaves for a closed end arrives.
    pub fn put(&mut self, message: Message) {
        self.owed |= Self::bit(message);
        if !self.peer_gone {
            self.out.push_back(message);
        }
    }

    /// The bit of an answer that takes a place at the editor.
    pub fn bit(message: Message) -> u8 {
        match message {
            Message::List => 1,
            Message::Call(call) => 2 << call,
            Message::Greeting | Message::Outcomes(_) => 0,
        }
    }

    /// The editor closes its end: what it had not begun is gone.
    pub fn lose_peer(&mut self) {
        if self.open {
            self.peer_gone = true;
            self.out.clear();
            self.running = None;
        }
    }

    /// The greeting, the list and outcomes are answered as soon as the editor works; one with a journal answers them beside the call
    /// that it runs.
    pub fn serve(&mut self, journal: &mut Journal, setting: &Setting) {
        let own = setting.has_journal();
        while let Some(message) = self.out.front().copied() {
            if matches!(message, Message::Call(_)) || self.running.is_some() && !own {
                return;
            }
            self.out.pop_front();
            self.back.push_back(match message {
                Message::Greeting => {
                    if setting.broken != Broken::NeitherFencedNorSealed {
                        journal.fence();
                    }
                    Frame::Greeting
                }
                Message::Outcomes(_) => {
                    let (question, asked) = self.asked.pop_front().unwrap_or_default();
                    let seals = setting.broken != Broken::NeitherFencedNorSealed;
                    let lies = setting.broken == Broken::JournalDenies;
                    let say = |sending| (sending, if lies { Status::NotRun } else { journal.ask(sending, seals) });
                    self.answers.push_back((question, asked.into_iter().map(say).collect()));
                    Frame::Outcomes(question)
                }
                Message::List | Message::Call(_) => Frame::List,
            });
        }
    }
}
