//! Draws the screen of `holdfast status --watch`: a pure function of the records, the time, the size and the selection.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Clear, Widget};

use super::pen::{BOLD, Cell, DIM, PLAIN, Pen, fit, mark, sign};
use super::sparkline::columns;
use super::view::{Call, Gateway, Outage, Timeline};
use crate::core::user_text;
use crate::limits::PICTURE_WINDOW;
use crate::telemetry::tone::Tone;

/// Below this height the terminal shows only the list, and Enter shows one gateway.
const SPLIT_MIN_HEIGHT: u16 = 14;
/// From this width on, calls are drawn to the side of outages instead of above them.
const COLUMNS_MIN_WIDTH: u16 = 110;
/// Below this height, a gateway is drawn without frame and gaps, and its calls are drawn first.
const COMPACT_BELOW_HEIGHT: u16 = 16;
/// From this width on, the time that a call was held is drawn.
const HELD_MIN_WIDTH: u16 = 80;
/// Below this width, no sparkline is drawn.
const SPARKLINE_MIN_WIDTH: u16 = 8;

/// The user's choice of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The selected gateway, by [`Gateway::id`]. If there is no such gateway, the first one is selected.
    pub gateway: Option<(u64, u64)>,
    /// Whether the selected gateway fills the screen.
    pub detail: bool,
    /// Whether the state machines of the selected gateway are shown.
    pub machines: bool,
    /// Whether the list of keys is shown.
    pub help: bool,
}

impl Selection {
    /// Returns the index of the selected gateway.
    pub fn index(&self, gateways: &[Gateway]) -> usize {
        gateways.iter().position(|gateway| Some(gateway.id()) == self.gateway).unwrap_or_default()
    }
}

/// Everything that is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Screen<'a> {
    /// The running gateways, as described by their records.
    pub gateways: &'a [Gateway],
    /// Whether there is a state folder in which to look for gateways.
    pub state_folder: bool,
    /// The current time, in seconds since the Unix epoch.
    pub now: f64,
    /// The user's choice.
    pub selection: Selection,
    /// Whether colours may be used. Signs show the same meaning without colours.
    pub colours: bool,
}

fn words(label: &str) -> String {
    label.replace('_', " ")
}

fn millis(millis: u64) -> String {
    user_text::seconds(Duration::from_millis(millis))
}

/// The age of what has just begun.
const NOW: &str = "now";

/// Describes an age, rounded so that the text does not change all the time.
fn age(span: Duration) -> String {
    match span.as_secs() {
        0 => NOW.to_owned(),
        seconds @ 1..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

impl Widget for Screen<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let mut title = Pen { buffer, area: Rect { height: 1, ..area }, row: 0, colours: self.colours };
        self.title(&mut title);
        let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if self.gateways.is_empty() {
            self.nobody(&mut Pen { buffer, area: body, row: 0, colours: self.colours });
        } else if self.selection.detail {
            self.selected(body, buffer);
        } else {
            self.overview(body, buffer);
        }
        if self.selection.help {
            self.help(area, buffer);
        }
    }
}

impl Screen<'_> {
    fn title(&self, pen: &mut Pen<'_>) {
        let count = match self.gateways.len() {
            0 => "no gateway".to_owned(),
            1 => "1 gateway".to_owned(),
            count => format!("{count} gateways"),
        };
        let keys = "? help  q quit ";
        let style = Style::new().add_modifier(Modifier::REVERSED);
        let wide = u16::try_from(keys.len()).unwrap_or_default();
        let left = pen.area.width.saturating_sub(wide).max(1);
        let text = format!(" holdfast  {count}");
        let padded = format!("{text:width$}", width = usize::from(left));
        pen.line(&[(left, &padded, style), (0, keys, style)]);
    }

    fn nobody(&self, pen: &mut Pen<'_>) {
        pen.gap();
        let lines: &[&str] = if self.state_folder {
            &[
                "  No gateway runs.",
                "",
                "  An AI client starts one by itself: open the",
                "  client whose MCP configuration names holdfast.",
                "  `holdfast doctor` says what is missing.",
            ]
        } else {
            &[
                "  Running gateways cannot be seen.",
                "",
                "  HOME is not set, so there is no state folder.",
                "  Name one with --state-dir.",
            ]
        };
        for line in lines {
            pen.line(&[(0, line, PLAIN)]);
        }
    }

    fn overview(&self, area: Rect, buffer: &mut Buffer) {
        let split = area.height >= SPLIT_MIN_HEIGHT;
        let all = u16::try_from(self.gateways.len()).unwrap_or(u16::MAX);
        let rows = if split { all.min((area.height / 3).max(1)) } else { area.height };
        let selected = self.selection.index(self.gateways);
        // Scrolls so that the selected gateway is always visible.
        let first = (selected + 1).saturating_sub(usize::from(rows));
        let list = Rect { height: rows, ..area };
        let mut pen = Pen { buffer, area: list, row: 0, colours: self.colours };
        for (index, gateway) in self.gateways.iter().enumerate().skip(first).take(usize::from(rows)) {
            self.row(&mut pen, gateway, index == selected);
        }
        if split {
            self.selected(Rect { y: area.y + rows, height: area.height - rows, ..area }, buffer);
        }
    }

    fn row(&self, pen: &mut Pen<'_>, gateway: &Gateway, selected: bool) {
        let tone = gateway.tone();
        let style = pen.tone(tone);
        let name = if selected { BOLD } else { PLAIN };
        let state = if gateway.unreadable {
            "cannot be read".to_owned()
        } else if gateway.is_old(self.now) {
            format!("old: {} ago", age(gateway.age(self.now)))
        } else {
            let state = user_text::connection_state(&gateway.editor.state, false);
            let why = gateway.editor.why.as_deref().map_or(state, words);
            format!("{why} {}", age(gateway.grown(gateway.editor.since_ms, self.now)))
        };
        let calls = match (gateway.queue.held, gateway.queue.running) {
            _ if gateway.unreadable || gateway.is_old(self.now) => String::new(),
            (0, 0) => "idle".to_owned(),
            (held, 0) => format!("{held} wait"),
            (0, running) => format!("{running} run"),
            (held, running) => format!("{held} wait, {running} run"),
        };
        let width = pen.area.width;
        let client = if width >= 60 { 18 } else { 0 };
        let project = width.saturating_sub(4 + client).min(40) / if width >= 60 { 2 } else { 3 };
        let mut cells: Vec<Cell<'_>> = vec![
            (2, if selected { "▸ " } else { "  " }, name),
            (2, mark(tone), style),
            (project.max(6), gateway.name(), name),
        ];
        if client > 0 {
            cells.push((client, client_name(gateway), PLAIN));
        }
        cells.push((if width >= 60 { 20 } else { 16 }, &state, style));
        cells.push((0, &calls, PLAIN));
        pen.line(&cells);
    }

    /// Draws the selected gateway, as much of it as fits.
    fn selected(&self, area: Rect, buffer: &mut Buffer) {
        let Some(gateway) = self.gateways.get(self.selection.index(self.gateways)) else { return };
        let title = format!(" {} ", fit(&format!("{}, gateway {}", gateway.name(), gateway.gateway.pid), 60));
        let inner = if area.width >= 30 && area.height >= COMPACT_BELOW_HEIGHT {
            let block = Block::bordered().title(title);
            let inner = block.inner(area);
            block.render(area, buffer);
            inner
        } else {
            area
        };
        let mut pen = Pen { buffer, area: inner, row: 0, colours: self.colours };
        if gateway.unreadable {
            let text = "Its record cannot be read: the disk may be full, or it is of another version of holdfast.";
            return pen.line(&[(0, text, pen.tone(Tone::Unsure))]);
        }
        if area.height < COMPACT_BELOW_HEIGHT {
            self.editor(&mut pen, gateway);
            self.open_calls(&mut pen, gateway);
            return self.machines(&mut pen, gateway);
        }
        self.facts(&mut pen, gateway);
        pen.gap();
        if self.selection.machines {
            self.machines(&mut pen, gateway);
            pen.gap();
        }
        let rest = Rect { y: inner.y + pen.row, height: pen.left(), ..inner };
        if rest.width >= COLUMNS_MIN_WIDTH {
            let middle = rest.width / 5 * 3;
            let left = Rect { width: middle - 2, ..rest };
            self.calls(&mut Pen { buffer, area: left, row: 0, colours: self.colours }, gateway);
            let right = Rect { x: rest.x + middle, width: rest.width - middle, ..rest };
            self.past(&mut Pen { buffer, area: right, row: 0, colours: self.colours }, gateway);
        } else {
            let mut pen = Pen { buffer, area: rest, row: 0, colours: self.colours };
            self.calls(&mut pen, gateway);
            pen.gap();
            self.past(&mut pen, gateway);
        }
    }

    fn editor(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        if gateway.is_old(self.now) {
            let text = format!(
                "This is {} old: the gateway lives, but has written nothing since. All of it may be over.",
                age(gateway.age(self.now))
            );
            pen.line(&[(0, &text, pen.tone(Tone::Unsure).add_modifier(Modifier::BOLD))]);
        }
        let editor = &gateway.editor;
        let why = editor.why.as_deref().map(|why| format!(": {}", words(why))).unwrap_or_default();
        let still = editor.still.as_ref().map(|still| format!(", but {}", still.says)).unwrap_or_default();
        let state =
            user_text::connection_state(&editor.state, editor.still.as_ref().is_some_and(|still| !still.may_work));
        let comma = if why.is_empty() { "" } else { "," };
        let mut text = match age(gateway.grown(editor.since_ms, self.now)) {
            now if now == NOW => format!("{state}{why}, {now}{still}"),
            age => format!("{state}{why}{comma} for {age}{still}"),
        };
        for (name, value) in [("port", editor.port.map(u32::from)), ("pid", editor.pid)] {
            if let Some(value) = value {
                text.push_str(&format!("  {name} {value}"));
            }
        }
        if let Some(version) = &editor.unity_version {
            text.push_str(&format!("  Unity {version}"));
        }
        let style = pen.tone(gateway.tone());
        pen.field("editor", &text, style);
        if let Some(heartbeat) = &editor.heartbeat {
            pen.field("heartbeat", &heartbeat.says, PLAIN);
        }
    }

    fn facts(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        self.editor(pen, gateway);
        let up = age(gateway.grown(gateway.gateway.up_ms, self.now));
        pen.field("client", &format!("{}, up {up}", client_name(gateway)), PLAIN);
        pen.field("project", gateway.project.as_deref().unwrap_or("not known"), PLAIN);
        let queue = format!(
            "{} wait, {} run; {} tools from {}",
            gateway.queue.held, gateway.queue.running, gateway.tools.count, gateway.tools.from
        );
        pen.field("queue", &queue, PLAIN);
        for problem in &gateway.problems {
            let style = pen.tone(Tone::Trouble);
            pen.field("problem", problem, style);
        }
    }

    fn machines(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        if gateway.timelines.is_empty() {
            return;
        }
        let width = pen.area.width;
        let state = if width >= 60 { 24 } else { 16 };
        let sparkline_width = width.saturating_sub(10 + state);
        let window = PICTURE_WINDOW.as_secs();
        let scale = if sparkline_width >= 20 {
            let back = format!("{window} s ago");
            let gap = usize::from(sparkline_width).saturating_sub(back.len() + 3);
            format!("{back}{:gap$}now", "")
        } else {
            String::new()
        };
        pen.line(&[(10 + state, "Machines", BOLD), (0, &scale, DIM)]);
        for timeline in &gateway.timelines {
            self.machine(pen, timeline, gateway.age(self.now).as_secs(), state, sparkline_width);
        }
        if pen.left() > 6 && sparkline_width >= SPARKLINE_MIN_WIDTH {
            pen.line(&[(10, "", DIM), (0, "█ works  ▒ on its way  X trouble  - at rest", DIM)]);
        }
    }

    fn machine(&self, pen: &mut Pen<'_>, timeline: &Timeline, behind: u64, state: u16, sparkline_width: u16) {
        let since = Duration::try_from_secs_f64(self.now - timeline.since).unwrap_or_default();
        let text = format!("{} {}", words(&timeline.state), age(since));
        let style = if timeline.tone == Tone::Plain { PLAIN } else { pen.tone(timeline.tone) };
        let y = pen.area.y + pen.row;
        let full = pen.left() == 0;
        pen.line(&[(10, &timeline.machine, PLAIN), (state, &text, style)]);
        if full || sparkline_width < SPARKLINE_MIN_WIDTH {
            return;
        }
        let parts = columns(&timeline.sparkline, behind, usize::from(sparkline_width));
        for (x, part) in (pen.area.x + 10 + state..).zip(parts) {
            let style = pen.tone(part.unwrap_or(Tone::Plain));
            pen.buffer.set_stringn(x, y, sign(part), 1, style);
        }
    }

    fn open_calls(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        let calls = &gateway.calls;
        pen.heading(&format!("In flight ({})", calls.open_count));
        // Open calls are drawn first; at least a third of the space is left for calls that have ended.
        let most = usize::from(pen.left()) * 2 / 3;
        for call in calls.open.iter().take(most) {
            self.open_call(pen, gateway, call);
        }
        let shown = calls.open.len().min(most) as u64;
        match calls.open_count.saturating_sub(shown) {
            0 if shown == 0 => pen.line(&[(0, "none", DIM)]),
            0 => {}
            more => pen.line(&[(0, &format!("and {more} more"), DIM)]),
        }
    }

    fn calls(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        self.open_calls(pen, gateway);
        pen.gap();
        pen.heading("Last calls");
        let calls = &gateway.calls;
        if calls.recent.is_empty() {
            pen.line(&[(0, "none", DIM)]);
        }
        for call in &calls.recent {
            self.ended_call(pen, gateway, call);
        }
    }

    fn open_call(&self, pen: &mut Pen<'_>, gateway: &Gateway, call: &Call) {
        let for_how_long = age(gateway.grown(call.accepted_ms_ago, self.now));
        let (text, tone) = match call.waits_says.as_ref().or(call.waits_for.as_ref()) {
            Some(cause) => (format!("waiting: {}", words(cause)), Tone::Waiting),
            None if call.state == "sent" => ("sent to Unity".to_owned(), Tone::Good),
            None => (words(&call.state), Tone::Unsure),
        };
        let style = pen.tone(tone);
        let name = tool_width(pen.area.width);
        pen.line(&[(name, &call.tool, PLAIN), (8, &for_how_long, PLAIN), (0, &text, style)]);
    }

    fn ended_call(&self, pen: &mut Pen<'_>, gateway: &Gateway, call: &Call) {
        let verdict = call.verdict.as_deref().unwrap_or("?");
        let cause = call.cause.as_deref().map(|cause| format!(": {}", words(cause))).unwrap_or_default();
        let text = format!("{}{cause}", words(verdict));
        let ended = gateway.grown(call.accepted_ms_ago.saturating_sub(call.took_ms), self.now);
        // A wait that nobody would notice says nothing.
        let wide = pen.area.width >= HELD_MIN_WIDTH;
        let held = call.held_ms.filter(|held| wide && *held >= 1000);
        let waited = held.map(|held| format!(" ({} held)", millis(held))).unwrap_or_default();
        let times = format!("{}{waited}, {} ago", millis(call.took_ms), age(ended)).replace("now ago", "now");
        let style = pen.tone(verdict_tone(verdict));
        let name = tool_width(pen.area.width);
        let verdict_width = pen.area.width.saturating_sub(name + if wide { 36 } else { 20 }).max(8);
        pen.line(&[(name, &call.tool, PLAIN), (verdict_width, &text, style), (0, &times, DIM)]);
    }

    fn past(&self, pen: &mut Pen<'_>, gateway: &Gateway) {
        pen.heading("Reloads and losses");
        if gateway.outages.is_empty() {
            pen.line(&[(0, "none", DIM)]);
        }
        let restarts = &gateway.gateway.actor_restarts;
        let reserved = if restarts.is_empty() { 0 } else { restarts.len() + 2 };
        let most = usize::from(pen.left()).saturating_sub(reserved);
        for outage in gateway.outages.iter().take(most) {
            self.outage(pen, gateway, outage);
        }
        if !restarts.is_empty() {
            pen.gap();
            pen.heading("Restarts of our own parts");
            for (part, count) in restarts {
                let style = pen.tone(Tone::Trouble);
                pen.line(&[(12, part, PLAIN), (0, &count.to_string(), style)]);
            }
        }
    }

    fn outage(&self, pen: &mut Pen<'_>, gateway: &Gateway, outage: &Outage) {
        let ago = format!("{} ago", age(gateway.grown(outage.ago_ms, self.now))).replace("now ago", "now");
        let (back, tone) = match outage.back_after_ms {
            Some(span) => (format!("back after {}", millis(span)), Tone::Good),
            None => {
                let cause = outage.cause.as_deref().map(|cause| format!(": {}", words(cause))).unwrap_or_default();
                (format!("not back yet{cause}"), Tone::Waiting)
            }
        };
        let style = pen.tone(tone);
        pen.line(&[(12, &words(&outage.why), PLAIN), (12, &ago, DIM), (0, &back, style)]);
    }

    fn help(&self, area: Rect, buffer: &mut Buffer) {
        let lines = [
            ("up, k / down, j", "another gateway"),
            ("Enter, Tab", "it alone, and back"),
            ("m", "the state machines, or not"),
            ("?", "these keys"),
            ("q, Esc, Ctrl-C", "quit"),
        ];
        let (width, height) = (46.min(area.width), 9.min(area.height));
        let place =
            Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
        Clear.render(place, buffer);
        let block = Block::bordered().title(" Keys ");
        let inner = block.inner(place);
        block.render(place, buffer);
        let mut pen = Pen { buffer, area: inner, row: 0, colours: self.colours };
        for (keys, what) in lines {
            pen.line(&[(18, keys, BOLD), (0, what, PLAIN)]);
        }
        pen.gap();
        pen.line(&[(0, "Nothing here changes a gateway.", DIM)]);
    }
}

fn client_name(gateway: &Gateway) -> &str {
    let name = &gateway.gateway.client;
    if name.is_empty() { "no name" } else { name }
}

fn tool_width(width: u16) -> u16 {
    (width / 3).clamp(8, 26)
}

fn verdict_tone(verdict: &str) -> Tone {
    match verdict {
        "ok" => Tone::Good,
        "tool_error" | "not_executed" => Tone::Trouble,
        "still_running" => Tone::Waiting,
        "internal" => Tone::Broken,
        "cancelled" => Tone::Plain,
        _ => Tone::Unsure,
    }
}
