//! When a bridge connects to the gateway: at once, then at growing distances, and after a few attempts only if the user wants it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdfast_net::BoxStream;

use super::bridge::{Bridge, Dial, lock};
use crate::limits::DIAL_RETRY;
use crate::model::Editor;

/// How often an open window looks whether the gateway's port accepts connections (the package's own number).
const PROBE_EVERY: Duration = Duration::from_millis(750);
/// How often it must not, before the window ends the session (the package's own number).
const MISSES_MAX: u32 = 3;

impl Bridge {
    /// Makes the next connection.
    pub(super) async fn connect(&self, editor: &Arc<Editor>, port: u16) -> BoxStream {
        loop {
            // A connection that was made a moment ago does not count before its task has begun.
            tokio::time::sleep(DIAL_RETRY).await;
            let is_due = editor.connections() == 0 && lock(&self.dial).is_due(self.user_connects);
            if is_due && let Ok(stream) = editor.net.connect(port).await {
                return stream;
            }
        }
    }

    /// Presses a button of the user: `connect` in the package's window, or `window`, which opens or closes the window.
    pub(super) fn press(&self, button: &str) {
        match button {
            "connect" => *lock(&self.dial) = Dial::of_domain(false),
            "window" => self.window.send_modify(|is_open| *is_open = !*is_open),
            _ => {}
        }
    }

    /// While the window is open, looks again and again whether the gateway's port accepts connections, and says nothing on them. If
    /// it does not, and no command is at work, the session is ended, and the user has to connect.
    pub(super) async fn probes(&self, editor: &Editor) {
        let mut window = self.window.subscribe();
        let mut misses = 0;
        loop {
            // The sender lives in the bridge.
            let _ = window.wait_for(|is_open| *is_open).await;
            tokio::time::sleep(PROBE_EVERY).await;
            editor.thawed().await;
            let Some(port) = editor.state().port else { continue };
            let is_open = editor.net.connect(port).await.is_ok();
            misses = if is_open || self.is_busy.load(Ordering::Relaxed) { 0 } else { misses + 1 };
            if misses == MISSES_MAX {
                *lock(&self.dial) = Dial::none();
                self.ends_session.notify_waiters();
            }
        }
    }
}
