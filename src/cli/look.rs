//! What `status` and `doctor` learn about an editor without a greeting: the survey, and the process that listens on
//! each port.

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::config::{Config, PortSource};
use crate::fsm::bridge::ConnectFailure;
use crate::limits::CONNECT_TIMEOUT;
use crate::net::{Net as _, Tcp};
use crate::platform::host::{Host as _, Liveness, Owner, RealHost};
use crate::platform::local_socket;
use crate::platform::network::Network;
use crate::protocol::dialect::{Endpoint, LocalSocket};
use crate::protocol::text::clean;
use crate::survey::{self, Survey, Target};

/// Whether a gateway would connect to a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A gateway connects: the port's owner is this project's editor.
    Checked,
    /// A gateway connects: the user named the port, and nothing speaks against it.
    Assumed,
    /// A gateway does not connect: the port belongs to another project, or nothing proves which project it belongs to.
    Refused(ConnectFailure),
    /// A gateway does not connect, for the reason that the survey gives.
    Listed(String),
}

impl Standing {
    /// Whether a gateway would connect to the port.
    pub fn callable(&self) -> bool {
        matches!(self, Self::Checked | Self::Assumed)
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Assumed => "assumed",
            Self::Refused(failure) => failure.into(),
            Self::Listed(_) => "not_called",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// 0 for a local socket.
    pub port: u16,
    /// The local socket in words, if it is one.
    pub socket: Option<String>,
    /// Why the local socket is not connected to although it may be there.
    pub unsafe_because: Option<String>,
    pub source: PortSource,
    pub listening: bool,
    /// The process that listens there, if the system reports it.
    pub owner: Option<Owner>,
    /// Whether a gateway would connect to the port.
    pub standing: Standing,
    /// How the editor and the gateway come together there.
    pub way: Way,
}

/// How an editor and a gateway come together at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The editor listens.
    Editor,
    /// The editor listens, and has room for one client: nobody connects to look.
    OneClient,
    /// A gateway listens.
    Gateway,
}

/// The result of the survey, and the ports, at one moment.
#[derive(Debug, Clone)]
pub struct Look {
    pub survey: Survey,
    /// Whether the process that the project's files name is alive.
    pub editor: Option<Liveness>,
    pub ports: Vec<Port>,
}

impl Look {
    /// Surveys the project. Connects to the ports that a gateway would connect to, and sends nothing. For other ports, only looks
    /// up the owner.
    pub async fn around(config: &Config) -> Self {
        let host = RealHost;
        let survey = survey::survey(&host, config, &[], None);
        let mut ports = Vec::new();
        for target in &survey.targets {
            if let Endpoint::Local(socket) = &target.endpoint {
                ports.push(local(target, socket).await);
                continue;
            }
            let way = match &target.endpoint {
                Endpoint::Arrival(_) => Way::Gateway,
                _ if target.dialect.properties().one_client => Way::OneClient,
                _ => Way::Editor,
            };
            let (port, socket, unsafe_because) = (target.endpoint.port(), None, None);
            let answers = way == Way::Editor && matches!(timeout(CONNECT_TIMEOUT, Tcp.connect(port)).await, Ok(Ok(_)));
            let owner = if answers || way != Way::Editor { host.port_owner(port) } else { None };
            let listening = answers || owner.is_some();
            let standing = standing(target);
            ports.push(Port { port, socket, unsafe_because, source: target.source, listening, owner, standing, way });
        }
        for listed in &survey.listed {
            let owner = listed.owner.clone().or_else(|| host.port_owner(listed.port));
            ports.push(Port {
                port: listed.port,
                socket: None,
                unsafe_because: None,
                source: listed.source,
                listening: owner.is_some(),
                owner,
                standing: Standing::Listed(listed.why.clone()),
                way: Way::Editor,
            });
        }
        let editor = survey.editor();
        Self { survey, editor, ports }
    }

    /// Whether a process listens on a port that a gateway would connect to.
    pub fn reachable(&self) -> bool {
        self.reached().is_some()
    }

    /// Returns how the first such port is reached.
    pub fn reached(&self) -> Option<Way> {
        let is_one = |port: &&Port| port.listening && port.way != Way::Gateway && port.standing.callable();
        self.ports.iter().find(is_one).map(|port| port.way)
    }

    pub fn as_json(&self) -> Value {
        let facts = &self.survey.facts;
        json!({
            "project": self.survey.project.as_ref().map(|path| path.display().to_string()),
            "packages": self.survey.packages,
            "ambiguous": self.survey.ambiguous.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "package": {"dialect": self.survey.dialect.name(), "installed": facts.installed, "version": facts.package_version},
            "editor_pid": facts.editor_pid,
            "editor_alive": self.editor.map(|editor| editor == Liveness::Alive),
            "activity": facts.activity.map(<&str>::from),
            "problems": facts.problems,
            "reachable": self.reachable(),
            "ports": self.ports.iter().map(|port| json!({
                "port": Some(port.port).filter(|port| *port > 0),
                "local_socket": port.socket,
                "named_by": <&str>::from(port.source),
                "listening": port.listening,
                "identity": port.standing.label(),
                "owner": port.owner.as_ref().map(|owner| json!({
                    "pid": owner.pid,
                    "name": clean(&owner.name),
                    "project": survey::opened_project(owner).map(|path| path.display().to_string()),
                })),
            })).collect::<Vec<_>>(),
        })
    }
}

impl Port {
    /// What it is called in a row of its own.
    pub fn kind(&self) -> &'static str {
        if self.socket.is_some() { "socket" } else { "port" }
    }
}

/// Connects to the local socket of a target, as a gateway would, and sends nothing.
async fn local(target: &Target, socket: &LocalSocket) -> Port {
    let (mut listening, mut owner, mut unsafe_because) = (false, None, None);
    let mut standing = Standing::Checked;
    for path in socket.paths(local_socket::user()) {
        match timeout(CONNECT_TIMEOUT, Network.connect_local(&path)).await {
            Ok(Ok((_, peer))) => {
                listening = true;
                owner = peer.and_then(|peer| RealHost.process_owner(peer));
                let checked = survey::check_process(&RealHost, target, peer.unwrap_or_default());
                standing = checked.map_or_else(Standing::Refused, |_| Standing::Checked);
                break;
            }
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                unsafe_because = Some(error.to_string());
                break;
            }
            _ => {}
        }
    }
    let socket = Some(target.endpoint.to_string());
    Port { port: 0, socket, unsafe_because, source: target.source, listening, owner, standing, way: Way::Editor }
}

fn standing(target: &Target) -> Standing {
    // `check_owner` believes the user about a port that the user named. To tell `Checked` from `Assumed`, a copy of the target
    // with `PortSource::Settings` is checked too, by its owner alone.
    let unnamed = Target { source: PortSource::Settings, ..target.clone() };
    let owner_known = target.project.is_some();
    match survey::check_owner(&RealHost, target) {
        Err(failure) => Standing::Refused(failure),
        Ok(None) => Standing::Refused(ConnectFailure::Unproven),
        Ok(Some(_)) if owner_known && matches!(survey::check_owner(&RealHost, &unnamed), Ok(Some(_))) => {
            Standing::Checked
        }
        Ok(Some(_)) => Standing::Assumed,
    }
}

pub fn owner_words(owner: Option<&Owner>) -> String {
    match owner {
        None => "a process that the system does not name".to_owned(),
        Some(owner) => {
            let project = survey::opened_project(owner)
                .map(|path| format!(", started with project {}", clean(&path.display().to_string())));
            format!("{} (pid {}{})", clean(&owner.name), owner.pid, project.unwrap_or_default())
        }
    }
}

pub fn source_words(source: PortSource) -> &'static str {
    match source {
        PortSource::Flag => "--port or HOLDFAST_PORT",
        PortSource::Environment => "UNITY_TCP_PORT",
        PortSource::UnityPort => "UNITY_PORT",
        PortSource::Process => "where this project's editor listens",
        PortSource::Settings => "the project's settings",
        PortSource::Default => "the default",
    }
}
