//! The content of a package's folder: the sums of its files, and holdfast's record of the files that it put there.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::embedded::{self, About, NAME, Sums, sum};
use crate::limits::{UNITY_FILE_MAX_BYTES, UNITY_FILES_MAX, UNITY_RECORD_MAX_BYTES};
use crate::platform::host::{Host as _, RealHost};

/// The name of the record. The record is in the package's own folder, so one rename changes both, and version control brings the
/// record to the other people of a project. Unity ignores names that begin with a dot.
pub const RECORD: &str = ".holdfast-install.json";

/// Files that operating systems create in folders which a person has opened.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

/// The record of what holdfast put into the folder. It is written into the folder too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    about: String,
    package: String,
    pub version: String,
    /// The sum of every file. It is the SHA-256 of the file with LF as line ends. For a `.meta` file, it is the SHA-256
    /// of the line with its GUID.
    pub files: Sums,
}

impl Record {
    pub fn this() -> Self {
        let about = "Written by `holdfast unity install`, which uses it to see what you have changed here. Keep it next to package.json.";
        let version = About::this().version;
        Self { about: about.to_owned(), package: NAME.to_owned(), version, files: embedded::sums() }
    }

    /// Reads the record in a folder. Returns `None` if it is missing, cannot be parsed, or is of another package.
    pub fn read(folder: &Path) -> Option<Self> {
        let bytes = RealHost.read(&folder.join(RECORD), UNITY_RECORD_MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|record: &Self| record.package == NAME)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).expect("texts and a map of texts are JSON");
        text.push('\n');
        text.into_bytes()
    }
}

/// Computes the sums of all files below a folder, without the record and the files that systems create. Links are not followed.
///
/// # Errors
/// A folder cannot be read, or contains more than [`UNITY_FILES_MAX`] files and folders.
pub fn read(folder: &Path) -> io::Result<Sums> {
    let mut found = Sums::new();
    let mut open = vec![(folder.to_path_buf(), String::new())];
    let mut seen = 0;
    while let Some((path, below)) = open.pop() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            seen += 1;
            if seen > UNITY_FILES_MAX {
                return Err(io::Error::other(format!("more than {UNITY_FILES_MAX} files and folders")));
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if LITTER.contains(&name.as_str()) || (below.is_empty() && name == RECORD) {
                continue;
            }
            let kind = entry.file_type()?;
            let inside = format!("{below}{name}");
            if kind.is_dir() {
                open.push((entry.path(), format!("{inside}/")));
            } else {
                let bytes = if kind.is_file() { RealHost.read(&entry.path(), UNITY_FILE_MAX_BYTES).ok() } else { None };
                let sum = bytes.map(|bytes| sum(&inside, &bytes));
                found.insert(inside, sum);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_plain_sha256_of_a_file_with_plain_line_ends() {
        let plain = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum("a.cs", b"abc"), plain);
    }

    #[test]
    fn line_ends_and_a_metas_rest_do_not_count_and_all_else_does() {
        assert_eq!(sum("a.cs", b"a\r\nb\r\n"), sum("a.cs", b"a\nb\n"));
        assert_ne!(sum("a.cs", b"a\rb\n"), sum("a.cs", b"ab\n"));
        let meta =
            |rest: &str, guid: &str| sum("a.cs.meta", format!("fileFormatVersion: 2\nguid: {guid}\n{rest}").as_bytes());
        assert_eq!(meta("MonoImporter:\n", "1a"), meta("", "1a"));
        assert_ne!(meta("", "1a"), meta("", "1b"));
        assert_ne!(sum("a.cs.meta", b"a"), sum("a.cs.meta", b"b"));
    }
}
