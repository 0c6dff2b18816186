//! Draws a [`Timeline`] in characters: a row for each event as it happens, and bars at the end.
//!
//! The caller chooses colours and characters beyond ASCII ([`Style`]). The drawing is readable without either.

use std::time::Duration;

use super::{Call, Lane, Moment, Phase, Timeline, Tone, Verdict};

/// The style of the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Width of the output in columns.
    pub columns: usize,
    /// Whether ANSI colours are used.
    pub colour: bool,
    /// Whether characters beyond ASCII are used.
    pub unicode: bool,
}

/// The colours and weights of the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// The terminal's default.
    None,
    /// Less important.
    Dim,
    /// More important.
    Bold,
    /// As desired.
    Green,
    /// Waiting.
    Yellow,
    /// Trouble.
    Red,
    /// Uncertain.
    Magenta,
    /// Titles.
    Cyan,
}

impl From<Tone> for Paint {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Plain => Self::None,
            Tone::Good => Self::Green,
            Tone::Waiting => Self::Yellow,
            Tone::Unsure => Self::Magenta,
            Tone::Trouble | Tone::Broken => Self::Red,
        }
    }
}

/// The smallest and the largest width of the output, in columns. On a narrower terminal lines break anyway; wider lines are hard
/// to read.
pub const COLUMNS: std::ops::RangeInclusive<usize> = 60..=120;
/// Columns between two lanes, in addition to the longest name.
const LANE_GAP: usize = 2;
/// Columns of the time on the left.
const TIME_COLUMNS: usize = 8;
/// Columns of a measured time on the right, including the gap before it.
const MEASURED_COLUMNS: usize = 9;
/// The smallest width at which a text is still readable, in columns.
const TEXT_COLUMNS_MIN: usize = 16;
/// The smallest width at which bars still show something, in columns.
const BAR_COLUMNS_MIN: usize = 16;

impl Style {
    /// Creates a style whose width is limited to [`COLUMNS`].
    pub fn new(columns: usize, colour: bool, unicode: bool) -> Self {
        Self { columns: columns.clamp(*COLUMNS.start(), *COLUMNS.end()), colour, unicode }
    }

    /// Returns the text with the escape sequences of a paint, if the style has colours.
    pub fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::None => "",
            Paint::Dim => "2",
            Paint::Bold => "1",
            Paint::Green => "32",
            Paint::Yellow => "33",
            Paint::Red => "31",
            Paint::Magenta => "35",
            Paint::Cyan => "36",
        };
        if !self.colour || code.is_empty() || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Returns `unicode` or `ascii`, depending on the style.
    pub fn pick<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        if self.unicode { unicode } else { ascii }
    }

    /// Returns a horizontal line of this width.
    pub fn rule(self, columns: usize) -> String {
        self.paint(Paint::Dim, &self.pick("─", "-").repeat(columns))
    }

    /// Returns the title of a chapter: a line with the title in it.
    pub fn title(self, number: usize, title: &str) -> String {
        let head = format!("{number}  {title} ");
        let rest = self.columns.saturating_sub(columns_of(&head) + 1);
        format!(" {}{}", self.paint(Paint::Bold, &head), self.rule(rest))
    }

    fn stripe(self, phase: Phase) -> (&'static str, Paint) {
        match phase {
            Phase::Gone => (if self.unicode { "·" } else { "." }, Paint::Dim),
            Phase::Up => (if self.unicode { "│" } else { "|" }, Paint::Dim),
            Phase::Reloading => (if self.unicode { "┊" } else { ":" }, Paint::Yellow),
            Phase::Frozen => (if self.unicode { "▒" } else { "%" }, Paint::Yellow),
        }
    }

    fn sign(self, tone: Tone) -> &'static str {
        match (tone, self.unicode) {
            (Tone::Plain, true) => "○",
            (Tone::Plain, false) => "o",
            (Tone::Good, true) => "●",
            (Tone::Good, false) => "*",
            (Tone::Waiting, true) => "◌",
            (Tone::Waiting, false) => "~",
            (Tone::Unsure, _) => "?",
            (Tone::Trouble, true) => "✕",
            (Tone::Trouble, false) => "x",
            (Tone::Broken, _) => "!",
        }
    }
}

/// The layout of a timeline's rows. All rows have the same columns.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    style: Style,
    pitch: usize,
    lanes: usize,
}

impl Rows {
    /// Creates the layout for these lanes.
    pub fn new(lanes: &[Lane], style: Style) -> Self {
        let longest = lanes.iter().map(|lane| columns_of(&lane.name)).max().unwrap_or(0);
        Self { style, pitch: longest + LANE_GAP, lanes: lanes.len() }
    }

    fn axis(self, lane: usize) -> usize {
        (self.pitch.saturating_sub(LANE_GAP)) / 2 + lane * self.pitch
    }

    fn drawing_columns(self) -> usize {
        // The text may begin below the second half of the last lane's name.
        if self.lanes == 0 { 0 } else { self.axis(self.lanes - 1) + 1 }
    }

    fn text_columns(self) -> usize {
        let taken = TIME_COLUMNS + 2 + self.drawing_columns() + 2 + MEASURED_COLUMNS;
        self.style.columns.saturating_sub(taken).max(TEXT_COLUMNS_MIN)
    }

    /// Returns the line with the names of the lanes above their axes.
    pub fn heads(self, lanes: &[Lane]) -> String {
        let mut line = String::new();
        for (index, lane) in lanes.iter().enumerate() {
            let from = self.axis(index).saturating_sub(columns_of(&lane.name) / 2);
            line.push_str(&" ".repeat(from.saturating_sub(columns_of(&line))));
            line.push_str(&lane.name);
        }
        format!("{}  {}", " ".repeat(TIME_COLUMNS), self.style.paint(Paint::Bold, &line))
    }

    /// Returns the lines of a moment: its time, the lanes with an arrow between them, and its text, wrapped as needed.
    pub fn moment(self, lanes: &[Lane], moment: &Moment) -> Vec<String> {
        let style = self.style;
        let phases: Vec<Phase> = lanes.iter().map(|lane| lane.phase(moment.at)).collect();
        let time = style.paint(Paint::Dim, &format!("{:>TIME_COLUMNS$.3}", moment.at.as_secs_f64()));
        let spare = if moment.measured.is_none() { MEASURED_COLUMNS } else { 0 };
        let text_columns = self.text_columns() + spare;
        let mut lines = Vec::new();
        for (index, words) in wrap(&moment.text, text_columns).into_iter().enumerate() {
            let first = index == 0;
            let drawing = self.drawing(&phases, first.then_some(moment));
            let words_painted = match moment.tone {
                Tone::Plain | Tone::Good => words.clone(),
                tone => style.paint(tone.into(), &words),
            };
            let mut line = if first { time.clone() } else { " ".repeat(TIME_COLUMNS) };
            line.push_str("  ");
            line.push_str(&drawing);
            line.push_str("  ");
            line.push_str(&words_painted);
            if let Some(measured) = moment.measured.filter(|_| first) {
                line.push_str(&" ".repeat(text_columns.saturating_sub(columns_of(&words))));
                let figure = format!("{:>MEASURED_COLUMNS$}", span(measured));
                line.push_str(&style.paint(Paint::Bold, &figure));
            }
            lines.push(line.trim_end().to_owned());
        }
        lines
    }

    fn drawing(self, phases: &[Phase], moment: Option<&Moment>) -> String {
        let style = self.style;
        let mut cells = vec![(" ", Paint::None); self.drawing_columns()];
        let mut put = |column: usize, cell: (&'static str, Paint)| {
            if let Some(place) = cells.get_mut(column) {
                *place = cell;
            }
        };
        for (lane, phase) in phases.iter().enumerate() {
            put(self.axis(lane), style.stripe(*phase));
        }
        if let Some(moment) = moment {
            let paint = match moment.tone {
                Tone::Plain => Paint::Cyan,
                tone => tone.into(),
            };
            let (from, to) = (self.axis(moment.from), self.axis(moment.to));
            let line = if style.unicode { "─" } else { "-" };
            for column in from.min(to)..from.max(to) {
                put(column, (line, paint));
            }
            let between = moment.from.min(moment.to) + 1..moment.from.max(moment.to);
            for lane in between {
                put(self.axis(lane), (if style.unicode { "┼" } else { "+" }, paint));
            }
            match from.cmp(&to) {
                std::cmp::Ordering::Equal => put(from, (style.sign(moment.tone), paint)),
                order => {
                    let right = order == std::cmp::Ordering::Less;
                    let head = match (right, style.unicode) {
                        (true, true) => "▶",
                        (true, false) => ">",
                        (false, true) => "◀",
                        (false, false) => "<",
                    };
                    put(from, (style.sign(moment.tone), paint));
                    put(to, (head, paint));
                }
            }
        }
        paint_runs(style, &cells)
    }
}

/// Draws the lanes' phases and the calls as bars on one time axis.
pub fn bars(timeline: &Timeline, style: Style) -> Vec<String> {
    let end = timeline.end().max(Duration::from_millis(1));
    let names = timeline.lanes.iter().map(|lane| columns_of(&lane.name));
    let names = names.chain(timeline.calls.iter().map(|call| columns_of(&call.name))).max().unwrap_or(0);
    let notes = timeline.calls.iter().map(|call| columns_of(&ending(call))).max().unwrap_or(0);
    let columns = style.columns.saturating_sub(names + notes + 7).max(BAR_COLUMNS_MIN);
    let column = |at: Duration| -> usize {
        let share = at.as_secs_f64() / end.as_secs_f64();
        // Truncated on purpose: a column stands for a range of time. The cast from a float saturates.
        ((share * columns as f64) as usize).min(columns.saturating_sub(1))
    };
    let mut lines = Vec::new();
    let mut line = |name: &str, cells: &[(&'static str, Paint)], note: String| {
        let pad = " ".repeat(names.saturating_sub(columns_of(name)));
        lines.push(format!("  {name}{pad}  {}  {note}", paint_runs(style, cells)).trim_end().to_owned());
    };
    for lane in &timeline.lanes {
        // A lane that was always in one phase needs no bar.
        if lane.phases.iter().filter(|(_, phase)| *phase != Phase::Gone).count() < 2 {
            continue;
        }
        let mut cells = vec![(" ", Paint::None); columns];
        for (index, (since, phase)) in lane.phases.iter().enumerate() {
            let until = lane.phases.get(index + 1).map_or(end, |(next, _)| *next);
            let cell = match (phase, style.unicode) {
                (Phase::Gone, _) => (" ", Paint::None),
                (Phase::Up, true) => ("━", Paint::Green),
                (Phase::Up, false) => ("=", Paint::Green),
                (Phase::Reloading, true) => ("┄", Paint::Yellow),
                (Phase::Reloading, false) => (":", Paint::Yellow),
                (Phase::Frozen, true) => ("▒", Paint::Yellow),
                (Phase::Frozen, false) => ("%", Paint::Yellow),
            };
            fill(&mut cells, column(*since), column(until), cell);
        }
        line(&lane.name, &cells, String::new());
    }
    for call in &timeline.calls {
        let mut cells = vec![(" ", Paint::None); columns];
        let (until, verdict) = call.end.map_or((end, None), |(at, verdict)| (at, Some(verdict)));
        let held_until = call.sent.unwrap_or(until);
        let held = (if style.unicode { "░" } else { "." }, Paint::Yellow);
        let paint = match verdict {
            Some(Verdict::Cancelled) | None => Paint::Dim,
            Some(verdict) => verdict.tone().into(),
        };
        let running = (if style.unicode { "█" } else { "#" }, paint);
        fill(&mut cells, column(call.asked), column(held_until), held);
        if let Some(sent) = call.sent {
            fill(&mut cells, column(sent), column(until), running);
        }
        line(&call.name, &cells, style.paint(paint, &ending(call)));
    }
    lines.push(format!("  {}  {}", " ".repeat(names), style.paint(Paint::Dim, &scale(end, columns))));
    lines
}

/// Explains the characters of [`bars`].
pub fn legend(style: Style) -> String {
    let parts = [
        (style.pick("━━", "=="), Paint::Green, "up"),
        (style.pick("┄┄", "::"), Paint::Yellow, "reloading"),
        (style.pick("▒▒", "%%"), Paint::Yellow, "frozen"),
        (style.pick("░░", ".."), Paint::Yellow, "held"),
        (style.pick("██", "##"), Paint::Green, "sent"),
    ];
    let parts = parts.map(|(mark, paint, word)| format!("{} {word}", style.paint(paint, mark)));
    parts.join("   ")
}

/// Describes how a call ended, and after how long.
fn ending(call: &Call) -> String {
    match call.end {
        Some((at, verdict)) => {
            format!("{:<15} {:>7}", verdict.word(), span(at.saturating_sub(call.asked)))
        }
        None => "no answer".to_owned(),
    }
}

/// Returns the line of time labels below the bars, with as many labels as fit.
fn scale(end: Duration, columns: usize) -> String {
    let mut line = String::new();
    let seconds = end.as_secs();
    let label = |second: u64| format!("{second} s");
    let widest = columns_of(&label(seconds)) as u64 + 2;
    let room = (columns as u64 / widest).max(1);
    let step = [1, 2, 5, 10, 30, 60, 300].into_iter().find(|step| seconds / step < room).unwrap_or(600);
    for second in (0..=seconds).step_by(usize::try_from(step).unwrap_or(1)) {
        let at = ((second as f64 / end.as_secs_f64()) * columns as f64) as usize;
        let text = label(second);
        let here = columns_of(&line);
        if at >= here && at + columns_of(&text) <= columns {
            line.push_str(&" ".repeat(at - here));
            line.push_str(&text);
        }
    }
    line
}

fn fill(cells: &mut [(&'static str, Paint)], from: usize, to: usize, cell: (&'static str, Paint)) {
    // A time shorter than a column fills one column, so that it stays visible.
    for place in cells.iter_mut().take(to.max(from) + 1).skip(from) {
        *place = cell;
    }
}

/// Joins the cells to text, with one change of colour for each run of cells with the same paint.
fn paint_runs(style: Style, cells: &[(&'static str, Paint)]) -> String {
    let mut out = String::new();
    for run in cells.chunk_by(|a, b| a.1 == b.1) {
        let text: String = run.iter().map(|(text, _)| *text).collect();
        let paint = run.first().map_or(Paint::None, |(_, paint)| *paint);
        out.push_str(&style.paint(paint, &text));
    }
    out
}

/// Formats a time span. Spans below 1000 s take at most seven columns.
pub fn span(span: Duration) -> String {
    match span.as_micros() {
        micros @ 0..=9_999 => format!("{:.1} ms", micros as f64 / 1000.0),
        micros @ 10_000..=999_999 => format!("{} ms", micros / 1000),
        micros => format!("{:.2} s", micros as f64 / 1_000_000.0),
    }
}

/// Counts the columns of a text. Every character used here has one column.
fn columns_of(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at its spaces into lines of at most `columns`; returns at least one line. A word that is too long gets a
/// separate line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(word);
        } else if columns_of(line) + 1 + columns_of(word) <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
