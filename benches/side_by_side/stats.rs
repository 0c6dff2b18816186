//! Quantiles, and the table of results.

use std::fmt;
use std::time::Duration;

/// Returns the quantile of the samples at this share (0 to 1), by nearest rank.
pub fn quantile(samples: &[Duration], share: f64) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied().unwrap_or_default()
}

/// The median of times.
pub fn median(samples: &[Duration]) -> Duration {
    quantile(samples, 0.5)
}

/// Returns the median of plain numbers: for an even count, the upper of the two in the middle.
pub fn middle(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Formats a time in milliseconds, with fewer decimals for longer times.
pub fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        ..1.0 => format!("{ms:.3} ms"),
        1.0..100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

/// One row of the table.
pub struct Row {
    pub what: String,
    pub holdfast: String,
    pub floor: String,
    pub compared: String,
    /// The budget in words, and whether it is met; `None` if there is no budget.
    pub budget: Option<(String, bool)>,
}

/// The rows of the results, printed as a Markdown table.
#[derive(Default)]
pub struct Table(Vec<Row>);

impl Table {
    pub fn push(&mut self, row: Row) {
        self.0.push(row);
    }

    /// The rows as JSON, for `scripts/figures.py`.
    pub fn json(&self) -> serde_json::Value {
        let row = |row: &Row| {
            let (budget, met) = row.budget.clone().unzip();
            serde_json::json!({"what": row.what, "holdfast": row.holdfast, "floor": row.floor, "compared": row.compared,
                "budget": budget, "met": met})
        };
        self.0.iter().map(row).collect()
    }

    pub fn missed(&self) -> usize {
        self.0.iter().filter(|row| matches!(row.budget, Some((_, false)))).count()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | holdfast | floor (relay) | compared | budget | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | --- |")?;
        for row in &self.0 {
            let Row { what, holdfast, floor, compared, budget } = row;
            let (budget, met) = match budget {
                Some((budget, met)) => (budget.as_str(), if *met { "ok" } else { "**missed**" }),
                None => ("", ""),
            };
            writeln!(f, "| {what} | {holdfast} | {floor} | {compared} | {budget} | {met} |")?;
        }
        Ok(())
    }
}
