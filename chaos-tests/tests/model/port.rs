//! Walks through all states of the port: what two sessions and the process that has their link say to each other.

use chaos_tests::model::port::{Action, Broken, KEPT, NEWEST, ONCE, SETTLED, Setting, TWICE, World};
use chaos_tests::record::Record;
use stateright::{Checker, Expectation, HasDiscoveries, Model, Path};

/// The greatest number of states that a walk may have.
const STATES_MAX: usize = 1_500_000;

fn settings() -> Vec<Setting> {
    let none = Setting {
        calls: 1,
        journal: true,
        kills: 0,
        stills: 0,
        session_kills: 0,
        reloads: 0,
        impatience: 0,
        broken: Broken::Nothing,
    };
    let two = Setting { calls: 2, ..none.clone() };
    vec![
        Setting { kills: 1, ..two.clone() },
        Setting { reloads: 1, ..two.clone() },
        Setting { session_kills: 1, ..two },
        Setting { kills: 1, reloads: 1, ..none.clone() },
        Setting { kills: 1, stills: 1, ..none.clone() },
        Setting { journal: false, reloads: 1, stills: 1, ..none.clone() },
        Setting { session_kills: 1, kills: 1, stills: 1, ..none.clone() },
        Setting { impatience: 1, kills: 1, reloads: 1, ..none.clone() },
        Setting { reloads: 2, ..none },
    ]
}

fn told(path: &Path<World, Action>) -> String {
    path.clone().into_vec().iter().map(|(world, action)| format!("{action:?}\n    {world:?}\n")).collect()
}

#[test]
fn two_sessions_and_a_link_keep_every_promise_over_the_port() {
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
fn each_fault_that_is_planted_in_the_port_is_found() {
    let planted = [
        (Broken::SettlesTwice, TWICE),
        (Broken::OlderSeenTaken, NEWEST),
        (Broken::FormerSeenTaken, NEWEST),
        (Broken::OriginNotLookedUp, ONCE),
        (Broken::TwoOwners, ONCE),
        (Broken::SendsFirst, ONCE),
        (Broken::ForgetsRunning, KEPT),
        (Broken::NothingSaidAgain, SETTLED),
    ];
    for (broken, promise) in planted {
        let found = settings().into_iter().any(|setting| {
            let checker = Setting { broken, ..setting }
                .checker()
                .threads(2)
                .finish_when(HasDiscoveries::AnyFailures)
                .spawn_bfs()
                .join();
            checker.discovery(promise).is_some()
        });
        assert!(found, "{broken:?} goes unnoticed by \"{promise}\"");
    }
    let about = "Faults planted in what sessions and links say to each other: each must be found out.";
    Record::write_planted("planted-in-the-port", about, planted.len()).expect("the record can be written");
}
