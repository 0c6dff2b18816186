//! Configuration files: the user's own, and a project's `holdfast.toml`.
//!
//! Each section is one struct, and its fields are the section's keys ([`Section`]). Each problem in a file is reported with file,
//! line, key and fix, and a section with a problem is ignored. If ignoring it could allow a call that somebody meant to forbid,
//! or leave a call unrecorded that somebody meant to record, every call is refused until the file is fixed.
//!
//! A project's file may come with another person's repository, so it may only restrict what is allowed.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::value::Error as ProbeError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer as _, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use toml_edit::{ImDocument, Item, Key, Value};

use crate::config::MetricsChoice;
use crate::limits::{CLIENT_SETTINGS_MAX, CONFIG_FILE_MAX_BYTES, PROJECT_SETTINGS_MAX};
use crate::platform::filesystem::is_missing;
use crate::platform::host::Host;
use crate::protocol::mcp::clients::{ClientOverrides, ClientSettings};
use crate::protocol::policy::{Pattern, Policy, Toolset};
use crate::protocol::text::{clean, nearest};

/// The name of a project's own file, next to `Assets`.
pub const PROJECT_FILE: &str = "holdfast.toml";

/// A section of a configuration file.
pub trait Section: DeserializeOwned + Default {
    /// The section's name.
    const NAME: &'static str;
    /// An example line of the section, for the message with the fix.
    const EXAMPLE: &'static str;
    /// Whether the section guards something: which tools may be called, or that calls are recorded. If such a section
    /// cannot be read, every call is refused.
    const GUARDS: bool = false;
    /// The keys of the section that refuse tools. A section that cannot be read and has one of them, or a key that looks like one,
    /// guards something too.
    const RULES: &'static [&'static str] = &[];
}

/// `[policy]`: which tools may be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PolicySection {
    /// Only these tools may be called. Empty: all tools.
    pub allow: Vec<Pattern>,
    /// These tools may not be called.
    pub deny: Vec<Pattern>,
    /// Whether tools that may not be called are not listed either.
    pub hide_denied: bool,
}

impl Section for PolicySection {
    const NAME: &'static str = "policy";
    const EXAMPLE: &'static str = r#"deny = ["execute-*", "@destructive"]"#;
    const GUARDS: bool = true;
}

/// `[audit]`: where calls are recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuditSection {
    /// The file that lines are added to.
    pub file: Option<PathBuf>,
}

impl Section for AuditSection {
    const NAME: &'static str = "audit";
    const EXAMPLE: &'static str = r#"file = "~/holdfast-audit.jsonl""#;
    const GUARDS: bool = true;
}

/// `[gateway]`: each key means the same as the flag of that name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GatewaySection {
    /// Where metrics are served.
    pub metrics: Option<MetricsChoice>,
    /// The folder for records of the metrics that other users can read.
    pub metrics_records: Option<PathBuf>,
    /// The tools that are listed at first, beside what the limit has room for.
    pub toolsets: Vec<Toolset>,
}

impl Section for GatewaySection {
    const NAME: &'static str = "gateway";
    const EXAMPLE: &'static str = r#"metrics = "on""#;
}

/// `[hub]`: the gateway that several clients share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HubSection {
    /// Whether a session or a command starts one if none runs.
    pub start: bool,
}

impl Section for HubSection {
    const NAME: &'static str = "hub";
    const EXAMPLE: &'static str = "start = true";
}

/// `[clients.NAME]`: settings for a client, which override the client table.
impl Section for ClientSettings {
    const NAME: &'static str = "clients";
    const EXAMPLE: &'static str = "patience = 300";
    const RULES: &'static [&'static str] = &["tools"];
}

/// `[projects.NAME]`: settings for calls to a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectSection {
    /// The tools that are listed and may be called in that project. Empty: all tools.
    pub tools: Vec<Pattern>,
}

impl Section for ProjectSection {
    const NAME: &'static str = "projects";
    const EXAMPLE: &'static str = r#"tools = ["compile", "@read-only"]"#;
    const RULES: &'static [&'static str] = &["tools"];
}

/// The names of all sections.
pub const SECTIONS: &[&str] = &[
    PolicySection::NAME,
    AuditSection::NAME,
    GatewaySection::NAME,
    HubSection::NAME,
    ClientSettings::NAME,
    ProjectSection::NAME,
];
/// The sections that guard something ([`Section::GUARDS`]).
const GUARDS: &[&str] = &[PolicySection::NAME, AuditSection::NAME];

/// The content of the user's file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UserFile {
    /// Where the file is, or would be. `None` if no folder for configurations is known.
    pub path: Option<PathBuf>,
    /// Whether the file exists.
    pub found: bool,
    /// The rules for tools.
    pub rules: PolicySection,
    /// Where calls are recorded.
    pub audit: Option<PathBuf>,
    /// The settings that are flags too.
    pub gateway: GatewaySection,
    /// Whether a hub is started.
    pub hub: HubSection,
    /// The settings for single clients.
    pub clients: ClientOverrides,
    /// The settings for single projects, each with the NAME of its section. A path in a NAME is canonical if it exists.
    pub projects: Vec<(String, ProjectSection)>,
    /// The problems in the file, each with file, line, key and fix.
    pub complaints: Vec<String>,
    /// The problems because of which every call is refused.
    pub grave: Vec<String>,
}

/// The content of a project's file after it was read. The file itself has another form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRules {
    /// Whether the file exists.
    pub found: bool,
    /// The rules that narrow what is allowed.
    pub policy: Policy,
    /// The problems in the file.
    #[serde(default)]
    pub complaints: Vec<String>,
}

/// Reads the user's file: `named` if it is given, otherwise the file at the conventional path, which need not exist. Symbolic
/// links are followed, since people keep such files elsewhere.
pub fn read_user(host: &dyn Host, named: Option<&Path>, places: &Places) -> UserFile {
    let Some(path) = named.map(Path::to_path_buf).or_else(|| places.user_file()) else { return UserFile::default() };
    let real = crate::config::canonical(&path).unwrap_or_else(|| path.clone());
    let read = host.read(&real, CONFIG_FILE_MAX_BYTES);
    if named.is_none() && read.as_ref().is_err_and(is_missing) {
        return UserFile { path: Some(path), ..UserFile::default() };
    }
    let mut reader = Reader::new(&path, read);
    let rules = reader.take();
    let named = reader.take::<AuditSection>().file;
    let audit = named.as_deref().and_then(|file| places.whole(file));
    if let (Some(file), None) = (&named, &audit) {
        let says = format!("[audit] file \"{}\" would be another file in each folder", clean(&file.to_string_lossy()));
        reader.refuse(AuditSection::NAME, true, &says, "write its whole path, or one that begins with ~/");
    }
    let mut gateway: GatewaySection = reader.take();
    if let Some(named) = gateway.metrics_records.take() {
        gateway.metrics_records = places.whole(&named);
        if gateway.metrics_records.is_none() {
            let named = clean(&named.to_string_lossy());
            let says = format!("[gateway] metrics_records \"{named}\" would be another folder in each folder");
            reader.refuse(GatewaySection::NAME, false, &says, "write its whole path, or one that begins with ~/");
        }
    }
    let hub = reader.take();
    let clients = reader.clients();
    let projects = reader.projects(places);
    let Told { complaints, grave, .. } = reader.end();
    UserFile { path: Some(path), found: true, rules, audit, gateway, hub, clients, projects, complaints, grave }
}

/// Reads a project's file, if there is one. Uses only `[policy]`, which can only restrict what is allowed.
pub fn read_project(host: &dyn Host, project: &Path) -> ProjectRules {
    let path = project.join(PROJECT_FILE);
    let read = host.read(&path, CONFIG_FILE_MAX_BYTES);
    if read.as_ref().is_err_and(is_missing) {
        return ProjectRules::default();
    }
    let mut reader = Reader::new(&path, read);
    let PolicySection { allow, deny, hide_denied } = reader.take();
    for name in SECTIONS.iter().filter(|name| **name != PolicySection::NAME) {
        let says = format!("[{name}] means nothing in a project's file, which may only narrow what is allowed");
        reader.refuse(name, false, &says, "move it to your own file, or remove it");
    }
    let Told { file, complaints, grave } = reader.end();
    let mut policy = Policy::default();
    policy.deny(deny, &file);
    policy.allow(allow, &file);
    if hide_denied {
        policy.hide_denied(&file);
    }
    for why in grave {
        policy.refuse_all(why);
    }
    ProjectRules { found: true, policy, complaints }
}

/// Where the user's files are.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folder in which programs keep their configurations.
    pub config: Option<PathBuf>,
}

impl Places {
    /// The conventional path of the user's file.
    fn user_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|config| config.join("holdfast").join("config.toml"))
    }

    /// Returns the absolute path, with `~` replaced by the home. `None` if the path depends on where the gateway is started.
    fn whole(&self, path: &Path) -> Option<PathBuf> {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            _ => path.is_absolute().then(|| path.to_path_buf()),
        }
    }
}

/// Returns the keys of a section: the names of its struct's fields.
pub fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    /// A deserializer that only records the field names of the struct that is read from it.
    struct Probe<'a>(&'a mut &'static [&'static str]);
    impl<'de> Deserializer<'de> for Probe<'_> {
        type Error = ProbeError;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ProbeError> {
            Err(ProbeError::custom("no struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, ProbeError> {
            *self.0 = fields;
            Err(ProbeError::custom("only its fields were wanted"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut fields: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// A file that is being read.
struct Reader {
    /// `None` if the file could not be parsed, which `told` reports.
    document: Option<ImDocument<String>>,
    /// The sections that were read or refused.
    taken: Vec<&'static str>,
    told: Told,
}

/// The problems in a file.
struct Told {
    /// The path of the file, for messages.
    file: String,
    complaints: Vec<String>,
    /// The problems because of which everything is refused; also in `complaints`.
    grave: Vec<String>,
}

impl Told {
    fn add(&mut self, grave: bool, line: Option<usize>, says: &str, fix: &str) {
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        let all = format!("{}{line}: {says}; {fix}", self.file);
        if grave {
            self.grave.push(all.clone());
        }
        self.complaints.push(all);
    }
}

impl Reader {
    fn new(path: &Path, read: io::Result<Vec<u8>>) -> Self {
        let mut told = Told { file: clean(&path.to_string_lossy()), complaints: Vec::new(), grave: Vec::new() };
        let document = match read.map(String::from_utf8) {
            Ok(Ok(text)) => match ImDocument::parse(text.clone()) {
                Ok(document) => Some(document),
                Err(error) => {
                    let line = error.span().map(|span| line_of(&text, span.start));
                    told.add(true, line, &one_line(error.message()), "correct that line: the file is TOML");
                    None
                }
            },
            Ok(Err(_)) => {
                told.add(true, None, "it is not UTF-8 text", "save it as UTF-8");
                None
            }
            Err(error) => {
                let fix = match error.kind() {
                    io::ErrorKind::NotFound => "create it, or name the right file",
                    _ => "let this user read it, and let it be a plain file of at most 256 KiB",
                };
                told.add(true, None, &format!("it cannot be read ({error})"), fix);
                None
            }
        };
        Self { document, taken: Vec::new(), told }
    }

    /// Reads the section `T`. Returns its default if it is absent or wrong.
    fn take<T: Section>(&mut self) -> T {
        self.taken.push(T::NAME);
        let Self { document: Some(document), told, .. } = self else { return T::default() };
        match document.get_key_value(T::NAME) {
            Some((key, item)) => read_table(told, document.raw(), &format!("[{}]", T::NAME), key, item),
            None => None,
        }
        .unwrap_or_default()
    }

    /// Reads each `[clients.NAME]`. A section with a problem is left out; the others are used.
    fn clients(&mut self) -> ClientOverrides {
        let mut said: Vec<(String, ClientSettings)> = Vec::new();
        for (name, line, settings) in self.named::<ClientSettings>(CLIENT_SETTINGS_MAX) {
            let guards = settings.tools.is_some();
            said.push((name, settings));
            if let Err(faults) = ClientOverrides::new(said.iter().cloned()) {
                said.pop();
                for fault in faults {
                    let fix = "correct it, or remove it: until then what is known of that client counts";
                    self.told.add(guards, line, &clean(&fault), fix);
                }
            }
        }
        ClientOverrides::new(said).unwrap_or_default()
    }

    /// Reads each `[projects.NAME]`. A NAME with a separator in it is a path.
    fn projects(&mut self, places: &Places) -> Vec<(String, ProjectSection)> {
        let mut said = Vec::new();
        for (name, line, settings) in self.named::<ProjectSection>(PROJECT_SETTINGS_MAX) {
            // No folder has such a name, so the choice would hold nowhere.
            if name.contains('*') || name.trim().is_empty() {
                let says = format!("[projects.\"{}\"] names no project", clean(&name));
                self.told.add(true, line, &says, "write the whole name of the project's folder, or its whole path");
                continue;
            }
            if !name.contains(['/', '\\']) && !matches!(name.as_str(), "." | ".." | "~") {
                said.push((name, settings));
                continue;
            }
            match places.whole(Path::new(&name)) {
                Some(path) => {
                    let path = crate::config::canonical(&path).unwrap_or(path);
                    said.push((path.to_string_lossy().into_owned(), settings));
                }
                None => {
                    let says = format!("[projects.\"{}\"] would be another folder in each folder", clean(&name));
                    let fix = "write its whole path, one that begins with ~/, or the folder's name alone";
                    self.told.add(true, line, &says, fix);
                }
            }
        }
        said
    }

    /// Reads each section `[T.NAME]`, with its name and line. A section with a problem is left out.
    fn named<T: Section>(&mut self, most: usize) -> Vec<(String, Option<usize>, T)> {
        self.taken.push(T::NAME);
        let Self { document: Some(document), told, .. } = self else { return Vec::new() };
        let text = document.raw();
        let Some((key, item)) = document.get_key_value(T::NAME) else { return Vec::new() };
        let Some(table) = item.as_table_like() else {
            let fix = format!("write [{}.NAME] on a line of its own, with keys below it", T::NAME);
            let says = format!("[{}] must hold sections", T::NAME);
            told.add(!T::RULES.is_empty(), place_of(text, key, item), &says, &fix);
            return Vec::new();
        };
        if table.len() > most {
            let says = format!("there are {} sections [{}.NAME], and {most} are read", table.len(), T::NAME);
            told.add(!T::RULES.is_empty(), place_of(text, key, item), &says, "join some, or remove some");
        }
        let sections = table.iter().take(most).filter_map(|(name, _)| Some((name, table.get_key_value(name)?)));
        let read = sections.filter_map(|(name, (key, item))| {
            let title = format!("[{}.{}]", T::NAME, clean(name));
            let section = read_table::<T>(told, text, &title, key, item)?;
            Some((name.to_owned(), place_of(text, key, item), section))
        });
        read.collect()
    }

    /// Reports a section as wrong, if the file has it. `grave`: every call is refused because of it. A section that
    /// [`forbids`] something is always grave.
    fn refuse(&mut self, name: &'static str, grave: bool, says: &str, fix: &str) {
        self.taken.push(name);
        let Self { document: Some(document), told, .. } = self else { return };
        if let Some((key, item)) = document.get_key_value(name) {
            let grave = grave || forbids(name, item);
            told.add(grave, place_of(document.raw(), key, item), says, fix);
        }
    }

    /// Reports the sections of the file that holdfast does not know, and returns all problems.
    fn end(self) -> Told {
        let Self { document, taken, mut told } = self;
        for (name, item) in document.iter().flat_map(|document| document.iter()) {
            if taken.contains(&name) {
                continue;
            }
            let document = document.as_ref();
            let key = document.and_then(|document| document.get_key_value(name));
            let line = key.and_then(|(key, item)| place_of(document?.raw(), key, item));
            let meant = meant_section(name, item);
            let grave = meant.is_some_and(|section| GUARDS.contains(&section)) || forbids(name, item);
            let fix = match meant {
                Some(section @ (ClientSettings::NAME | ProjectSection::NAME)) => {
                    format!("write [{section}.NAME] on a line of its own if that is what you mean, or remove it")
                }
                Some(section) => format!("write [{section}] if that is what you mean, or remove it"),
                None if chooses_tools(name) => {
                    "write it below [clients.NAME] or [projects.NAME] if you choose tools, or remove it".to_owned()
                }
                None => format!("remove it: there are [{}]", SECTIONS.join("], [")),
            };
            told.add(grave, line, &format!("there is no section [{}]", clean(name)), &fix);
        }
        told
    }
}

/// Reads a table into its struct. Returns `None` if something in it is wrong, which is reported. `text` is the whole file.
fn read_table<T: Section>(told: &mut Told, text: &str, title: &str, key: &Key, item: &Item) -> Option<T> {
    let fix = format!("write it as in: {}", T::EXAMPLE);
    let (Some(table), Ok(value)) = (item.as_table_like(), item.clone().into_value()) else {
        let says = format!("{title} must be a section with keys");
        // The section may be a choice of tools in another form.
        let guards = T::GUARDS || !T::RULES.is_empty() || forbids(T::NAME, item);
        told.add(guards, place_of(text, key, item), &says, &format!("write {title} on a line of its own"));
        return None;
    };
    let keys = keys_of::<T>();
    let mut whole = true;
    for (name, item) in table.iter().filter(|(name, _)| !keys.contains(name)) {
        let line = table.get_key_value(name).and_then(|(key, item)| place_of(text, key, item));
        let fix = match nearest(name, keys.iter().copied()) {
            Some(key) => format!("write {key} if that is what you mean, or remove it"),
            None => format!("remove it: its keys are {}", keys.join(", ")),
        };
        // This is a rule under another header, or a misspelt key that chooses tools: somebody meant to forbid
        // something.
        let chooses = nearest(name, keys.iter().copied()).is_some_and(|key| T::RULES.contains(&key));
        let chosen = T::RULES.iter().any(|key| table.contains_key(key));
        let grave = T::GUARDS || chooses || chosen || forbids(name, item);
        told.add(grave, line, &format!("{title} has no key \"{}\"", clean(name)), &fix);
        whole = false;
    }
    if !whole {
        return None;
    }
    let guards = T::GUARDS || T::RULES.iter().any(|key| table.contains_key(key));
    match T::deserialize(value.into_deserializer()) {
        Ok(section) => Some(section),
        Err(error) => {
            let span = error.span();
            let at = span.as_ref().map(|span| span.start);
            let within = |item: &Item| at.is_some_and(|at| item.span().is_some_and(|span| span.contains(&at)));
            let name = table.iter().find(|(_, item)| within(item)).map(|(name, _)| format!(" {name}"));
            let says = format!("{title}{}: {}", name.unwrap_or_default(), one_line(error.message()));
            told.add(guards, at.map(|at| line_of(text, at)), &says, &fix);
            None
        }
    }
}

/// The section that a name at the top of the file probably means.
fn meant_section(name: &str, item: &Item) -> Option<&'static str> {
    let rules = keys_of::<PolicySection>();
    let denies = item.as_table_like().is_some_and(|table| rules.iter().any(|key| table.contains_key(key)));
    if denies || rules.contains(&name) {
        return Some(PolicySection::NAME);
    }
    // A name in quotes may have the dots of a header in it.
    nearest(name.split('.').next().unwrap_or(name), SECTIONS.iter().copied())
}

/// Whether a key is `tools`, or looks more like it than like any other key.
fn chooses_tools(name: &str) -> bool {
    let keys = [keys_of::<ClientSettings>(), keys_of::<GatewaySection>(), keys_of::<AuditSection>(), SECTIONS];
    nearest(name, keys.concat()).is_some_and(|key| ProjectSection::RULES.contains(&key))
}

/// Whether somebody probably meant to forbid something with a part of the file that is not read. That is so if a rule
/// is in this part, at any depth. It is so too if the part is a section for clients or projects in another form than
/// `[clients.NAME]`.
fn forbids(name: &str, item: &Item) -> bool {
    fn forbids(name: &str, value: &Value) -> bool {
        let is_section = |value: &Value| value.is_inline_table();
        let meant = nearest(name.split('.').next().unwrap_or(name), SECTIONS.iter().copied());
        let is_named = matches!(meant, Some(ClientSettings::NAME | ProjectSection::NAME));
        let misformed = match value {
            Value::InlineTable(table) if !name.contains('.') => !table.iter().all(|(_, value)| is_section(value)),
            value => !is_section(value),
        };
        let within = match value {
            Value::InlineTable(table) => table.iter().any(|(name, value)| forbids(name, value)),
            Value::Array(values) => values.iter().any(|value| forbids("", value)),
            _ => false,
        };
        keys_of::<PolicySection>().contains(&name) || chooses_tools(name) || is_named && misformed || within
    }
    item.clone().into_value().is_ok_and(|value| forbids(name, &value))
}

/// Returns the line of a key in the file, beginning with 1.
fn place_of(text: &str, key: &Key, item: &Item) -> Option<usize> {
    key.span().or_else(|| item.span()).map(|span| line_of(text, span.start))
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn one_line(message: &str) -> String {
    clean(&message.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests;
