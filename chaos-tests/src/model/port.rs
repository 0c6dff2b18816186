//! The port between two sessions and the process that has their link: what the two sides say, on a carrier that may end at any moment.
//!
//! Real are the records of sent calls with the functions that decide what becomes of each ([`call_records`](holdfast::core::call_records)), and
//! the rule which [`Seen`] a session takes. The link's own ledger is walked in the other worlds; here it only knows where each call is. The
//! editor has one call at a time.
//!
//! The process of the link is killed, or stands still while a successor takes over, and goes on. A session is killed. The editor reloads.
//! What is seen of the link comes late, in another order, or never.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use holdfast::core::call_records::fate::{Adopter, Facts, Fate, Takeover, fate};
use holdfast::core::call_records::{CallRecords, Origin, Record, SentCall};
use holdfast::core::calls::Wanted;
use holdfast::core::port::Seen;
use holdfast::fsm::cause::{Availability, Cause};
use holdfast::protocol::dialect::JournalKey;
use holdfast::protocol::ids::CallId;
use serde_json::value::RawValue;
use stateright::{Model, Property};

use super::seam;

/// A detail that is wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// Nothing is broken.
    Nothing,
    /// The link says twice how a call ended.
    SettlesTwice,
    /// A session takes what it is told of a link last, and not what is newest.
    OlderSeenTaken,
    /// A session takes what it hears of a link of a former process for news.
    FormerSeenTaken,
    /// The link does not look up the request of a call that is said again.
    OriginNotLookedUp,
    /// A process sends without making sure that the records still are its own.
    TwoOwners,
    /// A call is sent before it is recorded.
    SendsFirst,
    /// A successor lets go what its predecessor's client was told to be running.
    ForgetsRunning,
    /// A session does not say again to a successor what it waits for.
    NothingSaidAgain,
}

/// What is tried.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How many calls each session makes.
    pub calls: u8,
    /// Whether the editor has a journal.
    pub journal: bool,
    /// How often a process of the link is killed.
    pub kills: u8,
    /// How often one stands still while another takes over.
    pub stills: u8,
    /// How often a session is killed.
    pub session_kills: u8,
    /// How often the editor reloads.
    pub reloads: u8,
    /// How often a client's patience ends while its call runs.
    pub impatience: u8,
    /// What is wrong on purpose.
    pub broken: Broken,
}

/// A call: its session and its number there.
type Id = (u8, u8);

/// What a client is told of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// The editor's answer.
    Answered,
    /// It may have run, and nobody knows.
    Unknown,
    /// It still runs, and its result is kept under its id.
    Runs,
}

/// Where a call is at its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mine {
    New,
    /// The session waits for the answer.
    Said,
    Heard(Word),
}

/// Where a call is at the process of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Held,
    /// It is on record, and its first byte has not left.
    Claimed,
    Sent,
    /// Its connection is gone: its outcome is looked for.
    Sought,
}

/// A process that has the link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    name: u8,
    calls: BTreeMap<Id, At>,
    /// The calls whose sessions wait here.
    asked: BTreeSet<Id>,
    /// The results that are kept for a client that asks by the call's id.
    kept: BTreeSet<Id>,
    revision: u64,
    is_open: bool,
    attached: [bool; 2],
}

impl Process {
    fn new(name: u8) -> Self {
        let (calls, asked, kept) = Default::default();
        Self { name, calls, asked, kept, revision: 1, is_open: true, attached: [false; 2] }
    }

    fn is_free(&self) -> bool {
        !self.calls.values().any(|at| matches!(at, At::Claimed | At::Sent))
    }
}

/// The real records.
#[derive(Debug, Clone, Default)]
struct Records {
    records: Arc<CallRecords>,
    digest: u64,
}

impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Records {}

impl Hash for Records {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.digest.hash(hasher);
    }
}

impl Records {
    fn apply(&mut self, record: Record) {
        Arc::make_mut(&mut self.records).apply(record, 0);
        let mut hasher = DefaultHasher::new();
        self.records.lines().for_each(|line| serde_json::to_string(&line).unwrap_or_default().hash(&mut hasher));
        self.digest = hasher.finish();
    }

    fn answered(&mut self, id: Id, word: Word) {
        if let Ok(result) = RawValue::from_string((word as u8).to_string()) {
            let (runs_on, unknown) = (word == Word::Runs, word == Word::Unknown);
            self.apply(Record::Answered { call: call(id), result, runs_on, unknown, at: None });
        }
    }
}

/// What a session says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Says {
    /// `again`: it said the call to an earlier process too.
    Call {
        number: u8,
        again: bool,
    },
    Delivered(u8),
}

/// A state of the world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The sessions; `None` for one that was killed.
    sessions: [Option<Vec<Mine>>; 2],
    /// What each session knows of the link: of which process, and in which revision.
    known: [(u8, u64); 2],
    to_link: [Vec<Says>; 2],
    to_session: [Vec<(u8, Word)>; 2],
    /// What was said of the link and has not come.
    sightings: [BTreeSet<(u8, u64)>; 2],
    process: Option<Process>,
    /// A process that stands still.
    still: Option<Process>,
    owner: u8,
    records: Records,
    /// The call that the editor runs, and the process that sent it.
    running: Option<(Id, u8)>,
    /// How often each call ran.
    ran: BTreeMap<Id, u8>,
    /// The calls whose answer the editor's journal has.
    journal: BTreeSet<Id>,
    kills: u8,
    stills: u8,
    session_kills: u8,
    reloads: u8,
    impatience: u8,
    wrong: Option<&'static str>,
}

/// What can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A session says its next call.
    Say(u8),
    /// The process of the link reads what a session says.
    Take(u8),
    /// The process that stood still goes on with a call that it has.
    Claim(Id, bool),
    /// The bytes of a call leave.
    Write(Id, bool),
    /// The editor answers.
    Answer,
    /// The client's patience ends while its call runs.
    Impatient(Id),
    /// What the journal knows of a call is learned.
    Learn(Id),
    /// A session hears how a call ended.
    Hear(u8),
    /// What is seen of the link comes.
    See(u8, (u8, u64)),
    /// The editor reloads its domain.
    Reload,
    /// The link has the editor again.
    Return,
    /// The process of the link is killed.
    Kill,
    /// It stands still.
    StandStill,
    /// A successor begins.
    Begin,
    /// A session comes to the process.
    Attach(u8),
    /// A session is killed.
    KillSession(u8),
}

fn origin((session, number): Id) -> Origin {
    Origin { session: session.to_string().into(), number: number.into() }
}

fn call((session, number): Id) -> CallId {
    seam::id(session * 4 + number)
}

fn id_of(sent: &SentCall) -> Id {
    let session = sent.origin.session.parse().unwrap_or_default();
    (session, u8::try_from(sent.origin.number).unwrap_or_default())
}

fn seen(revision: u64) -> Seen {
    Seen {
        revision,
        availability: Availability::Coming(Cause::Reloading),
        undecided: false,
        connections: 0,
        running: None,
        wanted: Wanted::Asked,
        leads_to_the_wanted: false,
        project: None,
        ambiguous: Vec::new(),
    }
}

impl World {
    fn process_of(&mut self, is_still: bool) -> Option<&mut Process> {
        if is_still { self.still.as_mut() } else { self.process.as_mut() }
    }

    /// The link changes. Each session that is there is told.
    fn changes(&mut self, is_open: bool) {
        let Some(process) = &mut self.process else { return };
        process.is_open = is_open;
        process.revision += 1;
        for (_, in_flight) in self.sightings.iter_mut().enumerate().filter(|(at, _)| process.attached[*at]) {
            in_flight.insert((process.name, process.revision));
            // The oldest never comes.
            while in_flight.len() > 2 {
                in_flight.pop_first();
            }
        }
    }

    /// The process of the link says how a call ended.
    fn settles(&mut self, setting: &Setting, id: Id, word: Word) {
        self.records.answered(id, word);
        let Some(process) = &mut self.process else { return };
        if word != Word::Runs {
            process.calls.remove(&id);
            if !process.asked.contains(&id) && word == Word::Answered {
                process.kept.insert(id);
            }
        }
        let session = usize::from(id.0);
        if process.asked.remove(&id) && process.attached[session] {
            let twice = if setting.broken == Broken::SettlesTwice { 2 } else { 1 };
            (0..twice).for_each(|_| self.to_session[session].push((id.1, word)));
        }
    }

    fn take(&mut self, setting: &Setting, session: u8) {
        let says = self.to_link[usize::from(session)].remove(0);
        let (number, again) = match says {
            Says::Delivered(number) => return self.records.apply(Record::Delivered(origin((session, number)))),
            Says::Call { number, again } => (number, again),
        };
        let id = (session, number);
        let Some(process) = &mut self.process else { return };
        process.asked.insert(id);
        if !again || setting.broken == Broken::OriginNotLookedUp {
            process.calls.insert(id, At::Held);
            return;
        }
        if process.calls.get(&id) == Some(&At::Held) {
            return;
        }
        let fate_for = |records: &Records, adopter| {
            fate(Facts {
                known: records.records.known(&origin(id)),
                was_sent: true,
                are_lost: false,
                is_damaged: false,
                waited: Duration::ZERO,
                is_ending: false,
                adopter,
            })
        };
        let mut next = fate_for(&self.records, Adopter::Owner);
        if let Fate::Adopt { .. } = next {
            if process.calls.contains_key(&id) {
                return;
            }
            next = fate_for(&self.records, Adopter::Lacks(call(id)));
        }
        let word = match next {
            Fate::New | Fate::Again => {
                process.calls.insert(id, At::Held);
                return;
            }
            Fate::Answered(result) if result.get() == (Word::Answered as u8).to_string() => Word::Answered,
            Fate::Answered(result) if result.get() == (Word::Runs as u8).to_string() => Word::Runs,
            Fate::Answered(_) | Fate::Adopt { .. } | Fate::Unknown(_) => Word::Unknown,
        };
        process.asked.remove(&id);
        self.to_session[usize::from(session)].push((number, word));
    }

    fn hear(&mut self, session: u8) {
        let (number, word) = self.to_session[usize::from(session)].remove(0);
        let Some(mine) = self.sessions[usize::from(session)].as_mut() else { return };
        let at = &mut mine[usize::from(number)];
        match at {
            Mine::Said => *at = Mine::Heard(word),
            // The session's table of open requests drops it. But the link must not say it.
            Mine::New | Mine::Heard(_) => self.wrong = Some(TWICE),
        }
        if word == Word::Answered && self.ran.get(&(session, number)) != Some(&1) {
            self.wrong = Some(ONCE);
        }
        self.to_link[usize::from(session)].push(Says::Delivered(number));
    }

    /// The process with the link has gone. What was on its way has gone with it.
    fn cut(&mut self) {
        (self.to_link, self.to_session) = Default::default();
        // What was said of the link may still come.
    }
}

impl Model for Setting {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let process = Process { attached: [true; 2], ..Process::new(1) };
        vec![World {
            sessions: [(); 2].map(|()| Some(vec![Mine::New; self.calls.into()])),
            known: [(1, 1); 2],
            to_link: Default::default(),
            to_session: Default::default(),
            sightings: Default::default(),
            process: Some(process),
            still: None,
            owner: 1,
            records: Records::default(),
            running: None,
            ran: BTreeMap::new(),
            journal: BTreeSet::new(),
            kills: self.kills,
            stills: self.stills,
            session_kills: self.session_kills,
            reloads: self.reloads,
            impatience: self.impatience,
            wrong: None,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for session in [0_u8, 1] {
            let at = usize::from(session);
            let Some(mine) = &world.sessions[at] else { continue };
            actions.extend(mine.contains(&Mine::New).then_some(Action::Say(session)));
            actions.extend((!world.to_session[at].is_empty()).then_some(Action::Hear(session)));
            actions.extend(world.sightings[at].iter().map(|sighting| Action::See(session, *sighting)));
            actions.extend((world.session_kills > 0).then_some(Action::KillSession(session)));
            let comes = world.process.as_ref().is_some_and(|process| !process.attached[at]);
            actions.extend(comes.then_some(Action::Attach(session)));
        }
        for session in [0_u8, 1] {
            let waits = !world.to_link[usize::from(session)].is_empty() && world.process.is_some();
            actions.extend(waits.then_some(Action::Take(session)));
        }
        for (process, is_still) in [(&world.process, false), (&world.still, true)] {
            let Some(process) = process else { continue };
            for (id, at) in &process.calls {
                match at {
                    At::Held if process.is_open && process.is_free() => actions.push(Action::Claim(*id, is_still)),
                    At::Claimed => actions.push(Action::Write(*id, is_still)),
                    At::Sent if world.impatience > 0 && !is_still && process.asked.contains(id) => {
                        actions.push(Action::Impatient(*id));
                    }
                    At::Sought if !is_still => actions.push(Action::Learn(*id)),
                    _ => {}
                }
            }
        }
        actions.extend(world.running.is_some().then_some(Action::Answer));
        if let Some(process) = &world.process {
            actions.push(if process.is_open { Action::Reload } else { Action::Return });
            if world.reloads == 0 {
                actions.retain(|action| *action != Action::Reload);
            }
            actions.extend((world.kills > 0).then_some(Action::Kill));
            actions.extend((world.stills > 0).then_some(Action::StandStill));
        } else {
            actions.push(Action::Begin);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Say(session) => {
                let mine = next.sessions[usize::from(session)].as_mut()?;
                let number = mine.iter().position(|at| *at == Mine::New)?;
                mine[number] = Mine::Said;
                let is_there = next.process.as_ref().is_some_and(|process| process.attached[usize::from(session)]);
                // Without a process it is said when there is one.
                if is_there {
                    let number = u8::try_from(number).ok()?;
                    next.to_link[usize::from(session)].push(Says::Call { number, again: false });
                }
            }
            Action::Take(session) => next.take(self, session),
            Action::Claim(id, is_still) => {
                let owner = next.owner;
                let process = next.process_of(is_still)?;
                if process.name != owner && self.broken != Broken::TwoOwners {
                    // It finds that the records are not its own any more, and makes way.
                    if is_still {
                        next.still = None;
                    }
                    return Some(next);
                }
                process.calls.insert(id, At::Claimed);
                if self.broken != Broken::SendsFirst {
                    next.records.apply(Record::Sent(sent(self, id)));
                }
            }
            Action::Write(id, is_still) => {
                let process = next.process_of(is_still)?;
                let name = process.name;
                process.calls.insert(id, At::Sent);
                if next.running.is_none() {
                    next.running = Some((id, name));
                    *next.ran.entry(id).or_default() += 1;
                } else {
                    // The editor reads it when it is free; here that is never, and then it is lost with its connection.
                    process_lost(&mut next, id, is_still);
                }
                if next.ran.get(&id).is_some_and(|ran| *ran > 1) {
                    next.wrong = Some(ONCE);
                }
            }
            Action::Answer => {
                let (id, by) = next.running.take()?;
                next.journal.insert(id);
                let here = next.process.as_ref().is_some_and(|process| process.name == by);
                if here {
                    if self.broken == Broken::SendsFirst {
                        next.records.apply(Record::Sent(sent(self, id)));
                    }
                    next.settles(self, id, Word::Answered);
                }
            }
            Action::Impatient(id) => {
                next.impatience -= 1;
                next.settles(self, id, Word::Runs);
            }
            Action::Learn(id) => {
                // The editor is asked once it has begun nothing of an earlier connection.
                if next.running.is_some_and(|(running, _)| running == id) {
                    return None;
                }
                let word = if self.journal && next.journal.contains(&id) { Word::Answered } else { Word::Unknown };
                next.settles(self, id, word);
            }
            Action::Hear(session) => next.hear(session),
            Action::See(session, (name, revision)) => {
                let at = usize::from(session);
                next.sightings[at].remove(&(name, revision));
                let (of, known) = next.known[at];
                let is_news = match self.broken {
                    Broken::OlderSeenTaken => name == of,
                    Broken::FormerSeenTaken => true,
                    _ => name == of && seen(revision).follows(&seen(known)),
                };
                if is_news {
                    next.known[at] = (name, revision);
                }
            }
            Action::Reload => {
                next.reloads -= 1;
                next.running = None;
                next.changes(false);
                let process = next.process.as_mut()?;
                let cut: Vec<Id> = process
                    .calls
                    .iter()
                    .filter(|(_, at)| matches!(at, At::Sent | At::Claimed))
                    .map(|(id, _)| *id)
                    .collect();
                for id in cut {
                    process.calls.insert(id, At::Sought);
                }
            }
            Action::Return => next.changes(true),
            Action::Kill => {
                next.kills -= 1;
                next.process = None;
                next.cut();
            }
            Action::StandStill => {
                next.stills -= 1;
                next.still = next.process.take();
                next.cut();
            }
            Action::Begin => {
                let mut process = Process::new(next.owner + 1);
                next.owner = process.name;
                for left in next.records.records.left() {
                    let told = left.told;
                    match left.takeover() {
                        Takeover::Keep(sent, ..) => drop(process.kept.insert(id_of(&sent))),
                        Takeover::Seek(_) if told && self.broken == Broken::ForgetsRunning => {}
                        Takeover::Seek(sent) => drop(process.calls.insert(id_of(&sent), At::Sought)),
                    }
                }
                next.process = Some(process);
            }
            Action::Attach(session) => {
                let at = usize::from(session);
                let process = next.process.as_mut()?;
                process.attached[at] = true;
                next.known[at] = (process.name, process.revision);
                let says = self.broken != Broken::NothingSaidAgain;
                let is_open = |(_, mine): &(usize, &Mine)| says && **mine == Mine::Said;
                for (number, _) in next.sessions[at].as_ref()?.iter().enumerate().filter(is_open) {
                    let number = u8::try_from(number).ok()?;
                    next.to_link[at].push(Says::Call { number, again: true });
                }
            }
            Action::KillSession(session) => {
                next.session_kills -= 1;
                let at = usize::from(session);
                next.sessions[at] = None;
                next.to_session[at].clear();
                next.sightings[at].clear();
                if let Some(process) = &mut next.process {
                    process.asked.retain(|(of, _)| *of != session);
                    // What was not sent is not sent without its session.
                    process.calls.retain(|(of, _), at| *of != session || *at != At::Held);
                    process.attached[at] = false;
                }
                // What it had said and nobody has read stays in the pipe.
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, world: &World| world.wrong != Some(ONCE)),
            Property::always(TWICE, |_, world: &World| world.wrong != Some(TWICE)),
            Property::always(SETTLED, |_, world: &World| !world.is_quiet() || world.is_settled()),
            Property::always(NEWEST, |_, world: &World| !world.is_quiet() || world.has_newest()),
            Property::always(KEPT, |setting: &Self, world: &World| !world.is_quiet() || world.keeps_late(setting)),
            Property::sometimes("every call is answered", |_, world: &World| {
                let lives = world.sessions.iter().all(Option::is_some);
                lives && world.sessions.iter().flatten().flatten().all(|mine| *mine == Mine::Heard(Word::Answered))
            }),
        ]
    }
}

/// A call that was written and that the editor will never read is lost with its connection.
fn process_lost(world: &mut World, id: Id, is_still: bool) {
    if let Some(process) = world.process_of(is_still) {
        process.calls.insert(id, At::Sought);
    }
}

fn sent(setting: &Setting, id: Id) -> SentCall {
    SentCall {
        origin: origin(id),
        call: call(id),
        tool: "t".into(),
        project: None,
        journal: setting.journal.then(|| JournalKey { journal: "j".to_owned(), id: call(id).to_string(), seq: 1 }),
        repeatable: false,
        client: Default::default(),
    }
}

impl World {
    /// Whether nothing happens any more by itself.
    fn is_quiet(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let rests = |process: &Process, is_still: bool| {
            // A call that was sent to an editor that does not run it goes on only if something else happens.
            let moves = |at: &At| matches!(at, At::Held | At::Claimed) || *at == At::Sought && !is_still;
            !process.calls.values().any(moves)
        };
        let is_silent =
            |at: usize| self.to_link[at].is_empty() && self.to_session[at].is_empty() && self.sightings[at].is_empty();
        let waits = |at: usize| {
            self.sessions[at].as_ref().is_none_or(|mine| process.attached[at] && !mine.contains(&Mine::New))
        };
        process.is_open
            && self.running.is_none()
            && rests(process, false)
            && self.still.as_ref().is_none_or(|still| rests(still, true))
            && (0..2).all(|at| is_silent(at) && waits(at))
    }

    fn is_settled(&self) -> bool {
        self.sessions.iter().flatten().flatten().all(|mine| matches!(mine, Mine::Heard(_)))
    }

    fn has_newest(&self) -> bool {
        let Some(process) = &self.process else { return true };
        let lives = |at: usize| self.sessions[at].is_some();
        (0..2).filter(|at| lives(*at)).all(|at| self.known[at] == (process.name, process.revision))
    }

    /// Whether the result of each call that was told to be running is kept, if the journal knows it.
    fn keeps_late(&self, setting: &Setting) -> bool {
        let Some(process) = &self.process else { return true };
        let is_late = |id: &Id| {
            let mine = self.sessions[usize::from(id.0)].as_ref().map(|mine| mine[usize::from(id.1)]);
            mine == Some(Mine::Heard(Word::Runs))
        };
        !setting.journal || self.journal.iter().filter(|id| is_late(id)).all(|id| process.kept.contains(id))
    }
}

/// The promise that no call runs twice, and that what is answered ran.
pub const ONCE: &str = "each call runs once at most, and what is answered ran";
/// The promise that no request is answered twice.
pub const TWICE: &str = "no request is answered twice";
/// The promise that each request is answered.
pub const SETTLED: &str = "each request of a session that lives is answered";
/// The promise that a session knows the newest of its link in the end.
pub const NEWEST: &str = "a session knows in the end what is seen of the link now";
/// The promise that the result of a call that was told to be running is kept.
pub const KEPT: &str = "the result of a call that was told to be running is kept";
