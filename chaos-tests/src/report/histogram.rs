//! Draws recovery times as an SVG histogram over a logarithmic axis, with the promised values.

use std::fmt::Write as _;

use super::{RECOVERY_P50_MS, RECOVERY_P99_MS, percentile};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 20.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 170.0;
/// Number of bins for each factor of ten.
const BINS_A_DECADE: f64 = 8.0;
/// Left end of the axis in milliseconds. Shorter times are counted in the first bin.
const LEAST: f64 = 1.0;
/// Number of factors of ten on the axis: 1 ms to 100 s.
const DECADES: f64 = 5.0;

fn x(ms: f64) -> f64 {
    let decades = (ms.max(LEAST) / LEAST).log10().min(DECADES);
    LEFT + decades / DECADES * (RIGHT - LEFT)
}

/// Draws the histogram of times in milliseconds, which must be sorted. If `targets`, also draws the promised values.
pub fn draw(sorted: &[f64], targets: bool) -> String {
    let bins = (BINS_A_DECADE * DECADES) as usize;
    let mut counts = vec![0_usize; bins];
    for ms in sorted {
        let bin = ((ms.max(LEAST) / LEAST).log10() * BINS_A_DECADE) as usize;
        if let Some(count) = counts.get_mut(bin.min(bins - 1)) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut out = format!(
        "<svg class=\"histogram\" viewBox=\"0 0 {WIDTH} 200\" role=\"img\" aria-label=\"{} recovery times\">",
        sorted.len()
    );
    for (label, ms) in [("1 ms", 1.0), ("10 ms", 10.0), ("100 ms", 100.0), ("1 s", 1e3), ("10 s", 1e4), ("100 s", 1e5)]
    {
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text class=\"dim mid\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>",
            BOTTOM + 16.0,
            x = x(ms)
        );
    }
    let width = (RIGHT - LEFT) / bins as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 / most * (BOTTOM - TOP)).max(1.5);
        let from = LEAST * 10_f64.powf(bin as f64 / BINS_A_DECADE);
        let to = LEAST * 10_f64.powf((bin as f64 + 1.0) / BINS_A_DECADE);
        let _ = write!(
            out,
            "<rect class=\"bin\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\">\
             <title>{count} between {from:.1} and {to:.1} ms</title></rect>",
            LEFT + bin as f64 * width + 0.5,
            BOTTOM - height,
            width - 1.0
        );
    }
    let mut line = |class: &str, ms: f64, label: String, y: f64| {
        let x = x(ms);
        let side = if x > WIDTH * 0.75 { ("end", -4.0) } else { ("start", 4.0) };
        let _ = write!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{BOTTOM}\"/>\
             <text class=\"{class}\" text-anchor=\"{}\" x=\"{:.1}\" y=\"{y:.1}\">{label}</text>",
            y - 8.0,
            side.0,
            x + side.1
        );
    };
    for (name, share, y) in [("p50", 0.5, 11.0), ("p99", 0.99, 24.0)] {
        if let Some(ms) = percentile(sorted, share) {
            line("measured", ms, format!("{name} {ms:.1} ms"), y);
        }
    }
    if targets {
        for (name, ms, y) in [("p50", RECOVERY_P50_MS, 46.0), ("p99", RECOVERY_P99_MS, 60.0)] {
            line("target", ms, format!("target {name} {ms:.0} ms"), y);
        }
    }
    out.push_str("</svg>");
    out
}
