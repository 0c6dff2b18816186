//! The ledger's promises under any order of events: at most one answer for each call, none after a cancel; no call is sent
//! twice unless it is repeatable; none is claimed too late or for a closed connection; and every call has its verdict at the
//! end.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdfast::core::calls::{Ledger, NewCall, Settlement, Terms};
use holdfast::fsm::call::Verdict;
use holdfast::fsm::cause::{Availability, Cause, Loss};
use holdfast::limits::{HOLD_MAX, PATIENCE_MARGIN, SENDINGS_MAX};
use holdfast::protocol::dialect::{AnswerBody, EditorAnswer, Recovery};
use holdfast::protocol::ids::{CallId, Epoch, RequestKey, SessionId};
use holdfast::protocol::mcp::{AnswerForm, ProtocolVersion};
use proptest::prelude::*;
use serde_json::value::RawValue;
use tokio::time::Instant;

/// An operation on the ledger, as some part of the gateway would do it. Calls and connections are identified by number, and
/// the number may be unknown to the ledger.
#[derive(Debug, Clone)]
enum Step {
    Accept {
        repeatable: bool,
        progress: bool,
        patience: Duration,
    },
    Open,
    Send {
        recovery: u8,
        tool_timeout: Duration,
    },
    Claim {
        call: u8,
        epoch: u8,
    },
    Revoke {
        call: u8,
        epoch: u8,
    },
    Reply {
        call: u8,
        epoch: u8,
        error: bool,
    },
    Close {
        epoch: u8,
        loss: Loss,
    },
    CloseAll {
        loss: Loss,
    },
    Cancel {
        call: u8,
    },
    Refuse {
        call: u8,
    },
    Learn {
        call: u8,
    },
    Availability(Availability),
    Pass(Duration),
    /// Time passes, and the task that watches the deadlines wakes late.
    Late(Duration),
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    let secs = |max: u64| (0..=max).prop_map(Duration::from_secs);
    let loss = prop_oneof![Just(Loss::Reload), Just(Loss::Disconnect), Just(Loss::Gateway), Just(Loss::Silence)];
    let availability = prop_oneof![
        Just(Availability::Open),
        Just(Availability::Coming(Cause::Reloading)),
        Just(Availability::Absent(Cause::NotRunning)),
    ];
    let (call, epoch) = (0..8_u8, 0..5_u8);
    prop_oneof![
        6 => (any::<bool>(), any::<bool>(), secs(200))
            .prop_map(|(repeatable, progress, patience)| Step::Accept { repeatable, progress, patience }),
        4 => Just(Step::Open),
        8 => (0..3_u8, secs(300)).prop_map(|(recovery, tool_timeout)| Step::Send { recovery, tool_timeout }),
        2 => (call.clone(), epoch.clone()).prop_map(|(call, epoch)| Step::Claim { call, epoch }),
        2 => (call.clone(), epoch.clone()).prop_map(|(call, epoch)| Step::Revoke { call, epoch }),
        6 => (call.clone(), epoch.clone(), any::<bool>())
            .prop_map(|(call, epoch, error)| Step::Reply { call, epoch, error }),
        4 => (epoch.clone(), loss.clone()).prop_map(|(epoch, loss)| Step::Close { epoch, loss }),
        1 => loss.prop_map(|loss| Step::CloseAll { loss }),
        2 => call.clone().prop_map(|call| Step::Cancel { call }),
        1 => call.clone().prop_map(|call| Step::Refuse { call }),
        2 => call.prop_map(|call| Step::Learn { call }),
        2 => availability.prop_map(Step::Availability),
        5 => (0..40_000_u64).prop_map(|ms| Step::Pass(Duration::from_millis(ms))),
        3 => (0..70_000_u64).prop_map(|ms| Step::Late(Duration::from_millis(ms))),
        1 => Just(Step::Drain),
    ]
}

/// What the test itself knows about a call.
#[derive(Debug, Default)]
struct Known {
    repeatable: bool,
    hold_limit: Option<Instant>,
    /// Epochs of the claims that were not withdrawn, oldest first.
    sent: Vec<Epoch>,
    answered: bool,
    cancelled: bool,
    progress: f64,
}

struct World {
    ledger: Ledger,
    now: Instant,
    calls: Vec<Known>,
    open: BTreeSet<Epoch>,
    epochs: u64,
    draining: bool,
}

fn call_id(number: usize) -> CallId {
    CallId::from_random((number as u128 + 1).to_be_bytes())
}

fn request(number: usize) -> RequestKey {
    RequestKey::new(SessionId::STDIO, number as u64)
}

fn answer(is_error: bool) -> EditorAnswer {
    EditorAnswer { is_error, body: AnswerBody::Text("said".to_owned()) }
}

impl World {
    fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            now: Instant::now(),
            calls: Vec::new(),
            open: BTreeSet::new(),
            epochs: 0,
            draining: false,
        }
    }

    /// Checks the ledger's settlements against what the test knows about the calls.
    fn see(&mut self, settlements: Vec<Settlement>) {
        let numbers: BTreeMap<RequestKey, usize> =
            (0..self.calls.len()).map(|number| (request(number), number)).collect();
        for settlement in settlements {
            match settlement {
                Settlement::Answer(answer) => {
                    let known = &mut self.calls[numbers[&answer.request]];
                    assert!(!known.answered, "answered twice: {answer:?}");
                    assert!(!known.cancelled, "answered after its cancel: {answer:?}");
                    known.answered = true;
                    match answer.verdict {
                        Verdict::NotExecuted(_) => assert!(known.sent.is_empty(), "it may have run: {answer:?}"),
                        Verdict::OutcomeUnknown(_) | Verdict::StillRunning => {
                            assert!(!known.sent.is_empty(), "nothing of it left: {answer:?}");
                        }
                        Verdict::Ok | Verdict::ToolError => {
                            assert!(answer.body.is_some() && !known.sent.is_empty(), "whose answer is it? {answer:?}");
                        }
                        Verdict::Cancelled => panic!("a cancel is no answer: {answer:?}"),
                    }
                }
                Settlement::HeldAgain => {}
                Settlement::Withdraw { key: None, .. } => {}
                Settlement::Withdraw { .. } => panic!("no call here is known to a journal"),
                Settlement::Progress { request, news, .. } => {
                    let progress = news.progress;
                    let known = &mut self.calls[numbers[&request]];
                    assert!(!known.answered && !known.cancelled, "progress of what has ended");
                    assert!(progress > known.progress, "progress {progress} after {}", known.progress);
                    known.progress = progress;
                }
                Settlement::KeepLate { call, .. } => {
                    let number = (0..self.calls.len()).find(|number| call_id(*number) == call).unwrap();
                    let known = &self.calls[number];
                    assert!(known.answered || known.cancelled, "a late answer of a call whose client still waits");
                }
                Settlement::Noted { .. } => {}
            }
        }
    }

    fn claim(&mut self, number: usize, epoch: Epoch, recovery: Recovery, tool_timeout: Duration) {
        let terms = Terms { recovery, tool_timeout, repeatable: self.calls[number].repeatable };
        let claimed = self.ledger.claim(call_id(number), epoch, terms, self.now);
        let Ok(settlements) = claimed else { return };
        let known = &mut self.calls[number];
        assert!(self.open.contains(&epoch), "claimed for a closed connection");
        assert!(!known.answered && !known.cancelled, "claimed after its end");
        assert!(self.now < known.hold_limit.unwrap(), "claimed after its limit");
        assert!(!self.draining, "claimed while the gateway ends");
        if let Some(last) = known.sent.last() {
            assert!(known.repeatable, "sent twice");
            assert!(!self.open.contains(last), "sent again while the first may still be answered");
        }
        known.sent.push(epoch);
        assert!(known.sent.len() <= usize::from(SENDINGS_MAX), "sent {} times", known.sent.len());
        self.see(settlements);
    }

    fn take(&mut self, step: Step) {
        let (now, epoch_of) = (self.now, |number: u8| Epoch(u64::from(number) + 1));
        match step {
            Step::Accept { repeatable, progress, patience } => {
                let number = self.calls.len();
                let hold = patience.saturating_sub(PATIENCE_MARGIN).min(HOLD_MAX);
                self.calls.push(Known { repeatable, hold_limit: Some(now + hold), ..Known::default() });
                let settlements = self.ledger.accept(
                    NewCall {
                        id: call_id(number),
                        request: request(number),
                        tool: "tool".to_owned(),
                        arguments: RawValue::from_string("{}".to_owned()).unwrap().into(),
                        progress_token: progress.then(|| RawValue::from_string("1".to_owned()).unwrap()),
                        trace: None,
                        requester: None,
                        parallel: true,
                        patience,
                        waited: Duration::ZERO,
                        profile: ProtocolVersion::LATEST.into(),
                        form: AnswerForm::ToolResult,
                    },
                    now,
                );
                self.see(settlements);
            }
            Step::Open => {
                self.epochs += 1;
                self.open.insert(Epoch(self.epochs));
                self.ledger.open_epoch(Epoch(self.epochs));
            }
            Step::Send { recovery, tool_timeout } => {
                let Some(epoch) = self.open.last().copied() else { return };
                let Some(held) = self.ledger.reserve(epoch) else { return };
                assert!(self.ledger.reserve(epoch).is_none_or(|other| other.id != held.id), "reserved twice");
                let number = (0..self.calls.len()).find(|number| call_id(*number) == held.id).unwrap();
                let recovery = match recovery {
                    0 => Recovery::None,
                    1 => Recovery::Inferred,
                    _ => Recovery::ResultFile { path: "r".into(), busy_files: &[], quiet: Duration::ZERO },
                };
                self.claim(number, epoch, recovery, tool_timeout);
            }
            Step::Claim { call, epoch } => {
                if usize::from(call) < self.calls.len() {
                    self.claim(call.into(), epoch_of(epoch), Recovery::None, Duration::ZERO);
                }
            }
            Step::Revoke { call, epoch } => {
                // Only a writer whose connection is still open can prove that it wrote no byte.
                let Some(known) = self.calls.get_mut(usize::from(call)) else { return };
                let epoch = epoch_of(epoch);
                if known.answered || known.cancelled || !self.open.contains(&epoch) || known.sent.last() != Some(&epoch)
                {
                    return;
                }
                let (held, _) = self.ledger.counts();
                let settlements = self.ledger.revoke_claim(call_id(call.into()), epoch, now);
                if self.draining || self.ledger.counts().0 > held {
                    self.calls[usize::from(call)].sent.pop();
                }
                self.see(settlements);
            }
            Step::Reply { call, epoch, error } => {
                let (known, settlements) = self.ledger.reply(call_id(call.into()), epoch_of(epoch), answer(error), now);
                if known {
                    assert!(self.open.contains(&epoch_of(epoch)), "a frame of a closed connection counted");
                    assert_eq!(
                        self.calls[usize::from(call)].sent.last(),
                        Some(&epoch_of(epoch)),
                        "another connection's"
                    );
                } else {
                    assert!(settlements.is_empty());
                }
                self.see(settlements);
            }
            Step::Close { epoch, loss } => {
                self.open.remove(&epoch_of(epoch));
                let settlements = self.ledger.close_epoch(epoch_of(epoch), loss, now);
                self.see(settlements);
            }
            Step::CloseAll { loss } => {
                self.open.clear();
                let settlements = self.ledger.close_all_epochs(loss, now);
                self.see(settlements);
            }
            Step::Cancel { call } => {
                let (found, settlements) = self.ledger.cancel(request(call.into()), now);
                if let Some(known) = self.calls.get_mut(usize::from(call)) {
                    assert_eq!(found, !known.answered && !known.cancelled, "{known:?}");
                    known.cancelled |= found;
                } else {
                    assert!(!found);
                }
                self.see(settlements);
            }
            Step::Refuse { call } => {
                let settlements = self.ledger.refuse(call_id(call.into()), Cause::TooLarge, now);
                self.see(settlements);
            }
            Step::Learn { call } => {
                // An outcome can be reported only for a call whose result is being looked for.
                if self.ledger.recovering().iter().any(|(id, _)| *id == call_id(call.into())) {
                    let settlements = self.ledger.learn(call_id(call.into()), answer(false), now);
                    self.see(settlements);
                }
            }
            Step::Availability(availability) => {
                let settlements = self.ledger.set_availability(availability, now);
                self.see(settlements);
            }
            Step::Pass(time) => {
                self.now += time;
                let settlements = self.ledger.elapse(self.now);
                self.see(settlements);
            }
            Step::Late(time) => self.now += time,
            Step::Drain => {
                let settlements = self.ledger.drain(now);
                self.draining = true;
                self.see(settlements);
            }
        }
        for (number, known) in self.calls.iter().enumerate() {
            let owed = !known.answered && !known.cancelled;
            assert_eq!(self.ledger.owns(request(number)), owed, "call {number}: {known:?}");
        }
        if self.draining {
            assert_eq!(self.ledger.counts().0, 0, "something is held while the gateway ends");
        }
    }

    /// Does what the task does that wakes at a deadline. Afterwards no deadline may be due.
    fn sweep(&mut self) {
        let settlements = self.ledger.elapse(self.now);
        self.see(settlements);
        assert!(self.ledger.next_deadline().is_none_or(|next| next > self.now), "it would wake again at once");
    }

    fn end(mut self) {
        let settlements = self.ledger.close_all_epochs(Loss::Shutdown, self.now);
        self.see(settlements);
        for (number, known) in self.calls.iter().enumerate() {
            assert!(known.answered != known.cancelled, "call {number} at the end: {known:?}");
        }
        assert_eq!(self.ledger.awaited(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_whatever_order_every_call_has_one_true_end(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in steps {
            let late = matches!(step, Step::Late(_));
            world.take(step);
            if !late {
                world.sweep();
            }
        }
        world.end();
    }
}

/// Without further events every call ends by itself, and then there are no more deadlines.
#[test]
fn a_call_that_nobody_touches_any_more_ends_within_its_patience() {
    for sent in [false, true] {
        let mut world = World::new();
        let patience = Duration::from_secs(100);
        world.take(Step::Accept { repeatable: false, progress: true, patience });
        world.take(Step::Open);
        if sent {
            world.take(Step::Send { recovery: 0, tool_timeout: Duration::from_secs(500) });
        }
        let began = world.now;
        let mut wakes = 0;
        while let Some(next) = world.ledger.next_deadline().filter(|_| !world.calls[0].answered) {
            world.now = next;
            world.sweep();
            wakes += 1;
            assert!(wakes < 200);
        }
        assert_eq!(world.now - began, patience - PATIENCE_MARGIN);
        assert!(world.calls[0].answered);
        world.end();
    }
}

/// A repeatable call that was sent again stays open like any other when its client stops waiting: its late answer is kept.
#[test]
fn an_earlier_loss_does_not_end_a_call_that_was_sent_again() {
    let mut world = World::new();
    world.take(Step::Accept { repeatable: true, progress: false, patience: Duration::from_secs(60) });
    world.take(Step::Open);
    world.take(Step::Send { recovery: 0, tool_timeout: Duration::ZERO });
    world.take(Step::Close { epoch: 0, loss: Loss::Reload });
    world.take(Step::Open);
    world.take(Step::Send { recovery: 0, tool_timeout: Duration::ZERO });
    for _ in 0..20 {
        world.take(Step::Pass(Duration::from_secs(30)));
    }
    assert!(world.calls[0].answered, "the client was told that it still runs");
    let (known, settlements) = world.ledger.reply(call_id(0), Epoch(2), answer(false), world.now);
    assert!(known && settlements.iter().any(|settlement| matches!(settlement, Settlement::KeepLate { .. })));
}
