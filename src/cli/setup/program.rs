//! The path of this program as an entry names it, and this machine's file system.

use std::path::{Path, PathBuf};

use holdfast_client_config::{Disk, KnownServer, Launch, Places};

use crate::config;
use crate::platform::host::{Host as _, RealHost};
use crate::protocol::dialect::{self, OwnServer};

/// The file system, as the crate that edits the configurations uses it.
pub const DISK: Disk = Disk { canonical: config::canonical, rename: |from, to| RealHost.rename(from, to) };

/// The folders of the clients on this machine, with the servers that the packages bring. `None` if the user's home is unknown.
pub fn places() -> Option<Places> {
    let servers = dialect::ALL.iter().filter_map(|dialect| dialect.own_server());
    let known = servers.map(|&OwnServer { of, npm, files, within, then, urls }| KnownServer {
        of,
        npm,
        files,
        within,
        then,
        urls,
    });
    let mut places = Places::here(DISK)?;
    places.servers = known.collect();
    Some(places)
}

#[derive(Debug, thiserror::Error)]
pub enum NoProgram {
    #[error("the system does not say where this program lies ({0}); start it by its full path")]
    Unknown(std::io::Error),
    #[error("the path of this program, {}, is not valid Unicode, and a configuration cannot name it; install it elsewhere", .0.display())]
    NotUnicode(PathBuf),
}

/// Returns what an entry needs to start this program, without arguments.
pub fn this_program() -> Result<Launch, NoProgram> {
    let named = std::env::current_exe().map_err(NoProgram::Unknown)?;
    let path = config::canonical(&named).unwrap_or(named);
    let program = path.to_str().ok_or_else(|| NoProgram::NotUnicode(path.clone()))?.to_owned();
    Ok(Launch { program, args: Vec::new(), whole: false, flag: None })
}

/// A place from which the system or a package runner may delete a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// The place, in words that follow "the program lies".
    pub lies: &'static str,
    /// What the user must do so that the program stays.
    pub fix: &'static str,
}

/// Returns from what kind of place a program may be deleted, with the fix; `None` if its place is permanent.
pub fn passing(program: &str) -> Option<Passing> {
    let path = Path::new(program);
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let built = |pair: &[&str]| matches!(pair, ["target", "debug" | "release"]);
    let temporary = || config::canonical(&std::env::temp_dir()).is_some_and(|folder| path.starts_with(folder));
    if parts.windows(2).any(built) {
        return Some(Passing { lies: "in a build folder", fix: "Install it" });
    }
    let cached = RUN_ONCE.iter().find(|(start, _)| parts.iter().any(|part| part.starts_with(start)));
    cached
        .map(|(_, passing)| *passing)
        .or_else(|| temporary().then_some(Passing { lies: "in a folder for temporary files", fix: "Install it" }))
}

/// Folders in which package runners keep programs that are meant to run once: the beginning of the folder's name, and
/// the words about it. The runner may clear such a folder.
const RUN_ONCE: [(&str, Passing); 3] = [
    ("_npx", Passing { lies: "in the cache of npx", fix: "Install it (npm install --global holdfast-mcp)" }),
    ("dlx", Passing { lies: "in the cache of pnpm dlx", fix: "Install it (pnpm add --global holdfast-mcp)" }),
    ("archive-v", Passing { lies: "in the cache of uvx", fix: "Install it (uv tool install holdfast-mcp)" }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_may_vanish_is_named_with_what_makes_it_stay() {
        let temporary = std::env::temp_dir().join("x/holdfast");
        for (program, lies, fix) in [
            ("/home/a/.npm/_npx/0a1b/node_modules/@holdfast-mcp/linux-x64/holdfast", "npx", "npm install --global"),
            ("/home/a/.cache/pnpm/dlx/0a1b/node_modules/@holdfast-mcp/linux-x64/holdfast", "pnpm dlx", "pnpm add"),
            ("/home/a/.cache/uv/archive-v0/0a1b/bin/holdfast-mcp", "uvx", "uv tool install"),
            ("/home/a/holdfast/target/release/holdfast", "build folder", "Install it"),
            (temporary.to_str().expect("Unicode"), "temporary", "Install it"),
        ] {
            let found = passing(program).expect(program);
            assert!(found.lies.contains(lies) && found.fix.contains(fix), "{program}: {found:?}");
        }
        for program in ["/home/a/.local/bin/holdfast", "/home/a/.local/share/uv/tools/holdfast-mcp/bin/holdfast"] {
            assert_eq!(passing(program), None, "{program}");
        }
    }
}
