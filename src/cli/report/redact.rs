//! Takes out of a report what tells who somebody is or lets somebody in: each name is replaced by a placeholder, everywhere by the
//! same one, so that the report can still be understood.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::telemetry::metrics::project_label;

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
/// The folders that hold the homes of users.
const HOMES: [&str; 6] = ["/home/", "/users/", "\\home\\", "\\users\\", "\\\\home\\\\", "\\\\users\\\\"];
/// The placeholders, without their `<` and `>`. Those of projects have a number.
const PLACEHOLDERS: [&str; 7] = ["secret", "mail", "user", "home", "host", "state", "working-folder"];

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
pub(in crate::cli) struct Redactor {
    /// By their first byte; the longest first, so that a project in the home is the project.
    needles: BTreeMap<u8, Vec<Needle>>,
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
    pub(in crate::cli) fn path(&mut self, path: &str, placeholder: &str) {
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

    /// Replaces a project's path by `<project-1>`, and by `<project-1-name>` the names that it has elsewhere: its folder, with any
    /// number of the folders above it, as it is or as a label of metrics. Each project has its own number.
    pub(super) fn project(&mut self, path: &str) {
        let path = path.trim_end_matches(['/', '\\']);
        if path.is_empty() || self.projects.iter().any(|known| known == path) {
            return;
        }
        self.projects.push(path.to_owned());
        let number = self.projects.len();
        self.path(path, &format!("<project-{number}>"));
        let placeholder = format!("<project-{number}-name>");
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let labels: Vec<String> = parts.iter().map(|part| project_label(part)).collect();
        for from in 0..parts.len() {
            let (parts, labels) = (parts.get(from..).unwrap_or_default(), labels.get(from..).unwrap_or_default());
            for name in [parts.join("/"), parts.join("\\"), labels.join("/")] {
                self.name(&name, &placeholder);
            }
        }
    }

    /// Replaces a name of a project that metrics have, if it is none of a known project.
    pub(super) fn label(&mut self, label: &str) {
        if !self.knows(&label.to_ascii_lowercase()) {
            self.project(label);
        }
    }

    fn knows(&self, text: &str) -> bool {
        let same = text.bytes().next().and_then(|first| self.needles.get(&first));
        same.is_some_and(|needles| needles.iter().any(|known| known.text == text))
    }

    fn add(&mut self, text: &str, kind: Kind, placeholder: &str) {
        let text = text.to_ascii_lowercase();
        let Some(first) = text.bytes().next().filter(|_| !self.knows(&text)) else { return };
        let needles = self.needles.entry(first).or_default();
        needles.push(Needle { text, kind, placeholder: placeholder.to_owned() });
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.text.len()));
    }

    /// Returns which placeholders stand for something that is known by name, once each.
    pub(super) fn placeholders(&self) -> BTreeSet<&str> {
        self.needles.values().flatten().map(|needle| needle.placeholder.as_str()).collect()
    }

    /// Returns a text without what is to be replaced.
    pub(in crate::cli) fn text(&self, text: &str) -> String {
        patterns(&self.known(text))
    }

    /// Replaces what is known by name.
    fn known(&self, text: &str) -> String {
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let (mut copied, mut at) = (0, 0);
        while let Some(byte) = bytes.get(at) {
            let Some(needle) = self.needles.get(&byte.to_ascii_lowercase()).and_then(|some| found(some, text, at))
            else {
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

    /// Replaces in every text of a JSON value. A member whose name says so is a secret, with all that is in it.
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
                        // The names of our own members stay what they are, whatever a project is called.
                        let name =
                            if name.contains(['/', '\\', '@', ' ']) { self.text(&name) } else { patterns(&name) };
                        (name, value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns a line of a log, which should be JSON.
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

/// Replaces each text and number, however deep. What is set or not (`true`, `null`) is no secret, and may be what the report is about.
fn hide(value: &mut Value) {
    match value {
        Value::String(_) | Value::Number(_) => *value = SECRET.into(),
        Value::Array(values) => values.iter_mut().for_each(hide),
        Value::Object(members) => members.values_mut().for_each(hide),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns which of these is at this byte of a text.
fn found<'a>(needles: &'a [Needle], text: &str, at: usize) -> Option<&'a Needle> {
    if !text.is_char_boundary(at) {
        return None;
    }
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    needles.iter().find(|needle| {
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

/// Replaces what looks like a secret, an address of mail, or the home of any user.
fn patterns(text: &str) -> String {
    words(&mails(&logins(text)))
}

/// Replaces who logs in at an address: `scheme://<secret>@host`.
fn logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let is_end = |letter: char| letter.is_whitespace() || "/\\\"'`?#".contains(letter);
        let authority = after.split(is_end).next().unwrap_or_default();
        out.push_str(before);
        out.push_str("://");
        rest = after;
        if let Some(at) = authority.rfind('@') {
            out.push_str(SECRET);
            rest = after.get(at..).unwrap_or_default();
        }
    }
    out + rest
}

/// Replaces addresses of mail, also if the name in it is a placeholder already.
fn mails(text: &str) -> String {
    // In an address of the web the sign is written as %40, and others in the name are written in the same way.
    const SIGNS: [&str; 2] = ["@", "%40"];
    let fits = |letter: char| letter.is_alphanumeric() || "._+-".contains(letter);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, sign)) = SIGNS.iter().filter_map(|sign| Some((rest.find(sign)?, *sign))).min() {
        let (before, after) = (&rest[..at], &rest[at + sign.len()..]);
        let fits_before = |letter: char| fits(letter) || letter == '%' && sign != "@";
        let mut user = before;
        loop {
            let shorter = without_placeholder(user).unwrap_or(user).trim_end_matches(fits_before);
            if shorter.len() == user.len() {
                break;
            }
            user = shorter;
        }
        let end = after.find(|letter| !fits(letter)).unwrap_or(after.len());
        let domain = after.get(..end).unwrap_or_default().trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let top = domain.rsplit_once('.').map_or("", |(_, top)| top);
        let is_domain = top.len() >= 2 && top.chars().all(char::is_alphabetic);
        // Before the host of an address stands what `logins` has replaced.
        if is_domain && user.len() < before.len() && !user.ends_with("://") {
            out.push_str(user);
            out.push_str("<mail>");
            rest = after.get(domain.len()..).unwrap_or_default();
        } else {
            out.push_str(before);
            out.push_str(sign);
            rest = after;
        }
    }
    out + rest
}

/// Returns a text without the placeholder that it ends with.
fn without_placeholder(text: &str) -> Option<&str> {
    let at = text.rfind('<').filter(|_| text.ends_with('>'))?;
    let (before, placeholder) = text.split_at(at);
    is_placeholder(placeholder).then_some(before)
}

fn is_placeholder(word: &str) -> bool {
    let Some(name) = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = name.strip_prefix("project-").map(|rest| rest.strip_suffix("-name").unwrap_or(rest));
    PLACEHOLDERS.contains(&name) || number.is_some_and(is_number)
}

/// Replaces secrets and homes, word by word.
fn words(text: &str) -> String {
    let is_end = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}=&?|".contains(letter);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut is_named, mut is_secret_before) = (false, false);
    while !rest.is_empty() {
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_secret = is_named && word.len() >= SECRET_MIN_BYTES && !is_placeholder(word);
        let pair = word
            .split_once(':')
            .filter(|(name, value)| is_secret_name(name) && value.len() >= SECRET_MIN_BYTES && !is_placeholder(value));
        if is_secret || has_secret(word) {
            out.push_str(SECRET);
        } else if let Some((name, _)) = pair {
            out.push_str(name);
            out.push(':');
            out.push_str(SECRET);
        } else {
            homes(word, &mut out);
        }
        let between = after.find(|letter| !is_end(letter)).unwrap_or(after.len());
        let (between, next) = after.split_at(between);
        out.push_str(between);
        // `name=value`, `name: value`, `--name value`, and `"name":"value"`, where the colon is a word of its own.
        if word == ":" {
            is_named = is_secret_before;
        } else if !word.is_empty() {
            let name = word.trim_end_matches(':');
            is_secret_before = is_secret_name(name) && !is_placeholder(name);
            let says = between.contains('=') || word.ends_with(':') || word.starts_with("--");
            let is_scheme = |scheme: &str| name.eq_ignore_ascii_case(scheme);
            is_named = is_scheme("bearer") || is_named && is_scheme("basic") || says && is_secret_before;
        }
        rest = next;
    }
    out
}

/// Whether a part of a word looks like a secret, whatever is around it.
fn has_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.split(|letter: char| !(letter.is_alphanumeric() || "._-".contains(letter))).any(|part| {
        let part = part.trim_matches(['.', '_', '-']);
        let is_token =
            part.len() >= TOKEN_MIN_BYTES && TOKEN_BEGINNINGS.iter().any(|beginning| part.starts_with(beginning));
        let is_hex = part.len() >= HEX_SECRET_MIN_BYTES && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token || is_hex
    })
}

/// Writes a word with each user's name replaced after a folder of homes.
fn homes(word: &str, out: &mut String) {
    let lower = word.to_ascii_lowercase();
    let mut at = 0;
    let first = |at: usize| {
        let from = lower.get(at..).unwrap_or_default();
        HOMES.iter().filter_map(|homes| from.find(homes).map(|found| at + found + homes.len())).min()
    };
    while let Some(begin) = first(at) {
        let user = word.get(begin..).unwrap_or_default().split(['/', '\\', ':']).next().unwrap_or_default();
        out.push_str(word.get(at..begin).unwrap_or_default());
        out.push_str(if user.is_empty() || user.starts_with('<') { user } else { "<user>" });
        at = begin + user.len();
    }
    out.push_str(word.get(at..).unwrap_or_default());
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
            ("/home/bob/x:/home/eve/y", "/home/<user>/x:/home/<user>/y"),
            ("ssh://git@host/home/bob", "ssh://<secret>@host/home/<user>"),
            ("\\\\wsl$\\Ubuntu\\home\\bob\\x", "\\\\wsl$\\Ubuntu\\home\\<user>\\x"),
            ("<user> /home/<user>/x:/home/bob", "<user> /home/<user>/x:/home/<user>"),
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
    fn what_looks_like_a_secret_is_none_any_more() {
        let redactor = Redactor::default();
        for (text, meant) in [
            ("GITHUB_TOKEN=abcdef1", "GITHUB_TOKEN=<secret>"),
            ("--auth-token abcdef1", "--auth-token <secret>"),
            ("token:abcdef1 pwd=abcdef1", "token:<secret> pwd=<secret>"),
            ("UNITY_SERIAL=F4-abcdef1", "UNITY_SERIAL=<secret>"),
            ("password: \"abcdef1\"", "password: \"<secret>\""),
            ("{\"password\":\"abcdef1\"", "{\"password\":\"<secret>\""),
            ("Authorization: Bearer abcdef1", "Authorization: <secret> <secret>"),
            ("got ghp_0123456789abcdef0123", "got <secret>"),
            ("https://u:pw@example.org/x", "https://<secret>@example.org/x"),
            ("mail ann@example.org.", "mail <mail>."),
            ("dev.holdfast.unity@0.1.0", "dev.holdfast.unity@0.1.0"),
            ("Ann <ann@example.org>", "Ann <<mail>>"),
            ("mailto:ann@example.org", "mailto:<mail>"),
            ("ann@example.org/x", "<mail>/x"),
            ("https://x.org/?to=ann%40example.org&n=1", "https://x.org/?to=<mail>&n=1"),
            ("ann%2Bgames%40example.org and eve@example.org", "<mail> and <mail>"),
            ("100%40 x", "100%40 x"),
            ("<user>@example.org", "<mail>"),
            ("<ghp_0123456789abcdef0123>", "<secret>"),
            ("*ghp_0123456789abcdef0123*", "<secret>"),
            ("_ghp_0123456789abcdef0123_", "<secret>"),
            ("https://u:p&w=x@example.org/y", "https://<secret>@example.org/y"),
            ("password=<user>-0123456789", "password=<secret>"),
            ("password=<user> token: <secret> mail <mail>", "password=<user> token: <secret> mail <mail>"),
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
            "deep": [{"/home/ann/games/Castle": "ann"}], "none": null,
            "ghp_0123456789abcdef0123": 1, "tokens": ["abc", {"of": ["def", 7], "set": true, "not": null}], "password": 1234
        });
        redactor().json(&mut value);
        assert_eq!(
            value,
            json!({
                "Castle": "<project-1-name>", "push_token": "<secret>", "n": 1,
                "deep": [{"<project-1>": "<user>"}], "none": null,
                "<secret>": 1, "tokens": ["<secret>", {"of": ["<secret>", "<secret>"], "set": true, "not": null}],
                "password": "<secret>"
            })
        );
        assert_eq!(redactor().line("{\"a\":\"/home/ann\"}"), "{\"a\":\"<home>\"}");
        assert_eq!(redactor().line("{\"cut\":\"/home/ann"), "{\"cut\":\"<home>");
    }
}
