//! `holdfast status --watch`: shows every running gateway live, on the whole terminal.
//!
//! Reads the run records and opens no connections. The terminal is restored however the program ends: by a key, a signal, an
//! error or a panic.

mod draw;
mod pen;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};
use tokio::sync::mpsc;
use tokio::time::sleep;

use self::draw::{Screen, Selection};
use super::gateway_args::EditorArgs;
use super::serve::watch_signals;
use super::{Exit, one_shot, output};
use crate::limits::WATCH_EVERY;
use crate::platform::host::{Host as _, RealHost};
use crate::platform::stdio;
use crate::runtime::enter;
use crate::storage::instance_record;
use crate::telemetry::flight::seconds;
use crate::telemetry::view::told::Told;

pub fn run(arguments: &EditorArgs) -> ExitCode {
    if !output::can_draw() {
        output::complain(
            "holdfast: --watch needs an interactive terminal. Use `holdfast status`, or `holdfast \
             status --json` for programs. Nothing was done.",
        );
        return Exit::Usage.into();
    }
    one_shot::run(arguments, |config| async move {
        let (quit, mut quitting) = mpsc::channel(1);
        tokio::spawn(watch_signals(quit));
        let over = Arc::new(Mutex::new(false));
        let (ended, mut end) = mpsc::channel(1);
        // This thread stands alone, and nothing waits for it: once the terminal is gone, the crate that reads its keys
        // never returns.
        std::thread::spawn({
            let over = Arc::clone(&over);
            move || ended.blocking_send(watch(config.state_dir.as_deref(), &over))
        });
        let watched = tokio::select! {
            watched = end.recv() => watched.unwrap_or_else(|| Err(std::io::Error::other("drawing failed"))),
            _ = quitting.recv() => Ok(()),
            () = terminal_gone() => Ok(()),
        };
        *enter(&over) = true;
        give_back();
        match watched {
            Ok(()) => Exit::Ok,
            // Drawing fails as soon as the terminal is gone. That may be noticed here first.
            Err(_) if stdio::stdin_hung_up() => Exit::Ok,
            Err(error) => {
                output::complain(&format!(
                    "holdfast: the terminal could not be used ({error}). `holdfast status` needs none."
                ));
                Exit::Failed
            }
        }
    })
}

/// Puts the terminal into raw mode on its alternate screen. Restores it when dropped.
struct Taken;

impl Taken {
    fn take() -> std::io::Result<Self> {
        let before = std::panic::take_hook();
        // Restores the terminal before the panic's message is printed, so that the message appears on the normal screen.
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        enable_raw_mode()?;
        let taken = Self;
        execute!(output::screen(), EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal. Tries each step, even if an earlier one fails: a closed terminal refuses all of them.
fn give_back() {
    let _ = execute!(output::screen(), LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Waits until nobody has the other end of the terminal any more. A window that is closed also sends a signal, but only to the
/// programs that it controls.
async fn terminal_gone() {
    while !stdio::stdin_hung_up() {
        sleep(WATCH_EVERY).await;
    }
}

/// Draws until a key ends it, or until `over` is true. After that nothing is drawn.
fn watch(state_dir: Option<&Path>, over: &Mutex<bool>) -> std::io::Result<()> {
    let _taken = Taken::take()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(output::screen()))?;
    let colours = output::colours_wanted();
    let mut selection = Selection::default();
    loop {
        let records = state_dir.map(instance_record::all).unwrap_or_default();
        let unread = state_dir.map(instance_record::unread).unwrap_or_default();
        let now = seconds(RealHost.now());
        let gateways: Vec<Told> = (records.iter().map(|record| Told::of(record, now)))
            .chain(unread.into_iter().map(|pid| Told::unread(pid.into())))
            .collect();
        let screen = Screen { gateways: &gateways, state_folder: state_dir.is_some(), selection, colours };
        {
            let over = enter(over);
            if *over {
                return Ok(());
            }
            terminal.draw(|frame| frame.render_widget(screen, frame.area()))?;
        }
        if event::poll(WATCH_EVERY)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && press(key, &gateways, &mut selection) == Pressed::Quit
        {
            break;
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    GoOn,
    Quit,
}

fn press(key: KeyEvent, gateways: &[Told], selection: &mut Selection) -> Pressed {
    let at = selection.index(gateways);
    let mut select = |index: usize| {
        selection.gateway = gateways.get(index).map(|told| told.id).or(selection.gateway);
    };
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Pressed::Quit,
        KeyCode::Char('q') => return Pressed::Quit,
        // The list of keys covers the parts that other keys change, so each of them closes the list.
        _ if selection.help => selection.help = false,
        KeyCode::Esc => return Pressed::Quit,
        KeyCode::Char('m') => selection.machines = !selection.machines,
        KeyCode::Up | KeyCode::Char('k') => select(at.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => select((at + 1).min(gateways.len().saturating_sub(1))),
        KeyCode::Enter | KeyCode::Tab => selection.detail = !selection.detail,
        KeyCode::Char('?') => selection.help = true,
        _ => {}
    }
    Pressed::GoOn
}
