//! Commands that run as jobs (0.5 and later). A domain forgets its jobs when it ends, whether they have ended or not.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::members::Members;
use super::super::wreck::{Wreck, WreckPart};
use super::super::{BadOutcomes, JobProgress, JournalKey, JournalOutcome, Reply};
use super::errors::{self, FAILED_JOB};
use crate::protocol::text::clean;

/// The status of a job that is not there.
const NOT_FOUND: i64 = 404;

/// What the editor says of a job.
#[derive(Deserialize)]
struct Job {
    #[serde(rename = "jobId")]
    job_id: Option<String>,
    state: Option<String>,
}

fn job(json: &RawValue) -> Option<Job> {
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

/// Whether a reply says that a call has become a job, and does not name it: nobody can ask for it then.
pub(super) fn is_unreadable(said: &RawValue) -> bool {
    let result = serde_json::from_str::<Said<'_>>(said.get()).ok().and_then(|said| said.result);
    let members = result.and_then(Members::of);
    let names_a_job = |members: &Members<'_>| members.find("jobId").is_some() && members.find("state").is_some();
    members.as_ref().is_some_and(names_a_job)
        && result.and_then(job).and_then(|job| job.job_id).is_none_or(|id| id.is_empty())
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
    // That it is not said when the job began would be no proof.
    let never_began = Members::of(&said).is_some_and(|job| job.find("startedAt").is_some_and(|at| at.get() == "null"));
    let told = match job.state.as_deref() {
        // "running" only means that its turn has come.
        Some("queued" | "running") => JournalOutcome::Running,
        Some("completed") => JournalOutcome::Ended(Reply::Result(said)),
        Some("failed") => {
            let failed = Reply::Error(errors::read(FAILED_JOB, &said));
            if errors::gives_up(&failed) { JournalOutcome::GivenUp } else { JournalOutcome::Ended(failed) }
        }
        // A job that ran to its end is called the same if its cancel was asked for meanwhile.
        // Somebody did that in Unity, so it is not sent again.
        Some("canceled") if never_began => JournalOutcome::Ended(Reply::Error(errors::cancelled_before())),
        Some("canceled") => JournalOutcome::Ended(Reply::Result(said)),
        _ => JournalOutcome::Unreadable,
    };
    Ok(vec![told])
}

/// What the editor says of a progress bar: of a job's, or of its own. `current` and `total` may be missing, and `pct` goes to 1.
#[derive(Deserialize)]
struct Progress {
    title: Option<String>,
    info: Option<String>,
    current: Option<f64>,
    total: Option<f64>,
    pct: Option<f64>,
}

/// Reads how far a job is.
pub(super) fn read_progress(reply: &Reply) -> Option<JobProgress> {
    #[derive(Deserialize)]
    struct OfJob {
        progress: Option<Progress>,
    }
    let Reply::Result(said) = reply else { return None };
    let Progress { title, info, current, total, pct } = serde_json::from_str::<OfJob>(said.get()).ok()?.progress?;
    let is_number = |number: &f64| number.is_finite() && *number >= 0.0;
    let (current, total) = (current.filter(is_number), total.filter(|total| is_number(total) && *total > 0.0));
    let counted = current.zip(total).map(|(current, total)| format!("{current} of {total}"));
    let words: Vec<String> = [title, info].into_iter().flatten().map(|text| text.trim().to_owned()).collect();
    let words: Vec<String> = words.into_iter().chain(counted).filter(|text| !text.is_empty()).collect();
    let message = (!words.is_empty()).then(|| format!("Unity: {}", clean(&words.join(", "))));
    let (done, total) = match (current, total, pct.filter(is_number)) {
        (Some(current), total, _) => (current, total),
        (None, _, Some(pct)) => (pct, Some(1.0)),
        (None, ..) => (0.0, None),
    };
    Some(JobProgress { done, total, message })
}
