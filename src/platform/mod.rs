//! The seams to the system: files, processes and file watching ([`host`]), the process's own pipes ([`stdio`]), and file locks.

pub mod background;
pub mod filesystem;
pub mod host;
pub mod local_socket;
pub mod lock_file;
pub mod network;
pub mod stdio;
