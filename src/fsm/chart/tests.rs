use std::path::Path;

use super::*;
use crate::fsm::{
    Outcome, attachment, bridge, call, discovery, push, registry, restart, routing, session, statig_machine,
};

/// Checks what must hold for every machine, and what its author declares about it. Returns the problems.
///
/// `ends`: states that are never left and that order only effects which `allowed` accepts. `unexpected`: the exact set of cells
/// (`state: Event`) that no handler decides.
fn problems<M: Walkable>(
    walk: &Walk<M>,
    ends: &[M::State],
    allowed: fn(&M::Effect) -> bool,
    unexpected: &[&str],
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut undecided = BTreeSet::new();
    let mut dead: BTreeSet<String> = walk.events.iter().map(name).collect();
    for &state in M::State::VARIANTS {
        for (index, event) in walk.events.iter().enumerate() {
            let cell = walk.cell(state, index);
            let at = format!("{}: {}", label(state), name(event));
            if cell.is_empty() {
                problems.push(format!("{at} was never fed: the state is unreachable"));
            }
            for step in cell {
                if step.unexpected {
                    undecided.insert(at.clone());
                    if step.moved || !step.effects.is_empty() || step.ignored.is_some() {
                        problems.push(format!("{at} is handed up and acted on all the same: {step:?}"));
                    }
                } else if step.ignored.is_none() {
                    dead.remove(&name(event));
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
    let said: BTreeSet<String> = unexpected.iter().map(|&cell| cell.to_owned()).collect();
    problems.extend(undecided.difference(&said).map(|cell| format!("{cell} is decided by nobody")));
    problems.extend(said.difference(&undecided).map(|cell| format!("{cell} is said to be unexpected and is not")));
    problems
}

fn check<M: Walkable>(ends: &[M::State], allowed: fn(&M::Effect) -> bool, unexpected: &[&str]) {
    let walk = walk::<M>();
    let problems = problems(&walk, ends, allowed, unexpected);
    assert!(problems.is_empty(), "{}:\n{}", M::NAME, problems.join("\n"));

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fsm/charts").join(M::NAME).with_extension("md");
    let chart = render(&walk);
    if std::env::var_os("UPDATE_CHARTS").is_some() {
        std::fs::write(&path, &chart).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == chart,
        "src/fsm/charts/{}.md is not what the machine does; look at the difference after `UPDATE_CHARTS=1 cargo test --lib fsm::chart`",
        M::NAME
    );
}

/// Each line is one machine: its module and type, its end states, the effects allowed there, and its cells that no handler
/// decides.
macro_rules! charted {
    ($($module:ident :: $machine:ident, [$($end:ident),*], $allowed:expr, $unexpected:expr;)*) => {$(
        #[test]
        fn $module() {
            check::<$module::$machine>(&[$($module::State::$end),*], $allowed, &$unexpected);
        }
    )*};
}

charted! {
    bridge::Bridge, [Stopped], |_| false, [
        "backing_off: ConnectFailed", "backing_off: StillRefused", "backing_off: Connected", "backing_off: Greeted",
        "backing_off: GreetingRefused", "dialing: Greeted", "dialing: GreetingRefused", "draining: ConnectFailed", "draining: StillRefused",
        "draining: Connected", "draining: Greeted", "draining: GreetingRefused", "greeting: ConnectFailed", "greeting: StillRefused",
        "greeting: Connected", "idle: ConnectFailed", "idle: StillRefused", "idle: Connected", "idle: Greeted", "idle: GreetingRefused",
        "leaving: ConnectFailed", "leaving: StillRefused", "leaving: Connected", "leaving: Greeted", "leaving: GreetingRefused",
        "parting: ConnectFailed", "parting: StillRefused", "parting: Connected", "parting: Greeted", "parting: GreetingRefused",
        "ready: ConnectFailed", "ready: StillRefused", "ready: Connected", "ready: Greeted", "ready: GreetingRefused",
        "seeking: ConnectFailed", "seeking: StillRefused", "seeking: Connected", "seeking: Greeted", "seeking: GreetingRefused",
        "stalled: ConnectFailed", "stalled: StillRefused", "stalled: Connected", "stalled: Greeted", "stalled: GreetingRefused",
    ];
    call::Call, [Answered, Uncertain], |_| false, [
        "abandoned: ClaimRevoked", "abandoned: Claimed", "abandoned: Queued", "abandoned: Refused",
        "accepted: ClaimRevoked", "accepted: Claimed", "accepted: OutcomeLearned", "accepted: OutcomeLost",
        "accepted: ReplyArrived", "accepted: ReplyWithheld", "answered: Claimed", "answered: Queued",
        "cancelled: Claimed", "cancelled: Queued", "held: ClaimRevoked", "held: OutcomeLearned", "held: OutcomeLost",
        "held: Queued", "held: ReplyArrived", "held: ReplyWithheld", "recovering: ClaimRevoked",
        "recovering: Claimed", "recovering: Queued", "recovering: Refused", "sent: Claimed", "sent: OutcomeLearned",
        "sent: OutcomeLost", "sent: Queued", "sent: Refused", "uncertain: Claimed", "uncertain: Queued",
        "accepted: TurnedAway", "held: TurnedAway", "accepted: NotRunProven", "held: NotRunProven",
        "accepted: FoundInterrupted", "held: FoundInterrupted", "sent: FoundInterrupted",
    ];
    restart::Restart, [Exhausted, Stopping], |_| false, [];
    attachment::Attachment, [Embedded, Stopped], |_| false, [
        "dialing: RedialDue", "waiting: Welcomed", "waiting: NoHub", "waiting: Refused", "waiting: Unanswered",
        "attached: Welcomed", "attached: NoHub", "attached: Refused", "attached: Unanswered", "attached: RedialDue",
        "attached: SearchOver",
    ];
    push::Push, [Stopped], |order| *order == push::Effect::CloseSockets, [
        "closed: Bound", "closed: BindFailed", "closed: Attached", "closed: Detached", "closed: HintReceived",
        "closed: Elapsed(Rebind)", "binding: Attached", "binding: Detached", "binding: HintReceived",
        "binding: Elapsed(Rebind)", "listening: Bound", "listening: BindFailed", "listening: Detached",
        "listening: Elapsed(Rebind)", "attached: Bound", "attached: BindFailed", "attached: Elapsed(Rebind)",
        "stopped: Elapsed(Rebind)",
    ];
    registry::Registry, [], |_| true, [
        "cached: DiskRead", "empty: Elapsed(Retry)", "cached: Elapsed(Retry)", "refreshing: Elapsed(Retry)",
        "live: Elapsed(Retry)", "stale: Elapsed(Retry)",
    ];
    discovery::Discovery, [Stopped], |_| false, [
        "idle: FilesChanged", "idle: Surveyed", "offering: Surveyed", "stuck: Surveyed", "watching: Surveyed",
    ];
    routing::Routing, [Stopped], |_| false, ["awaiting_roots: Routed"];
    session::Session, [Closed], |order| *order == session::Effect::RefuseDraining, [
        "awaiting_open: Elapsed(ToolsWait)", "awaiting_open: Elapsed(Drain)", "waiting_for_tools: Elapsed(Drain)",
        "serving: Elapsed(ToolsWait)", "serving: Elapsed(Drain)", "draining: Elapsed(ToolsWait)",
        "closed: Elapsed(ToolsWait)", "closed: Elapsed(Drain)",
    ];
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
    Root,
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
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = &'static str;
    fn initial() -> State {
        State::Open
    }
    fn group(state: State) -> Group {
        if state == State::Open { Group::Inside } else { Group::Root }
    }
    fn on(&mut self, state: State, event: &Event, out: &mut Outbox<Self>) -> Outcome<State> {
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
    fn on_group(&mut self, _: Group, _: &Event, _: &mut Outbox<Self>) -> Outcome<State> {
        Outcome::Super
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
    let found = problems(&walk::<Faulty>(), &[State::Shut], |_| false, &["open: Rang", "open: Ended"]).join("\n");
    for fault in [
        "nowhere: Ended was never fed",
        "shut: Ended acts after the end",
        "shut: Rang acts after the end",
        "Never does nothing in any state",
        "shut: Rang is decided by nobody",
        "open: Ended is said to be unexpected and is not",
    ] {
        assert!(found.contains(fault), "{fault} is missing in\n{found}");
    }
    assert!(!found.contains("open: Rang "), "{found}");
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
    const ROOT: Group = Group::Root;
    type State = State;
    type Group = Group;
    type Event = ();
    type Effect = ();
    fn initial() -> State {
        State::Open
    }
    fn group(_: State) -> Group {
        Group::Root
    }
    fn on(&mut self, _: State, (): &(), _: &mut Outbox<Self>) -> Outcome<State> {
        self.0 += 1;
        Outcome::Handled
    }
    fn on_group(&mut self, _: Group, (): &(), _: &mut Outbox<Self>) -> Outcome<State> {
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
