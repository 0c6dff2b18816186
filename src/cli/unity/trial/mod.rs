//! `holdfast unity try`: tries the package in a real editor, in a project of its own, and writes a report that can be sent.

mod editor;
mod editors;
mod foreign;
mod results;
mod session;
mod steps;
mod tried;

use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::cli::help::LONG_VERSION;
use crate::cli::report::{self, Redactor};
use crate::cli::resources::runtime;
use crate::cli::serve::signalled;
use crate::cli::{Exit, child, output, terminal};
use crate::limits::FLUSH_MAX;
use crate::limits::demo::{UNITY_TRY_RELOADS_MAX, UNITY_TRY_START_MAX};
use crate::platform::host::{Host as _, RealHost, release};
use crate::platform::stdio;
use editor::{FREEZE, Stage, end_of};
use editors::{Editor, Places};
use results::Results;
use session::Session;
use steps::Trial;
use tried::Tried;

#[derive(Debug, Clone, Args)]
pub struct TryArgs {
    /// The editor: its version or the beginning of one, its program, or its folder
    ///
    /// Without it: the newest that Unity Hub's files name.
    #[arg(long, value_name = "VERSION|FILE")]
    editor: Option<String>,
    /// The package: holdfast's own, or one that the editor gets from Unity's registry
    ///
    /// Nobody has tried such another package with holdfast in a real editor yet. The steps are those that need no word of the
    /// package about itself: no play mode, no dialog.
    #[arg(long, value_name = "NAME", default_value = Tried::names().next().unwrap_or_default(), value_parser = clap::builder::PossibleValuesParser::new(Tried::names()))]
    package: String,
    /// The version of that other package
    ///
    /// Without it: the newest that this program knows.
    #[arg(long, value_name = "VERSION")]
    package_version: Option<String>,
    /// Print the editors that are found, and start nothing
    #[arg(long, conflicts_with_all = ["yes", "out", "reloads", "no_window", "keep"])]
    list: bool,
    /// Start without asking
    #[arg(long, short)]
    yes: bool,
    /// How many reloads are measured
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(0..=i64::from(UNITY_TRY_RELOADS_MAX)))]
    reloads: u16,
    /// How long the editor may take to its first answer, in seconds
    ///
    /// The first import of an empty project takes minutes on a slow disk.
    #[arg(long, value_name = "SECONDS", default_value_t = UNITY_TRY_START_MAX.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    start_timeout: u64,
    /// Start the editor without a window, as on a machine of CI
    ///
    /// The dialog is then left out.
    #[arg(long)]
    no_window: bool,
    /// Write the report to this file
    ///
    /// It must not exist yet. Without it: holdfast-try-VERSION-TIME.zip in the working directory.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Keep the project and the logs, and name their folder
    #[arg(long)]
    keep: bool,
}

const README: &str = "\
A trial in a real editor, made by `holdfast unity try`. Nothing was sent anywhere: whoever made it decides.

summary.txt    each step, and whether it did what it must
about.json     the program's version, the package, the system, the editor
reloads.tsv    each reload: how long compile and the other call took, and whether the editor had the focus
answers.jsonl  each call to a tool, and its answer
editor-N.log   the end of the editor's log, of each of its starts, without lines about licences, accounts and tokens, or with an address of mail
gateway.log    the end of the gateway's log

What was replaced, in each file: the names of user and machine, the paths of home and of the trial. Look at it before you send it.
";

pub fn run(arguments: &TryArgs) -> ExitCode {
    let wrong = |why: &str| {
        output::complain(&format!("holdfast unity try: {why}. Nothing was started."));
        Exit::Usage.into()
    };
    let places = Places::here();
    if arguments.list {
        return list(&places.editors());
    }
    let tried = match Tried::of(&arguments.package, arguments.package_version.as_deref()) {
        Ok(tried) => tried,
        Err(why) => return wrong(&why),
    };
    let editor = match places.chosen(arguments.editor.as_deref()) {
        Ok(editor) => editor,
        Err(why) => return wrong(&why),
    };
    let out = arguments.out.clone().unwrap_or_else(|| {
        let time = humantime::format_rfc3339_seconds(RealHost.now()).to_string().replace(':', "");
        PathBuf::from(format!("holdfast-try-{}-{time}.zip", editor.version.as_deref().unwrap_or("unity")))
    });
    if out.exists() {
        return wrong(&format!("{} exists already; name another file with --out", out.display()));
    }
    tell_plan(arguments, &editor, &tried, &out);
    if !arguments.yes {
        if !std::io::stdin().is_terminal() {
            return wrong("an editor is started only if you agree, and there is no terminal to ask on; --yes says so");
        }
        output::complain("Start? [y/N] ");
        let answer = terminal::while_it_is_open(|| {
            let mut line = String::new();
            BufReader::new(stdio::Stdin).read_line(&mut line).map(|_| line)
        });
        let agreed =
            answer.and_then(Result::ok).is_some_and(|line| ["y", "yes"].contains(&line.trim().to_lowercase().as_str()));
        if !agreed {
            output::complain("Nothing was started.");
            return Exit::Failed.into();
        }
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!(
                "holdfast unity try: no threads could be started ({error}); free some and start it again"
            ));
            return Exit::Internal.into();
        }
    };
    let exit = runtime.block_on(try_it(arguments, editor, &tried, &out));
    runtime.shutdown_timeout(FLUSH_MAX);
    exit.into()
}

fn list(editors: &[Editor]) -> ExitCode {
    for editor in editors {
        let version = editor.version.as_deref().unwrap_or("version not known");
        output::line(&format!("{version}  {}", editor.program.display()));
    }
    if editors.is_empty() {
        output::complain("Unity Hub's files name no installed editor. Name the editor's program with --editor FILE.");
        return Exit::Failed.into();
    }
    Exit::Ok.into()
}

fn tell_plan(arguments: &TryArgs, editor: &Editor, tried: &Tried, out: &Path) {
    let version = editor.version.as_deref().unwrap_or("version not known");
    output::hung("", &format!("This tries {} in a Unity Editor of yours.", tried.title()));
    output::row("editor", &format!("{version}, {}", editor.program.display()));
    output::row(
        "project",
        "a new, empty one in the folder for temporary files; it is removed afterwards. No project of yours is touched",
    );
    let dialog = if arguments.no_window || !tried.is_own() { "" } else { ", opens a dialog" };
    let calls = if tried.is_own() { "calls each tool" } else { "reads the state and the console" };
    let plays = if tried.is_own() { "plays, " } else { "" };
    output::row(
        "what",
        &format!(
            "starts the editor, {calls}, breaks and mends a script, {plays}freezes the editor for {} s{dialog}, kills and restarts \
             it, and reloads {} times. It ends only the editor that it started",
            FREEZE.as_secs(),
            arguments.reloads
        ),
    );
    output::row("time", "10 to 40 minutes. Leave the editor alone meanwhile; Ctrl-C ends everything");
    output::row("report", &format!("{}; nothing is sent anywhere", out.display()));
}

/// Makes the folder, tries, writes the report, and removes what was made.
async fn try_it(arguments: &TryArgs, editor: Editor, tried: &Tried, out: &Path) -> Exit {
    // The signal handlers are installed first: a signal that came before them would leave a folder or a process behind.
    let interrupted = signalled();
    // The editor reports this path in the system's spelling.
    let folder = match child::private_folder("try").and_then(dunce::canonicalize) {
        Ok(folder) => folder,
        Err(error) => {
            let place = std::env::temp_dir();
            output::complain(&format!("holdfast unity try: no folder can be made in {} ({error})", place.display()));
            return Exit::Failed;
        }
    };
    let about = json!({
        "holdfast": LONG_VERSION.as_str(),
        "package": tried.version,
        "package_id": tried.id(),
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "release": release(),
        "editor": editor.version,
        "window": !arguments.no_window,
        "written_at": humantime::format_rfc3339_seconds(RealHost.now()).to_string(),
    });
    let (mut results, mut stage) = (Results::default(), None);
    let played = tokio::select! {
        () = play(arguments, editor, tried, &folder, &mut results, &mut stage) => true,
        Some(()) = interrupted => false,
    };
    let logs = match &mut stage {
        Some(stage) => {
            if !played {
                stage.kill().await;
            } else if !stage.quit().await {
                results.fact("the editor did not quit when it was asked, and was killed");
            }
            stage.logs()
        }
        None => Vec::new(),
    };
    if !played {
        results.failed("it was interrupted");
    }
    if results.failed == 0 {
        results.passed("all of it");
    }
    let written = write(out, &about, &results, logs, &folder);
    if arguments.keep {
        output::complain(&format!("The project and the logs are in {}", folder.display()));
    } else if let Err(error) = std::fs::remove_dir_all(&folder) {
        output::complain(&format!(
            "{} could not be removed ({error}); remove it when no program uses it",
            folder.display()
        ));
    }
    match written {
        Err(exit) => exit,
        Ok(()) if results.failed > 0 => Exit::Failed,
        Ok(()) => Exit::Ok,
    }
}

/// Plays the trial. If the trial cannot go on, that is a failed step. The editor may still run afterwards.
async fn play(
    arguments: &TryArgs,
    editor: Editor,
    tried: &Tried,
    folder: &Path,
    results: &mut Results,
    stage: &mut Option<Stage>,
) {
    let stage = match Stage::set(folder, editor, tried, !arguments.no_window) {
        Ok(set) => stage.insert(set),
        Err(why) => return results.failed(&why),
    };
    if let Err(error) = stage.start() {
        return results.failed(&format!("the editor could not be started ({error})"));
    }
    let mut session = match Session::open(&stage.project, folder).await {
        Ok(session) => session,
        Err(why) => return results.failed(&why),
    };
    let (start_max, reloads) = (Duration::from_secs(arguments.start_timeout), usize::from(arguments.reloads));
    let window = !arguments.no_window;
    let mut trial =
        Trial { tried, listed: Vec::new(), stage, session: &mut session, results, window, start_max, reloads };
    match tokio::time::timeout(steps::longest(start_max, reloads), trial.play()).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => results.failed(&why),
        Err(_) => results.failed("it took too long; see the editor's log in the report"),
    }
    session.close().await;
}

/// Writes the report. `logs`: the logs of the editor.
fn write(
    out: &Path,
    about: &serde_json::Value,
    results: &Results,
    logs: Vec<(String, String)>,
    folder: &Path,
) -> Result<(), Exit> {
    let mut redactor = Redactor::default();
    redactor.path(&folder.display().to_string(), "<trial>");
    report::of_this_machine(&mut redactor);
    let replaced = |text: &str| redactor.text(text);
    let lines = |lines: &[String]| lines.iter().map(|line| replaced(line) + "\n").collect::<String>();
    let gateway = end_of(&folder.join("gateway.log"));
    let mut files = vec![
        ("README.txt".to_owned(), README.to_owned()),
        ("summary.txt".to_owned(), lines(&results.summary)),
        ("about.json".to_owned(), replaced(&format!("{about:#}\n"))),
        ("reloads.tsv".to_owned(), results.table()),
        ("answers.jsonl".to_owned(), lines(&results.answers)),
        ("gateway.log".to_owned(), gateway.lines().map(|line| redactor.line(line) + "\n").collect()),
    ];
    for (name, log) in logs {
        let kept = log.lines().filter(|line| !is_of_an_account(line));
        files.push((name, kept.map(|line| replaced(line) + "\n").collect()));
    }
    let files: Vec<(String, Vec<u8>)> = files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    report::write_archive("holdfast unity try", out, &files)?;
    output::hung(
        "",
        "Nothing was sent anywhere. Look at it, then attach it to an issue with the title \"Real editor: VERSION on SYSTEM\": \
         https://github.com/holdfast-mcp/holdfast/issues. A failure is as welcome as a success.",
    );
    Ok(())
}

/// Whether a line of the editor's log may be about a licence or an account.
fn is_of_an_account(line: &str) -> bool {
    let line = line.to_lowercase();
    // After the name of a package, `@` is followed by a version, which begins with a digit.
    let is_mail = |after: &str| {
        let host =
            after.split(|letter: char| !(letter.is_alphanumeric() || ".-".contains(letter))).next().unwrap_or_default();
        host.starts_with(char::is_alphabetic) && host.trim_end_matches('.').contains('.')
    };
    if line.split('@').skip(1).any(is_mail) {
        return true;
    }
    [
        "licens",
        "licence",
        "serial",
        "password",
        "username",
        "email",
        "e-mail",
        "token",
        "entitlement",
        "userid",
        "user id",
    ]
    .iter()
    .any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_accounts_do_not_go_into_a_report() {
        for line in [
            "[Licensing::Client] ok",
            "Serial number F4-XX",
            "USERNAME: me",
            "access token: abc",
            "entitlements",
            "hello ann@example.org.",
        ] {
            assert!(is_of_an_account(line), "{line}");
        }
        for line in ["Refresh completed in 2.1 seconds", "com.unity.test-framework@1.1.33", "com.x.y@abc123 at 100% @"]
        {
            assert!(!is_of_an_account(line), "{line}");
        }
    }
}
