//! `holdfast logs`: shows the log that a gateway keeps in the state folder.

mod readable;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tokio::time::Instant;

use super::gateway_args::{EditorArgs, bad_project};
use super::{Exit, output};
use crate::config::below::projects_below;
use crate::config::{self, Config};
use crate::limits::WATCH_EVERY;
use crate::limits::logs::{LOG_END_MAX, LOG_LINES_SHOWN};
use crate::platform::host::{Host as _, Liveness, RealHost};
use crate::platform::stdio;
use crate::protocol::text::clean;
use crate::storage::instance_record;
use crate::storage::log_files::{self, Follower, LogFile};

#[derive(Debug, Clone, Args)]
pub struct LogsArgs {
    /// Go on, and print new lines as they come
    ///
    /// Until the gateway has ended, or Ctrl-C.
    #[arg(long, short)]
    pub follow: bool,
    /// Show so many of the last lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = LOG_LINES_SHOWN)]
    pub lines: usize,
    /// Print the lines as they are in the file: a JSON object each
    #[arg(long)]
    pub json: bool,
    /// The gateway with this process id
    ///
    /// Without it: the one of this project that started last, or of any project outside of one.
    #[arg(long, value_name = "PID")]
    pub gateway: Option<u32>,
    #[command(flatten)]
    pub editor: EditorArgs,
}

pub fn run(arguments: &LogsArgs) -> ExitCode {
    let (config, complaints) = arguments.editor.config();
    for complaint in &complaints {
        output::complain(&format!("holdfast: {complaint}"));
    }
    if let Some(bad) = bad_project(&config) {
        output::complain(&format!("holdfast logs: --project: {bad}. Nothing was done."));
        return Exit::Usage.into();
    }
    let Some(state) = config.state_dir.as_deref() else {
        output::complain(
            "holdfast logs: HOME is not set, so there is no state folder, and gateways keep no log (--state-dir names one).",
        );
        return Exit::Failed.into();
    };
    let wanted = arguments.gateway.map_or_else(|| Wanted::Project(project(&config)), Wanted::Gateway);
    let done = match choose(log_files::all(state), &wanted) {
        Ok(chosen) => {
            show(arguments, state, &chosen);
            Exit::Ok
        }
        Err(why) => {
            output::complain(&format!("holdfast logs: {why}"));
            Exit::Failed
        }
    };
    done.into()
}

/// Returns the project that is meant: the named one, the one around the working directory, or the only one below it.
pub(super) fn project(config: &Config) -> Option<PathBuf> {
    let folder = config.project.clone().or_else(|| config.working_dir.clone())?;
    config::named_project(&folder).ok().or_else(|| {
        let below = projects_below(&[folder]);
        let [one] = &below.projects[..] else { return None };
        (!below.cut).then(|| one.clone())
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Gateway(u32),
    /// The gateway of this project that started last, or of any project.
    Project(Option<PathBuf>),
}

#[derive(Debug)]
struct Chosen {
    log: LogFile,
    projects: Vec<String>,
    others: Vec<u32>,
}

/// Finds the log of a gateway that fits, the one that started last.
fn choose(logs: Vec<LogFile>, wanted: &Wanted) -> Result<Chosen, String> {
    let with_projects = logs.into_iter().map(|log| {
        let projects = log_files::projects(&log_files::lines(&log)).into_iter().map(Cow::into_owned).collect();
        (log, projects)
    });
    let all: Vec<(LogFile, Vec<String>)> = with_projects.collect();
    let fits = |(log, projects): &&(LogFile, Vec<String>)| match wanted {
        Wanted::Gateway(pid) => log.pid() == *pid,
        Wanted::Project(None) => true,
        Wanted::Project(Some(project)) => projects.contains(&log_name(project)),
    };
    let fitting: Vec<&(LogFile, Vec<String>)> = all.iter().filter(fits).collect();
    if let [(log, projects), others @ ..] = &fitting[..] {
        let others = others.iter().map(|(log, _)| log.pid()).collect();
        return Ok(Chosen { log: log.clone(), projects: projects.clone(), others });
    }
    let what = match wanted {
        Wanted::Gateway(pid) => format!("gateway {pid} has left no log"),
        Wanted::Project(Some(project)) => format!("no gateway of {} has left a log", project.display()),
        Wanted::Project(None) => "no gateway has left a log yet".to_owned(),
    };
    let there: Vec<String> =
        all.iter().map(|(log, projects)| format!("--gateway {} ({})", log.pid(), named(projects))).collect();
    Err(match &there[..] {
        [] => format!("{what}. An AI client starts a gateway by itself, and the log begins with it."),
        there => format!("{what}. There are those of {}.", there.join(", ")),
    })
}

fn log_name(project: &Path) -> String {
    clean(&project.to_string_lossy())
}

fn named(projects: &[String]) -> String {
    if projects.is_empty() { "of no project".to_owned() } else { format!("of {}", projects.join(", ")) }
}

fn show(arguments: &LogsArgs, state: &Path, Chosen { log, projects, others }: &Chosen) {
    let pid = log.pid();
    if !arguments.json {
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        let others = match &others[..] {
            [] => String::new(),
            others => format!(" Others: --gateway {}.", others.join(", ")),
        };
        let started = humantime::format_rfc3339_seconds(log.started()).to_string();
        output::complain(&format!("gateway {pid} {}, started {started}. Times are UTC.{others}", named(projects)));
    }
    let print = |line: &String| {
        if arguments.json { output::json(line) } else { output::line(&readable::line(line)) }
    };
    let (mut reader, lines) = Follower::start(log);
    lines.iter().skip(lines.len().saturating_sub(arguments.lines)).for_each(print);
    let mut presence = Presence::default();
    while arguments.follow && !output::closed() && !stdio::stdout_hung_up() {
        // This is asked before the lines are read, so that lines from just before the end are among them.
        let over = presence.has_ended(instance_record::is_kept(state, pid), RealHost.liveness(pid), Instant::now());
        reader.more().iter().for_each(print);
        if over {
            output::complain(&format!("gateway {pid} has ended."));
            return;
        }
        std::thread::park_timeout(WATCH_EVERY);
    }
}

/// What is known of a gateway that may end. A process in another container cannot be seen, but the lock of its record
/// can be. And another process may have the pid by now, but not the record.
#[derive(Debug, Default)]
struct Presence {
    had_record: bool,
    gone_since: Option<Instant>,
}

impl Presence {
    /// Whether the gateway has ended, judging by its record and its process now.
    fn has_ended(&mut self, record: Option<bool>, process: Liveness, now: Instant) -> bool {
        if record == Some(true) {
            (self.had_record, self.gone_since) = (true, None);
            return false;
        }
        let gone = now.saturating_duration_since(*self.gone_since.get_or_insert(now));
        // A gateway still logs after its record has ended and before the process ends.
        process == Liveness::Dead || self.had_record && record == Some(false) && gone >= LOG_END_MAX
    }
}

#[cfg(test)]
mod tests;
