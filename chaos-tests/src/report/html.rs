//! Writes the report's page: one HTML file that loads nothing else, with a light and a dark appearance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdfast_timeline::svg::{self, escape};

use super::{RECOVERY_P50_MS, RECOVERY_P99_MS, Report, histogram, percentile};
use crate::record::Record;

const CSS: &str = include_str!("page.css");

/// Formats a number with narrow spaces between its thousands.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Writes a table of names and counts, with a bar for each. Writes nothing if there are no rows.
fn table(out: &mut String, head: &str, rows: &BTreeMap<String, u64>) {
    if rows.is_empty() {
        return;
    }
    let most = rows.values().copied().max().unwrap_or(1).max(1) as f64;
    let _ = write!(out, "<div><h3>{}</h3><table>", escape(head));
    let mut sorted: Vec<_> = rows.iter().collect();
    sorted.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    for (name, number) in sorted {
        let share = *number as f64 / most * 100.0;
        let _ = write!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"b\"><span class=\"bar\" style=\"width:{share:.1}%\"></span></td></tr>",
            escape(name),
            count(*number)
        );
    }
    out.push_str("</table></div>");
}

fn sums<'r>(maps: impl Iterator<Item = &'r BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, number) in maps.flatten() {
        *sums.entry(name.clone()).or_default() += number;
    }
    sums
}

/// The short names of the invariants, by their ids in the catalogue.
pub(super) const INVARIANTS: [(&str, &str); 19] = [
    ("I1", "answer once"),
    ("I2", "at most once"),
    ("I3", "stdout is MCP"),
    ("I4", "bounded"),
    ("I5", "recovery"),
    ("I6", "no orphans"),
    ("I7", "total"),
    ("I8", "isolation"),
    ("I9", "the right editor"),
    ("I10", "epochs are fenced"),
    ("I11", "deadlines"),
    ("I12", "discretion"),
    ("I13", "order"),
    ("I14", "truth"),
    ("I15", "determinism"),
    ("I16", "policy"),
    ("I17", "both eras"),
    ("I18", "copies"),
    ("I19", "grounded"),
];

/// Sums up the checks of each invariant. Several checkers may check one invariant: their names begin with the invariant's id.
fn by_invariant(checks: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (checker, number) in checks {
        let id = checker.split(' ').next().unwrap_or_default();
        let name = INVARIANTS.iter().find(|(known, _)| *known == id);
        let name = name.map_or_else(|| checker.clone(), |(id, name)| format!("{id} {name}"));
        *sums.entry(name).or_default() += number;
    }
    sums
}

fn word(passed: bool) -> &'static str {
    if passed { "<span class=\"verdict good\">kept</span>" } else { "<span class=\"verdict bad\">BROKEN</span>" }
}

fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1}"))
}

fn tile(out: &mut String, figure: &str, label: &str) {
    let _ = write!(out, "<div class=\"tile\"><b>{}</b><span>{}</span></div>", escape(figure), escape(label));
}

fn overview(out: &mut String, report: &Report) {
    out.push_str(
        "<h2>Scenarios</h2><div class=\"scroll\"><table><tr><th>scenario</th><th>promises</th><th class=\"n\">checks</th>\
         <th class=\"n\">faults</th><th class=\"n\">calls</th><th class=\"n\">recoveries</th><th class=\"n\">p50 ms</th>\
         <th class=\"n\">p99 ms</th><th class=\"n\">took</th></tr>",
    );
    for record in &report.records {
        let sum = |map: &BTreeMap<String, u64>| count(map.values().sum());
        let _ = write!(
            out,
            "<tr><td><a href=\"#{name}\">{name}</a></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{:.1} s</td></tr>",
            word(record.passed),
            sum(&record.invariants),
            sum(&record.injected),
            sum(&record.verdicts),
            count(record.recoveries_ms.len() as u64),
            milliseconds(percentile(&record.recoveries_ms, 0.5)),
            milliseconds(percentile(&record.recoveries_ms, 0.99)),
            record.took_ms as f64 / 1000.0,
            name = escape(&record.name),
        );
    }
    out.push_str("</table></div>");
}

fn scenario(out: &mut String, record: &Record) {
    let _ = write!(
        out,
        "<section id=\"{name}\"><h2>{name}: {}</h2><p>{}</p>",
        word(record.passed),
        escape(&record.about),
        name = escape(&record.name)
    );
    if !record.faults.is_empty() {
        let _ = write!(out, "<p class=\"dim\">Of the catalogue: {}.</p>", escape(&record.faults.join(", ")));
    }
    for failure in &record.failures {
        let _ = write!(out, "<pre>{}</pre>", escape(failure));
    }
    if !record.figures.is_empty() || !record.notes.is_empty() {
        out.push_str("<table>");
        for (name, value) in &record.notes {
            let _ = write!(out, "<tr><td>{}</td><td>{}</td></tr>", escape(name), escape(value));
        }
        for (name, value) in &record.figures {
            let value = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") };
            let _ = write!(out, "<tr><td>{}</td><td>{value}</td></tr>", escape(name));
        }
        out.push_str("</table>");
    }
    if !record.recoveries_ms.is_empty() {
        // The promised times count from the moment the editor listens again. In the simulation, packets vanish for seconds
        // and the gateway's supervision tree is rebuilt, which takes more time.
        let targets = record.name != "sim";
        let _ = write!(
            out,
            "<h3>Recovery</h3><p class=\"dim\">{} times, p50 {} ms, p99 {} ms, longest {} ms.</p>{}",
            count(record.recoveries_ms.len() as u64),
            milliseconds(percentile(&record.recoveries_ms, 0.5)),
            milliseconds(percentile(&record.recoveries_ms, 0.99)),
            milliseconds(record.recoveries_ms.last().copied()),
            histogram::draw(&record.recoveries_ms, targets)
        );
    }
    out.push_str("<div class=\"two\">");
    table(out, "Injected", &record.injected);
    table(out, "How calls ended", &record.verdicts);
    table(out, "Invariants, by checks", &by_invariant(&record.invariants));
    out.push_str("</div>");
    if let Some(timeline) = &record.timeline {
        let _ = write!(
            out,
            "<h3>One session of it</h3><p class=\"dim\">Point at a mark to read what happened there.</p><div class=\"scroll\">{}</div>",
            svg::draw(timeline, &format!("a session of {}", record.name))
        );
        out.push_str("<details><summary>The same in words</summary><table>");
        for moment in &timeline.moments {
            let lane = timeline.lanes.get(moment.from).map_or("", |lane| lane.name.as_str());
            let _ = write!(
                out,
                "<tr><td class=\"n\">{:.3} s</td><td>{}</td><td>{}</td></tr>",
                moment.at.as_secs_f64(),
                escape(lane),
                escape(&moment.text)
            );
        }
        out.push_str("</table></details>");
    }
    out.push_str("</section>");
}

/// The whole page.
pub fn page(report: &Report) -> String {
    let records = &report.records;
    let broken = records.iter().filter(|record| !record.passed).count();
    let invariants = sums(records.iter().map(|record| &record.invariants));
    let injected = sums(records.iter().map(|record| &record.injected));
    let verdicts = sums(records.iter().map(|record| &record.verdicts));
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>holdfast: chaos report</title>\
         <style>{CSS}</style></head><body><h1>holdfast: what was broken, and what held</h1>"
    );
    let say = match (records.len(), broken) {
        (0, _) => "<span class=\"verdict bad\">No scenario left a record: nothing was proven.</span>".to_owned(),
        (all, 0) => format!("<span class=\"verdict good\">All {all} scenarios kept every promise.</span>"),
        (all, broken) => format!("<span class=\"verdict bad\">{broken} of {all} scenarios broke a promise.</span>"),
    };
    let _ = write!(out, "<p>{say}");
    if !report.commit.is_empty() {
        let _ = write!(out, " <span class=\"dim\">Commit {}.</span>", escape(&report.commit));
    }
    out.push_str("</p><div class=\"tiles\">");
    tile(&mut out, &count(injected.values().sum()), "faults injected");
    tile(&mut out, &count(verdicts.values().sum()), "calls made");
    tile(&mut out, &count(invariants.values().sum()), "checks of invariants");
    let mut real: Vec<f64> =
        records.iter().filter(|record| record.name != "sim").flat_map(|record| record.recoveries_ms.clone()).collect();
    real.sort_by(f64::total_cmp);
    if !real.is_empty() {
        let ms = |share| format!("{} ms", milliseconds(percentile(&real, share)));
        tile(&mut out, &ms(0.5), &format!("recovery p50, real processes (target {RECOVERY_P50_MS} ms)"));
        tile(&mut out, &ms(0.99), &format!("recovery p99, real processes (target {RECOVERY_P99_MS} ms)"));
    }
    out.push_str("</div>");
    overview(&mut out, report);
    out.push_str("<div class=\"two\">");
    table(&mut out, "All invariants, by checks", &by_invariant(&invariants));
    table(&mut out, "All faults", &injected);
    out.push_str("</div>");
    for record in records {
        scenario(&mut out, record);
    }
    out.push_str("</body></html>\n");
    out
}
