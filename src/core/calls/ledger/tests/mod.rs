mod followed;
mod grace;
mod hindered;
mod index;
mod recovered;
mod turns;

use std::time::Duration;

use super::*;
use crate::core::calls::Keep;
use crate::core::calls::types::*;
use crate::core::user_text;
use crate::fsm::call::{State, Verdict};
use crate::limits::{
    FINISHED_CALLS_MAX, LATE_RESULT_MAX_AGE, LATE_RESULTS_MAX_BYTES, OPEN_CALLS_MAX_BYTES, PATIENCE_MARGIN,
    PROGRESS_EVERY, RECOVERY_MAX, RUNNING_MAX, SENDINGS_MAX,
};
use crate::protocol::dialect::{AnswerBody, CallProgress, JournalKey};
use crate::protocol::mcp::{AnswerForm, ProtocolVersion};

/// A ledger and a clock that only the test moves.
struct Book {
    ledger: Ledger,
    now: Instant,
    ids: u8,
}

const FIRST: Epoch = Epoch(1);
const SECOND: Epoch = Epoch(2);
const OPEN: Availability = Availability::Open;
const RELOADING: Availability = Availability::Coming(Cause::Reloading);

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn reply(is_error: bool) -> EditorAnswer {
    EditorAnswer { is_error, body: AnswerBody::Text("said".to_owned()) }
}

fn terms(recovery: Recovery, repeatable: bool) -> Terms {
    Terms { recovery, tool_timeout: Duration::ZERO, repeatable }
}

fn once() -> Terms {
    terms(Recovery::None, false)
}

fn result_file() -> Recovery {
    Recovery::ResultFile { path: "r.json".to_owned(), busy_files: &[], quiet: Duration::ZERO }
}

fn new_call(id: CallId, request: RequestKey) -> NewCall {
    NewCall {
        id,
        request,
        tool: "compile".to_owned(),
        arguments: raw("{}").into(),
        progress_token: None,
        trace: None,
        requester: None,
        parallel: false,
        patience: secs(600),
        waited: Duration::ZERO,
        profile: ProtocolVersion::LATEST.into(),
        form: AnswerForm::ToolResult,
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A short label of each settlement.
fn told(settlements: &[Settlement]) -> Vec<String> {
    let is_told = |settlement: &&Settlement| !matches!(settlement, Settlement::Withdraw { key: None, .. });
    let words = settlements.iter().filter(is_told).map(|settlement| match settlement {
        Settlement::HeldAgain => "held again".to_owned(),
        Settlement::Withdraw { key, .. } => format!("withdraw:{}", key.as_ref().map_or("", |key| &key.id)),
        Settlement::Answer(answer) => match answer.verdict.cause() {
            Some(cause) => format!("{}:{cause}", answer.verdict.label()),
            None => answer.verdict.label().to_owned(),
        },
        Settlement::Progress { news, .. } => format!("progress:{}", news.message),
        Settlement::KeepLate { .. } => "keep_late".to_owned(),
        Settlement::Noted { verdict, .. } => format!("noted:{}", verdict.label()),
    });
    words.collect()
}

impl Book {
    /// A book with a connected editor.
    fn connected() -> Self {
        let mut book = Self { ledger: Ledger::default(), now: Instant::now(), ids: 0 };
        book.ledger.open_epoch(FIRST);
        book.ledger.set_availability(OPEN, book.now);
        book
    }

    fn accept_with(&mut self, patience: u64, token: Option<&str>) -> (CallId, Vec<Settlement>) {
        self.ids += 1;
        let id = CallId::from_random([self.ids; 16]);
        let call = NewCall { progress_token: token.map(raw), patience: secs(patience), ..new_call(id, self.request()) };
        let settlements = self.ledger.accept(call, self.now);
        (id, settlements)
    }

    fn accept(&mut self) -> CallId {
        let (id, settlements) = self.accept_with(600, None);
        assert!(settlements.is_empty());
        id
    }

    /// The request of the newest call.
    fn request(&self) -> RequestKey {
        RequestKey::new(SessionId::STDIO, u64::from(self.ids))
    }

    fn send(&mut self, epoch: Epoch, terms: Terms) -> CallId {
        let held = self.ledger.reserve(epoch).expect("a call is held");
        self.ledger.claim(held.id, epoch, terms, self.now).expect("it may be sent");
        held.id
    }

    fn sent(&mut self, terms: Terms) -> CallId {
        let id = self.accept();
        assert_eq!(self.send(FIRST, terms), id);
        id
    }

    fn reply(&mut self, call: CallId, epoch: Epoch) -> Vec<Settlement> {
        self.ledger.reply(call, epoch, reply(false), self.now).1
    }

    fn close(&mut self, epoch: Epoch, loss: Loss) -> Vec<Settlement> {
        self.ledger.close_epoch(epoch, loss, self.now)
    }

    fn reconnect(&mut self, epoch: Epoch) -> Vec<Settlement> {
        self.ledger.open_epoch(epoch);
        self.ledger.set_availability(OPEN, self.now)
    }

    fn wait(&mut self, span: Duration) -> Vec<Settlement> {
        self.now += span;
        self.ledger.elapse(self.now)
    }

    fn left(&self) -> usize {
        self.ledger.entries.len()
    }
}

#[test]
fn a_call_is_held_sent_and_answered_and_leaves_nothing_open() {
    let mut book = Book::connected();
    let call = book.accept();
    assert_eq!(book.ledger.counts(), (1, 0));
    book.send(FIRST, once());
    assert_eq!((book.ledger.counts(), book.ledger.awaited()), ((0, 1), 1));
    assert_eq!(told(&book.reply(call, FIRST)), ["ok"]);
    assert_eq!((book.left(), book.ledger.next_deadline()), (0, None));
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Ended(_)));
}

#[test]
fn an_editors_failure_is_its_own_answer() {
    let mut book = Book::connected();
    let call = book.sent(once());
    assert_eq!(told(&book.ledger.reply(call, FIRST, reply(true), book.now).1), ["tool_error"]);
}

#[test]
fn a_second_answer_is_nobodys() {
    let mut book = Book::connected();
    let call = book.sent(once());
    book.reply(call, FIRST);
    let (known, settlements) = book.ledger.reply(call, FIRST, reply(false), book.now);
    assert!(!known && settlements.is_empty());
}

#[test]
fn a_frame_of_one_connection_never_completes_a_call_of_another() {
    let mut book = Book::connected();
    let call = book.sent(terms(Recovery::None, true));
    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    assert_eq!(book.send(SECOND, terms(Recovery::None, true)), call);
    assert!(!book.ledger.reply(call, FIRST, reply(false), book.now).0);
    assert_eq!(told(&book.reply(call, SECOND)), ["ok"]);
}

#[test]
fn nothing_is_claimed_on_a_closed_connection() {
    let mut book = Book::connected();
    let call = book.accept();
    let held = book.ledger.reserve(FIRST).unwrap();
    book.close(FIRST, Loss::Disconnect);
    let claimed = book.ledger.claim(held.id, FIRST, once(), book.now);
    assert_eq!(claimed.unwrap_err(), ClaimRefused::EpochClosed);
    assert!(book.ledger.reserve(FIRST).is_none() && book.ledger.has_held(), "{call} is free for the next connection");
}

#[test]
fn a_call_is_reserved_and_claimed_once() {
    let mut book = Book::connected();
    book.accept();
    let call = book.ledger.reserve(FIRST).unwrap().id;
    assert!(book.ledger.reserve(FIRST).is_none());
    // `unreserve` by another connection has no effect.
    book.ledger.unreserve(call, SECOND);
    assert!(book.ledger.reserve(FIRST).is_none(), "it is not that connection's");
    book.ledger.unreserve(call, FIRST);
    assert!(book.ledger.reserve(FIRST).is_some_and(|held| held.id == call));
    book.ledger.claim(call, FIRST, once(), book.now).unwrap();
    assert_eq!(book.ledger.claim(call, FIRST, once(), book.now).unwrap_err(), ClaimRefused::NotHeld);
}

#[test]
fn what_may_have_run_is_not_sent_again() {
    let mut book = Book::connected();
    book.sent(once());
    assert_eq!(told(&book.close(FIRST, Loss::Reload)), ["outcome_unknown:reload"]);
    book.reconnect(SECOND);
    assert!(book.ledger.reserve(SECOND).is_none());
    assert_eq!(book.left(), 0);
}

#[test]
fn a_repeatable_call_is_sent_three_times_at_most() {
    let mut book = Book::connected();
    let call = book.accept();
    for round in 1..=3 {
        let epoch = Epoch(round);
        book.reconnect(epoch);
        assert_eq!(book.send(epoch, terms(Recovery::None, true)), call);
        let end = book.close(epoch, Loss::Disconnect);
        let expected: &[&str] = if round < 3 { &[] } else { &["outcome_unknown:disconnect"] };
        assert_eq!(told(&end), expected, "round {round}");
    }
    assert_eq!(book.left(), 0);
}

#[test]
fn whether_a_call_may_be_repeated_is_what_the_list_says_when_it_is_sent() {
    let mut book = Book::connected();
    book.sent(terms(Recovery::None, true));
    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    book.send(SECOND, once());
    assert_eq!(told(&book.close(SECOND, Loss::Disconnect)), ["outcome_unknown:disconnect"]);
}

#[test]
fn a_call_that_was_sent_before_never_ends_as_not_executed() {
    let mut book = Book::connected();
    book.sent(terms(Recovery::None, true));
    book.close(FIRST, Loss::Disconnect);
    book.ledger.set_availability(Availability::Absent(Cause::NotRunning), book.now);
    assert_eq!(told(&book.wait(secs(1))), ["outcome_unknown:disconnect"]);
}

#[test]
fn a_call_without_a_byte_written_is_held_again_and_counts_as_not_sent() {
    let mut book = Book::connected();
    let call = book.sent(once());
    assert!(book.ledger.revoke_claim(call, FIRST, book.now).is_empty());
    assert_eq!(told(&book.close(FIRST, Loss::Disconnect)), [""; 0]);
    assert_eq!(told(&book.ledger.refuse(call, Cause::TooLarge, book.now)), ["not_executed:too_large"]);
}

#[test]
fn a_call_of_a_patient_client_is_still_running_after_two_minutes_and_its_late_answer_is_kept() {
    let mut book = Book::connected();
    let call = book.sent(once());
    assert!(book.wait(RUNNING_MAX - secs(1)).is_empty());
    assert_eq!(told(&book.wait(secs(1))), ["still_running"]);
    assert_eq!(book.ledger.running().map(|(id, ..)| id), Some(call), "it keeps its place");
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Open(_)));
    assert_eq!(told(&book.reply(call, FIRST)), ["keep_late", "noted:ok"]);
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Open(_)), "its answer is not said to be given");
    book.ledger.keep(call, "{}".into(), Keep::Owed, book.now);
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Kept(_)));
    assert_eq!(book.left(), 0);
}

#[test]
fn a_late_result_expires_and_says_so() {
    let mut book = Book::connected();
    let call = book.sent(once());
    book.wait(RUNNING_MAX);
    book.reply(call, FIRST);
    book.ledger.keep(call, "{}".into(), Keep::Owed, book.now);
    book.now += LATE_RESULT_MAX_AGE + secs(1);
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Expired(_)));
}

#[test]
fn late_results_are_bounded_in_bytes_oldest_first() {
    let mut book = Book::connected();
    let big = "x".repeat(LATE_RESULTS_MAX_BYTES / 2 + 1);
    let mut calls = Vec::new();
    for _ in 0..2 {
        let call = book.sent(once());
        book.wait(RUNNING_MAX);
        book.reply(call, FIRST);
        book.ledger.keep(call, big.as_str().into(), Keep::Owed, book.now);
        calls.push(call);
    }
    assert!(matches!(book.ledger.look_up(calls[0], book.now), Lookup::Expired(_)));
    assert!(matches!(book.ledger.look_up(calls[1], book.now), Lookup::Kept(_)));
}

#[test]
fn a_tools_own_time_limit_prolongs_its_run_and_patience_ends_it() {
    let mut book = Book::connected();
    book.accept();
    book.send(FIRST, Terms { tool_timeout: secs(300), ..once() });
    assert!(book.wait(secs(300)).is_empty());
    assert_eq!(told(&book.wait(PATIENCE_MARGIN)), ["still_running"]);

    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    book.accept_with(60, None);
    book.send(SECOND, Terms { tool_timeout: secs(300), ..once() });
    assert_eq!(told(&book.wait(secs(55))), ["still_running"]);
}

#[test]
fn a_running_call_whose_connection_ends_leaves_the_ledger_and_says_how() {
    let mut book = Book::connected();
    let call = book.sent(once());
    book.wait(RUNNING_MAX);
    assert_eq!(told(&book.close(FIRST, Loss::Silence)), ["noted:outcome_unknown"]);
    let Lookup::Ended(record) = book.ledger.look_up(call, book.now) else { panic!("it is not ended") };
    assert_eq!(record.verdict, Some(Verdict::OutcomeUnknown(Loss::Silence)));
    assert_eq!(book.left(), 0);
}

#[test]
fn an_earlier_loss_does_not_end_the_wait_for_a_repeated_calls_late_answer() {
    let mut book = Book::connected();
    let call = book.sent(terms(Recovery::None, true));
    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    book.send(SECOND, terms(Recovery::None, true));
    assert_eq!(told(&book.wait(RUNNING_MAX)), ["still_running"]);
    assert!(book.wait(RECOVERY_MAX + secs(60)).is_empty(), "its second connection lives");
    assert_eq!(told(&book.reply(call, SECOND)), ["keep_late", "noted:ok"]);
}

#[test]
fn a_cancelled_held_call_is_never_sent_and_never_answered() {
    let mut book = Book::connected();
    book.accept();
    let (owed, settlements) = book.ledger.cancel(book.request(), book.now);
    assert!(owed);
    assert_eq!(told(&settlements), ["noted:cancelled"]);
    assert!(book.ledger.reserve(FIRST).is_none());
    assert_eq!(book.left(), 0);
    assert!(!book.ledger.cancel(book.request(), book.now).0);
}

#[test]
fn a_cancelled_reserved_call_is_refused_at_the_claim() {
    let mut book = Book::connected();
    let call = book.accept();
    book.ledger.reserve(FIRST).unwrap();
    book.ledger.cancel(book.request(), book.now);
    assert_eq!(book.ledger.claim(call, FIRST, once(), book.now).unwrap_err(), ClaimRefused::NotHeld);
}

#[test]
fn a_cancelled_sent_call_keeps_its_place_until_the_editor_answers() {
    let mut book = Book::connected();
    let call = book.sent(once());
    assert_eq!(told(&book.ledger.cancel(book.request(), book.now).1), ["noted:cancelled"]);
    assert!(matches!(book.ledger.look_up(call, book.now), Lookup::Open(_)), "Unity still has it");
    book.accept();
    assert_eq!(book.ledger.running().map(|(id, ..)| id), Some(call));
    assert_eq!(told(&book.reply(call, FIRST)), ["keep_late", "noted:ok"]);
    assert!(book.ledger.running().is_none());
    assert_eq!(book.left(), 1);
}

#[test]
fn a_cancelled_sent_call_falls_with_its_connection() {
    let mut book = Book::connected();
    book.sent(once());
    book.ledger.cancel(book.request(), book.now);
    assert!(told(&book.close(FIRST, Loss::Disconnect)).is_empty());
    assert_eq!(book.left(), 0);
}

#[test]
fn what_waits_behind_a_call_says_which_and_since_when() {
    let mut book = Book::connected();
    let running = book.sent(once());
    book.accept_with(30, None);
    let settlements = book.wait(secs(25));
    assert_eq!(told(&settlements), ["not_executed:busy"]);
    let [Settlement::Answer(answer)] = settlements.as_slice() else { panic!("one answer") };
    assert_eq!(answer.behind, Some((running, "compile".into(), secs(25))));
    let text = user_text::verdict(answer, None, None);
    assert!(text.contains("busy with `compile` (call "), "{text}");
}

#[test]
fn without_evidence_a_held_call_is_answered_within_a_second_with_the_cause() {
    let mut book = Book::connected();
    book.close(FIRST, Loss::Quit);
    book.ledger.set_availability(Availability::Absent(Cause::Closed), book.now);
    book.accept();
    let deadline = book.ledger.next_deadline().unwrap();
    assert!(deadline - book.now < secs(1));
    assert_eq!(told(&book.wait(deadline - book.now)), ["not_executed:closed"]);
}

#[test]
fn another_cause_of_absence_does_not_start_the_second_anew() {
    let mut book = Book::connected();
    book.accept();
    book.ledger.set_availability(Availability::Absent(Cause::NotRunning), book.now);
    book.now += Duration::from_millis(700);
    book.ledger.set_availability(Availability::Absent(Cause::WrongPeer), book.now);
    assert_eq!(told(&book.wait(Duration::from_millis(100))), ["not_executed:wrong_peer"]);
}

#[test]
fn with_evidence_a_call_is_held_as_long_as_its_client_waits_and_two_minutes_at_most() {
    for (patience, held) in [(60, 55), (600, 120)] {
        let mut book = Book::connected();
        book.close(FIRST, Loss::Reload);
        book.ledger.set_availability(RELOADING, book.now);
        let (call, _) = book.accept_with(patience, None);
        assert!(book.wait(secs(held - 1)).is_empty());
        book.now += secs(1);
        book.ledger.open_epoch(SECOND);
        let late = book.ledger.claim(call, SECOND, once(), book.now);
        assert_eq!(late.unwrap_err(), ClaimRefused::LimitPassed, "never sent after its limit");
        assert_eq!(told(&book.ledger.elapse(book.now)), ["not_executed:reloading"]);
    }
}

#[test]
fn a_cut_compile_is_learned_from_its_file() {
    let mut book = Book::connected();
    let call = book.sent(terms(result_file(), false));
    assert!(book.close(FIRST, Loss::Reload).is_empty());
    assert_eq!(book.ledger.recovering().len(), 1);
    assert_eq!(told(&book.ledger.learn(call, reply(false), book.now)), ["ok"]);
    assert!(book.ledger.recovering().is_empty());
    assert_eq!(book.left(), 0);
}

#[test]
fn a_cut_compile_without_a_file_is_unknown_in_the_end() {
    let mut book = Book::connected();
    book.sent(terms(result_file(), false));
    book.close(FIRST, Loss::Reload);
    book.reconnect(SECOND);
    assert_eq!(told(&book.wait(RECOVERY_MAX)), ["outcome_unknown:reload"]);
    assert_eq!(book.left(), 0);
}

#[test]
fn an_older_compile_says_what_followed_when_the_editor_is_back() {
    let mut book = Book::connected();
    book.sent(terms(Recovery::Inferred, false));
    assert!(book.close(FIRST, Loss::Reload).is_empty());
    book.ledger.set_availability(RELOADING, book.now);
    book.now += secs(9);
    let settlements = book.reconnect(SECOND);
    assert_eq!(told(&settlements), ["outcome_unknown:reload"]);
    let [Settlement::Answer(answer)] = settlements.as_slice() else { panic!("one answer") };
    assert_eq!(answer.came_back, Some(secs(9)));
}

#[test]
fn a_loss_is_not_said_to_be_over_while_it_happens() {
    let mut book = Book::connected();
    book.sent(once());
    let settlements = book.close(FIRST, Loss::Disconnect);
    let [Settlement::Answer(answer)] = settlements.as_slice() else { panic!("one answer") };
    assert_eq!(answer.came_back, None);
}

#[test]
fn progress_rises_while_it_is_held_and_runs_and_stops_with_the_answer() {
    let mut book = Book::connected();
    book.ledger.await_list(true);
    let (call, _) = book.accept_with(600, Some("7"));
    let mut counts = Vec::new();
    let mut count = |settlements: &[Settlement]| {
        let progress = settlements.iter().filter_map(|settlement| match settlement {
            Settlement::Progress { news, .. } => Some(news.progress),
            _ => None,
        });
        counts.extend(progress);
    };
    count(&book.ledger.elapse(book.now));
    book.ledger.reserve(FIRST).unwrap();
    let claimed = book.ledger.claim(call, FIRST, once(), book.now).unwrap();
    count(&claimed);
    count(&book.wait(PROGRESS_EVERY));
    let mut end = book.reply(call, FIRST);
    end.extend(book.wait(secs(60)));
    count(&end);
    assert_eq!(counts, [1.0, 2.0, 3.0]);
}

#[test]
fn a_call_that_is_held_again_does_not_say_that_it_was_never_sent() {
    let mut book = Book::connected();
    book.accept_with(600, Some("7"));
    book.send(FIRST, terms(Recovery::None, true));
    book.close(FIRST, Loss::Reload);
    book.ledger.set_availability(RELOADING, book.now);
    let held = format!("progress:held, to be sent again: {}", user_text::cause(Cause::Reloading));
    assert_eq!(told(&book.wait(PROGRESS_EVERY)), [held]);
}

#[test]
fn at_the_end_what_is_held_is_refused_and_what_comes_is_refused_too() {
    let mut book = Book::connected();
    book.accept();
    assert_eq!(told(&book.ledger.drain(book.now)), ["not_executed:shutting_down"]);
    let (_, settlements) = book.accept_with(600, None);
    assert_eq!(told(&settlements), ["not_executed:shutting_down"]);
    assert_eq!(book.left(), 0);
}

#[test]
fn at_the_end_a_repeatable_call_that_is_cut_is_answered_and_not_held() {
    let mut book = Book::connected();
    book.sent(terms(Recovery::None, true));
    book.ledger.drain(book.now);
    assert_eq!(told(&book.close(FIRST, Loss::Disconnect)), ["outcome_unknown:disconnect"]);
    assert_eq!(book.left(), 0);
}

#[test]
fn at_the_end_a_repeatable_call_whose_result_file_does_not_come_is_answered_and_not_held() {
    let mut book = Book::connected();
    let call = book.sent(terms(result_file(), true));
    assert!(book.close(FIRST, Loss::Disconnect).is_empty(), "it is looked for");
    book.ledger.drain(book.now);
    assert_eq!(told(&book.ledger.give_up(call, book.now)), ["held again", "outcome_unknown:disconnect"]);
    assert_eq!(book.left(), 0);
}

#[test]
fn at_the_end_a_call_without_a_byte_written_is_answered_and_not_held() {
    let mut book = Book::connected();
    let call = book.sent(once());
    book.ledger.drain(book.now);
    assert_eq!(told(&book.ledger.revoke_claim(call, FIRST, book.now)), ["not_executed:shutting_down"]);
}

#[test]
fn shutdown_leaves_no_call_without_an_answer() {
    let mut book = Book::connected();
    let running = book.sent(once());
    let recovering = book.accept();
    book.reply(running, FIRST);
    assert_eq!(book.send(FIRST, terms(result_file(), false)), recovering);
    book.close(FIRST, Loss::Reload);
    book.reconnect(SECOND);
    book.accept();
    book.send(SECOND, once());
    book.accept();
    book.ledger.drain(book.now);
    let mut last = told(&book.ledger.close_all_epochs(Loss::Shutdown, book.now));
    last.sort();
    assert_eq!(last, ["outcome_unknown:reload", "outcome_unknown:shutdown"]);
    assert_eq!((book.left(), book.ledger.awaited()), (0, 0));
}

#[test]
fn finished_calls_are_bounded_and_listed_newest_first() {
    let mut book = Book::connected();
    let id = |number: usize| CallId::from_random((number as u128).to_be_bytes());
    for number in 0..FINISHED_CALLS_MAX + 5 {
        let call = NewCall {
            id: id(number),
            request: RequestKey::new(SessionId::STDIO, 0),
            tool: "t".to_owned(),
            arguments: raw("{}").into(),
            progress_token: None,
            trace: None,
            requester: None,
            parallel: false,
            patience: secs(60),
            waited: Duration::ZERO,
            profile: ProtocolVersion::LATEST.into(),
            form: AnswerForm::ToolResult,
        };
        book.ledger.accept(call, book.now);
        book.ledger.refuse(id(number), Cause::Policy, book.now);
    }
    let listed: Vec<CallId> = book.ledger.records().map(|record| record.id).collect();
    assert_eq!(listed, (5..FINISHED_CALLS_MAX + 5).rev().map(id).collect::<Vec<_>>());
    assert!(matches!(book.ledger.look_up(id(4), book.now), Lookup::Unknown));
    assert!(matches!(book.ledger.look_up(id(5), book.now), Lookup::Ended(_)));
}

#[test]
fn whoever_sleeps_is_told_of_an_earlier_deadline_only() {
    let mut book = Book::connected();
    book.accept_with(600, None);
    assert!(book.ledger.wakes_late(), "nobody is armed");
    book.ledger.arm();
    assert!(!book.ledger.wakes_late());
    book.accept_with(30, None);
    assert!(book.ledger.wakes_late());
}

#[test]
fn a_call_that_was_turned_away_and_never_sent_again_is_said_to_have_been_sent() {
    let mut book = Book::connected();
    let (id, _) = book.accept_with(60, None);
    book.ledger.reserve(FIRST).unwrap();
    book.ledger.claim(id, FIRST, once(), book.now).unwrap();
    let (known, told) = book.ledger.turned_away(id, FIRST, Cause::WrongProject, book.now);
    assert!(known && told.is_empty(), "it is held again");
    let refused = book.ledger.refuse(id, Cause::Closed, book.now);
    let [Settlement::Answer(answer)] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(answer.verdict, Verdict::NotExecuted(Cause::Closed));
    assert!(answer.unrun);
    let (other, _) = book.accept_with(60, None);
    let refused = book.ledger.refuse(other, Cause::Closed, book.now);
    let [Settlement::Answer(answer)] = refused.as_slice() else { panic!("{refused:?}") };
    assert!(!answer.unrun, "not a byte of this one left");
}

#[test]
fn a_refusal_says_nothing_of_an_earlier_sending_that_may_have_run() {
    let unrun = |book: &Book| book.ledger.records().next().map(|record| record.unrun);
    let mut book = Book::connected();
    let id = book.sent(terms(Recovery::None, true));
    book.ledger.says_unrun(id);
    assert_eq!(unrun(&book), Some(true));
    let mut book = Book::connected();
    let id = book.sent(terms(Recovery::None, true));
    book.close(FIRST, Loss::Disconnect);
    book.reconnect(SECOND);
    book.send(SECOND, terms(Recovery::None, true));
    book.ledger.says_unrun(id);
    assert_eq!(unrun(&book), Some(false));
}

#[test]
fn the_refusal_of_a_later_sending_is_no_answer_to_a_call_that_may_have_run() {
    let mut book = Book::connected();
    let id = book.sent(terms(Recovery::None, true));
    assert!(book.close(FIRST, Loss::Disconnect).is_empty(), "it is held again");
    book.reconnect(SECOND);
    for _ in 2..SENDINGS_MAX {
        assert_eq!(book.send(SECOND, terms(Recovery::None, true)), id);
        assert!(book.ledger.turned_away(id, SECOND, Cause::WrongProject, book.now).1.is_empty());
    }
    book.send(SECOND, terms(Recovery::None, true));
    let (_, told) = book.ledger.turned_away(id, SECOND, Cause::WrongProject, book.now);
    let [Settlement::Answer(answer)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(answer.verdict, Verdict::OutcomeUnknown(Loss::Disconnect));
    assert!(answer.body.is_none(), "the editor's words would say that nothing ran");
}

#[test]
fn what_is_never_sent_again_takes_no_bytes_from_others() {
    for cancelled in [true, false] {
        let mut book = Book::connected();
        book.sent(once());
        assert!(!book.ledger.takes(OPEN_CALLS_MAX_BYTES), "its arguments count while it may be sent again");
        if cancelled {
            book.ledger.cancel(book.request(), book.now);
        } else {
            book.wait(RUNNING_MAX);
        }
        assert!(book.ledger.running().is_some() && book.ledger.takes(OPEN_CALLS_MAX_BYTES), "cancelled: {cancelled}");
    }
}

#[test]
fn the_end_closes_the_record_of_a_call_whose_outcome_is_still_looked_for() {
    let mut book = Book::connected();
    let (call, _) = book.accept_with(30, None);
    assert_eq!(book.send(FIRST, terms(result_file(), false)), call);
    assert!(book.close(FIRST, Loss::Reload).is_empty());
    assert_eq!(told(&book.wait(secs(30) - PATIENCE_MARGIN)), ["still_running"]);
    assert_eq!(book.ledger.counts(), (0, 1));
    assert_eq!(told(&book.ledger.close_all_epochs(Loss::Shutdown, book.now)), ["noted:outcome_unknown"]);
}

/// The outcome of a call is asked for twice, and the second answer arrives after the call was sent again.
#[test]
fn a_second_answer_of_the_journal_says_nothing_of_the_sending_after() {
    let key = |id: &str, seq| JournalKey { journal: "j".to_owned(), id: id.to_owned(), seq };
    let (first, second) = (key("c", 1), key("c.2", 2));
    let by = |key: &JournalKey| terms(Recovery::Journal(key.clone()), false);
    let mut book = Book::connected();
    let call = book.sent(by(&first));
    assert!(!book.ledger.seeks(call, &first), "its connection lives");
    book.close(FIRST, Loss::Disconnect);
    assert!(book.ledger.seeks(call, &first) && !book.ledger.seeks(call, &second));
    assert_eq!(told(&book.ledger.proven_unrun(call, false, book.now)), ["held again"]);
    book.reconnect(SECOND);
    assert_eq!(book.send(SECOND, by(&second)), call);
    assert!(!book.ledger.seeks(call, &first), "it was sent anew");
    book.close(SECOND, Loss::Disconnect);
    assert!(book.ledger.seeks(call, &second) && !book.ledger.seeks(call, &first));
}
