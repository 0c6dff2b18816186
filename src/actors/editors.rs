//! `holdfast_editors`, and what the other gateway tools say in a session that may use several editors.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::gateway_tools::{CALLS_LISTED, GatewayTools, not_on_record, of_hidden, of_record, of_value};
use super::seat::Seat;
use crate::core::editors::{Presence, Scope, named, names};
use crate::core::requests::Asked;
use crate::core::router::Route;
use crate::core::user_text;
use crate::fsm::cause::{Availability, Cause};
use crate::limits::PICTURE_CALLS_MAX;
use crate::link::{Destination, Port};
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{EDITOR_ARGUMENT, ToolResult};
use crate::protocol::text::clean;
use crate::runtime::environment::Environment;
use crate::runtime::supervisor::Tasks;
use crate::storage::catalogue_file::{self, Head};
use crate::telemetry::view::{Call, Editor, Queue, Status};

/// Answers `holdfast_editors`. `not_listed`: the tools that do not fit into the client's limit.
pub fn list(seat: &Seat, tasks: &Tasks, asked: Asked, route: Route, scope: Scope, not_listed: Vec<String>) {
    let (seat, own, links, env) = (seat.clone(), seat.tools(), seat.links.clone(), Arc::clone(&seat.env));
    let answer = move |on_disk| {
        let mut told = editors(&seat, &route, &scope, on_disk);
        if let (Value::Object(told), [_, ..]) = (&mut told, not_listed.as_slice()) {
            told.insert("tools_not_listed".to_owned(), json!(not_listed));
        }
        own.answer(asked, of_value(&told));
    };
    // If a hub has the links, it has told which folders there are.
    if let Some(standings) = links.standings() {
        return answer(standings.on_disk.clone().unwrap_or_default());
    }
    tasks.spawn(async move { answer(known_on_disk(&env).await) });
}

/// The projects whose tools are on disk, if their folders still exist. Empty if there is no folder for them.
pub(super) async fn known_on_disk(env: &Environment) -> Vec<Head> {
    let Some(folder) = env.config.state_dir.clone() else { return Vec::new() };
    let host = Arc::clone(&env.host);
    let read = crate::platform::host::run(&*env.host, move || {
        let mut heads = catalogue_file::heads(&*host, &folder);
        heads.retain(|head| crate::config::is_project(&head.project));
        heads
    });
    read.await.unwrap_or_default()
}

fn editors(seat: &Seat, route: &Route, scope: &Scope, on_disk: Vec<Head>) -> Value {
    let links: Vec<Port> = seat.links.all().into_iter().filter(|link| link.leads_to().is_some()).collect();
    let away = |link: &Port| match link.known()?.editor {
        Presence::Away(cause) => Some(cause),
        Presence::Open | Presence::Unknown => None,
    };
    let (open, shut): (Vec<_>, Vec<_>) = links.into_iter().partition(|link| !away(link).is_some_and(Cause::is_closed));
    let project_of = |link: &Port| link.leads_to().map(PathBuf::from).unwrap_or_default();
    let open_projects: Vec<PathBuf> = open.iter().map(project_of).collect();
    let mut closed: Vec<(PathBuf, Value)> =
        shut.iter().map(|link| (project_of(link), json!(link.status().package))).collect();
    for Head { project, dialect, package_version } in on_disk {
        if !open_projects.contains(&project) && !closed.iter().any(|(known, _)| *known == project) {
            closed
                .push((project, json!({"dialect": clean(&dialect), "version": package_version.as_deref().map(clean)})));
        }
    }
    let all: Vec<PathBuf> = open_projects.iter().chain(closed.iter().map(|(project, _)| project)).cloned().collect();
    let all_names = names(&all);
    let (open_names, closed_names) = all_names.split_at_checked(open.len()).unwrap_or_default();
    let choices = choices(seat);
    let of_running = |link: &Port, name: Option<&String>, own: bool, may_use: bool| {
        let status = link.status();
        let (view, project) = (status.picture, link.leads_to());
        let is_chosen = |choice: &&Vec<PathBuf>| choice.iter().any(|one| Some(one.as_path()) == project);
        let mut told = json!({
            "name": name,
            "project": project.map(|project| clean(&project.display().to_string())),
            "package": status.package,
            // If an editor cannot be called, its machine's state says nothing to anybody.
            "state": away(link).map_or(view.state, <&str>::from),
            "ready": view.availability == Availability::Open && view.obstacle.is_none(),
            "why": view.availability.cause().or(view.obstacle.as_ref().map(|_| Cause::Blocked)).map(<&str>::from),
            "clients": link.clients() + choices.iter().filter(is_chosen).count(),
            "own": own,
            "may_use": may_use,
        });
        if let (None, Some(target)) = (project, &view.target) {
            told["port"] = json!(target.endpoint.port());
        }
        told
    };
    let mut running: Vec<(&String, Value)> = open
        .iter()
        .zip(open_names)
        .map(|(link, name)| {
            let project = project_of(link);
            (name, of_running(link, Some(name), route.leads_to(&project), scope.holds(&project)))
        })
        .collect();
    running.sort_by_key(|(name, _)| *name);
    let closed = closed.iter().zip(closed_names).map(|((project, package), name)| {
        let told = json!({"name": name, "project": clean(&project.display().to_string()), "package": package});
        (name, told)
    });
    let mut closed: Vec<(&String, Value)> = closed.collect();
    closed.sort_by_key(|(name, _)| *name);
    let only = |told: Vec<(&String, Value)>| told.into_iter().map(|(_, told)| told).collect::<Vec<_>>();
    let mut editors = only(running);
    // An editor at a port that the user named has no name while its project is not known. No call needs to name it.
    let at_port = seat.links.all().into_iter().filter(|link| *link.destination() == Destination::Port(None));
    let is_own = *route == Route::Port(None);
    editors.extend(at_port.filter(|_| is_own).map(|link| of_running(&link, None, true, true)));
    json!({"editors": editors, "closed": only(closed), "argument": EDITOR_ARGUMENT})
}

/// Returns the projects of each session that may use several editors. Such a session is on a link of its own.
pub(super) fn choices(seat: &Seat) -> Vec<Vec<PathBuf>> {
    let links = seat.links.all();
    let nowhere = links.iter().filter(|link| *link.destination() == Destination::Nowhere);
    let survey = |link: &Port| {
        let several = !link.published().catalogue.editors().is_empty();
        several.then(|| link.seen().ambiguous)
    };
    let of_port =
        seat.links.sessions().local().into_iter().map(|client| client.choice()).filter(|choice| !choice.is_empty());
    let of_others = seat.links.standings().map(|standings| standings.choices.clone()).unwrap_or_default();
    nowhere.filter_map(survey).chain(of_port).chain(of_others).collect()
}

/// Returns the names and links of the editors that a session may use, in the order of the names.
pub(super) fn usable(seat: &Seat, scope: &Scope) -> Vec<(String, Port)> {
    let named = named(scope, &seat.links.known()).into_iter();
    named.filter_map(|(name, known)| Some((name, seat.links.find(&known.project)?))).collect()
}

/// Returns the content of a session's run record. If the session may use several editors now, the record tells of them
/// all.
pub fn snapshot(seat: &Seat) -> Value {
    let own = seat.tools();
    let mut snapshot = own.snapshot();
    let of_others = !seat.links.is_for_one();
    let heading = seat.client.meant(|meant| meant.heading(|| seat.links.running(), of_others));
    // The session of another process has told its choice.
    let choice = seat.client.choice();
    let scope = match (&heading.route, seat.client.speaks_port) {
        (Route::Among(_), false) => Some(heading.scope.clone()),
        (_, true) if !choice.is_empty() => Some(Scope::Only(choice)),
        _ => None,
    };
    if let Some(scope) = scope {
        snapshot.status = status(seat, &own, &scope);
        let calls = &mut snapshot.calls;
        for (_, link) in usable(seat, &scope) {
            let of_link = seat.tools_on(&link).calls_snapshot();
            calls.open_count += of_link.open_count;
            calls.open.extend(of_link.open);
            calls.recent.extend(of_link.recent);
        }
        calls.open.truncate(PICTURE_CALLS_MAX);
        calls.recent.truncate(PICTURE_CALLS_MAX);
    }
    json!(snapshot)
}

/// Returns the answer of `holdfast_status` for a session that may use several editors, if the call names none.
pub(super) fn status(seat: &Seat, own: &GatewayTools, scope: &Scope) -> Status {
    let usable = usable(seat, scope);
    // An editor that is away may still owe the outcome of a call.
    let queues: Vec<Queue> = usable.iter().map(|(_, link)| seat.tools_on(link).queue()).collect();
    let open: Vec<_> = usable.into_iter().filter(|(_, link)| link.is_open()).collect();
    let state = |(name, link): &(String, Port)| {
        let availability = link.seen().availability;
        (name.clone(), availability.cause().map_or_else(|| "ready".to_owned(), user_text::cause))
    };
    let states: Vec<(String, String)> = open.iter().map(state).collect();
    let of_all = open.iter().map(|(_, link)| seat.tools_on(link).editor()).max_by_key(|editor| editor.tone);
    // Tools that the rules of a project hide never come into the union, so the link of the union cannot tell of them.
    // What the link to no project hides is told without an editor's name.
    let nowhere = seat.links.nowhere_of(&seat.client);
    let of_each = open.into_iter().map(|(name, link)| (Some(name), link.visible(seat.client.id)));
    let visible: Vec<_> = of_each.chain([(None, nowhere.visible(seat.client.id))]).collect();
    let mut status = own.status();
    status.tools.hidden = of_hidden(&visible);
    status.queue = queues.into_iter().fold(status.queue, Queue::and);
    // The link without a project has no editor. While editors are open, its words about an editor are untrue.
    if let Some(Editor { tone, ready, state, why, .. }) = of_all {
        status.editor = Editor { tone, ready, state, why, ..status.editor };
    }
    (status.package, status.next) = (None, None);
    status.summary = user_text::several_editors(&states);
    status.editors = Some(states.into_iter().map(|(name, _)| name).collect());
    status
}

/// Returns the answer of `holdfast_calls` for a session that may use several editors, if the call names none: the calls
/// to all editors, and the calls that no editor got.
pub fn calls(
    seat: &Seat,
    scope: &Scope,
    limit: Option<usize>,
    before: Option<CallId>,
    verdict: Option<&str>,
) -> ToolResult {
    let now = Instant::now();
    let nowhere = seat.links.nowhere_of(&seat.client);
    let links: Vec<(Option<String>, Port)> =
        usable(seat, scope).into_iter().map(|(name, link)| (Some(name), link)).chain([(None, nowhere)]).collect();
    let mut records: Vec<(Instant, CallId, Call)> = Vec::new();
    for (name, link) in &links {
        for record in link.all_calls() {
            let told = Call { editor: Some(name.clone()), ..of_record(&record, now) };
            records.push((record.accepted, record.id, told));
        }
    }
    // Newest first. Calls of the same moment keep one order, so that `before` finds its place.
    records.sort_by_key(|(accepted, id, _)| (std::cmp::Reverse(*accepted), id.to_string()));
    let from = match before {
        None => 0,
        Some(before) => match records.iter().position(|(_, id, _)| *id == before) {
            Some(at) => at + 1,
            None => return ToolResult::error(not_on_record()),
        },
    };
    let is_wanted = |told: &Call| verdict.is_none_or(|wanted| told.verdict.as_deref() == Some(wanted));
    let mut wanted = records.into_iter().skip(from).map(|(_, _, told)| told).filter(is_wanted);
    let shown: Vec<Call> = wanted.by_ref().take(limit.unwrap_or(CALLS_LISTED)).collect();
    let more = wanted.next().is_some();
    of_value(&json!({"calls": shown, "more": more}))
}
