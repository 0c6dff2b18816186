//! The findings of `holdfast doctor` about the state folder and its content.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::cli::look::Look;
use crate::cli::variables::profile_folders;
use crate::config::{self, Config};
use crate::limits::STATE_PROBE_BYTES;
use crate::platform::filesystem;
use crate::platform::host::{Host as _, RealHost, System};
use crate::protocol::dialect::Dialect;
use crate::protocol::text::clean;
use crate::storage::catalogue_file::{self, Unusable};
use crate::storage::hub_folder::HubFolder;
use crate::storage::instance_record;
use crate::telemetry::flight::seconds;
use crate::telemetry::view::told::Told;

pub(super) fn state(config: &Config, look: &Look) -> Vec<Finding> {
    let Some(folder) = &config.state_dir else {
        let none = Finding::problem(
            "state",
            "there is no state folder, since HOME (on Windows LOCALAPPDATA and USERPROFILE) is no absolute path: no tools before Unity \
             runs, no status",
            if cfg!(windows) {
                "set LOCALAPPDATA, or name a folder with --state-dir"
            } else {
                "set HOME, or name a folder with --state-dir"
            },
        );
        return vec![none];
    };
    let mut findings = vec![writable(folder)];
    findings.extend(unguarded(System::HERE, &profile_folders(), "state", folder));
    if let Some(project) = &look.survey.project {
        findings.push(catalogue(folder, project, look.survey.dialect, look.survey.facts.package_version.as_deref()));
    }
    let now = seconds(RealHost.now());
    findings.extend(instance_record::all(folder).iter().map(|record| gateway(&Told::of(record, now))));
    findings.extend(instance_record::unread(folder).into_iter().map(|pid| {
        Finding::note("gateway", format!("pid {pid} runs, and its record in the state folder cannot be read"))
    }));
    findings.extend(hub(folder));
    findings
}

/// Returns the finding about the hub; `None` if no hub runs and nothing keeps one from running.
fn hub(state: &Path) -> Option<Finding> {
    if let Some(why) = filesystem::unreliable_locks(state) {
        let says = format!(
            "the state folder is on {why}, where locks of files are not reliable: no hub is used (for one, name a folder on this \
             machine's own disk with --state-dir)"
        );
        return Some(Finding::note("hub", says));
    }
    let folder = HubFolder::of(state);
    let Some(running) = folder.running() else {
        let says = "a hub runs, and what it says of itself (hub/hub.json in the state folder) cannot be read";
        return folder
            .is_held()
            .then(|| Finding::note("hub", says).fix("let this user read that file, or make room on that disk"));
    };
    let http = running.http.map(|address| format!("; it serves MCP over HTTP at {}", clean(&address)));
    Some(Finding::ok(
        "hub",
        format!(
            "a hub runs (pid {}, version {}) at {}; sessions that start now share its editors{}",
            running.pid,
            clean(&running.version),
            running.socket.display(),
            http.unwrap_or_default()
        ),
    ))
}

/// Returns a warning about a file outside the user's profile on Windows, such as in `C:\temp`. A file there is as
/// private as its folder, and usually every user of the machine may read it. holdfast changes no access lists.
pub(super) fn unguarded(system: System, profile: &[PathBuf], about: &'static str, path: &Path) -> Option<Finding> {
    let plain = |path: &Path| config::canonical(path).unwrap_or_else(|| path.to_path_buf());
    let inside = profile.iter().any(|folder| plain(path).starts_with(plain(folder)));
    (system == System::Windows && !inside).then(|| {
        Finding::note(
            about,
            format!(
                "{} is outside of your profile: anyone who may read that folder can read what holdfast writes there",
                path.display()
            ),
        )
        .fix("let the folder's access list (`icacls`) allow your user alone, or name a folder below %LOCALAPPDATA%")
        .likely()
    })
}

fn writable(folder: &Path) -> Finding {
    if !folder.exists()
        && let Ok(()) = has_folder(folder)
    {
        // The folder is not created just to answer this question.
        let lacks_room = filesystem::free_bytes(folder).is_some_and(|free| free < STATE_PROBE_BYTES as u64);
        return match lacks_room {
            true => no_room(folder, &io::ErrorKind::StorageFull.into()),
            false => Finding::ok("state", format!("{} is not there yet, and can be made", folder.display())),
        };
    }
    let probe = folder.join(format!("doctor-{}", std::process::id()));
    // A full disk may still take an empty file.
    match RealHost.write(&probe, &vec![0; STATE_PROBE_BYTES]).and_then(|()| RealHost.remove(&probe)) {
        Ok(()) => Finding::ok("state", format!("{} can be written", folder.display())),
        Err(error) if is_full(&error) => no_room(folder, &error),
        Err(error) => Finding::problem(
            "state",
            format!("{} cannot be written ({error}): no tools before Unity runs, and no status", folder.display()),
            "let this user write there, or name another folder with --state-dir",
        ),
    }
}

fn no_room(folder: &Path, error: &io::Error) -> Finding {
    Finding::problem(
        "state",
        format!(
            "{} cannot take {} KiB more ({error}): a hub sends no call, what runs is shown as it was, and after a crash nobody knows \
             what became of its calls",
            folder.display(),
            STATE_PROBE_BYTES / 1024
        ),
        "make room on that disk, or name a folder on another one with --state-dir",
    )
}

/// Whether a write failed for lack of room: on the disk, or within a limit that is set for this user or process.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

fn catalogue(folder: &Path, project: &Path, dialect: &dyn Dialect, installed: Option<&str>) -> Finding {
    match catalogue_file::read(&RealHost, folder, project, dialect.name()) {
        Ok(file) => {
            let count = format!("{} tools from an earlier session", file.tools.len());
            match (file.package_version.as_deref(), installed) {
                (Some(then), Some(now)) if then != now => Finding::note(
                    "catalogue",
                    format!("{count}, of package version {}; it is written again when Unity answers", clean(then)),
                ),
                _ => Finding::ok("catalogue", format!("{count}: clients see them before Unity runs")),
            }
        }
        Err(Unusable::Missing) => Finding::note(
            "catalogue",
            "there is none yet; it is written when a client first meets this project's editor",
        ),
        Err(unusable @ Unusable::Unreadable { .. }) => Finding::problem(
            "catalogue",
            unusable.to_string(),
            "let this user read it, or remove it: it is written again",
        ),
        Err(unusable) => Finding::note("catalogue", unusable.to_string()),
    }
}

fn gateway(told: &Told) -> Finding {
    let Told { id: (pid, _), client, state, facts, .. } = told;
    let project = facts.iter().find(|fact| fact.name == "project").map(|fact| format!(", project {}", fact.says));
    Finding::note("gateway", format!("pid {pid} runs for {client}: {state}{}", project.unwrap_or_default()))
}

/// Whether a file can be created at this path, as far as can be known without creating it.
pub(super) fn has_folder(path: &Path) -> io::Result<()> {
    let nearest = path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or_else(|| Path::new("."));
    let meta = nearest.metadata()?;
    if !meta.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    #[cfg(unix)]
    rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_on_windows_and_only_outside_of_the_profile_may_others_read_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let profile = [folder.path().join("me"), folder.path().join("me/AppData/Local")];
        let asked =
            |system: System, path: &str| unguarded(system, &profile, "state", &folder.path().join(path)).is_some();
        assert!(asked(System::Windows, "temp/holdfast"));
        assert!(asked(System::Windows, "meadow"));
        assert!(!asked(System::Windows, "me/AppData/Local/holdfast"));
        assert!(!asked(System::Linux, "temp/holdfast") && !asked(System::Macos, "temp/holdfast"));
        assert!(unguarded(System::Windows, &[], "state", folder.path()).is_some(), "no profile is known");
    }
}
