//! Walks through all states of routing: which editor a session means, whatever its client says, and in whatever order.

use chaos_tests::model::routing::{ASTRAY, Action, Broken, Setting, WAITS, World};
use chaos_tests::record::Record;
use stateright::{Checker, Expectation, Model, Path};

/// The greatest number of states that a walk may have.
const STATES_MAX: usize = 500_000;

fn settings() -> Vec<Setting> {
    let places = [
        (None, None, false, true),
        (None, None, false, false),
        (None, Some(0), false, false),
        (Some(1), Some(0), false, true),
        (None, None, true, false),
        (None, Some(0), true, false),
        (Some(1), None, true, false),
    ];
    places
        .map(|(named, working_dir, at_port, of_others)| Setting {
            named,
            working_dir,
            at_port,
            of_others,
            statements: 3,
            requests: 2,
            changes: 2,
            broken: Broken::Nothing,
        })
        .to_vec()
}

fn told(path: &Path<World, Action>) -> String {
    path.clone().into_vec().iter().map(|(world, action)| format!("{action:?}\n    {world:?}\n")).collect()
}

#[test]
fn each_request_goes_where_the_clients_last_word_leads_and_none_waits_for_nothing() {
    for setting in settings() {
        let checker = setting.clone().checker().threads(2).spawn_bfs().join();
        let states = checker.unique_state_count();
        println!("{setting:?}: {states} states, depth {}", checker.max_depth());
        assert!(checker.is_done() && states <= STATES_MAX, "{states} states");
        for property in setting.properties() {
            let found = checker.discovery(property.name);
            match property.expectation {
                Expectation::Always => {
                    let way = found.map(|path| told(&path));
                    assert!(way.is_none(), "{setting:?}\nbreaks \"{}\":\n{}", property.name, way.unwrap_or_default());
                }
                _ => assert!(found.is_some(), "{setting:?}: not a single time: {}", property.name),
            }
        }
    }
}

#[test]
fn each_fault_that_is_planted_in_routing_is_found() {
    let planted =
        [(Broken::OldSurveyCounts, ASTRAY), (Broken::RootsTimerForgotten, WAITS), (Broken::AnswerUnnoted, WAITS)];
    for (broken, promise) in planted {
        let found = settings().into_iter().any(|setting| {
            let checker = Setting { broken, ..setting }.checker().threads(2).spawn_bfs().join();
            checker.discovery(promise).is_some()
        });
        assert!(found, "{broken:?} goes unnoticed by \"{promise}\"");
    }
    let about = "Faults planted in how it is decided which editor a session means: each must be found out.";
    Record::write_planted("planted-in-routing", about, planted.len()).expect("the record can be written");
}
