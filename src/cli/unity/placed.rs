//! What of the folder `unity/` belongs into a project. The build script reads this too, so it names nothing of the crate.

/// Files and folders of `unity/` that belong into a project; folders with all that is below them.
pub const PLACED: &[&str] = &[
    "CHANGELOG.md",
    "CHANGELOG.md.meta",
    "Core",
    "Core.meta",
    "Documentation~",
    "Editor",
    "Editor.meta",
    "LICENSE.md",
    "LICENSE.md.meta",
    "PROTOCOL.md",
    "PROTOCOL.md.meta",
    "README.md",
    "README.md.meta",
    "Samples~",
    "TestRunner",
    "TestRunner.meta",
    "package.json",
    "package.json.meta",
];

/// What stays out. `Tests`: Unity compiles the tests of an embedded package with the project's and lists them in its test
/// runner, so `run-tests` would run ours in everybody's project. `Tests~`: the simulated editor, for those who build the package.
pub const LEFT_OUT: &[&str] = &["Tests", "Tests.meta", "Tests~"];

/// Whether Unity passes over a file of this name; on the top level, [`PLACED`] goes before this.
pub fn passed_over(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || name.ends_with(".tmp") || name == "cvs"
}
