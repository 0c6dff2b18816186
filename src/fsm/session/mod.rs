//! The MCP session: when a client's request is answered, and how long the first tool list may wait.
//!
//! The shell feeds the client's requests (already parsed), what the registry publishes, how likely an editor is, and the end of
//! the client's input, which is fed at a signal too. The machine knows no request ids: the shell keeps the waiting requests, and
//! an order such as `AnswerLists` applies to all of them.
//!
//! Only the first tool list may wait. A *sync* client ignores `list_changed`, so the first list is all that it ever learns. That
//! list waits at most [`TOOLS_WAIT`] for the live list, and only while an editor may be there, the list of an earlier session is
//! still being read, or the client was asked for its roots. An *async* client follows changes. Its list waits only if no tools
//! are known, not even from an earlier session, and at most [`TOOLS_WAIT_HEARING`]. Every later list is answered at once with the
//! tools that are known. Every transition out of `waiting_for_tools` answers the waiting lists.
//!
//! Requests of the era without a handshake open the session themselves: before the first `tools/*` request of that kind the shell
//! feeds `Opened`, and `AnswerOpen` then has nothing to answer. After a crash of the session's actor, the next shell feeds
//! `Opened` from the client data that outlived the actor. `server/discover` alone does not open the session, since a probe must
//! not make the bridge dial.
//!
//! After the end nothing new is accepted. Calls that run may still be answered: the ledger and the outbox see to that.

use std::time::Duration;

use super::cause;
use super::registry::Source;
use super::{Machine, Outcome, Reaction, statig_machine};
use crate::limits::{TOOLS_WAIT, TOOLS_WAIT_HEARING};

/// Whether the client acts on `list_changed`.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The client ignores `list_changed`, or is unknown: its first list must be complete.
    #[default]
    IgnoresChanges,
    /// The client acts on `list_changed`.
    HonoursChanges,
}

impl Kind {
    /// Whether the client fetches the list again when it is told that the tools changed.
    pub fn honours_changes(self) -> bool {
        self == Self::HonoursChanges
    }
}

/// How likely an editor is.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Likelihood {
    /// No survey has been made yet.
    #[default]
    Unknown,
    /// There are signs that an editor is there or comes back.
    Likely,
    /// There are no such signs.
    Unlikely,
}

impl Likelihood {
    /// Derives the likelihood from the link's availability. `undecided`: nothing is known for or against an editor yet.
    pub fn of_link(availability: cause::Availability, undecided: bool) -> Self {
        match availability {
            _ if undecided => Self::Unknown,
            cause::Availability::Open | cause::Availability::Coming(_) => Self::Likely,
            cause::Availability::Absent(_) => Self::Unlikely,
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Session {
    pub kind: Kind,
    pub source: Source,
    pub likelihood: Likelihood,
    /// Whether the catalogue on disk is still being read.
    pub disk_awaited: bool,
    /// Whether the client was asked for its roots and has not answered. The roots may name the project, so what is known about an
    /// editor may concern another project.
    pub roots_awaited: bool,
    /// Whether the first list of this handshake was answered. The value outlives a crash of the session's actor.
    pub first_list_served: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// No handshake was made yet.
    AwaitingOpen,
    /// The client's first list waits for the editor.
    WaitingForTools,
    /// Every request is answered, or passed on, at once.
    Serving,
    /// New requests are refused. Running calls may still be answered. The end.
    Draining,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    Open,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// The longest wait of the first list is over.
    ToolsWait,
}

/// What can happen to the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The client opened the session, or opened it once more.
    Opened(Kind),
    /// The client asked for the tools.
    ListRequested,
    /// The client called a tool, or asked for resources or prompts. The answer depends on which editor is meant.
    CallRequested,
    /// The client asked to be notified of changes with `subscriptions/listen`.
    ListenRequested {
        /// Whether the client asked for changes of a list, which depends on the editor.
        lists: bool,
    },
    CataloguePublished(Source),
    /// The catalogue's content changed.
    CatalogueChanged,
    /// The catalogue on disk was read (and published, if it is usable), or there is none to read.
    DiskRead,
    /// How likely an editor is.
    LikelihoodChanged(Likelihood),
    /// Whether the client's roots are awaited. True: the client was asked. False: its answer contains nothing new.
    RootsAwaited(bool),
    /// stdin ended, or the session stops for another reason.
    InputEnded,
    Elapsed(Timer),
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    AnswerOpen,
    /// Make the bridge connect to the editor, if it is not connected yet. Ordered with each request for tools, so that a
    /// restarted link gets this order too.
    WantEditor,
    /// Answer every waiting list with what is published.
    AnswerLists,
    /// Pass the call to the ledger, or answer the request for resources or prompts.
    AcceptCall,
    /// Start the subscription.
    AcceptListen,
    /// Refuse the request because the session is not open. Nothing ran.
    RefuseUnopened,
    /// Refuse the request because the session is ending. Nothing ran.
    RefuseDraining,
    /// Send `notifications/tools/list_changed`.
    AnnounceChange,
    Arm(Timer, Duration),
    Disarm(Timer),
}

impl Session {
    /// Whether a tool list that is requested now should wait.
    fn list_waits(&self) -> bool {
        let known = match self.kind {
            Kind::IgnoresChanges => self.source == Source::Live,
            Kind::HonoursChanges => self.source != Source::None,
        };
        !self.first_list_served
            && !known
            && (self.likelihood != Likelihood::Unlikely || self.disk_awaited || self.roots_awaited)
    }

    /// Returns the next state of a session whose lists are waiting: `serving` if there is no longer a reason to wait.
    fn wait_or_serve(&self) -> Outcome<State> {
        if self.list_waits() { Outcome::Handled } else { Outcome::Transition(State::Serving) }
    }

    fn tools_wait(&self) -> Effect {
        let span = match self.kind {
            Kind::IgnoresChanges => TOOLS_WAIT,
            Kind::HonoursChanges => TOOLS_WAIT_HEARING,
        };
        Effect::Arm(Timer::ToolsWait, span)
    }

    fn open(&mut self, kind: Kind, out: &mut Reaction<Self>) {
        self.kind = kind;
        self.roots_awaited = false;
        out.order(Effect::AnswerOpen);
        out.order(Effect::WantEditor);
    }

    fn awaiting_open(&mut self, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Opened(kind) => {
                self.open(*kind, out);
                Outcome::Transition(State::Serving)
            }
            Event::ListRequested | Event::CallRequested | Event::ListenRequested { .. } => {
                out.order(Effect::RefuseUnopened);
                Outcome::Handled
            }
            Event::CataloguePublished(source) => {
                self.source = *source;
                Outcome::Handled
            }
            Event::LikelihoodChanged(likelihood) => {
                self.likelihood = *likelihood;
                Outcome::Handled
            }
            Event::DiskRead => {
                self.disk_awaited = false;
                Outcome::Handled
            }
            Event::RootsAwaited(awaited) => {
                self.roots_awaited = *awaited;
                Outcome::Handled
            }
            Event::CatalogueChanged => out.ignore("no client has opened, so none knows the old list"),
            Event::InputEnded => Outcome::Transition(State::Draining),
            _ => Outcome::Super,
        }
    }

    fn waiting_for_tools(&mut self, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Opened(kind) => {
                self.open(*kind, out);
                // The handshake may be from another client on the same pipe, for which another time limit applies.
                out.order(self.tools_wait());
                self.wait_or_serve()
            }
            Event::ListRequested => {
                out.order(Effect::WantEditor);
                Outcome::Handled
            }
            Event::CataloguePublished(source) => {
                self.source = *source;
                self.wait_or_serve()
            }
            Event::LikelihoodChanged(likelihood) => {
                self.likelihood = *likelihood;
                self.wait_or_serve()
            }
            Event::DiskRead => {
                self.disk_awaited = false;
                self.wait_or_serve()
            }
            Event::RootsAwaited(awaited) => {
                self.roots_awaited = *awaited;
                self.wait_or_serve()
            }
            Event::CatalogueChanged => out.ignore("the list that waits will hold it"),
            Event::Elapsed(Timer::ToolsWait) => Outcome::Transition(State::Serving),
            _ => Outcome::Super,
        }
    }

    fn serving(&mut self, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Opened(kind) => {
                // A new handshake may be from a new client on the same pipe.
                self.first_list_served = false;
                self.open(*kind, out);
                Outcome::Handled
            }
            Event::ListRequested => {
                out.order(Effect::WantEditor);
                if self.list_waits() {
                    return Outcome::Transition(State::WaitingForTools);
                }
                self.first_list_served = true;
                out.order(Effect::AnswerLists);
                Outcome::Handled
            }
            Event::CataloguePublished(source) => {
                self.source = *source;
                Outcome::Handled
            }
            Event::LikelihoodChanged(likelihood) => {
                self.likelihood = *likelihood;
                Outcome::Handled
            }
            Event::DiskRead => {
                self.disk_awaited = false;
                Outcome::Handled
            }
            Event::RootsAwaited(awaited) => {
                self.roots_awaited = *awaited;
                Outcome::Handled
            }
            _ => Outcome::Super,
        }
    }

    fn draining(event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Opened(_) | Event::ListRequested | Event::CallRequested | Event::ListenRequested { .. } => {
                out.order(Effect::RefuseDraining);
                Outcome::Handled
            }
            Event::CataloguePublished(_)
            | Event::CatalogueChanged
            | Event::DiskRead
            | Event::LikelihoodChanged(_)
            | Event::RootsAwaited(_) => out.ignore("no list is answered any more"),
            Event::InputEnded => out.ignore("already ending"),
            _ => Outcome::Super,
        }
    }
}

impl Machine for Session {
    const NAME: &'static str = "session";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::AwaitingOpen
    }

    fn group(state: State) -> Option<Group> {
        matches!(state, State::WaitingForTools | State::Serving).then_some(Group::Open)
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match state {
            State::AwaitingOpen => self.awaiting_open(event, out),
            State::WaitingForTools => self.waiting_for_tools(event, out),
            State::Serving => self.serving(event, out),
            State::Draining => Self::draining(event, out),
        }
    }

    fn on_group(&mut self, Group::Open: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::CallRequested => {
                out.order(Effect::WantEditor);
                out.order(Effect::AcceptCall);
                Outcome::Handled
            }
            Event::ListenRequested { lists } => {
                if *lists {
                    out.order(Effect::WantEditor);
                }
                out.order(Effect::AcceptListen);
                Outcome::Handled
            }
            Event::CatalogueChanged => {
                out.order(Effect::AnnounceChange);
                Outcome::Handled
            }
            Event::InputEnded => Outcome::Transition(State::Draining),
            _ => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        if state == State::WaitingForTools {
            out.order(self.tools_wait());
        }
    }

    fn left(&mut self, state: State, out: &mut Reaction<Self>) {
        if state == State::WaitingForTools {
            self.first_list_served = true;
            out.order(Effect::Disarm(Timer::ToolsWait));
            out.order(Effect::AnswerLists);
        }
    }
}
statig_machine!(Session, State, Group);

#[cfg(test)]
impl super::tests::Charted for Session {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Opened(Kind::IgnoresChanges),
            Event::Opened(Kind::HonoursChanges),
            Event::ListRequested,
            Event::CallRequested,
            Event::ListenRequested { lists: true },
            Event::ListenRequested { lists: false },
            Event::CataloguePublished(Source::None),
            Event::CataloguePublished(Source::Disk),
            Event::CataloguePublished(Source::Live),
            Event::CataloguePublished(Source::Stale),
            Event::CatalogueChanged,
            Event::DiskRead,
            Event::LikelihoodChanged(Likelihood::Unknown),
            Event::LikelihoodChanged(Likelihood::Likely),
            Event::LikelihoodChanged(Likelihood::Unlikely),
            Event::RootsAwaited(true),
            Event::RootsAwaited(false),
            Event::InputEnded,
            Event::Elapsed(Timer::ToolsWait),
        ]
    }

    fn starts() -> Vec<Self> {
        let waiting = Self { disk_awaited: true, ..Self::default() };
        vec![Self::default(), waiting, Self { first_list_served: true, ..Self::default() }]
    }
}

#[cfg(test)]
mod tests;
