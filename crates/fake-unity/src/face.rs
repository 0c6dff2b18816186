//! A face lets the model use one package's wire protocol.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use holdfast_net::{BoxFuture, BoxStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::model::{Editor, Note};
use super::project::{OwnFile, Project};
use super::spec::Tool;

/// How many bytes one read asks of a socket.
const READ_BYTES: usize = 64 * 1024;

/// Something that an editor reports to its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A domain reload begins; the connections are closed next.
    ReloadBegins,
    /// The bridge listens again, one frame ago.
    Back,
    /// The tool list changed.
    ToolsChanged { names: Vec<String>, change: &'static str },
    /// The user stopped the bridge; the connections are closed next.
    Stopped,
    /// The editor quits; the connections are closed next.
    Quits,
    /// A test or the person at the editor asked for a push message of this type.
    Push { kind: String },
    /// Play mode began or ended.
    StateChanged,
}

/// One package's wire protocol, on the editor's side.
pub(crate) trait Face: Send + Sync + 'static {
    /// The tools that an editor with this package has.
    fn tools(&self) -> Vec<Tool>;
    /// Serves one connection to its end; returns why it ended.
    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str>;
    /// Sends `moment` to every peer, and returns when it was written or a peer does not read.
    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()>;
    /// A domain or its bridge began; `again` after a reload.
    fn domain_began(&self, editor: &Arc<Editor>, again: bool);
    /// A domain, or the bridge in it, ends. On return, everything that the face runs beside its connections has ended.
    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()>;
    /// Returns the file that the package keeps about itself, after the bridge has begun to listen or has stopped. `port` is the
    /// latest port.
    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile;
    /// Installs the package into the project.
    fn install(&self, project: &Project) -> std::io::Result<()>;
    /// A process of the editor begins: drops everything that an earlier process had in memory.
    fn process_began(&self, editor: &Editor);
    /// Whether the package keeps lock files in `Temp`.
    fn locks(&self) -> bool;
    /// How long the listener of a stopping bridge outlives its connections.
    fn listener_outlives_connections(&self) -> Duration {
        Duration::ZERO
    }
    /// Whether the package listens on its port for a moment before its bridge does, to see whether the port is free.
    fn probes_port(&self) -> bool {
        false
    }
    /// Whether the bridge listens on its earlier port again. If not, every domain has a port of its own, and the package's file
    /// is removed at the end of the domain; a crash leaves the file.
    fn keeps_port(&self) -> bool {
        true
    }
}

/// An accepted connection. Nothing is read or written while the editor is frozen, as with a stopped process.
pub(crate) struct Link {
    /// Number of the connection.
    pub(crate) connection: u64,
    /// Messages to send beside replies.
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

/// The two halves of a socket; both stop while the editor is frozen.
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
    /// Appends the next bytes to `buffer`; 0 at the end. Cancel-safe.
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

    /// Closes this half, so that everything written arrives before the end of the connection.
    pub(crate) async fn finish(&mut self) -> std::io::Result<()> {
        self.writer.shutdown().await
    }

    /// Writes a note and signals that it was written.
    pub(crate) async fn note(&mut self, note: Note) -> std::io::Result<()> {
        self.write(&note.frame).await?;
        // The sender may have stopped waiting.
        let _ = note.written.send(());
        Ok(())
    }
}
