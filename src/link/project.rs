//! Decides which project is wanted, from the link's destination and the last survey, and tells all parts of the link at once.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::time::sleep;

use super::calls::Calls;
use super::contact::Contact;
use super::tools::Tools;
use crate::config::Config;
use crate::core::calls::Wanted;
use crate::core::link::Fact;
use crate::limits::hub::LEFT_CALLS_PAUSES;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{Addresses, bridge};
use crate::survey::Survey;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To the editor of this project, as long as the link exists.
    Project(PathBuf),
    /// To the editor at the port that the user named, with the project that it is meant to have open, if that is known.
    Port(Option<PathBuf>),
    /// To no editor. A session is on such a link while no editor is found for it; the session's calls are refused. No actor
    /// serves the link.
    Nowhere,
}

impl Destination {
    /// Returns the project to which the link leads for as long as the link exists.
    pub fn project(&self) -> Option<&Path> {
        match self {
            Self::Project(project) | Self::Port(Some(project)) => Some(project),
            Self::Port(None) | Self::Nowhere => None,
        }
    }
}

/// The wanted project of one link; see the module's documentation.
#[derive(Debug)]
pub struct Project {
    env: Arc<Environment>,
    addresses: Arc<Addresses>,
    contact: Arc<Contact>,
    tools: Arc<Tools>,
    calls: Arc<Calls>,
    destination: Destination,
    /// The project of the last survey that was certain: it found a project, or nothing kept it from finding one. `None`
    /// before the first.
    found: Mutex<Option<Option<PathBuf>>>,
    /// A survey of this project that was made before the link was opened, and led to it.
    foretold: Mutex<Option<Arc<Survey>>>,
}

impl Project {
    /// Creates the value of a link before its first survey.
    pub fn new(
        env: Arc<Environment>,
        addresses: Arc<Addresses>,
        contact: Arc<Contact>,
        tools: Arc<Tools>,
        calls: Arc<Calls>,
        destination: Destination,
    ) -> Self {
        // Before the first survey of a link's own project, its rules for tools are not known, so no call may be sent.
        let wanted = if destination.project().is_some() { Wanted::Asked } else { Wanted::default() };
        contact.view.publish(|seen| seen.wanted = wanted.clone());
        calls.decide(|ledger, now| ledger.want(wanted, now).1);
        Self { env, addresses, contact, tools, calls, destination, found: Mutex::default(), foretold: Mutex::default() }
    }

    /// Returns the configuration that surveys for this link use.
    pub fn config(&self) -> Cow<'_, Config> {
        match self.destination.project() {
            None => Cow::Borrowed(&self.env.config),
            Some(to) => Cow::Owned(Config { project: Some(to.to_path_buf()), ..Config::clone(&self.env.config) }),
        }
    }

    /// Whether the project is named, by the configuration or by this link's destination.
    fn is_named(&self) -> bool {
        self.destination.project().is_some() || self.env.config.project.is_some()
    }

    /// Gives the link its first survey. A session has just made that survey, and it led to this link.
    pub fn foretell(&self, survey: Arc<Survey>) {
        *enter(&self.foretold) = Some(survey);
    }

    /// Returns the survey that was made before the link was opened, once.
    pub fn take_foretold(&self) -> Option<Arc<Survey>> {
        enter(&self.foretold).take()
    }

    /// Returns the project that the last survey found; `None` if it found none.
    pub fn found(&self) -> Option<PathBuf> {
        enter(&self.found).clone().flatten()
    }

    /// Keeps a survey.
    pub fn surveyed(&self, survey: &Arc<Survey>) {
        // The rules come first: the rules of a project must be known before calls can be sent to its editor.
        let other_rules = self.tools.keep_rules(survey);
        self.contact.set_survey(Some(Arc::clone(survey)));
        if other_rules {
            self.tools.rules_changed();
        }
        // A named project that cannot be found (on a disk that is not mounted) is still the wanted one. The same holds
        // for a project that a survey found before.
        let nothing = survey.project.is_none() && survey.ambiguous.is_empty();
        let stays = nothing || survey.failed || self.is_named() && survey.project.is_none();
        let is_new = {
            let mut found = enter(&self.found);
            let is_new = match &*found {
                Some(_) if stays => false,
                before => before.as_ref() != Some(&survey.project),
            };
            if is_new {
                *found = Some(survey.project.clone());
            }
            is_new
        };
        if is_new {
            self.want(Wanted::Settled(survey.project.clone()));
        }
        if let Some(project) = survey.project.as_deref().filter(|_| is_new) {
            self.env.events.project_found(project);
            self.take_over_left(project);
        }
    }

    /// Takes over the calls to this project's editor that killed gateways left.
    fn take_over_left(&self, project: &Path) {
        if self.env.call_records().is_none() {
            return;
        }
        let (calls, host, project) = (Arc::clone(&self.calls), Arc::clone(&self.env.host), project.to_path_buf());
        self.env.health.spawn("take_over_left", async move {
            for pause in LEFT_CALLS_PAUSES {
                let (calls, project) = (Arc::clone(&calls), project.clone());
                let looked = crate::platform::host::run(&*host, move || calls.take_over_left(&project));
                if looked.await != Some(true) {
                    return;
                }
                sleep(pause).await;
            }
        });
    }

    /// Applies a change of which project is wanted to the ledger, the bridge and the watchers of the link at once.
    fn want(&self, wanted: Wanted) {
        self.contact.view.publish(|seen| seen.wanted = wanted.clone());
        let (news, settlements) = self.calls.ledger(|ledger, now| ledger.want(wanted, now));
        self.calls.settle(settlements);
        if news {
            self.addresses.bridge.cast(bridge::Message::ProjectMoved);
            self.contact.view.tell(Fact::ProjectMoved);
        }
    }
}
