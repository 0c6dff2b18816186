//! What must hold of the hubs of a room however they are treated: there is never more than one, and none ends that nobody ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Room;

/// How often the hubs are counted.
const EVERY: Duration = Duration::from_millis(2);
/// The mark of a socket that accepts connections, in `/proc/net/unix` (`__SO_ACCEPTCON` of the kernel).
const ACCEPTS: &str = "00010000";

/// Counts the hubs of a room for as long as it exists.
pub struct Census {
    folder: PathBuf,
    most: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    counting: Option<JoinHandle<()>>,
    /// The hubs that the test has ended.
    pub ended: u64,
}

impl Drop for Census {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(counting) = self.counting.take() {
            let _ = counting.join();
        }
    }
}

impl Census {
    pub fn of(room: &Room) -> Self {
        let folder = room.state().join("hub");
        let (most, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let counting = std::thread::spawn({
            let (folder, most, over) = (folder.clone(), Arc::clone(&most), Arc::clone(&over));
            move || {
                while !over.load(Ordering::Relaxed) {
                    most.fetch_max(hubs(&folder), Ordering::Relaxed);
                    std::thread::sleep(EVERY);
                }
            }
        });
        Self { folder, most, over, counting: Some(counting), ended: 0 }
    }

    /// Returns the promises that are broken.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let most = self.most.load(Ordering::Relaxed).max(hubs(&self.folder));
        if most > 1 {
            broken.push(format!("{most} hubs at once"));
        }
        // A hub that is ended before it has opened the records is not counted there.
        let (started, ended) = (starts(&self.folder), self.ended);
        if started > ended + 1 {
            broken.push(format!(
                "{started} hubs were started, and only {ended} were ended: a hub that was well was ended too"
            ));
        }
        broken
    }
}

/// Counts the sockets on which hubs of this folder accept sessions. One that was removed from the folder counts as long as its hub
/// runs.
pub fn hubs(folder: &Path) -> usize {
    let socket = folder.join("socket");
    let text = std::fs::read_to_string("/proc/net/unix").expect("the kernel tells its sockets");
    let at = |line: &&str| line.split_whitespace().nth(7).is_some_and(|path| Path::new(path) == socket);
    text.lines().filter(at).filter(|line| line.split_whitespace().nth(3) == Some(ACCEPTS)).count()
}

/// Returns how many hubs have opened the records.
fn starts(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("calls.jsonl")).unwrap_or_default();
    let first: serde_json::Value =
        text.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    first["gateway"]["starts"].as_u64().unwrap_or_default()
}
