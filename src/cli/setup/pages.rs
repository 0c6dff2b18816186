//! Writes `docs/clients/` from the tables: `UPDATE_DOCS=1 cargo test --lib cli::setup::pages`. Without the variable, the test
//! fails if a page differs from the tables.

mod everyday;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_client_config::{
    Aim, Base, CLIENTS, Client as Place, Endpoint, Format, Http, Launch, On, Spot, Token, common_snippet, snippet,
};

use everyday::{EVERYDAY, Told};

use super::http::TOKEN_VARIABLE;
use super::standing::title;
use crate::cli::client_facts::{assumes, facts, names, treatment, unknown_means};
use crate::limits::PATIENCE_MAX;
use crate::protocol::mcp::clients::{
    AS_OF, ASSUMED_FROM, Beyond, Client, Evidence, Fact, TellsProject, TextLimit, Wait, known_clients,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clients");
const WRITTEN: &str = "<!-- written by `UPDATE_DOCS=1 cargo test --lib cli::setup::pages` from src/protocol/mcp/clients/table.rs, \
                       crates/client-config/src/clients.rs and src/cli/setup/pages/everyday.rs -->\n";

fn launch(project: bool) -> Launch {
    let args: &[&str] = if project { &["--project", "DIR"] } else { &[] };
    Launch {
        program: "/home/you/.cargo/bin/holdfast".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        whole: false,
        flag: None,
    }
}

fn place(client: &Client) -> Option<&'static Place> {
    CLIENTS.iter().find(|place| place.name.replace('-', "_") == client.label)
}

fn file_name(client: &Client) -> String {
    format!("{}.md", client.label.replace('_', "-"))
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

fn item(text: &str) -> String {
    format!("* {}\n", folded(text).replace('\n', "\n  "))
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

fn install(page: &mut String, client: &Client) {
    page.push_str("\n## Install\n\n");
    let Some(place) = place(client) else {
        let how = client.by_hand.expect("a client that is not set up by command is told by hand");
        let entry = common_snippet(&launch(false));
        let _ = write!(page, "{}\n\n```json\n{}\n```\n", folded(how), entry.trim_end());
        return;
    };
    let project = if place.tells_project { "" } else { " --project DIR" };
    let _ = write!(page, "```\nholdfast setup {}{project}\n```\n\n", place.name);
    let _ = writeln!(page, "Then: {}.\n", place.afterwards);
    let known = EVERYDAY.iter().find(|known| known.label == client.label);
    for (how, fact) in [
        ("With the client's own command", known.and_then(|known| known.command)),
        ("With one click", known.and_then(|known| known.link)),
    ] {
        if let Some(fact) = fact {
            let _ = writeln!(page, "{how}: {} ({}).\n", fact.says, fact.evidence.words());
        }
    }
    let command = format!("`holdfast setup {} --project DIR` names it (DIR is the Unity project)", place.name);
    let tells = match client.project {
        Fact::Known(TellsProject::ByRoots, evidence) => format!("yes, by its roots ({})", evidence.words()),
        Fact::Known(TellsProject::Never, evidence) => format!("no ({}): {command}", evidence.words()),
        Fact::Unknown if place.tells_project => format!("not known. If no tools of Unity appear, {command}"),
        Fact::Unknown => format!("not known, so better name it: {command}"),
    };
    let _ = writeln!(page, "{}\n", folded(&format!("**Does it tell holdfast which project is open?** {tells}.")));
    if place.project.is_empty() {
        page.push_str("`--dry-run` shows the change first, `--remove` removes it again.\n\n");
    } else {
        page.push_str(
            "`--project DIR` writes the project's own file instead; `--dry-run` shows the change first, `--remove` removes it again.\n\n",
        );
    }
    page.push_str("| whose | system | file |\n| --- | --- | --- |\n");
    for (whose, spots) in [("yours", place.user), ("the project's", place.project)] {
        let mut files: Vec<(Vec<&str>, String)> = Vec::new();
        for (system, path) in spots.iter().flat_map(spelled) {
            match files.iter_mut().find(|(_, known)| *known == path) {
                Some((systems, _)) => systems.push(system),
                None => files.push((vec![system], path)),
            }
        }
        for (systems, path) in files {
            let _ = writeln!(page, "| {whose} | {} | `{path}` |", systems.join(", "));
        }
    }
    if place.user.iter().filter(|spot| spot.on == On::All).count() > 1 {
        page.push_str("\nOf several files the first that exists is meant.\n");
    }
    let _ = write!(
        page,
        "\nWhat it adds, if you would rather paste it:\n\n```{}\n{}\n```\n\n",
        language(place.format),
        snippet(place, Aim::Start(&launch(!place.tells_project))).trim_end()
    );
    let _ = writeln!(page, "{}", folded(&format!("Known from: {}.", place.source)));
    page.push_str("\n### Over HTTP\n\n");
    let remote = match &place.http {
        Http::Takes(remote) => remote,
        Http::Lacks(why) => {
            let _ = writeln!(page, "{}", folded(&format!("{} {why}. So `--http` refuses it.", client.title)));
            return;
        }
    };
    let own_only = place.project.is_empty();
    let (token, says) = match (remote.reads_variables(), own_only) {
        (true, false) => (
            Token::Variable(TOKEN_VARIABLE.to_owned()),
            "It takes the token from the environment variable `HOLDFAST_HTTP_TOKEN`, so the file has no secret, and a team can share it (`--shared`).",
        ),
        (true, true) => (
            Token::Variable(TOKEN_VARIABLE.to_owned()),
            "It takes the token from the environment variable `HOLDFAST_HTTP_TOKEN`, so the file has no secret.",
        ),
        (false, false) => (
            Token::Text("TOKEN".to_owned()),
            "It is not known to take the token from an environment variable, so your own file has the token itself, and a file of the project \
             (`--project`, `--shared`) is refused.",
        ),
        (false, true) => (
            Token::Text("TOKEN".to_owned()),
            "It is not known to take the token from an environment variable, so the file has the token itself.",
        ),
    };
    let _ = write!(
        page,
        "To connect it to [a hub over HTTP](../http.md) instead:\n\n```\nholdfast setup {} --http\n```\n\n",
        place.name
    );
    let endpoint = Endpoint { url: "http://127.0.0.1:8787/mcp".to_owned(), token };
    let _ = write!(
        page,
        "{}\n\n```{}\n{}\n```\n\n",
        folded(says),
        language(place.format),
        snippet(place, Aim::Connect(&endpoint)).trim_end()
    );
    let _ = writeln!(page, "{}", folded(&format!("Known from: {}.", remote.source)));
}

/// What a person does with the client every day, each with its source.
fn everyday(page: &mut String, client: &Client) {
    let known = EVERYDAY.iter().find(|known| known.label == client.label);
    let Some(known) = known else {
        return;
    };
    page.push_str("\n## Every day\n\n| | | known from |\n| --- | --- | --- |\n");
    let none = Some(Told {
        says: "it reads no file of a project, so everybody sets it up",
        evidence: Evidence::Documents,
        from: "the files above",
    });
    let own_files_only = place(client).is_some_and(|place| place.project.is_empty());
    for (what, fact) in [
        ("see what holdfast logs", known.log),
        ("start holdfast again", known.restart),
        ("share it with a team", known.share.or(none.filter(|_| own_files_only))),
    ] {
        let (says, from) = fact.map_or_else(
            || ("unknown".to_owned(), String::new()),
            |fact| (fact.says.to_owned(), format!("{}: {}", fact.evidence.words(), fact.from)),
        );
        let _ = writeln!(page, "| {what} | {says} | {from} |");
    }
    let mut says = "The commands and links name the program as `holdfast`: it must be on the PATH that the client sees. `holdfast setup` writes \
                    its full path instead, so it works without."
        .to_owned();
    if known.command.or(known.link).is_none() {
        says.clear();
    }
    if known.share.is_some() {
        let hint = "In a file that a team commits, write `holdfast` in place of the full path, and no `--project`: \
                    see [teams](../situations.md#a-team-that-shares-its-configuration).";
        let space = if says.is_empty() { "" } else { " " };
        let _ = write!(says, "{space}{hint}");
    }
    if !says.is_empty() {
        let _ = writeln!(page, "\n{}", folded(&says));
    }
}

fn page(client: &Client) -> String {
    let mut page = format!("{WRITTEN}# {}\n", client.title);
    install(&mut page, client);
    everyday(&mut page, client);
    page.push_str("\n## What holdfast does for it\n\n");
    let names = names(client);
    if names.is_empty() {
        let says = format!(
            "The name that it gives itself is not known, so holdfast does not recognise it, and treats it like any client that is not in \
             the table. Your settings can say more, under the name that holdfast_status shows (below). {}",
            unknown_means()
        );
        let _ = writeln!(page, "{}\n", folded(&says));
    } else {
        let _ = writeln!(page, "Recognised by its `clientInfo.name`: `{}`.\n", names.join("`, `"));
    }
    for done in treatment(&client.traits()) {
        page.push_str(&item(&done));
    }
    if let Some(how) = client.raised_by {
        let mut says = format!("In the client: {how}.");
        if client.traits().patience < PATIENCE_MAX {
            says.push_str(" holdfast does not see that setting. Write it into holdfast's settings as well (below), and holdfast waits as long.");
        }
        let _ = write!(page, "\n## More time\n\n{}\n", folded(&says));
    }
    if !client.notes.is_empty() {
        page.push_str("\n## Worth knowing\n\n");
        for note in client.notes {
            page.push_str(&item(note));
        }
    }
    page.push_str(
        "\n## What is known, and from where\n\n<details>\n<summary>Every fact with its evidence</summary>\n\n| fact | | evidence |\n| --- | --- | --- |\n",
    );
    for told in facts(client) {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            told.about,
            told.says.as_deref().unwrap_or("unknown"),
            told.evidence.map(Evidence::words).unwrap_or_default()
        );
    }
    if assumes(client) {
        let _ = writeln!(page, "\n{}", folded(ASSUMED_FROM));
    }
    let _ = writeln!(page, "\n{}\n\n</details>", folded(&format!("As of {AS_OF}. From: {}.", client.sources)));
    let word =
        if names.is_empty() { "\"the name that holdfast_status shows\"".to_owned() } else { client.label.to_owned() };
    let traits = client.traits();
    let example = match (client.patience, traits.list_changed) {
        (Fact::Unknown, _) => "patience = 300",
        (Fact::Known(..), _) if client.raised_by.is_some() && traits.patience < Duration::from_secs(300) => {
            "patience = 300"
        }
        (Fact::Known(..), false) => "list_changed = true",
        (Fact::Known(..), true) => "result_text_max = 100000",
    };
    let _ = write!(
        page,
        "\n## If yours is different\n\n{}\n\n```toml\n[clients.{word}]\n{example}\n```\n\n{}\n",
        folded("Write this into holdfast's configuration; it counts for this client only:"),
        folded(
            "All keys: [the index](README.md#your-own-settings). For one run, `--patience SECONDS` and `--list-changed BOOL` in the \
             entry's arguments do the same, and take precedence."
        )
    );
    page
}

fn index() -> String {
    let mut page = format!("{WRITTEN}# AI clients\n\n");
    let says = "Any client that can start a stdio MCP server can start holdfast. Each has a page here: how to set it up, where its log is, how to \
                start holdfast again, how a team shares it. Clients differ in how long they wait, whether they notice changed tools, and \
                what they do with long results, images, and schemas. holdfast knows a client by the name that it gives itself, and adapts \
                what it sends. `holdfast doctor --clients` prints this table, `holdfast doctor --clients NAME` everything about one client, \
                `holdfast tools --client NAME` the tools as that client gets them.";
    let _ = writeln!(page, "{}\n", folded(says));
    page.push_str(
        "| client | set up | waits for a call | notices changes | limit of tools | text of a result | images | audio | schemas |\n| --- | --- \
         | ---: | --- | ---: | --- | --- | --- | --- |\n",
    );
    for client in known_clients() {
        let switch = |fact: Fact<bool>| fact.value().map_or("?", |on| if on { "yes" } else { "no" });
        let wait = match client.patience {
            Fact::Known(Wait::Endless, _) => "no limit".to_owned(),
            Fact::Known(Wait::For(span), _) => crate::cli::client_facts::seconds(span),
            Fact::Unknown => "?".to_owned(),
        };
        let text = match client.text_max {
            Fact::Known(TextLimit { bytes, beyond: Beyond::Lost }, _) => format!("cut at {bytes} bytes"),
            Fact::Known(TextLimit { beyond: Beyond::Kept, .. }, _) => {
                "not cut: it puts long ones into files".to_owned()
            }
            Fact::Unknown => "?".to_owned(),
        };
        let _ = writeln!(
            page,
            "| [{}]({}) | {} | {wait} | {} | {} | {text} | {} | {} | {} |",
            client.title,
            file_name(client),
            place(client).map_or_else(|| "by hand".to_owned(), |place| format!("`holdfast setup {}`", place.name)),
            switch(client.list_changed),
            client.tools_max.value().map_or_else(|| "?".to_owned(), |most| most.to_string()),
            switch(client.images),
            switch(client.audio),
            if client.traits().flatten_schemas { "flattened" } else { "as they are" },
        );
    }
    let _ = writeln!(page, "\n{}", folded(&format!("`?`: not checked. {} As of {AS_OF}.", unknown_means())));
    let words: Vec<String> =
        <Evidence as strum::VariantArray>::VARIANTS.iter().map(|kind| kind.words().to_owned()).collect();
    let evidence = format!(
        "Each page says for every fact where it comes from: {}. *Measured* weighs most and *assumed* least; what is assumed follows from \
         something that is known, and the page says from what.",
        words.join(", ")
    );
    let _ = writeln!(page, "\n{}", folded(&evidence));
    page.push_str("\n## Your own settings\n\n");
    let settings = "The table is wrong for you, or your client is not in it? `[clients.NAME]` in [holdfast's configuration](../configuration.md) \
                    replaces single facts. NAME is holdfast's name for a client, or the name that a client gives itself (`holdfast_status` \
                    shows it under `gateway.client`); with a `*` at its end it matches every name with that beginning.";
    let _ = writeln!(page, "{}\n", folded(settings));
    page.push_str("```toml\n[clients.codex]\npatience = 300\n\n[clients.\"my-agent*\"]\nlist_changed = true\nimages = false\n```\n\n");
    page.push_str("| key | meaning |\n| --- | --- |\n");
    for (key, meaning) in [
        ("patience", "seconds that it waits for a call, 6 to 1800"),
        ("list_changed", "it fetches the list of tools again after `tools/list_changed`"),
        ("result_text_max", "limit of bytes of text in a result, 4096 to 6291456; 0: no limit"),
        ("images", "images in results are passed on"),
        ("audio", "audio in results is passed on"),
        ("tools_max", "limit of tools that it shows; 0: no limit"),
        ("flatten_schemas", "`oneOf`, `anyOf` and `allOf` at the top of a schema are removed"),
        ("tools", "rules: only the tools that match one of them are listed for it, and may be called"),
    ] {
        let _ = writeln!(page, "| `{key}` | {meaning} |");
    }
    page.push_str("\n## Any other client\n\n");
    let other = "`holdfast setup NAME` prints what to paste for a client that it does not know. Most clients read this, some under another key:";
    let _ = write!(page, "{}\n\n```json\n{}\n```\n", folded(other), common_snippet(&launch(false)).trim_end());
    page.push_str("\n## Long results\n\n");
    let long = "A result above 6 MiB, a text that the client would cut, and an image or sound that it does not accept go into files in \
                `<project>/Logs/holdfast/results/`, or in the state folder. Only your user can read them (on Windows everybody who may read that \
                folder). The newest 50 are kept, for a day. \
                The result names the file, so that the model can read the part that it needs.";
    let _ = writeln!(page, "{}", folded(long));
    page.push_str("\n## Writing a client\n\n");
    let own = "`tests/clients` tries holdfast with the official SDKs. A client that is not in the table gets what the editor \
               sent: every schema, image and text as it is.";
    let _ = writeln!(page, "{}", folded(own));
    page
}

fn pages() -> BTreeMap<PathBuf, String> {
    let folder = Path::new(FOLDER);
    let clients = known_clients().iter().map(|client| (folder.join(file_name(client)), page(client)));
    clients.chain([(folder.join("README.md"), index())]).collect()
}

#[test]
fn the_pages_say_what_the_tables_say() {
    let wanted = pages();
    let there: Vec<PathBuf> =
        std::fs::read_dir(FOLDER).expect("docs/clients").map(|entry| entry.expect("an entry").path()).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        for stale in there.iter().filter(|path| !wanted.contains_key(*path)) {
            std::fs::remove_file(stale).expect("it can be removed");
        }
        for (path, page) in &wanted {
            std::fs::write(path, page).expect("it can be written");
        }
        return;
    }
    let fix = "UPDATE_DOCS=1 cargo test --lib cli::setup::pages";
    for path in &there {
        assert!(wanted.contains_key(path), "{} is of no client: {fix}", path.display());
    }
    for (path, page) in wanted {
        let held = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(held == page, "{} is not what the tables say: {fix}", path.display());
    }
}

#[test]
fn every_client_that_can_be_set_up_is_in_the_table_of_clients_under_the_same_word() {
    for place in CLIENTS {
        let label = place.name.replace('-', "_");
        let client = known_clients().iter().find(|client| client.label == label);
        assert!(client.is_some_and(|client| client.title == title(place)), "{}", place.name);
    }
}
