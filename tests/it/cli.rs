//! The commands that run once and exit, as a script uses them: stdout, stderr and the documented exit codes.

use std::time::Duration;

use holdfast_fake_unity::Package;

use crate::binary::{Place, Server, Unity, finish, text, within};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn finding<'a>(findings: &'a Value, about: &str, says: &str) -> &'a Value {
    let list = findings["findings"].as_array().expect("a list");
    list.iter()
        .find(|finding| finding["about"] == about && finding["says"].as_str().is_some_and(|text| text.contains(says)))
        .unwrap_or_else(|| panic!("no finding about {about} says {says}: {findings:#}"))
}

#[tokio::test]
async fn call_prints_the_result_as_it_is_and_exits_by_its_verdict() {
    let place = Place::new();
    let unity = Unity::start(&place, &["--block-tool", "count"]).await;
    let at = unity.at();
    let call = |words: &[&str]| {
        let words: Vec<String> =
            ["call"].iter().chain(words).chain(&["--port", &at]).map(ToString::to_string).collect();
        let place = &place;
        async move { place.run(words.iter().map(String::as_str)).await }
    };

    let done = call(&["echo", r#"{"text":"Grüße \"1.50\""}"#]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.out, "{\"Echo\":\"Grüße \\\"1.50\\\"\",\"Ver\":\"2.2.0\"}\n");
    let said = done
        .err
        .strip_prefix("holdfast: call id ")
        .unwrap_or_else(|| panic!("the id, for `holdfast result`: {done:?}"));
    assert!(said.trim_end().len() == 36 && said.lines().count() == 1, "nothing else on stderr: {done:?}");

    let whole = call(&["echo", "text=20", "--json"]).await.json();
    assert_eq!(whole["result"]["structuredContent"]["Echo"], "20", "the tool takes a text there");
    let mistaken = call(&["sleep", "ms=long"]).await;
    assert_eq!((mistaken.code, mistaken.out.as_str()), (Some(2), ""), "{mistaken:?}");
    assert!(mistaken.err.contains("`ms` takes number") && mistaken.err.contains("Nothing was sent"), "{mistaken:?}");
    assert_eq!(whole["result"]["content"][0]["type"], "text");

    let failed = call(&["fail"]).await;
    assert_eq!((failed.code, failed.out.as_str()), (Some(1), ""), "{failed:?}");
    assert!(failed.err.contains("As asked"), "{failed:?}");

    let blocked = call(&["count", r#"{"key":"k"}"#]).await;
    assert_eq!(
        (blocked.code, blocked.out.as_str()),
        (Some(3), ""),
        "the editor refuses it and runs nothing: {blocked:?}"
    );
    assert!(blocked.err.contains("blocked by security settings"), "{blocked:?}");

    let unknown = call(&["no-such-tool"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("no-such-tool") && unknown.err.contains("holdfast tools"), "{unknown:?}");

    let running = call(&["hold", "--timeout", "1"]).await;
    assert_eq!(running.code, Some(4), "{running:?}");
    assert!(running.err.contains("Still running") && running.err.contains("--timeout"), "{running:?}");

    unity.quit().await;
    let absent = call(&["echo"]).await;
    assert_eq!((absent.code, absent.out.as_str()), (Some(3), ""), "{absent:?}");
    assert!(absent.err.contains("\nNot executed: "), "{absent:?}");
}

#[tokio::test]
async fn arguments_come_from_the_command_line_a_file_or_stdin_and_bad_ones_are_never_sent() {
    let place = Place::new();
    let mut unity = Unity::start(&place, &[]).await;
    let at = unity.at();
    let file = place.write("arguments.json", "\u{feff}{\"key\": \"file\"}\n");
    let by_file = place.run(["call", "count", &format!("@{}", text(&file)), "--port", &at]).await;
    assert_eq!(by_file.json()["Key"], "file");
    let by_stdin = finish(place.command(["call", "count", "-", "--port", &at]), b"{\"key\":\"stdin\"}").await;
    assert_eq!(by_stdin.json()["Key"], "stdin");

    let not_utf8 = place.write("latin1.json", b"{\"key\":\"\xe4\"}");
    let too_long = place.write("long.json", vec![b' '; 17 << 20]);
    let bad = [
        "{",
        "[]",
        "7",
        "\"x\"",
        "{} {}",
        "@no-such-file",
        "@",
        &format!("@{}", text(&not_utf8)),
        &format!("@{}", text(&too_long)),
    ];
    for json in bad {
        let done = place.run(["call", "count", json, "--port", &at]).await;
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{json}: {done:?}");
        assert!(done.err.starts_with("holdfast call: ") && done.err.contains("Nothing was sent"), "{json}: {done:?}");
    }
    unity.say("stats").await;
    assert_eq!(unity.hear("stats").await["stats"]["runs"], json!({"file": 1, "stdin": 1}));
}

#[tokio::test]
async fn a_call_is_held_across_a_reload_and_runs_once() {
    let place = Place::new();
    let project = place.path("Castle");
    let mut unity = Unity::of(&place, &project).await;
    unity.say("reload 700").await;
    unity.hear("reload_begun").await;
    let done = place.run(["call", "count", r#"{"key":"k"}"#, "--project", text(&project)]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    unity.say("stats").await;
    assert_eq!(unity.hear("stats").await["stats"]["runs"]["k"], 1);
}

#[tokio::test]
async fn a_call_cut_by_the_editors_death_is_told_as_unknown() {
    let place = Place::new();
    let mut unity = Unity::start(&place, &[]).await;
    let call = place.command(["call", "hold", "--port", &unity.at()]);
    let ended = tokio::spawn(finish(call, b""));
    unity.hear_that("the call", |line| line["event"] == "call_begun" && line.to_string().contains("hold")).await;
    unity.kill().await;
    let done = ended.await.expect("it ended");
    assert_eq!((done.code, done.out.as_str()), (Some(4), ""), "{done:?}");
    assert!(done.err.contains("\nOutcome unknown: "), "{done:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_call_says_whether_it_was_sent() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use tokio::io::AsyncReadExt as _;
    let place = Place::new();
    let mut unity = Unity::start(&place, &[]).await;
    let mut child = place.command(["call", "hold", "--port", &unity.at()]).spawn().expect("it starts");
    unity.hear_that("the call", |line| line["event"] == "call_begun" && line.to_string().contains("hold")).await;
    let pid = i32::try_from(child.id().expect("it lives")).expect("a pid");
    kill(Pid::from_raw(pid), Signal::SIGINT).expect("it lives");
    let status = within("its end", child.wait()).await.expect("it can be waited for");
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).await.expect("readable");
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("\nOutcome unknown: holdfast was shut down"), "{said}");
}

#[tokio::test]
async fn tools_says_whether_the_list_is_live_from_disk_or_only_our_own() {
    let place = Place::new();
    let project = place.path("Castle");
    std::fs::create_dir_all(project.join("Assets")).expect("writable");
    std::fs::create_dir_all(project.join("ProjectSettings")).expect("writable");
    let list = || place.run(["tools", "--json", "--dropped", "--project", text(&project)]);

    let none = list().await;
    assert_eq!(none.code, Some(3), "{none:?}");
    assert_eq!((&none.json()["source"], none.json()["tools"].as_array().map(Vec::len)), (&json!("gateway"), Some(5)));

    let mut unity = Unity::of(&place, &project).await;
    let odd = "odd.näme";
    unity.say(&format!("addtool {odd}")).await;
    unity.hear("done").await;
    let live = list().await;
    assert_eq!(live.code, Some(0), "{live:?}");
    let shown = live.json();
    assert_eq!((&shown["source"], &shown["package_version"]), (&json!("live"), &json!("2.2.0")));
    let names: Vec<&str> =
        shown["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(
        names.contains(&"holdfast_status") && names.contains(&"compile") && names.contains(&"odd_n_me"),
        "{names:?}"
    );
    assert_eq!(shown["renamed"][0]["tool"], odd);
    assert!(shown["renamed"][0]["why"].as_str().is_some_and(|why| why.contains("odd_n_me")), "{shown}");
    assert!(shown["dropped"].is_array() && shown["repaired"].is_array(), "{shown}");
    let one = place.run(["tools", "echo", "--project", text(&project)]).await;
    assert!(one.code == Some(0) && one.out.contains("Example: holdfast call echo"), "{one:?}");
    let found = place.run(["tools", "--search", "echo", "--json", "--project", text(&project)]).await.json();
    assert_eq!(found[0]["name"], "echo");
    let unknown = place.run(["tools", "ecko", "--project", text(&project)]).await;
    assert!(unknown.code == Some(2) && unknown.err.contains("Did you mean `echo`?"), "{unknown:?}");
    let nothing = place.run(["tools", "--search", "zzzz", "--project", text(&project)]).await;
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(1), ""), "{nothing:?}");
    let plain = place.run(["tools", "--project", text(&project)]).await.out;
    assert!(plain.contains("live from the editor") && plain.contains("1 renamed: see --dropped"), "{plain}");

    unity.quit().await;
    let disk = list().await;
    assert_eq!(disk.code, Some(0), "{disk:?}");
    assert_eq!((&disk.json()["source"], &disk.json()["why_not_live"]), (&json!("disk"), &json!("not_running")));
    assert_eq!(disk.json()["tools"], shown["tools"]);
}

#[tokio::test]
async fn status_shows_every_running_gateway_and_this_projects_editor() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let status = || place.run(["status", "--json", "--project", text(&project)]);

    let alone = status().await;
    assert_eq!(alone.code, Some(0), "known without any gateway: {alone:?}");
    let here = alone.json()["here"].clone();
    assert_eq!((&here["editor_alive"], &here["ports"][0]["identity"]), (&json!(true), &json!("checked")));
    assert_eq!(here["ports"][0]["port"], unity.port);

    let mut gateway = Server::start(&place, &["--project", text(&project)]).await;
    gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
    let seen = within("the gateway's record", async {
        loop {
            let seen = status().await;
            if seen.json()["gateways"][0]["editor"]["ready"] == true {
                return seen;
            }
        }
    })
    .await;
    let seen = seen.json();
    assert_eq!(seen["gateways"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["gateways"][0]["gateway"]["pid"], gateway.pid());
    let people = place.run(["status", "--project", text(&project)]).await.out;
    for word in ["the-test, up", "ready, now", "queue", "0 waiting", "this project's editor listens"] {
        assert!(people.contains(word), "no {word} in {people}");
    }
    assert!(!people.contains('\x1b'), "colours are for terminals");

    gateway.end().await;
    unity.quit().await;
    let gone = status().await;
    assert_eq!((gone.code, &gone.json()["gateways"]), (Some(3), &json!([])), "{gone:?}");
}

#[tokio::test]
async fn status_says_why_each_call_waits_and_what_became_of_it() {
    let place = Place::new();
    let project = place.path("Castle");
    let mut unity = Unity::of(&place, &project).await;
    let mut gateway = Server::start(&place, &["--project", text(&project)]).await;
    gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
    let call = |id: u32, tool: &str| {
        json!({"jsonrpc": "2.0", "id": format!("c{id}"), "method": "tools/call", "params": {"name": tool}}).to_string()
    };
    let seen = async |what: &str, fits: &dyn Fn(&Value) -> bool| {
        within(what, async {
            loop {
                let seen = place.run(["status", "--json"]).await.json()["gateways"][0].clone();
                if fits(&seen) {
                    return seen;
                }
            }
        })
        .await
    };

    unity.say("reload 20000").await;
    gateway.status_that("the reload", |status| status["editor"]["why"] == "reloading").await;
    gateway.send(call(1, "hold").as_bytes()).await;
    gateway.send(call(2, "echo").as_bytes()).await;
    gateway.send(call(3, &"x".repeat(100_000)).as_bytes()).await;
    let waits = seen("all wait for the reload", &|seen| seen["calls"]["open_count"] == 3).await;
    for (index, tool) in ["hold", "echo"].into_iter().enumerate() {
        let call = &waits["calls"]["open"][index];
        let told = (&call["tool"], &call["state"], &call["waits_for"]);
        assert_eq!(told, (&json!(tool), &json!("held"), &json!("reloading")), "the oldest first: {waits}");
    }
    assert_eq!(waits["outages"][0]["back_after_ms"], Value::Null, "{waits}");
    let people = place.run(["status"]).await.out;
    assert!(people.contains("echo: waiting: Unity is reloading its domain ("), "{people}");

    // The editor is back: the first call runs, and the other call waits for it.
    let busy = seen("the editor is busy", &|seen| seen["calls"]["open"][0]["state"] == "sent").await;
    assert_eq!(busy["calls"]["open"][0]["waits_for"], Value::Null, "{busy}");
    assert_eq!(busy["calls"]["open"][1]["waits_for"], "busy", "{busy}");
    // The newest outage is the first in the list. If the settings were read a moment too early, there is another outage, for
    // an editor of another session.
    let outages = busy["outages"].as_array().expect("a list");
    let outage = outages.iter().find(|outage| outage["why"] == "reload").unwrap_or_else(|| panic!("no reload: {busy}"));
    assert_eq!(outage["cause"], "reloading", "{busy}");
    assert!(outage["back_after_ms"].as_u64().is_some_and(|span| span >= 7000), "{busy}");
    assert_eq!(busy["editor"]["unity_version"], "2022.3.62f1", "{busy}");

    unity.say("release").await;
    for _ in 0..3 {
        gateway.answer().await;
    }
    let ended =
        seen("the verdicts", &|seen| seen["calls"]["recent"].as_array().is_some_and(|all| all.len() == 3)).await;
    let verdict = |index: usize| ended["calls"]["recent"][index]["verdict"].clone();
    assert_eq!([verdict(0), verdict(1), verdict(2)], ["not_executed", "ok", "ok"], "the newest first: {ended}");
    let unknown = &ended["calls"]["recent"][0];
    assert_eq!(unknown["cause"], "unknown_tool", "{ended}");
    assert!(unknown["tool"].as_str().is_some_and(|name| name.len() < 300), "a name is cut: {ended}");
    let steps = ended["timelines"][0]["steps"].as_array().cloned().unwrap_or_default();
    assert!(steps.iter().any(|step| step["to"] == "backing_off"), "the reload is in the bridge's past: {ended}");
    assert!(ended["written_at"].is_number(), "{ended}");

    gateway.end().await;
    unity.quit().await;
}

#[tokio::test]
async fn watch_refuses_what_is_no_terminal() {
    let done = Place::new().run(["status", "--watch"]).await;
    assert_eq!((done.code, &*done.out), (Some(2), ""), "{done:?}");
    assert!(done.err.contains("`holdfast status --json`") && done.err.contains("Nothing was done"), "{done:?}");
}

#[tokio::test]
async fn doctor_finds_nothing_wrong_with_a_sound_project() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let mut gateway = Server::start(&place, &["--project", text(&project)]).await;
    gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
    let done = within("the gateway's record", async {
        loop {
            let mut doctor = place.command(["doctor", "--json"]);
            doctor.current_dir(project.join("Assets")).env("HOLDFAST_PROYECT", "x");
            let done = finish(doctor, b"").await;
            if done.out.contains("runs for the-test") {
                return done;
            }
        }
    })
    .await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let found = done.json();
    assert_eq!(found["problems"], 0);
    finding(&found, "project", "around the working directory");
    finding(&found, "package", "2.2.0");
    finding(&found, "port", &format!("{} (the project's settings)", unity.port));
    assert_eq!(finding(&found, "connection", "answered the greeting")["level"], "ok");
    finding(&found, "environment", "HOLDFAST_PROYECT means nothing");
    finding(&found, "state", "can be written");
    let people = place.run(["doctor", "--project", text(&project)]).await;
    assert!(people.code == Some(0) && people.out.starts_with("Nothing is broken; one thing is left"), "{people:?}");
    assert!(people.out.contains("-> holdfast setup "), "no AI client starts it: {people:?}");
    std::fs::create_dir(place.path(".cursor")).expect("writable");
    assert_eq!(place.run(["setup", "cursor"]).await.code, Some(0));
    let people = place.run(["doctor", "--project", text(&project)]).await;
    assert!(people.code == Some(0) && people.out.starts_with("No problem found."), "{people:?}");
    assert!(!people.out.contains("->"), "nothing needs the user: {people:?}");
}

#[tokio::test]
async fn doctor_names_what_a_crash_left_behind_and_the_fix() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    unity.kill().await;
    place.write("Castle/Temp/domainreload.lock", "");
    std::fs::write(place.path("state"), "in the way").expect("writable");
    let done = place.run(["doctor", "--json", "--project", text(&project)]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = done.json();
    finding(&found, "editor", "which is no editor any more");
    let lock = finding(&found, "lock files", "no living editor is known, so");
    assert_eq!((&lock["level"], &lock["sure"]), (&json!("problem"), &json!("likely")));
    assert!(lock["mend"].as_str().is_some_and(|fix| fix.contains("Temp")), "{lock}");
    assert_eq!(finding(&found, "state", "cannot be written")["level"], "problem");
    for finding in found["findings"].as_array().expect("a list") {
        assert!(finding["level"] != "problem" || finding["mend"].is_string(), "a problem without a fix: {finding}");
        let text = finding.to_string().to_lowercase();
        assert!(!text.contains("kill unity") && !text.contains("end unity"), "{finding}");
    }
}

#[tokio::test]
async fn every_subcommand_explains_itself_with_examples() {
    let place = Place::new();
    let version = place.run(["--version"]).await;
    let short = place.run(["-V"]).await;
    assert_eq!(short.out, format!("holdfast {}\n", env!("CARGO_PKG_VERSION")));
    assert!(version.out.starts_with(short.out.trim_end()), "{version:?}");
    let help = place.run(["--help"]).await;
    assert!(help.code == Some(0) && help.out.contains("Exit codes: 0 done"), "{help:?}");
    let script = place.run(["completions", "bash", "--static"]).await.out;
    for command in ["serve", "tools", "call", "status", "doctor", "setup", "unity", "fake-unity", "completions"] {
        let help = place.run([command, "--help"]).await;
        assert!(help.code == Some(0) && help.out.contains("Example"), "{command}: {help:?}");
        assert!(script.contains(command), "{command} is not completed");
    }
}

#[tokio::test]
async fn what_unity_posts_to_its_logger_is_in_the_session_and_the_documents_api_executes() {
    let place = Place::new();
    let dialect = Package::that(|facts| !facts.results).name;
    let unity = Unity::start(&place, &["--dialect", dialect]).await;
    let own = [(); 2].map(|()| holdfast_fake_unity::OwnPort::take().expect("a free port"));
    let [logger, hop] = own.each_ref().map(holdfast_fake_unity::OwnPort::number);
    let words = ["serve", "--dialect", dialect, "--port", &unity.at(), "--logger"];
    let mut command = place.command(words);
    command.env("AI_LOGGER_URL", format!("http://localhost:{logger}/")).env("HOLDFAST_DOCUMENTED_HOP", hop.to_string());
    let mut server = Server::open(command).await;
    server.status_that("ready", |status| status["editor"]["ready"] == true).await;
    let said =
        post(logger, "/logs/unity-http-setup", r#"{"message":"HTTP server thread started","level":"INFO"}"#).await;
    assert_eq!(said["status"], "success", "{said}");
    let ran = post(hop, "/api/execute", r#"{"code":"Debug.Log(\"m\")","timeout":20000}"#).await;
    assert_eq!((&ran["success"], &ran["complete"]), (&json!(true), &json!(true)), "{ran}");
    let posted = server.call("get_log_by_name", json!({"log_name": "unity-http-setup"})).await;
    assert_eq!(posted["structuredContent"]["entries"][0]["id"], said["logId"], "{posted}");
    let result = server.call("get_result", json!({"logId": ran["logId"]})).await;
    assert_eq!(result["structuredContent"]["log_id"], ran["logId"], "{result}");
    assert_eq!(server.status().await["problems"], json!([]));
    assert_eq!(server.end().await.0, Some(0));

    let mut command = place.command(words);
    command.env("AI_LOGGER_URL", "https://logs.example.org");
    let mut server = Server::open(command).await;
    let problems = server.status().await["problems"].to_string();
    assert!(problems.contains("AI_LOGGER_URL") && problems.contains("takes no logs"), "{problems}");
    assert_eq!(server.end().await.0, Some(0));
    unity.quit().await;
}

/// Posts JSON and returns the JSON of the answer.
async fn post(port: u16, path: &str, body: &str) -> Value {
    let connect = async {
        loop {
            match tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let mut stream = within("listener", connect).await;
    let length = body.len();
    let request = format!("POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    within("answer", stream.read_to_string(&mut answer)).await.expect("readable");
    let (_, json) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(json).expect("JSON")
}

#[tokio::test]
async fn a_switch_in_the_environment_is_on_or_off_in_any_of_the_usual_words_and_never_ends_the_gateway() {
    let place = Place::new();
    let unity = Unity::start(&place, &[]).await;
    for (word, shown) in [("1", true), ("true", true), ("on", true), ("0", false), ("false", false), ("", false)] {
        let mut command = place.command(["tools", "--port", &unity.at()]);
        for switch in ["HOLDFAST_DEVELOPMENT", "HOLDFAST_NO_PUSH", "HOLDFAST_LOGGER"] {
            command.env(switch, word);
        }
        let done = finish(command, b"").await;
        assert_eq!((done.code, done.out.contains("debug-sleep")), (Some(0), shown), "{word:?}: {done:?}");
    }
}

/// The call of a command that was killed is not lost: another command says what became of it, and sends nothing.
#[cfg(unix)]
#[tokio::test]
async fn result_says_what_became_of_a_call_whose_command_was_killed() {
    let place = Place::new();
    let project = place.path("Castle");
    let mut unity = Unity::start(&place, &["--project", text(&project), "--dialect", "holdfast"]).await;
    let on = ["--project", text(&project)];
    assert_eq!(place.run(["wait", "--timeout", "20"].iter().chain(&on).copied()).await.code, Some(0));
    let mut command = place.command(["call", "count", "key=k", "hold:=true"].iter().chain(&on).copied());
    let mut killed = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut said = tokio::io::BufReader::new(killed.stderr.take().unwrap());
    tokio::io::AsyncBufReadExt::read_line(&mut said, &mut line).await.unwrap();
    let id = line.trim().strip_prefix("holdfast: call id ").expect("the id comes before the call").to_owned();
    within("the editor has the call", async {
        loop {
            unity.say("stats").await;
            let stats = unity.hear("stats").await;
            if stats["stats"]["runs"]["k"] == 1 {
                return;
            }
        }
    })
    .await;
    killed.kill().await.unwrap();
    let result = |id: &str| {
        let words = ["result", id, "--timeout", "1"].into_iter().chain(on).map(str::to_owned).collect::<Vec<_>>();
        let place = &place;
        async move { place.run(words.iter().map(String::as_str)).await }
    };
    let running = result(&id).await;
    assert_eq!((running.code, running.out.as_str()), (Some(4), ""), "{running:?}");
    unity.say("release").await;
    let mut words = vec!["result", &id, "--timeout", "20"];
    words.extend(on);
    let ended = place.run(words).await;
    assert!(ended.code == Some(0) && ended.out.contains("\"Runs\":1"), "{ended:?}");
    unity.say("stats").await;
    assert_eq!(unity.hear("stats").await["stats"]["runs"]["k"], 1, "nothing was sent again");
    assert_eq!(result("0f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11").await.code, Some(4), "it may have run");
    assert_eq!(result("word").await.code, Some(2));
    unity.quit().await;
    let nobody = place.run(["wait", "--timeout", "1"].iter().chain(&on).copied()).await;
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(3), ""), "{nobody:?}");
}
