//! The audit file: a line for each call before it is sent, and one for how it ended. Only if it was asked for.
//!
//! One line is one write at the file's end, on the host's blocking lane, one after another; the file is opened anew for each, so
//! that it may be renamed. What a line holds stands in docs/configuration.md; arguments are told by size and digest only.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::limits::{AUDIT_LINES_MAX, AUDIT_WRITE_MAX};
use crate::platform::host::{self, Host};
use crate::protocol::ids::CallId;

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A call is about to be sent.
    Sent,
    /// Policy or audit kept it from being sent.
    Refused,
    /// It ended, or how it ended was learned.
    Verdict,
}

/// A line, but for its time and the digest.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// What it tells.
    pub event: Event,
    /// This process.
    pub gateway_pid: u32,
    /// The client's name, as it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// Its version, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Whose editor.
    pub project: Option<String>,
    /// What that speaks.
    pub dialect: &'static str,
    /// The call.
    #[serde(serialize_with = "as_text")]
    pub call: CallId,
    /// Its tool, as clients see it.
    pub tool: Arc<str>,
    /// Its annotations, where the list is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// See [`Entry::read_only`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// 1 for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sending: Option<u8>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// The rule that refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

fn as_text<S: serde::Serializer>(call: &CallId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(call)
}

/// A whole line.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    entry: &'a Entry,
    #[serde(flatten)]
    arguments: Option<Arguments>,
}

#[derive(Serialize)]
struct Arguments {
    arguments_bytes: usize,
    arguments_sha256: String,
}

impl Arguments {
    fn of(json: &RawValue) -> Self {
        let digest = Sha256::digest(json.get().as_bytes());
        let arguments_sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { arguments_bytes: json.get().len(), arguments_sha256 }
    }
}

/// Why a line is not in the file.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("writing took longer than {} s", AUDIT_WRITE_MAX.as_secs())]
    Slow,
    /// Too many lines wait already.
    #[error("{AUDIT_LINES_MAX} lines wait to be written")]
    Full,
    /// The writer panicked, or the process ends.
    #[error("holdfast failed while it wrote (our fault)")]
    Failed,
}

/// The file. Clones share it.
#[derive(Clone)]
pub struct Audit {
    /// Where it is.
    pub path: PathBuf,
    host: Arc<dyn Host>,
    /// One writes at a time, in the order in which they came.
    turn: Arc<Mutex<()>>,
    places: Arc<Semaphore>,
}

impl Audit {
    /// An audit in this file, which need not be there.
    pub fn new(path: PathBuf, host: Arc<dyn Host>) -> Self {
        Self { path, host, turn: Arc::default(), places: Arc::new(Semaphore::new(AUDIT_LINES_MAX)) }
    }

    /// Adds a line; what is told of is now, also when the line waits for others.
    ///
    /// # Errors
    /// [`NotWritten`]: it is not known to be there.
    pub async fn add(&self, entry: Entry, arguments: Option<Arc<RawValue>>) -> Result<(), NotWritten> {
        self.add_in(self.place(), entry, arguments).await
    }

    /// A place for a line: until it falls, the end of the gateway waits for it. `None` if too many lines wait.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// As [`add`](Self::add), with the place that was taken for it.
    ///
    /// # Errors
    /// [`NotWritten`]: it is not known to be there.
    pub async fn add_in(
        &self,
        place: Option<OwnedSemaphorePermit>,
        entry: Entry,
        arguments: Option<Arc<RawValue>>,
    ) -> Result<(), NotWritten> {
        let Some(_place) = place else { return Err(NotWritten::Full) };
        let at = self.host.now();
        let written = async {
            let turn = Arc::clone(&self.turn).lock_owned().await;
            let (host, path) = (Arc::clone(&self.host), self.path.clone());
            let write = move || {
                // Falls when this write has ended, and not when whoever waits for it has given up: no second one begins beside it.
                let _turn = turn;
                let arguments = arguments.as_deref().map(Arguments::of);
                let line = serde_json::to_string(&Line {
                    time: humantime::format_rfc3339_millis(at).to_string(),
                    entry: &entry,
                    arguments,
                })?;
                host.append_line(&path, &line)
            };
            Ok(host::run(&*self.host, write).await.ok_or(NotWritten::Failed)??)
        };
        timeout(AUDIT_WRITE_MAX, written).await.map_err(|_| NotWritten::Slow)?
    }

    /// Waits until no line is on its way.
    pub async fn written(&self) {
        let all = u32::try_from(AUDIT_LINES_MAX).unwrap_or(u32::MAX);
        let _ = self.places.acquire_many(all).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::platform::host::RealHost;

    fn entry(event: Event) -> Entry {
        Entry {
            event,
            gateway_pid: 7,
            client: "c".to_owned(),
            client_version: None,
            project: None,
            dialect: "uloop",
            call: CallId::from_random([1; 16]),
            tool: "compile".into(),
            read_only: Some(false),
            destructive: None,
            sending: Some(1),
            verdict: None,
            cause: None,
            rule: None,
        }
    }

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.ends_with('\n'));
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_line_is_added_for_each_entry_in_a_private_file_of_a_private_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/audit.jsonl");
        let audit = Audit::new(path.clone(), Arc::new(RealHost));
        let arguments = RawValue::from_string(r#"{"a": "secret"}"#.to_owned()).unwrap();
        audit.add(entry(Event::Sent), Some(arguments.into())).await.unwrap();
        audit.add(entry(Event::Verdict), None).await.unwrap();
        let [sent, ended] = &lines(&path)[..] else { panic!("two lines") };
        assert_eq!(sent["event"], "sent");
        assert_eq!(sent["arguments_bytes"], 15);
        // sha256sum of those bytes.
        assert_eq!(sent["arguments_sha256"], DIGEST);
        assert_eq!(sent["call"], CallId::from_random([1; 16]).to_string());
        assert!(sent["time"].as_str().unwrap().ends_with('Z') && sent.get("verdict").is_none());
        assert!(ended.get("arguments_sha256").is_none());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
    }

    const DIGEST: &str = "a3c05187aad25d06e5a5671e29bc0a0290b7aaffd129820ed40cdec46ba703cb";

    #[tokio::test]
    async fn a_file_that_was_renamed_is_followed_by_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("a.jsonl"), folder.path().join("a.jsonl.1"));
        let audit = Audit::new(path.clone(), Arc::new(RealHost));
        audit.add(entry(Event::Sent), None).await.unwrap();
        std::fs::rename(&path, &old).unwrap();
        audit.add(entry(Event::Verdict), None).await.unwrap();
        assert_eq!((lines(&old).len(), lines(&path).len()), (1, 1));
    }

    #[tokio::test]
    async fn several_gateways_share_a_file_without_mixing_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let audits = [0; 4].map(|_| Audit::new(path.clone(), Arc::new(RealHost)));
        let adding = audits.iter().flat_map(|audit| (0..50).map(|_| audit.add(entry(Event::Sent), None)));
        for added in futures_util::future::join_all(adding).await {
            added.unwrap();
        }
        assert_eq!(lines(&path).len(), 200);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn what_is_no_plain_file_of_its_own_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, fifo) = (folder.path().join("f"), folder.path().join("l"), folder.path().join("p"));
        std::fs::write(&file, b"").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [link, fifo, folder.path().to_path_buf(), "/dev/full".into(), file.join("below")] {
            let audit = Audit::new(path.clone(), Arc::new(RealHost));
            assert!(matches!(audit.add(entry(Event::Sent), None).await, Err(NotWritten::Io(_))), "{}", path.display());
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"");
    }
}
