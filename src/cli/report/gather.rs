//! Collects the content of a report. Nothing is replaced here yet.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::ends;
use super::redact::{Redactor, is_secret_name};
use crate::cli::help::LONG_VERSION;
use crate::cli::status::Status;
use crate::cli::variables::variable;
use crate::cli::{doctor, named_editor};
use crate::config::Config;
use crate::config::file::PROJECT_FILE;
use crate::limits::logs::{REPORT_GATEWAYS_MAX, REPORT_SCRAPE_MAX, REPORT_SCRAPE_MAX_BYTES};
use crate::limits::{CONFIG_FILE_MAX_BYTES, PROJECT_FILE_MAX_BYTES};
use crate::net::Tcp;
use crate::platform::host::{Host as _, RealHost, System, host_name, release};
use crate::protocol::dialect;
use crate::storage::{http_token, instance_record};
use crate::telemetry::metrics::labels::OTHER;

pub(super) struct Material {
    pub(super) about: Value,
    pub(super) doctor: Value,
    pub(super) status: Value,
    pub(super) settings: Value,
    pub(super) logs: Vec<(String, Vec<String>)>,
    /// The metrics of each gateway that serves metrics, and of the gateway that ended last.
    pub(super) metrics: Vec<(String, String)>,
    pub(super) redactor: Redactor,
}

/// Collects everything. Parts that cannot be read are left out.
pub(super) async fn gather(config: &Config, complaints: &[String]) -> Material {
    let status = Status::now(config).await.as_json();
    let doctor = doctor::examined(config, complaints).await;
    let project = status.pointer("/here/project").and_then(Value::as_str).map(PathBuf::from);
    let mut settings = settings(config, project.as_deref());
    let chosen = take_project_names(&mut settings);
    let state = config.state_dir.as_deref();
    let ends = state.map(|state| ends::read(state, project.as_deref())).unwrap_or_default();
    let metrics = match state {
        Some(state) => metrics(state).await,
        None => Vec::new(),
    };
    let mut redactor = Redactor::default();
    let mut projects = Vec::new();
    named_projects(&status, &mut projects);
    projects
        .extend(state.map(named_editor::known).unwrap_or_default().into_iter().map(|known| display(&known.project)));
    projects.extend(config.project.as_deref().map(display));
    projects.extend(ends.projects);
    projects.extend(chosen);
    // They are named even if there is no such project or editor.
    projects.extend(["HOLDFAST_PROJECT", "HOLDFAST_EDITOR"].into_iter().filter_map(variable));
    projects.iter().for_each(|project| redactor.project(project));
    metrics.iter().flat_map(|(_, text)| labelled(text)).for_each(|label| redactor.project(label));
    secrets(&projects, &mut redactor);
    if let Some(Ok(token)) = state.map(|state| RealHost.read(&http_token::path_in(state), PROJECT_FILE_MAX_BYTES)) {
        redactor.secret(String::from_utf8_lossy(&token).trim());
    }
    people(config, &mut redactor);
    Material { about: about(), doctor, status, settings, logs: ends.logs, metrics, redactor }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

fn about() -> Value {
    let wsl = release().is_some_and(|release| release.to_ascii_lowercase().contains("microsoft"));
    let is_in_container = ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists());
    json!({
        "holdfast": LONG_VERSION.as_str(),
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "release": release(),
        "wsl": wsl,
        "container": is_in_container,
        "written_at": humantime::format_rfc3339_seconds(RealHost.now()).to_string(),
    })
}

/// The settings: the variables that are set, the user's file and the project's. Comments are not kept.
fn settings(config: &Config, project: Option<&Path>) -> Value {
    let variables: Value = doctor::variables()
        .into_iter()
        .filter_map(|(name, _)| Some((name.clone(), Value::from(variable(&name)?))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let file = |path: &Path| {
        let bytes = RealHost.read(path, CONFIG_FILE_MAX_BYTES).ok()?;
        let parsed = std::str::from_utf8(&bytes).ok().and_then(|text| toml_edit::de::from_str::<Value>(text).ok());
        Some(json!({"path": display(path), "settings": parsed.unwrap_or_else(|| "cannot be read as TOML".into())}))
    };
    json!({
        "variables": variables,
        "user": config.file.as_ref().and_then(|(path, _)| file(path)),
        "project": project.and_then(|project| file(&project.join(PROJECT_FILE))),
        "rules": config.policy.lines(None),
        "audit": config.audit.as_deref().map(display),
        "metrics": config.metrics.map(|address| address.to_string()),
        "state_folder": config.state_dir.as_deref().map(display),
    })
}

/// Returns the names of the sections `[projects.NAME]`. Each name is moved into its section, because the names of
/// members are not replaced.
fn take_project_names(settings: &mut Value) -> Vec<String> {
    let Some(projects) = settings.pointer_mut("/user/settings/projects") else { return Vec::new() };
    let Value::Object(sections) = std::mem::take(projects) else { return Vec::new() };
    let names = sections.keys().cloned().collect();
    *projects = sections.into_iter().map(|(name, section)| json!({"name": name, "settings": section})).collect();
    names
}

/// The metrics of running gateways, and the last words of the one that ended last.
async fn metrics(state: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pids: Vec<u64> = instance_record::all(state)
        .iter()
        .filter_map(|record| record.pointer("/gateway/pid").and_then(Value::as_u64))
        .collect();
    pids.dedup();
    for pid in pids.into_iter().take(REPORT_GATEWAYS_MAX) {
        let Some(address) = instance_record::served_at(state, pid) else { continue };
        if let Some(text) = timeout(REPORT_SCRAPE_MAX, scraped(address)).await.ok().flatten() {
            found.push((format!("metrics/{pid}.prom"), text));
        }
    }
    let last = state.join(instance_record::METRICS_FOLDER).join(instance_record::LAST_EXIT);
    if let Ok(bytes) = RealHost.read(&last, REPORT_SCRAPE_MAX_BYTES) {
        found.push(("metrics/last-exit.prom".to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    found
}

async fn scraped(address: SocketAddr) -> Option<String> {
    let mut stream = Tcp.connect_at(address).await.ok()?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut bytes = Vec::new();
    stream.take(REPORT_SCRAPE_MAX_BYTES as u64).read_to_end(&mut bytes).await.ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

/// Returns the projects that metrics name. The projects of an ended gateway may be named nowhere else.
fn labelled(metrics: &str) -> impl Iterator<Item = &str> {
    let labels = metrics.split("project=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    labels.filter(|label| *label != OTHER)
}

/// Collects the projects that a status names: of gateways, of this folder, and of editors whose ports were looked at.
fn named_projects(status: &Value, found: &mut Vec<String>) {
    match status {
        Value::Array(values) => values.iter().for_each(|value| named_projects(value, found)),
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("project", Value::String(path)) => found.push(path.clone()),
                    ("ambiguous", Value::Array(paths)) => {
                        found.extend(paths.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => named_projects(value, found),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds the secrets that are known here: from the environment, and from the projects' editors.
fn secrets(projects: &[String], redactor: &mut Redactor) {
    for (_, value) in std::env::vars().filter(|(name, _)| is_secret_name(name)) {
        redactor.secret(&value);
    }
    // A file in which an editor names its process may also hold its secret.
    let files = || dialect::ALL.iter().flat_map(|dialect| dialect.project_files()).filter(|file| file.names_process);
    for file in projects.iter().flat_map(|project| files().map(|file| Path::new(project).join(file.path))) {
        let Ok(bytes) = RealHost.read(&file, PROJECT_FILE_MAX_BYTES) else { continue };
        let Ok(value) = serde_json::from_slice(&bytes) else { continue };
        secrets_in(&value, false, redactor);
    }
}

/// Adds each text below a member whose name says that it is a secret.
fn secrets_in(value: &Value, is_secret: bool, redactor: &mut Redactor) {
    match value {
        Value::String(text) if is_secret => redactor.secret(text),
        Value::Array(values) => values.iter().for_each(|value| secrets_in(value, is_secret, redactor)),
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| secrets_in(value, is_secret || is_secret_name(name), redactor));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds the user, the home and the machine.
pub(in crate::cli) fn of_this_machine(redactor: &mut Redactor) {
    let home = variable(if System::HERE == System::Windows { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    if let Some(home) = &home {
        redactor.path(&display(home), "<home>");
        if let Ok(real) = dunce::canonicalize(home) {
            redactor.path(&display(&real), "<home>");
        }
        // A home that is a folder of the whole system names nobody.
        if let Some(name) = home.file_name().filter(|_| home.parent().and_then(Path::parent).is_some()) {
            redactor.name(&name.to_string_lossy(), "<user>");
        }
    }
    for user in ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(variable) {
        redactor.name(&user, "<user>");
    }
    for host in ["HOSTNAME", "COMPUTERNAME"].into_iter().filter_map(variable).chain(host_name()) {
        redactor.name(&host, "<host>");
        // A name in a network begins with the name of the machine.
        if let Some((short, _)) = host.split_once('.') {
            redactor.name(short, "<host>");
        }
    }
}

/// Adds the names of who works here and where: the user, the home, the machine, and the folders that are in use.
fn people(config: &Config, redactor: &mut Redactor) {
    of_this_machine(redactor);
    if let Some(state) = &config.state_dir {
        redactor.path(&display(state), "<state>");
    }
    if let Some(folder) = &config.working_dir {
        redactor.path(&display(folder), "<working-folder>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Net as _;

    #[test]
    fn what_lets_one_into_an_editor_is_a_secret_in_whatever_file_the_editor_writes_it() {
        let project = tempfile::tempdir().unwrap();
        let files: Vec<&str> = dialect::ALL
            .iter()
            .flat_map(|dialect| dialect.project_files())
            .filter(|file| file.names_process)
            .map(|file| file.path)
            .collect();
        assert!(!files.is_empty());
        for (at, file) in files.iter().enumerate() {
            let path = project.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = json!({"pid": 7, "token": format!("open-{at}-sesame"), "keys": {"api_key": [format!("deep-{at}-key")]}});
            std::fs::write(&path, content.to_string()).unwrap();
            let mut redactor = Redactor::default();
            secrets(&[display(project.path())], &mut redactor);
            let said = redactor.text(&format!("pid 7, open-{at}-sesame and deep-{at}-key"));
            assert_eq!(said, "pid 7, <secret> and <secret>", "{file}");
        }
        // The instance file of our own package is among these files.
        let own = dialect::OWN.iter().flat_map(|dialect| dialect.project_files());
        assert!(own.filter(|file| file.names_process).any(|file| file.path.contains("Holdfast")));
    }

    #[tokio::test]
    async fn metrics_are_asked_for_where_they_are_served() {
        // Not every system has these addresses.
        for address in ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"] {
            let Ok(listener) = Tcp.bind_at(address.parse().unwrap()).await else { continue };
            let (address, (asked, answer)) = (
                listener.local_addr(),
                (
                    async {
                        let (mut stream, _) = listener.accept().await.unwrap();
                        let mut request = [0; 512];
                        let length = stream.read(&mut request).await.unwrap();
                        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nup 1\n").await.unwrap();
                        stream.shutdown().await.unwrap();
                        String::from_utf8_lossy(&request[..length]).into_owned()
                    },
                    scraped(listener.local_addr()),
                ),
            );
            let (asked, answer) = tokio::join!(asked, answer);
            assert!(asked.contains(&format!("Host: {address}\r\n")), "{asked}");
            assert_eq!(answer.as_deref(), Some("up 1\n"));
        }
    }

    #[test]
    fn metrics_name_projects_that_nothing_else_names() {
        let text =
            "a{project=\"Keep _Acme_\",x=\"1\"} 1\nb{x=\"2\",project=\"AcmeCorp/Keep\"} 2\nc{project=\"other\"} 3\n";
        assert_eq!(labelled(text).collect::<Vec<_>>(), ["Keep _Acme_", "AcmeCorp/Keep"]);
        let mut redactor = Redactor::default();
        redactor.project("/srv/Keep (Acme)");
        labelled(text).for_each(|label| redactor.project(label));
        let meant = text.replace("Keep _Acme_", "<project-1-name>").replace("AcmeCorp/Keep", "<project-2>");
        assert_eq!(redactor.text(text), meant);
    }
}
