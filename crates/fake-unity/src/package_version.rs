//! The package version, and how the protocol differs between versions. Source of every threshold: the history of
//! hatayama/uLoopMCP, and before v0.27 the tagged C# sources of hatayama/uMCP.

use std::fmt;
use std::str::FromStr;

/// A version `MAJOR.MINOR.PATCH` of a package. What it says of differences is about uLoopMCP, and about uMCP, its earlier name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl PackageVersion {
    /// Newer than every version of every package: each plays its newest.
    pub const LATEST: Self = Self::new(u16::MAX, 0, 0);

    /// The newest version that has an MCP server: v2.2.0, of which nothing is known that differs on the wire from v2.1.1.
    pub const NEWEST: Self = Self::new(2, 2, 0);

    /// The newest version that sends each message as one line, and so the last one of the uMCP dialect: v0.26.4.
    pub const NEWEST_LINES: Self = Self::new(0, 26, 4);

    /// Makes a version from its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Whether messages are Content-Length frames (from v0.27). Before that, each message is one line.
    pub(crate) fn framed(self) -> bool {
        self >= Self::new(0, 27, 0)
    }

    /// Whether the package joins the pieces of a line that arrives in several reads (from v0.8).
    pub(crate) fn joins_lines(self) -> bool {
        self >= Self::new(0, 8, 0)
    }

    /// Whether errors have the request's id (from v0.18). Before that, their id is `null`.
    pub(crate) fn names_errors(self) -> bool {
        self >= Self::new(0, 18, 0)
    }

    /// Whether `data` of an error is an object (from v0.24). Before that, it is a text.
    pub(crate) fn error_objects(self) -> bool {
        self >= Self::new(0, 24, 0)
    }

    /// Whether the protocol says "tool" (from v0.25). Before that, it says "command".
    pub(crate) fn says_tool(self) -> bool {
        self >= Self::new(0, 25, 0)
    }

    /// Whether results are objects in the form of later versions (from v0.4). Before that, each command has its own form.
    pub(crate) fn typed_results(self) -> bool {
        self >= Self::new(0, 4, 0)
    }

    /// Whether the tool list is an object (from v0.8). Before that, it is a bare array.
    pub(crate) fn wraps_list(self) -> bool {
        self >= Self::new(0, 8, 0)
    }

    /// Whether a request for the tool list can exclude development-only tools (from v0.12.1).
    pub(crate) fn filters_list(self) -> bool {
        self >= Self::new(0, 12, 1)
    }

    /// Whether a changed tool list is announced with `notifications/tools/list_changed` (from v0.5).
    pub(crate) fn says_list_changed(self) -> bool {
        self >= Self::new(0, 5, 0)
    }

    /// Returns the package's id, which changed with v0.26.4.
    pub(crate) fn package_id(self) -> &'static str {
        if self < Self::new(0, 26, 4) { "io.github.hatayama.umcp" } else { "io.github.hatayama.uloopmcp" }
    }

    /// Returns the name that a tool of v0.30.1 has in this version; `None` if this version does not have the tool.
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

    /// Whether results have `StartedAt`, `EndedAt` and `ExecutionTimeMs` (v0.4 to v0.30.3).
    pub(crate) fn timing_fields(self) -> bool {
        (Self::new(0, 4, 0)..Self::new(0, 30, 4)).contains(&self)
    }

    /// Whether the editor sends `notifications/server/shutdown` before it closes (from v0.41.1).
    pub(crate) fn shutdown_note(self) -> bool {
        self >= Self::new(0, 41, 1)
    }

    /// Whether tools have a `TimeoutSeconds` parameter that the editor enforces (before v0.43).
    pub(crate) fn tool_timeouts(self) -> bool {
        self < Self::new(0, 43, 0)
    }

    /// Whether results have `Ver` (from v0.46).
    pub(crate) fn ver_field(self) -> bool {
        self >= Self::new(0, 46, 0)
    }

    /// Whether to list the tools of v2.1.1 instead of those of v0.30.1. Only these two lists are documented; versions between
    /// them use the later one.
    pub(crate) fn later_catalogue(self) -> bool {
        self >= Self::new(0, 31, 0)
    }

    /// Whether an error about parameters says so in its own `message` (from v0.32).
    pub(crate) fn friendly_errors(self) -> bool {
        self >= Self::new(0, 32, 0)
    }

    /// Whether `compile` has `WaitForDomainReload`, and lock files are in `Temp` (from v0.65).
    pub(crate) fn compile_waits(self) -> bool {
        self >= Self::new(0, 65, 0)
    }

    /// Whether requests may have `x-uloop`, and the settings file has the project and the session (from v2.0).
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
