//! Calls that an earlier gateway sent. The ledger looks for their outcome, their client may come back, and no call is
//! sent without its arguments.

use super::*;

fn key(id: &str) -> JournalKey {
    JournalKey { journal: "j".to_owned(), id: id.to_owned(), seq: 1 }
}

fn recovered(number: u8, recovery: Recovery) -> RecoveredCall {
    RecoveredCall {
        id: CallId::from_random([number; 16]),
        tool: "count".into(),
        project: None,
        recovery,
        profile: ProtocolVersion::LATEST.into(),
        requester: Arc::default(),
        of_another_gateway: false,
    }
}

/// A client's request for the call, with its arguments.
fn adopt(book: &mut Book, call: CallId) -> Option<Vec<Settlement>> {
    let by = (RequestKey::new(SessionId(7), 1), ProtocolVersion::LATEST.into(), Duration::ZERO);
    book.ledger.adopt(call, by, &Arc::from(raw(r#"{"key":"a"}"#)), book.now)
}

#[test]
fn without_a_journal_the_outcome_is_unknown_at_once() {
    let mut book = Book::connected();
    let told_at_once = book.ledger.recover(recovered(1, Recovery::None), book.now);
    assert_eq!(told(&told_at_once), ["outcome_unknown:hub_ended"]);
    assert!(book.ledger.reserve(FIRST).is_none(), "it may have run");
    assert!(adopt(&mut book, CallId::from_random([1; 16])).is_none(), "its answer is on record");
}

#[test]
fn an_outcome_that_the_journal_knows_is_the_answer_of_the_client_that_came_back() {
    for comes_first in [true, false] {
        let mut book = Book::connected();
        let call = recovered(1, Recovery::Journal(key("a")));
        let id = call.id;
        assert!(told(&book.ledger.recover(call, book.now)).is_empty());
        assert_eq!(book.ledger.recovering().len(), 1);
        assert!(book.ledger.reserve(FIRST).is_none(), "it is looked for, and not sent");
        if comes_first {
            assert!(adopt(&mut book, id).unwrap().is_empty());
        }
        let settled = book.ledger.learn(id, reply(false), book.now);
        let [Settlement::Answer(answer)] = settled.as_slice() else { panic!("{settled:?}") };
        assert_eq!(answer.verdict, Verdict::Ok);
        let session = if comes_first { SessionId(7) } else { SessionId::RECOVERED };
        assert_eq!(answer.request.session, session);
        // If the client has not come back, the answer goes on record, and a client that comes later is told.
        assert_eq!(answer.taken_over, comes_first);
    }
}

#[test]
fn a_call_that_did_not_run_waits_for_its_client_and_is_sent_with_its_arguments() {
    let mut book = Book::connected();
    let call = recovered(1, Recovery::Journal(key("a")));
    let id = call.id;
    book.ledger.recover(call, book.now);
    assert_eq!(told(&book.ledger.proven_unrun(id, true, book.now)), ["held again"]);
    assert!(book.ledger.reserve(FIRST).is_none() && !book.ledger.has_held(), "its arguments are not known");
    let waits = |book: &Book| book.ledger.open_records().next().and_then(|record| record.waits_for);
    assert_eq!(waits(&book), Some(Cause::ClientAway), "no other call is in its way");
    assert_eq!(told(&adopt(&mut book, id).unwrap()), ["held again"]);
    let held = book.ledger.reserve(FIRST).unwrap();
    assert_eq!((held.id, held.arguments.get(), held.nth), (id, r#"{"key":"a"}"#, 2));
    assert_eq!(held.request.session, SessionId(7));
    book.ledger.claim(id, FIRST, once(), book.now).unwrap();
    assert_eq!(told(&book.reply(id, FIRST)), ["ok"]);
    assert_eq!(*book.ledger.surprises(), Surprises::default());
}

/// A journal keeps a list of deleted calls for each gateway. The list of this gateway does not show whether the journal
/// ever had the call of another gateway.
#[test]
fn that_a_journal_does_not_know_a_call_of_another_gateway_does_not_prove_that_it_did_not_run() {
    for sealed in [true, false] {
        let mut book = Book::connected();
        let call = RecoveredCall { of_another_gateway: true, ..recovered(1, Recovery::Journal(key("a"))) };
        let id = call.id;
        book.ledger.recover(call, book.now);
        adopt(&mut book, id).unwrap();
        let settled = book.ledger.proven_unrun(id, sealed, book.now);
        if sealed {
            assert_eq!(told(&settled), ["outcome_unknown:hub_ended"]);
            continue;
        }
        assert_eq!(told(&settled), ["held again"]);
        // Once this gateway has sent the call itself, the list covers the call.
        assert_eq!(book.ledger.reserve(FIRST).unwrap().id, id);
        let terms = Terms { recovery: Recovery::Journal(key("b")), ..once() };
        book.ledger.claim(id, FIRST, terms, book.now).unwrap();
        book.ledger.close_epoch(FIRST, Loss::Disconnect, book.now);
        assert_eq!(told(&book.ledger.proven_unrun(id, true, book.now)), ["held again"]);
    }
}

#[test]
fn a_call_whose_client_never_comes_back_ends_by_itself() {
    let mut book = Book::connected();
    let call = recovered(1, Recovery::Journal(key("a")));
    let id = call.id;
    book.ledger.recover(call, book.now);
    book.ledger.proven_unrun(id, true, book.now);
    let ended = book.wait(RECOVERY_MAX * 3);
    assert_eq!(ended.len(), 1, "{:?}", told(&ended));
    assert_eq!(told(&ended), ["not_executed:client_away"]);
    assert_eq!(book.ledger.counts(), (0, 0));
    // The outcome of this call is never found.
    let mut book = Book::connected();
    book.ledger.recover(recovered(2, Recovery::Journal(key("b"))), book.now);
    assert_eq!(told(&book.wait(RECOVERY_MAX)), ["outcome_unknown:hub_ended"]);
}

/// A repeatable call of an earlier gateway is sent again. If that is not possible, the answer says that the call may
/// have run.
#[test]
fn a_call_that_is_sent_again_may_have_run_before() {
    let again = |book: &mut Book| {
        let (id, request) = (CallId::from_random([1; 16]), RequestKey::new(SessionId(7), 1));
        book.ledger.accept_again(new_call(id, request), book.now)
    };
    let mut book = Book::connected();
    assert!(again(&mut book).is_empty());
    assert_eq!(book.ledger.reserve(FIRST).map(|held| held.nth), Some(2));
    assert_eq!(told(&book.ledger.drain(book.now)), ["outcome_unknown:hub_ended"]);
    let mut book = Book::connected();
    book.ledger.drain(book.now);
    assert_eq!(told(&again(&mut book)), ["outcome_unknown:hub_ended"]);
}
