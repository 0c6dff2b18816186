//! The steps of a trial, the most important ones first.

use std::time::Duration;

use holdfast_mcp_client::answer::Verdict;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::editor::{FREEZE, Stage};
use super::results::{Results, Sample, milliseconds};
use super::session::{Answered, NoAnswer, Session};
use super::tried::Tried;
use crate::limits::demo::{UNITY_TRY_CALL_MAX, UNITY_TRY_LOOK_EVERY, UNITY_TRY_PULSE_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Ok,
    /// The package refuses the call, because its function is switched off at first.
    Off,
    /// The tool says whether it could do its work. Without a window it cannot.
    Told,
}

/// Returns a valid call of each tool, in an order in which each call finds what it needs. `play-mode` and `compile`
/// have steps of their own.
fn calls() -> Vec<(&'static str, Value, Wanted)> {
    use Wanted::{Off, Ok, Told};
    vec![
        ("editor-state", json!({}), Ok),
        ("get-logs", json!({}), Ok),
        ("clear-console", json!({}), Ok),
        ("list-scenes", json!({}), Ok),
        ("scene", json!({"Action": "Create", "Path": "Assets/Trial.unity"}), Ok),
        ("edit-game-object", json!({"Action": "Create", "Name": "Trial", "Shape": "Cube", "Position": [0, 1, 0]}), Ok),
        ("get-hierarchy", json!({}), Ok),
        ("find-game-objects", json!({"NamePattern": "Trial"}), Ok),
        ("inspect", json!({"Object": "Trial"}), Ok),
        ("set-selection", json!({"Objects": ["Trial"]}), Ok),
        ("get-selection", json!({}), Ok),
        (
            "edit-component",
            json!({"Action": "Set", "Object": "Trial", "Component": "Transform", "Properties": {"m_LocalScale": [2, 2, 2]}}),
            Ok,
        ),
        ("undo", json!({"Action": "Undo"}), Ok),
        ("screenshot", json!({"Source": "Scene"}), Told),
        ("prefabs", json!({"Action": "Create", "Object": "Trial", "Path": "Assets/Trial.prefab"}), Ok),
        ("remove-component", json!({"Object": "Trial", "Component": "BoxCollider"}), Ok),
        ("delete-game-object", json!({"Object": "Trial"}), Ok),
        ("batch", json!({"Calls": [{"Tool": "editor-state", "Arguments": {}}]}), Ok),
        ("edit-asset", json!({"Action": "CreateFolder", "Path": "Assets/Made"}), Ok),
        ("find-assets", json!({"Filter": "Trial"}), Ok),
        ("delete-asset", json!({"Path": "Assets/Made"}), Off),
        ("read-script", json!({"Path": "Assets/Editor/Touched.cs"}), Ok),
        (
            "edit-script",
            json!({"Action": "Create", "Path": "Assets/Editor/Written.cs", "Text": "// written by a trial\n"}),
            Ok,
        ),
        ("list-tests", json!({}), Ok),
        ("run-tests", json!({}), Off),
        ("get-menu-items", json!({"FilterText": "Assets"}), Ok),
        ("execute-menu-item", json!({"MenuItemPath": "GameObject/Create Empty"}), Off),
        ("unity-search", json!({"SearchQuery": "Touched"}), Ok),
        ("get-provider-details", json!({}), Ok),
        ("list-packages", json!({}), Ok),
        ("change-packages", json!({"Action": "Remove", "Package": "com.unity.test-framework"}), Off),
        ("execute-csharp", json!({"Code": "return 1;"}), Off),
    ]
}

const PLAYED: [&str; 2] = ["compile", "play-mode"];
/// The words in a refusal by a switch for the place where the user may allow the call.
const WHERE_TO_ALLOW: &str = "in Window > Holdfast";
/// The end of a refusal before anything of a call ran.
const NOTHING_RAN: &str = "Nothing of the call ran.";
pub(super) const UNKNOWN_ARGUMENT: &str = "NoSuchArgument";

pub(super) struct Trial<'t> {
    pub(super) tried: &'t Tried,
    /// The tools that were listed; none before they were asked for.
    pub(super) listed: Vec<String>,
    pub(super) stage: &'t mut Stage,
    pub(super) session: &'t mut Session,
    pub(super) results: &'t mut Results,
    pub(super) window: bool,
    pub(super) start_max: Duration,
    pub(super) reloads: usize,
}

impl Trial<'_> {
    pub(super) async fn play(&mut self) -> Result<(), String> {
        self.results.part(&format!("import and first connection (at most {} s)", self.start_max.as_secs()));
        self.come_up("first").await?;
        let complaints = self.stage.complaints();
        self.results.step("no warning and no error about the package", complaints.is_empty(), &complaints.join("; "));
        let is_own = self.tried.is_own();
        if is_own {
            let errors = self.call("get-logs", json!({"LogType": "Error"})).await?;
            let none = errors.body["TotalCount"] == 0;
            self.results.step("no error in the console", none, &errors.text);

            self.results.part("each tool once, with right arguments and with one that it does not have");
            self.tools().await?;
        } else {
            self.results.part("the tools, and calls that only read");
            self.listed_and_read().await?;
        }

        self.results.part("a changed script, a compile error, and its mend");
        self.scripts().await?;

        if is_own {
            self.results.part("play mode");
            self.play_mode().await?;
        }

        self.results.part(&format!("a freeze of {} s", FREEZE.as_secs()));
        self.freeze().await?;

        let dialog = self.window && is_own;
        self.results.part(if dialog { "a dialog, a kill, and a restart" } else { "a kill and a restart" });
        self.kill_and_restart(dialog).await?;

        self.results.part(&format!("{} reloads", self.reloads));
        self.recoveries().await
    }

    /// Waits until the editor answers a call. The gateway does not hold a call for as long as a first import takes.
    async fn come_up(&mut self, which: &str) -> Result<(), String> {
        let (began, asked) = (Instant::now(), json!({}));
        let mut open = None;
        loop {
            if let Some(why) = self.stage.down() {
                return Err(why.to_string());
            }
            if began.elapsed() >= self.start_max {
                return Err(format!(
                    "the editor runs and does not answer, {} s after its start: does it wait for you (a dialog, Safe Mode, a login)?",
                    self.start_max.as_secs()
                ));
            }
            let id = match open {
                Some(id) => id,
                None => self.session.begin(self.state(), &asked).await.map_err(|why| why.to_string())?,
            };
            // Meanwhile the editor may end, or its log may say why it does not come up.
            match self.session.answer(id, UNITY_TRY_LOOK_EVERY).await {
                Ok(answer) if answer.verdict == Verdict::Ok => {
                    self.results.answer(self.state(), &asked, &answer);
                    let after = began.elapsed().as_secs_f64();
                    self.results.passed(&format!("the {which} answer came {after:.0} s after the editor's start"));
                    let version = ["UnityVersion", "unityVersion"].iter().find_map(|name| member(&answer.body, name));
                    if let Some(version) = version.and_then(Value::as_str) {
                        self.results.fact(&format!("Unity {version}"));
                    }
                    return Ok(());
                }
                Ok(_) => {
                    open = None;
                    sleep(UNITY_TRY_LOOK_EVERY).await;
                }
                Err(NoAnswer::Late(_)) => open = Some(id),
                Err(why @ NoAnswer::Ended) => return Err(why.to_string()),
            }
        }
    }

    /// Returns the first of these names that is listed, or the first one.
    pub(super) fn named(&self, names: &'static [&'static str]) -> &'static str {
        let listed = names.iter().find(|name| self.listed.iter().any(|listed| listed == *name));
        listed.or(names.first()).copied().unwrap_or_default()
    }

    /// The tool that tells the editor's state.
    fn state(&self) -> &'static str {
        self.named(self.tried.dialect.properties().roles.editor_state)
    }

    /// The tool that compiles.
    fn compile(&self) -> &'static str {
        self.named(self.tried.dialect.properties().roles.compile)
    }

    /// Whether the answer to a compilation says that it came after the reload. Only our own package says that.
    fn says_reloaded(&self, compiled: &Answered) -> bool {
        compiled.verdict == Verdict::Ok && (!self.tried.is_own() || compiled.body["DomainReloaded"] == true)
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Answered, String> {
        let answer = self.session.call(tool, &arguments, UNITY_TRY_CALL_MAX).await;
        match answer {
            Ok(answer) => {
                self.results.answer(tool, &arguments, &answer);
                Ok(answer)
            }
            Err(NoAnswer::Late(limit)) => {
                Err(format!("`{tool}` got no answer within {} s (our fault)", limit.as_secs()))
            }
            Err(why) => Err(why.to_string()),
        }
    }

    async fn tools(&mut self) -> Result<(), String> {
        let listed = self.session.tools().await.map_err(|why| why.to_string())?;
        let calls = calls();
        for (tool, arguments, wanted) in &calls {
            if !listed.iter().any(|name| name == tool) {
                self.results.failed(&format!("{tool} is not listed"));
                continue;
            }
            let answer = self.call(tool, arguments.clone()).await?;
            let good = match wanted {
                Wanted::Ok => answer.verdict == Verdict::Ok,
                Wanted::Off => answer.text.contains(WHERE_TO_ALLOW) && answer.text.ends_with(NOTHING_RAN),
                Wanted::Told => matches!(answer.verdict, Verdict::Ok | Verdict::ToolError),
            };
            let name = if *wanted == Wanted::Off {
                format!("{tool} is refused: it is switched off at first")
            } else {
                (*tool).to_owned()
            };
            self.results.step(&name, good, &answer.text);
        }
        let mut unrefused = Vec::new();
        // A tool that is switched off answers with the switch, whatever its arguments are.
        for (tool, mut arguments, _) in calls.into_iter().filter(|(_, _, wanted)| *wanted != Wanted::Off) {
            arguments[UNKNOWN_ARGUMENT] = json!(1);
            let answer = self.call(tool, arguments).await?;
            if answer.verdict == Verdict::Ok || !answer.text.contains(UNKNOWN_ARGUMENT) {
                unrefused.push(format!("{tool}: {}", answer.text));
            }
        }
        self.results.step(
            "an argument that a tool does not have is refused, by each",
            unrefused.is_empty(),
            &unrefused.join("; "),
        );
        let known = |name: &String| {
            name.starts_with("holdfast_")
                || PLAYED.contains(&name.as_str())
                || self::calls().iter().any(|(tool, ..)| tool == name)
        };
        let untried: Vec<String> = listed.into_iter().filter(|name| !known(name)).collect();
        if !untried.is_empty() {
            self.results.fact(&format!("listed and not tried: {}", untried.join(", ")));
        }
        Ok(())
    }

    async fn scripts(&mut self) -> Result<(), String> {
        self.written(self.stage.touch(1))?;
        let reloaded = self.call(self.compile(), json!({})).await?;
        let good = self.says_reloaded(&reloaded);
        self.results.step("a changed script is compiled, and the answer comes after the reload", good, &reloaded.text);
        self.written(self.stage.spoil())?;
        let broken = self.call(self.compile(), json!({})).await?;
        let good = broken.verdict == Verdict::ToolError
            && broken.text.contains("CS1029")
            && broken.text.contains("Touched.cs");
        self.results.step("a compile error is told, with its file", good, &broken.text);
        self.written(self.stage.touch(2))?;
        let mended = self.call(self.compile(), json!({})).await?;
        self.results.step("the mended script compiles", mended.verdict == Verdict::Ok, &mended.text);
        let unchanged = self.call(self.compile(), json!({})).await?;
        self.results.step("a compile without a change", unchanged.verdict == Verdict::Ok, &unchanged.text);
        Ok(())
    }

    async fn play_mode(&mut self) -> Result<(), String> {
        // Unity asks about a scene that is not saved.
        let saved = self.call("scene", json!({"Action": "Save"})).await?;
        self.results.step("the scene is saved", saved.verdict == Verdict::Ok, &saved.text);
        for (action, playing) in [("Enter", true), ("Step", true), ("Exit", false)] {
            let answer = self.call("play-mode", json!({"Action": action})).await?;
            let good = answer.verdict == Verdict::Ok && answer.body["IsPlaying"] == playing;
            self.results.step(&format!("play-mode {action}"), good, &answer.text);
        }
        Ok(())
    }

    async fn freeze(&mut self) -> Result<(), String> {
        self.written(self.stage.order("freeze"))?;
        self.wake().await?;
        if !Stage::until(UNITY_TRY_CALL_MAX, || self.stage.has_taken("freeze")).await {
            self.results.failed("the editor does not freeze: its script does not run");
            return Ok(());
        }
        let answer = self.call(self.state(), json!({})).await?;
        let good = answer.verdict == Verdict::Ok;
        self.results.step(
            &format!("a call during the freeze has its answer after {:.1} s", answer.took.as_secs_f64()),
            good,
            &answer.text,
        );
        Ok(())
    }

    async fn kill_and_restart(&mut self, dialog: bool) -> Result<(), String> {
        if dialog {
            self.dialog().await?;
        }
        let id = self.session.begin(self.state(), &json!({})).await.map_err(|why| why.to_string())?;
        self.stage.kill().await;
        self.stage.start().map_err(|error| format!("the editor could not be started again ({error})"))?;
        let answer = self.session.answer(id, UNITY_TRY_CALL_MAX).await.map_err(|why| why.to_string())?;
        self.results.answer(self.state(), &json!({}), &answer);
        let honest = matches!(answer.verdict, Verdict::Ok | Verdict::NotExecuted | Verdict::Unknown);
        self.results.step("a call during the kill has one honest answer", honest, &answer.text);
        self.come_up("next").await
    }

    async fn dialog(&mut self) -> Result<(), String> {
        // The news of the freeze must not be taken for the dialog.
        if self.is_focused().await?.is_none() {
            self.results
                .failed("nothing is heard of the editor's main thread, so a dialog could not be told from a freeze");
            return Ok(());
        }
        self.written(self.stage.order("dialog"))?;
        self.wake().await?;
        if !Stage::until(UNITY_TRY_CALL_MAX, || self.stage.has_taken("dialog")).await {
            self.results.failed("the editor opens no dialog: its script does not run");
            return Ok(());
        }
        let id = self.session.begin("editor-state", &json!({})).await.map_err(|why| why.to_string())?;
        let began = Instant::now();
        // The editor's heartbeat must first be missing for a while.
        while began.elapsed() < UNITY_TRY_CALL_MAX {
            let status = self.call("holdfast_status", json!({})).await?;
            if status.text.contains("modal") || status.text.contains("dialog") {
                self.results.passed(&format!("the dialog is told after {:.1} s", began.elapsed().as_secs_f64()));
                self.results.step("a call behind the dialog waits", !self.session.is_answered(id), "it is answered");
                return Ok(());
            }
            sleep(UNITY_TRY_LOOK_EVERY).await;
        }
        self.results.failed("the dialog is not told by holdfast_status");
        Ok(())
    }

    /// Makes one call, so that an editor without focus runs its next frame at once. The answer may come much later.
    async fn wake(&mut self) -> Result<(), String> {
        let tool = if self.tried.is_own() { "get-selection" } else { self.state() };
        let begun = self.session.begin(tool, &json!({})).await;
        begun.map(drop).map_err(|why| why.to_string())
    }

    /// Waits until the gateway hears that the editor's main thread runs. Returns whether the editor's window has the
    /// focus; `None` if the gateway does not hear it in time.
    async fn is_focused(&mut self) -> Result<Option<bool>, String> {
        let began = Instant::now();
        while began.elapsed() < UNITY_TRY_PULSE_MAX {
            let status = self.session.call("holdfast_status", &json!({}), UNITY_TRY_CALL_MAX).await;
            let status = status.map_err(|why| why.to_string())?.body;
            let runs = member(&status, "frame_age_ms").and_then(Value::as_u64).is_some_and(|age| age < 1000);
            if let Some(focused) = member(&status, "focused").and_then(Value::as_bool).filter(|_| runs) {
                return Ok(Some(focused));
            }
            sleep(UNITY_TRY_LOOK_EVERY).await;
        }
        Ok(None)
    }

    /// Reloads in turns of two kinds: the next call after `compile`, and a call beside it. Each time is kept.
    async fn recoveries(&mut self) -> Result<(), String> {
        for number in 0..self.reloads {
            let focused = if self.tried.is_own() { self.is_focused().await? } else { None };
            self.written(self.stage.touch(number + 10))?;
            let kind = if number % 2 == 0 { "after" } else { "beside" };
            let state = json!({});
            let (compiled, call) = if kind == "after" {
                let compiled = self.call(self.compile(), json!({})).await?;
                (compiled, self.call(self.state(), state).await?)
            } else {
                let late = |why: NoAnswer| why.to_string();
                let compile = self.session.begin(self.compile(), &json!({})).await.map_err(late)?;
                let beside = self.session.begin(self.state(), &state).await.map_err(late)?;
                let compiled = self.session.answer(compile, UNITY_TRY_CALL_MAX).await.map_err(late)?;
                (compiled, self.session.answer(beside, UNITY_TRY_CALL_MAX).await.map_err(late)?)
            };
            let good = self.says_reloaded(&compiled) && call.verdict == Verdict::Ok;
            if !good {
                let (first, second) = (&compiled.text, &call.text);
                self.results.failed(&format!(
                    "reload {}: {}",
                    number + 1,
                    if compiled.verdict == Verdict::Ok { second } else { first }
                ));
            }
            let (compile, took) = (milliseconds(compiled.took), milliseconds(call.took));
            self.results.samples.push(Sample { kind, compile, call: took, focused, good });
        }
        let good = self.results.samples.iter().filter(|one| one.good).count();
        self.results.step(
            &format!("{good} of {} reloads had their true answers", self.reloads),
            good == self.reloads,
            "see reloads.tsv",
        );
        self.results.times("after", "the call after compile");
        self.results.times("beside", "the call beside compile");
        let faults = self.session.faults();
        self.results.step("each request had one answer", faults.is_empty(), &faults.join("; "));
        Ok(())
    }

    fn written(&self, written: std::io::Result<()>) -> Result<(), String> {
        written.map_err(|error| format!("the trial's project cannot be written ({error})"))
    }
}

/// Returns the longest time of a whole trial. Each of its two starts has this limit, and each of this many reloads
/// takes a minute.
pub(super) fn longest(start_max: Duration, reloads: usize) -> Duration {
    2 * start_max + UNITY_TRY_CALL_MAX * 6 + Duration::from_secs(60) * u32::try_from(reloads).unwrap_or(u32::MAX)
}

fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(name).or_else(|| members.values().find_map(|below| member(below, name))),
        Value::Array(values) => values.iter().find_map(|below| member(below, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
