//! What of clients' sessions outlives their actors.

mod sessions;
mod state;

pub use self::sessions::{Attached, Sessions, TooManySessions};
pub use self::state::{Client, Handshake};
