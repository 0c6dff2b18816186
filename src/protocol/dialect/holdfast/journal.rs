//! Reads the outcomes of calls from the editor's reply to `holdfast/outcome`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::rpc::loggable;
use super::super::{BadOutcomes, JournalKey, JournalOutcome, Reply};
use super::answer::read_error;

#[derive(Deserialize)]
struct Answer<'a> {
    nonce: String,
    #[serde(borrow)]
    outcomes: Vec<Outcome<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    call_id: String,
    status: String,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    lost: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// Returns the outcome of each attempt in `asked`, in the same order.
///
/// # Errors
/// The reply is an error, is malformed, has an unknown status, or is about other attempts or another journal. Then no outcome in
/// it may be used.
pub(super) fn read(reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
    let result = match reply {
        Reply::Result(result) => result,
        Reply::Error(error) => return Err(BadOutcomes::Refused(loggable(&error.message))),
    };
    let answer: Answer<'_> =
        serde_json::from_str(result.get()).map_err(|error| BadOutcomes::Malformed(error.to_string()))?;
    let of_asked =
        asked.iter().map(|key| key.id.as_str()).eq(answer.outcomes.iter().map(|found| found.call_id.as_str()));
    let same_journal = asked.iter().all(|key| key.journal == answer.nonce);
    if !of_asked || !same_journal {
        return Err(BadOutcomes::OtherCalls);
    }
    answer.outcomes.into_iter().map(outcome).collect()
}

fn outcome(said: Outcome<'_>) -> Result<JournalOutcome, BadOutcomes> {
    Ok(match said.status.as_str() {
        "queued" | "running" => JournalOutcome::Running,
        "interrupted" => JournalOutcome::Interrupted,
        "notRun" => JournalOutcome::NotRun { sealed: said.reason.as_deref() == Some("sealed") },
        "forgotten" => JournalOutcome::Forgotten,
        "done" => match (said.result, said.error) {
            (Some(result), _) => JournalOutcome::Ended(Reply::Result(result.to_owned())),
            (None, Some(error)) => JournalOutcome::Ended(Reply::Error(read_error(error))),
            (None, None) => JournalOutcome::EndedUnkept(match said.lost.as_deref() {
                Some("too_large") => "its result was too large for the editor's journal".to_owned(),
                Some("expired") => "the editor's journal had to let its result go".to_owned(),
                _ => "the editor's journal does not hold its result".to_owned(),
            }),
        },
        other => return Err(BadOutcomes::UnknownStatus(loggable(other))),
    })
}
