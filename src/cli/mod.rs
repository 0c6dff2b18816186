//! The command line: one file per subcommand. Flags have environment twins; exit codes are a contract ([`Exit`]).

pub mod demo;
pub mod fake_unity;
pub mod gateway_args;
pub mod output;
pub mod serve;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::fake_unity::FakeUnityArgs;
use gateway_args::GatewayArgs;

/// How a process ends. The README has the same table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked.
    Ok = 0,
    /// It was done and failed: the tool failed, a promise was broken, something is wrong.
    Failed = 1,
    /// The command line or the configuration is wrong. Nothing was done.
    Usage = 2,
    /// Not executed: the editor could not be reached, or refused before it ran anything.
    NotExecuted = 3,
    /// It may have run: the outcome is unknown, or it is still running.
    Unknown = 4,
    /// A bug of holdfast.
    Internal = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An MCP server that keeps an AI editor's session whole while the Unity Editor behind it reloads, hangs, restarts or crashes.
///
/// An AI editor starts it as a stdio MCP server: `holdfast` alone is `holdfast serve`. Every request gets exactly one honest
/// answer; nothing that may have run is run again.
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not executed, 4 outcome unknown or still running, \
                        70 a bug of holdfast."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    gateway: GatewayArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve MCP on stdin and stdout (the default).
    Serve(GatewayArgs),
    /// Watch a session survive reloads, a freeze and a kill of a fake Unity; exit 0 only if every promise held.
    Demo(demo::DemoArgs),
    /// Run a model of a Unity Editor with a bridge in it, steered by lines on stdin.
    FakeUnity(FakeUnityArgs),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        None => serve::run(&cli.gateway, true),
        Some(Command::Serve(gateway)) => serve::run(&gateway, false),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::FakeUnity(arguments)) => fake_unity::run(arguments),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "holdfast", &mut script);
            output::bytes(&script);
            Exit::Ok.into()
        }
    }
}

/// A runtime for a subcommand: two workers, so that a stuck handler does not stop the rest.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
