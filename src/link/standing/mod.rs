//! How links stand: the answers to questions. They can be written as JSON, for a session of another process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::picture::LinkPicture;
use crate::core::calls::{Lookup, Record};
use crate::core::last_compile::SeenCompile;
use crate::core::link::Outage;
use crate::core::port::Seen;
use crate::fsm::call::Verdict;
use crate::fsm::registry::Source;
use crate::protocol::crossing::millis;
use crate::protocol::ids::CallId;
use crate::storage::catalogue_file::Head;
use crate::survey::Survey;

/// How a link stands at one moment: the answer to a question, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// What is known of the link.
    pub picture: LinkPicture,
    /// The last survey, without the editor's secrets if it comes from another process; `None` while it is not known
    /// which project is wanted.
    pub survey: Option<Arc<Survey>>,
    /// The package that connects the editor.
    pub package: Option<serde_json::Value>,
    /// Where the tools come from.
    #[serde(default)]
    pub source: Source,
    /// How many calls wait.
    #[serde(default)]
    pub held: usize,
    /// How many calls run.
    #[serde(default)]
    pub running: usize,
    /// The call that has run longest: its id, its tool, and for how long.
    #[serde(default, with = "millis::third")]
    pub busy_with: Option<(CallId, Arc<str>, Duration)>,
    /// The name of that call's client, if several clients share this gateway.
    pub busy_for: Option<String>,
}

impl LinkStatus {
    /// The outages, the last one first.
    pub fn outages(&self) -> impl Iterator<Item = &Outage> {
        self.picture.outages.iter().rev()
    }
}

/// Calls of a link that wait, and those that ended last.
#[derive(Debug, Clone, Default)]
pub struct CallsNow {
    /// How many calls are open.
    pub open_count: usize,
    /// Open calls, the oldest first.
    pub open: Vec<Record>,
    /// Calls that ended, the last one first.
    pub recent: Vec<Record>,
}

/// How a link stands: the answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Standing {
    pub project: PathBuf,
    /// What was seen of the link then.
    pub seen: Seen,
    pub status: LinkStatus,
    /// All calls on record, the newest first, if they were asked for.
    #[serde(default)]
    pub calls: Option<Vec<Record>>,
    /// The last compile result that was seen of the project.
    #[serde(default)]
    pub compile: Option<SeenCompile>,
    /// How many calls were taken over from earlier gateways.
    #[serde(default)]
    pub recovered: u64,
    /// How many clients are on the link.
    #[serde(default)]
    pub clients: usize,
}

/// How all links of a hub stand.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Standings {
    pub links: Vec<Standing>,
    /// What is known of the hub itself, as `holdfast_status` shows it.
    #[serde(default)]
    pub hub: Value,
    /// The projects whose tools are on disk, and whose folders exist, if they were asked for.
    #[serde(default)]
    pub on_disk: Option<Vec<Head>>,
    /// What is wrong with the hub itself.
    #[serde(default)]
    pub problems: Vec<String>,
    /// For each other session that may use several editors, the projects of these editors.
    #[serde(default)]
    pub choices: Vec<Vec<PathBuf>>,
    /// What is known of the call that was asked for, with the project of its link.
    #[serde(default)]
    pub looked_up: Option<(CallId, PathBuf, Lookup)>,
}

/// Returns the first calls of these, or the first after `before`; only those with this verdict if one is given. Also returns whether
/// there are more. `None` if `before` is not among them.
pub(super) fn some_calls(
    mut records: impl Iterator<Item = Record>,
    limit: usize,
    before: Option<CallId>,
    verdict: Option<&str>,
) -> Option<(Vec<Record>, bool)> {
    if let Some(before) = before {
        records.by_ref().find(|record| record.id == before)?;
    }
    let mut wanted =
        records.filter(|record| verdict.is_none_or(|wanted| record.verdict.map(Verdict::label) == Some(wanted)));
    let shown = wanted.by_ref().take(limit).collect();
    Some((shown, wanted.next().is_some()))
}

#[cfg(test)]
mod tests;
