//! WSL: a Linux inside Windows. Unity most often runs on Windows then, where the Linux program sees neither processes nor ports.

use std::path::{Component, Path};

use super::Finding;
use crate::host::Host;

const VERSION: &str = "/proc/version";
const VERSION_MAX_BYTES: usize = 4096;
const ABOUT: &str = "system";

/// What to know where this is the Linux program in WSL.
pub(super) fn wsl(host: &dyn Host, project: Option<&Path>) -> Option<Finding> {
    let version = host.read(Path::new(VERSION), VERSION_MAX_BYTES).ok()?;
    if !is_wsl(&String::from_utf8_lossy(&version)) {
        return None;
    }
    let Some(on_windows) = project.and_then(windows_path) else {
        return Some(Finding::note(
            ABOUT,
            "this is the Linux program in WSL: it finds editors that run in WSL, and none that run on Windows; for those the AI \
             client starts holdfast.exe, also from WSL",
        ));
    };
    Some(Finding::problem(
        ABOUT,
        "this is the Linux program in WSL, and the project lies on a drive of Windows: an editor on Windows that has it open is not \
         seen from here, neither its process nor its port",
        format!(
            "let the AI client start the program for Windows, holdfast.exe, with --project \"{on_windows}\"; WSL runs it as it runs \
             its own programs"
        ),
    ))
}

/// The kernels of WSL 1 (`4.4.0-19041-Microsoft`) and WSL 2 (`5.15.90.1-microsoft-standard-WSL2`) name who made them.
fn is_wsl(version: &str) -> bool {
    version.to_ascii_lowercase().contains("microsoft")
}

/// What Windows calls a path below `/mnt/c` and its kin, where WSL shows Windows' drives unless `wsl.conf` says otherwise.
fn windows_path(path: &Path) -> Option<String> {
    let mut parts = path.components();
    let mut next = || match parts.next() {
        Some(Component::Normal(part)) => part.to_str().map(str::to_owned),
        Some(Component::RootDir) => Some("/".to_owned()),
        _ => None,
    };
    let (root, mnt, drive) = (next()?, next()?, next()?);
    let [letter] = drive.as_bytes() else { return None };
    if root != "/" || mnt != "mnt" || !letter.is_ascii_lowercase() {
        return None;
    }
    let mut text = format!("{}:", drive.to_ascii_uppercase());
    while let Some(part) = next() {
        text.push('\\');
        text.push_str(&part);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wsl_is_known_by_its_kernel() {
        assert!(is_wsl(
            "Linux version 5.15.90.1-microsoft-standard-WSL2 (oe-user@oe-host) (x86_64-msft-linux-gcc (GCC) 9.3.0)"
        ));
        assert!(is_wsl("Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) )"));
        assert!(!is_wsl(
            "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0)"
        ));
    }

    #[test]
    fn a_path_on_a_drive_of_windows_is_named_as_windows_does() {
        let rows = [
            ("/mnt/c/Games/My Castle", Some(r"C:\Games\My Castle")),
            ("/mnt/d/x", Some(r"D:\x")),
            ("/mnt/wsl/x", None),
            ("/mnt", None),
            ("/home/me/mnt/c/x", None),
            ("mnt/c/x", None),
        ];
        for (path, expected) in rows {
            assert_eq!(windows_path(Path::new(path)).as_deref(), expected, "{path}");
        }
    }
}
