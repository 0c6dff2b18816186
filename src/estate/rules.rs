//! What the user asked for beside the calls themselves: which tools may be called, and that each call is recorded.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Estate, enter};
use crate::audit::{Audit, Entry, Event};
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::fsm::registry::Source;
use crate::ledger::{Answer, NewCall};
use crate::protocol::dialect::Annotations;
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{self, ClientInfo};
use crate::protocol::policy::{Grounds, Policy, unstated};
use crate::survey::Survey;

/// The audit among what keeps parts from their work.
const AUDIT: &str = "audit";

impl Estate {
    /// Why a tool of the editor's list may not be called.
    pub fn refusal(&self, tool: &mcp::Entry) -> Option<Grounds> {
        self.refusal_of(&tool.name, &tool.tool.name, &tool.tool.annotations)
    }

    /// Remembers a look around. The rules of the project that is connected hold for as long as it is, also when the client has
    /// named other roots meanwhile and somebody else's project is looked at.
    pub fn surveyed(&self, survey: &Arc<Survey>) {
        if let Some(project) = &survey.project {
            let connected = self.connected_project();
            let mut kept = enter(&self.rules);
            kept.retain(|(of, _)| Some(of) == connected.as_ref() && of != project);
            kept.push((project.clone(), survey.rules.policy.clone()));
        }
        self.survey.send_replace(Some(Arc::clone(survey)));
    }

    fn connected_project(&self) -> Option<PathBuf> {
        self.link.borrow().target.as_ref().and_then(|target| target.project.clone())
    }

    /// What the project says whose editor is or was connected, else the one that was found.
    fn project_policy(&self) -> Policy {
        let surveyed = self.survey.borrow().clone();
        let found = surveyed.as_ref().and_then(|survey| survey.project.clone());
        match self.connected_project() {
            Some(connected) if found.as_ref() != Some(&connected) => {
                let kept = enter(&self.rules).iter().find(|(of, _)| *of == connected).map(|(_, policy)| policy.clone());
                kept.unwrap_or_else(|| {
                    let mut policy = Policy::default();
                    policy.refuse_all(format!("what {} says of tools is not known", connected.display()));
                    policy
                })
            }
            _ => surveyed.map(|survey| survey.rules.policy.clone()).unwrap_or_default(),
        }
    }

    fn refusal_of(&self, name: &str, own: &str, annotations: &Annotations) -> Option<Grounds> {
        let of_project = || self.project_policy().refusal(name, own, annotations);
        self.config.policy.refusal(name, own, annotations).or_else(of_project)
    }

    /// Why a call is refused before it waits for anything: nothing is allowed, the live list has the tool, or its package's own
    /// server answered it without a list. Any other is decided when it is about to be sent.
    pub fn refusal_at_once(&self, name: &str) -> Option<Grounds> {
        let of_project = || self.project_policy().refusal_of_all();
        if let Some(all) = self.config.policy.refusal_of_all().or_else(of_project) {
            return Some(all);
        }
        let (source, catalogue) = {
            let published = self.published.borrow();
            (published.source, Arc::clone(&published.catalogue))
        };
        match (source, catalogue.find(name)) {
            (Source::Live, Some(entry)) => self.refusal(entry),
            _ => {
                self.dialect().own_tool(name)?;
                // What the list will say of it is not known: the worst is expected.
                self.refusal_of(name, name, &unstated())
            }
        }
    }

    /// Takes a call in; one that is refused is answered by that.
    pub fn take_in(self: &Arc<Self>, call: NewCall, refused: Option<Grounds>) {
        let id = call.id;
        self.decide(|ledger, now| {
            let mut settlements = ledger.accept(call, now);
            if let Some(grounds) = refused {
                settlements.extend(ledger.turn_down(id, Cause::Policy, grounds, now));
            }
            settlements
        });
    }

    /// The policies in force, one rule list a line.
    pub fn policy_lines(&self) -> Vec<String> {
        self.config.policy.lines().into_iter().chain(self.project_policy().lines()).collect()
    }

    /// Records that a call is about to be sent, where that was asked for.
    ///
    /// # Errors
    /// It is not recorded, and must not be sent.
    pub async fn audit_sending(
        &self,
        call: CallId,
        nth: u8,
        tool: &Arc<str>,
        arguments: &Arc<RawValue>,
        asker: Option<&ClientInfo>,
    ) -> Result<(), Grounds> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let entry = Entry { sending: Some(nth), ..self.audit_entry(Event::Sent, call, tool, asker) };
        let added = audit.add(entry, Some(Arc::clone(arguments))).await;
        self.audited(added.as_ref().err());
        added.map_err(|why| {
            let says = format!(
                "the audit file {} cannot be written ({why}), and no call goes unrecorded",
                audit.path.display()
            );
            Grounds { rule: None, says }
        })
    }

    /// Records how a call ended, as far as that is known now.
    pub(super) fn audit_answer(self: &Arc<Self>, answer: &Answer) {
        if self.audit.is_none() {
            return;
        }
        let refused = answer.refused.as_ref();
        let event = if refused.is_some() { Event::Refused } else { Event::Verdict };
        let rule = refused.and_then(|refused| refused.grounds.rule.clone());
        let entry = Entry { rule, ..self.audit_entry(event, answer.call, &answer.tool, answer.asker.as_deref()) };
        self.audit_verdict(entry, answer.verdict, refused.map(|refused| Arc::clone(&refused.arguments)));
    }

    /// Records what became of a call whose client waits no more.
    pub(super) fn audit_noted(
        self: &Arc<Self>,
        call: CallId,
        tool: &Arc<str>,
        verdict: Verdict,
        asker: Option<&ClientInfo>,
    ) {
        if self.audit.is_some() {
            self.audit_verdict(self.audit_entry(Event::Verdict, call, tool, asker), verdict, None);
        }
    }

    fn audit_verdict(self: &Arc<Self>, entry: Entry, verdict: Verdict, arguments: Option<Arc<RawValue>>) {
        let entry = Entry { verdict: Some(verdict.label()), cause: verdict.cause(), ..entry };
        let estate = Arc::clone(self);
        // Taken before the task begins: the end of the gateway waits for it.
        let place = self.audit.as_ref().and_then(Audit::place);
        tokio::spawn(async move {
            let Some(audit) = &estate.audit else { return };
            let added = audit.add_in(place, entry, arguments).await;
            estate.audited(added.as_ref().err());
        });
    }

    fn audit_entry(&self, event: Event, call: CallId, tool: &Arc<str>, asker: Option<&ClientInfo>) -> Entry {
        let (client, client_version) = match asker {
            Some(asker) => (asker.name.clone(), asker.version.clone()),
            None => {
                let client = self.client();
                (client.name, client.release)
            }
        };
        let found = || self.survey.borrow().as_ref().and_then(|survey| survey.project.clone());
        let project = self.connected_project().or_else(found).map(|path| path.display().to_string());
        let catalogue = Arc::clone(&self.published.borrow().catalogue);
        let annotations = catalogue.find(tool).map(|entry| &entry.tool.annotations);
        Entry {
            event,
            gateway_pid: std::process::id(),
            client,
            client_version,
            project,
            dialect: self.dialect().name(),
            call,
            tool: Arc::clone(tool),
            read_only: annotations.map(|annotations| annotations.read_only_hint),
            destructive: annotations.map(|annotations| annotations.destructive_hint),
            sending: None,
            verdict: None,
            cause: None,
            rule: None,
        }
    }

    /// Tells that the audit is in trouble, or no more.
    fn audited(&self, failed: Option<&crate::audit::NotWritten>) {
        let Some(audit) = &self.audit else { return };
        let trouble = failed.map(|why| {
            format!(
                "A line could not be added to the audit file {} ({why}): calls that cannot be recorded are not sent; let it be \
                 written, or run without --audit.",
                audit.path.display()
            )
        });
        if let Some(trouble) = &trouble {
            self.events.audit_failed(trouble);
        }
        self.set_trouble(AUDIT, trouble);
    }

    /// Waits until no line is on its way to the audit file.
    pub async fn audit_written(&self) {
        if let Some(audit) = &self.audit {
            audit.written().await;
        }
    }
}
