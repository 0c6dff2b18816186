//! `holdfast hub`: one gateway for several AI clients.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tokio::sync::mpsc;

use super::gateway_args::{CompanionArgs, EditorArgs, GatewayArgs, HubMode, ServedArgs, SharedArgs};
use super::http::{HttpArgs, HttpSettings};
use super::serve::{self, log_panics, watch_signals};
use super::{Exit, output, resources};
use crate::actors::gateway::OnWorkers;
use crate::actors::instance_keeper::HubRecord;
use crate::actors::parts::Parts;
use crate::config::Config;
use crate::core::ShutdownReason;
use crate::limits::http::HTTP_DESCRIPTORS;
use crate::limits::{CLAIM_ATTEMPTS, CLAIM_PAUSE, DRAIN_MAX, FLUSH_MAX, RUNNING_MAX};
use crate::platform::filesystem;
use crate::platform::host::{Host as _, RealHost};
use crate::platform::local_socket::Listener;
use crate::platform::network::Network;
use crate::protocol::dialect;
use crate::protocol::hub::NEWEST;
use crate::runtime::environment::Environment;
use crate::runtime::outbox::SERVER;
use crate::services::metrics::Exporter;
use crate::storage::call_files::CallFile;
use crate::storage::hub_folder::{Elected, HubFolder, HubInfo};
use crate::telemetry::flight::seconds;
use crate::telemetry::logs::{self, Verbosity};
use crate::transport::hub;
use crate::transport::several::Several;

#[derive(Debug, Clone, Args)]
pub struct HubArgs {
    #[command(flatten)]
    pub shared: SharedArgs,
    /// What is served beside the sessions.
    #[command(flatten)]
    pub served: ServedArgs,
    /// Do not offer editors a push listener.
    #[arg(long, env = "HOLDFAST_NO_PUSH", value_parser = clap::builder::FalseyValueParser::new(), hide_short_help = true)]
    pub no_push: bool,
    /// End when no session was open for a minute.
    #[arg(long, conflicts_with = "http")]
    pub leave_when_idle: bool,
    /// What is served over HTTP.
    #[command(flatten)]
    pub http: HttpArgs,
}

impl HubArgs {
    /// Returns the configuration of the hub. Settings of one session (project, port, client) are not in it, whatever
    /// the environment says.
    fn config(&self) -> (Config, Vec<String>) {
        let arguments = GatewayArgs {
            editor: EditorArgs {
                project: None,
                editor: None,
                port: None,
                dialect: dialect::ALL,
                client_name: None,
                development: false,
                shared: self.shared.clone(),
            },
            hub: HubMode::Never,
            no_push: self.no_push,
            patience: None,
            list_changed: None,
            served: self.served.clone(),
            companions: CompanionArgs { logger: false, documented_hop: None },
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
    let http = match arguments.http.settings() {
        Ok(http) => http,
        Err(says) => return wrong(&says),
    };
    if http.is_some() {
        resources::raise_descriptors(HTTP_DESCRIPTORS);
    }
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
    let (elected, starting) = match elect(&folder) {
        Ok(Some(elected)) => (elected, None),
        Ok(None) if let Some(http) = &http => match take_over(&folder, http) {
            Ok((elected, starting)) => (elected, Some(starting)),
            Err(says) => return fail(&says),
        },
        Ok(None) => {
            let pid = folder.running().map(|running| format!(" (pid {})", running.pid)).unwrap_or_default();
            output::complain(&format!("holdfast: a hub runs already{pid}; sessions use that one"));
            return Exit::Ok.into();
        }
        Err(error) => return fail(&format!("the folder of the hub in {} cannot be used: {error}", state.display())),
    };
    // A person at a terminal gets sentences in place of the log, and only its warnings and errors.
    let is_person = !arguments.leave_when_idle && io::stderr().is_terminal() && io::stdin().is_terminal();
    let usual = if is_person { Verbosity::Warn } else { Verbosity::Info };
    let logs = logs::start(arguments.shared.log.unwrap_or(usual), arguments.shared.log_format, Some(&state));
    log_panics();
    let (runtime, workers) = match serve::runtimes() {
        Ok(both) => both,
        Err(error) => return resources::refused(&error).into(),
    };
    let why: Result<ShutdownReason, String> = runtime.block_on(async {
        let host = Arc::new(RealHost);
        let name = uuid::Builder::from_random_bytes(host.random()).into_uuid().to_string();
        let records = elected.lock_placed().and_then(|lock| CallFile::open(&folder.records(), name, lock));
        let records = records.map_err(|error| {
            format!("the hub's records in {} cannot be written: {error}", folder.records().display())
        })?;
        let parts = Parts::of(Environment::with_records(config, Arc::new(Network), host, Some(Arc::new(records))));
        parts.env.health.count_tasks_of(tokio::runtime::Handle::current());
        parts.env.health.count_tasks_of(workers.handle().clone());
        parts.env.events.gateway_started("hub");
        for complaint in complaints {
            parts.env.events.project_problem(&complaint);
        }
        let several = Arc::new(Several::start(Arc::clone(&parts), OnWorkers(workers.handle().clone())));
        hub::recover(&parts);
        // This comes before any session: a hub that cannot serve everything that it was told to serve does not start.
        let token_file = http.as_ref().and_then(|http| http.token_file(&state));
        let http = match http {
            Some(http) => Some(http.serve(&parts, &several, &state).await?),
            None => None,
        };
        let greeting = is_person.then(|| greeting(parts.env.http_url().as_deref(), token_file.as_deref()));
        let listener = listen(&parts, &folder, &elected, arguments.leave_when_idle, token_file)?;
        for line in greeting.into_iter().flatten() {
            output::complain(&line);
        }
        drop(starting);
        let (quit, quitting) = mpsc::channel(4);
        parts.env.health.spawn("signals", watch_signals(quit));
        let exporter = Exporter::start(&parts);
        let record = HubRecord::keep(&parts);
        let leaves = arguments.leave_when_idle;
        let why = hub::run(&parts, &several, listener, (leaves, || elected.is_current()), quitting).await;
        if let Some(http) = http {
            http.end().await;
        }
        record.remove().await;
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

/// Returns the lines for a person at the terminal, once the hub serves.
fn greeting(url: Option<&str>, token_file: Option<&Path>) -> Vec<String> {
    let mut lines = match url {
        Some(url) => vec![format!("MCP over HTTP at {url}"), "Set up a client:  holdfast setup NAME --http".to_owned()],
        None => vec!["One gateway for all AI clients of this user: sessions that start now share it.".to_owned()],
    };
    lines.extend(token_file.map(|file| format!("Token:            {}", file.display())));
    lines.push("Who is served:    holdfast status".to_owned());
    lines.push("Ctrl-C ends it.".to_owned());
    lines
}

fn wrong(says: &str) -> ExitCode {
    output::complain(&format!("holdfast: {says}"));
    Exit::Usage.into()
}

fn fail(says: &str) -> ExitCode {
    output::complain(&format!("holdfast: {says}"));
    Exit::Failed.into()
}

/// Makes this process the hub. `None` if another process is. A process that only looks whether a hub runs holds the
/// lock for a moment, so this tries again.
fn elect(folder: &HubFolder) -> io::Result<Option<Elected>> {
    several_times(|| folder.elect())
}

fn several_times<T>(take: impl Fn() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
    for _ in 1..CLAIM_ATTEMPTS {
        if let Some(taken) = take()? {
            return Ok(Some(taken));
        }
        std::thread::park_timeout(CLAIM_PAUSE);
    }
    take()
}

/// Makes this process the hub in place of a hub that a session started, because this one is to serve HTTP. The sessions
/// of the other hub come to this one. Also returns the lock that keeps them from starting another hub meanwhile.
///
/// # Errors
/// Why the other hub stays, with the fix.
fn take_over(folder: &HubFolder, http: &HttpSettings) -> Result<(Elected, File), String> {
    let Some(running) = folder.running() else {
        return Err("another hub is starting or ending; try again in a moment".to_owned());
    };
    let pid = running.pid;
    if let Some(url) = &running.http {
        return Err(format!(
            "a hub (pid {pid}) serves MCP at {url} already; to serve it elsewhere, end that process first"
        ));
    }
    if !running.leaves {
        return Err(format!("a hub without --http runs already (pid {pid}); end that process first"));
    }
    let cannot =
        |why: &dyn std::fmt::Display| format!("the running hub (pid {pid}) does not make way: {why}; end that process");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| cannot(&error))?;
    // The other hub need not end for settings that cannot be served.
    runtime.block_on(http.check())?;
    let starting = several_times(|| folder.begin_start()).map_err(|error| cannot(&error))?;
    let starting = starting.ok_or_else(|| cannot(&"a session starts one at this moment"))?;
    output::complain(&format!("holdfast: takes over from the hub that a session started (pid {pid})"));
    let name = uuid::Builder::from_random_bytes(RealHost.random()).into_uuid().simple().to_string();
    runtime.block_on(hub::ask_to_retire(&folder.socket(), name)).map_err(|error| cannot(&error))?;
    // The other hub first lets the calls end that it sent.
    let patience = RealHost.now() + RUNNING_MAX + DRAIN_MAX;
    loop {
        match folder.elect() {
            Ok(Some(elected)) => return Ok((elected, starting)),
            Ok(None) if RealHost.now() < patience => std::thread::park_timeout(CLAIM_PAUSE),
            Ok(None) => return Err(cannot(&"it still has calls")),
            Err(error) => return Err(cannot(&error)),
        }
    }
}

fn listen(
    parts: &Parts,
    folder: &HubFolder,
    elected: &Elected,
    leaves: bool,
    http_token_file: Option<PathBuf>,
) -> Result<Listener, String> {
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
        http: parts.env.http_url(),
        http_at: parts.env.http(),
        http_token_file,
        leaves,
    };
    if let Err(error) = elected.publish(&info) {
        // Sessions find the hub by its socket. Only people miss the file.
        parts.env.events.trouble_with("hub_info", &error.to_string());
    }
    let starts = parts.env.records.as_ref().map(|records| records.starts).unwrap_or_default();
    parts.env.events.hub_serving(&info.hub, &socket.display().to_string(), starts);
    Ok(listener)
}
