//! Rules of the project that no lint can check. They are checked on the source text: which layer may name what, which file
//! may write to stdout, how long a file may be, and that no committed file has a path of a developer's machine.
//!
//! The purity rule: `protocol`, `fsm` and `core` know no runtime, clock, randomness, environment, file, socket or log, and
//! never await. `core` may keep and compare points in time that it receives, and one file of it turns them into ages.
//! Comments, string literals and `#[cfg(test)]` items are ignored. Which of our crates a crate may use is checked in
//! its manifest.

mod documents;
mod links;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use tokens::{Token, blank, crate_places, places, printing, tokens, without_tests};

const LINES_MAX: usize = 600;

/// Crates that no file of the pure layers may name, with the reason.
const IMPURE_CRATES: &[(&str, &str)] = &[
    ("tokio", "the runtime belongs to the shells"),
    ("holdfast_net", "sockets belong to the net seam"),
    ("holdfast_fake_unity", "a codec that knows the model of an editor proves nothing"),
    ("holdfast_mcp_client", "who judges the gateway shares nothing with it"),
    ("holdfast_timeline", "pictures are drawn by the command line"),
    ("ractor", "actors belong to the shells"),
    ("futures_util", "nothing is awaited here"),
    ("tracing", "what happened is an effect or a hop; the shell logs it"),
    ("log", "what happened is an effect or a hop; the shell logs it"),
    ("metrics", "what happened is an effect or a hop; the shell counts it"),
    ("rand", "the die comes in as a value"),
    ("fastrand", "the die comes in as a value"),
    ("getrandom", "the die comes in as a value"),
];
/// Names of the standard library and the language that no file of the pure layers may use, with the reason.
const IMPURE: &[(&str, &str)] = &[
    ("Instant", "time comes in as a value"),
    ("SystemTime", "time comes in as a value"),
    ("std::env", "config reads the environment"),
    ("std::fs", "files are read through the host seam"),
    ("std::io", "bytes come in as slices"),
    ("std::process", "processes belong to the host seam"),
    ("std::thread", "nothing runs here by itself"),
    ("std::sync::mpsc", "nothing runs here by itself"),
    ("TcpStream", "sockets belong to the net seam"),
    ("TcpListener", "sockets belong to the net seam"),
    ("UdpSocket", "sockets belong to the net seam"),
    ("RandomState", "the die comes in as a value"),
    ("async", "nothing is awaited here"),
    ("await", "nothing is awaited here"),
    ("env!", "config reads the environment"),
    ("option_env!", "config reads the environment"),
];
/// Names that are forbidden in the pure layers, but allowed in `core`: points in time are plain values there.
const MOMENTS: &[&str] = &["Instant", "SystemTime"];
/// The only file of `core` that may ask for the time: serde hands no moment to those who write and read a value.
const CLOCK: &str = "src/core/age.rs";
/// Crates that only one file may use: (crate, file, what the other files use instead).
const OWNED_CRATES: &[(&str, &str, &str)] = &[
    ("backoff", "src/fsm/retry.rs", "use fsm::retry; the crate is unmaintained and is to be replaced in one place"),
    ("statig", "src/fsm/mod.rs", "write the machine against fsm::Machine"),
];
/// The files of sessions. They see of a link what its port gives them ([`INSIDE_A_LINK`]).
const OF_SESSIONS: &[&str] = &[
    "src/client/",
    "src/actors/session/mod.rs",
    "src/actors/session/",
    "src/actors/seat.rs",
    "src/actors/intake.rs",
    "src/actors/port.rs",
    "src/actors/editors.rs",
    "src/actors/gateway_tools.rs",
    "src/actors/package_tools.rs",
    "src/actors/instance_keeper.rs",
];
/// The types through which one gets at a link's memory.
const INSIDE_A_LINK: &[&str] = &["Link", "Links"];
/// The only file that may print to stdout outside of the MCP stream.
const PRINTER: &str = "src/cli/output.rs";
/// The files that may read and write std's own handles. One of them waits where the handles do not block; the other is the
/// fake editor, which only tests start.
const STDIO: &[&str] = &["src/platform/stdio.rs", "src/cli/fake_unity.rs"];
/// The files that may start a task or a thread directly, and what notices a panic in it. All other files use `Tasks::spawn`
/// (a panic fails the actor) or `Health::spawn` (a panic ends the gateway).
const SPAWNERS: &[(&str, &str)] = &[
    ("src/runtime/health.rs", "the watched helper itself"),
    ("src/transport/run.rs", "main joins the tree; the pumps are watched"),
    ("src/runtime/timers.rs", "sleeps and sends one message: nothing in it can panic"),
    ("src/cli/serve.rs", "the pumps are watched; main joins their ends"),
    ("src/cli/child.rs", "ends with the child whose lines it reads"),
    ("src/cli/one_shot.rs", "the command waits for its gateway's pipes and joins it"),
    ("src/cli/resources.rs", "joined at once"),
    ("src/cli/watch/mod.rs", "the command waits for what it sends; a panic is the end of it"),
    ("src/cli/terminal.rs", "a panic is the lack of an answer to whoever waits"),
    ("src/services/keeper.rs", "joined by its keeper, which restarts it"),
    ("src/telemetry/log_queue.rs", "begins again after a panic"),
    ("src/platform/host/mod.rs", "a panic is the lack of an answer to whoever waits"),
    ("src/platform/host/focus.rs", "a panic is the lack of an answer to whoever waits"),
];
/// Code that only tests and demonstrations start.
const UNWATCHED: &[&str] = &["crates/fake-unity/", "crates/mcp-client/", TESTKIT, "src/cli/demo/"];
/// The test kit, which is not a part of the program.
const TESTKIT: &str = "testkit/";
/// Which of our crates, this package included, each crate in `crates/` may use; a crate that is not listed may use none.
const KNOWN_CRATES: &[(&str, &[&str])] = &[("fake-unity", &["holdfast-net"])];

#[test]
fn the_source_keeps_the_layer_rule() {
    let mut findings = Vec::new();
    let mut pure_files = 0;
    for (path, text) in sources() {
        pure_files += usize::from(is_pure(&path));
        findings.extend(check(&path, &text));
    }
    assert!(pure_files >= 5, "only {pure_files} files in src/protocol and src/fsm were seen: the walk is broken");
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn no_statement_borrows_from_two_watches() {
    let mut findings = Vec::new();
    let mut seen = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.starts_with("crates/fake-unity/")) {
        let tokens = tokens(&without_tests(&blank(&text)));
        seen += borrows(&tokens).len();
        findings.extend(double_borrows(&tokens).into_iter().map(|line| {
            format!(
                "{path}:{line}: a second `.borrow()` in one statement: with a writer between the two, both wait for ever. Clone \
                 what the first one shows in a statement of its own"
            )
        }));
    }
    assert!(seen > 10, "only {seen} borrows were seen: the search is broken");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn no_crate_knows_more_of_ours_than_it_should() {
    let mut findings = Vec::new();
    let crates = folders_of("crates");
    for folder in &crates {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("every folder of crates/ is a crate");
        findings.extend(foreign_crates(&name, &manifest));
    }
    assert!(crates.len() >= 3, "only {} crates were seen: the walk is broken", crates.len());
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn no_file_grows_beyond_what_a_reader_holds() {
    let files = sources();
    let mut findings = Vec::new();
    for (path, text) in &files {
        let lines = text.lines().count();
        if lines > LINES_MAX {
            findings.push(format!("{path}: {lines} lines; split it by idea"));
        }
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

/// Each crate with an example is read, compiled and linked once more for it, which takes longer than all unit tests.
#[test]
fn examples_are_unit_tests_and_no_code_in_comments_is() {
    let mut fences = Vec::new();
    for (name, text) in sources() {
        let mut open = false;
        for (line, text) in text.lines().enumerate() {
            let Some(comment) = ["///", "//!"].iter().find_map(|mark| text.trim_start().strip_prefix(mark)) else {
                continue;
            };
            if let Some(kind) = comment.trim_start().strip_prefix("```") {
                open = !open;
                if open && !["text", "json"].contains(&kind) {
                    fences.push(format!("{name}:{}", line + 1));
                }
            }
        }
    }
    assert!(fences.is_empty(), "rustdoc would run these: {fences:?}");
}

#[test]
fn nothing_committed_names_a_machine() {
    // Joined from parts, so that the search does not find this file.
    let marks =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/home/", "runner"], ["C:\\Us", "ers\\runner"]].map(|parts| parts.concat());
    let mut read = 0;
    let mut findings = Vec::new();
    for path in files_below(root()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        read += 1;
        for (number, line) in text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| names_path(line, mark)) {
                findings.push(format!("{}:{}: names {mark}", relative(&path), number + 1));
            }
        }
    }
    assert!(read > 20, "only {read} files were read: the walk is broken");
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

/// Whether `line` contains an absolute path that begins with `mark`. A longer path that only contains the mark does
/// not count.
fn names_path(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/}$".contains(c)))
}

// ---- The checker ---------------------------------------------------------------------------------------------------

fn is_pure(path: &str) -> bool {
    path.starts_with("src/protocol/") || path.starts_with("src/fsm/") || is_core(path)
}

fn is_core(path: &str) -> bool {
    path.starts_with("src/core/")
}

/// Whether a line only imports the runtime's type for a point in time.
fn names_a_moment(code: &str, line: usize) -> bool {
    code.lines().nth(line - 1).is_some_and(|text| text.trim() == "use tokio::time::Instant;")
}

/// Returns the lines that call a function or method of this name without arguments: `x.name()`, `X::name()`.
fn calls_of(tokens: &[Token], name: &str) -> Vec<usize> {
    let at = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    (1..tokens.len())
        .filter(|&i| at(i) == name && matches!(at(i - 1), "." | ":") && at(i + 1) == "(" && at(i + 2) == ")")
        .map(|i| tokens[i].line)
        .collect()
}

/// Returns every violation of the rules in the file `path` with the content `text`.
fn check(path: &str, text: &str) -> Vec<String> {
    let code = without_tests(&blank(text));
    let tokens = tokens(&code);
    let mut findings = Vec::new();
    let mut find = |line: usize, what: &str, why: &str| findings.push(format!("{path}:{line}: names `{what}`: {why}"));

    if is_pure(path) {
        for (name, why) in IMPURE_CRATES {
            let lines = crate_places(&tokens, name);
            for line in lines.into_iter().filter(|line| !(is_core(path) && names_a_moment(&code, *line))) {
                find(line, name, why);
            }
        }
        for (name, why) in IMPURE.iter().filter(|(name, _)| !(is_core(path) && MOMENTS.contains(name))) {
            for line in places(&tokens, name) {
                find(line, name, why);
            }
        }
        if is_core(path) && path != CLOCK {
            for line in ["now", "elapsed"].iter().flat_map(|name| calls_of(&tokens, name)) {
                find(line, "now", "the moment comes in as a value");
            }
        }
        for line in printing(&tokens) {
            find(line, "print", "pure code says nothing");
        }
    }
    if OF_SESSIONS.iter().any(|of| path.starts_with(of)) {
        for (name, line) in
            INSIDE_A_LINK.iter().flat_map(|name| places(&tokens, name).into_iter().map(move |at| (name, at)))
        {
            find(line, name, "a session sees of a link what its port gives it; use link::Port");
        }
    }
    for (name, owner, instead) in OWNED_CRATES {
        if path != *owner {
            for line in crate_places(&tokens, name) {
                find(line, name, instead);
            }
        }
    }
    if path != PRINTER {
        for line in places(&tokens, "println!").into_iter().chain(places(&tokens, "print!")) {
            find(line, "print", "stdout carries MCP and nothing else; the command line prints through cli::output");
        }
    }
    let may_spawn = SPAWNERS.iter().any(|(owner, _)| *owner == path) || UNWATCHED.iter().any(|of| path.starts_with(of));
    if !may_spawn {
        for line in spawning(&tokens) {
            find(line, "spawn", "a panic in it would be seen by nobody; use Health::spawn or the actor's Tasks");
        }
    }
    if !STDIO.contains(&path) && !path.starts_with(TESTKIT) {
        for line in std_handles(&tokens) {
            find(
                line,
                "stdin(), stdout() or stderr()",
                "they fail where a launcher made them non-blocking; use crate::platform::stdio",
            );
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

/// Returns the crates of ours that a manifest names without permission, even if only for its tests.
fn foreign_crates(name: &str, manifest: &str) -> Vec<String> {
    let allowed = KNOWN_CRATES.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, known)| known);
    let mut named = Vec::new();
    dependencies(&basic_toml::from_str(manifest).expect("a manifest is TOML"), &mut named);
    named.retain(|of| (of.starts_with("holdfast") || of == "chaos-tests") && !allowed.contains(&of.as_str()));
    named.into_iter().map(|of| format!("crates/{name}/Cargo.toml: depends on {of}")).collect()
}

/// Collects every name in every table of dependencies: normal, for tests, for builds, and for one platform.
fn dependencies(table: &serde_json::Value, named: &mut Vec<String>) {
    for (key, value) in table.as_object().into_iter().flatten() {
        if key.ends_with("dependencies") {
            for (name, about) in value.as_object().into_iter().flatten() {
                named.push(about["package"].as_str().unwrap_or(name).to_owned());
            }
        } else {
            dependencies(value, named);
        }
    }
}

/// Returns the lines that start a task or a thread directly.
fn spawning(tokens: &[Token]) -> Vec<usize> {
    let at = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    let spawns = |i: usize| matches!(at(i), "spawn" | "spawn_blocking" | "spawn_local" | "Builder");
    let of = |i: usize| i >= 3 && matches!(at(i - 3), "tokio" | "task" | "thread") && at(i - 2) == ":";
    (0..tokens.len()).filter(|&i| spawns(i) && of(i)).map(|i| tokens[i].line).collect()
}

/// Returns the lines that use one of std's handles for any purpose other than `is_terminal`.
fn std_handles(tokens: &[Token]) -> Vec<usize> {
    let at = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    (0..tokens.len())
        .filter(|&i| matches!(at(i), "stdin" | "stdout" | "stderr") && at(i + 1) == "(" && at(i + 2) == ")")
        .filter(|&i| at(i - 1) != "fn" && at(i + 4) != "is_terminal")
        .map(|i| tokens[i].line)
        .collect()
}

/// Returns the indices of the `.` of every `.borrow()`.
fn borrows(tokens: &[Token]) -> Vec<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let call = |at: &usize| ["borrow", "(", ")"].iter().enumerate().all(|(nth, text)| is(at + 1 + nth, text));
    (0..tokens.len()).filter(|at| is(*at, ".")).filter(call).collect()
}

/// Returns the lines of each `.borrow()` whose guard is still alive when another one is taken. A guard lives until the end of
/// its statement.
fn double_borrows(tokens: &[Token]) -> Vec<usize> {
    let places = borrows(tokens);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let end_of = |start: usize| {
        let mut depth = 0;
        for at in start + 4..tokens.len() {
            match text(at) {
                "(" | "[" | "{" => depth += 1,
                // This brace ends a block, not a literal or closure within the statement.
                "}" if depth == 0 && !matches!(text(at + 1), ")" | "," | "." | "?" | ";" | "}") => return at,
                ")" | "]" | "}" => depth -= 1,
                ";" if depth <= 0 => return at,
                _ => {}
            }
        }
        tokens.len()
    };
    let doubled = places.iter().filter(|at| places.iter().any(|next| next > at && *next < end_of(**at)));
    doubled.filter_map(|at| tokens.get(*at)).map(|token| token.line).collect()
}

// ---- Files ---------------------------------------------------------------------------------------------------------

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Reads the Rust files of src/, of every crate's src/ and of the test kit, without files that are test modules (`tests.rs`, `tests/`).
fn sources() -> Vec<(String, String)> {
    let crates = folders_of("crates");
    let kit = root().join(TESTKIT);
    let places = crates.iter().map(PathBuf::as_path).chain([root(), &kit]).map(|place| place.join("src"));
    let files: Vec<(String, String)> = places
        .flat_map(|place| files_below(&place))
        .map(|path| (relative(&path), path))
        .filter(|(name, _)| name.starts_with("src/") || name.contains("/src/"))
        .filter(|(name, _)| name.ends_with(".rs") && !name.ends_with("/tests.rs") && !name.contains("/tests/"))
        .map(|(name, path)| (name, fs::read_to_string(path).expect("source files are readable UTF-8")))
        .collect();
    for place in ["src/", "crates/", TESTKIT] {
        let seen = files.iter().filter(|(name, _)| name.starts_with(place)).count();
        assert!(seen > 5, "only {seen} source files were seen in {place}: the walk is broken");
    }
    files
}

/// Returns the folders directly in a folder of the repository.
fn folders_of(place: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(place)).expect("folders of the repository are readable");
    let paths = entries.map(|entry| entry.expect("folders of the repository are readable").path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Returns all files below `folder`, without build output, installed packages and git's own files.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    const NOT_OURS: &[&str] = &["target", ".git", ".tools", "node_modules", "__pycache__", "Library", "Temp"];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("folders of the repository are readable") {
        let path = entry.expect("folders of the repository are readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if NOT_OURS.contains(&name.as_ref()) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

// ---- The checker is checked ----------------------------------------------------------------------------------------

#[test]
fn planted_violations_are_found() {
    let planted = [
        ("src/fsm/bridge/mod.rs", "use tokio::time;"),
        ("src/fsm/bridge/mod.rs", "fn f() { ::tokio::spawn(g()); }"),
        ("src/fsm/bridge/mod.rs", "use ractor::Actor;"),
        ("src/fsm/bridge/mod.rs", "use ::tokio::time;"),
        ("src/fsm/bridge/mod.rs", "use holdfast_net::Net;"),
        ("src/protocol/ids.rs", "use holdfast_fake_unity::FakeUnity;"),
        ("src/protocol/ids.rs", "use holdfast_mcp_client::line;"),
        ("src/fsm/bridge/mod.rs", "extern crate tokio;"),
        ("src/fsm/bridge/mod.rs", "fn f() -> ::tokio::time::Sleep { g() }"),
        ("src/fsm/bridge/mod.rs", "fn f() { tracing::info!(\"x\"); }"),
        ("src/protocol/ids.rs", "use metrics::counter;"),
        ("src/protocol/ids.rs", "use std::time::{Duration, Instant};"),
        ("src/protocol/ids.rs", "fn f() -> std::time::SystemTime { todo() }"),
        ("src/protocol/ids.rs", "use std::{collections::BTreeMap, env};"),
        ("src/protocol/ids.rs", "use std::{\n    fmt,\n    fs::File,\n};"),
        ("src/protocol/ids.rs", "fn f() { std::fs::read(p); }"),
        ("src/protocol/ids.rs", "use std::{sync::{Arc, mpsc}};"),
        ("src/protocol/ids.rs", "use std::net::{SocketAddr, TcpStream};"),
        ("src/protocol/ids.rs", "fn f() { fastrand::u64(..); }"),
        ("src/protocol/ids.rs", "fn f() { rand::random::<u8>(); }"),
        ("src/protocol/ids.rs", "fn f() { getrandom::fill(b); }"),
        ("src/protocol/ids.rs", "async fn f() {}"),
        ("src/protocol/ids.rs", "fn f() { g().await; }"),
        ("src/core/calls/ledger/mod.rs", "use tokio::time::{Instant, sleep};"),
        ("src/core/calls/ledger/mod.rs", "use tokio::sync::Notify;"),
        ("src/core/calls/ledger/mod.rs", "fn f() { g(Instant::now()); }"),
        ("src/core/link.rs", "fn f(x: Instant) { x.elapsed(); }"),
        ("src/core/age.rs", "use tokio::time::sleep;"),
        ("src/core/age.rs", "use std::fs;"),
        ("src/core/link.rs", "use std::fs;"),
        ("src/fsm/bridge/mod.rs", "use backoff::ExponentialBackoff;"),
        ("src/actors/bridge/mod.rs", "use backoff::backoff::Backoff;"),
        ("src/actors/bridge/mod.rs", "fn f() { backoff::retry(g); }"),
        ("src/fsm/bridge/mod.rs", "use statig::Outcome;"),
        ("src/fsm/bridge/mod.rs", "impl statig::blocking::State<X> for Y {}"),
        ("src/front.rs", "fn f() { println!(\"x\"); }"),
        ("src/cli/demo.rs", "fn f() { print!(\"x\"); }"),
        ("crates/client-config/src/file.rs", "fn f() { println!(\"x\"); }"),
        ("src/fsm/bridge/mod.rs", "fn f() { eprintln!(\"x\"); }"),
        ("crates/timeline/src/text.rs", "fn f() { println!(\"x\"); }"),
        ("crates/fake-unity/src/steer.rs", "fn f() { std::io::stdout().write_all(b) }"),
        ("crates/net/src/lib.rs", "fn f() { tokio::spawn(g()); }"),
        ("src/cli/output.rs", "fn f() { std::io::stdout().write_all(b) }"),
        ("src/link/audit.rs", "fn f() { tokio::spawn(g()); }"),
        ("src/link/audit.rs", "fn f() { std::thread::Builder::new().spawn(g); }"),
        ("src/actors/push.rs", "fn f() { tokio::task::spawn_blocking(g); }"),
        ("src/fsm/bridge/mod.rs", "#[cfg(test)]\nmod tests { fn f() {} }\nuse tokio::time;"),
        ("src/fsm/bridge/mod.rs", "#[cfg(test)]\nmod tests;\nuse tokio::time;"),
        ("src/fsm/bridge/mod.rs", "const C: char = '\"'; use tokio::time; const D: char = '\"';"),
        ("src/fsm/bridge/mod.rs", "fn f<'a>(x: &'a str) { tokio::spawn(x); }"),
        ("src/fsm/bridge/mod.rs", "const R: &str = r#\"a \" b\"#; use tokio::time;"),
        ("src/fsm/bridge/mod.rs", "/* a /* b */ c */ use tokio::time;"),
        ("src/actors/session/offers.rs", "use crate::link::{Link, Port};"),
        ("src/actors/gateway_tools.rs", "fn f(x: &crate::link::Links) {}"),
        ("src/client/state.rs", "use crate::link::Links;"),
    ];
    for (path, code) in planted {
        assert!(!check(path, code).is_empty(), "not found in {path}: {code}");
    }
    assert_eq!(
        check("src/fsm/bridge/mod.rs", "\n\nuse tokio::time;"),
        ["src/fsm/bridge/mod.rs:3: names `tokio`: the runtime belongs to the shells"]
    );
}

#[test]
fn a_crate_that_knows_another_one_is_found() {
    let found = |name: &str, manifest: &str| foreign_crates(name, manifest).len();
    for manifest in [
        "[dependencies]\nholdfast = { path = \"../..\" }",
        "[dev-dependencies]\nholdfast.workspace = true",
        "[dependencies]\ngateway = { package = \"holdfast\", path = \"../..\" }",
        "[target.'cfg(unix)'.dev-dependencies]\nholdfast-timeline.workspace = true",
        "[build-dependencies]\nchaos-tests = { path = \"../../chaos-tests\" }",
    ] {
        assert_eq!(found("fake-unity", manifest), 1, "{manifest}");
    }
    let net = "[package]\nname = \"holdfast-x\"\n[dependencies]\nholdfast-net.workspace = true\ntokio = \"1\"";
    assert_eq!((found("fake-unity", net), found("timeline", net)), (0, 1));
}

#[test]
fn two_borrows_in_one_statement_are_told_from_two_statements() {
    let found = |code: &str| double_borrows(&tokens(code)).len();
    assert_eq!(found("let x = S { a: w.borrow().a, b: w.borrow().b };"), 1);
    assert_eq!(found("if let Some(x) = w.borrow().a { f(v.borrow().b); }"), 1);
    assert_eq!(found("f(w.borrow().a, || v.borrow().b);"), 1);
    assert_eq!(found("let a = w.borrow().a; let b = w.borrow().b;"), 0);
    assert_eq!(found("fn a() { w.borrow().a } fn b() { w.borrow().b }"), 0);
}

#[test]
fn what_is_allowed_is_not_found() {
    let allowed = [
        (
            "src/fsm/bridge/mod.rs",
            "use std::time::Duration;\nuse crate::limits::RETRY_FIRST;\nuse crate::protocol::ids::Id;",
        ),
        (
            "src/fsm/bridge/mod.rs",
            "//! Never touches tokio.\n/// ```\n/// tokio::spawn(x);\n/// ```\n// use tokio::x;\nstruct S;",
        ),
        (
            "src/fsm/bridge/mod.rs",
            "const WHY: &str = \"await the tokio \\\" runtime\"; const R: &str = r#\"tokio \"async\"\"#;",
        ),
        (
            "src/fsm/bridge/mod.rs",
            "#[cfg(test)]\nmod tests {\n    use tokio::time; fn f() { let x = [1]; { } }\n}\nstruct S;",
        ),
        ("src/fsm/bridge/mod.rs", "#[cfg(test)]\nuse std::fs;\nstruct S;"),
        ("src/fsm/bridge/mod.rs", "use super::{Machine, Outcome, statig_machine};\nstatig_machine!(A, B, C);"),
        (
            "src/fsm/bridge/mod.rs",
            "struct InstantReply; enum E { Await, Strand }\nfn f(operand: u8, metrics: u8) { x.log(metrics) }",
        ),
        ("src/fsm/bridge/mod.rs", "use std::net::SocketAddr;\nuse std::collections::BTreeMap;"),
        ("src/core/link.rs", "use tokio::time::Instant;\nfn f(now: Instant, then: Instant) -> bool { now > then }"),
        ("src/core/age.rs", "use tokio::time::Instant;\nfn f(x: Instant) -> Duration { Instant::now() - x }"),
        ("src/fsm/retry.rs", "use backoff::backoff::Backoff;"),
        ("src/fsm/mod.rs", "pub use statig::Outcome;"),
        (
            "src/actors/bridge/mod.rs",
            "use tokio::time::Instant;\nuse crate::fsm::retry::backoff;\nasync fn f() { g().await }",
        ),
        ("src/cli/output.rs", "fn line() { println!(\"x\"); }"),
        ("src/actors/push.rs", "fn f(&self) { self.tasks.spawn(g()); self.env.health.spawn(\"x\", g()); }"),
        ("src/cli/output.rs", "fn f() { x.stdin(y); std::io::stdout().is_terminal() }"),
        ("src/actors/session/mod.rs", "use crate::link::{Port, Ports};"),
        ("src/actors/parts.rs", "use crate::link::{Link, Links, Ports};"),
        ("src/front.rs", "fn f() { eprint_the_cause(); }\nfn print(x: u8) -> bool { x != 3 }"),
    ];
    for (path, code) in allowed {
        assert_eq!(check(path, code), Vec::<String>::new(), "in {code}");
    }
}

#[test]
fn a_machine_path_is_told_from_a_longer_one() {
    let mark = ["/wo", "rk/"].concat();
    for line in ["see X", "\"X", "(X", "=X", "path: X"].map(|text| text.replace('X', &mark)) {
        assert!(names_path(&line, &mark), "{line}");
    }
    for line in ["netX", "./frameX", "aX", "$HOMEX", "a/bX"].map(|text| text.replace('X', &mark)) {
        assert!(!names_path(&line, &mark), "{line}");
    }
}
