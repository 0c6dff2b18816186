use std::time::Duration;

use holdfast_timeline::{Call, Phase, Timeline, Verdict};

use super::*;
use crate::record::Record;

fn record(name: &str, passed: bool) -> Record {
    let mut timeline = Timeline::new(["client", "Unity"]);
    timeline.enters(1, Duration::ZERO, Phase::Up);
    let end = Some((Duration::from_millis(5), Verdict::Ok));
    timeline.calls.push(Call { name: "#1".into(), asked: Duration::ZERO, sent: None, end });
    Record {
        name: name.to_owned(),
        about: "kills <everything> & more".to_owned(),
        faults: vec!["P01".into()],
        injected: [("SIGKILL".to_owned(), 1234)].into(),
        invariants: [("I1 answer-once".to_owned(), 5000), ("I2 at-most-once".to_owned(), 7)].into(),
        verdicts: [("ok".to_owned(), 40)].into(),
        recoveries_ms: vec![20.0, 10.0, 400.0],
        figures: [("cycles".to_owned(), 100.0)].into(),
        took_ms: 1500,
        passed,
        failures: if passed { vec![] } else { vec!["I1: #3 has <2> answers\nand more \"text\"".to_owned()] },
        timeline: Some(timeline),
        ..Record::default()
    }
}

fn folder(records: &[Record]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for record in records {
        let bytes = serde_json::to_vec(record).expect("JSON");
        fs::write(folder.path().join(format!("{}.json", record.name)), bytes).expect("written");
    }
    folder
}

/// Checks that the tags are closed in the reverse order of their opening. That is enough for the XML that the report writes.
fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if tag.ends_with('/') || tag.starts_with('?') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn records_come_back_whole_and_the_three_files_are_written() {
    let folder = folder(&[record("sim", true), record("real-kill", true)]);
    let report = Report::read(folder.path(), "abc123").expect("read");
    assert!(report.passed());
    assert_eq!(report.records.len(), 2);
    assert_eq!(report.records[0].recoveries_ms, [10.0, 20.0, 400.0], "sorted");
    assert!(report.records[1].timeline.is_some());
    report.write(folder.path()).expect("written");
    // The files of this report are not read as records by the next report.
    assert_eq!(Report::read(folder.path(), "").expect("read").records.len(), 2);
    let html = fs::read_to_string(folder.path().join("report.html")).expect("a page");
    for part in [
        "abc123",
        "kills &lt;everything&gt; &amp; more",
        "target p99 250 ms",
        "p50 20.0 ms",
        "I1 answer once",
        "class=\"tl\"",
    ] {
        assert!(html.contains(part), "{part}");
    }
    for outside in ["<script", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("10\u{202f}000"), "sums over scenarios");
    assert!(!html.contains("I1 answer-once"), "a row for each invariant, whatever its checkers are called");
}

#[test]
fn every_invariant_of_the_architecture_has_a_short_name() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../ARCHITECTURE.md")).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| I")?.split_once(" |"));
    let ids: Vec<String> = rows.map(|(number, _)| format!("I{number}")).collect();
    assert!(ids.len() >= 19, "{ids:?}");
    assert_eq!(html::INVARIANTS.map(|(id, _)| id).as_slice(), ids);
}

#[test]
fn junit_counts_cases_and_failures_and_is_xml() {
    let folder = folder(&[record("bad", false), record("good", true)]);
    let report = Report::read(folder.path(), "").expect("read");
    assert!(!report.passed());
    let xml = junit::junit(&report);
    assert_well_formed(&xml);
    assert!(xml.contains("<testsuites name=\"chaos\" tests=\"6\" failures=\"1\""), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 6);
    assert_eq!(xml.matches("<failure ").count(), 1);
    assert!(xml.contains("message=\"I1: #3 has &lt;2&gt; answers\""), "{xml}");
    let page = html::page(&report);
    assert!(page.contains("1 of 2 scenarios broke a promise") && page.contains("BROKEN"));
    assert!(page.contains("I1: #3 has &lt;2&gt; answers"));
}

#[test]
fn a_record_that_cannot_be_read_and_a_run_without_any_are_no_success() {
    let folder = folder(&[record("good", true)]);
    fs::write(folder.path().join("half.json"), b"{\"name\":").expect("written");
    fs::write(folder.path().join("notes.txt"), b"not ours").expect("written");
    let report = Report::read(folder.path(), "").expect("read");
    assert_eq!(report.records.len(), 2);
    assert!(!report.passed());
    assert!(junit::junit(&report).contains("half.json"));
    assert!(!Report::default().passed());
    assert!(html::page(&Report::default()).contains("nothing was proven"));
    assert!(Report::read(&folder.path().join("missing"), "").is_err());
}

#[test]
fn percentiles_are_nearest_ranks() {
    let values: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(percentile(&values, 0.5), Some(50.0));
    assert_eq!(percentile(&values, 0.99), Some(99.0));
    assert_eq!(percentile(&values, 1.0), Some(100.0));
    assert_eq!(percentile(&values, 0.0), Some(1.0));
    assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
    assert_eq!(percentile(&[], 0.5), None);
}

#[test]
fn a_histogram_counts_everything_also_what_is_off_its_axis() {
    let svg = histogram::draw(&[0.0, 0.5, 30.0, 31.0, 1e9], true);
    let counted: usize = svg
        .split("<title>")
        .skip(1)
        .map(|rest| rest.split(' ').next().and_then(|count| count.parse::<usize>().ok()).expect("a count"))
        .sum();
    assert_eq!(counted, 5);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    assert!(!histogram::draw(&[], false).contains("target p50"));
    assert_well_formed(&svg);
}
