//! What the services see of the gateway: snapshots of what its parts hold, and calls that go the way of every call.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::actors::parts::Parts;
use crate::core::calls::Lookup;
use crate::core::logbook::Logbook;
use crate::fsm::cause::Outlook;
use crate::net::Net;
use crate::platform::host::Host;
use crate::protocol::dialect::Companion;
use crate::protocol::ids::CallId;
use crate::services::Gateway;
use crate::services::metrics::Shown;
use crate::services::unity_mcp::{Answer, Call, Documented};
use crate::survey::Survey;
use crate::telemetry::events::{Events, Sample};
use crate::telemetry::metrics::labels::{Instance, Part};

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

    fn die(&self) -> f64 {
        self.env.die()
    }

    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.env.health.spawn(name, task)
    }
}

impl Shown for Parts {
    fn metrics_address(&self) -> Option<SocketAddr> {
        self.env.config.metrics
    }

    fn state_dir(&self) -> Option<PathBuf> {
        self.env.config.state_dir.clone()
    }

    fn began(&self) -> Instant {
        self.env.began
    }

    fn survey(&self) -> watch::Receiver<Option<Arc<Survey>>> {
        self.link.survey.subscribe()
    }

    fn sample(&self) -> Sample {
        let requests = self.client.outbox.counts();
        let ((held, flying), surprises) = self.calls.ledger(|ledger, _| (ledger.counts(), ledger.surprises().clone()));
        let (epoch, outlook) = {
            let link = self.link.view.borrow();
            (link.epoch, link.outlook)
        };
        let survey = self.link.survey.borrow().clone();
        let [mut callable, mut ambiguous, mut refused, mut stale] = [0; 4];
        if let Some(survey) = survey {
            (callable, ambiguous) = (survey.targets.len(), survey.ambiguous.len());
            refused = survey.listed.iter().filter(|listed| listed.owner.is_some()).count();
            stale = survey.listed.len() - refused;
        }
        Sample {
            requests_open: requests.open,
            stdout_queued: requests.queued,
            stdout_dropped: requests.dropped_notifications,
            stdout_surplus: requests.surplus_answers,
            calls_held: held,
            calls_in_flight: flying,
            answered_twice: surprises.answered_twice,
            calls_undecided: surprises.undecided,
            mailboxes: [
                (Part::Session, self.client.edge.used()),
                (Part::Bridge, self.addresses.edges.bridge.used()),
                (Part::Push, self.addresses.edges.push.used()),
            ],
            pushes: self.addresses.edges.push.used(),
            epoch: epoch.filter(|_| outlook == Outlook::Open).map_or(0, |epoch| epoch.0),
            instances: [
                (Instance::Callable, callable),
                (Instance::Ambiguous, ambiguous),
                (Instance::Refused, refused),
                (Instance::Stale, stale),
            ],
        }
    }

    fn status(&self) -> Value {
        self.gateway_tools().picture()
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
        let (mut link, mut survey) = (self.link.view.subscribe(), self.link.survey.subscribe());
        while self.link.dialect().companions().contains(&companion) != wanted {
            let moved = tokio::select! {
                moved = link.changed() => moved,
                moved = survey.changed() => moved,
            };
            if moved.is_err() {
                return std::future::pending().await;
            }
        }
    }

    fn set_trouble(&self, companion: Companion, what: Option<String>) {
        self.env.health.set_trouble(companion.into(), what);
    }

    fn call(self: &Arc<Self>, tool: &str, arguments: Box<RawValue>, patience: Duration) -> Option<Call> {
        let guest = self.calls.take_from_guest(tool, arguments, patience)?;
        let answer = async {
            let answer = guest.answer.await.ok()?;
            Some(Answer { verdict: answer.verdict, result: answer.result })
        };
        Some(Call { id: guest.id, answer: Box::pin(answer) })
    }

    fn is_held(&self, id: CallId) -> bool {
        self.calls.ledger(|ledger, _| ledger.record(id).map(|record| record.state)) == Some("held")
    }

    fn look_up(&self, id: CallId) -> Lookup {
        self.calls.ledger(|ledger, now| ledger.look_up(id, now))
    }

    fn new_id(&self) -> CallId {
        self.env.next_call_id()
    }

    fn logbook<T>(&self, operation: impl FnOnce(&mut Logbook) -> T) -> T {
        self.calls.answers.logbook(operation)
    }
}
