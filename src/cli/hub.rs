//! `holdfast hub`: one gateway for several AI clients. And the decision of `holdfast serve` whether a hub serves its session.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use clap::Args;
use tokio::sync::{mpsc, watch};

use super::gateway_args::{DialectChoice, EditorArgs, GatewayArgs};
use super::serve::{self, log_panics, watch_signals};
use super::{Exit, output, resources};
use crate::actors::gateway::OnWorkers;
use crate::actors::parts::Parts;
use crate::actors::relay::RelaySeat;
use crate::config::{Config, MetricsAddress};
use crate::core::shutdown::ShutdownReason;
use crate::limits::{CLAIM_ATTEMPTS, CLAIM_PAUSE, FLUSH_MAX};
use crate::net::Tcp;
use crate::platform::background;
use crate::platform::filesystem;
use crate::platform::host::{Host as _, RealHost};
use crate::platform::local_socket::Listener;
use crate::protocol::hub::NEWEST;
use crate::protocol::policy::Pattern;
use crate::runtime::environment::Environment;
use crate::runtime::outbox::SERVER;
use crate::services::metrics::Exporter;
use crate::storage::call_files::CallFile;
use crate::storage::hub_folder::{Elected, HubFolder, HubInfo};
use crate::telemetry::flight::seconds;
use crate::telemetry::logs::{self, Format, Verbosity};
use crate::transport::hub;

/// Whether a session of `serve` uses a hub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HubMode {
    /// The running one, if there is one.
    #[default]
    Auto,
    /// The running one, or else a new one.
    Start,
    /// None.
    Never,
}

/// Flags of `holdfast hub`.
#[derive(Debug, Clone, Args)]
pub struct HubArgs {
    /// The configuration file, in place of the user's own (docs/configuration.md).
    #[arg(long, value_name = "FILE", env = "HOLDFAST_CONFIG")]
    pub config: Option<PathBuf>,
    /// Call only these of the editors' tools, whatever a session allows: names with * and ?, or annotations such as @read-only.
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = super::gateway_args::rule)]
    pub allow: Vec<Pattern>,
    /// Call none of these, in any session.
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = super::gateway_args::rule)]
    pub deny: Vec<Pattern>,
    /// Add a line to this file before each call of any session is sent and when it has ended.
    #[arg(long, value_name = "FILE", env = "HOLDFAST_AUDIT")]
    pub audit: Option<PathBuf>,
    /// Folder for catalogues, run records and large results. Sessions with the same folder find this hub.
    #[arg(long, value_name = "DIR", env = "HOLDFAST_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// How much to log on stderr.
    #[arg(long, value_name = "LEVEL", env = "HOLDFAST_LOG", value_enum)]
    pub log: Option<Verbosity>,
    /// How log lines look.
    #[arg(long, value_name = "FORMAT", env = "HOLDFAST_LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: Format,
    /// Do not offer editors a push listener.
    #[arg(long, env = "HOLDFAST_NO_PUSH", value_parser = clap::builder::FalseyValueParser::new())]
    pub no_push: bool,
    /// Serve Prometheus metrics and a status page on a loopback address, as in `serve`.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "HOLDFAST_METRICS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on",
        value_parser = <MetricsAddress as std::str::FromStr>::from_str
    )]
    pub metrics: Option<MetricsAddress>,
    /// End when no session was open for a minute.
    #[arg(long)]
    pub leave_when_idle: bool,
}

impl HubArgs {
    /// Returns the configuration of the hub. What belongs to one session (project, port, client) is not in it, whatever the
    /// environment says.
    fn config(&self) -> (Config, Vec<String>) {
        let arguments = GatewayArgs {
            editor: EditorArgs {
                project: None,
                port: None,
                dialect: DialectChoice::Auto,
                client_name: None,
                development: false,
                config: self.config.clone(),
                allow: self.allow.clone(),
                deny: self.deny.clone(),
                audit: self.audit.clone(),
                state_dir: self.state_dir.clone(),
                log: self.log,
                log_format: self.log_format,
            },
            hub: HubMode::Never,
            no_push: self.no_push,
            patience: None,
            list_changed: None,
            metrics: self.metrics,
            logger: false,
            documented_hop: None,
        };
        let (config, complaints) = arguments.config();
        let config = Config {
            working_dir: None,
            ports: Vec::new(),
            foreign_host: None,
            client_name: None,
            development: false,
            ..config
        };
        (config, complaints)
    }
}

/// Runs a hub until a signal ends it, a newer one replaces it, or it is idle and may leave.
pub fn run(arguments: &HubArgs) -> ExitCode {
    if let Err(error) = resources::spare_threads().and_then(|()| resources::spare_descriptors()) {
        return resources::refused(&error).into();
    }
    let (config, complaints) = arguments.config();
    let Some(state) = config.state_dir.clone() else {
        return fail("there is no state folder, in which sessions could find the hub; name one with --state-dir");
    };
    if let Some(why) = filesystem::unreliable_locks(&state) {
        return fail(&format!(
            "{} is on {why}, where locks of files are not reliable: two hubs could run at once. Name a folder on this machine's own \
             disk with --state-dir",
            state.display()
        ));
    }
    let folder = HubFolder::of(&state);
    let elected = match elect(&folder) {
        Ok(Some(elected)) => elected,
        Ok(None) => {
            let pid = folder.running().map(|running| format!(" (pid {})", running.pid)).unwrap_or_default();
            output::complain(&format!("holdfast: a hub runs already{pid}; sessions use that one"));
            return Exit::Ok.into();
        }
        Err(error) => return fail(&format!("the folder of the hub in {} cannot be used: {error}", state.display())),
    };
    let logs = logs::start(arguments.log.unwrap_or(Verbosity::Info), arguments.log_format);
    log_panics();
    let (runtime, workers) = match serve::runtimes() {
        Ok(both) => both,
        Err(error) => return resources::refused(&error).into(),
    };
    let why: Result<ShutdownReason, String> = runtime.block_on(async {
        let host = Arc::new(RealHost);
        let records =
            CallFile::open(&folder.records(), uuid::Builder::from_random_bytes(host.random()).into_uuid().to_string());
        let records = records.map_err(|error| {
            format!("the hub's records in {} cannot be written: {error}", folder.records().display())
        })?;
        let parts = Parts::of(Environment::with_records(config, Arc::new(Tcp), host, Some(Arc::new(records))));
        parts.env.health.count_tasks_of(tokio::runtime::Handle::current());
        parts.env.health.count_tasks_of(workers.handle().clone());
        for complaint in complaints {
            parts.env.events.project_problem(&complaint);
        }
        if let Some(logs) = &logs {
            parts.env.events.watch_logs(logs.counts());
        }
        let listener = listen(&parts, &folder, &elected)?;
        let (quit, quitting) = mpsc::channel(4);
        parts.env.health.spawn("signals", watch_signals(quit));
        let exporter = Exporter::start(&parts);
        let spawn = OnWorkers(workers.handle().clone());
        let why = hub::run(&parts, spawn, listener, arguments.leave_when_idle, quitting).await;
        exporter.end(&parts, why).await;
        Ok(why)
    });
    // A successor may take over from here on: the socket is closed, and every call that was sent has its verdict.
    drop(elected);
    workers.shutdown_timeout(FLUSH_MAX);
    runtime.shutdown_timeout(FLUSH_MAX);
    drop(logs);
    match why {
        Ok(ShutdownReason::Exhausted) => {
            output::complain(
                "holdfast: a part of the hub failed that cannot be started again (our fault, please report it)",
            );
            Exit::Internal.into()
        }
        Ok(_) => Exit::Ok.into(),
        Err(says) => fail(&says),
    }
}

fn fail(says: &str) -> ExitCode {
    output::complain(&format!("holdfast: {says}"));
    Exit::Failed.into()
}

/// Makes this process the hub. `None` if another process is. A process that looks whether a hub runs holds the lock for a moment.
fn elect(folder: &HubFolder) -> io::Result<Option<Elected>> {
    for _ in 1..CLAIM_ATTEMPTS {
        if let Some(elected) = folder.elect()? {
            return Ok(Some(elected));
        }
        std::thread::sleep(CLAIM_PAUSE);
    }
    folder.elect()
}

/// Binds the hub's socket, and writes where it is.
fn listen(parts: &Parts, folder: &HubFolder, elected: &Elected) -> Result<Listener, String> {
    let socket = folder.socket();
    let listener = Listener::bind(&socket)
        .map_err(|error| format!("the hub's socket {} cannot be opened: {error}", socket.display()))?;
    let info = HubInfo {
        pid: std::process::id(),
        version: SERVER.version.to_owned(),
        hub: parts.env.boot.clone(),
        started: seconds(RealHost.now()),
        protocol: NEWEST,
        socket: socket.clone(),
    };
    if let Err(error) = elected.publish(&info) {
        // Sessions find the hub by its socket. Only people miss the file.
        parts.env.events.trouble_with("hub_info", &error.to_string());
    }
    parts.env.events.hub_serving(&info.hub, &socket.display().to_string());
    Ok(listener)
}

/// The variables that belong to one session. A hub that a session starts must not have them: they would bind all sessions.
const OF_A_SESSION: &[&str] = &[
    "HOLDFAST_ALLOW",
    "HOLDFAST_AUDIT",
    "HOLDFAST_CLIENT_NAME",
    "HOLDFAST_CONFIG",
    "HOLDFAST_DENY",
    "HOLDFAST_DEVELOPMENT",
    "HOLDFAST_DIALECT",
    "HOLDFAST_LIST_CHANGED",
    "HOLDFAST_PATIENCE",
    "HOLDFAST_PORT",
    "HOLDFAST_PROJECT",
    "MCP_CLIENT_NAME",
    "NODE_ENV",
    "UNITY_HOST",
    "UNITY_PORT",
    "UNITY_TCP_PORT",
];

/// Returns what a session needs to be served by a hub; `None` if it is served in this process.
pub(super) fn seat(parts: &Parts, mode: HubMode) -> Option<Arc<RelaySeat>> {
    let config = &parts.env.config;
    let state = config.state_dir.as_deref()?;
    let folder = HubFolder::of(state);
    match mode {
        HubMode::Never => return None,
        // The common case, in which no hub runs, costs one look at a file.
        HubMode::Auto if folder.running().is_none() => return None,
        HubMode::Auto | HubMode::Start => {}
    }
    if let Some(why) = unfit(config).or_else(|| {
        let why = filesystem::unreliable_locks(state)?;
        Some(format!("the state folder is on {why}, where locks of files are not reliable"))
    }) {
        parts.env.events.hub_refused(&format!("this session is served in its own process: {why}"));
        return None;
    }
    let command = (!background::is_shared_with_container(state)).then(|| {
        let program = std::env::current_exe().ok()?;
        let mut arguments: Vec<OsString> = ["hub", "--leave-when-idle", "--state-dir"].map(OsString::from).to_vec();
        arguments.push(state.into());
        Some((program, arguments))
    });
    let variables = OF_A_SESSION.iter().map(|name| (*name).into()).collect();
    Some(Arc::new(RelaySeat {
        env: Arc::clone(&parts.env),
        client: Arc::clone(&parts.client),
        rules: config.session_rules(),
        name: parts.env.fresh(),
        starts: mode == HubMode::Start,
        command: command.flatten().map(|(program, arguments)| background::Program { program, arguments, variables }),
        folder,
        requests: Mutex::default(),
        served: AtomicBool::new(false),
        embeds: watch::Sender::new(false),
    }))
}

/// Returns why a session with this configuration cannot be served by a hub: it wants what only a process of its own can do.
fn unfit(config: &Config) -> Option<String> {
    let wants = [
        (!config.ports.is_empty(), "a port was named (--port, UNITY_TCP_PORT or UNITY_PORT)"),
        (config.foreign_host.is_some(), "UNITY_HOST names another machine"),
        (config.dialects != crate::protocol::dialect::ALL, "--dialect was given"),
        (config.development, "development tools are shown (--development, NODE_ENV)"),
        (!config.push, "--no-push was given"),
        (
            config.metrics.is_some(),
            "it serves metrics of its own (--metrics); `holdfast hub --metrics` serves those of all",
        ),
        (config.logger.is_some(), "--logger was given"),
        (config.documented_hop.is_some(), "--documented-hop was given"),
    ];
    wants.iter().find(|(wanted, _)| *wanted).map(|(_, why)| (*why).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_wants_what_only_its_own_process_can_do_is_not_given_to_a_hub() {
        assert_eq!(unfit(&Config::default()), None);
        let port = (8700, crate::config::PortSource::Flag);
        for config in [
            Config { ports: vec![port], ..Config::default() },
            Config { development: true, ..Config::default() },
            Config { push: false, ..Config::default() },
            Config { metrics: Some(([127, 0, 0, 1], 0).into()), ..Config::default() },
            Config { documented_hop: Some(8080), ..Config::default() },
            Config { dialects: crate::protocol::dialect::ULOOP, ..Config::default() },
        ] {
            assert!(unfit(&config).is_some(), "{config:?}");
        }
    }
}
