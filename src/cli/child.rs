//! Copies of this program that a command starts, and talks to by lines: the fake editors and the gateway of a demo, and
//! the gateway of a trial.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::limits::demo::{DEMO_LINE_MAX_BYTES, DEMO_STEP_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Gateway,
    Unity,
}

/// A line from a child process, or the end of its output.
#[derive(Debug)]
pub(super) struct News {
    pub at: Instant,
    pub source: Source,
    /// `None` if the process's output has ended.
    pub line: Option<String>,
}

/// Makes a folder for temporary files that only this user can enter.
pub(super) fn private_folder(what: &str) -> io::Result<PathBuf> {
    let name = format!("holdfast-{what}-{}-{:08x}", std::process::id(), fastrand::u32(..));
    let folder = std::env::temp_dir().join(name);
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    Ok(folder)
}

/// Returns a command that starts this program in a folder, without the variables that configure a gateway. Its stderr goes to the file
/// `log` there.
pub(super) fn command(folder: &Path, log: &str) -> io::Result<Command> {
    let log = File::options().create(true).append(true).open(folder.join(log))?;
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["HOLDFAST_", "UNITY_", "MCP_", "NODE_ENV"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
    Ok(command)
}

/// Returns a command that starts a gateway for a project, with all of its files in this folder.
pub(super) fn gateway(folder: &Path, project: &Path) -> io::Result<Command> {
    let mut command = command(folder, "gateway.log")?;
    // This file takes the place of the user's configuration file, whose rules could refuse the calls.
    let config = folder.join("config.toml");
    File::options().create(true).append(true).open(&config)?;
    command.args(["serve", "--log", "info", "--project"]).arg(project);
    command.arg("--state-dir").arg(folder.join("state")).arg("--config").arg(config);
    Ok(command)
}

/// A child process with its stdin. The process is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    pub fn start(mut command: Command, source: Source, sender: mpsc::Sender<News>) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        if let Some(stdout) = child.stdout.take() {
            // The task ends with the child, because the child closes its end of the pipe.
            tokio::spawn(listen(stdout, source, sender));
        }
        Ok(Self { child, stdin })
    }

    /// Returns the process id; 0 after [`Process::leave`] or [`Process::kill`] has seen the process end.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Writes a line to the child's stdin, which has to take it within [`DEMO_STEP_MAX`].
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let write = async {
            stdin.write_all(format!("{line}\n").as_bytes()).await?;
            stdin.flush().await
        };
        timeout(DEMO_STEP_MAX, write).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    pub async fn leave(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let ended = timeout(DEMO_STEP_MAX, self.child.wait()).await;
        ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Kills the child (SIGKILL on Unix), and waits for its end.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.child.start_kill()?;
        self.leave().await.map(drop)
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
