//! What the gateway reports about itself: all events ([`events`]), logs on stderr ([`logs`]), metrics ([`metrics`]),
//! and the last steps of every machine ([`flight`]) with their meaning ([`tone`]).
//! [`services::metrics`](crate::services::metrics) serves them.

pub mod events;
pub mod flight;
pub mod log_queue;
pub mod logs;
pub mod metrics;
mod process;
pub mod tone;
pub(crate) mod view;

/// The commit that the program is built from; `None` in builds that do not name it.
pub const REVISION: Option<&str> = option_env!("HOLDFAST_REVISION");
