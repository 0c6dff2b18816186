//! The checks of `holdfast doctor`. Each check returns its findings.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use clap::{Args as _, Command};
use tokio::time::{Instant, sleep, timeout};

use super::clients::clients;
use super::finding::{Finding, Level};
use super::listed::{Listed, ToolList, rules};
use super::state::{has_folder, state, unguarded};
use super::unity_package::{unity_package, unspoken_in};
use super::wsl::wsl;
use crate::cli::gateway_args::GatewayArgs;
use crate::cli::http::HttpArgs;
use crate::cli::look::{self, Look, Port, Standing, Way};
use crate::cli::one_shot::{OneShot, Wish};
use crate::cli::setup::http::TOKEN_VARIABLE;
use crate::cli::variables::profile_folders;
use crate::config;
use crate::config::file::PROJECT_FILE;
use crate::config::{Config, PortSource};
use crate::core::user_text;
use crate::fsm::bridge::ConnectFailure;
use crate::fsm::cause::{Availability, Cause};
use crate::fsm::registry::Source;
use crate::limits::{DOCTOR_WAIT, FRAME_OLD, LIVENESS_EVERY, LOCK_FILE_OLD, READY_LOOK_EVERY};
use crate::link::LinkPicture;
use crate::platform::host::{Host as _, Liveness, RealHost, System};
use crate::protocol::dialect::unspoken::Unspoken;
use crate::protocol::dialect::{self, Dialect};
use crate::protocol::text::clean;
use crate::survey::Target;
use crate::survey::editor_log::compile_error;

/// Runs all checks. Returns the findings in the order in which a person would look for a fault.
pub async fn examine(config: &Config, complaints: &[String]) -> Vec<Finding> {
    let look = Look::around(config).await;
    let mut findings = vec![project(config, &look)];
    findings.extend(wsl(&RealHost, look.survey.project.as_deref()));
    let file = config.file.as_ref().map(|(path, _)| clean(&path.to_string_lossy()));
    let of_file = |complaint: &&String| file.as_ref().is_some_and(|file| complaint.starts_with(file.as_str()));
    let (in_file, elsewhere): (Vec<_>, Vec<_>) = complaints.iter().partition(of_file);
    findings.extend(elsewhere.into_iter().map(|complaint| Finding::of_sentence("environment", complaint)));
    findings.extend(environment());
    findings.extend(configuration(config, &look, in_file.is_empty()));
    findings.extend(in_file.into_iter().map(|complaint| Finding::of_sentence("settings", complaint)));
    // If no project was found, the problems of its files say nothing more: `project` has reported the missing project.
    let problems: Vec<&String> = look.survey.facts.problems.iter().filter(|_| look.survey.project.is_some()).collect();
    // An unsupported package and a missing supported one are one problem, and `unity_package` reports it.
    let (unspoken, problems): (Vec<_>, Vec<_>) =
        problems.into_iter().partition(|problem| unspoken_in(problem).is_some());
    let unspoken: Vec<&Unspoken> = unspoken.into_iter().filter_map(|problem| unspoken_in(problem)).collect();
    findings.extend(problems.into_iter().map(|problem| Finding::of_sentence("files", problem)));
    findings.extend(look.survey.facts.notes.iter().map(|note| Finding::note("package", note.trim_end_matches('.'))));
    let another = package(&look);
    let supported = another.is_some() || !look.survey.packages.is_empty();
    let standing = (supported, look.survey.packages.is_empty() && look.survey.dialect.gives_way());
    findings.extend(look.survey.project.as_deref().map(|project| unity_package(project, standing, &unspoken)));
    findings.extend(another);
    findings.extend(editor(&look));
    findings.extend(locks(&look));
    let state = state(config, &look);
    // Without a project or a package no editor can be found. This follows from the other problem, and is no problem of
    // its own.
    let follows = findings.iter().any(|one| one.level == Level::Problem && matches!(one.about, "project" | "package"));
    let (connection, live) = connection(config, &look, follows).await;
    findings.extend(connection);
    findings.extend(state);
    let listed = Listed::new(config, &look, live);
    findings.extend(listed.as_ref().and_then(Listed::finding));
    findings.extend(listed.as_ref().and_then(Listed::not_listed));
    findings.extend(rules(config, &look, listed.as_ref()));
    findings.extend(clients(config, look.survey.project.as_deref()));
    findings
}

fn project(config: &Config, look: &Look) -> Finding {
    match (&look.survey.project, &config.project) {
        (Some(found), Some(named)) if config::canonical(named).as_ref() == Some(found) => {
            Finding::ok("project", format!("{}, named by --project or HOLDFAST_PROJECT", found.display()))
        }
        (Some(found), Some(_)) => Finding::ok(
            "project",
            format!("{}, around the folder that --project or HOLDFAST_PROJECT names", found.display()),
        ),
        (Some(found), None) => {
            let below =
                config.working_dir.as_deref().and_then(config::canonical).is_some_and(|here| !here.starts_with(found));
            let place = if below { "below" } else { "around" };
            Finding::ok("project", format!("{}, {place} the working directory", found.display()))
        }
        (None, Some(named)) => {
            let bad = config::named_project(named).err().map(|bad| bad.to_string()).unwrap_or_default();
            Finding::problem(
                "project",
                format!("--project or HOLDFAST_PROJECT: {bad}"),
                "name the folder that holds Assets and ProjectSettings, or leave it out and run this inside the project",
            )
        }
        (None, None) if config.ports.is_empty() && !look.survey.ambiguous.is_empty() => {
            let says = look.survey.facts.problems.first().cloned().unwrap_or_default();
            let fix = "open the one that is meant in Unity, and no other, or name it as above";
            Finding::problem("project", says.trim_end_matches('.'), fix)
        }
        (None, None) if config.ports.is_empty() => {
            let says = match look.survey.facts.problems.first() {
                Some(problem) => problem.trim_end_matches('.').to_owned(),
                None => "the working directory is not known, and no project is named".to_owned(),
            };
            Finding::problem(
                "project",
                format!("{says}, so no editor can be proven to be the right one, and none is called"),
                "run this inside the project, or name it: `holdfast doctor --project DIR` (an AI client may name it by its roots)",
            )
        }
        (None, None) => Finding::note(
            "project",
            "none is known; the port that you named is called all the same, and what it belongs to is not checked",
        ),
    }
}

/// The effects of variables, where the help of a flag does not say enough.
const VARIABLES: [(&str, &str); 11] = [
    ("HOLDFAST_PORT", "names the port, like --port: it is called without a proof of whose it is"),
    ("UNITY_TCP_PORT", "names the port to try first: it is called without a proof of whose it is"),
    ("UNITY_PORT", "is the same for the editor of TSavo/Unity-MCP alone"),
    ("UNITY_HOST", "must be this machine for the editor of TSavo/Unity-MCP, which is not called otherwise"),
    ("MCP_CLIENT_NAME", "is the name shown in Unity for a client without one"),
    ("NODE_ENV", "shows development-only tools if it is \"development\""),
    ("HOLDFAST_ALLOW", "allows only these of the editor's tools, like --allow"),
    ("HOLDFAST_DENY", "refuses these of the editor's tools, like --deny"),
    (TOKEN_VARIABLE, "is what clients send to a hub over HTTP; a hub does not read it"),
    ("AI_LOGGER_URL", "is where --logger listens, if it is an http address of this machine"),
    ("MCP_DEBUG", "logs each step if it is \"true\""),
];

/// Returns the environment variables that change what a gateway does, and what each one does.
pub fn variables() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        VARIABLES.iter().map(|(name, does)| ((*name).to_owned(), (*does).to_owned())).collect();
    for command in [GatewayArgs::augment_args(Command::new("")), HttpArgs::augment_args(Command::new(""))] {
        for flag in command.get_arguments() {
            let (Some(name), Some(long)) = (flag.get_env().and_then(OsStr::to_str), flag.get_long()) else { continue };
            if !all.iter().any(|(known, _)| known == name) {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                all.push((name.to_owned(), format!("is like --{long}: {help}")));
            }
        }
    }
    all
}

fn environment() -> Vec<Finding> {
    let variables = variables();
    let known = variables.iter().filter_map(|(name, effect)| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        let shown = if name == TOKEN_VARIABLE { "(a secret)".to_owned() } else { clean(&value.to_string_lossy()) };
        Some(Finding::note("environment", format!("{name}=\"{shown}\" {effect}")))
    });
    let unknown = std::env::vars_os().filter_map(|(name, _)| {
        let name = name.to_string_lossy().into_owned();
        let ours = name.starts_with("HOLDFAST_") && !variables.iter().any(|(known, _)| *known == name);
        ours.then(|| {
            Finding::note("environment", format!("{} means nothing to holdfast", clean(&name)))
                .fix("correct its name (`holdfast --help` lists them) or remove it")
        })
    });
    known.chain(unknown).collect()
}

/// Returns the finding about a supported package other than our own; `None` if another check reports the case.
fn package(look: &Look) -> Option<Finding> {
    look.survey.project.as_ref()?;
    let facts = &look.survey.facts;
    let (name, title) = (look.survey.dialect.name(), look.survey.dialect.title());
    if !look.survey.packages.is_empty() {
        // The problems of the project's files name the packages and the fix.
        return None;
    }
    match (&facts.package_version, facts.installed) {
        // `unity_package` reports our own package, from the same files and more.
        _ if name == "holdfast" => None,
        (Some(version), true) => Some(Finding::ok("package", format!("{title} {} (supported)", clean(version)))),
        (None, true) => Some(Finding::note("package", format!("{title} (supported; its files tell no version)"))),
        // `unity_package` reports that no supported package is installed.
        (_, false) => None,
    }
}

fn editor(look: &Look) -> Option<Finding> {
    look.survey.project.as_ref()?;
    Some(match (look.survey.facts.editor_pid, look.editor) {
        (Some(pid), Some(Liveness::Alive)) => Finding::ok("editor", format!("runs: pid {pid}")),
        (Some(pid), Some(Liveness::Dead)) => Finding::note(
            "editor",
            format!("the project's files name pid {pid}, which is no editor any more: Unity crashed or was killed"),
        ),
        (Some(pid), _) => {
            Finding::note("editor", format!("pid {pid} is named; the system does not say whether it lives"))
        }
        (None, _) => Finding::note("editor", "the project's files name no running editor").likely(),
    })
}

fn locks(look: &Look) -> Vec<Finding> {
    let Some(project) = &look.survey.project else { return Vec::new() };
    let alive = look.editor == Some(Liveness::Alive);
    let busy = look.survey.facts.activity;
    let files = look.survey.dialect.project_files().iter().filter(|file| !file.content);
    let mut findings: Vec<Finding> = files
        .filter_map(|file| {
            let age = age(&project.join(file.path))?;
            let said = format!("{} has been there for {}", file.path, user_text::seconds(age));
            Some(match (alive, age > LOCK_FILE_OLD) {
                (true, _) if busy.is_none() => Finding::ok("lock files", said),
                (true, false) => Finding::ok("lock files", format!("{said}, and the editor lives")),
                (true, true) => {
                    Finding::note("lock files", format!("{said}, although the editor lives: a long import, or stuck"))
                        .fix("look at the Unity window")
                        .likely()
                }
                (false, _) => {
                    Finding::note("lock files", format!("{said}, and no living editor is known: left behind")).likely()
                }
            })
        })
        .collect();
    if let (Some(busy), false) = (busy, alive) {
        let busy = <&str>::from(busy);
        findings.push(
            Finding::problem(
                "lock files",
                format!("a lock file says that the editor is {busy}, but no living editor is known, so calls may wait in vain"),
                "if Unity is not running, delete the *.lock files in the project's Temp folder; opening the project does it too",
            )
            .likely(),
        );
    }
    findings
}

/// Returns the findings about the configuration files, the policy, and the audit. `right`: the files have no errors; `examine`
/// itself reports errors in them.
fn configuration(config: &Config, look: &Look, right: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(config.file.as_ref().map(|(path, found)| match (found, right) {
        (false, _) => Finding::ok("settings", format!("there is no {}, and none is needed", path.display())),
        (true, true) => Finding::ok("settings", format!("{} was read", path.display())),
        (true, false) => Finding::note("settings", format!("{} was read, as far as it can be", path.display())),
    }));
    if let Some(project) = look.survey.project.as_ref().filter(|_| look.survey.rules.found) {
        let path = project.join(PROJECT_FILE);
        findings.push(Finding::ok("settings", format!("{} was read; it can only narrow", path.display())));
    }
    let rules = config.policy.lines(None).into_iter().chain(look.survey.rules.policy.lines(None));
    findings.extend(rules.map(|rules| Finding::note("policy", clean(&rules))));
    findings.extend(config.audit.as_ref().map(|path| {
        // A file that does not exist is not created: this command changes nothing.
        match if path.exists() { RealHost.append_line(path, "") } else { has_folder(path) } {
            Ok(()) => unguarded(System::HERE, &profile_folders(), "audit", path)
                .unwrap_or_else(|| Finding::ok("audit", format!("calls are recorded in {}", path.display()))),
            Err(error) => Finding::problem(
                "audit",
                format!("{} cannot be written ({error}): no call is sent", path.display()),
                "let this user write it as a plain file, or run without --audit",
            ),
        }
    }));
    findings
}

fn age(path: &Path) -> Option<Duration> {
    let changed = path.symlink_metadata().ok()?.modified().ok()?;
    Some(RealHost.now().duration_since(changed).unwrap_or_default())
}

/// Returns the findings about the connection, and the editor's tools if it told them.
async fn connection(config: &Config, look: &Look, follows: bool) -> (Vec<Finding>, Option<ToolList>) {
    let (greeting, tools) = match look.reached() {
        Some(Way::OneClient) => {
            let says = "the editor listens, and takes one client: it is not greeted, as that would cost another client its connection";
            (Some((true, Finding::note("connection", says))), None)
        }
        Some(_) => {
            let (connected, finding, tools) = greet(config).await;
            (Some((connected, finding)), tools)
        }
        None => (None, None),
    };
    let connected = greeting.as_ref().is_some_and(|(connected, _)| *connected);
    // If more than one editor fits, no port is called. This ambiguity is the problem, and the findings about the files name its
    // fix, so the single ports are not reported as problems.
    let several = look.survey.cause() == Cause::Ambiguous;
    let mut findings: Vec<Finding> =
        look.ports.iter().map(|port| of_port(port, connected || several, look.survey.dialect)).collect();
    match greeting {
        Some((_, finding)) => findings.push(finding),
        None if several || follows => {}
        None if look.ports.iter().any(|port| port.way == Way::Gateway) => {
            let how = look.survey.dialect.connects_by().unwrap_or("let the editor connect");
            findings.push(Finding::note("connection", format!("the editor connects to holdfast: {how}")));
        }
        None if look.editor == Some(Liveness::Alive) => findings.push(unheard(config, look)),
        None => findings.push(Finding::problem(
            "connection",
            "no running Unity Editor was found for this project",
            match look.survey.dialect.name() {
                "holdfast" => {
                    "open the project in Unity; the package starts by itself (Window > Holdfast shows it), and no restart of the AI \
                     client is needed"
                }
                _ => {
                    "open the project in Unity; if the package does not start by itself, start its server in its window; no restart \
                     of the AI client is needed"
                }
            },
        )),
    }
    (findings, tools)
}

/// Returns the finding about an editor that lives while nothing listens.
fn unheard(config: &Config, look: &Look) -> Finding {
    let places = look.survey.project.as_deref().zip(config.editor_log.as_deref());
    let error = places.and_then(|(project, log)| compile_error(&RealHost, log, project, look.survey.facts.editor_pid));
    let finding = match error {
        Some(error) => Finding::problem(
            "connection",
            format!(
                "the editor runs, but nothing listens. Its log says that the scripts do not compile ({error}), so it is most likely in Safe \
                 Mode, where no package runs"
            ),
            "correct the error, or leave Safe Mode in Unity's window",
        ),
        None => Finding::problem(
            "connection",
            "the editor runs, but nothing listens",
            "look at the Unity window: is it in Safe Mode (then correct the compile errors), does it import, or was the package's server \
             stopped there?",
        ),
    };
    finding.likely()
}

/// Returns the finding about one port. A wrong port is a problem only if `connected` is false.
fn of_port(port: &Port, connected: bool, dialect: &dyn Dialect) -> Finding {
    let named = match &port.socket {
        Some(socket) => socket.clone(),
        None => format!("{} ({})", port.port, look::source_words(port.source)),
    };
    let owner = look::owner_words(port.owner.as_ref());
    if port.way == Way::Gateway {
        return waits_for_the_editor(port, &named, dialect);
    }
    if !port.listening {
        return match &port.unsafe_because {
            Some(why) => Finding::problem(
                port.kind(),
                format!("{named} is not connected to: {why}"),
                "make the folder this user's own and close it to all others (chmod 700), or remove it; then start the package's server \
                 again, which makes it anew",
            ),
            None => Finding::note(port.kind(), format!("{named}: nothing listens")),
        };
    }
    if port.socket.is_some() && port.standing == Standing::Checked {
        return Finding::ok(port.kind(), format!("{named}: this project's editor listens"));
    }
    let fix = match port.source {
        PortSource::Flag | PortSource::Environment | PortSource::UnityPort => {
            "name the port that the package's window in Unity shows"
        }
        PortSource::Process | PortSource::Settings => {
            "set another port in the package's window in Unity, or end the program that uses this one; if it is this project's \
             editor after all, name the port with --port"
        }
        PortSource::Default => "name the project with --project or the port with --port",
    };
    let wrong = |says: String| {
        if connected { Finding::note("port", says) } else { Finding::problem("port", says, fix) }
    };
    match &port.standing {
        Standing::Checked => Finding::ok("port", format!("{named}: {owner} listens, which is this project's editor")),
        Standing::Assumed => {
            Finding::ok("port", format!("{named}: {owner} listens; taken for Unity since you named the port")).likely()
        }
        Standing::Refused(ConnectFailure::WrongProject) => {
            wrong(format!("{named}: {owner} listens, which is not this project's editor; it is not called"))
        }
        Standing::Refused(_) => wrong(format!(
            "{named}: {owner} listens, and nothing proves that it is this project's editor; it is not called"
        )),
        Standing::Listed(why) => wrong(format!("{named}: {owner} listens; it is not called: {why}")),
    }
}

/// Returns the finding about a port on which a gateway waits for the editor.
fn waits_for_the_editor(port: &Port, named: &str, dialect: &dyn Dialect) -> Finding {
    match &port.owner {
        None => {
            Finding::note("port", format!("{named}: the editor connects to it while a holdfast listens; none does now"))
        }
        Some(owner) if owner.name.starts_with("holdfast") => {
            Finding::ok("port", format!("{named}: holdfast (pid {}) waits there for the editor", owner.pid))
        }
        Some(owner) => Finding::problem(
            "port",
            format!("{named}: {} has the port to which the editor would connect", look::owner_words(Some(owner))),
            dialect.frees_port(&owner.command_line),
        ),
    }
}

/// Starts a gateway in this process, which connects to the editor. Returns whether it connected, the finding, and the editor's
/// tools if it told them. The gateway has no state folder, since this command writes nothing.
async fn greet(config: &Config) -> (bool, Finding, Option<ToolList>) {
    let config = &Config { state_dir: None, ..config.clone() };
    let Ok(mut one_shot) = OneShot::open(config.clone(), Wish::default()).await else {
        let broken =
            Finding::problem("connection", "the gateway of this command ended early", "report this to holdfast");
        return (false, broken, None);
    };
    let wait = format!(r#"{{"timeout_seconds":{}}}"#, DOCTOR_WAIT.as_secs());
    let _ = one_shot.call("holdfast_wait_ready", &wait, None).await;
    let here = one_shot.parts.link();
    let view = &here.contact.view;
    // Of other packages nothing is known of the main thread while no call runs.
    let sends_heartbeats = |link: &LinkPicture| {
        let target = link.target.as_ref().filter(|_| link.availability == Availability::Open);
        target
            .is_some_and(|Target { dialect, .. }| dialect::OWN.contains(dialect) || dialect.has_main_thread_question())
    };
    let is_seen = |link: &LinkPicture| link.heartbeat.is_some() || !sends_heartbeats(link);
    let seen = async {
        while !is_seen(&view.borrow()) {
            sleep(READY_LOOK_EVERY).await;
        }
    };
    let _ = timeout(LIVENESS_EVERY + DOCTOR_WAIT, seen).await;
    let link = view.borrow().clone();
    if link.availability == Availability::Open {
        let _ = one_shot.request("tools/list", "{}", &mut |_| {}).await;
    }
    let published = here.tools.published.borrow().clone();
    let tools = (published.source == Source::Live).then_some(published.tools);
    one_shot.close().await;
    let port = link.target.as_ref().map(|target| format!(" on {}", target.endpoint)).unwrap_or_default();
    let met = link
        .foreign_peer
        .as_ref()
        .map(|met| format!(". {}", user_text::foreign_peer(met, Instant::now())))
        .unwrap_or_default();
    let finding = match link.availability {
        Availability::Open if let Some(by) = &link.obstacle => {
            let blocked = Finding::problem(
                "connection",
                format!("the editor{port} answered the greeting, but takes no calls: {}", clean(by)),
                "look at the Unity window; calls wait until it takes them",
            );
            return (true, blocked, tools);
        }
        Availability::Open
            if let Some((heartbeat, at)) =
                link.heartbeat.filter(|(heartbeat, _)| heartbeat.stands_still(FRAME_OLD)) =>
        {
            let says = user_text::heartbeat(heartbeat, at.elapsed());
            let still = Finding::problem(
                "connection",
                format!("the editor{port} answered the greeting, but {says}"),
                "look at the Unity window, and close the dialog; calls wait until then",
            );
            return (true, still.likely(), tools);
        }
        Availability::Open => {
            return (
                true,
                Finding::ok("connection", format!("the editor{port} answered the greeting; tools can be called")),
                tools,
            );
        }
        Availability::Coming(cause) | Availability::Absent(cause) => match cause {
            Cause::WrongPeer => Finding::problem(
                "connection",
                format!("what listens there answers, but not as a Unity bridge{met}"),
                "another program uses the port: name the one that the package's window in Unity shows",
            ),
            Cause::Unproven if !met.is_empty() => Finding::problem(
                "connection",
                format!("what listens there does not show that it is this project's editor{met}"),
                "wait until Unity has started, and run this again; if it stays, restart Unity",
            ),
            _ if link.state == "greeting" => Finding::problem(
                "connection",
                format!(
                    "something accepts connections, but did not answer the greeting within {} s{met}",
                    DOCTOR_WAIT.as_secs()
                ),
                if config.ports.is_empty() {
                    "look at the Unity window: an import or a dialog holds it"
                } else {
                    "look at the Unity window: an import or a dialog holds it; if Unity is idle, another program uses the port"
                },
            )
            .likely(),
            cause => Finding::problem(
                "connection",
                format!(
                    "the editor did not get ready within {} s: {}",
                    DOCTOR_WAIT.as_secs(),
                    <&str>::from(cause).replace('_', " ")
                ),
                "look at the Unity window, then run this again",
            )
            .likely(),
        },
    };
    (false, finding, None)
}
