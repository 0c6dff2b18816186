//! Simulates MCP for Unity by CoplayDev, 8.0 to 10.3: its bridge is a TCP server, or a WebSocket client of the gateway, whichever the
//! user chose in its window. Commands and results are the same in both.
//!
//! As a server it takes one command at a time, has no ids, and closes every other client when a new one comes. As a client it takes
//! commands with ids, and still runs them one after the other. No reload is announced on the wire: as a server it says so in a file of
//! the user's home.

mod bridge;
mod catalogue;
mod commands;
mod dial;
mod files;
mod http;
mod hub;
mod jobs;
mod names;
mod package;
mod resources;
mod scripts;
mod stdio;
mod unity;
mod websocket;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use holdfast_net::{BoxFuture, BoxStream};

use super::config::FakeUnityConfig;
use super::conformance::FIXTURES;
use super::face::{Face, IfTaken, Link, Moment, Step};
use super::model::Editor;
use super::project::{OwnFile, Project};
use super::spec::{Tool, ToolSpec};
use super::tools::TEST_TOOLS;
use bridge::{Bridge, V9_7_3};
pub use http::HTTP;
use package::ID;
pub use package::PACKAGE;

/// The ports that the package tries if its own is taken.
const PORTS: (u16, u16) = (6400, 6499);
/// How long it tries its own before that (the package's own number).
const PORT_WAIT: Duration = Duration::from_secs(3);

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(CoplayFace(Arc::new(Bridge::new(config))))
}

struct CoplayFace(Arc<Bridge>);

impl Drop for CoplayFace {
    fn drop(&mut self) {
        // The tasks hold the bridge, so that it would never be dropped.
        drop(bridge::lock(&self.0.tasks).take());
    }
}

impl Face for CoplayFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.0.test_tools { &TEST_TOOLS } else { &[] };
        let long = self.0.test_tools.then_some(&catalogue::LONG);
        let fixtures: &'static [ToolSpec] = if self.0.conformance_tools { &FIXTURES } else { &[] };
        catalogue::built_in().chain(test).chain(long).chain(fixtures).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move {
            let served = if self.0.dials {
                self.0.serve_hub(editor, link).await
            } else {
                self.0.serve_client(editor, link).await
            };
            served.unwrap_or("socket error")
        })
    }

    /// Only a gateway that the editor has connected to is told of anything.
    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match moment {
                Moment::Push { kind } if self.0.dials => self.0.press(kind),
                Moment::ToolsChanged { .. } => self.0.tools_changed(),
                Moment::Stopped | Moment::Quits if self.0.dials => editor.tell_all(&hub::goodbye()).await,
                _ => {}
            }
        })
    }

    fn domain_began(&self, editor: &Arc<Editor>, again: bool) {
        self.0.domain_began(editor, again);
    }

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let tasks = bridge::lock(&self.0.tasks).take();
            if let Some(mut tasks) = tasks {
                tasks.shutdown().await;
            }
        })
    }

    /// The package keeps no such file in the project. The path is a placeholder: removing a missing file does nothing.
    fn settings(&self, _editor: &Editor, _port: u16, _running: bool) -> OwnFile {
        OwnFile { path: "Library/MCPForUnity/RunState/none", content: None, private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        let address = format!("https://github.com/CoplayDev/unity-mcp.git?path=/MCPForUnity#v{}", self.0.version);
        project.install(ID, &address)
    }

    fn process_began(&self, _editor: &Editor) {
        self.0.process_began();
    }

    fn locks(&self) -> bool {
        false
    }

    fn dials(&self) -> bool {
        self.0.dials
    }

    fn connect<'a>(&'a self, editor: &'a Arc<Editor>, port: u16) -> BoxFuture<'a, BoxStream> {
        Box::pin(self.0.connect(editor, port))
    }

    fn reaches<'a>(&'a self, editor: &'a Arc<Editor>, step: Step, port: u16) -> BoxFuture<'a, ()> {
        Box::pin(self.0.follow(editor, step, port))
    }

    /// That versions before the one that is known to wait did not wait is inferred.
    fn if_taken(&self) -> IfTaken {
        let waits = if self.0.version >= V9_7_3 { PORT_WAIT } else { Duration::ZERO };
        IfTaken { waits, behind: 0, among: Some(PORTS), then_any: false }
    }
}
