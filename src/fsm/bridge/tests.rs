use super::*;
use crate::fsm::Driver;
use crate::limits::{GREETING_TIMEOUT, GREETING_TIMEOUT_ASSUMED, LIVENESS_EVERY};
use crate::protocol::dialect::{Activity, PushEvent};

const NOTHING: Evidence = Evidence {
    editor: Sign::Unknown,
    activity: None,
    announces: Some(true),
    unpackaged: false,
    port_named: false,
    arrives: false,
};
const ALIVE: Evidence = Evidence {
    editor: Sign::Alive,
    activity: None,
    announces: Some(true),
    unpackaged: false,
    port_named: false,
    arrives: false,
};
const DEAD: Evidence = Evidence {
    editor: Sign::Dead,
    activity: None,
    announces: Some(true),
    unpackaged: false,
    port_named: false,
    arrives: false,
};
const CHECKED: Event = Event::Connected { target: 0, checked: true };
const REFUSED: Event = Event::ConnectFailed { target: 0, failure: ConnectFailure::Refused, dialled: true };
const WRONG_PROJECT: Event = Event::ConnectFailed { target: 0, failure: ConnectFailure::WrongProject, dialled: true };
/// The second target.
const REFUSED_NEXT: Event = Event::ConnectFailed { target: 1, failure: ConnectFailure::Refused, dialled: true };
const EOF: Event = Event::Disconnected(Disconnect::Eof);
const GREETED: Event = Event::Greeted { heartbeat: false };

fn offered(count: u8, evidence: Evidence) -> Event {
    Event::TargetsOffered { count, evidence }
}

fn fed(mut it: Driver<Bridge>, events: &[Event]) -> Driver<Bridge> {
    for event in events {
        let out = it.feed(event);
        assert!(!out.unexpected, "{event:?} is unexpected in {:?}", it.state());
    }
    it
}

fn new(events: &[Event]) -> Driver<Bridge> {
    fed(Driver::start(Bridge::new()).0, events)
}

/// Returns a bridge that is connected to the first of `targets` targets, with a published tool list.
fn ready(targets: u8) -> Driver<Bridge> {
    let it = new(&[Event::Wanted, offered(targets, ALIVE), CHECKED, GREETED, Event::Proven]);
    assert_eq!(it.state(), State::Ready);
    it
}

/// Like [`ready`], but connected for a while already.
fn steady(targets: u8) -> Driver<Bridge> {
    fed(ready(targets), &[Event::Elapsed(Timer::Liveness)])
}

fn availability(it: &Driver<Bridge>) -> Availability {
    it.machine().availability()
}

// ---- finding and dialling ----

#[test]
fn idle_wanted_asks_for_targets_and_dials_nobody() {
    let (mut it, _) = Driver::start(Bridge::new());
    let out = it.feed(&Event::Wanted);
    assert!(out.effects.contains(&Effect::AskTargets));
    assert!(!out.effects.iter().any(|effect| matches!(effect, Effect::Dial { .. })));
}

#[test]
fn seeking_elapsed_asks_again() {
    let mut it = new(&[Event::Wanted]);
    assert!(it.feed(&Event::Elapsed(Timer::Seek)).effects.contains(&Effect::AskTargets));
}

#[test]
fn dialing_connect_failed_yields_to_the_next_target() {
    let mut it = new(&[Event::Wanted, offered(2, NOTHING)]);
    assert_eq!(it.feed(&REFUSED).effects, [Effect::Dial { target: 1, patient: false }]);
    it.feed(&REFUSED_NEXT);
    assert_eq!((it.state(), availability(&it)), (State::BackingOff, Availability::Absent(Cause::NotRunning)));
}

#[test]
fn greeting_refused_yields_to_the_next_target_and_names_the_wrong_peer_in_the_end() {
    let mut it = new(&[Event::Wanted, offered(2, NOTHING), Event::Connected { target: 0, checked: false }]);
    let out = it.feed(&Event::GreetingRefused(ConnectFailure::WrongPeer));
    assert_eq!(out.effects.last(), Some(&Effect::Dial { target: 1, patient: false }));
    it.feed(&REFUSED_NEXT);
    assert_eq!(availability(&it), Availability::Absent(Cause::WrongPeer));
}

#[test]
fn greeting_entered_waits_long_only_for_a_checked_port() {
    for (checked, span) in [(true, GREETING_TIMEOUT), (false, GREETING_TIMEOUT_ASSUMED)] {
        let mut it = new(&[Event::Wanted, offered(2, NOTHING)]);
        let out = it.feed(&Event::Connected { target: 0, checked });
        assert!(out.effects.contains(&Effect::Arm(Timer::Greeting, span)), "{out:?}");
    }
}

#[test]
fn greeting_elapsed_yields_to_the_next_target() {
    let mut it = new(&[Event::Wanted, offered(2, NOTHING), Event::Connected { target: 0, checked: false }]);
    let out = it.feed(&Event::Elapsed(Timer::Greeting));
    assert_eq!(out.effects.last(), Some(&Effect::Dial { target: 1, patient: false }));
}

/// Two projects are open: our editor is reloading, and the editor of the other project listens on the fallback port.
#[test]
fn dialing_connect_failed_at_somebody_elses_port_does_not_hide_that_ours_is_away_for_a_moment() {
    let wrong = Event::ConnectFailed { target: 1, failure: ConnectFailure::WrongProject, dialled: true };
    let lost = [EOF, offered(2, ALIVE), wrong];
    let it = fed(steady(2), &lost);
    assert_eq!((it.state(), availability(&it)), (State::BackingOff, Availability::Coming(Cause::Lost)));
}

/// A web server listens on an outdated port from the environment, while the project's own editor is starting.
#[test]
fn greeting_refused_by_a_stranger_does_not_hide_that_our_editor_lives() {
    let it = new(&[
        Event::Wanted,
        offered(2, ALIVE),
        Event::Connected { target: 0, checked: false },
        Event::GreetingRefused(ConnectFailure::WrongPeer),
        REFUSED_NEXT,
    ]);
    assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
}

#[test]
fn dialing_connect_failed_at_the_only_port_names_the_wrong_project() {
    let mut it = new(&[Event::Wanted, offered(1, ALIVE), WRONG_PROJECT]);
    assert_eq!(availability(&it), Availability::Absent(Cause::WrongProject));
    // Another survey must not make the link `Coming` for a moment, or the hold of waiting calls would start again.
    for event in [Event::Elapsed(Timer::Retry), offered(1, ALIVE)] {
        it.feed(&event);
        assert_eq!(availability(&it), Availability::Absent(Cause::WrongProject), "after {event:?}");
    }
}

#[test]
fn seeking_targets_offered_after_ambiguity_waits_for_the_dial() {
    let nothing = Event::NothingOffered { cause: Cause::Ambiguous, evidence: NOTHING };
    let mut it = new(&[Event::Wanted, nothing]);
    assert_eq!(availability(&it), Availability::Absent(Cause::Ambiguous));
    it.feed(&Event::Elapsed(Timer::Retry));
    it.feed(&offered(1, NOTHING));
    assert_eq!(availability(&it), Availability::Coming(Cause::Connecting));
}

#[test]
fn backing_off_retries_fast_only_while_an_editor_is_likely() {
    for (evidence, likely) in [(NOTHING, false), (ALIVE, true)] {
        let mut it = new(&[Event::Wanted, offered(2, evidence), WRONG_PROJECT]);
        let out = it.feed(&REFUSED_NEXT);
        assert_eq!(out.effects, [Effect::Retry { attempt: 1, likely }]);
    }
}

#[test]
fn dialing_a_likely_editor_is_patient_until_there_is_news() {
    let starting = Evidence { activity: Some(Activity::Starting), ..ALIVE };
    for (count, evidence, patient, hurries) in [
        (1, NOTHING, false, false),
        (2, NOTHING, false, false),
        (1, ALIVE, true, true),
        (2, ALIVE, true, true),
        (1, starting, true, false),
    ] {
        let mut it = new(&[Event::Wanted]);
        let out = it.feed(&offered(count, evidence)).effects;
        assert!(out.contains(&Effect::Dial { target: 0, patient }), "{out:?}");
        let news = it.feed(&Event::NewsArrived).effects;
        assert_eq!(news == [Effect::Hurry], hurries, "{news:?}");
    }
    let mut it = new(&[Event::Wanted, offered(1, ALIVE)]);
    assert!(it.feed(&REFUSED).effects.contains(&Effect::AskTargets), "the files may name another port");
    assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
}

#[test]
fn dialing_patiently_goes_on_while_the_files_are_looked_at_until_they_say_otherwise() {
    let mut it = new(&[Event::Wanted, offered(2, ALIVE)]);
    assert_eq!(it.feed(&Event::StillRefused).effects, [Effect::AskTargets]);
    assert_eq!((it.state(), availability(&it)), (State::Dialing, Availability::Coming(Cause::BridgeDown)));
    assert!(it.feed(&offered(2, ALIVE)).effects.is_empty());
    assert_eq!(it.feed(&offered(2, DEAD)).effects, [Effect::Hurry], "an editor that was never met has ended");
    let mut it = new(&[Event::Wanted, offered(2, ALIVE)]);
    let out = it.feed(&Event::NothingOffered { cause: Cause::NotRunning, evidence: DEAD }).effects;
    assert_eq!(out, [Effect::HangUp(Loss::Disconnect), Effect::Retry { attempt: 1, likely: false }]);
    let mut it = fed(steady(1), &[EOF, offered(1, NOTHING), Event::Elapsed(Timer::Hope)]);
    assert_eq!(it.feed(&Event::StillRefused).effects, [Effect::Hurry], "it was lost long ago");
}

#[test]
fn dialing_only_refusal_keeps_a_round_patient() {
    let failed = |target, failure, dialled| Event::ConnectFailed { target, failure, dialled };
    for failure in [ConnectFailure::WrongProject, ConnectFailure::TimedOut, ConnectFailure::Vanished] {
        let mut it = new(&[Event::Wanted, offered(3, ALIVE)]);
        let out = it.feed(&failed(1, failure, true)).effects;
        assert_eq!(out, [Effect::Dial { target: 2, patient: false }], "{failure:?}");
        let out = it.feed(&failed(2, ConnectFailure::Refused, true)).effects;
        assert_eq!(out, [Effect::Retry { attempt: 1, likely: true }], "{failure:?}");
    }
    // Somebody else's port, as is known from a moment ago, does not slow down the others.
    let mut it = new(&[Event::Wanted, offered(2, ALIVE)]);
    let out = it.feed(&failed(0, ConnectFailure::WrongProject, false)).effects;
    assert_eq!(out, [Effect::Dial { target: 1, patient: true }]);
    assert_eq!(it.feed(&Event::Connected { target: 1, checked: true }).effects.last(), Some(&Effect::Greet));
    let out = it.feed(&EOF).effects;
    assert_eq!(out.last(), Some(&Effect::Retry { attempt: 1, likely: true }), "what was greeted for nothing");
    assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
}

#[test]
fn backing_off_a_call_that_waited_is_no_evidence_for_ever() {
    // Only the ledger knows whether a call still waits, because it answers calls without an event to the bridge.
    let mut it = new(&[Event::CallsWaiting, offered(1, NOTHING)]);
    assert_eq!(it.feed(&REFUSED).effects, [Effect::Retry { attempt: 1, likely: false }]);
}

#[test]
fn backing_off_calls_waiting_and_news_cut_the_wait_short() {
    for event in [Event::CallsWaiting, Event::NewsArrived] {
        let mut it = new(&[Event::Wanted, offered(1, NOTHING), REFUSED]);
        assert_eq!(it.feed(&event).effects, [Effect::ShortenRetry]);
    }
}

// ---- connected ----

#[test]
fn ready_stall_shows_until_the_editor_is_heard_of() {
    let mut it = fed(ready(1), &[Event::StallBegan]);
    assert_eq!((it.state(), availability(&it)), (State::Stalled, Availability::Open));
    assert!(it.feed(&Event::StallEnded).effects.is_empty());
    assert_eq!(it.state(), State::Ready);
}

#[test]
fn ready_silent_gives_the_connection_up() {
    for before in [&[][..], &[Event::StallBegan], &[Event::LeavingAnnounced(LeaveReason::Reload)]] {
        let out = fed(ready(1), before).feed(&Event::Silent);
        assert!(out.effects.contains(&Effect::HangUp(Loss::Silence)), "{out:?}");
    }
}

#[test]
fn ready_elapsed_liveness_looks_at_the_process() {
    let mut it = ready(1);
    assert!(it.feed(&Event::CallsWaiting).effects.is_empty(), "the connection takes the call itself");
    let out = it.feed(&Event::Elapsed(Timer::Liveness));
    assert_eq!(out.effects, [Effect::CheckEditor, Effect::Arm(Timer::Liveness, LIVENESS_EVERY)]);
}

// ---- losing it ----

#[test]
fn ready_disconnected_after_a_reload_was_announced_is_a_reload() {
    let mut it = fed(steady(1), &[Event::LeavingAnnounced(LeaveReason::Reload)]);
    assert_eq!((it.state(), availability(&it)), (State::Leaving, Availability::Coming(Cause::Reloading)));
    assert!(it.feed(&EOF).effects.contains(&Effect::HangUp(Loss::Reload)));
    assert_eq!(availability(&it), Availability::Coming(Cause::Reloading));
}

#[test]
fn leaving_elapsed_hangs_up_on_an_editor_that_stays() {
    let mut it = fed(ready(1), &[Event::LeavingAnnounced(LeaveReason::Quit)]);
    let out = it.feed(&Event::Elapsed(Timer::Leave));
    assert!(out.effects.contains(&Effect::HangUp(Loss::Quit)));
    assert_eq!(availability(&it), Availability::Absent(Cause::Closed));
}

#[test]
fn leaving_editor_vanished_after_its_goodbye_is_no_crash() {
    let mut it = fed(steady(1), &[Event::LeavingAnnounced(LeaveReason::Quit)]);
    assert!(it.feed(&Event::EditorVanished).effects.contains(&Effect::HangUp(Loss::Quit)));
    assert_eq!(availability(&it), Availability::Absent(Cause::Closed));
}

#[test]
fn ready_editor_vanished_is_a_crash() {
    let it = fed(steady(1), &[Event::EditorVanished]);
    assert_eq!(availability(&it), Availability::Coming(Cause::ProcessGone));
    assert_eq!(availability(&fed(it, &[offered(1, DEAD)])), Availability::Coming(Cause::Crashed));
}

#[test]
fn an_editor_that_could_not_be_heard_any_more_may_have_said_goodbye() {
    let gone = |events: &[Event]| availability(&fed(fed(steady(1), events), &[offered(1, DEAD)])).cause();
    let later = [EOF, offered(1, ALIVE), REFUSED, Event::Elapsed(Timer::Retry)];
    assert_eq!(gone(&[EOF]), Some(Cause::Crashed));
    assert_eq!(gone(&later), Some(Cause::ProcessGone), "it lived on without a connection");
    assert_eq!(gone(&[Event::Disconnected(Disconnect::Protocol)]), Some(Cause::ProcessGone), "we hung up");
    assert_eq!(gone(&[Event::Silent]), Some(Cause::ProcessGone), "we hung up");
    assert_eq!(gone(&[Event::LeavingAnnounced(LeaveReason::Reload), EOF]), Some(Cause::ProcessGone), "amid a reload");
    assert_eq!(
        gone(&[Event::LeavingAnnounced(LeaveReason::Unknown), EOF]),
        Some(Cause::ProcessGone),
        "it said goodbye"
    );
    let unknown = Evidence { announces: None, ..DEAD };
    assert_eq!(availability(&fed(steady(1), &[EOF, offered(1, unknown)])).cause(), Some(Cause::ProcessGone));
}

#[test]
fn ready_disconnected_looks_at_once_if_it_lasted_and_backs_off_if_not() {
    let mut it = steady(1);
    it.feed(&EOF);
    assert_eq!(it.state(), State::Seeking);
    let mut it = ready(1);
    let out = it.feed(&EOF);
    assert!(out.effects.contains(&Effect::Retry { attempt: 1, likely: true }), "{out:?}");
}

#[test]
fn ready_disconnected_again_and_again_without_a_list_gets_slower() {
    let mut it = new(&[Event::Wanted]);
    for round in 1..=3 {
        let it = &mut it;
        for event in [offered(1, NOTHING), CHECKED, GREETED] {
            it.feed(&event);
        }
        let out = it.feed(&EOF);
        assert!(out.effects.iter().any(|effect| matches!(effect, Effect::Retry { attempt, .. } if *attempt == round)));
        it.feed(&Event::Elapsed(Timer::Retry));
    }
}

#[test]
fn away_elapsed_hope_ends_the_holding() {
    let mut it = fed(steady(1), &[EOF, offered(1, NOTHING), REFUSED]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Lost));
    it.feed(&Event::Elapsed(Timer::Hope));
    assert_eq!(availability(&it), Availability::Absent(Cause::Lost));
}

#[test]
fn away_what_was_surveyed_before_the_connection_is_no_evidence_after_it() {
    let it = fed(steady(1), &[EOF, Event::Elapsed(Timer::Hope)]);
    assert_eq!((it.state(), availability(&it)), (State::Seeking, Availability::Absent(Cause::Lost)));
}

#[test]
fn seeking_offered_with_lock_files_names_what_the_editor_does() {
    for (activity, cause) in [(Activity::Compiling, Cause::Compiling), (Activity::Reloading, Cause::Reloading)] {
        let evidence = Evidence {
            editor: Sign::Unknown,
            activity: Some(activity),
            announces: Some(true),
            unpackaged: false,
            port_named: false,
            arrives: false,
        };
        let it = fed(steady(1), &[EOF, offered(1, evidence), REFUSED]);
        assert_eq!(availability(&it), Availability::Coming(cause));
    }
}

#[test]
fn seeking_offered_of_a_living_editor_presumes_a_reload_only_where_the_package_tells_of_none() {
    let mute = Evidence { announces: Some(false), ..ALIVE };
    let unknown = Evidence { announces: None, ..ALIVE };
    for (evidence, cause) in [(ALIVE, Cause::Lost), (unknown, Cause::Lost), (mute, Cause::BridgeStopped)] {
        let mut it = fed(steady(1), &[EOF, offered(1, evidence), REFUSED]);
        assert_eq!(availability(&it), Availability::Coming(cause));
        // If the bridge stays away for too long, it is no longer assumed to reload.
        let later = [Event::Elapsed(Timer::Hope), Event::Elapsed(Timer::Retry), offered(1, evidence)];
        for event in later {
            it.feed(&event);
        }
        assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
    }
}

#[test]
fn a_silent_editor_that_connects_to_us_stays_silent_until_it_comes() {
    let arrives = Evidence { arrives: true, announces: Some(false), ..ALIVE };
    let mut it = fed(steady(1), &[Event::Silent, offered(1, arrives), REFUSED]);
    for event in [Event::Elapsed(Timer::Retry), offered(1, arrives), REFUSED] {
        assert_eq!(availability(&it), Availability::Coming(Cause::Stalled));
        it.feed(&event);
    }
    let mut it = fed(it, &[Event::Elapsed(Timer::Retry), offered(1, Evidence { editor: Sign::Dead, ..arrives })]);
    it.feed(&REFUSED);
    assert_eq!(availability(&it), Availability::Coming(Cause::ProcessGone));
}

#[test]
fn a_silent_editor_stays_silent_whatever_is_surveyed_until_nobody_listens() {
    let silent = [Event::Silent];
    let again = [offered(1, ALIVE), CHECKED, Event::Elapsed(Timer::Greeting), Event::Elapsed(Timer::Retry)];
    let mut it = fed(fed(steady(1), &silent), &again);
    assert_eq!(availability(&it), Availability::Coming(Cause::Stalled));
    it.feed(&Event::Elapsed(Timer::Hope));
    let mut it = fed(it, &again);
    assert_eq!(availability(&it), Availability::Coming(Cause::Stalled));
    for event in [offered(1, ALIVE), REFUSED, Event::Elapsed(Timer::Retry), offered(1, ALIVE)] {
        it.feed(&event);
    }
    assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
}

#[test]
fn seeking_offered_with_a_dead_pid_ends_the_holding_soon() {
    let mut it = fed(steady(1), &[EOF]);
    let out = it.feed(&offered(1, DEAD));
    assert!(out.effects.contains(&Effect::Arm(Timer::Hope, LIKELY_AFTER_CRASH)), "{out:?}");
    let mut it = fed(it, &[REFUSED, Event::Elapsed(Timer::Retry)]);
    // The timer is armed only once, however often the dead process is seen. If the process is alive, calls are held again.
    assert!(!it.feed(&offered(1, DEAD)).effects.contains(&Effect::Arm(Timer::Hope, LIKELY_AFTER_CRASH)));
    let mut it = fed(it, &[REFUSED, Event::Elapsed(Timer::Hope)]);
    assert_eq!(availability(&it), Availability::Absent(Cause::Crashed));
    for event in [Event::Elapsed(Timer::Retry), offered(1, ALIVE)] {
        it.feed(&event);
    }
    assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
}

/// The editor starts, and ends before its bridge listens. Its files stay, or go with it.
#[test]
fn an_editor_that_was_never_met_is_not_called_running_once_its_process_is_gone() {
    for evidence in [DEAD, NOTHING] {
        let mut it = new(&[Event::Wanted, offered(1, ALIVE), REFUSED]);
        assert_eq!(availability(&it), Availability::Coming(Cause::BridgeDown));
        for event in [Event::Elapsed(Timer::Retry), offered(1, evidence), REFUSED] {
            it.feed(&event);
        }
        assert_eq!(availability(&it), Availability::Absent(Cause::NotRunning), "{evidence:?}");
    }
}

/// Another program has taken the port of an editor that crashed.
#[test]
fn a_stranger_at_the_port_of_a_dead_editor_is_no_reason_to_hope_anew() {
    let unproven = Event::ConnectFailed { target: 0, failure: ConnectFailure::Unproven, dialled: true };
    let mut it = fed(steady(1), &[EOF, offered(1, DEAD), unproven, Event::Elapsed(Timer::Retry)]);
    for _ in 0..3 {
        let out = it.feed(&offered(1, DEAD)).effects;
        assert!(!out.iter().any(|effect| matches!(effect, Effect::Arm(Timer::Hope, _))), "{out:?}");
        it = fed(it, &[unproven, Event::Elapsed(Timer::Retry)]);
    }
    let it = fed(it, &[Event::Elapsed(Timer::Hope), offered(1, DEAD), unproven]);
    assert!(matches!(availability(&it), Availability::Absent(_)), "{:?}", availability(&it));
}

#[test]
fn an_offer_without_the_port_of_a_dial_or_greeting_ends_it() {
    for before in [&[offered(2, ALIVE)][..], &[offered(2, ALIVE), CHECKED]] {
        let mut it = fed(new(&[Event::Wanted]), before);
        let out = it.feed(&Event::TargetGone).effects;
        assert!(out.contains(&Effect::HangUp(Loss::Disconnect)) && out.contains(&Effect::AskTargets), "{out:?}");
    }
    assert!(ready(1).feed(&Event::TargetGone).effects.is_empty(), "the connection that works is kept");
}

#[test]
fn seeking_offered_with_a_dead_pid_is_a_crash_of_an_editor_that_was_met() {
    let it = fed(steady(1), &[EOF, offered(1, DEAD), REFUSED]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Crashed));
    let it = new(&[Event::Wanted, offered(1, DEAD), REFUSED]);
    assert_eq!(availability(&it), Availability::Absent(Cause::NotRunning));
}

/// An editor that quits removes its instance file. A later editor is another one, whatever the surveys in between found.
#[test]
fn seeking_offered_after_a_quit_hopes_for_the_next_editor() {
    for gone in [NOTHING, DEAD] {
        let goodbye = [Event::LeavingAnnounced(LeaveReason::Quit), EOF, offered(1, gone), REFUSED];
        let mut it = fed(steady(1), &goodbye);
        assert_eq!(availability(&it), Availability::Absent(Cause::Closed));
        it.feed(&Event::Elapsed(Timer::Retry));
        it.feed(&offered(1, ALIVE));
        assert_eq!(availability(&it), Availability::Coming(Cause::Connecting), "after {gone:?}");
    }
}

#[test]
fn seeking_offered_while_the_editor_that_said_goodbye_lives_stays_closed() {
    let goodbye = [Event::LeavingAnnounced(LeaveReason::Quit), EOF, offered(1, ALIVE), REFUSED];
    assert_eq!(availability(&fed(steady(1), &goodbye)), Availability::Absent(Cause::Closed));
}

// ---- hints ----

#[test]
fn ready_hint_received_of_an_end_decides_nothing() {
    for hint in [PushEvent::UnityShutdown, PushEvent::UserDisconnect] {
        let mut it = steady(1);
        assert!(it.feed(&Event::HintReceived(hint)).effects.is_empty());
        assert_eq!((it.state(), availability(&it)), (State::Ready, Availability::Open));
        assert!(it.feed(&EOF).effects.contains(&Effect::HangUp(Loss::Disconnect)), "{hint:?}");
        assert_eq!(availability(&it), Availability::Coming(Cause::Lost));
    }
}

#[test]
fn ready_hint_received_of_a_reload_names_what_follows_at_once_and_nothing_later() {
    let hinted = fed(steady(1), &[Event::HintReceived(PushEvent::DomainReload)]);
    assert_eq!((hinted.state(), availability(&hinted)), (State::Ready, Availability::Open));
    let mut it = hinted;
    it.feed(&EOF);
    assert_eq!(availability(&it), Availability::Coming(Cause::Reloading));
    let late = [Event::HintReceived(PushEvent::DomainReload), Event::Elapsed(Timer::Leave), EOF];
    assert_eq!(availability(&fed(steady(1), &late)), Availability::Coming(Cause::Lost));
}

#[test]
fn leaving_hint_received_changes_nothing_of_what_the_connection_said() {
    for hint in [PushEvent::UnityShutdown, PushEvent::UserDisconnect, PushEvent::DomainReloadRecovered] {
        let announced = [Event::LeavingAnnounced(LeaveReason::Reload), Event::HintReceived(hint)];
        let mut it = fed(steady(1), &announced);
        assert_eq!(availability(&it), Availability::Coming(Cause::Reloading), "{hint:?}");
        assert!(it.feed(&EOF).effects.contains(&Effect::HangUp(Loss::Reload)), "{hint:?}");
    }
    let quits = [Event::LeavingAnnounced(LeaveReason::Quit), Event::HintReceived(PushEvent::DomainReload)];
    assert_eq!(availability(&fed(steady(1), &quits)), Availability::Absent(Cause::Closed));
}

#[test]
fn away_hint_received_of_a_reload_names_only_what_is_not_known_better() {
    let hint = Event::HintReceived(PushEvent::DomainReload);
    assert_eq!(availability(&fed(steady(1), &[EOF, hint])), Availability::Coming(Cause::Reloading));
    let crashed = [EOF, offered(1, DEAD), REFUSED, hint];
    assert_eq!(availability(&fed(steady(1), &crashed)), Availability::Coming(Cause::Crashed));
    let silent = [Event::Silent, hint];
    assert_eq!(availability(&fed(steady(1), &silent)), Availability::Coming(Cause::Stalled));
}

#[test]
fn away_hint_received_never_makes_an_open_question_a_no() {
    let it = new(&[Event::Wanted, Event::HintReceived(PushEvent::DomainReload)]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Connecting));
}

#[test]
fn backing_off_hint_received_of_a_recovery_dials_at_once() {
    let mut it = new(&[Event::Wanted, offered(1, NOTHING), REFUSED]);
    let out = it.feed(&Event::HintReceived(PushEvent::DomainReloadRecovered));
    assert_eq!(out.effects, [Effect::ShortenRetry]);
}

#[test]
fn backing_off_calls_waiting_does_not_hurry_the_dial_of_an_editor_that_reloads() {
    let reloading = [Event::LeavingAnnounced(LeaveReason::Reload), EOF];
    let mut it = fed(steady(1), &reloading);
    assert!(it.feed(&Event::CallsWaiting).effects.is_empty());
    let mut it = fed(
        steady(1),
        &[
            &reloading[..],
            &[Event::NothingOffered { cause: Cause::NotRunning, evidence: NOTHING }, Event::Elapsed(Timer::Hope)],
        ]
        .concat(),
    );
    assert_eq!(it.feed(&Event::CallsWaiting).effects, [Effect::ShortenRetry], "it is tried seldom");
}

#[test]
fn backing_off_an_editor_that_turns_out_to_live_is_dialled_at_once() {
    let mut it = new(&[Event::Wanted, offered(1, NOTHING), REFUSED]);
    assert!(it.feed(&offered(1, ALIVE)).effects.contains(&Effect::ShortenRetry));
    assert!(!it.feed(&offered(1, ALIVE)).effects.contains(&Effect::ShortenRetry));
}

// ---- after a crash of ours, and the end ----

#[test]
fn idle_after_loss_holds_as_its_predecessor_did() {
    let (it, _) = Driver::start(Bridge::after_loss());
    let it = fed(it, &[Event::Wanted, offered(1, NOTHING), REFUSED]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Lost));
}

#[test]
fn up_stop_requested_drains_what_is_owed() {
    for last in [Event::NothingOwed, Event::Elapsed(Timer::Drain), EOF] {
        let mut it = ready(1);
        assert!(it.feed(&Event::StopRequested).effects.contains(&Effect::EndSending));
        assert_eq!(it.state(), State::Draining);
        assert!(it.feed(&last).effects.contains(&Effect::HangUp(Loss::Shutdown)));
        assert_eq!(it.state(), State::Stopped);
    }
}

#[test]
fn away_stop_requested_hangs_up_on_a_dial_under_way() {
    let mut it = new(&[Event::Wanted, offered(1, NOTHING)]);
    assert!(it.feed(&Event::StopRequested).effects.contains(&Effect::HangUp(Loss::Shutdown)));
    assert_eq!(it.state(), State::Stopped);
}

// ---- another project ----

#[test]
fn up_project_changed_waits_for_what_was_sent_and_sends_nothing_more() {
    for last in [Event::NothingOwed, Event::NobodyWaits] {
        let mut it = steady(1);
        let out = it.feed(&Event::ProjectChanged).effects;
        assert!(out.contains(&Effect::EndSending) && out.contains(&Effect::AwaitClients), "{out:?}");
        assert_eq!((it.state(), availability(&it)), (State::Parting, Availability::Coming(Cause::ProjectUnsettled)));
        for event in [Event::CallsWaiting, Event::Proven, Event::ProjectChanged, Event::StallBegan] {
            let out = it.feed(&event).effects;
            assert!(out.is_empty() && it.state() == State::Parting, "{event:?}: {out:?}");
        }
        let out = it.feed(&last).effects;
        assert!(out.contains(&Effect::HangUp(Loss::ProjectChanged)) && out.contains(&Effect::TellDown), "{out:?}");
        assert_eq!(it.state(), State::Seeking);
        assert!(it.machine().undecided(), "what was known of the former editor says nothing of this one");
    }
}

/// The shell checks the process of the connected target; the process of another target may be dead.
#[test]
fn parting_keeps_the_target_that_it_is_connected_to() {
    let connected = Event::Connected { target: 1, checked: true };
    let it = new(&[Event::Wanted, offered(2, ALIVE), connected, GREETED, Event::Proven, Event::ProjectChanged]);
    assert_eq!((it.state(), it.machine().target()), (State::Parting, 1));
}

#[test]
fn parting_disconnected_is_told_as_what_it_is() {
    let parting = || fed(ready(1), &[Event::ProjectChanged]);
    for (event, loss) in
        [(EOF, Loss::Disconnect), (Event::EditorVanished, Loss::Disconnect), (Event::Silent, Loss::Silence)]
    {
        let mut it = parting();
        assert!(it.feed(&event).effects.contains(&Effect::HangUp(loss)), "{event:?}");
        assert_eq!(it.state(), State::Seeking);
    }
}

#[test]
fn parting_editor_vanished_after_its_goodbye_has_quit() {
    let quit = Event::LeavingAnnounced(LeaveReason::Quit);
    let mut it = fed(ready(1), &[Event::ProjectChanged, quit]);
    assert!(it.feed(&Event::EditorVanished).effects.contains(&Effect::HangUp(Loss::Quit)));
}

#[test]
fn dialing_and_greeting_project_changed_begin_anew() {
    for before in [&[Event::Wanted, offered(1, ALIVE)][..], &[Event::Wanted, offered(1, ALIVE), CHECKED]] {
        let mut it = new(before);
        let out = it.feed(&Event::ProjectChanged).effects;
        assert!(out.contains(&Effect::HangUp(Loss::ProjectChanged)) && out.contains(&Effect::AskTargets), "{out:?}");
    }
}

#[test]
fn away_project_changed_forgets_how_the_former_editor_ended() {
    let mut it = fed(steady(1), &[Event::EditorVanished, offered(0, DEAD)]);
    assert_eq!((it.state(), availability(&it).cause()), (State::BackingOff, Some(Cause::Crashed)));
    it.feed(&Event::ProjectChanged);
    assert_eq!((it.state(), availability(&it).cause()), (State::Seeking, Some(Cause::Connecting)));
}

#[test]
fn an_editor_that_dies_in_a_reload_before_the_first_connection_is_not_said_to_reload() {
    let reloading = Evidence { activity: Some(Activity::Reloading), ..ALIVE };
    let it = new(&[Event::Wanted, offered(1, reloading), REFUSED]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Reloading));
    let it = fed(it, &[offered(1, Evidence { activity: Some(Activity::Reloading), ..DEAD })]);
    assert_eq!(availability(&it).cause(), Some(Cause::NotRunning));
}

#[test]
fn an_editor_whose_project_has_no_package_is_told_as_that_until_there_is_one() {
    for evidence in [NOTHING, ALIVE, DEAD] {
        let bare = Evidence { unpackaged: true, ..evidence };
        let refused = new(&[Event::Wanted, offered(1, bare), REFUSED]);
        assert_eq!(availability(&refused), Availability::Absent(Cause::NoPackage), "whether Unity runs or not");
        let it = fed(refused, &[offered(1, ALIVE)]);
        assert!(!availability(&it).cause().unwrap().needs_the_user(), "the package was installed");
    }
    let bare = Evidence { unpackaged: true, ..ALIVE };
    let it = fed(ready(1), &[EOF, Event::Elapsed(Timer::Retry), offered(1, bare), REFUSED]);
    assert_ne!(availability(&it).cause(), Some(Cause::NoPackage), "an editor that was connected has one");
}

#[test]
fn a_project_that_is_not_known_is_told_at_once_and_forgotten_when_it_is() {
    let nowhere = Event::NothingOffered { cause: Cause::ProjectUnknown, evidence: NOTHING };
    let it = new(&[Event::Wanted, nowhere]);
    assert_eq!(availability(&it), Availability::Absent(Cause::ProjectUnknown));
    let it = fed(it, &[Event::Elapsed(Timer::Retry), offered(1, NOTHING)]);
    assert_eq!(availability(&it), Availability::Coming(Cause::Connecting));
}
