//! Takes out of a report what tells who somebody is or lets somebody in: each name is replaced by a placeholder, everywhere by the
//! same one, so that the report can still be understood.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

/// What replaces a secret.
const SECRET: &str = "<secret>";
/// The shortest secret that is searched for: shorter ones are words such as `true`.
const SECRET_MIN_BYTES: usize = 6;
/// How well-known services begin their tokens.
const TOKEN_BEGINNINGS: [&str; 22] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "xox",
    "akia",
    "asia",
    "aiza",
    "eyj",
    "npm_",
    "pypi-",
    "hf_",
    "ya29.",
    "dop_v1_",
    "sg.",
];
/// The shortest token of such a service.
const TOKEN_MIN_BYTES: usize = 16;
/// From this length on, a text of hex digits is a secret: the token of an editor has 64. The name of a call has 32, and a commit 40.
const HEX_SECRET_MIN_BYTES: usize = 48;
/// The words in a name of a variable or a member that holds a secret.
const SECRET_NAMES: [&str; 11] = [
    "token",
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
/// The folders that hold the homes of users.
const HOMES: [&str; 4] = ["/home/", "/users/", "\\users\\", "\\\\users\\\\"];

/// Whether the name of a variable or a member says that its value is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part)) || name.ends_with("_key") || name.ends_with("_auth")
}

/// How a text that is to be replaced stands among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anywhere.
    Part,
    /// A path: no letter or digit follows.
    Path,
    /// A name: no letter, digit or `_` is beside it.
    Word,
}

#[derive(Debug, Clone)]
struct Needle {
    text: String,
    kind: Kind,
    placeholder: String,
}

/// All that is replaced, and what by.
#[derive(Debug, Clone, Default)]
pub(super) struct Redactor {
    needles: Vec<Needle>,
    projects: Vec<String>,
}

impl Redactor {
    /// Replaces a secret, wherever it is.
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

    /// Replaces a folder's path, in all the ways in which it is written.
    pub(super) fn path(&mut self, path: &str, placeholder: &str) {
        let path = path.trim_end_matches(['/', '\\']);
        if path.len() < 2 || path.ends_with(':') {
            return;
        }
        let forms = [
            path.to_owned(),
            path.replace('\\', "/"),
            path.replace('\\', "\\\\"),
            path.replace('\\', "/").replace(' ', "%20"),
        ];
        for form in forms {
            self.add(&form, Kind::Path, placeholder);
        }
    }

    /// Replaces a project's path by `<project-1>`, and the name of its folder by `<project-1-name>`. Each project has its own number.
    pub(super) fn project(&mut self, path: &str) {
        let path = path.trim_end_matches(['/', '\\']);
        if path.is_empty() || self.projects.iter().any(|known| known == path) {
            return;
        }
        self.projects.push(path.to_owned());
        let number = self.projects.len();
        self.path(path, &format!("<project-{number}>"));
        if let Some(name) = path.rsplit(['/', '\\']).next() {
            self.name(name, &format!("<project-{number}-name>"));
        }
    }

    fn add(&mut self, text: &str, kind: Kind, placeholder: &str) {
        let text = text.to_ascii_lowercase();
        if !self.needles.iter().any(|known| known.text == text) {
            self.needles.push(Needle { text, kind, placeholder: placeholder.to_owned() });
            // The longest first: a project in the home is the project.
            self.needles.sort_by_key(|needle| std::cmp::Reverse(needle.text.len()));
        }
    }

    /// Returns which placeholders stand for something that is known by name, once each.
    pub(super) fn placeholders(&self) -> BTreeSet<&str> {
        self.needles.iter().map(|needle| needle.placeholder.as_str()).collect()
    }

    /// Returns a text without what is to be replaced.
    pub(super) fn text(&self, text: &str) -> String {
        patterns(&self.known(text))
    }

    /// Replaces what is known by name.
    fn known(&self, text: &str) -> String {
        let mut begins = [false; 256];
        for first in self.needles.iter().filter_map(|needle| needle.text.bytes().next()) {
            begins[usize::from(first)] = true;
        }
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let (mut copied, mut at) = (0, 0);
        while let Some(byte) = bytes.get(at) {
            let found = begins[usize::from(byte.to_ascii_lowercase())].then(|| self.at(text, at)).flatten();
            let Some(needle) = found else {
                at += 1;
                continue;
            };
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&needle.placeholder);
            at += needle.text.len();
            copied = at;
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        out
    }

    /// Returns what is to be replaced at this byte of a text.
    fn at(&self, text: &str, at: usize) -> Option<&Needle> {
        if !text.is_char_boundary(at) {
            return None;
        }
        let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        self.needles.iter().find(|needle| {
            let end = at + needle.text.len();
            let same = text.get(at..end).is_some_and(|part| part.eq_ignore_ascii_case(&needle.text));
            let before = || is_part(text.get(..at).and_then(|before| before.chars().next_back()));
            let after = || is_part(text.get(end..).and_then(|after| after.chars().next()));
            same && match needle.kind {
                Kind::Part => true,
                Kind::Path => !after(),
                Kind::Word => !before() && !after(),
            }
        })
    }

    /// Replaces in every text of a JSON value. A member whose name says so is a secret as a whole.
    pub(super) fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(members) => {
                *members = std::mem::take(members)
                    .into_iter()
                    .map(|(name, mut value)| {
                        if is_secret_name(&name) && matches!(value, Value::String(_)) {
                            value = SECRET.into();
                        }
                        self.json(&mut value);
                        // The names of our own members stay what they are, whatever a project is called.
                        let name = if name.contains(['/', '\\', '@', ' ']) { self.text(&name) } else { name };
                        (name, value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns a line of a log, which should be JSON.
    pub(super) fn line(&self, line: &str) -> String {
        match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.json(&mut value);
                value.to_string()
            }
            Err(_) => self.text(line),
        }
    }
}

/// Replaces what looks like a secret, an address of mail, or the home of any user.
fn patterns(text: &str) -> String {
    let is_end = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}=&?|".contains(letter);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut is_named, mut is_secret_before) = (false, false);
    while !rest.is_empty() {
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_secret = is_named && word.len() >= SECRET_MIN_BYTES && !word.starts_with('<');
        if is_secret {
            out.push_str(SECRET);
        } else {
            out.push_str(&scrubbed(word));
        }
        let between = after.find(|letter| !is_end(letter)).unwrap_or(after.len());
        let (between, next) = after.split_at(between);
        out.push_str(between);
        // `name=value`, `name: value`, and `"name":"value"`, where the colon is a word of its own.
        if word == ":" {
            is_named = is_secret_before;
        } else if !word.is_empty() {
            let name = word.trim_end_matches(':');
            is_secret_before = is_secret_name(name);
            let says = between.contains('=') || word.ends_with(':');
            let is_scheme = |scheme: &str| name.eq_ignore_ascii_case(scheme);
            is_named = is_scheme("bearer") || is_named && is_scheme("basic") || says && is_secret_before;
        }
        rest = next;
    }
    out
}

/// Returns a word without what looks like a secret, an address of mail, or somebody's home.
fn scrubbed(word: &str) -> Cow<'_, str> {
    let lower = word.to_ascii_lowercase();
    let looks_secret = |part: &str| {
        let is_token =
            part.len() >= TOKEN_MIN_BYTES && TOKEN_BEGINNINGS.iter().any(|beginning| part.starts_with(beginning));
        let is_hex = part.len() >= HEX_SECRET_MIN_BYTES && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token || is_hex
    };
    if looks_secret(&lower) || lower.split(['/', ':', '@']).any(looks_secret) {
        return SECRET.into();
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let authority = rest.split('/').next().unwrap_or_default()
        && let Some((user, _)) = authority.rsplit_once('@')
    {
        return format!("{scheme}://{SECRET}{}", rest.get(user.len()..).unwrap_or_default()).into();
    }
    if is_mail(word.trim_end_matches(['.', ':'])) {
        return "<mail>".into();
    }
    for homes in HOMES {
        let Some(at) = lower.find(homes).map(|at| at + homes.len()) else { continue };
        let (before, rest) = (word.get(..at).unwrap_or_default(), word.get(at..).unwrap_or_default());
        let end = rest.find(['/', '\\', ':']).unwrap_or(rest.len());
        let (user, rest) = rest.split_at(end);
        if !user.is_empty() && !user.starts_with('<') {
            return format!("{before}<user>{rest}").into();
        }
    }
    word.into()
}

fn is_mail(word: &str) -> bool {
    let Some((user, domain)) = word.split_once('@') else { return false };
    let fits =
        |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_alphanumeric() || "._+-".contains(letter));
    let top = domain.rsplit_once('.').map_or("", |(_, top)| top);
    fits(user) && fits(domain) && top.len() >= 2 && top.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        redactor.path("/home/ann", "<home>");
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
            ("D:\\games\\Secret Game\\Assets", "<project-2>\\Assets"),
            ("file:///D:/games/Secret%20Game", "file:///<project-2>"),
            ("xhunter2hunter2x", "x<secret>x"),
            ("/home/bob/y C:\\Users\\Bob\\y /Users/bob", "/home/<user>/y C:\\Users\\<user>\\y /Users/<user>"),
            ("\u{e4}nn annual call_ann", "\u{e4}nn annual call_ann"),
        ] {
            assert_eq!(redactor.text(text), meant);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_none_any_more() {
        let redactor = Redactor::default();
        for (text, meant) in [
            ("GITHUB_TOKEN=abcdef1", "GITHUB_TOKEN=<secret>"),
            ("password: \"abcdef1\"", "password: \"<secret>\""),
            ("{\"password\":\"abcdef1\"", "{\"password\":\"<secret>\""),
            ("Authorization: Bearer abcdef1", "Authorization: <secret> <secret>"),
            ("got ghp_0123456789abcdef0123", "got <secret>"),
            ("https://u:pw@example.org/x", "https://<secret>@example.org/x"),
            ("mail ann@example.org.", "mail <mail>"),
            ("dev.holdfast.unity@0.1.0", "dev.holdfast.unity@0.1.0"),
        ] {
            assert_eq!(redactor.text(text), meant);
        }
        assert_eq!(redactor.text(&"0a".repeat(32)), "<secret>");
        // What a report is about must stay.
        for kept in
            ["call 0123456789abcdef0123456789abcdef ok", "it knows no token of the editor", "a=1 b=\"c d\" epoch=7"]
        {
            assert_eq!(redactor.text(kept), kept);
        }
    }

    #[test]
    fn json_keeps_its_form_and_the_names_of_its_members() {
        let mut value = json!({
            "Castle": "Castle", "push_token": "abc", "n": 1,
            "deep": [{"/home/ann/games/Castle": "ann"}], "none": null
        });
        redactor().json(&mut value);
        assert_eq!(
            value,
            json!({
                "Castle": "<project-1-name>", "push_token": "<secret>", "n": 1,
                "deep": [{"<project-1>": "<user>"}], "none": null
            })
        );
        assert_eq!(redactor().line("{\"a\":\"/home/ann\"}"), "{\"a\":\"<home>\"}");
        assert_eq!(redactor().line("{\"cut\":\"/home/ann"), "{\"cut\":\"<home>");
    }
}
