//! What the system reports about other processes.

use std::time::{Duration, SystemTime};

use super::interface::{Liveness, Process};

/// Whether a process is alive.
#[cfg(unix)]
pub fn liveness(pid: u32) -> Liveness {
    let Some(id) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return Liveness::Dead };
    match rustix::process::test_kill_process(id) {
        Ok(()) | Err(rustix::io::Errno::PERM) if is_remains(pid) => Liveness::Dead,
        Ok(()) | Err(rustix::io::Errno::PERM) => Liveness::Alive,
        Err(rustix::io::Errno::SRCH) => Liveness::Dead,
        Err(_) => Liveness::Unknown,
    }
}

/// Whether a process is a zombie: it has ended, and its parent has not yet waited for it.
#[cfg(target_os = "linux")]
fn is_remains(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name in parentheses may contain any character. The state follows the last parenthesis.
    stat.rsplit_once(')').is_some_and(|(_, rest)| matches!(rest.trim_start().chars().next(), Some('Z' | 'X')))
}

/// Whether a process is a zombie: it has ended, and its parent has not yet waited for it. macOS accepts a signal for a zombie but
/// does not list it (`proc_info.c` of XNU finds zombies only on request).
#[cfg(all(unix, not(target_os = "linux")))]
fn is_remains(pid: u32) -> bool {
    is_seen(pid) == Some(false)
}

/// Whether a process is alive.
#[cfg(not(unix))]
pub fn liveness(pid: u32) -> Liveness {
    match is_seen(pid) {
        Some(true) => Liveness::Alive,
        Some(false) => Liveness::Dead,
        None => Liveness::Unknown,
    }
}

/// Whether the system lists a process. `None` if it does not even list this process: then its list proves nothing.
#[cfg(not(target_os = "linux"))]
fn is_seen(pid: u32) -> Option<bool> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
    let (asked, ours) = (Pid::from_u32(pid), Pid::from_u32(std::process::id()));
    // Each pid is named only once: a pid that is named twice is not found.
    let pids = if asked == ours { vec![ours] } else { vec![asked, ours] };
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, ProcessRefreshKind::nothing());
    system.process(ours)?;
    Some(system.process(asked).is_some())
}

/// Ends a process at once, without a chance to clean up. Returns whether it was told to end.
#[cfg(unix)]
pub fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
}

/// Ends a process at once, without a chance to clean up. Returns whether it was told to end.
#[cfg(not(unix))]
pub fn kill(pid: u32) -> bool {
    look_up(pid, sysinfo::ProcessRefreshKind::nothing(), sysinfo::Process::kill).unwrap_or(false)
}

/// Returns the user of a process, as the system names it; `None` if the process has ended, or the system does not tell.
#[cfg(windows)]
pub fn user_of(pid: u32) -> Option<sysinfo::Uid> {
    let what = sysinfo::ProcessRefreshKind::nothing().with_user(sysinfo::UpdateKind::Always);
    look_up(pid, what, |process| process.user_id().cloned()).flatten()
}

/// Returns the command line of a process; empty if the system does not report it.
#[cfg(target_os = "linux")]
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// Returns the command line of a process; empty if the system does not report it.
#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: u32) -> Vec<String> {
    let what = sysinfo::ProcessRefreshKind::nothing().with_cmd(sysinfo::UpdateKind::Always);
    let words = |process: &sysinfo::Process| {
        process.cmd().iter().map(|part| part.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    look_up(pid, what, words).unwrap_or_default()
}

/// Returns the names of a process and when it began; `None` if the system does not report both. `now` is the time of the wall
/// clock.
///
/// The process's start and the clock that is read here both count from the boot, include suspended time, and are of the same time
/// namespace. That is not true of `/proc/uptime` and the `btime` of `/proc/stat` where a container replaces these files.
#[cfg(target_os = "linux")]
pub fn process(pid: u32, now: SystemTime) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, ticks) = name_and_start(&stat)?;
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let up = Duration::new(u64::try_from(up.tv_sec).ok()?, u32::try_from(up.tv_nsec).ok()?);
    let start = Duration::from_secs(ticks.checked_div(rustix::param::clock_ticks_per_second())?);
    let began = now.checked_sub(up.checked_sub(start)?)?;
    // The main thread's name is not enough: some versions of Unity call it `Main Thread`.
    let words = Some(command_line(pid)).filter(|words| !words.is_empty())?;
    Some(Process { names: [name.to_owned()].into_iter().chain(programs(&words)).collect(), began })
}

/// Returns the names of the files at the beginning of a command line: the program, or its interpreter and the program.
#[cfg(target_os = "linux")]
fn programs(words: &[String]) -> Vec<String> {
    let files = words.iter().take_while(|word| !word.starts_with('-'));
    files.filter_map(|word| Some(std::path::Path::new(word).file_name()?.to_str()?.to_owned())).collect()
}

/// Returns a process's name and its start in clock ticks since the boot, from its `stat`: the 2nd and the 22nd field (proc(5)).
/// `None` if the text does not have them.
#[cfg(target_os = "linux")]
fn name_and_start(stat: &str) -> Option<(&str, u64)> {
    // The name in parentheses may contain any character, so the fields are counted from the last parenthesis.
    let (before, fields) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name, fields.split_whitespace().nth(19)?.parse().ok()?))
}

/// Returns the name of a process and when it began; `None` if the system does not report both. On macOS and Windows the name is
/// that of the executable.
#[cfg(not(target_os = "linux"))]
pub fn process(pid: u32, _now: SystemTime) -> Option<Process> {
    let (name, began) = look_up(pid, sysinfo::ProcessRefreshKind::nothing(), |process| {
        (process.name().to_string_lossy().into_owned(), process.start_time())
    })?;
    // The system reports a start of zero for a process that this user may not open.
    (began > 0 && !name.is_empty())
        .then(|| Process { names: vec![name], began: SystemTime::UNIX_EPOCH + Duration::from_secs(began) })
}

/// Returns what `tell` reads from the system's data about one process; `None` if the system does not list the process.
#[cfg(not(target_os = "linux"))]
fn look_up<T>(pid: u32, what: sysinfo::ProcessRefreshKind, tell: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    let pid = sysinfo::Pid::from_u32(pid);
    let mut system = sysinfo::System::new();
    system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::Some(&[pid]), true, what);
    system.process(pid).map(tell)
}

/// The process that started this process: the client, or a launcher.
#[cfg(unix)]
#[derive(Debug)]
pub struct Parent(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Parent {
    /// Returns the parent of this process.
    pub fn ours() -> Self {
        Self(rustix::process::getppid())
    }

    /// Whether the parent has ended. When it has, the system gives this process another parent.
    pub fn has_ended(&self) -> bool {
        rustix::process::getppid() != self.0
    }
}

/// The process that started this process: the client, or a launcher. Stores its pid and when it began, in seconds since 1970.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Parent(Option<(u32, u64)>);

#[cfg(not(unix))]
impl Parent {
    /// Returns the parent of this process.
    pub fn ours() -> Self {
        let parent = seen(std::process::id()).and_then(|(parent, _)| parent);
        Self(parent.and_then(|pid| seen(pid).map(|(_, began)| (pid, began))))
    }

    /// Whether the parent has ended. Windows does not change the parent's pid then, and may give that pid to another process.
    pub fn has_ended(&self) -> bool {
        self.0.is_some_and(|(pid, began)| is_seen(pid) == Some(false) || seen(pid).is_some_and(|(_, now)| now != began))
    }
}

/// Returns a process's parent and when the process itself began, in seconds since 1970. `None` if the system does not list it.
#[cfg(not(unix))]
fn seen(pid: u32) -> Option<(Option<u32>, u64)> {
    look_up(pid, sysinfo::ProcessRefreshKind::nothing(), |process| {
        (process.parent().map(sysinfo::Pid::as_u32), process.start_time())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_started_this_has_not_ended() {
        assert!(!Parent::ours().has_ended());
    }

    #[test]
    fn our_own_process_lives() {
        assert_eq!(liveness(std::process::id()), Liveness::Alive);
    }

    #[test]
    fn our_own_process_has_a_name_and_began_a_while_ago() {
        let now = crate::platform::host::Host::now(&crate::platform::host::RealHost);
        let ours = process(std::process::id(), now).unwrap();
        assert!(ours.names.iter().any(|name| name.starts_with("holdfast")), "{ours:?}");
        // Systems other than Linux report whole seconds.
        let began = ours.began.checked_sub(Duration::from_secs(2)).unwrap();
        let age = now.duration_since(began).unwrap();
        assert!(age < Duration::from_secs(3600), "{age:?}");
        assert_eq!(process(u32::MAX, now), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_hold_spaces_and_parentheses() {
        let stat = "4711 (Unity) (2) x) S 1 4711 4711 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 987654 1000 100 18446744073709551615";
        assert_eq!(name_and_start(stat), Some(("Unity) (2) x", 987_654)));
        assert_eq!(name_and_start("4711 (Unity) S 1 2 3"), None);
        assert_eq!(name_and_start(""), None);
        let words = ["/usr/bin/qemu-x86_64", "/opt/Editor/Unity", "-projectPath", "/home/me/unity"].map(str::to_owned);
        assert_eq!(programs(&words), ["qemu-x86_64", "Unity"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_ended_is_dead_even_before_it_was_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
            // Waits for the end without removing the zombie.
            let id = Pid::from_raw(pid.cast_signed()).unwrap();
            waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
            assert_eq!(liveness(pid), Liveness::Dead, "the remains count as dead");
        }
        child.wait().unwrap();
        assert_eq!(liveness(pid), Liveness::Dead);
    }
}
