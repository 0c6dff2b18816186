//! Long lists: a thousand tools, one of them with a schema of 500 KB, and as many finished calls as the gateway keeps.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::measures::{Bench, difference, program};
use crate::session::Session;
use crate::stats::{Row, median, ms, quantile};

/// Number of tools in the long list.
pub const TOOLS: usize = 1000;
/// Least size of the longest schema in the long list, in bytes.
pub const SCHEMA_BYTES: usize = 500_000;
/// Finished calls that the gateway keeps.
const CALLS_KEPT: usize = 10_000;
/// Time within which the gateway must have saved the catalogue on disk.
const SAVED_WITHIN: Duration = Duration::from_secs(10);

/// The name of a client that acts on change notifications. The gateway answers its first list request at once with what it
/// already knows.
const HEARS: &str = "claude-code";

impl Bench {
    /// Measures starts, lists and calls with long lists, and the same with short ones.
    pub fn long(&mut self) -> io::Result<()> {
        self.long_starts()?;
        self.long_calls()
    }

    fn long_starts(&mut self) -> io::Result<()> {
        let few = self.state.path().join("few-tools");
        let many = self.state.path().join("many-tools");
        let (tools, bytes) = (TOOLS.to_string(), SCHEMA_BYTES.to_string());
        let mut live = Vec::new();
        for (project, more) in [(&few, vec![]), (&many, vec!["--tools", &tools, "--schema-bytes", &bytes])] {
            let editor = ["fake-unity", "--tick-ms", "0", "--quiet", "--project"];
            let mut editor = Session::start(Command::new(program()).args(editor).arg(project).args(more))?;
            while !editor.read()?.contains(r#""event":"listening""#) {}
            live.clear();
            for _ in 0..self.sizes.results {
                // The gateway has no catalogue yet, so the first list comes from the editor.
                let _ = std::fs::remove_dir_all(self.state.path().join("catalogues"));
                let began = Instant::now();
                let mut gateway = self.of_project(project)?;
                gateway.open()?;
                live.push(began.elapsed());
                let until = Instant::now() + SAVED_WITHIN;
                while !saved(self.state.path()) {
                    if Instant::now() > until {
                        return Err(io::Error::other("the catalogue did not reach the disk"));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            // The next project begins without a catalogue, so this project's catalogue is moved away until it is measured.
            std::fs::rename(self.state.path().join("catalogues"), project.join("catalogues"))?;
        }
        // From here on no editor runs. The two projects take turns.
        let (mut starts, mut lists) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..self.sizes.starts {
            for (nth, project) in [&few, &many].into_iter().enumerate() {
                std::fs::rename(project.join("catalogues"), self.state.path().join("catalogues"))?;
                let began = Instant::now();
                let mut gateway = self.of_project(project)?;
                gateway.initialize_as(HEARS)?;
                starts[nth].push(began.elapsed());
                // This client does not wait for the catalogue on disk: the gateway notifies it, and it asks again.
                let until = began + SAVED_WITHIN;
                while !gateway.list()?.contains(r#""echo""#) {
                    if Instant::now() > until {
                        return Err(io::Error::other("the list on disk was not served"));
                    }
                }
                lists[nth].push(began.elapsed());
                if gateway.list()?.contains("more-0999") != (nth == 1) {
                    return Err(io::Error::other("the list is another project's"));
                }
                drop(gateway);
                std::fs::rename(self.state.path().join("catalogues"), project.join("catalogues"))?;
            }
        }
        let rows = [
            ("start to `initialize` answer", &starts, Some(10)),
            ("start to the first `tools/list` answer, from disk", &lists, None),
        ];
        for (what, [few, many], budget) in rows {
            let p50 = median(many);
            self.table.push(Row {
                what: format!("{TOOLS} tools: {what}, p50 of {}", many.len()),
                holdfast: ms(p50),
                floor: String::new(),
                compared: format!("{} to few tools", difference(p50, median(few))),
                budget: budget.map(|most| (format!("≤ {most} ms"), p50 <= Duration::from_millis(most))),
            });
        }
        self.table.push(Row {
            what: format!(
                "{TOOLS} tools: start to the editor's own list, published and answered, p50 of {}",
                live.len()
            ),
            holdfast: ms(median(&live)),
            floor: String::new(),
            compared: String::new(),
            budget: None,
        });
        Ok(())
    }

    fn of_project(&self, project: &Path) -> io::Result<Session> {
        Session::start(Command::new(program()).arg("--project").arg(project).envs(self.environment()))
    }

    fn long_calls(&mut self) -> io::Result<()> {
        let mut many = self.gateway(self.long_port)?;
        many.open()?;
        let mut lists = Vec::new();
        let mut bytes = 0;
        for _ in 0..=self.sizes.results {
            let began = Instant::now();
            bytes = many.list()?.len();
            lists.push(began.elapsed());
        }
        self.table.push(Row {
            what: format!(
                "{TOOLS} tools: one `tools/list` of {:.1} MB, p50 of {}",
                bytes as f64 / 1e6,
                self.sizes.results
            ),
            holdfast: ms(median(lists.get(1..).unwrap_or_default())),
            floor: String::new(),
            compared: String::new(),
            budget: None,
        });
        let listed = many.resident()?;
        let of_tools = self.calls_beside(&mut many)?;
        self.call_rows(&format!("{TOOLS} tools"), &of_tools);
        for _ in 0..CALLS_KEPT.div_ceil(400) {
            many.storm(400, 16)?;
        }
        let kept = self.calls_beside(&mut many)?;
        self.call_rows(&format!("{TOOLS} tools and {CALLS_KEPT} calls kept"), &kept);
        let relay = self.relay()?.resident()?;
        self.memory(&format!("{TOOLS} tools: resident memory after the list"), listed, relay, 20);
        let all = many.resident()?;
        self.memory(&format!("{TOOLS} tools and {CALLS_KEPT} calls kept: resident memory"), all, relay, 20);
        Ok(())
    }

    /// Measures, in turns, calls of this gateway, of a gateway with few tools and few finished calls, and of the relay.
    fn calls_beside(&self, many: &mut Session) -> io::Result<[Vec<Duration>; 3]> {
        let (mut few, mut relay) = self.both()?;
        let (blocks, calls) = self.sizes.blocks;
        let mut took = [Vec::new(), Vec::new(), Vec::new()];
        let sessions = [many, &mut few, &mut relay];
        for block in 0..blocks / 2 {
            // A different session begins each time, so that the order of the sessions has no influence.
            for turn in 0..sessions.len() {
                let nth = (block + turn) % sessions.len();
                for _ in 0..calls {
                    took[nth].push(sessions[nth].echo()?);
                }
            }
        }
        Ok(took)
    }

    fn call_rows(&mut self, of_what: &str, [many, few, relay]: &[Vec<Duration>; 3]) {
        for (name, share, budget) in [("p50", 0.5, 50_u32), ("p99", 0.99, 300)] {
            let [many_took, few, relay] = [many, few, relay].map(|samples| quantile(samples, share));
            let met = many_took.saturating_sub(relay) <= Duration::from_micros(budget.into());
            self.table.push(Row {
                what: format!("{of_what}: one call, {name} of {}", many.len()),
                holdfast: ms(many_took),
                floor: ms(relay),
                compared: format!("{}; {} to few", difference(many_took, relay), difference(many_took, few)),
                budget: Some((format!("≤ +{} ms", f64::from(budget) / 1000.0), met)),
            });
        }
    }
}

fn saved(state: &Path) -> bool {
    let files = std::fs::read_dir(state.join("catalogues")).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.path().extension().is_some_and(|extension| extension == "json"))
}
