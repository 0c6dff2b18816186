//! Writes JUnit's XML: a suite for each scenario, with a case for the scenario itself and one for each invariant that it
//! checked.

use std::fmt::Write as _;

use holdfast_timeline::svg::escape;

use super::Report;
use crate::record::Record;

fn cases(record: &Record) -> usize {
    record.invariants.len() + 1
}

fn failures(record: &Record) -> usize {
    usize::from(!record.passed)
}

fn seconds(record: &Record) -> f64 {
    record.took_ms as f64 / 1000.0
}

pub fn junit(report: &Report) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let tests: usize = report.records.iter().map(cases).sum();
    let failed: usize = report.records.iter().map(failures).sum();
    let took: f64 = report.records.iter().map(seconds).sum();
    let _ = writeln!(
        out,
        "<testsuites name=\"chaos\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" time=\"{took:.3}\">"
    );
    for record in &report.records {
        let name = escape(&record.name);
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\">",
            cases(record),
            failures(record),
            seconds(record)
        );
        let _ =
            write!(out, "    <testcase classname=\"chaos.{name}\" name=\"scenario\" time=\"{:.3}\"", seconds(record));
        if record.passed {
            out.push_str("/>\n");
        } else {
            let first =
                record.failures.first().and_then(|failure| failure.lines().next()).unwrap_or("a broken promise");
            let _ = writeln!(
                out,
                "><failure message=\"{}\" type=\"broken-promise\">{}</failure></testcase>",
                escape(first),
                escape(&record.failures.join("\n\n"))
            );
        }
        for (invariant, checks) in &record.invariants {
            // The failures of an invariant are in the scenario's own case. This case only says how often the invariant was
            // checked.
            let _ = writeln!(
                out,
                "    <testcase classname=\"chaos.{name}\" name=\"{} ({checks} checks)\" time=\"0\"/>",
                escape(invariant)
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}
