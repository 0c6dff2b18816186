//! `holdfast status --watch` on a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;
use serde_json::json;

use super::client::{self, Client};
use super::unity::Unity;
use super::{Room, until};

const ROWS: u16 = 30;
const COLUMNS: u16 = 100;

/// The running command, and its terminal.
struct Watching {
    child: Child,
    keys: File,
    terminal: OwnedFd,
    before: Termios,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Watching {
    fn start(room: &Room) -> Self {
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).expect("a pseudo terminal");
        let before = tcgetattr(&pty.slave).expect("its settings");
        let mut command = client::command(room);
        let end = || Stdio::from(pty.slave.try_clone().expect("a copy of its end"));
        command.args(["status", "--watch"]).env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().expect("it starts");
        let keys = File::from(pty.master);
        let mut output = keys.try_clone().expect("a copy of our end");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let drawn = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading ends with an error when no process has the other side of the terminal open.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                drawn.lock().expect("no holder panics").process(&buffer[..count]);
            }
        });
        Self { child, keys, terminal: pty.slave, before, screen }
    }

    fn shows(&self, text: &str) -> bool {
        self.screen.lock().expect("no holder panics").screen().contents().contains(text)
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it lives");
    }

    /// Checks that the command ended successfully, and that the terminal's settings are as before.
    fn gave_back(mut self) {
        let mut ended = None;
        until("its end", || {
            ended = self.child.try_wait().expect("it can be waited for");
            ended.is_some()
        });
        assert_eq!(ended.and_then(|status| status.code()), Some(0));
        assert_eq!(tcgetattr(&self.terminal).expect("its settings"), self.before, "raw mode is over");
        until("the other screen", || {
            let parser = self.screen.lock().expect("no holder panics");
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        });
        assert_eq!(
            self.screen.lock().expect("no holder panics").screen().contents().trim(),
            "",
            "nothing is left over"
        );
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_reload_is_watched_live_and_q_gives_the_terminal_back() {
    let room = Room::new();
    let mut watching = Watching::start(&room);
    until("nobody", || watching.shows("No gateway runs."));
    {
        let parser = watching.screen.lock().expect("no holder panics");
        assert!(parser.screen().alternate_screen() && parser.screen().hide_cursor());
    }
    assert_ne!(tcgetattr(&watching.terminal).expect("its settings"), watching.before, "keys come one by one");

    let mut unity = Unity::of_project(&room, &[]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    until("the gateway", || watching.shows("1 gateway") && watching.shows("unity     2022.3.62f1"));
    until("the call's verdict", || watching.shows("echo") && watching.shows("ok"));
    unity.order("reload 5000");
    until("the reload", || watching.shows("reloading"));
    let held = client.call("echo", &json!({"text": "held"}));
    until("why it waits", || watching.shows("In flight (1)") && watching.shows("waiting: "));
    assert_eq!(client.answer(held).verdict(), client::Verdict::Ok);
    until("the way back", || watching.shows("In flight (0)") && watching.shows("back after "));
    watching.press("?");
    until("the keys", || watching.shows("Nothing here changes a gateway."));
    watching.press("q");
    watching.gave_back();
    client.close(&room);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let room = Room::new();
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let watching = Watching::start(&room);
        until("nobody", || watching.shows("No gateway runs."));
        let pid = Pid::from_raw(i32::try_from(watching.child.id()).expect("a pid"));
        kill(pid, signal).expect("it lives");
        watching.gave_back();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_gone_ends_it() {
    let room = Room::new();
    let mut command = client::command(&room);
    command.args(["status", "--watch"]);
    assert_eq!(super::room::ends_with_its_terminal(command, "No gateway runs."), Some(0));
}

/// The output of the plain command.
fn status(room: &Room) -> String {
    let output = client::command(room).arg("status").output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `holdfast status` is the first command that a person runs who wonders why nothing happens.
#[test]
fn the_plain_status_shows_a_dialog_and_a_freeze() {
    let room = Room::new();
    let mut unity = Unity::of_project(&room, &["--dialect", "holdfast"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.done("holdfast_wait_ready", &json!({"timeout_seconds": 20}));
    unity.say("modal on");
    let id = client.call("echo", &json!({"text": "x"}));
    until("the dialog is shown", || {
        let shown = status(&room);
        shown.contains("but its main thread has stood still for")
            && shown.contains("dialog is open in the Unity window")
    });
    unity.say("modal off");
    client.answer(id);
    unity.say("freeze");
    let id = client.call("echo", &json!({"text": "y"}));
    let mut shown = String::new();
    until("the freeze is shown", || {
        shown = status(&room);
        shown.contains("but it has not said anything for")
    });
    assert!(!shown.contains("somebody else"), "{shown}");
    unity.say("thaw");
    client.answer(id);
    client.close(&room);
}
