//! Values with rules and without I/O: open calls, whose editor a session means, what is known of the link, texts that users read. Time comes in as a value.

pub mod bridge;
pub mod calls;
pub mod exchange;
pub mod link;
pub mod logbook;
pub mod requests;
pub mod router;
pub mod shutdown;
pub mod user_text;
