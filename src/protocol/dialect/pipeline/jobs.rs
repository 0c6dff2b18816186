//! Commands that run as jobs (0.5 and later). A domain forgets its jobs when it ends, whether they have ended or not.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wreck::{Wreck, WreckPart};
use super::super::{BadOutcomes, JournalKey, JournalOutcome, Reply};
use super::errors::{self, FAILED_JOB};

/// The status of a job that is not there.
const NOT_FOUND: i64 = 404;

/// What the editor says of a job.
#[derive(Deserialize)]
struct Job<'a> {
    #[serde(rename = "jobId")]
    job_id: Option<String>,
    state: Option<String>,
    #[serde(rename = "startedAt", borrow)]
    started_at: Option<&'a RawValue>,
}

fn job(json: &RawValue) -> Option<Job<'_>> {
    serde_json::from_str(json.get()).ok()
}

/// The answer to a call that has become a job.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// Returns the key of the job, if the reply says no more than that there is one.
pub(super) fn submitted(reply: &Reply, journal: &str) -> Option<JournalKey> {
    let Reply::Result(said) = reply else { return None };
    let Said { result } = serde_json::from_str(said.get()).ok()?;
    let job = job(result?)?;
    let id = job.job_id.filter(|id| !id.is_empty() && job.state.is_some())?;
    Some(JournalKey { journal: journal.to_owned(), id, seq: 0 })
}

/// Reads what the editor says of the job that was asked for.
pub(super) fn read_outcomes(reply: Reply, asked: &[JournalKey]) -> Result<Vec<JournalOutcome>, BadOutcomes> {
    let [asked] = asked else { return Err(BadOutcomes::OtherCalls) };
    let said = match reply {
        Reply::Error(error) if error.code == NOT_FOUND => return Ok(vec![JournalOutcome::Forgotten]),
        Reply::Error(error) => return Err(BadOutcomes::Refused(error.message)),
        // The result of a job that is over.
        Reply::Wreck(Wreck { part: WreckPart::Result, .. }) => return Ok(vec![JournalOutcome::Ended(reply)]),
        Reply::Wreck(_) => return Ok(vec![JournalOutcome::Unreadable]),
        Reply::Result(said) => said,
    };
    let Some(job) = job(&said) else { return Err(BadOutcomes::Malformed("it is not about a job".to_owned())) };
    if job.job_id.as_ref() != Some(&asked.id) {
        return Err(BadOutcomes::OtherCalls);
    }
    let has_begun = job.started_at.is_some();
    let told = match job.state.as_deref() {
        // "running" only means that its turn has come.
        Some("queued" | "running") => JournalOutcome::Running,
        Some("completed") => JournalOutcome::Ended(Reply::Result(said)),
        Some("failed") => {
            let failed = Reply::Error(errors::read(FAILED_JOB, &said));
            if errors::gives_up(&failed) { JournalOutcome::GivenUp } else { JournalOutcome::Ended(failed) }
        }
        // A job that ran to its end is called the same if its cancel was asked for meanwhile.
        Some("canceled") if has_begun => JournalOutcome::Ended(Reply::Result(said)),
        Some("canceled") => JournalOutcome::NotRun { sealed: false },
        _ => JournalOutcome::Unreadable,
    };
    Ok(vec![told])
}
