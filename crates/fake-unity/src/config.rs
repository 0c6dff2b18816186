//! What kind of editor is played.

use std::path::PathBuf;
use std::time::Duration;

use super::package_version::PackageVersion;
use super::project::Machine;
use super::reset::ResetSwitch;

/// Which package's wire protocol a fake editor speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FakeDialect {
    /// uLoopMCP's (v0.27 to v2.1.1).
    #[default]
    Uloop,
    /// uMCP's, from which uLoopMCP came (before v0.27).
    Umcp,
    /// holdfast's own.
    Holdfast,
    /// That of turbokettle/unity-mcp.
    Turbokettle,
    /// That of Unity-MCP's editor package: HTTP.
    UnityMcp,
}

/// What an editor of holdfast's own package does against its protocol, to see that somebody notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misconduct {
    /// Asked for outcomes it says that nothing ran.
    DeniesWhatRan,
    /// What is asked for before it comes is not sealed.
    ForgetsToSeal,
    /// An older connection of a gateway is left as it is.
    KeepsNoFence,
    /// The progress that it tells falls.
    ProgressFalls,
}

/// How a fake editor is set up. [`Default`] is a uLoop v2.1.1 editor without a project, on a port that the system chooses.
#[derive(Debug, Clone)]
pub struct FakeUnityConfig {
    /// TCP port on the loopback address; 0 lets the system choose.
    pub port: u16,
    /// The package that it has.
    pub dialect: FakeDialect,
    /// Version of uLoopMCP or uMCP; decides framing, names, catalogue, result fields and notifications. One that is not of the
    /// named package becomes the newest that is ([`played`](FakeUnityConfig::played)).
    pub package_version: PackageVersion,
    /// The editor connects to the push listener that a client names.
    pub push: bool,
    /// Whether `notifications/server/shutdown` is sent; `None`: as the package version does.
    pub shutdown_note: Option<bool>,
    /// Whether results carry timing fields; `None`: as the package version does.
    pub timing_fields: Option<bool>,
    /// Pause between two ticks of the main thread; zero runs work at once.
    pub tick: Duration,
    /// The same while the editor has no focus: Unity throttles itself then.
    pub unfocused_tick: Duration,
    /// Project directory that is kept up as an editor does; `None`: no files.
    pub project: Option<PathBuf>,
    /// The simulated machine that has the project's files; `None`: real ones.
    pub machine: Option<Machine>,
    /// Seed of everything random: session ids, the nonce of a journal. Each process of an editor needs its own.
    pub seed: u64,
    /// The pid that the editor claims to have; `None`: that of this process.
    pub pid: Option<u32>,
    /// Time between the start of the bridge and its listening, at every start and reload.
    pub listen_delay: Duration,
    /// How long the bridge of a package that first sees whether its port is free listens on it for that (uloop and umcp).
    pub probe_time: Duration,
    /// Whether a port that is taken makes the bridge try the next ones, as its user is asked by uLoop's package.
    pub moves_port: bool,
    /// How long a compilation takes.
    pub compile_time: Duration,
    /// Silence of the reload that follows a compilation; zero: no reload follows.
    pub compile_reload: Duration,
    /// How long after the answer to a compilation its reload begins; zero: at once, and a compilation that leaves its result in a file
    /// is cut by it before it is answered.
    pub compile_gap: Duration,
    /// Compile-result files begin with a UTF-8 byte order mark, as .NET's own writer puts it.
    pub result_file_bom: bool,
    /// Every run of the `count` tool is appended here before its reply is sent, so that a kill loses none; runs that stand
    /// in it at the start are counted.
    pub count_file: Option<PathBuf>,
    /// Tools blocked by the editor's security settings.
    pub blocked_tools: Vec<String>,
    /// The test tools (`echo`, `count`, …) are registered beside the built-in ones.
    pub test_tools: bool,
    /// The tools of the official conformance suite are registered too, where the dialect is uLoop's or holdfast's.
    pub conformance_tools: bool,
    /// Tools that are listed at least: as many as are missing are added, and take a text as `echo` does.
    pub tools: usize,
    /// Bytes of the last tool's schema, or a little more (uloop, umcp and holdfast); 0: no longer than it is.
    pub schema_bytes: usize,
    /// Does this against its protocol.
    pub misconduct: Option<Misconduct>,
    /// Makes [`rst`](super::FakeUnity::rst) send real resets; see [`AbortiveTcp`](super::AbortiveTcp).
    pub reset: Option<ResetSwitch>,
}

impl Default for FakeUnityConfig {
    fn default() -> Self {
        Self {
            port: 0,
            dialect: FakeDialect::default(),
            package_version: PackageVersion::NEWEST,
            push: false,
            shutdown_note: None,
            timing_fields: None,
            tick: Duration::from_millis(1),
            unfocused_tick: Duration::from_millis(250),
            project: None,
            machine: None,
            seed: 0,
            pid: None,
            listen_delay: Duration::ZERO,
            probe_time: Duration::from_millis(1),
            moves_port: false,
            compile_time: Duration::from_millis(50),
            compile_reload: Duration::from_millis(300),
            compile_gap: Duration::ZERO,
            result_file_bom: true,
            count_file: None,
            blocked_tools: Vec::new(),
            test_tools: true,
            conformance_tools: false,
            tools: 0,
            schema_bytes: 0,
            misconduct: None,
            reset: None,
        }
    }
}

impl FakeUnityConfig {
    /// The pid that the editor claims to have.
    pub fn pid(&self) -> u32 {
        self.pid.unwrap_or_else(std::process::id)
    }

    /// The version of uLoopMCP or uMCP that is played.
    pub fn played(&self) -> PackageVersion {
        match self.dialect {
            FakeDialect::Umcp if self.package_version.framed() => PackageVersion::NEWEST_LINES,
            FakeDialect::Uloop
            | FakeDialect::Umcp
            | FakeDialect::Holdfast
            | FakeDialect::Turbokettle
            | FakeDialect::UnityMcp => self.package_version,
        }
    }

    pub(crate) fn says_shutdown(&self) -> bool {
        self.shutdown_note.unwrap_or_else(|| self.played().shutdown_note())
    }

    pub(crate) fn says_timing(&self) -> bool {
        self.timing_fields.unwrap_or_else(|| self.played().timing_fields())
    }
}
