//! The bounds of this crate, with the reason for each number.

/// The largest configuration of a client that is read or written. Claude Code keeps its history in the same file, and tens of
/// megabytes have been reported. A larger file is not a configuration.
pub const FILE_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The deepest nesting of a configuration in YAML. Clients write four levels. (JSON and TOML have the bounds of their parsers.)
pub const DEPTH_MAX: usize = 64;
/// The number of attempts to change a file that another program keeps changing at the same time.
pub const ATTEMPTS_MAX: usize = 5;

/// The shortest token that is sought in a text, in bytes. A hub takes none of less than 16; a shorter word may also mean something
/// else.
pub const TOKEN_MIN_BYTES: usize = 8;

/// The most entries of a skill's folder that are looked at for files of an earlier version. Ours has a handful.
pub const SKILL_ENTRIES_MAX: usize = 64;
