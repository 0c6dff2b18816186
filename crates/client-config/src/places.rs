//! The paths of the clients' folders, from the environment. A test can provide another environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::clients::{Base, Client, On, Spot};
use crate::disk::Disk;
use crate::old_servers::KnownServer;

/// The operating systems between which the clients' paths differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and similar systems.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

impl System {
    /// The system that this program runs on.
    pub const HERE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };

    /// Whether a path is absolute. Exact for the system that this runs on. For another system, which only tests use, a leading
    /// `/` or drive decides.
    fn is_absolute(self, path: &Path) -> bool {
        if self == Self::HERE {
            return path.is_absolute();
        }
        let text = path.to_string_lossy();
        text.starts_with('/') || text.get(1..3) == Some(":\\")
    }
}

/// The folders that contain the clients' files.
#[derive(Debug, Clone)]
pub struct Places {
    system: System,
    pub(crate) disk: Disk,
    home: PathBuf,
    config: PathBuf,
    dot_config: PathBuf,
    app_data: PathBuf,
    local_app_data: PathBuf,
    claude_config: PathBuf,
    claude_home: PathBuf,
    codex_home: PathBuf,
    path: Vec<PathBuf>,
    /// The project whose own configuration is used instead of the user's.
    pub project: Option<PathBuf>,
    /// The servers of other makers whose entries are looked for.
    pub servers: Vec<KnownServer>,
}

impl Places {
    /// Returns the folders that an environment names, or `None` if it does not name the user's home.
    pub fn of(system: System, variable: impl Fn(&str) -> Option<OsString>, disk: Disk) -> Option<Self> {
        // A relative path would name a different folder in each working directory. The clients that read these variables ignore
        // such a path too.
        let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| system.is_absolute(path));
        let windows = system == System::Windows;
        let home = if windows { folder("USERPROFILE").or_else(|| folder("HOME")) } else { folder("HOME") }?;
        let config = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let dot_config = if system == System::Linux { config.clone() } else { home.join(".config") };
        let app_data = match system {
            System::Linux => config.clone(),
            System::Macos => home.join("Library").join("Application Support"),
            System::Windows => folder("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming")),
        };
        Some(Self {
            system,
            disk,
            local_app_data: folder("LOCALAPPDATA").unwrap_or_else(|| home.join("AppData").join("Local")),
            claude_config: folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone()),
            claude_home: folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
            codex_home: folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            path: variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
            project: None,
            servers: Vec::new(),
            home,
            config,
            dot_config,
            app_data,
        })
    }

    /// Returns the folders that this process's environment names, or `None` if it does not name the user's home.
    pub fn here(disk: Disk) -> Option<Self> {
        Self::of(System::HERE, |name| std::env::var_os(name).filter(|value| !value.is_empty()), disk)
    }

    /// Returns the path of a spot, or `None` if the spot does not apply: on this system, without that package, or without a
    /// project.
    pub(crate) fn resolve(&self, spot: &Spot) -> Option<PathBuf> {
        let windows = self.system == System::Windows;
        match spot.on {
            On::Unix if windows => return None,
            On::Windows | On::Package if !windows => return None,
            On::All | On::Unix | On::Windows | On::Package => {}
        }
        let base = match spot.base {
            Base::Home => &self.home,
            Base::Config => &self.config,
            Base::DotConfig => &self.dot_config,
            Base::AppData => &self.app_data,
            Base::LocalAppData => &self.local_app_data,
            Base::ClaudeConfig => &self.claude_config,
            Base::ClaudeHome => &self.claude_home,
            Base::CodexHome => &self.codex_home,
            Base::Project => self.project.as_ref()?,
        };
        let parts: Vec<&str> = spot.path.split('/').filter(|part| !part.is_empty()).collect();
        let (holder, _) = parts.split_at(parts.len().min(PACKAGE_PARTS));
        if spot.on == On::Package && !join(base, holder).is_dir() {
            return None;
        }
        Some(join(base, &parts))
    }

    fn spots(&self, client: &Client) -> &'static [Spot] {
        if self.of_project(client) { client.project } else { client.user }
    }

    /// Returns the files that some version of the client may read, its packaged version included.
    fn candidates(&self, client: &Client) -> Vec<PathBuf> {
        self.spots(client).iter().filter_map(|spot| self.resolve(spot)).collect()
    }

    /// Returns the file that the client reads: the project's, if a project is set and the client has such a file, else the
    /// user's. If there are several candidates: the one of the installed package, else the first one that exists, else the first
    /// one. So the file need not exist. Returns `None` if no file is known on this system.
    pub fn file(&self, client: &Client) -> Option<PathBuf> {
        let mut packaged = self.spots(client).iter().filter(|spot| spot.on == On::Package);
        if let Some(file) = packaged.find_map(|spot| self.resolve(spot)) {
            return Some(file);
        }
        let candidates = self.candidates(client);
        candidates.iter().find(|path| path.symlink_metadata().is_ok()).or(candidates.first()).cloned()
    }

    /// Returns the client's other files that exist. The client read them before it had a newer file, or before it was installed
    /// as a package.
    pub(crate) fn former_files(&self, client: &Client) -> Vec<PathBuf> {
        let real = |path: &Path| (self.disk.canonical)(path);
        let read = self.file(client).and_then(|file| real(&file));
        self.candidates(client).into_iter().filter(|file| real(file).is_some_and(|file| Some(file) != read)).collect()
    }

    /// Whether [`Self::file`] is the project's own.
    pub fn of_project(&self, client: &Client) -> bool {
        self.project.is_some() && !client.project.is_empty()
    }

    /// Returns the client's own folder in the project that its file lies in, such as `.cursor`; `None` if the file lies in the project
    /// itself, or is the user's.
    pub(crate) fn folder_of_own(&self, client: &Client, file: &Path) -> Option<PathBuf> {
        let project = self.project.as_ref().filter(|_| self.of_project(client))?;
        let project = (self.disk.canonical)(project).unwrap_or_else(|| project.clone());
        file.parent().filter(|folder| **folder != *project).map(Path::to_path_buf)
    }

    /// Returns what shows that the client is installed: a file, a folder, or a program on PATH.
    pub fn sign(&self, client: &Client) -> Option<PathBuf> {
        let mut signs = client.signs.iter().filter_map(|spot| self.resolve(spot));
        signs.find(|path| path.exists()).or_else(|| client.programs.iter().find_map(|program| self.program(program)))
    }

    /// Looks for a program on PATH. It is never started.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let endings: &[&str] = if self.system == System::Windows { &[".exe", ".cmd", ""] } else { &[""] };
        let folders = self.path.iter().filter(|folder| folder.is_absolute());
        folders
            .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{name}{ending}"))))
            .find(|path| path.is_file())
    }
}

/// The number of path components that name a package's folder: `Packages/NAME`.
const PACKAGE_PARTS: usize = 2;

fn join(base: &Path, parts: &[&str]) -> PathBuf {
    parts.iter().fold(base.to_path_buf(), |path, part| path.join(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{CLIENTS, named};

    fn places(system: System, variables: &'static [(&str, &str)]) -> Places {
        let of =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        Places::of(system, of, Disk::PLAIN).expect("a home is given")
    }

    fn file(places: &Places, client: &str) -> String {
        let client = named(client).expect("a client");
        places.file(client).expect("a file").to_string_lossy().replace('\\', "/")
    }

    #[test]
    fn every_client_has_a_file_on_every_system() {
        for system in [System::Linux, System::Macos, System::Windows] {
            let mut places = places(system, &[("HOME", "/none/u"), ("USERPROFILE", "C:\\none\\u")]);
            for client in CLIENTS {
                assert!(places.file(client).is_some(), "{} on {system:?}", client.name);
            }
            places.project = Some(PathBuf::from("/none/p"));
            for client in CLIENTS {
                let file = places.file(client).expect("a file");
                assert_eq!(file.starts_with("/none/p"), !client.project.is_empty(), "{}", client.name);
            }
        }
    }

    #[test]
    fn names_and_aliases_are_distinct() {
        let mut words: Vec<&str> =
            CLIENTS.iter().flat_map(|client| client.aliases.iter().copied().chain([client.name])).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert_eq!(named("VS Code").map(|client| client.name), Some("vscode"));
    }

    #[test]
    fn paths_follow_the_system_and_its_variables() {
        let linux = places(System::Linux, &[("HOME", "/none/u")]);
        assert_eq!(file(&linux, "claude-desktop"), "/none/u/.config/Claude/claude_desktop_config.json");
        assert_eq!(file(&linux, "goose"), "/none/u/.config/goose/config.yaml");
        let moved = places(
            System::Linux,
            &[
                ("HOME", "/none/u"),
                ("XDG_CONFIG_HOME", "/none/c"),
                ("CODEX_HOME", "/none/x"),
                ("CLAUDE_CONFIG_DIR", "/none/d"),
            ],
        );
        assert_eq!(file(&moved, "vscode"), "/none/c/Code/User/mcp.json");
        assert_eq!(file(&moved, "codex"), "/none/x/config.toml");
        assert_eq!(file(&moved, "claude-code"), "/none/d/.claude.json");
        assert_eq!(file(&moved, "cursor"), "/none/u/.cursor/mcp.json");
        let relative = places(System::Linux, &[("HOME", "/none/u"), ("XDG_CONFIG_HOME", "c")]);
        assert_eq!(file(&relative, "vscode"), "/none/u/.config/Code/User/mcp.json");
        let macos = places(System::Macos, &[("HOME", "/none/u")]);
        assert_eq!(
            file(&macos, "claude-desktop"),
            "/none/u/Library/Application Support/Claude/claude_desktop_config.json"
        );
        assert_eq!(file(&macos, "zed"), "/none/u/.config/zed/settings.json");
        let macos = places(System::Macos, &[("HOME", "/none/u"), ("XDG_CONFIG_HOME", "/none/c")]);
        assert_eq!(file(&macos, "zed"), "/none/u/.config/zed/settings.json");
        assert_eq!(file(&macos, "opencode"), "/none/c/opencode/opencode.json");
        let windows = places(System::Windows, &[("USERPROFILE", "C:\\none\\u"), ("APPDATA", "D:\\none\\r")]);
        assert_eq!(file(&windows, "vscode"), "D:/none/r/Code/User/mcp.json");
        assert_eq!(file(&windows, "goose"), "D:/none/r/Block/goose/config/config.yaml");
        assert_eq!(file(&windows, "cursor"), "C:/none/u/.cursor/mcp.json");
        assert_eq!(file(&windows, "rider"), "C:/none/u/AppData/Local/github-copilot/intellij/mcp.json");
        assert!(Places::of(System::Linux, |_| None, Disk::PLAIN).is_none());
    }

    #[test]
    fn a_package_of_windows_reads_its_own_copy_whatever_lies_in_the_folder_that_it_does_not_see() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |system: System| {
            let here = folder.path().to_path_buf();
            let of = move |name: &str| match name {
                "LOCALAPPDATA" => Some(here.join("Local").into()),
                "APPDATA" => Some(here.join("Roaming").into()),
                _ => Some(here.clone().into()),
            };
            Places::of(system, of, Disk::PLAIN).expect("a home")
        };
        let plain = folder.path().join("Roaming/Claude/claude_desktop_config.json");
        std::fs::create_dir_all(plain.parent().expect("a folder")).expect("made");
        std::fs::write(&plain, "{}").expect("written");
        let client = named("claude-desktop").expect("a client");
        assert_eq!(of(System::Windows).file(client), Some(plain.clone()));
        let package = folder.path().join("Local/Packages/Claude_pzs8sxrjxfjjc");
        std::fs::create_dir_all(&package).expect("made");
        let own = package.join("LocalCache/Roaming/Claude/claude_desktop_config.json");
        assert_eq!(of(System::Windows).file(client), Some(own));
        assert_eq!(of(System::Windows).sign(client), Some(package));
        assert_ne!(of(System::Macos).file(client).as_deref(), Some(plain.as_path()));
    }
}
