//! Local sockets: Unix sockets, and named pipes on Windows. Only the simulated editor listens on them here; the gateway's own one is
//! not shared.

use std::io;
use std::path::Path;

/// A bound Unix socket. Its file stays when it is dropped, as after a crash.
#[cfg(unix)]
pub(super) struct Bound(tokio::net::UnixListener);

#[cfg(unix)]
impl Bound {
    /// Binds the socket at this path. Its folder is made for this user alone, if it is missing.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            std::fs::DirBuilder::new().mode(0o700).create(folder).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })?;
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        tokio::net::UnixListener::bind(path).map(Self)
    }

    /// Waits for the next connection.
    pub(super) async fn accept(&self) -> io::Result<tokio::net::UnixStream> {
        Ok(self.0.accept().await?.0)
    }
}

/// A named pipe: the instance that waits for the next client.
#[cfg(windows)]
pub(super) struct Bound {
    path: std::path::PathBuf,
    next: tokio::sync::Mutex<tokio::net::windows::named_pipe::NamedPipeServer>,
}

#[cfg(windows)]
impl Bound {
    /// Creates the first instance of the pipe.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let first = tokio::net::windows::named_pipe::ServerOptions::new().first_pipe_instance(true).create(path)?;
        Ok(Self { path: path.to_path_buf(), next: tokio::sync::Mutex::new(first) })
    }

    /// Waits for the next connection.
    pub(super) async fn accept(&self) -> io::Result<tokio::net::windows::named_pipe::NamedPipeServer> {
        let mut next = self.next.lock().await;
        next.connect().await?;
        let following = tokio::net::windows::named_pipe::ServerOptions::new().create(&self.path)?;
        Ok(std::mem::replace(&mut *next, following))
    }
}
