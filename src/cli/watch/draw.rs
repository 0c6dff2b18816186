//! Draws the screen of `holdfast status --watch`: a pure function of the words, the size and the selection.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Block, Clear, Widget};

use super::pen::{BOLD, Cell, DIM, PLAIN, Pen, columns, fit, mark, sign};
use crate::limits::PICTURE_WINDOW;
use crate::telemetry::tone::Tone;
use crate::telemetry::view::told::{Fact, Machine, Told, ToldLine};

/// Below this height the terminal shows only the list, and Enter shows one gateway.
const SPLIT_MIN_HEIGHT: u16 = 14;
/// From this width on, calls are drawn to the side of outages instead of above them.
const COLUMNS_MIN_WIDTH: u16 = 110;
/// Below this height, a gateway is drawn without frame and gaps, and its calls are drawn first.
const COMPACT_BELOW_HEIGHT: u16 = 16;
/// From this width on, the time that a call was held is drawn.
const HELD_MIN_WIDTH: u16 = 80;
const SPARKLINE_MIN_WIDTH: u16 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The selected gateway, by [`Told::id`]. If there is no such gateway, the first one is selected.
    pub gateway: Option<(u64, u64)>,
    pub detail: bool,
    pub machines: bool,
    pub help: bool,
}

impl Selection {
    pub fn index(&self, gateways: &[Told]) -> usize {
        gateways.iter().position(|told| Some(told.id) == self.gateway).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Screen<'a> {
    pub gateways: &'a [Told],
    /// Whether there is a state folder in which to look for gateways.
    pub state_folder: bool,
    pub selection: Selection,
    /// Whether colours may be used. Signs show the same meaning without colours.
    pub colours: bool,
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

    fn row(&self, pen: &mut Pen<'_>, told: &Told, selected: bool) {
        let style = pen.tone(told.tone);
        let name = if selected { BOLD } else { PLAIN };
        let width = pen.area.width;
        let client = if width >= 60 { 18 } else { 0 };
        let project = width.saturating_sub(4 + client).min(40) / if width >= 60 { 2 } else { 3 };
        let mut cells: Vec<Cell<'_>> = vec![
            (2, if selected { "▸ " } else { "  " }, name),
            (2, mark(told.tone), style),
            (project.max(6), &told.name, name),
        ];
        if client > 0 {
            cells.push((client, &told.client, PLAIN));
        }
        cells.push((if width >= 60 { 20 } else { 16 }, &told.state, style));
        cells.push((0, &told.load, PLAIN));
        pen.line(&cells);
    }

    fn selected(&self, area: Rect, buffer: &mut Buffer) {
        let Some(told) = self.gateways.get(self.selection.index(self.gateways)) else { return };
        let title = format!(" {} ", fit(&format!("{}, gateway {}", told.name, told.id.0), 60));
        let inner = if area.width >= 30 && area.height >= COMPACT_BELOW_HEIGHT {
            let block = Block::bordered().title(title);
            let inner = block.inner(area);
            block.render(area, buffer);
            inner
        } else {
            area
        };
        let mut pen = Pen { buffer, area: inner, row: 0, colours: self.colours };
        if area.height < COMPACT_BELOW_HEIGHT {
            let urgent = ["record", "editor", "heartbeat"];
            facts(&mut pen, told.facts.iter().filter(|fact| !fact.minor && urgent.contains(&fact.name)));
            open_calls(&mut pen, told);
            return machines(&mut pen, told);
        }
        facts(&mut pen, told.facts.iter().filter(|fact| !fact.minor));
        for problem in &told.problems {
            let style = pen.tone(Tone::Trouble);
            pen.field("problem", problem, style);
        }
        pen.gap();
        if self.selection.machines {
            machines(&mut pen, told);
            pen.gap();
        }
        let rest = Rect { y: inner.y + pen.row, height: pen.left(), ..inner };
        if rest.width >= COLUMNS_MIN_WIDTH {
            let middle = rest.width / 5 * 3;
            let left = Rect { width: middle - 2, ..rest };
            calls(&mut Pen { buffer, area: left, row: 0, colours: self.colours }, told);
            let right = Rect { x: rest.x + middle, width: rest.width - middle, ..rest };
            past(&mut Pen { buffer, area: right, row: 0, colours: self.colours }, told);
        } else {
            let mut pen = Pen { buffer, area: rest, row: 0, colours: self.colours };
            calls(&mut pen, told);
            pen.gap();
            past(&mut pen, told);
        }
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

fn facts<'t>(pen: &mut Pen<'_>, facts: impl Iterator<Item = &'t Fact>) {
    for fact in facts {
        let style = if fact.tone == Tone::Plain { PLAIN } else { pen.tone(fact.tone) };
        pen.field(fact.name, &fact.says, style);
    }
}

fn machines(pen: &mut Pen<'_>, told: &Told) {
    if told.machines.is_empty() {
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
    for machine in &told.machines {
        one_machine(pen, machine, state, sparkline_width);
    }
    if pen.left() > 6 && sparkline_width >= SPARKLINE_MIN_WIDTH {
        pen.line(&[(10, "", DIM), (0, "█ works  ▒ on its way  X trouble  - at rest", DIM)]);
    }
}

fn one_machine(pen: &mut Pen<'_>, machine: &Machine, state: u16, sparkline_width: u16) {
    let style = if machine.tone == Tone::Plain { PLAIN } else { pen.tone(machine.tone) };
    let y = pen.area.y + pen.row;
    let full = pen.left() == 0;
    pen.line(&[(10, &machine.name, PLAIN), (state, &machine.state, style)]);
    if full || sparkline_width < SPARKLINE_MIN_WIDTH {
        return;
    }
    let parts = columns(&machine.strip, usize::from(sparkline_width));
    for (x, part) in (pen.area.x + 10 + state..).zip(parts) {
        let style = pen.tone(part.unwrap_or(Tone::Plain));
        pen.buffer.set_stringn(x, y, sign(part), 1, style);
    }
}

fn open_calls(pen: &mut Pen<'_>, told: &Told) {
    pen.heading(&format!("In flight ({})", told.open_count));
    // Open calls are drawn first; at least a third of the space is left for calls that have ended.
    let most = usize::from(pen.left()) * 2 / 3;
    let name = tool_width(pen.area.width);
    for ToldLine { what, says, tone, age, .. } in told.open.iter().take(most) {
        let style = pen.tone(*tone);
        pen.line(&[(name, what, PLAIN), (8, age, PLAIN), (0, says, style)]);
    }
    let shown = told.open.len().min(most);
    match told.open_count.saturating_sub(shown) {
        0 if shown == 0 => pen.line(&[(0, "none", DIM)]),
        0 => {}
        more => pen.line(&[(0, &format!("and {more} more"), DIM)]),
    }
}

fn calls(pen: &mut Pen<'_>, told: &Told) {
    open_calls(pen, told);
    pen.gap();
    pen.heading("Last calls");
    if told.recent.is_empty() {
        pen.line(&[(0, "none", DIM)]);
    }
    let wide = pen.area.width >= HELD_MIN_WIDTH;
    let name = tool_width(pen.area.width);
    let verdict_width = pen.area.width.saturating_sub(name + if wide { 36 } else { 20 }).max(8);
    for ToldLine { what, says, tone, held, took, age } in &told.recent {
        let held = if wide && !held.is_empty() { format!(" ({held} held)") } else { String::new() };
        let style = pen.tone(*tone);
        pen.line(&[(name, what, PLAIN), (verdict_width, says, style), (0, &format!("{took}{held}, {age}"), DIM)]);
    }
}

fn past(pen: &mut Pen<'_>, told: &Told) {
    pen.heading("Reloads and losses");
    if told.outages.is_empty() {
        pen.line(&[(0, "none", DIM)]);
    }
    let reserved = if told.restarts.is_empty() { 0 } else { told.restarts.len() + 2 };
    let most = usize::from(pen.left()).saturating_sub(reserved);
    for ToldLine { what, says, tone, age, .. } in told.outages.iter().take(most) {
        let style = pen.tone(*tone);
        pen.line(&[(12, what, PLAIN), (12, age, DIM), (0, says, style)]);
    }
    if !told.restarts.is_empty() {
        pen.gap();
        pen.heading("Restarts of our own parts");
        for (part, count) in &told.restarts {
            let style = pen.tone(Tone::Trouble);
            pen.line(&[(12, part, PLAIN), (0, &count.to_string(), style)]);
        }
    }
}

fn tool_width(width: u16) -> u16 {
    (width / 3).clamp(8, 26)
}
