//! The MCP session: when a request of the client is answered, and with how much patience for the tool list.
//!
//! Fed by its shell with the client's requests (already parsed), with what the registry publishes, with how likely an editor
//! is, and with the end: of stdin, by a signal, of the calls that ran. The machine knows no request ids: the shell keeps the
//! waiting requests, and an order such as `AnswerLists` is for all of them.
//!
//! The one wait is the first tool list. A *sync* client never looks at `list_changed`, so what it is told first is all it
//! will ever know. Its list waits at most [`TOOLS_WAIT`] for the live list, and only while an editor may be there or the list of an
//! earlier session is still being read. An *async* client hears of changes; it waits only where nothing is known of the tools, not even
//! from an earlier session, and at most [`TOOLS_WAIT_HEARING`]. Every later list is answered at once with what is known. Leaving
//! `waiting_for_tools`, by whatever event, answers the lists that wait: no way out forgets them.
//!
//! Requests of the era without a handshake open the session by themselves: before the first `tools/*` request of that kind the
//! shell feeds `Opened`, and `AnswerOpen` then has nothing to answer. The same holds for a session that follows a
//! crashed one: its shell feeds `Opened` from the client data that main keeps. A mere `server/discover` does not open, since a
//! probe must not dial.
//!
//! At the end the machine always passes through `draining`; a shell that knows of nothing sent feeds `CallsSettled` at once, and
//! the process is gone within milliseconds.

use std::time::Duration;

use super::cause;
use super::registry::Source;
use super::{Charted, Machine, Outbox, Outcome, statig_machine};
use crate::limits::{DRAIN_MAX, TOOLS_WAIT, TOOLS_WAIT_HEARING};

/// Whether the client acts on `list_changed`.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// It does not, or is unknown: its first list must be complete.
    #[default]
    IgnoresChanges,
    /// It does.
    HonoursChanges,
}

/// How likely an editor is.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Likelihood {
    /// Nobody looked yet.
    #[default]
    Unknown,
    /// Something says that one is there or comes back.
    Likely,
    /// Nothing does.
    Unlikely,
}

impl Likelihood {
    /// What the link's availability means to a session; `undecided`: nothing speaks for or against an editor yet.
    pub fn of_link(availability: cause::Availability, undecided: bool) -> Self {
        match availability {
            _ if undecided => Self::Unknown,
            cause::Availability::Open | cause::Availability::Coming(_) => Self::Likely,
            cause::Availability::Absent(_) => Self::Unlikely,
        }
    }
}

/// The storage of the session.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Session {
    /// The client's kind.
    pub kind: Kind,
    /// Where the published catalogue comes from.
    pub source: Source,
    /// How likely an editor is.
    pub likelihood: Likelihood,
    /// The catalogue on disk is still being looked for.
    pub disk_awaited: bool,
    /// The client was asked for its roots, which may name the project: what is known of an editor is of no project yet.
    pub roots_awaited: bool,
    /// The first list of this handshake is answered. A session that follows a crashed one starts with what main remembers.
    pub first_list_served: bool,
}

/// Where the session stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// No handshake yet.
    AwaitingOpen,
    /// The first list waits for the editor.
    WaitingForTools,
    /// Every request is answered or accepted at once.
    Serving,
    /// No new requests; what runs may answer.
    Draining,
    /// Over.
    Closed,
}

/// The superstates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// The client has opened the session.
    Open,
    /// Above all.
    Root,
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// The longest wait of a first list.
    ToolsWait,
    /// The longest wait for running calls at the end.
    Drain,
}

/// What can happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The client opened the session, or opened it again.
    Opened(Kind),
    /// The client asked for the tools.
    ListRequested,
    /// The client called a tool.
    CallRequested,
    /// The client asked to be told of changes (`subscriptions/listen`): of the tools, or of nothing that changes here.
    ListenRequested {
        /// Of the tools.
        tools: bool,
    },
    /// The registry published a catalogue.
    CataloguePublished(Source),
    /// The catalogue changed by content.
    CatalogueChanged,
    /// The catalogue on disk was read (and published, if it is of use), or there is none to read.
    DiskRead,
    /// How likely an editor is.
    LikelihoodChanged(Likelihood),
    /// The client was asked for its roots; or its answer tells nothing new.
    RootsAwaited(bool),
    /// stdin ended.
    InputEnded,
    /// A signal, or the gateway stops.
    StopRequested,
    /// Nothing sent is unanswered any more.
    CallsSettled,
    /// A timer fired.
    Elapsed(Timer),
}

/// What can be ordered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Answer the handshake, if one waits for it.
    AnswerOpen,
    /// Have the editor dialled, if nobody has. Said with each request for tools: a link that was rebuilt meanwhile hears it too.
    WantEditor,
    /// Answer every list that waits, with what is published.
    AnswerLists,
    /// Hand the call to the ledger.
    AcceptCall,
    /// Begin the subscription.
    AcceptListen,
    /// Refuse the request: the session is not open. Nothing ran.
    RefuseUnopened,
    /// Refuse the request: the session ends. Nothing ran.
    RefuseDraining,
    /// Send `notifications/tools/list_changed`.
    AnnounceChange,
    /// Start a timer.
    Arm(Timer, Duration),
    /// Forget a timer.
    Disarm(Timer),
    /// End the process's session: everything is answered that will be.
    Finish,
}

impl Session {
    /// A list asked for now had better wait.
    fn list_waits(&self) -> bool {
        let known = match self.kind {
            Kind::IgnoresChanges => self.source == Source::Live,
            Kind::HonoursChanges => self.source != Source::None,
        };
        !self.first_list_served
            && !known
            && (self.likelihood != Likelihood::Unlikely || self.disk_awaited || self.roots_awaited)
    }

    /// Where a session with waiting lists goes after news: on, if nothing speaks for waiting any more.
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

    fn open(&mut self, kind: Kind, out: &mut Outbox<Self>) {
        self.kind = kind;
        self.roots_awaited = false;
        out.order(Effect::AnswerOpen);
        out.order(Effect::WantEditor);
    }

    fn awaiting_open(&mut self, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
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
            Event::CallsSettled => out.ignore("it matters only at the end"),
            Event::InputEnded | Event::StopRequested => Outcome::Transition(State::Closed),
            Event::Elapsed(Timer::ToolsWait | Timer::Drain) => Outcome::Super,
        }
    }

    fn waiting_for_tools(&mut self, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match event {
            Event::Opened(kind) => {
                self.open(*kind, out);
                // It may be another client behind the same pipe, with another patience.
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
            Event::Elapsed(Timer::Drain)
            | Event::CallRequested
            | Event::ListenRequested { .. }
            | Event::InputEnded
            | Event::StopRequested
            | Event::CallsSettled => Outcome::Super,
        }
    }

    fn serving(&mut self, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match event {
            Event::Opened(kind) => {
                // A new handshake may be a new client behind the same pipe.
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
            Event::CallRequested
            | Event::ListenRequested { .. }
            | Event::CatalogueChanged
            | Event::InputEnded
            | Event::StopRequested
            | Event::CallsSettled
            | Event::Elapsed(Timer::ToolsWait | Timer::Drain) => Outcome::Super,
        }
    }

    fn ending(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
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
            Event::InputEnded | Event::StopRequested => out.ignore("already ending"),
            Event::CallsSettled | Event::Elapsed(Timer::Drain) if state == State::Draining => {
                Outcome::Transition(State::Closed)
            }
            Event::CallsSettled => out.ignore("already over"),
            Event::Elapsed(Timer::ToolsWait | Timer::Drain) => Outcome::Super,
        }
    }
}

impl Machine for Session {
    const NAME: &'static str = "session";
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::AwaitingOpen
    }

    fn group(state: State) -> Group {
        match state {
            State::WaitingForTools | State::Serving => Group::Open,
            State::AwaitingOpen | State::Draining | State::Closed => Group::Root,
        }
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match state {
            State::AwaitingOpen => self.awaiting_open(event, out),
            State::WaitingForTools => self.waiting_for_tools(event, out),
            State::Serving => self.serving(event, out),
            State::Draining | State::Closed => self.ending(state, event, out),
        }
    }

    fn on_group(&mut self, group: Group, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
        match (group, event) {
            (Group::Open, Event::CallRequested) => {
                out.order(Effect::WantEditor);
                out.order(Effect::AcceptCall);
                Outcome::Handled
            }
            (Group::Open, Event::ListenRequested { tools }) => {
                if *tools {
                    out.order(Effect::WantEditor);
                }
                out.order(Effect::AcceptListen);
                Outcome::Handled
            }
            (Group::Open, Event::CatalogueChanged) => {
                out.order(Effect::AnnounceChange);
                Outcome::Handled
            }
            (Group::Open, Event::CallsSettled) => out.ignore("it matters only at the end"),
            (Group::Open, Event::InputEnded | Event::StopRequested) => Outcome::Transition(State::Draining),
            (
                Group::Open,
                Event::Opened(_)
                | Event::ListRequested
                | Event::CataloguePublished(_)
                | Event::DiskRead
                | Event::LikelihoodChanged(_)
                | Event::RootsAwaited(_)
                | Event::Elapsed(Timer::ToolsWait | Timer::Drain),
            )
            | (Group::Root, _) => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::WaitingForTools => out.order(self.tools_wait()),
            State::Draining => out.order(Effect::Arm(Timer::Drain, DRAIN_MAX)),
            State::Closed => out.order(Effect::Finish),
            State::AwaitingOpen | State::Serving => {}
        }
    }

    fn left(&mut self, state: State, out: &mut Outbox<Self>) {
        match state {
            State::WaitingForTools => {
                self.first_list_served = true;
                out.order(Effect::Disarm(Timer::ToolsWait));
                out.order(Effect::AnswerLists);
            }
            State::Draining => out.order(Effect::Disarm(Timer::Drain)),
            State::AwaitingOpen | State::Serving | State::Closed => {}
        }
    }
}
statig_machine!(Session, State, Group);

impl Charted for Session {
    fn specimens() -> Vec<Event> {
        vec![
            Event::Opened(Kind::IgnoresChanges),
            Event::Opened(Kind::HonoursChanges),
            Event::ListRequested,
            Event::CallRequested,
            Event::ListenRequested { tools: true },
            Event::ListenRequested { tools: false },
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
            Event::StopRequested,
            Event::CallsSettled,
            Event::Elapsed(Timer::ToolsWait),
            Event::Elapsed(Timer::Drain),
        ]
    }

    fn starts() -> Vec<Self> {
        let waiting = Self { disk_awaited: true, ..Self::default() };
        vec![Self::default(), waiting, Self { first_list_served: true, ..Self::default() }]
    }
}

#[cfg(test)]
mod tests;
