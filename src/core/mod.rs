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
pub mod shutdown;
pub mod user_text;
