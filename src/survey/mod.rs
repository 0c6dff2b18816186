//! One survey: which project is meant, what its files say about its editor, which ports may be connected to, and which are only
//! listed.
//!
//! A survey blocks, only reads, and is quick (a few small files, a process look-up). It must run on the host's threads for
//! blocking work. A port that a file or a default names is connected to only if its owner is shown to be the project's editor. A
//! port that the user named is trusted, unless its owner is shown to belong to another project.

pub mod editor_log;
mod look;
mod meant;
mod news;
mod owner;
mod reuse;
mod types;

use std::path::{Path, PathBuf};

pub use self::look::{facts, user_file};
pub use self::news::follow_user_files;
pub use self::owner::{
    NotBelieved, check_caller, check_owner, check_process, opened_project, same_project, target_now,
};
pub use self::types::{Identity, Listed, Survey, Target};
use crate::config::Config;
use crate::platform::host::Host;

/// Makes a survey. `former`: the project that an earlier survey found with the same roots, if any. It is considered if several
/// projects fit.
pub fn survey(host: &dyn Host, config: &Config, roots: &[PathBuf], former: Option<&Path>) -> Survey {
    look::look(host, config, meant::meant(host, config, roots, former))
}

#[cfg(test)]
mod tests;
