//! The editor that the trial starts, and the empty project that it opens.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::editors::Editor;
use super::tried::Tried;
use crate::cli::unity::place::Work;
use crate::cli::unity::project::Site;
use crate::limits::demo::{UNITY_TRY_LOG_MAX_BYTES, UNITY_TRY_LOOK_EVERY, UNITY_TRY_QUIT_MAX};
use crate::protocol::text::clean;

const PROJECT: &str = "HoldfastTrial";
/// The script that freezes the editor, opens a dialog, and quits when a file says so. The package needs no switch for
/// these.
const SCRIPT: &str = r#"using System.IO;
using System.Threading;
using UnityEditor;

namespace HoldfastTrial
{
    [InitializeOnLoad]
    internal static class Orders
    {
        static Orders()
        {
            EditorApplication.update += Look;
        }

        private static void Look()
        {
            if (Taken("freeze")) Thread.Sleep(FREEZE);
            if (Taken("dialog")) EditorUtility.DisplayDialog("holdfast unity try", "This dialog belongs to the trial. Leave it open: the trial ends this editor by itself.", "OK");
            if (Taken("quit")) EditorApplication.Exit(0);
        }

        private static bool Taken(string order)
        {
            string path = "Temp/holdfast-try-" + order;
            if (!File.Exists(path)) return false;
            File.Delete(path);
            return true;
        }
    }
}
"#;
const TOUCHED: &str = "Assets/Editor/Touched.cs";
/// How long the freeze lasts: longer than the gateway takes to notice one.
pub(super) const FREEZE: Duration = Duration::from_secs(20);

/// Lines of the editor's log that end a trial. Unity writes these lines in every version since 2022.3; the last one is
/// the compiler's.
const TROUBLES: [(&str, &str); 5] = [
    (
        "No valid Unity Editor license found",
        "this Unity has no valid licence: open Unity Hub, sign in, and let it get one",
    ),
    (
        "has not been activated with a valid License",
        "this Unity has no valid licence: open Unity Hub, sign in, and let it get one",
    ),
    ("It looks like another Unity instance is running with this project open", "another editor has this project open"),
    (
        "An error occurred while resolving packages",
        "Unity's package manager cannot get the packages of an empty project: is there a way to its registry?",
    ),
    (": error CS", "the scripts do not compile, so Unity is in Safe Mode and the package does not run"),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Down {
    #[error("{because} (the editor's log: {line})")]
    Trouble { because: &'static str, line: String },
    #[error("the editor ended by itself ({0}); its log is in the report")]
    Ended(String),
}

/// The trial's project, and its editor while one runs. The process is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) project: PathBuf,
    editor: Editor,
    folder: PathBuf,
    /// The id of the package that is tried.
    package: &'static str,
    /// How often the editor was started. Each start has a log of its own, so that old lines are not taken for new ones.
    starts: usize,
    window: bool,
    child: Option<Child>,
}

impl Stage {
    /// Makes the project in this folder, and places the package in it.
    pub(super) fn set(folder: &Path, editor: Editor, tried: &Tried, window: bool) -> Result<Self, String> {
        let project = folder.join(PROJECT);
        let write = |rest: &str, text: &str| {
            let path = project.join(rest);
            let parent = path.parent().unwrap_or(&project);
            let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
            written.map_err(|error| format!("{} cannot be written ({error})", path.display()))
        };
        let mut manifest = json!({"dependencies": {"com.unity.test-framework": "1.1.33"}});
        if !tried.is_own() {
            // Unity's package manager gets it from the registry.
            manifest["dependencies"][tried.id()] = json!(tried.version);
        }
        write("Packages/manifest.json", &format!("{manifest:#}\n"))?;
        if let Some(version) = &editor.version {
            write("ProjectSettings/ProjectVersion.txt", &format!("m_EditorVersion: {version}\n"))?;
        }
        write("Assets/Editor/Orders.cs", &SCRIPT.replace("FREEZE", &FREEZE.as_millis().to_string()))?;
        if tried.is_own() {
            let site = Site::new(project.clone());
            if let Some(obstacle) = site.obstacle() {
                return Err(obstacle.to_string());
            }
            let placed = Work::begin(&site).and_then(|work| work.install().and_then(|()| work.end()));
            placed.map_err(|error| error.to_string())?;
        }
        let (folder, package) = (folder.to_path_buf(), tried.id());
        let stage = Self { project, editor, folder, package, starts: 0, window, child: None };
        stage.touch(0).map_err(|error| format!("{TOUCHED} cannot be written ({error})"))?;
        Ok(stage)
    }

    pub(super) fn start(&mut self) -> std::io::Result<()> {
        self.starts += 1;
        let mut command = Command::new(&self.editor.program);
        if !self.window {
            command.args(["-batchmode", "-nographics"]).env("HOLDFAST_BATCH_MODE", "1");
        }
        command.arg("-projectPath").arg(&self.project).arg("-logFile").arg(self.log(self.starts));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// Returns why the editor does not come up, if that is known.
    pub(super) fn down(&mut self) -> Option<Down> {
        if let Some(trouble) = self.trouble() {
            return Some(trouble);
        }
        match self.child.as_mut().map(Child::try_wait) {
            Some(Ok(Some(status))) => Some(Down::Ended(ended(status))),
            _ => None,
        }
    }

    fn trouble(&self) -> Option<Down> {
        let log = self.log_text();
        let found = |(mark, because): &(&str, &'static str)| {
            let line = log.lines().find(|line| line.contains(mark))?;
            Some(Down::Trouble { because, line: clean(line.trim()) })
        };
        TROUBLES.iter().find_map(found)
    }

    /// Returns the warnings and errors of compilers and analyzers about the package.
    pub(super) fn complaints(&self) -> Vec<String> {
        let log = self.log_text();
        let about = |line: &&str| {
            line.contains(self.package) && [": warning ", ": error "].iter().any(|mark| line.contains(mark))
        };
        let mut lines: Vec<String> = log.lines().filter(about).map(|line| clean(line.trim())).collect();
        lines.dedup();
        lines
    }

    /// Returns the end of the running editor's log; nothing if it has none yet.
    fn log_text(&self) -> String {
        end_of(&self.log(self.starts))
    }

    /// Returns the end of the log of each start, with the name of its file.
    pub(super) fn logs(&self) -> Vec<(String, String)> {
        (1..=self.starts).map(|start| (format!("editor-{start}.log"), end_of(&self.log(start)))).collect()
    }

    fn log(&self, start: usize) -> PathBuf {
        self.folder.join(format!("editor-{start}.log"))
    }

    /// Changes the script, so that Unity compiles and reloads its domain. 0 is the number at the beginning.
    pub(super) fn touch(&self, number: usize) -> std::io::Result<()> {
        self.script(&format!(
            "namespace HoldfastTrial {{ internal static class Touched {{ public const int Number = {number}; }} }}\n"
        ))
    }

    pub(super) fn spoil(&self) -> std::io::Result<()> {
        self.script("#error trial\n")
    }

    fn script(&self, text: &str) -> std::io::Result<()> {
        std::fs::write(self.project.join(TOUCHED), text)
    }

    /// Gives the editor an order, which it takes in its next frame.
    pub(super) fn order(&self, order: &str) -> std::io::Result<()> {
        std::fs::write(self.order_file(order), "")
    }

    pub(super) fn has_taken(&self, order: &str) -> bool {
        !self.order_file(order).exists()
    }

    fn order_file(&self, order: &str) -> PathBuf {
        self.project.join(format!("Temp/holdfast-try-{order}"))
    }

    /// Kills the editor, as a crash would end it.
    pub(super) async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.start_kill();
            let _ = timeout(UNITY_TRY_QUIT_MAX, child.wait()).await;
        }
    }

    /// Lets the editor quit by itself, and kills it if it does not in time. Returns whether it quit.
    pub(super) async fn quit(&mut self) -> bool {
        // An editor that has not opened the project has no folder for the order, and does not get it.
        let ordered = self.order("quit").is_ok();
        let Some(child) = &mut self.child else { return true };
        let has_quit = ordered && timeout(UNITY_TRY_QUIT_MAX, child.wait()).await.is_ok();
        self.kill().await;
        has_quit
    }

    /// Waits until `is_so`, at most for `limit`. Returns whether it became so.
    pub(super) async fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + limit;
        while !is_so() {
            if Instant::now() >= end {
                return false;
            }
            sleep(UNITY_TRY_LOOK_EVERY).await;
        }
        true
    }
}

fn ended(status: ExitStatus) -> String {
    status.code().map_or_else(|| "a signal ended it".to_owned(), |code| format!("exit code {code}"))
}

/// Returns the last [`UNITY_TRY_LOG_MAX_BYTES`] of a log; nothing if it cannot be read.
pub(super) fn end_of(log: &Path) -> String {
    let read = || {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(UNITY_TRY_LOG_MAX_BYTES as u64)))?;
        let mut bytes = Vec::new();
        file.take(UNITY_TRY_LOG_MAX_BYTES as u64).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
