//! Settings of a fake editor.

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

/// How an editor with holdfast's own package breaks its protocol, to prove that the break is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misconduct {
    /// Answers every question for outcomes with "did not run".
    DeniesWhatRan,
    /// Does not seal a call whose outcome is asked for before the call arrives.
    ForgetsToSeal,
    /// Does not end an older connection of the same gateway.
    KeepsNoFence,
    /// Reports progress values that decrease.
    ProgressFalls,
}

/// Settings of a fake editor. [`Default`] is a uLoop v2.1.1 editor without a project, on a port that the system chooses.
#[derive(Debug, Clone)]
pub struct FakeUnityConfig {
    /// TCP port on the loopback address; 0 lets the system choose.
    pub port: u16,
    /// The package in the editor.
    pub dialect: FakeDialect,
    /// Version of uLoopMCP or uMCP; decides framing, names, catalogue, result fields and notifications. With the dialect uMCP, a
    /// later version becomes the newest one of uMCP ([`played`](FakeUnityConfig::played)).
    pub package_version: PackageVersion,
    /// Whether the editor connects to the push listener that a client names.
    pub push: bool,
    /// Whether `notifications/server/shutdown` is sent; `None`: as the package version does.
    pub shutdown_note: Option<bool>,
    /// Whether results carry timing fields; `None`: as the package version does.
    pub timing_fields: Option<bool>,
    /// Pause between two ticks of the main thread; zero runs work at once.
    pub tick: Duration,
    /// Pause between two ticks while the editor has no focus, because Unity throttles itself then.
    pub unfocused_tick: Duration,
    /// Project directory, which is kept up to date as an editor does; `None`: no files.
    pub project: Option<PathBuf>,
    /// The simulated machine that has the project's files; `None`: real ones.
    pub machine: Option<Machine>,
    /// Seed of everything random: session ids, the nonce of a journal. Each process of an editor needs a seed of its own.
    pub seed: u64,
    /// The pid that the editor claims to have; `None`: that of this process.
    pub pid: Option<u32>,
    /// Time between the start of the bridge and its listening, at every start and reload.
    pub listen_delay: Duration,
    /// How long a package that first checks whether its port is free (uloop and umcp) listens on the port for that check.
    pub probe_time: Duration,
    /// Whether the bridge tries the next nine ports if its port is taken. uLoop's package asks its user before it does so.
    pub moves_port: bool,
    /// How long a compilation takes.
    pub compile_time: Duration,
    /// Silence of the reload that follows a compilation; zero: no reload follows.
    pub compile_reload: Duration,
    /// Time between the answer to a compilation and its reload. Zero: the reload begins at once, and cuts off a compilation that
    /// leaves its result in a file before the answer is sent.
    pub compile_gap: Duration,
    /// Whether compile-result files begin with a UTF-8 byte order mark, as .NET's writer does.
    pub result_file_bom: bool,
    /// File to which every run of the `count` tool is appended before its reply is sent, so that a kill loses no run. Runs that
    /// are in the file at the start are counted.
    pub count_file: Option<PathBuf>,
    /// Tools blocked by the editor's security settings.
    pub blocked_tools: Vec<String>,
    /// Whether the test tools (`echo`, `count`, …) are registered beside the built-in ones.
    pub test_tools: bool,
    /// Whether the tools of the official conformance suite are registered too (uloop, umcp and holdfast).
    pub conformance_tools: bool,
    /// Least number of listed tools: missing ones are added, which return a text as `echo` does.
    pub tools: usize,
    /// Least size in bytes of the last tool's schema (uloop, umcp and holdfast); 0: no change.
    pub schema_bytes: usize,
    /// How the editor breaks its protocol; `None`: it does not.
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

    /// The version of uLoopMCP or uMCP that the editor simulates.
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
