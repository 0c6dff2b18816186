//! The project into which the package is placed: its folders, and the reasons why it may not be placed there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::embedded::{About, NAME};
use crate::config;
use crate::limits::{PROJECT_FILE_MAX_BYTES, UNITY_FILES_MAX};
use crate::platform::filesystem::is_missing;
use crate::platform::host::{Host as _, RealHost};
use crate::protocol::dialect;
use crate::protocol::text::clean;
use crate::survey;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error(
        "the project is made with Unity {project}, and the package needs {least} or newer; open the project with a newer Unity first"
    )]
    TooOld { project: String, least: String },
    #[error(
        "Packages/manifest.json already brings {NAME}, as \"{0}\"; take it out there or in Unity's Package Manager, then run this again"
    )]
    Manifest(String),
    #[error("Packages/{0} holds a package {NAME} already; remove one of the two, Unity refuses both")]
    Elsewhere(String),
    /// The manifest cannot be parsed, so it is unknown whether it brings the package.
    #[error(
        "Packages/manifest.json cannot be understood ({0}), so it may bring {NAME} already; correct it, Unity cannot read it either"
    )]
    BadManifest(String),
    /// `Packages` or the package's folder is a link, which would lead the files to another place.
    #[error("{} is a link, and links are not followed; put a folder in its place", .0.display())]
    Link(PathBuf),
}

impl Obstacle {
    pub fn brings_it(&self) -> bool {
        matches!(self, Self::Manifest(_) | Self::Elsewhere(_))
    }
}

#[derive(Debug, Clone)]
pub struct Site {
    pub project: PathBuf,
}

impl Site {
    pub fn new(project: PathBuf) -> Self {
        Self { project }
    }

    /// Returns the folder in which Unity looks for embedded packages.
    pub fn packages(&self) -> PathBuf {
        self.project.join("Packages")
    }

    /// Returns the package's place: the folder in `Packages` with its name.
    pub fn folder(&self) -> PathBuf {
        self.packages().join(NAME)
    }

    /// Returns the work folder, in which the new package is written and the former one is kept. It is next to the package, so
    /// that a rename is enough. Unity's importer ignores its name, and the package manager finds no `package.json` directly in
    /// it.
    pub fn work(&self) -> PathBuf {
        self.packages().join(".holdfast-install~")
    }

    /// Returns the project of which this project is a clone, as ParrelSync makes them: the clone's `Packages` is a link to the
    /// original's. `None` if this project is not such a clone.
    pub fn original(&self) -> Option<PathBuf> {
        let packages = config::canonical(&self.packages()).filter(|_| self.packages().is_symlink())?;
        let original = packages.parent().filter(|_| packages.ends_with("Packages"))?;
        config::is_project(original).then(|| original.to_path_buf())
    }

    /// Returns the most fundamental obstacle to placing the package, if there is one.
    pub fn obstacle(&self) -> Option<Obstacle> {
        let link = [self.packages(), self.folder()].into_iter().find(|path| path.is_symlink()).map(Obstacle::Link);
        link.or_else(|| self.too_old()).or_else(|| self.in_manifest()).or_else(|| self.elsewhere())
    }

    /// Returns the project's Unity version, as its `ProjectVersion.txt` spells it; `None` if it cannot be read.
    pub fn unity(&self) -> Option<String> {
        let bytes = self.read("ProjectSettings/ProjectVersion.txt").ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let version = text.lines().find_map(|line| line.strip_prefix("m_EditorVersion:"))?.trim();
        release(version).map(|_| clean(version))
    }

    fn too_old(&self) -> Option<Obstacle> {
        let (project, least) = (self.unity()?, About::this().unity);
        let old = release(&project)? < release(&least)?;
        old.then_some(Obstacle::TooOld { project, least })
    }

    fn in_manifest(&self) -> Option<Obstacle> {
        let bytes = match self.read("Packages/manifest.json") {
            Ok(bytes) => bytes,
            Err(error) if is_missing(&error) => return None,
            Err(error) => return Some(Obstacle::BadManifest(error.to_string())),
        };
        let manifest: Value = match serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)) {
            Ok(manifest) => manifest,
            Err(error) => return Some(Obstacle::BadManifest(error.to_string())),
        };
        let entry = manifest.get("dependencies")?.get(NAME)?;
        let wish = entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
        (!self.is_our_folder(&wish)).then(|| Obstacle::Manifest(clean(&wish)))
    }

    /// Whether the manifest's entry for the package names the folder in which holdfast places it.
    fn is_our_folder(&self, wish: &str) -> bool {
        let Some(path) = wish.strip_prefix("file:").map(Path::new) else { return false };
        let bare = path.components().filter(|part| *part != std::path::Component::CurDir);
        bare.eq(Path::new(NAME).components())
            || config::canonical(&self.packages().join(path))
                .is_some_and(|path| Some(path) == config::canonical(&self.folder()))
    }

    /// Returns the obstacle of another folder in `Packages/` that has the package, if there is one.
    fn elsewhere(&self) -> Option<Obstacle> {
        let others = fs::read_dir(self.packages()).ok()?.flatten().take(UNITY_FILES_MAX);
        let mut names = others.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let other = names.find(|name| {
            let manifest = self.read(&format!("Packages/{name}/package.json")).ok();
            let manifest = manifest.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            name != NAME && !name.starts_with('.') && manifest.is_some_and(|manifest| manifest["name"] == NAME)
        })?;
        Some(Obstacle::Elsewhere(clean(&other)))
    }

    /// Returns the other packages in the project that holdfast would not use its own beside, with their versions. Does not list a
    /// package that is named only in the record of a crashed editor.
    pub fn others(&self) -> Vec<String> {
        let others = dialect::ALL.iter().filter(|dialect| !(dialect::OWN.contains(dialect) || dialect.gives_way()));
        let named = others.filter_map(|dialect| {
            let facts = survey::facts(&RealHost, &self.project, *dialect);
            let version = facts.package_version.map(|version| format!(" {version}")).unwrap_or_default();
            (facts.installed && !facts.by_record).then(|| clean(&format!("{}{version}", dialect.title())))
        });
        named.collect()
    }

    /// Returns the dependencies that the project does not have yet. Unity brings them itself or fetches them from its registry.
    pub fn to_be_fetched(&self) -> Vec<(String, String)> {
        let lock = self.read("Packages/packages-lock.json").ok();
        let lock: Option<Value> = lock.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let cached: Vec<String> = fs::read_dir(self.project.join("Library/PackageCache"))
            .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default();
        let here = |name: &str| {
            lock.as_ref().is_some_and(|lock| lock["dependencies"].get(name).is_some())
                || cached.iter().any(|folder| folder.split('@').next() == Some(name))
                || self.packages().join(name).is_dir()
        };
        About::this().dependencies.into_iter().filter(|(name, _)| !here(name)).collect()
    }

    fn read(&self, below: &str) -> io::Result<Vec<u8>> {
        RealHost.read(&self.project.join(below), PROJECT_FILE_MAX_BYTES)
    }
}

/// Returns the first two numbers of a version such as `2022.3.62f1`: year or generation, and number.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??))
}
