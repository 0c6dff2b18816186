//! The editors that are installed on this machine, as Unity Hub knows them.
//!
//! Unity Hub installs editors into one folder for each version, and keeps three files of its own. `editors-v2.json`
//! and, before Hub 3, `editors.json` list editors that a person added by hand. `secondaryInstallPath.json` has the
//! folder that a person chose for installations. Sources: the Hub's pages on its command line and its file locations,
//! and the files that it writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::variables::variable;
use crate::limits::PROJECT_FILE_MAX_BYTES;
use crate::limits::demo::UNITY_EDITORS_MAX;
use crate::platform::host::{Host as _, RealHost, System};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Editor {
    /// The editor's version, such as `6000.0.23f1`; `None` if its path does not show it.
    pub(super) version: Option<String>,
    pub(super) program: PathBuf,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    pub(super) hub: Option<PathBuf>,
    /// The folder into which the Hub installs editors if the user chose no other one.
    pub(super) installs: Option<PathBuf>,
}

impl Places {
    pub(super) fn here() -> Self {
        let below = |name: &str, rest: &str| variable(name).map(|folder| PathBuf::from(folder).join(rest));
        match System::HERE {
            System::Windows => {
                Self { hub: below("APPDATA", "UnityHub"), installs: below("ProgramFiles", "Unity/Hub/Editor") }
            }
            System::Macos => Self {
                hub: below("HOME", "Library/Application Support/UnityHub"),
                installs: Some("/Applications/Unity/Hub/Editor".into()),
            },
            System::Linux => {
                let config = below("XDG_CONFIG_HOME", "UnityHub").or_else(|| below("HOME", ".config/UnityHub"));
                Self { hub: config, installs: below("HOME", "Unity/Hub/Editor") }
            }
        }
    }

    /// Returns the installed editors, the newest first, at most [`UNITY_EDITORS_MAX`].
    pub(super) fn editors(&self) -> Vec<Editor> {
        let mut found: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        let file = |name: &str| self.hub.as_ref().and_then(|hub| parsed(&hub.join(name)));
        let chosen = file("secondaryInstallPath.json").and_then(|value| value.as_str().map(PathBuf::from));
        for folder in [self.installs.clone(), chosen].into_iter().flatten() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten().take(UNITY_EDITORS_MAX) {
                if let Some(program) = program_in(&entry.path()) {
                    found.insert(program, None);
                }
            }
        }
        for (version, place) in
            ["editors-v2.json", "editors.json"].iter().filter_map(|name| file(name)).flat_map(|all| listed(&all))
        {
            if let Some(program) = program_in(Path::new(&place)) {
                found.insert(program, version);
            }
        }
        let editor = |(program, version): (PathBuf, Option<String>)| {
            let version = version.filter(|version| is_version(version)).or_else(|| version_of(&program));
            Editor { version, program }
        };
        let mut editors: Vec<Editor> = found.into_iter().map(editor).collect();
        editors.sort_by_key(|editor| std::cmp::Reverse(numbers(editor.version.as_deref().unwrap_or_default())));
        editors.truncate(UNITY_EDITORS_MAX);
        editors
    }

    /// Returns the editor that a person names: by its version or the beginning of it, by its program, or by its folder.
    /// Without a name, returns the newest one.
    pub(super) fn chosen(&self, named: Option<&str>) -> Result<Editor, String> {
        let all = self.editors();
        let versions: Vec<&str> = all.iter().filter_map(|editor| editor.version.as_deref()).collect();
        let there = if versions.is_empty() {
            "Unity Hub's files name no installed editor; name its program with --editor FILE".to_owned()
        } else {
            format!("installed are {}", versions.join(", "))
        };
        let Some(named) = named else { return all.into_iter().next().ok_or(there) };
        let begins = |editor: &&Editor| {
            let rest = editor.version.as_deref().and_then(|version| version.strip_prefix(named));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if let Some(editor) = all.iter().find(begins) {
            return Ok(editor.clone());
        }
        let program = program_in(Path::new(named));
        let program = program
            .ok_or_else(|| format!("there is no editor {named}, neither as a version nor as a program: {there}"))?;
        Ok(Editor { version: version_of(&program), program })
    }
}

/// Returns the entries of a list of editors: the version, if the list has it, and the place. Version 2 of the file has
/// a list in `data`, and an editor may have several places in it. The older version is an object of the same entries.
fn listed(file: &Value) -> Vec<(Option<String>, String)> {
    let entries: Vec<&Value> = match (file.get("data").and_then(Value::as_array), file.as_object()) {
        (Some(list), _) => list.iter().collect(),
        (None, Some(object)) => object.values().collect(),
        (None, None) => Vec::new(),
    };
    let entry = |entry: &Value| {
        let version = entry.get("version").and_then(Value::as_str).map(str::to_owned);
        let places: Vec<String> = match entry.get("location") {
            Some(Value::String(place)) => vec![place.clone()],
            Some(Value::Array(places)) => places.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        places.into_iter().map(move |place| (version.clone(), place)).collect::<Vec<_>>()
    };
    entries.into_iter().take(UNITY_EDITORS_MAX).flat_map(entry).collect()
}

/// Returns the program of the editor at this place: the program itself, the app of macOS, or the folder of one version.
fn program_in(place: &Path) -> Option<PathBuf> {
    let below = ["", "Editor/Unity", "Editor/Unity.exe", "Contents/MacOS/Unity", "Unity.app/Contents/MacOS/Unity"];
    below
        .into_iter()
        .map(|rest| if rest.is_empty() { place.to_path_buf() } else { place.join(rest) })
        .find(|path| path.is_file())
}

/// Returns the version in the path of an editor's program: the Hub names the folder by it.
fn version_of(program: &Path) -> Option<String> {
    let names = program.components().rev().filter_map(|part| part.as_os_str().to_str());
    names.filter(|name| is_version(name)).map(str::to_owned).next()
}

/// Whether this is the version of an editor, such as `2022.3.5f1`.
fn is_version(text: &str) -> bool {
    numbers(text).len() >= 4 && text.starts_with(|c: char| c.is_ascii_digit())
}

fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn parsed(path: &Path) -> Option<Value> {
    let bytes = RealHost.read(path, PROJECT_FILE_MAX_BYTES).ok()?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn named(editors: &[Editor]) -> Vec<&str> {
        editors.iter().map(|editor| editor.version.as_deref().unwrap_or("?")).collect()
    }

    #[test]
    fn editors_are_found_where_the_hub_puts_them_where_a_person_chose_and_where_one_was_added() {
        let room = tempfile::tempdir().unwrap();
        let (hub, installs, chosen, added) =
            (room.path().join("hub"), room.path().join("installs"), room.path().join("D"), room.path().join("own"));
        write(&installs.join("2022.3.62f1/Editor/Unity"), "");
        write(&installs.join("6000.10.1f1/Unity.app/Contents/MacOS/Unity"), "");
        write(&installs.join("broken/readme.txt"), "");
        write(&chosen.join("6000.2.0b3/Editor/Unity.exe"), "");
        write(&added.join("Unity"), "");
        write(&hub.join("secondaryInstallPath.json"), &Value::from(chosen.display().to_string()).to_string());
        let list = serde_json::json!({"schema_version": "v2", "data": [
            {"version": "2023.1.9f1", "location": [added.join("Unity").display().to_string()], "manual": true},
            {"version": "2021.1.1f1", "location": [added.join("gone").display().to_string()], "manual": true}]});
        write(&hub.join("editors-v2.json"), &format!("\u{feff}{list}"));
        write(&hub.join("editors.json"), "not json");
        let places = Places { hub: Some(hub), installs: Some(installs) };
        let editors = places.editors();
        assert_eq!(named(&editors), ["6000.10.1f1", "6000.2.0b3", "2023.1.9f1", "2022.3.62f1"]);
        let chosen = |name| places.chosen(name).map(|editor| editor.version.unwrap());
        assert_eq!(chosen(None).unwrap(), "6000.10.1f1");
        assert_eq!(chosen(Some("2022.3")).unwrap(), "2022.3.62f1");
        assert_eq!(chosen(Some("6000.2.0b3")).unwrap(), "6000.2.0b3");
        assert!(chosen(Some("6000.1")).unwrap_err().contains("2022.3.62f1"), "6000.10 is another one");
        let by_path = places.chosen(Some(added.join("Unity").to_str().unwrap())).unwrap();
        assert_eq!((by_path.version, by_path.program), (None, added.join("Unity")));
        assert!(Places::default().chosen(None).unwrap_err().contains("--editor FILE"));
    }

    #[test]
    fn the_older_list_of_the_hub_is_an_object() {
        let list = serde_json::json!({"2019.4.1f1": {"version": "2019.4.1f1", "location": ["/a", "/b"]}, "x": {"location": "/c"}, "y": 3});
        let found: Vec<String> = listed(&list).into_iter().map(|(_, place)| place).collect();
        assert_eq!(found, ["/a", "/b", "/c"]);
    }
}
