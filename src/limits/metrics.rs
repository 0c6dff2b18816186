//! The bounds of metrics, and of the history of machines that people see.

use std::time::Duration;

/// Series of one gateway without those of a hub's editors, whatever its peers do: few enough for a Prometheus server
/// that scrapes many gateways.
pub const SERIES_MAX: usize = 500;
/// Transitions kept of each machine: about ten seconds of a dial loop, which makes some thirty a second, or a day of
/// quiet work. Older states are kept second by second, for two minutes, in another form.
pub const FLIGHT_RECORD_MAX: usize = 256;
/// How far back the status page and the run record show the machines: a reload and what led to it fit on one screen.
pub const PICTURE_WINDOW: Duration = Duration::from_secs(120);
/// Transitions of each machine in the record: a screenful.
pub const PICTURE_STEPS_MAX: usize = 20;
/// Transitions of each machine on the page, which shows all machines in one table: those of one reload. A machine that
/// looks every second must not push out the steps of the others.
pub const PAGE_STEPS_MAX: usize = 6;
/// Open calls shown on the page and in the record, and likewise ended calls: a screenful.
pub const PICTURE_CALLS_MAX: usize = 20;
/// Transitions of one machine in one log line.
pub const FLIGHT_LINE_STEPS: usize = 32;
/// Open connections to the exporter: one scraper, one browser, and some spare ones. Further ones are refused and may
/// retry.
pub const SCRAPERS_MAX: usize = 8;
/// How often the exporter sorts recorded sizes into buckets, and compares the clocks.
pub const METRICS_UPKEEP_EVERY: Duration = Duration::from_secs(1);
/// If the wall clock and the monotonic clock differ by this much within [`METRICS_UPKEEP_EVERY`], the wall clock has
/// jumped: more than any correction of a running clock.
pub const CLOCK_JUMP_MIN: Duration = Duration::from_secs(2);
/// Longest label made of a project's folder name.
pub const PROJECT_LABEL_MAX_BYTES: usize = 64;
