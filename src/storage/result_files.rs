//! Writes results that a client does not accept to private files, which the answer names.

use std::io;
use std::path::{Path, PathBuf};

use super::locked_record;
use crate::limits::{RESULT_FILE_MAX_AGE, RESULT_FILES_MAX, RESULT_MEDIA_FILES_MAX};
use crate::platform::host::Host;
use crate::protocol::ids::CallId;
use crate::protocol::mcp::{self, ClientProfile, ToolResult};

/// The files of one result.
pub struct ResultFiles<'a> {
    host: &'a dyn Host,
    folder: Option<PathBuf>,
    call: CallId,
    /// The error of the last file that could not be written.
    problem: Option<io::Error>,
}

impl<'a> ResultFiles<'a> {
    /// Returns a writer for the files of one call. If `folder` is `None`, nothing is written.
    pub fn new(host: &'a dyn Host, folder: Option<PathBuf>, call: CallId) -> Self {
        Self { host, folder, call, problem: None }
    }

    /// Returns the result in a form that the client accepts. Parts that the client does not accept are written to files that the
    /// result names. Also returns the error of the last file that could not be written. `most`: the largest size of the result in
    /// bytes.
    pub fn fit(mut self, result: ToolResult, profile: &ClientProfile, most: usize) -> (ToolResult, Option<io::Error>) {
        (self.fitted(result, profile, most), self.problem)
    }

    fn fitted(&mut self, mut result: ToolResult, profile: &ClientProfile, most: usize) -> ToolResult {
        for (nth, left) in mcp::left_out(&result, profile).into_iter().enumerate() {
            let path = match &left.data {
                None => Err("its data is no base64"),
                Some(_) if nth >= RESULT_MEDIA_FILES_MAX => Err("the result holds too many of them"),
                Some(data) => {
                    let name = format!("{}-{}.{}", self.call, nth + 1, left.extension);
                    self.write(&name, data).ok_or("the file could not be written")
                }
            };
            if let Some(block) = result.content.get_mut(left.index) {
                *block = left.note(profile, path.as_deref().map_err(|why| *why));
            }
        }
        if mcp::fits(&result, profile) && !mcp::is_for_a_file(&result, profile, most) {
            return result;
        }
        let Some(path) = self.write(&format!("{}.json", self.call), result.file_text().as_bytes()) else {
            return result;
        };
        let whole = result.file_text().len();
        let result = mcp::cut_text(result, profile, &path);
        // Even images that the client accepts may make the result too large.
        if mcp::is_for_a_file(&result, profile, most) { result.spilled(whole, &path) } else { result }
    }

    /// Writes a file and returns its path; `None` if there is no folder or the write fails.
    fn write(&mut self, name: &str, content: &[u8]) -> Option<String> {
        let folder = self.folder.as_ref()?;
        forget_old_results(self.host, folder);
        let path = folder.join(name);
        match self.host.write(&path, content) {
            Ok(()) => Some(path.display().to_string()),
            Err(error) => {
                self.problem = Some(error);
                None
            }
        }
    }
}

/// Returns the project's folder `Logs/holdfast/results`; else a folder below the state folder. If one of the project's folders is
/// a link, they are not used: a project may come from anywhere, and the link may lead to files of somebody else.
pub fn folder_of(project: Option<&Path>, state: Option<&Path>) -> Option<PathBuf> {
    let below = |project: &Path| {
        let logs = project.join("Logs");
        let ours = logs.join("holdfast");
        let results = ours.join("results");
        let linked = |folder: &Path| folder.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
        (!linked(&logs) && !linked(&ours) && !linked(&results)).then_some(results)
    };
    project.and_then(below).or_else(|| state.map(|state| state.join("results")))
}

/// Keeps the results folder within its limits of number and age. Only files whose names have holdfast's form are counted and
/// removed. Errors are ignored: the write that follows reports them.
fn forget_old_results(host: &dyn Host, folder: &Path) {
    locked_record::remove_temporaries(host, folder);
    let Ok(mut files) = host.list(folder) else { return };
    files.retain(|(path, _)| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once('.'));
        name.is_some_and(|(stem, extension)| match extension {
            "json" => CallId::parse(stem).is_some(),
            extension => {
                mcp::fit::EXTENSIONS.contains(&extension)
                    && stem.rsplit_once('-').is_some_and(|(call, nth)| {
                        CallId::parse(call).is_some() && nth.bytes().all(|byte| byte.is_ascii_digit())
                    })
            }
        })
    });
    files.sort_by_key(|(_, changed)| std::cmp::Reverse(*changed));
    let now = host.now();
    for (index, (path, changed)) in files.iter().enumerate() {
        let old = now.duration_since(*changed).is_ok_and(|age| age > RESULT_FILE_MAX_AGE);
        if old || index + 1 >= RESULT_FILES_MAX {
            let _ = host.remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;

    #[test]
    fn old_results_are_removed_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let ours = |number: u8| folder.path().join(format!("{}.json", CallId::from_random([number; 16])));
        for number in 0..u8::try_from(RESULT_FILES_MAX).unwrap() + 5 {
            std::fs::write(ours(number), "x").unwrap();
        }
        std::fs::write(folder.path().join(format!("{}-12.png", CallId::from_random([200; 16]))), "x").unwrap();
        let theirs = ["thesis.json", "notes.txt", "holiday-12.png"].map(|name| folder.path().join(name));
        for path in &theirs {
            std::fs::write(path, "x").unwrap();
        }
        forget_old_results(&RealHost, folder.path());
        assert!(theirs.iter().all(|path| path.exists()));
        // Room for one file is left, for the next result.
        assert_eq!(RealHost.list(folder.path()).unwrap().len(), RESULT_FILES_MAX - 1 + theirs.len());
    }

    #[cfg(unix)]
    #[test]
    fn a_project_whose_logs_lead_elsewhere_gets_no_results_there() {
        let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = Path::new("/state");
        let plain = project.path().join("Logs/holdfast/results");
        assert_eq!(folder_of(Some(project.path()), Some(state)), Some(plain));
        std::os::unix::fs::symlink(elsewhere.path(), project.path().join("Logs")).unwrap();
        assert_eq!(folder_of(Some(project.path()), Some(state)), Some(state.join("results")));
        assert_eq!(folder_of(Some(project.path()), None), None);
    }
}
