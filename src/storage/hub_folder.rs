//! The folder of the hub, `<state>/hub`: who is the hub, and where it is reached.
//!
//! The hub is the process that holds the lock on `hub.lock`. Only that process binds the socket and writes `hub.json`,
//! which people and `holdfast doctor` read; nothing is decided by that file. A gateway that takes over the calls of a
//! killed hub holds the lock while it does so. A process that starts a hub holds the lock on `start.lock` meanwhile, so
//! that only one of many processes starts it.

use std::fs::{File, TryLockError};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::platform::host::{Host as _, RealHost, make_private_folder};
use crate::platform::local_socket;
use crate::platform::lock_file::{self, Placed};

/// The largest `hub.json` that is read, in bytes. It has two paths, of up to 4 KiB each on Linux, and a few short fields.
const INFO_MAX_BYTES: usize = 16 * 1024;

/// The folder of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFolder {
    folder: PathBuf,
}

/// What a running hub says of itself in `hub.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HubInfo {
    /// The pid of its process.
    pub pid: u32,
    /// The version of its program.
    pub version: String,
    /// The name of this hub: a new one for each process.
    pub hub: String,
    /// When it started: seconds since 1970.
    pub started: f64,
    /// The newest version of the protocol that it speaks.
    pub protocol: u32,
    /// Where it is reached.
    pub socket: PathBuf,
    /// The URL at which programs of this machine reach it over HTTP; `None` if it does not serve HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The address at which it listens for HTTP. It may stand for every address of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_at: Option<SocketAddr>,
    /// The file with the token for HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_token_file: Option<PathBuf>,
    /// Whether a session started it, for as long as sessions need it.
    #[serde(default)]
    pub leaves: bool,
}

impl HubInfo {
    /// Whether a URL leads to this hub, without a proxy.
    pub fn serves(&self, url: &str) -> bool {
        let (Some(own), Some((ip, port))) = (self.http_at, place_of(url)) else { return false };
        let is_everywhere = own.ip().is_unspecified();
        let is_own = match ip {
            None => own.ip().is_loopback() || is_everywhere,
            // On Windows a socket of IPv6 does not take connections of IPv4.
            Some(ip) if is_everywhere => {
                ip.is_loopback() && (ip.is_ipv4() == own.is_ipv4() || cfg!(unix) && own.is_ipv6())
            }
            Some(ip) => ip == own.ip(),
        };
        port == own.port() && is_own
    }
}

/// Returns the address (`None` for `localhost`) and the port of a URL of HTTP; `None` if it names no address.
pub fn place_of(url: &str) -> Option<(Option<IpAddr>, u16)> {
    let host = url.strip_prefix("http://")?.split('/').next()?;
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (host, 80),
    };
    if name.eq_ignore_ascii_case("localhost") {
        return Some((None, port));
    }
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    Some((Some(name.parse().ok()?), port))
}

/// The proof that this process is the hub. Dropping it lets another process become the hub.
#[derive(Debug)]
pub struct Elected {
    info: PathBuf,
    lock: File,
    at: PathBuf,
}

/// Whether a process is the hub.
#[derive(Debug)]
pub enum HubLock {
    /// No process is the hub.
    Free,
    /// A process is the hub, or is just looking whether there is one.
    Held,
    /// The system does not tell. For example, its file system has no locks.
    Unknown(io::Error),
}

impl HubFolder {
    /// Returns the folder of the hub in this state folder.
    pub fn of(state: &Path) -> Self {
        Self { folder: state.join("hub") }
    }

    /// Returns where the hub is reached.
    pub fn socket(&self) -> PathBuf {
        local_socket::place_of(&self.folder)
    }

    /// Returns the file with the records of sent calls.
    pub fn records(&self) -> PathBuf {
        self.folder.join("calls.jsonl")
    }

    /// Returns the log file of a hub that no person started.
    pub fn log(&self) -> PathBuf {
        self.folder.join("hub.log")
    }

    /// Makes this process the hub. `None` if another process is.
    ///
    /// # Errors
    /// The system's error.
    pub fn elect(&self) -> io::Result<Option<Elected>> {
        let lock = self.lock("hub.lock")?;
        Ok(lock.map(|lock| Elected { info: self.folder.join("hub.json"), lock, at: self.folder.join("hub.lock") }))
    }

    /// Lets this process start a hub, until the file is dropped. `None` if another process is starting one.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin_start(&self) -> io::Result<Option<File>> {
        self.lock("start.lock")
    }

    fn lock(&self, name: &str) -> io::Result<Option<File>> {
        make_private_folder(&self.folder)?;
        let lock = lock_file::open(&self.folder.join(name), true)?;
        match lock.try_lock() {
            // The lock file may have been removed before it was locked. Then another process may have the lock of the
            // next one.
            Ok(()) => Ok(lock_file::is_at(&lock, &self.folder.join(name)).then_some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether a hub runs.
    pub fn is_held(&self) -> bool {
        matches!(self.hub_lock(), HubLock::Held)
    }

    /// Returns whether a process is the hub.
    pub fn hub_lock(&self) -> HubLock {
        // The lock file is not created here: a process that only looks leaves no trace.
        match lock_file::open(&self.folder.join("hub.lock"), false).map(|lock| lock.try_lock()) {
            Ok(Ok(())) => HubLock::Free,
            Ok(Err(TryLockError::WouldBlock)) => HubLock::Held,
            Ok(Err(TryLockError::Error(error))) => HubLock::Unknown(error),
            // A hub that lives without its lock file is no hub any more, and sends nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => HubLock::Free,
            Err(error) => HubLock::Unknown(error),
        }
    }

    /// Returns what the running hub says of itself; `None` if no hub runs, or its file cannot be read.
    pub fn running(&self) -> Option<HubInfo> {
        if !self.is_held() {
            return None;
        }
        let bytes = RealHost.read(&self.folder.join("hub.json"), INFO_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

impl Elected {
    /// Whether this process still is the hub. It is not if somebody removed the lock file: then another process may be elected.
    pub fn is_current(&self) -> bool {
        lock_file::is_at(&self.lock, &self.at)
    }

    /// Returns the lock file, as it must be found as long as this process is the hub.
    ///
    /// # Errors
    /// The system's error.
    pub fn lock_placed(&self) -> io::Result<Placed> {
        Placed::of(&self.lock, &self.at)
    }

    /// Writes what people may know of this hub.
    ///
    /// # Errors
    /// The system's error.
    pub fn publish(&self, info: &HubInfo) -> io::Result<()> {
        RealHost.write(&self.info, &serde_json::to_vec(info)?)
    }

    /// Removes a hub's own word about itself. The lock is held meanwhile, so the file cannot be another hub's.
    pub fn unpublish(&self) {
        if self.is_current() {
            let _ = std::fs::remove_file(&self.info);
        }
    }
}

impl Drop for Elected {
    fn drop(&mut self) {
        self.unpublish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(pid: u32) -> HubInfo {
        let (version, hub) = ("0.1.0".to_owned(), "a".repeat(32));
        let (http, http_at, http_token_file) = (None, None, None);
        let socket = "/x".into();
        HubInfo { pid, version, hub, started: 7.5, protocol: 1, socket, http, http_at, http_token_file, leaves: false }
    }

    #[test]
    fn a_url_is_a_hubs_if_it_names_its_address_and_its_port() {
        let own = |at: &str| HubInfo { http_at: Some(at.parse().unwrap()), ..info(7) };
        for (at, url, serves) in [
            ("127.0.0.1:80", "http://127.0.0.1/mcp", true),
            ("127.0.0.1:8787", "http://127.0.0.1:8787/mcp/Castle", true),
            ("127.0.0.1:8787", "http://LocalHost:8787", true),
            ("127.0.0.1:8787", "http://127.0.0.1:8788/mcp", false),
            ("127.0.0.1:8787", "http://127.0.0.2:8787/mcp", false),
            ("127.0.0.1:8787", "http://[::1]:8787/mcp", false),
            ("127.0.0.1:8787", "https://127.0.0.1:8787/mcp", false),
            ("[::1]:8787", "http://[::1]:8787/mcp", true),
            ("[::1]:8787", "http://localhost:8787/mcp", true),
            ("[::1]:8787", "http://127.0.0.1:8787/mcp", false),
            ("0.0.0.0:8787", "http://127.0.0.2:8787/mcp", true),
            ("0.0.0.0:8787", "http://localhost:8787/mcp", true),
            ("0.0.0.0:8787", "http://[::1]:8787/mcp", false),
            ("0.0.0.0:8787", "http://192.0.2.1:8787/mcp", false),
            ("[::]:8787", "http://127.0.0.1:8787/mcp", cfg!(unix)),
            ("192.0.2.1:8787", "http://localhost:8787/mcp", false),
            ("192.0.2.1:8787", "http://192.0.2.1:8787/mcp", true),
            ("127.0.0.1:8787", "http://mcp.example.com:8787/mcp", false),
        ] {
            assert_eq!(own(at).serves(url), serves, "{at} {url}");
        }
        assert!(!info(7).serves("http://127.0.0.1:8787/mcp"), "it serves no HTTP");
    }

    #[test]
    fn the_file_of_an_older_hub_is_read() {
        let json = r#"{"pid":7,"version":"0.1.0","hub":"a","started":7.5,"protocol":1,"socket":"/x","http":"http://127.0.0.1:1/mcp"}"#;
        let older: HubInfo = serde_json::from_str(json).unwrap();
        assert_eq!((older.http.as_deref(), older.http_token_file), (Some("http://127.0.0.1:1/mcp"), None));
    }

    #[test]
    fn one_process_is_the_hub_until_it_ends_and_its_file_is_believed_as_long() {
        let state = tempfile::tempdir().unwrap();
        let folder = HubFolder::of(state.path());
        assert_eq!(folder.running(), None);
        assert!(std::fs::read_dir(state.path()).unwrap().next().is_none(), "looking leaves nothing");
        let first = folder.elect().unwrap().expect("nobody else is");
        assert!(folder.elect().unwrap().is_none());
        assert_eq!(folder.running(), None, "it has not said anything");
        first.publish(&info(7)).unwrap();
        assert_eq!(folder.running(), Some(info(7)));
        drop(first);
        assert_eq!(folder.running(), None);
        // A killed hub leaves its file, and nobody holds the lock.
        std::fs::write(state.path().join("hub/hub.json"), serde_json::to_vec(&info(8)).unwrap()).unwrap();
        assert_eq!(folder.running(), None);
        assert!(folder.elect().unwrap().is_some());
    }

    #[test]
    fn one_of_many_starts_a_hub() {
        let state = tempfile::tempdir().unwrap();
        let folder = HubFolder::of(state.path());
        let first = folder.begin_start().unwrap();
        assert!(first.is_some() && folder.begin_start().unwrap().is_none());
        drop(first);
        assert!(folder.begin_start().unwrap().is_some());
    }
}
