//! The seams to the system: files, processes and file watching ([`host`]), our own three pipes ([`stdio`]), file locks.

pub mod host;
pub mod lock_file;
pub mod stdio;
