//! What the tools and the other commands answer.

use super::*;

#[tokio::test(start_paused = true)]
async fn tool_states_name_every_tool_from_9_5_on() {
    let blocked = FakeUnityConfig { blocked_tools: vec!["manage_ui".to_owned()], ..config() };
    let stage = Stage::with(blocked).await;
    let data = stage.result("get_tool_states", json!({})).await["data"].clone();
    let tool = |name: &str| data["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    let scene = tool("manage_scene");
    assert_eq!(
        (&scene["is_built_in"], &scene["enabled"], &scene["group"]),
        (&json!(true), &json!(true), &json!("core"))
    );
    assert_eq!(scene["parameters"], json!([]));
    assert_eq!(tool("manage_ui")["enabled"], false);
    let long = tool("long_job");
    assert_eq!((&long["is_built_in"], &long["requires_polling"]), (&json!(false), &json!(true)));
    assert_eq!((&long["poll_action"], &long["max_poll_seconds"]), (&json!("status"), &json!(60)));
    assert_eq!(long["parameters"][0]["type"], "integer");
    assert_eq!(data["groups"].as_array().unwrap().len(), 10);
    stage.unity.add_tool("later").unwrap();
    assert_eq!(stage.unity.stats().list_requests, 1);
    let more = stage.result("get_tool_states", json!({})).await["data"]["tools"].as_array().unwrap().len();
    assert_eq!(more, data["tools"].as_array().unwrap().len() + 1);

    let stage = Stage::with(version("8.0.0")).await;
    let refused = stage.ask("get_tool_states", json!({})).await;
    assert_eq!(refused["error"], "Unknown or unsupported command type: get_tool_states");
}

#[tokio::test(start_paused = true)]
async fn every_built_in_tool_and_resource_answers() {
    let stage = Stage::with(FakeUnityConfig { test_tools: false, compile_reload: Duration::ZERO, ..config() }).await;
    let names: Vec<String> = stage.result("get_tool_states", json!({})).await["data"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 36);
    for name in names.iter().map(String::as_str).chain(super::super::resources::NAMES) {
        // A test run keeps others away.
        pause(60).await;
        let answer = stage.result(name, json!({"action": "get_active", "name": "A"})).await;
        assert!(answer["success"].is_boolean(), "{name}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_reads_tells_of_the_scene_and_can_be_switched_off() {
    let stage = Stage::with(FakeUnityConfig { blocked_tools: vec!["get_tags".to_owned()], ..config() }).await;
    let camera = json!({"instanceID": 1, "pageSize": 1, "componentName": "Camera"});
    let object = stage.result("get_gameobject", camera.clone()).await["data"].clone();
    assert_eq!((&object["name"], &object["componentTypes"][1]), (&json!("Main Camera"), &json!("UnityEngine.Camera")));
    let components = stage.result("get_gameobject_components", camera.clone()).await["data"].clone();
    assert_eq!((components["components"].as_array().unwrap().len(), &components["totalCount"]), (1, &json!(2)));
    let component = stage.result("get_gameobject_component", camera).await["data"]["component"].clone();
    assert_eq!(component["typeName"], "UnityEngine.Camera");
    let items = stage.result("get_menu_items", json!({"search": "Create"})).await["data"].clone();
    assert_eq!(items, json!(["GameObject/Create Empty"]));
    let tests = stage.result("get_tests_for_mode", json!({"mode": "EditMode"})).await["data"].clone();
    assert_eq!((&tests["totalCount"], &tests["items"][0]["mode"]), (&json!(1), &json!("EditMode")));
    for (name, params) in [
        ("get_gameobject", json!({})),
        ("get_gameobject", json!({"instanceID": 2})),
        ("get_gameobject_component", json!({"instanceID": 1, "componentName": "Light"})),
        ("get_tests_for_mode", json!({"mode": "edit"})),
    ] {
        assert_eq!(stage.result(name, params).await["success"], false, "{name}");
    }
    let refused = stage.ask("get_tags", json!({})).await;
    assert_eq!(refused["error"], "Resource 'get_tags' is disabled in the Unity Editor.");
    assert!((PACKAGE.wire.is_unrun)(&refused));
}

#[tokio::test(start_paused = true)]
async fn a_compilation_ends_in_a_reload_that_cuts_its_answer() {
    let stage = Stage::with(config()).await;
    let compile = json!({"compile": "request", "wait_for_ready": true});
    let mut peer = stage.client().await;
    peer.send("refresh_unity", compile.clone()).await;
    assert_eq!(peer.next().await, None);
    within(stage.unity.listening()).await;
    assert_eq!((stage.unity.stats().compiles, stage.unity.stats().domain), (1, 2));

    // Scripts that do not compile end in no reload.
    stage.unity.compile_error(true);
    let answer = stage.result("refresh_unity", compile.clone()).await;
    assert_eq!(answer["success"], true);
    let errors = stage.result("read_console", json!({"action": "get"})).await;
    assert!(errors["data"][0]["message"].as_str().unwrap().contains("CS0246"));
    assert_eq!(stage.unity.stats().domain, 2);
    stage.unity.compile_error(false);
    // Who does not wait is answered at once.
    let mut peer = stage.client().await;
    let phase = async |peer: &mut Peer| {
        peer.ask("get_editor_state", json!({})).await["result"]["data"]["activity"]["phase"].clone()
    };
    assert_eq!(peer.ask("refresh_unity", json!({"compile": "request"})).await["result"]["success"], true);
    assert_eq!(phase(&mut peer).await, "compiling");
    assert_eq!(peer.next().await, None);
    within(stage.unity.listening()).await;
    assert_eq!((phase(&mut stage.client().await).await, stage.unity.stats().domain), (json!("idle"), 3));

    let gap = Duration::from_millis(20);
    let stage = Stage::with(FakeUnityConfig { compile_gap: gap, ..config() }).await;
    let mut peer = stage.client().await;
    assert_eq!(peer.ask("refresh_unity", compile).await["result"]["success"], true);
    assert_eq!(peer.next().await, None, "the reload comes behind the answer");
}

#[tokio::test(start_paused = true)]
async fn while_tests_run_a_second_run_and_a_refresh_are_refused() {
    let stage = Stage::with(FakeUnityConfig { compile_time: Duration::from_secs(5), ..config() }).await;
    let mut peer = stage.client().await;
    let job = peer.ask("run_tests", json!({"mode": "PlayMode"})).await["result"]["data"]["job_id"].clone();
    for name in ["run_tests", "refresh_unity"] {
        peer.send(name, json!({})).await;
        assert_eq!(
            peer.text().await,
            r#"{"status":"success","result":{"success":false,"code":"tests_running","error":"tests_running","data":{"reason":"tests_running","retry_after_ms":5000}}}"#
        );
    }
    let state = peer.ask("get_editor_state", json!({})).await["result"]["data"].clone();
    assert_eq!((&state["activity"]["phase"], &state["tests"]["current_job_id"]), (&json!("running_tests"), &job));
    let ask = json!({"job_id": job});
    assert_eq!(peer.ask("get_test_job", ask.clone()).await["result"]["data"]["status"], "running");
    pause(5000).await;
    let ended = peer.ask("get_test_job", ask.clone()).await["result"]["data"].clone();
    assert_eq!((&ended["status"], &ended["result"]["summary"]["passed"]), (&json!("succeeded"), &json!(3)));
    // A reload keeps the job, and not its result. Another process has no job.
    stage.reloaded().await;
    let kept = stage.result("get_test_job", ask.clone()).await["data"].clone();
    assert_eq!((&kept["status"], &kept["result"]), (&json!("succeeded"), &Value::Null));
    stage.unity.crash().await.unwrap();
    stage.unity.up().await.unwrap();
    assert_eq!(stage.result("get_test_job", ask).await["success"], false);
    // One that is stuck can be cleared.
    stage.result("run_tests", json!({})).await;
    stage.result("run_tests", json!({"clear_stuck": true})).await;
    assert_eq!(stage.result("run_tests", json!({})).await["success"], true);
}

#[tokio::test(start_paused = true)]
async fn pending_work_is_asked_for_until_it_has_ended() {
    let stage = Stage::with(FakeUnityConfig { compile_time: Duration::from_secs(5), ..config() }).await;
    let mut peer = stage.client().await;
    peer.send("long_job", json!({"ms": 700})).await;
    let text = peer.text().await;
    let begins =
        r#"{"status":"success","result":{"success":true,"_mcp_status":"pending","_mcp_poll_interval":0.5,"message":"#;
    assert!(text.starts_with(begins), "{text}");
    let status = json!({"action": "status", "ms": 700});
    assert_eq!(peer.ask("long_job", status.clone()).await["result"]["_mcp_status"], "pending");
    pause(700).await;
    let ended = peer.ask("long_job", status).await["result"].clone();
    assert_eq!((&ended["success"], ended.get("_mcp_status")), (&json!(true), None));

    // A build blocks the main thread, and a reload forgets it.
    let build = peer.ask("manage_build", json!({"action": "build"})).await["result"].clone();
    assert_eq!(build["_mcp_status"], "pending");
    let ask = json!({"action": "status", "job_id": build["data"]["job_id"]});
    pause(10).await;
    peer.send("manage_build", ask.clone()).await;
    assert!(peer.is_silent(4000).await);
    assert_eq!(peer.json().await["result"]["data"]["status"], "succeeded");
    stage.reloaded().await;
    assert_eq!(stage.result("manage_build", ask).await["success"], false);

    // The reload belongs to the installation.
    let package = stage.result("manage_packages", json!({"action": "add_package"})).await;
    let ask = json!({"action": "status", "job_id": package["data"]["job_id"]});
    assert_eq!(stage.result("manage_packages", ask.clone()).await["_mcp_status"], "pending");
    until(&stage.unity, |stats| stats.domain == 3).await;
    assert_eq!(stage.result("manage_packages", ask).await["data"]["status"], "succeeded");
}

#[tokio::test(start_paused = true)]
async fn the_state_is_looked_at_again_only_when_something_changed() {
    let (_folder, _disk, config) = places();
    let stage = Stage::with(config).await;
    let state = async || stage.result("get_editor_state", json!({})).await["data"].clone();
    let first = state().await;
    assert_eq!(first["schema_version"], "unity-mcp/editor_state@2");
    assert_eq!((&first["activity"]["phase"], &first["compilation"]["is_compiling"]), (&json!("idle"), &json!(false)));
    pause(5000).await;
    assert_eq!(state().await, first, "it ages");
    stage.result("manage_editor", json!({"action": "play"})).await;
    let playing = state().await;
    assert_eq!(playing["editor"]["play_mode"]["is_playing"], true);
    let at = |state: &Value| state["observed_at_unix_ms"].as_u64().unwrap();
    assert!(at(&playing) >= at(&first) + 5000);
    stage.unity.focus(false);
    pause(1000).await;
    let unfocused = state().await;
    pause(1000).await;
    assert!(at(&state().await) > at(&unfocused), "without focus it is looked at each time");
    let info = stage.result("get_project_info", json!({})).await["data"].clone();
    assert_eq!(info["assetsPath"], format!("{}/Assets", info["projectRoot"].as_str().unwrap()));
    assert_eq!(stage.result("manage_scene", json!({"action": "get_active"})).await["data"]["name"], "SampleScene");
}

#[tokio::test(start_paused = true)]
async fn a_text_edit_wants_the_hash_of_what_it_changes() {
    let stage = Stage::with(config()).await;
    let mut peer = stage.client().await;
    let mut script = async |action: &str, more: Value| {
        let mut params = json!({"action": action, "name": "Castle", "path": "Assets/Scripts"});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        peer.ask("manage_script", params).await["result"].clone()
    };
    assert_eq!(script("read", json!({})).await["success"], false);
    let made = script("create", json!({"contents": "class Castle\n{\n}\n"})).await;
    assert_eq!(made["data"]["path"], "Assets/Scripts/Castle.cs");
    assert_eq!(script("create", json!({})).await["success"], false);
    let sha = script("get_sha", json!({})).await["data"]["sha256"].clone();
    let edits = json!([
        {"startLine": 3, "startCol": 1, "endLine": 3, "endCol": 2, "newText": "    int ä;\n}"},
        {"startLine": 1, "startCol": 7, "endLine": 1, "endCol": 13, "newText": "Keep"},
    ]);
    let refused = script("apply_text_edits", json!({"edits": edits})).await;
    assert_eq!((&refused["code"], &refused["data"]["current_sha256"]), (&json!("precondition_required"), &sha));
    let edit = json!({"edits": edits, "precondition_sha256": sha});
    let applied = script("apply_text_edits", edit.clone()).await["data"].clone();
    assert_eq!((&applied["editsApplied"], &applied["scheduledRefresh"]), (&json!(2), &json!(true)));
    let read = script("read", json!({})).await["data"].clone();
    assert_eq!(
        (&read["contents"], &read["contentsEncoded"]),
        (&json!("class Keep\n{\n    int ä;\n}\n"), &json!(false))
    );
    // A repeat can only say that the file is another one.
    let repeated = script("apply_text_edits", edit).await;
    assert_eq!((&repeated["code"], &repeated["data"]["current_sha256"]), (&json!("stale_file"), &applied["sha256"]));
    for [line, column] in [[9, 1], [1, 99], [0, 1]] {
        let edits = json!([{"startLine": line, "startCol": column, "endLine": line, "endCol": column, "newText": "x"}]);
        let wrong = json!({"edits": edits, "precondition_sha256": applied["sha256"]});
        assert_eq!(script("apply_text_edits", wrong).await["code"], "out_of_range", "{line} {column}");
    }
    let none = json!({"edits": [], "precondition_sha256": applied["sha256"]});
    assert_eq!(script("apply_text_edits", none).await["data"]["no_op"], true);
    script("update", json!({"contents": "x".repeat(10_001)})).await;
    assert_eq!(script("read", json!({})).await["data"]["contentsEncoded"], true);
    script("delete", json!({})).await;
    assert_eq!(script("get_sha", json!({})).await["success"], false);
}
