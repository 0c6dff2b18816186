//! The events of one run: a record for the checkers, for people, and for the hash that proves determinism.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_fake_unity::Package;

/// A word that the arguments and results of the client's calls contain, and nothing else. If it appears elsewhere, an argument or
/// a result has leaked.
pub const SECRET: &str = "canary";

/// A client's request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// The JSON-RPC method.
    pub method: &'static str,
    /// The tool of a call.
    pub tool: &'static str,
    /// The key or text in the call's arguments, unique in the run.
    pub payload: String,
    /// Whether the tool is declared read-only, so that the call may be sent again.
    pub repeatable: bool,
    /// Whether a progress token was given. It is the request's id.
    pub token: bool,
    /// The id on the wire, if an earlier, cancelled request used it before.
    pub under: Option<u64>,
    /// The longest time until the answer, under any fault.
    pub allowed: Duration,
}

/// The sizes of bounded queues and tables, at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Open client requests.
    pub open: usize,
    /// Lines waiting for stdout.
    pub queued: usize,
    /// Calls held in the ledger.
    pub held: usize,
    /// Calls that were sent and have not ended.
    pub flying: usize,
    /// The number of messages in the fullest mailbox.
    pub edge: usize,
}

/// The start of a call in the editor, for one attempt to send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The number that the editor gave the connection on which the call came; 0 if the call continues after a reload.
    pub connection: u64,
    /// The tool.
    pub tool: String,
    /// The attempt's id in the journal.
    pub sending: String,
    /// Whether the call may run in parallel with others.
    pub parallel: bool,
}

/// The ids of the n-th session's requests start at n times this, so that no two sessions share an id.
pub const IDS_OF_A_SESSION: u64 = 1_000_000;

/// The owner of an event, if there are several sessions or editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The client with the first number, which works in the project of the editor with the second number.
    Session(u8, u8),
    /// The editor with this number, and the wire to it.
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
    /// The client's roots changed: from now on it works in the editor's project (`true`), or in a project without an editor.
    Rooted(bool),
    /// The client wrote this line, which is not an MCP request.
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
    /// A machine got an event that no handler decided.
    Unexpected(String),
    /// A panic that was not planned.
    Panicked(String),
    /// The gateway connected to the editor's side.
    Dialed(u64),
    /// The gateway dropped the connection.
    HungUp(u64),
    /// A whole frame left the gateway: connection, method, id.
    FrameOut(u64, String, String),
    /// A whole frame reached the gateway: connection, and the id it answers.
    FrameIn(u64, String),
    /// The editor turned a request away before it ran anything, because the request is meant for another editor: connection, and
    /// the request's id.
    TurnedAway(u64, String),
    /// The dialect of the editor's package.
    Speaks(&'static Package),
    /// The number that the gateway gave to a session, or to the link to an editor. Its log uses this number.
    Numbered(u32),
    /// A call was written: connection, the request's id, the attempt's id in the journal.
    Sent(u64, String, String),
    /// The journal's statement about an attempt reached the gateway: connection, the attempt's id in the journal, status.
    Outcome(u64, String, String),
    /// The editor reported the progress of a call, in thousandths: connection, the attempt's id in the journal.
    Progressed(u64, String, i64),
    /// A connection was proven: the number that the editor gave it. Requests of earlier connections no longer begin.
    Proven(u64),
    /// A call began to run in the editor.
    Begun(Begun),
    /// The journal recorded the final status of an attempt: its id in the journal, and the status.
    Settled(String, &'static str),
    /// This many events of the editor were lost.
    Lagged(u64),
    /// A bounded size changed.
    Sized(Sizes),
    /// The gateway ended, with the reason.
    Ended(&'static str),
    /// After the end: the sizes of what is still open.
    Left(Sizes),
    /// After the end: the number of free connection permits.
    PermitsLeft(usize),
    /// The editor ran the counting tool: the key, and the total number of its runs.
    Ran(String, u64),
    /// An editor listens: pid, port.
    EditorUp(u32, u16),
    /// The editor reported that it began to reload its domain.
    Reloads,
    /// The cause that the gateway shows for an editor that is away; empty while the editor is connected.
    Named(&'static str),
    /// The editor reported that its bridge began to listen on this port.
    Listens(u16),
    /// The editor's process with this id ended.
    EditorGone(u32),
    /// A foreign peer on the editor's port received this, on the connection from that port of the gateway.
    StrangerHeard(u16, String),
    /// A fault was injected.
    Injected(String),
    /// All faults have ended, and the editor listens.
    Healed,
    /// The first successful answer after all faults had ended: the time since then.
    Recovered(Duration),
    /// How often the counting tool ran for each key, at the end of the run.
    Totals(BTreeMap<String, u64>),
    /// An event of one part, if there are several sessions or editors.
    Of(Part, Box<Event>),
}

impl Event {
    /// Returns the event without its owner.
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
    /// The time since the start of the run.
    pub at: Duration,
    /// The event.
    pub what: Event,
}

/// The number of characters of a line that are shown.
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
            Event::Speaks(package) => write!(f, "editor   speaks {package:?}"),
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
            Event::StrangerHeard(from, text) => write!(f, "stranger hears from {from}: {}", shorten(text)),
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
    /// Returns the sessions and editors; empty if the history has only one of each.
    pub fn parts(&self) -> BTreeSet<Part> {
        self.0.iter().filter_map(|entry| if let Event::Of(part, _) = entry.what { Some(part) } else { None }).collect()
    }

    /// Returns a history of selected events: of those with an owner the ones that `parts` selects, of those without an owner the
    /// ones that `common` selects.
    pub fn of_parts(&self, parts: impl Fn(Part, &Event) -> bool, common: impl Fn(&Event) -> bool) -> Self {
        let of_them = self.0.iter().filter_map(|Entry { at, what }| match what {
            Event::Of(part, what) => parts(*part, what).then(|| Entry { at: *at, what: Event::clone(what) }),
            what => common(what).then(|| Entry { at: *at, what: what.clone() }),
        });
        Self(of_them.collect())
    }

    /// Builds a history of these events, one millisecond apart, for tests of the checkers.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let entry = |(at, what)| Entry { at: Duration::from_millis(at), what };
        Self((0..).zip(events).map(entry).collect())
    }

    /// Returns a hash of the history. Equal runs have equal hashes.
    pub fn hash(&self) -> u64 {
        // `DefaultHasher` is not guaranteed to be stable, so this is FNV.
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

    /// Formats the history, with one line for each event.
    pub fn lines(&self) -> String {
        self.0.iter().map(|entry| format!("{entry}\n")).collect()
    }
}

/// Returns the value of a field in a line of the gateway's log; `None` if the line does not have the field.
pub fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split(&format!(" {name}=")).nth(1)?;
    Some(rest.split(' ').next()?.trim_matches('"'))
}

/// Writes one history. All parts of a simulated world record into it.
#[derive(Debug, Clone)]
pub struct Recorder {
    entries: Arc<Mutex<Vec<Entry>>>,
    now: fn() -> Option<Duration>,
    part: Option<Part>,
}

impl Recorder {
    /// Creates an empty history with the world's clock. While the clock returns `None`, events get the time of the last event.
    pub fn new(now: fn() -> Option<Duration>) -> Self {
        Self { entries: Arc::default(), now, part: None }
    }

    /// Returns a recorder that writes events of this part into the same history.
    pub fn of(&self, part: Part) -> Self {
        Self { part: Some(part), ..self.clone() }
    }

    /// Records an event at the current virtual time.
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

    /// Returns the call that was sent last, according to the gateway's log; if `number` is given, the last call sent under that
    /// number on the wire. `None` if there is none.
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
        // Each link numbers its messages itself, so only a call of a session that works with this editor matches.
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

    /// Returns what was recorded so far.
    pub fn history(&self) -> History {
        History(self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
