//! A simulated machine: files in memory, a process table, port owners, watched files, seeded randomness, and a wall clock that
//! follows the test's time.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use holdfast::limits::PROJECT_FILE_MAX_BYTES;
use holdfast::net::BoxFuture;
use holdfast::platform::host::{Caller, Host, Liveness, Owner, Watch};
use holdfast_fake_unity::HOME;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::net::MemoryNet;
use crate::sabotage::MARK;

/// Where the simulated wall clock starts.
const EPOCH: Duration = Duration::from_secs(1_800_000_000);

struct Inner {
    files: BTreeMap<PathBuf, (Vec<u8>, SystemTime)>,
    processes: BTreeMap<u32, Liveness>,
    /// The liveness of every process for which none was set.
    untold: Liveness,
    owners: BTreeMap<u16, Owner>,
    /// Whose the connections are that come from these addresses, and from all others.
    callers: BTreeMap<SocketAddr, Caller>,
    any_caller: Caller,
    /// If set, a port has an owner only while a listener is bound to it.
    net: Option<Arc<MemoryNet>>,
    watches: Vec<(Vec<PathBuf>, mpsc::Sender<()>)>,
    dice: fastrand::Rng,
    slow: Duration,
    ahead: Duration,
    full: Option<io::ErrorKind>,
    lacks_secrets: bool,
}

impl Inner {
    /// Notifies the watchers of a file that it changed.
    fn touched(&mut self, path: &Path) {
        self.watches.retain(|(_, changed)| !changed.is_closed());
        for (files, changed) in &self.watches {
            if files.iter().any(|file| file == path) {
                let _ = changed.try_send(());
            }
        }
    }
}

/// A simulated machine (see the module's documentation).
pub struct MemoryHost {
    inner: Mutex<Inner>,
    elapsed: Box<dyn Fn() -> Duration + Send + Sync>,
    clock_panics: AtomicBool,
}

impl MemoryHost {
    /// Creates an empty machine with tokio's clock. A process has an unknown liveness until it is set.
    pub fn new() -> Arc<Self> {
        let began = Instant::now();
        Arc::new(Self::of(11, Liveness::Unknown, move || began.elapsed()))
    }

    /// Creates an empty machine with this random seed. `elapsed` returns the time since its start, and `untold` is the liveness
    /// of a process until it is set.
    pub fn of(seed: u64, untold: Liveness, elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            inner: Mutex::new(Inner {
                files: BTreeMap::new(),
                processes: BTreeMap::new(),
                untold,
                owners: BTreeMap::new(),
                callers: BTreeMap::new(),
                any_caller: Caller::Untold,
                net: None,
                watches: Vec::new(),
                dice: fastrand::Rng::with_seed(seed),
                slow: Duration::ZERO,
                ahead: Duration::ZERO,
                full: None,
                lacks_secrets: false,
            }),
            elapsed: Box::new(elapsed),
            clock_panics: AtomicBool::new(false),
        }
    }

    /// Writes a file, as another program would.
    pub fn put(&self, path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) {
        let (path, now) = (path.into(), self.now());
        let mut inner = self.inner.lock().unwrap();
        inner.files.insert(path.clone(), (bytes.into(), now));
        inner.touched(&path);
    }

    /// Returns the paths of all files.
    pub fn files(&self) -> Vec<PathBuf> {
        self.inner.lock().unwrap().files.keys().cloned().collect()
    }

    /// Sets the liveness of a process.
    pub fn set_process(&self, pid: u32, liveness: Liveness) {
        self.inner.lock().unwrap().processes.insert(pid, liveness);
    }

    /// Sets how long every blocking operation takes from now on.
    pub fn slow(&self, time: Duration) {
        self.inner.lock().unwrap().slow = time;
    }

    /// Sets the error with which appending to a file fails from now on; `None` for success. With `WriteZero`, the first half of
    /// the line is written.
    pub fn fill(&self, full: Option<io::ErrorKind>) {
        self.inner.lock().unwrap().full = full;
    }

    /// Takes the source of random bytes that nobody can guess away.
    pub fn take_secrets(&self) {
        self.inner.lock().unwrap().lacks_secrets = true;
    }

    /// Sets how far the wall clock is ahead of the time that has passed.
    pub fn set_clock_ahead(&self, time: Duration) {
        self.inner.lock().unwrap().ahead = time;
    }

    /// Makes the next read of the wall clock panic.
    pub fn plant_at_the_clock(&self) {
        self.clock_panics.store(true, Ordering::SeqCst);
    }

    /// Whether the panic from [`Self::plant_at_the_clock`] has happened.
    pub fn struck(&self) -> bool {
        !self.clock_panics.load(Ordering::SeqCst)
    }

    /// Sets the network: from now on a port has an owner only while a listener is bound to it.
    pub fn look_at(&self, net: &Arc<MemoryNet>) {
        self.inner.lock().unwrap().net = Some(net.clone());
    }

    /// Sets the owner of a port.
    pub fn set_owner(&self, port: u16, owner: Owner) {
        self.inner.lock().unwrap().owners.insert(port, owner);
    }

    /// Sets whose the connections to the gateway are, from an address or from all for which none was set.
    pub fn set_caller(&self, from: Option<SocketAddr>, caller: Caller) {
        let mut inner = self.inner.lock().unwrap();
        match from {
            Some(from) => drop(inner.callers.insert(from, caller)),
            None => inner.any_caller = caller,
        }
    }

    /// Removes the owner of a port.
    pub fn disown(&self, port: u16) {
        self.inner.lock().unwrap().owners.remove(&port);
    }
}

impl Host for MemoryHost {
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>> {
        let inner = self.inner.lock().unwrap();
        let (bytes, _) = inner.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        if bytes.len() > max {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {max} bytes")));
        }
        Ok(bytes.clone())
    }

    fn user_folder(&self, _variable: &str, name: &str) -> Option<PathBuf> {
        Some(Path::new(HOME).join(name))
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.lock().unwrap().files.contains_key(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.put(path, bytes);
        Ok(())
    }

    fn append_line(&self, path: &Path, line: &str) -> io::Result<()> {
        let full = self.inner.lock().unwrap().full;
        let mut all = self.read(path, usize::MAX).unwrap_or_default();
        let before = if all.last().is_none_or(|last| *last == b'\n') { "" } else { "\n" };
        let whole = format!("{before}{line}\n");
        let bytes = whole.as_bytes();
        let written = match full {
            None => bytes,
            Some(io::ErrorKind::WriteZero) => &bytes[..bytes.len() / 2],
            Some(_) => &[],
        };
        all.extend_from_slice(written);
        self.write(path, &all)?;
        full.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.inner.lock().unwrap();
        let file = inner.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.files.insert(to.to_path_buf(), file);
        inner.touched(from);
        inner.touched(to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.inner.lock().unwrap();
        inner.files.remove(path).ok_or(io::ErrorKind::NotFound)?;
        inner.touched(path);
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>> {
        let inner = self.inner.lock().unwrap();
        let inside = inner.files.iter().filter(|(path, _)| path.parent() == Some(folder));
        Ok(inside.map(|(path, (_, changed))| (path.clone(), *changed)).collect())
    }

    fn liveness(&self, pid: u32) -> Liveness {
        let inner = self.inner.lock().unwrap();
        inner.processes.get(&pid).copied().unwrap_or(inner.untold)
    }

    fn changed(&self, path: &Path) -> Option<SystemTime> {
        self.inner.lock().unwrap().files.get(path).map(|(_, changed)| *changed)
    }

    fn port_owner(&self, port: u16) -> Option<Owner> {
        let inner = self.inner.lock().unwrap();
        inner.owners.get(&port).filter(|_| inner.net.as_ref().is_none_or(|net| net.listens(port))).cloned()
    }

    fn caller(&self, from: SocketAddr, _to: u16) -> Caller {
        let inner = self.inner.lock().unwrap();
        inner.callers.get(&from).unwrap_or(&inner.any_caller).clone()
    }

    fn watch(&self, files: &[PathBuf]) -> Option<Watch> {
        let (sender, changes) = mpsc::channel(1);
        self.inner.lock().unwrap().watches.push((files.to_vec(), sender));
        Some(Watch::new(changes, Box::new(())))
    }

    fn random(&self) -> [u8; 16] {
        self.inner.lock().unwrap().dice.u128(..).to_ne_bytes()
    }

    fn secret(&self) -> io::Result<[u8; 32]> {
        let mut inner = self.inner.lock().unwrap();
        if inner.lacks_secrets {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut bytes = [0; 32];
        inner.dice.fill(&mut bytes);
        Ok(bytes)
    }

    fn now(&self) -> SystemTime {
        if self.clock_panics.swap(false, Ordering::SeqCst) {
            std::panic::panic_any(MARK);
        }
        SystemTime::UNIX_EPOCH + EPOCH + (self.elapsed)() + self.inner.lock().unwrap().ahead
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        let slow = self.inner.lock().unwrap().slow;
        Box::pin(async move {
            if !slow.is_zero() {
                tokio::time::sleep(slow).await;
            }
            work();
        })
    }
}

/// The fake editor writes its project's files here.
impl holdfast_fake_unity::Files for MemoryHost {
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
