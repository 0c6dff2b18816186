//! Simulates Unity CLI Loop 3, the successor of uLoopMCP: a server on a local socket whose name follows from the project's path.
//!
//! It runs one tool at a time and has no queue. Who closes its connection cancels its tool, except a compilation and some test runs,
//! whose results are kept over the reload that follows them. A reload is not announced, and the package keeps no file about itself.

mod calls;
mod catalogue;
mod link;
mod package;
mod server;
mod status;
mod wire;
mod work;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast_net::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::task::JoinSet;

use super::config::FakeUnityConfig;
use super::conformance::FIXTURES;
use super::face::{Face, Link, Moment};
use super::model::Editor;
use super::project::{OwnFile, Project};
use super::spec::{Tool, ToolSpec};
use super::tools::TEST_TOOLS;
use crate::limits::LISTENER_OUTLIVES;
use package::ID;
pub(crate) use package::PACKAGE;
use server::{Process, Server, lock};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    let blocked = config.blocked_tools.clone();
    let server = Server::new(config.played(), blocked, config.test_tools, config.conformance_tools);
    Arc::new(CliLoopFace(Arc::new(server)))
}

/// Returns the name of the socket for a project: a part of the hash of its path, which has no links and no separator at its end.
fn socket_name(project: &Path) -> String {
    let path = project.to_string_lossy();
    let path = match path.trim_end_matches(['/', std::path::MAIN_SEPARATOR]) {
        "" => "/",
        // The root of a drive keeps its separator.
        drive if drive.ends_with(':') => &*path,
        path => path,
    };
    let hash = Sha256::digest(path.as_bytes());
    let first: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("UnityCliLoop-{first}")
}

#[cfg(unix)]
fn socket(project: &Path) -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    PathBuf::from(format!("/tmp/uloop-{user}/{}.sock", socket_name(project)))
}

#[cfg(not(unix))]
fn socket(project: &Path) -> PathBuf {
    PathBuf::from(format!(r"\\.\pipe\uloop-{}", socket_name(project)))
}

struct CliLoopFace(Arc<Server>);

impl Drop for CliLoopFace {
    fn drop(&mut self) {
        // The tasks hold the server, so that it would never be dropped.
        drop(lock(&self.0.tasks).take());
    }
}

impl Face for CliLoopFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.0.test_tools { &TEST_TOOLS } else { &[] };
        let fixtures: &'static [ToolSpec] = if self.0.conformance_tools { &FIXTURES } else { &[] };
        catalogue::of(self.0.version).chain(test).chain(fixtures).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.0.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    /// Nothing is announced.
    fn tell<'a>(&'a self, _editor: &'a Arc<Editor>, _moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, _editor: &Arc<Editor>, _again: bool) {}

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let tasks = lock(&self.0.tasks).take();
            if let Some(mut tasks) = tasks {
                tasks.shutdown().await;
            }
        })
    }

    fn settings(&self, _editor: &Editor, _port: u16, running: bool) -> OwnFile {
        if running {
            *lock(&self.0.tasks) = Some(JoinSet::new());
            let mut process = self.0.process();
            (process.compiling, process.reloading, process.paused) = (false, false, false);
        }
        // The package keeps no such file. The path is a placeholder: removing a missing file does nothing.
        OwnFile { path: ".uloop/server", content: None, private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(ID, &self.0.version.to_string())
    }

    fn process_began(&self, _editor: &Editor) {
        *self.0.process() = Process::default();
    }

    fn locks(&self) -> bool {
        false
    }

    fn local_socket(&self, project: &Path) -> Option<PathBuf> {
        Some(socket(project))
    }

    /// The clients are closed first, then the listener and its file.
    fn listener_outlives_connections(&self) -> Duration {
        LISTENER_OUTLIVES
    }
}
