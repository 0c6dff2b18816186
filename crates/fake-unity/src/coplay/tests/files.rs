//! The files in the user's home.

use super::*;

/// Returns the texts of the status file in their order, as (reason, reloading, seq, port); `None`: it was removed; empty reasons stand
/// for an empty file.
fn told(disk: &Disk) -> Vec<Option<(String, bool, u64, u64)>> {
    let history = std::mem::take(&mut *disk.history.lock().unwrap());
    let of_status = history.into_iter().filter(|(name, _)| name.starts_with("unity-mcp-status-"));
    let read = |text: String| {
        let status: Value = serde_json::from_str(&text).unwrap_or_default();
        let reason = status["reason"].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| status[name].as_u64().unwrap_or_default();
        (reason, status["reloading"] == json!(true), number("seq"), number("unity_port"))
    };
    of_status.map(|(_, text)| text.map(read)).collect()
}

fn torn() -> Option<(String, bool, u64, u64)> {
    Some((String::new(), false, 0, 0))
}

fn says(reason: &str, reloading: bool, seq: u64, port: u16) -> Option<(String, bool, u64, u64)> {
    Some((reason.to_owned(), reloading, seq, port.into()))
}

fn now(disk: &Disk, name: &str) -> Option<String> {
    let files = disk.now.lock().unwrap();
    let mut found = files.iter().filter(|(path, _)| path.file_name().unwrap().to_string_lossy().starts_with(name));
    found.next().map(|(_, text)| String::from_utf8(text.clone()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_status_file_follows_the_bridge_and_is_empty_for_moments() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(config).await;
    assert_eq!(told(&disk), [torn(), says("starting", false, 1, PORT), torn(), says("ready", false, 1, PORT)]);
    stage.unity.reload(RELOAD).await.unwrap();
    assert_eq!(told(&disk), [None, torn(), says("reloading", true, 1, PORT)]);
    within(stage.unity.listening()).await;
    pause(10).await;
    // It counts the starts in one domain.
    assert_eq!(told(&disk), [torn(), says("starting", false, 1, PORT), torn(), says("ready", false, 1, PORT)]);
    stage.unity.down().await.unwrap();
    assert_eq!(told(&disk), [None]);
    stage.unity.up().await.unwrap();
    assert_eq!(told(&disk), [torn(), says("starting", false, 2, PORT), torn(), says("ready", false, 2, PORT)]);
    stage.unity.quit().await.unwrap();
    assert_eq!(told(&disk), [None]);
    assert!(now(&disk, "unity-mcp-port-").is_some(), "the port is kept");
}

#[tokio::test(start_paused = true)]
async fn the_files_have_the_members_of_the_page() {
    let (folder, disk, config) = places();
    let _stage = Stage::with(config).await;
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let data_path = crate::coplay::names::data_path(&root.to_string_lossy());
    let hash = crate::coplay::names::project_hash(&data_path);
    let status = now(&disk, &format!("unity-mcp-status-{}.json", &hash[..8])).unwrap();
    let members: Value = serde_json::from_str(&status).unwrap();
    let names: Vec<&String> = members.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "unity_port",
            "reloading",
            "reason",
            "seq",
            "project_path",
            "project_name",
            "unity_version",
            "last_heartbeat",
            "project_scoped_tools"
        ]
    );
    assert_eq!(members["project_path"], data_path);
    assert_eq!(members["project_name"], root.file_name().unwrap().to_string_lossy().as_ref());
    let beat = members["last_heartbeat"].as_str().unwrap();
    assert!(beat.len() == "2026-11-22T17:36:08.2183401Z".len() && beat.ends_with('Z'), "{beat}");
    for name in [format!("unity-mcp-port-{}.json", &hash[..8]), "unity-mcp-port.json".to_owned()] {
        let text = now(&disk, &name).unwrap();
        let port: Value = serde_json::from_str(&text).unwrap();
        assert!(text.contains("\n  \"unity_port\": 6400,"), "it is indented: {text}");
        assert_eq!(port["project_path"], data_path);
        assert!(port["created_date"].is_string());
    }
}

#[tokio::test(start_paused = true)]
async fn the_main_thread_writes_the_status_each_half_second_and_not_while_it_is_blocked() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(config).await;
    told(&disk);
    pause(1600).await;
    assert_eq!(told(&disk).len(), 6, "three times, each empty first");
    let beat = |disk: &Disk| {
        serde_json::from_str::<Value>(&now(disk, "unity-mcp-status").unwrap()).unwrap()["last_heartbeat"].clone()
    };
    stage.unity.modal(true);
    let old = beat(&disk);
    pause(5000).await;
    assert_eq!((told(&disk), beat(&disk)), (Vec::new(), old.clone()), "it ages");
    stage.unity.modal(false);
    pause(600).await;
    assert_ne!(beat(&disk), old);
}

#[tokio::test(start_paused = true)]
async fn a_crash_leaves_the_status_and_the_next_process_writes_its_own() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(config).await;
    stage.unity.crash().await.unwrap();
    told(&disk);
    pause(5000).await;
    assert_eq!(told(&disk), []);
    assert!(now(&disk, "unity-mcp-status").unwrap().contains(r#""reason":"ready""#));
    stage.unity.up().await.unwrap();
    assert_eq!(told(&disk), [torn(), says("starting", false, 1, PORT), torn(), says("ready", false, 1, PORT)]);
}

#[tokio::test(start_paused = true)]
async fn a_taken_port_is_told_and_the_files_name_the_one_that_was_found() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(config).await;
    stage.unity.reload(RELOAD).await.unwrap();
    told(&disk);
    let _taken = stage.net.bind(PORT).await.unwrap();
    let ready = says("ready", false, 1, PORT + 1);
    within(stage.unity.listening()).await;
    pause(10).await;
    let busy = says("port_busy", true, 1, PORT);
    assert_eq!(told(&disk), [torn(), says("starting", false, 1, PORT), torn(), busy.clone(), torn(), ready]);
    assert!(now(&disk, "unity-mcp-port.json").unwrap().contains("6401"));

    // No port at all.
    stage.unity.reload(RELOAD).await.unwrap();
    let mut all = Vec::new();
    for port in PORT + 1..=PORT + 99 {
        all.push(stage.net.bind(port).await.unwrap());
    }
    let mut events = stage.unity.events();
    event(&mut events, |event| matches!(event, Event::BindFailed { .. })).await;
    let told: Vec<_> =
        told(&disk).into_iter().flatten().map(|(reason, ..)| reason).filter(|reason| !reason.is_empty()).collect();
    assert_eq!(told, ["reloading", "starting", "port_busy", "start_failed", "stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_during_a_reload_removes_the_status() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(config).await;
    stage.unity.reload(RELOAD).await.unwrap();
    stage.unity.down().await.unwrap();
    pause(5000).await;
    assert_eq!((stage.unity.port(), now(&disk, "unity-mcp-status")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn with_a_gateway_to_connect_to_there_are_no_files() {
    let (_folder, disk, config) = places();
    let stage = Stage::with(FakeUnityConfig { package: &HTTP, port: 8080, ..config }).await;
    pause(2000).await;
    stage.reloaded().await;
    assert_eq!(told(&disk), []);
}
