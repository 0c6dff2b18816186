//! Chooses clients on a terminal: arrows move, space chooses, Enter confirms.

use std::io::{self, Write as _};

use holdfast_client_config::Client;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, queue};

use super::standing::title;
use crate::cli::{output, terminal};

pub enum Picked {
    These(Vec<&'static Client>),
    None(String),
    Cancelled,
}

/// A client that can be chosen.
pub struct Choice {
    pub client: &'static Client,
    /// Its state, in a few words.
    pub says: &'static str,
    /// Whether it is chosen at first.
    pub chosen: bool,
}

/// Lets a person choose among these clients, of which there is at least one.
pub fn pick(asked: &'static str, choices: &[Choice]) -> Picked {
    let rows =
        choices.iter().map(|choice| Row { title: title(choice.client), says: choice.says, chosen: choice.chosen });
    let picker = Picker { asked, rows: rows.collect(), at: 0 };
    match terminal::while_it_is_open(|| ask(picker)) {
        Some(Ok((Pressed::Done, picker))) => {
            let chosen = choices.iter().zip(&picker.rows).filter(|(_, row)| row.chosen);
            let clients: Vec<_> = chosen.map(|(choice, _)| choice.client).collect();
            if clients.is_empty() { Picked::None("no client was chosen.".to_owned()) } else { Picked::These(clients) }
        }
        Some(Ok((Pressed::GoOn | Pressed::Cancel, _))) | None => Picked::Cancelled,
        Some(Err(error)) => {
            Picked::None(format!("the terminal could not be used ({error}); name the clients instead."))
        }
    }
}

struct Raw;

impl Raw {
    fn begin() -> io::Result<Self> {
        enable_raw_mode()?;
        let raw = Self;
        queue!(output::screen(), cursor::Hide)?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = queue!(output::screen(), cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn ask(mut picker: Picker) -> io::Result<(Pressed, Picker)> {
    let raw = Raw::begin()?;
    let mut screen = output::screen();
    let mut drawn = 0;
    let pressed = loop {
        let rows = ratatui::crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows));
        let lines = picker.lines(output::columns(), rows);
        rewind(drawn)?;
        // In raw mode a line feed alone does not return to the first column.
        write!(screen, "{}\r\n", lines.join("\r\n"))?;
        screen.flush()?;
        drawn = lines.len();
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            match picker.press(key) {
                Pressed::GoOn => {}
                end => break end,
            }
        }
    };
    rewind(drawn)?;
    drop(raw);
    Ok((pressed, picker))
}

fn rewind(lines: usize) -> io::Result<()> {
    if lines > 0 {
        let up = u16::try_from(lines).unwrap_or(u16::MAX);
        queue!(output::screen(), cursor::MoveToPreviousLine(up), Clear(ClearType::FromCursorDown))?;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    GoOn,
    Done,
    Cancel,
}

struct Row {
    title: &'static str,
    says: &'static str,
    chosen: bool,
}

struct Picker {
    asked: &'static str,
    rows: Vec<Row>,
    at: usize,
}

impl Picker {
    fn press(&mut self, key: KeyEvent) -> Pressed {
        let last = self.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => return Pressed::Cancel,
            KeyCode::Esc | KeyCode::Char('q') => return Pressed::Cancel,
            KeyCode::Enter => return Pressed::Done,
            KeyCode::Up | KeyCode::Char('k') => self.at = self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => self.at = (self.at + 1).min(last),
            KeyCode::Char(' ') => {
                if let Some(row) = self.rows.get_mut(self.at) {
                    row.chosen = !row.chosen;
                }
            }
            KeyCode::Char('a') => {
                let all = self.rows.iter().all(|row| row.chosen);
                self.rows.iter_mut().for_each(|row| row.chosen = !all);
            }
            _ => {}
        }
        Pressed::GoOn
    }

    /// Returns the lines to draw: no wider than the terminal, and no more than it shows at once.
    fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let room = rows.saturating_sub(4).max(1);
        let first = self.at.saturating_sub(room - 1);
        let widest = self.rows.iter().map(|row| row.title.chars().count()).max().unwrap_or_default();
        let head = std::iter::once(self.asked.to_owned());
        let shown = self.rows.iter().enumerate().skip(first).take(room).map(|(at, row)| {
            let pointer = if at == self.at { '>' } else { ' ' };
            let mark = if row.chosen { 'x' } else { ' ' };
            format!("{pointer} [{mark}] {:widest$}  {}", row.title, row.says)
        });
        let keys = "space chooses, a all, Enter goes on, q ends";
        let fit = |line: String| line.chars().take(columns.saturating_sub(1)).collect();
        head.chain(shown).chain([keys.to_owned()]).map(fit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(count: usize) -> Picker {
        let row = |_| Row { title: "Claude Code", says: "not set up", chosen: false };
        Picker { asked: "Set up which clients?", rows: (0..count).map(row).collect(), at: 0 }
    }

    fn press(picker: &mut Picker, codes: &[KeyCode]) -> Pressed {
        codes.iter().fold(Pressed::GoOn, |_, code| picker.press(KeyEvent::from(*code)))
    }

    fn chosen(picker: &Picker) -> Vec<usize> {
        picker.rows.iter().enumerate().filter(|(_, row)| row.chosen).map(|(at, _)| at).collect()
    }

    #[test]
    fn space_chooses_the_row_under_the_pointer_and_a_all_or_none() {
        let mut picker = picker(3);
        let (space, down, up) = (KeyCode::Char(' '), KeyCode::Down, KeyCode::Up);
        assert_eq!(press(&mut picker, &[down, space, down, down, down, space]), Pressed::GoOn);
        assert_eq!(chosen(&picker), [1, 2]);
        press(&mut picker, &[up, space, up, up, up, space]);
        assert_eq!(chosen(&picker), [0, 2]);
        press(&mut picker, &[KeyCode::Char('a')]);
        assert_eq!(chosen(&picker), [0, 1, 2]);
        press(&mut picker, &[KeyCode::Char('a')]);
        assert_eq!(chosen(&picker), [0_usize; 0]);
    }

    #[test]
    fn enter_goes_on_and_q_escape_and_control_c_cancel() {
        assert_eq!(press(&mut picker(1), &[KeyCode::Enter]), Pressed::Done);
        assert_eq!(press(&mut picker(1), &[KeyCode::Esc]), Pressed::Cancel);
        assert_eq!(press(&mut picker(1), &[KeyCode::Char('q')]), Pressed::Cancel);
        assert_eq!(press(&mut picker(1), &[KeyCode::Char('c')]), Pressed::GoOn);
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(picker(1).press(key), Pressed::Cancel);
    }

    #[test]
    fn what_is_drawn_fits_the_terminal_and_holds_the_pointer() {
        for (columns, rows) in [(20, 6), (80, 24), (10, 2)] {
            let mut picker = picker(16);
            for _ in 0..16 {
                let lines = picker.lines(columns, rows);
                assert!(lines.len() <= rows.max(5), "{lines:?}");
                assert!(lines.iter().all(|line| line.chars().count() < columns), "{lines:?}");
                assert!(lines.iter().any(|line| line.starts_with('>')), "{lines:?}");
                press(&mut picker, &[KeyCode::Down]);
            }
        }
    }
}
