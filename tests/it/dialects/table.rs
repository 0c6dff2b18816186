//! The table of `docs/protocols.md`, written from the data of the tests.

use std::fmt::Write as _;

use holdfast_fake_unity::Package;

use super::expected::{MOMENTS, expected, packages};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocols.md");
const BEGIN: &str = "<!-- written by `UPDATE_DOCS=1 cargo test --test it dialects::`: begin -->\n";
const END: &str = "<!-- end -->\n";

fn table() -> String {
    // The package that only tests have is none for a reader.
    let shown: Vec<&Package> = packages().filter(|package| !package.facts.toy).collect();
    let mut meanings = Vec::new();
    let mut table = String::from("| moment |");
    for package in &shown {
        let _ = write!(table, " `{}` |", package.name);
    }
    table.push_str("\n| --- |");
    table.push_str(&" --- |".repeat(shown.len()));
    for moment in &MOMENTS {
        let _ = write!(table, "\n| {} |", moment.name);
        for package in &shown {
            let outcome = expected(package, moment.name);
            let (word, meaning) = outcome.words();
            let _ = write!(table, " {word} |");
            if !meanings.contains(&(word, meaning)) {
                meanings.push((word, meaning));
            }
        }
    }
    table.push('\n');
    for (word, meaning) in meanings {
        let _ = write!(table, "\n* {word}: {meaning}.");
    }
    table.push('\n');
    for package in &shown {
        let _ = write!(table, "\n* `{}`: {}.", package.name, package.title);
    }
    table.push('\n');
    table
}

/// Checks that the document has the table that these tests prove; with `UPDATE_DOCS` set, writes it instead.
pub fn is_current() {
    let document = std::fs::read_to_string(DOCUMENT).expect("docs/protocols.md");
    let (before, rest) = document.split_once(BEGIN).expect("the table's beginning is marked");
    let (held, after) = rest.split_once(END).expect("the table's end is marked");
    let wanted = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, format!("{before}{BEGIN}{wanted}{END}{after}")).expect("it can be written");
        return;
    }
    assert!(held == wanted, "the table is not the one that is tested: UPDATE_DOCS=1 cargo test --test it dialects::");
}
