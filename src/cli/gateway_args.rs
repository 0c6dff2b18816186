//! The flags of all commands that talk to an editor, and the configuration that follows from them.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;

use super::variables::{editor_log, is_this_machine, logger_address, places, state_dir, variable};
use super::{complete, named_editor};
use crate::config::file::{self, PolicySection};
use crate::config::{BadProject, Config, MetricsChoice, PortSource};
use crate::limits::PATIENCE_MAX;
use crate::platform::filesystem::foreign_owner;
use crate::platform::host::{RealHost, System};
use crate::protocol::dialect::{self, Companion, Dialects};
use crate::protocol::policy::{BadPattern, Pattern, Policy, Toolset};
use crate::protocol::text::clean;
use crate::telemetry::logs::{Format, Verbosity};

// The headings under which `--help` lists the options.
const EDITOR: &str = "Editor";
const RULES: &str = "Rules on tools";
const CLIENT: &str = "Client";
const METRICS: &str = "Metrics";
const FILES: &str = "Files and logs";
const COMPANIONS: &str = "TSavo/Unity-MCP only";

/// Which editor.
#[derive(Debug, Clone, Args)]
pub struct EditorArgs {
    /// The Unity project
    ///
    /// The folder with Assets and ProjectSettings, or one below it. Without it: the client's roots, then the working directory and
    /// the folders above it, or up to three levels below it.
    #[arg(long, value_name = "DIR", env = "HOLDFAST_PROJECT", value_hint = ValueHint::DirPath, help_heading = EDITOR)]
    pub project: Option<PathBuf>,
    /// The editor of this name, in place of --project
    ///
    /// The folder of its project, as `holdfast status` and holdfast_editors show it. Known are the projects of running gateways and
    /// of earlier sessions.
    #[arg(long, value_name = "NAME", env = "HOLDFAST_EDITOR", conflicts_with = "project", add = ArgValueCandidates::new(complete::editors), help_heading = EDITOR)]
    pub editor: Option<String>,
    /// Port of the editor's bridge on 127.0.0.1
    ///
    /// It is called without a proof of whose it is. Without it: UNITY_TCP_PORT (for TSavo/Unity-MCP UNITY_PORT), what the project's
    /// files say, the package's own default.
    #[arg(long, value_name = "PORT", env = "HOLDFAST_PORT", value_parser = port, help_heading = EDITOR)]
    pub port: Option<u16>,
    /// The protocol of the package in the project
    ///
    /// Without it: by the project's files.
    #[arg(
        long,
        value_name = "DIALECT",
        env = "HOLDFAST_DIALECT",
        value_parser = dialects(),
        default_value = "auto",
        hide_short_help = true,
        help_heading = EDITOR
    )]
    pub dialect: Dialects,
    /// Name shown in the editor when the client does not give one
    ///
    /// Also MCP_CLIENT_NAME.
    #[arg(long, value_name = "NAME", env = "HOLDFAST_CLIENT_NAME", hide_short_help = true, help_heading = CLIENT)]
    pub client_name: Option<String>,
    /// Show development-only tools
    ///
    /// Also NODE_ENV=development.
    #[arg(
        long,
        env = "HOLDFAST_DEVELOPMENT",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_short_help = true,
        help_heading = EDITOR
    )]
    pub development: bool,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// What a hub has too: rules, files and logs.
#[derive(Debug, Clone, Args)]
pub struct SharedArgs {
    /// The configuration file, in place of the user's own
    ///
    /// See docs/configuration.md.
    #[arg(
        long,
        value_name = "FILE",
        env = "HOLDFAST_CONFIG",
        value_hint = ValueHint::FilePath,
        hide_short_help = true,
        help_heading = FILES
    )]
    pub config: Option<PathBuf>,
    /// Call only these of the editor's tools
    ///
    /// Names with * and ?, or annotations such as @read-only or !@destructive; several with commas between them. In place of the
    /// file's list. Also HOLDFAST_ALLOW.
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        value_parser = rule,
        hide_short_help = true,
        help_heading = RULES
    )]
    pub allow: Vec<Pattern>,
    /// Call none of these, whatever is allowed
    ///
    /// Written as for --allow, and beside those of the file. Also HOLDFAST_DENY.
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        value_parser = rule,
        hide_short_help = true,
        help_heading = RULES
    )]
    pub deny: Vec<Pattern>,
    /// Do not list the tools that rules refuse
    ///
    /// A client then does not see them, and they cost it no context. If it calls one all the same, the answer names the rule.
    #[arg(
        long,
        env = "HOLDFAST_HIDE_DENIED",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_short_help = true,
        help_heading = RULES
    )]
    pub hide_denied: bool,
    /// List these of the editor's tools at first
    ///
    /// Of a package with more than some 35 tools only a part is listed; the others can be called, and holdfast_tools finds them. Takes
    /// all, groups (Scenes), and rules as for --allow; several with commas between them. In place of the file's list.
    #[arg(
        long,
        value_name = "TOOLSET",
        env = "HOLDFAST_TOOLSETS",
        value_delimiter = ',',
        value_parser = Toolset::parse,
        hide_short_help = true,
        help_heading = RULES
    )]
    pub toolsets: Vec<Toolset>,
    /// Record each call in this file
    ///
    /// A line is added before each call is sent and when it has ended. A call that cannot be recorded is not sent.
    #[arg(
        long,
        value_name = "FILE",
        env = "HOLDFAST_AUDIT",
        value_hint = ValueHint::FilePath,
        hide_short_help = true,
        help_heading = RULES
    )]
    pub audit: Option<PathBuf>,
    /// Folder for catalogues, run records and large results
    #[arg(
        long,
        value_name = "DIR",
        env = "HOLDFAST_STATE_DIR",
        value_hint = ValueHint::DirPath,
        hide_short_help = true,
        help_heading = FILES
    )]
    pub state_dir: Option<PathBuf>,
    /// How much to log on stderr
    ///
    /// MCP_DEBUG=true means debug. The log in the state folder (`holdfast logs`) has at least info; off keeps none there either.
    #[arg(long, value_name = "LEVEL", env = "HOLDFAST_LOG", value_enum, hide_short_help = true, help_heading = FILES)]
    pub log: Option<Verbosity>,
    /// How log lines look
    #[arg(
        long,
        value_name = "FORMAT",
        env = "HOLDFAST_LOG_FORMAT",
        value_enum,
        default_value_t,
        hide_short_help = true,
        help_heading = FILES
    )]
    pub log_format: Format,
}

/// Whether a session of `serve` uses a hub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HubMode {
    /// The running one, if there is one; a new one where the editor needs it, or the settings say so.
    #[default]
    Auto,
    /// The running one, or else a new one.
    Start,
    /// None.
    Never,
}

/// Parses the value of `--dialect`: a dialect's name, or `auto` for what the project's files tell.
fn dialects() -> impl TypedValueParser<Value = Dialects> {
    let auto = PossibleValue::new("auto").help("What the project's files tell");
    let named = dialect::ALL.iter().map(|dialect| PossibleValue::new(dialect.name()).help(dialect.title()));
    PossibleValuesParser::new([auto].into_iter().chain(named))
        .map(|name| if name == "auto" { dialect::ALL } else { dialect::only(&name) })
}

/// Which editor, and how to treat client and editor.
#[derive(Debug, Clone, Args)]
pub struct GatewayArgs {
    #[command(flatten)]
    pub editor: EditorArgs,
    /// Whether a hub serves this session
    ///
    /// A hub is one gateway that several AI clients share (`holdfast hub`). It is used only if it runs already (auto), is started if
    /// none runs (start), or is never used.
    #[arg(long, value_name = "WHEN", env = "HOLDFAST_HUB", value_enum, default_value_t, help_heading = CLIENT)]
    pub hub: HubMode,
    /// Do not offer the editor a push listener
    #[arg(
        long,
        env = "HOLDFAST_NO_PUSH",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_short_help = true,
        help_heading = EDITOR
    )]
    pub no_push: bool,
    /// How long the client waits for an answer, in seconds
    ///
    /// In place of what is known of it (`holdfast doctor --clients`).
    #[arg(
        long,
        value_name = "SECONDS",
        env = "HOLDFAST_PATIENCE",
        value_parser = |text: &str| seconds(text, 6..=PATIENCE_MAX.as_secs()),
        hide_short_help = true,
        help_heading = CLIENT
    )]
    pub patience: Option<u64>,
    /// Whether the client honours tools/list_changed
    ///
    /// In place of what is known of it (`holdfast doctor --clients`).
    #[arg(
        long,
        value_name = "BOOL",
        env = "HOLDFAST_LIST_CHANGED",
        hide_short_help = true,
        help_heading = CLIENT
    )]
    pub list_changed: Option<bool>,
    #[command(flatten)]
    pub served: ServedArgs,
    #[command(flatten)]
    pub companions: CompanionArgs,
}

/// What a hub serves too.
#[derive(Debug, Clone, Args)]
pub struct ServedArgs {
    /// Serve Prometheus metrics and a status page
    ///
    /// On a loopback address: --metrics alone takes any free port of 127.0.0.1 and writes it to the state folder
    /// (metrics/PID.json); --metrics=127.0.0.1:9464 fixes it. Off by default; HOLDFAST_METRICS also takes `on` and `off`.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "HOLDFAST_METRICS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = MetricsChoice::from_str,
        help_heading = METRICS
    )]
    pub metrics: Option<MetricsChoice>,
    /// Write the records of the metrics into this folder too, for other users
    ///
    /// Where Prometheus finds this gateway (holdfast-PID.json), and the last counts of the one that ended last (holdfast_last_exit.prom).
    /// Everybody on this machine can read them: a service such as Grafana Alloy or node_exporter. The folder must exist.
    #[arg(
        long,
        value_name = "DIR",
        env = "HOLDFAST_METRICS_RECORDS",
        value_hint = ValueHint::DirPath,
        hide_short_help = true,
        help_heading = METRICS
    )]
    pub metrics_records: Option<PathBuf>,
}

/// What the documents of one package name beside its server.
#[derive(Debug, Clone, Args)]
pub struct CompanionArgs {
    /// Take the logs that the editor posts
    ///
    /// For get_logs and get_log_by_name: listens for HTTP on the loopback address that AI_LOGGER_URL names, else on
    /// 127.0.0.1:3030, while such an editor is served. Of several gateways the first has the port. Off by default.
    #[arg(
        long,
        env = "HOLDFAST_LOGGER",
        value_parser = clap::builder::FalseyValueParser::new(),
        hide_short_help = true,
        help_heading = COMPANIONS
    )]
    pub logger: bool,
    /// Serve the HTTP API of its documents
    ///
    /// POST /api/execute and /api/query, GET /api/result/ID, /api/logs and /api/log/ID, on 127.0.0.1, port 8080 unless another is
    /// given, while such an editor is served. Whoever can open that port can run code in Unity. Off by default;
    /// HOLDFAST_DOCUMENTED_HOP also takes `on` and `off`.
    #[arg(
        long,
        value_name = "PORT",
        env = "HOLDFAST_DOCUMENTED_HOP",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = documented_hop,
        hide_short_help = true,
        help_heading = COMPANIONS
    )]
    pub documented_hop: Option<DocumentedHop>,
}

/// The port of the HTTP API that Unity-MCP's documents describe; `None` if that API is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedHop(pub Option<u16>);

/// Parses the value of `--documented-hop`.
fn documented_hop(text: &str) -> Result<DocumentedHop, String> {
    match text.trim() {
        "" | "off" | "false" | "0" => Ok(DocumentedHop(None)),
        "on" | "true" | "1" => Ok(DocumentedHop(Some(Companion::DocumentedHop.port()))),
        text => match text.parse::<u16>() {
            Ok(port @ 1..) => Ok(DocumentedHop(Some(port))),
            _ => Err("it is a port (1 to 65535), or nothing at all for 8080".to_owned()),
        },
    }
}

impl GatewayArgs {
    /// Returns the configuration from the flags and the environment, and a complaint for each value that cannot be used.
    pub fn config(&self) -> (Config, Vec<String>) {
        let (config, mut complaints) = self.editor.config();
        complaints.extend(bad_project(&config).map(|bad| bad.to_string()));
        if let Some((state, owner)) = config.state_dir.as_deref().and_then(|state| Some((state, foreign_owner(state)?)))
        {
            complaints.push(format!(
                "the state folder {} belongs to another user (number {owner}), who can change and remove what is kept there, and whose \
                 hub is not used; name a folder of your own with --state-dir",
                clean(&state.to_string_lossy())
            ));
        }
        let url = variable("AI_LOGGER_URL").filter(|_| self.companions.logger);
        let (logger, complaint) = match url.as_deref().map(logger_address).transpose() {
            Ok(named) => (named.or(Some((Ipv4Addr::LOCALHOST, Companion::Logger.port()).into())), None),
            Err(complaint) => (None, Some(complaint)),
        };
        complaints.extend(complaint.clone());
        complaints.extend(self.served.metrics.and_then(|metrics| metrics.complaint("--metrics or HOLDFAST_METRICS")));
        let records =
            self.served.metrics_records.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let config = Config {
            documented_hop: self.companions.documented_hop.and_then(|hop| hop.0),
            logger: logger.filter(|_| self.companions.logger),
            complaints: config.complaints.into_iter().chain(complaint).collect(),
            push: !self.no_push,
            patience: self.patience.map(Duration::from_secs),
            list_changed: self.list_changed,
            metrics: self.served.metrics.map_or(config.metrics, |metrics| metrics.address),
            metrics_records: records.or(config.metrics_records),
            ..config
        };
        (config, complaints)
    }
}

impl EditorArgs {
    /// Returns the configuration from the flags and the environment, and a complaint for each variable that cannot be used. The
    /// caller checks the project with [`bad_project`]: a gateway runs without a project, a one-shot command does not.
    pub fn config(&self) -> (Config, Vec<String>) {
        let mut complaints = Vec::new();
        let mut ports: Vec<(u16, PortSource)> = self.port.map(|port| (port, PortSource::Flag)).into_iter().collect();
        for (name, source) in [("UNITY_TCP_PORT", PortSource::Environment), ("UNITY_PORT", PortSource::UnityPort)] {
            let Some(text) = variable(name) else { continue };
            match text.trim().parse::<u16>() {
                Ok(port @ 1..) => ports.push((port, source)),
                _ => complaints.push(format!(
                    "{name} is \"{}\", which is not a port (1 to 65535), and is not used; correct it or remove it",
                    clean(&text)
                )),
            }
        }
        let foreign_host = variable("UNITY_HOST").filter(|host| !is_this_machine(host));
        let working_dir = std::env::current_dir().ok();
        let project = self.project.as_ref().map(|project| match &working_dir {
            Some(here) => here.join(project),
            None => project.clone(),
        });
        // The path is made absolute (a flag may be relative): messages name this folder to people whose working directory differs.
        let state_dir = (self.shared.state_dir.clone().or_else(|| state_dir(System::HERE, variable)))
            .map(|path| std::path::absolute(&path).unwrap_or(path));
        let named = self.editor.as_deref().map(|name| (name, named_editor::project_of(name, state_dir.as_deref())));
        let project = match named {
            None => project,
            Some((_, Ok(found))) => Some(found),
            Some((name, Err(complaint))) => {
                complaints.push(complaint);
                // A folder that does not exist: then no other project is meant either.
                Some(working_dir.clone().unwrap_or_default().join(name).join("no such editor"))
            }
        };
        let mut file = file::read_user(&RealHost, self.shared.config.as_deref(), &places(System::HERE, variable));
        complaints.append(&mut file.complaints);
        let mut policy = self.policy(file.rules, file.path.as_deref(), file.grave, &mut complaints);
        let path = file.path.as_deref().map(|path| clean(&path.to_string_lossy())).unwrap_or_default();
        for (name, tools) in file.clients.tools() {
            let place = format!("`tools` of [clients.{}] in {path}", clean(&name));
            policy.choose_for_client(name, tools.to_vec(), &place);
        }
        for (name, settings) in file.projects {
            let place = format!("`tools` of [projects.{}] in {path}", clean(&name));
            policy.choose_in_project(name, settings.tools, &place);
        }
        let audit = self.shared.audit.as_ref();
        let audit = audit.map(|audit| working_dir.as_ref().map_or_else(|| audit.clone(), |here| here.join(audit)));
        let toolsets = Some(self.shared.toolsets.clone()).filter(|named| !named.is_empty());
        let note =
            file.gateway.metrics.and_then(|metrics| metrics.complaint(&format!("`metrics` of [gateway] in {path}")));
        let config = Config {
            policy,
            toolsets: toolsets.unwrap_or(file.gateway.toolsets),
            starts_hub: file.hub.start,
            audit: audit.or(file.audit),
            metrics: file.gateway.metrics.and_then(|metrics| metrics.address),
            metrics_records: file.gateway.metrics_records,
            clients: file.clients,
            file: file.path.map(|path| (path, file.found)),
            project,
            starts_in_project: working_dir.as_deref().is_some_and(crate::config::is_in_project),
            working_dir,
            ports,
            foreign_host,
            dialects: self.dialect,
            client_name: self.client_name.clone().or_else(|| variable("MCP_CLIENT_NAME")),
            development: self.development || variable("NODE_ENV").as_deref() == Some("development"),
            state_dir,
            editor_log: editor_log(System::HERE, variable),
            complaints: complaints.clone(),
            ..Config::default()
        };
        // It harms nothing, so it is told at the start, and is no problem in the status.
        complaints.extend(note);
        (config, complaints)
    }

    /// Combines the policies of the flags, the environment and the file. A tool is denied if any of the three denies it. Only the
    /// first allow list that is not empty is used: `--allow`, then `HOLDFAST_ALLOW`, then the file's. A variable that cannot be
    /// parsed makes the policy refuse every call.
    fn policy(
        &self,
        rules: PolicySection,
        path: Option<&Path>,
        mut grave: Vec<String>,
        complaints: &mut Vec<String>,
    ) -> Policy {
        let mut of_variable = |name: &str| -> Vec<Pattern> {
            let text = match std::env::var(name) {
                Err(std::env::VarError::NotUnicode(_)) => {
                    grave.push(format!("{name} is not UTF-8 text"));
                    complaints.push(format!("{name} is no UTF-8 text; correct it or remove it"));
                    String::new()
                }
                text => text.unwrap_or_default(),
            };
            let written = text.split(',').filter(|rule| !rule.trim().is_empty()).map(rule);
            written.collect::<Result<_, _>>().unwrap_or_else(|bad| {
                grave.push(format!("{name}: {bad}"));
                complaints.push(format!("{name}: {bad}"));
                Vec::new()
            })
        };
        let (allowed, denied) = (of_variable("HOLDFAST_ALLOW"), of_variable("HOLDFAST_DENY"));
        let file = path.map(|path| clean(&path.to_string_lossy())).unwrap_or_default();
        let mut policy = Policy::default();
        policy.deny(self.shared.deny.clone(), "--deny");
        policy.deny(denied, "HOLDFAST_DENY");
        policy.deny(rules.deny, &file);
        let lists = [(self.shared.allow.clone(), "--allow"), (allowed, "HOLDFAST_ALLOW"), (rules.allow, &file)];
        if let Some((nearest, place)) = lists.into_iter().find(|(list, _)| !list.is_empty()) {
            policy.allow(nearest, place);
        }
        if self.shared.hide_denied {
            policy.hide_denied("--hide-denied");
        }
        if rules.hide_denied {
            policy.hide_denied(&file);
        }
        for why in grave {
            policy.refuse_all(why);
        }
        policy
    }

    /// Returns the log level. If the user gives none: debug if MCP_DEBUG is `true`; otherwise errors only if `quiet`, which is
    /// for commands whose output is for people; otherwise info.
    pub fn verbosity(&self, quiet: bool) -> Verbosity {
        let debug = variable("MCP_DEBUG").as_deref() == Some("true");
        self.shared.log.unwrap_or(match (debug, quiet) {
            (true, _) => Verbosity::Debug,
            (false, true) => Verbosity::Error,
            (false, false) => Verbosity::Info,
        })
    }
}

/// Returns why the project that the user named cannot be used; `None` if it can be used or none was named.
pub fn bad_project(config: &Config) -> Option<BadProject> {
    config.project.as_deref().and_then(|project| crate::config::named_project(project).err())
}

/// Parses one rule of a flag or a variable.
pub(super) fn rule(text: &str) -> Result<Pattern, BadPattern> {
    Pattern::parse(text.trim())
}

/// Parses a number of seconds of a flag.
pub(super) fn seconds(text: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let parsed = text.trim().parse::<u64>().ok().filter(|seconds| bounds.contains(seconds));
    parsed.ok_or_else(|| format!("a number of seconds is meant, from {} to {}", bounds.start(), bounds.end()))
}

/// Parses the port of a flag.
fn port(text: &str) -> Result<u16, String> {
    match text.trim().parse::<u16>() {
        Ok(port @ 1..) => Ok(port),
        _ => {
            Err("a port is a number from 1 to 65535; the package's window in Unity shows the one it listens on"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_api_is_on_the_port_that_is_given_or_on_theirs() {
        let on = |port| Ok(DocumentedHop(port));
        for (text, meant) in
            [("on", on(Some(8080))), ("1", on(Some(8080))), ("9000", on(Some(9000))), ("off", on(None)), ("", on(None))]
        {
            assert_eq!(documented_hop(text), meant, "{text}");
        }
        for text in ["65536", "-1", "127.0.0.1:8080", "x"] {
            assert!(documented_hop(text).is_err(), "{text}");
        }
    }

    #[test]
    fn metrics_are_served_on_loopback_or_not_at_all() {
        let of = |address: Option<&str>, names_level| {
            Ok(MetricsChoice { address: address.map(|address| address.parse().unwrap()), names_level })
        };
        let any = Some("127.0.0.1:0");
        for (text, address, names_level) in [
            ("on", any, false),
            ("1", any, false),
            ("off", None, false),
            ("", None, false),
            ("127.0.0.1:9464", Some("127.0.0.1:9464"), false),
            ("[::1]:0", Some("[::1]:0"), false),
            // What earlier versions took.
            ("full", any, true),
            ("basic", any, true),
            ("on,basic", any, true),
            ("localhost:9464, basic", Some("127.0.0.1:9464"), true),
        ] {
            let choice = text.parse::<MetricsChoice>();
            assert_eq!(choice, of(address, names_level), "{text}");
            assert_eq!(choice.unwrap().complaint("--metrics").is_some(), names_level, "{text}");
        }
        for text in ["0.0.0.0:9464", "192.168.1.2:80,basic", "[::]:9464"] {
            assert!(text.parse::<MetricsChoice>().unwrap_err().contains("only loopback"), "{text}");
        }
        for text in ["9464", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "basics"] {
            assert!(text.parse::<MetricsChoice>().unwrap_err().contains("such as 127.0.0.1:9464"), "{text}");
        }
        assert!("on,some".parse::<MetricsChoice>().unwrap_err().contains("basic or full"));
    }
}
