mod doubt;
mod main_thread;

use std::time::Duration;

use serde_json::value::RawValue;

use super::*;
use crate::core::calls::{NewCall, Wanted};
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Availability, Loss};
use crate::limits::{BUSY_PAUSE, HEARTBEAT_MAX, SIGNS_MISSED_MAX, SILENCE_MAX, STALL_AFTER};
use crate::protocol::dialect::{AnswerBody, Standing};
use crate::protocol::ids::{RequestKey, SessionId};
use crate::protocol::mcp::{AnswerForm, ProtocolVersion};

const EPOCH: Epoch = Epoch(1);

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

    /// A desk whose calls may run beside each other, at an editor that takes two.
    fn beside(calls: u8) -> Self {
        Self::of(calls, true)
    }

    fn of(calls: u8, parallel: bool) -> Self {
        let mut desk = Self { exchange: Exchange::new(EPOCH), ledger: Ledger::default(), now: Instant::now() };
        let met = Met { journal: Some("j".to_owned()), ..Met::default() };
        desk.exchange.greeted(met, 1 + usize::from(parallel), false, desk.now);
        desk.ledger.open_epoch(EPOCH);
        desk.list();
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

    fn next(&mut self) -> Next {
        self.exchange.next(&mut self.ledger, self.now)
    }

    /// Gets a tool list.
    fn list(&mut self) {
        self.exchange.want_list();
        assert!(matches!(self.next(), Next::List { step: 0 }));
        let _ = self.exchange.list_is_over(true, self.now);
    }

    /// Reserves the next call.
    fn reserve(&mut self) -> CallId {
        match self.next() {
            Next::Call(held) => held.id,
            other => panic!("{other:?} in place of a call"),
        }
    }

    /// Sends the next call under this message number.
    fn send(&mut self, number: u64, after: After) -> CallId {
        self.send_for(Duration::ZERO, number, after)
    }

    /// Sends the next call, whose tool is given this time.
    fn send_for(&mut self, tool_timeout: Duration, number: u64, after: After) -> CallId {
        let call = self.reserve();
        let terms = (Terms { tool_timeout, ..journaled(0) }, after);
        let claimed = self.exchange.claim(number, call, terms, &mut self.ledger, self.now);
        assert!(claimed.is_ok(), "{claimed:?}");
        call
    }

    fn waits(&mut self) -> bool {
        matches!(self.next(), Next::Wait)
    }

    fn answered(&mut self, number: u64, refusal: Option<Refusal>) -> Answered {
        let ReplyTo::Call(call, after) = self.exchange.reply(number, refusal) else { panic!("no call is open") };
        self.exchange.answered((call, after), refusal, said(), &mut self.ledger, self.now)
    }
}

fn errands(exchange: &mut Exchange) -> Vec<Errand> {
    let now = Instant::now();
    let errand = || match exchange.next_but_calls(now) {
        Some(Next::Errand(errand)) => Some(errand),
        _ => None,
    };
    std::iter::from_fn(errand).collect()
}

#[test]
fn of_each_kind_one_order_waits() {
    let mut exchange = Exchange::new(EPOCH);
    let all = [Errand::Outcomes, Errand::Heartbeat, Errand::Greeting];
    for errand in all.iter().chain(&all) {
        exchange.order(errand.clone());
    }
    assert_eq!(errands(&mut exchange), all);
}

#[test]
fn of_the_answers_of_the_framing_the_newest_waits() {
    let mut exchange = Exchange::new(EPOCH);
    let answers = [&b"first"[..], b"second"].map(|answer| Errand::Framing(bytes::Bytes::from_static(answer)));
    for errand in [&answers[0], &Errand::Greeting, &answers[1]] {
        exchange.order(errand.clone());
    }
    assert_eq!(errands(&mut exchange), [Errand::Greeting, answers[1].clone()]);
}

#[test]
fn withdrawals_are_bounded() {
    let mut exchange = Exchange::new(EPOCH);
    for _ in 0..2 * CANCELS_MAX {
        exchange.order(Errand::Cancel(key(0)));
    }
    assert_eq!(errands(&mut exchange).len(), CANCELS_MAX);
}

#[test]
fn a_heartbeat_that_is_not_answered_is_not_asked_again() {
    let mut desk = Desk::new(0);
    desk.exchange.asks_heartbeat(7);
    desk.exchange.order(Errand::Heartbeat);
    assert_eq!(errands(&mut desk.exchange), []);
    assert_eq!(desk.exchange.reply(7, None), ReplyTo::Heartbeat);
    desk.exchange.order(Errand::Heartbeat);
    assert_eq!(errands(&mut desk.exchange), [Errand::Heartbeat]);
}

#[test]
fn a_reply_answers_what_its_number_asked_once() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.reply(4, None), ReplyTo::Nothing);
    assert_eq!(desk.exchange.reply(5, None), ReplyTo::Call(call, After::default()));
    assert_eq!(desk.exchange.reply(5, None), ReplyTo::Nothing);
}

#[test]
fn a_double_leaves_the_call_open() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.reply(5, Some(Refusal::Double)), ReplyTo::Doubled(call));
    assert!(desk.exchange.owes_answers());
    assert_eq!(verdicts(&desk.answered(5, None).settled.settlements), [Verdict::Ok]);
}

#[test]
fn an_answer_frees_the_place_for_the_next_call() {
    let mut desk = Desk::new(2);
    desk.send(5, After::default());
    assert!(desk.waits(), "there is one place");
    let first = desk.answered(5, None);
    assert!(first.known && !first.hang_up && first.settled.events.is_empty());
    desk.send(6, After::default());
    assert!(desk.answered(6, None).settled.events.is_empty() && desk.waits());
}

#[test]
fn a_call_for_another_project_waits_for_another_connection() {
    let mut desk = Desk::new(1);
    let _ = desk.ledger.want(Wanted::Settled(Some("/elsewhere".into())), desk.now);
    assert!(desk.ledger.has_held() && desk.waits());
}

// ---- the window ----

/// "Unknown tool" may only be answered from a live list. As long as there is none, calls wait.
#[test]
fn no_call_is_sent_before_a_list_was_published() {
    let mut desk = Desk::new(1);
    desk.exchange = Exchange::new(EPOCH);
    assert!(desk.waits());
    desk.exchange.greeted(Met::default(), 4, false, desk.now);
    assert!(desk.waits());
    desk.exchange.want_list();
    assert!(matches!(desk.next(), Next::List { step: 0 }) && desk.waits());
    assert_eq!(desk.exchange.list_is_over(false, desk.now), [], "it was lost");
    assert!(desk.waits());
    desk.exchange.want_list();
    assert!(matches!(desk.next(), Next::List { step: 0 }));
    assert_eq!(desk.exchange.list_is_over(true, desk.now), [Event::Proven]);
    assert_eq!(desk.exchange.list_is_over(true, desk.now), [], "no list is owed");
    assert_eq!(desk.reserve(), id(0));
}

#[test]
fn a_list_takes_a_place_and_goes_before_the_next_call() {
    let mut desk = Desk::new(2);
    desk.send(5, After::default());
    desk.exchange.want_list();
    assert!(desk.waits());
    let _ = desk.answered(5, None);
    assert!(matches!(desk.next(), Next::List { step: 0 }) && desk.waits());
    desk.exchange.list_goes_on(1);
    assert!(matches!(desk.next(), Next::List { step: 1 }) && desk.waits());
    assert_eq!(desk.exchange.list_is_over(true, desk.now), [], "the connection was proven before");
    desk.send(6, After::default());
}

#[test]
fn nothing_is_sent_beyond_the_window_and_the_window_has_a_bound() {
    for (claimed, window) in [(0, 1), (2, 2), (usize::MAX, usize::from(WINDOW_MAX))] {
        let mut desk = Desk::beside(2 * WINDOW_MAX);
        desk.exchange.greeted(Met::default(), claimed, false, desk.now);
        for number in 0..window {
            desk.send(u64::try_from(number).expect("small"), After::default());
        }
        assert!(desk.waits(), "{claimed}");
    }
}

#[test]
fn what_ends_sending_hears_when_nothing_is_owed() {
    let mut desk = Desk::beside(3);
    assert!(desk.exchange.clone().end_sending(), "nothing was sent");
    for number in [5, 6] {
        desk.send(number, After::default());
    }
    assert!(!desk.exchange.end_sending() && desk.waits());
    assert!(desk.answered(5, None).settled.events.is_empty() && desk.waits());
    assert_eq!(desk.answered(6, None).settled.events, [Event::NothingOwed]);
    assert!(desk.waits() && desk.ledger.has_held(), "it waits for the next connection");

    let mut desk = Desk::new(1);
    let call = desk.reserve();
    assert!(!desk.exchange.end_sending());
    let refused = desk.exchange.claim(5, call, (journaled(0), After::default()), &mut desk.ledger, desk.now);
    assert_eq!(refused.expect_err("nothing more is sent").events, [Event::NothingOwed]);
}

// ---- silence ----

#[test]
fn silence_means_a_stall_and_then_the_end_while_an_answer_is_owed() {
    let mut desk = Desk::new(1);
    assert_eq!((desk.exchange.deadline(), desk.exchange.overdue(desk.now + 2 * SILENCE_MAX)), (None, None));
    let hour = Duration::from_secs(3600);
    desk.send_for(hour, 5, After::default());
    let began = desk.now;
    assert_eq!(desk.exchange.deadline(), Some(began + STALL_AFTER));
    assert_eq!(desk.exchange.overdue(began + STALL_AFTER / 2), None);
    assert_eq!(desk.exchange.overdue(began + STALL_AFTER), Some(Event::StallBegan));
    assert_eq!(desk.exchange.overdue(began + STALL_AFTER), None, "it was told");
    assert_eq!(desk.exchange.heard(began + 2 * STALL_AFTER), Some(Event::StallEnded));
    assert_eq!(desk.exchange.heard(began + 2 * STALL_AFTER), None);
    let began = began + 2 * STALL_AFTER;
    assert_eq!(desk.exchange.overdue(began + STALL_AFTER), Some(Event::StallBegan));
    let end = desk.exchange.deadline().expect("it ends");
    assert!(end > began + hour + SILENCE_MAX, "the call may run for an hour");
    assert_eq!(desk.exchange.overdue(end), Some(Event::Silent));
    assert_eq!((desk.exchange.deadline(), desk.exchange.overdue(end)), (None, None), "once");
}

#[test]
fn what_is_sent_to_a_silent_editor_does_not_make_it_less_silent() {
    let mut desk = Desk::beside(2);
    desk.send(5, After::default());
    let began = desk.now;
    desk.now += STALL_AFTER / 2;
    desk.send(6, After::default());
    assert_eq!(desk.exchange.overdue(began + STALL_AFTER), Some(Event::StallBegan));
}

#[test]
fn a_stall_ends_when_nothing_is_owed_any_more() {
    let mut desk = Desk::new(1);
    let call = desk.reserve();
    assert_eq!(desk.exchange.overdue(desk.now + STALL_AFTER), Some(Event::StallBegan), "it is long being prepared");
    let refused = desk.exchange.unsendable(call, Unsendable::Refused(Cause::TooLarge), &mut desk.ledger, desk.now);
    assert_eq!(refused.events, [Event::StallEnded]);
}

#[test]
fn the_time_of_a_finished_call_is_not_the_next_ones() {
    let mut desk = Desk::new(2);
    desk.send_for(Duration::from_secs(3600), 5, After::default());
    let _ = desk.answered(5, None);
    assert_eq!(desk.exchange.deadline(), None, "nothing is owed");
    desk.send(6, After::default());
    let running_max = journaled(0).running_max();
    assert_eq!(desk.exchange.overdue(desk.now + running_max + SILENCE_MAX), Some(Event::Silent));
}

#[test]
fn an_editor_with_a_heartbeat_must_be_heard_of_all_the_time() {
    let mut desk = Desk::new(0);
    desk.exchange.greeted(Met::default(), 1, true, desk.now);
    assert_eq!(desk.exchange.deadline(), Some(desk.now + HEARTBEAT_MAX));
    let _ = desk.exchange.heard(desk.now + HEARTBEAT_MAX / 2);
    assert_eq!(desk.exchange.overdue(desk.now + HEARTBEAT_MAX), None);
    assert_eq!(desk.exchange.overdue(desk.now + 2 * HEARTBEAT_MAX), Some(Event::Silent));
}

#[test]
fn an_editor_that_says_by_itself_all_the_time_that_it_is_alive_may_miss_a_few_of_these_signs() {
    let every = Duration::from_secs(5);
    for always in [false, true] {
        let mut desk = Desk::new(0);
        desk.exchange.is_heard_every(Some(every), always);
        let last = desk.now + every * SIGNS_MISSED_MAX;
        assert_eq!(desk.exchange.overdue(last - every), None);
        assert_eq!(desk.exchange.overdue(last), always.then_some(Event::Silent));
    }
}

// ---- calls ----

#[test]
fn a_claim_that_is_refused_awaits_nothing_and_frees_the_place() {
    let mut desk = Desk::new(1);
    let call = desk.reserve();
    let _ = desk.ledger.cancel(request(0), desk.now);
    let terms = (journaled(0), After::default());
    assert!(desk.exchange.claim(5, call, terms, &mut desk.ledger, desk.now).is_err(), "it was cancelled");
    assert!(!desk.exchange.awaits_reply() && desk.exchange.end_sending());
}

#[test]
fn a_call_that_cannot_be_sent_is_told_so_and_frees_the_place() {
    let mut desk = Desk::new(2);
    let call = desk.reserve();
    let why = Unsendable::Refused(Cause::TooLarge);
    let settled = desk.exchange.unsendable(call, why, &mut desk.ledger, desk.now);
    assert_eq!(verdicts(&settled.settlements), [Verdict::NotExecuted(Cause::TooLarge)]);
    desk.send(5, After::default());
}

#[test]
fn an_editor_that_leaves_is_told_of_and_gets_nothing_more() {
    let mut desk = Desk::new(1);
    desk.send(5, After::default());
    let answered = desk.answered(5, Some(Refusal::Leaving));
    assert_eq!(answered.settled.events, [Event::LeavingAnnounced(LeaveReason::Unknown)]);
    assert!(verdicts(&answered.settled.settlements).is_empty() && desk.waits(), "it is held again");
}

/// The announcement may arrive directly after a reply: before the next call is reserved or claimed, and before the bridge gets
/// the event.
#[test]
fn no_call_goes_to_an_editor_that_has_said_goodbye() {
    let mut desk = Desk::new(1);
    let call = desk.reserve();
    assert_eq!(desk.exchange.leaves(LeaveReason::Reload), Event::LeavingAnnounced(LeaveReason::Reload));
    let terms = (journaled(0), After::default());
    assert!(desk.exchange.claim(5, call, terms, &mut desk.ledger, desk.now).is_err(), "it leaves");
    assert!(desk.waits() && desk.ledger.has_held(), "it waits for the next connection");
}

/// The bridge ignores an announcement before the end of the greeting. If the exchange did not, calls would never be sent.
#[test]
fn a_goodbye_before_the_greeting_counts_for_nothing() {
    let mut desk = Desk::new(1);
    desk.exchange = Exchange::new(EPOCH);
    let _ = desk.exchange.leaves(LeaveReason::Reload);
    desk.exchange.greeted(Met::default(), 1, false, desk.now);
    desk.list();
    assert_eq!(desk.reserve(), id(0));
}

#[test]
fn another_editor_ends_the_connection_and_the_call_is_held_again() {
    let mut desk = Desk::new(1);
    desk.send(5, After::default());
    let answered = desk.answered(5, Some(Refusal::OtherProject));
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
    exchange.greeted(Met { tools_revision: Some("r".to_owned()), ..Met::default() }, 1, false, Instant::now());
    assert_eq!(exchange.take_revision(), Some("r".to_owned()));
    assert_eq!(exchange.take_revision(), None);
}

#[test]
fn a_reply_without_a_number_belongs_to_the_only_open_message() {
    let mut exchange = Exchange::new(EPOCH);
    assert_eq!(exchange.only_open(), None);
    exchange.asks_greeting(3);
    assert_eq!(exchange.only_open(), Some(3));
    exchange.asks_heartbeat(4);
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
    next.greeted(Met { journal: Some("j".to_owned()), ..Met::default() }, 2, false, desk.now);
    let ask = |next: &mut Exchange, number, ledger: &mut Ledger, now| next.asks_outcomes(number, ledger, now).0;
    assert_eq!(ask(&mut next, 8, &mut desk.ledger, desk.now), Some(vec![key(0)]));
    assert_eq!(ask(&mut next, 9, &mut desk.ledger, desk.now), None);
    let ReplyTo::Outcomes(question) = next.reply(8, None) else { panic!("the question is open") };
    assert!(next.outcomes_told(&question, true).is_empty());
    assert_eq!(errands(&mut next), [Errand::Outcomes]);
    // A question without an answer is given up after `OUTCOMES_ASKED_EVERY`. A later answer to it is ignored.
    let _ = ask(&mut next, 10, &mut desk.ledger, desk.now);
    let later = desk.now + OUTCOMES_ASKED_EVERY;
    assert_eq!(ask(&mut next, 11, &mut desk.ledger, later), Some(vec![key(0)]));
    assert_eq!(next.reply(10, None), ReplyTo::Nothing);
    let told = Learned::Ended(said()).tell(call, &key(0), &mut desk.ledger, later);
    assert_eq!(verdicts(&told), [Verdict::Ok]);
    assert!(
        Learned::NotRun { sealed: false }.tell(call, &key(0), &mut desk.ledger, later).is_empty(),
        "it is sought no more"
    );
}

#[test]
fn after_an_answer_about_several_that_was_not_read_each_call_is_asked_for_alone_and_once() {
    let mut desk = Desk::beside(2);
    let calls = [desk.send(5, After::default()), desk.send(6, After::default())];
    let _ = desk.ledger.close_epoch(EPOCH, crate::fsm::cause::Loss::Disconnect, desk.now);
    let mut next = Exchange::new(Epoch(2));
    next.greeted(Met { journal: Some("j".to_owned()), ..Met::default() }, 2, false, desk.now);
    let mut asked = Vec::new();
    for number in 8..12 {
        let _ = next.asks_outcomes(number, &mut desk.ledger, desk.now);
        let ReplyTo::Outcomes(question) = next.reply(number, None) else { break };
        let sought: Vec<CallId> = question.sought.iter().map(|(call, _)| *call).collect();
        // An answer about one call that is not read changes nothing for the others.
        assert!(next.outcomes_told(&question, false).is_empty());
        assert_eq!(errands(&mut next), [Errand::Outcomes]);
        asked.push(sought);
    }
    assert_eq!(asked, [calls.to_vec(), vec![calls[0]], vec![calls[1]]]);
}

#[test]
fn an_answer_that_was_lost_is_asked_of_the_journal_when_the_editor_has_no_call_twice() {
    let mut desk = Desk::beside(2);
    let lost = desk.send(5, After::default());
    desk.exchange.has_calls(false);
    desk.exchange.has_calls(true);
    desk.exchange.has_calls(false);
    assert_eq!(errands(&mut desk.exchange), [], "it may be on its way");
    let fresh = desk.send(6, After::default());
    desk.exchange.has_calls(false);
    assert_eq!(errands(&mut desk.exchange), [Errand::Outcomes]);
    assert!(desk.exchange.resolve_doubt(lost, true).is_some() && desk.exchange.resolve_doubt(fresh, true).is_none());

    let mut desk = Desk::new(1);
    desk.exchange.greeted(Met::default(), 1, true, desk.now);
    desk.send(5, After::default());
    desk.exchange.has_calls(false);
    desk.exchange.has_calls(false);
    assert_eq!(errands(&mut desk.exchange), [], "nobody else knows");
}

#[test]
fn a_message_that_names_nothing_answers_no_call() {
    let mut desk = Desk::new(1);
    let call = desk.send(5, After::default());
    assert_eq!(desk.exchange.unreadable(), MayAnswer::Nobody);
    let (keys, _) = desk.exchange.asks_outcomes(6, &mut desk.ledger, desk.now);
    assert_eq!(keys, Some(vec![key(0)]), "a call that runs is asked for too");
    assert_eq!(desk.exchange.resolve_doubt(call, true), Some(After::default()));
    assert_eq!(desk.exchange.resolve_doubt(call, true), None);
    assert_eq!(desk.exchange.reply(5, None), ReplyTo::Nothing);

    let mut desk = Desk::new(1);
    desk.exchange = Exchange::new(EPOCH);
    desk.exchange.greeted(Met::default(), 1, false, desk.now);
    desk.list();
    desk.send(5, After::default());
    assert_eq!(desk.exchange.unreadable(), MayAnswer::ACall, "without a journal nobody knows");
}

// ---- an editor that takes no calls for now, and calls that only begin some work ----

fn blocked() -> Standing {
    Standing::Blocked("a dialog is open".into())
}

#[test]
fn a_call_that_a_busy_editor_refused_waits_until_the_editor_says_that_it_takes_calls() {
    let mut desk = Desk::new(1);
    desk.exchange.greeted(Met::default(), 1, true, desk.now);
    let call = desk.send(5, After::default());
    let answered = desk.answered(5, Some(Refusal::Busy));
    assert!(answered.known && !answered.hang_up, "the connection goes on");
    assert!(verdicts(&answered.settled.settlements).is_empty() && desk.ledger.has_held(), "it did not run");
    assert!(desk.waits(), "nothing says that the editor takes calls now");
    desk.exchange.stands(&blocked(), &mut desk.ledger);
    assert!(desk.waits());
    desk.exchange.stands(&Standing::TakesCalls, &mut desk.ledger);
    assert_eq!(desk.send(6, After::default()), call);
    assert_eq!(verdicts(&desk.answered(6, None).settled.settlements), [Verdict::Ok]);
}

/// Nothing would end the wait of an editor that has no heartbeat. The number of sendings is what ends this.
#[test]
fn a_busy_editor_without_a_heartbeat_is_asked_again_after_a_pause_as_long_as_the_call_is_held() {
    let mut desk = Desk::new(1);
    desk.ledger.set_availability(Availability::Open, desk.now);
    for number in 5..25 {
        let Next::Call(held) = desk.next() else { panic!("{number}: the call is sent again") };
        let terms = (journaled(0), After::default());
        assert!(desk.exchange.claim(number, held.id, terms, &mut desk.ledger, desk.now).is_ok());
        let settled = desk.answered(number, Some(Refusal::Busy)).settled;
        assert!(verdicts(&settled.settlements).is_empty(), "{number}");
        let waits: Vec<_> = desk.ledger.open_records().map(|record| record.waits_for).collect();
        assert_eq!((waits, desk.exchange.calls_again()), (vec![Some(Cause::Blocked)], Some(desk.now + BUSY_PAUSE)));
        desk.now += BUSY_PAUSE - Duration::from_millis(1);
        assert!(desk.waits(), "{number}: too early");
        desk.now += Duration::from_millis(1);
    }
    desk.send(25, After::default());
    assert_eq!(verdicts(&desk.answered(25, None).settled.settlements), [Verdict::Ok]);
    assert_eq!(desk.exchange.calls_again(), None);
}

/// The editor runs tests: it refuses to run others, and takes the call that asks how far they are.
#[test]
fn a_call_that_is_kept_off_alone_lets_the_others_past_and_is_sent_again_after_a_pause() {
    let mut desk = Desk::new(2);
    desk.ledger.set_availability(Availability::Open, desk.now);
    let kept = desk.send(5, After::default());
    let settled = desk.answered(5, Some(Refusal::NotYet)).settled;
    assert!(verdicts(&settled.settlements).is_empty(), "it did not run, and is held");
    let waits: Vec<_> = desk.ledger.open_records().map(|record| (record.id == kept, record.waits_for)).collect();
    assert!(waits.contains(&(true, Some(Cause::Blocked))), "{waits:?}");
    let other = desk.send(6, After::default());
    assert_ne!(other, kept, "the other call goes past it");
    assert_eq!(verdicts(&desk.answered(6, None).settled.settlements), [Verdict::Ok]);
    assert!(desk.waits() && !desk.ledger.has_held());
    assert_eq!(desk.exchange.calls_again(), Some(desk.now + BUSY_PAUSE));
    desk.now += BUSY_PAUSE;
    assert_eq!(desk.send(7, After::default()), kept);
    assert_eq!(verdicts(&desk.answered(7, None).settled.settlements), [Verdict::Ok]);
    assert_eq!(desk.exchange.calls_again(), None);
}

/// The pause belongs to the connection. On the next one the call is sent at once.
#[test]
fn a_call_that_is_kept_off_alone_is_free_when_its_connection_ends() {
    let mut desk = Desk::new(1);
    desk.ledger.set_availability(Availability::Open, desk.now);
    desk.send(5, After::default());
    assert!(desk.answered(5, Some(Refusal::NotYet)).known && !desk.ledger.has_held());
    desk.ledger.close_epoch(EPOCH, Loss::Disconnect, desk.now);
    assert!(desk.ledger.has_held());
}

#[test]
fn nothing_is_sent_to_an_editor_that_says_it_takes_no_calls() {
    let mut desk = Desk::new(1);
    desk.ledger.set_availability(Availability::Open, desk.now);
    desk.exchange.stands(&blocked(), &mut desk.ledger);
    assert!(desk.waits());
    let waits: Vec<_> = desk.ledger.open_records().map(|record| record.waits_for).collect();
    assert_eq!(waits, [Some(Cause::Blocked)]);
    desk.exchange.stands(&Standing::TakesCalls, &mut desk.ledger);
    assert_eq!(desk.reserve(), id(0));
}

/// The call may still wait or run in the editor, so it is over for us and never sent again.
#[test]
fn a_call_that_the_editors_server_gave_up_ends_as_unknown_and_frees_its_place() {
    let mut desk = Desk::new(2);
    desk.send(5, After::default());
    let ReplyTo::Call(call, _) = desk.exchange.reply(5, None) else { panic!("no call is open") };
    let settled = desk.exchange.left_open(call, (Loss::GivenUp, None), &mut desk.ledger, desk.now);
    assert!(verdicts(&settled.settlements).is_empty(), "the journal may know: {settled:?}");
    assert_eq!(desk.send(6, After::default()), id(1), "its place is free");

    let mut desk = Desk::new(1);
    let reserved = desk.reserve();
    let terms = Terms { recovery: Recovery::None, ..journaled(0) };
    assert!(desk.exchange.claim(5, reserved, (terms, After::default()), &mut desk.ledger, desk.now).is_ok());
    let ReplyTo::Call(call, _) = desk.exchange.reply(5, None) else { panic!("no call is open") };
    let settled = desk.exchange.left_open(call, (Loss::GivenUp, None), &mut desk.ledger, desk.now);
    assert_eq!(verdicts(&settled.settlements), [Verdict::OutcomeUnknown(Loss::GivenUp)]);
    assert!(desk.waits() && !desk.ledger.has_held());
}

/// The reload in which such work ends would cut a call that runs meanwhile.
#[test]
fn calls_wait_until_the_work_that_a_call_began_has_ended() {
    let mut desk = Desk::new(2);
    let first = desk.reserve();
    let file = Recovery::StatusFile { path: "Temp/status", running: None, before: 0, of: Vec::new() };
    let terms = Terms { recovery: Recovery::None, ..journaled(0) };
    let after = After { follows: Some(file.clone()), ..After::default() };
    assert!(desk.exchange.claim(5, first, (terms, after), &mut desk.ledger, desk.now).is_ok());
    let ReplyTo::Call(call, _) = desk.exchange.reply(5, None) else { panic!("no call is open") };
    let settled = desk.exchange.left_open(call, (Loss::Reload, Some(file)), &mut desk.ledger, desk.now);
    assert!(verdicts(&settled.settlements).is_empty() && desk.waits());
    let told = desk.ledger.learn(call, said(), desk.now);
    assert_eq!(verdicts(&told), [Verdict::Ok]);
    desk.exchange.look_for_calls();
    assert_eq!(desk.send(6, After::default()), id(1));
}
