//! A face lets the model speak one package's wire protocol.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use holdfast_net::{BoxFuture, BoxStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::model::{Editor, Note};
use super::project::{OwnFile, Project};
use super::spec::Tool;

/// How much is asked of a socket at once.
const READ_BYTES: usize = 64 * 1024;

/// Something that an editor tells its peers.
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
    /// A push message of this type was asked for by name.
    Push { kind: String },
    /// Play mode began or ended.
    StateChanged,
}

/// One package's wire protocol, seen from the editor.
pub(crate) trait Face: Send + Sync + 'static {
    /// The tools that an editor with this package has.
    fn tools(&self) -> Vec<Tool>;
    /// Serves one connection to its end; returns why it ended.
    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str>;
    /// Tells every peer, and returns when they were told or do not read.
    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()>;
    /// A domain began; `again` after a reload.
    fn domain_began(&self, editor: &Arc<Editor>, again: bool);
    /// A domain, or the bridge in it, ends: everything the face runs beside its connections has ended on return.
    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()>;
    /// The bridge has begun to listen, or has stopped: the file that the package keeps about itself. `port` is the last one.
    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile;
    /// Puts the package into the project.
    fn install(&self, project: &Project) -> std::io::Result<()>;
    /// A process of the editor begins: nothing that an earlier one kept in its memory is left.
    fn process_began(&self, editor: &Editor);
    /// Whether the package keeps lock files in `Temp`.
    fn locks(&self) -> bool;
    /// For how long the listener of a bridge that stops outlives its connections.
    fn listener_outlives_connections(&self) -> Duration {
        Duration::ZERO
    }
    /// Whether the package listens on its port for a moment, to see that it is free, before its bridge does.
    fn probes_port(&self) -> bool {
        false
    }
    /// Whether the bridge listens where it did before. Else every domain has a port of its own, and takes the package's file
    /// with it at its end; a crash leaves the file.
    fn keeps_port(&self) -> bool {
        true
    }
}

/// One accepted connection. Nothing is read or written while the editor is frozen, as with a stopped process.
pub(crate) struct Link {
    /// Its number.
    pub(crate) connection: u64,
    /// What is to be said on it beside replies.
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

/// Both sides of a socket that stand still while the editor is frozen.
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
    /// Appends what comes next; 0 at the end. Loses nothing when it is dropped.
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
    /// Writes all of it.
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

    /// Says that nothing more comes, so that what was written arrives before the end does.
    pub(crate) async fn finish(&mut self) -> std::io::Result<()> {
        self.writer.shutdown().await
    }

    /// Writes a note and tells whoever waits for it.
    pub(crate) async fn note(&mut self, note: Note) -> std::io::Result<()> {
        self.write(&note.frame).await?;
        // Nobody has to wait for it.
        let _ = note.written.send(());
        Ok(())
    }
}
