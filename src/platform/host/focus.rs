//! Brings the editor's window to the front with the programs that each system has for this.
//!
//! uLoop's own server did the same, for the same reason: an editor without the focus draws seldom and answers late.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use super::{FocusError, System};
use crate::limits::{FOCUS_LOOK_EVERY, FOCUS_MAX, FOCUS_OUTPUT_MAX_BYTES};
use crate::protocol::text::clean;

/// A program that can bring a window to the front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// macOS: `osascript`, which calls System Events. The user must allow this once.
    AppleScript(PathBuf),
    /// Windows: `powershell`, which calls the shell's `AppActivate`.
    PowerShell(PathBuf),
    /// X11: `xdotool`.
    Xdotool(PathBuf),
    /// X11: `wmctrl`.
    Wmctrl(PathBuf),
}

/// The search path for programs, and which display system is running.
#[derive(Debug, Clone, Default)]
struct Desk {
    path: OsString,
    display: bool,
    wayland: bool,
}

impl Desk {
    fn ours() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self {
            path: std::env::var_os("PATH").unwrap_or_default(),
            display: is_set("DISPLAY"),
            wayland: is_set("WAYLAND_DISPLAY"),
        }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        // A relative folder would be looked for in the working directory, where anybody may place a program.
        let folders = std::env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(program)).find(|file| is_program(file))
    }

    fn or_missing(&self, program: &str, means: fn(PathBuf) -> Means) -> Result<Means, FocusError> {
        self.find(program).map(means).ok_or_else(|| {
            let why = "which brings windows to the front on this system, is not on the PATH";
            FocusError::Unsupported(format!("{program}, {why}").into())
        })
    }

    fn x11(&self) -> Result<Means, FocusError> {
        let no = |why| Err(FocusError::Unsupported(Cow::Borrowed(why)));
        if self.wayland {
            return no("Wayland lets no program bring another one's window to the front");
        }
        if !self.display {
            return no("no screen is known to holdfast (DISPLAY is not set)");
        }
        let wmctrl = || self.find("wmctrl").map(Means::Wmctrl);
        match self.find("xdotool").map(Means::Xdotool).or_else(wmctrl) {
            Some(means) => Ok(means),
            None => no("neither xdotool nor wmctrl is on the PATH; install one of them"),
        }
    }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Returns the program to use on this machine; `None` if there is no such program.
pub fn means() -> Option<Means> {
    look().ok()
}

/// Returns the program to use on this machine.
///
/// # Errors
/// [`FocusError::Unsupported`], with the reason.
pub fn look() -> Result<Means, FocusError> {
    let desk = Desk::ours();
    match System::HERE {
        System::Macos => desk.or_missing("osascript", Means::AppleScript),
        System::Windows => desk.or_missing("powershell.exe", Means::PowerShell),
        System::Linux => desk.x11(),
    }
}

/// Brings a window of the process `pid` to the front. Blocks for at most [`FOCUS_MAX`] per program that it runs (`wmctrl` runs
/// twice).
///
/// # Errors
/// The program's own message, or that the program found no window, or that it was killed after [`FOCUS_MAX`]. In each case the
/// window may not have moved.
pub fn focus(pid: u32, means: &Means) -> Result<(), FocusError> {
    match means {
        Means::AppleScript(program) => {
            let process = format!("first process whose unix id is {pid}");
            let script = format!("tell application \"System Events\" to set frontmost of ({process}) to true");
            run(program, &["-e", &script]).map(drop)
        }
        Means::PowerShell(program) => {
            let shell = "(New-Object -ComObject WScript.Shell)";
            let script = format!("if (-not {shell}.AppActivate({pid})) {{ exit 1 }}");
            run(program, &["-NoProfile", "-NonInteractive", "-Command", &script]).map(drop)
        }
        Means::Xdotool(program) => {
            let pid = pid.to_string();
            run(program, &["search", "--onlyvisible", "--limit", "1", "--pid", &pid, "windowactivate"]).map(drop)
        }
        Means::Wmctrl(program) => {
            let windows = run(program, &["-l", "-p"])?;
            let window = window_of(&windows, pid).ok_or(FocusError::NoWindow { pid })?;
            run(program, &["-i", "-a", window]).map(drop)
        }
    }
}

/// Returns the first window of a process in `wmctrl`'s list; `None` if it has none. The fields of a line are window, desktop,
/// process and more.
fn window_of(list: &str, pid: u32) -> Option<&str> {
    list.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let window = fields.next()?;
        (fields.nth(1)?.parse() == Ok(pid)).then_some(window)
    })
}

/// Runs a program and returns its stdout.
fn run(program: &Path, arguments: &[&str]) -> Result<String, FocusError> {
    let name = program.file_name().unwrap_or(OsStr::new("the program")).to_string_lossy().into_owned();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| FocusError::NotStarted { name: name.clone(), why: error.to_string() })?;
    let (out, words) = (heard(child.stdout.take()), heard(child.stderr.take()));
    let looks = FOCUS_MAX.as_millis() / FOCUS_LOOK_EVERY.as_millis().max(1);
    for _ in 0..looks {
        match child.try_wait() {
            Ok(None) => std::thread::park_timeout(FOCUS_LOOK_EVERY),
            Ok(Some(status)) if status.success() => return Ok(all_of(&out)),
            Ok(Some(status)) => {
                let said = all_of(&words);
                let said = clean(said.trim());
                return Err(if said.is_empty() {
                    FocusError::Failed { name, how: format!("found no window, or may not touch it ({status})") }
                } else {
                    FocusError::Failed { name, how: format!("failed: {said}") }
                });
            }
            Err(error) => return Err(FocusError::Failed { name, how: format!("cannot be waited for: {error}") }),
        }
    }
    // The program may have ended just now. Killing it then fails, which does not matter.
    let _ = child.kill();
    let _ = child.wait();
    Err(FocusError::TooSlow { name })
}

/// Reads a pipe on a separate thread, so that a program with much output does not block.
fn heard(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // If reading fails, what was read before is used.
            let _ = pipe.take(FOCUS_OUTPUT_MAX_BYTES).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// Returns the output of a program that has ended. Does not wait for a child process of the program that still holds the pipe.
fn all_of(words: &mpsc::Receiver<String>) -> String {
    words.recv_timeout(FOCUS_LOOK_EVERY.saturating_mul(5)).unwrap_or_default()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// Returns a search path with one program of this name. The program appends its arguments to the file `said` and then runs
    /// `then`.
    fn desk(folder: &Path, name: &str, then: &str) -> Desk {
        let program = folder.join(name);
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{then}\n", folder.join("said").display());
        // Another process writes the file: if this process had it open for writing while another test forks, the file could not
        // be run.
        let write = "printf '%s' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = Command::new("sh").args(["-c", write]).arg(&program).arg(script).status().unwrap();
        assert!(written.success());
        Desk { path: folder.into(), display: true, wayland: false }
    }

    fn said(folder: &Path) -> String {
        std::fs::read_to_string(folder.join("said")).unwrap()
    }

    #[test]
    fn xdotool_is_told_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let means = desk(folder.path(), "xdotool", "").x11().unwrap();
        assert_eq!(means, Means::Xdotool(folder.path().join("xdotool")));
        assert_eq!(focus(4711, &means), Ok(()));
        assert_eq!(said(folder.path()), "search --onlyvisible --limit 1 --pid 4711 windowactivate\n");
    }

    #[test]
    fn wmctrl_is_told_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let list = "if [ \"$1\" = -l ]; then printf '0x01 0 12 box a\\n0x02 0 4711 box b\\n'; fi";
        let means = desk(folder.path(), "wmctrl", list).x11().unwrap();
        assert_eq!(focus(4711, &means), Ok(()));
        assert_eq!(said(folder.path()), "-l -p\n-i -a 0x02\n");
        assert_eq!(focus(5, &means), Err(FocusError::NoWindow { pid: 5 }));
    }

    #[test]
    fn a_failure_is_told_in_the_programs_words() {
        let folder = tempfile::tempdir().unwrap();
        let means = desk(folder.path(), "xdotool", "echo 'no such screen' >&2; exit 3").x11().unwrap();
        assert_eq!(focus(1, &means).unwrap_err().to_string(), "xdotool failed: no such screen");
        let means = desk(folder.path(), "xdotool", "exit 1").x11().unwrap();
        assert!(focus(1, &means).unwrap_err().to_string().contains("found no window"));
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let means = desk(folder.path(), "xdotool", "exec sleep 600").x11().unwrap();
        assert_eq!(focus(1, &means), Err(FocusError::TooSlow { name: "xdotool".to_owned() }));
    }

    #[test]
    fn where_there_is_no_means_the_reason_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let there = desk(folder.path(), "xdotool", "");
        let why = |desk: Desk| desk.x11().unwrap_err().to_string();
        assert!(why(Desk { wayland: true, ..there.clone() }).contains("Wayland"));
        assert!(why(Desk { display: false, ..there.clone() }).contains("DISPLAY"));
        assert!(why(Desk { path: OsString::new(), ..there.clone() }).contains("xdotool"));
        std::fs::set_permissions(folder.path().join("xdotool"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(why(there).contains("xdotool"), "a file that cannot be run");
        let none = Desk::default().or_missing("osascript", Means::AppleScript).unwrap_err();
        assert!(none.to_string().contains("osascript"));
    }
}
