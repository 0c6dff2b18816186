//! Simulates Unity's own package com.unity.pipeline, 0.4 to 0.8: an HTTP server with a token in a file, and no message of its own.
//!
//! A command that is late is not taken back: it runs when the main thread is free, and nobody hears of it. A reload forgets all that
//! waits or runs, and the jobs too. What survives it stands in files of `Temp` without ids. What is not known of a version is played
//! as its elder did it.

mod catalogue;
mod commands;
mod exec;
mod forms;
mod jobs;
mod package;
mod reply;
mod routes;
mod server;
mod versions;
mod wire;
mod work;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::BytesMut;
use holdfast_net::BoxFuture;
use tokio::sync::oneshot;

use super::config::FakeUnityConfig;
use super::conformance::FIXTURES;
use super::events::Event;
use super::face::{Face, IfTaken, Link, Moment};
use super::model::Editor;
use super::project::{OwnFile, Project};
use super::spec::{Tool, ToolSpec};
use super::tools::TEST_TOOLS;
pub(crate) use package::PACKAGE;
use package::{DESCRIPTOR, ID};
use server::{Process, Server, TORN, lock, token};

/// How many ports behind its own one it tries after a reload: those from 7800 to 7849.
const PORTS_BEHIND: u16 = 49;

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(PipelineFace(Arc::new(Server {
        version: config.played(),
        test_tools: config.test_tools,
        conformance_tools: config.conformance_tools,
        domain: Mutex::default(),
        process: Mutex::default(),
        tasks: Mutex::default(),
    })))
}

struct PipelineFace(Arc<Server>);

impl Drop for PipelineFace {
    fn drop(&mut self) {
        // The tasks hold the server, so that it would never be dropped.
        drop(lock(&self.0.tasks).take());
    }
}

impl Server {
    async fn serve_link(self: &Arc<Self>, editor: &Arc<Editor>, link: Link) -> std::io::Result<&'static str> {
        let Link { connection, mut reader, mut writer, .. } = link;
        let mut buffer = BytesMut::new();
        loop {
            let Some(request) = wire::read(&mut reader, &mut buffer).await? else { return Ok("no whole request") };
            let closes = request.closes;
            editor.state().requests += 1;
            let method = format!("{} {}", request.method, request.path);
            editor.event(Event::Request { connection, method });
            let (answer, answered) = oneshot::channel();
            let (server, of) = (Arc::clone(self), Arc::clone(editor));
            // It goes on if the client leaves.
            self.spawn(async move {
                let _ = answer.send(routes::answer(&server, &of, connection, request).await);
            });
            let Ok(reply) = answered.await else { return Ok("the domain ended") };
            if reply.may_be_lost && editor.loses_answer() {
                if let Some((tool, outcome)) = reply.ended {
                    editor.event(Event::CallEnded { connection, tool, outcome });
                }
                return Ok("its answer is lost");
            }
            writer.write(&reply.bytes(closes)).await?;
            if let Some((tool, outcome)) = reply.ended {
                editor.event(Event::CallEnded { connection, tool, outcome });
            }
            if closes {
                writer.finish().await?;
                return Ok("answered");
            }
        }
    }
}

impl Face for PipelineFace {
    fn tools(&self) -> Vec<Tool> {
        let test: &'static [ToolSpec] = if self.0.test_tools { &TEST_TOOLS } else { &[] };
        let fixtures: &'static [ToolSpec] = if self.0.conformance_tools { &FIXTURES } else { &[] };
        catalogue::of(self.0.version).chain(test).chain(fixtures).map(Tool::from).collect()
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move { self.0.serve_link(editor, link).await.unwrap_or("socket error") })
    }

    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        match moment {
            Moment::Quits => {
                let mut process = self.0.process();
                process.quits = true;
                if let Some(project) = &editor.project {
                    editor.file_result(DESCRIPTOR, project.remove(DESCRIPTOR));
                }
            }
            // The file has the new one when it is written again.
            Moment::Push { kind } if kind == "rotate-token" => self.0.process().token = token(editor),
            // Nothing is announced.
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }

    fn domain_began(&self, editor: &Arc<Editor>, _again: bool) {
        let unwritten = std::mem::take(&mut self.0.process().in_next_domain);
        for (path, status) in unwritten {
            self.0.write_status(editor, path, status);
        }
        let (server, editor) = (Arc::clone(&self.0), Arc::clone(editor));
        self.0.spawn(async move {
            server.heartbeat(&editor, true);
            tokio::time::sleep(TORN).await;
            server.heartbeat(&editor, false);
        });
    }

    fn domain_ended<'a>(&'a self, _editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let tasks = lock(&self.0.tasks).take();
            if let Some(mut tasks) = tasks {
                tasks.shutdown().await;
            }
        })
    }

    fn settings(&self, editor: &Editor, port: u16, running: bool) -> OwnFile {
        if running {
            self.0.begin_domain(editor);
        }
        OwnFile { path: DESCRIPTOR, content: running.then(|| self.0.descriptor(editor, port)), private: true }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(ID, &format!("{}-exp.1", self.0.version))
    }

    fn process_began(&self, editor: &Editor) {
        *self.0.process() = Process { token: token(editor), ..Process::default() };
        // An editor empties `Temp` when it starts.
        for path in work::FILES {
            if let Some(project) = &editor.project {
                editor.file_result(path, project.remove(path));
            }
        }
    }

    fn locks(&self) -> bool {
        false
    }

    fn ends_in_safe_mode(&self) -> bool {
        true
    }

    fn if_taken(&self) -> IfTaken {
        IfTaken { waits: Duration::ZERO, behind: PORTS_BEHIND, among: None, then_any: false }
    }
}
