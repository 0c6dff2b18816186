//! The package version and what it decides on the wire. Source of every threshold: the history of hatayama/uLoopMCP.

use std::fmt;
use std::str::FromStr;

/// A version of the uLoop package, `MAJOR.MINOR.PATCH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl PackageVersion {
    /// The newest version that still is an MCP server: v2.1.1.
    pub const NEWEST: Self = Self::new(2, 1, 1);

    /// A version of these three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Results carry `StartedAt`, `EndedAt` and `ExecutionTimeMs` (v0.25 to v0.30.3).
    pub(crate) fn timing_fields(self) -> bool {
        (Self::new(0, 25, 0)..Self::new(0, 30, 4)).contains(&self)
    }

    /// The editor says `notifications/server/shutdown` before it closes (from v0.41.1).
    pub(crate) fn shutdown_note(self) -> bool {
        self >= Self::new(0, 41, 1)
    }

    /// Tools have a `TimeoutSeconds` parameter that the editor enforces (before v0.43).
    pub(crate) fn tool_timeouts(self) -> bool {
        self < Self::new(0, 43, 0)
    }

    /// Results carry `Ver` (from v0.46).
    pub(crate) fn ver_field(self) -> bool {
        self >= Self::new(0, 46, 0)
    }

    /// The later catalogue. The tools are documented for v0.30.1 and v2.1.1; versions between them show the later one.
    pub(crate) fn later_catalogue(self) -> bool {
        self >= Self::new(0, 31, 0)
    }

    /// Parameter errors stand in the error's own `message` (from v0.32).
    pub(crate) fn friendly_errors(self) -> bool {
        self >= Self::new(0, 32, 0)
    }

    /// `compile` knows `WaitForDomainReload`, and lock files are kept in `Temp` (from v0.65).
    pub(crate) fn compile_waits(self) -> bool {
        self >= Self::new(0, 65, 0)
    }

    /// Requests may carry `x-uloop`, and the settings file names project and session (from v2.0).
    pub(crate) fn identity(self) -> bool {
        self >= Self::new(2, 0, 0)
    }
}

impl fmt::Display for PackageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for PackageVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a package version; write it like 2.1.1");
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.').map(str::parse::<u16>);
        let version = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => Self::new(major, minor, patch),
            _ => return Err(wrong()),
        };
        if version < Self::new(0, 27, 0) {
            return Err(format!("{version} is older than 0.27.0, the first version with Content-Length framing"));
        }
        Ok(version)
    }
}
