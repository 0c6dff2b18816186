//! The push channel of the branch that was never released: the editor connects to the client's listener and sends one JSON
//! text a line, as Unity's JsonUtility writes it. Nothing is ever answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::BytesMut;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::fake_unity::events::Event;
use crate::fake_unity::face::split;
use crate::fake_unity::json::{self, Object, quoted};
use crate::fake_unity::model::{Editor, Note};
use crate::fake_unity::project::UNITY_VERSION;
use crate::limits::{
    FAKE_GOODBYE_MAX, FAKE_NOTES_MAX, FAKE_PUSH_ATTEMPTS_MAX, FAKE_PUSH_CONNECT_TIMEOUT, FAKE_PUSH_RETRY,
    PUSH_CONNECTIONS_MAX,
};

/// The members of a push message that are not empty.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    pub(crate) reason: Option<(&'static str, &'static str)>,
    pub(crate) endpoint: String,
    pub(crate) client: bool,
    pub(crate) tools: Option<(usize, Vec<String>, &'static str)>,
}

/// A push message of this type with the payload that the editor gives it.
pub(crate) fn message(editor: &Editor, kind: &str, names: &[String], change: &'static str) -> Vec<u8> {
    let payload = match kind {
        "CONNECTION_ESTABLISHED" => {
            let port = editor.state().port.unwrap_or(0);
            Payload { endpoint: format!("localhost:{port}"), client: true, ..Payload::default() }
        }
        "DOMAIN_RELOAD" => {
            Payload { reason: Some((DOMAIN_RELOAD, "Unity domain reload initiated")), ..Payload::default() }
        }
        "DOMAIN_RELOAD_RECOVERED" => Payload { client: true, ..Payload::default() },
        "TOOLS_CHANGED" => {
            let count = editor.state().tools.len();
            Payload { tools: Some((count, names.to_vec(), change)), ..Payload::default() }
        }
        "USER_DISCONNECT" => {
            Payload { reason: Some(("USER_DISCONNECT", "UnityPushClient disconnecting")), ..Payload::default() }
        }
        "UNITY_SHUTDOWN" => {
            Payload { reason: Some(("UNITY_SHUTDOWN", "Unity Editor is shutting down")), ..Payload::default() }
        }
        _ => Payload::default(),
    };
    line(editor, kind, &payload)
}

const DOMAIN_RELOAD: &str = "DOMAIN_RELOAD";

/// JsonUtility writes every member always, null objects as empty ones.
fn line(editor: &Editor, kind: &str, payload: &Payload) -> Vec<u8> {
    let (reason, why) = payload.reason.unwrap_or(("", ""));
    let (unity, project, session) = if payload.client {
        let root = editor.project.as_ref().map_or("/project", |project| project.root());
        (UNITY_VERSION, format!("{root}/Assets"), editor.state().session_id.clone())
    } else {
        ("", String::new(), String::new())
    };
    let (count, names, change) = match &payload.tools {
        Some((count, names, change)) => (*count, names.as_slice(), *change),
        None => (0, [].as_slice(), ""),
    };
    let payload = Object::new()
        .raw("reason", &Object::new().text("type", reason).text("message", why).finish())
        .text("endpoint", &payload.endpoint)
        .raw(
            "clientInfo",
            &Object::new()
                .text("unityVersion", unity)
                .text("projectPath", &project)
                .text("sessionId", &session)
                .finish(),
        )
        .raw(
            "toolsInfo",
            &Object::new()
                .number("toolCount", i128::try_from(count).unwrap_or(0))
                .raw("changedTools", &json::array(names.iter().map(|name| quoted(name))))
                .text("changeType", change)
                .finish(),
        );
    let mut text = Object::new()
        .text("type", kind)
        .text("timestamp", &(editor.timestamp() + "Z"))
        .raw("payload", &payload.finish())
        .finish();
    text.push('\n');
    text.into_bytes()
}

#[derive(Default)]
struct Inner {
    /// Known listeners; a sender while a connection stands. They outlive a reload.
    endpoints: BTreeMap<String, Option<mpsc::Sender<Note>>>,
    tasks: JoinSet<()>,
}

/// The editor's push connections. Their tasks end with the last handle, so they hold it weakly.
#[derive(Default, Clone)]
pub(crate) struct Hub(Arc<Mutex<Inner>>);

/// Notes whether a listener is connected.
fn attach(hub: &Weak<Mutex<Inner>>, endpoint: &str, sender: Option<mpsc::Sender<Note>>) {
    if let Some(hub) = hub.upgrade() {
        Hub(hub).inner().endpoints.insert(endpoint.to_owned(), sender);
    }
}

impl Hub {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a listener's address and connects to it, unless it is known already or not on loopback.
    pub(crate) fn register(&self, editor: &Arc<Editor>, endpoint: &str) {
        let Some(port) = loopback_port(endpoint) else { return };
        let mut inner = self.inner();
        if inner.endpoints.contains_key(endpoint) || inner.endpoints.len() >= PUSH_CONNECTIONS_MAX {
            return;
        }
        inner.endpoints.insert(endpoint.to_owned(), None);
        let task = hold(Arc::downgrade(&self.0), editor.clone(), endpoint.to_owned(), port, false);
        inner.tasks.spawn(task);
    }

    /// Connects to every known listener anew.
    pub(crate) fn begin(&self, editor: &Arc<Editor>, again: bool) {
        let mut inner = self.inner();
        let known: Vec<String> = inner.endpoints.keys().cloned().collect();
        for endpoint in known {
            if let Some(port) = loopback_port(&endpoint) {
                let task = hold(Arc::downgrade(&self.0), editor.clone(), endpoint, port, again);
                inner.tasks.spawn(task);
            }
        }
    }

    /// Ends every push connection; the listeners stay known.
    pub(crate) async fn end(&self, editor: &Editor) {
        let mut tasks = std::mem::take(&mut self.inner().tasks);
        tasks.shutdown().await;
        let attached: Vec<String> = {
            let mut inner = self.inner();
            inner.endpoints.iter_mut().filter_map(|(name, sender)| sender.take().map(|_| name.clone())).collect()
        };
        editor.state().push_connections = 0;
        for endpoint in attached {
            editor.event(Event::PushDetached { endpoint });
        }
    }

    /// Sends a line on every connection and waits until it was written, or a peer does not read.
    pub(crate) async fn send(&self, line: &[u8]) {
        let waiting: Vec<_> = self
            .inner()
            .endpoints
            .values()
            .flatten()
            .filter_map(|sender| {
                let (written, done) = oneshot::channel();
                sender.try_send(Note { frame: line.to_vec(), written }).ok().map(|()| done)
            })
            .collect();
        let all = async {
            for done in waiting {
                let _ = done.await;
            }
        };
        // A listener that does not read must not hold an editor that leaves.
        let _ = tokio::time::timeout(FAKE_GOODBYE_MAX, all).await;
    }
}

/// Keeps one listener connected. `again`: the first connection is one after a reload.
async fn hold(hub: Weak<Mutex<Inner>>, editor: Arc<Editor>, endpoint: String, port: u16, mut again: bool) {
    let mut failed = 0;
    loop {
        let connected = tokio::time::timeout(FAKE_PUSH_CONNECT_TIMEOUT, editor.net.connect(port)).await;
        match connected {
            Ok(Ok(stream)) => {
                failed = 0;
                let (sender, notes) = mpsc::channel(FAKE_NOTES_MAX);
                attach(&hub, &endpoint, Some(sender));
                editor.state().push_connections += 1;
                editor.event(Event::PushAttached { endpoint: endpoint.clone() });
                // The end of a connection is no failure of the editor: it tries again.
                let _ = serve(&editor, stream, notes, again).await;
                again = false;
                attach(&hub, &endpoint, None);
                let mut state = editor.state();
                state.push_connections = state.push_connections.saturating_sub(1);
                drop(state);
                editor.event(Event::PushDetached { endpoint: endpoint.clone() });
            }
            Ok(Err(_)) | Err(_) => failed += 1,
        }
        if failed >= FAKE_PUSH_ATTEMPTS_MAX {
            if let Some(hub) = hub.upgrade() {
                Hub(hub).inner().endpoints.remove(&endpoint);
            }
            return;
        }
        tokio::time::sleep(FAKE_PUSH_RETRY).await;
    }
}

async fn serve(
    editor: &Arc<Editor>,
    stream: crate::net::BoxStream,
    mut notes: mpsc::Receiver<Note>,
    again: bool,
) -> std::io::Result<()> {
    let (mut reader, mut writer) = split(editor, stream);
    writer.write(&message(editor, "CONNECTION_ESTABLISHED", &[], "")).await?;
    if again {
        writer.write(&message(editor, "DOMAIN_RELOAD_RECOVERED", &[], "")).await?;
    }
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

/// The port of an endpoint on this machine.
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
