//! Tests of what is asked beside the other requests, and of what is inferred of the main thread.

use super::*;
use crate::limits::{BESIDE_AFTER, MAIN_THREAD_ASKED_EVERY, NO_PROGRESS_AFTER};
use crate::protocol::dialect::{EditorState, Heartbeat, JobProgress};

#[test]
fn the_main_thread_is_asked_while_there_is_no_call_and_no_call_is_sent_behind_the_question() {
    let mut desk = Desk::new(0);
    let beside = |desk: &mut Desk| desk.exchange.asks_beside(&mut desk.ledger, desk.now);
    let inferred = |desk: &mut Desk| desk.exchange.main_thread(&desk.ledger, desk.now);
    assert_eq!((inferred(&mut desk), beside(&mut desk)), (None, Beside::MainThread));
    desk.now += MAIN_THREAD_ASKED_EVERY;
    assert_eq!(beside(&mut desk), Beside::Nothing, "never two");
    assert_eq!(inferred(&mut desk).map(|told| told.frame_age), Some(MAIN_THREAD_ASKED_EVERY));
    let Desk { ledger, .. } = Desk::new(1);
    desk.ledger = ledger;
    desk.exchange.look_for_calls();
    assert!(desk.waits());
    let told = Heartbeat { importing: true, ..Heartbeat::inferred(EditorState::Ready, Duration::ZERO) };
    desk.exchange.main_thread_answered(Some(told), &mut desk.ledger, desk.now);
    assert_eq!((inferred(&mut desk), beside(&mut desk)), (Some(told), Beside::Nothing), "a call waits");
    desk.send(5, After::default());
    desk.exchange.order(Errand::Heartbeat);
    assert_eq!(beside(&mut desk), Beside::Nothing, "the call is being sent");
    desk.now += BESIDE_AFTER;
    assert_eq!(beside(&mut desk), Beside::Nothing, "an editor that has no heartbeat answers nothing beside a call");
    desk.exchange.quiet.beats = true;
    assert_eq!((beside(&mut desk), errands(&mut desk.exchange).len()), (Beside::Heartbeat, 0));
    desk.exchange.asks_heartbeat(6);
    assert_eq!(beside(&mut desk), Beside::Nothing);
    desk.now += NO_PROGRESS_AFTER - BESIDE_AFTER - Duration::from_millis(1);
    assert_eq!(inferred(&mut desk), None, "what was said before the call is too old");
    desk.now += Duration::from_millis(1);
    assert!(inferred(&mut desk).is_some_and(|told| told.is_guessed() && told.frame_age == NO_PROGRESS_AFTER));
    let _ = desk.answered(5, None);
    assert_eq!((inferred(&mut desk), beside(&mut desk)), (None, Beside::MainThread));
    let mut old = Desk::new(0);
    old.exchange.met = Some(Met::default());
    assert_eq!(beside(&mut old), Beside::Nothing, "one request is answered at a time");
}

#[test]
fn a_job_that_makes_progress_is_not_called_still() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    let ReplyTo::Call(call_, after) = desk.exchange.reply(5, None) else { panic!("a call is open") };
    let _ = desk.exchange.submitted((call_, after), key(1), &mut desk.ledger, desk.now);
    let at = |done: f64| JobProgress { done, total: Some(10.0), message: None };
    for step in 0..4 {
        desk.now += NO_PROGRESS_AFTER / 2;
        assert!(desk.exchange.job_progressed(call, &at(f64::from(step)), desk.now));
        assert!(!desk.exchange.job_progressed(call, &at(f64::from(step)), desk.now), "nothing is new");
        assert_eq!(desk.exchange.main_thread(&desk.ledger, desk.now), None);
    }
    desk.now += NO_PROGRESS_AFTER;
    assert!(!desk.exchange.job_progressed(call, &at(3.0), desk.now));
    assert!(desk.exchange.main_thread(&desk.ledger, desk.now).is_some_and(|told| told.is_guessed()));
    assert!(!desk.exchange.job_progressed(id(9), &at(1.0), desk.now), "no job of this connection");
}
