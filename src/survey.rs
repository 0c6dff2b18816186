//! One look around for the editor: which project, what its files say, which ports may be called, and which are only listed.
//!
//! Blocking, read-only, quick (a few small files, a process look-up): run on the host's blocking lane. A port that a file or a
//! default names is called only when its owner is checked to be the project's editor; a port that the user named is assumed.

mod look;
mod meant;
mod owner;
mod reuse;
mod types;

use std::path::{Path, PathBuf};

pub use self::look::facts;
pub use self::owner::{check_owner, expected_now, opened_project};
pub use self::types::{Identity, Listed, Survey, Target};
use crate::config::Config;
use crate::platform::host::Host;

/// Looks around. `former`: the project that was found with the same roots before; a session stays with it.
pub fn survey(host: &dyn Host, config: &Config, roots: &[PathBuf], former: Option<&Path>) -> Survey {
    look::look(host, config, meant::meant(host, config, roots, former))
}

#[cfg(test)]
mod tests;
