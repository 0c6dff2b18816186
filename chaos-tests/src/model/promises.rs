//! The promises that the model checks, as properties of a state of the world.

use std::collections::VecDeque;

use holdfast::fsm::bridge::State;
use holdfast::limits::SENDINGS_MAX;
use stateright::{Model, Property};

use super::action::{self, Action};
use super::bridge;
use super::journal::Journal;
use super::records::{Records, Word};
use super::seam::Seam;
use super::setting::{Kind, MAX_CALLS, Setting};
use super::step::step;
use super::world::{Bridge, Editor, Ghost, Stage, World, Wrong};

/// At most one connection is open at a time.
pub const ONE_CONNECTION: &str = "never two live connections";
/// A call gets at most one answer.
pub const ONE_ANSWER: &str = "never an answer twice";
/// A call that is not repeatable is sent, and runs, at most once.
pub const AT_MOST_ONCE: &str = "never a resend after maybe-sent of a call that is not repeatable";
/// A repeatable call runs at most [`SENDINGS_MAX`] times.
pub const REPEATS_BOUNDED: &str = "a repeatable call runs at most three times";
/// After the gateway began to end, no call is claimed. After the bridge received the order to stop, no connection is opened.
pub const NOTHING_AFTER_STOP: &str = "nothing is claimed or dialled after the stop";
/// After the editor's announcement that it quits was read on a connection, no call is claimed on that connection.
pub const NOTHING_AFTER_GOODBYE: &str = "nothing is claimed for an editor that has said goodbye";
/// A call that is answered "not executed" has not run, and never runs later.
pub const NOT_EXECUTED: &str = "an answer \"not executed\" means that it never ran";
/// A call that the editor answered has run.
pub const ANSWER_RAN: &str = "the editor's answer means that it ran";
/// A frame of a connection that has ended never completes a call.
pub const EPOCH_FENCE: &str = "a frame of an old connection never completes a call";
/// The editor never has more calls at once than its bridge accepts. The request for the tool list counts as one.
pub const WINDOW: &str = "never more with the editor than its bridge takes";
/// If the journal knows the outcome of a call, the gateway asks for it instead of giving the call up.
pub const JOURNAL_ASKED: &str = "what the journal knows is never unknown";
/// The answer of an editor that a hub has given out outlives that hub, and so does a late result that the hub had.
/// A call that was told to be running is known to the next owner of its record.
pub const ANSWER_KEPT: &str = "an answer that a hub gave out is never unknown";
/// Of a call whose hub and session were killed, and of which nobody tells the client, nothing was sent.
pub const LEFT_TOLD: &str = "what a killed hub and session had sent is told by the next gateway";
/// The bridge's machine has a decision for every event that it receives.
pub const NO_SURPRISE: &str = "the machine is never surprised";
/// Every call has its verdict when the gateway has ended.
pub const SETTLED_AT_END: &str = "every call is settled at the end";
/// The bridge can become ready again from every state.
pub const READY_AGAIN: &str = "ready is reachable from everywhere";
/// From every state, the bridge can become ready again with a verdict for every call.
pub const SETTLED_AGAIN: &str = "ready with every call settled is reachable from everywhere";

fn each(setting: &Setting, holds: impl Fn(usize, Kind) -> bool) -> bool {
    setting.calls.iter().enumerate().all(|(call, kind)| holds(call, *kind))
}

/// Whether the bridge is ready.
pub fn ready(world: &World) -> bool {
    matches!(&world.bridge, Bridge::Alive(actor) if actor.core.state() == State::Ready)
}

/// Whether the bridge is ready and the client waits for no answer.
pub fn ready_and_settled(world: &World) -> bool {
    ready(world) && !world.waits()
}

/// Whether the gateway runs: nobody has begun to stop it.
pub fn running(world: &World) -> bool {
    world.stage == Stage::Running
}

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let mut world = World {
            ledger: Seam::default(),
            bridge: Bridge::Settled,
            news: VecDeque::new(),
            wakings: 0,
            stop_under_way: false,
            lines: Vec::new(),
            adrift: [0; MAX_CALLS],
            journal: Journal::default(),
            sent_to: [0; MAX_CALLS],
            stray: None,
            editor: Editor::Up,
            discovery_asked: false,
            linked: None,
            hope: false,
            registry_asks: false,
            stage: Stage::Running,
            faults: self.faults,
            due: false,
            records: self.hub.then(Records::default),
            on_the_way: Vec::new(),
            away: 0,
            stale: 0,
            leaving: false,
            renamed: false,
            ghost: Ghost::default(),
        };
        bridge::begin(&mut world, self);
        let mut elsewhere = world.clone();
        elsewhere.editor = Editor::Dead;
        vec![world, elsewhere]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        action::possible(world, self, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        Some(step(world, self, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE_CONNECTION, |_, world: &World| {
                world.lines.iter().filter(|line| line.open).count() <= 1
            }),
            Property::always(ONE_ANSWER, |_, world: &World| world.ghost.answers.iter().all(|count| *count <= 1)),
            Property::always(AT_MOST_ONCE, |setting: &Setting, world: &World| {
                each(setting, |call, kind| {
                    kind == Kind::Repeatable || (world.ghost.sent[call] <= 1 && world.ghost.executions[call] <= 1)
                })
            }),
            Property::always(REPEATS_BOUNDED, |_, world: &World| {
                world.ghost.executions.iter().all(|count| *count <= SENDINGS_MAX)
            }),
            Property::always(NOTHING_AFTER_STOP, |_, world: &World| !world.is_wrong(Wrong::AfterStop)),
            Property::always(NOTHING_AFTER_GOODBYE, |_, world: &World| !world.is_wrong(Wrong::AfterGoodbye)),
            Property::always(NOT_EXECUTED, |setting: &Setting, world: &World| {
                each(setting, |call, _| {
                    let said = world.ghost.words[call] == Some(Word::NotExecuted);
                    !said || world.ghost.executions[call] == 0
                })
            }),
            Property::always(ANSWER_RAN, |setting: &Setting, world: &World| {
                each(setting, |call, _| {
                    let said = world.ghost.words[call] == Some(Word::Answered);
                    !said || world.ghost.executions[call] > 0
                })
            }),
            Property::always(EPOCH_FENCE, |_, world: &World| !world.is_wrong(Wrong::OldFrame)),
            Property::always(WINDOW, |_, world: &World| !world.is_wrong(Wrong::Window)),
            Property::always(JOURNAL_ASKED, |_, world: &World| !world.is_wrong(Wrong::Guessed)),
            Property::always(ANSWER_KEPT, |_, world: &World| !world.is_wrong(Wrong::Forgotten)),
            Property::always(LEFT_TOLD, |setting: &Setting, world: &World| {
                each(setting, |call, _| {
                    let gone = world.ghost.words[call] == Some(Word::Gone);
                    !gone || world.ghost.executions[call] == 0 && world.ghost.sent[call] == 0
                })
            }),
            Property::always(NO_SURPRISE, |_, world: &World| !world.is_wrong(Wrong::Surprise)),
            Property::always(SETTLED_AT_END, |_, world: &World| {
                // The session of a hub still reads what is on its way.
                world.stage != Stage::Ended || !world.on_the_way.is_empty() || !world.waits()
            }),
            Property::sometimes("an answer arrives", |_, world: &World| {
                world.ghost.words.contains(&Some(Word::Answered))
            }),
        ]
    }
}
