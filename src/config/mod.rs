//! The configuration: the meaning of flags, environment variables and files, decided once at the start. The flags themselves are
//! in `cli`.

pub mod below;
pub mod file;
pub mod started_by;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use self::started_by::StartedBy;
use crate::limits::{PATIENCE_MARGIN, PATIENCE_MAX, WINDOWS_PATH_MAX};
use crate::protocol::dialect::{self, Dialects};
use crate::protocol::hub::SessionRules;
use crate::protocol::mcp::clients::ClientOverrides;
use crate::protocol::mcp::{Audience, ClientProfile, ClientTraits, ProtocolVersion};
use crate::protocol::policy::{Policy, Toolset};

/// Where a port number comes from, which decides how far the port is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "kebab-case")]
pub enum PortSource {
    /// `--port` or `HOLDFAST_PORT`.
    Flag,
    /// `UNITY_TCP_PORT`.
    Environment,
    /// `UNITY_PORT`, which only one package's own server reads.
    UnityPort,
    /// The project's editor was seen to listen there.
    Process,
    /// A settings file of the project.
    Settings,
    /// The dialect's default.
    Default,
}

impl PortSource {
    /// Whether the user named the port: such a port is called even if nothing proves which program owns it.
    pub fn is_named(self) -> bool {
        match self {
            Self::Flag | Self::Environment | Self::UnityPort => true,
            Self::Process | Self::Settings | Self::Default => false,
        }
    }
}

/// The gateway's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder named by `--project`, as an absolute path. It may not exist yet, and it may be a folder inside of a project.
    pub project: Option<PathBuf>,
    /// The working directory. A project is searched from there upwards.
    pub working_dir: Option<PathBuf>,
    /// The folder that the client named in the environment ([`StartedBy`]): searched after its roots, before the working
    /// directory.
    pub client_dir: Option<PathBuf>,
    /// What the clients that may have started this process say of themselves.
    pub started_by: Vec<StartedBy>,
    /// Whether the working directory is in a Unity project.
    pub starts_in_project: bool,
    /// Ports named by the user, the most trusted one first.
    pub ports: Vec<(u16, PortSource)>,
    /// `UNITY_HOST`, if it names another machine: the dialect that uses it then calls no editor.
    pub foreign_host: Option<String>,
    /// The protocols that the editor may speak.
    pub dialects: Dialects,
    /// The client name that the editor is told if the client gives none.
    pub client_name: Option<String>,
    /// Whether development-only tools are shown.
    pub development: bool,
    /// Whether the editor is offered a push listener.
    pub push: bool,
    /// Folder for catalogues, run records and result files; `None` keeps nothing on disk.
    pub state_dir: Option<PathBuf>,
    /// Where Unity writes its log, unless somebody names another file when it is started.
    pub editor_log: Option<PathBuf>,
    /// The user's settings for single clients, which override the client table.
    pub clients: ClientOverrides,
    /// Whether the client lives in this process and takes results of any size ([`crate::client::Client::take_whole`]).
    pub whole_results: bool,
    /// Who reads holdfast's own texts.
    pub audience: Audience,
    /// Overrides the patience of the client table.
    pub patience: Option<Duration>,
    /// Overrides `list_changed` of the client table.
    pub list_changed: Option<bool>,
    /// Settings of the environment and the files that are not used, each with the reason and the fix; `holdfast_status` shows
    /// them.
    pub complaints: Vec<String>,
    /// The user's configuration file, and whether it exists. `None` if no folder for configurations is known.
    pub file: Option<(PathBuf, bool)>,
    /// Which tools may be called, according to flags, environment and the user's file. A project's own file may restrict this
    /// further.
    pub policy: Policy,
    /// The tools that are listed at first, beside what the limit has room for.
    pub toolsets: Vec<Toolset>,
    /// Whether a session that is left to it starts a hub if none runs.
    pub starts_hub: bool,
    /// The file in which each call is recorded, if any.
    pub audit: Option<PathBuf>,
    /// The loopback address on which metrics are served (port 0: any free port). `None`: metrics are neither served nor counted.
    pub metrics: Option<SocketAddr>,
    /// A folder in which other users of this machine can read the address of the metrics and the last counts.
    pub metrics_records: Option<PathBuf>,
    /// The loopback address on which logs that an editor posts are accepted.
    pub logger: Option<SocketAddr>,
    /// The port of 127.0.0.1 on which the HTTP API of Unity-MCP's documents is served.
    pub documented_hop: Option<u16>,
    /// The seed of the random numbers (jitter, call ids). `None`: a random seed.
    pub seed: Option<u64>,
}

impl Config {
    /// Whether a project is known before any survey, and before the client with this label names its roots.
    pub fn is_for_a_project(&self, label: &str) -> bool {
        let is_told = || self.started_by(label).is_some_and(|client| client.is_in_project);
        self.project.is_some() || self.starts_in_project || is_told()
    }

    /// Returns what the client with this label says of itself, if it started this process.
    pub fn started_by(&self, label: &str) -> Option<&StartedBy> {
        self.started_by.iter().find(|client| client.label == label)
    }

    /// Whether editors are offered a push listener: at least one of the protocols has push.
    pub fn is_pushed(&self) -> bool {
        self.push && self.dialects.iter().any(|dialect| dialect.properties().push)
    }

    /// Returns the part of this configuration that a session brings to the hub.
    pub fn session_rules(&self) -> SessionRules {
        SessionRules {
            project: self.project.clone(),
            working_dir: self.working_dir.clone(),
            client_name: self.client_name.clone(),
            policy: self.policy.clone(),
            audit: self.audit.clone(),
            clients: self.clients.clone(),
            patience: self.patience.map(|patience| patience.as_secs()),
            list_changed: self.list_changed,
            audience: self.audience,
            complaints: self.complaints.clone(),
        }
    }

    /// Returns the configuration of a session that brings these rules to a gateway with this configuration.
    #[must_use]
    pub fn of_session(&self, rules: SessionRules) -> Self {
        Self {
            project: rules.project,
            working_dir: rules.working_dir,
            client_name: rules.client_name,
            policy: rules.policy,
            audit: rules.audit,
            clients: rules.clients,
            // A flag is checked when it is parsed. A value from another process is bounded here.
            patience: rules.patience.map(|seconds| Duration::from_secs(seconds).clamp(PATIENCE_MARGIN, PATIENCE_MAX)),
            list_changed: rules.list_changed,
            audience: rules.audience,
            complaints: rules.complaints,
            ..self.clone()
        }
    }

    /// Returns the profile for answers in this version of the protocol to the client with this name.
    pub fn profile_of(&self, version: ProtocolVersion, name: &str) -> ClientProfile {
        ClientProfile { version, client: self.traits_of(name), audience: self.audience, whole: self.whole_results }
    }

    /// Returns the traits of the client with this name, with the user's settings applied.
    pub fn traits_of(&self, name: &str) -> ClientTraits {
        let known = self.clients.traits_of(name);
        // A flag applies to this process alone, so it overrides a setting for the client.
        ClientTraits {
            patience: self.patience.unwrap_or(known.patience),
            list_changed: self.list_changed.unwrap_or(known.list_changed),
            ..known
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            project: None,
            working_dir: None,
            client_dir: None,
            started_by: Vec::new(),
            starts_in_project: false,
            ports: Vec::new(),
            foreign_host: None,
            dialects: dialect::ALL,
            client_name: None,
            development: false,
            push: true,
            state_dir: None,
            editor_log: None,
            clients: ClientOverrides::default(),
            whole_results: false,
            audience: Audience::Agent,
            patience: None,
            list_changed: None,
            complaints: Vec::new(),
            file: None,
            policy: Policy::default(),
            toolsets: Vec::new(),
            starts_hub: false,
            audit: None,
            metrics: None,
            metrics_records: None,
            logger: None,
            documented_hop: None,
            seed: None,
        }
    }
}

/// Where metrics are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsChoice {
    /// The address; `None` if no metrics are served.
    pub address: Option<SocketAddr>,
    /// Whether a level is written there too, as in earlier versions. It has no meaning any more.
    pub names_level: bool,
}

impl MetricsChoice {
    /// Splits a text into the address and the level that earlier versions knew. A level alone meant any free port.
    pub fn without_level(text: &str) -> (&str, Option<&str>) {
        let text = text.trim();
        match text.rsplit_once(',') {
            Some((place, level)) => (place.trim(), Some(level.trim())),
            None if FORMER_LEVELS.contains(&text) => ("on", Some(text)),
            None => (text, None),
        }
    }

    /// Returns the text for a user who names a level `at` this place; `None` if no level is there.
    pub fn complaint(self, at: &str) -> Option<String> {
        self.names_level.then(|| {
            format!("{at} names a level of metrics, and there is one level now, which has all of them; remove basic or full there")
        })
    }
}

/// The levels of earlier versions.
const FORMER_LEVELS: [&str; 2] = ["basic", "full"];

impl FromStr for MetricsChoice {
    type Err = String;

    /// Parses an address. A level of earlier versions may stand in its place, or after it with a comma.
    fn from_str(text: &str) -> Result<Self, String> {
        let any_port = Some((Ipv4Addr::LOCALHOST, 0).into());
        let (place, level) = Self::without_level(text);
        if let Some(other) = level.filter(|level| !FORMER_LEVELS.contains(level)) {
            return Err(format!("\"{other}\" means nothing there (basic or full are taken, as before)"));
        }
        let names_level = level.is_some();
        match place {
            "" | "off" | "false" | "0" => return Ok(Self { address: None, names_level }),
            "on" | "true" | "1" => return Ok(Self { address: any_port, names_level }),
            _ => {}
        }
        let literal = place.replacen("localhost:", "127.0.0.1:", 1);
        let address: SocketAddr = literal.parse().map_err(|_| {
            "it is an address and a port, such as 127.0.0.1:9464, or nothing at all for any free port".to_owned()
        })?;
        if !address.ip().is_loopback() {
            return Err(
                "only loopback addresses are served (127.0.0.1 or [::1]): the page has no password, and what it shows is nobody \
                 else's business. Let a Prometheus on this machine scrape it, or forward the port"
                    .to_owned(),
            );
        }
        Ok(Self { address: Some(address), names_level })
    }
}

impl<'de> Deserialize<'de> for MetricsChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Why a named project cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadProject {
    /// There is no such folder.
    #[error(
        "there is no folder {0}; name the folder of a Unity project (the one that holds Assets and ProjectSettings)"
    )]
    Missing(PathBuf),
    /// Neither the folder nor a folder above it is a Unity project.
    #[error("{0} is not a Unity project (it has no Assets and ProjectSettings folders, nor has a folder above it)")]
    NotAProject(PathBuf),
}

/// Returns the Unity project that a folder belongs to: the folder itself or the nearest project above it. `None` if there is
/// none.
pub fn project_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| is_project(folder)).map(Path::to_path_buf)
}

/// Whether a folder is in a Unity project, or is one.
pub fn is_in_project(folder: &Path) -> bool {
    canonical(folder).is_some_and(|folder| project_of(&folder).is_some())
}

/// Whether a folder is a Unity project: it has `Assets` and `ProjectSettings`, or one of these and the `Library` that
/// Unity makes. A `Library` alone is not enough: every home on macOS has one.
pub fn is_project(folder: &Path) -> bool {
    let holds = |name| folder.join(name).is_dir();
    match (holds("Assets"), holds("ProjectSettings")) {
        (true, true) => true,
        (true, false) | (false, true) => holds("Library"),
        (false, false) => false,
    }
}

/// Returns the project that the user named, in canonical form: this folder or the nearest project above it.
///
/// # Errors
/// [`BadProject`], with the fix.
pub fn named_project(folder: &Path) -> Result<PathBuf, BadProject> {
    let canonical = canonical(folder).ok_or_else(|| BadProject::Missing(folder.to_path_buf()))?;
    project_of(&canonical).ok_or(BadProject::NotAProject(canonical))
}

/// Returns the canonical form of a path. Windows' `\\?\` prefix is removed where the path means the same without it,
/// because neither Unity nor people write it. Names have the case that they have on disk, on macOS too, where
/// `realpath` returns it. `None` if the path does not exist or cannot be read.
pub fn canonical(path: &Path) -> Option<PathBuf> {
    let path = dunce::canonicalize(path).ok()?;
    Some(path.to_str().and_then(plain_share).map_or(path, PathBuf::from))
}

/// Returns the path of a network share, or of a folder in WSL, without its prefix: `\\?\UNC\server\share\x` becomes
/// `\\server\share\x`. Only Windows has such paths. Returns `None` if `path` is not one, or if it would be another path
/// for Windows without the prefix. That is so if it is too long, or if a name in it then has a special meaning.
fn plain_share(path: &str) -> Option<String> {
    const DEVICES: [&str; 8] = ["CON", "PRN", "AUX", "NUL", "COM", "LPT", "CONIN$", "CONOUT$"];
    let share = path.strip_prefix(r"\\?\UNC\")?;
    let is_device = |name: &str| {
        let stem = name.split('.').next().unwrap_or_default().trim_end();
        DEVICES
            .iter()
            .any(|device| stem.trim_end_matches(|digit: char| digit.is_numeric()).eq_ignore_ascii_case(device))
    };
    let is_plain = |name: &str| {
        let reserved = |sign: char| sign.is_control() || r#"<>:"/|?*"#.contains(sign);
        !name.ends_with([' ', '.']) && !name.contains(reserved) && !is_device(name)
    };
    let is_short = share.encode_utf16().count() + 2 < WINDOWS_PATH_MAX;
    (is_short && share.split('\\').all(is_plain)).then(|| format!(r"\\{share}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_named_as_people_do_where_that_is_the_same_path() {
        for (path, plain) in [
            (r"\\?\UNC\server\share\My Castle", Some(r"\\server\share\My Castle")),
            (r"\\?\UNC\wsl.localhost\Ubuntu\home\me\Castle.1", Some(r"\\wsl.localhost\Ubuntu\home\me\Castle.1")),
            (r"\\?\UNC\server\share\Console", Some(r"\\server\share\Console")),
            (r"\\?\UNC\server\share\nul.txt", None),
            (r"\\?\UNC\server\share\Com1", None),
            (r"\\?\UNC\server\share\dot.", None),
            (r"\\?\UNC\server\share\a:b", None),
            (r"\\?\C:\Castle", None),
            (r"\\server\share", None),
            ("/home/me", None),
        ] {
            assert_eq!(plain_share(path).as_deref(), plain, "{path}");
        }
        let long = format!(r"\\?\UNC\server\share\{}", "x".repeat(WINDOWS_PATH_MAX));
        assert_eq!(plain_share(&long), None);
    }

    #[test]
    fn what_a_session_says_of_patience_is_bounded() {
        for (said, taken) in [(0, PATIENCE_MARGIN), (60, Duration::from_secs(60)), (u64::MAX, PATIENCE_MAX)] {
            let rules = SessionRules { patience: Some(said), ..SessionRules::default() };
            assert_eq!(Config::default().of_session(rules).patience, Some(taken));
        }
    }

    #[test]
    fn a_project_is_known_by_two_of_its_folders() {
        for (folders, is) in [
            (&["Assets", "ProjectSettings"][..], true),
            (&["Library", "Assets"], true),
            (&["Library", "ProjectSettings"], true),
            (&["Library"], false),
            (&["Assets"], false),
            (&[], false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for name in folders {
                std::fs::create_dir(folder.path().join(name)).unwrap();
            }
            assert_eq!(is_project(folder.path()), is, "{folders:?}");
        }
    }
}
