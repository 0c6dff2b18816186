//! The folders from which AI clients read skills, as data.

use std::path::PathBuf;

use crate::clients::{Base, CLIENTS, Client, Spot, all};
use crate::places::Places;

/// Where a client looks for skills. Each skill is a folder in there.
#[derive(Debug, Clone, Copy)]
pub struct SkillFolder {
    /// The client's name in [`CLIENTS`].
    pub client: &'static str,
    /// The user's folder.
    pub user: Spot,
    /// The folder of a project.
    pub project: Spot,
    /// Other folders that the client reads too. A skill that is also there may be listed twice.
    pub also: &'static [Spot],
    /// What the user must do next.
    pub afterwards: &'static str,
    /// The source of these facts.
    pub source: &'static str,
    /// The day on which the source was read.
    pub read_on: &'static str,
}

/// The folder that is no single client's own.
const SHARED: Spot = all(Base::Home, ".agents/skills");
const SHARED_OF_PROJECT: Spot = all(Base::Project, ".agents/skills");
const CLAUDE: Spot = all(Base::ClaudeHome, "skills");
const CLAUDE_OF_PROJECT: Spot = all(Base::Project, ".claude/skills");
const COPILOT: Spot = all(Base::Home, ".copilot/skills");
const COPILOT_OF_PROJECT: Spot = all(Base::Project, ".github/skills");
const CODEX: Spot = all(Base::CodexHome, "skills");
const CODEX_OF_PROJECT: Spot = all(Base::Project, ".codex/skills");

/// Every client that is known to read skills.
pub const SKILL_FOLDERS: &[SkillFolder] = &[
    SkillFolder {
        client: "claude-code",
        user: CLAUDE,
        project: CLAUDE_OF_PROJECT,
        also: &[],
        afterwards: "start a new session; `/holdfast` there calls the skill by its name",
        source: "code.claude.com/docs/en/skills",
        read_on: "2026-11-29",
    },
    SkillFolder {
        client: "cursor",
        user: all(Base::Home, ".cursor/skills"),
        project: all(Base::Project, ".cursor/skills"),
        also: &[SHARED, SHARED_OF_PROJECT, CLAUDE, CLAUDE_OF_PROJECT, CODEX, CODEX_OF_PROJECT],
        afterwards: "start Cursor anew; `/holdfast` in the chat calls the skill by its name",
        source: "cursor.com/docs/context/skills; the folders of other clients as other projects cite it",
        read_on: "2026-11-29",
    },
    SkillFolder {
        client: "vscode",
        user: COPILOT,
        project: COPILOT_OF_PROJECT,
        also: &[SHARED, SHARED_OF_PROJECT, CLAUDE, CLAUDE_OF_PROJECT],
        afterwards: "start a new chat in agent mode; `/holdfast` there calls the skill by its name",
        source: "code.visualstudio.com/docs/agent-customization/agent-skills, and github.com/microsoft/vscode, skills.md of the Copilot \
                 extension",
        read_on: "2026-11-29",
    },
    SkillFolder {
        client: "copilot-cli",
        user: COPILOT,
        project: COPILOT_OF_PROJECT,
        also: &[SHARED, SHARED_OF_PROJECT, CLAUDE_OF_PROJECT],
        afterwards: "start a new session, or `/skills reload`; `/skills info holdfast` shows it",
        source: "docs.github.com/en/copilot, add skills",
        read_on: "2026-11-29",
    },
    SkillFolder {
        client: "codex",
        user: SHARED,
        project: SHARED_OF_PROJECT,
        also: &[CODEX, CODEX_OF_PROJECT],
        afterwards: "start a new session; `$holdfast` in a request calls the skill by its name",
        source: "github.com/openai/codex, core-skills/src/loader.rs, and developers.openai.com/codex/skills; $CODEX_HOME/skills is its \
                 former folder",
        read_on: "2026-11-29",
    },
    SkillFolder {
        client: "gemini",
        user: all(Base::Home, ".gemini/skills"),
        project: all(Base::Project, ".gemini/skills"),
        also: &[SHARED, SHARED_OF_PROJECT],
        afterwards: "start a new session, or `/skills reload`; it asks before it reads the skill",
        source: "geminicli.com/docs/cli/using-agent-skills",
        read_on: "2026-11-29",
    },
];

/// Returns where a client looks for skills; `None` if that is not known.
pub fn skill_folder(client: &Client) -> Option<&'static SkillFolder> {
    SKILL_FOLDERS.iter().find(|folder| folder.client == client.name)
}

impl SkillFolder {
    fn spot(&self, places: &Places) -> &Spot {
        if places.project.is_some() { &self.project } else { &self.user }
    }

    /// Returns the folder: the project's if a project is set, else the user's.
    pub fn path(&self, places: &Places) -> Option<PathBuf> {
        places.resolve(self.spot(places))
    }

    /// Returns the folders above a skill that may go with the last skill, the innermost first: none that shows that a client is here.
    pub(crate) fn own_folders(&self, places: &Places) -> Vec<PathBuf> {
        let depth = self.spot(places).path.split('/').count();
        let signs: Vec<PathBuf> =
            CLIENTS.iter().flat_map(|client| client.signs).filter_map(|sign| places.resolve(sign)).collect();
        let folders = self
            .path(places)
            .into_iter()
            .flat_map(|path| path.ancestors().take(depth).map(PathBuf::from).collect::<Vec<_>>());
        folders.take_while(|folder| !signs.contains(folder)).collect()
    }

    /// Returns the other folders that the client reads, in the project if one is set, and those of the user.
    pub fn also(&self, places: &Places) -> Vec<PathBuf> {
        self.also.iter().filter_map(|spot| places.resolve(spot)).collect()
    }

    /// Returns the names of the other clients with the same folder.
    pub fn shared_with(&self, places: &Places) -> impl Iterator<Item = &'static str> {
        let own = self.path(places);
        let others = SKILL_FOLDERS.iter().filter(|other| other.client != self.client);
        others.filter(move |other| other.path(places) == own).map(|other| other.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::named;

    #[test]
    fn every_row_is_about_a_client_that_can_be_set_up() {
        for row in SKILL_FOLDERS {
            assert!(named(row.client).is_some_and(|client| client.name == row.client), "{}", row.client);
            let day: Vec<&str> = row.read_on.split('-').collect();
            assert!(matches!(day[..], [year, _, _] if year.len() == 4) && !row.source.is_empty(), "{}", row.client);
            assert!(row.user.base != Base::Project && row.project.base == Base::Project, "{}", row.client);
        }
    }
}
