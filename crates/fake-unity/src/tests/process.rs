//! Tests of the fake editor as a process, over pipes in memory.

use std::io;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use tokio::io::{BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::*;

/// A writer that parses complete lines as JSON and sends them to the test.
struct Lines {
    half: Mutex<Vec<u8>>,
    lines: mpsc::Sender<Value>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut half = self.half.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in bytes {
            if *byte == b'\n' {
                let value = serde_json::from_slice(&half).unwrap();
                half.clear();
                self.lines.try_send(value).map_err(|_| std::io::ErrorKind::BrokenPipe)?;
            } else {
                half.push(*byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Process {
    stdin: DuplexStream,
    lines: mpsc::Receiver<Value>,
    task: JoinHandle<io::Result<Ending>>,
}

impl Process {
    fn start(config: FakeUnityConfig, options: SteerOptions) -> Self {
        let (stdin, theirs) = tokio::io::duplex(1024);
        let (sender, lines) = mpsc::channel(256);
        let stdout = Lines { half: Mutex::default(), lines: sender };
        let task = tokio::spawn(run_process(
            config,
            options,
            Arc::new(AbortiveTcp::default()),
            BufReader::new(theirs),
            stdout,
        ));
        Self { stdin, lines, task }
    }

    async fn say(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next line with this event. Earlier lines are skipped.
    async fn hear(&mut self, event: &str) -> Value {
        within(async {
            loop {
                let line = self.lines.recv().await.expect("a line");
                if line["event"] == event {
                    return line;
                }
            }
        })
        .await
    }
}

#[tokio::test]
async fn it_says_where_it_listens_first_and_obeys_its_lines() {
    let mut process = Process::start(config(), SteerOptions::default());
    let first = within(process.lines.recv()).await.unwrap();
    assert_eq!((&first["event"], &first["pid"]), (&Value::from("listening"), &Value::from(std::process::id())));
    let port = u16::try_from(first["port"].as_u64().unwrap()).unwrap();
    let mut client = Client::connect(port).await;
    client.result("count", r#"{"key":"k"}"#).await;
    process.say("stats").await;
    assert_eq!(process.hear("stats").await["stats"]["runs"]["k"], 1);
    process.say("reload 20").await;
    assert_eq!(process.hear("reload_begun").await["silence_ms"], 20);
    assert_eq!(process.hear("done").await["line"], "reload 20");
    assert_eq!(process.hear("reload_ended").await["port"], port);
    process.say("reload soon").await;
    assert!(process.hear("bad_line").await["error"].as_str().unwrap().starts_with("usage: reload MS"));
    process.say("addtool echo").await;
    assert!(process.hear("failed").await["error"].as_str().unwrap().contains("already"));
    process.say("quit").await;
    process.hear("quit").await;
    assert_eq!(within(process.task).await.unwrap().unwrap(), Ending::Quit);
}

#[tokio::test]
async fn the_end_of_stdin_quits_unless_it_is_told_to_stay() {
    let process = Process::start(config(), SteerOptions::default());
    drop(process.stdin);
    assert_eq!(within(process.task).await.unwrap().unwrap(), Ending::Quit);

    let mut process = Process::start(config(), SteerOptions { stay: true, quiet: true });
    let port = process.hear("listening").await["port"].as_u64().unwrap();
    let Process { stdin, mut lines, task } = process;
    drop(stdin);
    let mut client = Client::connect(u16::try_from(port).unwrap()).await;
    client.result("echo", r#"{"text":"still here"}"#).await;
    drop(client);
    loop {
        let line = within(lines.recv()).await.unwrap();
        assert!(line["event"] != "request" && line["event"] != "call_begun", "quiet: {line}");
        if line["event"] == "closed" {
            break;
        }
    }
    // Nobody reads stdout any more, so the next printed line ends the process.
    drop(lines);
    let _client = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).await.unwrap();
    assert_eq!(within(task).await.unwrap().unwrap(), Ending::Quit);
}

#[tokio::test]
async fn a_crash_cleans_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let config = FakeUnityConfig { project: Some(folder.path().into()), ..config() };
    let mut process = Process::start(config, SteerOptions::default());
    process.hear("listening").await;
    process.say("crash").await;
    let ending = within(process.task).await.unwrap().unwrap();
    assert_eq!((ending, ending.code()), (Ending::Crashed, 134));
    assert!(folder.path().join("Temp/UnityLockfile").exists());
}

#[tokio::test]
async fn flags_become_a_configuration() {
    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        fake: FakeUnityArgs,
    }
    use clap::Parser;
    let line =
        "x --package-version 0.30.1 --push --tick-ms 0 --block-tool run-tests --no-bom --stay --shutdown-note true";
    let args = Cli::try_parse_from(line.split(' ')).unwrap().fake;
    assert_eq!(args.steer_options(), SteerOptions { stay: true, quiet: false });
    let config = args.into_config();
    assert_eq!(config.package_version, PackageVersion::new(0, 30, 1));
    assert!(config.push && config.tick.is_zero() && !config.result_file_bom);
    assert_eq!((config.shutdown_note, config.blocked_tools), (Some(true), vec!["run-tests".to_owned()]));
    assert_eq!(config.package, PACKAGES[0]);
    // With the same nonce, two processes would look like one, and the journal of the second would seem to contain all earlier
    // calls.
    let with_a_journal = || {
        let words = ["x", "--dialect", Package::with_a_journal().name];
        Cli::try_parse_from(words).unwrap().fake.into_config()
    };
    assert_ne!(with_a_journal().seed, with_a_journal().seed);
    assert_eq!(Cli::try_parse_from(["x", "--seed", "7"]).unwrap().fake.into_config().seed, 7);
    assert_eq!(Cli::try_parse_from(["x"]).unwrap().fake.into_config().played(), PACKAGES[0].newest());
    for package in PACKAGES.iter().copied() {
        let played = |version: &[&str]| {
            let words = [&["x", "--dialect", package.name], version].concat();
            let config = Cli::try_parse_from(words).unwrap().fake.into_config();
            assert_eq!(config.package, package);
            config.played().to_string()
        };
        let newest = package.newest().to_string();
        assert_eq!(played(&[]), newest, "{package:?}");
        assert_eq!(played(&["--package-version", "65535.0.0"]), newest, "{package:?}: none is newer");
        // One that is not on the list of those that differ is played too.
        let older = |version: &&str| version.parse::<PackageVersion>().unwrap() < package.newest();
        for version in ["0.7.3", "0.11.0", "0.20.0"].into_iter().filter(older) {
            assert_eq!(played(&["--package-version", version]), version, "{package:?}");
        }
    }
    let wrong = Cli::try_parse_from(["x", "--package-version", "0.0.9"]).err().unwrap().to_string();
    assert!(wrong.contains("0.1.0"), "{wrong}");
}
