//! A connection's task with its socket and the editor's end of it (`src/actors/connection.rs` and what lies beyond).

use std::collections::VecDeque;

use super::journal::{Journal, Sending, Status};
use super::world::{Broken, MAX_CALLS, Setting};

/// What the bridge ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The greeting.
    Greeting,
    /// The tool list.
    List,
    /// A reserved call.
    Call(u8),
    /// What became of calls.
    Outcomes,
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
    Outcomes,
    /// The editor says that it is about to reload.
    Reload,
    /// The editor says that it quits.
    Quit,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Line {
    /// Its number.
    pub epoch: u64,
    /// The bridge's end was dropped. The task may be in the middle of a step still.
    pub hung_up: bool,
    /// It has the link's permit, and the socket is open.
    pub open: bool,
    /// Calls ordered and not taken yet.
    pub orders: VecDeque<u8>,
    /// A claimed call of which nothing is written yet.
    pub writing: Option<u8>,
    /// Answers owed by the editor: bit 0 the greeting, bit 1 the list, then the calls.
    pub owed: u8,
    /// On its way to the editor.
    pub out: VecDeque<Order>,
    /// The editor runs it and has not answered.
    pub running: Option<u8>,
    /// On its way to the gateway.
    pub back: VecDeque<Frame>,
    /// The editor's end is closed: what is on its way may still be read.
    pub peer_gone: bool,
    /// The greeting was answered.
    pub greeted: bool,
    /// The process of the editor that it was made to.
    pub process: u8,
    /// What each question for outcomes on its way asks for.
    pub asked: VecDeque<Vec<Sending>>,
    /// What each answer on its way says.
    pub answers: VecDeque<Vec<(Sending, Status)>>,
    /// Which sending of a call left here.
    pub nths: [u8; MAX_CALLS],
}

impl Line {
    /// A task that was just spawned.
    pub fn new(epoch: u64) -> Self {
        Self {
            epoch,
            hung_up: false,
            open: false,
            orders: VecDeque::new(),
            writing: None,
            owed: 0,
            out: VecDeque::new(),
            running: None,
            back: VecDeque::new(),
            peer_gone: false,
            greeted: false,
            process: 0,
            asked: VecDeque::new(),
            answers: VecDeque::new(),
            nths: [0; MAX_CALLS],
        }
    }

    /// The bit of an owed answer.
    pub fn bit(order: Order) -> u8 {
        match order {
            Order::Greeting => 1,
            Order::List => 2,
            Order::Call(call) => 4 << call,
            // Told apart by what they ask; they take no place.
            Order::Outcomes => 0,
        }
    }

    /// Takes an owed answer off; false if it was not owed.
    pub fn settle(&mut self, order: Order) -> bool {
        let owed = self.owed & Self::bit(order) != 0;
        self.owed &= !Self::bit(order);
        owed
    }

    /// The editor closes its end: what it had not begun is gone.
    pub fn lose_peer(&mut self) {
        if self.open {
            self.peer_gone = true;
            self.out.clear();
            self.running = None;
        }
    }

    /// The greeting, the list and outcomes: written as they are ordered, and answered as soon as the editor works; one with a
    /// journal answers them beside the call that it runs.
    pub fn exchange(&mut self, journal: &mut Journal, setting: &Setting) {
        let own = setting.has_journal();
        while let Some(order) = self.out.front().copied() {
            if matches!(order, Order::Call(_)) || self.running.is_some() && !own {
                return;
            }
            self.out.pop_front();
            self.back.push_back(match order {
                Order::Greeting => {
                    if setting.broken != Broken::NeitherFencedNorSealed {
                        journal.fence();
                    }
                    Frame::Greeting
                }
                Order::Outcomes => {
                    let asked = self.asked.pop_front().unwrap_or_default();
                    let seals = setting.broken != Broken::NeitherFencedNorSealed;
                    let lies = setting.broken == Broken::JournalDenies;
                    let say = |sending| (sending, if lies { Status::NotRun } else { journal.ask(sending, seals) });
                    self.answers.push_back(asked.into_iter().map(say).collect());
                    Frame::Outcomes
                }
                Order::List | Order::Call(_) => Frame::List,
            });
        }
    }
}
