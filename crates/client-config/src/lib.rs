//! Adds the entry of an MCP server to the configuration files of AI clients, and removes it again, without changing another byte:
//! comments, order, indentation, line endings, a byte order mark and trailing commas stay as they are.
//!
//! [`CLIENTS`] is the table of the clients: where each keeps its list of servers on each system, how the list is written (JSON
//! with comments, TOML or YAML), and what an entry looks like. [`Places`] finds the paths in one environment. A [`Plan`]
//! is a planned change of one file, which can be shown; [`make`] carries it out. [`Standing`] is the setup state of a client.
//!
//! Before an edit is written, its result is parsed and checked. A file is replaced as a whole, or written in place if a
//! replacement would lose its owner or its other hard links. It also keeps its mode, but only
//! its owner can read it once it has a token. A copy of its first state stays next to it
//! until the entry is removed. A file that cannot be parsed is never written.
//!
//! A [`Skill`] is a folder of texts that a client reads on demand; [`SKILL_FOLDERS`] is the table of the clients' folders.
//!
//! The test at the end of this file shows how to get the text of an entry.

mod change;
mod clients;
mod disk;
mod edit;
mod entry;
mod file;
mod limits;
mod old_servers;
mod owner;
mod places;
mod sandbox;
mod skill;
mod skill_folders;
mod standing;
mod tokens;

pub use change::{ChangeError, Done, Plan, Wish, files, make};
pub use clients::{Base, CLIENTS, Client, Given, Http, On, Remote, Shape, Spot, TokenPlace, named};
pub use disk::Disk;
pub use edit::{EditError, Format};
pub use entry::{Aim, ENTRY_NAME, Endpoint, Launch, Token, common_snippet, snippet};
pub use file::{ReadError, WriteError, Written};
pub use old_servers::{KnownServer, OldServer};
pub use owner::Owner;
pub use places::{Places, System};
pub use sandbox::{Network, SANDBOX, Sandbox};
pub use skill::{Skill, SkillState};
pub use skill_folders::{SKILL_FOLDERS, SkillFolder, skill_folder};
pub use standing::{BrokenError, Standing, State};
pub use tokens::without_tokens;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_written_as_its_client_writes_it() {
        let codex = named("codex").expect("a client of the table");
        let launch = Launch { program: "/usr/bin/holdfast".to_owned(), args: Vec::new(), whole: false, flag: None };
        let text = snippet(codex, Aim::Start(&launch));
        assert_eq!(text, "[mcp_servers.holdfast]\ncommand = \"/usr/bin/holdfast\"\nargs = []\n");
    }
}
