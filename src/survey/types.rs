//! What one look around found.

use std::path::PathBuf;

use crate::config::PortSource;
use crate::config::file::ProjectRules;
use crate::fsm::bridge::{Evidence, Sign};
use crate::fsm::cause::Cause;
use crate::platform::host::{Liveness, Owner};
use crate::protocol::dialect::{self, Dialect, Expected, ProjectFacts};
use crate::protocol::policy::Policy;

/// A port that may be dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// Who named it.
    pub source: PortSource,
    /// The project it must belong to, if one is known.
    pub project: Option<PathBuf>,
    /// The pid of that project's editor, if known.
    pub editor_pid: Option<u32>,
    /// Whom the editor is asked to be, where the dialect can ask.
    pub expected: Option<Expected>,
    /// What it speaks.
    pub dialect: &'static dyn Dialect,
    /// The version of its package, if the project's files tell it.
    pub package_version: Option<String>,
}

/// A port that is not dialled, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The port.
    pub port: u16,
    /// Who named it.
    pub source: PortSource,
    /// Who listens there.
    pub owner: Option<Owner>,
    /// Why it is not called, in words.
    pub why: String,
}

/// What one look around found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The project, if there is exactly one.
    pub project: Option<PathBuf>,
    /// Other projects that fit as well: nobody guesses.
    pub ambiguous: Vec<PathBuf>,
    /// The dialects of its packages, if it has several that could be spoken: nobody guesses.
    pub packages: Vec<&'static str>,
    /// What its editor speaks, by those files; a guess if they tell nothing.
    pub dialect: &'static dyn Dialect,
    /// What the project's files say.
    pub facts: ProjectFacts,
    /// What the project's own configuration file narrows.
    pub rules: ProjectRules,
    /// Ports that may be dialled, best first.
    pub targets: Vec<Target>,
    /// Ports that may not.
    pub listed: Vec<Listed>,
    /// The process and the lock files.
    pub evidence: Evidence,
    /// There was no descriptor to look with: what was not found may be there.
    pub starved: bool,
    /// The look around failed, by a bug of ours: it tells nothing of where the project is.
    pub failed: bool,
}

/// How well it is known whose a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Its owner is the project's editor, or the editor checks by itself whom each call is for.
    Checked,
    /// The user named it, and nothing speaks against it.
    Assumed,
}

impl Survey {
    /// No project was found, and nothing is wrong with any.
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
            evidence: Evidence { editor: Sign::Unknown, activity: None, announces: None },
            starved: false,
            failed: false,
        }
    }

    /// Looking around failed, by a bug of ours.
    pub fn failed() -> Self {
        let problem = "holdfast failed while it looked for the editor (our fault, please report it with the log); it looks again.";
        let mut policy = Policy::default();
        policy.refuse_all(problem.to_owned());
        let facts = ProjectFacts { problems: vec![problem.to_owned()], ..ProjectFacts::default() };
        Self { facts, rules: ProjectRules { policy, ..ProjectRules::default() }, failed: true, ..Self::nothing() }
    }

    /// Why nothing may be dialled.
    pub fn cause(&self) -> Cause {
        if !self.ambiguous.is_empty() || !self.packages.is_empty() {
            Cause::Ambiguous
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
    /// Whether the editor lives that the project's files name; `None` if they name none.
    pub fn editor(&self) -> Option<Liveness> {
        self.facts.editor_pid.map(|_| match self.evidence.editor {
            Sign::Alive => Liveness::Alive,
            Sign::Dead => Liveness::Dead,
            Sign::Unknown => Liveness::Unknown,
        })
    }
}

/// What is known of the project that is meant.
#[derive(Default)]
pub(super) struct Meant {
    /// The project, if there is exactly one.
    pub project: Option<PathBuf>,
    /// Those that fit alike.
    pub ambiguous: Vec<PathBuf>,
    /// Why there is none, with the fix.
    pub trouble: Option<String>,
}
