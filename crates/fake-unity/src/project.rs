//! A Unity project's directory, whose files are updated as an editor would. The files are real ones, because other programs read
//! them, or those of a simulated machine.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::guard::{Guard, gone_is_fine, is_empty};
use super::json::quoted;
use crate::limits::{FILE_BUSY_TRIES, FILE_BUSY_WAIT};

/// The version of Unity that the fake editor claims to be.
pub(crate) const UNITY_VERSION: &str = "2022.3.62f1";

/// The assembly of the project's own scripts. Its content does not matter, only when it was written.
pub(crate) const ASSEMBLY: &str = "Library/ScriptAssemblies/Assembly-CSharp.dll";

/// The files of a simulated machine.
pub trait Files: Send + Sync + 'static {
    /// Reads a file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Writes a whole file, and creates its folder if needed.
    ///
    /// # Errors
    /// Any error of the machine.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns the files in a folder, in any order.
    ///
    /// # Errors
    /// Any error of the machine.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
}

/// The home of the user on a simulated machine.
pub const HOME: &str = "/home/user";

/// A simulated machine to which a fake editor writes its files. The project's folder itself is real.
#[derive(Clone)]
pub struct Machine(pub Arc<dyn Files>);

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Machine")
    }
}

/// A file that a package keeps about itself, such as a settings or instance file.
pub(crate) struct OwnFile {
    /// Path of the file, relative to the project's root.
    pub(crate) path: &'static str,
    /// The text of the file; `None` removes the file.
    pub(crate) content: Option<String>,
    /// Whether the file is replaced in one step, and readable only by its owner.
    pub(crate) private: bool,
}

/// A project directory.
pub(crate) struct Project {
    root: PathBuf,
    text: String,
    machine: Option<Machine>,
    /// What of the directory may be changed; `None` on a simulated machine, which holds nothing of anybody.
    guard: Option<Guard>,
}

impl Project {
    /// Opens the project in a directory, and creates the directory and the files that every project has.
    ///
    /// # Errors
    /// Any error of the system about the directory.
    pub(crate) fn open(root: PathBuf, machine: Option<Machine>) -> io::Result<Self> {
        let was_empty = is_empty(&root);
        std::fs::create_dir_all(root.join("Assets"))?;
        let root = dunce::canonicalize(root)?;
        // On Windows `canonicalize` returns the verbatim form (`\\?\`), which .NET never uses. So its prefix is removed.
        let text = root.to_string_lossy();
        let text = text.strip_prefix(r"\\?\").unwrap_or(&text).to_owned();
        let guard = if machine.is_none() { Some(Guard::of(&root, was_empty)?) } else { None };
        let project = Self { root, text, machine, guard };
        project
            .offer("ProjectSettings/ProjectVersion.txt", format!("m_EditorVersion: {UNITY_VERSION}\n").as_bytes())?;
        Ok(project)
    }

    /// Returns the files that somebody else made and that were left alone.
    pub(crate) fn left_alone(&self) -> Vec<String> {
        self.guard.as_ref().map(Guard::left_alone).unwrap_or_default()
    }

    /// Writes a file that the editor can do without: one that somebody else made is left alone.
    pub(crate) fn offer(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        if self.guard.as_ref().is_some_and(|guard| guard.leaves(path)) { Ok(()) } else { self.write(path, bytes) }
    }

    /// Takes back what was made for an editor that cannot run here.
    pub(crate) fn give_up(&self) {
        // The reason why it cannot run is told; this error would only hide it.
        let _ = self.guard.as_ref().map(Guard::take_back);
    }

    /// Makes sure that this file may be written and removed.
    ///
    /// # Errors
    /// `AlreadyExists` if somebody else made it.
    pub(crate) fn claim(&self, path: &str) -> io::Result<()> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.claim(path))
    }

    /// Returns the folder if a fake editor made it, on disk: in any other one, no asset is touched.
    pub(crate) fn own_folder(&self) -> Option<&Path> {
        self.guard.as_ref().filter(|guard| guard.is_whole()).map(|_| self.root.as_path())
    }

    /// Returns the project's root as the editor spells it.
    pub(crate) fn root(&self) -> &str {
        &self.text
    }

    /// Writes a file below the root.
    ///
    /// # Errors
    /// `AlreadyExists` if somebody else made the file, or any error of the system.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.claim(path)?;
        let path = self.root.join(path);
        if let Some(Machine(machine)) = &self.machine {
            return machine.write(&path, bytes);
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, bytes)
    }

    /// Removes a file below the root. Succeeds if the file does not exist. A file that somebody else made stays.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        if self.guard.as_ref().is_some_and(|guard| guard.leaves(path)) {
            return Ok(());
        }
        let path = self.root.join(path);
        gone_is_fine(match &self.machine {
            Some(Machine(machine)) => machine.remove(&path),
            None => std::fs::remove_file(path),
        })
    }

    /// Writes or removes a package's own file.
    pub(crate) fn keep(&self, OwnFile { path, content, private }: OwnFile) -> io::Result<()> {
        match (content, &self.machine) {
            (None, _) => self.remove(path),
            (Some(text), None) if private => {
                self.claim(path)?;
                replace_private(&self.root.join(path), text.as_bytes())
            }
            // The simulated machine always replaces whole files and has only one user.
            (Some(text), _) => self.write(path, text.as_bytes()),
        }
    }

    /// Adds the package to the manifest. The rest of the manifest is not changed. Somebody else's manifest is not changed at all; it
    /// must have the package.
    ///
    /// # Errors
    /// `AlreadyExists` if somebody else's manifest does not have the package, or any error of the system.
    pub(crate) fn install(&self, package: &str, version: &str) -> io::Result<()> {
        let path = "Packages/manifest.json";
        let mut manifest = self.read_object(&self.root.join(path))?;
        let has = manifest.get("dependencies").is_some_and(|all| all.get(package).is_some());
        if has && self.guard.as_ref().is_some_and(|guard| guard.leaves(path)) {
            return Ok(());
        }
        let dependencies = manifest.entry("dependencies").or_insert_with(|| serde_json::Map::new().into());
        if let Some(dependencies) = dependencies.as_object_mut() {
            dependencies.insert(package.to_owned(), version.into());
        }
        self.write(path, format!("{:#}\n", serde_json::Value::from(manifest)).as_bytes())
    }

    /// Writes the files that an editor writes when it opens the project.
    pub(crate) fn opened(&self, pid: u32) -> io::Result<()> {
        let instance = format!(
            "{{\n\t\"process_id\" : {pid},\n\t\"version\" : {},\n\t\"app_path\" : \"\",\n\t\"app_contents_path\" : \"\"\n}}",
            quoted(UNITY_VERSION)
        );
        self.write("Library/EditorInstance.json", instance.as_bytes())?;
        self.write(ASSEMBLY, b"MZ")?;
        self.write("Temp/UnityLockfile", b"")
    }

    /// Removes the files that an editor removes when it quits.
    pub(crate) fn quit(&self) -> io::Result<()> {
        self.remove("Library/EditorInstance.json")?;
        if let Some(guard) = &self.guard {
            return guard.quit();
        }
        let temp = self.root.join("Temp");
        let Some(Machine(machine)) = &self.machine else { return Ok(()) };
        for folder in [temp.join("uLoopMCP/compile-results"), temp] {
            for file in machine.list(&folder).unwrap_or_default() {
                gone_is_fine(machine.remove(&file))?;
            }
        }
        Ok(())
    }

    fn read_object(&self, path: &Path) -> io::Result<serde_json::Map<String, serde_json::Value>> {
        let bytes = match &self.machine {
            Some(Machine(machine)) => machine.read(path),
            None => std::fs::read(path),
        };
        match bytes {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(serde_json::Map::new()),
            Err(error) => Err(error),
        }
    }
}

/// Replaces a file in one step, so that a reader never sees half of it. Only the user may read the new file.
fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_private_folder(folder)?;
    // Several editors may share a folder, so the temporary file gets a random name.
    let temporary = folder.join(format!(".{:032x}.tmp", fastrand::u128(..)));
    let written = create_private(&temporary).and_then(|mut file| file.write_all(bytes));
    let done = written.and_then(|()| rename_patiently(&temporary, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

/// Renames a file, with retries: Windows refuses to replace a file while another program has it open without sharing it.
fn rename_patiently(from: &Path, to: &Path) -> io::Result<()> {
    for _ in 0..FILE_BUSY_TRIES {
        match std::fs::rename(from, to) {
            // ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION.
            Err(error) if cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32 | 33)) => {
                std::thread::park_timeout(FILE_BUSY_WAIT);
            }
            done => return done,
        }
    }
    std::fs::rename(from, to)
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create_private(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
