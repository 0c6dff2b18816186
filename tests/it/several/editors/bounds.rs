//! Which editors a session may use at all, and whose rules and records are those of a call.

use super::*;

/// No other session works in these projects: the session connects to their editors itself.
#[tokio::test(start_paused = true)]
async fn roots_with_several_projects_lead_to_their_running_editors_and_to_no_other() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await, stage.editor(2).await];
    let mut owner = stage.named(2).await;
    assert!(!owner.count("ready").await.1);
    let began = tokio::time::Instant::now();
    let mut caller = stage.attach(None);
    // This client ignores changes: its first list must be complete.
    caller.client.open_as(UNKNOWN, "2025-06-18", json!({"roots": {}})).await;
    let id = caller.client.request("tools/list", json!({})).await;
    stage.answer_roots(&mut caller, 0, &[stage.project(0), stage.project(1)]).await;
    let list = caller.client.result(&id).await;
    assert!(began.elapsed() < TOOLS_WAIT, "it did not wait in vain: {:?}", began.elapsed());
    let says = argument(&list, "count")["description"].as_str().unwrap();
    assert!(says.contains("`Castle` or `Forest`") && !says.contains("Harbour"), "{says}");
    assert!(!caller.count_in("Castle", "a").await.1);
    assert!(!caller.count_in("Forest", "b").await.1);
    refused(
        &caller.count_in("Harbour", "c").await,
        &["`Harbour` is not the Unity project that this session works in", "the user decides"],
    );
    refused(&caller.count("d").await, &["several Unity projects fit", "`Castle` or `Forest`"]);
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!(["a", "b", "c", "d"].map(runs), [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]);
    assert!(stage.parts.links.all().len() <= 3 + 2 + EDITORS_SOUGHT_MAX);
    for caller in [caller, owner] {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_with_a_project_of_its_own_is_not_led_out_of_it() {
    let mut scene = Scene::new(2).await;
    let mut rooted = scene.stage.rooted_in(&[scene.stage.project(0)]).await;
    for caller in [&mut scene.owners[0], &mut rooted] {
        assert!(!caller.count("own").await.1);
        assert!(!caller.count_in("Castle", "own").await.1, "its own name does no harm");
        let told = caller.count_in("Forest", "other").await;
        refused(&told, &["`Forest` is not the Unity project that this session works in; that is `Castle`"]);
        refused(
            &caller.by_meta("count", json!({"key": "other"}), "Forest").await,
            &["`Forest` is not the Unity project"],
        );
        let told = caller.told("holdfast_editors").await;
        let of = |name: &str, member: &str| {
            let editors = told["editors"].as_array().unwrap();
            editors.iter().find(|editor| editor["name"] == name).unwrap()[member].clone()
        };
        assert_eq!((of("Castle", "own"), of("Castle", "may_use")), (json!(true), json!(true)), "{told:#}");
        assert_eq!((of("Forest", "own"), of("Forest", "may_use")), (json!(false), json!(false)), "{told:#}");
        // The session that says nothing may use both.
        assert_eq!((of("Castle", "clients"), of("Forest", "clients")), (json!(3), json!(2)), "{told:#}");
    }
    assert_eq!((scene.runs("own"), scene.runs("other")), (vec![4, 0], vec![0, 0]));
    scene.owners.push(rooted);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_project_are_editors_of_their_own_and_a_folder_twice_needs_more_of_its_path() {
    let stage = Stage::new();
    let root = dunce::canonicalize(stage.folder.path()).unwrap();
    let castle = root.join("Castle");
    let places = [
        castle.clone(),
        root.join("Castle_clone_0"),
        castle.join("Library").join("VP").join("mppm1a2b"),
        root.join("demos").join("Castle"),
    ];
    let mut editors = Vec::new();
    let mut owners = Vec::new();
    for (nth, place) in places.iter().enumerate() {
        for part in ["Assets", "ProjectSettings"] {
            std::fs::create_dir_all(place.join(part)).unwrap();
        }
        let port = 8711 + u16::try_from(nth).unwrap();
        editors.push(stage.editor_at(place.clone(), port, |config| config).await);
        let mut owner = stage.attach_to(place.clone());
        owner.client.open().await;
        assert!(!owner.count("ready").await.1, "{}", place.display());
        owners.push(owner);
        stage.live(place).await;
    }
    let mut caller = stage.attach(None);
    caller.client.open_async().await;
    let list = caller.list().await;
    let says = argument(&list, "count")["description"].as_str().unwrap().to_owned();
    let parent = root.file_name().unwrap().to_str().unwrap();
    let all = [format!("{parent}/Castle"), "Castle_clone_0".into(), "mppm1a2b".into(), "demos/Castle".into()];
    for name in &all {
        assert!(says.contains(&format!("`{name}`")), "{name} is not in {says}");
    }
    for (nth, name) in all.iter().enumerate() {
        let (text, error) = caller.count_in(name.as_str(), name).await;
        assert!(!error, "{text}");
        let runs: Vec<u64> = editors.iter().map(|editor| editor.runs(name)).collect();
        assert_eq!(runs, (0..4).map(|other| u64::from(other == nth)).collect::<Vec<_>>(), "{name}");
    }
    refused(&caller.count_in("Castle", "which").await, &["fits several", "`demos/Castle`", &format!("`{}`", all[0])]);
    // One of the two closes. Its name must not come to mean the other one.
    stage.host.set_process(8714, Liveness::Dead);
    editors[3].quit().await.unwrap();
    until("it is gone", || !stage.parts.links.find(&places[3]).unwrap().is_open()).await;
    refused(&caller.count_in("demos/Castle", "which").await, &["`demos/Castle` is closed"]);
    refused(&caller.count_in("Castle", "which").await, &["fits several"]);
    assert!(!caller.count_in(all[0].as_str(), "first").await.1);
    assert!(editors.iter().all(|editor| editor.runs("which") == 0));
    for caller in owners.into_iter().chain([caller]) {
        assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    }
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_one_project_denies_binds_only_its_editor() {
    let stage = Stage::new();
    stage.deny(0, &["count"]);
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    for nth in [0, 1] {
        caller.list().await;
        stage.live(&stage.project(nth)).await;
    }
    let told = caller.count_in("Castle", "denied").await;
    refused(&told, &["count", "user's decision"]);
    let (text, error) = caller.count_in("Forest", "allowed").await;
    assert!(!error, "{text}");
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("denied"), runs("allowed")), ([0, 0], [0, 1]));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

/// The record names the project of each call, as it does in a session with one editor.
#[tokio::test(start_paused = true)]
async fn the_audit_names_the_project_of_the_editor_that_ran_the_call() {
    let audit = PathBuf::from("/audit.jsonl");
    let mut scene =
        Scene::with(Config { audit: Some(audit.clone()), ..Config::default() }, 2, |_, config| config).await;
    assert!(!scene.caller.count_in("Castle", "a").await.1);
    assert!(!scene.caller.count_in("Forest", "b").await.1);
    refused(&scene.caller.count("c").await, &["several Unity projects fit"]);
    let (stage, session) = (&scene.stage, "claude-code");
    let lines = || {
        let text = String::from_utf8(stage.host.read(&audit, usize::MAX).unwrap_or_default()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line.to_string().contains(session)).collect::<Vec<_>>()
    };
    until("every line is written", || lines().len() == 5).await;
    let of = |event: &str| {
        let lines = lines().into_iter().filter(|line| line["event"] == event);
        lines.map(|line| line["project"].clone()).collect::<Vec<_>>()
    };
    let projects = [0, 1].map(|nth| json!(stage.project(nth)));
    assert_eq!((of("sent"), of("verdict")), (projects.to_vec(), projects.to_vec()), "{:#?}", lines());
    assert_eq!(of("refused"), [json!(null)], "no editor got it");
    scene.end().await;
}
