//! `read-script` and `edit-script`.

use serde_json::{Value, json};

use super::paths;
use super::told::Told;
use crate::holdfast::world::{Stop, World};
use crate::tools::Arguments;

/// Longest script, longest text of an answer, and most edits in a call (the package's own numbers).
const SCRIPT_MAX: usize = 1_000_000;
const ANSWER_MAX: usize = 1024 * 1024;
const EDITS_MAX: usize = 100;
const MARK: char = '\u{feff}';

/// Endings of files that are edited as texts. Unity's own files are not: what it has in memory would be written over them.
const ENDINGS: [&str; 18] = [
    ".cs", ".asmdef", ".asmref", ".rsp", ".shader", ".hlsl", ".cginc", ".compute", ".uxml", ".uss", ".tss", ".json",
    ".xml", ".txt", ".md", ".csv", ".yaml", ".yml",
];

fn text(world: &World, path: &str) -> Result<String, Stop> {
    let Some(bytes) = world.files.read(path) else {
        let packages = if path.starts_with("Packages/") {
            "; of packages only those that lie in the project's folder are read"
        } else {
            ""
        };
        return Stop::wrong(format!("There is no file {path} (Path){packages}"));
    };
    if bytes.len() > SCRIPT_MAX {
        return Stop::wrong(format!("{path} has more than {SCRIPT_MAX} bytes (Path)"));
    }
    String::from_utf8(bytes).or_else(|_| Stop::wrong(format!("{path} is no text in UTF-8 (Path)")))
}

fn lines(text: &str) -> Vec<String> {
    let text = text.trim_start_matches(MARK).replace("\r\n", "\n");
    text.trim_end_matches('\n').split('\n').map(str::to_owned).collect()
}

pub(super) fn read(world: &World, given: &Arguments) -> Told {
    let number =
        |name: &str| given.whole(name).and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
    let Some(first) = number("FirstLine") else { return Stop::wrong("FirstLine begins with 1") };
    let Some(most) = number("MaxLines") else { return Stop::wrong("MaxLines must be at least 1") };
    let path = paths::readable(given.word("Path"), "", "Path")?;
    let lines = lines(&text(world, path)?);
    let mut shown = String::new();
    let mut at = first - 1;
    let end = lines.len().min(at.saturating_add(most));
    while let Some(line) =
        lines.get(at).filter(|line| at < end && (shown.is_empty() || shown.len() + line.len() < ANSWER_MAX))
    {
        if at >= first {
            shown.push('\n');
        }
        shown.push_str(line);
        at += 1;
    }
    let next = if at < lines.len() { at + 1 } else { 0 };
    Ok(json!({"Text": shown, "TotalLines": lines.len(), "NextLine": next}))
}

pub(super) fn edit(world: &mut World, given: &Arguments) -> Told {
    let path = paths::readable(given.word("Path"), "", "Path")?;
    let lower = path.to_lowercase();
    if !ENDINGS.iter().any(|ending| lower.ends_with(ending)) {
        return Stop::wrong(format!("Path must end with one of {}: {path}", ENDINGS.join(", ")));
    }
    let (new, edits) = (given.word("Text"), given.items("Edits"));
    let text = if given.word("Action") == "Create" {
        if !edits.is_empty() {
            return Stop::wrong("Edits is for Replace");
        }
        if world.files.is_file(path) {
            return Stop::no(format!("There is a file {path} already; it is not replaced"));
        }
        if path.starts_with("Packages/") {
            return Stop::no(format!("The package of {path} is not in the project's folder, so it is not changed"));
        }
        if new.chars().count() > SCRIPT_MAX {
            return Stop::wrong(format!("Text has more than {SCRIPT_MAX} characters"));
        }
        new.to_owned()
    } else {
        if !new.is_empty() {
            return Stop::wrong("Text is for Create");
        }
        if edits.is_empty() || edits.len() > EDITS_MAX {
            return Stop::wrong(format!("Edits must have 1 to {EDITS_MAX} entries"));
        }
        replaced(path, text(world, path)?, edits)?
    };
    if let Err(error) = world.files.write(path, text.as_bytes()) {
        return Stop::no(format!("{path} could not be written: {error}"));
    }
    let message = format!("Saved {path}. Unity does not know it yet: call compile after all edits");
    Ok(json!({"Success": true, "Message": message, "TotalLines": lines(&text).len()}))
}

/// Makes the edits, all or none. Line ends may be given as `\n`, whatever the file has.
fn replaced(path: &str, mut text: String, edits: &[Value]) -> Result<String, Stop> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let own = |given: &str| given.replace("\r\n", "\n").replace('\n', newline);
    for (number, edit) in edits.iter().enumerate() {
        let at = if edits.len() == 1 {
            String::new()
        } else {
            format!("; it is number {} of Edits, and none was made", number + 1)
        };
        let member = |name: &str| {
            let found = edit.as_object().into_iter().flatten().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.and_then(|(_, value)| value.as_str()).unwrap_or_default()
        };
        let (old, new) = (member("OldText"), member("NewText"));
        if old.is_empty() {
            return Stop::wrong(format!("OldText is missing{at}"));
        }
        let old = if text.contains(old) { old.to_owned() } else { own(old) };
        match text.find(&old) {
            None => return Stop::no(format!("OldText is not in {path}; read-script shows what is there{at}")),
            Some(start) if text.rfind(&old) != Some(start) => {
                return Stop::no(format!("OldText is in {path} more than once; give more lines of it{at}"));
            }
            Some(start) => text.replace_range(start..start + old.len(), &own(new)),
        }
        if text.len() > SCRIPT_MAX {
            return Stop::no(format!("{path} would have more than {SCRIPT_MAX} bytes{at}"));
        }
    }
    Ok(text)
}
