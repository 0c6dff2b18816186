//! An editor that keeps the results of some calls, and reads nothing else while it is asked for one.

use super::*;
use crate::fsm::cause::Loss;

/// An exchange on a new connection to such an editor, after a call was cut whose result the editor keeps. Another call waits.
fn cut() -> Desk {
    let mut desk = Desk::new(2);
    desk.send(5, After::default());
    let _ = desk.ledger.close_epoch(EPOCH, Loss::Disconnect, desk.now);
    desk.exchange = Exchange::new(Epoch(2));
    desk.exchange.outcomes_take_a_place();
    desk.exchange.jobs.are_asked_alone = true;
    desk.exchange.greeted(Met { journal: Some("j".to_owned()), ..Met::default() }, 1, false, desk.now);
    desk.ledger.open_epoch(Epoch(2));
    desk.list();
    desk
}

/// Asks, and hears that the call goes on or not.
fn told(desk: &mut Desk, number: u64, goes_on: bool) {
    let (keys, _) = desk.exchange.asks_outcomes(number, &mut desk.ledger, desk.now);
    assert_eq!(keys, Some(vec![key(0)]));
    assert!(desk.waits() && !desk.exchange.may_ask_outcomes(), "nothing is sent behind the question");
    let ReplyTo::Outcomes(question) = desk.exchange.reply(number, None) else { panic!("the question is open") };
    desk.exchange.kept_goes_on(goes_on);
    let _ = desk.exchange.outcomes_told(&question, true);
    assert!(matches!(desk.next(), Next::Errand(Errand::Outcomes)));
    assert_eq!(desk.exchange.asks_outcomes(number + 1, &mut desk.ledger, desk.now).0, None, "each is asked for once");
}

#[test]
fn while_such_a_call_goes_on_no_other_is_sent_and_it_is_asked_for_again() {
    let mut desk = cut();
    told(&mut desk, 8, true);
    assert!(desk.waits() && desk.exchange.may_ask_outcomes());
    told(&mut desk, 10, false);
    assert_eq!(desk.reserve(), id(1));
}

#[test]
fn a_question_waits_for_the_answer_to_a_call() {
    let mut desk = cut();
    desk.send(6, After::default());
    desk.exchange.order(Errand::Outcomes);
    assert!(desk.waits() && !desk.exchange.may_ask_outcomes());
    let _ = desk.answered(6, None);
    assert!(matches!(desk.next(), Next::Errand(Errand::Outcomes)));
}

#[test]
fn an_answer_that_names_no_request_may_be_that_of_a_call_of_which_nothing_else_tells() {
    let mut desk = cut();
    assert_eq!((desk.exchange.unreadable(), desk.exchange.may_have_lost_an_answer()), (MayAnswer::Nobody, false));
    desk.send(6, After::default());
    assert_eq!((desk.exchange.unreadable(), desk.exchange.may_have_lost_an_answer()), (MayAnswer::ACall, true));
}
