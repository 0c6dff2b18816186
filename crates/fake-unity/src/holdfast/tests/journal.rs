//! Tests that the journal keeps its promises under any order of events.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::holdfast::journal::{
    AGE_MAX_MS, ANSWER_MAX_BYTES, ANSWERS_MAX_BYTES, Answer, ENTRIES_MAX, Entry, GATEWAYS_MAX, Journal, Status,
};

/// Makes a journal to which one gateway has proven itself.
fn journal() -> Journal {
    let mut journal = Journal::default();
    journal.greet("g");
    journal
}

fn answer(bytes: usize) -> Answer {
    Answer { json: "x".repeat(bytes), is_error: false }
}

/// Enters a call, begins it, and completes it.
fn run(journal: &mut Journal, call: &str, seq: u64, bytes: usize) {
    journal.enter("g", call, seq, "echo");
    journal.begin(call);
    assert!(journal.complete(call, answer(bytes)));
}

#[test]
fn an_id_that_was_let_go_is_never_taken_for_one_that_never_came() {
    let mut journal = journal();
    for seq in 1..=ENTRIES_MAX as u64 + 10 {
        run(&mut journal, &seq.to_string(), seq, 1);
    }
    assert_eq!(journal.size().0, ENTRIES_MAX);
    assert_eq!(journal.ask("g", "1", 1).status, Status::Forgotten);
    assert_eq!(journal.ask("g", "10", 10).status, Status::Forgotten);
    assert_eq!(journal.ask("g", "11", 11).status, Status::Done);
    assert_eq!(journal.ask("g", "never", ENTRIES_MAX as u64 + 11).reason, "sealed");
    assert!(journal.find("1").is_none(), "what is forgotten is not sealed");
}

#[test]
fn what_waits_or_runs_is_never_let_go() {
    let mut journal = journal();
    journal.enter("g", "waits", 1, "echo");
    journal.enter("g", "runs", 2, "echo");
    journal.begin("runs");
    for seq in 3..3 + ENTRIES_MAX as u64 {
        run(&mut journal, &seq.to_string(), seq, 1);
    }
    journal.at(2 * AGE_MAX_MS);
    assert_eq!(journal.ask("g", "waits", 1).status, Status::Queued);
    assert_eq!(journal.ask("g", "runs", 2).status, Status::Running);
    assert_eq!(journal.size().0, 2, "all else was too old");
    assert_eq!(journal.ask("g", "3", 3).status, Status::Forgotten);
}

#[test]
fn answers_are_bounded_one_by_one_and_together() {
    let mut journal = journal();
    run(&mut journal, "large", 1, ANSWER_MAX_BYTES + 1);
    assert_eq!(journal.ask("g", "large", 1).reason, "too_large");
    for (seq, call) in ["a", "b", "c"].into_iter().enumerate() {
        run(&mut journal, call, seq as u64 + 2, ANSWER_MAX_BYTES);
    }
    assert_eq!(journal.size().1, ANSWERS_MAX_BYTES);
    let first = journal.ask("g", "a", 2);
    assert_eq!((first.status, first.reason, first.answer), (Status::Done, "expired", None));
    assert_eq!(journal.ask("g", "c", 4).answer, Some(answer(ANSWER_MAX_BYTES)));
}

#[test]
fn of_a_gateway_that_was_let_go_everything_up_to_its_next_call_is_forgotten() {
    let mut journal = journal();
    for other in 0..GATEWAYS_MAX {
        journal.greet(&other.to_string());
    }
    assert_eq!(journal.ask("g", "x", 7).status, Status::Forgotten, "it is not greeted any more");
    journal.greet("g");
    assert_eq!(journal.ask("g", "x", 7).status, Status::Forgotten);
    journal.enter("g", "y", 8, "echo");
    assert_eq!(journal.ask("g", "x", 7).status, Status::Forgotten);
    assert_eq!(journal.ask("g", "z", 9).reason, "sealed");
}

#[derive(Debug, Clone)]
enum Step {
    /// Enters a call with a new id, or with the known id of this index.
    Enter(Option<usize>),
    Begin(usize),
    Complete(usize, usize),
    Cancel(usize),
    Keep(usize),
    Ask(usize),
    AskNew,
    Reload,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..60_usize;
    prop_oneof![
        4 => Just(Step::Enter(None)),
        1 => id.clone().prop_map(|id| Step::Enter(Some(id))),
        4 => id.clone().prop_map(Step::Begin),
        3 => (id.clone(), prop_oneof![1..100_usize, Just(ANSWER_MAX_BYTES), Just(ANSWER_MAX_BYTES + 1)])
            .prop_map(|(id, bytes)| Step::Complete(id, bytes)),
        1 => id.clone().prop_map(Step::Cancel),
        1 => id.clone().prop_map(Step::Keep),
        4 => id.prop_map(Step::Ask),
        1 => Just(Step::AskNew),
        1 => Just(Step::Reload),
        1 => (0..AGE_MAX_MS).prop_map(Step::Wait),
    ]
}

/// The true state of a call, whatever the journal reports.
#[derive(Debug, Default, Clone)]
struct Truth {
    seq: u64,
    begun: bool,
    /// Whether the journal has reported that the call did not run and will not run.
    denied: bool,
    answer: Option<Answer>,
}

fn said(truth: &Truth, entry: &Entry) -> Result<(), TestCaseError> {
    match entry.status {
        Status::NotRun => prop_assert!(!truth.begun, "said not to have run, and it began"),
        Status::Queued => prop_assert!(!truth.begun && !truth.denied),
        Status::Running | Status::Interrupted => prop_assert!(truth.begun),
        Status::Done => match &entry.answer {
            Some(answer) => prop_assert_eq!(Some(answer), truth.answer.as_ref()),
            None => prop_assert!(truth.answer.is_some() && matches!(entry.reason, "too_large" | "expired")),
        },
        Status::Forgotten => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_journal_never_lies(steps in prop::collection::vec(step(), 1..300)) {
        let mut journal = journal();
        let mut truths: HashMap<String, Truth> = HashMap::new();
        let (mut ids, mut seq, mut now) = (Vec::<String>::new(), 0_u64, 0_u64);
        let pick = |ids: &[String], index: usize| ids.get(index % ids.len().max(1)).cloned();
        for step in steps {
            match step {
                Step::Enter(again) => {
                    seq += 1;
                    let known = again.and_then(|index| pick(&ids, index));
                    let id = known.unwrap_or_else(|| format!("c{seq}"));
                    // A call with a known id is refused before it reaches the journal.
                    if journal.find(&id).is_none() {
                        let truth = truths.entry(id.clone()).or_default();
                        // A gateway never uses an id again after it has received the outcome of the call.
                        if !truth.begun && !truth.denied {
                            truth.seq = seq;
                            journal.enter("g", &id, seq, "echo");
                            ids.push(id);
                        }
                    }
                }
                Step::Begin(index) => if let Some(id) = pick(&ids, index) {
                    let queued = journal.find(&id).is_some_and(|entry| entry.status == Status::Queued);
                    journal.begin(&id);
                    if let Some(truth) = truths.get_mut(&id).filter(|_| queued) {
                        prop_assert!(!truth.denied, "it begins although it was denied");
                        truth.begun = true;
                    }
                },
                Step::Complete(index, bytes) => if let Some(id) = pick(&ids, index) {
                    let truth = truths.get_mut(&id).unwrap();
                    let answer = answer(bytes);
                    if journal.complete(&id, answer.clone()) {
                        prop_assert!(truth.begun && truth.answer.is_none(), "ended twice, or before it began");
                        truth.answer = Some(answer);
                    }
                },
                Step::Cancel(index) => if let Some(id) = pick(&ids, index) && journal.drop_call(&id, "cancelled") {
                    let truth = truths.get_mut(&id).unwrap();
                    prop_assert!(!truth.begun);
                    truth.denied = true;
                },
                Step::Keep(index) => if let Some(id) = pick(&ids, index) {
                    journal.keep(&id, "{}");
                },
                Step::Ask(index) => if let Some(id) = pick(&ids, index) {
                    let truth = truths.get_mut(&id).unwrap();
                    let entry = journal.ask("g", &id, truth.seq);
                    said(truth, &entry)?;
                    truth.denied |= entry.status == Status::NotRun;
                },
                Step::AskNew => {
                    seq += 1;
                    let id = format!("c{seq}");
                    let entry = journal.ask("g", &id, seq);
                    prop_assert_eq!((entry.status, entry.reason), (Status::NotRun, "sealed"));
                    truths.insert(id.clone(), Truth { seq, denied: true, ..Truth::default() });
                    ids.push(id);
                }
                Step::Reload => {
                    journal.interrupt();
                    for (id, truth) in &mut truths {
                        let Some(entry) = journal.find(id) else { continue };
                        prop_assert!(entry.status != Status::Queued, "it waits in a domain that is gone");
                        prop_assert!(entry.status != Status::Running || entry.kept.is_some());
                        truth.denied |= entry.status == Status::NotRun;
                    }
                    let resumable = journal.resumable();
                    prop_assert!(resumable.iter().all(|(id, _)| truths[id].begun && truths[id].answer.is_none()));
                }
                Step::Wait(ms) => {
                    now += ms;
                    journal.at(now);
                }
            }
            let (entries, bytes) = journal.size();
            prop_assert!(entries <= ENTRIES_MAX && bytes <= ANSWERS_MAX_BYTES);
        }
        for (id, truth) in &truths {
            said(truth, &journal.ask("g", id, truth.seq))?;
        }
    }
}
