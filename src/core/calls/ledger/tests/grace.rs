//! Answers that a domain reload may follow.

use super::*;
use crate::limits::RELOAD_GRACE;

/// The text of the only answer among these settlements.
fn text(settlements: &[Settlement]) -> String {
    let answers: Vec<&Answer> = settlements
        .iter()
        .filter_map(|settlement| if let Settlement::Answer(answer) = settlement { Some(&**answer) } else { None })
        .collect();
    let [Answer { body: Some(EditorAnswer { body: AnswerBody::Text(text), .. }), .. }] = answers.as_slice() else {
        panic!("not one answer with a text: {}", answers.len());
    };
    text.clone()
}

impl Book {
    /// A call whose answer is withheld.
    fn withheld(&mut self) -> CallId {
        let call = self.sent(once());
        let (known, settlements) = self.ledger.withhold(call, FIRST, reply(false), self.now);
        assert!(known && told(&settlements).is_empty());
        call
    }
}

#[test]
fn a_refresh_without_a_reload_is_answered_after_the_grace_and_what_waits_goes_on_then() {
    let mut book = Book::connected();
    book.withheld();
    let behind = book.accept();
    assert!(!book.ledger.has_held(), "the next one must not run into the reload");
    assert_eq!(book.ledger.next_deadline(), Some(book.now + RELOAD_GRACE));
    book.now += RELOAD_GRACE - Duration::from_millis(1);
    assert!(book.ledger.elapse(book.now).is_empty());
    book.now += Duration::from_millis(1);
    let settlements = book.ledger.elapse(book.now);
    assert_eq!(told(&settlements), ["ok", "held again"]);
    assert_eq!(text(&settlements), "said");
    assert_eq!(book.ledger.reserve(FIRST).map(|held| held.id), Some(behind));
}

#[test]
fn a_compile_that_changed_nothing_is_answered_as_soon_as_that_is_known_and_what_waits_goes_on_then() {
    let mut book = Book::connected();
    let call = book.withheld();
    let behind = book.accept();
    book.now += Duration::from_millis(150);
    assert!(book.ledger.no_reload_follows(CallId::from_random([99; 16]), book.now).is_empty(), "it is another's");
    let settlements = book.ledger.no_reload_follows(call, book.now);
    assert_eq!(told(&settlements), ["ok", "held again"]);
    assert_eq!(text(&settlements), "said");
    assert_eq!(book.ledger.reserve(FIRST).map(|held| held.id), Some(behind));
    assert!(book.ledger.no_reload_follows(call, book.now).is_empty());
}

/// The evidence may be older than the reload, which something else may have caused.
#[test]
fn a_reload_that_is_seen_counts_more_than_the_evidence_that_none_follows() {
    let mut book = Book::connected();
    let call = book.withheld();
    book.ledger.set_availability(RELOADING, book.now);
    assert!(book.ledger.no_reload_follows(call, book.now).is_empty());
    book.now += secs(1);
    assert_eq!(told(&book.ledger.set_availability(OPEN, book.now)), ["ok"]);
}

#[test]
fn a_reload_that_follows_is_waited_for_and_told() {
    let mut book = Book::connected();
    book.withheld();
    book.now += secs(1);
    let mut settlements = book.ledger.close_epoch(FIRST, Loss::Disconnect, book.now);
    settlements.extend(book.ledger.set_availability(RELOADING, book.now));
    book.now += secs(20);
    settlements.extend(book.ledger.elapse(book.now));
    assert!(settlements.is_empty(), "the reload is not over");
    book.ledger.open_epoch(SECOND);
    let settlements = book.ledger.set_availability(OPEN, book.now);
    assert_eq!(told(&settlements), ["ok"]);
    let note = user_text::reloaded(secs(21), true);
    assert!(note.contains("domain reload") && note.contains("21.0 s"), "{note}");
    assert_eq!(text(&settlements), format!("said\n\n{note}"));
}

#[test]
fn an_editor_that_does_not_come_back_costs_the_answer_no_more_than_the_clients_patience() {
    let mut book = Book::connected();
    let (call, _) = book.accept_with(60, None);
    book.send(FIRST, once());
    book.ledger.withhold(call, FIRST, reply(false), book.now);
    book.ledger.close_epoch(FIRST, Loss::Disconnect, book.now);
    book.ledger.set_availability(RELOADING, book.now);
    let due = book.ledger.next_deadline().expect("it has an end");
    assert!(due <= book.now + secs(60) - PATIENCE_MARGIN);
    book.now = due;
    let settlements = book.ledger.elapse(book.now);
    assert_eq!(told(&settlements), ["ok"]);
    assert!(text(&settlements).contains("was not back after"), "{}", text(&settlements));
}

#[test]
fn an_answer_that_comes_late_is_withheld_no_longer_than_the_client_waits() {
    let mut book = Book::connected();
    let (call, _) = book.accept_with(60, None);
    book.send(FIRST, once());
    let patience = secs(60) - PATIENCE_MARGIN;
    book.now += patience - secs(1);
    book.ledger.withhold(call, FIRST, reply(false), book.now);
    assert_eq!(book.ledger.next_deadline(), Some(book.now + secs(1)));
    book.now += secs(1);
    let settlements = book.ledger.elapse(book.now);
    assert_eq!(told(&settlements), ["ok"]);
    assert_eq!(text(&settlements), "said", "no reload has shown itself");
}

#[test]
fn a_withheld_answer_is_told_when_the_gateway_ends_and_goes_with_its_cancel() {
    let mut book = Book::connected();
    book.withheld();
    assert_eq!(told(&book.ledger.close_all_epochs(Loss::Shutdown, book.now)), ["ok"]);

    let mut book = Book::connected();
    book.withheld();
    let request = book.request();
    book.accept();
    let (owed, settlements) = book.ledger.cancel(request, book.now);
    assert!(owed);
    assert_eq!(told(&settlements), ["noted:cancelled"]);
    assert!(!book.ledger.has_held(), "the reload may still come");
    book.now += RELOAD_GRACE;
    assert_eq!(told(&book.ledger.elapse(book.now)), ["keep_late", "noted:ok", "held again"]);
}

#[test]
fn a_refresh_that_was_cancelled_while_it_ran_is_waited_for_too() {
    let mut book = Book::connected();
    let call = book.sent(once());
    let request = book.request();
    book.accept();
    book.ledger.cancel(request, book.now);
    assert!(book.ledger.withhold(call, FIRST, reply(false), book.now).0);
    assert!(!book.ledger.has_held());
    book.now += RELOAD_GRACE;
    assert_eq!(told(&book.ledger.elapse(book.now)), ["keep_late", "noted:ok", "held again"]);
}

#[test]
fn an_answer_that_comes_from_an_editor_that_leaves_is_told_when_it_is_back() {
    let mut book = Book::connected();
    let call = book.sent(terms(Recovery::Inferred, false));
    book.ledger.set_availability(RELOADING, book.now);
    book.ledger.withhold(call, FIRST, reply(false), book.now);
    book.ledger.close_epoch(FIRST, Loss::Reload, book.now);
    book.now += secs(1);
    book.ledger.open_epoch(SECOND);
    assert_eq!(
        told(&book.ledger.set_availability(OPEN, book.now)),
        ["ok"],
        "the answer is there: nothing has to be inferred"
    );
}

#[test]
fn an_answer_of_a_closed_connection_is_not_withheld() {
    let mut book = Book::connected();
    let call = book.sent(once());
    book.ledger.close_epoch(FIRST, Loss::Disconnect, book.now);
    assert!(!book.ledger.withhold(call, FIRST, reply(false), book.now).0);
}

#[test]
fn who_waits_for_a_call_of_a_project_that_is_no_longer_wanted_is_told_as_soon_as_its_connection_ends() {
    let project = |name: &str| Wanted::Settled(Some(name.into()));
    for wanted_first in [true, false] {
        let mut book = Book::connected();
        book.ledger.want(project("A"), book.now);
        book.ledger.open_epoch_of(FIRST, Some("A".into()));
        book.sent(terms(Recovery::Inferred, false));
        let mut settlements = Vec::new();
        if wanted_first {
            settlements.extend(book.ledger.want(project("B"), book.now).1);
            assert!(settlements.is_empty(), "its editor has it and may answer");
        }
        settlements.extend(book.ledger.close_epoch(FIRST, Loss::Disconnect, book.now));
        if !wanted_first {
            assert!(settlements.is_empty(), "it is looked for");
            settlements.extend(book.ledger.want(project("B"), book.now).1);
        }
        assert_eq!(told(&settlements), ["outcome_unknown:disconnect"], "{wanted_first}");
    }
}

#[test]
fn an_answer_of_a_project_that_is_no_longer_wanted_is_told_at_once() {
    let project = |name: &str| Wanted::Settled(Some(name.into()));
    let mut book = Book::connected();
    book.ledger.want(project("A"), book.now);
    book.ledger.open_epoch_of(FIRST, Some("A".into()));
    let call = book.sent(once());
    book.ledger.want(project("B"), book.now);
    let (known, settlements) = book.ledger.withhold(call, FIRST, reply(false), book.now);
    assert!(known);
    assert_eq!(text(&settlements), "said");
    assert!(book.ledger.set_availability(RELOADING, book.now).is_empty());
}

#[test]
fn a_withheld_answer_of_a_former_project_is_told_as_it_is_when_another_one_is_wanted() {
    let project = |name: &str| Wanted::Settled(Some(name.into()));
    let mut book = Book::connected();
    book.ledger.want(project("A"), book.now);
    book.ledger.open_epoch_of(FIRST, Some("A".into()));
    book.withheld();
    let (_, settlements) = book.ledger.want(project("A"), book.now);
    assert!(settlements.is_empty());
    book.ledger.want(Wanted::Asked, book.now);
    let (_, settlements) = book.ledger.want(project("B"), book.now);
    assert_eq!(text(&settlements), "said");
    let settlements = book.ledger.set_availability(RELOADING, book.now);
    assert!(settlements.is_empty());
}
