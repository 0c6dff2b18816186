//! The audit: a file that records every call, if the user asked for one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;

use super::contact::Contact;
use super::tools::Tools;
use crate::client::Attached;
use crate::core::calls::Answer;
use crate::fsm::call::Verdict;
use crate::limits::SESSIONS_MAX;
use crate::protocol::ids::{CallId, SessionId};
use crate::protocol::mcp::ClientInfo;
use crate::protocol::policy::Grounds;
use crate::runtime::enter;
use crate::runtime::environment::Environment;
use crate::storage::audit::{Audit, Entry, Event, NotWritten};

/// The name, in `Health`, of the problem that the audit cannot be written.
const AUDIT: &str = "audit";

/// The audit as one link writes it. Without an audit, nothing is done.
pub struct AuditTrail {
    env: Arc<Environment>,
    attached: Attached,
    contact: Arc<Contact>,
    tools: Arc<Tools>,
    audit: Option<Audit>,
    /// The audits that sessions brought themselves. An entry outlives its session, because a verdict may come later.
    of_sessions: Mutex<BTreeMap<SessionId, Audit>>,
}

impl std::fmt::Debug for AuditTrail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditTrail")
            .field("path", &self.audit.as_ref().map(|audit| &audit.path))
            .finish_non_exhaustive()
    }
}

impl AuditTrail {
    /// Creates the audit in the file that the configuration names, if it names one.
    pub fn new(env: Arc<Environment>, attached: Attached, contact: Arc<Contact>, tools: Arc<Tools>) -> Self {
        let audit = env.config.audit.clone().map(|path| Audit::new(path, Arc::clone(&env.host)));
        Self { env, attached, contact, tools, audit, of_sessions: Mutex::default() }
    }

    /// Returns the audits in which a call of this session is recorded: the gateway's and the session's own.
    fn audits(&self, session: SessionId) -> Vec<Audit> {
        let mut audits: Vec<Audit> = self.audit.iter().cloned().collect();
        if session == SessionId::STDIO {
            return audits;
        }
        let mut of_sessions = enter(&self.of_sessions);
        if let Some(path) = self.attached.get(session).and_then(|client| client.config.audit.clone()) {
            if of_sessions.len() > SESSIONS_MAX {
                of_sessions.retain(|session, _| self.attached.get(*session).is_some());
            }
            of_sessions.entry(session).or_insert_with(|| Audit::new(path, Arc::clone(&self.env.host)));
        }
        let own = of_sessions.get(&session).filter(|own| audits.iter().all(|audit| audit.path != own.path));
        audits.extend(own.cloned());
        audits
    }

    /// Records that a call is about to be sent, if there is an audit.
    ///
    /// # Errors
    /// The call could not be recorded, and must not be sent. The grounds say why.
    pub async fn sending(
        &self,
        (call, session): (CallId, SessionId),
        nth: u8,
        tool: &Arc<str>,
        arguments: &Arc<RawValue>,
        requester: Option<&ClientInfo>,
        project: Option<&Path>,
    ) -> Result<(), Grounds> {
        for audit in self.audits(session) {
            let entry = Entry { sending: Some(nth), ..self.entry(Event::Sent, call, tool, requester, project) };
            let added = audit.add(entry, Some(Arc::clone(arguments))).await;
            self.tell(&audit, added.as_ref().err());
            added.map_err(|why| {
                let says = format!(
                    "the audit file {} cannot be written ({why}), and no call goes unrecorded",
                    audit.path.display()
                );
                Grounds { rule: None, says }
            })?;
        }
        Ok(())
    }

    /// Records a call's verdict.
    pub(super) fn answered(self: &Arc<Self>, answer: &Answer) {
        let audits = self.audits(answer.request.session);
        if audits.is_empty() {
            return;
        }
        let refused = answer.refused.as_ref();
        let event = if refused.is_some() { Event::Refused } else { Event::Verdict };
        let rule = refused.and_then(|refused| refused.grounds.rule.clone());
        let (requester, project) = (answer.requester.as_deref(), answer.project.as_deref());
        let entry = Entry { rule, ..self.entry(event, answer.call, &answer.tool, requester, project) };
        self.verdict(audits, entry, answer.verdict, refused.map(|refused| Arc::clone(&refused.arguments)));
    }

    /// Records the verdict of a call whose client no longer waits.
    pub(super) fn noted(
        self: &Arc<Self>,
        (call, session): (CallId, SessionId),
        tool: &Arc<str>,
        verdict: Verdict,
        requester: Option<&ClientInfo>,
        project: Option<&Path>,
    ) {
        let audits = self.audits(session);
        if !audits.is_empty() {
            self.verdict(audits, self.entry(Event::Verdict, call, tool, requester, project), verdict, None);
        }
    }

    fn verdict(self: &Arc<Self>, audits: Vec<Audit>, entry: Entry, verdict: Verdict, arguments: Option<Arc<RawValue>>) {
        let entry = Entry { verdict: Some(verdict.label()), cause: verdict.cause(), ..entry };
        for audit in audits {
            let (trail, entry, arguments) = (Arc::clone(self), entry.clone(), arguments.clone());
            // Reserved before the task begins: the shutdown waits until every place in the audit's queue is free.
            let place = audit.place();
            self.env.health.spawn("audit", async move {
                let added = audit.add_in(place, entry, arguments).await;
                trail.tell(&audit, added.as_ref().err());
            });
        }
    }

    fn entry(
        &self,
        event: Event,
        call: CallId,
        tool: &Arc<str>,
        requester: Option<&ClientInfo>,
        project: Option<&Path>,
    ) -> Entry {
        let (client, client_version) = match requester {
            Some(requester) => (requester.name.clone(), requester.version.clone()),
            None => {
                let client = self.attached.get(SessionId::STDIO).map(|client| client.handshake());
                client.map(|client| (client.name, client.release)).unwrap_or_default()
            }
        };
        let project = project.map(|path| path.display().to_string());
        let catalogue = Arc::clone(&self.tools.published.borrow().catalogue);
        let annotations = catalogue.find(tool).map(|entry| &entry.tool.annotations);
        Entry {
            event,
            gateway_pid: std::process::id(),
            client,
            client_version,
            project,
            dialect: self.contact.dialect().name(),
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

    /// Sets or clears the audit's problem in the status.
    fn tell(&self, audit: &Audit, failed: Option<&NotWritten>) {
        let problem = failed.map(|why| {
            format!(
                "A line could not be added to the audit file {} ({why}): calls that cannot be recorded are not sent; let it be \
                 written, or run without --audit.",
                audit.path.display()
            )
        });
        if let Some(problem) = &problem {
            self.env.events.audit_failed(problem);
        }
        self.env.health.set_problem(AUDIT, problem);
    }

    /// Waits until no line is being written to the audit file.
    pub async fn written(&self) {
        let of_sessions: Vec<Audit> = enter(&self.of_sessions).values().cloned().collect();
        for audit in self.audit.iter().chain(&of_sessions) {
            audit.written().await;
        }
    }
}
