//! A test's temporary folders and files (the test kit's `Room`), with the binary that cargo built for these tests.

use std::ops::Deref;

use holdfast_testkit::process::room;
pub use holdfast_testkit::process::room::{GOES, SOON, once_within, start, until};

/// The folder and the environment of one test.
pub struct Room(room::Room);

impl Room {
    pub fn new() -> Self {
        Self(room::Room::of(super::program()))
    }
}

impl Deref for Room {
    type Target = room::Room;

    fn deref(&self) -> &room::Room {
        &self.0
    }
}

/// Runs a command on a terminal, closes the terminal once it shows a text, and returns the exit code. The terminal does not control
/// the command, which therefore gets no signal of the end.
#[cfg(target_os = "linux")]
pub fn ends_with_its_terminal(mut command: std::process::Command, shown: &str) -> Option<i32> {
    use std::io::Read as _;

    use nix::fcntl::{OFlag, open};
    use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
    use nix::sys::stat::Mode;

    // Programs that other tests start meanwhile must not get the terminal: they would keep it open.
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let mut ours = posix_openpt(flags).expect("a pseudo terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it can be used");
    let theirs = open(ptsname_r(&ours).expect("its name").as_str(), flags, Mode::empty()).expect("its other end");
    let end = || std::process::Stdio::from(theirs.try_clone().expect("a copy of it"));
    let sized = std::process::Command::new("stty").args(["rows", "24", "cols", "80"]).stdin(end()).status();
    assert!(sized.is_ok_and(|status| status.success()), "the terminal has a size");
    command.env("TERM", "xterm-256color").stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().expect("it starts");
    drop((command, theirs));
    let mut screen = vt100::Parser::new(24, 80, 0);
    let mut buffer = [0; 4096];
    while !screen.screen().contents().contains(shown) {
        let count = ours.read(&mut buffer).expect("it draws");
        screen.process(&buffer[..count]);
    }
    drop(ours);
    let mut ended = None;
    until("its end", || {
        ended = child.try_wait().expect("it can be waited for");
        ended.is_some()
    });
    ended.and_then(|status| status.code())
}
