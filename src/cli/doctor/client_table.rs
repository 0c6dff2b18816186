//! `holdfast doctor --clients`: shows what is known of the clients, and how holdfast treats each.

use holdfast_client_config::CLIENTS;
use serde_json::json;

use crate::cli::Exit;
use crate::cli::client_facts::{as_json, assumes, facts, names, seconds, treatment, unknown_means};
use crate::cli::output::{self, Tone, toned};
use crate::cli::setup;
use crate::config::Config;
use crate::protocol::mcp::ClientTraits;
use crate::protocol::mcp::clients::{
    AS_OF, ASSUMED_FROM, Beyond, Client, Evidence, Fact, TextLimit, Wait, known_clients, labelled,
};
use crate::protocol::text::{clean, nearest};

/// The number of columns from which the wide table is shown.
const WIDE: usize = 110;

const NAMELESS: &str = "not known, so that the gateway does not recognise it and treats it as an unknown client";

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

/// Returns the text of one cell: the value of the table (`?` if unknown). If the user's settings replace that value, their value
/// with `!`.
fn cell<T: Copy + PartialEq>(fact: Fact<T>, known: Option<T>, now: Option<T>, say: impl Fn(T) -> String) -> String {
    if known == now {
        return fact.value().map_or_else(|| "?".to_owned(), say);
    }
    format!("{}!", now.map_or_else(|| "none".to_owned(), say))
}

fn switch(on: bool) -> String {
    (if on { "yes" } else { "no" }).to_owned()
}

/// The headings of the columns: name, meaning, and whether only the wide table has the column.
const HEADS: [(&str, &str, bool); 12] = [
    ("client", "", false),
    ("protocol", "the newest version it asks for", true),
    ("waits", "for the answer to a call", false),
    ("start", "its limit for a server's start", true),
    ("copies", "how many of a server it starts", true),
    ("changes", "notices a changed list of tools", false),
    ("tools", "most of all its servers together", false),
    ("name", "most bytes of a tool's name with its prefix", false),
    ("text", "most of one result", false),
    ("images", "in results", false),
    ("audio", "in results", false),
    ("schemas", "flat: oneOf, anyOf and allOf at the top are taken away", false),
];

fn row(client: &Client, now: &ClientTraits) -> [String; 12] {
    let known = client.traits();
    let wait = |wait: Wait| match wait {
        Wait::Endless => "no limit".to_owned(),
        Wait::For(span) => seconds(span),
    };
    let patience = if known.patience == now.patience {
        client.patience.value().map_or_else(|| "?".to_owned(), wait)
    } else {
        format!("{}!", seconds(now.patience))
    };
    let changed = |was: bool, is: bool, fact: Fact<bool>| cell(fact, Some(was), Some(is), switch);
    let text = if known.result_text_max == now.result_text_max {
        client.text_max.value().map_or_else(
            || "?".to_owned(),
            |TextLimit { bytes, beyond }| {
                format!("{} KB{}", bytes / 1000, if beyond == Beyond::Kept { "*" } else { "" })
            },
        )
    } else {
        format!("{}!", now.result_text_max.map_or_else(|| "none".to_owned(), |bytes| format!("{} KB", bytes / 1000)))
    };
    let schemas = match (now.flatten_schemas, now.flatten_schemas == known.flatten_schemas) {
        (true, true) => "flat",
        (true, false) => "flat!",
        (false, true) => "as is",
        (false, false) => "as is!",
    };
    [
        client.label.replace('_', "-"),
        client.version.value().unwrap_or("?").to_owned(),
        patience,
        client.start.value().map_or_else(|| "?".to_owned(), wait),
        client.copies.value().map_or_else(|| "?".to_owned(), |copies| copies.to_string()),
        changed(known.list_changed, now.list_changed, client.list_changed),
        cell(client.tools_max, known.tools_max, now.tools_max, |most| most.to_string()),
        client.full_name_max.value().map_or_else(|| "?".to_owned(), |most| most.to_string()),
        text,
        changed(known.images, now.images, client.images),
        changed(known.audio, now.audio, client.audio),
        schemas.to_owned(),
    ]
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
    output::line(&toned(&format!("{} ({})", client.title, client.label), Tone::Plain));
    let names = names(client);
    let names = if names.is_empty() { NAMELESS.to_owned() } else { names.join(", ") };
    output::line(&output::wrapped(&format!("calls itself: {names}"), "  ", output::columns()));
    output::line("");
    for told in facts(client) {
        let says = told.says.as_deref().unwrap_or("unknown");
        let from = told.evidence.map(|evidence| format!(" ({})", Evidence::words(evidence))).unwrap_or_default();
        output::line(&output::wrapped(&format!("{}: {says}{from}", told.about), "  ", output::columns()));
    }
    if assumes(client) {
        output::line(&output::wrapped(ASSUMED_FROM, "  ", output::columns()));
    }
    if let Some(how) = client.raised_by {
        output::line(&output::wrapped(&format!("more time: {how}"), "  ", output::columns()));
    }
    output::line("");
    output::line(&toned("What holdfast does for it", Tone::Plain));
    for done in treatment(now) {
        output::line(&output::wrapped(&done, "  ", output::columns()));
    }
    if *now != client.traits() {
        output::line(&output::wrapped(
            "Your settings have changed this from what the table says.",
            "  ",
            output::columns(),
        ));
    }
    if !client.notes.is_empty() {
        output::line("");
        output::line(&toned("Worth knowing", Tone::Plain));
        for note in client.notes {
            output::line(&output::wrapped(note, "  ", output::columns()));
        }
    }
    output::line("");
    let place = CLIENTS.iter().find(|place| place.name.replace('-', "_") == client.label);
    if let Some(place) = place {
        output::line(&format!("Set up: holdfast setup {}", place.name));
    }
    if let Some(how) = client.by_hand {
        output::line(&output::wrapped(&format!("Set up: {how}"), "", output::columns()));
        output::bytes(setup::snippet_for_any().as_bytes());
    }
    output::line(&output::wrapped(&format!("From: {}; as of {AS_OF}", client.sources), "", output::columns()));
}
