//! What the services see of the gateway: snapshots of its parts. Calls from services take the same path as all other calls.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::actors::editors;
use crate::actors::instance_keeper::hub_snapshots;
use crate::actors::parts::Parts;
use crate::core::calls::Lookup;
use crate::core::logbook::Logbook;
use crate::fsm::cause::Cause;
use crate::limits::SURVEY_MAX;
use crate::link::{Destination, Link};
use crate::net::Net;
use crate::platform::host::Host;
use crate::protocol::dialect::Companion;
use crate::protocol::ids::CallId;
use crate::protocol::mcp;
use crate::runtime::messages::session;
use crate::services::Gateway;
use crate::services::companions::{Answer, Call, Documented};
use crate::services::metrics::Shown;
use crate::telemetry::events::{Events, HubSample, Sample};

impl Parts {
    /// Waits until this holds of the link that the session over stdin and stdout is on.
    async fn until(&self, holds: impl Fn(&Link) -> bool + Send) {
        let mut moves = self.client.moves();
        loop {
            moves.mark_unchanged();
            let link = self.link();
            let (mut view, mut survey) = (link.contact.view.subscribe(), link.contact.survey.subscribe());
            if holds(&link) {
                return;
            }
            let changed = tokio::select! {
                changed = moves.changed() => changed,
                changed = view.changed() => changed,
                changed = survey.changed() => changed,
            };
            if changed.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

impl Gateway for Parts {
    fn net(&self) -> &Arc<dyn Net> {
        &self.env.net
    }

    fn host(&self) -> &Arc<dyn Host> {
        &self.env.host
    }

    fn events(&self) -> &Events {
        &self.env.events
    }

    fn random_fraction(&self) -> f64 {
        self.env.random_fraction()
    }

    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.env.health.spawn(name, task)
    }
}

impl Shown for Parts {
    fn metrics_records(&self) -> Option<PathBuf> {
        self.env.config.metrics_records.clone()
    }

    fn set_record_problem(&self, part: &'static str, what: Option<String>) {
        self.env.health.set_problem(part, what);
    }

    fn metrics_address(&self) -> Option<SocketAddr> {
        self.env.config.metrics
    }

    fn state_dir(&self) -> Option<PathBuf> {
        self.env.config.state_dir.clone()
    }

    fn hub(&self) -> Option<&str> {
        self.env.records.as_ref().map(|records| records.gateway.as_str())
    }

    fn began(&self) -> Instant {
        self.env.began
    }

    fn project(&self) -> Option<PathBuf> {
        self.link().project.found()
    }

    async fn project_other_than(&self, known: Option<&Path>) {
        self.until(|link| link.project.found().as_deref() != known).await;
    }

    fn sample(&self) -> Sample {
        // If there are several sessions and links, each number is the sum over the sessions. Numbers of links are given
        // for each link.
        let requests = self.sessions.counts();
        let mut clients = self.sessions.all();
        clients.retain(|client| !client.id.is_post() && client.handshake().opened);
        let mut sample = Sample {
            requests_open: requests.open,
            sessions: clients.iter().map(|client| mcp::traits_of(&client.handshake().name).name).collect(),
            stdout_queued: requests.queued,
            hub: self.env.records.as_ref().map(|records| HubSample {
                sessions: self.sessions.local().len(),
                records_unwritten: records.unwritten(),
                records_failing: records.problem().is_some(),
            }),
            ..Sample::default()
        };
        for link in self.links.all() {
            let ((held, flying), surprises) =
                link.calls.ledger(|ledger, _| (ledger.counts(), ledger.surprises().clone()));
            sample.answered_twice += surprises.answered_twice;
            for (state, count) in surprises.undecided {
                *sample.calls_undecided.entry(state).or_default() += count;
            }
            sample.links.push(link.env.events.sample_of_link(held, flying));
        }
        sample
    }

    fn status(&self) -> Value {
        editors::snapshot(&self.seat(&self.client))
    }

    fn sessions(&self) -> Vec<Value> {
        let of_hub = hub_snapshots(self);
        if of_hub.is_empty() { vec![self.status()] } else { of_hub }
    }
}

impl Documented for Parts {
    fn address(&self, companion: Companion) -> Option<SocketAddr> {
        match companion {
            Companion::Logger => self.env.config.logger,
            Companion::DocumentedHop => {
                self.env.config.documented_hop.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            }
        }
    }

    async fn is_spoken(&self, companion: Companion, wanted: bool) {
        self.until(|link| link.contact.dialect().companions().contains(&companion) == wanted).await;
    }

    fn set_problem(&self, companion: Companion, what: Option<String>) {
        self.env.health.set_problem(companion.into(), what);
    }

    async fn call(self: &Arc<Self>, tool: &str, arguments: Box<RawValue>, patience: Duration) -> Option<Call> {
        if self.link().destination == Destination::Nowhere {
            self.client.actor.cast(session::Message::EditorWanted);
            let found = self.until(|link| link.destination != Destination::Nowhere);
            let _ = timeout(SURVEY_MAX, found).await;
        }
        let link = self.link();
        let guest = link.calls.take_from_guest(tool, arguments, patience)?;
        if link.destination == Destination::Nowhere {
            let cause = link.contact.view.borrow().availability.cause().unwrap_or(Cause::ProjectUnknown);
            link.calls.decide(|ledger, now| ledger.refuse(guest.id, cause, now));
        }
        let answer = async {
            let answer = guest.answer.await.ok()?;
            Some(Answer { verdict: answer.verdict, result: answer.result })
        };
        Some(Call { id: guest.id, answer: Box::pin(answer) })
    }

    fn is_held(&self, id: CallId) -> bool {
        let state = |link: &Link| link.calls.ledger(|ledger, _| ledger.record(id).map(|record| record.state));
        self.links.of_call(id).and_then(|link| state(&link)) == Some("held")
    }

    fn look_up(&self, id: CallId) -> Lookup {
        self.links.of_call(id).map_or(Lookup::Unknown, |link| link.calls.look_up(id))
    }

    fn new_id(&self) -> CallId {
        self.env.next_call_id()
    }

    fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        self.link().calls.answers.logbook(operation)
    }
}
