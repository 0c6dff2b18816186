//! What the system tells of other processes.

use super::Liveness;

/// Whether a process lives.
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

/// A process that ended and was not yet waited for by its parent.
#[cfg(target_os = "linux")]
fn is_remains(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name in parentheses may hold anything; the state follows the last parenthesis.
    stat.rsplit_once(')').is_some_and(|(_, rest)| matches!(rest.trim_start().chars().next(), Some('Z' | 'X')))
}

/// A process that ended and was not yet waited for by its parent. macOS takes a signal for it, and tells nothing of it
/// (`proc_info.c` of XNU finds the remains only for who asks for them).
#[cfg(all(unix, not(target_os = "linux")))]
fn is_remains(pid: u32) -> bool {
    is_seen(pid) == Some(false)
}

/// Whether a process lives.
#[cfg(not(unix))]
pub fn liveness(pid: u32) -> Liveness {
    match is_seen(pid) {
        Some(true) => Liveness::Alive,
        Some(false) => Liveness::Dead,
        None => Liveness::Unknown,
    }
}

/// Whether the system lists a process; `None` where it does not even list this one, and so tells nothing.
#[cfg(not(target_os = "linux"))]
fn is_seen(pid: u32) -> Option<bool> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
    let (asked, ours) = (Pid::from_u32(pid), Pid::from_u32(std::process::id()));
    // Each once: what is asked for twice is not found.
    let pids = if asked == ours { vec![ours] } else { vec![asked, ours] };
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, ProcessRefreshKind::nothing());
    system.process(ours)?;
    Some(system.process(asked).is_some())
}

/// The words that a process was started with; none where the system does not tell.
#[cfg(target_os = "linux")]
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// The words that a process was started with; none where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn command_line(pid: u32) -> Vec<String> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, what);
    system
        .process(pid)
        .map(|process| process.cmd().iter().map(|part| part.to_string_lossy().into_owned()).collect())
        .unwrap_or_default()
}

/// The process that started this one: the client, or a launcher.
#[cfg(unix)]
#[derive(Debug)]
pub struct Parent(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Parent {
    /// That of this process.
    pub fn ours() -> Self {
        Self(rustix::process::getppid())
    }

    /// Whether it has ended: the system then gives this process another one.
    pub fn has_ended(&self) -> bool {
        rustix::process::getppid() != self.0
    }
}

/// The process that started this one: the client, or a launcher. Its pid, and when it began.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Parent(Option<(u32, u64)>);

#[cfg(not(unix))]
impl Parent {
    /// That of this process.
    pub fn ours() -> Self {
        let parent = seen(std::process::id()).and_then(|(parent, _)| parent);
        Self(parent.and_then(|pid| seen(pid).map(|(_, began)| (pid, began))))
    }

    /// Whether it has ended. Windows leaves this process the pid of a parent that has, and may give that to another process.
    pub fn has_ended(&self) -> bool {
        self.0.is_some_and(|(pid, began)| is_seen(pid) == Some(false) || seen(pid).is_some_and(|(_, now)| now != began))
    }
}

/// A process's parent, and when it began, in seconds since 1970.
#[cfg(not(unix))]
fn seen(pid: u32) -> Option<(Option<u32>, u64)> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    system.process(pid).map(|process| (process.parent().map(Pid::as_u32), process.start_time()))
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

    #[cfg(unix)]
    #[test]
    fn a_process_that_ended_is_dead_even_before_it_was_waited_for() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
            // Waits for its end without taking its remains away.
            let id = Pid::from_raw(pid.cast_signed()).unwrap();
            waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
            assert_eq!(liveness(pid), Liveness::Dead, "the remains count as dead");
        }
        child.wait().unwrap();
        assert_eq!(liveness(pid), Liveness::Dead);
    }
}
