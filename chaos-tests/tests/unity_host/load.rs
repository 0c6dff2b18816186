//! Calls of every kind, and the check of their outcomes.

use std::collections::HashMap;

use serde_json::json;

use super::stage::Stage;
use super::{Client, Room, Scenario, Verdict};

/// What a domain reload may do to a counted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing: the call has not begun, or continues after the reload.
    Safe,
    /// The reload interrupts it: the true answer is that it began and has no result.
    Cut,
    /// Either of these, by chance.
    Either,
}

/// The load of one session.
#[derive(Default)]
pub struct Load {
    number: u64,
    open: Vec<(String, u64, Kind)>,
    looks: Vec<u64>,
    verdicts: HashMap<String, Verdict>,
}

impl Load {
    fn key(&mut self) -> String {
        self.number += 1;
        format!("n{}", self.number)
    }

    fn counted(&mut self, client: &mut Client, tool: &str, kind: Kind, more: &serde_json::Value) {
        let key = self.key();
        let mut arguments = more.clone();
        arguments["key"] = json!(key);
        let id = client.call(tool, &arguments);
        self.open.push((key, id, kind));
    }

    /// Makes serial calls, parallel calls, a call that continues after reloads, and a call that only reads.
    pub fn some(&mut self, client: &mut Client) {
        self.counted(client, "count", Kind::Either, &json!({}));
        for ms in [1, 10, 40] {
            self.counted(client, "wait", Kind::Either, &json!({"ms": ms}));
        }
        self.looks.push(client.call("echo", &json!({"text": "x"})));
        self.counted(client, "work", Kind::Safe, &json!({"ms": 5}));
    }

    /// Makes a serial call and waits until it has begun. The next reload interrupts it or, if `goes_on`, it continues
    /// afterwards.
    pub fn under_way(&mut self, stage: &mut Stage, goes_on: bool) {
        let key = self.key();
        let (tool, arguments, kind) = if goes_on {
            ("work", json!({"key": key, "ms": 150}), Kind::Safe)
        } else {
            ("count", json!({"key": key, "hold": true}), Kind::Cut)
        };
        let id = stage.begun(tool, &arguments);
        self.open.push((key, id, kind));
    }

    /// Waits for every answer, and checks that the answer fits what the reload did to the call.
    pub fn settle(&mut self, client: &Client, scenario: &mut Scenario) {
        for (key, id, kind) in self.open.drain(..) {
            let answer = client.answer(id);
            let verdict = answer.verdict();
            scenario.verdict(verdict);
            scenario.record.checked("I1", 1);
            let fits = match verdict {
                Verdict::Ok => kind != Kind::Cut,
                Verdict::Unknown => {
                    kind != Kind::Safe && answer.text().contains("interrupted the call after it had begun")
                }
                _ => false,
            };
            assert!(fits, "{key}, {kind:?}: {}", answer.0);
            self.verdicts.insert(key, verdict);
        }
        for id in self.looks.drain(..) {
            // The tool is declared read-only, so the gateway repeats the call until it succeeds.
            let answer = client.answer(id);
            assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
            scenario.record.checked("I1", 1);
        }
    }

    /// Checks with the editor's own counter that every counted call ran once, including those that a reload interrupted.
    pub fn audit(&self, room: &Room, scenario: &mut Scenario) {
        let text = std::fs::read_to_string(room.count_file()).expect("counts");
        let mut runs: HashMap<String, usize> = HashMap::new();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line of the counter");
            *runs.entry(line["key"].as_str().expect("a key").to_owned()).or_default() += 1;
        }
        for (key, verdict) in &self.verdicts {
            assert_eq!(runs.get(key).copied().unwrap_or(0), 1, "{key} was answered {verdict:?}");
            scenario.record.checked("I2", 1);
        }
    }

    /// Number of counted calls that were answered.
    pub fn counted_calls(&self) -> usize {
        self.verdicts.len()
    }
}
