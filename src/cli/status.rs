//! `holdfast status`: shows every running gateway, and the current state of this project's editor.

mod page;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};

use super::gateway_args::EditorArgs;
use super::look::{self, Look, Standing};
use super::output::{Tone, toned};
use super::{Exit, one_shot, output, watch};
use crate::config::Config;
use crate::core::user_text;
use crate::limits::{RUN_RECORD_BUSY_EVERY, RUN_RECORD_OLD};
use crate::platform::host::{Host as _, Liveness, RealHost};
use crate::protocol::text::clean;
use crate::storage::hub_folder::{HubFolder, HubInfo};
use crate::storage::instance_record;
use crate::telemetry::flight::seconds;

/// Flags of `holdfast status`.
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
    /// Which editor.
    #[command(flatten)]
    pub editor: EditorArgs,
}

/// Shows the status.
pub fn run(arguments: &StatusArgs) -> ExitCode {
    if arguments.watch {
        return watch::run(&arguments.editor);
    }
    one_shot::run(&arguments.editor, |config| async move {
        let status = Status::now(&config).await;
        if arguments.open {
            return page::open(&status.gateways, status.look.survey.project.as_deref());
        }
        if arguments.json {
            output::json(&status.as_json().to_string());
        } else {
            print(&status, config.state_dir.as_deref());
        }
        if status.reachable() { Exit::Ok } else { Exit::NotExecuted }
    })
}

/// What `holdfast status` shows.
pub(super) struct Status {
    /// The records of all running gateways, each with the address of its page.
    gateways: Vec<Value>,
    /// The pids of gateways that run, and whose records cannot be read.
    unread: Vec<u32>,
    hub: Option<Hub>,
    look: Look,
}

/// A hub that runs.
struct Hub {
    /// What it says of itself, if that can be read.
    info: Option<HubInfo>,
    /// The age of its record, if it has one.
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
    /// Looks around.
    pub(super) async fn now(config: &Config) -> Self {
        let mut gateways = config.state_dir.as_deref().map(instance_record::all).unwrap_or_default();
        for gateway in &mut gateways {
            let served = (config.state_dir.as_deref())
                .and_then(|state| instance_record::served_at(state, number(gateway, "/gateway/pid")));
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

    /// Returns the status for programs.
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

/// Whether a gateway is connected to the editor that was asked for: the editor of this project, or on this port; or any editor if
/// neither project nor port is known.
fn serves(gateway: &Value, look: &Look) -> bool {
    let ready = gateway.pointer("/editor/ready").and_then(Value::as_bool) == Some(true);
    let port = gateway.pointer("/editor/port").and_then(Value::as_u64);
    let same_port = look.ports.iter().any(|here| here.standing.callable() && Some(u64::from(here.port)) == port);
    let same_project = match &look.survey.project {
        None => look.survey.targets.is_empty(),
        Some(project) => text(gateway, "/project") == Some(&*project.to_string_lossy()),
    };
    ready && (same_port || same_project)
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn span(value: &Value, pointer: &str) -> String {
    user_text::seconds(Duration::from_millis(number(value, pointer)))
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
    for gateway in gateways {
        print_gateway(gateway);
    }
    for pid in unread {
        output::line(&format!("gateway {pid}"));
        row("record", &toned("cannot be read, so no more is known of it; `holdfast doctor` says more", Tone::Bad));
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
        let old = format!("of its sessions, {}; they may be others by now", not_renewed(age));
        row("record", &toned(&old, Tone::Bad));
    }
}

fn not_renewed(age: Duration) -> String {
    format!("written {} ago and not renewed since", user_text::seconds(age))
}

fn print_gateway(gateway: &Value) {
    let client = text(gateway, "/gateway/client").filter(|name| !name.is_empty()).unwrap_or("a client without a name");
    output::line(&format!(
        "gateway {} for {}, up {}",
        number(gateway, "/gateway/pid"),
        clean(client),
        span(gateway, "/gateway/up_ms")
    ));
    match age(gateway, RealHost.now()) {
        Some(age) if age > RUN_RECORD_OLD => {
            row("record", &toned(&format!("{}: what follows may be over", not_renewed(age)), Tone::Bad));
        }
        // Until then it may just not have been renewed again.
        Some(age) if age >= RUN_RECORD_BUSY_EVERY => row("record", &format!("of {} ago", user_text::seconds(age))),
        Some(_) | None => {}
    }
    if let Some(clients) = gateway.pointer("/hub/clients").and_then(Value::as_array) {
        let others = clients.iter().filter(|client| client["is_this"] != true);
        let others: Vec<String> = others.map(|client| clean(text(client, "/client").unwrap_or_default())).collect();
        let with = if others.is_empty() { "alone".to_owned() } else { format!("with {}", others.join(", ")) };
        let taken = match number(gateway, "/hub/starts") {
            0 | 1 => String::new(),
            starts => format!("; the hub was started {starts} times"),
        };
        row("hub", &format!("{with}{taken}"));
    }
    row("project", &clean(text(gateway, "/project").unwrap_or("not known")));
    if let Some(page) = text(gateway, "/page") {
        row("page", page);
    }
    let ready = gateway.pointer("/editor/ready").and_then(Value::as_bool) == Some(true);
    let why =
        text(gateway, "/editor/why").map(|why| format!(": {}", clean(&why.replace('_', " ")))).unwrap_or_default();
    let port = match gateway.pointer("/editor/port").and_then(Value::as_u64) {
        Some(port) => format!(", port {port} ({})", clean(text(gateway, "/editor/port_named_by").unwrap_or("?"))),
        None => String::new(),
    };
    let still = text(gateway, "/editor/still/says").map(|says| format!(", but {}", clean(says))).unwrap_or_default();
    let works = still.is_empty() || gateway.pointer("/editor/still/may_work").and_then(Value::as_bool) == Some(true);
    let tone = if ready && works { Tone::Good } else { Tone::Bad };
    let state = clean(&user_text::connection_state(text(gateway, "/editor/state").unwrap_or("?"), !works));
    let comma = if why.is_empty() { "" } else { "," };
    let shown = toned(&format!("{state}{why}{comma} for {}{still}", span(gateway, "/editor/since_ms")), tone);
    row("editor", &format!("{shown}{port}"));
    if let Some(says) = text(gateway, "/editor/pulse/says") {
        row("heartbeat", &clean(says));
    }
    let tools = match number(gateway, "/tools/count") {
        0 => "none known".to_owned(),
        count => format!("{count} from {}", clean(text(gateway, "/tools/from").unwrap_or("?"))),
    };
    row("tools", &tools);
    if let Some(hidden) = hidden(gateway) {
        row("hidden", &hidden);
    }
    for line in gateway.pointer("/policy").and_then(Value::as_array).into_iter().flatten() {
        row("policy", &clean(line.as_str().unwrap_or_default()));
    }
    if let Some(file) = text(gateway, "/audit") {
        row("audit", &clean(file));
    }
    let of_client = text(gateway, "/queue/busy_for").map(|client| format!(" of {}", clean(client))).unwrap_or_default();
    let busy = text(gateway, "/queue/busy_with/tool")
        .map(|tool| format!(" ({}{of_client} for {})", clean(tool), span(gateway, "/queue/busy_with/for_ms")));
    row(
        "queue",
        &format!(
            "{} waiting, {} running{}",
            number(gateway, "/queue/held"),
            number(gateway, "/queue/running"),
            busy.unwrap_or_default()
        ),
    );
    for call in gateway.pointer("/calls/open").and_then(Value::as_array).into_iter().flatten() {
        row("call", &call_line(call));
    }
    let (all, shown) = (number(gateway, "/calls/open_count"), gateway.pointer("/calls/open").and_then(Value::as_array));
    let more = all.saturating_sub(shown.map_or(0, Vec::len) as u64);
    if more > 0 {
        row("", &format!("and {more} more"));
    }
    if let Some(why) = text(gateway, "/editor/last_loss/why") {
        let back = match gateway.pointer("/editor/last_loss/back_after_ms").and_then(Value::as_u64) {
            Some(millis) => format!("back after {}", user_text::seconds(Duration::from_millis(millis))),
            None => "not back yet".to_owned(),
        };
        // The cause is what was learned later, for example that the process has ended.
        let cause = text(gateway, "/editor/last_loss/cause").filter(|cause| *cause != why);
        let cause = cause.map(|cause| format!(" ({})", clean(&cause.replace('_', " ")))).unwrap_or_default();
        row("lost", &format!("{}{cause}, {} ago, {back}", clean(why), span(gateway, "/editor/last_loss/ago_ms")));
    }
    for problem in gateway.pointer("/problems").and_then(Value::as_array).into_iter().flatten() {
        row("problem", &toned(&clean(problem.as_str().unwrap_or_default()), Tone::Bad));
    }
}

/// Returns the age of a record. `None` if it does not say when it was written, or that is to come.
fn age(gateway: &Value, now: SystemTime) -> Option<Duration> {
    let written = gateway.get("written_at").and_then(Value::as_f64)?;
    Duration::try_from_secs_f64(seconds(now) - written).ok()
}

/// Describes an open call: the tool, its state, when the client made it, and what it waits for.
fn call_line(call: &Value) -> String {
    let tool = clean(text(call, "/tool").unwrap_or("?"));
    let state = clean(text(call, "/state").unwrap_or("?"));
    let waits = match text(call, "/waits_says").or_else(|| text(call, "/waits_for")) {
        Some(cause) => format!(", waiting: {}", clean(&cause.replace('_', " "))),
        None => String::new(),
    };
    format!("{tool}: {state}, made {} ago{waits}", span(call, "/accepted_ms_ago"))
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
            // What an editor that has ended was doing last is no news.
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
        row("port", &format!("{} ({}): {what}", port.port, look::source_words(port.source)));
    }
    for problem in &survey.facts.problems {
        row("problem", &toned(problem, Tone::Bad));
    }
}

/// Names the tools that the gateway hides from its client. `None` if there are none.
fn hidden(gateway: &Value) -> Option<String> {
    let count = number(gateway, "/tools/hidden/count");
    let first = gateway.pointer("/tools/hidden/first").and_then(Value::as_array).into_iter().flatten();
    let first: Vec<String> = first.filter_map(|hidden| Some(clean(hidden.get("tool")?.as_str()?))).collect();
    let more = if count > first.len() as u64 { ", ..." } else { "" };
    (count > 0).then(|| format!("{count} from the client: {}{more}", first.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_record_is_known_from_what_it_says() {
        let at = |seconds: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let record = json!({"written_at": 1000.0});
        assert_eq!(age(&record, at(1060)), Some(Duration::from_secs(60)));
        assert_eq!(age(&record, at(900)), None, "the clock was set back");
        assert_eq!(age(&json!({}), at(1060)), None, "a record of an older version");
    }
}
