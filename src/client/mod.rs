//! The parts of clients' sessions that outlive the session actors.

mod answers;
mod posts;
mod sessions;
mod state;

pub use self::answers::{Delivery, fit};
pub use self::posts::{Conversation, Departure, Lines, Posting};
pub use self::sessions::{Attached, Sessions, TooManySessions};
pub use self::state::{Arrival, Client, Handshake};
