//! The child processes of the demo (fake editors and a gateway), and the lines that they print.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use holdfast_fake_unity::{OwnPort, Package};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::limits::demo::{DEMO_LINE_MAX_BYTES, DEMO_NEWS_MAX, DEMO_STEP_MAX};

/// The name of the fake project.
pub const PROJECT: &str = "MyGame";

/// The process that wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The gateway's stdout.
    Gateway,
    /// A fake editor's stdout.
    Unity,
}

/// A line from a child process, or the end of its output.
#[derive(Debug)]
pub struct News {
    /// The time at which the line was read.
    pub at: Instant,
    /// The process that wrote the line.
    pub source: Source,
    /// The line; `None` if the process's output has ended.
    pub line: Option<String>,
}

/// How long the fake editor takes for its work.
#[derive(Debug, Clone, Copy)]
pub struct UnityTimes {
    /// The duration of a compilation.
    pub compile: Duration,
    /// The duration of the domain reload after the compilation. During the reload the editor does not listen.
    pub compile_reload: Duration,
}

/// A child process with its stdin. The process is killed when this value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Returns the process id; 0 after [`Process::leave`] or [`Process::kill`] has seen the process end.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Writes a line to the child's stdin.
    ///
    /// # Errors
    /// The child has ended, or does not read within [`DEMO_STEP_MAX`].
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let write = async {
            stdin.write_all(format!("{line}\n").as_bytes()).await?;
            stdin.flush().await
        };
        tokio::time::timeout(DEMO_STEP_MAX, write).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Closes the child's stdin and waits for its end.
    ///
    /// # Errors
    /// The child does not end within [`DEMO_STEP_MAX`].
    pub async fn leave(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let ended = tokio::time::timeout(DEMO_STEP_MAX, self.child.wait()).await;
        ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Kills the child (SIGKILL on Unix) and waits for its end.
    ///
    /// # Errors
    /// The system refuses, or the child does not end within [`DEMO_STEP_MAX`].
    pub async fn kill(&mut self) -> io::Result<()> {
        self.child.start_kill()?;
        let ended = tokio::time::timeout(DEMO_STEP_MAX, self.child.wait()).await;
        ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(drop)
    }
}

/// The folder and the processes of the demo.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    program: PathBuf,
    package: &'static Package,
    /// The port that the editor and the gateway get as `--port`; `None` if a file of the project names the port.
    pub port: Option<OwnPort>,
    sender: mpsc::Sender<News>,
    /// The editor, while it runs.
    pub unity: Option<Process>,
    /// The gateway, while it runs.
    pub gateway: Option<Process>,
    /// The number of processes started.
    pub started: usize,
    /// The number of processes whose end was seen.
    pub ended: usize,
}

impl Stage {
    /// Creates a private folder. Starts no process yet. The returned receiver gets the lines of the child processes.
    ///
    /// # Errors
    /// The folder cannot be created, or this program's path is unknown.
    pub fn set(package: &'static Package) -> io::Result<(Self, mpsc::Receiver<News>)> {
        let program = std::env::current_exe()?;
        let folder =
            std::env::temp_dir().join(format!("holdfast-demo-{}-{:08x}", std::process::id(), fastrand::u32(..)));
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        let (sender, news) = mpsc::channel(DEMO_NEWS_MAX);
        Ok((
            Self { folder, program, package, port: None, sender, unity: None, gateway: None, started: 0, ended: 0 },
            news,
        ))
    }

    /// Returns the folder of the demo.
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

    /// The package of the fake editor.
    pub fn package(&self) -> &'static Package {
        self.package
    }

    /// Starts a fake editor on the project. It listens on [`Stage::port`], or on any free port if that is `None`.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start_unity(&mut self, times: UnityTimes) -> io::Result<()> {
        let mut command = self.command("fake-unity.log")?;
        command.arg("fake-unity").arg("--project").arg(self.project()).arg("--count-file").arg(self.count_file());
        command.arg("--dialect").arg(self.package.name);
        command.arg("--compile-ms").arg(times.compile.as_millis().to_string());
        command.arg("--compile-reload-ms").arg(times.compile_reload.as_millis().to_string());
        if let Some(port) = &self.port {
            command.arg("--port").arg(port.number().to_string());
        }
        self.unity = Some(self.start(command, Source::Unity)?);
        Ok(())
    }

    /// Starts the gateway for the project as a client would, with `--port` only if [`Stage::port`] is set.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start_gateway(&mut self) -> io::Result<()> {
        let mut command = self.command("gateway.log")?;
        command.arg("serve").arg("--project").arg(self.project());
        command.arg("--state-dir").arg(self.folder.join("state")).arg("--log").arg("info");
        // An empty configuration file is used instead of the user's, whose policy could refuse the demo's calls.
        let config = self.folder.join("config.toml");
        File::options().create(true).append(true).open(&config)?;
        command.arg("--config").arg(config);
        if let Some(port) = &self.port {
            command.arg("--port").arg(port.number().to_string());
        }
        self.gateway = Some(self.start(command, Source::Gateway)?);
        Ok(())
    }

    /// Returns a command that starts this program without the variables that configure a gateway. Its stderr goes to the file
    /// `log`.
    fn command(&self, log: &str) -> io::Result<Command> {
        let log = File::options().create(true).append(true).open(self.folder.join(log))?;
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["HOLDFAST_", "UNITY_", "MCP_", "NODE_ENV"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        Ok(command)
    }

    fn start(&mut self, mut command: Command, source: Source) -> io::Result<Process> {
        let mut child = command.spawn()?;
        self.started += 1;
        let stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            // The task ends with the child, which closes its end of the pipe.
            tokio::spawn(listen(stdout, source, self.sender.clone()));
        }
        Ok(Process { child, stdin })
    }

    /// Kills the child processes that are still running.
    pub async fn clear(&mut self) {
        for process in [self.gateway.take(), self.unity.take()].into_iter().flatten() {
            let mut process = process;
            if process.kill().await.is_ok() {
                self.ended += 1;
            }
        }
    }

    /// Removes the folder.
    pub fn strike(&self) {
        // If the folder cannot be removed, it stays in the system's folder for temporary files, which the system cleans up.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn listen(stdout: impl AsyncRead + Unpin, source: Source, sender: mpsc::Sender<News>) {
    let mut stdout = BufReader::new(stdout);
    let bound = u64::try_from(DEMO_LINE_MAX_BYTES).unwrap_or(u64::MAX);
    loop {
        let mut bytes = Vec::new();
        let read = (&mut stdout).take(bound).read_until(b'\n', &mut bytes).await;
        let at = Instant::now();
        let line = match read {
            Ok(1..) => Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()),
            Ok(0) | Err(_) => None,
        };
        let last = line.is_none();
        if sender.send(News { at, source, line }).await.is_err() || last {
            return;
        }
    }
}
