//! The link when foreign programs own the port, and clients that close stdin as soon as they have written.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use crate::support::{PATIENT, PORT, Setup, editor, gateway, unity};
use holdfast::config::{Config, PortSource};
use holdfast::net::Net as _;
use holdfast::platform::host::{Host as _, Liveness, Owner};
use holdfast_fake_unity::{FakeUnity, FakeUnityConfig, Machine};
use tokio::time::Instant;

fn editor_of(project: &str) -> Owner {
    let command_line = ["Unity", "-projectPath", project].map(str::to_owned).to_vec();
    Owner { pid: 4711, name: "Unity".to_owned(), command_line }
}

/// The editor of another project listens on the named port. The gateway asks for its identity, does not connect ten times a
/// second, and finds the right editor as soon as that one listens.
#[tokio::test(start_paused = true)]
async fn somebody_elses_editor_is_left_in_peace_and_the_right_one_is_found() {
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    let ours = dunce::canonicalize(project.path()).unwrap();
    let config = Config {
        project: Some(ours.clone()),
        ports: vec![(PORT, PortSource::Flag)],
        seed: Some(7),
        ..Config::default()
    };
    let mut it = gateway(Setup { config, ..Setup::default() });
    let _unity = unity(&it.net, editor()).await;
    it.host.set_owner(PORT, editor_of(if cfg!(windows) { r"C:\somebody\elses" } else { "/somebody/elses" }));
    it.client.open().await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let id = it.client.call("get-logs", serde_json::json!({})).await;
        let asked = Instant::now();
        let (text, failed) = it.client.text(&id).await;
        assert!(failed && text.contains("another project open"), "{text}");
        assert!(asked.elapsed() < Duration::from_secs(1));
    }
    assert!(it.net.connects() <= 2, "{} connects to somebody else's editor", it.net.connects());

    it.host.set_owner(PORT, editor_of(ours.to_str().unwrap()));
    it.ready().await;
    it.client.ok("get-logs", serde_json::json!({})).await;
    it.close().await;
}

/// The real packages close their connections before their listener. A gateway that reconnects at once reaches the listener
/// that is about to close, and the port has no owner when the gateway looks it up. That must not count against the next
/// listener on the port.
#[tokio::test(start_paused = true)]
async fn a_listener_that_dies_while_its_owner_is_looked_up_bars_nobody() {
    let (_folder, mut it, unity) = of_project(old_package(), Duration::from_millis(3)).await;
    for round in 0..3 {
        // A link that was up for some time reconnects at once.
        tokio::time::sleep(Duration::from_secs(6)).await;
        let connects = it.net.connects();
        unity.reload(Duration::from_millis(500)).await.unwrap();
        let asked = Instant::now();
        it.client.ok("get-logs", serde_json::json!({})).await;
        assert!(asked.elapsed() < Duration::from_secs(2), "{round}: {:?}", asked.elapsed());
        assert!(it.net.connects() > connects + 1, "the dying listener was met");
    }
    it.close().await;
}

/// The package listens on its port for a moment only, to find out whether the port is free.
#[tokio::test(start_paused = true)]
async fn a_listener_that_only_flashes_bars_nobody() {
    let flash = Duration::from_millis(300);
    let config = FakeUnityConfig { probe_time: flash, listen_delay: flash, ..old_package() };
    let (_folder, mut it, unity) = of_project(config, Duration::from_millis(200)).await;
    for round in 0..3 {
        tokio::time::sleep(Duration::from_secs(6)).await;
        unity.reload(Duration::ZERO).await.unwrap();
        let asked = Instant::now();
        it.client.ok("get-logs", serde_json::json!({})).await;
        assert!(asked.elapsed() < Duration::from_secs(2), "{round}: {:?}", asked.elapsed());
    }
    it.close().await;
}

/// Only refusal keeps the short interval: what accepts and is gone is dialled ever more rarely.
#[tokio::test(start_paused = true)]
async fn a_listener_that_vanishes_again_and_again_sees_few_connections() {
    let (_folder, mut it, unity) = of_project(old_package(), Duration::from_millis(3)).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    unity.reload(Duration::from_secs(60)).await.unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let (net, counted) = (Arc::clone(&it.net), Arc::clone(&seen));
    let vanishing = tokio::spawn(async move {
        loop {
            let listener = net.bind(PORT).await.unwrap();
            listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            drop(listener);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let id = it.client.call("get-logs", serde_json::json!({})).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let seen = seen.load(Ordering::Relaxed);
    assert!((5..=20).contains(&seen), "{seen}");
    vanishing.abort();
    it.client.answer(&id).await;
    it.close().await;
}

/// A program answers on the editor's port for one moment while the editor is away, as any program may that takes a free port. A
/// dial that goes on over the other ports leaves that port out, and must come back to it: no file changes when the editor listens
/// there again.
#[tokio::test(start_paused = true)]
async fn a_port_that_a_stranger_had_for_a_moment_is_dialled_again_without_any_news() {
    let config = Config {
        ports: vec![(PORT, PortSource::Flag), (PORT + 1, PortSource::Flag)],
        seed: Some(7),
        ..Config::default()
    };
    let mut it = gateway(Setup { config, ..Setup::default() });
    let unity = unity(&it.net, old_package()).await;
    it.client.open_as(PATIENT, "2025-06-18", serde_json::json!({})).await;
    it.ready().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let away = Duration::from_secs(20);
    unity.reload(away).await.unwrap();
    let lost = Instant::now();
    let id = it.client.call("get-logs", serde_json::json!({})).await;
    let listener = it.net.bind(PORT).await.unwrap();
    let (mut stranger, _) = listener.accept().await.unwrap();
    stranger.write_all(&[0xff; 64]).await.unwrap();
    drop((stranger, listener));
    it.client.answer(&id).await;
    let back = lost.elapsed();
    assert!(back < away + Duration::from_secs(10), "{back:?}");
    it.close().await;
}

/// Unity reloads some frames after it has answered a compilation. Versions before v0.41.1 do not announce that at all, later ones
/// only when it begins. A call right after the answer must not be lost to the reload.
#[tokio::test(start_paused = true)]
async fn the_call_after_a_compile_is_not_lost_to_the_reload_that_follows() {
    for package in [old_package(), editor()] {
        for gap in [1, 10, 20, 40, 100] {
            let config = FakeUnityConfig { compile_gap: Duration::from_millis(gap), ..package.clone() };
            let (_folder, mut it, unity) = of_project(config, Duration::ZERO).await;
            for round in 0..2 {
                it.client.ok("compile", serde_json::json!({})).await;
                it.client.ok("sleep", serde_json::json!({"ms": 400})).await;
                assert_eq!(unity.stats().domain, round + 2, "{} after {gap} ms", package.package_version);
            }
            it.close().await;
        }
    }
}

/// Without a change no reload follows, which the script assemblies show. Where they show a change, or nothing, it is waited for.
#[tokio::test(start_paused = true)]
async fn a_compile_without_a_change_is_answered_at_once_where_the_script_assemblies_show_it() {
    for package in [old_package(), editor()] {
        let compile_time = Duration::from_millis(500);
        let config = FakeUnityConfig { compile_time, compile_reload: Duration::ZERO, ..package.clone() };
        let (folder, mut it, unity) = of_project(config, Duration::ZERO).await;
        let assemblies = dunce::canonicalize(folder.path()).unwrap().join("Library/ScriptAssemblies");
        let own = assemblies.join("Assembly-CSharp.dll");
        let host = it.host.clone();
        let mut compile = async |during: &dyn Fn()| {
            let began = Instant::now();
            let id = it.client.call("compile", serde_json::json!({})).await;
            tokio::time::sleep(compile_time / 2).await;
            during();
            it.client.text(&id).await;
            began.elapsed()
        };
        let about = package.package_version;
        let at_once = Duration::from_millis(750);
        let waits = compile_time + holdfast::limits::RELOAD_GRACE;
        assert!(compile(&|| ()).await < at_once, "{about}");
        assert!(compile(&|| host.put(own.clone(), "MZ")).await >= waits, "{about}: an assembly is written");
        assert!(compile(&|| host.put(assemblies.join("New.dll"), "MZ")).await >= waits, "{about}: a new one");
        assert!(compile(&|| host.put(assemblies.join("New.pdb"), "MZ")).await < at_once, "{about}: no assembly");
        assert!(compile(&|| host.remove(&own).unwrap()).await >= waits, "{about}: one is gone");
        host.remove(&assemblies.join("New.dll")).unwrap();
        assert!(compile(&|| ()).await >= waits, "{about}: no assembly shows anything");
        assert_eq!(unity.stats().domain, 1);
        it.close().await;
    }
}

/// Two projects are open, and the second editor found its port in use. Before v2.0 the package then listens on the next port,
/// and writes that port to no file.
#[tokio::test(start_paused = true)]
async fn an_editor_that_moved_from_its_port_is_found_by_its_process_and_again_after_a_reload() {
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    let ours = dunce::canonicalize(project.path()).unwrap();
    let config = Config { project: Some(ours.clone()), seed: Some(7), ..Config::default() };
    let setup = Setup { config, ..Setup::default() };
    setup.host.look_at(&setup.net);
    setup.host.put(ours.join("Packages/manifest.json"), r#"{"dependencies":{"io.github.hatayama.uloopmcp":"0.30.1"}}"#);
    setup.host.put(ours.join("UserSettings/UnityMcpSettings.json"), r#"{"customPort":8700}"#);
    setup.host.put(ours.join("Library/EditorInstance.json"), r#"{"process_id":4711}"#);
    setup.host.set_process(4711, Liveness::Alive);
    setup.host.set_owner(
        PORT,
        Owner { pid: 9, ..editor_of(if cfg!(windows) { r"C:\somebody\elses" } else { "/somebody/elses" }) },
    );
    setup.host.set_owner(PORT + 1, editor_of(ours.to_str().unwrap()));
    let _taken = setup.net.bind(PORT).await.unwrap();
    let mut it = gateway(setup);
    let unity = unity(&it.net, FakeUnityConfig { moves_port: true, ..old_package() }).await;
    assert_eq!(unity.stats().port, Some(PORT + 1));
    it.client.open().await;
    it.ready().await;
    for _ in 0..2 {
        it.client.ok("get-logs", serde_json::json!({})).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        unity.reload(Duration::from_secs(2)).await.unwrap();
    }
    it.client.ok("get-logs", serde_json::json!({})).await;
    it.close().await;
}

/// Returns an editor of a version that announces nothing and cannot check which editor a call is for.
fn old_package() -> FakeUnityConfig {
    FakeUnityConfig { package_version: "0.30.1".parse().unwrap(), port: PORT, ..editor() }
}

/// Starts a gateway that finds the editor by its project, on a machine that needs the time `look` to find the owner of a
/// port.
async fn of_project(
    config: FakeUnityConfig,
    look: Duration,
) -> (tempfile::TempDir, crate::support::Gateway, FakeUnity) {
    let project = tempfile::tempdir().unwrap();
    for folder in ["Assets", "ProjectSettings"] {
        std::fs::create_dir(project.path().join(folder)).unwrap();
    }
    let ours = dunce::canonicalize(project.path()).unwrap();
    let setup = Setup {
        config: Config { project: Some(ours.clone()), seed: Some(7), ..Config::default() },
        ..Setup::default()
    };
    setup.host.look_at(&setup.net);
    let config = FakeUnityConfig { project: Some(ours.clone()), machine: Some(Machine(setup.host.clone())), ..config };
    setup.host.set_owner(PORT, editor_of(ours.to_str().unwrap()));
    setup.host.slow(look);
    let mut it = gateway(setup);
    let unity = unity(&it.net, config).await;
    it.client.open().await;
    it.ready().await;
    (project, it, unity)
}

/// Plays `printf '…' | holdfast`: the session answers every request that arrived before stdin ended.
#[tokio::test(start_paused = true)]
async fn a_client_that_asks_and_closes_at_once_is_answered() {
    let mut it = gateway(Setup::default());
    let initialize = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}},
    });
    let list = serde_json::json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    it.client.bytes(format!("{initialize}\n{list}\n").as_bytes()).await;
    let client = it.close_and_keep().await;
    for id in [1, 2] {
        let line = client.answered(&serde_json::json!(id)).expect("it is answered");
        assert!(line.value.get("result").is_some(), "{}", line.value);
    }
}
