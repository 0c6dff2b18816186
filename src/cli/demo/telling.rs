//! Prints the demo: as a timeline for a person, or as JSON lines.

use std::io::IsTerminal as _;
use std::time::Duration;

use holdfast_timeline::text::{self, Paint, Rows, Style, span, wrap};
use holdfast_timeline::{Lane, Moment, Timeline};
use serde_json::{Value, json};

use super::promises::{History, Promise};
use crate::cli::output;

/// The number of columns if neither the terminal nor COLUMNS gives it. A build log has no limit; this width is easy to read.
const COLUMNS_UNKNOWN: usize = 100;

#[derive(Debug, Clone, Copy)]
pub enum Teller {
    Person(Style),
    Program,
}

impl Teller {
    /// Returns a teller that prints JSON if `json` is set, otherwise for a person, in the style that stdout supports.
    pub fn new(json: bool) -> Self {
        if json { Self::Program } else { Self::Person(style()) }
    }

    fn event(event: &str, mut value: Value) {
        let mut object = json!({"event": event});
        if let (Some(object), Some(members)) = (object.as_object_mut(), value.as_object_mut()) {
            object.append(members);
        }
        output::line(&object.to_string());
    }

    pub fn opening(self, version: &str) {
        match self {
            Self::Program => Self::event("demo", json!({"version": version})),
            Self::Person(style) => {
                output::line("");
                output::line(&format!(" {}", style.paint(Paint::Bold, &format!("holdfast {version}, the demo"))));
                let about = "A fake Unity Editor and the gateway run as real processes; this plays the AI editor between them. \
                             Then Unity reloads, compiles, freezes and is killed, and every promise is checked.";
                for line in wrap(about, style.columns.saturating_sub(2)) {
                    output::line(&format!(" {line}"));
                }
            }
        }
    }

    pub fn act(self, number: usize, title: &str, lanes: &[Lane]) {
        match self {
            Self::Program => Self::event("act", json!({"number": number, "title": title})),
            Self::Person(style) => {
                output::line("");
                output::line(&style.title(number, title));
                output::line(&Rows::new(lanes, style).heads(lanes));
            }
        }
    }

    pub fn moment(self, lanes: &[Lane], moment: &Moment) {
        match self {
            Self::Program => {
                let name = |lane: usize| lanes.get(lane).map(|lane| lane.name.as_str());
                let value = json!({
                    "at_ms": millis(moment.at), "from": name(moment.from), "to": name(moment.to),
                    "tone": moment.tone, "text": moment.text, "measured_ms": moment.measured.map(millis),
                });
                Self::event("moment", value);
            }
            Self::Person(style) => {
                for line in Rows::new(lanes, style).moment(lanes, moment) {
                    output::line(&line);
                }
            }
        }
    }

    pub fn closing(self, timeline: &Timeline, history: &History, promises: &[Promise], took: Duration) {
        let broken = promises.iter().filter(|promise| promise.seen.is_err()).count();
        match self {
            Self::Program => {
                for call in &timeline.calls {
                    let (ended, verdict) = call.end.unzip();
                    let value = json!({
                        "name": call.name, "asked_ms": millis(call.asked), "sent_ms": call.sent.map(millis),
                        "ended_ms": ended.map(millis), "verdict": verdict,
                    });
                    Self::event("call", value);
                }
                for (after, took) in &history.recoveries {
                    Self::event("recovery", json!({"after": after, "took_ms": took.map(millis)}));
                }
                for promise in promises {
                    let (Ok(seen) | Err(seen)) = &promise.seen;
                    let value = json!({"promise": promise.name, "kept": promise.seen.is_ok(), "seen": seen});
                    Self::event("promise", value);
                }
                Self::event("timeline", json!({"timeline": timeline}));
                let kept = promises.len() - broken;
                Self::event("end", json!({"kept": kept, "broken": broken, "took_ms": millis(took)}));
            }
            Self::Person(style) => summary(style, timeline, history, promises, took),
        }
    }

    pub fn interrupted(self) {
        match self {
            Self::Program => Self::event("interrupted", json!({})),
            Self::Person(_) => output::line("\n Interrupted; every process that was started has been ended."),
        }
    }
}

fn summary(style: Style, timeline: &Timeline, history: &History, promises: &[Promise], took: Duration) {
    let heading = |title: &str| {
        let rest = style.columns.saturating_sub(title.chars().count() + 3);
        output::line("");
        output::line(&format!(" {} {}", style.paint(Paint::Bold, title), style.rule(rest)));
    };
    heading("The whole session");
    for line in text::bars(timeline, style) {
        output::line(&line);
    }
    output::line(&format!("  {}", text::legend(style)));

    heading("From Unity listening again to the first good answer");
    let longest = history.recoveries.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (after, took) in &history.recoveries {
        let figure = took.map_or_else(|| "never".to_owned(), span);
        output::line(&format!("  after {after:<longest$}  {}", style.paint(Paint::Bold, &format!("{figure:>8}"))));
    }

    heading("Promises");
    let longest = promises.iter().map(|promise| promise.name.len()).max().unwrap_or(0);
    for promise in promises {
        let (mark, paint, seen) = match &promise.seen {
            Ok(seen) => (style.pick("✔", "kept"), Paint::Green, seen),
            Err(seen) => (style.pick("✘", "FAIL"), Paint::Red, seen),
        };
        let indent = 2 + mark.chars().count() + 1 + longest + 2;
        let mut lines = wrap(seen, style.columns.saturating_sub(indent)).into_iter();
        let first = lines.next().unwrap_or_default();
        let tint = if promise.seen.is_ok() { Paint::Dim } else { Paint::Red };
        let (name, first) = (promise.name, style.paint(tint, &first));
        output::line(&format!("  {} {name:<longest$}  {first}", style.paint(paint, mark)));
        for line in lines {
            output::line(&format!("{}{}", " ".repeat(indent), style.paint(tint, &line)));
        }
    }

    let broken = promises.iter().filter(|promise| promise.seen.is_err()).count();
    output::line("");
    let (paint, verdict) = if broken == 0 {
        (Paint::Green, format!("All {} promises kept", promises.len()))
    } else {
        (Paint::Red, format!("{broken} of {} promises broken", promises.len()))
    };
    let calls = timeline.calls.len();
    let verdict = style.paint(paint, &style.paint(Paint::Bold, &verdict));
    output::line(&format!(" {verdict}: {calls} calls in {}.", span(took)));
    output::line("");
}

fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let dumb = variable("TERM").is_some_and(|term| term == "dumb");
    let columns = if terminal { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None };
    let columns = columns.or_else(|| variable("COLUMNS")?.parse().ok()).unwrap_or(COLUMNS_UNKNOWN);
    // Old Windows consoles print escape sequences as text. Terminals that interpret them set one of these variables.
    let escapes = !cfg!(windows) || variable("WT_SESSION").is_some() || variable("TERM").is_some();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default().to_lowercase();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    let unicode = terminal && !dumb && escapes && (utf8 || cfg!(any(windows, target_os = "macos")));
    let colour = terminal && !dumb && escapes && variable("NO_COLOR").is_none();
    Style::new(columns, colour, unicode)
}
