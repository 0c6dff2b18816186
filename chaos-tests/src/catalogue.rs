//! Checks the catalogue of faults (`README.md`) against the source: each id names a test that exists, or has a waiver with its
//! reason.

use std::collections::BTreeMap;

/// The families of faults: the letter of their ids, and how many ids each has.
const FAMILIES: [(&str, u32); 9] =
    [("P", 10), ("N", 17), ("R", 12), ("T", 4), ("M", 8), ("C", 7), ("H", 7), ("U", 10), ("X", 8)];
/// A waiver must contain this, with the reason why no test can cause the fault here.
const EXCUSE: &str = "physical:";

/// All ids: P01 to X08.
pub fn ids() -> Vec<String> {
    FAMILIES.iter().flat_map(|(family, count)| (1..=*count).map(move |number| format!("{family}{number:02}"))).collect()
}

/// Whether a source has a test function of this name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let function = format!("fn {name}(");
    lines.iter().enumerate().any(|(index, line)| {
        let is_it = line.strip_prefix("async ").unwrap_or(line).starts_with(&function);
        let above = lines.get(..index).unwrap_or_default().iter().rev();
        let mut above = above.take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        is_it && above.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

/// The parts of a table cell that are in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns what is wrong with a catalogue, one sentence for each problem. `read` returns the text of a source file, given its
/// path in the repository.
pub fn faults(catalogue: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let known = ids();
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in catalogue.lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix('|')) else { continue };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(id) = cells.first().filter(|cell| known.iter().any(|id| id == *cell)) else { continue };
        if rows.insert(id, cells.clone()).is_some() {
            wrong.push(format!("{id} stands there twice"));
        }
    }
    for id in &known {
        let Some(cells) = rows.get(id.as_str()) else {
            wrong.push(format!("{id} is missing"));
            continue;
        };
        let [_, _, proof, invariants, figure] = cells[..] else {
            wrong.push(format!("{id} has {} cells and not 5", cells.len()));
            continue;
        };
        let (tests, waiver) = match proof.split_once("waiver:") {
            Some((tests, waiver)) => (tests, Some(waiver)),
            None => (proof, None),
        };
        if let Some(waiver) = waiver.filter(|waiver| !waiver.contains(EXCUSE)) {
            wrong.push(format!("{id} is waived without a physical reason: {waiver}"));
        }
        let mut count = 0;
        for test in quoted(tests) {
            count += 1;
            let found = test.rsplit_once("::").and_then(|(file, name)| Some(has_test(&read(file)?, name)));
            match found {
                Some(true) => {}
                Some(false) => wrong.push(format!("{id} names a test that is not there: {test}")),
                None => wrong.push(format!("{id} names a file that is not there: {test}")),
            }
        }
        if count == 0 && waiver.is_none() {
            wrong.push(format!("{id} has neither a test nor a waiver"));
        }
        let numbered = |word: &str| word.strip_prefix('I').is_some_and(|rest| rest.parse::<u8>().is_ok());
        if !invariants.split([' ', ',']).any(numbered) {
            wrong.push(format!("{id} names no invariant"));
        }
        if figure.is_empty() {
            wrong.push(format!("{id} has no figure"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "#[test]\nfn holds() {}\n    #[tokio::test(start_paused = true)]\n    async fn also() {}\nfn helper() {}\n";

    fn read(path: &str) -> Option<String> {
        (path == "tests/a.rs").then(|| SOURCE.to_owned())
    }

    fn good() -> Vec<String> {
        let row = |id: String| format!("| {id} | a fault | `tests/a.rs::holds`, `tests/a.rs::also` | I1 | 0 lost |");
        ids().into_iter().map(row).collect()
    }

    fn with(id: &str, row: &str) -> Vec<String> {
        let rows =
            good().into_iter().map(|line| if line.starts_with(&format!("| {id} ")) { row.to_owned() } else { line });
        faults(&rows.collect::<Vec<_>>().join("\n"), read)
    }

    #[test]
    fn a_whole_catalogue_is_accepted() {
        assert_eq!(ids().len(), 83);
        assert_eq!(faults(&good().join("\n"), read), [""; 0]);
        assert_eq!(with("U08", "| U08 | x | waiver: physical: needs one | I9 | – |"), [""; 0]);
    }

    #[test]
    fn every_kind_of_hole_is_found() {
        let one = |row: &str, said: &str| {
            let wrong = with("N03", row);
            assert!(wrong.len() == 1 && wrong[0].contains("N03") && wrong[0].contains(said), "{row}: {wrong:?}");
        };
        one("", "missing");
        one("| N03 | x | | I1 | y |", "neither a test nor a waiver");
        one("| N03 | x | some words | I1 | y |", "neither a test nor a waiver");
        one("| N03 | x | `tests/a.rs::gone` | I1 | y |", "a test that is not there");
        one("| N03 | x | `tests/a.rs::helper` | I1 | y |", "a test that is not there");
        one("| N03 | x | `tests/a.rs::hold` | I1 | y |", "a test that is not there");
        one("| N03 | x | `tests/b.rs::holds` | I1 | y |", "a file that is not there");
        one("| N03 | x | `holds` | I1 | y |", "a file that is not there");
        one("| N03 | x | waiver: no time | I1 | y |", "without a physical reason");
        one("| N03 | x | `tests/a.rs::holds` waiver: later | I1 | y |", "without a physical reason");
        one("| N03 | x | `tests/a.rs::holds` | all | y |", "no invariant");
        one("| N03 | x | `tests/a.rs::holds` | I1 | |", "no figure");
        one("| N03 | x | `tests/a.rs::holds` | I1 |", "4 cells");
        let twice = format!("{}\n| N03 | x | `tests/a.rs::holds` | I1 | y |", good().join("\n"));
        assert_eq!(faults(&twice, read), ["N03 stands there twice"]);
    }
}
