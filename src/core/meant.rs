//! What the client of a session has said about where it works, and what was found there. From it follows where the session's requests
//! go.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::editors::Scope;
use super::router::{Named, Roots, Route, Running, route};
use crate::fsm::routing::Way;
use crate::limits::ROUTE_LOOK_EVERY;

/// Where a session's requests go, and which editors it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub route: Route,
    pub scope: Scope,
}

/// What is known about where a session works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Meant {
    /// The project that the session was started for, as it was named.
    pub named: Option<PathBuf>,
    /// Whether `named` is the project itself, which needs no survey and never changes.
    is_settled: bool,
    /// Whether the user named the editor's port: the session uses that editor, whatever its project is.
    at_port: bool,
    /// Whether the session lasts, so that it is worth a look later if no editor is found.
    pub lasts: bool,
    /// The directory that the client was started in. The client's roots and `client_dir` come before it.
    pub working_dir: Option<PathBuf>,
    /// The folder that the client named in the environment of this process. The client's roots come before it.
    pub client_dir: Option<PathBuf>,
    /// Whether the client's answer about its roots is awaited. The client may not have been asked yet.
    pub awaited: bool,
    /// The client's roots. `None`: the client has none, or was never asked.
    pub roots: Option<Vec<PathBuf>>,
    /// Counts the client's new statements about its roots. A survey carries the generation that it was made with.
    pub generation: u64,
    /// Shortest time between two surveys while no project is found.
    pub look_every: Duration,
    /// The projects that the last survey found, with the survey's generation and the time of its result.
    found: Option<(u64, Vec<PathBuf>, Instant)>,
    /// All projects that surveys of one generation found. A later survey may name fewer, because only one editor runs then.
    seen: (u64, Vec<PathBuf>),
}

impl Meant {
    /// Creates the value of a session that lasts. `at_port`: whether the user named the editor's port.
    pub fn new(named: Option<PathBuf>, working_dir: Option<PathBuf>, at_port: bool) -> Self {
        Self { named, working_dir, at_port, lasts: true, look_every: ROUTE_LOOK_EVERY, ..Self::default() }
    }

    /// Creates the value of a session whose project is known.
    pub fn settled(project: PathBuf) -> Self {
        Self { named: Some(project), is_settled: true, lasts: true, ..Self::default() }
    }

    /// Records the client's answer to the request for its roots. `None`: it did not name them; roots that it named before stay
    /// valid.
    pub fn told(&mut self, roots: Option<Vec<PathBuf>>) {
        self.awaited = false;
        let known = match roots {
            Some(roots) => Some(roots).filter(|roots| !roots.is_empty()),
            // An empty list: the client has roots, but they are not known. `None` would mean that it has no roots.
            None => Some(self.roots.clone().unwrap_or_default()),
        };
        if known != self.roots {
            // What was found with the former roots says nothing any more.
            self.generation += 1;
            self.found = None;
        }
        self.roots = known;
    }

    /// Records the folder that the client named in the environment.
    pub fn started_in(&mut self, client_dir: Option<PathBuf>) {
        if self.client_dir != client_dir {
            self.client_dir = client_dir;
            self.generation += 1;
            self.found = None;
        }
    }

    /// Records that the client opens its session. `roots`: whether it can be asked for its roots.
    pub fn opened(&mut self, roots: bool) {
        self.awaited = roots && self.named.is_none();
        self.generation += 1;
        self.roots = None;
    }

    /// Keeps the projects that a survey found. Does nothing if the generation has changed since the survey began.
    pub fn found(&mut self, generation: u64, projects: Vec<PathBuf>, now: Instant) {
        if generation == self.generation {
            if self.seen.0 != generation {
                self.seen = (generation, Vec::new());
            }
            let fresh: Vec<PathBuf> =
                projects.iter().filter(|project| !self.seen.1.contains(project)).cloned().collect();
            self.seen.1.extend(fresh);
            self.found = Some((generation, projects, now));
        }
    }

    /// Records that a survey of this generation found nothing. What an earlier survey found stays: a project may be out
    /// of sight for a moment.
    pub fn found_nothing(&mut self, generation: u64, now: Instant) {
        match &mut self.found {
            Some((found_with, _, at)) if *found_with == generation => *at = now,
            _ => self.found(generation, Vec::new(), now),
        }
    }

    /// Returns the project that the last survey found, if it found exactly one: the session keeps to it.
    pub fn former(&self) -> Option<PathBuf> {
        match self.found.as_ref().map(|(_, projects, _)| projects.as_slice()) {
            Some([one]) => Some(one.clone()),
            _ => None,
        }
    }

    /// Returns all projects that were found with what the client says now.
    fn seen(&self) -> &[PathBuf] {
        if self.seen.0 == self.generation { &self.seen.1 } else { &[] }
    }

    /// Returns the projects that the last survey found with what the client says now, and the time of its result. `None` if there was
    /// no such survey.
    fn found_now(&self) -> Option<(&[PathBuf], Instant)> {
        let (generation, projects, at) = self.found.as_ref()?;
        (*generation == self.generation).then_some((projects, *at))
    }

    /// Returns the projects that the last survey found with what the client says now, if they were several.
    pub fn several(&self) -> Option<Vec<PathBuf>> {
        self.found_now().map(|(projects, _)| projects.to_vec()).filter(|projects| projects.len() > 1)
    }

    /// Returns the input of the router.
    fn question(&self) -> (Named<'_>, Roots<'_>) {
        if let Some(project) = self.named.as_ref().filter(|_| self.is_settled) {
            return (Named::Project(project), Roots::None);
        }
        let found = self.found_now().map(|(projects, _)| projects);
        let named = match (&self.named, found) {
            (_, Some([project])) if self.at_port => Named::Port(Some(project)),
            _ if self.at_port => Named::Port(None),
            (None, _) => Named::None,
            (Some(_), Some([project])) => Named::Project(project),
            (Some(_), _) => Named::Missing,
        };
        let roots = match (&self.roots, found) {
            _ if self.awaited => Roots::Awaited,
            // What the client was started in stands for the roots of a client that has none.
            (None, Some(found)) if !found.is_empty() => Roots::Hold(found),
            (None, _) => Roots::None,
            (Some(_), None) => Roots::Awaited,
            (Some(_), Some(found)) => Roots::Hold(found),
        };
        (named, roots)
    }

    /// Whether a survey is needed before it is known where the session's requests go. A session without a named
    /// project, roots and a working directory needs none. Any other session needs one if none was made in this
    /// generation. It needs another one if the last survey did not find exactly one project and is old: older than
    /// [`ROUTE_LOOK_EVERY`], or, if it found none, than [`look_every`](Self::look_every).
    pub fn needs_a_look(&self, now: Instant) -> bool {
        let is_old = |(projects, at): (&[PathBuf], Instant)| match projects.len() {
            0 if !self.at_port => now.saturating_duration_since(at) >= self.look_every,
            1 => false,
            // This holds too if no project was found for a port: the port is used meanwhile.
            _ => now.saturating_duration_since(at) >= ROUTE_LOOK_EVERY,
        };
        !self.is_settled && self.says_something() && self.found_now().is_none_or(is_old)
    }

    /// Returns the projects that are the session's choice, if its client's roots hold several.
    pub fn choice(&self) -> Vec<PathBuf> {
        match self.question() {
            (Named::None, Roots::Hold(found)) if found.len() > 1 => found.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether the way of the session's requests depends on more than one editor.
    pub fn depends_on_others(&self) -> bool {
        match self.question() {
            (Named::None, Roots::None) => true,
            (Named::None, Roots::Hold(found)) => found.len() > 1,
            _ => false,
        }
    }

    /// Decides where the session's requests go, while these editors run. `of_others`: whether other sessions may have
    /// connected some of them. If not, all of them are former projects of this session, and a client that names nothing
    /// any more means none of them.
    pub fn heading(&self, running: impl FnOnce() -> Vec<Running>, of_others: bool) -> Heading {
        let (named, roots) = self.question();
        if !of_others && (named, roots) == (Named::None, Roots::None) {
            return Heading { route: Route::Nobody(Vec::new()), scope: Scope::Only(Vec::new()) };
        }
        Heading { route: route(named, roots, running), scope: Scope::of(named, roots, self.seen()) }
    }

    /// Returns what the machine must know of a route.
    pub fn way(&self, route: &Route) -> Way {
        match route {
            Route::To(_) | Route::Port(Some(_)) => Way::One,
            Route::Among(choice) if choice.len() > 1 => Way::Several,
            Route::Among(_) | Route::Nobody(_) | Route::Port(None) | Route::Wait => {
                Way::Nowhere { can_change: self.lasts && self.says_something() }
            }
        }
    }

    /// Whether the client has said something that a survey could find a project with.
    fn says_something(&self) -> bool {
        let says = self.roots.is_some() || self.client_dir.is_some() || self.working_dir.is_some();
        self.named.is_some() || !self.awaited && says
    }
}
