//! Sessions on a hub, beside the same gateway without one.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measures::{Bench, MIB, difference, program};
use crate::session::{Memory, Session, resident};
use crate::stats::{Row, median, ms, quantile};

/// How many sessions are open when the memory is read.
const SESSIONS: [usize; 4] = [1, 5, 20, 50];

/// How many editors are connected when the memory is read. A hub has at most 16 (`LINKS_MAX`), and one is already connected.
const EDITORS: [usize; 3] = [1, 5, 15];

/// A hub, which is ended when it is dropped.
pub struct Hub(Child);

impl Hub {
    /// The process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a simulated editor of a new project, and waits until it listens.
pub fn fake_unity(project: &Path) -> io::Result<Session> {
    for part in ["Assets", "ProjectSettings"] {
        std::fs::create_dir_all(project.join(part))?;
    }
    let mut editor = Command::new(program());
    editor.args(["fake-unity", "--quiet", "--tick-ms", "0", "--project"]).arg(project);
    let mut editor = Session::start(&mut editor)?;
    editor.read()?;
    Ok(editor)
}

impl Bench {
    /// Starts a session of a project. `when`: whether a hub serves it.
    pub fn session(&self, project: &Path, when: &str) -> io::Result<Session> {
        let project = project.to_string_lossy().into_owned();
        Session::start(Command::new(program()).args(["--hub", when, "--project", &project]).envs(self.environment()))
    }

    /// Starts a hub, and waits until it serves.
    pub fn start_hub(&self, flags: &[&str]) -> io::Result<Hub> {
        let info = self.state.path().join("hub/hub.json");
        // That of an earlier part.
        let _ = std::fs::remove_file(&info);
        let mut command = Command::new(program());
        command.arg("hub").args(flags).envs(self.environment());
        let hub = Hub(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let began = Instant::now();
        while !info.exists() {
            if began.elapsed() > Duration::from_secs(20) {
                return Err(io::Error::other("the hub does not start"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(hub)
    }

    /// Measures what a hub adds to a start and to a call, and the memory of the hub and its sessions.
    pub fn hub(&mut self) -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let project = folder.path().join("project");
        let _editor = fake_unity(&project)?;
        let hub = self.start_hub(&[])?;
        let idle = resident(hub.pid())?;
        self.hub_starts(&project)?;
        self.hub_calls(&project)?;
        self.hub_memory(&project, &hub, idle)?;
        self.hub_editors(folder.path(), &hub)
    }

    fn hub_starts(&mut self, project: &Path) -> io::Result<()> {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        let (mut first_with, mut first_without) = (Vec::new(), Vec::new());
        for _ in 0..self.sizes.starts {
            let both = [("auto", &mut with, &mut first_with), ("never", &mut without, &mut first_without)];
            for (when, took, first) in both {
                let began = Instant::now();
                let mut session = self.session(project, when)?;
                session.initialize()?;
                took.push(began.elapsed());
                let began = Instant::now();
                let mut session = self.session(project, when)?;
                session.open()?;
                // Attached to the hub, which has a connection to the editor; or connected to the editor itself.
                session.echo()?;
                first.push(began.elapsed());
            }
        }
        let (first_with, first_without) = (median(&first_with), median(&first_without));
        self.table.push(Row {
            what: format!("start to the first call's answer, hub / no hub, p50 of {}", self.sizes.starts),
            holdfast: ms(first_with),
            floor: ms(first_without),
            compared: difference(first_with, first_without),
            budget: None,
        });
        let (with, without) = (median(&with), median(&without));
        self.table.push(Row {
            what: format!("start to `initialize` answer, hub / no hub, p50 of {}", self.sizes.starts),
            holdfast: ms(with),
            floor: ms(without),
            compared: difference(with, without),
            budget: Some(("≤ 10 ms".into(), with <= Duration::from_millis(10))),
        });
        Ok(())
    }

    fn hub_calls(&mut self, project: &Path) -> io::Result<()> {
        let sessions = [self.session(project, "auto")?, self.session(project, "never")?];
        self.compare_calls("hub / no hub", sessions, Duration::from_micros(50))
    }

    /// Measures what the records of sent calls add to a call of a gateway without a hub.
    pub fn records(&mut self) -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let project = folder.path().join("project");
        let _editor = fake_unity(&project)?;
        let without = tempfile::tempdir()?;
        // A file in the place of their folder: the gateway does without records.
        std::fs::write(without.path().join("calls"), "")?;
        let of = |state: &Path| {
            let project = project.to_string_lossy().into_owned();
            let mut command = Command::new(program());
            let environment = [("HOLDFAST_STATE_DIR", state), ("HOME", state)];
            Session::start(command.args(["--hub", "never", "--project", &project]).envs(environment))
        };
        let sessions = [of(self.state.path())?, of(without.path())?];
        self.compare_calls("with records / without", sessions, Duration::from_micros(20))
    }

    /// Compares the calls of two sessions, in turns. `budget`: how much longer a call of the first one may take at the median.
    fn compare_calls(&mut self, what: &str, [mut first, mut second]: [Session; 2], budget: Duration) -> io::Result<()> {
        for session in [&mut first, &mut second] {
            session.open()?;
            for _ in 0..200 {
                session.echo()?;
            }
        }
        let (blocks, calls) = self.sizes.blocks;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            for (session, took) in [(&mut first, &mut with), (&mut second, &mut without)] {
                for _ in 0..calls {
                    took.push(session.echo()?);
                }
            }
        }
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            let (with, without) = (quantile(&with, share), quantile(&without, share));
            self.table.push(Row {
                what: format!("one call, {what}, {name} of {}", blocks * calls),
                holdfast: ms(with),
                floor: ms(without),
                compared: difference(with, without),
                budget: (share < 0.6).then(|| {
                    (format!("≤ +{:.2} ms", budget.as_secs_f64() * 1e3), with.saturating_sub(without) <= budget)
                }),
            });
        }
        Ok(())
    }

    fn hub_memory(&mut self, project: &Path, hub: &Hub, idle: Memory) -> io::Result<()> {
        self.memory("resident memory of a hub without sessions", idle, Memory::default(), 10);
        let mut sessions: Vec<Session> = Vec::new();
        for count in SESSIONS {
            while sessions.len() < count {
                let mut session = self.session(project, "auto")?;
                session.open()?;
                sessions.push(session);
            }
            std::thread::sleep(Duration::from_millis(300));
            let hub = resident(hub.pid())?;
            // 10 MiB, and 0.2 MiB for each session.
            self.memory(
                &format!("resident memory of a hub with {count} sessions, one editor"),
                hub,
                Memory::default(),
                10 + count as u64 / 5,
            );
        }
        let session = sessions.iter().map(Session::resident).collect::<io::Result<Vec<Memory>>>()?;
        let most = session.into_iter().max().unwrap_or_default();
        self.memory("resident memory of a session on a hub, the largest of 50", most, Memory::default(), 5);
        Ok(())
    }

    /// Reads the memory of the hub with one session for each of several editors.
    fn hub_editors(&mut self, folder: &Path, hub: &Hub) -> io::Result<()> {
        let before = resident(hub.pid())?;
        let (mut editors, mut sessions): (Vec<Session>, Vec<Session>) = (Vec::new(), Vec::new());
        for count in EDITORS {
            while editors.len() < count {
                let project = folder.join(format!("editor{}", editors.len()));
                editors.push(fake_unity(&project)?);
                let mut session = self.session(&project, "auto")?;
                session.open()?;
                session.echo()?;
                sessions.push(session);
            }
            std::thread::sleep(Duration::from_millis(300));
            let hub = resident(hub.pid())?;
            self.table.push(Row {
                what: format!("the same hub after the 50 sessions, with {count} more editors, one session each"),
                holdfast: hub.to_string(),
                floor: before.to_string(),
                compared: format!(
                    "{:+.2} MiB each",
                    (hub.resident as f64 - before.resident as f64) / MIB as f64 / count as f64
                ),
                budget: None,
            });
        }
        Ok(())
    }
}
