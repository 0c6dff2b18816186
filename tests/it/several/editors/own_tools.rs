//! The gateway's own tools, and the limit of the list.

use super::*;
use holdfast::protocol::policy::Toolset;
use holdfast_fake_unity::Package;

#[tokio::test(start_paused = true)]
async fn the_gateway_tools_speak_of_all_editors_or_of_the_one_that_is_named() {
    let config = Config { state_dir: Some(PathBuf::from("/state")), ..Config::default() };
    let mut scene = Scene::with(config, 3, |_, config| config).await;
    let list = scene.caller.list().await;
    let own = ["holdfast_status", "holdfast_wait_ready", "holdfast_calls"];
    assert!(own.iter().all(|tool| argument(&list, tool)["type"] == "string"));
    assert!(argument(&list, "holdfast_editors").is_null() && argument(&list, "holdfast_result").is_null());
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    until("it is gone", || !scene.stage.parts.links.find(&scene.stage.project(1)).unwrap().is_open()).await;
    let told = scene.caller.told("holdfast_editors").await;
    let of = |list: &Value, name: &str| {
        let list = list.as_array().unwrap();
        list.iter().find(|editor| editor["name"] == name).cloned().unwrap_or_else(|| panic!("{name}: {told:#}"))
    };
    let castle = of(&told["editors"], "Castle");
    assert_eq!((&castle["ready"], &castle["own"], &castle["may_use"]), (&json!(true), &json!(false), &json!(true)));
    assert_eq!(castle["project"], scene.stage.project(0).display().to_string());
    assert_eq!(castle["package"]["dialect"], Package::without_a_journal().name);
    assert_eq!(castle["clients"], 2, "its owner and this session");
    assert_eq!(of(&told["closed"], "Forest")["project"], scene.stage.project(1).display().to_string());
    assert_eq!(told["editors"].as_array().unwrap().len(), 2, "{told:#}");

    let status = scene.caller.told("holdfast_status").await;
    assert_eq!((&status["next"], &status["problems"]), (&Value::Null, &json!([])), "{status:#}");
    let summary = status["summary"].as_str().unwrap();
    assert!(summary.contains("`Castle` (ready), `Harbour` (ready)") && summary.contains(ARGUMENT), "{summary}");
    // All is well, and no package is meant.
    let editor = &status["editor"];
    assert_eq!((&editor["tone"], &editor["ready"], &editor["why"]), (&json!("good"), &json!(true), &json!(null)));
    assert_eq!((&editor["state"], &status["package"]), (&json!("ready"), &json!(null)));
    let status: Value =
        serde_json::from_str(&scene.caller.client.ok("holdfast_status", json!({ARGUMENT: "Harbour"})).await).unwrap();
    assert_eq!(status["project"], scene.stage.project(2).display().to_string());
    let id = scene.caller.client.call("holdfast_wait_ready", json!({})).await;
    let (text, error) = scene.caller.client.text(&id).await;
    assert!(error && text.contains("not executed") && text.contains("`Castle` or `Harbour`"), "{text}");
    // They speak of a closed editor too: whether it is there is what they are asked.
    let status: Value =
        serde_json::from_str(&scene.caller.client.ok("holdfast_status", json!({ARGUMENT: "Forest"})).await).unwrap();
    assert_eq!((&status["project"], &status["editor"]["ready"]), (&json!(scene.stage.project(1)), &json!(false)));
    let id = scene.caller.client.call("holdfast_wait_ready", json!({ARGUMENT: "Forest", "timeout_seconds": 1})).await;
    let (text, error) = scene.caller.client.text(&id).await;
    assert!(error && text.starts_with("Not ready after") && text.contains("Forest"), "{text}");
    let ready = scene.caller.client.ok("holdfast_wait_ready", json!({ARGUMENT: "Castle"})).await;
    assert!(ready.starts_with("Ready") && ready.contains("Castle"), "{ready}");
    scene.end().await;
}

/// An editor that no session of this process has met, with its tools in a file.
#[tokio::test(start_paused = true)]
async fn known_projects_whose_editors_are_closed_are_told_of_from_their_files() {
    let state = PathBuf::from("/state");
    let stage = Stage::with(Config { state_dir: Some(state.clone()), ..Config::default() });
    for nth in [1, 2] {
        let file = holdfast::storage::catalogue_file::CatalogueFile::new(
            &stage.project(nth),
            Package::with_a_journal().name,
            Some("1.2.3".into()),
            Vec::new(),
        );
        holdfast::storage::catalogue_file::write(&*stage.host, &state, &file).unwrap();
    }
    std::fs::remove_dir_all(stage.project(2).join("Assets")).unwrap();
    let _unity = stage.editor(0).await;
    let mut caller = stage.named(0).await;
    assert!(!caller.count("ready").await.1);
    let told = caller.told("holdfast_editors").await;
    let closed = told["closed"].as_array().unwrap();
    assert_eq!(closed.len(), 1, "a project that is gone is not told of: {told:#}");
    assert_eq!((&closed[0]["name"], &closed[0]["package"]["version"]), (&json!("Forest"), &json!("1.2.3")));
    assert_eq!(told["editors"][0]["name"], "Castle");
    assert!(caller.client.tools().await.contains(&"holdfast_editors".to_owned()));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_union_keeps_to_the_clients_limit_and_names_the_rest_which_can_be_called_all_the_same() {
    let toolsets = vec![Toolset::parse("all").unwrap()];
    let mut scene =
        Scene::with(Config { toolsets, ..Config::default() }, 2, |_, config| FakeUnityConfig { tools: 200, ..config })
            .await;
    let mut caller = scene.stage.attach(None);
    // This client shows its model at most 128 tools.
    caller.client.open_as("Visual Studio Code", "2025-06-18", json!({})).await;
    let list = caller.list().await;
    let listed = names(&list);
    assert_eq!(listed.len(), 128, "{listed:?}");
    assert_eq!(caller.list().await, list);
    let whole = names(&scene.caller.list().await);
    let rest: Vec<&String> = whole.iter().filter(|name| !listed.contains(name)).collect();
    assert_eq!(rest.len(), whole.len() + 1 - 128, "holdfast_tools is listed where there is a rest");
    let says = tool(&list, "holdfast_tools")["description"].as_str().unwrap();
    assert!(says.contains(rest[0]) && says.contains(&format!("{} tools are not listed", rest.len())), "{says}");
    let told = caller.told("holdfast_editors").await;
    assert_eq!(told["tools_not_listed"], json!(rest));
    caller.client.ok(rest[0], json!({"text": "unlisted", ARGUMENT: "Forest"})).await;
    scene.owners.push(caller);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn tools_of_several_editors_are_found_and_called_in_the_editor_that_the_arguments_name() {
    let mut scene = Scene::with(Config::default(), 2, |_, config| FakeUnityConfig { tools: 80, ..config }).await;
    let first = names(&scene.caller.list().await);
    assert_eq!(first.len(), 40, "{first:?}");
    let before = scene.caller.client.notifications(CHANGED).len();
    let told = scene.caller.client.ok("holdfast_tools", json!({"find": "more-0079"})).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    let schema = &told["tools"][0]["input_schema"];
    assert!(told["tools"][0]["name"] == "more-0079" && schema["properties"][ARGUMENT].is_object(), "{told:#}");
    scene.caller.changes(before + 1).await;
    assert!(names(&scene.caller.list().await).contains(&"more-0079".to_owned()));
    let through = |key: &str, editor: Value| {
        let mut arguments = json!({"key": key});
        if editor.is_string() {
            arguments[ARGUMENT] = editor;
        }
        json!({"call": "count", "arguments": arguments})
    };
    let id = scene.caller.client.call("holdfast_tools", through("unnamed", Value::Null)).await;
    refused(&scene.caller.client.text(&id).await, &["several Unity projects fit"]);
    scene.caller.client.ok("holdfast_tools", through("named", json!("Forest"))).await;
    let by_meta =
        json!({"name": "holdfast_tools", "arguments": through("meta", Value::Null), "_meta": {META: "Castle"}});
    let id = scene.caller.client.request("tools/call", by_meta).await;
    assert!(!scene.caller.client.text(&id).await.1);
    assert_eq!((scene.runs("unnamed"), scene.runs("named"), scene.runs("meta")), (vec![0, 0], vec![0, 1], vec![1, 0]));
    scene.end().await;
}

/// The answer of a call that was sent comes late: its id leads to it, whatever editor it ran in.
#[tokio::test(start_paused = true)]
async fn a_late_result_is_found_in_whatever_editor_it_ran() {
    let config = Config { patience: Some(Duration::from_secs(10)), ..Config::default() };
    let mut scene = Scene::with(config, 2, |_, config| config).await;
    let id = scene.caller.client.call("hold", json!({ARGUMENT: "Forest"})).await;
    let (text, _) = scene.caller.client.text(&id).await;
    assert!(text.starts_with("Still running"), "{text}");
    let call = text.split('"').find_map(holdfast::protocol::ids::CallId::parse).unwrap().to_string();
    scene.editors[1].release();
    let link = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
    until("it ended", || link.calls.ledger(|ledger, _| ledger.counts()) == (0, 0)).await;
    let kept = scene.caller.client.ok("holdfast_result", json!({"call_id": call})).await;
    assert!(kept.contains("Released"), "{kept}");
    // A session that is bound to the other project does not get it.
    let id = scene.owners[0].client.call("holdfast_result", json!({"call_id": call})).await;
    assert!(scene.owners[0].client.text(&id).await.0.contains("on record"));
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn resources_and_prompts_speak_of_all_editors_or_of_the_one_that_the_address_names() {
    let mut scene = Scene::new(2).await;
    scene.caller.list().await;
    let ask = async |caller: &mut Caller, method: &str, params: Value| {
        let id = caller.client.request(method, params).await;
        caller.client.answer(&id).await.value
    };
    let read = async |caller: &mut Caller, uri: &str| {
        let answer = ask(caller, "resources/read", json!({"uri": uri})).await;
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {answer}"));
        serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let list = ask(&mut scene.caller, "resources/list", json!({})).await;
    let listed = list["result"]["resources"].as_array().unwrap().iter();
    let listed: Vec<&str> = listed.map(|resource| resource["uri"].as_str().unwrap()).collect();
    let of =
        |name: &str| [format!("holdfast://compile-errors?editor={name}"), format!("holdfast://console?editor={name}")];
    let mut expected: Vec<String> = ["status", "editors", "calls"].map(|own| format!("holdfast://{own}")).into();
    expected.extend(of("Castle").into_iter().chain(of("Forest")));
    assert_eq!(listed, expected);

    assert!(
        read(&mut scene.caller, "holdfast://status").await["summary"].as_str().unwrap().contains("`Castle` (ready)")
    );
    let status = read(&mut scene.caller, "holdfast://status?editor=Forest").await;
    assert_eq!(status["project"], scene.stage.project(1).display().to_string());
    assert_eq!(read(&mut scene.caller, "holdfast://editors").await["editors"][1]["name"], "Forest");
    // What the owner of an editor had compiled is known of that editor, and of no other.
    scene.editors[1].compile_error(true);
    let id = scene.owners[1].client.call("compile", json!({})).await;
    assert!(scene.owners[1].client.text(&id).await.1);
    let seen = read(&mut scene.caller, "holdfast://compile-errors").await;
    let seen: Vec<_> = seen["editors"].as_array().unwrap().iter().map(|of| (&of["editor"], &of["seen"])).collect();
    assert_eq!(seen, [(&json!("Castle"), &json!(false)), (&json!("Forest"), &json!(true))]);
    assert_eq!(read(&mut scene.caller, "holdfast://compile-errors?editor=Forest").await["error_count"], 1);
    // The console is that of the editor that is named, and of nobody if none is.
    assert!(read(&mut scene.caller, "holdfast://console?editor=Castle").await["Logs"].is_array());
    let calls = scene.caller.told("holdfast_calls").await;
    assert_eq!((&calls["calls"][0]["tool"], &calls["calls"][0]["editor"]), (&json!("get-logs"), &json!("Castle")));
    for (uri, says) in [
        ("holdfast://console", "never guesses"),
        ("holdfast://console?editor=Nowhere", "no Unity Editor is known"),
        ("holdfast://status?editor=Nowhere", "no Unity Editor is known"),
    ] {
        let answer = ask(&mut scene.caller, "resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32603, "{uri}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{uri}: {answer}");
    }
    let fix = ask(&mut scene.caller, "prompts/get", json!({"name": "fix-compile-errors"})).await;
    let fix = fix["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(fix.contains("Call `compile`.") && fix.contains("`Castle` or `Forest`"), "{fix}");
    // A session with one editor names none.
    let list = ask(&mut scene.owners[0], "resources/list", json!({})).await;
    assert!(list.to_string().contains("\"holdfast://console\"") && !list.to_string().contains("?editor="), "{list}");
    assert!(read(&mut scene.owners[0], "holdfast://console").await["Logs"].is_array());
    let answer = ask(&mut scene.owners[0], "resources/read", json!({"uri": "holdfast://console?editor=Forest"})).await;
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("is not the Unity project that this session works in")
    );
    scene.end().await;
}

/// Only one of the two editors has a package whose own server has resources.
#[tokio::test(start_paused = true)]
async fn a_resource_of_a_packages_server_is_read_in_the_editor_that_the_address_names() {
    let package = Package::that(|facts| facts.resource.is_some());
    let change = |nth, config: FakeUnityConfig| match nth {
        0 => FakeUnityConfig { package, ..config },
        _ => config,
    };
    let mut scene = Scene::with(Config::default(), 2, change).await;
    scene.caller.list().await;
    let ask = async |caller: &mut Caller, method: &str, params: Value| {
        let id = caller.client.request(method, params).await;
        caller.client.answer(&id).await.value
    };
    let uri = package.facts.resource.unwrap();
    let list = ask(&mut scene.caller, "resources/list", json!({})).await.to_string();
    assert!(
        list.contains(&format!("{uri}?editor=Castle\"")) && !list.contains(&format!("{uri}?editor=Forest")),
        "{list}"
    );
    let templates = ask(&mut scene.caller, "resources/templates/list", json!({})).await;
    for template in templates["result"]["resourceTemplates"].as_array().unwrap() {
        assert!(template["uriTemplate"].as_str().unwrap().ends_with("?editor=Castle"), "{template}");
    }
    let of_editor = format!("{uri}?editor=Castle");
    let read = ask(&mut scene.caller, "resources/read", json!({"uri": of_editor})).await;
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("\"success\":true"), "{read}");
    for (uri, code, says) in [
        (uri.to_owned(), -32603, "never guesses"),
        (format!("{uri}?editor=Forest"), -32002, "has no such resource"),
        (format!("{uri}?editor=Nowhere"), -32603, "no Unity Editor is known"),
    ] {
        let answer = ask(&mut scene.caller, "resources/read", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
    }
    // A session with one editor names none.
    let list = ask(&mut scene.owners[0], "resources/list", json!({})).await.to_string();
    assert!(list.contains(&format!("\"{uri}\"")), "{list}");
    let list = ask(&mut scene.owners[1], "resources/list", json!({})).await.to_string();
    assert!(!list.contains(uri), "{list}");
    scene.end().await;
}
