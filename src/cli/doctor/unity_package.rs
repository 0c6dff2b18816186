//! Checks our own Unity package in the project: whether it is there, has this program's version, and is unchanged.

use std::path::Path;

use super::finding::Finding;
use crate::cli::help::page;
use crate::cli::unity::Site;
use crate::cli::unity::standing::{Installed, Standing, State};
use crate::protocol::dialect::unspoken::{UNSPOKEN, Unspoken};

const ABOUT: &str = "package";

/// Returns the finding about our package. `another`: the project has another package that holdfast supports; `gives_way`: that one is
/// not used beside ours.
/// `unspoken`: the project's packages that holdfast does not support.
pub fn unity_package(project: &Path, (another, gives_way): (bool, bool), unspoken: &[&Unspoken]) -> Finding {
    let standing = Standing::of(&Site::new(project.to_path_buf()));
    let fix = standing.fix().unwrap_or_default();
    match &standing.state {
        // Something other than this program brings the package, for example a registry.
        State::Absent if standing.is_brought() => Finding::note(ABOUT, standing.says()).fix(fix),
        _ if standing.obstacle.is_some() => Finding::of_sentence(ABOUT, &standing.says()),
        State::Absent if another && gives_way => {
            let says = standing.says();
            Finding::note(
                ABOUT,
                format!("{says}, and is not needed: `{fix}` puts it in, and holdfast would use it then"),
            )
        }
        // The finding names no command as a fix: with both packages in the project, holdfast would call neither.
        State::Absent if another => Finding::note(
            ABOUT,
            format!("{}; with both, holdfast would call neither until --dialect names one", standing.says()),
        ),
        State::Absent if !unspoken.is_empty() => {
            let named: Vec<String> = unspoken.iter().map(|one| format!("{} ({})", one.title, one.id)).collect();
            let titles: Vec<&str> = unspoken.iter().map(|one| one.title).collect();
            let says = format!(
                "the project has {}, which holdfast does not speak, and no package that it does",
                named.join(" and ")
            );
            let beside = format!("{fix} (beside {}: see {})", titles.join(" and "), page("docs/migrating.md"));
            Finding::problem(ABOUT, says, beside)
        }
        State::Absent => Finding::problem(
            ABOUT,
            "the project has no Unity package that holdfast supports",
            format!(
                "{fix}; or install one of the others that holdfast supports, in Unity's Package Manager: {} names them",
                page("README.md")
            ),
        )
        .likely(),
        State::Installed(_) if standing.good() => Finding::ok(ABOUT, standing.says()),
        State::Installed(Installed { missing, .. }) if missing.is_empty() => {
            Finding::note(ABOUT, standing.says()).fix(fix)
        }
        State::Foreign => Finding::note(ABOUT, standing.says()).fix(fix),
        State::Installed(_) | State::Interrupted | State::Unreadable(_) => {
            Finding::problem(ABOUT, standing.says(), fix)
        }
    }
}

/// Returns the unsupported package that this problem of a project is about; `None` if it is about something else.
pub fn unspoken_in(problem: &str) -> Option<&'static Unspoken> {
    UNSPOKEN.iter().find(|package| problem == package.says())
}
