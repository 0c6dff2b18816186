//! `holdfast setup`: writes an entry for this program into an AI client's configuration, or takes it out again.

mod list;
#[cfg(test)]
mod pages;
mod picker;
mod program;
pub mod standing;
mod task;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use holdfast_client_config::{CLIENTS, Client, Launch, Places, Standing, State, Wish, common_snippet, named};

use super::{Exit, complete, output};
use crate::config;
use crate::protocol::text::{clean, nearest};
use picker::Picked;
use program::{DISK, this_program};
use task::Task;

/// Flags of `holdfast setup`.
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
    /// The entry names no path of this machine: it starts `holdfast` from PATH, or with =npx or =uvx the package, which then comes
    /// from its registry. In the Unity project around the working directory, or the folder that --project names. For clients that
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
    /// Show the change as a unified diff, and write nothing
    #[arg(long, conflicts_with = "list")]
    pub dry_run: bool,
    /// Take the entry out
    #[arg(long, conflicts_with = "list")]
    pub remove: bool,
    /// Also take out the entries of old servers
    ///
    /// Those that start the own server of a package which holdfast speaks (uLoopMCP, uMCP, turbokettle/unity-mcp,
    /// TSavo/Unity-MCP): with both, the AI sees every tool twice.
    #[arg(long, conflicts_with_all = ["list", "remove"])]
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

/// What the entry of a shared file starts.
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
    fn launch(self) -> Launch {
        let (program, args): (&str, &[&str]) = match self {
            Self::Path => ("holdfast", &[]),
            Self::Npx => ("npx", &["-y", "holdfast-mcp"]),
            Self::Uvx => ("uvx", &["holdfast-mcp"]),
        };
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Launch { program: program.to_owned(), args, whole: true }
    }

    /// Returns what everybody in the team needs for such an entry.
    fn needs(self) -> &'static str {
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

/// Returns the entry that a person pastes into the settings of a client that `setup` does not edit. Empty if this program's path
/// is unknown.
pub fn snippet_for_any() -> String {
    this_program().map(|launch| common_snippet(&launch)).unwrap_or_default()
}

/// Runs the command.
pub fn run(arguments: &SetupArgs) -> ExitCode {
    answer(arguments).unwrap_or_else(|(exit, why)| complain(exit, &why)).into()
}

fn complain(exit: Exit, why: &str) -> Exit {
    let end = if why.ends_with('?') { "" } else { "." };
    output::complain(&format!("holdfast setup: {why}{end} Nothing was changed."));
    exit
}

/// Returns the exit code; or the exit code and the reason if nothing was done.
fn answer(arguments: &SetupArgs) -> Result<Exit, (Exit, String)> {
    let usage = |why: String| (Exit::Usage, why);
    let here = this_program().map_err(|error| (Exit::Failed, error.to_string()))?;
    let mut places = Places::here(DISK)
        .ok_or_else(|| usage("the user's home is not known; set HOME (on Windows USERPROFILE)".to_owned()))?;
    let wanted = arguments.project.clone().or(arguments.shared.map(|_| None));
    let unity_project = match wanted {
        None => None,
        Some(named) => {
            let (folder, unity_project) = project(named.as_deref()).map_err(usage)?;
            places.project = Some(folder);
            unity_project
        }
    };
    if arguments.list {
        list::show(&places, &here, arguments.json);
        return Ok(Exit::Ok);
    }
    let clients = match chosen(arguments, &places, &here)? {
        Chosen::These(clients) => clients,
        Chosen::Ended(exit) => return Ok(exit),
    };
    let launch = match arguments.shared {
        Some(shared) => shared.launch(),
        None => {
            Launch { args: unity_project.map(|project| named_in(&project)).transpose()?.unwrap_or_default(), ..here }
        }
    };
    let wish = match (arguments.remove, arguments.replace) {
        (true, _) => Wish::Lack,
        (false, true) => Wish::Replace(&launch),
        (false, false) => Wish::Have(&launch),
    };
    let mut worst = Exit::Ok;
    for (at, client) in clients.iter().enumerate() {
        if at > 0 {
            output::line("");
        }
        let task = Task { client, places: &places, launch: &launch, wish, shared: arguments.shared };
        let exit = task.run(arguments).unwrap_or_else(|(exit, why)| complain(exit, &why));
        worst = if worst == Exit::Ok { exit } else { worst };
    }
    Ok(worst)
}

/// The clients that are meant.
enum Chosen {
    These(Vec<&'static Client>),
    /// Nothing is to be done.
    Ended(Exit),
}

fn chosen(arguments: &SetupArgs, places: &Places, launch: &Launch) -> Result<Chosen, (Exit, String)> {
    let all = || Standing::all(places, Path::new(&launch.program));
    // What there is to choose from: the clients that are here, or those that start holdfast.
    let meant = |standing: &Standing| match arguments.remove {
        true => !matches!(standing.state, State::NotConfigured | State::Broken(_)),
        false => standing.sign.is_some() && (arguments.shared.is_none() || standing.project.is_some()),
    };
    if arguments.all {
        let clients: Vec<_> = all().into_iter().filter(|one| meant(one)).map(|one| one.client).collect();
        return match (clients.is_empty(), arguments.remove) {
            (false, _) => Ok(Chosen::These(clients)),
            (true, true) => Err((Exit::Ok, "no client starts holdfast".to_owned())),
            (true, false) => Err((
                Exit::Failed,
                "no AI client that holdfast knows is found here; `holdfast setup --list` shows where it looked"
                    .to_owned(),
            )),
        };
    }
    if !arguments.clients.is_empty() {
        let mut clients: Vec<&'static Client> = Vec::new();
        for word in &arguments.clients {
            match named(word) {
                Some(client) if clients.iter().any(|there| there.name == client.name) => {}
                Some(client) => clients.push(client),
                None => return unknown(word, launch),
            }
        }
        return Ok(Chosen::These(clients));
    }
    if io::stdin().is_terminal() && output::can_draw() {
        let standings: Vec<Standing> = all().into_iter().filter(|one| meant(one)).collect();
        return Ok(match picker::pick(&standings, arguments.remove) {
            Picked::These(clients) => Chosen::These(clients),
            Picked::None(says) => {
                output::complain(&format!("holdfast setup: {says} Nothing was changed."));
                Chosen::Ended(Exit::Ok)
            }
            Picked::Cancelled => {
                output::complain("holdfast setup: cancelled. Nothing was changed.");
                Chosen::Ended(Exit::Failed)
            }
        });
    }
    list::show(places, launch, false);
    Err((Exit::Usage, "name one client or several, or --all; on a terminal they can be chosen from a list".to_owned()))
}

/// Says that a word is no client, and what to do: nearly a client's name, or what to paste for another client.
fn unknown(word: &str, launch: &Launch) -> Result<Chosen, (Exit, String)> {
    let unknown = format!("no client named \"{}\" is known", clean(word));
    let words = CLIENTS.iter().flat_map(|client| client.aliases.iter().copied().chain([client.name]));
    if let Some(meant) = nearest(word, words).and_then(named) {
        return Err((Exit::Usage, format!("{unknown}; did you mean `holdfast setup {}`?", meant.name)));
    }
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    output::complain(&format!(
        "holdfast setup: {unknown}, only {}. For another one, put this into its list of MCP servers, which most clients write so:",
        known.join(", ")
    ));
    output::bytes(common_snippet(launch).as_bytes());
    Ok(Chosen::Ended(Exit::Usage))
}

/// Returns the folder that `--project` names, and the Unity project that this folder is or lies in, if there is one.
fn project(named: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>), String> {
    let here = std::env::current_dir().map_err(|error| format!("the working directory is not known ({error})"))?;
    match named {
        None => match config::named_project(&here) {
            Ok(project) => Ok((project.clone(), Some(project))),
            Err(_) => {
                Err(format!("--project: {} is in no Unity project; name the folder, --project DIR", here.display()))
            }
        },
        Some(named) => {
            let folder = config::canonical(&here.join(named)).filter(|folder| folder.is_dir());
            let folder = folder.ok_or_else(|| format!("--project: {} is not a folder", named.display()))?;
            let project = config::named_project(&folder).ok();
            Ok((folder, project))
        }
    }
}

/// Returns the arguments by which an entry names a project.
fn named_in(project: &Path) -> Result<Vec<String>, (Exit, String)> {
    let text = project.to_str().ok_or_else(|| {
        (
            Exit::Usage,
            format!("the path of {} is not valid Unicode, and a configuration cannot name it", project.display()),
        )
    })?;
    Ok(vec!["--project".to_owned(), text.to_owned()])
}
