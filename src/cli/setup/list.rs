//! The list of all clients: which are on this machine, and the state of each one's entry.

use std::path::Path;

use holdfast_client_config::{CLIENTS, Launch, Places, Standing, State};
use serde_json::json;

use super::standing::{as_json, of_old, why};
use crate::cli::output::{self, Tone, toned};
use crate::protocol::text::clean;

/// Prints the list: the clients that are here or have an entry one by one, the others by name.
pub(super) fn show(places: &Places, launch: &Launch, as_json_text: bool) {
    let standings = Standing::all(places, Path::new(&launch.program));
    if as_json_text {
        let clients: Vec<_> = standings.iter().map(as_json).collect();
        output::json(&json!({"program": launch.program, "clients": clients}).to_string());
        return;
    }
    let widest = CLIENTS.iter().map(|client| client.name.len()).max().unwrap_or_default();
    let (here, elsewhere): (Vec<&Standing>, Vec<&Standing>) = standings
        .iter()
        .partition(|standing| standing.sign.is_some() || !matches!(standing.state, State::NotConfigured));
    for standing in &here {
        let (word, tone) = word(standing);
        let head = format!("{:widest$}  {}  ", standing.client.name, toned(&format!("{word:10}"), tone));
        let place = if standing.sign.is_some() { "" } else { " (the client itself is not found)" };
        output::hung(&head, &format!("{}{place}", standing.file.display()));
        let more = format!("{:widest$}  {:10}  ", "", "");
        if let Some(why) = why(standing) {
            output::hung(&more, &clean(&why));
        }
        for (says, fix) in of_old(standing, standing.is_configured()) {
            output::hung(&more, &format!("{}; `{fix}`", clean(&says)));
        }
    }
    if !elsewhere.is_empty() {
        let names: Vec<&str> = elsewhere.iter().map(|standing| standing.client.name).collect();
        output::hung("Not found here: ", &names.join(", "));
    }
    output::hung("", "`holdfast setup CLIENT` sets one up, with a copy of its file; --dry-run shows the change.");
}

pub(super) fn word(standing: &Standing) -> (&'static str, Tone) {
    match standing.state {
        State::Configured | State::Connects { .. } => ("set up", Tone::Good),
        State::NotConfigured => ("not set up", Tone::Plain),
        State::Stale { .. } => ("stale", Tone::Bad),
        State::Other { .. } | State::NoProgram => ("another", Tone::Plain),
        State::Broken(_) => ("broken", Tone::Bad),
    }
}
