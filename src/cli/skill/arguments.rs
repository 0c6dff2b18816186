//! The flags of `holdfast skill`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::cli::complete;

#[derive(Debug, Clone, Args)]
pub struct SkillArgs {
    #[command(subcommand)]
    pub command: SkillCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum SkillCommand {
    /// Put the skill where an AI client looks for skills, or renew it
    ///
    /// Into a folder "holdfast" of its own: SKILL.md, and the files that it refers to. A file there that holdfast did not write, or that
    /// was changed since, is copied beside itself first.
    ///
    /// Exit codes: 0 done, or nothing to do, 1 refused, with the reason, 2 wrong usage or unknown client.
    #[command(after_help = "\
Examples:
  holdfast skill install claude-code
  holdfast skill install cursor --dry-run    the change, as a diff
  holdfast skill install --all --project     for the project around this folder
  holdfast skill install codex --allow-network")]
    Install(InstallArgs),
    /// Take the skill out again
    ///
    /// A file of before the first installation comes back. A file that was changed since it was written stays.
    ///
    /// Exit codes: 0 done, or nothing to do, 1 refused, with the reason, 2 wrong usage or unknown client.
    #[command(after_help = "\
Examples:
  holdfast skill remove claude-code
  holdfast skill remove --all --dry-run
  holdfast skill remove codex --allow-network    and close the network again")]
    Remove(RemoveArgs),
    /// Show which clients read skills, and which have this one
    ///
    /// Exit codes: 0 shown, 2 wrong usage.
    #[command(after_help = "\
Examples:
  holdfast skill list
  holdfast skill list --json | jq -r '.clients[] | .client, .state'")]
    List(ListArgs),
    /// Print the skill
    ///
    /// For a client that is not in the list: save the files in a folder \"holdfast\" where it looks for skills.
    ///
    /// Exit codes: 0 printed, 2 wrong usage or no such file.
    #[command(after_help = "\
Examples:
  holdfast skill show
  holdfast skill show references/exit-codes.md
  holdfast skill show --json | jq -r '.files | keys[]'")]
    Show(ShowArgs),
}

/// Which clients and which folder are meant.
#[derive(Debug, Clone, Args)]
pub struct WhereArgs {
    /// Which AI clients: claude-code, codex, cursor, gemini, vscode, copilot-cli
    ///
    /// Without one, on a terminal: choose among those that are here.
    #[arg(value_name = "CLIENT", add = ArgValueCandidates::new(complete::clients_with_skills))]
    pub clients: Vec<String>,
    /// Every client that is here and reads skills
    #[arg(long, conflicts_with = "clients")]
    pub all: bool,
    /// In this project's folder, not in the user's
    ///
    /// A team can commit it: it names no path of this machine. Without DIR: the Unity project around the working directory. After CLIENT:
    /// a word behind --project is the folder.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub project: Option<Option<PathBuf>>,
    /// Show the change as a unified diff, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub place: WhereArgs,
    /// Write the files although the client is not found here
    #[arg(long, conflicts_with = "all")]
    pub create: bool,
    /// Codex: let the commands that it runs reach the network
    ///
    /// Codex runs commands in a sandbox without a network, also to 127.0.0.1, where Unity listens. This sets network_access = true in
    /// the section sandbox_workspace_write of its config.toml. It is for every command in that sandbox, and for the whole network: Codex has no
    /// narrower setting. Without this flag nothing of it is changed.
    #[arg(long)]
    pub allow_network: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RemoveArgs {
    #[command(flatten)]
    pub place: WhereArgs,
    /// Codex: also close the network for the commands that it runs
    #[arg(long)]
    pub allow_network: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Look in this project's folders
    ///
    /// Without DIR: the Unity project around the working directory.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub project: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// The file; without it, SKILL.md
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
    /// Print all files and the two prompts, as JSON
    #[arg(long, conflicts_with = "file")]
    pub json: bool,
}
