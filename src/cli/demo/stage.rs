//! The child processes of the demo: fake editors and a gateway, and the news that their lines are.

use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::ValueEnum as _;
use holdfast_fake_unity::FakeDialect;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::limits::{DEMO_LINE_MAX_BYTES, DEMO_NEWS_MAX, DEMO_STEP_MAX};

/// The name of the project that is opened.
pub const PROJECT: &str = "MyGame";

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The gateway, on stdout.
    Gateway,
    /// A fake editor, on stdout.
    Unity,
}

/// Something that a child said.
#[derive(Debug)]
pub struct News {
    /// When it was read.
    pub at: Instant,
    /// Who said it.
    pub source: Source,
    /// The line; `None`: it will say nothing more.
    pub line: Option<String>,
}

/// How long things in the editor take.
#[derive(Debug, Clone, Copy)]
pub struct UnityTimes {
    /// A compilation.
    pub compile: Duration,
    /// The silence of the reload after it.
    pub compile_reload: Duration,
}

/// A child with its stdin. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    /// Its process id, while it has not been waited for.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Writes a line to its stdin.
    ///
    /// # Errors
    /// It has ended, or does not read.
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let write = async {
            stdin.write_all(format!("{line}\n").as_bytes()).await?;
            stdin.flush().await
        };
        tokio::time::timeout(DEMO_STEP_MAX, write).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Closes its stdin and waits for its end.
    ///
    /// # Errors
    /// It does not end.
    pub async fn leave(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        let ended = tokio::time::timeout(DEMO_STEP_MAX, self.child.wait()).await;
        ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Kills it (SIGKILL, where there are signals) and waits until it is gone.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.child.start_kill()?;
        let ended = tokio::time::timeout(DEMO_STEP_MAX, self.child.wait()).await;
        ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(drop)
    }
}

/// The folder and the processes.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    program: PathBuf,
    dialect: FakeDialect,
    /// The port that both are told, where no file of the project names it.
    pub port: Option<u64>,
    sender: mpsc::Sender<News>,
    /// The editor, while there is one.
    pub unity: Option<Process>,
    /// The gateway, while there is one.
    pub gateway: Option<Process>,
    /// Processes started.
    pub started: usize,
    /// Processes whose end was seen.
    pub ended: usize,
}

impl Stage {
    /// Makes a private folder; nothing runs yet. The receiver hears what the children say.
    ///
    /// # Errors
    /// What the system says about the folder or about this program's file.
    pub fn set(dialect: FakeDialect) -> io::Result<(Self, mpsc::Receiver<News>)> {
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
            Self { folder, program, dialect, port: None, sender, unity: None, gateway: None, started: 0, ended: 0 },
            news,
        ))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file in which the editor counts what it runs.
    pub fn count_file(&self) -> PathBuf {
        self.folder.join("runs.jsonl")
    }

    fn project(&self) -> PathBuf {
        self.folder.join(PROJECT)
    }

    /// Starts an editor on the project, on whatever port is free.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_unity(&mut self, times: UnityTimes) -> io::Result<()> {
        let mut command = self.command("fake-unity.log")?;
        command.arg("fake-unity").arg("--project").arg(self.project()).arg("--count-file").arg(self.count_file());
        if let Some(dialect) = self.dialect.to_possible_value() {
            command.arg("--dialect").arg(dialect.get_name());
        }
        command.arg("--compile-ms").arg(times.compile.as_millis().to_string());
        command.arg("--compile-reload-ms").arg(times.compile_reload.as_millis().to_string());
        if let Some(port) = self.port {
            command.arg("--port").arg(port.to_string());
        }
        self.unity = Some(self.start(command, Source::Unity)?);
        Ok(())
    }

    /// Starts the gateway for the project: as a client would, with no port named.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_gateway(&mut self) -> io::Result<()> {
        let mut command = self.command("gateway.log")?;
        command.arg("serve").arg("--project").arg(self.project());
        command.arg("--state-dir").arg(self.folder.join("state")).arg("--log").arg("info");
        // In place of the user's own: a policy would keep the demo from its calls.
        let config = self.folder.join("config.toml");
        File::options().create(true).append(true).open(&config)?;
        command.arg("--config").arg(config);
        if let Some(port) = self.port {
            command.arg("--port").arg(port.to_string());
        }
        self.gateway = Some(self.start(command, Source::Gateway)?);
        Ok(())
    }

    /// A command for this program, free of what the user's environment says to a gateway.
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
            // It ends with the child, whose end of the pipe closes then.
            tokio::spawn(listen(stdout, source, self.sender.clone()));
        }
        Ok(Process { child, stdin })
    }

    /// Ends whatever still runs.
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
        // What cannot be removed is the system's to clean: it is its folder for temporary files.
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
