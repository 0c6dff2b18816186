//! The command line: one file or folder per subcommand. Most flags have an environment variable; exit codes are a contract
//! ([`Exit`]).

mod attached;
mod batch;
mod call;
#[cfg(feature = "demo")]
mod child;
mod client_facts;
mod complete;
mod completions;
mod dashboards;
#[cfg(feature = "demo")]
mod demo;
mod doctor;
#[cfg(feature = "demo")]
mod fake_unity;
mod follow;
mod gateway_args;
mod help;
pub mod http;
mod hub;
mod logs;
mod look;
mod named_editor;
mod one_shot;
mod orphan;
mod output;
mod report;
mod resources;
mod serve;
mod setup;
mod shown;
mod skill;
mod status;
mod terminal;
mod tools;
mod unity;
mod variables;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use output::Exit;

use call::CallArgs;
use doctor::DoctorArgs;
use gateway_args::GatewayArgs;
use help::LONG_VERSION;
use hub::HubArgs;
use logs::LogsArgs;
use report::ReportArgs;
use setup::SetupArgs;
use skill::SkillArgs;
use status::StatusArgs;
use tools::ToolsArgs;
use unity::UnityArgs;

/// Keeps an AI's session with Unity alive while the editor reloads or crashes
///
/// holdfast is an MCP server: an AI editor starts it, and it talks to the Unity Editor, which may reload, hang, restart or crash.
/// Every request gets exactly one honest answer; nothing that may have run is run again.
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, long_version = LONG_VERSION.as_str())]
#[command(args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(
    after_help = "`holdfast COMMAND -h` is short, --help long. `holdfast` alone is `holdfast serve`.",
    after_long_help = "\
`holdfast COMMAND -h` is short, --help long. `holdfast` alone is `holdfast serve`.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not executed, 4 outcome unknown or still running, 70 a bug of holdfast, 71 could \
not create threads at start, 74 done, and its output could not be written."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    gateway: GatewayArgs,
}

// In the order in which a person meets them. `help` groups them.
#[derive(Debug, Subcommand)]
enum Command {
    /// Set up an AI client, or take holdfast out of it again
    ///
    /// Writes an entry into the client's configuration file. Changes one entry, "holdfast" (and with --replace those of old servers), and keeps every other byte: comments, order,
    /// indentation, line endings. The first state is copied beside the file. A file that cannot be parsed is never touched.
    ///
    /// Exit codes: 0 done, or nothing to do, 1 refused, with the reason and what to paste, 2 wrong usage or unknown client.
    #[command(
        after_help = "\
Examples:
  holdfast setup --list                  which clients are here and set up
  holdfast setup claude-code",
        after_long_help = "\
Examples:
  holdfast setup --list                  which clients are here and set up
  holdfast setup cursor --dry-run        the change, as a diff
  holdfast setup claude-code
  holdfast setup claude-desktop --project ~/games/Castle
  holdfast setup codex --replace         and the old server's entry goes
  holdfast setup codex --remove"
    )]
    Setup(SetupArgs),
    /// Teach an AI client these commands, by a skill
    ///
    /// A skill is a folder of texts in the open format Agent Skills (SKILL.md), which the client reads when a task needs it: which
    /// command is for what, what each exit code means, and what to do after "outcome unknown".
    #[command(after_help = "\
Examples:
  holdfast skill install claude-code
  holdfast skill list                    which clients read skills, and have it
  holdfast skill remove claude-code")]
    Skill(SkillArgs),
    /// Place the Unity package, look at it, or take it out
    #[command(after_help = "\
Examples:
  holdfast unity install                 into the project around this folder
  holdfast unity status                  is it there, and was it changed
  holdfast unity remove")]
    Unity(UnityArgs),
    /// Find out what is wrong, and how to fix it
    ///
    /// Looks at the project, its package and settings, the editor's process, the ports and who listens there, lock files, the
    /// state folder, the environment and the configurations of AI clients; then greets the editor as a gateway does, if it may be
    /// called. Changes nothing in the project.
    ///
    /// Exit codes: 0 no problem, 1 problems, 2 wrong usage.
    #[command(
        after_help = "\
Examples:
  holdfast doctor
  holdfast doctor --project ~/games/Castle",
        after_long_help = "\
Examples:
  holdfast doctor
  holdfast doctor --project ~/games/Castle
  holdfast doctor --clients              what is known of AI clients
  holdfast doctor --clients codex        all that is known of one
  holdfast doctor --json |
    jq -r '.findings[] | select(.level == \"problem\") | .says, .mend'"
    )]
    Doctor(DoctorArgs),
    /// Watch a session survive reloads, a freeze and a kill of Unity
    ///
    /// Of a fake one, with real processes. The demo needs no Unity, and takes half a minute.
    ///
    /// Exit codes: 0 every promise held, 1 one did not.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  holdfast demo
  holdfast demo --fast --dialect holdfast    with holdfast's own package
  holdfast demo --json | jq -r .event")]
    Demo(demo::DemoArgs),
    /// Show every running gateway and this project's editor
    ///
    /// Opens no connections: gateways leave a record in the state folder, the editor is seen by its files, its process and its port.
    ///
    /// Exit codes: 0 an editor runs and its port is open (it is not called), 2 wrong usage, 3 none does. With --open: 0 opened, 1 no
    /// page or no browser.
    #[command(
        after_help = "\
Examples:
  holdfast status
  holdfast status --watch                all of it live; q ends it",
        after_long_help = "\
Examples:
  holdfast status
  holdfast status --watch                all of it live; q ends it
  holdfast status --project ~/games/Castle
  holdfast status --json |
    jq '.gateways[] | {client: .gateway.client, ready: .editor.ready}'"
    )]
    Status(StatusArgs),
    /// Show what a gateway has logged
    ///
    /// Every gateway keeps its last log lines in the state folder, also after it has ended or was killed: one of `serve` and of `hub`,
    /// at least at the level `info`. They never have arguments, results or secrets. `--log off` keeps none.
    ///
    /// Exit codes: 0 shown, 1 there is no such log, 2 wrong usage.
    #[command(after_help = "\
Examples:
  holdfast logs                          of this project's newest gateway
  holdfast logs -f -n 20                 and what it logs from now on
  holdfast logs --json | jq -c 'select(.level == \"WARN\")'")]
    Logs(LogsArgs),
    /// Collect what a bug report needs, and send nothing
    ///
    /// Writes a zip archive with the version, the system, what doctor and status say, the settings, the ends of the logs, and the metrics.
    /// The names of user, machine and projects, the paths of home and projects, and the secrets that are known are replaced by
    /// placeholders. Look at it before you send it.
    ///
    /// Exit codes: 0 written, 1 it could not be written, 2 wrong usage.
    #[command(after_help = "\
Examples:
  holdfast report
  holdfast report --project ~/games/Castle --out report.zip")]
    Report(ReportArgs),
    /// Write the Grafana dashboard and Prometheus rules of this version
    ///
    /// A dashboard, recording rules, alerts, and a scrape configuration that finds every gateway of this user by its record in
    /// the state folder. Files that are there and differ are left alone, unless --force is given.
    ///
    /// Exit codes: 0 written, or all there already, 1 not written, 2 wrong usage.
    #[command(after_help = "\
Examples:
  holdfast dashboards                    what there is to write
  holdfast dashboards --write ./holdfast-dashboards")]
    Dashboards(dashboards::DashboardsArgs),
    /// List the tools that an AI sees
    ///
    /// Asks the editor, waits at most 3 s if one is likely, and says whether the list is live, from the disk (an earlier
    /// session's) or only holdfast's own.
    ///
    /// Exit codes: 0 a list of the editor's tools, 1 no tool fits the words, 2 wrong usage or no such tool, 3 no editor and none on disk.
    #[command(after_help = "\
Examples:
  holdfast tools
  holdfast tools --search \"take picture\"
  holdfast tools screenshot              its arguments, and an example
  holdfast tools --dropped               what is left out or changed, and why
  holdfast tools --json | jq -r '.tools[].name'")]
    Tools(ToolsArgs),
    /// Call one tool, for scripts and CI
    ///
    /// The tool's text result goes to stdout as it is, everything else to stderr. The call is held while the editor reloads, sent
    /// once, and never sent again after it may have run.
    ///
    /// Exit codes: 0 the tool succeeded, 1 the tool failed, 2 wrong usage, bad JSON or unknown tool, 3 not executed, 4 outcome
    /// unknown or still running.
    #[command(
        after_help = "\
Examples:
  holdfast call compile
  holdfast call get-logs LogType=Error MaxCount=20",
        after_long_help = "\
Examples:
  holdfast call compile
  holdfast call get-logs LogType=Error MaxCount=20
  holdfast call get-logs '{\"LogType\":\"Error\",\"MaxCount\":20}'
  holdfast call screenshot --out shot.png
  holdfast call run-tests @tests.json --timeout 600
  holdfast call execute-dynamic-code Code=@script.cs
  echo '{\"Code\":\"return 1;\"}' | holdfast call execute-dynamic-code -
  holdfast call holdfast_wait_ready timeout_seconds=90 &&
    holdfast call compile"
    )]
    Call(CallArgs),
    /// Make the calls of a file, one after the other
    ///
    /// All lines are read before the first call is made, and it stops at the first call that does not end well. stderr says of each
    /// line whether it ran. The results go to stdout, one below the other.
    ///
    /// Exit codes: 0 every call succeeded, else that of the call at which it stopped (`holdfast call --help`); 2 a line is wrong, and
    /// nothing was sent.
    #[command(after_help = "\
Examples:
  holdfast batch build.calls
  printf 'compile\\nrun-tests\\n' | holdfast batch - --json")]
    Batch(batch::BatchArgs),
    /// Wait until Unity takes calls
    ///
    /// Ends as soon as the editor is ready, or when the time is up. Changes nothing in Unity.
    ///
    /// Exit codes: 0 it is ready, 2 wrong usage, 3 it was not in time; stderr says why.
    #[command(after_help = "\
Examples:
  holdfast wait && holdfast call run-tests
  holdfast wait --until idle --timeout 300")]
    Wait(follow::WaitArgs),
    /// Say what became of an earlier call
    ///
    /// For a call whose answer was lost, that was \"still running\", or whose command was killed. Nothing is sent again. Asks the hub
    /// if one runs, else takes over what that command left.
    ///
    /// Exit codes: those of the call (`holdfast call --help`); 4 it still runs, or nothing is known of it.
    #[command(after_help = "\
Examples:
  holdfast result 0f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11")]
    Result(follow::ResultArgs),
    /// Serve MCP on stdin and stdout (the default)
    ///
    /// This is what an AI client starts. It answers at once, whether Unity runs or not, and ends with its stdin.
    #[command(after_help = "\
Examples:
  holdfast serve                             the project around this folder
  holdfast serve --project ~/games/Castle    that one, wherever it is started
  holdfast serve --port 8701                 the editor on that port, unproven")]
    Serve(GatewayArgs),
    /// Run one gateway that several AI clients share
    ///
    /// Each `holdfast serve` with the same state folder then hands its session to the hub, with its own project, rules and audit.
    /// The clients share one connection to each editor, and take turns. Rules and audit of the hub itself are for all of its sessions. A hub
    /// that ends is replaced by one that its sessions start.
    ///
    /// Exit codes: 0 ended, or another hub runs already, 1 it cannot run here, 2 wrong usage, 70 a bug of holdfast.
    #[command(after_help = "\
Examples:
  holdfast hub                           until Ctrl-C; new sessions use it
  holdfast hub --metrics=127.0.0.1:9464  with the metrics of all sessions
  holdfast serve --hub start             in an AI client: starts a hub")]
    Hub(HubArgs),
    /// Print completions for a shell
    ///
    /// The script asks this program while you type, so that it also completes AI clients, tools and editors. Load it where your
    /// shell starts; a copy in a file may not fit the next version.
    #[command(after_help = "\
Examples:
  source <(holdfast completions bash)        in ~/.bashrc
  source <(holdfast completions zsh)         in ~/.zshrc, after compinit
  holdfast completions fish | source         in ~/.config/fish/config.fish
  holdfast completions powershell | Out-String | Invoke-Expression")]
    Completions(completions::CompletionsArgs),
    /// Run a model of a Unity Editor, for tests
    ///
    /// With a bridge in it, and steered by lines on stdin. Prints one JSON object a line; the first says where it listens. The line `help` lists what it can be told.
    #[cfg(feature = "demo")]
    #[command(after_help = "\
Examples:
  holdfast fake-unity --port 8700
  holdfast fake-unity --project /tmp/Castle")]
    FakeUnity(holdfast_fake_unity::FakeUnityArgs),
}

pub fn main() -> ExitCode {
    take_file_limits_as_errors();
    if let Some(exit) = completions::answer(Cli::command) {
        return output::end(exit);
    }
    let command = without_empty_variables(Cli::command());
    let words = in_order(&command, std::env::args_os().collect());
    let command = help::dressed(command, &words);
    let first: Vec<String> = words.iter().skip(1).take(2).filter_map(|word| word.to_str().map(str::to_owned)).collect();
    let parsed = command.try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(said) => return output::end(output::usage(&help::with_tips(said, &first))),
    };
    output::end(run(cli))
}

/// Moves flags that are written before the subcommand behind it: `holdfast --port 8700 status` becomes `holdfast status --port
/// 8700`.
fn in_order(command: &clap::Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let text = |at: usize| words.get(at).and_then(|word| word.to_str());
    let (mut flags_end, mut all_known) = (1, true);
    while let Some(word) = text(flags_end).filter(|word| word.starts_with('-') && *word != "--") {
        let name = word.trim_start_matches('-');
        let flag = command.get_arguments().find(|argument| argument.get_long() == Some(name));
        all_known &= flag.is_some();
        let takes = |flag: &clap::Arg| flag.get_action().takes_values() && !flag.is_require_equals_set();
        flags_end += if flag.is_some_and(takes) { 2 } else { 1 };
    }
    let (mut end, mut within) = (flags_end, command);
    while let Some(inner) = text(end).and_then(|word| within.find_subcommand(word)) {
        (end, within) = (end + 1, inner);
    }
    // A word that is not a subcommand is also moved to the front, so that the parser reports it as the mistake. After an unknown
    // flag that word may be the flag's value; then the flag is the mistake.
    let end = if all_known { end.max(flags_end + 1).min(words.len()) } else { end };
    if let Some(part) = words.get_mut(1..end).filter(|_| end > flags_end) {
        part.rotate_left(flags_end - 1);
    }
    words
}

/// Returns the command, which no longer reads those variables that are set to nothing. Where a value is missing,
/// clients fill templates with empty texts, and an empty variable must not end the process.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let empty = |name: &std::ffi::OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if empty(name) => argument.env(None::<&str>),
            _ => argument,
        })
        .mut_subcommands(without_empty_variables)
}

fn run(cli: Cli) -> ExitCode {
    match cli.command {
        None => serve::run(&cli.gateway, true),
        Some(Command::Serve(gateway)) => serve::run(&gateway, false),
        Some(Command::Hub(arguments)) => hub::run(&arguments),
        Some(Command::Tools(arguments)) => tools::run(&arguments),
        Some(Command::Call(arguments)) => call::run(&arguments),
        Some(Command::Batch(arguments)) => batch::run(&arguments),
        Some(Command::Wait(arguments)) => follow::wait(&arguments),
        Some(Command::Result(arguments)) => follow::result(&arguments),
        Some(Command::Status(arguments)) => status::run(&arguments),
        Some(Command::Logs(arguments)) => logs::run(&arguments),
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Dashboards(arguments)) => dashboards::run(&arguments),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments),
        Some(Command::Setup(arguments)) => setup::run(&arguments),
        Some(Command::Skill(arguments)) => skill::run(&arguments),
        Some(Command::Unity(arguments)) => unity::run(&arguments),
        #[cfg(feature = "demo")]
        Some(Command::Demo(arguments)) => demo::run(arguments),
        #[cfg(feature = "demo")]
        Some(Command::FakeUnity(arguments)) => fake_unity::run(arguments),
        Some(Command::Completions(arguments)) => completions::run(&arguments, Cli::command()),
    }
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) fail with an ordinary error. Without a handler, the signal SIGXFSZ
/// would end the process.
fn take_file_limits_as_errors() {
    #[cfg(unix)]
    {
        // If the handler cannot be installed, the signal still ends the process.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    }
}
