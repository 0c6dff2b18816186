//! The charts of all machines, and what must hold for every machine.

mod chart;

use std::collections::BTreeSet;
use std::path::Path;

use strum::VariantArray;

pub(crate) use self::chart::{Charted, Walk, walk};
use self::chart::{Walkable, label, render};
use super::*;

/// Returns a machine to which these events were fed.
pub(crate) fn after<M: Hosted>(machine: M, events: &[M::Event]) -> Driver<M> {
    let (mut driver, _) = Driver::start(machine);
    for event in events {
        driver.feed(event);
    }
    driver
}

/// Checks what must hold for every machine, and what its author declares about it. Returns the problems.
///
/// `ends`: states that are never left and that order only effects which `allowed` accepts. Which cells nobody decides is seen in
/// the chart.
fn problems<M: Walkable>(walk: &Walk<M>, ends: &[M::State], allowed: fn(&M::Effect) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    let mut dead: BTreeSet<String> = walk.events.iter().map(event_name).collect();
    for &state in M::State::VARIANTS {
        for (index, event) in walk.events.iter().enumerate() {
            let cell = walk.cell(state, index);
            let at = format!("{}: {}", label(state), event_name(event));
            if cell.is_empty() {
                problems.push(format!("{at} was never fed: the state is unreachable"));
            }
            for step in cell {
                if step.unexpected {
                    if step.moved || !step.effects.is_empty() || step.ignored.is_some() {
                        problems.push(format!("{at} is handed up and acted on all the same: {step:?}"));
                    }
                } else if step.ignored.is_none() {
                    dead.remove(&event_name(event));
                }
                if step.ignored.is_some() && (step.moved || !step.effects.is_empty()) {
                    problems.push(format!("{at} is ignored and acted on all the same: {step:?}"));
                }
                if ends.contains(&state) && (step.moved || !step.effects.iter().all(allowed)) {
                    problems.push(format!("{at} acts after the end: {step:?}"));
                }
            }
        }
    }
    problems.extend(dead.into_iter().map(|name| format!("{name} does nothing in any state")));
    problems
}

fn check<M: Walkable>(ends: &[M::State], allowed: fn(&M::Effect) -> bool) {
    let walk = walk::<M>();
    let problems = problems(&walk, ends, allowed);
    assert!(problems.is_empty(), "{}:\n{}", M::NAME, problems.join("\n"));

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fsm/charts").join(M::NAME).with_extension("md");
    let chart = render(&walk);
    if std::env::var_os("UPDATE_CHARTS").is_some() {
        std::fs::write(&path, &chart).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == chart,
        "src/fsm/charts/{}.md is not what the machine does; look at the difference after `make charts`",
        M::NAME
    );
}

/// Each line is one machine: its module and type, its end states, and the effects allowed there.
macro_rules! charted {
    ($($module:ident :: $machine:ident, [$($end:ident),*], $allowed:expr;)*) => {$(
        #[test]
        fn $module() {
            check::<super::$module::$machine>(&[$(super::$module::State::$end),*], $allowed);
        }
    )*};
}

charted! {
    bridge::Bridge, [Stopped], |_| false;
    call::Call, [Answered, Uncertain], |_| false;
    attachment::Attachment, [Embedded], |_| false;
    push::Push, [], |_| true;
    registry::Registry, [], |_| true;
    discovery::Discovery, [], |_| true;
    routing::Routing, [], |_| true;
    session::Session, [Draining], |order| *order == session::Effect::RefuseDraining;
}

/// A machine with one of each fault that the checks must find.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Faulty {
    count: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
enum State {
    Open,
    Shut,
    Nowhere,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
enum Group {
    Inside,
}

#[derive(Clone, Debug)]
enum Event {
    Counted { by: u32 },
    Ended,
    Rang(bool),
    Never,
}

impl Machine for Faulty {
    const NAME: &'static str = "faulty";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = &'static str;
    fn initial() -> State {
        State::Open
    }
    fn group(state: State) -> Option<Group> {
        (state == State::Open).then_some(Group::Inside)
    }
    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::Counted { by } => {
                self.count += by;
                Outcome::Handled
            }
            Event::Ended => Outcome::Transition(State::Shut),
            Event::Rang(true) if state == State::Shut => {
                out.order("ring|ring");
                Outcome::Handled
            }
            Event::Rang(_) => Outcome::Super,
            Event::Never => out.ignore("for no reason"),
        }
    }
}
statig_machine!(Faulty, State, Group);

impl Charted for Faulty {
    fn specimens() -> Vec<Event> {
        vec![Event::Counted { by: 0 }, Event::Ended, Event::Rang(true), Event::Rang(false), Event::Never]
    }
    fn starts() -> Vec<Self> {
        vec![Self { count: 0 }]
    }
}

#[test]
fn the_checks_find_every_kind_of_fault() {
    let found = problems(&walk::<Faulty>(), &[State::Shut], |_| false).join("\n");
    for fault in [
        "nowhere: Ended was never fed",
        "shut: Ended acts after the end",
        "shut: Rang acts after the end",
        "Never does nothing in any state",
    ] {
        assert!(found.contains(fault), "{fault} is missing in\n{found}");
    }
}

#[test]
fn the_walk_knows_a_way_to_each_state() {
    let walk = walk::<Faulty>();
    assert_eq!(walk.configurations.len(), 2);
    assert_eq!(walk.way_to(State::Shut), "[Ended]");
    assert_eq!(walk.way_to(State::Nowhere), "unreachable");
}

#[test]
fn the_chart_shows_groups_edges_reasons_and_escapes_its_markup() {
    let chart = render(&walk::<Faulty>());
    for part in [
        "    state inside {\n        open\n    }\n    [*] --> open\n    open --> shut : Ended\n    shut --> shut : Ended\n",
        "## open (in inside)",
        "| `Counted` | stays, noted |",
        "| `Rang` | **unexpected** |",
        "| `Rang(true)` | stays: `\"ring\\|ring\"` |",
        "| `Never` | ignored: for no reason |",
        "| `Ended` | → `shut` anew |",
    ] {
        assert!(chart.contains(part), "{part} is missing in\n{chart}");
    }
}

/// A machine whose storage counts without a bound.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Endless(u64);

impl Machine for Endless {
    const NAME: &'static str = "endless";
    type State = State;
    type Group = Group;
    type Event = ();
    type Effect = ();
    fn initial() -> State {
        State::Open
    }
    fn on(&mut self, _: State, (): &(), _: &mut Reaction<Self>) -> Outcome<State> {
        self.0 += 1;
        Outcome::Handled
    }
    fn on_group(&mut self, _: Group, (): &(), _: &mut Reaction<Self>) -> Outcome<State> {
        Outcome::Super
    }
}
statig_machine!(Endless, State, Group);

impl Charted for Endless {
    fn specimens() -> Vec<()> {
        vec![()]
    }
    fn starts() -> Vec<Self> {
        vec![Self(0)]
    }
}

#[test]
#[should_panic(expected = "counts without bound")]
fn the_walk_refuses_a_storage_that_counts_without_bound() {
    walk::<Endless>();
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lamp;
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr)]
enum LampState {
    Off,
    Dim,
    Bright,
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr)]
enum Lit {
    Lit,
}
impl Machine for Lamp {
    const NAME: &'static str = "lamp";
    type State = LampState;
    type Group = Lit;
    type Event = char;
    type Effect = &'static str;
    fn initial() -> LampState {
        LampState::Off
    }
    fn group(state: LampState) -> Option<Lit> {
        (state != LampState::Off).then_some(Lit::Lit)
    }
    fn on(&mut self, state: LampState, event: &char, out: &mut Reaction<Self>) -> Outcome<LampState> {
        match (state, event) {
            (LampState::Off, '+') => Outcome::Transition(LampState::Dim),
            (LampState::Dim, '+') => Outcome::Transition(LampState::Bright),
            (LampState::Bright, '+') => out.ignore("as bright as it gets"),
            _ => Outcome::Super,
        }
    }
    fn on_group(&mut self, _: Lit, event: &char, _: &mut Reaction<Self>) -> Outcome<LampState> {
        if *event == '0' { Outcome::Transition(LampState::Off) } else { Outcome::Super }
    }
    fn entered_group(&mut self, _: Lit, out: &mut Reaction<Self>) {
        out.order("heat");
    }
    fn left_group(&mut self, _: Lit, out: &mut Reaction<Self>) {
        out.order("cool");
    }
}
statig_machine!(Lamp, LampState, Lit);

#[test]
fn groups_are_entered_once_and_left_once_and_what_nobody_decides_counts() {
    let (mut lamp, _) = Driver::start(Lamp);
    assert_eq!(lamp.feed(&'+').effects, ["heat"]);
    let out = lamp.feed(&'+');
    assert_eq!((out.effects.len(), out.transitions), (0, vec![(LampState::Dim, LampState::Bright)]));
    assert_eq!(lamp.feed(&'+').ignored, Some("as bright as it gets"));
    assert!(lamp.feed(&'?').unexpected);
    assert_eq!(lamp.feed(&'0').effects, ["cool"]);
    assert_eq!(lamp.state(), LampState::Off);
    assert!(lamp.feed(&'0').unexpected);
}
