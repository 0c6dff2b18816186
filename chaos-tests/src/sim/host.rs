//! A simulated machine: files in memory, processes, port owners, file watching, seeded randomness, a virtual wall clock.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use holdfast::limits::PROJECT_FILE_MAX_BYTES;
use holdfast::net::BoxFuture;
use holdfast::platform::host::{Host, Liveness, Owner, Watch};
use tokio::sync::mpsc;

struct Watcher {
    files: Vec<PathBuf>,
    changed: mpsc::Sender<()>,
}

struct Inner {
    files: BTreeMap<PathBuf, (Vec<u8>, SystemTime)>,
    processes: BTreeMap<u32, Liveness>,
    owners: BTreeMap<u16, Owner>,
    watchers: Vec<Watcher>,
    dice: fastrand::Rng,
}

/// See the module's documentation.
pub struct SimHost(Mutex<Inner>);

impl SimHost {
    /// An empty machine.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Inner {
            files: BTreeMap::new(),
            processes: BTreeMap::new(),
            owners: BTreeMap::new(),
            watchers: Vec::new(),
            dice: fastrand::Rng::with_seed(seed),
        }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether a process lives.
    pub fn set_liveness(&self, pid: u32, liveness: Liveness) {
        self.inner().processes.insert(pid, liveness);
    }

    /// Says who listens on a port.
    pub fn set_owner(&self, port: u16, owner: Option<Owner>) {
        let mut inner = self.inner();
        match owner {
            Some(owner) => inner.owners.insert(port, owner),
            None => inner.owners.remove(&port),
        };
    }
}

impl Inner {
    fn touched(&mut self, path: &Path) {
        self.watchers.retain(|watcher| !watcher.changed.is_closed());
        for watcher in &self.watchers {
            if watcher.files.iter().any(|file| file == path) {
                let _ = watcher.changed.try_send(());
            }
        }
    }
}

impl Host for SimHost {
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>> {
        let inner = self.inner();
        let (bytes, _) = inner.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        if bytes.len() > max {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {max} bytes")));
        }
        Ok(bytes.clone())
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner().files.contains_key(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let now = self.now();
        let mut inner = self.inner();
        inner.files.insert(path.to_owned(), (bytes.to_vec(), now));
        inner.touched(path);
        Ok(())
    }

    fn append_line(&self, path: &Path, line: &str) -> io::Result<()> {
        let mut all = self.read(path, usize::MAX).unwrap_or_default();
        all.extend_from_slice(line.as_bytes());
        all.push(b'\n');
        self.write(path, &all)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.inner();
        let file = inner.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.files.insert(to.to_owned(), file);
        inner.touched(from);
        inner.touched(to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.inner();
        inner.files.remove(path).ok_or(io::ErrorKind::NotFound)?;
        inner.touched(path);
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>> {
        let inner = self.inner();
        let below = inner.files.iter().filter(|(path, _)| path.parent() == Some(folder));
        Ok(below.map(|(path, (_, changed))| (path.clone(), *changed)).collect())
    }

    fn liveness(&self, pid: u32) -> Liveness {
        self.inner().processes.get(&pid).copied().unwrap_or(Liveness::Dead)
    }

    fn port_owner(&self, port: u16) -> Option<Owner> {
        self.inner().owners.get(&port).cloned()
    }

    fn watch(&self, files: &[PathBuf]) -> Option<Watch> {
        let (changed, changes) = mpsc::channel(1);
        self.inner().watchers.push(Watcher { files: files.to_vec(), changed });
        Some(Watch::new(changes, Box::new(())))
    }

    fn random(&self) -> [u8; 16] {
        self.inner().dice.u128(..).to_ne_bytes()
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + turmoil::sim_elapsed().unwrap_or_default()
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        Box::pin(async move { work() })
    }
}

/// The fake editor writes its project into the same files.
impl holdfast_fake_unity::Files for SimHost {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Host::read(self, path, PROJECT_FILE_MAX_BYTES)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        Host::write(self, path, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Host::remove(self, path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Host::list(self, folder)?.into_iter().map(|(file, _)| file).collect())
    }
}
