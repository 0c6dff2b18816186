//! The push channel: the editor connects to a client's listener and sends one JSON text per line, in the form of Unity's
//! JsonUtility. The listener never answers. uLoop has the channel only in a branch that was never released. holdfast's package
//! adds a token and sequence numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::events::Event;
use super::face::split;
use super::json::{self, Object, quoted};
use super::model::{Editor, Note};
use super::project::UNITY_VERSION;
use crate::limits::{GOODBYE_MAX, NOTES_MAX, PUSH_ATTEMPTS_MAX, PUSH_CONNECT_TIMEOUT, PUSH_ENDPOINTS_MAX, PUSH_RETRY};

/// The content of a push message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) kind: &'a str,
    /// Names of the changed tools in a `TOOLS_CHANGED` message; `change` says how they changed. Otherwise empty.
    pub(crate) names: &'a [String],
    pub(crate) change: &'a str,
}

impl<'a> Message<'a> {
    /// Makes a message that has only a type.
    pub(crate) fn of(kind: &'a str) -> Self {
        Self { kind, names: &[], change: "" }
    }
}

/// The data that the messages of one endpoint have in addition to their content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    /// Number of the message, from 1.
    pub(crate) sequence: u64,
    /// The token that the client gave with the endpoint; `None` if it gave none.
    pub(crate) token: Option<&'a str>,
}

/// How a package sends push messages.
pub(crate) trait Manner: Send + Sync + 'static {
    /// Returns the types of the first messages on a connection. `again`: this is the first connection after a reload.
    fn greetings(&self, again: bool) -> &'static [&'static str];
    /// Returns a message as a line, with its line end.
    fn line(&self, editor: &Editor, message: &Message<'_>, stamp: &Stamp<'_>) -> Vec<u8>;
    /// Returns the pause before the next attempt to connect. `failed`: number of attempts in a row that have failed; 0 after a
    /// lost connection. `None`: the endpoint is forgotten.
    fn pause(&self, failed: usize) -> Option<Duration>;
}

/// What the editor reports about itself in its first message on a connection.
#[derive(Debug, Default)]
pub(crate) struct Introduction {
    pub(crate) endpoint: String,
    pub(crate) project: String,
    pub(crate) session: String,
}

/// Returns the payload of a message. JsonUtility always writes every member, and writes null objects as empty objects.
pub(crate) fn payload(editor: &Editor, message: &Message<'_>, introduction: Option<Introduction>) -> String {
    let (reason, why) = match message.kind {
        "DOMAIN_RELOAD" => (message.kind, "Unity domain reload initiated"),
        "USER_DISCONNECT" => (message.kind, "UnityPushClient disconnecting"),
        "UNITY_SHUTDOWN" => (message.kind, "Unity Editor is shutting down"),
        _ => ("", ""),
    };
    let unity = if introduction.is_some() { UNITY_VERSION } else { "" };
    let introduction = introduction.unwrap_or_default();
    let (count, names, change) = match message.kind {
        "TOOLS_CHANGED" => (editor.state().tools.len(), message.names, message.change),
        _ => (0, [].as_slice(), ""),
    };
    let client = Object::new()
        .text("unityVersion", unity)
        .text("projectPath", &introduction.project)
        .text("sessionId", &introduction.session);
    let tools = Object::new()
        .number("toolCount", i128::try_from(count).unwrap_or(0))
        .raw("changedTools", &json::array(names.iter().map(|name| quoted(name))))
        .text("changeType", change);
    Object::new()
        .raw("reason", &Object::new().text("type", reason).text("message", why).finish())
        .text("endpoint", &introduction.endpoint)
        .raw("clientInfo", &client.finish())
        .raw("toolsInfo", &tools.finish())
        .finish()
}

/// Push messages without a token and a sequence, as uLoop sends them.
pub(crate) struct Plain;

impl Manner for Plain {
    fn greetings(&self, again: bool) -> &'static [&'static str] {
        const BOTH: &[&str] = &["CONNECTION_ESTABLISHED", "DOMAIN_RELOAD_RECOVERED"];
        if again { BOTH } else { &["CONNECTION_ESTABLISHED"] }
    }

    fn line(&self, editor: &Editor, message: &Message<'_>, _stamp: &Stamp<'_>) -> Vec<u8> {
        let established = message.kind == "CONNECTION_ESTABLISHED";
        let introduction = (established || message.kind == "DOMAIN_RELOAD_RECOVERED").then(|| {
            let root = editor.project.as_ref().map_or("/project", |project| project.root());
            let state = editor.state();
            let endpoint = established.then(|| format!("localhost:{}", state.port.unwrap_or(0)));
            Introduction {
                endpoint: endpoint.unwrap_or_default(),
                project: format!("{root}/Assets"),
                session: state.session_id.clone(),
            }
        });
        let line = Object::new()
            .text("type", message.kind)
            .text("timestamp", &(editor.timestamp() + "Z"))
            .raw("payload", &payload(editor, message, introduction));
        (line.finish() + "\n").into_bytes()
    }

    fn pause(&self, failed: usize) -> Option<Duration> {
        (failed < PUSH_ATTEMPTS_MAX).then_some(PUSH_RETRY)
    }
}

/// A listener. The editor keeps it across reloads.
#[derive(Default)]
struct Endpoint {
    token: Option<String>,
    /// Number of the last message, sent or missed.
    sequence: u64,
    /// `Some` while the listener is connected.
    sender: Option<mpsc::Sender<Note>>,
    task: Option<AbortHandle>,
}

struct Inner {
    manner: Box<dyn Manner>,
    endpoints: BTreeMap<String, Endpoint>,
    tasks: JoinSet<()>,
}

impl Inner {
    /// Returns the next line for an endpoint, with the next number; `None` if the endpoint is unknown.
    fn line(&mut self, editor: &Editor, endpoint: &str, message: &Message<'_>) -> Option<Vec<u8>> {
        let Endpoint { token, sequence, .. } = self.endpoints.get_mut(endpoint)?;
        *sequence += 1;
        Some(self.manner.line(editor, message, &Stamp { sequence: *sequence, token: token.as_deref() }))
    }

    fn dial(&mut self, hub: &Hub, editor: &Arc<Editor>, endpoint: &str, again: bool) {
        let Some(port) = loopback_port(endpoint) else { return };
        let task = hold(Arc::downgrade(&hub.0), editor.clone(), endpoint.to_owned(), port, again);
        let task = self.tasks.spawn(task);
        self.endpoints.entry(endpoint.to_owned()).or_default().task = Some(task);
    }
}

/// The editor's push connections. The connections' tasks end when the last `Hub` is dropped, so they refer to it only weakly.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Mutex<Inner>>);

impl Hub {
    pub(crate) fn new(manner: impl Manner) -> Self {
        let inner = Inner { manner: Box::new(manner), endpoints: BTreeMap::new(), tasks: JoinSet::new() };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a listener's address and connects to it. Ignores an address that is not on loopback, that is registered with
    /// this token already, or that would exceed `PUSH_ENDPOINTS_MAX`. An address with another token is treated as a new listener.
    pub(crate) fn register(&self, editor: &Arc<Editor>, endpoint: &str, token: Option<&str>) {
        if loopback_port(endpoint).is_none() {
            return;
        }
        let mut inner = self.inner();
        let full = inner.endpoints.len() >= PUSH_ENDPOINTS_MAX;
        match inner.endpoints.get_mut(endpoint) {
            Some(known) if known.token.as_deref() == token => return,
            Some(known) => {
                if let Some(task) = known.task.take() {
                    task.abort();
                }
                if known.sender.take().is_some() {
                    detached(editor, endpoint);
                }
            }
            None if full => return,
            None => {}
        }
        let fresh = Endpoint { token: token.map(str::to_owned), ..Endpoint::default() };
        inner.endpoints.insert(endpoint.to_owned(), fresh);
        inner.dial(self, editor, endpoint, false);
    }

    /// Connects to every registered listener.
    pub(crate) fn begin(&self, editor: &Arc<Editor>, again: bool) {
        let mut inner = self.inner();
        let known: Vec<String> = inner.endpoints.keys().cloned().collect();
        for endpoint in known {
            inner.dial(self, editor, &endpoint, again);
        }
    }

    /// Ends every push connection. The listeners stay registered.
    pub(crate) async fn end(&self, editor: &Editor) {
        let mut tasks = std::mem::take(&mut self.inner().tasks);
        tasks.shutdown().await;
        for (name, endpoint) in &mut self.inner().endpoints {
            if endpoint.sender.take().is_some() {
                detached(editor, name);
            }
        }
    }

    /// Removes every listener.
    pub(crate) fn forget(&self) {
        self.inner().endpoints.clear();
    }

    /// Sends a message on every connection. Returns when it is written on all of them, or after [`GOODBYE_MAX`]. A listener that
    /// is not connected misses the message; its sequence number is skipped.
    pub(crate) async fn send(&self, editor: &Editor, message: &Message<'_>) {
        let mut waiting = Vec::new();
        {
            let mut inner = self.inner();
            let known: Vec<String> = inner.endpoints.keys().cloned().collect();
            for endpoint in known {
                let line = inner.line(editor, &endpoint, message);
                let sender = inner.endpoints.get(&endpoint).and_then(|known| known.sender.as_ref());
                if let (Some(frame), Some(sender)) = (line, sender) {
                    let (written, done) = oneshot::channel();
                    if sender.try_send(Note { frame, written }).is_ok() {
                        waiting.push(done);
                    }
                }
            }
        }
        let all = async {
            for done in waiting {
                let _ = done.await;
            }
        };
        // A listener that does not read must not keep the editor from leaving.
        let _ = tokio::time::timeout(GOODBYE_MAX, all).await;
    }

    /// Marks a listener as connected and returns the first bytes to send to it.
    fn attach(&self, editor: &Editor, endpoint: &str, sender: mpsc::Sender<Note>, again: bool) -> Vec<u8> {
        let mut inner = self.inner();
        let greetings = inner.manner.greetings(again);
        let lines =
            greetings.iter().filter_map(|kind| inner.line(editor, endpoint, &Message::of(kind))).flatten().collect();
        if let Some(known) = inner.endpoints.get_mut(endpoint) {
            known.sender = Some(sender);
        }
        editor.state().push_connections += 1;
        editor.event(Event::PushAttached { endpoint: endpoint.to_owned() });
        lines
    }

    fn detach(&self, editor: &Editor, endpoint: &str) {
        if self.inner().endpoints.get_mut(endpoint).is_some_and(|known| known.sender.take().is_some()) {
            detached(editor, endpoint);
        }
    }
}

/// Counts the end of a push connection and sends an event.
fn detached(editor: &Editor, endpoint: &str) {
    let mut state = editor.state();
    state.push_connections = state.push_connections.saturating_sub(1);
    drop(state);
    editor.event(Event::PushDetached { endpoint: endpoint.to_owned() });
}

/// Keeps a listener connected. `again`: its first connection is the first one after a reload.
async fn hold(hub: Weak<Mutex<Inner>>, editor: Arc<Editor>, endpoint: String, port: u16, mut again: bool) {
    let mut failed = 0;
    loop {
        let connected = tokio::time::timeout(PUSH_CONNECT_TIMEOUT, editor.net.connect(port)).await;
        match connected {
            Ok(Ok(stream)) => {
                failed = 0;
                let (sender, notes) = mpsc::channel(NOTES_MAX);
                let Some(greeting) = hub.upgrade().map(|hub| Hub(hub).attach(&editor, &endpoint, sender, again)) else {
                    return;
                };
                again = false;
                // The end of a connection does not count as a failed attempt. The editor connects again.
                let _ = serve(&editor, stream, notes, &greeting).await;
                let Some(hub) = hub.upgrade() else { return };
                Hub(hub).detach(&editor, &endpoint);
            }
            Ok(Err(_)) | Err(_) => failed += 1,
        }
        let Some(hub) = hub.upgrade().map(Hub) else { return };
        let pause = hub.inner().manner.pause(failed);
        let Some(pause) = pause else {
            hub.inner().endpoints.remove(&endpoint);
            return;
        };
        drop(hub);
        tokio::time::sleep(pause).await;
    }
}

async fn serve(
    editor: &Arc<Editor>,
    stream: holdfast_net::BoxStream,
    mut notes: mpsc::Receiver<Note>,
    greeting: &[u8],
) -> std::io::Result<()> {
    let (mut reader, mut writer) = split(editor, stream);
    writer.write(greeting).await?;
    let mut ignored = BytesMut::new();
    loop {
        tokio::select! {
            biased;
            note = notes.recv() => match note {
                Some(note) => writer.note(note).await?,
                None => return Ok(()),
            },
            read = reader.read(&mut ignored) => {
                if read? == 0 {
                    return Ok(());
                }
                ignored.clear();
            }
        }
    }
}

/// Returns the port of an endpoint; `None` if the endpoint is malformed or not on loopback.
fn loopback_port(endpoint: &str) -> Option<u16> {
    let (host, port) = endpoint.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    (matches!(host, "localhost" | "127.0.0.1") && port != 0).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_connected_to() {
        assert_eq!(loopback_port("127.0.0.1:80"), Some(80));
        assert_eq!(loopback_port("localhost:33607"), Some(33607));
        for other in ["10.0.0.1:80", "localhost", "localhost:", "localhost:0", "localhost:70000", "", ":80"] {
            assert_eq!(loopback_port(other), None, "{other}");
        }
    }
}
