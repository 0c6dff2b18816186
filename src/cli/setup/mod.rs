//! `holdfast setup`: writes an entry for this program into an AI client's configuration, or takes it out again.

mod arguments;
pub mod choice;
pub mod diff;
pub mod http;
mod list;
#[cfg(test)]
mod pages;
pub mod picker;
pub mod program;
pub mod standing;
mod task;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdfast_client_config::{Aim, CLIENTS, Client, Http, Launch, Places, Standing, State, Wish, common_snippet};

use super::{Exit, output};
use crate::config;
pub use arguments::{SetupArgs, complain};
use choice::{Chosen, NotKnown, clients_named};
use http::OverHttp;
use picker::Choice;
use program::{passing, this_program};
use task::Task;

/// Returns the entry that a person pastes into the settings of a client that `setup` does not edit. Empty if this program's path
/// is unknown.
pub fn snippet_for_any() -> String {
    this_program().map(|launch| common_snippet(&launch)).unwrap_or_default()
}

pub fn run(arguments: &SetupArgs) -> ExitCode {
    answer(arguments).unwrap_or_else(|(exit, why)| complain("setup", exit, &why)).into()
}

/// Returns the exit code; or the exit code and the reason if nothing was done.
fn answer(arguments: &SetupArgs) -> Result<Exit, (Exit, String)> {
    let usage = |why: String| (Exit::Usage, why);
    if let Some(why) = arguments.shared.and_then(arguments::Shared::refusal) {
        return Err(usage(why));
    }
    let here = this_program().map_err(|error| (Exit::Failed, error.to_string()))?;
    let mut places = program::places()
        .ok_or_else(|| usage("the user's home is not known; set HOME (on Windows USERPROFILE)".to_owned()))?;
    let wanted = arguments.project.clone().or(arguments.shared.map(|_| None));
    let unity_project = match wanted {
        None => None,
        Some(named) => {
            let flag = if arguments.project.is_some() { "--project" } else { "--shared" };
            let (folder, unity_project) = project(flag, named.as_deref()).map_err(usage)?;
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
    let over_http = (arguments.http.as_ref())
        .map(|url| OverHttp::of(url.as_deref(), unity_project.as_deref(), arguments.shared))
        .transpose()?;
    let flag = arguments.metrics.as_ref().map(|place| match place.as_deref() {
        None | Some("on") => "--metrics".to_owned(),
        Some(place) => format!("--metrics={place}"),
    });
    let launch = match arguments.shared {
        Some(shared) => Launch { flag, ..shared.launch() },
        None => {
            let args = unity_project.map(|project| named_in(&project)).transpose()?.unwrap_or_default();
            Launch { args, flag, ..here }
        }
    };
    if arguments.shared.is_none() && arguments.http.is_none() && !arguments.remove {
        warn_of_place(&launch.program);
    }
    let run = |client: &'static Client| {
        let (places, over_http) = (&places, over_http.as_ref());
        let endpoint = over_http.map(|http| http.endpoint(client, places.of_project(client))).transpose()?;
        let aim = endpoint.as_ref().map_or(Aim::Start(&launch), Aim::Connect);
        let wish = match (arguments.remove, arguments.replace) {
            (true, _) => Wish::Lack,
            (false, true) => Wish::Replace(aim),
            (false, false) => Wish::Have(aim),
        };
        Task { client, places, launch: &launch, wish, over_http, shared: arguments.shared }.run(arguments)
    };
    let mut worst = Exit::Ok;
    for (at, client) in clients.into_iter().enumerate() {
        if at > 0 {
            output::line("");
        }
        let exit = run(client).unwrap_or_else(|(exit, why)| complain("setup", exit, &why));
        worst = if worst == Exit::Ok { exit } else { worst };
    }
    Ok(worst)
}

fn chosen(arguments: &SetupArgs, places: &Places, launch: &Launch) -> Result<Chosen, (Exit, String)> {
    let all = || Standing::all(places, Path::new(&launch.program));
    // What there is to choose from: the clients that are here, or those that start holdfast.
    let meant = |standing: &Standing| match arguments.remove {
        true => !matches!(standing.state, State::NotConfigured | State::Broken(_)),
        false => {
            let takes = arguments.http.is_none() || matches!(standing.client.http, Http::Takes(_));
            standing.sign.is_some() && takes && (arguments.shared.is_none() || standing.project.is_some())
        }
    };
    if arguments.all {
        let clients: Vec<_> = all().into_iter().filter(|one| meant(one)).map(|one| one.client).collect();
        return match (clients.is_empty(), arguments.remove) {
            (false, _) => Ok(Chosen::These(clients)),
            (true, true) => Err((Exit::Ok, "no client starts holdfast".to_owned())),
            (true, false) => Err((
                Exit::Failed,
                "no AI client that holdfast knows is found here; `holdfast setup --list --json` names the files that it looked for"
                    .to_owned(),
            )),
        };
    }
    if !arguments.clients.is_empty() {
        return clients_named(&arguments.clients).map(Chosen::These).or_else(|not_known| unknown(&not_known, launch));
    }
    if choice::can_choose() {
        let choices: Vec<Choice> =
            all().iter().filter(|one| meant(one)).map(|one| choice_of(one, arguments.remove)).collect();
        let (asked, none) = match arguments.remove {
            true => ("Take holdfast out of which clients?", "no client starts holdfast."),
            false => ("Set up which clients?", "no AI client that it knows is found here."),
        };
        return Ok(choice::choose("setup", asked, none, &choices));
    }
    list::show(places, launch, false);
    Err((Exit::Usage, "name one client or several, or --all; on a terminal they can be chosen from a list".to_owned()))
}

/// The clients that are not set up yet are chosen at first; for a removal, none are.
fn choice_of(standing: &Standing, remove: bool) -> Choice {
    // A broken file cannot be changed.
    let chosen = !remove && !standing.is_configured() && !matches!(standing.state, State::Broken(_));
    Choice { client: standing.client, says: list::word(standing).0, chosen }
}

/// Says that a word is no client, and what to do: nearly a client's name, or what to paste for another client.
fn unknown(not_known: &NotKnown, launch: &Launch) -> Result<Chosen, (Exit, String)> {
    if let Some(meant) = not_known.meant {
        return Err((Exit::Usage, format!("{not_known}; did you mean `holdfast setup {}`?", meant.name)));
    }
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    output::complain(&format!(
        "holdfast setup: {not_known}, only {}. For another one, put this into its list of MCP servers, which most clients write so:",
        known.join(", ")
    ));
    output::bytes(common_snippet(launch).as_bytes());
    Ok(Chosen::Ended(Exit::Usage))
}

/// Says, once for all clients, that this program lies where it may be deleted.
fn warn_of_place(program: &str) {
    if let Some(passing) = passing(program) {
        output::complain(&format!(
            "holdfast setup: warning: this program lies {} ({program}): when it is gone, no client can start it. {}, and run this again from \
             there.",
            passing.lies, passing.fix
        ));
    }
}

/// Returns the folder that `--project` names, and the Unity project that this folder is or lies in, if there is one.
///
/// `flag`: the flag that asks for it.
///
/// # Errors
/// Returns the reason, if there is no such folder or project.
pub fn project(flag: &str, named: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>), String> {
    let here = std::env::current_dir().map_err(|error| format!("the working directory is not known ({error})"))?;
    match named {
        None => match config::named_project(&here) {
            Ok(project) => Ok((project.clone(), Some(project))),
            Err(_) => Err(format!(
                "{flag}: {} is in no Unity project; go there, or name it with --project DIR",
                here.display()
            )),
        },
        Some(named) => {
            let folder = config::canonical(&here.join(named)).filter(|folder| folder.is_dir());
            let folder = folder.ok_or_else(|| format!("--project: {} is not a folder", named.display()))?;
            let project = config::named_project(&folder).ok();
            Ok((folder, project))
        }
    }
}

fn named_in(project: &Path) -> Result<Vec<String>, (Exit, String)> {
    let text = project.to_str().ok_or_else(|| {
        (
            Exit::Usage,
            format!("the path of {} is not valid Unicode, and a configuration cannot name it", project.display()),
        )
    })?;
    Ok(vec!["--project".to_owned(), text.to_owned()])
}
