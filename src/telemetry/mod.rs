//! What is said about what goes on: every event in one place ([`events`]), logs on stderr ([`logs`]), numbers ([`metrics`])
//! and the last steps of every machine ([`flight`]), served on request ([`exporter`]).

pub mod events;
pub mod exporter;
pub mod flight;
pub mod log_queue;
pub mod logs;
pub mod metrics;
mod process;
