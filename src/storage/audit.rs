//! The audit file: one line before each call is sent, and one when the call ends. Written only if the user asked for it.
//!
//! Each line is one write at the end of the file, on the host's threads for blocking work, one after another. The file is opened
//! for each line, so that it may be renamed. docs/configuration.md describes a line. Of the arguments, only size and digest are
//! recorded.

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

/// The event that a line records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A call is about to be sent.
    Sent,
    /// The policy or the audit itself kept the call from being sent.
    Refused,
    /// The call ended, or its outcome became known later.
    Verdict,
}

/// The fields of a line, without its time and the digest of the arguments.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The event.
    pub event: Event,
    /// The pid of this process.
    pub gateway_pid: u32,
    /// The name that the client gave itself; left out if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// The version that the client gave itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// The project of the editor, if known.
    pub project: Option<String>,
    /// The dialect of the editor.
    pub dialect: &'static str,
    /// The id of the call.
    #[serde(serialize_with = "as_text")]
    pub call: CallId,
    /// The tool's name as clients see it.
    pub tool: Arc<str>,
    /// The tool's read-only annotation, if the tool list is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool's destructive annotation, if the tool list is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// How often the call was sent, this attempt included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sending: Option<u8>,
    /// The verdict of the call, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// The cause in the verdict, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// The rule that refused the call, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

fn as_text<S: serde::Serializer>(call: &CallId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(call)
}

/// A complete line.
#[derive(Serialize)]
struct AuditLine<'a> {
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
    /// The system refused the write.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The write took longer than [`AUDIT_WRITE_MAX`].
    #[error("writing took longer than {} s", AUDIT_WRITE_MAX.as_secs())]
    Slow,
    /// [`AUDIT_LINES_MAX`] lines are already waiting.
    #[error("{AUDIT_LINES_MAX} lines wait to be written")]
    Full,
    /// The writer panicked, or the process is ending.
    #[error("holdfast failed while it wrote (our fault)")]
    Failed,
}

/// The audit file. Clones use the same file.
#[derive(Clone)]
pub struct Audit {
    /// The path of the file.
    pub path: PathBuf,
    host: Arc<dyn Host>,
    /// Held while a line is written: lines are written one at a time, in the order in which they came.
    turn: Arc<Mutex<()>>,
    places: Arc<Semaphore>,
}

impl Audit {
    /// Returns an audit in this file, which may not exist yet.
    pub fn new(path: PathBuf, host: Arc<dyn Host>) -> Self {
        Self { path, host, turn: Arc::default(), places: Arc::new(Semaphore::new(AUDIT_LINES_MAX)) }
    }

    /// Appends a line. Its time is the time of this call, even if other lines are written first.
    ///
    /// # Errors
    /// [`NotWritten`]: the line may be missing.
    pub async fn add(&self, entry: Entry, arguments: Option<Arc<RawValue>>) -> Result<(), NotWritten> {
        self.add_in(self.place(), entry, arguments).await
    }

    /// Reserves a place for a line. Until the place is dropped, [`written`](Self::written) waits. Returns `None` if
    /// [`AUDIT_LINES_MAX`] lines are already waiting.
    pub fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Like [`add`](Self::add), in a place that was reserved for the line. Without a place, fails with [`NotWritten::Full`].
    ///
    /// # Errors
    /// [`NotWritten`]: the line may be missing.
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
                // Dropped only when the write has ended, even if the caller stops waiting before: no second write may begin at
                // the same time.
                let _turn = turn;
                let arguments = arguments.as_deref().map(Arguments::of);
                let line = serde_json::to_string(&AuditLine {
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

    /// Waits until no line is waiting or being written.
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
            dialect: "one",
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
        // The result that `sha256sum` gives for these bytes.
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
