//! Reads the outcomes of calls from the editor's reply to `holdfast/outcome`.

use super::super::rpc::loggable;
use super::super::wreck::{self, Wreck};
use super::super::{BadOutcomes, JournalKey, JournalOutcome, Reply};
use super::answer::read_error;
use crate::protocol::jsonrpc::spans;

/// Returns the outcome of each attempt in `asked`, in the same order. An outcome that cannot be read does not affect the others.
///
/// # Errors
/// The reply is an error, is no list of as many outcomes, or is about other attempts or another journal. Then no outcome in it may
/// be used.
pub(super) fn read(reply: &Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
    let result = match reply {
        Reply::Result(result) => result.get().as_bytes(),
        Reply::Wreck(wreck) => &wreck.bytes,
        Reply::Error(error) => return Err(BadOutcomes::Refused(loggable(&error.message))),
    };
    let malformed = |what: &str| BadOutcomes::Malformed(what.to_owned());
    let [nonce, outcomes] = wreck::parts(result, ["nonce", "outcomes"]).values;
    let nonce = nonce.and_then(wreck::text).ok_or_else(|| malformed("its nonce cannot be read"))?;
    let mut items = outcomes.and_then(spans::items).ok_or_else(|| malformed("it has no list of outcomes"))?;
    let told: Vec<(Option<String>, JournalOutcome)> = items.by_ref().take(asked.len() + 1).map(outcome).collect();
    let of_asked = |((id, _), key): (&(Option<String>, _), &JournalKey)| id.as_ref().is_none_or(|id| *id == key.id);
    let same_journal = asked.iter().all(|key| key.journal == nonce);
    if !same_journal || !told.iter().zip(asked).all(of_asked) {
        return Err(BadOutcomes::OtherCalls);
    }
    // Without the list's end, the items may be part of a broken result, so nothing in them proves anything.
    if told.len() != asked.len() || items.next().is_some() || !items.is_whole() {
        return Err(malformed("its list of outcomes is not one for each call"));
    }
    Ok(told.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Reads an outcome, and the id of the attempt that it is about.
fn outcome(item: &[u8]) -> (Option<String>, JournalOutcome) {
    let parts = wreck::parts(item, ["callId", "status", "result", "error", "lost", "reason"]);
    let [id, status, result, error, lost, reason] = parts.values;
    let text = |part: Option<&[u8]>| part.and_then(wreck::text);
    let unkept = |why: &str| JournalOutcome::EndedUnkept(why.to_owned());
    let outcome = match text(status).filter(|_| parts.is_whole).as_deref() {
        Some("queued" | "running") => JournalOutcome::Running,
        Some("interrupted") => JournalOutcome::Interrupted,
        Some("notRun") => JournalOutcome::NotRun { sealed: text(reason).as_deref() == Some("sealed") },
        Some("forgotten") => JournalOutcome::Forgotten,
        Some("done") => match (result, error) {
            (Some(result), _) => JournalOutcome::Ended(match wreck::json(result) {
                Some(result) => Reply::Result(result.to_owned()),
                None => Reply::Wreck(Wreck::of_result(result)),
            }),
            (None, Some(error)) => JournalOutcome::Ended(match wreck::json(error) {
                Some(error) => Reply::Error(read_error(error)),
                None => Reply::Wreck(Wreck::of_error(error)),
            }),
            (None, None) => match text(lost).as_deref() {
                Some("too_large") => unkept("its result was too large for the editor's journal"),
                Some("expired") => unkept("the editor's journal had to let its result go"),
                _ => unkept("the editor's journal does not hold its result"),
            },
        },
        _ => JournalOutcome::Unreadable,
    };
    (text(id), outcome)
}
