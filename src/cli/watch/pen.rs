//! Writes lines of cells, and defines the colours and signs of tones.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use crate::protocol::text::clean;
use crate::telemetry::tone::Tone;

/// Writes lines into a part of the buffer until that part is full. Each line is cut to the part's width.
pub(super) struct Pen<'b> {
    pub(super) buffer: &'b mut Buffer,
    pub(super) area: Rect,
    /// The row of the next line, from the top of the part.
    pub(super) row: u16,
    pub(super) colours: bool,
}

/// One piece of a line: its width in columns (0: the rest of the line), its text and its style.
pub(super) type Cell<'t> = (u16, &'t str, Style);

impl Pen<'_> {
    /// Returns the number of lines that are still free.
    pub(super) fn left(&self) -> u16 {
        self.area.height.saturating_sub(self.row)
    }

    /// Returns a style in the colour of a tone; without colour if colours may not be used.
    pub(super) fn tone(&self, tone: Tone) -> Style {
        if !self.colours {
            return Style::new();
        }
        match tone {
            Tone::Good => Style::new().fg(Color::Green),
            Tone::Waiting => Style::new().fg(Color::Yellow),
            Tone::Unsure => Style::new().fg(Color::Magenta),
            Tone::Trouble | Tone::Broken => Style::new().fg(Color::Red),
            Tone::Plain => Style::new().fg(Color::DarkGray),
        }
    }

    /// Writes a line that consists of these pieces. Does nothing if the part is full.
    pub(super) fn line(&mut self, cells: &[Cell<'_>]) {
        if self.left() == 0 {
            return;
        }
        let y = self.area.y + self.row;
        let mut x = self.area.x;
        for (width, text, style) in cells {
            let rest = self.area.right().saturating_sub(x);
            let width = if *width == 0 { rest } else { rest.min(*width) };
            self.buffer.set_stringn(x, y, fit(text, usize::from(width)), usize::from(width), *style);
            x += width;
        }
        self.row += 1;
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.line(&[(0, text, BOLD)]);
    }

    pub(super) fn field(&mut self, name: &str, text: &str, style: Style) {
        self.line(&[(10, name, DIM), (0, text, style)]);
    }

    pub(super) fn gap(&mut self) {
        if self.left() > 0 {
            self.row += 1;
        }
    }
}

pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const PLAIN: Style = Style::new();

/// Cleans a text that another program supplied and cuts it to a width. A cut text ends in `…`, and one column after it stays
/// free.
pub(super) fn fit(text: &str, width: usize) -> String {
    let text = clean(text);
    if Span::raw(&*text).width() <= width {
        return text;
    }
    let mut cut = String::new();
    for character in text.chars() {
        cut.push(character);
        if Span::raw(&*cut).width() + 2 > width {
            cut.pop();
            break;
        }
    }
    cut.push('…');
    cut
}

/// Returns the sign of a tone in a sparkline, for users who see no colours.
pub(super) fn sign(tone: Option<Tone>) -> &'static str {
    match tone {
        Some(Tone::Good) => "█",
        Some(Tone::Waiting) => "▒",
        Some(Tone::Unsure) => "?",
        Some(Tone::Trouble | Tone::Broken) => "X",
        Some(Tone::Plain) => "-",
        None => " ",
    }
}

/// Returns the sign of a gateway, by the tone of its editor.
pub(super) fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "●",
        Tone::Waiting => "◐",
        Tone::Unsure => "?",
        Tone::Trouble | Tone::Broken => "✗",
        Tone::Plain => "○",
    }
}

/// Scales a sparkline of one letter per second to `columns` columns; a column is `None` where the state is unknown. A column of
/// several seconds shows the worst state of them, because the user looks for outages.
pub(super) fn columns(sparkline: &str, columns: usize) -> Vec<Option<Tone>> {
    let seconds: Vec<Option<Tone>> = sparkline.chars().map(Tone::of_letter).collect();
    let all = seconds.len();
    let part = |column: usize| {
        let from = column * all / columns;
        let to = ((column + 1) * all).div_ceil(columns);
        seconds.get(from..to).and_then(|part| part.iter().copied().max()).flatten()
    };
    (0..columns).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sparkline: &str, wide: usize) -> String {
        columns(sparkline, wide).into_iter().map(|tone| tone.map_or(' ', Tone::letter)).collect()
    }

    #[test]
    fn what_was_short_is_seen_at_any_width() {
        let sparkline = "   --WGGGGGGTGGGGGGG";
        assert_eq!(drawn(sparkline, 20), sparkline);
        assert_eq!(drawn(sparkline, 5), "-WGTG");
        assert_eq!(drawn(sparkline, 3), "WTG");
        assert_eq!(drawn("GT", 6), "GGGTTT");
        assert_eq!(drawn("GT", 3), "GTT");
    }

    #[test]
    fn nonsense_in_a_record_is_drawn_and_does_not_panic() {
        for (sparkline, wide) in [("", 7), ("x\u{1b}\u{65e5}G", 3), ("G", 0), ("", 0)] {
            assert_eq!(columns(sparkline, wide).len(), wide);
        }
    }
}
