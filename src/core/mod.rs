//! Pure values with rules and without I/O: open calls and requests, the choice of a session's editor, the state of the
//! link, the texts that users read. Functions that need the current time get it as an argument; only `age` asks for it.

pub mod age;
pub mod bridge;
pub mod call_records;
pub mod calls;
pub mod editors;
pub mod exchange;
pub mod last_compile;
pub mod link;
pub mod logbook;
pub mod meant;
pub mod port;
pub mod requests;
pub mod router;
pub mod said;
pub mod user_text;

/// Why the gateway ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ShutdownReason {
    /// stdin ended: the client closed the session.
    InputEnded,
    /// A signal asked the gateway to stop.
    Signal,
    /// The client died, or its end of a pipe is gone.
    ClientGone,
    /// The hub served no session for a while.
    Idle,
    /// A session of a newer version asked the hub to end.
    Retired,
    /// The supervision tree gave up, or a task outside of it panicked. This is a bug of ours.
    Exhausted,
}
