//! Kills the editor with SIGKILL at random moments under load and restarts it, `CYCLES` times.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use holdfast_fake_unity::{Call, Identity, PACKAGES, Package, Port, Task};

use super::client::{Client, Verdict};
use super::scenario::Scenario;
use super::unity::Unity;
use super::{Room, setting, share};

/// Waits for a successful answer of the editor.
pub fn greet(package: &Package, client: &mut Client) {
    let Call { tool, arguments, .. } = package.calls(Task::Look, "greets");
    let answer = client.done(tool, &arguments);
    assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
}

/// A counted call, and the time at which it was made.
pub struct Counted {
    pub key: String,
    pub id: u64,
    made: Instant,
}

/// The load of a session: counted calls, calls that only read, and calls that are cancelled.
#[derive(Default)]
pub struct Load {
    number: u64,
    pub counted: Vec<Counted>,
    looks: Vec<u64>,
    verdicts: HashMap<String, Verdict>,
    cancelled: Vec<String>,
    package: &'static Package,
}

impl Load {
    /// The load of a session whose calls are numbered from here on.
    pub fn of(package: &'static Package, number: u64) -> Self {
        Self { number, package, ..Self::default() }
    }

    /// Gives up the calls of a session that was killed: nobody gets their answers, and they may have run.
    #[cfg(target_os = "linux")]
    pub fn forsake(&mut self) {
        self.looks.clear();
        self.cancelled.extend(self.counted.drain(..).map(|call| call.key));
    }

    pub fn some(&mut self, client: &mut Client) {
        for step in 0..fastrand::u64(3..8) {
            self.number += 1;
            let key = format!("n{}", self.number);
            match (self.number + step) % 5 {
                0 => {
                    let Call { tool, arguments, .. } = self.package.calls(Task::Logs, &key);
                    self.looks.push(client.call(tool, &arguments));
                }
                1 => {
                    let Call { tool, arguments, .. } = self.package.calls(Task::Count, &key);
                    let id = client.call(tool, &arguments);
                    client.cancel(id);
                    self.cancelled.push(key);
                }
                _ => {
                    let Call { tool, arguments, .. } = self.package.calls(Task::Count, &key);
                    let id = client.call(tool, &arguments);
                    self.counted.push(Counted { key, id, made: Instant::now() });
                }
            }
        }
    }

    /// Waits for every answer and checks its verdict. Returns how many counted calls have an unknown outcome.
    pub fn settle(&mut self, client: &Client, scenario: &mut Scenario) -> usize {
        let mut unknown = 0;
        for call in self.counted.drain(..) {
            let answer = client.answer(call.id);
            let verdict = answer.verdict();
            scenario.verdict(verdict);
            scenario.record.checked("I1", 1);
            match verdict {
                Verdict::Ok => {}
                Verdict::Unknown => unknown += 1,
                Verdict::NotExecuted => {
                    let held = client.answered_at(call.id).map(|at| at.duration_since(call.made));
                    panic!("lost though safe, after {held:?}: {}", answer.0);
                }
                other => panic!("{}: {other:?}: {}", call.key, answer.0),
            }
            // An answer may only report that the call is queued.
            let is_queued = !self.package.facts.results && answer.body()["executed"].is_null();
            let queued = verdict == Verdict::Ok && is_queued;
            // A queued call may run later or be lost, so the audit treats its outcome as unknown.
            self.verdicts.insert(call.key, if queued { Verdict::Unknown } else { verdict });
        }
        for id in self.looks.drain(..) {
            let verdict = client.answer(id).verdict();
            scenario.record.checked("I1", 1);
            assert!(matches!(verdict, Verdict::Ok | Verdict::NotExecuted | Verdict::Unknown), "{verdict:?}");
            scenario.record.verdict(&format!("look_{verdict:?}").to_lowercase());
        }
        unknown
    }

    /// Checks how often each call ran: once if its answer was a success, never if the answer says that it did not run, and
    /// otherwise at most once.
    pub fn audit(&self, room: &Room, scenario: &mut Scenario) {
        let text = std::fs::read_to_string(room.count_file()).expect("counts");
        let mut runs: HashMap<String, u64> = HashMap::new();
        for line in text.lines() {
            // A kill may leave an incomplete line, which is skipped. The check stays valid: no answer says that this call
            // ran.
            if let Ok(line) = serde_json::from_str::<serde_json::Value>(line) {
                *runs.entry(line["key"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
            }
        }
        for (key, verdict) in &self.verdicts {
            let ran = runs.get(key).copied().unwrap_or(0);
            assert!(verdict.ran().is_true(ran), "{key} ran {ran} times and was answered {verdict:?}");
            scenario.record.checked("I2", 1);
        }
        for key in &self.cancelled {
            assert!(runs.get(key).copied().unwrap_or(0) <= 1, "{key} was taken back and ran twice");
            scenario.record.checked("I2", 1);
        }
    }
}

/// Whether a dialect is to be tested: if `DIALECT` is set, only the one that it names.
pub fn is_wanted(dialect: &str) -> bool {
    std::env::var("DIALECT").ok().filter(|wanted| !wanted.is_empty()).is_none_or(|wanted| wanted == dialect)
}

/// The packages that are to be tested. Wine does not tell whose a listening port is, so that an editor which does not say who it is
/// is not called there.
pub fn wanted() -> impl Iterator<Item = &'static Package> {
    let is_known = |package: &Package| {
        let facts = &package.facts;
        facts.identity != Identity::Unsaid || facts.port == Port::Told || std::env::var_os("WINEPREFIX").is_none()
    };
    PACKAGES.iter().copied().filter(move |package| is_wanted(package.name) && is_known(package))
}

/// Returns the name of a record of a package's runs.
pub fn record_name(what: &str, package: &Package) -> String {
    if package == PACKAGES[0] { what.to_owned() } else { format!("{what}-{}", package.name) }
}

#[test]
fn an_editor_killed_and_restarted_again_and_again_costs_no_call_its_answer_and_none_runs_twice() {
    for package in wanted() {
        let alone = if package == PACKAGES[0] {
            60
        } else if package.facts.journal {
            30
        } else {
            20
        };
        kills(package, setting("CYCLES", share(alone, 60)));
    }
}

/// A call that had not begun is sent again, a call that has ended gets its result, and only a call that a reload interrupted
/// has an unknown outcome.
#[test]
fn an_editor_with_a_journal_that_reloads_again_and_again_tells_what_became_of_every_call() {
    for package in wanted().filter(|package| package.facts.journal) {
        reloads(package);
    }
}

fn reloads(package: &'static Package) {
    let cycles = setting("CYCLES", share(30, 60));
    let mut scenario = Scenario::new(&record_name("reload-cycles", package), &["U01", "N02"]);
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--quiet", "--dialect", package.name]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    let mut load = Load::of(package, 0);
    let mut unknown = 0;
    for _ in 0..cycles {
        load.some(&mut client);
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..5_000)));
        load.some(&mut client);
        let mark = unity.mark();
        unity.order("reload 20");
        scenario.record.injected("domain reload");
        load.some(&mut client);
        unity.hear(mark, |event| event["event"] == "listening");
        client.echoes();
        let cut = load.settle(&client, &mut scenario);
        // Counted calls run one at a time, so a reload can interrupt only one.
        assert!(cut <= 1, "a reload cost {cut} calls");
        unknown += cut;
    }
    load.audit(&room, &mut scenario);
    scenario.picture(&client, &room);
    client.close(&room);
    scenario.record.figure("cycles", cycles as f64);
    scenario.record.figure("unknown", unknown as f64);
}

fn kills(package: &'static Package, cycles: u64) {
    let mut scenario =
        Scenario::new(&record_name("kill-restart-cycles", package), &["P01", "N02", "N14", "C02", "C07"]);
    let room = Room::new();
    let quiet = ["--quiet", "--dialect", package.name];
    let mut unity = Unity::of_project(&room, &quiet);
    let is_told = package.facts.port == Port::Told;
    let (project, port) = (room.project().display().to_string(), unity.port.to_string());
    let mut flags = vec!["--project", &project];
    if is_told {
        flags.extend(["--port", &port]);
    }
    let mut client = Client::open(&room, &flags);
    greet(package, &mut client);
    let mut load = Load::of(package, 0);
    let mut late = 0;
    for cycle in 0..cycles {
        load.some(&mut client);
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..20_000)));
        load.some(&mut client);
        unity.kill();
        scenario.record.injected("SIGKILL of the editor");
        load.some(&mut client);
        let port = if cycle % 2 == 0 || is_told { unity.port.to_string() } else { "0".to_owned() };
        unity = Unity::of_project(&room, &[&quiet[..], &["--port", &port]].concat());
        load.some(&mut client);
        greet(package, &mut client);
        let listened = unity.listened();
        let waited: Vec<(u64, Instant)> = load.counted.iter().map(|call| (call.id, call.made)).collect();
        let unknown = load.settle(&client, &mut scenario);
        // The editor has one call at a time, so a kill costs at most one: the call that is running, or one that was written
        // before the gateway noticed the end.
        assert!(unknown <= 1, "a kill cost {unknown} calls");
        let good = waited
            .iter()
            .filter(|(id, _)| client.answer(*id).verdict() == Verdict::Ok)
            .filter_map(|(id, made)| client.answered_at(*id).map(|at| (at, made)))
            .filter(|(at, _)| *at >= listened)
            .min();
        match good {
            // A cycle measures recovery only if a counted call was made before the listener was back.
            Some((at, made)) if *made <= listened => {
                scenario.record.recoveries_ms.push(at.duration_since(listened).as_secs_f64() * 1000.0);
            }
            _ => late += 1,
        }
    }
    load.audit(&room, &mut scenario);
    scenario.picture(&client, &room);
    client.close(&room);
    scenario.record.figure("cycles", cycles as f64);
    scenario.record.figure("cycles_not_measured", f64::from(late));
    let recoveries = std::mem::take(&mut scenario.record.recoveries_ms);
    scenario.percentiles("recovery", &recoveries);
    scenario.record.recoveries_ms = recoveries;
}
