//! The client's end of a child process: the gateway, the relay, the peer or a fake editor.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_mcp_client::line;
use serde_json::json;

/// A child with pipes to its stdin and stdout. Dropping a `Session` closes the child's stdin and waits until the child has
/// ended.
pub struct Session {
    stdout: BufReader<ChildStdout>,
    steering: Steering,
    line: Vec<u8>,
    next_id: u64,
}

/// The stdin of a child whose stdout may be read by another thread. Dropping it closes the child's stdin and waits until the
/// child has ended.
pub struct Steering {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Steering {
    /// Writes a text to stdin.
    pub fn write(&mut self, line: &str) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line.as_bytes())
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

impl Session {
    /// Starts a child.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let steering = Steering { child, stdin };
        let stdout = BufReader::with_capacity(64 * 1024, stdout.ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Self { stdout, steering, line: Vec::new(), next_id: 0 })
    }

    /// Reads the next line that is not a notification.
    pub fn read(&mut self) -> io::Result<&str> {
        loop {
            self.line.clear();
            if self.stdout.read_until(b'\n', &mut self.line)? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the child ended"));
            }
            let head = self.line.get(..64).unwrap_or(&self.line);
            if !contains(head, br#""method":"#) {
                break;
            }
        }
        std::str::from_utf8(&self.line).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn ask(&mut self, method: &str, params: &str) -> io::Result<()> {
        self.next_id += 1;
        self.steering.write(&(line::request(self.next_id, method, params) + "\n"))
    }

    /// Opens the session and waits for the answer.
    pub fn initialize(&mut self) -> io::Result<()> {
        self.initialize_as("bench")
    }

    /// Opens the session as [`initialize`](Self::initialize) does, under this client name.
    pub fn initialize_as(&mut self, client: &str) -> io::Result<()> {
        self.ask("initialize", &line::handshake(client, "2025-06-18", json!({})).to_string())?;
        self.read().map(drop)
    }

    /// Asks for the tool list.
    pub fn list(&mut self) -> io::Result<&str> {
        self.ask("tools/list", "{}")?;
        self.read()
    }

    /// Opens the session and waits for the tool list. A client that the gateway does not know gets the complete list at once.
    pub fn open(&mut self) -> io::Result<()> {
        self.initialize()?;
        self.steering.write(&format!("{}\n", line::INITIALIZED))?;
        let list = self.list()?;
        if list.contains(r#""echo""#) { Ok(()) } else { Err(io::Error::other("the list does not have the tools")) }
    }

    /// Sends a call.
    pub fn send(&mut self, tool: &str, arguments: &str) -> io::Result<()> {
        self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
    }

    /// Sends a call and waits for its answer. Returns the time that this took, and the answer.
    pub fn call(&mut self, tool: &str, arguments: &str) -> io::Result<(Duration, &str)> {
        let sent = Instant::now();
        self.send(tool, arguments)?;
        let answer = self.read()?;
        Ok((sent.elapsed(), answer))
    }

    /// Makes a small call. Returns the time that it took.
    pub fn echo(&mut self) -> io::Result<Duration> {
        let (took, answer) = self.call("echo", r#"{"text":"hello, editor"}"#)?;
        check(answer, "hello, editor")?;
        Ok(took)
    }

    /// Makes `calls` small calls, `at_once` of them open at the same time. Returns the time that all of them took.
    pub fn storm(&mut self, calls: u32, at_once: u32) -> io::Result<Duration> {
        let arguments = r#"{"text":"hello, editor"}"#;
        let began = Instant::now();
        for _ in 0..at_once {
            self.send("echo", arguments)?;
        }
        for answered in 1..=calls {
            check(self.read()?, "hello, editor")?;
            if answered + at_once <= calls {
                self.send("echo", arguments)?;
            }
        }
        Ok(began.elapsed())
    }

    /// Closes stdin. Returns the time until the process has ended.
    pub fn end(self) -> Duration {
        let began = Instant::now();
        drop(self.steering);
        began.elapsed()
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.steering.child.id()
    }

    /// The memory of the child.
    pub fn resident(&self) -> io::Result<Memory> {
        resident(self.steering.child.id())
    }

    /// Splits the session into its stdin and its stdout, for two threads.
    pub fn split(self) -> (Steering, BufReader<ChildStdout>) {
        (self.steering, self.stdout)
    }
}

/// Checks that an answer has this text and is no error.
pub fn check(answer: &str, wanted: &str) -> io::Result<()> {
    if answer.contains(wanted) && !answer.contains(r#""isError":true"#) {
        return Ok(());
    }
    let shown: String = answer.chars().take(300).collect();
    Err(io::Error::other(format!("not the answer: {shown}")))
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(hay, needle).is_some()
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    /// What a user's monitor shows: with the pages of the program's file, which all processes of a program share.
    pub resident: u64,
    /// What is its own alone. 0: the system does not tell.
    pub own: u64,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / (1024.0 * 1024.0);
        write!(f, "{:.1} MiB, {:.1} its own", mib(self.resident), mib(self.own))
    }
}

/// Returns how long a process has used a processor; `None` where there is no `/proc`. Linux counts in hundredths of a second.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // `utime` and `stime` are the 14th and 15th field (proc(5)); the 3rd is the first after the name.
    let ticks = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().ok());
    Some(Duration::from_millis(ticks.sum::<Option<u64>>()? * 10))
}

/// Returns the memory of a process: `VmRSS` and `RssAnon` on Linux, the output of `ps` elsewhere.
pub fn resident(pid: u32) -> io::Result<Memory> {
    let bytes = |text: &str| {
        let kib: Option<u64> = text.split_whitespace().next().and_then(|word| word.parse().ok());
        kib.map(|kib| kib * 1024)
    };
    let status = Path::new("/proc").join(pid.to_string()).join("status");
    let memory = if let Ok(status) = std::fs::read_to_string(status) {
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).and_then(bytes);
        line("VmRSS:").map(|resident| Memory { resident, own: line("RssAnon:").unwrap_or_default() })
    } else {
        let ps = Command::new("ps").args(["-o", "rss=", "-p", &pid.to_string()]).output()?;
        bytes(&String::from_utf8_lossy(&ps.stdout)).map(|resident| Memory { resident, own: 0 })
    };
    memory.ok_or_else(|| io::Error::other("neither /proc nor ps tells the resident memory"))
}
