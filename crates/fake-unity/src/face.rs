//! The interface between the editor model and a simulated package ("face"), which speaks one wire protocol.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use holdfast_net::{BoxFuture, BoxStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::model::{Editor, Note};
use super::project::{OwnFile, Project};
use super::spec::Tool;
use crate::limits::{BIND_WAIT, DIAL_RETRY};

/// Maximum number of bytes of one read from a socket.
const READ_BYTES: usize = 64 * 1024;

/// Something that an editor reports to its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A domain reload begins; the connections are closed next.
    ReloadBegins,
    /// The bridge listens again after a reload; it has done so for one frame.
    Back,
    /// The tool list changed.
    ToolsChanged { names: Vec<String>, change: &'static str },
    /// The user stopped the bridge; the connections are closed next.
    Stopped,
    /// The editor quits; the connections are closed next.
    Quits,
    /// A test, or a command to the process, asked for a push message of this type.
    Push { kind: String },
    /// Play mode began or ended.
    StateChanged,
}

/// A step in the life of a bridge, for a package that keeps files outside of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The bridge is about to listen.
    Starts,
    /// Its port is taken, so it waits, or looks for another one.
    FindsPortTaken,
    /// It listens.
    Listens,
    /// It could not listen.
    Fails,
    /// It could not listen after a reload, and tries no more.
    GivesUp,
    /// It was closed by a reload.
    Reloads,
    /// It was closed by the user, or by the end of the process.
    Stops,
}

/// What a bridge does after a reload if another program has its port. It then says so ([`Event::PortTaken`]), and
/// [`Event::BindFailed`](super::events::Event::BindFailed) if it gives up.
///
/// [`Event::PortTaken`]: super::events::Event::PortTaken
#[derive(Debug, Clone, Copy)]
pub(crate) struct IfTaken {
    /// How long it tries this port, before it does anything else.
    pub(crate) waits: Duration,
    /// How many of the ports behind it are tried then.
    pub(crate) behind: u16,
    /// The first and the last of the ports that are tried then, whatever its own is.
    pub(crate) among: Option<(u16, u16)>,
    /// Whether any port does if these are taken too. If not, the bridge stays down until its next start.
    pub(crate) then_any: bool,
}

impl IfTaken {
    /// Tries this port only, for a short time.
    pub(crate) const WAITS: Self = Self { waits: BIND_WAIT, behind: 0, among: None, then_any: false };
}

/// One package's wire protocol, from the editor's side.
pub(crate) trait Face: Send + Sync + 'static {
    /// Returns the tools that an editor with this package has at its start.
    fn tools(&self) -> Vec<Tool>;
    /// Serves one connection to its end; returns why it ended.
    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str>;
    /// Sends `moment` to every peer. Returns when it is written, or after a time limit if a peer does not read.
    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()>;
    /// Called when a domain, or the bridge in it, begins. `again` is true after a reload.
    fn domain_began(&self, editor: &Arc<Editor>, again: bool);
    /// Called when a domain, or the bridge in it, ends. On return, every task of the package except its connections has ended.
    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()>;
    /// Returns the file in which the package publishes its port or settings. Called after the bridge has begun to listen or has
    /// stopped. `port` is the port on which it listens, or listened last.
    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile;
    /// Installs the package into the project.
    fn install(&self, project: &Project) -> std::io::Result<()>;
    /// Called when a process of the editor begins. Drops everything that an earlier process had in memory.
    fn process_began(&self, editor: &Editor);
    /// Whether the package keeps lock files in `Temp`.
    fn locks(&self) -> bool;
    /// How long the listener of a bridge that is stopping stays open after its connections are closed.
    fn listener_outlives_connections(&self) -> Duration {
        Duration::ZERO
    }
    /// Whether the bridge connects to the gateway, which listens on the port.
    fn dials(&self) -> bool {
        false
    }
    /// Makes the next connection of such a bridge. It is dropped and called again when the process was frozen.
    fn connect<'a>(&'a self, editor: &'a Arc<Editor>, port: u16) -> BoxFuture<'a, BoxStream> {
        Box::pin(async move {
            loop {
                // A connection that was made a moment ago does not count before its task has begun.
                tokio::time::sleep(DIAL_RETRY).await;
                if editor.connections() == 0
                    && let Ok(stream) = editor.net.connect(port).await
                {
                    return stream;
                }
            }
        })
    }
    /// Called at each step of the bridge. `port` is the port on which it listens, or listened last.
    fn reaches<'a>(&'a self, _editor: &'a Arc<Editor>, _step: Step, _port: u16) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
    /// Returns the local socket (on Windows the named pipe) on which the bridge listens for this project. Its port then stands for
    /// what a user put before the socket, such as a tunnel.
    fn local_socket(&self, _project: &Path) -> Option<PathBuf> {
        None
    }
    /// Whether the package listens on its port for a moment before the bridge does, to check whether the port is free.
    fn probes_port(&self) -> bool {
        false
    }
    /// Whether the bridge listens on its earlier port again. If not, every domain gets another port, and the file of the package
    /// is removed at the end of the domain. A crash leaves the file.
    fn keeps_port(&self) -> bool {
        true
    }
    /// Whether nothing of the package runs in a process that began with scripts that do not compile, until they do.
    fn ends_in_safe_mode(&self) -> bool {
        false
    }
    /// What the bridge does after a reload if its port is taken.
    fn if_taken(&self) -> IfTaken {
        IfTaken::WAITS
    }
}

/// An accepted connection. While the editor is frozen, nothing is read or written, as with a stopped process.
pub(crate) struct Link {
    /// Number of the connection.
    pub(crate) connection: u64,
    /// Messages to send in addition to replies.
    pub(crate) notes: mpsc::Receiver<Note>,
    /// The incoming side.
    pub(crate) reader: Reader,
    /// The outgoing side.
    pub(crate) writer: Writer,
}

impl Link {
    pub(crate) fn new(editor: &Arc<Editor>, connection: u64, notes: mpsc::Receiver<Note>, stream: BoxStream) -> Self {
        let (reader, writer) = split(editor, stream);
        Self { connection, notes, reader, writer }
    }
}

/// Splits a socket into its two halves. Both stop while the editor is frozen.
pub(crate) fn split(editor: &Arc<Editor>, stream: BoxStream) -> (Reader, Writer) {
    let (reader, writer) = tokio::io::split(stream);
    (Reader { editor: editor.clone(), reader }, Writer { editor: editor.clone(), writer })
}

/// The incoming side of a socket.
pub(crate) struct Reader {
    editor: Arc<Editor>,
    reader: ReadHalf<BoxStream>,
}

impl Reader {
    /// Appends the next bytes to `buffer` and returns their number; 0 at the end of the connection. Cancel-safe.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> std::io::Result<usize> {
        buffer.reserve(READ_BYTES);
        loop {
            self.editor.thawed().await;
            tokio::select! {
                biased;
                () = self.editor.frozen() => {}
                read = self.reader.read_buf(buffer) => return read,
            }
        }
    }
}

/// The outgoing side of a socket.
pub(crate) struct Writer {
    editor: Arc<Editor>,
    writer: WriteHalf<BoxStream>,
}

impl Writer {
    /// Writes all bytes.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            self.editor.thawed().await;
            tokio::select! {
                biased;
                () = self.editor.frozen() => {}
                written = self.writer.write(bytes) => match written? {
                    0 => return Err(std::io::ErrorKind::WriteZero.into()),
                    count => bytes = bytes.get(count..).unwrap_or_default(),
                },
            }
        }
        self.writer.flush().await
    }

    /// Shuts down sending, so that the peer receives everything written before it sees the end of the connection.
    pub(crate) async fn finish(&mut self) -> std::io::Result<()> {
        self.writer.shutdown().await
    }

    /// Writes a note and signals that it was written.
    pub(crate) async fn note(&mut self, note: Note) -> std::io::Result<()> {
        self.write(&note.frame).await?;
        // If the sender has stopped waiting, there is nobody to signal.
        let _ = note.written.send(());
        Ok(())
    }
}
