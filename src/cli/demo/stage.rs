//! The folder of the demo, and its child processes: fake editors and a gateway.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_fake_unity::{OwnPort, Package};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::cli::child::{self, News, Process, Source};
use crate::limits::demo::DEMO_NEWS_MAX;
use crate::protocol::dialect;

pub const PROJECT: &str = "MyGame";

#[derive(Debug, Clone, Copy)]
pub struct UnityTimes {
    pub compile: Duration,
    /// The duration of the domain reload after the compilation. During the reload the editor does not listen.
    pub compile_reload: Duration,
}

#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    package: &'static Package,
    /// The port that the editor and the gateway get as `--port`; `None` if a file of the project names the port.
    pub port: Option<OwnPort>,
    sender: mpsc::Sender<News>,
    pub unity: Option<Process>,
    pub gateway: Option<Process>,
    pub started: usize,
    pub ended: usize,
}

impl Stage {
    /// Creates a private folder. Starts no process yet. The returned receiver gets the lines of the child processes.
    pub fn set(package: &'static Package) -> io::Result<(Self, mpsc::Receiver<News>)> {
        let folder = child::private_folder("demo")?;
        let (sender, news) = mpsc::channel(DEMO_NEWS_MAX);
        Ok((Self { folder, package, port: None, sender, unity: None, gateway: None, started: 0, ended: 0 }, news))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the file in which the editor records each call that it runs.
    pub fn count_file(&self) -> PathBuf {
        self.folder.join("runs.jsonl")
    }

    fn project(&self) -> PathBuf {
        self.folder.join(PROJECT)
    }

    /// The home of the user, for packages that keep files there: nothing of the real one is touched.
    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The package of the fake editor.
    pub fn package(&self) -> &'static Package {
        self.package
    }

    /// Starts a fake editor on the project. It listens on [`Stage::port`], or on any free port if that is `None`.
    pub fn start_unity(&mut self, times: UnityTimes) -> io::Result<()> {
        let mut command = child::command(&self.folder, "fake-unity.log")?;
        command.arg("fake-unity").arg("--project").arg(self.project()).arg("--count-file").arg(self.count_file());
        command.arg("--dialect").arg(self.package.name).arg("--home").arg(self.home());
        command.arg("--compile-ms").arg(times.compile.as_millis().to_string());
        command.arg("--compile-reload-ms").arg(times.compile_reload.as_millis().to_string());
        if let Some(port) = &self.port {
            command.arg("--port").arg(port.number().to_string());
        }
        self.unity = Some(self.start(command, Source::Unity)?);
        Ok(())
    }

    /// Starts the gateway for the project as a client would, with `--port` only if [`Stage::port`] is set.
    pub fn start_gateway(&mut self) -> io::Result<()> {
        let mut command = child::gateway(&self.folder, &self.project())?;
        // A hub would outlive the demo.
        command.args(["--hub", "never"]);
        let file = dialect::named(self.package.name).and_then(|dialect| dialect.user_file(""));
        if let Some(file) = file {
            command.env(file.variable, self.home().join(file.folder));
        }
        if let Some(port) = &self.port {
            command.arg("--port").arg(port.number().to_string());
        }
        self.gateway = Some(self.start(command, Source::Gateway)?);
        Ok(())
    }

    fn start(&mut self, command: Command, source: Source) -> io::Result<Process> {
        let process = Process::start(command, source, self.sender.clone())?;
        self.started += 1;
        Ok(process)
    }

    pub async fn clear(&mut self) {
        for process in [self.gateway.take(), self.unity.take()].into_iter().flatten() {
            let mut process = process;
            if process.kill().await.is_ok() {
                self.ended += 1;
            }
        }
    }

    pub fn strike(&self) {
        // If the folder cannot be removed, it stays in the system's folder for temporary files, which the system cleans up.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
