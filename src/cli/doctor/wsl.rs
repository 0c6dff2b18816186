//! Checks for WSL, a Linux inside Windows. Unity usually runs on Windows then, and a Linux program in WSL cannot see the
//! processes and ports of Windows.

use std::path::{Component, Path};

use super::finding::Finding;
use crate::platform::host::Host;

const VERSION: &str = "/proc/version";
/// The files in which the kernel reports whether WSL can start Windows programs. Under systemd, some releases of WSL use the
/// second name.
const INTEROP: [&str; 2] = ["/proc/sys/fs/binfmt_misc/WSLInterop", "/proc/sys/fs/binfmt_misc/WSLInterop-late"];
const FILE_MAX_BYTES: usize = 4096;
const ABOUT: &str = "system";

/// Returns the finding for the Linux program in WSL, or for the Windows program with a project in WSL; `None` in every other
/// case.
pub(super) fn wsl(host: &dyn Host, project: Option<&Path>) -> Option<Finding> {
    finding(|file| host.read(Path::new(file), FILE_MAX_BYTES).ok(), project)
}

fn finding(read: impl Fn(&str) -> Option<Vec<u8>>, project: Option<&Path>) -> Option<Finding> {
    if let Some((distribution, path)) = project.and_then(linux_path) {
        return Some(Finding::note(
            ABOUT,
            format!(
                "the project lies in WSL: an editor that runs there is not seen from here; for that one the AI client starts the Linux \
                 program, by its path: wsl.exe -d \"{distribution}\" --exec /PATH/TO/holdfast --project \"{path}\""
            ),
        ));
    }
    if !is_wsl(&String::from_utf8_lossy(&read(VERSION)?)) {
        return None;
    }
    let Some(on_windows) = project.and_then(windows_path) else {
        return Some(Finding::note(
            ABOUT,
            "this is the Linux program in WSL: it finds editors that run in WSL, and none that run on Windows; for those the AI \
             client starts holdfast.exe, also from WSL",
        ));
    };
    let fix = format!(
        "let the AI client start the program for Windows, by its path, such as /mnt/c/Tools/holdfast.exe, with --project \"{on_windows}\""
    );
    let runs_windows_programs =
        INTEROP.iter().any(|file| read(file).is_some_and(|state| state.starts_with(b"enabled")));
    Some(Finding::problem(
        ABOUT,
        "this is the Linux program in WSL, and the project lies on a drive of Windows: an editor on Windows that has it open is not \
         seen from here, neither its process nor its port",
        if runs_windows_programs {
            fix
        } else {
            format!(
                "{fix}; first let WSL start Windows' programs, which it may not do now: enabled=true below [interop] in /etc/wsl.conf"
            )
        },
    ))
}

/// Whether a kernel is one of WSL. The versions of WSL 1 (`4.4.0-19041-Microsoft`) and WSL 2
/// (`5.15.90.1-microsoft-standard-WSL2`) name Microsoft.
fn is_wsl(version: &str) -> bool {
    version.to_ascii_lowercase().contains("microsoft")
}

/// Returns the Windows path of a path below `/mnt/c` or another drive, where WSL mounts Windows' drives unless `wsl.conf` says
/// otherwise; `None` for other paths. Uses `/`, which Windows accepts too: a backslash would have to be doubled in a client's
/// JSON.
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
    let mut text = format!("{}:/", drive.to_ascii_uppercase());
    while let Some(part) = next() {
        if !text.ends_with('/') {
            text.push('/');
        }
        text.push_str(&part);
    }
    Some(text)
}

/// Splits a path that Windows shows as `\\wsl.localhost\Ubuntu\home` (formerly `\\wsl$`) into the distribution and the path
/// inside it. `None` if the path is not of that form.
fn linux_path(path: &Path) -> Option<(String, String)> {
    let text = path.to_str()?.replace('\\', "/");
    let share = text.strip_prefix("//?/UNC/").or_else(|| text.strip_prefix("//"))?;
    let (server, share) = share.split_once('/')?;
    let (distribution, path) = share.split_once('/').unwrap_or((share, ""));
    let is_wsl = ["wsl.localhost", "wsl$"].iter().any(|name| server.eq_ignore_ascii_case(name));
    is_wsl.then(|| (distribution.to_owned(), format!("/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Level;

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
            ("/mnt/c/Games/My Castle", Some("C:/Games/My Castle")),
            ("/mnt/d/x", Some("D:/x")),
            ("/mnt/d", Some("D:/")),
            ("/mnt/wsl/x", None),
            ("/mnt", None),
            ("/home/me/mnt/c/x", None),
            ("mnt/c/x", None),
        ];
        for (path, expected) in rows {
            assert_eq!(windows_path(Path::new(path)).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_path_in_wsl_is_named_as_its_linux_does() {
        let rows = [
            (r"\\wsl.localhost\Ubuntu\home\me\My Castle", Some(("Ubuntu", "/home/me/My Castle"))),
            (r"\\?\UNC\wsl.localhost\Ubuntu-24.04\x", Some(("Ubuntu-24.04", "/x"))),
            (r"\\WSL$\Debian", Some(("Debian", "/"))),
            (r"\\server\share\x", None),
            (r"C:\Games\Castle", None),
            ("/home/me/Castle", None),
        ];
        for (path, expected) in rows {
            let found = linux_path(Path::new(path));
            let found = found.as_ref().map(|(distribution, path)| (distribution.as_str(), path.as_str()));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn each_side_is_told_which_program_sees_the_editor() {
        const KERNEL: (&str, &str) = (VERSION, "Linux version 6.6.87.2-microsoft-standard-WSL2 (root@builder)");
        let told = |files: &[(&str, &str)], project: &str| {
            let read =
                |file: &str| files.iter().find(|(name, _)| *name == file).map(|(_, text)| text.as_bytes().to_vec());
            finding(read, Some(Path::new(project)))
                .map(|finding| (finding.level, finding.says, finding.fix.unwrap_or_default()))
        };
        let (level, _, fix) =
            told(&[KERNEL, (INTEROP[1], "enabled\ninterpreter /init\n")], "/mnt/c/Games/Castle").unwrap();
        assert_eq!(level, Level::Problem);
        assert!(
            fix.contains(r#"holdfast.exe, with --project "C:/Games/Castle""#) && !fix.contains("[interop]"),
            "{fix}"
        );

        for off in [&[KERNEL][..], &[KERNEL, (INTEROP[0], "disabled\n")]] {
            let (_, _, fix) = told(off, "/mnt/c/Games/Castle").unwrap();
            assert!(fix.contains("[interop] in /etc/wsl.conf"), "{fix}");
        }

        let (level, says, _) = told(&[KERNEL], "/home/me/Castle").unwrap();
        assert!(level == Level::Note && says.contains("holdfast.exe"), "{says}");

        // The Windows program cannot read these Linux files.
        let (level, says, _) = told(&[], r"\\wsl.localhost\Ubuntu\home\me\Castle").unwrap();
        assert!(
            level == Level::Note
                && says.contains(r#"-d "Ubuntu" --exec"#)
                && says.contains(r#"--project "/home/me/Castle""#),
            "{says}"
        );
        assert_eq!(told(&[], r"C:\Games\Castle"), None);
        assert_eq!(told(&[(VERSION, "Linux version 6.1.0-18-amd64")], "/mnt/c/Games/Castle"), None);
    }
}
