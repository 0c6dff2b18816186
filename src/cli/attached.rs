//! Decides whether a hub has the links of a session: of a session of `holdfast serve`, or of one that a command opens.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::time::timeout;

use super::gateway_args::HubMode;
use super::output;
use crate::actors::attachment::HubSeat;
use crate::actors::parts::Parts;
use crate::config::Config;
use crate::limits::ROUTE_LOOK_EVERY;
use crate::limits::hub::HUB_DECIDED_MAX;
use crate::link::HubPort;
use crate::platform::host::{self, RealHost};
use crate::platform::{background, filesystem};
use crate::protocol::mcp::clients::known_clients;
use crate::runtime::slot::Slot;
use crate::storage::hub_folder::{HubFolder, HubLock};
use crate::survey;

/// holdfast's own variables that belong to one session. A hub that a session starts must not have them: they would bind all sessions.
const OF_A_SESSION: &[&str] = &[
    "HOLDFAST_ALLOW",
    "HOLDFAST_AUDIT",
    "HOLDFAST_CLIENT_NAME",
    "HOLDFAST_CONFIG",
    "HOLDFAST_DENY",
    "HOLDFAST_DEVELOPMENT",
    "HOLDFAST_DIALECT",
    "HOLDFAST_EDITOR",
    "HOLDFAST_HTTP",
    "HOLDFAST_HTTP_HOST",
    "HOLDFAST_HTTP_TOKEN_FILE",
    "HOLDFAST_LIST_CHANGED",
    "HOLDFAST_LOG",
    "HOLDFAST_LOG_FORMAT",
    "HOLDFAST_PATIENCE",
    "HOLDFAST_PORT",
    "HOLDFAST_PROJECT",
    "MCP_CLIENT_NAME",
    "MCP_DEBUG",
    "NODE_ENV",
    "UNITY_HOST",
    "UNITY_PORT",
    "UNITY_TCP_PORT",
];

/// Returns whether a session uses a hub. The user's file may say that one is started. The editor of some packages connects to one
/// port for all projects, which only one process can have: then a hub is started too. So it is where the editor has room for one
/// client, but not for a command: alone, a command needs no hub. A disk that hangs does not keep the session from its client.
pub(super) async fn mode(config: &Arc<Config>, wished: HubMode) -> HubMode {
    if wished != HubMode::Auto {
        return wished;
    }
    if config.starts_hub {
        return HubMode::Start;
    }
    let config = Arc::clone(config);
    let needs_hub = host::run(&RealHost, move || {
        let survey = survey::survey(&RealHost, &config, &[], None);
        let properties = survey.dialect.properties();
        let shares_port = survey.dialect.reception().is_some() && !properties.default_ports.is_empty();
        survey.facts.installed && (shares_port || (properties.one_client && !config.whole_results))
    });
    let needs_hub = timeout(HUB_DECIDED_MAX, needs_hub).await.ok().flatten();
    if needs_hub == Some(true) { HubMode::Start } else { wished }
}

/// Returns what the session of this name needs to use the links of a hub; `None` if its links are in this process.
pub(super) fn seat(parts: &Parts, mode: HubMode, name: String) -> Option<Arc<HubSeat>> {
    let config = &parts.env.config;
    let state = config.state_dir.as_deref()?;
    let folder = HubFolder::of(state);
    match mode {
        HubMode::Never => return None,
        // Mostly no hub runs, and to see that costs one look at a file.
        HubMode::Auto if folder.running().is_none() => {
            if let HubLock::Unknown(error) = folder.hub_lock() {
                parts.env.events.hub_refused(&format!("whether a hub runs cannot be found out: {error}"));
            }
            return None;
        }
        HubMode::Auto | HubMode::Start => {}
    }
    if let Some(why) = unfit(config).or_else(|| {
        let why = filesystem::unreliable_locks(state)?;
        Some(format!("the state folder is on {why}, where locks of files are not reliable"))
    }) {
        parts.env.events.hub_refused(&format!("this session is served in its own process: {why}"));
        return None;
    }
    // A command that finds no hub any more does without one.
    let is_wanted = mode == HubMode::Start || !config.whole_results;
    let may_start = is_wanted && !background::is_shared_with_container(state);
    let command = may_start.then(|| {
        let program = std::env::current_exe().ok()?;
        let mut arguments: Vec<OsString> =
            ["hub", "--leave-when-idle", "--log", "warn", "--state-dir"].map(OsString::from).to_vec();
        arguments.push(state.into());
        Some((program, arguments))
    });
    let port = Arc::<HubPort>::default();
    parts.links.use_hub(Arc::clone(&port));
    // Other sessions may have many editors. So this session looks for a project now and then, and not at each request.
    parts.client.meant(|meant| meant.look_every = ROUTE_LOOK_EVERY);
    // What the client said of itself to this process is said of one session too.
    let of_clients =
        known_clients().iter().flat_map(|client| [client.project_variable.value(), client.session_variable.value()]);
    let variables = OF_A_SESSION.iter().copied().chain(of_clients.flatten()).map(OsString::from).collect();
    Some(Arc::new(HubSeat {
        env: Arc::clone(&parts.env),
        client: Arc::clone(&parts.client),
        links: Arc::clone(&parts.links),
        port,
        actor: Slot::default(),
        rules: config.session_rules(),
        name,
        starts: mode == HubMode::Start,
        command: command.flatten().map(|(program, arguments)| background::Program { program, arguments, variables }),
        folder,
        listing: Mutex::default(),
        explaining: AtomicBool::new(false),
        is_command: config.whole_results,
        served: AtomicBool::new(false),
        input_ended: AtomicBool::new(false),
        records: Mutex::default(),
        unreadable: AtomicU32::new(0),
        embeds: watch::Sender::new(false),
    }))
}

/// Returns what the session of a command needs to use a hub; `None` if no hub runs and none is to be started, or if it may not be used.
/// `wished`: what its user says; without it the environment decides whether the running hub is used.
pub(super) async fn seat_of_command(parts: &Parts, wished: Option<HubMode>, name: String) -> Option<Arc<HubSeat>> {
    let of_environment = || match std::env::var("HOLDFAST_HUB") {
        Ok(mode) if mode.eq_ignore_ascii_case("never") => HubMode::Never,
        _ => HubMode::Auto,
    };
    let mode = match wished {
        Some(wished) => mode(&parts.env.config, wished).await,
        None => of_environment(),
    };
    parts.client.be_named(|| name.as_str().into());
    let state = parts.env.config.state_dir.as_deref()?;
    if mode == HubMode::Start && HubFolder::of(state).running().is_none() {
        output::complain(
            "holdfast: no hub runs, so one is started; it ends by itself when nobody has used it for a while",
        );
    }
    seat(parts, mode, name)
}

/// Returns why a session with this configuration cannot use a hub: some settings need links in its own process.
fn unfit(config: &Config) -> Option<String> {
    let wants = [
        (!config.ports.is_empty(), "a port was named (--port, UNITY_TCP_PORT or UNITY_PORT)"),
        (config.foreign_host.is_some(), "UNITY_HOST names another machine"),
        (config.dialects != crate::protocol::dialect::ALL, "--dialect was given"),
        (config.development, "development tools are shown (--development, NODE_ENV)"),
        // A command offers no push listener of its own.
        (!config.push && !config.whole_results, "--no-push was given"),
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
            Config { dialects: &crate::protocol::dialect::ALL[..1], ..Config::default() },
        ] {
            assert!(unfit(&config).is_some(), "{config:?}");
        }
    }
}
