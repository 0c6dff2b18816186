//! Finds everything that a state machine can do, and renders it as a chart.
//!
//! [`walk`] feeds every specimen event into every configuration (storage and state) that can be reached from the machine's
//! starts. The search is breadth-first, so the path to each configuration is a shortest one. Storages must be small, so that the
//! search ends; if it finds too many configurations, it panics. [`render`] turns the result into the Markdown under
//! `src/fsm/charts/`. The tests compare it with the stored charts, and check the promises that hold for every machine.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{Debug, Write};

use strum::VariantArray;

use super::super::{Driver, Hosted, Machine, NoGroup, Reaction, event_name};
use crate::limits::WALK_CONFIGURATIONS_MAX;

/// What the walk needs of a machine.
pub(crate) trait Charted: Machine {
    /// Returns one or more events of every variant, with every payload that is handled differently.
    fn specimens() -> Vec<Self::Event>;
    /// Returns the storages from which the exploration starts.
    fn starts() -> Vec<Self>;
}

impl VariantArray for NoGroup {
    const VARIANTS: &'static [Self] = &[];
}

/// A machine that [`walk`] can explore and [`render`] can draw. Its states and groups are listed in the order of their
/// declaration.
pub(crate) trait Walkable: Hosted + Charted + Machine<State: VariantArray, Group: VariantArray> {}
impl<M: Hosted + Charted + Machine<State: VariantArray, Group: VariantArray>> Walkable for M {}

/// Everything that a machine can do, as found by [`walk`].
#[derive(Debug)]
pub(crate) struct Walk<M: Walkable> {
    /// The specimen events, in the order of [`Charted::specimens`].
    pub events: Vec<M::Event>,
    /// The effects that are ordered at each of [`Charted::starts`]. The starts are also the first configurations.
    pub starts: Vec<Vec<M::Effect>>,
    /// The configurations that can be reached, nearest first.
    pub configurations: Vec<Configuration<M>>,
    /// What each event does in each state, at index state * events + event. States are in the order of their declaration.
    cells: Vec<Vec<Step<M>>>,
}

/// A reachable storage and state.
#[derive(Debug)]
pub(crate) struct Configuration<M: Walkable> {
    /// The machine in this configuration, ready to get an event.
    pub driver: Driver<M>,
    /// The configuration and the event from which this one was first reached, as indices; `None` for a start.
    pub via: Option<(usize, usize)>,
}

/// What an event did in a state. If it did the same with several storages, that is stored only once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step<M: Walkable> {
    /// The state afterwards.
    pub to: M::State,
    /// Whether a transition was made, even to the same state.
    pub moved: bool,
    /// The effects that were ordered.
    pub effects: Vec<M::Effect>,
    /// Why the event was deliberately ignored; `None` if it was not.
    pub ignored: Option<&'static str>,
    /// Whether no handler decided the event.
    pub unexpected: bool,
}

impl<M: Walkable> Step<M> {
    fn new(to: M::State, out: Reaction<M>) -> Self {
        let Reaction { effects, transitions, ignored, unexpected } = out;
        Self { to, moved: !transitions.is_empty(), effects, ignored, unexpected }
    }
}

impl<M: Walkable> Walk<M> {
    /// Returns the different steps of an event (given by its index) in a state. Empty if the state is never reached.
    pub(crate) fn cell(&self, state: M::State, event: usize) -> &[Step<M>] {
        let row = M::State::VARIANTS.iter().position(|&other| other == state);
        row.and_then(|row| self.cells.get(row * self.events.len() + event)).map_or(&[], Vec::as_slice)
    }

    /// Returns the events that lead from a start to a configuration (given by its index).
    pub(crate) fn path(&self, mut configuration: usize) -> Vec<&M::Event> {
        let mut path = Vec::new();
        while let Some((from, event)) = self.configurations[configuration].via {
            path.push(&self.events[event]);
            configuration = from;
        }
        path.reverse();
        path
    }

    /// Returns a shortest path to a state, as text.
    pub(crate) fn way_to(&self, state: M::State) -> String {
        match self.configurations.iter().position(|place| place.driver.state() == state) {
            Some(found) => format!("{:?}", self.path(found)),
            None => "unreachable".to_owned(),
        }
    }
}

/// Finds everything that a machine can do.
///
/// # Panics
/// Panics if there are more than [`WALK_CONFIGURATIONS_MAX`] configurations, since the storage then counts without a bound; and
/// if the machine panics.
pub(crate) fn walk<M: Walkable>() -> Walk<M> {
    let events = M::specimens();
    let cells = vec![Vec::new(); M::State::VARIANTS.len() * events.len()];
    let mut walk = Walk { events, starts: Vec::new(), configurations: Vec::new(), cells };
    let mut seen = HashSet::new();
    for start in M::starts() {
        let (driver, out) = Driver::start(start);
        walk.starts.push(out.effects);
        if seen.insert((driver.machine().clone(), driver.state())) {
            walk.configurations.push(Configuration { driver, via: None });
        }
    }
    let mut at = 0;
    while at < walk.configurations.len() {
        let from = walk.configurations[at].driver.clone();
        let row = M::State::VARIANTS.iter().position(|&state| state == from.state()).unwrap_or_default();
        for event in 0..walk.events.len() {
            let mut driver = from.clone();
            let out = driver.feed(&walk.events[event]);
            let step = Step::new(driver.state(), out);
            let cell = &mut walk.cells[row * walk.events.len() + event];
            if !cell.contains(&step) {
                cell.push(step);
            }
            if seen.insert((driver.machine().clone(), driver.state())) {
                walk.configurations.push(Configuration { driver, via: Some((at, event)) });
            }
        }
        at += 1;
        assert!(
            walk.configurations.len() <= WALK_CONFIGURATIONS_MAX,
            "{} reaches more than {WALK_CONFIGURATIONS_MAX} configurations: its storage counts without bound; the last one: {:?}",
            M::NAME,
            walk.configurations.last(),
        );
    }
    walk
}

/// Returns labels for some of the specimens. If they include all specimens of a name, the label is only that name.
fn labels<E: Debug>(all: &[E], some: &BTreeSet<usize>) -> Vec<String> {
    let mut labels = Vec::new();
    for &index in some {
        let name = event_name(&all[index]);
        let whole = (0..all.len()).all(|other| some.contains(&other) || event_name(&all[other]) != name);
        let label = if whole { name } else { format!("{:?}", all[index]) };
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Returns the chart of a machine as Markdown: a Mermaid diagram, and the table of every state and event.
pub(crate) fn render<M: Walkable>(walk: &Walk<M>) -> String {
    let mut text = String::new();
    write_chart(walk, &mut text).unwrap_or_else(|error| unreachable!("a String takes every text: {error}"));
    text
}

fn write_chart<M: Walkable>(walk: &Walk<M>, text: &mut String) -> std::fmt::Result {
    let count = walk.configurations.len();
    writeln!(text, "# The `{}` machine\n", M::NAME)?;
    writeln!(text, "Generated from `src/fsm/{}.rs` by `make charts`; do not edit.\n", M::NAME)?;
    writeln!(
        text,
        "Every event was fed into every one of the {count} configurations (state and storage) that can be reached."
    )?;
    writeln!(
        text,
        "An event may do different things in one state, depending on the storage: one line each. `stays, noted` means that"
    )?;
    writeln!(
        text,
        "only the storage may have changed. **unexpected**: cannot happen as long as the shell keeps its side; it is counted"
    )?;
    writeln!(text, "and does nothing.\n")?;
    diagram(walk, text)?;
    let starts: BTreeSet<String> = walk.starts.iter().map(|effects| orders(effects)).collect();
    let starts = Vec::from_iter(starts).join(" or ");
    writeln!(text, "\nStarts in `{}`; ordered at once: {starts}.", label(M::initial()))?;
    for &state in M::State::VARIANTS {
        table(walk, state, text)?;
    }
    Ok(())
}

fn diagram<M: Walkable>(walk: &Walk<M>, text: &mut String) -> std::fmt::Result {
    writeln!(text, "```mermaid\nstateDiagram-v2")?;
    for &group in M::Group::VARIANTS {
        writeln!(text, "    state {} {{", label(group))?;
        for &state in M::State::VARIANTS.iter().filter(|&&state| M::group(state) == Some(group)) {
            writeln!(text, "        {}", label(state))?;
        }
        writeln!(text, "    }}")?;
    }
    writeln!(text, "    [*] --> {}", label(M::initial()))?;
    for &from in M::State::VARIANTS {
        for &to in M::State::VARIANTS {
            let leads = |&event: &usize| walk.cell(from, event).iter().any(|step| step.moved && step.to == to);
            let events: BTreeSet<usize> = (0..walk.events.len()).filter(leads).collect();
            if !events.is_empty() {
                // A colon or a semicolon would end the label in Mermaid.
                let names = labels(&walk.events, &events).join("<br/>").replace(": ", "=").replace([':', ';'], " ");
                writeln!(text, "    {} --> {} : {names}", label(from), label(to))?;
            }
        }
    }
    writeln!(text, "```")
}

fn table<M: Walkable>(walk: &Walk<M>, state: M::State, text: &mut String) -> std::fmt::Result {
    let within = M::group(state).map_or(String::new(), |group| format!(" (in {})", label(group)));
    writeln!(text, "\n## {}{within}\n\n| event | what it does |\n| --- | --- |", label(state))?;
    let mut rows: Vec<(String, String, BTreeSet<usize>)> = Vec::new();
    for event in 0..walk.events.len() {
        let does = walk.cell(state, event).iter().map(|step| describe(state, step)).collect::<Vec<_>>().join("<br>");
        let name = event_name(&walk.events[event]);
        match rows.iter_mut().find(|row| row.0 == name && row.1 == does) {
            Some(row) => _ = row.2.insert(event),
            None => rows.push((name, does, BTreeSet::from([event]))),
        }
    }
    for (_, does, events) in rows {
        let events = labels(&walk.events, &events).join("`<br>`");
        writeln!(text, "| `{events}` | {} |", does.replace('|', "\\|"))?;
    }
    Ok(())
}

fn describe<M: Walkable>(from: M::State, step: &Step<M>) -> String {
    if step.unexpected {
        return "**unexpected**".to_owned();
    }
    let what = match (step.moved, step.to == from) {
        (true, true) => format!("→ `{}` anew", label(step.to)),
        (true, false) => format!("→ `{}`", label(step.to)),
        (false, _) => match step.ignored {
            Some(why) => return format!("ignored: {why}"),
            None => "stays".to_owned(),
        },
    };
    match (step.moved, step.effects.is_empty()) {
        (true, true) => what,
        (false, true) => format!("{what}, noted"),
        (_, false) => format!("{what}: {}", orders(&step.effects)),
    }
}

fn orders(effects: &[impl Debug]) -> String {
    match effects {
        [] => "nothing".to_owned(),
        effects => effects.iter().map(|effect| format!("`{effect:?}`")).collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn label(of: impl Into<&'static str>) -> &'static str {
    of.into()
}
