//! The gateway's own tools, with which the AI asks holdfast itself. They never wait for Unity, except `holdfast_wait_ready`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::Client;
use crate::core::calls::{Lookup, Record};
use crate::core::link::Outage;
use crate::core::port::messages::Ask;
use crate::core::requests::Asked;
use crate::core::user_text::{self, Still};
use crate::fsm::Machine as _;
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::registry::Source;
use crate::limits::hub::HUB_QUESTION_MAX;
use crate::limits::{
    FINISHED_CALLS_MAX, HIDDEN_TOOLS_SHOWN_MAX, HOPELESS_LOOK, PICTURE_CALLS_MAX, PICTURE_STEPS_MAX, PICTURE_WINDOW,
    READY_LOOK_EVERY, WAIT_READY_MAX,
};
use crate::link::{CallsNow, LinkPicture, LinkStatus, Port, Ports, Visible};
use crate::protocol::dialect::{Endpoint, Heartbeat};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{Audience, GatewayCall, GatewayTool, ToolResult};
use crate::protocol::text::clean;
use crate::runtime::environment::Environment;
use crate::runtime::supervisor::Tasks;
use crate::survey::Survey;
use crate::telemetry::flight::{Timeline, seconds};
use crate::telemetry::tone::Tone;
use crate::telemetry::view::{self, Snapshot, Status, millis};

/// The number of calls that `holdfast_calls` lists by default.
pub(super) const CALLS_LISTED: usize = 20;

/// What the gateway's own tools read, and what their answers are sent through.
#[derive(Debug, Clone)]
pub struct GatewayTools {
    pub env: Arc<Environment>,
    pub client: Arc<Client>,
    pub link: Port,
    pub links: Ports,
}

impl GatewayTools {
    /// Answers a call of one of our own tools.
    pub fn run(&self, tasks: &Tasks, asked: Asked, tool: GatewayTool, arguments: &RawValue) {
        match tool.parse_arguments(arguments) {
            Err(fix) => self.answer(asked, ToolResult::error(fix)),
            Ok(GatewayCall::Status) => self.answer(asked, of_value(&self.status())),
            Ok(GatewayCall::Calls { limit, before, verdict }) => {
                let told = match self.records(limit.unwrap_or(CALLS_LISTED), before, verdict.as_deref()) {
                    Some(calls) => of_value(&calls),
                    None => ToolResult::error(not_on_record()),
                };
                self.answer(asked, told);
            }
            Ok(GatewayCall::Result { call }) => self.result(asked, call),
            // Only the session knows all editors, so it answers these calls itself.
            Ok(GatewayCall::Editors | GatewayCall::Find { .. } | GatewayCall::Call { .. }) => {
                let name = tool.name();
                let text =
                    format!("{name}: not executed: it names no editor. Call it again without `holdfast_editor`.");
                self.answer(asked, ToolResult::error(text));
            }
            Ok(GatewayCall::WaitReady { timeout }) => {
                let own = self.clone();
                tasks.spawn(async move {
                    let result = own.wait_ready(timeout, asked.profile.client.patience).await;
                    own.answer(asked, result);
                });
            }
        }
    }

    pub(super) fn answer(&self, asked: Asked, result: ToolResult) {
        self.answer_of(asked, result, self.env.next_call_id());
    }

    fn answer_of(&self, asked: Asked, result: ToolResult, call: CallId) {
        let project = self.link.seen().wanted.project().map(Path::to_path_buf);
        self.client.own(&self.env, asked, result, (call, project));
    }

    /// Returns the answer of `holdfast_status`, which also stands in the run record: the file that `holdfast status` reads.
    pub(super) fn status(&self) -> Status {
        let told = self.link.status();
        let still = still(&told);
        let queue = of_queue(&told);
        let LinkStatus { picture: link, survey, package, source, held, .. } = told;
        let survey = survey.as_deref();
        let known = self.client.handshake();
        let visible = self.link.visible(self.client.id);
        // What the session of another process lists, that process knows.
        let not_listed = match self.client.speaks_port {
            true => 0,
            false => self.client.listed(&visible.catalogue, known.profile.client.tools_max).rest().len(),
        };
        Status {
            summary: summary(&link, survey, held, still.as_ref()),
            next: self.next(&link, survey, still.as_ref()),
            editor: of_editor(&link, survey, still.as_ref()),
            project: survey.and_then(|survey| survey.project.as_ref()).map(|path| path.display().to_string()),
            package: package.and_then(|package| serde_json::from_value(package).ok()),
            problems: self.problems(&link, survey),
            candidates: survey.map(candidates).unwrap_or_default(),
            tools: view::Tools {
                count: visible.catalogue.entries().len(),
                not_listed,
                from: source_label(source).to_owned(),
                hidden: of_hidden(&[(None, visible)]),
            },
            policy: self.link.policy_lines(self.client.id),
            audit: self.client.config.audit.as_ref().map(|path| path.display().to_string()),
            queue,
            hub: self.hub(),
            gateway: view::About {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id().into(),
                up_ms: millis(self.env.began.elapsed()),
                client: clean(&known.name),
                client_session: known.session,
                session: self.client.id.0.into(),
                actor_restarts: self.env.health.restarts().into_iter().map(|(part, n)| (part.to_owned(), n)).collect(),
            },
            resources: view::Resources { tasks: self.env.health.tasks() },
            editors: None,
        }
    }

    pub(super) fn editor(&self) -> view::Editor {
        let told = self.link.status();
        of_editor(&told.picture, told.survey.as_deref(), still(&told).as_ref())
    }

    pub(super) fn queue(&self) -> view::Queue {
        of_queue(&self.link.status())
    }

    /// Describes the hub that this session is on: who else is on it, and how often it was taken over. `None` without a hub.
    pub(super) fn hub(&self) -> Option<view::Hub> {
        if let Some(standings) = self.links.standings() {
            return serde_json::from_value(standings.hub.clone()).ok();
        }
        let records = self.env.records.as_ref()?;
        let sessions = self.links.sessions().local();
        let clients = sessions.iter().map(|client| {
            let known = client.handshake();
            view::HubClient {
                client: clean(&known.name),
                client_session: known.session,
                project: self.links.of(client).seen().wanted.project().map(|path| path.display().to_string()),
                is_this: client.id == self.client.id,
            }
        });
        Some(view::Hub {
            name: self.env.boot.clone(),
            clients: clients.collect(),
            http: self.env.http_url(),
            starts: records.starts,
            calls_taken_over: self.links.all().iter().map(Port::recovered).sum(),
        })
    }

    /// Returns the content of the run record, for a person who watches.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            status: self.status(),
            written_at: seconds(self.env.host.now()),
            calls: self.calls_snapshot(),
            outages: self.link.status().outages().map(of_outage).collect(),
            timelines: self.timelines(),
        }
    }

    /// Returns the calls of the link that wait, and those that ended last.
    pub(super) fn calls_snapshot(&self) -> view::Calls {
        let now = Instant::now();
        let CallsNow { open_count, open, recent } = self.link.calls_now(PICTURE_CALLS_MAX);
        let of = |records: Vec<Record>| records.iter().map(|record| of_record(record, now)).collect();
        view::Calls { open_count, open: of(open), recent: of(recent) }
    }

    fn timelines(&self) -> Vec<Timeline> {
        let is_of_session = |timeline: &Timeline| timeline.machine == crate::fsm::session::Session::NAME;
        let mut timelines = self.links.of(&self.client).timelines(PICTURE_WINDOW, PICTURE_STEPS_MAX);
        timelines.retain(|timeline| !is_of_session(timeline));
        let own = self.env.events.timelines(PICTURE_WINDOW, PICTURE_STEPS_MAX);
        timelines.extend(own.into_iter().filter(is_of_session));
        timelines
    }

    /// Returns what helps, as whole sentences. `None` if nothing is wrong.
    fn next(&self, link: &LinkPicture, survey: Option<&Survey>, still: Option<&Still>) -> Option<String> {
        let profile = self.client.handshake().profile;
        let cause = match (link.availability, still) {
            (Availability::Open, Some(Still::Silent(_) | Still::MainThread(_))) => Cause::Stalled,
            (Availability::Open, _) if link.state == "stalled" => Cause::Stalled,
            (Availability::Open, _) if link.obstacle.is_some() => Cause::Blocked,
            (Availability::Open, _) => return None,
            (Availability::Coming(Cause::ProjectUnsettled | Cause::Connecting | Cause::Lost), _) => Cause::Reloading,
            (Availability::Coming(cause) | Availability::Absent(cause), _) => cause,
        };
        Some(user_text::next(cause, &profile, survey.and_then(|survey| survey.project.as_deref())))
    }

    fn problems(&self, link: &LinkPicture, survey: Option<&Survey>) -> Vec<String> {
        let of_project = survey.map(|survey| survey.facts.problems.as_slice()).unwrap_or_default();
        // A choice of several editors is no problem.
        let is_union = !self.link.visible(self.client.id).catalogue.editors().is_empty();
        // A cause that only the user can remove is a problem, if the project's files have no other problem.
        let cause = link.availability.cause().filter(|cause| of_project.is_empty() && cause.needs_the_user());
        let named = cause.filter(|_| !is_union);
        let named = named.map(|cause| {
            let explained = survey.and_then(|survey| survey.explains(cause));
            explained.unwrap_or_else(|| format!("Unity cannot be reached: {}.", user_text::cause(cause)))
        });
        self.client
            .config
            .complaints
            .iter()
            .chain(of_project)
            .cloned()
            .chain(named)
            .chain(self.client.handshake().other_roots.iter().map(|root| user_text::other_root(root)))
            .chain(self.env.health.problems())
            .chain(survey.into_iter().flat_map(|survey| survey.facts.notes.iter().cloned()))
            .chain(self.links.standings().iter().flat_map(|standings| standings.problems.clone()))
            .collect()
    }

    /// Returns the newest calls, or those older than `before`; only those with this verdict if one is given. `None` if `before`
    /// is not on record.
    fn records(&self, limit: usize, before: Option<CallId>, verdict: Option<&str>) -> Option<Value> {
        let now = Instant::now();
        let (calls, more) = self.link.calls(limit, before, verdict)?;
        let shown: Vec<view::Call> = calls.iter().map(|record| of_record(record, now)).collect();
        Some(json!({"calls": shown, "more": more}))
    }

    pub(super) fn result(&self, asked: Asked, call: CallId) {
        let found = self.link.look_up(call);
        let now = Instant::now();
        let told = match found {
            Lookup::Kept(json) => return self.answer_of(asked, ToolResult::from_stored(&json), call),
            Lookup::Unknown => ToolResult::error(user_text::no_such_call(call, self.client.config.audience)),
            Lookup::Open(record) => {
                let heartbeat = self.link.status().picture.heartbeat;
                let doing = heartbeat.and_then(|(heartbeat, at)| user_text::hindered(heartbeat, at.elapsed()));
                let since = now.saturating_duration_since(record.accepted);
                ToolResult::text(user_text::not_finished(call, &record.tool, record.state, since, doing.as_deref()))
            }
            Lookup::Ended(record) => ToolResult::text(user_text::ended(call, &record.tool, record.verdict)),
            Lookup::Expired(record) => {
                ToolResult::error(format!("Call {call} ({}): {}", record.tool, user_text::DROPPED))
            }
        };
        self.answer(asked, told);
    }

    pub(super) async fn wait_ready(&self, timeout: Option<Duration>, patience: Duration) -> ToolResult {
        self.link.want();
        let patience = patience.saturating_sub(crate::limits::PATIENCE_MARGIN);
        let at_most = timeout.unwrap_or(WAIT_READY_MAX).min(WAIT_READY_MAX).min(patience);
        let began = Instant::now();
        let mut changes = self.link.changes();
        let comes = async {
            loop {
                changes.mark_unchanged();
                self.links.ask(Ask::default()).await;
                let told = self.link.status();
                let state = &told.picture;
                match still(&told) {
                    _ if state.availability != Availability::Open => {
                        let hopeless =
                            matches!(state.availability, Availability::Absent(cause) if cause.needs_the_user());
                        let most = if hopeless { HOPELESS_LOOK } else { WAIT_READY_MAX };
                        // The time is over, and no survey found that the user did what is needed.
                        if !matches!(tokio::time::timeout(most, changes.changed()).await, Ok(Ok(()))) {
                            return;
                        }
                    }
                    // The heartbeat shows that the editor's main thread moves: other calls may run next to this one.
                    Some(Still::Call(..)) if shows_frames(state) => return,
                    still if still.is_some() || state.obstacle.is_some() => tokio::time::sleep(READY_LOOK_EVERY).await,
                    _ => return,
                }
            }
        };
        let _ = tokio::time::timeout(at_most, comes).await;
        let _ = tokio::time::timeout(HUB_QUESTION_MAX, self.links.ask(Ask::default())).await;
        let told = self.link.status();
        let still = still(&told);
        let LinkStatus { picture: state, survey, held, .. } = told;
        let waited = user_text::seconds(began.elapsed());
        let text = summary(&state, survey.as_deref(), held, still.as_ref());
        let ready = match (state.availability, &still) {
            (Availability::Open, Some(Still::Call(..))) => shows_frames(&state),
            (Availability::Open, still) => still.is_none() && state.obstacle.is_none(),
            _ => false,
        };
        if ready {
            ToolResult::text(format!("Ready after {waited}. {text}"))
        } else {
            let helps = match state.availability {
                Availability::Absent(cause) if cause.needs_the_user() || cause.is_closed() => {
                    self.next(&state, survey.as_deref(), None)
                }
                _ => None,
            };
            let next = helps.unwrap_or_else(|| match self.client.config.audience {
                Audience::Agent => {
                    "Ask the user to look at Unity, or wait again; holdfast_status has the details.".to_owned()
                }
                Audience::Person => "Look at Unity, or wait again; `holdfast doctor` says more.".to_owned(),
            });
            ToolResult::error(format!("Not ready after {waited}. {text} {next}"))
        }
    }
}

/// Whether a heartbeat tells that the editor's main thread moves, also while it has a call.
fn shows_frames(link: &LinkPicture) -> bool {
    link.heartbeat.is_some_and(|(heartbeat, _)| !heartbeat.inferred)
}

fn of_queue(told: &LinkStatus) -> view::Queue {
    let busy_with = told.busy_with.as_ref().map(|(call, tool, ran)| view::Busy {
        call_id: call.to_string(),
        tool: tool.to_string(),
        for_ms: millis(*ran),
    });
    view::Queue { held: told.held, running: told.running, busy_with, busy_for: told.busy_for.clone() }
}

/// Returns what makes no progress in a connected editor: its main thread, its heartbeat or a call. `None` if all of them go on, or if no
/// editor is connected.
fn still(told: &LinkStatus) -> Option<Still> {
    let running = told.busy_with.as_ref().map(|(_, tool, ran)| (Arc::clone(tool), *ran));
    let heartbeat = told.picture.heartbeat.map(|(heartbeat, at)| (heartbeat, at.elapsed()));
    Still::of(heartbeat, running).filter(|_| told.picture.availability == Availability::Open)
}

/// What `holdfast_calls` says if it does not know the call that `before` names.
pub(super) fn not_on_record() -> String {
    format!(
        "holdfast_calls: not executed: the call that `before` names is not on record (any more). Leave `before` out to begin at the \
         newest call; the last {FINISHED_CALLS_MAX} are kept, for this session only."
    )
}

pub(super) fn of_value(value: &impl Serialize) -> ToolResult {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let structured = serde_json::value::to_raw_value(value).ok();
    ToolResult { structured, ..ToolResult::text(text) }
}

fn of_editor(link: &LinkPicture, survey: Option<&Survey>, still: Option<&Still>) -> view::Editor {
    let stranger = link.foreign_peer.as_ref();
    let why = link.availability.cause().or_else(|| link.obstacle.as_ref().map(|_| Cause::Blocked));
    view::Editor {
        ready: link.availability == Availability::Open && link.obstacle.is_none(),
        tone: Some(tone(link, still)),
        state: link.state.to_owned(),
        why: why.map(|cause| <&str>::from(cause).to_owned()),
        since_ms: millis(link.since.elapsed()),
        port: link.target.as_ref().map(|target| target.endpoint.port()).filter(|port| *port > 0),
        local_socket: link.target.as_ref().and_then(|target| match &target.endpoint {
            local @ Endpoint::Local(_) => Some(local.to_string()),
            _ => None,
        }),
        port_named_by: link.target.as_ref().map(|target| <&str>::from(target.source).to_owned()),
        pid: survey.and_then(|survey| survey.facts.editor_pid),
        connections: link.connections,
        pulse: link.heartbeat.map(|(heartbeat, at)| of_heartbeat(heartbeat, at.elapsed())),
        still: still.map(|still| view::Still {
            for_ms: millis(still.span()),
            says: still.to_string(),
            may_work: matches!(still, Still::Call(..)),
        }),
        unity_version: survey.and_then(|survey| survey.facts.editor_version.clone()),
        stranger: stranger.map(|foreign_peer| user_text::foreign_peer(foreign_peer, Instant::now())),
        last_loss: link.outages.back().map(of_outage),
    }
}

fn of_heartbeat(heartbeat: Heartbeat, ago: Duration) -> view::Pulse {
    let Heartbeat { state, frame_age, focused, importing, compile_errors, queued, running, inferred, every } =
        heartbeat;
    // An editor that is heard of by itself tells of its main thread alone.
    let tells = !inferred && every.is_zero();
    view::Pulse {
        says: user_text::heartbeat(heartbeat, ago),
        state: <&str>::from(state).to_owned(),
        frame_age_ms: millis(frame_age),
        focused: tells.then_some(focused),
        importing,
        compile_errors: tells.then_some(compile_errors),
        queued: tells.then_some(queued),
        running: (!inferred).then_some(running),
        asked_ms_ago: millis(ago),
    }
}

fn of_outage(outage: &Outage) -> view::Outage {
    view::Outage {
        why: <&str>::from(outage.loss).to_owned(),
        cause: outage.cause.map(|cause| <&str>::from(cause).to_owned()),
        ago_ms: millis(outage.at.elapsed()),
        back_after_ms: outage.back_after.map(millis),
    }
}

/// Returns how many tools are hidden from the client, and names the first of them with the reasons. `of`: what the
/// client sees of each editor, with the editor's name if there are several. Editors take turns, so that the first tools
/// of each editor are named.
pub(super) fn of_hidden(of: &[(Option<String>, Visible)]) -> view::Hidden {
    let each = of
        .iter()
        .flat_map(|(editor, shown)| shown.hidden.iter().enumerate().map(move |(nth, tool)| (nth, editor, tool)));
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|(nth, ..)| *nth);
    let shown = all.iter().take(HIDDEN_TOOLS_SHOWN_MAX).map(|(_, editor, (tool, why))| view::HiddenTool {
        tool: clean(tool),
        why: clean(why),
        editor: (*editor).clone(),
    });
    view::Hidden { count: all.len(), first: shown.collect() }
}

fn source_label(source: Source) -> &'static str {
    match source {
        Source::None => "nowhere yet",
        Source::Disk => "an earlier session, or what the package is known to have",
        Source::Live => "the editor",
        Source::Stale => "the editor, before it went away",
    }
}

fn candidates(survey: &Survey) -> Vec<Value> {
    let ports = survey.listed.iter().map(|listed| {
        json!({
            "port": listed.port,
            "named_by": <&str>::from(listed.source),
            "listener": listed.owner.as_ref().map(|owner| format!("{} (pid {})", owner.name, owner.pid)),
            "not_called_because": listed.why,
        })
    });
    let projects = survey.ambiguous.iter().map(|project| json!({"project": project.display().to_string()}));
    let packages = survey.packages.iter().map(|dialect| json!({"dialect": dialect}));
    ports.chain(projects).chain(packages).collect()
}

/// Returns what the state of the editor means for a person who waits for a call.
fn tone(link: &LinkPicture, still: Option<&Still>) -> Tone {
    match (link.availability, still) {
        (Availability::Open, _) if link.obstacle.is_some() => Tone::Trouble,
        (Availability::Open, Some(Still::Call(..))) => Tone::Waiting,
        (Availability::Open, None) if link.state != "stalled" => Tone::Good,
        (Availability::Open, _) => Tone::Trouble,
        (Availability::Coming(cause), _) if !cause.is_gone() => Tone::Waiting,
        (Availability::Coming(_) | Availability::Absent(_), _) => Tone::Trouble,
    }
}

/// Returns the headline of the status: whether the editor can be called, why not, and what happens to calls in the meantime.
fn summary(link: &LinkPicture, survey: Option<&Survey>, held: usize, still: Option<&Still>) -> String {
    let met = link
        .foreign_peer
        .as_ref()
        .map(|foreign_peer| format!(" {}", user_text::foreign_peer(foreign_peer, Instant::now())))
        .unwrap_or_default();
    let broken = link.compile_error.as_deref().filter(|_| link.availability.cause() == Some(Cause::BridgeDown));
    let met = broken.map(|error| format!(" {}", user_text::safe_mode(error))).unwrap_or(met);
    let project = survey.and_then(|survey| survey.project.as_ref()).and_then(|path| path.file_name());
    let editor = project.map_or_else(|| "Unity".to_owned(), |name| format!("Unity ({})", name.to_string_lossy()));
    let queued = if held == 0 { String::new() } else { format!(" {}.", user_text::calls_wait(held as u64)) };
    match (link.availability, still) {
        (Availability::Open, _) if link.obstacle.is_some() => {
            let by = link.obstacle.as_deref().map(clean).unwrap_or_default();
            format!("{editor} is connected, but takes no calls: {by}.{queued}")
        }
        (Availability::Open, _) if link.state == "stalled" => {
            format!("{editor} is connected, but silent: it may be importing, or a dialog is open.{queued}")
        }
        // `MainThread` is handled below: the text of the heartbeat says more exactly what keeps the main thread busy.
        (Availability::Open, Some(still @ (Still::Silent(_) | Still::Call(..)))) => {
            let guessed = link.heartbeat.filter(|(heartbeat, _)| heartbeat.is_guessed());
            let guessed = guessed.and_then(|(heartbeat, at)| user_text::hindered(heartbeat, at.elapsed()));
            let guessed = guessed.map(|says| format!("; {says}")).unwrap_or_default();
            format!("{editor} is connected, but {still}{guessed}.{queued}")
        }
        (Availability::Open, Some(Still::MainThread(_)) | None) => {
            match link.heartbeat.map(|(heartbeat, at)| user_text::heartbeat(heartbeat, at.elapsed())) {
                Some(says) => format!("{editor} is connected: {says}.{queued}"),
                None => format!("{editor} is connected and ready.{queued}"),
            }
        }
        (Availability::Coming(Cause::ProjectUnsettled), _) if survey.is_none() => {
            format!(
                "Which Unity project is meant is being asked for: the client's roots may have changed. Calls are held meanwhile.{queued}"
            )
        }
        (Availability::Coming(Cause::ProjectUnsettled), _) => format!(
            "{editor} is not connected yet: calls that were sent before the client's roots changed still run in another project's \
             editor, and are waited for first. Calls are held meanwhile.{queued}"
        ),
        (Availability::Coming(cause), _) if cause.is_gone() => {
            let why = user_text::cause(cause);
            format!(
                "{editor} is not reachable ({why}); calls are held for a few seconds, in case it is started again.{met}{queued}"
            )
        }
        (Availability::Coming(cause), _) => {
            let why = user_text::cause(cause);
            format!(
                "{editor} is not reachable right now ({why}) and expected back; calls are held meanwhile.{met}{queued}"
            )
        }
        (Availability::Absent(Cause::Ambiguous), _) if survey.is_some_and(|survey| !survey.ambiguous.is_empty()) => {
            let listed = survey.and_then(|survey| user_text::candidates(&survey.ambiguous)).unwrap_or_default();
            format!(
                "Which Unity project is meant is not known; calls are answered \"not executed\" until it is. {listed}{queued}"
            )
        }
        (Availability::Absent(Cause::NoPackage), _) => {
            let why = user_text::cause(Cause::NoPackage);
            format!(
                "{editor} cannot be reached: {why}; calls are answered \"not executed\" until it has one.{met}{queued}"
            )
        }
        (Availability::Absent(Cause::ProjectUnknown), _) => {
            let explained = survey.and_then(|survey| survey.explains(Cause::ProjectUnknown)).unwrap_or_default();
            format!(
                "Which Unity project is meant is not known; calls are answered \"not executed\" until it is. {explained}{queued}"
            )
        }
        (Availability::Absent(cause), _) => {
            let why = user_text::cause(cause);
            format!("{editor} is not reachable ({why}); calls are answered \"not executed\" until it is.{met}{queued}")
        }
    }
}

pub(super) fn of_record(record: &Record, now: Instant) -> view::Call {
    let took = record.ended.unwrap_or(now).saturating_duration_since(record.accepted);
    let label = |cause: Cause| <&str>::from(cause).to_owned();
    view::Call {
        call_id: record.id.to_string(),
        tool: clean(&record.tool),
        state: record.state.to_owned(),
        verdict: record.verdict.map(|verdict| verdict.label().to_owned()),
        cause: record.verdict.and_then(Verdict::cause).map(str::to_owned),
        waits_for: record.waits_for.map(label),
        waits_says: record.waits_for.map(user_text::cause),
        accepted_ms_ago: millis(now.saturating_duration_since(record.accepted)),
        held_ms: record.sent.map(|sent| millis(sent.saturating_duration_since(record.accepted))),
        took_ms: millis(took),
        editor: None,
    }
}
