//! `holdfast skill`: the skill that teaches an AI client the commands of this program.

mod arguments;
mod content;
mod network;
mod standing;
mod task;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use holdfast_client_config::{Client, Places, SKILL_FOLDERS, Wish, files, skill_folder};

use super::setup::choice::{self, Chosen, clients_named};
use super::setup::picker::Choice;
use super::setup::program;
use super::setup::standing::title;
use super::setup::{complain, project};
use super::{Exit, output};
use crate::protocol::text::clean;
pub use arguments::SkillArgs;
use arguments::{ShowArgs, SkillCommand, WhereArgs};
use content::{FIRST, SKILL};
use standing::Standing;
use task::Task;

pub fn run(arguments: &SkillArgs) -> ExitCode {
    let (command, done) = match &arguments.command {
        SkillCommand::Install(install) => {
            let wanted = Wanted { install: true, create: install.create, network: install.allow_network };
            ("skill install", change(&install.place, wanted))
        }
        SkillCommand::Remove(remove) => {
            let wanted = Wanted { install: false, create: false, network: remove.allow_network };
            ("skill remove", change(&remove.place, wanted))
        }
        SkillCommand::List(list) => (
            "skill list",
            places(list.project.as_ref()).map(|places| {
                standing::show(&places, list.json);
                Exit::Ok
            }),
        ),
        SkillCommand::Show(show) => ("skill show", print(show)),
    };
    done.unwrap_or_else(|(exit, why)| complain(command, exit, &why)).into()
}

/// What is to be done for each client.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// To install the skill, not to take it out.
    install: bool,
    /// Also for a client that is not found here.
    create: bool,
    /// To open the network of the client's sandbox, or to close it.
    network: bool,
}

fn places(named: Option<&Option<PathBuf>>) -> Result<Places, (Exit, String)> {
    let unknown = || (Exit::Usage, "the user's home is not known; set HOME (on Windows USERPROFILE)".to_owned());
    let mut places = program::places().ok_or_else(unknown)?;
    if let Some(named) = named {
        let (folder, _) = project("--project", named.as_deref()).map_err(|why| (Exit::Usage, why))?;
        places.project = Some(folder);
    }
    Ok(places)
}

fn change(place: &WhereArgs, wanted: Wanted) -> Result<Exit, (Exit, String)> {
    let places = places(place.project.as_ref())?;
    let clients = match chosen(place, &places, wanted)? {
        Chosen::These(clients) => clients,
        Chosen::Ended(exit) => return Ok(exit),
    };
    if wanted.network && !clients.iter().any(|client| network::has_sandbox(client)) {
        return Err((Exit::Usage, "--allow-network is for Codex, whose sandbox has a setting for it".to_owned()));
    }
    let command = if wanted.install { "skill install" } else { "skill remove" };
    let mut worst = Exit::Ok;
    for (at, client) in clients.into_iter().enumerate() {
        if at > 0 {
            output::line("");
        }
        let exit = of_client(client, &places, place.dry_run, wanted)
            .unwrap_or_else(|(exit, why)| complain(command, exit, &why));
        worst = if worst == Exit::Ok { exit } else { worst };
    }
    Ok(worst)
}

fn of_client(client: &'static Client, places: &Places, dry_run: bool, wanted: Wanted) -> Result<Exit, (Exit, String)> {
    let Some(folder) = skill_folder(client) else {
        let why = format!(
            "{} is not known to read skills. If it does, save what `holdfast skill show` prints where it looks for them",
            title(client)
        );
        return Err((Exit::Failed, why));
    };
    let is_here = places.project.is_some() || places.sign(client).is_some();
    if wanted.install && !is_here && !wanted.create {
        let why =
            format!("{} is not found here. Start it once, or write the files anyway with --create", title(client));
        return Err((Exit::Failed, why));
    }
    let task = Task { client, folder, places, install: wanted.install, dry_run };
    let exit = task.run();
    let Some(file) = files(client, places, Wish::Lack).into_iter().next().filter(|_| network::has_sandbox(client))
    else {
        return Ok(exit);
    };
    if !wanted.network {
        if !dry_run {
            network::tell(client, &file, places, wanted.install);
        }
        return Ok(exit);
    }
    let opened = network::set(client, &file, places, wanted.install, dry_run);
    Ok(if exit == Exit::Ok { opened } else { exit })
}

fn chosen(place: &WhereArgs, places: &Places, wanted: Wanted) -> Result<Chosen, (Exit, String)> {
    let meant = |one: &Standing| if wanted.install { one.sign.is_some() } else { one.is_there() };
    let meant: Vec<Standing> = Standing::all(places).into_iter().filter(meant).collect();
    if place.all {
        return match (meant.is_empty(), wanted.install) {
            (false, _) => Ok(Chosen::These(meant.iter().map(|one| one.client).collect())),
            (true, true) => Err((Exit::Failed, "no AI client that is known to read skills is found here".to_owned())),
            (true, false) => Err((Exit::Ok, "no client has the skill".to_owned())),
        };
    }
    if !place.clients.is_empty() {
        return clients_named(&place.clients).map(Chosen::These).map_err(|not_known| {
            let more = match not_known.meant {
                Some(meant) => format!("; did you mean `{}`?", meant.name),
                None => {
                    let known: Vec<&str> = SKILL_FOLDERS.iter().map(|folder| folder.client).collect();
                    format!(
                        ". These read skills: {}. For another one, save what `holdfast skill show` prints where it looks for skills",
                        known.join(", ")
                    )
                }
            };
            (Exit::Usage, format!("{not_known}{more}"))
        });
    }
    if choice::can_choose() {
        let choices: Vec<Choice> = meant
            .iter()
            .map(|one| Choice { client: one.client, says: one.word().0, chosen: wanted.install && !one.is_installed() })
            .collect();
        return Ok(match wanted.install {
            true => choice::choose(
                "skill install",
                "Which clients get the skill?",
                "no AI client that is known to read skills is found here.",
                &choices,
            ),
            false => choice::choose(
                "skill remove",
                "Take the skill out of which clients?",
                "no client has the skill.",
                &choices,
            ),
        });
    }
    standing::show(places, false);
    Err((Exit::Usage, "name one client or several, or --all; on a terminal they can be chosen from a list".to_owned()))
}

fn print(arguments: &ShowArgs) -> Result<Exit, (Exit, String)> {
    if arguments.json {
        output::json(&content::as_json().to_string());
        return Ok(Exit::Ok);
    }
    let wanted = arguments.file.as_deref().unwrap_or(FIRST);
    let (_, text) = SKILL.files.iter().find(|(path, _)| *path == wanted).ok_or_else(|| {
        let known: Vec<&str> = SKILL.files.iter().map(|(path, _)| *path).collect();
        (Exit::Usage, format!("the skill has no file \"{}\", only {}", clean(wanted), known.join(", ")))
    })?;
    output::bytes(text.as_bytes());
    Ok(Exit::Ok)
}
