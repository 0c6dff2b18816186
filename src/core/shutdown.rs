//! Why the gateway ends.

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
