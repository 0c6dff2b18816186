//! The seams to the system: files, processes and file watching ([`host`]), the process's own pipes ([`stdio`]), and file locks.

pub mod host;
pub mod lock_file;
pub mod stdio;
