//! Which parts of the folder `unity/` are installed into a project. This file belongs to the build script (`build.rs`) and to a test.

/// Files and folders of `unity/` that are installed into a project. Folders include everything below them except the names that
/// [`passed_over`] matches.
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
    "README.md",
    "README.md.meta",
    "Samples~",
    "TestRunner",
    "TestRunner.meta",
    "Third Party Notices.md",
    "Third Party Notices.md.meta",
    "package.json",
    "package.json.meta",
];

/// The rest of `unity/`. `Tests`: Unity compiles the tests of an embedded package with those of the project and lists them in its
/// test runner, so `run-tests` would run our tests in every user's project. `Tests~`: the simulated editor, for people who build
/// the package.
pub const LEFT_OUT: &[&str] = &["Tests", "Tests.meta", "Tests~"];

/// Whether Unity ignores a file with this name. At the top level of `unity/`, [`PLACED`] takes precedence: it includes
/// `Samples~`.
pub fn passed_over(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || name.ends_with(".tmp") || name == "cvs"
}
