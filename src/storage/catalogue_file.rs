//! The catalogue on disk: the tools of a project's editor, so that a client that starts before Unity sees every tool at once.
//!
//! The file's name comes from the canonical project path. The file contains the package's version, is written atomically, and is
//! read once at start. If it cannot be used, the reason is reported: it is corrupt (and is moved aside), of another project or
//! package, or of another format. The session goes on without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::limits::{CATALOGUE_FILE_MAX_BYTES, CATALOGUES_READ_MAX};
use crate::platform::filesystem::is_missing;
use crate::platform::host::Host;
use crate::protocol::dialect::EditorTool;
use crate::protocol::text::clean;

/// The format that is written. A file of another format is not used.
const FORMAT: u32 = 1;

/// The content of a catalogue file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogueFile {
    format: u32,
    /// The canonical project path.
    pub project: PathBuf,
    /// The dialect's name.
    pub dialect: String,
    /// The package's version at the time of writing, if known.
    pub package_version: Option<String>,
    /// The editor's tools.
    pub tools: Vec<Arc<EditorTool>>,
}

impl CatalogueFile {
    /// Returns the content for a new file.
    pub fn new(project: &Path, dialect: &str, package_version: Option<String>, tools: Vec<Arc<EditorTool>>) -> Self {
        Self { format: FORMAT, project: project.to_path_buf(), dialect: dialect.to_owned(), package_version, tools }
    }
}

/// What a catalogue file says beside the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The canonical project path.
    pub project: PathBuf,
    /// The dialect's name.
    pub dialect: String,
    /// The package's version at the time of writing, if known.
    pub package_version: Option<String>,
}

/// Why a catalogue file is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The file does not exist.
    #[error("there is none yet")]
    Missing,
    /// The file is damaged, and was moved aside.
    #[error("{path} is damaged ({why}); it was moved aside to {aside} and is written again when Unity answers")]
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// The path to which it was moved.
        aside: PathBuf,
        /// What is wrong with the file.
        why: String,
    },
    /// The file is of this project, but of another package than the one that is used now.
    #[error(
        "{path} holds the tools of this project's other package ({dialect}); it is written again when Unity answers"
    )]
    OtherPackage {
        /// The path of the file.
        path: PathBuf,
        /// The dialect of the file's package.
        dialect: String,
    },
    /// The file is of another project: two paths have the same hash.
    #[error("{0} belongs to another project; it is left alone until Unity answers")]
    Foreign(PathBuf),
    /// The file has another format: another version of holdfast wrote it.
    #[error("{0} was written by another version of holdfast; it is written again when Unity answers")]
    Outdated(PathBuf),
    /// The file cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        why: String,
    },
}

/// Returns the path of a project's catalogue below the state folder.
pub fn path(state_dir: &Path, project: &Path) -> PathBuf {
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(32).collect();
    state_dir.join("catalogues").join(format!("{plain}-{:016x}.json", fnv1a(project.to_string_lossy().as_bytes())))
}

/// Reads a project's catalogue.
///
/// # Errors
/// [`Unusable`], with the reason. A damaged file is moved aside.
pub fn read(host: &dyn Host, state_dir: &Path, project: &Path, dialect: &str) -> Result<CatalogueFile, Unusable> {
    let path = path(state_dir, project);
    let bytes = match host.read(&path, CATALOGUE_FILE_MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if is_missing(&error) => return Err(Unusable::Missing),
        Err(error) => return Err(Unusable::Unreadable { path, why: error.to_string() }),
    };
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let head = serde_json::from_slice::<Head>(&bytes);
    if head.as_ref().is_ok_and(|head| head.format != FORMAT) {
        return Err(Unusable::Outdated(path));
    }
    match serde_json::from_slice::<CatalogueFile>(&bytes) {
        Ok(file) if file.project == project && file.dialect == dialect => Ok(file),
        Ok(file) if file.project == project => Err(Unusable::OtherPackage { path, dialect: clean(&file.dialect) }),
        Ok(_) => Err(Unusable::Foreign(path)),
        Err(error) => {
            let aside = path.with_extension("damaged");
            let why = match host.rename(&path, &aside) {
                Ok(()) => error.to_string(),
                Err(moving) => format!("{error}; and it could not be moved: {moving}"),
            };
            Err(Unusable::Corrupt { path, aside, why })
        }
    }
}

/// Returns the projects whose catalogues are on disk, in the order of their paths: the newest [`CATALOGUES_READ_MAX`]. Files that
/// cannot be read are left out.
pub fn heads(host: &dyn Host, state_dir: &Path) -> Vec<Head> {
    let mut files = host.list(&state_dir.join("catalogues")).unwrap_or_default();
    files.retain(|(path, _)| path.extension().is_some_and(|extension| extension == "json"));
    files.sort_by(|(a, written_a), (b, written_b)| written_b.cmp(written_a).then_with(|| a.cmp(b)));
    let heads = files.into_iter().take(CATALOGUES_READ_MAX);
    let heads =
        heads.filter_map(|(file, _)| serde_json::from_slice(&host.read(&file, CATALOGUE_FILE_MAX_BYTES).ok()?).ok());
    let mut heads: Vec<Head> = heads.collect();
    heads.sort_by(|a, b| a.project.cmp(&b.project));
    heads
}

/// Writes a project's catalogue.
///
/// # Errors
/// The system's error (a read-only or full disk); `InvalidData` if the catalogue is larger than [`CATALOGUE_FILE_MAX_BYTES`].
pub fn write(host: &dyn Host, state_dir: &Path, file: &CatalogueFile) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(file)?;
    if bytes.len() > CATALOGUE_FILE_MAX_BYTES {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            "the catalogue is larger than what is read back",
        ));
    }
    host.write(&path(state_dir, &file.project), &bytes)
}

/// FNV-1a, 64 bits: makes a stable name of a path. It need not be secure, since the file itself names its project.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;

    #[test]
    fn the_newest_catalogues_are_named_with_their_projects_and_broken_ones_are_left_out() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(heads(&RealHost, state.path()), Vec::new());
        for nth in 0..CATALOGUES_READ_MAX + 3 {
            let project = PathBuf::from(format!("/projects/{nth:02}"));
            write(&RealHost, state.path(), &CatalogueFile::new(&project, "one", None, Vec::new())).unwrap();
            let file = std::fs::File::open(path(state.path(), &project)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(nth as u64)).unwrap();
        }
        for (name, content) in [("broken.json", "{"), ("list.json", "[]"), ("other.txt", "{}")] {
            std::fs::write(state.path().join("catalogues").join(name), content).unwrap();
        }
        let found = heads(&RealHost, state.path());
        // The two broken files are the newest, so they take two of the places.
        assert_eq!(found.len(), CATALOGUES_READ_MAX - 2);
        assert_eq!((&*found[0].project, &*found[0].dialect), (Path::new("/projects/05"), "one"));
        assert!(found.is_sorted_by(|a, b| a.project < b.project));
    }

    #[test]
    fn corrupt_foreign_outdated_missing_and_read_only_are_told_apart() {
        let state = tempfile::tempdir().unwrap();
        let project = Path::new("/projects/My Game");
        let read_it = || read(&RealHost, state.path(), project, "one");
        assert_eq!(read_it(), Err(Unusable::Missing));
        let file = CatalogueFile::new(project, "one", Some("2.1.1".into()), Vec::new());
        write(&RealHost, state.path(), &file).unwrap();
        assert_eq!(read_it(), Ok(file.clone()));
        let other = read(&RealHost, state.path(), project, "another").unwrap_err().to_string();
        assert!(other.contains("this project's other package (one)"), "{other}");
        let path = path(state.path(), project);
        let elsewhere = CatalogueFile::new(Path::new("/elsewhere"), "one", None, Vec::new());
        std::fs::write(&path, serde_json::to_vec(&elsewhere).unwrap()).unwrap();
        assert!(matches!(read_it(), Err(Unusable::Foreign(_))));
        std::fs::write(&path, r#"{"format":7,"whatever":1}"#).unwrap();
        assert!(matches!(read_it(), Err(Unusable::Outdated(_))));
        std::fs::write(&path, r#"{"format":1,"tools":"#).unwrap();
        let Err(Unusable::Corrupt { aside, .. }) = read_it() else { panic!("a torn file was used") };
        assert!(aside.exists() && !path.exists());
        assert_eq!(read_it(), Err(Unusable::Missing));
        std::fs::create_dir_all(&path).unwrap();
        assert!(matches!(read_it(), Err(Unusable::Unreadable { .. })));
        assert!(write(&RealHost, state.path(), &file).is_err());
    }
}
