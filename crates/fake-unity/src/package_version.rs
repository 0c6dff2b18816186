//! The package version and what it decides on the wire. Source of every threshold: the history of hatayama/uLoopMCP and, before
//! v0.27, the tagged C# sources of hatayama/uMCP.

use std::fmt;
use std::str::FromStr;

/// A version of uLoopMCP, or of uMCP from which it came, `MAJOR.MINOR.PATCH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl PackageVersion {
    /// The newest version that still is an MCP server: v2.1.1.
    pub const NEWEST: Self = Self::new(2, 1, 1);

    /// The newest version that speaks lines, and so the last that counts as uMCP: v0.26.4.
    pub const NEWEST_LINES: Self = Self::new(0, 26, 4);

    /// A version of these three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Messages are Content-Length frames (from v0.27); before that a line each.
    pub(crate) fn framed(self) -> bool {
        self >= Self::new(0, 27, 0)
    }

    /// Lines that did not come whole are put together (from v0.8).
    pub(crate) fn joins_lines(self) -> bool {
        self >= Self::new(0, 8, 0)
    }

    /// Errors bear the request's id (from v0.18); before that `null`.
    pub(crate) fn names_errors(self) -> bool {
        self >= Self::new(0, 18, 0)
    }

    /// `data` of an error is an object (from v0.24); before that a text.
    pub(crate) fn error_objects(self) -> bool {
        self >= Self::new(0, 24, 0)
    }

    /// Tools are called tools (from v0.25); before that commands.
    pub(crate) fn says_tool(self) -> bool {
        self >= Self::new(0, 25, 0)
    }

    /// Results are objects of the later shape (from v0.4). Before that they differ from command to command.
    pub(crate) fn typed_results(self) -> bool {
        self >= Self::new(0, 4, 0)
    }

    /// The list of tools is an object (from v0.8); before that a bare array.
    pub(crate) fn wraps_list(self) -> bool {
        self >= Self::new(0, 8, 0)
    }

    /// The list is asked for with or without development-only tools (from v0.12.1).
    pub(crate) fn filters_list(self) -> bool {
        self >= Self::new(0, 12, 1)
    }

    /// A changed list is announced as it is today (from v0.5).
    pub(crate) fn says_list_changed(self) -> bool {
        self >= Self::new(0, 5, 0)
    }

    /// The package's id: it was renamed with v0.26.4.
    pub(crate) fn package_id(self) -> &'static str {
        if self < Self::new(0, 26, 4) { "io.github.hatayama.umcp" } else { "io.github.hatayama.uloopmcp" }
    }

    /// Under which name a tool of v0.30.1 is known; `None` where it is not there yet.
    pub(crate) fn tool_name(self, today: &'static str) -> Option<String> {
        let since = match today {
            "compile" | "get-logs" | "ping" => Self::new(0, 1, 0),
            "run-tests" => Self::new(0, 2, 0),
            "get-tool-details" => Self::new(0, 4, 0),
            "set-client-name" => Self::new(0, 10, 0),
            "execute-menu-item" | "get-menu-items" => Self::new(0, 11, 0),
            "clear-console" | "get-provider-details" | "unity-search" => Self::new(0, 13, 0),
            "find-game-objects" | "get-hierarchy" => Self::new(0, 18, 0),
            "debug-sleep" => Self::new(0, 26, 1),
            _ => Self::new(0, 0, 0),
        };
        let kebab = self >= Self::new(0, 20, 0);
        (self >= since).then(|| match today {
            "get-tool-details" if !kebab => "getCommandDetails".to_owned(),
            "get-tool-details" if !self.says_tool() => "get-command-details".to_owned(),
            "set-client-name" if !kebab => "setClientName".to_owned(),
            _ if kebab => today.to_owned(),
            _ => today.replace('-', ""),
        })
    }

    /// Results carry `StartedAt`, `EndedAt` and `ExecutionTimeMs` (v0.4 to v0.30.3).
    pub(crate) fn timing_fields(self) -> bool {
        (Self::new(0, 4, 0)..Self::new(0, 30, 4)).contains(&self)
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
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) => {
                let version = Self::new(major, minor, patch);
                if version < Self::new(0, 1, 0) {
                    return Err(format!("{version} never was: the first version is 0.1.0"));
                }
                Ok(version)
            }
            _ => Err(wrong()),
        }
    }
}
