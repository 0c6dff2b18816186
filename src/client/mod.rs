//! The parts of clients' sessions that outlive their actors.

mod meant;
mod sessions;
mod state;

pub use self::meant::Meant;
pub use self::sessions::{Attached, Sessions, TooManySessions};
pub use self::state::{Client, Handshake};
