//! The cause that calls wait for while nothing can be written on an open connection.

use super::*;

#[test]
fn what_waits_for_a_connection_that_cannot_be_written_on_is_told_that_cause() {
    let mut book = Book::connected();
    book.ledger.await_list(true);
    book.accept_with(10, None);
    let first = book.ledger.reserve(FIRST).unwrap();
    book.accept_with(600, None);
    book.ledger.hinder(FIRST, Some(Cause::Stalled));
    let waits: Vec<_> = book.ledger.open_records().map(|record| record.waits_for).collect();
    assert_eq!(waits, [Some(Cause::Stalled); 2], "the one behind it is not behind a call that runs");
    assert_eq!(told(&book.wait(secs(5))), ["not_executed:stalled"]);
    let late = book.ledger.claim(first.id, FIRST, once(), book.now);
    assert_eq!(late.unwrap_err(), ClaimRefused::NotHeld, "its client was told that it was not sent");

    book.ledger.hinder(FIRST, None);
    let waits = |book: &Book| book.ledger.open_records().next().and_then(|record| record.waits_for);
    assert_eq!(waits(&book), Some(Cause::Listing));
    book.ledger.hinder(FIRST, Some(Cause::Stalled));
    book.close(FIRST, Loss::Silence);
    book.reconnect(SECOND);
    assert_eq!(waits(&book), Some(Cause::Listing), "the next connection knows nothing of it");
    book.ledger.hinder(FIRST, Some(Cause::Stalled));
    assert_eq!(waits(&book), Some(Cause::Listing), "nor does a connection that is over hinder it");
}

#[test]
fn a_call_that_is_about_to_be_sent_does_not_wait_for_a_list() {
    let mut book = Book::connected();
    book.accept_with(10, None);
    book.ledger.reserve(FIRST).unwrap();
    assert_eq!(told(&book.wait(secs(10))), ["not_executed:connecting"]);
}

/// Guards against two earlier bugs. First, the moment between two calls was reported as a wait for the tool list. Later, a list
/// that was requested again was reported as a wait for earlier calls.
#[test]
fn a_call_is_told_of_the_list_while_that_is_asked_for_and_of_other_calls_otherwise() {
    let mut book = Book::connected();
    let held = |cause| format!("progress:held, not sent yet: {}", user_text::cause(cause));
    let listing = held(Cause::Listing);
    let busy = "progress:held, not sent yet: `compile` has been running for 0 ms";
    book.ledger.await_list(true);
    book.accept_with(600, Some("0"));
    assert_eq!(told(&book.wait(Duration::ZERO)), [listing.as_str()]);
    book.ledger.await_list(false);
    assert!(told(&book.wait(PROGRESS_EVERY)).is_empty(), "it is about to leave");
    let first = book.send(FIRST, once());
    book.accept_with(20, Some("1"));
    book.ledger.await_list(true);
    assert_eq!(told(&book.wait(Duration::ZERO)), [busy], "the list comes behind that call");
    book.reply(first, FIRST);
    assert_eq!(told(&book.wait(PROGRESS_EVERY)), [listing.as_str()]);
    book.ledger.await_list(false);
    assert_eq!(told(&book.wait(secs(20))), ["not_executed:busy"], "its turn did not come");
}
