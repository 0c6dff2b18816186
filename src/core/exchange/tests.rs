use std::time::Duration;

use serde_json::value::RawValue;

use super::*;
use crate::core::calls::{NewCall, Wanted};
use crate::fsm::call::Verdict;
use crate::protocol::dialect::AnswerBody;
use crate::protocol::ids::{RequestKey, SessionId};
use crate::protocol::mcp::{AnswerForm, ProtocolVersion};

const EPOCH: Epoch = Epoch(1);
const FREE: Event = Event::WorkFinished { more: false };
const MORE: Event = Event::WorkFinished { more: true };

/// An exchange after the greeting, and the ledger with the calls that wait for it.
struct Desk {
    exchange: Exchange,
    ledger: Ledger,
    now: Instant,
}

fn id(call: u8) -> CallId {
    CallId::from_random([call; 16])
}

fn request(call: u8) -> RequestKey {
    RequestKey::new(SessionId::STDIO, u64::from(call))
}

fn key(call: u8) -> JournalKey {
    JournalKey { journal: "j".to_owned(), id: call.to_string(), seq: 1 }
}

fn said() -> EditorAnswer {
    EditorAnswer { is_error: false, body: AnswerBody::Text("said".to_owned()) }
}

fn journaled(call: u8) -> Terms {
    Terms { recovery: Recovery::Journal(key(call)), tool_timeout: Duration::ZERO, repeatable: false }
}

fn verdicts(settlements: &[Settlement]) -> Vec<Verdict> {
    let of = |settlement: &Settlement| match settlement {
        Settlement::Answer(answer) => Some(answer.verdict),
        _ => None,
    };
    settlements.iter().filter_map(of).collect()
}

impl Desk {
    fn new(calls: u8) -> Self {
        Self::of(calls, false)
    }

    /// A desk whose calls may run beside each other.
    fn beside(calls: u8) -> Self {
        Self::of(calls, true)
    }

    fn of(calls: u8, parallel: bool) -> Self {
        let mut desk = Self { exchange: Exchange::new(EPOCH), ledger: Ledger::default(), now: Instant::now() };
        desk.exchange.greeted(Met { journal: Some("j".to_owned()), ..Met::default() });
        desk.ledger.open_epoch(EPOCH);
        for call in 0..calls {
            let _ = desk.ledger.accept(
                NewCall {
                    id: id(call),
                    request: request(call),
                    tool: "t".to_owned(),
                    arguments: RawValue::NULL.to_owned().into(),
                    progress_token: None,
                    trace: None,
                    requester: None,
                    parallel,
                    patience: Duration::from_secs(60),
                    waited: Duration::ZERO,
                    profile: ProtocolVersion::LATEST.into(),
                    form: AnswerForm::ToolResult,
                },
                desk.now,
            );
        }
        desk
    }

    /// Sends the next call under this message number.
    fn send(&mut self, number: u64, after: After) -> CallId {
        let held = self.exchange.reserve(&mut self.ledger).expect("a call waits");
        let terms = (journaled(0), after);
        let claimed = self.exchange.claim(number, held.id, terms, &mut self.ledger, self.now);
        let (_, settled) = claimed.expect("it is claimed");
        assert!(matches!(settled.events[0], Event::CallSent { .. }), "{settled:?}");
        held.id
    }

    fn answered(&mut self, number: u64, refusal: Option<Refusal>) -> Answered {
        let Answers::Call(call, after) = self.exchange.reply(number, refusal) else { panic!("no call is open") };
        self.exchange.answered((call, after), refusal, said(), &mut self.ledger, self.now)
    }
}

#[test]
fn of_each_kind_one_order_waits_and_calls_wait_each() {
    let mut exchange = Exchange::new(EPOCH);
    let orders = [Order::Outcomes, Order::List { step: 0 }, Order::Heartbeat, Order::Greeting];
    for order in orders.iter().chain(&orders) {
        exchange.order(order.clone());
    }
    exchange.order(Order::Call);
    exchange.order(Order::Call);
    let taken: Vec<Order> = std::iter::from_fn(|| exchange.next_order()).collect();
    assert_eq!(taken, orders.into_iter().chain([Order::Call, Order::Call]).collect::<Vec<_>>());
}

#[test]
fn withdrawals_are_bounded_and_take_no_calls_place() {
    let mut exchange = Exchange::new(EPOCH);
    for _ in 0..2 * CANCELS_MAX {
        exchange.order(Order::Cancel(key(0)));
    }
    exchange.order(Order::Call);
    let taken: Vec<Order> = std::iter::from_fn(|| exchange.next_order()).collect();
    assert_eq!((taken.len(), taken.last()), (CANCELS_MAX + 1, Some(&Order::Call)));
}

#[test]
fn a_heartbeat_that_is_not_answered_is_not_asked_again() {
    let mut desk = Desk::new(0);
    desk.exchange.asks_heartbeat(7, desk.now);
    desk.exchange.order(Order::Heartbeat);
    assert_eq!(desk.exchange.next_order(), None);
    assert_eq!(desk.exchange.reply(7, None), Answers::Heartbeat { asked: desk.now });
    desk.exchange.order(Order::Heartbeat);
    assert_eq!(desk.exchange.next_order(), Some(Order::Heartbeat));
}

#[test]
fn a_reply_answers_what_its_number_asked_once() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.reply(4, None), Answers::Nothing);
    assert_eq!(desk.exchange.reply(5, None), Answers::Call(call, After::default()));
    assert_eq!(desk.exchange.reply(5, None), Answers::Nothing);
}

#[test]
fn a_double_leaves_the_call_open() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.reply(5, Some(Refusal::Double)), Answers::Doubled(call));
    assert!(desk.exchange.owes_answers());
    assert_eq!(verdicts(&desk.answered(5, None).settled.settlements), [Verdict::Ok]);
}

#[test]
fn an_answer_frees_the_place_and_says_whether_more_waits() {
    let mut desk = Desk::new(2);
    desk.send(5, After::default());
    let first = desk.answered(5, None);
    assert!(first.known && !first.hang_up);
    assert_eq!(first.settled.events, [MORE]);
    desk.send(6, After::default());
    assert_eq!(desk.answered(6, None).settled.events, [FREE]);
}

#[test]
fn where_no_call_waits_the_place_is_free() {
    let mut desk = Desk::new(0);
    let settled = desk.exchange.reserve(&mut desk.ledger).expect_err("no call waits");
    assert_eq!(settled.events, [FREE]);
}

/// With `more: true` the bridge would order the call again at once.
#[test]
fn a_call_for_another_project_is_not_told_of_as_one_that_waits_here() {
    let mut desk = Desk::new(1);
    let _ = desk.ledger.want(Wanted::Settled(Some("/elsewhere".into())), desk.now);
    assert!(desk.ledger.has_held());
    let settled = desk.exchange.reserve(&mut desk.ledger).expect_err("it waits for another connection");
    assert_eq!(settled.events, [FREE]);
}

#[test]
fn a_place_is_passed_on_to_the_next_call_until_the_bridge_keeps_it() {
    for kept in [false, true] {
        let mut desk = Desk::new(2);
        desk.exchange.order(Order::Call);
        assert_eq!(desk.exchange.next_order(), Some(Order::Call));
        desk.send(5, After::default());
        if kept {
            desk.exchange.keep_places();
        }
        let told = desk.answered(5, None).settled.events;
        assert_eq!(
            (told.as_slice(), desk.exchange.next_order()),
            if kept { (&[MORE][..], None) } else { (&[][..], Some(Order::Call)) }
        );
    }
}

#[test]
fn a_claim_that_is_refused_awaits_nothing_and_frees_the_place() {
    let mut desk = Desk::new(1);
    let held = desk.exchange.reserve(&mut desk.ledger).expect("a call waits");
    let _ = desk.ledger.cancel(request(0), desk.now);
    let terms = (journaled(0), After::default());
    let refused = desk.exchange.claim(5, held.id, terms, &mut desk.ledger, desk.now);
    assert_eq!(refused.expect_err("it was cancelled").events, [FREE]);
    assert!(!desk.exchange.awaits_reply());
}

#[test]
fn a_call_that_cannot_be_sent_is_told_so_and_frees_the_place() {
    let mut desk = Desk::new(2);
    let held = desk.exchange.reserve(&mut desk.ledger).expect("a call waits");
    let why = Unsendable::Refused(Cause::TooLarge);
    let settled = desk.exchange.unsendable(held.id, why, &mut desk.ledger, desk.now);
    assert_eq!(verdicts(&settled.settlements), [Verdict::NotExecuted(Cause::TooLarge)]);
    assert_eq!(settled.events, [MORE]);
}

#[test]
fn an_editor_that_leaves_is_told_of_before_the_place_is_free() {
    let mut desk = Desk::new(1);
    desk.send(5, After::default());
    let answered = desk.answered(5, Some(Refusal::Leaving));
    assert_eq!(answered.settled.events, [Event::LeavingAnnounced(LeaveReason::Unknown), MORE]);
    assert!(verdicts(&answered.settled.settlements).is_empty(), "it is held again");
}

/// The announcement may arrive directly after a reply: before the next call is reserved or claimed, and before the bridge gets
/// the event.
#[test]
fn no_call_goes_to_an_editor_that_has_said_goodbye() {
    let mut desk = Desk::new(1);
    desk.exchange.order(Order::Call);
    let held = desk.exchange.reserve(&mut desk.ledger).expect("a call waits");
    assert_eq!(desk.exchange.leaves(LeaveReason::Reload), Event::LeavingAnnounced(LeaveReason::Reload));
    let terms = (journaled(0), After::default());
    let refused = desk.exchange.claim(5, held.id, terms, &mut desk.ledger, desk.now);
    assert_eq!(refused.expect_err("it leaves").events, [MORE]);
    desk.exchange.keep_places();
    desk.exchange.order(Order::Call);
    assert_eq!(desk.exchange.reserve(&mut desk.ledger).expect_err("it leaves").events, [MORE]);
    assert!(desk.ledger.has_held(), "it waits for the next connection");
}

/// The bridge ignores an announcement before the end of the greeting. If the exchange did not, the bridge would keep ordering
/// calls that are never sent.
#[test]
fn a_goodbye_before_the_greeting_counts_for_nothing() {
    let mut desk = Desk::new(1);
    desk.exchange = Exchange::new(EPOCH);
    let _ = desk.exchange.leaves(LeaveReason::Reload);
    desk.exchange.greeted(Met::default());
    assert!(desk.exchange.reserve(&mut desk.ledger).is_ok());
}

#[test]
fn another_editor_ends_the_connection_and_the_call_is_held_again() {
    let mut desk = Desk::new(1);
    desk.send(5, After::default());
    let answered = desk.answered(5, Some(Refusal::WrongEditor));
    assert!(answered.hang_up && verdicts(&answered.settled.settlements).is_empty(), "{answered:?}");
}

#[test]
fn an_answer_that_a_reload_follows_is_withheld_until_that_has_shown_itself() {
    let mut desk = Desk::new(1);
    desk.send(5, After { reload: true, ..After::default() });
    let answered = desk.answered(5, None);
    assert!(answered.known && verdicts(&answered.settled.settlements).is_empty(), "{answered:?}");
    let told = desk.ledger.drain(desk.now);
    assert_eq!(verdicts(&told), [Verdict::Ok]);
}

#[test]
fn nothing_of_which_a_byte_left_is_taken_back() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    let _ = desk.exchange.not_written(call, &mut desk.ledger, desk.now);
    assert!(desk.ledger.has_held());
    let torn = desk.ledger.close_epoch(EPOCH, crate::fsm::cause::Loss::Disconnect, desk.now);
    assert!(verdicts(&torn).is_empty(), "no byte of it left");
}

#[test]
fn the_revision_of_the_greeting_holds_for_the_first_list() {
    let mut exchange = Exchange::new(EPOCH);
    assert_eq!(exchange.take_revision(), None);
    exchange.greeted(Met { tools_revision: Some("r".to_owned()), ..Met::default() });
    assert_eq!(exchange.take_revision(), Some("r".to_owned()));
    assert_eq!(exchange.take_revision(), None);
}

#[test]
fn a_reply_without_a_number_belongs_to_the_only_open_message() {
    let mut exchange = Exchange::new(EPOCH);
    assert_eq!(exchange.only_open(), None);
    exchange.asks_greeting(3);
    assert_eq!(exchange.only_open(), Some(3));
    exchange.asks_heartbeat(4, Instant::now());
    assert_eq!(exchange.only_open(), Some(3), "no editor fails to read that question");
    exchange.not_asked(4);
    exchange.asks_list(4, 0);
    assert_eq!(exchange.only_open(), None);
}

#[test]
fn one_question_for_outcomes_is_under_way_and_what_is_wanted_meanwhile_is_asked_behind_it() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    let _ = desk.ledger.close_epoch(EPOCH, crate::fsm::cause::Loss::Disconnect, desk.now);
    let mut next = Exchange::new(Epoch(2));
    next.greeted(Met { journal: Some("j".to_owned()), ..Met::default() });
    let ask = |next: &mut Exchange, number, ledger: &mut Ledger, now| next.asks_outcomes(number, ledger, now).0;
    assert_eq!(ask(&mut next, 8, &mut desk.ledger, desk.now), Some(vec![key(0)]));
    assert_eq!(ask(&mut next, 9, &mut desk.ledger, desk.now), None);
    let Answers::Outcomes(question) = next.reply(8, None) else { panic!("the question is open") };
    next.outcomes_told(&question, true);
    assert_eq!(next.next_order(), Some(Order::Outcomes));
    // A question without an answer is given up after `OUTCOMES_ASKED_EVERY`. A later answer to it is ignored.
    let _ = ask(&mut next, 10, &mut desk.ledger, desk.now);
    let later = desk.now + OUTCOMES_ASKED_EVERY;
    assert_eq!(ask(&mut next, 11, &mut desk.ledger, later), Some(vec![key(0)]));
    assert_eq!(next.reply(10, None), Answers::Nothing);
    let told = outcome(call, &key(0), Outcome::Ended(said()), &mut desk.ledger, later);
    assert_eq!(verdicts(&told), [Verdict::Ok]);
    assert!(
        outcome(call, &key(0), Outcome::NotRun { sealed: false }, &mut desk.ledger, later).is_empty(),
        "it is sought no more"
    );
}

#[test]
fn after_an_answer_about_several_that_was_not_read_each_call_is_asked_for_alone_and_once() {
    let mut desk = Desk::beside(2);
    let calls = [desk.send(5, After::default()), desk.send(6, After::default())];
    let _ = desk.ledger.close_epoch(EPOCH, crate::fsm::cause::Loss::Disconnect, desk.now);
    let mut next = Exchange::new(Epoch(2));
    next.greeted(Met { journal: Some("j".to_owned()), ..Met::default() });
    let mut asked = Vec::new();
    for number in 8..12 {
        let _ = next.asks_outcomes(number, &mut desk.ledger, desk.now);
        let Answers::Outcomes(question) = next.reply(number, None) else { break };
        let sought: Vec<CallId> = question.sought.iter().map(|(call, _)| *call).collect();
        // An answer about one call that is not read changes nothing for the others.
        next.outcomes_told(&question, false);
        assert_eq!(next.next_order(), Some(Order::Outcomes));
        asked.push(sought);
    }
    assert_eq!(asked, [calls.to_vec(), vec![calls[0]], vec![calls[1]]]);
}

#[test]
fn a_message_that_names_nothing_answers_no_call() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.unreadable(), Meant::Nobody);
    let (keys, _) = desk.exchange.asks_outcomes(6, &mut desk.ledger, desk.now);
    assert_eq!(keys, Some(vec![key(0)]), "a call that runs is asked for too");
    assert_eq!(desk.exchange.resolve_doubt(call, true), Some(After::default()));
    assert_eq!(desk.exchange.resolve_doubt(call, true), None);
    assert_eq!(desk.exchange.reply(5, None), Answers::Nothing);

    let mut desk = Desk::new(1);
    desk.exchange = Exchange::new(EPOCH);
    desk.exchange.greeted(Met::default());
    desk.send(5, After::default());
    assert_eq!(desk.exchange.unreadable(), Meant::ACall, "without a journal nobody knows");
}
