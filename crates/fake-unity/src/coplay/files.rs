//! The files that the package keeps in the user's home while it listens. They are not written in one step: for a moment they are empty.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::bridge::Bridge;
use super::names::{HOME_FOLDER, data_path, project_hash, project_name};
use crate::face::Step;
use crate::guard::gone_is_fine;
use crate::json::Object;
use crate::model::Editor;
use crate::project::{HOME, Machine, UNITY_VERSION};

/// How long a file is empty, or away, before it has its text. In the real package it is less.
const TORN: Duration = Duration::from_millis(1);
/// How often the main thread writes the status file again (the package's own number).
pub(super) const HEARTBEAT: Duration = Duration::from_millis(500);

/// What the status file says of the bridge.
#[derive(Debug, Clone, Copy)]
enum Reason {
    Starting,
    Ready,
    Reloading,
    PortBusy,
    StartFailed,
    Stopped,
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Reloading => "reloading",
            Self::PortBusy => "port_busy",
            Self::StartFailed => "start_failed",
            Self::Stopped => "stopped",
        }
    }

    fn is_reloading(self) -> bool {
        matches!(self, Self::Reloading | Self::PortBusy)
    }
}

/// The files of one project in the home of its user.
struct Home<'a> {
    editor: &'a Editor,
    folder: PathBuf,
    data_path: String,
}

impl Bridge {
    /// Follows a step of the bridge in the files.
    pub(super) async fn follow(&self, editor: &Editor, step: Step, port: u16) {
        let Some(home) = Home::of(editor).filter(|_| !self.dials) else { return };
        if step == Step::Starts {
            self.process().starts += 1;
        }
        let starts = self.process().starts;
        let say = async |reason| home.say(reason, port, starts).await;
        match step {
            Step::Starts => say(Reason::Starting).await,
            Step::FindsPortTaken => say(Reason::PortBusy).await,
            Step::Listens => {
                if self.process().port_told.replace(port) != Some(port) {
                    home.name_port(port).await;
                }
                say(Reason::Ready).await;
            }
            Step::Fails => say(Reason::StartFailed).await,
            Step::GivesUp => say(Reason::Stopped).await,
            Step::Reloads => {
                home.remove();
                tokio::time::sleep(TORN).await;
                say(Reason::Reloading).await;
                // It counts the starts in one domain.
                self.process().starts = 0;
            }
            Step::Stops => home.remove(),
        }
    }

    /// Writes the status file again and again, on the main thread.
    pub(super) async fn heartbeats(&self, editor: &Editor) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            editor.next_tick().await;
            let port = editor.state().port;
            if let (Some(home), Some(port)) = (Home::of(editor), port) {
                let starts = self.process().starts;
                home.say(Reason::Ready, port, starts).await;
            }
        }
    }
}

impl<'a> Home<'a> {
    fn of(editor: &'a Editor) -> Option<Self> {
        let simulated = editor.config.machine.as_ref().map(|_| Path::new(HOME));
        let folder = editor.config.home.as_deref().or(simulated)?.join(HOME_FOLDER);
        Some(Self { editor, folder, data_path: data_path(editor.project.as_ref()?.root()) })
    }

    /// Returns the path of a file whose name follows from the project's path.
    fn file(&self, name: &str) -> PathBuf {
        let hash = project_hash(&self.data_path);
        self.folder.join(format!("{name}-{}.json", hash.get(..8).unwrap_or_default()))
    }

    async fn say(&self, reason: Reason, port: u16, starts: u64) {
        let status = Object::new()
            .number("unity_port", port)
            .flag("reloading", reason.is_reloading())
            .text("reason", reason.words())
            .number("seq", starts)
            .text("project_path", &self.data_path)
            .text("project_name", &project_name(&self.data_path))
            .text("unity_version", UNITY_VERSION)
            .text("last_heartbeat", &format!("{}0000Z", self.editor.timestamp()))
            .flag("project_scoped_tools", false);
        self.write(&self.file("unity-mcp-status"), &status.finish()).await;
    }

    /// Writes the files that keep the port over the end of the editor.
    async fn name_port(&self, port: u16) {
        let created = format!("{}0000Z", self.editor.timestamp());
        let text = json!({"unity_port": port, "created_date": created, "project_path": self.data_path});
        for path in [self.file("unity-mcp-port"), self.folder.join("unity-mcp-port.json")] {
            self.write(&path, &format!("{text:#}")).await;
        }
    }

    async fn write(&self, path: &Path, text: &str) {
        let put = |bytes: &[u8]| match &self.editor.config.machine {
            Some(Machine(machine)) => machine.write(path, bytes),
            None => std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(path, bytes)),
        };
        self.tell(path, put(b""));
        tokio::time::sleep(TORN).await;
        self.tell(path, put(text.as_bytes()));
    }

    fn remove(&self) {
        let path = self.file("unity-mcp-status");
        let removed = match &self.editor.config.machine {
            Some(Machine(machine)) => machine.remove(&path),
            None => std::fs::remove_file(&path),
        };
        self.tell(&path, gone_is_fine(removed));
    }

    fn tell(&self, path: &Path, result: std::io::Result<()>) {
        self.editor.file_result(&path.to_string_lossy(), result);
    }
}
