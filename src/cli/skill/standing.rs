//! Which clients read skills, and the state of the skill in each one's folder.

use std::path::PathBuf;

use holdfast_client_config::{Client, Places, SKILL_FOLDERS, SkillFolder, SkillState, named};
use serde_json::{Value, json};

use super::content::{FIRST, SKILL};
use crate::cli::output::{self, Tone, toned};
use crate::cli::setup::standing::title;
use crate::protocol::text::clean;

/// A client that reads skills, and the skill in its folder.
pub struct Standing {
    pub client: &'static Client,
    pub folder: &'static SkillFolder,
    /// The skill's own folder, which need not exist.
    pub path: PathBuf,
    /// What shows that the client is installed.
    pub sign: Option<PathBuf>,
    /// The state, or why it is not known.
    pub state: Result<SkillState, String>,
}

impl Standing {
    pub fn all(places: &Places) -> Vec<Self> {
        SKILL_FOLDERS.iter().filter_map(|folder| Self::of(folder, places)).collect()
    }

    fn of(folder: &'static SkillFolder, places: &Places) -> Option<Self> {
        let client = named(folder.client)?;
        let path = SKILL.folder(folder, places)?;
        let state = SKILL.state(folder, places).map_err(|error| error.to_string());
        Some(Self { client, folder, path, sign: places.sign(client), state })
    }

    /// Whether something of ours is there.
    pub fn is_there(&self) -> bool {
        !matches!(self.state, Ok(SkillState::Absent))
    }

    pub fn is_installed(&self) -> bool {
        self.state == Ok(SkillState::Installed)
    }

    pub fn word(&self) -> (&'static str, Tone) {
        match self.state {
            Ok(SkillState::Absent) => ("not there", Tone::Plain),
            Ok(SkillState::Installed) => ("there", Tone::Good),
            Ok(SkillState::Older) => ("old", Tone::Bad),
            Ok(SkillState::Edited(_)) => ("changed", Tone::Plain),
            Err(_) => ("unreadable", Tone::Bad),
        }
    }

    fn as_json(&self, places: &Places) -> Value {
        let state = match self.state {
            Ok(SkillState::Absent) => "absent",
            Ok(SkillState::Installed) => "installed",
            Ok(SkillState::Older) => "older",
            Ok(SkillState::Edited(_)) => "edited",
            Err(_) => "broken",
        };
        json!({
            "client": self.client.name,
            "title": title(self.client),
            "found": self.sign.is_some(),
            "scope": if places.project.is_some() { "project" } else { "user" },
            "folder": self.path.display().to_string(),
            "state": state,
            "edited": match &self.state {
                Ok(SkillState::Edited(files)) => files.iter().map(|file| file.display().to_string()).collect(),
                _ => Vec::new(),
            },
            "why": self.state.as_ref().err(),
            "also_read_from": also(self.folder, places).iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "source": self.folder.source,
            "read_on": self.folder.read_on,
        })
    }
}

/// Returns the other folders with this skill that the client reads too.
pub fn also(folder: &SkillFolder, places: &Places) -> Vec<PathBuf> {
    let skills = folder.also(places).into_iter().map(|folder| folder.join(SKILL.name));
    skills.filter(|skill| skill.join(FIRST).is_file()).collect()
}

/// Prints the list of the clients that read skills.
pub fn show(places: &Places, as_json: bool) {
    let standings = Standing::all(places);
    if as_json {
        let clients: Vec<Value> = standings.iter().map(|one| one.as_json(places)).collect();
        output::json(&json!({"skill": SKILL.name, "version": SKILL.version, "clients": clients}).to_string());
        return;
    }
    let widest = standings.iter().map(|one| one.client.name.len()).max().unwrap_or_default();
    for one in &standings {
        let (word, tone) = one.word();
        let head = format!("{:widest$}  {}  ", one.client.name, toned(&format!("{word:10}"), tone));
        let found = if one.sign.is_some() { "" } else { " (the client itself is not found)" };
        output::hung(&head, &format!("{}{found}", one.path.display()));
        if let Err(why) = &one.state {
            output::hung(&format!("{:widest$}  {:10}  ", "", ""), &clean(why));
        }
    }
    output::hung("", "`holdfast skill install CLIENT` puts it there, or renews it; --dry-run shows the change.");
    output::hung("", "Another client: `holdfast skill show` prints it. Many clients read ~/.agents/skills.");
}
