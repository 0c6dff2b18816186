//! Writes `docs/clients.md` from the tables: `UPDATE_DOCS=1 cargo test --lib cli::setup::pages`. Without the variable, the test
//! fails if the page differs from the tables.

use std::fmt::Write as _;

use holdfast_client_config::{
    Aim, Base, CLIENTS, Client as Place, Endpoint, Format, Http, Launch, On, Spot, Token, common_snippet, skill_folder,
    snippet,
};

use super::http::TOKEN_VARIABLE;
use super::standing::title;
use crate::cli::client_facts::{HEADS, Told, assumes, facts, lines, place, row, unknown_means};
use crate::protocol::mcp::clients::{AS_OF, ASSUMED_FROM, Client, Evidence, known_clients};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clients.md");
const WRITTEN: &str = "<!-- written by `UPDATE_DOCS=1 cargo test --lib cli::setup::pages` from src/protocol/mcp/clients/table.rs, \
                       crates/client-config/src/clients.rs and src/cli/setup/clients_head.txt -->\n";

fn launch(project: bool) -> Launch {
    let args: &[&str] = if project { &["--project", "DIR"] } else { &[] };
    Launch {
        program: "/home/you/.cargo/bin/holdfast".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        whole: false,
        flag: None,
    }
}

/// Returns the text, wrapped into lines of at most 138 characters.
fn folded(text: &str) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let width = word.chars().count();
        if used > 0 && used + 1 + width > 138 {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += width;
    }
    out
}

/// Returns the path of a spot on Linux, macOS and Windows, as a user there would write it.
fn spelled(spot: &Spot) -> Vec<(&'static str, String)> {
    let bases = match spot.base {
        Base::Home => ["~", "~", "%USERPROFILE%"],
        Base::Config => ["~/.config", "~/.config", "%USERPROFILE%\\.config"],
        Base::DotConfig => ["~/.config", "~/.config", "%USERPROFILE%\\.config"],
        Base::AppData => ["~/.config", "~/Library/Application Support", "%APPDATA%"],
        Base::LocalAppData => ["", "", "%LOCALAPPDATA%"],
        Base::ClaudeConfig => ["~", "~", "%USERPROFILE%"],
        Base::ClaudeHome => ["~/.claude", "~/.claude", "%USERPROFILE%\\.claude"],
        Base::CodexHome => ["~/.codex", "~/.codex", "%USERPROFILE%\\.codex"],
        Base::Project => ["PROJECT", "PROJECT", "PROJECT"],
    };
    if spot.on == On::Package {
        return vec![("Windows, installed as a package", format!("{}/{}", bases[2], spot.path).replace('/', "\\"))];
    }
    let systems = ["Linux", "macOS", "Windows"].into_iter().zip(bases);
    let holds = |system: &str| match spot.on {
        On::All => true,
        On::Unix => system != "Windows",
        On::Windows | On::Package => system == "Windows",
    };
    systems
        .filter(|(system, _)| holds(system))
        .map(|(system, base)| {
            let path = format!("{base}/{}", spot.path).trim_end_matches('/').to_owned();
            let windows = system == "Windows" && spot.base != Base::Project;
            (system, if windows { path.replace('/', "\\") } else { path })
        })
        .collect()
}

fn language(format: Format) -> &'static str {
    match format {
        Format::Json => "json",
        Format::Toml => "toml",
        Format::Yaml => "yaml",
    }
}

/// Returns where a client reads its servers: yours, and the project's.
fn files(place: &Place) -> String {
    let first = place.user.iter().filter(|spot| spot.on == On::All).count() > 1;
    format!(
        "{}{}",
        told(place.user, place.project),
        if first { "; of several the first that exists is meant" } else { "" }
    )
}

/// Returns the paths of a user and of a project, with the systems to which each applies.
fn told(user: &[Spot], project: &[Spot]) -> String {
    let mut said: Vec<String> = Vec::new();
    for (whose, spots) in [("yours", user), ("the project's (`--project DIR`)", project)] {
        let mut files: Vec<(Vec<&str>, String)> = Vec::new();
        for (system, path) in spots.iter().flat_map(spelled) {
            match files.iter_mut().find(|(_, known)| *known == path) {
                Some((systems, _)) => systems.push(system),
                None => files.push((vec![system], path)),
            }
        }
        let file = |(systems, path): (Vec<&str>, String)| match systems.len() {
            3 => format!("`{path}`"),
            _ => format!("`{path}` ({})", systems.join(", ")),
        };
        let files: Vec<String> = files.into_iter().map(file).collect();
        said.extend((!files.is_empty()).then(|| format!("{whose} {}", files.join(", "))));
    }
    said.join("; ")
}

fn section(client: &Client) -> String {
    let mut page = format!("\n## {}\n\n", client.title);
    let mut lines = lines(client, &client.traits());
    let place = place(client);
    if let Some(place) = place {
        lines.insert(1, ("File", files(place)));
        if let Some(skills) = skill_folder(place) {
            let folders = told(&[skills.user], &[skills.project]);
            lines.insert(2, ("Skill", format!("`holdfast skill install {}`, into a folder: {folders}", place.name)));
        }
    }
    for (about, says) in lines {
        let _ = writeln!(page, "* {}", folded(&format!("**{about}**: {says}")).replace('\n', "\n  "));
    }
    page.push_str("\n<details>\n<summary>The entry to paste, and what is known from where</summary>\n");
    let mut paste = |what: &str, snippet: &str, language| {
        let _ = write!(page, "{what}\n```{language}\n{}\n```\n", snippet.trim_end());
    };
    let mut sources = client.sources.to_owned();
    match place {
        None => paste("", &common_snippet(&launch(false)), "json"),
        Some(place) => {
            let language = language(place.format);
            paste("", &snippet(place, Aim::Start(&launch(!place.tells_project))), language);
            let _ = write!(sources, "; the file: {}", place.source);
            if let Some(skills) = skill_folder(place) {
                let _ = write!(sources, "; skills: {}, read on {}", skills.source, skills.read_on);
            }
            if let Http::Takes(remote) = &place.http {
                let token = match remote.reads_variables() {
                    true => Token::Variable(TOKEN_VARIABLE.to_owned()),
                    false => Token::Text("TOKEN".to_owned()),
                };
                let endpoint = Endpoint { url: "http://127.0.0.1:8787/mcp".to_owned(), token };
                paste("\nOver HTTP:\n", &snippet(place, Aim::Connect(&endpoint)), language);
                let _ = write!(sources, "; over HTTP: {}", remote.source);
            }
        }
    }
    let (known, unknown): (Vec<_>, Vec<_>) = facts(client).into_iter().partition(|told| told.says.is_some());
    page.push_str("\n| fact | | evidence |\n| --- | --- | --- |\n");
    for Told { about, says, evidence, .. } in known {
        let evidence = evidence.map(Evidence::words).unwrap_or_default();
        let _ = writeln!(page, "| {about} | {} | {evidence} |", says.unwrap_or_default());
    }
    let unknown: Vec<&str> = unknown.iter().map(|told| told.about).collect();
    let unknown = if unknown.is_empty() { String::new() } else { format!("Not known: {}.", unknown.join("; ")) };
    let assumed = if assumes(client) { ASSUMED_FROM } else { "" };
    for text in [unknown, assumed.to_owned(), format!("From: {sources}.")] {
        if !text.is_empty() {
            let _ = writeln!(page, "\n{}", folded(&text));
        }
    }
    page.push_str("\n</details>\n");
    page
}

/// What stands before the clients. `TABLE`, `UNKNOWN` and `EVIDENCE` are filled in.
const HEAD: &str = include_str!("clients_head.txt");

fn page() -> String {
    let row_of = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = row_of(&HEADS.map(|(head, ..)| head.to_owned())) + &row_of(&HEADS.map(|_| "---".to_owned()));
    for client in known_clients() {
        let mut cells = row(client, &client.traits());
        let anchor = client.title.to_lowercase().replace(' ', "-").replace(['(', ')'], "");
        cells[0] = format!("[{}](#{anchor})", client.title);
        table.push_str(&row_of(&cells));
    }
    let meanings = HEADS.iter().filter(|(_, meaning, _)| !meaning.is_empty());
    let meanings: Vec<String> = meanings.map(|(head, meaning, _)| format!("*{head}*: {meaning}")).collect();
    let evidence = <Evidence as strum::VariantArray>::VARIANTS.iter().map(|kind| kind.words());
    let filled = [
        ("TABLE", table.trim_end().to_owned()),
        (
            "UNKNOWN",
            folded(&format!(
                "{}. `?`: not checked; `*`: it keeps what is longer in a file itself. {}",
                meanings.join("; "),
                unknown_means()
            )),
        ),
        ("EVIDENCE", evidence.collect::<Vec<&str>>().join(", ")),
        ("AS_OF", AS_OF.to_owned()),
        ("SNIPPET", common_snippet(&launch(false)).trim_end().to_owned()),
    ];
    let head = filled.iter().fold(HEAD.to_owned(), |head, (name, text)| head.replace(&format!("{{{name}}}"), text));
    known_clients().iter().fold(WRITTEN.to_owned() + &head, |page, client| page + &section(client))
}

#[test]
fn the_page_says_what_the_tables_say() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(PAGE, page()).expect("it can be written");
    }
    let held = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(held == page(), "{PAGE} is not what the tables say: UPDATE_DOCS=1 cargo test --lib cli::setup::pages");
}

#[test]
fn every_client_that_can_be_set_up_is_in_the_table_of_clients_under_the_same_word() {
    for place in CLIENTS {
        let label = place.name.replace('-', "_");
        let client = known_clients().iter().find(|client| client.label == label);
        assert!(client.is_some_and(|client| client.title == title(place)), "{}", place.name);
    }
}
