//! The port actor: serves the session of another process, which makes its calls over the port of this hub.
//!
//! *Owns* nothing: a call goes to its link, whose ledger keeps it. *Receives* what the session says. *Sends* calls to the links, and
//! tells the session what is seen of them. *Dies* only of our own bugs: its supervisor then answers the requests that did not become
//! calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::intake::{self, NewRequest};
use super::package_tools;
use super::seat::Seat;
use crate::config::{Config, started_by};
use crate::core::port::messages::{self, Ask, Call, Here, Look, Of, Opened};
use crate::core::requests::{Asked, Hold};
use crate::core::user_text;
use crate::fsm::cause::Cause;
use crate::limits::{SURVEY_MAX, SURVEYS_HANGING_MAX};
use crate::link::{Destination, Port, Standings};
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId, RpcError};
use crate::protocol::mcp::stateless::Requester;
use crate::protocol::mcp::{AnswerForm, CallTool, ClientInfo, ClientProfile, ProtocolVersion};
use crate::protocol::policy::Grounds;
use crate::protocol::trace::TraceContext;
use crate::runtime::messages::session::{Delivered, Message};
use crate::runtime::supervisor::Tasks;
use crate::survey::{self, Survey};

pub struct PortActor {
    pub seat: Seat,
    pub tasks: Tasks,
    /// The number of surveys that did not end in time and whose threads have not ended.
    pub hanging: Arc<AtomicU8>,
}

impl Actor for PortActor {
    type Msg = Message;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<Message>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn post_start(&self, _me: ActorRef<Message>, (): &mut ()) -> Result<(), ActorProcessingErr> {
        self.tasks.spawn(tell_links(self.seat.clone(), self.tasks.clone()));
        Ok(())
    }

    async fn handle(&self, _me: ActorRef<Message>, message: Message, (): &mut ()) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Delivered(Delivered::Request { hold, id, method, params, .. }, _permit) => {
                // A request that was cancelled while it waited here gets no answer and is not begun.
                if hold.is_open() {
                    self.request(hold, id, &method, params.as_deref());
                }
            }
            Message::Delivered(Delivered::Notification { method, params }, _permit) => {
                self.notification(&method, params.as_deref());
            }
            Message::PackageToolCalled(link, asked, tool, arguments) => {
                let there = self.seat.links.get(link).unwrap_or_else(|| self.seat.link());
                package_tools::run(&self.seat.tools_on(&there), &self.tasks, asked, tool, &arguments);
            }
            // These concern the lists and roots of a session. The session itself has them.
            Message::Delivered(Delivered::Response { .. }, _)
            | Message::LinkChanged
            | Message::CatalogueChanged
            | Message::LookedAround(..)
            | Message::EditorsChanged
            | Message::Asked(_)
            | Message::EditorWanted
            | Message::InputEnded(_)
            | Message::Timer(_)
            | Message::RoutingTimer(_) => {}
        }
        Ok(())
    }
}

impl PortActor {
    fn request(&self, hold: Hold, id: RequestId, method: &str, params: Option<&RawValue>) {
        let key = hold.key();
        let handled = match method {
            messages::CALL => read(params).map(|call| self.call(hold, id, call)),
            messages::LOOK => read(params).map(|look| self.look(key, look)),
            messages::TOOLS => read(params).map(|of: Of| self.tools(key, &of.project)),
            messages::ASK => read(params).map(|ask| self.stand(key, ask)),
            method => Err(RpcError::method_not_found(format!("the port has no method {method}"))),
        };
        if let Err(error) = handled {
            self.seat.client.refuse(key, &error);
        }
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        let client = &self.seat.client;
        match method {
            messages::OPENED => {
                if let Ok(opened) = read::<Opened>(params) {
                    let profile = self.profile(&opened);
                    let name = opened.name.clone();
                    let kind = client.opened_by(info(opened), profile, false);
                    self.seat.env.events.session_opened(&name, profile.version, kind.honours_changes());
                }
            }
            messages::WANT => {
                if let Ok(of) = read::<Of>(params) {
                    match self.link(&of.project) {
                        Some(link) => link.want(),
                        None => {
                            let gone = serde_json::to_string(&of).unwrap_or_default();
                            client.outbox.notify(
                                messages::GONE,
                                jsonrpc::notification(messages::GONE, Some(&gone)),
                                true,
                            );
                        }
                    }
                }
            }
            messages::HERE => {
                if let Ok(Here { project, choice }) = read(params) {
                    client.chooses_among(choice);
                    let link = project.and_then(|project| self.link(&project));
                    client.move_to(link.map_or(client.nowhere(), |link| link.id()));
                }
            }
            messages::LEAVE => {
                if let Ok(of) = read::<Of>(params) {
                    self.seat.links.find(&of.project).inspect(|link| link.refuse_held_of(client.id));
                }
            }
            // A session of a newer version sent this.
            _ => {}
        }
    }

    fn link(&self, project: &Path) -> Option<Port> {
        self.seat.links.to_project(project).ok()
    }

    fn profile(&self, opened: &Opened) -> ClientProfile {
        let version = ProtocolVersion::from_label(&opened.version).unwrap_or(ProtocolVersion::LATEST);
        self.seat.client.config.profile_of(version, &opened.name)
    }

    fn call(&self, hold: Hold, id: RequestId, call: Call) {
        let Call { call: call_id, project, tool, arguments, progress, reads, trace, client, waited_ms, whole } = call;
        let key = hold.key();
        let by_session = || self.seat.client.handshake().profile_by_handshake();
        let profile = client.as_ref().map_or_else(by_session, |client| self.profile(client));
        let profile = ClientProfile { whole, ..profile };
        let requester = client.map(|client| Arc::new(Requester { client: info(client), profile }));
        let form = reads.map_or(AnswerForm::ToolResult, |uri| AnswerForm::ResourceText(uri.into()));
        // Only the session has the client's token.
        let progress_token = progress.then(|| RawValue::from_string(id.as_json().to_owned()).ok()).flatten();
        let trace = trace.and_then(|trace| TraceContext::read(&trace));
        let call = CallTool { name: tool, arguments, progress_token, trace, editor: None };
        let asked = Asked { key, profile, form };
        // If an earlier hub had the call, the session said so when it came.
        let waited = Some(Duration::from_millis(waited_ms)).filter(|_| self.seat.client.brought(key).is_none());
        let since = waited.and_then(|waited| Instant::now().checked_sub(waited));
        let new = NewRequest { asked, hold, id, call_id, requester, call, since, has_asked: true };
        match self.link(&project) {
            Some(link) => {
                link.want();
                intake::accept(&self.seat, &self.tasks, &link, new, None);
            }
            None => {
                let nowhere = self.seat.links.nowhere_of(&self.seat.client);
                let grounds = Grounds { rule: None, says: user_text::too_many_links() };
                intake::accept(&self.seat, &self.tasks, &nowhere, new, Some((Cause::Overload, grounds)));
            }
        }
    }

    fn tools(&self, key: RequestKey, project: &Path) {
        match self.seat.links.find(project) {
            Some(link) => self.seat.client.tell(&self.seat.env, key, &*link.told_tools()),
            None => {
                self.seat.client.refuse(key, &RpcError::invalid_request("no link leads to this project"));
            }
        }
    }

    /// Tells how all links stand.
    fn stand(&self, key: RequestKey, ask: Ask) {
        let (links, looked_up) = self.seat.links.stand(ask);
        let own = self.seat.client.choice();
        let mut choices = super::editors::choices(&self.seat);
        // One of these choices is the asking session's own, which it knows.
        if let Some(nth) = choices.iter().position(|choice| *choice == own && !own.is_empty()) {
            choices.remove(nth);
        }
        let hub = serde_json::json!(self.seat.tools().hub());
        let problems = self.seat.env.health.problems();
        let (env, client) = (Arc::clone(&self.seat.env), Arc::clone(&self.seat.client));
        self.tasks.spawn(async move {
            let on_disk = match ask.on_disk {
                true => Some(super::editors::known_on_disk(&env).await),
                false => None,
            };
            client.tell(&env, key, &Standings { links, hub, on_disk, problems, choices, looked_up });
        });
    }

    /// Looks where the session's client works.
    fn look(&self, key: RequestKey, look: Look) {
        let (env, client) = (Arc::clone(&self.seat.env), Arc::clone(&self.seat.client));
        let hanging = Arc::clone(&self.hanging);
        if hanging.load(Ordering::Relaxed) >= SURVEYS_HANGING_MAX {
            return client.tell(&env, key, &Survey::hung());
        }
        self.tasks.spawn(async move {
            let Look { named, working_dir, client_dir, roots, former } = look;
            let config = Config { project: named, working_dir, client_dir, ..Config::clone(&env.config) };
            let host = Arc::clone(&env.host);
            let look = move || survey::survey(&*host, &config, &roots, former.as_deref());
            let mut looking = std::pin::pin!(crate::platform::host::run(&*env.host, look));
            match timeout(SURVEY_MAX, &mut looking).await {
                Ok(survey) => client.tell(&env, key, &survey.unwrap_or_else(Survey::failed)),
                Err(_) => {
                    client.tell(&env, key, &Survey::hung());
                    // Nothing can end the thread of this survey.
                    hanging.fetch_add(1, Ordering::Relaxed);
                    let _ = looking.await;
                    hanging.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }
}

fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, RpcError> {
    let params = params.map_or("null", RawValue::get);
    serde_json::from_str(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

fn info(opened: Opened) -> ClientInfo {
    let session = opened.session.as_deref().and_then(started_by::session_id);
    ClientInfo { name: opened.name, version: opened.release, session, ..ClientInfo::default() }
}

/// Tells the session, from here on, what is seen of each link. Changes that come while the session does not read are
/// told once.
async fn tell_links(seat: Seat, tasks: Tasks) {
    let mut openings = seat.links.openings();
    let mut told: BTreeMap<PathBuf, Port> = BTreeMap::new();
    loop {
        openings.mark_unchanged();
        let now: BTreeMap<PathBuf, Port> = seat
            .links
            .all()
            .into_iter()
            .filter(|link| *link.destination() != Destination::Nowhere)
            .filter_map(|link| Some((link.leads_to()?.to_path_buf(), link)))
            .collect();
        let gone: Vec<PathBuf> = told.keys().filter(|project| !now.contains_key(*project)).cloned().collect();
        for project in gone {
            told.remove(&project);
            let of = serde_json::to_string(&Of { project }).unwrap_or_default();
            let line = jsonrpc::notification(messages::GONE, Some(&of));
            seat.client.outbox.notify(messages::GONE, line, false);
        }
        for (project, link) in now {
            told.entry(project).or_insert_with(|| {
                tasks.spawn(tell_link(seat.clone(), link.clone()));
                link
            });
        }
        if openings.changed().await.is_err() {
            return;
        }
    }
}

/// Tells the session what is seen of a link, now and whenever it changes, until the link is closed.
async fn tell_link(seat: Seat, link: Port) {
    let (mut changes, mut lists) = (link.changes(), link.lists());
    let mut last = None;
    while seat.links.get(link.id()).is_some() {
        changes.mark_unchanged();
        lists.mark_unchanged();
        let now = link.sighting();
        if now.is_some() && now != last {
            let params = now.as_ref().and_then(|now| serde_json::to_string(now).ok());
            let line = jsonrpc::notification(messages::SEEN, params.as_deref());
            let is_queued = seat.client.outbox.notify(messages::SEEN, line, false);
            seat.client.outbox.flushed().await;
            if seat.client.outbox.is_broken() {
                return;
            }
            if !is_queued {
                // Too much waited for the session. The next round tells what is seen then.
                continue;
            }
            last = now;
        }
        let changed = tokio::select! {
            changed = changes.changed() => changed,
            changed = lists.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}
