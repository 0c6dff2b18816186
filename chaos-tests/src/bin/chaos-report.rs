//! Makes `report.json`, `junit.xml` and `report.html` from the records in the folder that `CHAOS_REPORT` names (default
//! `target/chaos-report`). Exits with 1 if a scenario failed, a record could not be read, or there is no record; with 2 if
//! the report could not be made.

use std::io::Write as _;
use std::process::ExitCode;

use chaos_tests::record::{PLANTED, Record, SEEDS};
use chaos_tests::report::Report;

fn main() -> ExitCode {
    let folder = Record::folder();
    let commit = std::env::var("CHAOS_COMMIT").unwrap_or_default();
    let made = Report::read(&folder, &commit).and_then(|report| {
        report.write(&folder)?;
        Ok(report)
    });
    let mut out = std::io::stdout();
    match made {
        Ok(report) => {
            let passed = report.passed();
            let broken: Vec<&str> =
                report.records.iter().filter(|record| !record.passed).map(|record| record.name.as_str()).collect();
            let said = if passed { "every promise kept".to_owned() } else { format!("BROKEN: {}", broken.join(", ")) };
            let page = folder.join("report.html");
            let _ = writeln!(
                out,
                "chaos-report: {} scenarios, {} seeds, {} planted faults found out, {} checks of invariants: {said}\nchaos-report: {}",
                report.records.len(),
                report.sum(SEEDS),
                report.sum(PLANTED),
                report.checks(),
                page.display()
            );
            if passed { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            let _ = writeln!(out, "chaos-report: no report from {}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}
