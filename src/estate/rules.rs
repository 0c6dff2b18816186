//! What the user asked for beside the calls themselves: which tools may be called, and that each call is recorded.

use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Estate, enter};
use crate::core::calls::{Answer, NewCall, Wanted};
use crate::fsm::call::Verdict;
use crate::fsm::cause::Cause;
use crate::fsm::registry::Source;
use crate::protocol::dialect::{Annotations, Dialect, Transport};
use crate::protocol::ids::CallId;
use crate::protocol::jsonrpc::compact;
use crate::protocol::mcp::{self, ClientInfo};
use crate::protocol::policy::{Grounds, Policy, unstated};
use crate::storage::audit::{Audit, Entry, Event};
use crate::survey::Survey;

/// The audit among what keeps parts from their work.
const AUDIT: &str = "audit";

impl Estate {
    /// Why a tool of the editor's list may not be called in this project.
    pub fn refusal(&self, tool: &mcp::Entry, project: Option<&Path>) -> Option<Grounds> {
        let (name, own, annotations) = (&tool.name, &tool.tool.name, &tool.tool.annotations);
        let of_project = || self.policy_of(project).refusal(name, own, annotations);
        self.config.policy.refusal(name, own, annotations).or_else(of_project)
    }

    /// Remembers what the project that was looked at says of tools: its rules hold for as long as it is wanted, also when it is out
    /// of sight for a moment.
    pub(super) fn keep_rules(&self, survey: &Survey) {
        if let Some(project) = &survey.project {
            *enter(&self.rules) = Some((project.clone(), survey.rules.policy.clone()));
        }
    }

    /// What the project says that is wanted. Where that is in question nothing is refused in its name, and nothing is sent.
    fn project_policy(&self) -> Policy {
        match self.wanted() {
            Wanted::Asked => Policy::default(),
            Wanted::Settled(wanted) => self.policy_of(wanted.as_deref()),
        }
    }

    fn policy_of(&self, project: Option<&Path>) -> Policy {
        let surveyed = self.survey.borrow().clone();
        let found = surveyed.as_ref().and_then(|survey| survey.project.as_deref());
        match project {
            Some(wanted) if found != Some(wanted) => {
                let kept = enter(&self.rules).clone().filter(|(of, _)| *of == wanted).map(|(_, policy)| policy);
                kept.unwrap_or_else(|| {
                    let mut policy = Policy::default();
                    policy.refuse_all(format!("what {} says of tools is not known", wanted.display()));
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
            (Source::Live, Some(entry)) => self.refusal_of(&entry.name, &entry.tool.name, &entry.tool.annotations),
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
        let too_large = self.is_too_large(&call.arguments);
        self.decide(|ledger, now| {
            let mut settlements = ledger.accept(call, now);
            match refused {
                Some(grounds) => settlements.extend(ledger.turn_down(id, Cause::Policy, grounds, now)),
                None if too_large => settlements.extend(ledger.refuse(id, Cause::TooLarge, now)),
                None => {}
            }
            settlements
        });
    }

    /// Whether the editor that is or was connected never takes arguments of this size. It is known at once: such a call need not be
    /// held through an outage first. In a frame they are never shorter than compact.
    fn is_too_large(&self, arguments: &RawValue) -> bool {
        let dialect = self.link.borrow().target.as_ref().map(|target| target.dialect);
        let properties = dialect.map(Dialect::properties).filter(|known| known.transport == Transport::Stream);
        properties.is_some_and(|known| {
            arguments.get().len() > known.request_max_bytes && compact(arguments.get()).len() > known.request_max_bytes
        })
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
        project: Option<&Path>,
    ) -> Result<(), Grounds> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let entry = Entry { sending: Some(nth), ..self.audit_entry(Event::Sent, call, tool, asker, project) };
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
        let (asker, project) = (answer.asker.as_deref(), answer.project.as_deref());
        let entry = Entry { rule, ..self.audit_entry(event, answer.call, &answer.tool, asker, project) };
        self.audit_verdict(entry, answer.verdict, refused.map(|refused| Arc::clone(&refused.arguments)));
    }

    /// Records what became of a call whose client waits no more.
    pub(super) fn audit_noted(
        self: &Arc<Self>,
        call: CallId,
        tool: &Arc<str>,
        verdict: Verdict,
        asker: Option<&ClientInfo>,
        project: Option<&Path>,
    ) {
        if self.audit.is_some() {
            self.audit_verdict(self.audit_entry(Event::Verdict, call, tool, asker, project), verdict, None);
        }
    }

    fn audit_verdict(self: &Arc<Self>, entry: Entry, verdict: Verdict, arguments: Option<Arc<RawValue>>) {
        let entry = Entry { verdict: Some(verdict.label()), cause: verdict.cause(), ..entry };
        let estate = Arc::clone(self);
        // Taken before the task begins: the end of the gateway waits for it.
        let place = self.audit.as_ref().and_then(Audit::place);
        self.spawn("audit", async move {
            let Some(audit) = &estate.audit else { return };
            let added = audit.add_in(place, entry, arguments).await;
            estate.audited(added.as_ref().err());
        });
    }

    fn audit_entry(
        &self,
        event: Event,
        call: CallId,
        tool: &Arc<str>,
        asker: Option<&ClientInfo>,
        project: Option<&Path>,
    ) -> Entry {
        let (client, client_version) = match asker {
            Some(asker) => (asker.name.clone(), asker.version.clone()),
            None => {
                let client = self.client();
                (client.name, client.release)
            }
        };
        let project = project.map(|path| path.display().to_string());
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
    fn audited(&self, failed: Option<&crate::storage::audit::NotWritten>) {
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
