//! Tests of calls: admission, order, results, progress, cancelling, time limits, status.

use super::*;

#[tokio::test]
async fn the_list_has_full_schemas_and_every_annotation() {
    let editor =
        Editor::with(FakeUnityConfig { blocked_tools: vec!["execute-menu-item".to_owned()], ..config() }).await;
    let mut gateway = editor.gateway().await;
    let list = gateway.ask("holdfast/tools", r#"{"includeDevelopmentOnly":true}"#).await["result"].clone();
    let tools = list["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    for tool in tools {
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{tool}");
        }
        assert!(tool["annotations"]["title"].is_string() && tool["inputSchema"]["type"] == "object", "{tool}");
        for flag in ["parallel", "offMainThread", "resumable", "developmentOnly"] {
            assert!(tool[flag].is_boolean(), "{tool}");
        }
    }
    assert_eq!(tool("compile")["resumable"], true);
    assert_eq!(tool("execute-menu-item")["blocked"], "AllowMenuItemExecution is off");
    assert_eq!(tool("compile")["blocked"], Value::Null);
    let logs = &tool("get-logs")["inputSchema"]["properties"]["LogType"];
    assert_eq!((&logs["default"], &logs["enum"][2]), (&"All".into(), &"Error".into()));
    let place = &tool("place")["inputSchema"];
    assert!(place["properties"]["Target"]["oneOf"].is_array() && place["$defs"]["vector"].is_object());
    let short = gateway.ask("holdfast/tools", "{}").await["result"].clone();
    assert_eq!(short["revision"], list["revision"]);
    let is_hidden = |tool: &&Value| tool["developmentOnly"] == true;
    assert_eq!(short["tools"].as_array().unwrap().len(), tools.len() - tools.iter().filter(is_hidden).count());

    gateway.call("1", 1, "swap", "{}").await;
    gateway.note("notifications/tools/list_changed").await;
    let changed = gateway.ask("holdfast/tools", "{}").await["result"]["revision"].clone();
    assert_ne!(changed, list["revision"]);
}

#[tokio::test]
async fn the_conformance_suite_has_its_tools_where_it_is_wanted() {
    let config = FakeUnityConfig { conformance_tools: true, ..config() };
    let editor = Editor::with(config).await;
    let mut gateway = editor.gateway().await;
    let mixed = gateway.call("1", 1, "test_multiple_content_types", "{}").await["result"].clone();
    assert_eq!(mixed["value"], "Multiple content types test:");
    let kinds: Vec<&Value> = mixed["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["image", "resource"]);
    let failed = gateway.call("2", 2, "test_error_handling", "{}").await["result"].clone();
    assert_eq!(failed["isError"], true, "{failed}");
    let list = gateway.ask("holdfast/tools", "{}").await["result"].clone();
    let schema = |tool: &Value| tool["name"] == "json_schema_2020_12_tool" && tool["inputSchema"]["allOf"].is_array();
    assert!(list["tools"].as_array().unwrap().iter().any(schema), "{list}");
}

#[tokio::test]
async fn values_and_content_blocks_come_as_they_are() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    let picture = gateway.call("1", 1, "picture", "{}").await["result"].clone();
    assert_eq!((&picture["isError"], &picture["value"]["Width"]), (&false.into(), &1.into()));
    let block = &picture["content"][0];
    assert_eq!((&block["type"], &block["mimeType"]), (&"image".into(), &"image/png".into()));
    assert!(text(block, "data").starts_with("iVBORw0KGgo"), "a PNG");
    assert_eq!(picture["content"][1]["type"], "text");
    let sound = gateway.call("2", 2, "sound", "{}").await["result"].clone();
    assert_eq!(
        (&sound["content"][0]["type"], &sound["content"][0]["mimeType"]),
        (&"audio".into(), &"audio/wav".into())
    );
    let nested = r#"{"Target":{"InstanceId":7},"At":{"X":1.5,"Y":-2},"Children":[{"Name":"ä"}]}"#;
    let place = gateway.call("3", 3, "place", nested).await["result"].clone();
    assert_eq!(place["value"]["Given"], serde_json::from_str::<Value>(nested).unwrap());
    assert!(place.get("content").is_none());
    let failed = gateway.call("4", 4, "fail", "{}").await["result"].clone();
    assert_eq!((&failed["isError"], &failed["value"]["Success"]), (&true.into(), &false.into()));
    assert_eq!(gateway.outcome("1", 1).await["result"], picture, "what is answered is what the journal says");
}

#[tokio::test]
async fn a_large_result_is_answered_and_not_kept_and_one_that_is_too_large_is_an_error() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    let n = 40 * 1024 * 1024;
    let big = gateway.call("1", 1, "big", &format!(r#"{{"n":{n}}}"#)).await;
    assert_eq!(big["result"]["value"]["Text"].as_str().unwrap().len(), n);
    let kept = gateway.outcome("1", 1).await;
    assert_eq!((&kept["status"], &kept["lost"]), (&"done".into(), &"too_large".into()));
    let larger = gateway.call("2", 2, "big", &format!(r#"{{"n":{}}}"#, 64 * 1024 * 1024)).await;
    assert_eq!(refusal(&larger), ("result_too_large", true));
    assert_eq!(gateway.outcome("2", 2).await["error"], larger["error"]);
}

#[tokio::test]
async fn serial_tools_wait_for_each_other_over_all_connections_and_parallel_ones_run_beside() {
    let editor = Editor::start().await;
    let mut one = editor.gateway_named("one").await;
    let mut two = editor.gateway_named("two").await;
    one.begin("a", 1, "hold", "").await;
    while one.status().await["running"].as_array().unwrap().len() != 1 {}
    two.begin("b", 1, "count", r#","arguments":{"key":"k"}"#).await;
    for call in 0..9 {
        one.begin(&format!("p{call}"), call + 2, "hold-parallel", "").await;
    }
    // Running: eight of the nine parallel calls, and one serial call. The ninth and the other serial call wait.
    let status = loop {
        let status = two.status().await;
        if status["queued"] == 2 {
            break status;
        }
    };
    let running = status["running"].as_array().unwrap();
    assert_eq!(running.len(), 9);
    assert_eq!((&running[0]["callId"], &running[0]["tool"]), (&"a".into(), &"hold".into()));
    let mut reader = editor.gateway_named("three").await;
    reader.begin("c", 1, "echo", r#","arguments":{"text":"beside"}"#).await;
    assert_eq!(editor.unity.runs("k"), 0);
    editor.unity.release();
    assert_eq!(two.answer("b").await["result"]["value"]["Runs"], 1);
    assert_eq!(reader.answer("c").await["result"]["value"]["Echo"], "beside");
    editor.unity.release();
}

#[tokio::test]
async fn a_refused_call_leaves_no_entry_and_a_known_id_runs_once() {
    let editor = Editor::with(FakeUnityConfig { blocked_tools: vec!["echo".to_owned()], ..config() }).await;
    let mut gateway = editor.gateway().await;
    assert_eq!(refusal(&gateway.call("1", 1, "dance", "{}").await), ("unknown_tool", false));
    let blocked = gateway.call("2", 2, "echo", "{}").await;
    assert_eq!(refusal(&blocked), ("security_blocked", false));
    assert_eq!(blocked["error"]["data"]["setting"], "AllowMenuItemExecution");
    // The refused call left no entry, so its id can still be used.
    assert_eq!(gateway.call("1", 3, "count", r#"{"key":"k"}"#).await["result"]["value"]["Runs"], 1);
    assert_eq!(refusal(&gateway.call("1", 4, "count", r#"{"key":"k"}"#).await), ("duplicate_call", false));
    assert_eq!(gateway.outcome("late", 5).await["reason"], "sealed");
    assert_eq!(refusal(&gateway.call("late", 5, "count", r#"{"key":"k"}"#).await), ("sealed", false));
    let wrong = gateway.call("3", 6, "count", r#"{"key":5}"#).await;
    assert_eq!(refusal(&wrong), ("invalid_params", false));
    assert_eq!(wrong["error"]["message"], "key of count must be a text, not 5");
    for (more, what) in [
        (r#","arguments":[]"#, "arguments"),
        (r#","progress":1"#, "progress"),
        (r#","timeoutMs":3600001"#, "timeoutMs"),
    ] {
        gateway.begin("4", 7, "count", more).await;
        let answer = gateway.answer("4").await;
        assert_eq!(refusal(&answer), ("invalid_params", false));
        assert!(text(&answer["error"], "message").starts_with(what), "{answer}");
    }
    gateway.client.send(r#"{"method":"holdfast/call","params":{"callId":"5","seq":8,"tool":"count"}}"#).await;
    assert_eq!(gateway.outcome("5", 8).await["reason"], "sealed", "a call without an id is none");
    assert_eq!(editor.unity.runs("k"), 1);
}

#[tokio::test]
async fn the_bounds_of_what_waits() {
    let editor = Editor::start().await;
    let mut one = editor.gateway_named("one").await;
    for call in 0..257 {
        one.begin(&format!("a{call}"), call + 1, "hold", "").await;
    }
    let answer = one.answer("a256").await;
    assert_eq!(refusal(&answer), ("busy", false));
    let of_connection = "256 calls of this connection wait or run already; try again when some have ended";
    assert_eq!(answer["error"]["message"], of_connection);
    let mut two = editor.gateway_named("two").await;
    for call in 0..256 {
        two.begin(&format!("b{call}"), call + 1, "hold", "").await;
    }
    while two.status().await["queued"] != 511 {}
    let mut three = editor.gateway_named("three").await;
    let answer = three.call("c", 1, "echo", "{}").await;
    assert_eq!(answer["error"]["message"], "512 calls wait or run already; try again when some have ended");
}

#[tokio::test]
async fn arguments_that_wait_are_bounded() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    gateway.begin("0", 1, "hold", "").await;
    let big = format!(r#","arguments":{{"key":"{}"}}"#, "x".repeat(15 * 1024 * 1024));
    for call in 1..=5 {
        gateway.begin(&call.to_string(), call + 1, "count", &big).await;
    }
    let answer = gateway.answer("5").await;
    assert_eq!(answer["error"]["message"], "64 MiB of arguments wait already; try again when some have ended");
}

#[tokio::test]
async fn progress_rises_and_ends_before_the_answer() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "steps", r#","arguments":{"n":4,"ms":110},"progress":true"#).await;
    assert_eq!(gateway.answer("1").await["result"]["value"]["Steps"], 4);
    let reports = std::mem::take(&mut gateway.notes);
    let numbers: Vec<f64> = reports.iter().map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
    assert!(!numbers.is_empty() && numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!((&reports[0]["params"]["callId"], &reports[0]["params"]["total"]), (&"1".into(), &4.0.into()));
    // The tool makes many more steps than reports are sent.
    let begun = tokio::time::Instant::now();
    gateway.begin("2", 2, "steps", r#","arguments":{"n":300,"ms":1},"progress":true"#).await;
    gateway.answer("2").await;
    let most = usize::try_from(begun.elapsed().as_millis() / 100).unwrap() + 1;
    assert!(gateway.notes.len() <= most, "{} reports, at most {most}", gateway.notes.len());
    gateway.notes.clear();
    gateway.call("3", 3, "steps", r#"{"n":2,"ms":110}"#).await;
    assert!(gateway.notes.is_empty(), "not asked for");
}

#[tokio::test]
async fn cancelling_drops_what_waits_and_stops_what_runs() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    gateway.begin("runs", 1, "hold", "").await;
    gateway.begin("waits", 2, "count", r#","arguments":{"key":"k"}"#).await;
    while gateway.status().await["queued"] != 1 {}
    gateway.send("c1", "holdfast/cancel", r#"{"callId":"waits"}"#).await;
    assert_eq!(refusal(&gateway.answer("waits").await), ("cancelled", false));
    assert_eq!(gateway.answer("c1").await["result"]["status"], "notRun");
    assert_eq!(gateway.outcome("waits", 2).await["reason"], "cancelled");
    // Cancelled with a notification, while a dialog blocks the main thread.
    editor.unity.modal(true);
    gateway.client.send(r#"{"method":"holdfast/cancel","params":{"callId":"runs"}}"#).await;
    let cancelled = gateway.answer("runs").await;
    assert_eq!(refusal(&cancelled), ("cancelled", true));
    editor.unity.modal(false);
    assert_eq!(gateway.outcome("runs", 1).await["error"], cancelled["error"]);
    assert_eq!(gateway.cancel("runs").await, "done");
    assert_eq!(gateway.cancel("nobody").await, Value::Null);
    // A tool that does not stop is answered when it ends by itself.
    gateway.begin("stays", 3, "block", r#","arguments":{"ms":50}"#).await;
    gateway.client.send(r#"{"method":"holdfast/cancel","params":{"callId":"stays"}}"#).await;
    let answer = gateway.answer("stays").await;
    let ended = answer["result"]["value"]["BlockedMs"] == 50;
    assert!(ended || refusal(&answer) == ("cancelled", false), "{answer}");
    assert_eq!(editor.unity.runs("k"), 0);
}

#[tokio::test]
async fn a_time_limit_stops_a_tool() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    gateway.begin("1", 1, "hold", r#","timeoutMs":1001"#).await;
    let first = gateway.answer("1").await;
    assert_eq!(refusal(&first), ("timed_out", true));
    assert_eq!(first["error"]["message"], "The tool hold was stopped after 2 seconds");
    gateway.begin("2", 2, "hold", r#","arguments":{"TimeoutSeconds":1}"#).await;
    let second = gateway.answer("2").await;
    assert_eq!(refusal(&second), ("timed_out", true));
    let told = "The tool hold was stopped after 1 seconds; the argument TimeoutSeconds gives it another limit";
    assert_eq!(second["error"]["message"], told);
    assert_eq!(gateway.call("3", 3, "count", r#"{"key":"k"}"#).await["result"]["value"]["Runs"], 1, "its turn is free");
}

#[tokio::test]
async fn status_tells_a_busy_editor_a_dialog_and_an_import_apart() {
    let editor = Editor::start().await;
    let mut gateway = editor.gateway().await;
    let idle = gateway.status().await;
    assert_eq!((&idle["state"], &idle["focused"], &idle["importing"]), (&"ready".into(), &true.into(), &false.into()));
    assert_eq!((&idle["frameAgeMs"], &idle["running"]), (&0.into(), &Value::Array(Vec::new())));
    editor.unity.modal(true);
    let first = tokio::time::Instant::now();
    while gateway.status().await["frameAgeMs"].as_u64().unwrap() < 30 {
        assert!(first.elapsed() < PATIENCE);
    }
    let ping = gateway.ask("ping", r#"{"Message":"x"}"#).await["result"].clone();
    assert_eq!((&ping["Message"], &ping["State"]), (&"Unity MCP Bridge received: x".into(), &"ready".into()));
    assert!(ping["FrameAgeMs"].as_u64().unwrap() >= 30 && ping["Generation"] == 1);
    assert_eq!(gateway.call("1", 1, "off-main", r#"{"text":"y"}"#).await["result"]["value"]["Echo"], "y");
    editor.unity.modal(false);
    editor.unity.import(Duration::from_secs(60));
    assert_eq!(gateway.status().await["importing"], true);
    editor.unity.import(Duration::ZERO);
    editor.unity.focus(false);
    editor.unity.compile_error(true);
    let status = gateway.status().await;
    assert_eq!((&status["importing"], &status["focused"]), (&false.into(), &false.into()));
    assert_eq!(status["compileErrors"], true);
}

#[tokio::test]
async fn states_are_told_and_written() {
    let editor = Editor::with(FakeUnityConfig { compile_reload: Duration::ZERO, ..config() }).await;
    let mut gateway = editor.gateway().await;
    editor.unity.play(true);
    let told = gateway.note("holdfast/state").await;
    assert_eq!((&told["state"], &told["generation"]), (&"playing".into(), &1.into()));
    gateway.begin("1", 1, "compile", r#","arguments":{"AllowInPlayMode":true}"#).await;
    assert_eq!(gateway.note("holdfast/state").await["state"], "compiling");
    assert_eq!(gateway.answer("1").await["result"]["value"]["Success"], true);
    assert_eq!(gateway.note("holdfast/state").await["state"], "ready");
    assert_eq!(editor.instance()["state"], "ready");
}
