//! The story of the demo, act by act. Each step waits for a fact. The pauses only give the reader time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use holdfast_fake_unity::{OwnPort, Package, Port, Shape, Task};
use holdfast_timeline::{Phase, Tone, Verdict};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::scene::{CLIENT, GATEWAY, Scene, Stopped, UNITY};
use super::stage::UnityTimes;
use crate::cli::child::Process;

#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub fast: bool,
}

impl Pace {
    /// Returns `ms` milliseconds, or a quarter of that if the story is fast.
    fn ms(self, ms: u64) -> Duration {
        Duration::from_millis(if self.fast { ms / 4 } else { ms })
    }

    fn unity(self) -> UnityTimes {
        UnityTimes { compile: self.ms(700), compile_reload: self.ms(1200) }
    }
}

pub async fn play(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    begins(scene, pace, package).await?;
    reload(scene, pace, package).await?;
    lost_answer(scene, pace, package).await?;
    compile(scene, pace, package).await?;
    freeze(scene, pace, package).await?;
    kill(scene, pace, package).await?;
    looks_back(scene, pace).await?;
    ends(scene).await
}

async fn begins(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act("A session begins");
    let failed = |error| Stopped::System("starting the fake Unity", error);
    if package.facts.port == Port::Told {
        scene.stage.port = Some(OwnPort::take().map_err(failed)?);
    }
    scene.stage.start_unity(pace.unity()).map_err(failed)?;
    scene.until("Unity listens", |facts| facts.port.is_some()).await?;
    scene.pause(pace.ms(300)).await;
    scene.stage.start_gateway().map_err(|error| Stopped::System("starting the gateway", error))?;
    let now = scene.now();
    scene.timeline.enters(GATEWAY, now, Phase::Up);
    scene.timeline.enters(CLIENT, now, Phase::Up);
    let pid = scene.stage.gateway.as_ref().map_or(0, Process::pid);
    let named = if package.facts.port == Port::Told { "names the port" } else { "names no port" };
    let text = format!("starts the gateway (pid {pid}), {named}");
    scene.tell((CLIENT, GATEWAY), Tone::Plain, text, None);
    let client = json!({"name": "holdfast-demo", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = scene.request("initialize", params).await?;
    scene.answers(&[initialize]).await?;
    scene.notify("notifications/initialized", json!({})).await?;
    let list = scene.request("tools/list", json!({})).await?;
    scene.answers(&[list]).await?;
    scene.pause(pace.ms(500)).await;
    for key in ["apples", "pears"] {
        let call = scene.call(Task::Count, key, Verdict::Ok).await?;
        scene.answers(&[call]).await?;
    }
    scene.pause(pace.ms(700)).await;
    Ok(())
}

async fn reload(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act("Unity reloads its domain in the middle of a call");
    let cut = begin_and_hold(scene, package, "bread").await?;
    scene.pause(pace.ms(600)).await;
    // The reload is recorded before it is ordered: its effects may arrive before Unity's own line that the reload began.
    scene.reloads("domain reload");
    scene.steer(&format!("reload {}", pace.ms(1600).as_millis())).await?;
    let mut held = Vec::new();
    if package.facts.results {
        scene.answers(&[cut]).await?;
    } else {
        scene.steer("thaw").await?;
        held.push(cut);
    }
    scene.pause(pace.ms(400)).await;
    for key in ["salt", "oil"] {
        held.push(scene.call(Task::Count, key, Verdict::Ok).await?);
        scene.pause(pace.ms(200)).await;
    }
    held.push(scene.call(Task::Look, "hello", Verdict::Ok).await?);
    scene.answers(&held).await?;
    scene.pause(pace.ms(700)).await;
    Ok(())
}

/// A call ends in Unity, and then its answer is lost with the connection. If the package has a journal, the answer is delivered
/// later.
async fn lost_answer(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act("Unity reloads when a call has ended, and its answer has not left");
    scene.steer("lose").await?;
    scene.until("Unity will lose an answer", |facts| facts.loses_answer).await?;
    let before = scene.facts.ended;
    let must = if package.facts.journal { Verdict::Ok } else { Verdict::OutcomeUnknown };
    let call = scene.call(Task::Count, "sugar", must).await?;
    scene.until("the call has ended in Unity", |facts| facts.ended > before && facts.sent.contains_key(&call)).await?;
    scene.tell((UNITY, UNITY), Tone::Plain, "Unity has counted sugar; its answer is lost", None);
    scene.pause(pace.ms(400)).await;
    scene.reloads("reload before the answer");
    scene.steer(&format!("reload {}", pace.ms(900).as_millis())).await?;
    scene.answers(&[call]).await?;
    let next = scene.call(Task::Look, "back again", Verdict::Ok).await?;
    scene.answers(&[next]).await?;
    scene.pause(pace.ms(700)).await;
    Ok(())
}

/// Starts a call that Unity counts but does not answer yet. Returns the call's id.
async fn begin_and_hold(scene: &mut Scene, package: &'static Package, key: &str) -> Result<u64, Stopped> {
    if !package.facts.results {
        // This package cannot hold back an answer. The editor is frozen instead, and the gateway does not send the call to it.
        scene.steer("freeze").await?;
        scene.until("Unity is frozen", |facts| facts.frozen).await?;
        let call = scene.call(Task::CountHeld, key, Verdict::Ok).await?;
        stands_still(scene, package, call).await?;
        return Ok(call);
    }
    let before = scene.facts.begun;
    let call = scene.call(Task::CountHeld, key, Verdict::OutcomeUnknown).await?;
    scene.until("the call has begun in Unity", |facts| facts.begun > before && facts.sent.contains_key(&call)).await?;
    let text = format!("Unity has counted {key}; its answer is due");
    scene.tell((UNITY, UNITY), Tone::Plain, text, None);
    Ok(call)
}

/// Waits until a call that was made while the editor is frozen was sent. Where each request has a connection of its own, the
/// gateway asks before each call whether the editor is there: then waits until it reports the call as held.
async fn stands_still(scene: &mut Scene, package: &'static Package, call: u64) -> Result<(), Stopped> {
    match package.facts.shape {
        Shape::Stream { .. } => scene.until("the call was sent", |facts| facts.sent.contains_key(&call)).await,
        Shape::ConnectionEach => scene.until("the call is held", |facts| facts.held.contains_key(&call)).await,
    }
}

async fn compile(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act(package.compile_act);
    let compile = scene.call(Task::Compile, "", Verdict::Ok).await?;
    if !package.facts.compile_reloads {
        scene.until("the call was sent", |facts| facts.sent.contains_key(&compile)).await?;
        scene.pause(pace.ms(300)).await;
        scene.reloads("compile");
        scene.steer(&format!("reload {}", pace.unity().compile_reload.as_millis())).await?;
    }
    scene.until("the compilation ends in a reload", |facts| facts.port.is_none()).await?;
    scene.pause(pace.ms(300)).await;
    let held = scene.call(Task::Count, "flour", Verdict::Ok).await?;
    scene.answers(&[compile, held]).await?;
    scene.pause(pace.ms(700)).await;
    Ok(())
}

async fn freeze(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act("Unity freezes, calls queue, and one is cancelled");
    scene.steer("freeze").await?;
    scene.until("Unity is frozen", |facts| facts.frozen).await?;
    scene.pause(pace.ms(200)).await;
    let first = scene.call(Task::Count, "milk", Verdict::Ok).await?;
    stands_still(scene, package, first).await?;
    let second = scene.call(Task::Count, "honey", Verdict::Cancelled).await?;
    scene.pause(pace.ms(200)).await;
    let third = scene.call(Task::Count, "eggs", Verdict::Ok).await?;
    let waiting =
        move |facts: &super::scene::Facts| facts.held.contains_key(&second) && facts.held.contains_key(&third);
    scene.until("two calls are held", waiting).await?;
    scene.pause(pace.ms(500)).await;
    scene.cancel(second).await?;
    scene.pause(pace.ms(700)).await;
    scene.steer("thaw").await?;
    scene.answers(&[first, third]).await?;
    scene.pause(pace.ms(700)).await;
    Ok(())
}

async fn kill(scene: &mut Scene, pace: Pace, package: &'static Package) -> Result<(), Stopped> {
    scene.act("Unity is killed in the middle of a call, and started again");
    let cut = begin_and_hold(scene, package, "cheese").await?;
    scene.pause(pace.ms(600)).await;
    if let Some(mut unity) = scene.stage.unity.take() {
        let pid = unity.pid();
        unity.kill().await.map_err(|error| Stopped::System("killing the fake Unity", error))?;
        scene.stage.ended += 1;
        scene.away("kill and restart", Phase::Gone);
        let how = if cfg!(unix) { "SIGKILL" } else { "TerminateProcess" };
        scene.tell((UNITY, UNITY), Tone::Trouble, format!("{how}: process {pid} is gone"), None);
    }
    let mut held = Vec::new();
    if package.facts.results {
        scene.answers(&[cut]).await?;
    } else {
        held.push(cut);
    }
    scene.pause(pace.ms(400)).await;
    held.push(scene.call(Task::Count, "butter", Verdict::Ok).await?);
    scene.pause(pace.ms(200)).await;
    held.push(scene.call(Task::Look, "anybody there?", Verdict::Ok).await?);
    scene.pause(pace.ms(500)).await;
    let status = scene.ask("holdfast_status").await?;
    scene.answers(&[status]).await?;
    scene.pause(pace.ms(800)).await;
    scene.stage.start_unity(pace.unity()).map_err(|error| Stopped::System("starting the fake Unity again", error))?;
    scene.answers(&held).await?;
    scene.pause(pace.ms(700)).await;
    Ok(())
}

async fn looks_back(scene: &mut Scene, pace: Pace) -> Result<(), Stopped> {
    scene.act("The gateway is asked what it knows");
    let status = scene.ask("holdfast_status").await?;
    scene.answers(&[status]).await?;
    let calls = scene.ask("holdfast_calls").await?;
    scene.answers(&[calls]).await?;
    let answer = scene.history.session.answer(&calls.into());
    let record = answer.and_then(|line| line.value.pointer("/result/structuredContent/calls"));
    let text = |call: &Value, name: &str| call.get(name).and_then(Value::as_str).unwrap_or("none").to_owned();
    let record = record.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    scene.history.record = record.iter().map(|call| (text(call, "tool"), text(call, "verdict"))).collect();
    scene.pause(pace.ms(500)).await;
    Ok(())
}

async fn ends(scene: &mut Scene) -> Result<(), Stopped> {
    scene.act("The client closes stdin and leaves");
    scene.tell((CLIENT, GATEWAY), Tone::Plain, "end of stdin", None);
    if let Some(mut gateway) = scene.stage.gateway.take() {
        let closed = Instant::now();
        let status = gateway.leave().await.map_err(|error| Stopped::System("waiting for the gateway's end", error))?;
        let took = closed.elapsed();
        scene.stage.ended += 1;
        scene.history.exit = Some((took, status.code()));
        let now = scene.now();
        scene.timeline.enters(GATEWAY, now, Phase::Gone);
        let text = status.code().map_or_else(
            || "the gateway ended by a signal".to_owned(),
            |code| format!("the gateway is gone, exit code {code}"),
        );
        scene.tell((GATEWAY, GATEWAY), Tone::Plain, text, Some(took));
    }
    // The lines that the gateway writes before its exit belong to the history too.
    scene.until("the gateway's stdout ends", |facts| facts.gateway_silent).await?;
    if let Some(mut unity) = scene.stage.unity.take() {
        unity.leave().await.map_err(|error| Stopped::System("waiting for the fake Unity's end", error))?;
        scene.stage.ended += 1;
        let now = scene.now();
        scene.timeline.enters(UNITY, now, Phase::Gone);
        scene.tell((UNITY, UNITY), Tone::Plain, "the person closes Unity", None);
    }
    Ok(())
}

/// Returns how often each key was counted, in all processes of the editor together.
pub fn runs(file: &Path) -> BTreeMap<String, u64> {
    let mut runs = BTreeMap::new();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    for line in text.lines() {
        let key = serde_json::from_str::<Value>(line).ok();
        let key = key.as_ref().and_then(|line| line.get("key")).and_then(Value::as_str);
        // A line that cannot be read counts as a run that nobody asked for, so `verdicts_true` reports it.
        *runs.entry(key.unwrap_or(line).to_owned()).or_insert(0) += 1;
    }
    runs
}
