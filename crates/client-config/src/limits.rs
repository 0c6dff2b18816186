//! Every bound of this crate, with the reason for its number.

/// Largest configuration of a client that is read or written. Claude Code keeps its history in the same file: tens of
/// megabytes have been reported; beyond this it is something else.
pub const FILE_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Deepest nesting of a configuration in YAML; clients write four levels. (JSON and TOML have the bounds of their parsers.)
pub const DEPTH_MAX: usize = 64;
/// Attempts to change a file that another program keeps changing at the same moment.
pub const ATTEMPTS_MAX: usize = 5;
