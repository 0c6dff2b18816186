//! The requests to the editor other than calls: for outcomes from the editor's journal, for a cancel, and for the heartbeat.

use super::ConnectionTask;
use super::writing::Wire;
use crate::core::exchange::{After, Errand, JobState, JobStep, Learned, Question};
use crate::core::link::Fact;
use crate::core::user_text;
use crate::fsm::bridge::Disconnect;
use crate::protocol::dialect::{
    BadOutcomes, CallProgress, Encoded, Heartbeat, JobProgress, JournalKey, JournalOutcome, Order, Refusal, Reply,
};
use crate::protocol::ids::CallId;

impl ConnectionTask {
    pub(super) async fn ask_outcomes(&self, wire: &mut Wire) -> Result<(), Disconnect> {
        if self.exchange().met().is_none_or(|met| met.journal.is_none()) {
            return Ok(());
        }
        let number = self.with.contact.next_wire_number();
        let (keys, settlements) = self.decide(|exchange, ledger, now| exchange.asks_outcomes(number, ledger, now));
        self.with.calls.settle(settlements);
        let Some(keys) = keys else { return Ok(()) };
        match self.encode_as(number, None, &Order::Outcomes(&keys)) {
            Ok(question) => wire.send(self, number, question, None).await,
            Err(_) => {
                self.exchange().not_asked(number);
                Ok(())
            }
        }
    }

    pub(super) async fn send_cancel(&self, wire: &mut Wire, key: &JournalKey) -> Result<(), Disconnect> {
        match self.encode(None, &Order::Cancel(key)) {
            Ok((number, cancel)) => {
                if matches!(cancel, Encoded::Request(_)) {
                    self.exchange().asks_cancel(number);
                }
                wire.send(self, number, cancel, None).await
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn ask_heartbeat(&self, wire: &mut Wire) -> Result<(), Disconnect> {
        match self.encode(None, &Order::Heartbeat) {
            Ok((number, question)) => {
                self.exchange().asks_heartbeat(number);
                wire.send(self, number, question, None).await
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) fn outcomes(&self, question: Question, reply: Reply) -> Result<(), Disconnect> {
        let dialect = self.target.dialect;
        let keys: Vec<JournalKey> = question.sought.iter().map(|(_, key)| key.clone()).collect();
        let progress = self.guarded("progress", || dialect.read_job_progress(&reply)).flatten();
        let read = self.guarded("outcomes", || dialect.read_outcomes(reply, &keys));
        let read = read.unwrap_or_else(|| Err(BadOutcomes::Malformed("holdfast failed to read it".to_owned())));
        if let Err(why) = &read {
            self.with.env.events.reply_unmatched(self.epoch, &why.to_string());
        }
        let outcomes = match read {
            Ok(outcomes) => outcomes,
            Err(BadOutcomes::Malformed(_)) => keys.iter().map(|_| JournalOutcome::Unreadable).collect(),
            // The question is asked again later, until the ledger ends the search.
            Err(_) => Vec::new(),
        };
        if let (Some(progress), [(call, _)]) = (progress, &*question.sought) {
            self.progressed(*call, progress);
        }
        let is_read = !outcomes.iter().any(|told| matches!(told, JournalOutcome::Unreadable));
        let alone = question.sought.len() == 1;
        let goes_on = outcomes.iter().any(|told| matches!(told, JournalOutcome::Running));
        self.exchange().kept_goes_on(goes_on);
        let freed = self.exchange().outcomes_told(&question, is_read);
        self.tell_all(freed);
        for ((call, key), told) in question.sought.into_iter().map(|(call, _)| call).zip(&keys).zip(outcomes) {
            let is_unread = matches!(told, JournalOutcome::Unreadable);
            if is_unread && !alone {
                // The call is asked for once more, alone.
                continue;
            }
            let is_kept = matches!(told, JournalOutcome::Ended(_) | JournalOutcome::EndedUnkept(_));
            let has_ended = is_unread || is_kept || matches!(told, JournalOutcome::NotRun { .. });
            match self.decide(|exchange, ledger, now| exchange.job_is(call, JobState::from(&told), ledger, now)) {
                None => {}
                Some(JobStep::GoesOn) => continue,
                Some(JobStep::Ended(after)) => {
                    self.with.env.events.outcome_told(call, &told);
                    self.give_told(call, after, told)?;
                    continue;
                }
                Some(JobStep::Lost(settled)) => self.settle(settled),
            }
            // This is a statement of its own, because the code below takes the exchange's lock again.
            let resolved = self.exchange().resolve_doubt(call, has_ended);
            if let Some(after) = resolved {
                self.with.env.events.outcome_told(call, &told);
                self.give_told(call, after, told)?;
                continue;
            }
            // The search goes on until its time is over.
            if matches!(told, JournalOutcome::NotYet) || !self.with.calls.ledger(|ledger, _| ledger.seeks(call, key)) {
                continue;
            }
            self.with.env.events.outcome_told(call, &told);
            let learned = match told {
                JournalOutcome::Ended(reply) => Learned::Ended(self.read_answer(reply)),
                JournalOutcome::EndedUnkept(why) => Learned::Ended(user_text::unkept(&why)),
                JournalOutcome::Running => Learned::Running,
                JournalOutcome::NotRun { sealed } => Learned::NotRun { sealed },
                JournalOutcome::Interrupted => Learned::Interrupted,
                JournalOutcome::Forgotten | JournalOutcome::GivenUp | JournalOutcome::NotYet => Learned::Forgotten,
                JournalOutcome::Unreadable => Learned::Unreadable,
            };
            self.with.calls.decide(|ledger, now| learned.tell(call, key, ledger, now));
        }
        // `outcomes_told` may have added an errand.
        self.shared.wake();
        Ok(())
    }

    /// Answers a call with the journal's record, because its answer on this connection could not be read.
    fn give_told(&self, call: CallId, after: After, told: JournalOutcome) -> Result<(), Disconnect> {
        match told {
            JournalOutcome::Ended(reply) => self.answered(call, after, reply),
            JournalOutcome::EndedUnkept(why) => self.give(call, after, None, user_text::unkept(&why)),
            JournalOutcome::Unreadable => self.give(call, after, None, user_text::unread()),
            // The editor had refused the call.
            _ => self.give(call, after, Some(Refusal::Final), user_text::refused_unread()),
        }
    }

    /// Handles the reply to the question for the editor's heartbeat: keeps the heartbeat for the status, if the reply has one.
    pub(super) fn felt(&self, reply: &Reply) {
        if let Some(standing) = self.guarded("standing", || self.target.dialect.read_standing(reply)).flatten() {
            self.decide(|exchange, ledger, _| exchange.stands(&standing, ledger));
            self.with.contact.view.tell(Fact::Obstructed(standing.obstacle().map(str::to_owned)));
            self.shared.wake();
        }
        let read = self.guarded("heartbeat", || self.target.dialect.read_heartbeat(reply));
        if let Some(heartbeat) = read.flatten() {
            self.exchange().has_calls(heartbeat.running > 0 || heartbeat.queued > 0);
            self.shared.wake();
            self.feel(heartbeat);
        } else {
            self.infer_main_thread();
        }
    }

    /// Keeps what the editor says of itself, for the status and the texts about calls.
    pub(super) fn feel(&self, heartbeat: Heartbeat) {
        self.with.env.events.heartbeat_felt(heartbeat.frame_age);
        self.with.calls.ledger(|ledger, now| ledger.felt(self.epoch, Some(heartbeat), now));
        self.with.contact.view.tell(Fact::Felt(Some(heartbeat)));
    }

    fn progressed(&self, call: CallId, progress: JobProgress) {
        let is_new = self.decide(|exchange, _, now| exchange.job_progressed(call, &progress, now));
        if is_new {
            let JobProgress { done, total, message } = progress;
            let progress = CallProgress { call, done, total, message };
            self.with.calls.decide(|ledger, now| ledger.progressed(progress, now));
        }
    }

    pub(super) fn want_outcomes(&self) {
        self.shared.order(Errand::Outcomes);
    }
}
