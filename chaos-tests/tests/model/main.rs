//! Walks through all states of the model and checks the promises in them. Then does the same with worlds that are broken on
//! purpose: each must be noticed. `cargo test -p chaos-tests --test model -- --nocapture` prints what was walked, and how each
//! broken world was noticed.
#![expect(clippy::print_stdout, reason = "what was walked is told to whoever asks with --nocapture")]

mod port;
mod routing;

use chaos_tests::model::graph::Graph;
use chaos_tests::model::promises::{self, *};
use chaos_tests::model::setting::Kind::{Inferred, Job, Journaled, Plain, Reloading, Repeatable, Reported};
use chaos_tests::model::setting::{Broken, Kind, Setting};
use chaos_tests::record::Record;
use holdfast::limits::SENDINGS_MAX;
use holdfast::protocol::dialect::Shape;
use stateright::{Checker, Expectation, Model};
use tokio::time::Instant;

/// The greatest number of states that a walk of the daily tests may have.
const STATES_MAX: usize = 1_500_000;

/// `HOLDFAST_MODEL_MORE=n` walks each setting with n more faults and without a limit of states, for nightly runs. The broken
/// worlds get no more faults.
fn more() -> u8 {
    std::env::var("HOLDFAST_MODEL_MORE").map_or(0, |more| more.parse().expect("HOLDFAST_MODEL_MORE is a small number"))
}

fn most() -> usize {
    if more() == 0 { STATES_MAX } else { usize::MAX }
}

fn setting(calls: &[Kind], window: u8, faults: u8) -> Setting {
    let broken = Broken::Nothing;
    Setting {
        calls: calls.to_vec(),
        window,
        faults,
        losses_only: false,
        crashes: false,
        stop: false,
        shape: Shape::Stream,
        jobs_survive: false,
        rests: false,
        hub: false,
        harm: false,
        both: false,
        broken,
    }
}

fn with_crashes(setting: Setting) -> Setting {
    Setting { crashes: true, ..setting }
}

/// The same setting, with a bridge that does not connect until the first call.
fn that_rests(setting: Setting) -> Setting {
    Setting { rests: true, ..setting }
}

/// The same setting, with a hub that may be killed at any time.
fn of_a_hub(setting: Setting) -> Setting {
    Setting { hub: true, ..setting }
}

/// The same setting, with a hub whose records may be damaged or lost, whose session may stand still, and which may make way.
fn with_harm(setting: Setting) -> Setting {
    Setting { harm: true, ..of_a_hub(setting) }
}

/// The same setting, with a hub that may also be killed together with its session.
fn both_killed(setting: Setting) -> Setting {
    Setting { both: true, ..of_a_hub(setting) }
}

fn with_stop(setting: Setting) -> Setting {
    Setting { stop: true, ..setting }
}

fn describe(setting: &Setting) -> String {
    let Setting { calls, window, faults, losses_only, crashes, stop, shape, rests, hub, harm, both, .. } = setting;
    let kind = if *losses_only { "losses" } else { "faults" };
    let and = |yes: &bool, what: &'static str| if *yes { what } else { "" };
    let [crashes, stop] = [and(crashes, ", crashes"), and(stop, ", stop")];
    let shape = match shape {
        Shape::Stream => "",
        Shape::Requests => ", over HTTP",
        Shape::Jobs if setting.jobs_survive => ", jobs that survive a reload",
        Shape::Jobs => ", jobs",
    };
    let [rests, hub, harm] = [and(rests, ", at rest"), and(hub, ", of a hub"), and(harm, ", harm")];
    let both = and(both, ", killed with its session");
    format!("{calls:?} window {window}, {faults} {kind}{crashes}{stop}{shape}{rests}{hub}{harm}{both}")
}

/// Checks that no promise is broken in any state, for every order of events, and that what must be possible is reached.
fn always(setting: Setting) {
    let setting = Setting { faults: setting.faults + more(), ..setting };
    let began = Instant::now();
    let name = describe(&setting);
    let checker = setting.clone().checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("safe  {name}: {states} states, depth {}, {:.1} s", checker.max_depth(), began.elapsed().as_secs_f32());
    assert!(checker.is_done() && states <= most());
    for property in setting.properties() {
        let found = checker.discovery(property.name).is_some();
        match property.expectation {
            Expectation::Always if found => {
                let trace = Graph::first_breach(&setting, property.name, most()).unwrap_or_default();
                panic!("{name} breaks \"{}\":\n{}", property.name, trace.join("\n"));
            }
            Expectation::Sometimes => assert!(found, "{name}: not a single time: {}", property.name),
            Expectation::Always | Expectation::Eventually => {}
        }
    }
}

/// Returns the steps to the first state in which nothing was stopped and from which the goal of a promise cannot be reached any
/// more. Prints how many such states there are.
fn cut_off(setting: &Setting, promise: &'static str) -> Option<Vec<String>> {
    let began = Instant::now();
    let goal = if promise == READY_AGAIN { promises::ready } else { promises::ready_and_settled };
    let graph = Graph::walk(setting, &[promises::running, goal], most());
    let lost = graph.cut_off(0, 1);
    println!(
        "live  {}: {} states, {} of bridge and exchanges, {} steps, depth {}, {} cut off from \"{promise}\", {:.1} s",
        describe(setting),
        graph.states(),
        graph.parts(),
        graph.steps(),
        graph.depth(),
        lost.len(),
        began.elapsed().as_secs_f32()
    );
    lost.first().map(|state| graph.trace(*state))
}

/// Checks that the gateway can become ready again with every call settled, from every state in which nothing was stopped.
fn always_again(setting: Setting) {
    let setting = Setting { faults: setting.faults + more(), ..setting };
    // This goal includes `READY_AGAIN`, which therefore needs no walk of its own.
    if let Some(trace) = cut_off(&setting, SETTLED_AGAIN) {
        panic!("{} breaks \"{SETTLED_AGAIN}\":\n{}", describe(&setting), trace.join("\n"));
    }
}

#[test]
fn one_plain_call_survives_two_faults_crashes_and_the_stop() {
    always(with_stop(with_crashes(setting(&[Plain], 1, 2))));
}

#[test]
fn two_calls_survive_a_fault_a_crash_and_the_stop() {
    always(with_stop(with_crashes(setting(&[Plain, Repeatable], 1, 1))));
}

#[test]
fn two_calls_survive_two_faults() {
    always(setting(&[Plain, Repeatable], 1, 2));
}

#[test]
fn a_repeatable_call_survives_three_losses() {
    let losses = Setting { losses_only: true, ..setting(&[Repeatable], 1, 3) };
    // Proves that the bound on executions is reached in this world. Otherwise the promise would be kept without being tested.
    assert!(Graph::walk(&losses, &[|world| world.ghost.executions[0] == SENDINGS_MAX], STATES_MAX).meets(0));
    always(losses);
}

#[test]
fn calls_with_an_outcome_elsewhere_survive_crashes_and_the_stop() {
    always(setting(&[Reported], 1, 2));
    always(with_stop(with_crashes(setting(&[Reported], 1, 1))));
    always(with_stop(with_crashes(setting(&[Inferred, Plain], 1, 1))));
}

#[test]
fn a_call_that_a_journal_knows_survives_faults_crashes_and_the_stop() {
    always(setting(&[Journaled], 1, 2));
    always(with_stop(with_crashes(setting(&[Journaled], 1, 1))));
    always(setting(&[Journaled, Journaled], 1, 1));
}

#[test]
fn three_calls_survive_a_bridge_that_takes_two() {
    always(setting(&[Plain, Plain, Repeatable], 2, 1));
}

#[test]
fn a_call_that_a_reload_follows_survives_faults_crashes_and_the_stop() {
    always(setting(&[Reloading], 1, 2));
    always(with_stop(with_crashes(setting(&[Reloading, Plain], 1, 1))));
}

#[test]
fn calls_over_http_survive_faults_crashes_and_the_stop() {
    let over_http = |setting| Setting { shape: Shape::Requests, ..setting };
    always(over_http(setting(&[Plain], 1, 2)));
    always(over_http(with_stop(with_crashes(setting(&[Plain, Repeatable], 1, 1)))));
    always_again(over_http(with_crashes(setting(&[Plain, Repeatable], 1, 1))));
}

fn of_jobs(jobs_survive: bool, setting: Setting) -> Setting {
    Setting { shape: Shape::Jobs, jobs_survive, ..setting }
}

/// The name of a job is lost, or what is said of it, or the job itself, with the connection or without that anything shows it.
#[test]
fn calls_that_the_editor_runs_as_jobs_survive_faults_crashes_and_the_stop() {
    for survive in [false, true] {
        always(of_jobs(survive, setting(&[Job], 1, 2)));
        always(of_jobs(survive, with_stop(with_crashes(setting(&[Job], 1, 1)))));
        always(of_jobs(survive, setting(&[Job, Plain], 1, 1)));
        always_again(of_jobs(survive, setting(&[Job, Job], 2, 1)));
    }
    always(of_jobs(true, of_a_hub(setting(&[Job], 1, 1))));
}

/// The hub is killed at any point of a call's life, also between a record and what it records, and its successor goes on with the
/// records and with what the sessions bring.
#[test]
fn calls_of_a_hub_survive_its_kill_at_every_point() {
    always(of_a_hub(setting(&[Plain], 1, 2)));
    always(of_a_hub(setting(&[Plain, Repeatable], 1, 1)));
    always(of_a_hub(Setting { losses_only: true, ..setting(&[Journaled], 1, 2) }));
    always(of_a_hub(with_crashes(setting(&[Journaled], 1, 1))));
    always(of_a_hub(setting(&[Journaled, Journaled], 1, 1)));
    always_again(of_a_hub(setting(&[Plain, Repeatable], 1, 1)));
    always_again(of_a_hub(setting(&[Journaled], 1, 1)));
}

/// A line of a hub's records is damaged, or all are lost; a session comes when its answers have been deleted, or ends while it has no
/// hub; a hub gives back what it has not sent.
#[test]
fn calls_of_a_hub_survive_harm_to_its_records_and_the_end_of_their_session() {
    always(with_harm(Setting { losses_only: true, ..setting(&[Plain], 1, 2) }));
    always(with_harm(with_stop(setting(&[Repeatable], 1, 1))));
    always(with_harm(with_stop(setting(&[Journaled], 1, 1))));
    always_again(with_harm(setting(&[Plain], 1, 1)));
}

/// Nobody brings a request then. Each call that may have run is told of once, and a call that was told to be running keeps its result.
#[test]
fn calls_of_a_hub_that_is_killed_with_its_session_are_told_of_once() {
    always(both_killed(setting(&[Plain, Journaled], 1, 1)));
    always(both_killed(Setting { losses_only: true, ..setting(&[Journaled], 1, 2) }));
    always(both_killed(Setting { losses_only: true, ..setting(&[Repeatable], 1, 2) }));
    always_again(both_killed(setting(&[Journaled], 1, 1)));
}

#[test]
fn the_way_back_to_ready_is_open_from_everywhere() {
    always_again(with_crashes(setting(&[Plain, Repeatable], 1, 1)));
    always_again(with_crashes(that_rests(setting(&[Plain], 1, 1))));
    always_again(setting(&[Plain], 1, 2));
    always_again(with_crashes(setting(&[Repeatable], 1, 2)));
    always_again(setting(&[Reported], 1, 2));
    always_again(with_crashes(setting(&[Journaled], 1, 1)));
    always_again(setting(&[Plain, Plain, Repeatable], 2, 1));
}

/// Every broken world, the promise that must notice it, and the setting in which it must.
fn broken_worlds() -> Vec<(Broken, &'static str, Setting)> {
    let plain = setting(&[Plain], 1, 2);
    let again = setting(&[Repeatable], 1, 2);
    let journaled = setting(&[Journaled], 1, 2);
    vec![
        (Broken::EpochStaysOpen, EPOCH_FENCE, plain.clone()),
        (Broken::ClaimsTwice, AT_MOST_ONCE, plain.clone()),
        (Broken::WritesBeforeClaim, NOT_EXECUTED, plain.clone()),
        (Broken::LateAnswerDelivered, ONE_ANSWER, plain.clone()),
        (Broken::OldFrameAccepted, EPOCH_FENCE, again.clone()),
        (Broken::SuccessorTooEarly, EPOCH_FENCE, with_crashes(plain.clone())),
        (Broken::DialsWithoutPermit, ONE_CONNECTION, plain.clone()),
        (Broken::DrainForgotten, NOTHING_AFTER_STOP, with_stop(plain.clone())),
        (Broken::RevokesTorn, AT_MOST_ONCE, plain.clone()),
        (Broken::EndUnsettled, SETTLED_AT_END, with_stop(plain.clone())),
        (Broken::SuccessorUnaware, NOTHING_AFTER_STOP, with_stop(with_crashes(plain.clone()))),
        (Broken::OldListCounts, WINDOW, with_crashes(plain.clone())),
        (Broken::StaleOutcomeCounts, AT_MOST_ONCE, journaled.clone()),
        (Broken::JournalDenies, AT_MOST_ONCE, journaled.clone()),
        (Broken::NeitherFencedNorSealed, AT_MOST_ONCE, journaled.clone()),
        (Broken::JournalUnasked, JOURNAL_ASKED, journaled),
        (Broken::SubmissionAgain, AT_MOST_ONCE, of_jobs(false, setting(&[Job], 1, 1))),
        (Broken::JobUnnamed, JOURNAL_ASKED, of_jobs(true, setting(&[Job], 1, 1))),
        (Broken::NameIsAnswer, ANSWER_RAN, of_jobs(true, setting(&[Job], 1, 1))),
        (Broken::LostJobUnrun, AT_MOST_ONCE, of_jobs(true, setting(&[Job], 1, 1))),
        (Broken::DoubleCounts, WINDOW, setting(&[Plain, Plain], 1, 1)),
        (Broken::PlaceKept, SETTLED_AGAIN, setting(&[Plain, Plain], 1, 1)),
        (Broken::GoodbyeUnheard, NOTHING_AFTER_GOODBYE, plain.clone()),
        (Broken::RepliesInOrder, ANSWER_RAN, setting(&[Plain, Plain], 2, 1)),
        (Broken::WakeUpLost, SETTLED_AGAIN, setting(&[Plain], 1, 0)),
        (Broken::EnlistedTooLate, SETTLED_AGAIN, with_crashes(that_rests(setting(&[Plain], 1, 1)))),
        (Broken::PermitLeaks, READY_AGAIN, setting(&[Plain], 1, 1)),
        (Broken::SendsUnrecorded, AT_MOST_ONCE, of_a_hub(setting(&[Plain], 1, 1))),
        (Broken::AnswersUnrecorded, ANSWER_KEPT, of_a_hub(setting(&[Plain], 1, 1))),
        (Broken::SendsRecordedAgain, AT_MOST_ONCE, of_a_hub(setting(&[Plain], 1, 1))),
        (Broken::SecondHub, AT_MOST_ONCE, of_a_hub(setting(&[Plain], 1, 1))),
        (Broken::DamageUnseen, AT_MOST_ONCE, with_harm(setting(&[Plain], 1, 1))),
        (Broken::DamageForgotten, AT_MOST_ONCE, with_harm(Setting { losses_only: true, ..setting(&[Plain], 1, 2) })),
        (Broken::OldIsNew, AT_MOST_ONCE, with_harm(Setting { losses_only: true, ..setting(&[Plain], 1, 2) })),
        (Broken::UnknownUnrecorded, AT_MOST_ONCE, with_harm(Setting { losses_only: true, ..setting(&[Plain], 1, 2) })),
        (Broken::AgainIsNew, NOT_EXECUTED, with_stop(of_a_hub(setting(&[Repeatable], 1, 1)))),
        (Broken::LateUnrecorded, ANSWER_KEPT, of_a_hub(setting(&[Plain], 1, 2))),
        (Broken::ToldForgotten, ANSWER_KEPT, both_killed(setting(&[Journaled], 1, 2))),
        (Broken::TellingUnrecorded, ONE_ANSWER, both_killed(Setting { losses_only: true, ..setting(&[Plain], 1, 2) })),
        (Broken::RunningCountsAsTold, LEFT_TOLD, both_killed(setting(&[Plain], 1, 2))),
        (Broken::TakesFromTheLiving, AT_MOST_ONCE, of_a_hub(setting(&[Plain], 1, 1))),
        (Broken::SendsUnrecorded, LEFT_TOLD, both_killed(setting(&[Plain], 1, 1))),
    ]
}

#[test]
fn every_broken_world_is_found_out_by_the_promise_that_it_breaks() {
    let worlds = broken_worlds();
    let planted = worlds.len();
    for (broken, promise, setting) in worlds {
        let setting = Setting { broken, ..setting };
        let found = match promise {
            READY_AGAIN | SETTLED_AGAIN => cut_off(&setting, promise),
            _ => Graph::first_breach(&setting, promise, STATES_MAX),
        };
        let trace = found.unwrap_or_else(|| panic!("{broken:?} goes unnoticed by \"{promise}\""));
        println!("\n{broken:?} breaks \"{promise}\":\n{}\n", trace.join("\n"));
    }
    let about = "The model's world broken on purpose: each break must be found out by the promise that it breaks.";
    Record::write_planted("planted-in-the-model", about, planted).expect("the record can be written");
}
