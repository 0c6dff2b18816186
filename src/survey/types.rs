//! The result of a survey.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

use crate::config::PortSource;
use crate::config::file::ProjectRules;
use crate::core::user_text;
use crate::fsm::bridge::{Evidence, Sign};
use crate::fsm::cause::Cause;
use crate::platform::host::{Liveness, Owner};
use crate::protocol::dialect::{self, Dialect, Endpoint, Expected, ProjectFacts};
use crate::protocol::policy::Policy;

/// An editor that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Where it is reached.
    #[serde(rename = "port")]
    pub endpoint: Endpoint,
    /// What named its port.
    pub source: PortSource,
    /// The project that it must belong to, if one is known.
    pub project: Option<PathBuf>,
    /// The pid of that project's editor, if known.
    pub editor_pid: Option<u32>,
    /// The identity that the editor must confirm, if the dialect can check it. It may hold the editor's token, so it
    /// does not cross to another process. A target from another process may be shown, but must not be connected to.
    #[serde(skip)]
    pub expected: Option<Expected>,
    /// The dialect of the editor.
    pub dialect: &'static dyn Dialect,
    /// The version of the editor's package, if the project's files name it.
    pub package_version: Option<String>,
}

/// A port that is not connected to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The port.
    pub port: u16,
    /// What named the port.
    pub source: PortSource,
    /// The process that listens on the port, if the system reports it.
    pub owner: Option<Owner>,
    /// Why holdfast does not connect, in words.
    pub why: String,
}

/// The result of a survey. A survey from another process lacks the secrets ([`Target::expected`]): it may be shown, but
/// a link that connects makes its own survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// The project that is meant, if there is exactly one.
    pub project: Option<PathBuf>,
    /// The projects that fit equally well, if there are several: then none of them is chosen.
    #[serde(default)]
    pub ambiguous: Vec<PathBuf>,
    /// The names of the dialects, if the project has packages of several of them: then none of them is chosen.
    #[serde(default, deserialize_with = "packages")]
    pub packages: Vec<&'static str>,
    /// The dialect of the editor, according to the project's files; a fallback if they name none.
    pub dialect: &'static dyn Dialect,
    /// The facts that the project's files give.
    pub facts: ProjectFacts,
    /// The rules of the project's own configuration file. They can only restrict what the user's rules allow.
    pub rules: ProjectRules,
    /// The ports that may be connected to, the best one first.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// Ports that may not be connected to.
    #[serde(default)]
    pub listed: Vec<Listed>,
    /// What the editor's process and lock files show.
    pub evidence: Evidence,
    /// Whether the process lacked file descriptors during the survey, so that it may have missed something.
    #[serde(default)]
    pub starved: bool,
    /// Whether the survey failed because of a bug of ours. In that case it says nothing about the project.
    #[serde(default)]
    pub failed: bool,
}

/// Reads names of dialects.
fn packages<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'static str>, D::Error> {
    let dialects: Vec<&'static dyn Dialect> = Deserialize::deserialize(deserializer)?;
    Ok(dialects.into_iter().map(Dialect::name).collect())
}

/// How well the owner of a port is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The port's owner is the project's editor, or the editor itself checks that each call is meant for it or has named its project.
    Checked,
    /// The user named the port, and nothing speaks against it.
    Assumed,
}

impl Survey {
    /// Returns a survey that found no project and no problem.
    pub fn nothing() -> Self {
        Self {
            project: None,
            ambiguous: Vec::new(),
            packages: Vec::new(),
            dialect: dialect::fallback(dialect::ALL),
            facts: ProjectFacts::default(),
            rules: ProjectRules::default(),
            targets: Vec::new(),
            listed: Vec::new(),
            evidence: Evidence {
                editor: Sign::Unknown,
                activity: None,
                announces: None,
                unpackaged: false,
                port_named: false,
                arrives: false,
            },
            starved: false,
            failed: false,
        }
    }

    /// Returns the survey that stands for one that failed because of a bug of ours. Its policy refuses every call.
    pub fn failed() -> Self {
        let problem = "holdfast failed while it looked for the editor (our fault, please report it with the log); it looks again.";
        let mut policy = Policy::default();
        policy.refuse_all(problem.to_owned());
        let facts = ProjectFacts { problems: vec![problem.to_owned()], ..ProjectFacts::default() };
        Self { facts, rules: ProjectRules { policy, ..ProjectRules::default() }, failed: true, ..Self::nothing() }
    }

    /// Returns the survey that stands for one that did not end in time.
    pub fn hung() -> Self {
        let facts = ProjectFacts { problems: vec![user_text::survey_hangs()], ..ProjectFacts::default() };
        Self { facts, ..Self::nothing() }
    }

    /// Returns the cause for which no port may be connected to. Only for a survey without targets.
    pub fn cause(&self) -> Cause {
        if !self.ambiguous.is_empty() || !self.packages.is_empty() {
            Cause::Ambiguous
        } else if self.project.is_none() && !self.starved && !self.failed {
            Cause::ProjectUnknown
        } else if self.listed.iter().any(|listed| listed.owner.is_some()) {
            Cause::Unproven
        } else if self.starved {
            Cause::NoDescriptors
        } else {
            Cause::NotRunning
        }
    }
}

impl Survey {
    /// Returns what this survey found that explains the cause, as whole sentences; `None` if nothing.
    pub fn explains(&self, cause: Cause) -> Option<String> {
        let problem = || self.facts.problems.first().cloned();
        match cause {
            Cause::Ambiguous | Cause::Unproven => problem().or_else(|| user_text::candidates(&self.ambiguous)),
            Cause::ProjectUnknown => problem().or_else(|| Some(user_text::NO_FOLDER.to_owned())),
            Cause::NoPackage => problem(),
            Cause::NotRunning | Cause::BridgeDown | Cause::Closed | Cause::Lost => {
                let how = self.dialect.connects_by()?;
                problem().or_else(|| Some(format!("{}: {how}.", self.dialect.title())))
            }
            _ => None,
        }
    }

    /// Whether the editor is alive, by the process that the project's files name. `None` if they name none.
    pub fn editor(&self) -> Option<Liveness> {
        self.facts.editor_pid.map(|_| match self.evidence.editor {
            Sign::Alive => Liveness::Alive,
            Sign::Dead => Liveness::Dead,
            Sign::Unknown => Liveness::Unknown,
        })
    }
}

/// The decision about which project is meant.
#[derive(Default)]
pub(super) struct Meant {
    /// The project, if exactly one is meant.
    pub project: Option<PathBuf>,
    /// The projects that fit equally well, if none was chosen.
    pub ambiguous: Vec<PathBuf>,
    /// Why no project is meant, with the fix; `None` if there is nothing to report.
    pub problem: Option<String>,
}
