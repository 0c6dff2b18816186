//! The findings of a trial: printed on the terminal as they come, and kept for the report.

use std::fmt::Write as _;

use holdfast_mcp_client::answer::Verdict;
use serde_json::{Value, json};

use super::session::Answered;
use crate::cli::output::{self, Tone, toned};
use crate::protocol::text::{clean, cut_with_ellipsis};

const ANSWER_MAX_BYTES: usize = 4000;

#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// The kind of the reload: `after` if the next call came after the answer to `compile`, `beside` if a call came
    /// while Unity compiled.
    pub(super) kind: &'static str,
    pub(super) compile: f64,
    /// The time from the other call to its answer, in milliseconds.
    pub(super) call: f64,
    /// Whether the editor's window had the focus before the reload; `None` if the editor did not say.
    pub(super) focused: Option<bool>,
    pub(super) good: bool,
}

#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) summary: Vec<String>,
    pub(super) failed: usize,
    pub(super) samples: Vec<Sample>,
    pub(super) answers: Vec<String>,
}

impl Results {
    pub(super) fn part(&mut self, title: &str) {
        self.told(&format!("==> {title}"), Tone::Plain);
    }

    pub(super) fn fact(&mut self, text: &str) {
        self.told(&format!("        {text}"), Tone::Plain);
    }

    pub(super) fn passed(&mut self, text: &str) {
        self.told(&format!("ok      {text}"), Tone::Good);
    }

    pub(super) fn failed(&mut self, text: &str) {
        self.failed += 1;
        self.told(&format!("FAILED  {text}"), Tone::Bad);
    }

    /// Notes whether a step did what it must. `why`: the words about a step that did not.
    pub(super) fn step(&mut self, name: &str, good: bool, why: &str) {
        if good { self.passed(name) } else { self.failed(&format!("{name}: {}", cut_with_ellipsis(&clean(why), 300))) }
    }

    pub(super) fn answer(&mut self, tool: &str, arguments: &Value, answer: &Answered) {
        self.answers.push(
            json!({
                "tool": tool,
                "arguments": arguments,
                "verdict": verdict(answer.verdict),
                "ms": milliseconds(answer.took),
                "text": cut_with_ellipsis(&answer.text, ANSWER_MAX_BYTES),
            })
            .to_string(),
        );
    }

    pub(super) fn table(&self) -> String {
        let mut table = "number\tkind\tcompile_ms\tcall_ms\tfocused\tgood\n".to_owned();
        for (number, one) in self.samples.iter().enumerate() {
            let focused = one.focused.map_or("", |focused| if focused { "yes" } else { "no" });
            let good = if one.good { "yes" } else { "no" };
            let _ =
                writeln!(table, "{}\t{}\t{:.1}\t{:.1}\t{focused}\t{good}", number + 1, one.kind, one.compile, one.call);
        }
        table
    }

    pub(super) fn times(&mut self, kind: &'static str, says: &str) {
        let of_kind = self.samples.iter().filter(|one| one.kind == kind);
        let mut times: Vec<f64> = of_kind.map(|one| one.call).collect();
        times.sort_by(f64::total_cmp);
        let at = |part: usize| {
            times.get((times.len() * part / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        if !times.is_empty() {
            self.fact(&format!(
                "{says}: p50 {:.0} ms, p90 {:.0} ms, longest {:.0} ms, of {}",
                at(50),
                at(90),
                at(100),
                times.len()
            ));
        }
    }

    fn told(&mut self, text: &str, tone: Tone) {
        output::line(&toned(text, tone));
        self.summary.push(text.to_owned());
    }
}

pub(super) fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::ToolError => "tool_error",
        Verdict::NotExecuted => "not_executed",
        Verdict::Unknown => "outcome_unknown",
        Verdict::StillRunning => "still_running",
        Verdict::Refused => "refused",
    }
}
