//! What the system reports about this process. Only implemented on Linux: on other systems these series stay at zero.

/// The resources that this process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, in whole seconds.
    pub cpu_seconds: u64,
    /// Resident memory in bytes.
    pub resident_bytes: usize,
    /// Open file descriptors.
    pub open_fds: usize,
    /// The limit of open file descriptors.
    pub max_fds: usize,
}

/// Reads the current usage; `None` if the system does not report it.
#[cfg(target_os = "linux")]
pub fn usage() -> Option<Usage> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may contain any character, so fields are counted from the last parenthesis. proc(5):
    // utime is the 14th field, stime the 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    // One of the descriptors is open only to read this folder.
    let open_fds = std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    Some(Usage {
        cpu_seconds: ticks / rustix::param::clock_ticks_per_second(),
        resident_bytes: pages * rustix::param::page_size(),
        open_fds,
        max_fds: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX),
    })
}

/// Always returns `None`: the usage is not read on this system.
#[cfg(not(target_os = "linux"))]
pub fn usage() -> Option<Usage> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_uses_memory_and_descriptors() {
        let before = usage().unwrap();
        assert!(
            before.resident_bytes > 100_000 && before.open_fds >= 3 && before.max_fds > before.open_fds,
            "{before:?}"
        );
    }
}
