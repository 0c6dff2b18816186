//! What the answer to a lost call says about the editor's return.

use std::time::Duration;

use holdfast::core::calls::{Answer, Ledger, NewCall, Settlement, Terms};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::{Availability, Cause, Loss};
use holdfast::protocol::dialect::Recovery;
use holdfast::protocol::ids::{CallId, Epoch, RequestKey, SessionId};
use holdfast::protocol::mcp::{AnswerForm, ProtocolVersion};
use serde_json::value::RawValue;
use tokio::time::Instant;

const AWAY: Duration = Duration::from_secs(3);

/// A ledger with one call that was claimed for a connection.
fn claimed(recovery: Recovery, now: Instant) -> (Ledger, Epoch) {
    let (mut ledger, id, epoch) = (Ledger::default(), CallId::from_random([7; 16]), Epoch(1));
    ledger.open_epoch(epoch);
    ledger.set_availability(Availability::Open, now);
    let call = NewCall {
        id,
        request: RequestKey::new(SessionId::STDIO, 1),
        tool: "count".to_owned(),
        arguments: RawValue::from_string("{}".to_owned()).expect("it is JSON").into(),
        progress_token: None,
        trace: None,
        requester: None,
        parallel: false,
        patience: Duration::from_secs(60),
        waited: Duration::ZERO,
        profile: ProtocolVersion::negotiate("2025-11-25").into(),
        form: AnswerForm::ToolResult,
    };
    ledger.accept(call, now);
    assert!(ledger.reserve(epoch).is_some());
    let terms = Terms { recovery, tool_timeout: Duration::ZERO, repeatable: false };
    ledger.claim(id, epoch, terms, now).expect("it is held, and the connection open");
    (ledger, epoch)
}

fn only_answer(settlements: Vec<Settlement>) -> Answer {
    let mut answers = settlements.into_iter().filter_map(|settlement| match settlement {
        Settlement::Answer(answer) => Some(*answer),
        _ => None,
    });
    let answer = answers.next().expect("an answer");
    assert!(answers.next().is_none(), "and only one");
    answer
}

#[tokio::test]
async fn a_call_cut_off_by_the_end_of_its_connection_does_not_say_that_the_editor_is_back() {
    let now = Instant::now();
    let (mut ledger, epoch) = claimed(Recovery::None, now);
    let answer = only_answer(ledger.close_epoch(epoch, Loss::Disconnect, now));
    assert_eq!(answer.verdict, Verdict::OutcomeUnknown(Loss::Disconnect));
    assert_eq!(answer.came_back, None, "nothing is connected");
    assert!(!holdfast::core::user_text::verdict(&answer, None, None).contains("back"));
}

#[tokio::test]
async fn a_call_whose_outcome_only_the_return_tells_says_after_how_long_the_editor_was_back() {
    let now = Instant::now();
    let (mut ledger, epoch) = claimed(Recovery::Inferred, now);
    assert!(ledger.close_epoch(epoch, Loss::Reload, now).is_empty(), "its outcome is looked for");
    ledger.set_availability(Availability::Coming(Cause::Reloading), now);
    ledger.open_epoch(Epoch(2));
    let answer = only_answer(ledger.set_availability(Availability::Open, now + AWAY));
    assert_eq!(answer.came_back, Some(AWAY));
}
