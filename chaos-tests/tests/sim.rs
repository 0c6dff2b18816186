//! Runs the simulation with many seeds, and proves that its checkers can fail.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chaos_tests::checker;
use chaos_tests::history::{Entry, Event, History};
use chaos_tests::record::Record;
use chaos_tests::share::{PACKAGES, shared, turns};
use chaos_tests::sim::plan::{Act, Break, Plan, Step};
use chaos_tests::sim::report::{self, Sums};
use chaos_tests::sim::run;
use holdfast::limits::RELOAD_GRACE;
use holdfast_fake_unity::{Misconduct, Package, PackageVersion, Task};

/// Number of seeds in an ordinary run.
const SEEDS: u64 = 1000;
/// Number of runs with twenty sessions and three editors. A package whose port only the user can name has only one editor.
const STORMS: u64 = 12;
/// After this number of failures a thread runs no more seeds.
const FAILURES_MAX: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn run_all(package: &'static Package, all: &[u64]) -> Sums {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let work = || {
        let mut sums = Sums::default();
        loop {
            let seed = all.get(next.fetch_add(1, Ordering::Relaxed));
            let Some(seed) = seed.filter(|_| sums.failures.len() < FAILURES_MAX) else { return sums };
            let plan = Plan::of(*seed).in_package(package);
            let history = run(&plan);
            let verdicts = checker::check(&history);
            sums.add(&plan, &history, &verdicts);
            if verdicts.iter().any(|verdict| !verdict.violations.is_empty()) {
                sums.failures.push(report::failure(&plan, &verdicts));
            }
        }
    };
    let mut all = Sums::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.merge(worker.join().expect("a worker does not panic"));
        }
    });
    all
}

/// The percentage of the seeds that run with an editor of this package.
fn percentage(package: &Package) -> u64 {
    if package == PACKAGES[0] {
        100
    } else if package.facts.journal {
        60
    } else {
        20
    }
}

#[test]
fn every_seed_keeps_every_promise() {
    if number("SEED").is_none() {
        let wanted = std::env::var("DIALECT").ok().and_then(|name| Package::named(&name));
        PACKAGES
            .iter()
            .filter(|package| wanted.is_none_or(|one| one == **package))
            .for_each(|package| every_seed(package));
    }
}

fn every_seed(package: &'static Package) {
    let share = percentage(package);
    let (seeds, from) = (number("SEEDS").unwrap_or(SEEDS), number("FROM").unwrap_or(0));
    let mine = turns(package, from, seeds * share / 100, seeds);
    let count = mine.len() as u64;
    let started = tokio::time::Instant::now();
    let mut sums = run_all(package, &mine);
    let took = started.elapsed();
    let text = sums.text();
    say(&format!("{package:?}: {text}"));
    match sums.record(package, from, took).write_as(&report::name(package)) {
        Ok(path) => say(&format!("record: {}\n", path.display())),
        Err(error) => panic!("the record could not be written: {error}"),
    }
    assert!(sums.failures.is_empty(), "{}", sums.failures.join("\n\n"));
    assert_eq!(sums.seeds, count);
    // With few seeds some checker may have nothing to check, for example because no foreign program appears.
    for (name, checks) in sums.checks.iter().filter(|_| count >= 200) {
        assert!(*checks > 0, "nothing was checked of {name}");
    }
    let withholds = package.facts.compile_file || !(package.facts.announces)(package.newest());
    assert!(sums.reloads_told > 0 || !withholds || count < 200, "no answer was withheld until a reload was over");
}

fn package() -> &'static Package {
    std::env::var("DIALECT").ok().and_then(|name| Package::named(&name)).unwrap_or_default()
}

/// The package whose editor remembers what became of calls.
fn with_a_journal() -> &'static Package {
    Package::that(|facts| facts.journal)
}

/// Runs the seed `SEED=n` and prints its whole history. `DIALECT=NAME`: with an editor of that package. `SHORT=1`: also finds
/// the shortest plan that still fails.
#[test]
fn one_seed() {
    let Some(seed) = number("SEED") else { return };
    let plan = Plan::of(seed).in_package(package());
    let history = run(&plan);
    say(&plan.lines());
    say(&history.lines());
    let verdicts = checker::check(&history);
    for verdict in &verdicts {
        say(&format!("{:>8} checks  {}  {:?}\n", verdict.checks, verdict.name, verdict.violations));
    }
    let broken = verdicts.iter().any(|verdict| !verdict.violations.is_empty());
    if broken && number("SHORT").is_some() {
        say(&report::failure(&plan, &verdicts));
    }
    assert!(!broken);
}

/// Sorts what the client reads in one go. Several calls of `holdfast_wait_ready` wait for one change, and tokio draws the order in
/// which it wakes those that watch a value.
fn sorted(mut history: History) -> History {
    let line = |entry: &Entry| if let Event::Got(line) = &entry.what { Some(line.clone()) } else { None };
    let together = |a: &Entry, b: &Entry| a.at == b.at && line(a).is_some() && line(b).is_some();
    history.0.chunk_by_mut(together).for_each(|lines| lines.sort_by_key(line));
    history
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let mut hashes = std::collections::BTreeSet::new();
    for (seed, package) in (0..30).zip(PACKAGES.iter().copied().cycle()) {
        let plan = Plan::of(seed).in_package(package);
        let (first, second) = (sorted(run(&plan)), sorted(run(&plan)));
        let differs = first.0.iter().zip(&second.0).find(|(a, b)| a != b);
        if let Some((a, b)) = differs {
            panic!("seed {seed} gives two histories; they part here:\n{a}\n{b}");
        }
        assert_eq!(first.hash(), second.hash(), "seed {seed}");
        assert!(hashes.insert(first.hash()), "seed {seed} has another seed's history");
    }
}

#[test]
fn a_quiet_run_breaks_nothing() {
    for (sessions, editors) in [(1, 1), (2, 1), (4, 3)] {
        for package in PACKAGES {
            let history = run(&Plan { sessions, editors, ..Plan::quiet(1) }.in_package(package));
            for verdict in checker::check(&history) {
                let (name, broken) = (verdict.name, verdict.violations);
                assert!(broken.is_empty(), "{sessions} x {editors}, {name}: {broken:?}\n{}", history.lines());
            }
        }
    }
}

/// Each session is checked like a single one, and all of them together by the checkers for several sessions.
#[test]
fn twenty_sessions_and_three_editors_keep_every_promise() {
    if number("SEED").is_some() {
        return;
    }
    let packages: Vec<_> = PACKAGES.iter().copied().filter(|package| !package.facts.is_single()).collect();
    let storms = if shared() { packages.len() as u64 } else { STORMS };
    for (seed, package) in (0..storms).zip(packages.into_iter().cycle()) {
        let plan = Plan::of_many(seed, 20, 3).in_package(package);
        let history = run(&plan);
        for verdict in checker::check(&history) {
            let (name, broken) = (verdict.name, verdict.violations);
            assert!(broken.is_empty(), "seed {seed} {package:?}, {name}: {broken:#?}\n{}", history.lines());
        }
    }
}

/// Guards against an old bug: such a call was reserved for the ending connection, released, and then forgotten until its
/// limit. When the faults end, the connection is reset at the instant at which the client calls.
#[test]
fn a_call_that_comes_as_the_connection_falls_is_sent_on_the_next_one() {
    for seed in 1..4 {
        let history = run(&Plan::quiet(seed));
        let recovered = history.0.iter().find_map(|entry| match entry.what {
            Event::Recovered(after) => Some(after),
            _ => None,
        });
        let good = recovered.is_some_and(|after| after < Duration::from_secs(1));
        assert!(good, "served again after {recovered:?}\n{}", history.lines());
    }
}

/// Guards against an old bug. Without a project, the answer of a compilation and the end of its connection arrive together.
/// The order for the next call came between them and no connection took it: the editor was ready and idle until each held
/// call reached its limit.
#[test]
fn a_call_that_is_next_as_the_connection_ends_behind_an_answer_is_sent_on_the_next_one() {
    for seed in 1..4 {
        let mut plan = Plan { by_flag: true, version: PackageVersion::new(2, 0, 0), ..Plan::quiet(seed) };
        plan.steps.retain(|step| step.at < 900);
        let acts = [Act::Call(Task::Compile, false), Act::Burst(5, Task::Count)];
        plan.steps.extend(acts.map(|act| Step { at: 1000, act }));
        let history = run(&plan);
        let answered: Vec<&Event> = history
            .0
            .iter()
            .filter(|entry| entry.at < Duration::from_secs(3))
            .map(|entry| &entry.what)
            .filter(|event| matches!(event, Event::Got(line) if line.contains("count-canary") && line.contains("Runs")))
            .collect();
        let asked = plan.steps.iter().filter(|step| matches!(step.act, Act::Call(Task::Count, _))).count() + 5;
        assert_eq!(answered.len(), asked, "{}", history.lines());
    }
}

/// A refresh, a compilation or the play button may end the domain without a message, so their answers are withheld until the
/// reload is over.
#[test]
fn an_answer_that_a_reload_may_follow_is_withheld_and_told_once() {
    let told = |package: &'static Package, acts: &[(u32, Act)]| {
        let mut plan = Plan::quiet(7).in_package(package);
        plan.steps.retain(|step| step.at < 900);
        plan.steps.extend(acts.iter().map(|(at, act)| Step { at: *at, act: *act }));
        let history = run(&plan);
        for verdict in checker::check(&history) {
            assert!(verdict.violations.is_empty(), "{}: {:?}\n{}", verdict.name, verdict.violations, history.lines());
        }
        let tools = [package.calls(Task::Compile, "").tool, (package.call)(Task::Compile, "", plan.version).tool];
        let asked = history.0.iter().find_map(|entry| match &entry.what {
            Event::Asked(id, ask) if tools.contains(&ask.tool) => Some((format!("\"id\":{id},"), entry.at)),
            _ => None,
        });
        let (id, asked) = asked.expect("it was asked");
        let mut answers = history.0.iter().filter_map(|entry| match &entry.what {
            Event::Got(line) if line.contains(&id) => Some((line.clone(), entry.at - asked)),
            _ => None,
        });
        answers.next().expect("it was answered")
    };
    let compile = (1000, Act::Call(Task::Compile, false));
    let unannounced = PACKAGES.iter().copied().filter(|package| !(package.facts.announces)(package.newest()));
    for package in unannounced.clone() {
        let reload = (!package.facts.compile_reloads).then_some((1100, Act::Reload(300)));
        let acts: Vec<_> = [compile].into_iter().chain(reload).collect();
        let (line, after) = told(package, &acts);
        // Where a file tells how the compilation ended, the answer is what the file says when the reload is over.
        let told = line.contains(report::RELOADED) != package.facts.compile_file;
        assert!(told && after < RELOAD_GRACE, "{package:?} after {after:?}: {line}");
    }
    // There is nothing to compile, so no domain reload follows, and the answer waits for the whole grace period.
    for package in unannounced.filter(|package| !(package.facts.compile_tells || package.facts.compile_file)) {
        let errors = package.facts.compile_reloads.then_some((900, Act::CompileErrors(2900)));
        let acts: Vec<_> = errors.into_iter().chain([compile]).collect();
        let (line, after) = told(package, &acts);
        let bare = !line.contains(report::RELOADED);
        assert!(bare && after >= RELOAD_GRACE && after < 2 * RELOAD_GRACE, "{package:?} after {after:?}: {line}");
    }
}

/// holdfast's own package reports the editor's state from another thread than the main thread. An editor that is frozen for
/// longer than the limit of silence loses its connection, and the cause is silence, not a reload.
#[test]
fn an_editor_that_is_frozen_for_long_is_silent_and_not_reloading() {
    let mut plan = Plan::quiet(7).in_package(with_a_journal());
    plan.heal_at = 30_000;
    plan.steps.retain(|step| step.at < 900);
    let acts = [(1000, Act::Freeze(20_000)), (5000, Act::Call(Task::Echo, true))];
    plan.steps.extend(acts.map(|(at, act)| Step { at, act }));
    let history = run(&plan);
    for verdict in checker::check(&history) {
        assert!(verdict.violations.is_empty(), "{}: {:?}\n{}", verdict.name, verdict.violations, history.lines());
    }
    let silent = |event: &Event| matches!(event, Event::Told(line) if line.starts_with("link_down ") && line.contains("silence"));
    assert!(history.0.iter().any(|entry| silent(&entry.what)), "{}", history.lines());
}

/// An answer that was read while stdout is blocked is kept, and the crash of the editor afterwards does not change it.
#[test]
fn an_answer_that_was_read_while_the_client_sleeps_is_told_although_the_editor_crashes() {
    let mut plan = Plan { patience: Duration::from_secs(20), heal_at: 14_000, ..Plan::quiet(6) };
    plan.steps.retain(|step| step.at < 800);
    let crash = Act::Crash { down: 5000, elsewhere: false, stranger: None };
    let acts = [
        (900, Act::Call(Task::Sleep(1500), false)),
        (950, Act::PauseReading(9000)),
        (960, Act::Flood(12_000)),
        (3000, crash),
    ];
    plan.steps.extend(acts.map(|(at, act)| Step { at, act }));
    let history = run(&plan);
    for verdict in checker::check(&history) {
        assert!(verdict.violations.is_empty(), "{}: {:?}\n{}", verdict.name, verdict.violations, history.lines());
    }
    let slept = |event: &Event| matches!(event, Event::Told(line) if line.starts_with("call_answered ") && line.contains("sleep") && line.contains("verdict=\"ok\""));
    assert!(history.0.iter().any(|entry| slept(&entry.what)), "{}", history.lines());
}

/// The client's roots change to a project without an editor. A call for that project must not run in the other project's
/// editor.
#[test]
fn a_call_asked_in_a_project_without_an_editor_never_runs_in_the_one_that_is_there() {
    for package in PACKAGES.iter().filter(|package| !package.facts.is_single()) {
        let mut plan = Plan { roots: true, stateless: false, ..Plan::quiet(7) }.in_package(package);
        plan.steps.extend([(1002, false), (2002, true)].map(|(at, here)| Step { at, act: Act::Roots(here) }));
        plan.steps.sort_by_key(|step| step.at);
        let history = run(&plan);
        let verdicts = checker::check(&history);
        for verdict in &verdicts {
            let violations = &verdict.violations;
            assert!(violations.is_empty(), "{package:?}: {}: {violations:?}\n{}", verdict.name, history.lines());
        }
        let asked =
            verdicts.iter().find(|verdict| verdict.name == "I9 right-editor").map_or(0, |verdict| verdict.checks);
        assert!(asked >= 5, "{package:?}: {asked} calls were asked in the other project\n{}", history.lines());
    }
}

/// A flood of pings that exceeds all queues and pipes, while the client does not read.
const TOO_MUCH: [Step; 2] = [Step { at: 610, act: Act::PauseReading(2000) }, Step { at: 620, act: Act::Flood(12_000) }];

/// With bounded pipes, the gateway stops reading stdin during the flood, and nothing is lost.
#[test]
fn a_flood_from_a_client_that_does_not_read_is_stopped_at_stdin() {
    let mut plan = Plan::quiet(7);
    plan.steps.extend(TOO_MUCH);
    plan.steps.sort_by_key(|step| step.at);
    for verdict in checker::check(&run(&plan)) {
        assert!(verdict.violations.is_empty(), "{}: {:?}", verdict.name, verdict.violations.first());
    }
}

#[test]
fn what_is_broken_at_the_seams_is_noticed_by_its_checker() {
    let planted = [
        (Break::DroppedAnswer, "I1 answer-once"),
        (Break::DoubledAnswer, "I1 answer-once"),
        (Break::DoubledRequest, "I2 at-most-once"),
        (Break::OldFrame, "I10 epoch-fence"),
        (Break::SwappedReply, "I10 epoch-fence"),
        (Break::LateProgress, "I13 order"),
        (Break::DirtyStdout, "I3 stdout-is-mcp"),
        (Break::SlowAnswer, "I11 deadline"),
        (Break::NoWindow, "I4 bounded"),
        (Break::EndlessInput, "I4 bounded"),
        (Break::LoggedFrame, "I12 discretion"),
        (Break::LostLine, "I14 truth"),
        (Break::StrayAnswer, "I1 answer-once"),
        (Break::StarvedSession, "I11 fair-turns"),
    ];
    let shapes = |broken| match broken {
        Break::StrayAnswer | Break::StarvedSession => vec![(2, 1)],
        // The pipe without a bound exists only for a single client.
        Break::EndlessInput => vec![(1, 1)],
        _ => vec![(1, 1), (3, 2)],
    };
    let runs =
        planted.iter().flat_map(|(broken, name)| shapes(*broken).into_iter().map(move |of| (*broken, *name, of)));
    for (broken, name, (sessions, editors)) in runs {
        let mut plan = Plan { broken: Some(broken), sessions, editors, ..Plan::quiet(7) };
        if sessions != 2 {
            // Some faults need a second connection.
            plan.steps.push(Step { at: 1500, act: Act::Reload(100) });
        }
        match broken {
            Break::NoWindow => plan.steps.push(Step { at: 1000, act: Act::Burst(10, Task::Echo) }),
            Break::EndlessInput => plan.steps.extend(TOO_MUCH),
            _ => {}
        }
        plan.steps.sort_by_key(|step| step.at);
        let verdicts = checker::check(&run(&plan));
        let noticed: Vec<&str> =
            verdicts.iter().filter(|verdict| !verdict.violations.is_empty()).map(|verdict| verdict.name).collect();
        assert!(noticed.contains(&name), "{broken:?} of {sessions} x {editors} was noticed by {noticed:?} only");
    }
    let about = "The simulation's seams broken on purpose: each break must be noticed by its checker.";
    Record::write_planted("planted-at-the-seams", about, planted.len()).expect("the record can be written");
}

/// Checks the promises of a journal: each is broken by an editor that misbehaves, on an occasion that the network or the
/// client provides.
#[test]
fn an_editor_that_breaks_its_protocol_is_noticed() {
    let kept = "I2 journal-kept";
    let step = |at, act| Step { at, act };
    // The outcome of the call is asked for while the call runs.
    let cut_while_it_runs = vec![step(1005, Act::Call(Task::Block(600), false)), step(1200, Act::CutRead(0))];
    // The other calls wait for the main thread, and their connection ends before they begin.
    let cut_while_others_wait = vec![
        step(1005, Act::Call(Task::Block(900), false)),
        step(1010, Act::Burst(4, Task::Echo)),
        step(1200, Act::CutRead(0)),
    ];
    let far = vec![step(1005, Act::Call(Task::Steps(6), true))];
    let planted = [
        (Break::Editor(Misconduct::DeniesWhatRan), [kept, "I2 journal-told"], cut_while_it_runs),
        (Break::LateRequestTo(Misconduct::ForgetsToSeal), [kept, "I2 at-most-once"], vec![]),
        (Break::Editor(Misconduct::KeepsNoFence), [kept, kept], cut_while_others_wait),
        (Break::Editor(Misconduct::ProgressFalls), [kept, kept], far),
    ];
    let count = planted.len();
    for (broken, names, steps) in planted {
        let play = |broken| {
            let mut plan = Plan { broken, ..Plan::quiet(7) }.in_package(with_a_journal());
            plan.steps.extend(steps.iter().copied());
            plan.steps.sort_by_key(|step| step.at);
            let history = run(&plan);
            let verdicts = checker::check(&history);
            let noticed = verdicts.into_iter().filter(|verdict| !verdict.violations.is_empty());
            (noticed.map(|verdict| (verdict.name, verdict.violations)).collect::<Vec<_>>(), history)
        };
        // Without the misbehaviour, the same occasion breaks no promise.
        let (noticed, history) = play(Some(Break::LateRequest).filter(|_| broken.delays_a_request()));
        assert!(noticed.is_empty(), "{broken:?} is no fault of the editor: {noticed:?}\n{}", history.lines());
        let (noticed, history) = play(Some(broken));
        for name in names {
            let found = noticed.iter().any(|(found, _)| *found == name);
            assert!(found, "{broken:?} was noticed by {noticed:?} only\n{}", history.lines());
        }
    }
    let about = "Editors that break their own protocol: each breach must be noticed.";
    Record::write_planted("planted-in-the-editor", about, count).expect("the record can be written");
}

/// The editor recognises the second frame by the call's id. That the second frame did not run says nothing about the first.
#[test]
fn a_call_that_comes_twice_runs_once_and_is_answered_with_its_own_outcome() {
    let plan = Plan { broken: Some(Break::DoubledRequest), ..Plan::quiet(7) }.in_package(with_a_journal());
    let history = run(&plan);
    for verdict in checker::check(&history) {
        assert!(verdict.violations.is_empty(), "{}: {:?}\n{}", verdict.name, verdict.violations, history.lines());
    }
}

/// The gateway notices lost push messages by the number of the next one, and asks for the tool list again. The next one
/// arrives on a new connection, because TCP holds back what follows a lost packet.
#[test]
fn push_messages_that_were_lost_are_noticed_by_their_numbers() {
    let steps =
        [(600, Act::PushStorm(1)), (1000, Act::Partition(400)), (1200, Act::ToolsChanged), (2000, Act::Reload(100))];
    let mut plan = Plan::quiet(7).in_package(with_a_journal());
    plan.steps.retain(|step| step.at < 900);
    plan.steps.extend(steps.map(|(at, act)| Step { at, act }));
    let history = run(&plan);
    let told = |what: &str| {
        history.0.iter().filter(|entry| matches!(&entry.what, Event::Told(line) if line.starts_with(what))).count()
    };
    assert!(told("push_missed ") > 0, "{}", history.lines());
}

/// The editor itself reports, from another thread than its main thread, what keeps it from working. The gateway does not
/// infer it from silence.
#[test]
fn the_status_tells_a_dialog_an_import_and_scripts_that_do_not_compile_apart() {
    let summary = |fault: Option<Act>| {
        let mut plan = Plan::quiet(7).in_package(with_a_journal());
        plan.heal_at = 9000;
        plan.steps = vec![Step { at: 7900, act: Act::Status }];
        plan.steps.extend(fault.map(|act| Step { at: 1000, act }));
        plan.steps.sort_by_key(|step| step.at);
        let history = run(&plan);
        let line = history.0.iter().find_map(|entry| match &entry.what {
            Event::Got(line) if line.contains("frame_age_ms") => Some(line.clone()),
            _ => None,
        });
        line.unwrap_or_else(|| panic!("no status\n{}", history.lines()))
    };
    for (fault, said) in [
        (None, "it is ready"),
        (Some(Act::Modal(7500)), "most likely a dialog is open"),
        (Some(Act::Import(7500)), "it imports assets"),
        (Some(Act::CompileErrors(7500)), "its scripts do not compile"),
    ] {
        let line = summary(fault);
        assert!(line.contains(said), "{fault:?}: {line}");
    }
    assert!(summary(Some(Act::Unfocus(7500))).contains(r#""focused":false"#));
}
