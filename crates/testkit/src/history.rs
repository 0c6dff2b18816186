//! What happened in one run: one record for the checkers, for people, and for the hash that proves determinism.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_fake_unity::FakeDialect;

/// Stands in the arguments and results of the client's calls, and nowhere else: where it is read, one of them has leaked.
pub const SECRET: &str = "canary";

/// What a client asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// The JSON-RPC method.
    pub method: &'static str,
    /// The tool of a call.
    pub tool: &'static str,
    /// The key or text that no other request of the run has.
    pub payload: String,
    /// The tool is declared read-only: it may be sent again.
    pub repeatable: bool,
    /// A progress token was given: the request's id.
    pub token: bool,
    /// The id that it stands under on the wire, if an earlier, cancelled request had it first.
    pub under: Option<u64>,
    /// It must be answered within this, whatever happens.
    pub allowed: Duration,
}

/// Sizes of what is bounded, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Requests open in the front.
    pub open: usize,
    /// Lines waiting for stdout.
    pub queued: usize,
    /// Calls held in the ledger.
    pub held: usize,
    /// Calls sent and not ended.
    pub flying: usize,
    /// The fullest edge.
    pub edge: usize,
}

/// A sending that begins in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The connection it came over, by the editor's own number; 0 if it goes on after a reload.
    pub connection: u64,
    /// The tool.
    pub tool: String,
    /// Its id in the journal.
    pub sending: String,
    /// It may run while others run.
    pub parallel: bool,
}

/// Requests of the n-th session of several have ids from n times this on: no two have the same.
pub const IDS_OF_A_SESSION: u64 = 1_000_000;

/// Whose an event is, where there are several sessions or editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Of the client of this number, which works in the project of the editor of that number.
    Session(u8, u8),
    /// Of the editor of this number, and of the wire to it.
    Editor(u8),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(number, _) => write!(f, "(session {number}) "),
            Self::Editor(number) => write!(f, "(editor {number}) "),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The client wrote a request.
    Asked(u64, Ask),
    /// The client's roots changed: from here on it works in the editor's project, or in one without an editor.
    Rooted(bool),
    /// The client wrote a line that is no request of MCP; whether it is owed an answer without an id.
    Noise(&'static str),
    /// The client cancelled a request.
    Cancelled(u64),
    /// The client read a line.
    Got(String),
    /// The client reads nothing for a while.
    ReadingPaused(Duration),
    /// The client closed the gateway's stdin.
    InputClosed,
    /// A line of the gateway's own log.
    Told(String),
    /// A machine met an event that nobody decided.
    Unexpected(String),
    /// Something panicked that nobody sabotaged.
    Panicked(String),
    /// The gateway connected to the editor's side.
    Dialed(u64),
    /// The gateway let the connection go.
    HungUp(u64),
    /// A whole frame left the gateway: connection, method, id.
    FrameOut(u64, String, String),
    /// A whole frame reached the gateway: connection, and the id it answers.
    FrameIn(u64, String),
    /// The editor turned a request away as meant for another, before it ran anything: connection, and the request's id.
    TurnedAway(u64, String),
    /// Whose package the editor has.
    Speaks(FakeDialect),
    /// The gateway's own number of a session, or of the link to an editor: its log names them by it.
    Numbered(u32),
    /// A sending of a call left: connection, id of the request, its id in the journal.
    Sent(u64, String, String),
    /// The journal's word on a sending reached the gateway: connection, id in the journal, status.
    Outcome(u64, String, String),
    /// The editor said how far a sending is, in thousandths: connection, id in the journal.
    Progressed(u64, String, i64),
    /// A connection is proven, by the editor's own number: what came over earlier ones begins no more.
    Proven(u64),
    /// A sending began in the editor.
    Begun(Begun),
    /// The journal had its last word on a sending.
    Settled(String, &'static str),
    /// Events of the editor were lost.
    Lagged(u64),
    /// What is bounded changed its size.
    Sized(Sizes),
    /// The gateway ended, and why.
    Ended(&'static str),
    /// After the end: what is still open.
    Left(Sizes),
    /// After the end: free connection permits.
    PermitsLeft(usize),
    /// The editor ran the counting tool: key, and how often in all.
    Ran(String, u64),
    /// An editor listens: pid, port.
    EditorUp(u32, u16),
    /// The editor has begun to reload its domain, as the editor itself tells it.
    Reloads,
    /// Why the editor is away, as the gateway shows it; empty while it is there.
    Named(&'static str),
    /// The editor's bridge began to listen, as the editor itself tells it.
    Listens(u16),
    /// An editor is gone.
    EditorGone(u32),
    /// A stranger on the editor's port heard this.
    StrangerHeard(String),
    /// A fault was injected.
    Injected(String),
    /// All faults are gone and the editor listens.
    Healed,
    /// The first good answer after the healing, counted from it.
    Recovered(Duration),
    /// All runs of the counting tool by key, at the very end.
    Totals(BTreeMap<String, u64>),
    /// One of these, where there are several whose it may be.
    Of(Part, Box<Event>),
}

impl Event {
    /// What happened, whose ever it is.
    pub fn itself(&self) -> &Self {
        match self {
            Self::Of(_, what) => what,
            what => what,
        }
    }
}

/// An event and its virtual time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Since the start of the run.
    pub at: Duration,
    /// What.
    pub what: Event,
}

/// How much of a line is shown.
const SHOWN: usize = 240;

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.3} ms  ", self.at.as_secs_f64() * 1000.0)?;
        if let Event::Of(part, _) = &self.what {
            write!(f, "{part}")?;
        }
        match self.what.itself() {
            Event::Of(..) => Ok(()),
            Event::Asked(id, ask) => write!(f, "client   asks #{id} {} {} {}", ask.method, ask.tool, ask.payload),
            Event::Rooted(here) => write!(f, "client   works in the editor's project: {here}"),
            Event::Noise(what) => write!(f, "client   writes {what}"),
            Event::Cancelled(id) => write!(f, "client   cancels #{id}"),
            Event::Got(line) => write!(f, "client   reads {}", shorten(line)),
            Event::ReadingPaused(span) => write!(f, "client   reads nothing for {span:?}"),
            Event::InputClosed => write!(f, "client   closes stdin"),
            Event::Told(line) => write!(f, "gateway  {}", shorten(line)),
            Event::Unexpected(what) => write!(f, "gateway  UNEXPECTED {what}"),
            Event::Panicked(what) => write!(f, "gateway  PANICKED {what}"),
            Event::Dialed(conn) => write!(f, "wire {conn:<3} connected"),
            Event::HungUp(conn) => write!(f, "wire {conn:<3} let go"),
            Event::FrameOut(conn, method, id) => write!(f, "wire {conn:<3} -> {method} {id}"),
            Event::FrameIn(conn, what) => write!(f, "wire {conn:<3} <- {what}"),
            Event::TurnedAway(conn, id) => write!(f, "wire {conn:<3} <- {id} turned away"),
            Event::Speaks(dialect) => write!(f, "editor   speaks {dialect:?}"),
            Event::Numbered(number) => write!(f, "gateway  calls it {number}"),
            Event::Sent(conn, id, sending) => write!(f, "wire {conn:<3} -> {id} is the sending {sending}"),
            Event::Outcome(conn, sending, status) => write!(f, "wire {conn:<3} <- {sending} is {status}"),
            Event::Progressed(conn, sending, far) => write!(f, "wire {conn:<3} <- {sending} is at {far}/1000"),
            Event::Proven(conn) => write!(f, "editor   fences all before its connection {conn}"),
            Event::Begun(Begun { connection, tool, sending, parallel }) => {
                let beside = if *parallel { "beside others" } else { "alone" };
                write!(f, "editor   begins {sending} {tool} of its connection {connection}, {beside}")
            }
            Event::Settled(sending, status) => write!(f, "editor   settles {sending} as {status}"),
            Event::Lagged(count) => write!(f, "editor   {count} events of it were lost"),
            Event::Sized(sizes) => write!(
                f,
                "gateway  open {} queued {} held {} flying {} edge {}",
                sizes.open, sizes.queued, sizes.held, sizes.flying, sizes.edge
            ),
            Event::Ended(why) => write!(f, "gateway  ended: {why}"),
            Event::Left(sizes) => {
                write!(f, "gateway  left open {} held {} flying {}", sizes.open, sizes.held, sizes.flying)
            }
            Event::Reloads => write!(f, "editor   reloads its domain"),
            Event::Named(cause) => write!(f, "gateway  names the cause: {cause}"),
            Event::Listens(port) => write!(f, "editor   begins to listen on {port}"),
            Event::PermitsLeft(count) => write!(f, "gateway  connection permits free: {count}"),
            Event::Ran(key, total) => write!(f, "editor   ran {key} ({total})"),
            Event::EditorUp(pid, port) => write!(f, "editor   {pid} listens on {port}"),
            Event::EditorGone(pid) => write!(f, "editor   {pid} is gone"),
            Event::StrangerHeard(text) => write!(f, "stranger hears {}", shorten(text)),
            Event::Injected(what) => write!(f, "FAULT    {what}"),
            Event::Healed => write!(f, "HEALED"),
            Event::Recovered(after) => write!(f, "client   is served again after {after:?}"),
            Event::Totals(runs) => write!(f, "editor   runs in all: {}", runs.len()),
        }
    }
}

/// A finished record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History(pub Vec<Entry>);

impl History {
    /// Those of which there are several, if there are.
    pub fn parts(&self) -> BTreeSet<Part> {
        self.0.iter().filter_map(|entry| if let Event::Of(part, _) = entry.what { Some(part) } else { None }).collect()
    }

    /// What is of these parts, as if there were no others; and of what is nobody's alone, what is wanted.
    pub fn of_parts(&self, parts: impl Fn(Part, &Event) -> bool, common: impl Fn(&Event) -> bool) -> Self {
        let of_them = self.0.iter().filter_map(|Entry { at, what }| match what {
            Event::Of(part, what) => parts(*part, what).then(|| Entry { at: *at, what: Event::clone(what) }),
            what => common(what).then(|| Entry { at: *at, what: what.clone() }),
        });
        Self(of_them.collect())
    }

    /// A history of these events, a millisecond apart: for tests of the checkers.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let entry = |(at, what)| Entry { at: Duration::from_millis(at), what };
        Self((0..).zip(events).map(entry).collect())
    }

    /// The same for the same run, and for no other.
    pub fn hash(&self) -> u64 {
        // DefaultHasher is not promised to be stable; this one is eight lines.
        struct Fnv(u64);
        impl Hasher for Fnv {
            fn finish(&self) -> u64 {
                self.0
            }
            fn write(&mut self, bytes: &[u8]) {
                for byte in bytes {
                    self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        for entry in &self.0 {
            hasher.write(format!("{entry:?}").as_bytes());
        }
        hasher.finish()
    }

    /// One line an event.
    pub fn lines(&self) -> String {
        self.0.iter().map(|entry| format!("{entry}\n")).collect()
    }
}

/// The value of a field in a line of the gateway's log.
pub fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split(&format!(" {name}=")).nth(1)?;
    Some(rest.split(' ').next()?.trim_matches('"'))
}

/// Writes a history from many places of one simulated world.
#[derive(Debug, Clone)]
pub struct Recorder {
    entries: Arc<Mutex<Vec<Entry>>>,
    now: fn() -> Option<Duration>,
    part: Option<Part>,
}

impl Recorder {
    /// An empty one, on this clock of the world. Where the clock shows nothing, things happen at the time of the last one.
    pub fn new(now: fn() -> Option<Duration>) -> Self {
        Self { entries: Arc::default(), now, part: None }
    }

    /// Records into the same history what is of this part.
    pub fn of(&self, part: Part) -> Self {
        Self { part: Some(part), ..self.clone() }
    }

    /// Records an event at the present virtual time.
    pub fn record(&self, what: Event) {
        let what = match self.part {
            Some(part) => Event::Of(part, Box::new(what)),
            None => what,
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let last = entries.last().map(|entry| entry.at).unwrap_or_default();
        let at = (self.now)().unwrap_or(last);
        entries.push(Entry { at, what });
    }

    /// The call that the gateway's log told last to be sent; with a number, the one sent under it.
    pub fn last_sent(&self, number: Option<&str>) -> Option<String> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = entries.iter().rev().filter_map(|entry| match &entry.what {
            Event::Told(line) if line.starts_with("call_sent ") => Some(line.as_str()),
            _ => None,
        });
        let mut fits = sent
            .filter(|line| number.is_none_or(|number| field(line, "wire") == Some(number)))
            .filter_map(|line| field(line, "call"));
        let Some(Part::Editor(editor)) = self.part else { return fits.next().map(str::to_owned) };
        // Each link counts for itself: only the call of a session that works there is meant.
        let session = |id: u64| u8::try_from(id / IDS_OF_A_SESSION).unwrap_or(u8::MAX);
        let works_there = |session: u8| {
            entries
                .iter()
                .any(|entry| matches!(entry.what, Event::Of(Part::Session(of, at), _) if (of, at) == (session, editor)))
        };
        let is_there = |call: &&str| {
            let accepted = entries.iter().rev().find_map(|entry| match &entry.what {
                Event::Told(line) if line.starts_with("call_accepted ") && field(line, "call") == Some(*call) => {
                    field(line, "mcp_id")?.parse::<u64>().ok()
                }
                _ => None,
            });
            accepted.is_some_and(|id| works_there(session(id)))
        };
        fits.find(is_there).map(str::to_owned)
    }

    /// What was recorded so far, or in all.
    pub fn history(&self) -> History {
        History(self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
