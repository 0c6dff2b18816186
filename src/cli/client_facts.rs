//! Describes the table of clients in words, for `holdfast doctor --clients` and `docs/clients.md`.

use std::time::Duration;

use holdfast_client_config::{CLIENTS, Client as Place, Http};

use serde_json::{Value, json};

use crate::limits::{DESCRIPTION_MAX_BYTES, HOLD_MAX, PATIENCE_MARGIN, PATIENCE_MAX, PATIENCE_UNKNOWN, RUNNING_MAX};
use crate::protocol::mcp::ClientTraits;
use crate::protocol::mcp::clients::{Beyond, Client, Evidence, Fact, ImageLimit, Named, TellsProject, TextLimit, Wait};

pub struct Told {
    pub key: &'static str,
    pub about: &'static str,
    pub says: Option<String>,
    pub value: Value,
    pub evidence: Option<Evidence>,
}

pub fn facts(client: &Client) -> Vec<Told> {
    vec![
        told("version", "newest protocol it asks for", client.version, of_text),
        told("project", "tells its servers which project is open", client.project, |how| match how {
            TellsProject::ByRoots => ("yes, by its roots".to_owned(), json!("roots")),
            TellsProject::Never => ("no".to_owned(), json!("no")),
        }),
        told("project_variable", "variable that names the project to its servers", client.project_variable, of_code),
        told("session_variable", "variable that names its session to them", client.session_variable, of_code),
        told("patience", "waits for a call", client.patience, of_wait),
        told("start", "waits for the start and the first list", client.start, of_wait),
        told("list_changed", "notices a changed list of tools", client.list_changed, of_switch),
        told("prefix", "puts before a tool's name", client.prefix, |prefix| {
            (if prefix.is_empty() { "nothing".to_owned() } else { format!("`{prefix}`") }, json!(prefix))
        }),
        told("full_name_max", "longest name with that, in bytes", client.full_name_max, of_number),
        told("defers_tools", "lets its model search for tools", client.defers_tools, of_switch),
        told("tools_max", "most tools of all servers together", client.tools_max, of_number),
        told("description_max", "longest description of a tool, in bytes", client.description_max, of_number),
        told("text_max", "most text of one result", client.text_max, |TextLimit { bytes, beyond }| {
            let (rest, label) = match beyond {
                Beyond::Lost => ("the rest never reaches the model", "lost"),
                Beyond::Kept => ("it puts what is longer into a file itself", "kept"),
            };
            (format!("{bytes} bytes; {rest}"), json!({"bytes": bytes, "beyond": label}))
        }),
        told("images", "shows images in results to its model", client.images, of_switch),
        told("image_limit", "largest image that its model takes", client.image_limit, |limit| {
            let ImageLimit { base64_bytes, side_pixels, gif } = limit;
            let side = if side_pixels == u32::MAX { "any number of".to_owned() } else { side_pixels.to_string() };
            let types = if gif { "PNG, JPEG, GIF, WebP" } else { "PNG, JPEG, WebP" };
            let value = json!({"base64_bytes": base64_bytes, "side_pixels": side_pixels, "gif": gif});
            (format!("{base64_bytes} bytes as base64, {side} pixels a side; {types}"), value)
        }),
        told("audio", "gives audio in results to its model", client.audio, of_switch),
        told("structured_alone", "reads structuredContent in place of the rest", client.structured_alone, of_switch),
        told(
            "refuses_alternatives",
            "loses tools with oneOf, anyOf or allOf at the top of a schema",
            client.refuses_alternatives,
            of_switch,
        ),
        told("shutdown", "how it ends a server", client.shutdown, |how| (how.to_owned(), json!(how))),
        told("copies", "copies of a server that it starts at once", client.copies, |copies| {
            (copies.to_string(), json!(copies))
        }),
        told("restart", "must be restarted after a change of its configuration", client.restart, of_switch),
        told("own_command", "its own command that adds a server", client.own_command, of_text),
        told("link", "adds holdfast with one click", client.link, of_text),
        told("log", "shows what holdfast logs", client.log, of_text),
        told("again", "starts holdfast again", client.again, of_text),
        told("share", "shares the entry with a team", client.share, of_text),
    ]
}

fn of_code(code: &str) -> (String, Value) {
    (format!("`{code}`"), json!(code))
}

fn of_text(text: &str) -> (String, Value) {
    (text.to_owned(), json!(text))
}

/// Returns where the client's configuration is, if `holdfast setup` edits it.
pub fn place(client: &Client) -> Option<&'static Place> {
    CLIENTS.iter().find(|place| place.name.replace('-', "_") == client.label)
}

/// Returns what a user of a client needs to know. Each line has a subject and a text. `now`: the client's habits, with
/// the user's settings.
pub fn lines(client: &Client, now: &ClientTraits) -> Vec<(&'static str, String)> {
    let place = place(client);
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    let mut tell = |about: &'static str, says: Option<String>| lines.extend(says.map(|says| (about, says)));
    tell("Set up", client.by_hand.map(str::to_owned));
    if let Some(place) = place {
        let (name, option) = (place.name, if place.tells_project { "" } else { " --project DIR" });
        tell("Set up", Some(format!("`holdfast setup {name}{option}`; then {}", place.afterwards)));
        let names = format!("`holdfast setup {name} --project DIR` names it (DIR is the Unity project)");
        let tells = match client.project.value() {
            Some(TellsProject::ByRoots) => "it tells holdfast which one is open, by its roots".to_owned(),
            Some(TellsProject::Never) => format!("it does not tell holdfast which one is open: {names}"),
            None => format!(
                "whether it tells holdfast which one is open is not known; if no tools of Unity appear, {names}"
            ),
        };
        tell("Project", Some(tells));
        tell("Over HTTP", Some(over_http(place)));
    }
    let text = |fact: Fact<&'static str>| fact.value().map(str::to_owned);
    tell("Its own command", text(client.own_command));
    tell("One click", text(client.link));
    tell("Logs of holdfast", text(client.log));
    tell("Start holdfast again", text(client.again));
    let has_no_file = place.is_some_and(|place| place.project.is_empty());
    let alone = has_no_file.then(|| "it reads no file of a project, so everybody sets it up".to_owned());
    tell("Team", text(client.share).or(alone));
    let names = names(client);
    let known_by = match names.as_slice() {
        [] => "the name that it gives itself is not known, so it is treated as any client that is not in the table"
            .to_owned(),
        names => format!("it is known by its name, `{}`", names.join("`, `")),
    };
    tell("What holdfast does", Some(format!("{known_by}. {}", treatment(now).join(" "))));
    let more = match now.patience < PATIENCE_MAX {
        true => ". holdfast does not see that setting: `patience` in its own settings tells it",
        false => "",
    };
    tell("More time", client.raised_by.map(|how| format!("{how}{more}")));
    tell("Worth knowing", (!client.notes.is_empty()).then(|| client.notes.join(" ")));
    lines
}

fn over_http(place: &Place) -> String {
    let remote = match &place.http {
        Http::Takes(remote) => remote,
        Http::Lacks(why) => return format!("it {why}"),
    };
    let token = match (remote.reads_variables(), place.project.is_empty()) {
        (true, false) => {
            "the token is in the variable `HOLDFAST_HTTP_TOKEN`, so a team can share the file (`--shared`)"
        }
        (true, true) => "the token is in the variable `HOLDFAST_HTTP_TOKEN`, so the file has no secret",
        (false, false) => "the token itself is in your own file; a file of the project is refused",
        (false, true) => "the token itself is in the file",
    };
    format!("`holdfast setup {} --http`: {token}", place.name)
}

fn told<T: Copy>(key: &'static str, about: &'static str, fact: Fact<T>, say: impl Fn(T) -> (String, Value)) -> Told {
    let (says, value) = match fact.value().map(say) {
        Some((says, value)) => (Some(says), value),
        None => (None, Value::Null),
    };
    Told { key, about, says, value, evidence: fact.evidence() }
}

fn of_wait(wait: Wait) -> (String, Value) {
    match wait {
        Wait::Endless => ("without a limit of its own".to_owned(), json!("endless")),
        Wait::For(span) => (seconds(span), json!(span.as_secs())),
    }
}

fn of_switch(on: bool) -> (String, Value) {
    ((if on { "yes" } else { "no" }).to_owned(), json!(on))
}

fn of_number(number: usize) -> (String, Value) {
    (number.to_string(), json!(number))
}

/// A time span for people: whole minutes from 5 minutes on, else seconds.
pub fn seconds(span: Duration) -> String {
    match span.as_secs() {
        minutes if minutes >= 300 && minutes % 60 == 0 => format!("{} min", minutes / 60),
        seconds => format!("{seconds} s"),
    }
}

/// Returns the names by which a client is recognised. A name that ends in `*` is a prefix; it is left out if the same name
/// without `*` comes before it.
pub fn names(client: &Client) -> Vec<String> {
    let name = |named: &Named| match named {
        Named::Exactly(name) => (*name).to_owned(),
        Named::From(prefix) => format!("{prefix}*"),
    };
    let mut names: Vec<String> = client.names.iter().map(name).collect();
    names.dedup_by(|later, earlier| later.strip_suffix('*') == Some(earlier));
    names
}

/// Describes what holdfast does for a client with these traits: one sentence each.
pub fn treatment(traits: &ClientTraits) -> Vec<String> {
    let latest = traits.patience.saturating_sub(PATIENCE_MARGIN);
    let later = "or \"still running\" and an id under which holdfast_result has the result later";
    let mut done = vec![if latest <= HOLD_MAX {
        format!("A call is answered within {} at the latest: with its result, {later}.", seconds(latest))
    } else {
        format!(
            "A call waits up to {} for Unity to return, and has {} to run, or as long as its tool's own timeout says; within {} at the \
             latest it is answered: with its result, {later}.",
            seconds(HOLD_MAX),
            seconds(RUNNING_MAX),
            seconds(latest)
        )
    }];
    done.push(
        if traits.list_changed {
            "The first list of tools comes at once where some are known, else within half a second; a change is announced."
        } else {
            "The first list of tools is complete: Unity's own, waited for up to 3 s, else that of the last session."
        }
        .to_owned(),
    );
    if traits.defers_tools {
        done.push(
            "The instructions at its start say what to search for: its model sees a tool once it has found it."
                .to_owned(),
        );
    }
    if let Some(most) = traits.tools_max {
        done.push(format!(
            "At most {most} tools are listed; the others are found by holdfast_tools, and can be called."
        ));
    }
    if let Some(most) = traits.result_text_max {
        done.push(format!(
            "A result with more than {most} bytes of text is cut, at a line's end where one is near; a note before it says so and \
             names a file that holds all of it for a day."
        ));
    }
    match (traits.images, traits.audio) {
        (true, true) => {}
        (images, audio) => {
            let what = match (images, audio) {
                (false, false) => "Images and audio",
                (false, true) => "Images",
                (true, _) => "Audio",
            };
            done.push(format!("{what} in results: put into a file, which a text in their place names."));
        }
    }
    if traits.images {
        done.push(
            "An image that its model would refuse, by type, size or pixels: put into a file, which a text in its place names."
                .to_owned(),
        );
    }
    if traits.structured_alone {
        done.push("structuredContent is left out: this client would show it instead of the image.".to_owned());
    }
    if traits.flatten_schemas {
        done.push(
            "`oneOf`, `anyOf` and `allOf` at the top of a schema are taken away, their properties kept; `holdfast tools --client` \
             shows where."
                .to_owned(),
        );
    }
    done
}

/// Returns the text of one cell: the fact (`?` if unknown). If the user's settings replace the value that follows from
/// the fact, the cell has the user's value, with `!`.
fn cell(fact: Option<String>, was: String, is: String) -> String {
    if was == is { fact.unwrap_or_else(|| "?".to_owned()) } else { format!("{is}!") }
}

/// The headings of the table of all clients: name, meaning, and whether only the wide table has the column.
pub const HEADS: [(&str, &str, bool); 12] = [
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

/// Returns a client's row in that table. `now`: its habits, with the user's settings.
pub fn row(client: &Client, now: &ClientTraits) -> [String; 12] {
    let known = client.traits();
    let plain = |fact: Option<String>| cell(fact, String::new(), String::new());
    let wait = |wait: Wait| match wait {
        Wait::Endless => "no limit".to_owned(),
        Wait::For(span) => seconds(span),
    };
    let switch = |on: bool| of_switch(on).0;
    let number = |number: usize| number.to_string();
    let most = |most: Option<usize>| most.map_or_else(|| "none".to_owned(), number);
    let text = |TextLimit { bytes, beyond }: TextLimit| {
        format!("{} KB{}", bytes / 1000, if beyond == Beyond::Kept { "*" } else { "" })
    };
    let kilobytes =
        |bytes: Option<usize>| bytes.map_or_else(|| "none".to_owned(), |bytes| format!("{} KB", bytes / 1000));
    let schemas = |flat: bool| (if flat { "flat" } else { "as is" }).to_owned();
    let flat = known.flatten_schemas;
    [
        client.label.replace('_', "-"),
        plain(client.version.value().map(str::to_owned)),
        cell(client.patience.value().map(wait), seconds(known.patience), seconds(now.patience)),
        plain(client.start.value().map(wait)),
        plain(client.copies.value().map(|copies| copies.to_string())),
        cell(client.list_changed.value().map(switch), switch(known.list_changed), switch(now.list_changed)),
        cell(client.tools_max.value().map(number), most(known.tools_max), most(now.tools_max)),
        plain(client.full_name_max.value().map(number)),
        cell(client.text_max.value().map(text), kilobytes(known.result_text_max), kilobytes(now.result_text_max)),
        cell(client.images.value().map(switch), switch(known.images), switch(now.images)),
        cell(client.audio.value().map(switch), switch(known.audio), switch(now.audio)),
        cell(Some(schemas(flat)), schemas(flat), schemas(now.flatten_schemas)),
    ]
}

/// Returns the text about what applies to every client, and how holdfast treats an unknown fact.
pub fn unknown_means() -> String {
    format!(
        "holdfast does not guess what is not known: it assumes that the client waits {} s (the SDKs' default) and does not notice changes, and \
         nothing is cut, left out or flattened, but images that some model's API refuses. Descriptions have at most {DESCRIPTION_MAX_BYTES} bytes for every client.",
        PATIENCE_UNKNOWN.as_secs()
    )
}

pub fn assumes(client: &Client) -> bool {
    facts(client).iter().any(|told| told.evidence == Some(Evidence::Assumed))
}

pub fn as_json(client: &Client, traits: &ClientTraits) -> Value {
    let facts: serde_json::Map<String, Value> = facts(client)
        .into_iter()
        .map(|told| (told.key.to_owned(), json!({"value": told.value, "evidence": told.evidence.map(<&str>::from)})))
        .collect();
    json!({
        "client": client.label,
        "title": client.title,
        "names": names(client),
        "facts": facts,
        "treated": {
            "patience": traits.patience.as_secs(),
            "list_changed": traits.list_changed,
            "tools_max": traits.tools_max,
            "result_text_max": traits.result_text_max,
            "images": traits.images,
            "audio": traits.audio,
            "structured_alone": traits.structured_alone,
            "flatten_schemas": traits.flatten_schemas,
        },
        "raised_by": client.raised_by,
        "notes": client.notes,
        "sources": client.sources,
    })
}
