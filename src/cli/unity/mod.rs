//! `holdfast unity install`, `status` and `remove`: places the Unity package that this binary contains into a project, checks it, or takes it
//! out. `try` tries it in a real editor.

mod content;
mod embedded;
mod place;
mod project;
pub(super) mod standing;
#[cfg(feature = "demo")]
mod trial;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::output::{Tone, row, toned};
use super::{Exit, output};
use crate::config;
use crate::config::below::projects_below;
use crate::core::user_text;
use embedded::{About, Sums, TITLE};
use place::{NotPlaced, Work};
pub use project::{Obstacle, Site};
use standing::{Standing, State, named};

#[derive(Debug, Clone, Args)]
pub struct UnityArgs {
    #[command(subcommand)]
    command: UnityCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum UnityCommand {
    /// Place the Unity package into a project, or bring it up to date
    ///
    /// Puts the package that this program carries into Packages/dev.holdfast.unity, where Unity finds it by itself: no registry,
    /// no entry in Packages/manifest.json. Also brings an older one up to date. The folder comes, changes and goes in one step,
    /// so a running editor imports once. Files there that you changed or added are found by their sums
    /// (.holdfast-install.json in the folder) and never overwritten or deleted without --force.
    ///
    /// Exit codes: 0 done, or nothing to do, 1 refused, nothing was changed, 2 wrong usage or no Unity project.
    #[command(after_help = "\
Examples:
  holdfast unity install                 into the project around this folder
  holdfast unity install --project ~/games/Castle
  holdfast unity install --dry-run       which files would change")]
    Install(InstallArgs),
    /// Say whether the package is there, and what in it was changed
    ///
    /// And which version it is. Changes nothing.
    ///
    /// Exit codes: 0 installed as this program would, 1 not, 2 wrong usage or no Unity project.
    #[command(after_help = "\
Examples:
  holdfast unity status                  of the project around this folder
  holdfast unity status --project ~/games/Castle
  holdfast unity status --json | jq -r .version")]
    Status(StatusArgs),
    /// Take the package out
    ///
    /// Library/Holdfast and the settings of its window stay.
    ///
    /// Exit codes: 0 done, or nothing to do, 1 refused, nothing was changed, 2 wrong usage or no Unity project.
    #[command(after_help = "\
Examples:
  holdfast unity remove                  out of the project around this folder
  holdfast unity remove --project ~/games/Castle
  holdfast unity remove --dry-run        which files would go")]
    Remove(RemoveArgs),
    /// Try the package in a real editor, and write a report that can be sent
    ///
    /// Finds an installed editor by Unity Hub's files, makes an empty project in the folder for temporary files, adds the package,
    /// starts the editor, and goes by itself through what matters: import, first connection, each tool, reload, compile error, play
    /// mode, freeze, dialog, kill and restart, and the times of many reloads. Asks before it starts anything; ends and removes all of
    /// it afterwards. The editor needs an active licence.
    ///
    /// Exit codes: 0 all of it did what it must, 1 something did not (the report says what), 2 wrong usage, nothing was started.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  holdfast unity try                     in the newest installed editor
  holdfast unity try --list              which editors are found
  holdfast unity try --editor 2022.3 --reloads 20
  holdfast unity try --no-window --yes   on a machine of CI
  holdfast unity try --package NAME      another package, from Unity's registry")]
    Try(trial::TryArgs),
}

#[derive(Debug, Clone, Args)]
pub struct ProjectArgs {
    /// The Unity project
    ///
    /// The folder with Assets and ProjectSettings, or one below it. Without it: the one around the working directory, or the only
    /// one up to three levels below it.
    #[arg(long, value_name = "DIR", env = "HOLDFAST_PROJECT")]
    pub project: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RemoveArgs {
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Show what would be done, file by file, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove what you changed or added in the folder
    ///
    /// And a folder that holdfast did not put there. What is in it is lost.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub project: ProjectArgs,
    /// The same as `holdfast unity status`
    #[arg(long, conflicts_with_all = ["remove", "dry_run", "force"])]
    pub check: bool,
    /// Print what --check says as JSON
    #[arg(long, requires = "check")]
    pub json: bool,
    /// The same as `holdfast unity remove`
    #[arg(long)]
    pub remove: bool,
    /// Show what would be done, file by file, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also replace or remove what you changed or added in the folder
    ///
    /// And a folder that holdfast did not put there. What is in it is lost.
    #[arg(long)]
    pub force: bool,
    /// Place it although the project has another package that works
    ///
    /// holdfast then calls neither, until one is removed or --dialect names one.
    #[arg(long, conflicts_with_all = ["check", "remove"])]
    pub beside: bool,
}

pub fn run(arguments: &UnityArgs) -> ExitCode {
    let nothing = |project: &ProjectArgs| InstallArgs {
        project: project.clone(),
        check: false,
        json: false,
        remove: false,
        dry_run: false,
        force: false,
        beside: false,
    };
    let (command, arguments) = match &arguments.command {
        #[cfg(feature = "demo")]
        UnityCommand::Try(arguments) => return trial::run(arguments),
        UnityCommand::Install(arguments) => ("install", arguments.clone()),
        UnityCommand::Status(StatusArgs { project, json }) => {
            ("status", InstallArgs { check: true, json: *json, ..nothing(project) })
        }
        UnityCommand::Remove(RemoveArgs { project, dry_run, force }) => {
            ("remove", InstallArgs { remove: true, dry_run: *dry_run, force: *force, ..nothing(project) })
        }
    };
    let done = answer(&arguments).unwrap_or_else(|(exit, why)| {
        output::complain(&format!("holdfast unity {command}: {why}. Nothing was changed."));
        exit
    });
    done.into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Nothing,
    Go,
}

/// Returns the exit code; or the exit code and the reason if nothing was done.
fn answer(arguments: &InstallArgs) -> Result<Exit, (Exit, String)> {
    let failed = |why: String| (Exit::Failed, why);
    let site = Site::new(project(arguments)?);
    let before = Standing::of(&site);
    if arguments.check {
        return Ok(check(&before, arguments.json));
    }
    let step = decide(&before, arguments);
    if arguments.dry_run {
        show(&before, &step.map_err(failed)?, arguments.remove).map_err(failed)?;
        return Ok(Exit::Ok);
    }
    // If there is nothing to do, no lock is taken: then even the folder's modification time stays.
    if (before.clone.is_some() || !Work::left_behind(&site)) && step.map_err(failed)? == Step::Nothing {
        report_nothing(&before, arguments.remove);
        return Ok(Exit::Ok);
    }
    let work = Work::begin(&site).map_err(|error| failed(error.to_string()))?;
    let done = carry_out(&work, &site, arguments);
    let ended = work.end();
    done.map_err(failed)?;
    if let Err(error) = ended {
        output::complain(&format!(
            "holdfast unity install: it is done, but {error}: it tidies up what is left in {}.",
            site.work().display()
        ));
    }
    Ok(Exit::Ok)
}

/// Finds the project as the gateway does, except that with several projects a running editor does not decide.
fn project(arguments: &InstallArgs) -> Result<PathBuf, (Exit, String)> {
    let here = std::env::current_dir();
    let here = here.map_err(|error| (Exit::Usage, format!("the working directory is not known ({error})")))?;
    let usage = |why: String| (Exit::Usage, why);
    if let Some(named) = &arguments.project.project {
        let named = config::named_project(&here.join(named));
        return named.map_err(|bad| usage(format!("--project or HOLDFAST_PROJECT: {bad}")));
    }
    config::named_project(&here).or_else(|bad| {
        let below = projects_below(&[here]);
        match below.projects.as_slice() {
            [one] if !below.cut => Ok(one.clone()),
            found => Err(usage(match user_text::candidates(found) {
                Some(listed) => format!("{bad}; below it a project is to be named. {}", listed.trim_end_matches('.')),
                None => {
                    let unsearched = below
                        .unsearched
                        .first()
                        .map(|(_, why)| format!(", and below it none was looked for, {}", why.why()));
                    format!(
                        "{bad}{}; run this inside the project, or name it with --project DIR",
                        unsearched.unwrap_or_default()
                    )
                }
            })),
        }
    })
}

/// Returns whether there is work to do. The error says why it must not be done.
fn decide(standing: &Standing, arguments: &InstallArgs) -> Result<Step, String> {
    if let Some(clone) = &standing.clone {
        let original = &standing.site.project;
        return Err(format!(
            "{} is a link: {} is a clone of {}, and has the package that is installed and updated there; run `holdfast unity install \
             --project {}`",
            Site::new(clone.clone()).packages().display(),
            clone.display(),
            original.display(),
            user_text::quoted(original)
        ));
    }
    let folder = standing.site.folder();
    let folder = folder.display();
    match &standing.obstacle {
        Some(obstacle) if !arguments.remove || matches!(obstacle, Obstacle::Link(_)) => {
            return Err(obstacle.to_string());
        }
        _ => {}
    }
    let others = if arguments.remove || arguments.beside { Vec::new() } else { standing.site.others() };
    if !others.is_empty() && !matches!(standing.state, State::Installed(_)) {
        return Err(format!(
            "the project has {}, and works with it. With both, holdfast calls neither: take that one out first, or use --beside and \
             name one of the two with --dialect (HOLDFAST_DIALECT in the AI client's entry)",
            others.join(" and ")
        ));
    }
    match &standing.state {
        State::Absent if arguments.remove => Ok(Step::Nothing),
        State::Absent | State::Interrupted => Ok(Step::Go),
        State::Unreadable(why) => {
            Err(format!("{folder} cannot be looked at ({why}); let this user read it, or remove it"))
        }
        State::Foreign if !arguments.force => {
            Err(format!("{folder} is there, and holdfast did not put it there; move it away, or lose it with --force"))
        }
        State::Installed(installed)
            if !arguments.remove && installed.current() && (installed.added.is_empty() || !arguments.force) =>
        {
            Ok(Step::Nothing)
        }
        State::Installed(installed) if !arguments.force && !installed.own_work().is_empty() => {
            let part = |what: &str, paths: &[String]| (!paths.is_empty()).then(|| format!("{what}: {}", named(paths)));
            let parts = [part("changed", &installed.changed), part("added", &installed.added)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            Err(format!(
                "{folder} has work of yours ({}); move it to a place of its own, or lose it with --force",
                parts.join("; ")
            ))
        }
        State::Foreign | State::Installed(_) => Ok(Step::Go),
    }
}

/// Reads the state once more, now that the lock keeps other processes from changing it, and does the work.
fn carry_out(work: &Work<'_>, site: &Site, arguments: &InstallArgs) -> Result<(), String> {
    let text = |error: NotPlaced| error.to_string();
    if work.tidy().map_err(text)? {
        output::complain("holdfast unity install: an earlier run was cut short; the package of before was put back.");
    }
    let before = Standing::of(site);
    match decide(&before, arguments)? {
        Step::Nothing => report_nothing(&before, arguments.remove),
        Step::Go if arguments.remove => {
            work.remove().map_err(text)?;
            report_removed(site);
        }
        Step::Go => {
            work.install().map_err(text)?;
            report_installed(&before);
        }
    }
    Ok(())
}

fn report_nothing(standing: &Standing, remove: bool) {
    let project = standing.site.project.display();
    if remove {
        output::hung("", &format!("{TITLE} is not installed in {project}. Nothing to change."));
        return;
    }
    let version = About::this().version;
    output::hung("", &format!("{TITLE} {version} is already installed in {project}. Nothing to change."));
    if let State::Installed(installed) = &standing.state
        && !installed.added.is_empty()
    {
        row("yours", &named(&installed.added));
    }
}

fn report_installed(before: &Standing) {
    let (site, about) = (&before.site, About::this());
    output::line(&toned(&format!("{TITLE} {} is installed.", about.version), Tone::Good));
    row("folder", &format!("{}, {} files", site.folder().display(), embedded::files().len()));
    let was = match &before.state {
        State::Installed(installed) if installed.same => format!("{}, not whole", installed.version),
        State::Installed(installed) => installed.version.clone(),
        State::Foreign => "something else, which is gone".to_owned(),
        State::Absent | State::Interrupted | State::Unreadable(_) => "it was not there".to_owned(),
    };
    row("before", &was);
    row("next", "open the project in Unity, or bring its window to the front: it takes the package in by itself");
    for note in notes(site) {
        row("note", &note);
    }
}

/// Returns notes that the user should read before Unity imports the package.
fn notes(site: &Site) -> Vec<String> {
    let mut notes = Vec::new();
    if site.unity().is_none() {
        let least = About::this().unity;
        notes.push(format!(
            "ProjectSettings/ProjectVersion.txt does not tell the project's Unity; the package needs {least} or newer"
        ));
    }
    let others = site.others();
    if !others.is_empty() {
        notes.push(format!(
            "the project has {} too, and holdfast calls neither until one is taken out or named with --dialect (HOLDFAST_DIALECT in \
             the AI client's entry)",
            others.join(" and ")
        ));
    }
    let fetched = site.to_be_fetched();
    if !fetched.is_empty() {
        let list: Vec<String> = fetched.iter().map(|(name, version)| format!("{name} {version}")).collect();
        notes.push(format!("the package needs {}, which Unity may have to fetch from its registry", list.join(", ")));
    }
    notes
}

fn report_removed(site: &Site) {
    output::hung("", &format!("{TITLE} is removed from {}.", site.project.display()));
    if site.project.join("Library/Holdfast").exists() {
        row(
            "stays",
            "Library/Holdfast: an editor that still runs writes there; delete it when Unity is closed if you like",
        );
    }
}

fn check(standing: &Standing, as_json: bool) -> Exit {
    let exit = if standing.good() { Exit::Ok } else { Exit::Failed };
    if as_json {
        output::json(&standing.as_json().to_string());
        return exit;
    }
    let tone = if standing.good() { Tone::Good } else { Tone::Bad };
    output::line(&toned(&format!("{}.", standing.says()), tone));
    row("folder", &standing.site.folder().display().to_string());
    row("unity", &standing.site.unity().unwrap_or_else(|| "not known".to_owned()));
    if let Some(fix) = standing.fix() {
        row("fix", &fix);
    }
    exit
}

/// Prints which files would be added (`+`), changed (`~`) and removed (`-`). A `.meta` file is listed only if it changes.
fn show(standing: &Standing, step: &Step, remove: bool) -> Result<(), String> {
    if *step == Step::Nothing {
        report_nothing(standing, remove);
        return Ok(());
    }
    let site = &standing.site;
    let now = match &standing.state {
        State::Foreign | State::Installed(_) => content::read(&site.folder()).map_err(|error| error.to_string())?,
        State::Absent | State::Interrupted | State::Unreadable(_) => Sums::new(),
    };
    let then = if remove { Sums::new() } else { embedded::sums() };
    let what = if remove {
        "Would remove".to_owned()
    } else {
        format!("Would install {TITLE} {} into", About::this().version)
    };
    output::hung("", &format!("{what} {}:", site.folder().display()));
    let paths: std::collections::BTreeSet<&String> = now.keys().chain(then.keys()).collect();
    for path in paths {
        let sign = match (now.get(path), then.get(path)) {
            (None, _) => '+',
            (_, None) => '-',
            (was, is) if was != is => '~',
            _ => continue,
        };
        if sign == '~' || !path.ends_with(".meta") {
            output::line(&format!("  {sign} {}", crate::protocol::text::clean(path)));
        }
    }
    Ok(())
}
