//! The flags of `holdfast setup`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use holdfast_client_config::Launch;

use crate::cli::{Exit, complete, output};
use crate::config::MetricsChoice;
use crate::protocol::dialect;

#[derive(Debug, Clone, Default, Args)]
pub struct SetupArgs {
    /// Which AI clients: claude-code, cursor, codex and so on
    ///
    /// claude-code, claude-desktop, cursor, vscode, copilot-cli, codex, gemini, windsurf, cline, zed, opencode, goose, amp, junie,
    /// kiro, rider. Without one, on a terminal: choose among those that are here.
    #[arg(value_name = "CLIENT", add = ArgValueCandidates::new(complete::clients))]
    pub clients: Vec<String>,
    /// Every client that is here
    ///
    /// With --remove: every client that starts holdfast.
    #[arg(long, conflicts_with_all = ["clients", "list"])]
    pub all: bool,
    /// For this project only
    ///
    /// In the project's own file if the client has one, else in the user's, with the project named. Without DIR: the Unity project
    /// around the working directory. After CLIENT: a word behind --project is the folder.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub project: Option<Option<PathBuf>>,
    /// A project's file that a team commits
    ///
    /// The entry names no path of this machine: it starts `holdfast` from PATH. (Later also the published package, with =npx or =uvx;
    /// nothing is published yet.) In the Unity project around the working directory, or the folder that --project names. For clients that
    /// have a file in the project.
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "path",
        conflicts_with_all = ["list", "remove"]
    )]
    pub shared: Option<Shared>,
    /// Connect to a hub over HTTP instead of starting a program
    ///
    /// To the hub of this machine that serves HTTP, or to this URL. The client takes the token from the environment variable
    /// HOLDFAST_HTTP_TOKEN if it can; else the token is written into your own file, never into one of a project. With --project the URL
    /// names the project. For clients that take a URL with a header. See docs/http.md.
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["list", "remove"]
    )]
    pub http: Option<Option<String>>,
    /// Let the entry serve metrics and a status page
    ///
    /// The entry gets the argument --metrics; see `holdfast serve --help`. `holdfast status --open` then opens the page.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        value_parser = metrics,
        conflicts_with_all = ["list", "remove", "http"]
    )]
    pub metrics: Option<Option<String>>,
    /// Show the change as a unified diff, and write nothing
    #[arg(long, conflicts_with = "list")]
    pub dry_run: bool,
    /// Take the entry out
    #[arg(long, conflicts_with = "list")]
    pub remove: bool,
    /// Also take out the entries of old servers
    #[arg(long, long_help = old_servers(), conflicts_with_all = ["list", "remove"])]
    pub replace: bool,
    /// Write the file although the client is not found here
    #[arg(long, conflicts_with_all = ["list", "remove"])]
    pub create: bool,
    /// Show every client: found or not, set up or not
    #[arg(long, conflicts_with = "clients")]
    pub list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list", conflicts_with = "clients")]
    pub json: bool,
}

/// The help of `--replace`, with every package that has a server of its own.
fn old_servers() -> String {
    let of: Vec<&str> =
        dialect::ALL.iter().filter_map(|dialect| dialect.own_server()).map(|server| server.of).collect();
    format!(
        "Also take out the entries of old servers\n\nThose that start the own server of a package which holdfast speaks: {}. With \
         both, the AI sees every tool twice.",
        of.join(", ")
    )
}

/// Returns the value of `--metrics`, if `serve` will take it, without a level of earlier versions.
fn metrics(text: &str) -> Result<String, String> {
    text.parse::<MetricsChoice>().map(|_| MetricsChoice::without_level(text).0.to_owned())
}

/// Whether the packages that `npx` and `uvx` fetch are published. Until then nobody may be sent to their names.
const PUBLISHED: bool = false;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Shared {
    /// `holdfast`, from PATH.
    Path,
    /// `npx -y holdfast-mcp`.
    Npx,
    /// `uvx holdfast-mcp`.
    Uvx,
}

impl Shared {
    /// Returns what the entry starts. An argument that the entry has is replaced: it may be a path of one machine.
    pub fn launch(self) -> Launch {
        let (program, args): (&str, &[&str]) = match self {
            Self::Path => ("holdfast", &[]),
            Self::Npx => ("npx", &["-y", "holdfast-mcp"]),
            Self::Uvx => ("uvx", &["holdfast-mcp"]),
        };
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Launch { program: program.to_owned(), args, whole: true, flag: None }
    }

    /// Returns why no entry of this kind is written yet; `None` if it can be.
    pub fn refusal(self) -> Option<String> {
        let runner = match self {
            Self::Path => return None,
            Self::Npx => "npx",
            Self::Uvx => "uvx",
        };
        (!PUBLISHED).then(|| {
            format!(
                "nothing of holdfast is published yet, so {runner} would fetch what somebody else put there under the name, on every machine \
                 of the team. `--shared` alone starts `holdfast` from PATH"
            )
        })
    }

    /// Returns what everybody in the team needs for such an entry.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Path => {
                "everybody needs holdfast on the PATH that their client sees; programs started from a desktop may have a short one"
            }
            Self::Npx => {
                "everybody needs Node.js; npx fetches the package at the first start. On Windows some clients start npx only as `cmd /c npx`"
            }
            Self::Uvx => "everybody needs uv; uvx fetches the package at the first start",
        }
    }
}

/// Says on stderr why `holdfast COMMAND` did nothing. Returns the exit code.
pub fn complain(command: &str, exit: Exit, why: &str) -> Exit {
    let end = if why.ends_with('?') { "" } else { "." };
    output::complain(&format!("holdfast {command}: {why}{end} Nothing was changed."));
    exit
}
