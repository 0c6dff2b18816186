//! Which tools of the last list clients see, according to the catalogue on disk and the rules.

use std::path::Path;

use super::finding::Finding;
use crate::cli::look::Look;
use crate::config::Config;
use crate::platform::host::RealHost;
use crate::protocol::mcp::Catalogue;
use crate::protocol::policy::{self, Asker, Policy};
use crate::storage::catalogue_file;

/// The tools of the last list, and the rules on them.
pub(super) struct Listed<'a> {
    catalogue: Catalogue,
    policies: [&'a Policy; 2],
    project: &'a Path,
}

impl<'a> Listed<'a> {
    /// Reads the catalogue of this project; `None` if there is none.
    pub(super) fn read(config: &'a Config, look: &'a Look) -> Option<Self> {
        let (folder, project) = (config.state_dir.as_deref()?, look.survey.project.as_deref()?);
        let file = catalogue_file::read(&RealHost, folder, project, look.survey.dialect.name()).ok()?;
        let catalogue = Catalogue::new(file.tools, config.development);
        Some(Self { catalogue, policies: [&config.policy, &look.survey.rules.policy], project })
    }

    /// The number of tools that the client with this name does not see.
    fn hidden_from(&self, client: &str) -> usize {
        let asker = Asker { client, project: Some(self.project) };
        let tools = self.catalogue.entries().iter();
        tools.filter(|tool| policy::hidden(self.policies.into_iter(), &tool.facts(), &asker).is_some()).count()
    }

    /// The number of tools that the client with this name sees, including the gateway's own.
    pub(super) fn shown_to(&self, client: &str) -> usize {
        self.catalogue.listed() - self.hidden_from(client)
    }

    /// Returns the finding about hidden tools; `None` if nothing can hide any.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.policies.iter().any(|policy| policy.hides_denied() || policy.has_choices()).then(|| {
            let (hidden, all) = (self.hidden_from(""), self.catalogue.entries().len());
            let from_all = format!("{hidden} of the {all} tools of the last list are hidden from every AI client in this project. ");
            let says = format!(
                "{}Some clients may see fewer tools. `holdfast tools --client NAME` names the hidden ones, with the reasons",
                if hidden > 0 { from_all } else { String::new() }
            );
            Finding::note(HIDDEN, says)
        })
    }
}

/// What the finding about hidden tools is about. It is shown although nothing need be done.
pub(super) const HIDDEN: &str = "hidden";
