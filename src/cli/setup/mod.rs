//! `holdfast setup`: writes an entry for this program into an AI client's configuration, or takes it out again.

#[cfg(test)]
mod pages;
mod program;
pub mod standing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use holdfast_client_config::{
    CLIENTS, ChangeError, Client, Done, ENTRY_NAME, Launch, Places, Plan, Standing, State, Wish, Written,
    common_snippet, files, make, named, snippet,
};
use serde_json::json;

use super::output::{Tone, row, toned};
use super::{Exit, output};
use crate::config;
use crate::protocol::text::{clean, nearest};
use program::{DISK, passing, this_program};
use standing::{fix_of_old, of_old, says_of_old, title, why};

/// Flags of `holdfast setup`.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// Which AI client: claude-code, cursor, codex and so on
    ///
    /// claude-code, claude-desktop, cursor, vscode, copilot-cli, codex, gemini, windsurf, cline, zed, opencode, goose, amp, junie,
    /// kiro, rider.
    #[arg(required_unless_present = "list")]
    pub client: Option<String>,
    /// For this project only
    ///
    /// In the project's own file if the client has one, else in the user's, with the project named. Without DIR: the Unity project
    /// around the working directory.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub project: Option<Option<PathBuf>>,
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
    #[arg(long, conflicts_with = "client")]
    pub list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list", conflicts_with = "client")]
    pub json: bool,
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
    let launch = this_program().map_err(|error| (Exit::Failed, error.to_string()))?;
    let mut places = Places::here(DISK)
        .ok_or_else(|| usage("the user's home is not known; set HOME (on Windows USERPROFILE)".to_owned()))?;
    let unity_project = match &arguments.project {
        None => None,
        Some(named) => {
            let (folder, unity_project) = project(named.as_deref()).map_err(usage)?;
            places.project = Some(folder);
            unity_project
        }
    };
    let Some(word) = arguments.client.as_deref().filter(|_| !arguments.list) else {
        list(&places, &launch, arguments.json);
        return Ok(Exit::Ok);
    };
    let Some(client) = named(word) else {
        let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        let unknown = format!("no client named \"{}\" is known", clean(word));
        if let Some(meant) = meant(word) {
            return Err(usage(format!("{unknown}; did you mean `holdfast setup {meant}`?")));
        }
        output::complain(&format!(
            "holdfast setup: {unknown}, only {}. For another one, put this into its list of MCP servers, which most clients write so:",
            known.join(", ")
        ));
        output::bytes(common_snippet(&launch).as_bytes());
        return Ok(Exit::Usage);
    };
    let args = unity_project.map(|project| named_in(&project)).transpose()?;
    let launch = Launch { args: args.unwrap_or_default(), ..launch };
    let wish = match (arguments.remove, arguments.replace) {
        (true, _) => Wish::Lack,
        (false, true) => Wish::Replace(&launch),
        (false, false) => Wish::Have(&launch),
    };
    let task = Task { client, places: &places, launch: &launch, wish };
    task.run(arguments)
}

/// Returns the name of the client that a misspelt word most likely means.
fn meant(word: &str) -> Option<&'static str> {
    let words = CLIENTS.iter().flat_map(|client| client.aliases.iter().copied().chain([client.name]));
    nearest(word, words).and_then(named).map(|client| client.name)
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

/// The change of one client's configuration.
struct Task<'a> {
    client: &'static Client,
    places: &'a Places,
    launch: &'a Launch,
    wish: Wish<'a>,
}

impl Task<'_> {
    fn run(&self, arguments: &SetupArgs) -> Result<Exit, (Exit, String)> {
        let client = self.client;
        let files = files(client, self.places, self.wish);
        let file = files.first().ok_or_else(|| {
            (Exit::Usage, format!("where {} keeps its configuration on this system is not known", title(client)))
        })?;
        let of_project = self.places.of_project(client);
        let absent = file.symlink_metadata().is_err() && self.places.sign(client).is_none();
        if absent && !of_project && !arguments.create && self.wish.launch().is_some() {
            let why = format!(
                "{} is not found here ({} does not exist). Start it once, or create the file anyway with --create",
                title(client),
                file.display()
            );
            return Err((Exit::Failed, why));
        }
        if let (Some(_), Some(passing)) = (self.wish.launch(), passing(&self.launch.program)) {
            output::complain(&format!(
                "holdfast setup: this program lies {} ({}): when it is gone, {} cannot start it. {}, and run this again from there.",
                passing.lies,
                self.launch.program,
                title(client),
                passing.fix
            ));
        }
        let one = |file: &PathBuf| {
            let done = if arguments.dry_run { self.show(file) } else { self.make(file) };
            done.unwrap_or_else(|refusal| self.refused(&refusal))
        };
        Ok(files.iter().map(one).fold(Exit::Ok, |worst, exit| if worst == Exit::Ok { exit } else { worst }))
    }

    fn show(&self, file: &Path) -> Result<Exit, ChangeError> {
        let plan = Plan::of(self.client, file, self.places, self.wish)?;
        if plan.changes() {
            output::bytes(diff(&plan).as_bytes());
        } else {
            output::hung("", &self.already(plan.path()));
        }
        self.tell_of_old(&plan);
        Ok(Exit::Ok)
    }

    fn make(&self, file: &Path) -> Result<Exit, ChangeError> {
        let (plan, done) = make(self.client, file, self.places, self.wish)?;
        self.report(plan.path(), &done);
        if let (Wish::Replace(_), true) = (self.wish, done != Done::Already) {
            for old in &plan.old {
                row(
                    "out",
                    &clean(&format!("entry \"{}\", which started {}: the server of {}", old.key, old.starts, old.of)),
                );
            }
        }
        self.tell_of_old(&plan);
        Ok(Exit::Ok)
    }

    /// Names the entries of old servers that remain: in this file, and in the client's file of the project around the working
    /// directory.
    fn tell_of_old(&self, plan: &Plan) {
        let Some(launch) = self.wish.launch() else { return };
        let own = self.places.project.as_ref().filter(|_| self.places.of_project(self.client));
        let option = own.map(|project| format!(" --project {}", project.display())).unwrap_or_default();
        if let Wish::Have(_) = self.wish {
            for old in &plan.old {
                row(
                    "note",
                    &clean(&format!("{}; `{}` takes it out", says_of_old(old, true), fix_of_old(self.client, &option))),
                );
            }
        }
        let around = std::env::current_dir().ok().and_then(|here| config::named_project(&here).ok());
        let Some(project) = around.filter(|_| own.is_none()) else { return };
        let beside = standing::of_project(&project, self.places.clone(), Path::new(&launch.program));
        for standing in beside.iter().filter(|one| one.client.name == self.client.name) {
            for (says, fix) in of_old(standing, true) {
                row("note", &clean(&format!("{says}; `{fix}` takes it out")));
            }
        }
    }

    /// Prints why nothing was done, and the entry that the user can paste.
    fn refused(&self, refusal: &ChangeError) -> Exit {
        complain(Exit::Failed, &refusal.to_string());
        if self.wish.launch().is_some() {
            let keys = self.client.keys.join(".");
            output::complain(&format!("Add this to the file by hand, and keep what is already under {keys}:"));
            output::bytes(snippet(self.client, self.launch).as_bytes());
        }
        Exit::Failed
    }

    fn already(&self, path: &Path) -> String {
        match self.wish {
            Wish::Have(_) | Wish::Replace(_) => {
                format!("{} is already set up, in {}. Nothing to change.", title(self.client), path.display())
            }
            Wish::Lack => format!("{} has no entry \"{}\". Nothing to change.", path.display(), ENTRY_NAME),
        }
    }

    fn report(&self, file: &Path, done: &Done) {
        let (title, path) = (title(self.client), file.display());
        match (self.wish, done) {
            (_, Done::Already) => output::hung("", &self.already(file)),
            (Wish::Have(launch) | Wish::Replace(launch), _) => {
                output::line(&toned(&format!("{title} is set up."), Tone::Good));
                let words: Vec<&str> =
                    std::iter::once(&launch.program).chain(&launch.args).map(String::as_str).collect();
                row("starts", &words.join(" "));
                row("file", &format!("{path}, entry \"{ENTRY_NAME}\""));
            }
            (Wish::Lack, Done::Restored) => {
                output::hung("", &format!("{title} no longer starts holdfast. {path} is as it was before."));
            }
            (Wish::Lack, Done::Deleted) => {
                output::hung("", &format!("{title} no longer starts holdfast. {path} held nothing else and is gone."));
            }
            (Wish::Lack, Done::Wrote(_)) => {
                output::hung("", &format!("{title} no longer starts holdfast. The rest of {path} is as it was."));
            }
        }
        match done {
            Done::Wrote(Written::BackedUp(backup)) => row("before", &backup.display().to_string()),
            Done::Wrote(Written::EarlierBackup(backup)) => {
                row("before", &format!("{}, from the first change; it is kept as it is", backup.display()));
            }
            Done::Wrote(Written::New) => row("before", "there was no file"),
            Done::Already | Done::Restored | Done::Deleted => {}
        }
        if let (Some(launch), true) = (self.wish.launch(), *done != Done::Already) {
            row("next", self.client.afterwards);
            if self.places.project.is_some() && !self.places.of_project(self.client) {
                row(
                    "note",
                    &format!(
                        "{title} has no file for one project: this entry is for every window, and names this project"
                    ),
                );
            } else if self.places.project.is_some() && launch.args.is_empty() {
                row(
                    "note",
                    "the folder is in no Unity project, so the entry names none: the client has to tell which one is open",
                );
            } else if !self.client.tells_project && launch.args.is_empty() {
                row(
                    "note",
                    &format!(
                        "{title} may not tell its servers which project is open; if no tools of Unity appear, name it: `holdfast setup {} --project DIR`",
                        self.client.name
                    ),
                );
            }
        }
    }
}

/// Returns the change as a unified diff.
fn diff(plan: &Plan) -> String {
    let path = plan.path().display().to_string();
    let header = |text: Option<&str>| if text.is_some() { path.as_str() } else { "/dev/null" };
    let diff = similar::TextDiff::from_lines(plan.before().unwrap_or_default(), plan.after().unwrap_or_default());
    diff.unified_diff().header(header(plan.before()), header(plan.after())).to_string()
}

fn list(places: &Places, launch: &Launch, as_json: bool) {
    let standings = Standing::all(places, Path::new(&launch.program));
    if as_json {
        let clients: Vec<_> = standings.iter().map(standing::as_json).collect();
        output::line(&json!({"program": launch.program, "clients": clients}).to_string());
        return;
    }
    let widest = CLIENTS.iter().map(|client| client.name.len()).max().unwrap_or_default();
    for standing in &standings {
        let found = if standing.sign.is_some() { "found    " } else { "not found" };
        let (state, tone) = match standing.state {
            State::Configured => ("set up", Tone::Good),
            State::NotConfigured => ("not set up", Tone::Plain),
            State::Stale { .. } => ("stale", Tone::Bad),
            State::Other { .. } | State::NoProgram => ("another", Tone::Plain),
            State::Broken(_) => ("broken", Tone::Bad),
        };
        let (name, state) = (standing.client.name, toned(&format!("{state:10}"), tone));
        output::hung(&format!("{name:widest$}  {found}  {state}  "), &standing.file.display().to_string());
        let more = format!("{:widest$}             ", "");
        if let Some(why) = why(standing) {
            output::hung(&more, &clean(&why));
        }
        for (says, fix) in of_old(standing, standing.is_configured()) {
            output::hung(&more, &format!("{}; `{fix}`", clean(&says)));
        }
    }
    output::hung("", "`holdfast setup CLIENT` sets one up, with a copy of its file; --dry-run shows the change.");
}

#[cfg(test)]
mod tests {
    use holdfast_client_config::System;

    use super::*;

    /// A Windows machine on which holdfast was set up before Claude Desktop was installed as a package.
    #[test]
    fn remove_takes_the_entry_out_of_the_file_that_the_client_read_before_too() {
        let folder = tempfile::tempdir().unwrap();
        let variable = |_: &str| Some(folder.path().into());
        let places = Places::of(System::Windows, variable, DISK).unwrap();
        let client = named("claude-desktop").unwrap();
        let former = folder.path().join("Claude/claude_desktop_config.json");
        let read =
            folder.path().join("Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json");
        let entry = |text: &str| text.replace("ENTRY", r#", "holdfast": {"command": "/opt/holdfast", "args": []}"#);
        for file in [&former, &read] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        let launch = Launch { program: "/opt/holdfast".to_owned(), args: Vec::new() };
        let arguments = |dry_run| SetupArgs {
            client: Some(client.name.to_owned()),
            project: None,
            dry_run,
            remove: true,
            replace: false,
            create: false,
            list: false,
            json: false,
        };
        let task = Task { client, places: &places, launch: &launch, wish: Wish::Lack };
        const TEXT: &str = r#"{"mcpServers": {"other": {"command": "other"}ENTRY}}"#;
        for there in [&[&former][..], &[&former, &read]] {
            let held = |expected: &str| there.iter().all(|file| std::fs::read_to_string(file).unwrap() == expected);
            for file in there {
                std::fs::write(file, entry(TEXT)).unwrap();
            }
            assert!(task.run(&arguments(true)).is_ok_and(|exit| exit == Exit::Ok) && held(&entry(TEXT)));
            assert!(task.run(&arguments(false)).is_ok_and(|exit| exit == Exit::Ok) && held(&TEXT.replace("ENTRY", "")));
        }
    }
}
