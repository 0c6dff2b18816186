//! `holdfast status`: shows every running gateway, and the current state of this project's editor.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::gateway_args::EditorArgs;
use super::look::{self, Look, Standing};
use super::output::{Tone, toned};
use super::{Exit, one_shot, output, watch};
use crate::config::Config;
use crate::core::user_text;
use crate::limits::{BROWSER_START_MAX, RUN_RECORD_OLD};
use crate::platform::host::{Host as _, Liveness, RealHost};
use crate::protocol::text::clean;
use crate::storage::hub_folder::{HubFolder, HubInfo};
use crate::storage::instance_record;
use crate::telemetry::flight::seconds;
use crate::telemetry::tone::Tone as State;
use crate::telemetry::view;
use crate::telemetry::view::told::{Fact, Told, ToldLine};

#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Draw every running gateway live, until q is pressed
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Open the status page in the browser, and print its address
    ///
    /// The page of this project's gateway, or else of any: each shows all. A gateway has a page if it was started with --metrics.
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    pub open: bool,
    #[command(flatten)]
    pub editor: EditorArgs,
}

pub fn run(arguments: &StatusArgs) -> ExitCode {
    if arguments.watch {
        return watch::run(&arguments.editor);
    }
    one_shot::run(&arguments.editor, |config| async move {
        let status = Status::now(&config).await;
        if arguments.open {
            return open_page(&status.gateways, status.look.survey.project.as_deref());
        }
        if arguments.json {
            output::json(&status.as_json().to_string());
        } else {
            print(&status, config.state_dir.as_deref());
        }
        if status.reachable() { Exit::Ok } else { Exit::NotExecuted }
    })
}

pub(super) struct Status {
    /// The records of all running gateways, each with the address of its page.
    gateways: Vec<Value>,
    /// The pids of gateways that run, and whose records cannot be read.
    unread: Vec<u32>,
    hub: Option<Hub>,
    look: Look,
}

struct Hub {
    /// What the hub says of itself, if its file can be read.
    info: Option<HubInfo>,
    age: Option<Duration>,
}

impl Hub {
    fn of(state: &Path) -> Option<Self> {
        let folder = HubFolder::of(state);
        let info = folder.running();
        let age = info.as_ref().and_then(|info| instance_record::age(state, info.pid));
        (info.is_some() || folder.is_held()).then_some(Self { info, age })
    }

    fn as_json(&self) -> Value {
        let age = self.age.map(|age| age.as_secs_f64());
        let info = self.info.as_ref();
        json!({
            "pid": info.map(|hub| hub.pid),
            "version": info.map(|hub| &hub.version),
            "http": info.and_then(|hub| hub.http.as_ref()),
            "record_seconds_ago": age,
        })
    }
}

impl Status {
    pub(super) async fn now(config: &Config) -> Self {
        let mut gateways = config.state_dir.as_deref().map(instance_record::all).unwrap_or_default();
        for gateway in &mut gateways {
            let served = (config.state_dir.as_deref())
                .zip(gateway.pointer("/gateway/pid").and_then(Value::as_u64))
                .and_then(|(state, pid)| instance_record::served_at(state, pid));
            if let Some(record) = gateway.as_object_mut() {
                record.insert("page".to_owned(), served.map(|address| format!("http://{address}/")).into());
            }
        }
        let hub = config.state_dir.as_deref().and_then(Hub::of);
        let unread = config.state_dir.as_deref().map(instance_record::unread).unwrap_or_default();
        Self { gateways, unread, hub, look: Look::around(config).await }
    }

    fn reachable(&self) -> bool {
        self.look.reachable() || self.gateways.iter().any(|gateway| serves(gateway, &self.look))
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "reachable": self.reachable(),
            "gateways": self.gateways,
            "unread": self.unread,
            "hub": self.hub.as_ref().map(Hub::as_json),
            "here": self.look.as_json(),
        })
    }
}

/// Whether a gateway is connected to the editor in question: the editor of this project, or the editor on this port. If
/// neither is known, any editor counts.
fn serves(record: &Value, look: &Look) -> bool {
    let Ok(view::Status { editor, project, .. }) = view::Status::deserialize(record) else { return false };
    let same_port = look
        .ports
        .iter()
        .any(|here| here.standing.callable() && here.socket.is_none() && Some(here.port) == editor.port);
    let same_project = match &look.survey.project {
        None => look.survey.targets.is_empty(),
        Some(here) => project.as_deref() == Some(&*here.to_string_lossy()),
    };
    editor.ready && (same_port || same_project)
}

fn row(name: &str, text: &str) {
    output::hung(&format!("  {name:9}  "), text);
}

fn print(status: &Status, state_dir: Option<&Path>) {
    let Status { gateways, unread, hub, look } = status;
    if let Some(hub) = hub {
        print_hub(hub);
    } else if gateways.is_empty() && unread.is_empty() {
        output::line(match state_dir {
            Some(_) => "No gateway runs. An AI client starts one by itself.",
            None => {
                "Running gateways cannot be seen: HOME is not set, so there is no state folder (--state-dir names one)."
            }
        });
    }
    let now = seconds(RealHost.now());
    for gateway in gateways {
        let page = gateway.get("page").and_then(Value::as_str);
        print_gateway(&Told::of(gateway, now), page);
    }
    for pid in unread {
        print_gateway(&Told::unread((*pid).into()), None);
    }
    output::line("");
    print_here(look);
}

fn print_hub(hub: &Hub) {
    let Some(info) = &hub.info else {
        output::line("hub: runs, and what it says of itself cannot be read");
        return row("record", &toned("missing; `holdfast doctor` says more", Tone::Bad));
    };
    output::line(&match &info.http {
        Some(address) => format!("hub {}: serves MCP over HTTP at {}", info.pid, clean(address)),
        None => format!("hub {}: serves the sessions of this user", info.pid),
    });
    if let Some(age) = hub.age.filter(|age| *age > RUN_RECORD_OLD) {
        let age = user_text::seconds(age);
        let old = format!("of its sessions, written {age} ago and not renewed since; they may be others by now");
        row("record", &toned(&old, Tone::Bad));
    }
}

fn print_gateway(told: &Told, page: Option<&str>) {
    output::line(&format!("gateway {}", told.id.0));
    for Fact { name, says, tone, .. } in &told.facts {
        row(name, &in_colour(says, *tone));
    }
    if let Some(page) = page {
        row("page", page);
    }
    for ToldLine { what, says, tone, age, .. } in &told.open {
        row("call", &format!("{what}: {} ({age})", in_colour(says, *tone)));
    }
    match told.open_count.saturating_sub(told.open.len()) {
        0 => {}
        more => row("", &format!("and {more} more")),
    }
    if let Some(ToldLine { what, says, age, .. }) = told.outages.first() {
        row("lost", &format!("{what}, {age}, {says}"));
    }
    for problem in &told.problems {
        row("problem", &toned(problem, Tone::Bad));
    }
}

fn in_colour(says: &str, tone: State) -> String {
    match tone {
        State::Plain => says.to_owned(),
        State::Good => toned(says, Tone::Good),
        State::Waiting | State::Unsure => toned(says, Tone::Plain),
        State::Trouble | State::Broken => toned(says, Tone::Bad),
    }
}

fn print_here(look: &Look) {
    let survey = &look.survey;
    match &survey.project {
        None if !survey.ambiguous.is_empty() => output::line("Several Unity projects here."),
        None => {
            output::line("No Unity project here.");
            row("fix", "run it inside a project, or name one: `holdfast status --project DIR`");
        }
        Some(project) => {
            output::line("this project");
            row("project", &project.display().to_string());
            let version = survey.facts.package_version.as_deref().unwrap_or("of unknown version");
            let title = survey.dialect.title();
            row(
                "package",
                &match (survey.packages.is_empty(), survey.facts.installed) {
                    (false, _) => format!("several: {}", survey.packages.join(", ")),
                    (true, true) => format!("{title} {}", clean(version)),
                    (true, false) => "none that holdfast supports".to_owned(),
                },
            );
            // The last activity of an editor that has ended is no news.
            let activity = survey.facts.activity.filter(|_| look.editor != Some(Liveness::Dead));
            let doing = activity.map(|activity| format!(", {}", <&str>::from(activity)));
            let (words, tone) = match (survey.facts.editor_pid, look.editor) {
                (Some(pid), Some(Liveness::Alive)) => (format!("runs (pid {pid})"), Tone::Good),
                (Some(pid), Some(Liveness::Dead)) => (format!("is gone (its files still name pid {pid})"), Tone::Bad),
                (Some(pid), _) => (format!("may run (pid {pid})"), Tone::Plain),
                (None, _) => ("not running, according to the project's files".to_owned(), Tone::Plain),
            };
            row("editor", &format!("{}{}", toned(&words, tone), doing.unwrap_or_default()));
        }
    }
    for port in &look.ports {
        let what = match (&port.standing, port.listening) {
            (_, false) => "nothing listens".to_owned(),
            (Standing::Checked, true) => toned("this project's editor listens", Tone::Good),
            (Standing::Assumed, true) => {
                format!("{} listens, taken for Unity since you named the port", look::owner_words(port.owner.as_ref()))
            }
            (Standing::Refused(_) | Standing::Listed(_), true) => {
                let owner = look::owner_words(port.owner.as_ref());
                toned(&format!("{owner} listens and is not called; `holdfast doctor` says why"), Tone::Bad)
            }
        };
        match &port.socket {
            Some(socket) => row(port.kind(), &format!("{socket}: {what}")),
            None => row(port.kind(), &format!("{} ({}): {what}", port.port, look::source_words(port.source))),
        }
    }
    for problem in &survey.facts.problems {
        row("problem", &toned(problem, Tone::Bad));
    }
}

/// Opens the page of a gateway and prints its address. If there is no page, or no browser starts, it prints that.
fn open_page(gateways: &[Value], project: Option<&Path>) -> Exit {
    let Some(page) = page(gateways, project) else {
        output::complain(if gateways.is_empty() {
            "holdfast status: no gateway runs, so there is no status page. An AI client starts one by itself."
        } else {
            "holdfast status: no running gateway serves a status page. Run `holdfast setup CLIENT --metrics` \
             (CLIENT: claude-code, cursor, ...) and restart the client. `holdfast status --watch` shows the same on the terminal, without that."
        });
        return Exit::Failed;
    };
    output::line(page);
    match open::that_detached_with_timeout(page, BROWSER_START_MAX) {
        Ok(()) => Exit::Ok,
        // Only the exit code of the failed program is known, and it says nothing.
        Err(_) => {
            output::complain(
                "holdfast status: no browser could be started. Open the address yourself, on this machine.",
            );
            Exit::Failed
        }
    }
}

/// Returns the address of the page of this project's gateway, else of any: each page shows all gateways.
fn page<'a>(gateways: &'a [Value], project: Option<&Path>) -> Option<&'a str> {
    let of = |gateway: &'a Value| gateway.get("page").and_then(Value::as_str);
    let ours = |gateway: &&Value| {
        project.is_some_and(|project| gateway.get("project").and_then(Value::as_str).map(Path::new) == Some(project))
    };
    let mine = gateways.iter().filter(ours).find_map(of);
    mine.or_else(|| gateways.iter().find_map(of))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_of_this_project_comes_first_and_any_is_better_than_none() {
        let gateways = [
            json!({"project": "/a", "page": null}),
            json!({"project": "/b", "page": "http://127.0.0.1:1/"}),
            json!({"project": "/c", "page": "http://127.0.0.1:2/"}),
        ];
        assert_eq!(page(&gateways, Some(Path::new("/c"))), Some("http://127.0.0.1:2/"));
        assert_eq!(page(&gateways, Some(Path::new("/a"))), Some("http://127.0.0.1:1/"));
        assert_eq!(page(&gateways, None), Some("http://127.0.0.1:1/"));
        assert_eq!(page(&gateways[..1], Some(Path::new("/a"))), None);
    }
}
