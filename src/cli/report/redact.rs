//! Replaces private texts in a report: home, user, host, projects, and known secrets. Each text gets the same
//! placeholder everywhere, so that the report can still be understood.
//!
//! One pass over a text finds all of them in every spelling: in any case of letters, with `/` or a backslash (which
//! JSON may have doubled), and with `%20` and the like.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use crate::telemetry::metrics::project_label;

const SECRET: &str = "<secret>";
const USER: &str = "<user>";
/// The shortest secret that is searched for. Shorter ones are words such as `true`.
const SECRET_MIN_BYTES: usize = 6;
/// Words in the name of a variable or a member that holds a secret.
const SECRET_NAMES: [&str; 15] = [
    "token",
    "pwd",
    "signature",
    "cookie",
    "_serial",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "credential",
    "private_key",
];

/// Whether the name of a variable or a member says that its value is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part)) || name.ends_with("_key") || name.ends_with("_auth")
}

/// What may stand beside a text that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything.
    Part,
    /// The text is a path: no letter or digit follows.
    Path,
    /// The text is a name: no letter, digit or `_` is beside it.
    Word,
}

/// One character of the meaning, and the end of its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unit {
    meant: char,
    /// Whether the spelling is one or more backslashes.
    is_backslash: bool,
    end: usize,
}

/// Reads the meaning of a text: in lower case, with one `/` for any number of backslashes in a row, and with `%`
/// escapes decoded.
fn units(text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (letter, length) = encoded(rest).unwrap_or_else(|| {
            let letter = rest.chars().next().unwrap_or_default();
            (letter, letter.len_utf8())
        });
        at += length;
        let is_backslash = letter == '\\';
        let meant = if is_backslash { '/' } else { letter.to_lowercase().next().unwrap_or(letter) };
        match units.last_mut() {
            Some(last) if is_backslash && last.is_backslash => last.end = at,
            _ => units.push(Unit { meant, is_backslash, end: at }),
        }
    }
    units
}

/// Returns the character that a text begins with as `%XX`, and the length of this spelling.
fn encoded(text: &str) -> Option<(char, usize)> {
    let byte = |nth: usize| {
        let digits = text.get(3 * nth..3 * nth + 3)?.strip_prefix('%')?;
        u8::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    let first = byte(0)?;
    let count = match first {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let bytes: Vec<u8> = (0..count).map_while(byte).collect();
    Some((std::str::from_utf8(&bytes).ok()?.chars().next()?, 3 * count))
}

#[derive(Debug, Clone)]
struct Needle {
    text: Vec<char>,
    kind: Kind,
    placeholder: String,
}

impl Needle {
    fn is_at(&self, units: &[Unit], at: usize) -> bool {
        let end = at + self.text.len();
        let is_part = |nth: usize| units.get(nth).is_some_and(|unit| unit.meant.is_alphanumeric() || unit.meant == '_');
        // In `\nann`, the letter `n` belongs to the backslash.
        let is_escape = at >= 2 && units.get(at - 2).is_some_and(|unit| unit.is_backslash);
        let before = at > 0 && is_part(at - 1) && !is_escape;
        let same =
            units.get(at..end).is_some_and(|part| part.iter().map(|unit| unit.meant).eq(self.text.iter().copied()));
        same && match self.kind {
            Kind::Part => true,
            Kind::Path => !is_part(end),
            Kind::Word => !before && !is_part(end),
        }
    }
}

/// All texts that are replaced, each with its placeholder.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Redactor {
    /// The texts by their first character, the longest first: a project inside the home is replaced as the project.
    needles: BTreeMap<char, Vec<Needle>>,
    projects: usize,
}

impl Redactor {
    pub(super) fn secret(&mut self, secret: &str) {
        if secret.len() >= SECRET_MIN_BYTES {
            self.add(secret, Kind::Part, SECRET);
        }
    }

    /// Replaces a name of at least two characters.
    pub(super) fn name(&mut self, name: &str, placeholder: &str) {
        if name.chars().count() >= 2 {
            self.add(name, Kind::Word, placeholder);
        }
    }

    pub(in crate::cli) fn path(&mut self, path: &str, placeholder: &str) {
        let path = path.trim_end_matches(['/', '\\']);
        if path.len() >= 2 && !path.ends_with(':') {
            self.add(path, Kind::Path, placeholder);
        }
    }

    /// Replaces a project's path by `<project-1>`, and its names by `<project-1-name>`. Its names are its folder, with
    /// any number of the folders above it, as they are or as a label of metrics. Each project has its own number.
    pub(super) fn project(&mut self, path: &str) {
        let path = path.trim_end_matches(['/', '\\']);
        if path.is_empty() || self.knows(path) {
            return;
        }
        self.projects += 1;
        self.path(path, &format!("<project-{}>", self.projects));
        let placeholder = format!("<project-{}-name>", self.projects);
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let labels: Vec<String> = parts.iter().map(|part| project_label(part)).collect();
        for from in 0..parts.len() {
            self.name(&parts.get(from..).unwrap_or_default().join("/"), &placeholder);
            self.name(&labels.get(from..).unwrap_or_default().join("/"), &placeholder);
        }
    }

    fn knows(&self, text: &str) -> bool {
        let text: Vec<char> = units(text).iter().map(|unit| unit.meant).collect();
        let same = text.first().and_then(|first| self.needles.get(first));
        same.is_some_and(|needles| needles.iter().any(|known| known.text == text))
    }

    fn add(&mut self, text: &str, kind: Kind, placeholder: &str) {
        if self.knows(text) {
            return;
        }
        let text: Vec<char> = units(text).iter().map(|unit| unit.meant).collect();
        let Some(first) = text.first() else { return };
        let needles = self.needles.entry(*first).or_default();
        needles.push(Needle { text, kind, placeholder: placeholder.to_owned() });
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.text.len()));
    }

    /// Returns the placeholders that stand for something known by name, each once.
    pub(super) fn placeholders(&self) -> BTreeSet<&str> {
        self.needles.values().flatten().map(|needle| needle.placeholder.as_str()).collect()
    }

    /// Returns a text with all replacements made.
    pub(in crate::cli) fn text(&self, text: &str) -> String {
        let units = units(text);
        let end_of = |count: usize| count.checked_sub(1).and_then(|last| units.get(last)).map_or(0, |unit| unit.end);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(unit) = units.get(at) {
            let known = self.needles.get(&unit.meant).and_then(|some| some.iter().find(|one| one.is_at(&units, at)));
            if let Some(needle) = known {
                out.push_str(&needle.placeholder);
                at += needle.text.len();
                continue;
            }
            let from = end_of(at);
            let home = home(&units, at);
            at = home.as_ref().map_or(at + 1, |user| user.start);
            out.push_str(text.get(from..end_of(at)).unwrap_or_default());
            if let Some(user) = home.filter(|user| !user.is_empty()) {
                out.push_str(USER);
                at = user.end;
            }
        }
        out
    }

    /// Replaces in every text of a JSON value. If a member's name says that it is a secret, everything in it is one.
    pub(super) fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(name, mut value)| {
                        if is_secret_name(&name) {
                            hide(&mut value);
                        }
                        self.json(&mut value);
                        // The names of our own members stay, whatever a project is called.
                        (if name.contains(['/', '\\', '%', ' ']) { self.text(&name) } else { name }, value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces in a line of a log, which should be JSON.
    pub(in crate::cli) fn line(&self, line: &str) -> String {
        match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.json(&mut value);
                value.to_string()
            }
            Err(_) => self.text(line),
        }
    }
}

/// Returns the place of a user's name, if a folder of homes is at this place of a text.
fn home(units: &[Unit], at: usize) -> Option<Range<usize>> {
    let is_at = |folder: &&str| {
        let meant = units.get(at..).unwrap_or_default().iter().map(|unit| unit.meant);
        meant.take(folder.len()).eq(folder.chars())
    };
    let begin = at + ["/home/", "/users/"].into_iter().find(is_at)?.len();
    let rest = units.get(begin..).unwrap_or_default();
    // On Windows a name may have spaces, and ends with the folder.
    let windows = units.get(begin - 1).is_some_and(|unit| unit.is_backslash);
    let ends = |unit: &&Unit| "/:\"'`,;)]}>|?&=<".contains(unit.meant);
    let whole = rest.iter().position(|unit| ends(&unit)).unwrap_or(rest.len());
    let word = rest.iter().position(|unit| ends(&unit) || unit.meant.is_whitespace()).unwrap_or(rest.len());
    let is_folder = windows && rest.get(whole).is_some_and(|unit| unit.is_backslash);
    Some(begin..begin + if is_folder { whole } else { word })
}

/// Replaces each text and number, however deep. Whether something is set (`true`, `null`) is no secret, and may be the
/// point of the report.
fn hide(value: &mut Value) {
    match value {
        Value::String(_) | Value::Number(_) => *value = SECRET.into(),
        Value::Array(values) => values.iter_mut().for_each(hide),
        Value::Object(members) => members.values_mut().for_each(hide),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        redactor.path("/home/ann", "<home>");
        redactor.path("C:\\Users\\Zo\u{eb} Grim", "<home>");
        redactor.name("ann", "<user>");
        redactor.name("ann-laptop", "<host>");
        redactor.project("/home/ann/games/Castle");
        redactor.project("D:\\games\\Secret Game");
        redactor.secret("hunter2hunter2");
        redactor
    }

    #[test]
    fn names_and_paths_become_placeholders_wherever_they_stand() {
        let redactor = redactor();
        for (text, meant) in [
            ("/home/ann/x and /home/anna/x", "<home>/x and /home/<user>/x"),
            ("/home/ann/games/Castle/Assets", "<project-1>/Assets"),
            ("the editor of Castle, not of Castles", "the editor of <project-1-name>, not of Castles"),
            ("Ann's plan, on ANN-LAPTOP", "<user>'s plan, on <host>"),
            ("xHunter2hunter2x", "x<secret>x"),
            ("/home/bob/y C:\\Users\\Bob\\y /Users/bob", "/home/<user>/y C:\\Users\\<user>\\y /Users/<user>"),
            ("\u{e4}nn annual call_ann", "\u{e4}nn annual call_ann"),
            ("/home/bob/x:/home/eve/y", "/home/<user>/x:/home/<user>/y"),
            ("\\\\wsl$\\Ubuntu\\home\\bob\\x", "\\\\wsl$\\Ubuntu\\home\\<user>\\x"),
            ("C:\\\\Users\\\\Bob Smith\\\\x, /home/bob is gone", "C:\\\\Users\\\\<user>\\\\x, /home/<user> is gone"),
            ("<user> /home/<user>/x:/home/bob", "<user> /home/<user>/x:/home/<user>"),
            ("/home/ and 100% and %zz", "/home/ and 100% and %zz"),
        ] {
            assert_eq!(redactor.text(text), meant);
        }
    }

    #[test]
    fn a_path_is_found_in_every_way_in_which_it_is_written() {
        let redactor = redactor();
        for (text, meant) in [
            ("D:\\games\\Secret Game\\Assets", "<project-2>\\Assets"),
            ("d:/GAMES/secret game/x", "<project-2>/x"),
            (r#"{"cut off":"D:\\games\\Secret Game\\x"#, r#"{"cut off":"<project-2>\\x"#),
            (r"twice D:\\\\games\\\\Secret Game\\\\x", r"twice <project-2>\\\\x"),
            ("file:///D:/games/Secret%20Game", "file:///<project-2>"),
            ("/mcp/D%3A%5Cgames%5CSecret%20Game", "/mcp/<project-2>"),
            ("/mcp/%2Fhome%2fANN%2Fgames%2FCastle", "/mcp/<project-1>"),
            ("C:\\users\\ZO\u{cb} GRIM\\AppData", "<home>\\AppData"),
            ("c%3a/Users/Zo%C3%AB%20Grim/x", "<home>/x"),
            (r"a line\nann and \tann", r"a line\n<user> and \t<user>"),
        ] {
            assert_eq!(redactor.text(text), meant);
        }
    }

    #[test]
    fn a_project_is_known_by_each_name_that_metrics_and_sessions_give_it() {
        let mut redactor = Redactor::default();
        let long = format!("/srv/{}", "Dungeon".repeat(20));
        for project in ["/home/ann/games/Castle (Acme)", "/srv/AcmeCorp/Castle", "/srv/Beta (X)/Castle", &long] {
            redactor.project(project);
        }
        for (text, meant) in [
            ("up{project=\"Castle _Acme_\"} 1", "up{project=\"<project-1-name>\"} 1"),
            ("editor=\"games/Castle (Acme)\"", "editor=\"<project-1-name>\""),
            ("editor=AcmeCorp/Castle", "editor=<project-2-name>"),
            ("AcmeCorp\\Castle", "<project-2-name>"),
            ("project=\"Beta _X_/Castle\"", "project=\"<project-3-name>\""),
            ("project=\"_/srv/AcmeCorp/Castle\"", "project=\"_<project-2>\""),
            (&format!("project=\"{}\"", &long[5..5 + 64]), "project=\"<project-4-name>\""),
            ("/srv/AcmeCorp/Castle/Assets", "<project-2>/Assets"),
        ] {
            assert_eq!(redactor.text(text), meant);
        }
    }

    #[test]
    fn json_keeps_its_form_and_the_names_of_its_members() {
        let mut value = json!({
            "Castle": "Castle", "push_token": "abc", "n": 1,
            "deep": [{"/home/ann/games/Castle": "ann"}], "none": null,
            "tokens": ["abc", {"of": ["def", 7], "set": true, "not": null}], "password": 1234
        });
        redactor().json(&mut value);
        assert_eq!(
            value,
            json!({
                "Castle": "<project-1-name>", "push_token": "<secret>", "n": 1,
                "deep": [{"<project-1>": "<user>"}], "none": null,
                "tokens": ["<secret>", {"of": ["<secret>", "<secret>"], "set": true, "not": null}],
                "password": "<secret>"
            })
        );
        assert_eq!(redactor().line("{\"a\":\"/home/ann\"}"), "{\"a\":\"<home>\"}");
        assert_eq!(redactor().line("{\"cut\":\"/home/ann"), "{\"cut\":\"<home>");
    }
}
