//! Which editor a session means: the real machine ([`fsm::routing`](holdfast::fsm::routing)) with the real values that it decides over
//! ([`Meant`]), beside a client that says anew where it works, editors that begin and end, and surveys that end late.
//!
//! There are two projects. A request must never go where the client's last word does not lead, and no request may wait for what does
//! not come.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use holdfast::core::meant::Meant;
use holdfast::core::router::{Route, Running};
use holdfast::fsm::Driver;
use holdfast::fsm::routing::{Effect, Event, Routing, State, Timer};
use holdfast::limits::ROUTE_LOOK_EVERY;
use stateright::{Model, Property};
use tokio::time::Instant;

/// A detail that is wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// Nothing is broken.
    Nothing,
    /// The result of a survey counts for what the client says now, whatever it said when the survey began.
    OldSurveyCounts,
    /// The wait for the roots has no end.
    RootsTimerForgotten,
    /// The machine is told that the client has answered, and what it said is not noted.
    AnswerUnnoted,
}

/// What is tried.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The project that the session was started for.
    pub named: Option<u8>,
    /// The project of the folder that it was started in.
    pub working_dir: Option<u8>,
    /// Whether the user named a port.
    pub at_port: bool,
    /// Whether other sessions may have connected the editors that run, as in a hub.
    pub of_others: bool,
    /// How often the client says something new.
    pub statements: u8,
    /// How many requests it makes.
    pub requests: u8,
    /// How often an editor begins or ends.
    pub changes: u8,
    /// What is wrong on purpose.
    pub broken: Broken,
}

/// What a client says of its roots: nothing, or that these projects are in them.
type Said = Option<BTreeSet<u8>>;

/// A survey that is running: the generation in which it began, and what it will find.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Survey {
    generation: u64,
    finds: Vec<u8>,
}

/// A session, its client, and what is around them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    meant: Meant,
    machine: Driver<Routing>,
    start: Instant,
    /// Whether more than [`ROUTE_LOOK_EVERY`] has passed since the last survey.
    is_later: bool,
    is_open: bool,
    /// Requests for the roots that the client has not answered.
    asked: u8,
    /// What the client's last answer said.
    said: Said,
    survey: Option<Survey>,
    timers: BTreeSet<Timer>,
    running: BTreeSet<u8>,
    /// Requests that wait until it is known where they go.
    waiting: u8,
    statements: u8,
    requests: u8,
    changes: u8,
    /// Where requests were sent, which the promises are about: those that were sent where the client's last word does not lead.
    astray: bool,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// The client opens the session.
    Open {
        /// Whether it can be asked for its roots.
        roots: bool,
    },
    /// The client says that it is ready, or that its roots have changed: it is asked for them.
    Ask,
    /// The client answers with its roots; `None`: with an error.
    Tell(Said),
    /// The client makes a request.
    Request,
    /// The survey ends.
    Looked,
    /// A timer fires.
    Elapse(Timer),
    /// An editor begins or ends.
    Turn(u8),
    /// Time passes.
    Wait,
}

fn path(project: u8) -> PathBuf {
    PathBuf::from(["a", "b"][usize::from(project)])
}

impl World {
    fn now(&self) -> Instant {
        let later = if self.is_later { ROUTE_LOOK_EVERY } else { Duration::ZERO };
        self.start + later
    }

    fn running(&self) -> Vec<Running> {
        self.running.iter().map(|project| Running { project: path(*project), is_known: true }).collect()
    }

    /// Feeds the machine, and does what the session's actor does with its effects.
    fn feed(&mut self, setting: &Setting, event: &Event) {
        let effects = self.machine.feed(event).effects;
        let reconsiders = effects.contains(&Effect::Reconsider);
        for effect in effects {
            match effect {
                Effect::Look => self.look(setting),
                Effect::Follow => self.follow(setting),
                Effect::ForgoRoots => self.meant.told(None),
                Effect::Arm(Timer::Roots, _) if setting.broken == Broken::RootsTimerForgotten => {}
                Effect::Arm(timer, _) => drop(self.timers.insert(timer)),
                Effect::Disarm(timer) => drop(self.timers.remove(&timer)),
                Effect::Seek | Effect::Reconsider => {}
            }
        }
        if reconsiders {
            self.find_way(setting);
        }
    }

    fn find_way(&mut self, setting: &Setting) {
        let look = self.meant.needs_a_look(self.now());
        self.feed(setting, &Event::Requested { look });
    }

    /// Begins a survey: it finds the named project, else those of the roots, else that of the working directory.
    fn look(&mut self, setting: &Setting) {
        assert!(self.survey.is_none(), "one survey at a time");
        let of_roots = |roots: &Vec<PathBuf>| [0, 1].into_iter().filter(|one| roots.contains(&path(*one))).collect();
        let roots: Vec<u8> = self.meant.roots.as_ref().map(of_roots).unwrap_or_default();
        let finds = match (setting.named, roots.is_empty()) {
            (Some(named), _) => vec![named],
            (None, false) => roots,
            (None, true) => setting.working_dir.into_iter().collect(),
        };
        self.survey = Some(Survey { generation: self.meant.generation, finds });
    }

    fn follow(&mut self, setting: &Setting) {
        let heading = self.meant.heading(|| self.running(), setting.of_others);
        if heading.route == Route::Wait {
            return;
        }
        let way = self.meant.way(&heading.route);
        self.feed(setting, &Event::Routed(way));
        if self.waiting > 0 {
            self.astray |= !self.leads(setting, &heading.route);
            self.waiting = 0;
        }
    }

    /// Whether this is where the client's last word leads. A session that was started for a project never leaves it.
    fn leads(&self, setting: &Setting, route: &Route) -> bool {
        let roots = self.said.as_ref().filter(|said| !said.is_empty());
        let meant: Vec<PathBuf> = match (setting.named, roots, setting.working_dir) {
            (Some(named), ..) => vec![path(named)],
            (None, Some(roots), _) => roots.iter().copied().map(path).collect(),
            (None, None, Some(here)) => vec![path(here)],
            (None, None, None) if !setting.of_others => Vec::new(),
            (None, None, None) => self.running.iter().copied().map(path).collect(),
        };
        match route {
            Route::To(project) | Route::Port(Some(project)) => meant.contains(project) && meant.len() == 1,
            Route::Among(projects) => projects.iter().all(|project| meant.contains(project)),
            Route::Port(None) => setting.at_port,
            Route::Nobody(_) | Route::Wait => true,
        }
    }

    /// Whether something will happen by itself that ends the wait of a request.
    fn goes_on(&self) -> bool {
        self.survey.is_some() || self.timers.contains(&Timer::Roots)
    }
}

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let (machine, _) = Driver::start(Routing::default());
        let at = |project: Option<u8>| project.map(path);
        [BTreeSet::new(), BTreeSet::from([0]), BTreeSet::from([0, 1])]
            .map(|running| World {
                meant: Meant::new(at(self.named), at(self.working_dir), self.at_port),
                machine: machine.clone(),
                start: Instant::now(),
                is_later: false,
                is_open: false,
                asked: 0,
                said: None,
                survey: None,
                timers: BTreeSet::new(),
                running,
                waiting: 0,
                statements: self.statements,
                requests: self.requests,
                changes: self.changes,
                astray: false,
            })
            .to_vec()
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.statements > 0 {
            actions.extend([true, false].map(|roots| Action::Open { roots }));
        }
        if world.is_open && world.statements > 0 && self.named.is_none() {
            actions.push(Action::Ask);
        }
        if world.asked > 0 {
            let sets = [BTreeSet::new(), BTreeSet::from([0]), BTreeSet::from([1]), BTreeSet::from([0, 1])];
            actions.extend(sets.into_iter().map(Some).chain([None]).map(Action::Tell));
        }
        if world.is_open && world.requests > 0 {
            actions.push(Action::Request);
        }
        actions.extend(world.survey.is_some().then_some(Action::Looked));
        actions.extend(world.timers.iter().copied().map(Action::Elapse));
        if world.changes > 0 {
            actions.extend([0, 1].map(Action::Turn));
        }
        actions.extend((!world.is_later).then_some(Action::Wait));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Open { roots } => {
                next.statements -= 1;
                (next.is_open, next.asked, next.said) = (true, 0, None);
                next.meant.opened(roots);
                let roots = next.meant.awaited;
                next.feed(self, &Event::Opened { roots });
                // The session's own machine wants the editor at that moment.
                next.find_way(self);
            }
            Action::Ask => {
                next.statements -= 1;
                // Only the answer to the last request counts.
                next.asked = 1;
                next.meant.awaited = true;
                next.feed(self, &Event::RootsAsked);
            }
            Action::Tell(said) => {
                next.asked = 0;
                if self.broken != Broken::AnswerUnnoted {
                    next.meant.told(said.as_ref().map(|roots| roots.iter().copied().map(path).collect()));
                }
                if said.is_some() {
                    next.said = said;
                }
                next.feed(self, &Event::RootsTold);
            }
            Action::Request => {
                next.requests -= 1;
                next.waiting += 1;
                next.find_way(self);
            }
            Action::Looked => {
                let Survey { generation, finds } = next.survey.take()?;
                let now = next.now();
                let with = if self.broken == Broken::OldSurveyCounts { next.meant.generation } else { generation };
                let (found, current) = (!finds.is_empty(), with == next.meant.generation);
                match found {
                    true => next.meant.found(with, finds.into_iter().map(path).collect(), now),
                    false => next.meant.found_nothing(with, now),
                }
                next.feed(self, &Event::LookedAround { current, found });
            }
            Action::Elapse(timer) => {
                next.timers.remove(&timer);
                next.feed(self, &Event::Elapsed(timer));
            }
            Action::Turn(project) => {
                next.changes -= 1;
                if !next.running.remove(&project) {
                    next.running.insert(project);
                }
                if next.is_open && next.meant.depends_on_others() {
                    next.feed(self, &Event::EditorsChanged);
                }
            }
            Action::Wait => next.is_later = true,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ASTRAY, |_, world: &World| !world.astray),
            Property::always(WAITS, |_, world: &World| world.waiting == 0 || world.goes_on()),
            Property::sometimes("one editor is meant", |_, world: &World| world.machine.state() == State::Bound),
        ]
    }
}

/// The promise that no request goes where the client's last word does not lead.
pub const ASTRAY: &str = "each request goes where the client's last word leads";
/// The promise that no request waits for what does not come.
pub const WAITS: &str = "a request waits only for a survey or for the end of the wait for the roots";
