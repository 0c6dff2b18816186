//! Tests of the simulated package com.unity.pipeline, as its protocol page tells of it.

use std::path::Path;

use serde_json::json;

use super::server::WAIT;
use super::{DESCRIPTOR, PACKAGE, exec};
use crate::tests::*;

const RELOAD: Duration = Duration::from_millis(30);

/// An editor with a project of its own.
struct Stage {
    unity: FakeUnity,
    folder: tempfile::TempDir,
}

/// What an editor answered.
struct Answer {
    status: u16,
    head: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    fn error(&self) -> (u16, String) {
        (self.status, self.json()["error"].as_str().unwrap_or_default().to_owned())
    }

    fn result(&self) -> Value {
        let said = self.json();
        assert_eq!((self.status, &said["success"]), (200, &json!(true)), "{said}");
        said["result"].clone()
    }
}

/// Reads a JSON file that may be half written.
async fn read(path: &Path) -> Value {
    within(async {
        loop {
            if let Some(said) = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                return said;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

/// Sends bytes on a new connection; returns what came until its end.
async fn exchange(port: u16, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    let _ = within(stream.read_to_end(&mut bytes)).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), text: body.to_owned() }
}

fn request(line: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

impl Stage {
    async fn with(version: &str, config: FakeUnityConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = FakeUnityConfig {
            package: &PACKAGE,
            package_version: version.parse().unwrap(),
            project: Some(folder.path().to_path_buf()),
            compile_time: Duration::from_millis(5),
            compile_reload: RELOAD,
            ..config
        };
        Self { unity: start(config).await, folder }
    }

    async fn of(version: &str) -> Self {
        Self::with(version, config()).await
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    async fn descriptor(&self) -> Value {
        read(&self.path(DESCRIPTOR)).await
    }

    async fn send(&self, line: &str, body: &str) -> Answer {
        let said = self.descriptor().await;
        let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
        let token = said["evalToken"].as_str().unwrap().to_owned();
        let headers = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n");
        exchange(port, &request(line, &headers, body)).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), "").await
    }

    async fn exec(&self, body: Value) -> Answer {
        self.send("POST /api/exec", &body.to_string()).await
    }

    /// Runs a command without parameters.
    async fn run(&self, command: &str) -> Value {
        self.exec(json!({"command": command})).await.result()
    }

    /// Makes a job of a command; returns its id.
    async fn job(&self, command: &str, parameters: Value) -> String {
        let made = self.exec(json!({"command": command, "parameters": parameters, "job": true})).await.result();
        assert_eq!(made["state"], "queued");
        made["jobId"].as_str().unwrap().to_owned()
    }

    /// Asks for a job until it is in this state.
    async fn is(&self, id: &str, state: &str) -> Value {
        within(async {
            loop {
                let said = self.get(&format!("/api/job?id={id}")).await.json();
                if said["state"] == state {
                    return said;
                }
            }
        })
        .await
    }

    /// Waits until a status file says this.
    async fn file(&self, name: &str, status: &str) -> Value {
        within(async {
            loop {
                let said = read(&self.path(&format!("Temp/pipeline_{name}.json"))).await;
                if said["status"] == status {
                    return said;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
    }

    async fn reload(&self) {
        within(self.unity.reload(Duration::ZERO)).await.unwrap();
        within(self.unity.listening()).await;
    }
}

#[tokio::test]
async fn the_descriptor_says_where_and_stays_where_nothing_listens_any_more() {
    let stage = Stage::of("0.8.0").await;
    let first = stage.descriptor().await;
    assert_eq!((first["mode"].as_str(), first["capabilities"][1].as_str()), (Some("editor"), Some("exec.commandLine")));
    assert_eq!(first["projectPath"].as_str().map(Path::new), Some(&*dunce::canonicalize(stage.folder.path()).unwrap()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(stage.path(DESCRIPTOR)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let epoch = |said: &Value| said["startedAt"].as_str().unwrap().to_owned();
    let listed = stage.get("/api/commands").await.json();
    assert_eq!(listed["server"]["startTime"], first["startedAt"]);
    assert_eq!(listed["server"]["version"], "0.0.1");

    stage.reload().await;
    let second = stage.descriptor().await;
    assert_eq!(second["evalToken"], first["evalToken"], "the token outlives a reload");
    assert_ne!(epoch(&second), epoch(&first));

    // Another editor writes its own; a status request brings this one's back.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let mut other = second.clone();
    other["pid"] = 1.into();
    std::fs::write(stage.path(DESCRIPTOR), other.to_string()).unwrap();
    assert_eq!(stage.get("/api/status").await.json()["status"], "ready");
    assert_eq!(stage.descriptor().await["pid"], second["pid"]);

    stage.unity.crash().await.unwrap();
    assert_eq!(stage.descriptor().await["startedAt"], second["startedAt"], "a crash leaves it");
    stage.unity.up().await.unwrap();
    let third = stage.descriptor().await;
    assert_ne!(third["evalToken"], first["evalToken"]);
    stage.unity.quit().await.unwrap();
    assert!(!stage.path(DESCRIPTOR).exists());
}

#[tokio::test]
async fn a_new_token_reaches_the_file_with_the_next_status_request() {
    let stage = Stage::of("0.8.0").await;
    let old = stage.descriptor().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    stage.unity.push("rotate-token").await.unwrap();
    assert_eq!(stage.get("/api/status").await.error(), (401, "Unauthorized".to_owned()));
    assert_eq!(stage.descriptor().await["evalToken"], old["evalToken"]);
}

#[tokio::test]
async fn each_request_is_checked_before_it_is_routed() {
    for (version, is_old) in [("0.4.0", true), ("0.8.0", false)] {
        let stage = Stage::of(version).await;
        let said = stage.descriptor().await;
        let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
        let bearer = format!("Authorization: Bearer {}\r\n", said["evalToken"].as_str().unwrap());
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        let ask =
            |line: &'static str, headers: String| async move { exchange(port, &request(line, &headers, "")).await };
        let refused = ask("GET /nowhere", format!("{host}Authorization: Bearer x\r\nOrigin: null\r\n")).await;
        assert_eq!(refused.error(), (401, "Unauthorized".to_owned()));
        assert_eq!(ask("GET /api/status", host.clone()).await.status, 401);
        assert_eq!(ask("GET /api/status", format!("{host}{bearer}Origin: null\r\n")).await.status, 403);
        let empty = ask("GET /api/status", format!("{host}{bearer}Origin:\r\n")).await.status;
        assert_eq!(empty, if is_old { 200 } else { 403 });
        let local = ask("GET /api/status", format!("Host: localhost:{port}\r\n{bearer}")).await.status;
        assert_eq!(local, if is_old { 200 } else { 403 });
        let nothing = ask("GET /nowhere", format!("{host}{bearer}")).await;
        assert_eq!((nothing.status, nothing.text.as_str()), (404, "Not Found"));
        assert!(nothing.head.contains("text/plain"));
        assert_eq!(stage.get("/API/Status").await.status, 200, "paths ignore case");
        assert_eq!(stage.get("/api/exec").await.status, if is_old { 400 } else { 405 });
        for late in ["/api/progress", "/api/job?id=x", "/api/dialog"] {
            let answer = stage.get(late).await;
            assert_eq!(answer.text == "Not Found", is_old, "{late}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_a_command_is_refused_in_the_words_of_the_table() {
    let stage = Stage::of("0.8.0").await;
    let refused = async |body: String| {
        let answer = stage.send("POST /api/exec", &body).await;
        assert!((PACKAGE.wire.is_unrun)(&answer.json()), "{}", answer.text);
        answer.error()
    };
    let words = |status: u16, error: &str| (status, error.to_owned());
    assert_eq!(refused(" ".to_owned()).await, words(400, "Bad Request"));
    assert_eq!(refused("{".to_owned()).await, words(400, "Invalid JSON"));
    assert_eq!(refused("{}".to_owned()).await, words(400, "Invalid Request"));
    let two = json!({"command": "echo", "argv": ["echo"]});
    assert_eq!(refused(two.to_string()).await, words(400, "Invalid Request"));
    assert_eq!(refused(json!({"command": "nothing"}).to_string()).await, words(400, "Command Not Found"));
    let large = |bytes: usize| json!({"command": "echo", "parameters": {"text": "x".repeat(bytes)}}).to_string();
    let rest = large(0).len();
    assert_eq!(refused(large(1_048_577 - rest)).await, words(413, "Payload Too Large"));
    assert_eq!(stage.send("POST /api/exec", &large(1_048_576 - rest)).await.status, 200);
}

#[tokio::test]
async fn replies_are_whole_and_indented_before_they_are_lean() {
    let echo = json!({"command": "echo", "parameters": {"text": "a", "unknown": 1}});
    let old = Stage::of("0.4.0").await.exec(echo.clone()).await;
    let names: Vec<String> = old.json().as_object().unwrap().keys().cloned().collect();
    let all = ["message", "error", "errorDetails", "executedAt", "success", "command", "result", "executionTimeMs"];
    assert_eq!(names, all);
    assert!(old.text.starts_with("{\n  \"message\": null,"), "{}", old.text);
    let stage = Stage::of("0.6.0").await;
    assert_eq!(stage.exec(echo).await.text, r#"{"success":true,"result":{"Echo":"a"}}"#);
    let whole = stage.exec(json!({"command": "echo", "verbose": true})).await;
    assert!(whole.text.starts_with(r#"{"message":null,"#), "{}", whole.text);
    let thrown = stage.exec(json!({"command": "throw"})).await;
    assert_eq!(thrown.error(), (400, "Command Execution Failed".to_owned()));
    assert!(thrown.text.starts_with("{\n"), "errors stay indented");
    let failed = stage.run("fail").await;
    assert_eq!(failed["success"], false);
}

#[tokio::test]
async fn a_wrong_type_is_the_default_before_it_is_refused() {
    let sleep = json!({"command": "sleep", "parameters": {"ms": "long"}});
    assert_eq!(Stage::of("0.4.0").await.exec(sleep.clone()).await.result()["SleptMs"], 0);
    let stage = Stage::of("0.6.0").await;
    let refused = stage.exec(sleep).await;
    assert_eq!(refused.error(), (400, "Parameter Validation Failed".to_owned()));
    assert!(refused.json().get("errorCode").is_none() && !(PACKAGE.wire.is_unrun)(&refused.json()));
    let missing = stage.exec(json!({"command": "open_scene", "parameters": {}})).await;
    assert_eq!(missing.error().1, "Parameter Validation Failed");

    for (form, kind) in [
        (json!({"argv": ["sleep", "--ms", "long"]}), "typeMismatch"),
        (json!({"commandLine": "sleep --sm 3"}), "unknownName"),
        (json!({"argv": ["sleep", "1", "2"]}), "excessPositional"),
    ] {
        let refused = stage.exec(form).await.json();
        assert_eq!(refused["errorCode"], "INVALID_COMMAND_ARGS");
        assert_eq!(refused["argProblems"][0]["kind"], kind, "{refused}");
        assert!(refused["commandSchema"]["properties"]["ms"].is_object());
    }
    let done = stage.exec(json!({"commandLine": "echo \"two words\""})).await.json();
    assert_eq!((&done["result"]["Echo"], &done["parameters"]["text"]), (&json!("two words"), &json!("two words")));
    let old = Stage::of("0.5.0").await.exec(json!({"argv": ["echo", "x"]})).await;
    assert_eq!(old.error().1, "Invalid Request");
}

#[tokio::test]
async fn what_is_late_runs_all_the_same() {
    let stage = Stage::of("0.5.0").await;
    stage.unity.modal(true);
    let late = stage.exec(json!({"command": "count", "parameters": {"key": "late"}, "timeout": 50})).await;
    assert_eq!(late.error(), (400, "Internal Server Error".to_owned()));
    assert_eq!(late.json()["errorDetails"], "Main thread operation timed out after 50ms");
    assert_eq!(stage.unity.runs("late"), 0);
    stage.unity.modal(false);
    until(&stage.unity, |stats| stats.runs.get("late") == Some(&1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_say_waits_for_a_minute() {
    let (_work, done) = tokio::sync::oneshot::channel();
    let late = exec::wait(done, Some(WAIT)).await.err().unwrap();
    assert_eq!(late.details, "Main thread operation timed out after 60000ms");
}

#[tokio::test]
async fn a_client_that_leaves_takes_nothing_back() {
    let stage = Stage::of("0.8.0").await;
    let said = stage.descriptor().await;
    let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
    let headers =
        format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {}\r\n", said["evalToken"].as_str().unwrap());
    let held = stage.exec(json!({"command": "hold"}));
    let left = async {
        until(&stage.unity, |stats| stats.running == 1).await;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let count = json!({"command": "count", "parameters": {"key": "left"}}).to_string();
        stream.write_all(&request("POST /api/exec", &headers, &count)).await.unwrap();
        until(&stage.unity, |stats| stats.requests == 2).await;
        drop(stream);
        // The gate keeps it; what only asks is answered.
        assert_eq!(stage.get("/api/status").await.json()["status"], "ready");
        assert_eq!(stage.get("/api/progress").await.json()["active"], true);
        assert_eq!(stage.unity.runs("left"), 0);
        stage.unity.release();
    };
    let (held, ()) = tokio::join!(held, left);
    assert_eq!(held.result()["Released"], true);
    until(&stage.unity, |stats| stats.runs.get("left") == Some(&1)).await;
}

#[tokio::test]
async fn before_the_gate_even_a_status_waits() {
    let stage = Stage::of("0.4.0").await;
    let held = stage.exec(json!({"command": "hold", "job": true}));
    let asks = async {
        until(&stage.unity, |stats| stats.running == 1).await;
        let status = stage.get("/api/status");
        let ends = async {
            until(&stage.unity, |stats| stats.requests == 2).await;
            stage.unity.release();
        };
        tokio::join!(status, ends).0
    };
    let (held, status) = tokio::join!(held, asks);
    assert_eq!(held.result()["Released"], true, "there are no jobs");
    assert_eq!((status.status, status.json().get("capabilities")), (200, None));
}

#[tokio::test]
async fn jobs_wait_run_end_and_are_forgotten_by_a_reload() {
    let stage = Stage::of("0.8.0").await;
    let running = stage.job("count", json!({"key": "job", "hold": true})).await;
    until(&stage.unity, |stats| stats.running == 1).await;
    let said = stage.is(&running, "running").await;
    assert!(said["startedAt"].is_string() && said.get("completedAt").is_none(), "{said}");
    let whole = stage.get(&format!("/api/job?id={running}&omit_nulls=false")).await.json();
    assert!(whole["completedAt"].is_null() && whole.get("completedAt").is_some());
    let warned = stage.get(&format!("/api/job?id={running}&omit_nulls=perhaps")).await.json();
    assert!(warned["warnings"][0].as_str().unwrap().contains("perhaps"));

    let waiting = stage.job("count", json!({"key": "never"})).await;
    let cancelled = stage.send("POST /api/job/cancel", &json!({"id": waiting}).to_string()).await;
    assert_eq!(cancelled.json()["state"], "canceled");
    assert!(stage.is(&waiting, "canceled").await.get("startedAt").is_none(), "proof that it never ran");
    stage.send("POST /api/job/cancel", &json!({"id": running}).to_string()).await;
    stage.unity.release();
    let told = stage.is(&running, "canceled").await;
    assert!(told["startedAt"].is_string(), "it ran to its end all the same: {told}");
    assert_eq!((stage.unity.runs("job"), stage.unity.runs("never")), (1, 0));

    let thrown = stage.job("throw", json!({"text": "why"})).await;
    let failed = stage.is(&thrown, "failed").await;
    assert_eq!((&failed["error"], &failed["errorDetails"]), (&json!("Command Execution Failed"), &json!("why")));
    let echoed = stage.job("echo", json!({"text": "a"})).await;
    assert_eq!(stage.is(&echoed, "completed").await["result"]["Echo"], "a");
    stage.reload().await;
    let gone = stage.get(&format!("/api/job?id={echoed}")).await;
    assert_eq!(gone.error(), (404, "Job Not Found".to_owned()));
    assert_eq!(stage.get("/api/job").await.status, 400);
    let large = format!("{{\"id\":\"{}\"}}", "x".repeat(4096));
    assert_eq!(stage.send("POST /api/job/cancel", &large).await.status, 413);
}

#[tokio::test]
async fn a_hundred_jobs_wait_and_no_more() {
    let stage = Stage::of("0.8.0").await;
    for _ in 0..100 {
        stage.job("hold", json!({})).await;
    }
    let refused = stage.exec(json!({"command": "echo", "job": true})).await;
    assert_eq!(refused.error(), (429, "Too Many Queued Jobs".to_owned()));
    assert!((PACKAGE.wire.is_unrun)(&refused.json()));
}

#[tokio::test]
async fn a_dialog_and_the_first_import_refuse_before_the_queue() {
    let stage = Stage::of("0.8.0").await;
    stage.unity.import(Duration::from_millis(200));
    assert_eq!(stage.get("/api/status").await.json()["status"], "settling");
    let count = json!({"command": "count", "parameters": {"key": "k"}});
    let busy = stage.exec(count.clone()).await;
    assert_eq!((busy.error(), busy.json()["busyReason"].clone()), ((503, "Server Busy".to_owned()), json!("settling")));
    assert_eq!((busy.json()["retryable"].clone(), busy.json()["status"].clone()), (json!(true), json!("busy")));
    assert_eq!(stage.run("recompile_status").await["status"], "idle", "what runs in the background is not stopped");
    assert_eq!(stage.get("/api/status").await.json()["status"], "settling");
    within(async { while stage.get("/api/status").await.json()["status"] == "settling" {} }).await;
    stage.unity.import(Duration::from_millis(20));
    assert_eq!(stage.exec(count.clone()).await.result()["Runs"], 1, "once per process");

    stage.unity.modal(true);
    let status = stage.get("/api/status").await.json();
    assert_eq!((&status["status"], &status["dialog"]["title"]), (&json!("blocked_by_dialog"), &json!("Fake Unity")));
    let busy = stage.exec(count.clone()).await.json();
    assert_eq!((&busy["busyReason"], &busy["dialogs"][0]["buttons"][0]), (&json!("blocked_by_dialog"), &json!("OK")));
    let mut job = count;
    job["job"] = true.into();
    assert_eq!(stage.exec(job).await.status, 503, "before a job is made");
    assert_eq!(stage.get("/api/dialog").await.json()["active"], true);
    assert_eq!(stage.run("editor_status").await["status"], "blocked_by_dialog");
    stage.unity.modal(false);
    assert_eq!(stage.get("/api/dialog").await.json(), json!({"active": false, "dialogs": []}));
    assert_eq!(stage.unity.runs("k"), 1);
}

#[tokio::test]
async fn a_compilation_is_completed_before_its_reload_and_the_epoch_shows_it() {
    for (version, is_text) in [("0.4.0", true), ("0.8.0", false)] {
        let stage = Stage::of(version).await;
        let mut events = stage.unity.events();
        let epoch = stage.descriptor().await["startedAt"].clone();
        assert_eq!(stage.run("recompile").await["status"], "compiling");
        let completed = stage.file("recompile_status", "completed").await;
        assert_eq!((&completed["failed"], completed.get("compilationFailed").is_some()), (&json!(false), !is_text));
        event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
        let listed = stage.get("/api/commands").await.json();
        assert_ne!(listed["server"]["startTime"], epoch);
        let status = stage.run("recompile_status").await;
        let status = if is_text { serde_json::from_str(status.as_str().unwrap()).unwrap() } else { status };
        assert_eq!(status["status"], "completed");

        stage.unity.compile_error(true);
        stage.unity.play(true);
        assert_eq!(stage.run("recompile").await["status"], "compiling");
        assert_eq!(stage.file("recompile_status", "triggered").await["status"], "triggered", "it waits for play");
        stage.unity.play(false);
        let failed = stage.file("recompile_status", "completed").await;
        assert_eq!(failed["failed"], true);
        assert!(failed["errors"][0].as_str().unwrap().contains("error CS"));
        assert_eq!(stage.unity.stats().compiles, 2);
    }
}

#[tokio::test]
async fn a_compilation_that_another_reload_ends_is_completed_too() {
    let stage = Stage::of("0.8.0").await;
    stage.unity.play(true);
    stage.run("recompile").await;
    stage.reload().await;
    stage.file("recompile_status", "completed").await;
    let same = Stage::with("0.8.0", config()).await;
    assert_eq!(same.run("editor_status").await["compiling"], false);
}

#[tokio::test]
async fn tests_run_over_a_reload_and_have_one_status() {
    let stage = Stage::of("0.8.0").await;
    assert_eq!(stage.get("/api/test-status").await.json()["status"], "no_tests");
    let run = |parameters: Value| stage.exec(json!({"command": "run_tests", "parameters": parameters}));
    let edit = run(json!({"mode": "editor"})).await.result();
    assert_eq!((&edit["Summary"]["Total"], &edit["success"]), (&json!(2), &json!(true)));
    assert_eq!(stage.file("test_status", "completed").await["summary"]["total"], 2);
    assert_eq!(run(json!({"mode": "editor", "filter": "Nothing"})).await.result()["Summary"]["Total"], 0);
    assert_eq!(run(json!({"async_tests": true})).await.result()["success"], false, "all is refused");

    let mut events = stage.unity.events();
    assert_eq!(run(json!({"mode": "playmode", "async_tests": true})).await.result()["status"], "running");
    assert_eq!(stage.get("/api/test-status").await.json()["status"], "running");
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    assert_eq!(stage.file("test_status", "completed").await["results"][0]["name"], "Castle.Tests.KnightWalks");
    let cut = run(json!({"mode": "playmode"})).await;
    assert_eq!((cut.status, cut.text.as_str()), (0, ""), "its reload cuts it");

    let old = Stage::of("0.4.0").await;
    let refused = old.exec(json!({"command": "run_tests", "parameters": {"mode": "playmode"}})).await.result();
    assert_eq!(refused["success"], false);
    let all = old.exec(json!({"command": "run_tests"})).await.result();
    assert_eq!((&all["playmode_running"], &all["Summary"]["Total"]), (&json!(true), &json!(2)));
}

#[tokio::test]
async fn packages_and_builds_need_a_confirmation_and_leave_a_file() {
    let stage = Stage::of("0.8.0").await;
    let with = |command: &str, more: Value| {
        let mut parameters = json!({"identifier": "com.unity.splines", "target": "Linux64"});
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        stage.exec(json!({"command": command, "parameters": parameters}))
    };
    for command in ["package_add", "build"] {
        assert_eq!(with(command, json!({})).await.result()["error"], "Refused");
        assert_eq!(with(command, json!({"confirm": true, "dry_run": true})).await.result()["dryRun"], true);
    }
    assert!(!stage.path("Temp/pipeline_package_status.json").exists());
    let built = with("build", json!({"confirm": true})).await.result();
    assert_eq!(stage.file("build_status", "completed").await["buildId"], built["buildId"]);
    let mut events = stage.unity.events();
    with("package_add", json!({"confirm": true})).await.result();
    stage.file("package_status", "completed").await;
    event(&mut events, |event| matches!(event, Event::ReloadEnded { .. })).await;
    assert_eq!(stage.run("package_status").await["status"], "completed");
    let shown = stage.exec(json!({"command": "delete_asset", "parameters": {"asset": "Assets/A.mat"}})).await.result();
    assert_eq!(shown["success"], true);
}

#[tokio::test]
async fn in_safe_mode_nothing_listens() {
    let stage = Stage::of("0.8.0").await;
    stage.unity.crash().await.unwrap();
    stage.unity.compile_error(true);
    stage.unity.up().await.unwrap();
    assert_eq!(stage.unity.port(), None);
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(stage.unity.port(), None);
    stage.unity.compile_error(false);
    within(stage.unity.listening()).await;
    assert_eq!(stage.get("/api/status").await.status, 200);
}

#[tokio::test]
async fn the_catalogue_follows_the_version() {
    let list = async |version: &str| {
        let stage = Stage::with(version, FakeUnityConfig { test_tools: false, ..config() }).await;
        let said = stage.get("/api/commands").await.json();
        let names = said["commands"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), said, stage)
    };
    let (old, said, _) = list("0.4.0").await;
    assert_eq!((old.len(), &said["count"], said.get("total")), (141, &json!(141), None));
    assert!(old.contains(&"get_console_logs".to_owned()) && !old.contains(&"batch".to_owned()));
    let (new, said, stage) = list("0.8.0").await;
    assert_eq!(said["total"], new.len());
    assert!(!new.contains(&"get_console_logs".to_owned()) && new.contains(&"wait_for".to_owned()));
    let one = |name: &str| said["commands"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    assert_eq!(
        (one("build")["mainThreadRequired"].clone(), one("menu")["mainThreadRequired"].clone()),
        (json!(false), json!(true))
    );
    let clip = one("add_animator_layer");
    assert_eq!(
        (&clip["parameters"][0]["type"], &clip["parameters"][2]["defaultValue"]),
        (&json!("ObjectRef"), &json!(1))
    );
    assert_eq!(clip["schema"]["required"], json!(["controller", "name"]));
    let part = stage.get("/api/commands?offset=1&limit=2&detail=compact").await.json();
    assert_eq!(
        (&part["count"], &part["total"], &part["commands"][0]["name"]),
        (&json!(2), &json!(new.len()), &json!(new[1]))
    );
    assert!(part["commands"][0].get("schema").is_none());
    assert_eq!(stage.get("/api/commands?detail=everything").await.status, 400);
}

#[test]
fn an_observer_reads_its_frames() {
    let one = |method: &str, is_call| (method.to_owned(), String::new(), is_call);
    let body = r#"{"command":"count","parameters":{"key":"k"}}"#;
    let call = format!("POST /api/exec HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(observer::read(&PACKAGE, &call), one("count", true));
    assert_eq!(observer::read(&PACKAGE, "GET /api/job?id=x HTTP/1.1\r\nHost: x\r\n\r\n"), one("/api/job", false));
    let answered = |said: Value| (PACKAGE.wire.answered)(&said).map(|answer| (answer.is_result, answer.failed));
    assert_eq!(answered(json!({"success": true, "result": {"success": false}})), Some((true, true)));
    assert_eq!(answered(json!({"success": true, "result": {"jobId": "x", "state": "queued"}})), None);
    assert_eq!(answered(json!({"jobId": "x", "state": "completed", "result": 1})), Some((true, false)));
    assert_eq!(answered(json!({"jobId": "x", "state": "running"})), None);
    assert_eq!(answered(json!({"success": false, "error": "Server Busy"})), Some((false, false)));
    let fate = |said: Value| (PACKAGE.wire.outcomes)(&said).calls.pop().and_then(|(_, fate)| fate);
    assert_eq!(fate(json!({"jobId": "x", "state": "canceled"})), Some(observer::Fate::NotRun));
    let started = json!({"jobId": "x", "state": "canceled", "startedAt": "2025"});
    assert_eq!(fate(started), Some(observer::Fate::Ended));
}
