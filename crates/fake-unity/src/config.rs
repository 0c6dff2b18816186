//! Settings of a fake editor.

use std::path::PathBuf;
use std::time::Duration;

use super::package::Package;
use super::package_version::PackageVersion;
use super::project::Machine;
use super::reset::ResetSwitch;
use crate::limits::USER_CONNECTS;

/// How an editor with holdfast's own package violates its protocol on purpose, to test that the violation is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misconduct {
    /// Answers every question about an outcome with "did not run".
    DeniesWhatRan,
    /// If the outcome of a call is asked for before the call arrives, does not seal its id, so the call still runs.
    ForgetsToSeal,
    /// Keeps an older connection of the same gateway open.
    KeepsNoFence,
    /// Reports progress values that decrease.
    ProgressFalls,
}

/// Settings of a fake editor. [`Default`] is an editor with the first package of the list, without a project, on a port that the system chooses.
#[derive(Debug, Clone)]
pub struct FakeUnityConfig {
    /// TCP port on the loopback address, the gateway's where the editor connects to it; 0 lets the system choose.
    pub port: u16,
    /// The package in the editor.
    pub package: &'static Package,
    /// Version of the package, where several are played. One that is too new is replaced by the newest one
    /// ([`played`](FakeUnityConfig::played)).
    pub package_version: PackageVersion,
    /// After how long without a connection the user presses Connect in the package's window, again and again, where an editor soon
    /// gives up to connect; `None`: the user does not.
    pub user_connects: Option<Duration>,
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
    /// Project directory, whose files are updated as an editor would; `None`: no files.
    pub project: Option<PathBuf>,
    /// Home directory of the user, for a package that keeps files there; `None`: it has no such files, but on a simulated machine, which
    /// has [`HOME`](crate::HOME).
    pub home: Option<PathBuf>,
    /// How long a command may take before the package answers that it took too long, where it has such a limit; `None`: as the package
    /// version does.
    pub command_limit: Option<Duration>,
    /// The simulated machine to which the project's and the user's files are written; `None`: the files are real.
    pub machine: Option<Machine>,
    /// Seed of everything random, such as session ids and the nonce of a journal. Each process of an editor needs its own seed.
    pub seed: u64,
    /// The pid that the editor claims to have; `None`: that of this process.
    pub pid: Option<u32>,
    /// Time between the start of the bridge and its listening, at every start and reload.
    pub listen_delay: Duration,
    /// How long the port is held to check whether it is free, in packages that do so before they listen.
    pub probe_time: Duration,
    /// Whether the bridge tries the next nine ports if its port is taken. A real package asks its user first.
    pub moves_port: bool,
    /// How long a compilation takes.
    pub compile_time: Duration,
    /// How long the bridge is silent in the reload that follows a compilation; zero: compilations change nothing, so none follows.
    pub compile_reload: Duration,
    /// Time between the answer to a compilation and its reload. Zero: the reload begins at once; if the result of the compilation
    /// goes to a file, the reload then comes before the answer, which is never sent.
    pub compile_gap: Duration,
    /// Whether compile-result files begin with a UTF-8 byte order mark, as .NET's writer does.
    pub result_file_bom: bool,
    /// File to which every run of the `count` tool is appended before its reply is sent, so that no run is lost if the process is
    /// killed. Runs that are in the file at the start are counted too.
    pub count_file: Option<PathBuf>,
    /// Names of the tools that the editor's security settings block.
    pub blocked_tools: Vec<String>,
    /// Whether the test tools (`echo`, `count`, …) are registered in addition to those of the package.
    pub test_tools: bool,
    /// Whether the tools of the official conformance suite are registered too, where the package takes any tool.
    pub conformance_tools: bool,
    /// Smallest number of listed tools. If there are fewer, tools are added that return a text as `echo` does.
    pub tools: usize,
    /// Smallest size of the last tool's schema in bytes, where tools have schemas; 0: no change.
    pub schema_bytes: usize,
    /// How the editor violates its protocol on purpose; `None`: it does not.
    pub misconduct: Option<Misconduct>,
    /// Lets [`rst`](super::FakeUnity::rst) end connections with real TCP resets (see [`AbortiveTcp`](super::AbortiveTcp)).
    pub reset: Option<ResetSwitch>,
}

impl Default for FakeUnityConfig {
    fn default() -> Self {
        Self {
            port: 0,
            package: Default::default(),
            package_version: PackageVersion::LATEST,
            user_connects: Some(USER_CONNECTS),
            push: false,
            shutdown_note: None,
            timing_fields: None,
            tick: Duration::from_millis(1),
            unfocused_tick: Duration::from_millis(250),
            project: None,
            home: None,
            command_limit: None,
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

    /// Returns the version of the package that the editor simulates.
    pub fn played(&self) -> PackageVersion {
        self.package_version.min(self.package.newest())
    }

    pub(crate) fn says_shutdown(&self) -> bool {
        self.shutdown_note.unwrap_or_else(|| self.played().shutdown_note())
    }

    pub(crate) fn says_timing(&self) -> bool {
        self.timing_fields.unwrap_or_else(|| self.played().timing_fields())
    }
}
