//! Simulates uMCP v0.1 to v0.26.4, as uLoopMCP was called before v0.27. It is the same package, so most of it is in
//! [`uloop`].

#[cfg(test)]
mod tests;

use serde_json::json;

use super::observer::Wire;
use super::package::{COMPILE_ACT, Call, Facts, Package, Port, Shape, Task, usual};
use super::package_version::PackageVersion;
use super::uloop::{self, SETTINGS};

pub(crate) static PACKAGE: Package = Package {
    name: "umcp",
    title: "uMCP v0.1 to v0.26",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: ("io.github.hatayama.umcp", "0.26.3"),
        port: Port::Settings(SETTINGS, "customPort"),
        default_ports: &[8700, 7400, 8800, 8900, 9000, 9100, 8600, 7500, 7600, 7700, 7800, 7300],
        // The first version that lists its tools, the two that changed how lines are read, and the newest.
        versions: &[
            PackageVersion::new(0, 5, 0),
            PackageVersion::new(0, 12, 1),
            PackageVersion::new(0, 19, 0),
            PackageVersion::NEWEST_LINES,
        ],
        // Before v0.18 an error has no id.
        shape: Shape::Stream { names_calls: false, names_all: false },
        // It reads up to 4096 bytes at a time, and takes each piece for whole messages.
        request_max_bytes: 4096,
        repeatable: &[
            "get-logs",
            "getlogs",
            "find-game-objects",
            "get-hierarchy",
            "get-menu-items",
            "get-provider-details",
            "unity-search",
        ],
        greeting: ("\"method\":", &["set-client-name", "setClientName", "ping"]),
        misreads_cuts: true,
        other_names: &[("get-logs", &["read_console_logs"])],
        ..Facts::USUAL
    },
    wire: Wire { listed: uloop::listed, is_unrun: uloop::is_blocked, ..Wire::LINES },
    call: |task, text, version| match task {
        Task::Logs if version < PackageVersion::new(0, 20, 0) => Call::repeatable("getlogs", json!({})),
        _ => usual(task, text, version),
    },
};
