//! `holdfast doctor --clients`: shows what is known of the clients, and how holdfast treats each.

use serde_json::json;

use crate::cli::Exit;
use crate::cli::client_facts::{HEADS, as_json, assumes, facts, lines, row, unknown_means};
use crate::cli::output::{self, Tone, toned};
use crate::cli::setup;
use crate::config::Config;
use crate::protocol::mcp::ClientTraits;
use crate::protocol::mcp::clients::{AS_OF, ASSUMED_FROM, Client, Evidence, known_clients, labelled};
use crate::protocol::text::{clean, nearest};

const WIDE: usize = 110;

/// Shows the table of all clients, or everything about the client named `named`.
pub fn show(named: Option<&str>, config: &Config, json: bool) -> Exit {
    let treated = |client: &Client| config.clients.traits_of_client(client);
    match named.map(|word| (word, labelled(word))) {
        None if json => {
            let clients: Vec<_> = known_clients().iter().map(|client| as_json(client, &treated(client))).collect();
            output::json(&json!({"as_of": AS_OF, "clients": clients}).to_string());
        }
        None => table(&known_clients().iter().map(|client| (client, treated(client))).collect::<Vec<_>>()),
        Some((_, Some(client))) if json => output::json(&as_json(client, &treated(client)).to_string()),
        Some((_, Some(client))) => in_full(client, &treated(client)),
        Some((word, None)) => {
            let known: Vec<String> = known_clients().iter().map(|client| client.label.replace('_', "-")).collect();
            let meant = nearest(&word.replace('_', "-"), known.iter().map(String::as_str));
            let meant = meant.map(|meant| format!("did you mean {meant}? Known are ")).unwrap_or_default();
            output::complain(&format!(
                "holdfast doctor: no client \"{}\" is known: {meant}{}. Another one is treated as unknown: {}",
                clean(word),
                known.join(", "),
                unknown_means()
            ));
            return Exit::Usage;
        }
    }
    Exit::Ok
}

fn table(clients: &[(&Client, ClientTraits)]) {
    let wide = output::columns() >= WIDE;
    let rows: Vec<[String; 12]> = clients.iter().map(|(client, now)| row(client, now)).collect();
    let widths: Vec<usize> = HEADS
        .iter()
        .enumerate()
        .map(|(at, (head, ..))| rows.iter().filter_map(|row| row.get(at)).map(String::len).chain([head.len()]).max())
        .map(Option::unwrap_or_default)
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let shown = cells.zip(HEADS).zip(&widths).filter(|((_, (.., only_wide)), _)| wide || !only_wide);
        let cells: Vec<String> = shown.map(|((cell, _), width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    output::line(&toned(&line(&mut HEADS.iter().map(|(head, ..)| *head)), Tone::Plain));
    for row in &rows {
        output::line(&line(&mut row.iter().map(String::as_str)));
    }
    output::line("");
    for (head, meaning, only_wide) in HEADS {
        if !meaning.is_empty() && (wide || !only_wide) {
            output::line(&format!("{head:8}  {meaning}"));
        }
    }
    output::line("?         not checked");
    output::line("*         it keeps what is longer in a file itself; for the others holdfast cuts");
    output::line("!         from your settings");
    output::line("");
    output::line(&output::wrapped(&unknown_means(), "", output::columns()));
    output::line(&output::wrapped(
        &format!("As of {AS_OF}. `holdfast doctor --clients NAME` shows all of one, and where each fact comes from."),
        "",
        output::columns(),
    ));
}

fn in_full(client: &Client, now: &ClientTraits) {
    let wrapped = |text: &str| output::line(&output::wrapped(text, "  ", output::columns()));
    output::line(&toned(&format!("{} ({})", client.title, client.label), Tone::Plain));
    for (about, says) in lines(client, now) {
        wrapped(&format!("{about}: {says}"));
    }
    if client.by_hand.is_some() {
        output::bytes(setup::snippet_for_any().as_bytes());
    }
    if *now != client.traits() {
        wrapped("Your settings have changed what holdfast does from what the table says.");
    }
    output::line("");
    output::line(&toned("What is known, and from where", Tone::Plain));
    for told in facts(client) {
        let says = told.says.as_deref().unwrap_or("unknown");
        let from = told.evidence.map(|evidence| format!(" ({})", Evidence::words(evidence))).unwrap_or_default();
        wrapped(&format!("{}: {says}{from}", told.about));
    }
    if assumes(client) {
        wrapped(ASSUMED_FROM);
    }
    wrapped(&format!("From: {}; as of {AS_OF}", client.sources));
}
