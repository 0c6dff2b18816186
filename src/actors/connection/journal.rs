//! What the editor is asked beside calls: its journal for what became of them, and how it is.

use std::sync::atomic::Ordering;

use tokio::io::WriteHalf;
use tokio::time::Instant;

use super::{Awaited, Line, News, NotWritten, Order};
use crate::core::user_text;
use crate::limits::{OUTCOMES_ASKED_EVERY, OUTCOMES_ASKED_MAX};
use crate::net::BoxStream;
use crate::protocol::dialect::{JournalKey, JournalOutcome, Order as WireOrder, Recovery, Reply};
use crate::protocol::ids::CallId;
use crate::telemetry::metrics::labels::Stray;

impl Line {
    /// Asks what became of the calls that this editor's journal knows; those that only another journal knew are lost.
    pub(super) async fn ask_outcomes(&self, socket: &mut WriteHalf<BoxStream>) -> Result<(), NotWritten> {
        let Some(journal) = self.met.get().and_then(|met| met.journal.as_deref()) else { return Ok(()) };
        if self.outcomes_under_way() {
            self.ask_again.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.calls.decide(|ledger, now| ledger.journals_gone(Some(journal), now));
        let sought = self.calls.ledger(|ledger, _| ledger.recovering());
        let (calls, keys): (Vec<CallId>, Vec<JournalKey>) = sought
            .into_iter()
            .filter_map(|(call, how)| match how {
                Recovery::Journal(key) => Some((call, key)),
                Recovery::None | Recovery::ResultFile { .. } | Recovery::Inferred => None,
            })
            .take(OUTCOMES_ASKED_MAX)
            .unzip();
        if keys.is_empty() {
            return Ok(());
        }
        let Ok((number, frame)) = self.encode(None, &WireOrder::Outcomes(&keys)) else { return Ok(()) };
        self.awaiting().insert(number, Awaited::Outcomes { calls, keys, asked: Instant::now() });
        self.write_frame(socket, &frame).await
    }

    /// One question at a time, however often the editor says that something ended; one that was not answered for long is given up.
    fn outcomes_under_way(&self) -> bool {
        let mut awaiting = self.awaiting();
        awaiting.retain(
            |_, awaited| !matches!(awaited, Awaited::Outcomes { asked, .. } if asked.elapsed() >= OUTCOMES_ASKED_EVERY),
        );
        awaiting.values().any(|awaited| matches!(awaited, Awaited::Outcomes { .. }))
    }

    /// The outcomes are to be asked for: more of these while one waits to be sent say nothing more.
    pub(super) fn want_outcomes(&self) {
        if let Some(orders) = self.orders.upgrade()
            && !self.outcomes_wanted.swap(true, Ordering::AcqRel)
            && orders.try_send(Order::Outcomes).is_err()
        {
            self.outcomes_wanted.store(false, Ordering::Release);
        }
    }

    pub(super) async fn send_cancel(
        &self,
        socket: &mut WriteHalf<BoxStream>,
        key: &JournalKey,
    ) -> Result<(), NotWritten> {
        match self.encode(None, &WireOrder::Cancel(key)) {
            Ok((_, frame)) => self.write_frame(socket, &frame).await,
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn ask_pulse(&self, socket: &mut WriteHalf<BoxStream>) -> Result<(), NotWritten> {
        // One that is not answered ends the connection soon; more of them would only pile up.
        if self.awaiting().values().any(|awaited| matches!(awaited, Awaited::Pulse { .. })) {
            return Ok(());
        }
        match self.encode(None, &WireOrder::Pulse) {
            Ok((number, frame)) => {
                self.awaiting().insert(number, Awaited::Pulse { asked: Instant::now() });
                self.write_frame(socket, &frame).await
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) fn outcomes(&self, calls: &[CallId], keys: &[JournalKey], reply: Reply) {
        let dialect = self.target.dialect;
        let outcomes = match dialect.read_outcomes(reply, keys) {
            Ok(outcomes) => outcomes,
            // It is asked again; the ledger bounds for how long.
            Err(why) => return self.env.events.reply_unmatched(self.epoch, Stray::UnknownId, &why),
        };
        for ((call, key), outcome) in calls.iter().copied().zip(keys).zip(outcomes) {
            if !self.calls.ledger(|ledger, _| ledger.seeks(call, key)) {
                continue;
            }
            self.env.events.outcome_told(call, &outcome);
            self.calls.decide(|ledger, now| match outcome {
                _ if !ledger.seeks(call, key) => Vec::new(),
                JournalOutcome::Ended(reply) => ledger.learn(call, dialect.read_answer(reply), now),
                JournalOutcome::EndedUnkept(why) => ledger.learn(call, user_text::unkept(&why), now),
                JournalOutcome::Running => {
                    ledger.found_running(call, now);
                    Vec::new()
                }
                JournalOutcome::NotRun => ledger.proven_unrun(call, now),
                JournalOutcome::Interrupted => ledger.found_interrupted(call, now),
                JournalOutcome::Forgotten => ledger.forgotten(call, now),
            });
        }
    }

    /// The editor has said how it is.
    pub(super) fn felt(&self, reply: &Reply, asked: Instant) {
        if let Some(pulse) = self.target.dialect.read_pulse(reply) {
            self.env.events.pulse_felt(asked.elapsed(), pulse.frame_age);
            // Kept for whoever looks; nobody waits for it.
            self.link.view.send_if_modified(|link| {
                link.pulse = Some((pulse, Instant::now()));
                false
            });
        }
        self.tell(News::PulseArrived);
    }
}
