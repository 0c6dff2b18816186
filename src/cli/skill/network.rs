//! The network in Codex's sandbox: it is opened only by a flag, and what is closed is told.

use std::path::Path;

use holdfast_client_config::{Client, Done, Network, Places, SANDBOX, Written};

use crate::cli::Exit;
use crate::cli::output::{self, Tone, row, toned};
use crate::cli::setup::complain;
use crate::cli::setup::diff::diff;
use crate::cli::setup::standing::title;

/// Whether this client runs commands in a sandbox that may be closed.
pub fn has_sandbox(client: &Client) -> bool {
    client.name == SANDBOX.client
}

/// Opens the network for a client's commands, or closes it. Says what is true afterwards.
pub fn set(client: &Client, file: &Path, places: &Places, open: bool, dry_run: bool) -> Exit {
    let command = if open { "skill install" } else { "skill remove" };
    let done = if dry_run {
        SANDBOX.plan(client, file, places, open).map(|plan| {
            output::bytes(diff(&plan).as_bytes());
            if plan.changes() { None } else { Some(Done::Already) }
        })
    } else {
        SANDBOX.make(client, file, places, open).map(|(_, done)| Some(done))
    };
    match done {
        Err(refusal) => {
            let exit = complain(command, Exit::Failed, &refusal.to_string());
            if open {
                output::complain(&format!(
                    "This is what opens the network for the commands that {} runs:",
                    title(client)
                ));
                output::bytes(SANDBOX.snippet().as_bytes());
            }
            exit
        }
        Ok(done) => {
            if let Some(done) = done {
                say(client, file, open, &done);
            }
            Exit::Ok
        }
    }
}

fn say(client: &Client, file: &Path, open: bool, done: &Done) {
    let (title, file) = (title(client), file.display());
    let state = if open { "open" } else { "closed" };
    if *done == Done::Already {
        output::hung("", &format!("The network is {state} already for the commands that {title} runs, by {file}."));
        return;
    }
    let tone = if open { Tone::Plain } else { Tone::Good };
    output::line(&toned(&format!("The network is {state} for the commands that {title} runs."), tone));
    row("file", &format!("{file}, [{}] {}", SANDBOX.table, SANDBOX.field));
    if open {
        row("scope", "every command in its sandbox \"workspace-write\", and the whole network, not only this machine");
        row("undo", "holdfast skill remove codex --allow-network");
    }
    match done {
        Done::Wrote(Written::BackedUp(backup) | Written::EarlierBackup(backup)) => {
            row("before", &backup.display().to_string());
        }
        Done::Restored => row("before", "the file is as it was before"),
        Done::Deleted => row("before", "holdfast had made the file; it held nothing else and is gone"),
        Done::Wrote(Written::New | Written::Renewed) | Done::Already => {}
    }
}

/// Says what is closed, and what would open it; or what stays open after a removal.
pub fn tell(client: &Client, file: &Path, places: &Places, install: bool) {
    // A file that cannot be read says nothing; `holdfast setup` tells what is wrong with it.
    let Ok(network) = SANDBOX.network(client, file, places) else { return };
    let can_close = SANDBOX.plan(client, file, places, false).is_ok();
    let (title, file) = (title(client), file.display());
    let project = places.project.as_ref().map(|_| " --project").unwrap_or_default();
    match (network, install) {
        (Network::Closed, true) => row(
            "note",
            &format!(
                "{title} runs commands in a sandbox without a network, also to 127.0.0.1, where Unity listens: `holdfast call` ends with 3 \
                 there, unless you approve it outside of the sandbox. `holdfast skill install codex{project} --allow-network` opens it in \
                 {file}, for every command and the whole network"
            ),
        ),
        (Network::ByProfile, true) => row(
            "note",
            &format!(
                "{title} runs commands in a sandbox, and a profile of yours in {file} says whether they reach 127.0.0.1, where Unity \
                 listens: `holdfast call` needs enabled = true in [permissions.NAME.network]"
            ),
        ),
        (Network::Open, true) => row("note", &format!("its commands reach Unity: {file} opens the network for them")),
        (Network::Open, false) if !can_close => {
            row(
                "note",
                &format!("{file} still opens the network for the commands that {title} runs, as it did before"),
            );
        }
        (Network::Open, false) => row(
            "note",
            &format!(
                "{file} still opens the network for the commands that {title} runs; `holdfast skill remove codex{project} --allow-network` \
                 closes it"
            ),
        ),
        (Network::Closed | Network::ByProfile, false) => {}
    }
}
