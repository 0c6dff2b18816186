//! Calls that only begin some work. Its end stands in a file, which may be written before a reload, after it or never.

use std::sync::Arc;

use super::*;

fn status_file() -> Recovery {
    Recovery::StatusFile { path: "Temp/status.json", running: None, before: 1, of: Vec::new() }
}

#[test]
fn work_that_a_call_began_is_followed_on_its_connection_and_on_the_next_one() {
    let mut book = Book::connected();
    let call = book.sent(terms(status_file(), false));
    assert!(!book.ledger.follows_work(), "its own answer is awaited first");
    assert_eq!(told(&book.ledger.lose(call, FIRST, Loss::Reload, book.now)), [""; 0]);
    assert!(book.ledger.follows_work());
    assert_eq!(book.ledger.recovering(), [(call, status_file())]);
    assert_eq!(book.ledger.is_back(call), (true, false), "it is the connection on which the call was sent");
    book.close(FIRST, Loss::Reload);
    book.ledger.set_availability(RELOADING, book.now);
    assert_eq!(book.ledger.is_back(call), (false, false));
    book.reconnect(SECOND);
    assert_eq!(book.ledger.is_back(call), (true, true));
    assert!(book.ledger.reserve(SECOND).is_none(), "it is not sent again");
    assert_eq!(told(&book.ledger.learn(call, reply(false), book.now)), ["ok"]);
    assert!(!book.ledger.follows_work() && book.left() == 0);
}

#[test]
fn work_of_which_no_file_tells_ends_as_unknown() {
    let mut book = Book::connected();
    let call = book.sent(terms(status_file(), false));
    assert_eq!(told(&book.close(FIRST, Loss::Disconnect)), [""; 0], "the file may tell");
    assert_eq!(told(&book.ledger.give_up(call, book.now)), ["outcome_unknown:disconnect"]);
    assert!(!book.ledger.follows_work());
}

/// Work may take longer than a client waits. Then other calls go on.
#[test]
fn work_whose_client_has_its_answer_keeps_no_call_back() {
    let mut book = Book::connected();
    let call = book.sent(terms(status_file(), false));
    book.ledger.lose(call, FIRST, Loss::Reload, book.now);
    let mut waited = Duration::ZERO;
    while book.ledger.follows_work() {
        book.ledger.found_running(call, book.now);
        book.wait(secs(10));
        waited += secs(10);
        assert!(waited <= secs(700), "it keeps them back for ever");
    }
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Open(_)), "its end is still looked for");
    assert_eq!(told(&book.ledger.learn(call, reply(false), book.now)), ["keep_late", "noted:ok"]);
}

#[test]
fn what_keeps_an_editor_from_calls_is_told_as_long_as_its_connection_lasts() {
    let mut book = Book::connected();
    book.accept_with(10, None);
    let by: Arc<str> = "a dialog is open".into();
    book.ledger.hinder(FIRST, Some(Cause::Blocked));
    book.ledger.obstructed(FIRST, Some(Arc::clone(&by)));
    assert_eq!(book.ledger.known(book.now).obstacle.as_ref(), Some(&by));
    assert_eq!(book.ledger.known_hindrance(book.now).as_deref(), Some("a dialog is open"));
    assert_eq!(told(&book.wait(secs(10))), ["not_executed:blocked"]);
    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    assert_eq!(book.ledger.known(book.now).obstacle, None, "the next connection knows nothing of it");
}

#[test]
fn an_editor_that_was_not_away_is_not_said_to_be_back() {
    for loss in [Loss::GivenUp, Loss::Forgotten] {
        let mut book = Book::connected();
        let call = book.sent(once());
        let settlements = book.ledger.lose(call, FIRST, loss, book.now);
        let [Settlement::Answer(answer)] = settlements.as_slice() else { panic!("one answer") };
        assert_eq!((answer.verdict, answer.came_back), (Verdict::OutcomeUnknown(loss), None));
    }
}
