//! Tests of the simulated MCP for Unity, as its protocol page tells of it. Most of them have a network and files in memory and virtual
//! time.

mod files;
mod hub;
mod observed;
mod observed_http;
mod stdio;
mod tools;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Weak};

use holdfast_net::{BoxFuture, BoxStream, Listener, Net};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::{HTTP, PACKAGE};
use crate::tests::*;

const RELOAD: Duration = Duration::from_millis(300);
const COMPILE: Duration = Duration::from_millis(50);
const VERSIONS: [&str; 4] = ["8.0.0", "9.5.0", "10.1.0", "10.3.0"];
/// The port of the editor, or the gateway's.
const PORT: u16 = 6400;

fn config() -> FakeUnityConfig {
    FakeUnityConfig {
        package: &PACKAGE,
        port: PORT,
        compile_time: COMPILE,
        compile_reload: RELOAD,
        ..crate::tests::config()
    }
}

fn version(text: &str) -> FakeUnityConfig {
    FakeUnityConfig { package_version: text.parse().unwrap(), ..config() }
}

/// A network in memory. A port is free when its listener is dropped.
#[derive(Default)]
struct Memory {
    ports: Mutex<BTreeMap<u16, mpsc::Sender<BoxStream>>>,
    itself: Weak<Self>,
}

impl Memory {
    fn new() -> Arc<Self> {
        Arc::new_cyclic(|itself| Self { ports: Mutex::default(), itself: itself.clone() })
    }
}

struct Bound {
    port: u16,
    net: Weak<Memory>,
    queue: AsyncMutex<mpsc::Receiver<BoxStream>>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(net) = self.net.upgrade() {
            net.ports.lock().unwrap().remove(&self.port);
        }
    }
}

impl Listener for Bound {
    fn local_addr(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    fn accept(&self) -> BoxFuture<'_, std::io::Result<(BoxStream, std::net::SocketAddr)>> {
        Box::pin(async move {
            match self.queue.lock().await.recv().await {
                Some(stream) => Ok((stream, self.local_addr())),
                None => std::future::pending().await,
            }
        })
    }
}

impl Net for Memory {
    fn connect(&self, port: u16) -> BoxFuture<'_, std::io::Result<BoxStream>> {
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(1 << 20);
            let listener = self.ports.lock().unwrap().get(&port).cloned();
            let listener = listener.ok_or(std::io::ErrorKind::ConnectionRefused)?;
            listener.send(Box::new(far)).await.map_err(|_| std::io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(near) as BoxStream)
        })
    }

    fn bind(&self, port: u16) -> BoxFuture<'_, std::io::Result<Arc<dyn Listener>>> {
        let (sender, receiver) = mpsc::channel(8);
        let bound = match self.ports.lock().unwrap().entry(port) {
            Entry::Occupied(_) => Err(std::io::ErrorKind::AddrInUse.into()),
            Entry::Vacant(free) => {
                free.insert(sender);
                let queue = AsyncMutex::new(receiver);
                Ok(Arc::new(Bound { port, net: self.itself.clone(), queue }) as Arc<dyn Listener>)
            }
        };
        Box::pin(std::future::ready(bound))
    }
}

/// The files of a machine in memory, and everything that happened to them; `None`: a file was removed.
#[derive(Default)]
struct Disk {
    now: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    history: Mutex<Vec<(String, Option<String>)>>,
}

impl Disk {
    fn note(&self, path: &Path, text: Option<&[u8]>) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = text.map(|text| String::from_utf8_lossy(text).into_owned());
        self.history.lock().unwrap().push((name, text));
    }
}

impl Files for Disk {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.now.lock().unwrap().get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        self.note(path, Some(bytes));
        self.now.lock().unwrap().insert(path.to_path_buf(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, path: &Path) -> std::io::Result<()> {
        self.note(path, None);
        self.now.lock().unwrap().remove(path).map(drop).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn list(&self, _folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }
}

/// An editor on a network in memory.
struct Stage {
    unity: FakeUnity,
    net: Arc<Memory>,
}

impl Stage {
    async fn with(config: FakeUnityConfig) -> Self {
        let net = Memory::new();
        Self { unity: FakeUnity::start(config, net.clone()).await.unwrap(), net }
    }

    /// A client that was greeted.
    async fn client(&self) -> Peer {
        let mut peer = Peer::of(self.net.connect(self.unity.port().unwrap()).await.unwrap());
        assert_eq!(peer.line().await, super::wire::GREETING);
        peer
    }

    async fn ask(&self, name: &str, params: Value) -> Value {
        self.client().await.ask(name, params).await
    }

    /// Returns what a tool answered.
    async fn result(&self, name: &str, params: Value) -> Value {
        let reply = self.ask(name, params).await;
        assert_eq!(reply["status"], "success", "{reply}");
        reply["result"].clone()
    }

    /// Returns when a call has begun.
    async fn begun(events: &mut broadcast::Receiver<Event>) {
        event(events, |event| matches!(event, Event::CallBegun { .. })).await;
    }

    /// Returns when the next domain listens.
    async fn reloaded(&self) {
        self.unity.reload(RELOAD).await.unwrap();
        within(self.unity.listening()).await;
    }
}

/// A client of the server.
struct Peer {
    stream: BoxStream,
    buffer: Vec<u8>,
}

impl Peer {
    fn of(stream: BoxStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return String::from_utf8(self.buffer.drain(..=end).collect()).unwrap();
            }
            assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "no line");
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    async fn say(&mut self, text: &str) {
        let mut frame = (text.len() as u64).to_be_bytes().to_vec();
        frame.extend(text.as_bytes());
        self.write(&frame).await;
    }

    async fn send(&mut self, name: &str, params: Value) {
        self.say(&json!({"type": name, "params": params}).to_string()).await;
    }

    async fn ask(&mut self, name: &str, params: Value) -> Value {
        self.send(name, params).await;
        self.json().await
    }

    async fn text(&mut self) -> String {
        self.next().await.expect("a reply")
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// Returns the next reply; `None` at the end of the connection.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(length) = self.buffer.first_chunk().map(|length| u64::from_be_bytes(*length) as usize)
                && self.buffer.len() >= 8 + length
            {
                let frame: Vec<u8> = self.buffer.drain(..8 + length).skip(8).collect();
                return Some(String::from_utf8_lossy(&frame).into_owned());
            }
            if more(&mut self.stream, &mut self.buffer).await == 0 {
                assert!(self.buffer.is_empty(), "half a frame at the end");
                return None;
            }
        }
    }

    /// Whether nothing comes for a time.
    async fn is_silent(&mut self, ms: u64) -> bool {
        tokio::time::timeout(Duration::from_millis(ms), self.next()).await.is_err()
    }
}

/// Reads what comes next; 0 at the end. Longer than any limit of the package, only a broken editor lets it wait.
async fn more(stream: &mut BoxStream, buffer: &mut Vec<u8>) -> usize {
    let read = tokio::time::timeout(Duration::from_secs(1000), stream.read_buf(buffer));
    read.await.expect("in time").unwrap_or(0)
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Waits until the counters are so; time goes on meanwhile.
async fn until(unity: &FakeUnity, what: impl Fn(&Stats) -> bool) {
    within(async {
        while !what(&unity.stats()) {
            pause(1).await;
        }
    })
    .await;
}

#[test]
fn a_project_is_known_by_a_part_of_the_hash_of_its_assets() {
    assert_eq!(super::names::data_path("/p/Game"), "/p/Game/Assets");
    assert_eq!(super::names::data_path(r"C:\Spiele\Größe"), "C:/Spiele/Größe/Assets");
    assert_eq!(super::names::project_name("/p/Game/Assets"), "Game");
    assert_eq!(super::names::project_hash("/p/Game/Assets"), "216e65a37bf70f68");
    assert_eq!(super::names::project_hash("C:/Spiele/Größe/Assets"), "357a22fa5cb36965");
}

#[tokio::test]
async fn over_real_sockets_and_files_the_editor_is_found_called_and_gone() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = FakeUnityConfig {
        port: 0,
        project: Some(project.path().to_path_buf()),
        home: Some(home.path().to_path_buf()),
        ..config()
    };
    let unity = start(config).await;
    let root = std::fs::canonicalize(project.path()).unwrap();
    let hash = super::names::project_hash(&super::names::data_path(&root.to_string_lossy()));
    let status = home.path().join(".unity-mcp").join(format!("unity-mcp-status-{}.json", &hash[..8]));
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&status).unwrap_or_default()).unwrap_or_default();
    let found = async || {
        loop {
            let status = read();
            if status["reason"] == "ready" {
                return u16::try_from(status["unity_port"].as_u64().unwrap()).unwrap();
            }
            pause(1).await;
        }
    };
    let port = within(found()).await;
    assert_eq!(Some(port), unity.port());
    let mut peer = Peer::of(Box::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap()));
    within(peer.line()).await;
    assert_eq!(within(peer.ask("echo", json!({"text": "a"}))).await["result"]["Echo"], "a");

    unity.reload(RELOAD).await.unwrap();
    assert_eq!(within(peer.next()).await, None);
    assert_eq!((&read()["reason"], &read()["reloading"]), (&json!("reloading"), &json!(true)));
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(within(found()).await, port);
    let mut peer = Peer::of(Box::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap()));
    within(peer.line()).await;
    unity.quit().await.unwrap();
    assert_eq!(within(peer.next()).await, None);
    assert!(!status.exists());
    let manifest = std::fs::read_to_string(root.join("Packages/manifest.json")).unwrap();
    assert!(manifest.contains("MCPForUnity#v10.3.0"), "{manifest}");
}

/// A folder for a project, and its files in memory.
fn places() -> (TempDir, Arc<Disk>, FakeUnityConfig) {
    let (folder, disk) = (tempfile::tempdir().unwrap(), Arc::new(Disk::default()));
    let config = FakeUnityConfig {
        project: Some(folder.path().to_path_buf()),
        home: Some(PathBuf::from("/home/user")),
        machine: Some(Machine(disk.clone())),
        ..config()
    };
    (folder, disk, config)
}
