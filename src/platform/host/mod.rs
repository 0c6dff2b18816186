//! The seam to the machine: files, file watching, processes, port owners and randomness. In tests a simulation takes its place.

pub mod focus;
mod interface;
mod processes;
#[cfg(target_os = "linux")]
mod sockets;
mod watch;

#[cfg(not(target_os = "linux"))]
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use self::interface::{
    Caller, FocusError, Host, Liveness, NotRead, Owner, Process, System, Watch, is_forbidden, is_lack_of_descriptors,
    is_temporary, run,
};
#[cfg(windows)]
pub use self::processes::user_of;
pub use self::processes::{Parent, kill};
pub use self::watch::follow;
use crate::limits::{FILE_BUSY_TRIES, FILE_BUSY_WAIT};
use crate::net::BoxFuture;

/// The real machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealHost;

impl Host for RealHost {
    fn read(&self, path: &Path, max: usize) -> io::Result<Vec<u8>> {
        use std::io::Read as _;
        let file = patiently(is_in_use, || open_without_following(path))?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(NotRead::NotAFile.into());
        }
        let mut bytes = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > max {
            return Err(NotRead::TooLarge { max }.into());
        }
        Ok(bytes)
    }

    fn user_folder(&self, variable: &str, name: &str) -> Option<PathBuf> {
        let named = std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
        named.or_else(|| Some(std::env::home_dir()?.join(name)))
    }

    fn ends(&self, path: &Path, head: usize, tail: usize) -> io::Result<(Vec<u8>, Vec<u8>)> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut file = patiently(is_in_use, || open_without_following(path))?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(NotRead::NotAFile.into());
        }
        let mut read = |from: u64, most: usize| {
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.by_ref().take(most as u64).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(bytes)
        };
        Ok((read(0, head)?, read(meta.len().saturating_sub(tail as u64), tail)?))
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write as _;
        make_private_folder(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        replace(self, path, |temporary| create_private(temporary)?.write_all(bytes))
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write as _;
        replace(self, path, |temporary| {
            let mut file = create_private(temporary)?;
            file.write_all(bytes)?;
            let_all_read(&file)
        })
    }

    fn append_line(&self, path: &Path, line: &str) -> io::Result<()> {
        use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
        let mut file = match patiently(is_in_use, || open_end(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_folder(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
                open_end(path)?
            }
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"));
        }
        if line.is_empty() {
            return Ok(());
        }
        // A full disk may have cut the previous line short. If so, a line end is written first, so that this line is not appended
        // to it.
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
        }
        let before = if last == [b'\n'] { "" } else { "\n" };
        let whole = format!("{before}{line}\n");
        match file.write(whole.as_bytes())? {
            count if count == whole.len() => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::WriteZero,
                "only a part could be written: the disk is full, or a limit on the size of files (ulimit -f) is reached",
            )),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        patiently(is_held, || std::fs::rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(PathBuf, SystemTime)>> {
        files_of(std::fs::read_dir(folder)?)
    }

    fn liveness(&self, pid: u32) -> Liveness {
        processes::liveness(pid)
    }

    fn process(&self, pid: u32) -> Option<Process> {
        processes::process(pid, self.now())
    }

    fn process_owner(&self, pid: u32) -> Option<Owner> {
        let known = processes::process(pid, self.now())?;
        Some(Owner {
            pid,
            name: known.names.first().cloned().unwrap_or_default(),
            command_line: processes::command_line(pid),
        })
    }

    fn changed(&self, path: &Path) -> Option<SystemTime> {
        path.symlink_metadata().and_then(|meta| meta.modified()).ok()
    }

    #[cfg(target_os = "linux")]
    fn port_owner(&self, port: u16) -> Option<Owner> {
        owner(sockets::Proc::default().listener(port, None)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn port_owner(&self, port: u16) -> Option<Owner> {
        let all = listeners::get_all().ok()?;
        // More than one socket may listen on a port. A connect to 127.0.0.1 reaches the socket with the most exact address, and
        // never one on `::1`.
        let exactness = |ip: std::net::IpAddr| match ip {
            std::net::IpAddr::V4(ip) if ip == std::net::Ipv4Addr::LOCALHOST => Some(0),
            std::net::IpAddr::V4(ip) if ip.is_unspecified() => Some(1),
            std::net::IpAddr::V6(ip) if ip.to_ipv4_mapped() == Some(std::net::Ipv4Addr::LOCALHOST) => Some(0),
            std::net::IpAddr::V6(ip) if ip.is_unspecified() => Some(2),
            std::net::IpAddr::V4(_) | std::net::IpAddr::V6(_) => None,
        };
        let here = all.into_iter().filter(|listener| is_listening(listener) && listener.socket.port() == port);
        let reached = here.filter_map(|l| exactness(l.socket.ip()).map(|rank| (rank, l)));
        let (_, listener) = reached.min_by_key(|(rank, _)| *rank)?;
        let pid = listener.process.pid;
        Some(Owner { pid, name: listener.process.name, command_line: processes::command_line(pid) })
    }

    #[cfg(target_os = "linux")]
    fn port_owner_near(&self, port: u16, expected: u32) -> Option<Owner> {
        owner(sockets::Proc::default().listener(port, Some(expected))?)
    }

    #[cfg(target_os = "linux")]
    fn caller(&self, from: SocketAddr, to: u16) -> Caller {
        let SocketAddr::V4(from) = from else { return Caller::Untold };
        let Some((user, pid)) = sockets::Proc::default().caller(from, to) else { return Caller::Untold };
        let is_ours = user == rustix::process::geteuid().as_raw();
        if is_ours { pid.and_then(owner).map_or(Caller::Untold, Caller::Process) } else { Caller::OfOtherUser }
    }

    /// macOS lists no sockets of other users' processes, so there nothing is told of them.
    #[cfg(not(target_os = "linux"))]
    fn caller(&self, from: SocketAddr, _to: u16) -> Caller {
        let all = listeners::get_all().unwrap_or_default();
        let is_it = |listener: &listeners::Listener| {
            let socket = SocketAddr::new(listener.socket.ip().to_canonical(), listener.socket.port());
            listener.protocol == listeners::Protocol::TCP && !is_listening(listener) && socket == from
        };
        let Some(found) = all.into_iter().find(is_it) else { return Caller::Untold };
        let pid = found.process.pid;
        // Windows does not tell the user of a process that this user may not open.
        #[cfg(windows)]
        if user_of(pid) != user_of(std::process::id()) {
            return Caller::OfOtherUser;
        }
        Caller::Process(Owner { pid, name: found.process.name, command_line: processes::command_line(pid) })
    }

    #[cfg(target_os = "linux")]
    fn ports_of(&self, pid: u32, ports: RangeInclusive<u16>) -> Vec<u16> {
        sockets::Proc::default().listens_among(pid, &ports)
    }

    #[cfg(not(target_os = "linux"))]
    fn ports_of(&self, pid: u32, ports: RangeInclusive<u16>) -> Vec<u16> {
        let all = listeners::get_all().unwrap_or_default();
        let of_it = all.into_iter().filter(|listener| is_listening(listener) && listener.process.pid == pid);
        let found: BTreeSet<u16> =
            of_it.map(|listener| listener.socket.port()).filter(|port| ports.contains(port)).collect();
        found.into_iter().collect()
    }

    fn watch(&self, files: &[PathBuf]) -> Option<Watch> {
        watch::real(files)
    }

    fn lacks_descriptors(&self) -> bool {
        io::pipe().is_err_and(|error| is_lack_of_descriptors(&error))
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // If the system has no source of entropy, the bytes are at least very likely to be unique on this machine.
            let fallback = fastrand::u128(..).to_ne_bytes();
            bytes = fallback;
        }
        bytes
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam through which the wall clock is read")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn can_focus(&self) -> bool {
        focus::means().is_some()
    }

    fn focus(&self, pid: u32) -> Result<(), FocusError> {
        focus::focus(pid, &focus::look()?)
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        let task = tokio::task::spawn_blocking(work);
        Box::pin(async move {
            let _ = task.await;
        })
    }
}

/// Returns the name of this machine, if the system tells it.
#[cfg(unix)]
pub fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// Returns the name of this machine. Windows tells it in the variable COMPUTERNAME.
#[cfg(not(unix))]
pub fn host_name() -> Option<String> {
    None
}

/// Returns the release of the system's kernel, if the system tells it.
#[cfg(unix)]
pub fn release() -> Option<String> {
    rustix::system::uname().release().to_str().ok().map(str::to_owned)
}

/// Returns the release of the system's kernel. Not asked for on Windows.
#[cfg(not(unix))]
pub fn release() -> Option<String> {
    None
}

/// Replaces a file by one that `write` makes at another path in the same folder.
pub(crate) fn replace(host: &RealHost, path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let tag = uuid::Builder::from_random_bytes(host.random()).into_uuid().simple().to_string();
    let temporary = folder.join(format!(".{tag}.tmp"));
    debug_assert!(is_temporary(&temporary), "what is cut off is found again by its name");
    let done = write(&temporary).and_then(|()| host.rename(&temporary, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Lets every user of the machine read a file, whatever the process's umask is. On Windows a file has the rights of its folder.
fn let_all_read(file: &std::fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Retries for a moment an operation that Windows refuses while another program has the file open without sharing it. Virus
/// scanners do so with files that were just written, and an editor does so with its own files.
fn patiently<T>(is_busy: fn(System, &io::Error) -> bool, operation: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..FILE_BUSY_TRIES {
        match operation() {
            Err(error) if is_busy(System::HERE, &error) => std::thread::park_timeout(FILE_BUSY_WAIT),
            done => return done,
        }
    }
    operation()
}

/// Whether a file cannot be opened because another program has it open (`ERROR_SHARING_VIOLATION`, `ERROR_LOCK_VIOLATION`).
/// Always false on other systems than Windows.
fn is_in_use(system: System, error: &io::Error) -> bool {
    system == System::Windows && matches!(error.raw_os_error(), Some(32 | 33))
}

/// Whether a file cannot be replaced, or created where another one is being deleted, because a program has that file open.
/// Windows then also reports `ERROR_ACCESS_DENIED`; when a file is opened, that code usually means missing rights. Always false
/// on other systems.
pub(crate) fn is_held(system: System, error: &io::Error) -> bool {
    is_in_use(system, error) || system == System::Windows && error.raw_os_error() == Some(5)
}

#[cfg(target_os = "linux")]
fn owner(pid: u32) -> Option<Owner> {
    Some(Owner { pid, name: sockets::name_of(pid), command_line: processes::command_line(pid) })
}

/// Whether the socket accepts TCP connections. The system's table also lists both ends of each connection.
#[cfg(not(target_os = "linux"))]
fn is_listening(listener: &listeners::Listener) -> bool {
    listener.protocol == listeners::Protocol::TCP && listener.state == listeners::SocketState::Listen
}

/// Returns the regular files among these entries, with the times of their last changes. Skips a file that was deleted after the
/// folder was read.
fn files_of(entries: impl Iterator<Item = io::Result<std::fs::DirEntry>>) -> io::Result<Vec<(PathBuf, SystemTime)>> {
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let meta = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            meta => meta?,
        };
        if meta.is_file() {
            files.push((entry.path(), meta.modified()?));
        }
    }
    Ok(files)
}

#[cfg(unix)]
pub(crate) fn open_without_following(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // NONBLOCK: to open a FIFO must not block.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    // The system's error for a link at the end of a path (ELOOP) also means links that form a circle, so the path is checked.
    opened.map_err(|error| if is_link(path) { NotRead::Link.into() } else { error })
}

#[cfg(not(unix))]
pub(crate) fn open_without_following(path: &Path) -> io::Result<std::fs::File> {
    if is_link(path) {
        return Err(NotRead::Link.into());
    }
    std::fs::File::open(path)
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink())
}

/// Opens a file for appending, and creates it if it does not exist.
pub(crate) fn open_end(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).read(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // NONBLOCK for the reason in `open_without_following`.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    if is_link(path) {
        return Err(NotRead::Link.into());
    }
    options.open(path)
}

/// Retries for a moment an operation that Windows refuses while another program has the file open without sharing it.
#[cfg(not(unix))]
pub(super) fn in_a_moment<T>(operation: impl Fn() -> io::Result<T>) -> io::Result<T> {
    patiently(is_in_use, operation)
}

#[cfg(unix)]
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub(crate) fn create_private(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_read_within_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.json");
        RealHost.write(&path, b"12345").unwrap();
        assert_eq!(RealHost.read(&path, 5).unwrap(), b"12345");
        assert_eq!(RealHost.read(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(RealHost.list(path.parent().unwrap()).unwrap().len(), 1, "no temporary file stays behind");
    }

    #[test]
    fn only_windows_holds_files_and_only_what_passes_is_tried_again() {
        let error = io::Error::from_raw_os_error;
        for code in [32, 33] {
            assert!(is_in_use(System::Windows, &error(code)) && is_held(System::Windows, &error(code)));
        }
        assert!(is_held(System::Windows, &error(5)) && !is_in_use(System::Windows, &error(5)));
        for code in [2, 3, 4, 87] {
            assert!(!is_held(System::Windows, &error(code)), "{code}");
        }
        for (system, code) in [(System::Linux, 32), (System::Macos, 5), (System::Macos, 33)] {
            assert!(!is_held(system, &error(code)) && !is_in_use(system, &error(code)));
        }
        let tries = std::cell::Cell::new(0);
        let busy = |_: System, _: &io::Error| true;
        let third = || {
            tries.set(tries.get() + 1);
            if tries.get() < 3 { Err(error(32)) } else { Ok(()) }
        };
        assert!(patiently(busy, third).is_ok());
        assert_eq!(tries.get(), 3);
    }

    #[test]
    fn a_file_that_vanishes_while_its_folder_is_listed_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [gone, kept] = ["gone", "kept"].map(|name| folder.path().join(name));
        std::fs::write(&gone, "").unwrap();
        std::fs::write(&kept, "").unwrap();
        let entries: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        std::fs::remove_file(gone).unwrap();
        let files = files_of(entries.into_iter()).unwrap();
        let files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
        // Windows returns the metadata that it had when the folder was read.
        assert!(files == [kept.clone()] || cfg!(windows) && files.contains(&kept), "{files:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_fifos_are_refused_without_hanging() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, fifo) = (folder.path().join("f"), folder.path().join("l"), folder.path().join("p"));
        std::fs::write(&file, b"x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(RealHost.read(&link, 10).is_err());
        assert_eq!(RealHost.read(&fifo, 10).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[tokio::test]
    async fn a_port_and_a_connection_to_it_are_traced_to_their_process() {
        let listener = crate::net::Net::bind(&crate::net::Tcp, 0).await.unwrap();
        let port = listener.local_addr().port();
        assert_eq!(RealHost.port_owner(port).map(|owner| owner.pid), Some(std::process::id()));
        let _near = crate::net::Net::connect(&crate::net::Tcp, port).await.unwrap();
        let (_far, from) = listener.accept().await.unwrap();
        let caller = RealHost.caller(from, port);
        assert!(matches!(&caller, Caller::Process(owner) if owner.pid == std::process::id()), "{caller:?}");
    }
}
