//! Reads the exporter's pages.

use std::collections::BTreeMap;

use holdfast::actors::parts::Parts;
use holdfast::limits::SERIES_MAX;
use holdfast::net::BoxStream;
use holdfast::services::metrics::render;
use tokio::io::AsyncReadExt as _;

use super::within;

/// One page of metrics: the value of every sample by its name and labels.
pub struct Scrape(pub BTreeMap<String, f64>);

impl Scrape {
    pub fn of(parts: &Parts) -> Self {
        Self::read(&render(parts))
    }

    pub fn read(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self(
            samples
                .map(|line| {
                    let (series, value) = line.rsplit_once(' ').unwrap();
                    (series.to_owned(), value.parse().unwrap())
                })
                .collect(),
        )
    }

    /// Returns the sum over all series of a metric that have these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let mut found = self
            .0
            .iter()
            .filter(|(series, _)| series.split('{').next() == Some(name))
            .filter(|(series, _)| labels.iter().all(|label| series.contains(label)))
            .map(|(_, value)| *value)
            .peekable();
        assert!(found.peek().is_some(), "no series {name} with {labels:?}");
        found.sum()
    }

    pub fn is(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        let sum = self.sum(name, labels);
        assert!((sum - value).abs() < 1e-9, "{name} {labels:?} is {sum}, not {value}");
    }

    /// Checks what must be true of every page of metrics.
    pub fn check(&self) {
        for machine in ["bridge", "discovery", "push", "registry", "session"] {
            self.is("holdfast_fsm_state", &[("machine", machine)], 1.0);
        }
        self.is("holdfast_invariant_violations_total", &[], 0.0);
        assert!(self.0.len() <= SERIES_MAX, "{} series", self.0.len());
    }
}

/// Reads an answer. Returns its status, and the whole answer.
pub async fn answer(mut socket: BoxStream) -> (u16, String) {
    let mut text = String::new();
    within("an answer", socket.read_to_string(&mut text)).await.unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    (status, text)
}

/// Returns a request for a page.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}
