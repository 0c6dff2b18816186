//! Sockets that only programs of the same user on this machine can reach: Unix sockets, and named pipes on Windows.
//!
//! On Unix, the folder of the socket must belong to this user and be closed to all others, and each side checks the
//! user of the other. On Windows, a pipe has the system's default rights, under which only the same user (and
//! administrators) may write to it; the first instance of its name must be our own. The connecting side checks that the
//! process with the pipe belongs to this user.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};

use super::host::{Host as _, Process, RealHost};
use super::stdio::WriteAtOnce;

/// The longest path of a socket: macOS has room for 104 bytes, the end mark included.
#[cfg(unix)]
const PATH_MAX_BYTES: usize = 103;

/// An open connection.
pub struct Connection {
    /// The bytes that the other side writes.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// The bytes that the other side reads.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// The process at the other end; `None` if the system does not report it.
    pub peer: Option<Peer>,
    /// Tells whether the other side has closed the connection.
    pub hang_up: HangUp,
}

/// Tells whether the other side has closed a connection, even if bytes from before are not read yet. On Windows that is
/// known only once everything is read. Also true once this side has closed the connection.
#[derive(Debug, Clone)]
pub struct HangUp(#[cfg(unix)] std::sync::Weak<std::os::fd::OwnedFd>);

impl HangUp {
    /// Whether the connection is closed.
    pub fn has_come(&self) -> bool {
        #[cfg(unix)]
        {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let Some(socket) = self.0.upgrade() else { return true };
            let mut asked = [PollFd::new(&*socket, PollFlags::empty())];
            // These are reported without being asked for: both directions are closed, or the connection has failed.
            poll(&mut asked, Some(&Timespec::default())).is_ok_and(|found| found > 0)
        }
        #[cfg(not(unix))]
        false
    }

    /// Returns a function that writes to the other side without blocking. `None` if the system has no such write.
    pub fn write_at_once(&self) -> Option<WriteAtOnce> {
        #[cfg(unix)]
        {
            let socket = std::sync::Weak::clone(&self.0);
            Some(Box::new(move |bytes| {
                use rustix::net::{SendFlags, send};
                let socket = socket.upgrade().ok_or(io::ErrorKind::NotConnected)?;
                Ok(send(&*socket, bytes, SendFlags::DONTWAIT)?)
            }))
        }
        #[cfg(not(unix))]
        None
    }
}

/// The process at the other end of a connection, as the system reported it when the connection was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The pid of the process, in this process's own view.
    pub pid: u32,
    process: Process,
}

impl Peer {
    /// Returns the process with this pid; `None` if there is none.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, process: RealHost.process(pid)? })
    }

    /// Ends the process at once, without a chance to clean up, unless its pid belongs to another process by now. Returns whether
    /// it was told to end.
    pub fn kill(&self) -> bool {
        // The begin of a process is read from the clock of the machine, which moves a little between two readings.
        let is_same = |now: &Process| {
            let (earlier, later) = (now.began.min(self.process.began), now.began.max(self.process.began));
            now.names == self.process.names && later.duration_since(earlier).is_ok_and(|apart| apart.as_secs() < 2)
        };
        RealHost.process(self.pid).is_some_and(|now| is_same(&now)) && super::host::kill(self.pid)
    }
}

/// Why a connection or a listener cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Nothing accepts connections there.
    #[error("nothing listens there")]
    Nobody,
    /// The folder, the socket or the other side does not belong to this user alone.
    #[error("{0}")]
    Foreign(String),
    /// The system's error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Returns where the socket of this folder is. If the folder's path is too long for a socket, the socket is in a
/// private folder of this user among the temporary files. Its name follows from the folder's path.
pub fn place_of(folder: &Path) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let path = folder.join("socket");
        if path.as_os_str().as_bytes().len() <= PATH_MAX_BYTES {
            return path;
        }
        let user = rustix::process::getuid().as_raw();
        PathBuf::from(format!("/tmp/holdfast-{user}")).join(digest_of(folder))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(format!(r"\\.\pipe\holdfast-{}", digest_of(folder)))
    }
}

/// Returns 16 hexadecimal digits that follow from a path.
fn digest_of(folder: &Path) -> String {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
pub use self::unix::{Listener, connect, connect_to_editor, user};
#[cfg(windows)]
pub use self::windows::{Listener, connect, connect_to_editor, user};

#[cfg(unix)]
mod unix {
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::fs::MetadataExt as _;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, ReadBuf};
    use tokio::net::unix::OwnedReadHalf;
    use tokio::net::{UnixListener, UnixStream};
    use tokio::runtime::Handle;

    use super::{Connection, HangUp, Path, PathBuf, Peer, SocketError, io};

    /// A socket that accepts connections. Dropping it removes the socket's file.
    #[derive(Debug)]
    pub struct Listener {
        listener: UnixListener,
        path: PathBuf,
        /// The socket's file: device and inode.
        file: (u64, u64),
    }

    impl Listener {
        /// Binds the socket at this path. The caller holds a lock that keeps other processes from binding it, so a
        /// socket that a killed process left there is removed.
        ///
        /// # Errors
        /// [`SocketError`]: the folder is not this user's own, or the system refuses.
        pub fn bind(path: &Path) -> Result<Self, SocketError> {
            let folder = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
            crate::platform::host::make_private_folder(folder)?;
            check_folder(folder)?;
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            let listener = UnixListener::bind(path)?;
            let meta = path.symlink_metadata()?;
            Ok(Self { listener, path: path.to_path_buf(), file: (meta.dev(), meta.ino()) })
        }

        /// Whether the socket's file is the one at its path. Without it nobody can connect.
        pub fn is_there(&self) -> bool {
            self.path.symlink_metadata().is_ok_and(|meta| (meta.dev(), meta.ino()) == self.file)
        }

        /// Returns the path.
        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Waits for the next connection of a program of this user. Connections of others are closed. Bytes from the
        /// connection wake tasks of `runtime` without the help of another thread.
        ///
        /// # Errors
        /// The system's error.
        pub async fn accept(&mut self, runtime: &Handle) -> io::Result<Connection> {
            loop {
                let stream = self.listener.accept().await?.0.into_std()?;
                let stream = {
                    let _entered = runtime.enter();
                    UnixStream::from_std(stream)?
                };
                if let Ok(connection) = opened(stream) {
                    return Ok(connection);
                }
            }
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            // Another program may have put its own socket there.
            if self.is_there() {
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }

    /// Connects to the socket at this path. The caller must limit the time.
    ///
    /// # Errors
    /// [`SocketError`]: nothing listens there, the socket is not this user's own, or the system refuses.
    pub async fn connect(path: &Path) -> Result<Connection, SocketError> {
        let folder = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        match check_folder(folder) {
            Err(SocketError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Err(SocketError::Nobody),
            checked => checked?,
        }
        opened(dial(path).await?)
    }

    async fn dial(path: &Path) -> Result<UnixStream, SocketError> {
        UnixStream::connect(path).await.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => SocketError::Nobody,
            _ => error.into(),
        })
    }

    /// Returns the number of the user that this process works as.
    pub fn user() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Connects to the socket of an editor, whose package chose the path. Returns the process at the other end too, if the system
    /// tells it. The caller must limit the time. The folder must be this user's own, and one in which nobody else can put a socket;
    /// so must the folder around it, unless it is one like `/tmp`. A folder that is named for the user must be closed to all others.
    ///
    /// # Errors
    /// [`SocketError`], as for [`connect`].
    pub async fn connect_to_editor(path: &Path) -> Result<(UnixStream, Option<u32>), SocketError> {
        let folder = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let around = folder.parent().and_then(|around| around.canonicalize().ok()).ok_or(SocketError::Nobody)?;
        let (outer, root) = (around.symlink_metadata()?, 0);
        let is_safe = outer.mode() & 0o022 == 0 || outer.mode() & 0o1000 != 0;
        if !is_safe || outer.uid() != root && outer.uid() != user() {
            return Err(SocketError::Foreign(format!("others can put a folder into {}", around.display())));
        }
        let is_named = folder.to_string_lossy().ends_with(&format!("-{}", user()));
        match check_folder_for(folder, user(), if is_named { 0o077 } else { 0o022 }) {
            Err(SocketError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Err(SocketError::Nobody),
            checked => checked?,
        }
        let stream = dial(path).await?;
        let pid = peer_of(&stream, user())?;
        Ok((stream, pid))
    }

    fn check_folder(folder: &Path) -> Result<(), SocketError> {
        check_folder_for(folder, rustix::process::getuid().as_raw(), 0o077)
    }

    /// Checks that a folder is this user's own, and has none of the `denied` rights.
    fn check_folder_for(folder: &Path, user: u32, denied: u32) -> Result<(), SocketError> {
        let meta = folder.symlink_metadata()?;
        if meta.is_symlink() {
            return Err(SocketError::Foreign(format!("{} is a link, which is not followed", folder.display())));
        }
        if meta.is_dir() && meta.uid() == user && meta.mode() & denied == 0 {
            return Ok(());
        }
        Err(SocketError::Foreign(format!(
            "{} is not a folder of this user alone (owner {}, mode {:o})",
            folder.display(),
            meta.uid(),
            meta.mode() & 0o7777
        )))
    }

    fn opened(stream: UnixStream) -> Result<Connection, SocketError> {
        let pid = peer_of(&stream, rustix::process::getuid().as_raw())?;
        let socket = Arc::new(stream.as_fd().try_clone_to_owned()?);
        let hang_up = HangUp(Arc::downgrade(&socket));
        let (half, writer) = stream.into_split();
        let reader = Reader { half, _socket: socket };
        Ok(Connection { reader: Box::new(reader), writer: Box::new(writer), peer: pid.and_then(Peer::of), hang_up })
    }

    /// Returns the process at the other end, if the system tells it. It must be one of this user.
    fn peer_of(stream: &UnixStream, user: u32) -> Result<Option<u32>, SocketError> {
        let credentials = stream.peer_cred()?;
        if credentials.uid() != user {
            return Err(SocketError::Foreign(format!("the program there belongs to the user {}", credentials.uid())));
        }
        // A process outside of this pid namespace has the pid 0.
        Ok(credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0))
    }

    /// The reading half, with the descriptor that [`HangUp`] asks. The descriptor is closed with this half.
    struct Reader {
        half: OwnedReadHalf,
        _socket: Arc<OwnedFd>,
    }

    impl AsyncRead for Reader {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.half).poll_read(context, into)
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::AsHandle as _;

    use interprocess::os::windows::named_pipe::{DuplexPipeStream, pipe_mode::Bytes};
    use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};
    use tokio::runtime::Handle;

    use super::{Connection, HangUp, Path, PathBuf, Peer, SocketError, io};
    use crate::platform::host::user_of;

    /// All instances of the pipe are busy (winerror.h).
    const ERROR_PIPE_BUSY: i32 = 231;
    /// How long to wait until an instance is free.
    const BUSY_WAIT: std::time::Duration = std::time::Duration::from_millis(10);

    /// A pipe that accepts connections.
    #[derive(Debug)]
    pub struct Listener {
        next: NamedPipeServer,
        path: PathBuf,
    }

    impl Listener {
        /// Creates the first instance of the pipe.
        ///
        /// # Errors
        /// [`SocketError`]: another program has a pipe of this name, or the system refuses.
        pub fn bind(path: &Path) -> Result<Self, SocketError> {
            let next = ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(path);
            let next = next.map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    SocketError::Foreign(format!("another program has the pipe {}", path.display()))
                }
                _ => error.into(),
            })?;
            Ok(Self { next, path: path.to_path_buf() })
        }

        /// Whether somebody can connect. Always true: a pipe cannot be removed.
        pub fn is_there(&self) -> bool {
            true
        }

        /// Returns the path.
        pub fn path(&self) -> &Path {
            &self.path
        }

        /// Waits for the next connection.
        ///
        /// # Errors
        /// The system's error.
        pub async fn accept(&mut self, _: &Handle) -> io::Result<Connection> {
            self.next.connect().await?;
            let next = ServerOptions::new().reject_remote_clients(true).create(&self.path)?;
            let pipe = std::mem::replace(&mut self.next, next);
            let (reader, writer) = tokio::io::split(pipe);
            Ok(Connection { reader: Box::new(reader), writer: Box::new(writer), peer: None, hang_up: HangUp() })
        }
    }

    /// Connects to the pipe. The caller must limit the time.
    ///
    /// # Errors
    /// [`SocketError`]: no program has the pipe, it is another user's, or the system refuses.
    pub async fn connect(path: &Path) -> Result<Connection, SocketError> {
        let (pipe, server) = dial(path).await?;
        let (reader, writer) = tokio::io::split(pipe);
        Ok(Connection { reader: Box::new(reader), writer: Box::new(writer), peer: Peer::of(server), hang_up: HangUp() })
    }

    /// Connects to the pipe of an editor. Returns the process that has it too.
    ///
    /// # Errors
    /// [`SocketError`], as for [`connect`].
    pub async fn connect_to_editor(path: &Path) -> Result<(NamedPipeClient, Option<u32>), SocketError> {
        let (pipe, server) = dial(path).await?;
        Ok((pipe, Some(server)))
    }

    /// Returns 0: users have no numbers here.
    pub fn user() -> u32 {
        0
    }

    /// Opens the pipe, and checks that the process that has it belongs to this user.
    async fn dial(path: &Path) -> Result<(NamedPipeClient, u32), SocketError> {
        loop {
            match ClientOptions::new().open(path) {
                Ok(pipe) => {
                    let server = server_of(&pipe)?;
                    if user_of(server).is_none_or(|user| Some(user) != user_of(std::process::id())) {
                        return Err(foreign(path));
                    }
                    return Ok((pipe, server));
                }
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => tokio::time::sleep(BUSY_WAIT).await,
                Err(error) => {
                    return Err(match error.kind() {
                        io::ErrorKind::NotFound => SocketError::Nobody,
                        io::ErrorKind::PermissionDenied => foreign(path),
                        _ => error.into(),
                    });
                }
            }
        }
    }

    fn foreign(path: &Path) -> SocketError {
        SocketError::Foreign(format!("the pipe {} belongs to another user", path.display()))
    }

    /// Returns the process that has created the pipe.
    fn server_of(pipe: &NamedPipeClient) -> io::Result<u32> {
        let handle = pipe.as_handle().try_clone_to_owned()?;
        DuplexPipeStream::<Bytes>::try_from(handle)?.server_process_id()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use tokio::runtime::Handle;

    use super::*;

    fn private_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    async fn says(path: &Path) -> Option<u32> {
        let mut listener = Listener::bind(path).unwrap();
        let (mut here, mut there) = tokio::try_join!(
            async { listener.accept(&Handle::current()).await.map_err(SocketError::from) },
            connect(path)
        )
        .unwrap();
        there.writer.write_all(b"hello").await.unwrap();
        let mut said = [0; 5];
        here.reader.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"hello");
        there.peer.map(|peer| peer.pid)
    }

    #[tokio::test]
    async fn two_programs_of_one_user_meet_however_long_the_path_of_the_folder_is() {
        let folder = private_folder();
        let long = folder.path().join("x".repeat(60)).join("y".repeat(60));
        for folder in [folder.path().to_path_buf(), long] {
            std::fs::create_dir_all(&folder).unwrap();
            let path = place_of(&folder);
            assert_eq!(says(&path).await, cfg!(target_os = "linux").then(std::process::id), "{}", path.display());
            assert!(!path.exists(), "its file goes with it");
            assert!(matches!(connect(&path).await, Err(SocketError::Nobody)));
        }
    }

    #[tokio::test]
    async fn the_socket_of_a_killed_process_is_nobodys_and_its_place_is_taken() {
        let folder = private_folder();
        let path = place_of(folder.path());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        assert!(matches!(connect(&path).await, Err(SocketError::Nobody)));
        says(&path).await;
    }

    #[tokio::test]
    async fn a_folder_that_others_may_enter_is_not_trusted() {
        let folder = private_folder();
        let path = place_of(folder.path());
        let _listener = Listener::bind(&path).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(connect(&path).await, Err(SocketError::Foreign(says)) if says.contains("755")));
        assert!(matches!(Listener::bind(&path), Err(SocketError::Foreign(_))));
        let link = private_folder();
        std::os::unix::fs::symlink(folder.path(), link.path().join("link")).unwrap();
        let through = link.path().join("link").join("socket");
        assert!(matches!(connect(&through).await, Err(SocketError::Foreign(_))));
    }

    #[test]
    fn only_the_process_that_was_met_is_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        // A process that was just created has no command line for a moment.
        let peer = loop {
            match Peer::of(child.id()) {
                Some(peer) => break peer,
                None => std::thread::yield_now(),
            }
        };
        let began = peer.process.began - std::time::Duration::from_secs(60);
        let earlier = Peer { process: Process { began, ..peer.process.clone() }, ..peer.clone() };
        assert!(!earlier.kill(), "a process that had this pid before");
        assert!(child.try_wait().unwrap().is_none());
        assert!(peer.kill());
        assert!(!child.wait().unwrap().success());
    }
}
