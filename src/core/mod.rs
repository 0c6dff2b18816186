//! Pure values with rules and without I/O: open calls, the choice of a session's editor, the state of the link, the texts that
//! users read. Functions get the current time as an argument.

pub mod bridge;
pub mod calls;
pub mod exchange;
pub mod link;
pub mod logbook;
pub mod requests;
pub mod router;
pub mod shutdown;
pub mod user_text;
