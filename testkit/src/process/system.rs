//! What the operating system reports about a process, and how it stops one.

/// Stops all threads of a child process.
#[cfg(unix)]
pub fn stop(pid: u32) {
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).expect("a pid"));
    kill(pid, Signal::SIGSTOP).expect("it lives");
    // A busy system delivers the signal later. When `waitpid` returns, no thread of the process runs any more.
    let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED));
    assert!(matches!(stopped, Ok(WaitStatus::Stopped(..))), "{stopped:?}");
}

/// Whether a process runs. False for a process that has ended but was not waited for yet.
#[cfg(target_os = "linux")]
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

/// Returns the resident memory of a process in KiB, as the system counts it; 0 if unknown.
#[cfg(target_os = "linux")]
pub fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn seen<T>(pid: u32, told: impl FnOnce(&sysinfo::Process) -> T) -> Option<T> {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        true,
        ProcessRefreshKind::nothing().with_memory(),
    );
    system.process(pid).map(told)
}

/// Whether a process runs. False for a process that has ended but was not waited for yet.
#[cfg(not(target_os = "linux"))]
pub fn runs(pid: u32) -> bool {
    seen(pid, |process| process.status() != sysinfo::ProcessStatus::Zombie) == Some(true)
}

/// Returns the resident memory of a process in KiB, as the system counts it; 0 if unknown.
#[cfg(not(target_os = "linux"))]
pub fn memory_kib(pid: u32) -> u64 {
    seen(pid, |process| process.memory() / 1024).unwrap_or(0)
}
