use super::*;
use crate::fsm::Driver;
use crate::fsm::tests::{Charted, walk};

const HELD: &[Event] = &[Event::Queued];
const CLAIM: Event = Event::Claimed { recoverable: false, repeatable: false };
const CLAIM_REPEATABLE: Event = Event::Claimed { recoverable: false, repeatable: true };
const CLAIM_RECOVERABLE: Event = Event::Claimed { recoverable: true, repeatable: false };

fn call(events: &[Event]) -> Driver<Call> {
    let (mut call, _) = Driver::start(Call::default());
    for event in HELD.iter().chain(events) {
        call.feed(event);
    }
    call
}

fn last(events: &[Event]) -> (State, Vec<Effect>) {
    let (event, before) = events.split_last().unwrap();
    let mut call = call(before);
    let effects = call.feed(event).effects;
    (call.state(), effects)
}

#[test]
fn held_refused_answers_not_executed() {
    let end = last(&[Event::Refused(Cause::TooLarge)]);
    assert_eq!(end, (State::Answered, vec![Effect::Answer(Verdict::NotExecuted(Cause::TooLarge))]));
}

#[test]
fn held_claimed_says_nothing_yet() {
    assert_eq!(last(&[CLAIM]), (State::Sent, vec![]));
}

#[test]
fn sent_reply_arrived_answers_once() {
    let mut it = call(&[CLAIM]);
    assert_eq!(it.feed(&Event::ReplyArrived { error: true }).effects, [Effect::Answer(Verdict::ToolError)]);
    assert!(it.feed(&Event::ReplyArrived { error: false }).effects.is_empty());
}

#[test]
fn sent_epoch_closed_is_unknown_unless_it_may_be_repeated_or_learned() {
    let lost = Event::EpochClosed(Loss::Reload);
    let unknown = vec![Effect::Answer(Verdict::OutcomeUnknown(Loss::Reload))];
    assert_eq!(last(&[CLAIM, lost]), (State::Uncertain, unknown));
    assert_eq!(last(&[CLAIM_REPEATABLE, lost]), (State::Held, vec![]));
    assert_eq!(last(&[CLAIM_RECOVERABLE, lost]), (State::Recovering, vec![Effect::Recover]));
}

#[test]
fn sent_epoch_closed_by_shutdown_is_unknown_whatever_it_may() {
    for claim in [CLAIM, CLAIM_REPEATABLE, CLAIM_RECOVERABLE] {
        let (state, effects) = last(&[claim, Event::EpochClosed(Loss::Shutdown)]);
        assert_eq!(state, State::Uncertain);
        assert_eq!(effects, [Effect::Answer(Verdict::OutcomeUnknown(Loss::Shutdown))]);
    }
}

#[test]
fn sent_claim_revoked_counts_no_sending() {
    let mut it = call(&[CLAIM_REPEATABLE, Event::ClaimRevoked]);
    assert_eq!((it.state(), it.machine().sendings), (State::Held, 0));
    assert_eq!(it.feed(&Event::Refused(Cause::Closed)).effects, [Effect::Answer(Verdict::NotExecuted(Cause::Closed))]);
}

#[test]
fn held_again_hold_ended_is_unknown_since_it_may_have_run() {
    let (state, effects) =
        last(&[CLAIM_REPEATABLE, Event::EpochClosed(Loss::Disconnect), Event::HoldEnded(Cause::NotRunning)]);
    assert_eq!((state, effects), (State::Uncertain, vec![Effect::Answer(Verdict::OutcomeUnknown(Loss::Disconnect))]));
}

#[test]
fn abandoned_reply_arrived_is_kept_and_never_answered() {
    let (state, effects) = last(&[CLAIM, Event::PatienceEnded, Event::ReplyArrived { error: false }]);
    assert_eq!((state, effects), (State::Answered, vec![Effect::KeepLate, Effect::Note(Verdict::Ok)]));
}

#[test]
fn cancelled_reply_arrived_is_kept_and_never_answered() {
    let (state, effects) = last(&[CLAIM, Event::CancelledByClient, Event::ReplyArrived { error: false }]);
    assert_eq!((state, effects), (State::Cancelled, vec![Effect::KeepLate, Effect::Note(Verdict::Ok)]));
}

#[test]
fn a_call_that_is_turned_away_is_held_again_a_bounded_number_of_times() {
    let mut driver = Driver::start(Call::default()).0;
    driver.feed(&Event::Queued);
    for sending in 1..=SENDINGS_MAX {
        driver.feed(&Event::Claimed { recoverable: false, repeatable: false });
        let out = driver.feed(&Event::TurnedAway(Cause::WrongProject));
        if sending < SENDINGS_MAX {
            assert!(driver.state() == State::Held && out.effects.is_empty(), "{:?}", out.effects);
        } else {
            assert_eq!(
                (driver.state(), out.effects),
                (State::Answered, vec![Effect::Answer(Verdict::NotExecuted(Cause::WrongProject))])
            );
        }
    }
}

/// The events of a repeatable call whose first sending is lost, and then these.
fn lost_once(then: &[Event]) -> Vec<Event> {
    [&[CLAIM_REPEATABLE, Event::EpochClosed(Loss::Disconnect)], then].concat()
}

#[test]
fn a_call_that_is_turned_away_to_the_last_is_unknown_if_an_earlier_sending_may_have_run() {
    let again = [Event::TurnedAway(Cause::WrongProject), CLAIM_REPEATABLE];
    let away = lost_once(&[&[CLAIM_REPEATABLE], &again[..], &[Event::TurnedAway(Cause::WrongProject)]].concat());
    let unknown = Verdict::OutcomeUnknown(Loss::Disconnect);
    assert_eq!(last(&away), (State::Uncertain, vec![Effect::Answer(unknown)]));
    let late = lost_once(&[CLAIM_REPEATABLE, Event::PatienceEnded, Event::TurnedAway(Cause::WrongProject)]);
    assert_eq!(last(&late), (State::Uncertain, vec![Effect::Note(unknown)]));
}

#[test]
fn an_abandoned_call_that_did_not_run_is_uncertain_if_an_earlier_sending_may_have_run() {
    let unknown = Effect::Note(Verdict::OutcomeUnknown(Loss::Disconnect));
    let late = lost_once(&[CLAIM_REPEATABLE, Event::PatienceEnded, Event::NotRunProven]);
    assert_eq!(last(&late), (State::Uncertain, vec![unknown]));
}

/// Checks in all possible histories of a call that it is answered at most once and never after a cancel. A sent call must not end
/// as not executed, unless no byte of it was written or the editor says that it ran nothing.
#[test]
fn no_history_answers_twice_or_denies_a_sending() {
    let events = Call::specimens();
    let mut paths: Vec<(Driver<Call>, u8, bool, u8)> = vec![(Driver::start(Call::default()).0, 0, false, 0)];
    let mut seen = std::collections::HashSet::new();
    while let Some((driver, answers, cancelled, lost)) = paths.pop() {
        if !seen.insert((driver.machine().clone(), driver.state(), answers, cancelled, lost)) {
            continue;
        }
        for event in &events {
            let mut next = driver.clone();
            let before = next.state();
            let out = next.feed(event);
            let given = out.effects.iter().filter(|effect| matches!(effect, Effect::Answer(_))).count();
            let total = answers + u8::try_from(given).unwrap();
            assert!(total <= 1, "{before:?} + {event:?} answers again");
            assert!(!(cancelled && given > 0), "{before:?} + {event:?} answers a cancelled call");
            let harmless =
                matches!(event, Event::ClaimRevoked | Event::TurnedAway(Cause::WrongProject) | Event::NotRunProven);
            let may_have_run = matches!(before, State::Sent | State::Recovering) && !harmless;
            let lost = if may_have_run && next.state() == State::Held { lost.saturating_add(1).min(3) } else { lost };
            let denied = out.effects.iter().any(|effect| matches!(effect, Effect::Answer(Verdict::NotExecuted(_))));
            assert!(!(denied && (lost > 0 || may_have_run)), "{before:?} + {event:?} denies a sending");
            paths.push((next.clone(), total, cancelled || next.state() == State::Cancelled, lost));
        }
    }
    assert!(seen.len() > 50);
    assert!(walk::<Call>().configurations.len() > 20);
}
