//! Two processes take over what killed ones left in the same moment, again and again, on real files: each call goes to exactly one of
//! them, and none is lost.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use holdfast::core::call_records::{Origin, SentCall};
use holdfast::protocol::ids::CallId;
use holdfast::storage::call_files::CallFile;
use holdfast::storage::gateway_calls::{GatewayCalls, Taker, take_over, take_over_from_hub};
use holdfast::storage::hub_folder::{Elected, HubFolder};

use super::until;

const ROUNDS: u32 = 1000;
/// Says to this program that it is one of the two processes.
const WORKER: &str = "HOLDFAST_TEST_TAKES_OVER";
/// How often a process looks in one go. What the other one holds meanwhile is still there in the second one, when it looks alone.
const LOOKS: usize = 3;
const PROJECT: &str = "/Castle";

/// How a process takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// As a gateway of one client.
    Gateway(char),
    /// As a hub.
    Hub,
}

/// What a process has in a round.
struct Taking {
    state: PathBuf,
    role: Role,
    own: Option<GatewayCalls>,
    hub: Option<(CallFile, Elected)>,
    taken: Vec<CallId>,
}

impl Taking {
    fn new(state: PathBuf, role: Role, name: &str) -> Self {
        let own = matches!(role, Role::Gateway(_)).then(|| GatewayCalls::create(&state, name).unwrap());
        Self { state, role, own, hub: None, taken: Vec::new() }
    }

    fn look(&mut self) {
        let folder = HubFolder::of(&self.state);
        if self.role == Role::Hub
            && self.hub.is_none()
            && let Some(elected) = folder.elect().unwrap()
        {
            let file = CallFile::open(&folder.records(), "b".repeat(32), elected.lock_placed().unwrap()).unwrap();
            self.taken.extend(file.left().iter().map(|left| left.sent.call));
            self.hub = Some((file, elected));
        }
        let name = if let Role::Gateway(name) = self.role { Some(name.to_string()) } else { None };
        let (state, project, client) = (self.state.as_path(), Path::new(PROJECT), name.as_deref());
        let own: Option<&CallFile> = self.own.as_ref().map(|own| &*own.file).or(self.hub.as_ref().map(|hub| &hub.0));
        let Some(own) = own else { return };
        let by = Taker { state, own, project, client };
        let mut left = take_over(by).0;
        if self.own.is_some() {
            left.extend(take_over_from_hub(by, None).0);
        }
        self.taken.extend(left.iter().map(|left| left.sent.call));
    }
}

/// One of the two processes: each line is an order.
#[test]
fn worker() {
    if std::env::var_os(WORKER).is_none() {
        return;
    }
    let mut taking = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let says = match words.next().unwrap() {
            "round" => {
                let mut word = || words.next().unwrap().to_owned();
                let (state, role, name) = (word(), word(), word());
                let role = if role == "hub" { Role::Hub } else { Role::Gateway(role.chars().next().unwrap()) };
                taking = Some(Taking::new(state.into(), role, &name));
                String::new()
            }
            "go" => {
                let taking = taking.as_mut().unwrap();
                for _ in 0..LOOKS {
                    taking.look();
                    std::thread::yield_now();
                }
                let taken: Vec<String> = taking.taken.iter().map(ToString::to_string).collect();
                taken.join(" ")
            }
            other => panic!("{other}"),
        };
        writeln!(std::io::stdout(), "DONE {says}").unwrap();
    }
}

struct Worker {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "process::takeovers::worker", "--nocapture"]).env(WORKER, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    fn order(&mut self, order: &str) {
        writeln!(self.stdin, "{order}").unwrap();
    }

    fn done(&mut self) -> String {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        // The test program says something before the test begins.
        lines.find_map(|line| Some(line.split_once("DONE ")?.1.to_owned())).expect("it lives")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes what killed processes leave, and returns the calls: whose client made them, and whether a hub has them for a session that
/// lives.
struct Killed {
    state: PathBuf,
    calls: BTreeMap<CallId, (char, bool)>,
    /// The session that lives.
    _lives: GatewayCalls,
}

impl Killed {
    fn leave(state: PathBuf) -> Self {
        let session = |of: char| of.to_string().repeat(32);
        let lives = GatewayCalls::create(&state, &session('c')).unwrap();
        let mut calls = BTreeMap::new();
        let mut send = |file: &CallFile, session: String, client: char, lives: bool| {
            let number = u8::try_from(calls.len() + 1).unwrap();
            let call = CallId::from_random([number; 16]);
            let origin = Origin { session: session.into(), number: number.into() };
            let (tool, project) = ("count".into(), Some(PROJECT.into()));
            let client_of = (client.to_string(), "2025-11-25".to_owned());
            let sent = SentCall { origin, call, tool, project, journal: None, repeatable: false, client: client_of };
            file.sent(sent).unwrap();
            match number % 3 {
                1 => {}
                2 => file.answered(call, "[1]", (false, false)),
                _ => file.told(call),
            }
            calls.insert(call, (client, lives));
        };
        for name in ['d', 'e'] {
            let gateway = GatewayCalls::create(&state, &session(name)).unwrap();
            for client in ['A', 'A', 'B'] {
                send(&gateway.file, session(name), client, false);
            }
        }
        let folder = HubFolder::of(&state);
        let elected = folder.elect().unwrap().unwrap();
        let hub = CallFile::open(&folder.records(), "a".repeat(32), elected.lock_placed().unwrap()).unwrap();
        for client in ['A', 'A', 'B'] {
            let killed = session(client.to_ascii_lowercase());
            if client != 'A' || !state.join("calls").join(format!("{killed}.lock")).exists() {
                drop(GatewayCalls::create(&state, &killed).unwrap());
            }
            send(&hub, killed, client, false);
        }
        for client in ['A', 'B'] {
            send(&hub, session('c'), client, true);
        }
        Self { state, calls, _lives: lives }
    }

    /// Whether some process of these roles has each call that one of them is to take.
    fn is_taken(&self, roles: [Role; 2], taken: &[String; 2]) -> bool {
        let is_served = |(_, (client, lives)): &(&CallId, &(char, bool))| {
            roles.contains(&Role::Hub) || !lives && roles.contains(&Role::Gateway(*client))
        };
        let mut served = self.calls.iter().filter(is_served);
        served.all(|(call, _)| taken.iter().any(|taken| taken.contains(&call.to_string())))
    }

    /// Checks what each process took.
    fn check(&self, round: u32, roles: [Role; 2], taken: &[String; 2]) {
        let taken = taken.each_ref().map(|taken| taken.split_whitespace().map(str::to_owned).collect::<Vec<String>>());
        let says = || format!("round {round}, {roles:?}: {taken:?}");
        let has_hub = roles.contains(&Role::Hub);
        // Where each call is on record now.
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(self.state.join("calls")).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        files.push(HubFolder::of(&self.state).records());
        let on_record: Vec<CallId> = files
            .iter()
            .flat_map(|path| CallFile::read(path).unwrap().left().into_iter().map(|left| left.sent.call))
            .collect();
        for (call, (client, lives)) in &self.calls {
            let times: usize =
                taken.iter().map(|taken| taken.iter().filter(|one| **one == call.to_string()).count()).sum();
            let is_served = has_hub || !lives && roles.contains(&Role::Gateway(*client));
            assert_eq!(times, usize::from(is_served), "{call} of {client}: {}", says());
            let records = on_record.iter().filter(|one| **one == *call).count();
            assert_eq!(records, 1, "{call} of {client} is on record {records} times: {}", says());
        }
    }
}

#[test]
fn of_two_processes_that_take_over_in_the_same_moment_exactly_one_gets_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut workers = [Worker::start(), Worker::start()];
    let pairs = [
        [Role::Gateway('A'), Role::Gateway('A')],
        [Role::Gateway('A'), Role::Hub],
        [Role::Gateway('A'), Role::Gateway('B')],
        [Role::Hub, Role::Hub],
    ];
    // How often both took something.
    let mut shared = 0;
    for (round, roles) in (0..ROUNDS).zip(pairs.into_iter().cycle()) {
        let state = folder.path().join(round.to_string());
        let killed = Killed::leave(state.clone());
        for (nth, (worker, role)) in workers.iter_mut().zip(roles).enumerate() {
            let role = if let Role::Gateway(client) = role { client.to_string() } else { "hub".to_owned() };
            worker.order(&format!("round {} {role} {}", state.display(), format!("f{nth}").repeat(16)));
            worker.done();
        }
        workers.iter_mut().for_each(|worker| worker.order("go"));
        let first = workers.each_mut().map(Worker::done);
        shared += u32::from(first.iter().all(|taken| !taken.is_empty()));
        // One after the other. A program that another test starts has its locks for a moment, and with them those of the killed ones.
        let mut taken = first;
        until("each call is taken", || {
            taken = workers.each_mut().map(|worker| {
                worker.order("go");
                worker.done()
            });
            killed.is_taken(roles, &taken)
        });
        killed.check(round, roles, &taken);
        drop(killed);
        std::fs::remove_dir_all(state).unwrap();
    }
    assert!(shared > ROUNDS / 10, "both were at it in {shared} rounds only");
}
