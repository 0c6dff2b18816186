//! Checks the documents for contributors: every path in them exists, and they list everything that they must list.

use std::collections::BTreeSet;
use std::fs;

use super::{files_below, folders_of, relative, root};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const CONTRIBUTING: &str = "CONTRIBUTING.md";
/// Endings that show that a word is the path of a file.
const ENDINGS: &[&str] = &[
    ".rs", ".md", ".toml", ".json", ".yaml", ".yml", ".py", ".sh", ".mjs", ".cs", ".html", ".c", ".lock", ".js",
    ".snap",
];
/// Names that several files have, and words with a slash that are not paths.
const NO_PATHS: &[&str] = &["tests.rs", "limits.rs", "subscriptions/listen", "tools/call"];
/// Folders that the commands in the text create, and files of a Unity project. They need not exist.
const MADE: &[&str] = &["target/", ".tools/", "dist/", "tests/clients/node_modules/", "Library/", "fuzz/artifacts/"];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("the documents are readable").replace("\r\n", "\n")
}

/// Returns the words of a text that are code, inline or in blocks, without the punctuation around them.
fn code_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") && !line.contains('`') {
            words.extend(line.split_whitespace().map(str::to_owned));
        } else {
            words.extend(line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace).map(str::to_owned));
        }
    }
    words.iter().map(|word| word.trim_matches(|c: char| ",;()\"'".contains(c)).to_owned()).collect()
}

/// Returns the targets of a text's links that are in the repository.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = targets.map(|target| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains("://")).map(str::to_owned).collect()
}

/// Returns every path in a text. Paths must start at the root of the repository, because a name without its folders cannot be
/// found.
fn paths(text: &str) -> Vec<String> {
    let is_path = |word: &String| {
        let is_file = ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending));
        let is_folder = word.contains('/') && word.starts_with(char::is_lowercase) && !word.contains("::");
        let is_made = MADE.iter().any(|made| word.contains(made)) || word.contains("result.xml");
        let is_pattern = word.contains(|c: char| "*$=<~".contains(c)) && !word.starts_with("unity/");
        (is_file || is_folder) && !is_made && !is_pattern
    };
    let words = code_words(text).into_iter().filter(|word| is_path(word) && !NO_PATHS.contains(&word.as_str()));
    words.chain(links(text)).collect()
}

/// Finds the names in brackets after a file that is said to contain them, as pairs (file, name).
fn names(text: &str) -> Vec<(String, String)> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (at, _) in text.match_indices(".rs` (") {
        let file = text[..at + 3].rsplit('`').next().unwrap_or_default();
        let inside = text[at + 6..].split(')').next().unwrap_or_default();
        let words = inside
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| word.chars().all(|c| c.is_alphanumeric() || "_:".contains(c)));
        found.extend(words.filter_map(|word| Some((file.to_owned(), word.rsplit("::").next()?.to_owned()))));
    }
    found
}

/// Returns the documented targets of the `Makefile`.
fn targets() -> BTreeSet<String> {
    let makefile = read("Makefile");
    let documented = makefile.lines().filter_map(|line| line.split_once(": ").filter(|(_, rest)| rest.contains("## ")));
    let targets: BTreeSet<String> =
        documented.map(|(target, _)| target.to_owned()).chain(["help".to_owned()]).collect();
    assert!(targets.len() > 10, "only {} targets were seen: the search is broken", targets.len());
    targets
}

/// Returns the `make` targets that a text names.
fn named_targets(text: &str) -> BTreeSet<String> {
    let words = code_words(text);
    let pairs = words.iter().zip(words.iter().skip(1)).filter(|(make, _)| *make == "make");
    let targets = pairs.map(|(_, target)| target.clone()).filter(|target| target != "make");
    targets.filter(|target| target.starts_with(char::is_lowercase)).collect()
}

#[test]
fn every_path_in_the_documents_for_contributors_exists() {
    let mut findings = Vec::new();
    for document in [ARCHITECTURE, CONTRIBUTING] {
        let paths = paths(&read(document));
        assert!(paths.len() > 50, "only {} paths were seen in {document}: the search is broken", paths.len());
        let missing = paths.into_iter().filter(|path| !root().join(path).exists());
        findings.extend(missing.map(|path| format!("{document} names {path}, which is not there")));
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn every_name_that_a_file_is_said_to_hold_stands_in_it() {
    let mut findings = Vec::new();
    for document in [ARCHITECTURE, CONTRIBUTING] {
        for (file, name) in names(&read(document)) {
            let text = fs::read_to_string(root().join(&file)).unwrap_or_default();
            if !text.contains(&name) {
                findings.push(format!("{document} says that {file} holds {name}, which it does not"));
            }
        }
    }
    assert!(names(&read(ARCHITECTURE)).len() > 30, "the search is broken");
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn the_map_has_every_room_and_every_folder() {
    let text = read(ARCHITECTURE);
    let map = text.split("\n## ").find(|section| section.starts_with("The map\n")).expect("there is a map");
    let named: BTreeSet<String> = code_words(map).iter().map(|word| word.trim_end_matches('/').to_owned()).collect();
    let rooms = fs::read_dir(root().join("src")).expect("folders of the repository are readable");
    let rooms = rooms.map(|entry| relative(&entry.expect("folders of the repository are readable").path()));
    let folders = folders_of("").into_iter().chain(folders_of("crates")).map(|path| relative(&path));
    // Leaves out build output, installed packages, hidden folders, and the folders whose content the map lists.
    let others = ["dist", "chaos-report", "node_modules", "crates", "src"];
    let is_ours =
        |path: &String| !path.starts_with(['.']) && !path.starts_with("target") && !others.contains(&path.as_str());
    let wanted: Vec<String> = rooms.chain(folders).filter(is_ours).collect();
    assert!(wanted.len() > 30, "only {} places were seen: the walk is broken", wanted.len());
    let missing: Vec<String> = wanted.into_iter().filter(|path| !named.contains(path)).collect();
    assert!(missing.is_empty(), "the map of {ARCHITECTURE} does not name {}", missing.join(", "));
}

#[test]
fn every_target_of_make_is_in_the_contributors_guide_and_no_other_is_named() {
    let (targets, named) = (targets(), named_targets(&read(CONTRIBUTING)));
    let missing: Vec<&String> = targets.difference(&named).collect();
    assert!(missing.is_empty(), "{CONTRIBUTING} does not name make {missing:?}");
    let known = |document| named_targets(&read(document)).difference(&targets).cloned().collect::<Vec<_>>();
    for document in [ARCHITECTURE, CONTRIBUTING] {
        assert_eq!(known(document), Vec::<String>::new(), "{document} names targets that the Makefile does not have");
    }
}

#[test]
fn every_suite_is_in_the_index_of_the_tests() {
    let named: BTreeSet<String> = code_words(&read(CONTRIBUTING)).into_iter().collect();
    let mut missing = Vec::new();
    let mut suites = 0;
    for place in ["tests/it", "chaos-tests/tests"] {
        let entries = fs::read_dir(root().join(place)).expect("folders of the repository are readable");
        for entry in entries {
            let suite = relative(&entry.expect("folders of the repository are readable").path());
            suites += 1;
            if suite != "tests/it/main.rs" && !named.contains(&suite) {
                missing.push(suite);
            }
        }
    }
    assert!(suites > 25, "only {suites} suites were seen: the walk is broken");
    assert!(missing.is_empty(), "the index of the tests in {CONTRIBUTING} does not name {}", missing.join(", "));
}

#[test]
fn every_way_to_renew_a_generated_file_is_in_the_contributors_guide() {
    // Joined from parts, so that the search does not find this file.
    let mark = ["UPD", "ATE_"].concat();
    let guide = read(CONTRIBUTING);
    let mut seen = BTreeSet::new();
    for folder in ["src", "tests/it", "crates", "chaos-tests"] {
        for path in
            files_below(&root().join(folder)).iter().filter(|path| path.extension().is_some_and(|end| end == "rs"))
        {
            let text = fs::read_to_string(path).expect("source files are readable UTF-8");
            for (at, _) in text.match_indices(&format!("\"{mark}")) {
                let name = text[at + 1..].split('"').next().unwrap_or_default();
                seen.extend(name.chars().all(|c| c.is_ascii_uppercase() || c == '_').then(|| name.to_owned()));
            }
        }
    }
    assert!(seen.len() >= 3, "only {seen:?} were seen: the search is broken");
    let missing: Vec<&String> = seen.iter().filter(|name| !guide.contains(&format!("{name}=1"))).collect();
    assert!(missing.is_empty(), "{CONTRIBUTING} does not name {missing:?}");
}

// ---- The checker is checked ----------------------------------------------------------------------------------------

#[test]
fn paths_are_told_from_other_words() {
    let named = "See `src/a.rs` (`b.rs`), `cargo test --test it -- x::y`, `docs/adr/`, [this](docs/c.md#part), [that](#part),\n\
                 [there](https://d.example/e.md), `out.ignore(\"...\")`, `target/debug/f.rs`, `sh scripts/g.sh test` and `make test`.\n\
                 ```\nsrc/h.rs\n```\n    HOLDFAST_BIN=$PWD/i.rs\n";
    let expected = ["src/a.rs", "b.rs", "docs/adr/", "scripts/g.sh", "src/h.rs", "docs/c.md"];
    assert_eq!(paths(named), expected);
    let held = "`src/a.rs` (`Entry::limit`, of `src/b.rs`), `src/c.rs`\n  (the `State` of it), `src/d.rs` and (`e`)";
    let expected = [("src/a.rs", "limit"), ("src/c.rs", "State")];
    assert_eq!(names(held), expected.map(|(file, name)| (file.to_owned(), name.to_owned())));
    assert_eq!(named_targets(named), BTreeSet::from(["test".to_owned()]));
}
