//! What is said about what goes on: every event in one place ([`events`]), logs on stderr ([`logs`]), numbers ([`metrics`])
//! and the last steps of every machine ([`flight`], with what they mean: [`tone`]). [`services::metrics`](crate::services::metrics) serves them.

pub mod events;
pub mod flight;
pub mod log_queue;
pub mod logs;
pub mod metrics;
mod process;
pub mod tone;
