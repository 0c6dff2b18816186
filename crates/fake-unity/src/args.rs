//! The flags of the fake editor's process.

use std::path::PathBuf;
use std::time::Duration;

use super::config::FakeUnityConfig;
use super::package::Package;
use super::package_version::PackageVersion;
use super::packages::PACKAGES;
use super::steer::SteerOptions;
use crate::limits::{SCHEMA_MAX_BYTES, TOOLS_MAX};

/// Flags of `holdfast fake-unity`.
#[derive(Debug, Clone, clap::Args)]
pub struct FakeUnityArgs {
    /// Port on 127.0.0.1, the gateway's where the editor connects to it; 0 lets the system choose
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// The package whose protocol is spoken
    #[arg(long = "dialect", value_parser = Package::parser(), default_value = PACKAGES[0].name)]
    pub package: &'static Package,
    /// Version of the package to play, where its versions differ [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub package_version: Option<PackageVersion>,
    /// Connect to the push listener that a client names
    #[arg(long, hide_short_help = true)]
    pub push: bool,
    /// Say `notifications/server/shutdown` before closing [default: as the package version does]
    #[arg(long, value_name = "BOOL", hide_short_help = true)]
    pub shutdown_note: Option<bool>,
    /// Put timing fields into results [default: as the package version does]
    #[arg(long, value_name = "BOOL", hide_short_help = true)]
    pub timing_fields: Option<bool>,
    /// Milliseconds between two ticks of the main thread; 0 runs work at once
    #[arg(long, default_value_t = 1, value_name = "MS", hide_short_help = true)]
    pub tick_ms: u64,
    /// Keep up this directory as the editor's project
    ///
    /// It is made if it is missing. In a project that no fake editor made, no file that is there is changed: those that it would
    /// change are named, and if it cannot work without, it refuses. What it makes there goes when it quits.
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Home directory of the editor's user, where the package keeps files there [default: yours]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub home: Option<PathBuf>,
    /// Seed of everything random, the nonce of the editor's journal too: two starts with one seed pass for one process
    /// [default: a new one at every start]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub seed: Option<u64>,
    /// The pid that the editor claims to have [default: its own]
    #[arg(long, value_name = "PID", hide_short_help = true)]
    pub pid: Option<u32>,
    /// Milliseconds between the start of the bridge and its listening
    #[arg(long, default_value_t = 0, value_name = "MS", hide_short_help = true)]
    pub listen_delay_ms: u64,
    /// Listen on one of the next nine ports if the port is taken, where the package can; no file of an older one tells which
    #[arg(long, hide_short_help = true)]
    pub moves_port: bool,
    /// Milliseconds that a compilation takes
    #[arg(long, default_value_t = 50, value_name = "MS", hide_short_help = true)]
    pub compile_ms: u64,
    /// Silence of the reload after a compilation, in milliseconds; 0: it changes nothing, so no reload follows
    #[arg(long, default_value_t = 300, value_name = "MS", hide_short_help = true)]
    pub compile_reload_ms: u64,
    /// Milliseconds between the answer to a compilation and its reload; 0: at once, and one that leaves a file is cut unanswered
    #[arg(long, default_value_t = 0, value_name = "MS", hide_short_help = true)]
    pub compile_gap_ms: u64,
    /// Write compile-result files without a byte order mark
    #[arg(long, hide_short_help = true)]
    pub no_bom: bool,
    /// Append every run of the tool `count` to this file
    ///
    /// Before its reply is sent.
    #[arg(long, value_name = "FILE")]
    pub count_file: Option<PathBuf>,
    /// Block this tool by security settings; may be given more than once
    #[arg(long = "block-tool", value_name = "NAME", hide_short_help = true)]
    pub block_tools: Vec<String>,
    /// Only the package's tools, no test tools (`count`, `hold` and others), whatever the package
    ///
    /// With holdfast's own package, its tools are those that the real one lists. They work with a small world of scenes, assets and
    /// scripts: below Assets in a folder that the fake editor made itself, else in memory.
    #[arg(long, hide_short_help = true)]
    pub no_test_tools: bool,
    /// Also the tools that the official MCP conformance suite calls
    #[arg(long, hide_short_help = true)]
    pub conformance_tools: bool,
    /// List so many tools at least, where the package has a list
    #[arg(long, default_value_t = 0, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(..=TOOLS_MAX as i64), hide_short_help = true)]
    pub tools: u16,
    /// Bytes of the last tool's schema, where tools have schemas
    #[arg(long, default_value_t = 0, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=SCHEMA_MAX_BYTES as i64), hide_short_help = true)]
    pub schema_bytes: u32,
    /// Stay when stdin ends; end by a signal then
    #[arg(long)]
    pub stay: bool,
    /// Print only what happens to the editor, no requests and calls
    ///
    /// So it is by itself where its commands are typed on a terminal.
    #[arg(long)]
    pub quiet: bool,
}

impl FakeUnityArgs {
    /// Returns the settings of the editor that the flags describe. [`reset`](FakeUnityConfig::reset) stays unset: the caller sets
    /// it, since only the caller knows the network.
    pub fn into_config(self) -> FakeUnityConfig {
        FakeUnityConfig {
            port: self.port,
            package: self.package,
            package_version: self.package_version.unwrap_or(PackageVersion::LATEST),
            push: self.push,
            shutdown_note: self.shutdown_note,
            timing_fields: self.timing_fields,
            tick: Duration::from_millis(self.tick_ms),
            project: self.project,
            home: self.home.or_else(std::env::home_dir),
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            pid: self.pid,
            listen_delay: Duration::from_millis(self.listen_delay_ms),
            moves_port: self.moves_port,
            compile_time: Duration::from_millis(self.compile_ms),
            compile_reload: Duration::from_millis(self.compile_reload_ms),
            compile_gap: Duration::from_millis(self.compile_gap_ms),
            result_file_bom: !self.no_bom,
            count_file: self.count_file,
            blocked_tools: self.block_tools,
            test_tools: !self.no_test_tools,
            conformance_tools: self.conformance_tools,
            tools: self.tools.into(),
            schema_bytes: self.schema_bytes as usize,
            ..FakeUnityConfig::default()
        }
    }

    /// Returns the options of the process that do not concern the editor itself.
    pub fn steer_options(&self) -> SteerOptions {
        SteerOptions { stay: self.stay, quiet: self.quiet }
    }
}
