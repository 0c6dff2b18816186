//! Bad input from every side: flags, environment, files, stdin, the bridge, the push port. Each must be answered with a clear
//! error that says what to do. No session ends, no call is lost, and a peer that is not proven to be the editor receives
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::binary::{Place, Server, Unity, finish, text, within, words};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

// ---- flags, environment, project -----------------------------------------------------------------------------------

#[tokio::test]
async fn wrong_flags_exit_2_and_name_the_fix() {
    let place = Place::new();
    let wrong: [(&[&str], &str); 12] = [
        (&["--prot", "8700"], "--port"),
        (&["serve", "--port", "0"], "1 to 65535"),
        (&["serve", "--port", "abc"], "1 to 65535"),
        (&["serve", "--port", "65536"], "1 to 65535"),
        (&["serve", "--patience", "1"], "6 to 1800"),
        (&["call"], "<TOOL>"),
        (&["serve", "--patience", "abc"], "6 to 1800"),
        (&["call", "echo", "--timeout", "0"], "1 to 1795"),
        (&["call", "echo", "--timeout", "1h"], "1 to 1795"),
        (&["tools", "--jsno"], "--json"),
        (&["doctr"], "doctor"),
        (&["fake-unity", "--package-version", "0.0.9"], "0.1.0"),
    ];
    for (flags, fix) in wrong {
        let done = place.run(flags.iter().copied()).await;
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{flags:?}: {done:?}");
        assert!(done.err.contains(fix), "{flags:?} does not name {fix}: {done:?}");
    }
}

#[tokio::test]
async fn a_bad_unity_tcp_port_is_complained_of_and_the_session_goes_on() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    for bad in ["abc", "0", "70000", "-1", "8700 8701"] {
        let mut command = place.command(["serve", "--project", text(&project)]);
        command.env("UNITY_TCP_PORT", bad);
        let mut gateway = Server::open(command).await;
        let status = gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
        let problems = status["problems"].to_string();
        assert!(problems.contains("UNITY_TCP_PORT") && problems.contains("correct it or remove it"), "{bad}: {status}");
        let (code, said) = gateway.end().await;
        assert!(code == Some(0) && said.contains("UNITY_TCP_PORT"), "{bad}: {code:?} {said}");

        let mut call = place.command(["call", "echo", r#"{"text":"x"}"#, "--project", text(&project)]);
        call.env("UNITY_TCP_PORT", bad);
        let done = finish(call, b"").await;
        assert!(done.code == Some(0) && done.err.contains("UNITY_TCP_PORT"), "{bad}: {done:?}");
    }
    drop(unity);
}

#[tokio::test]
async fn a_missing_project_is_named_by_serve_which_goes_on_and_finds_it_later() {
    let place = Place::new();
    let project = place.path("Castle");
    let mut gateway = Server::start(&place, &["--project", text(&project)]).await;
    let status = gateway.status_that("the complaint", |status| status["problems"][0].is_string()).await;
    let problem = status["problems"][0].as_str().unwrap_or_default();
    assert!(problem.contains("Castle") && problem.contains("Assets and ProjectSettings"), "{status}");
    let result = gateway.call("echo", json!({"text": "x"})).await;
    assert!(result["isError"] == true && words(&result).starts_with("Not executed: "), "{result}");

    for command in [&["tools"][..], &["call", "echo"], &["status"]] {
        let words = command.iter().copied().chain(["--project", text(&project)]);
        let done = place.run(words).await;
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{command:?}: {done:?}");
        assert!(done.err.contains("Assets and ProjectSettings"), "{command:?}: {done:?}");
    }
    let doctor = place.run(["doctor", "--project", text(&project)]).await;
    assert!(doctor.code == Some(1) && doctor.out.contains("there is no folder"), "{doctor:?}");
    let no_project = place.path("elsewhere");
    let done = place.run(["tools", "--project", text(&no_project)]).await;
    assert!(done.code == Some(2) && done.err.contains("is not a Unity project"), "{done:?}");

    let unity = Unity::of(&place, &project).await;
    gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
    assert_eq!(words(&gateway.call("echo", json!({"text": "back"})).await), r#"{"Echo":"back","Ver":"2.2.0"}"#);
    drop(unity);
}

// ---- the project's files -------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_settings_file_that_cannot_be_used_is_named_and_a_named_port_still_works() {
    const SETTINGS: &str = "UserSettings/UnityMcpSettings.json";
    let place = Place::new();
    let unity = Unity::start(&place, &[]).await;
    let garbage: Vec<u8> = (0..=255).collect();
    let contents: [(&str, Option<Vec<u8>>); 6] = [
        ("Folder", None),
        ("Garbage", Some(garbage)),
        ("Array", Some(b"[1]".to_vec())),
        ("Port", Some(br#"{"customPort":"many"}"#.to_vec())),
        ("Torn", Some(br#"{"customPort":87"#.to_vec())),
        ("Huge", Some([b"{\"customPort\":8700,\"x\":\"".to_vec(), vec![b'x'; 10 << 20], b"\"}".to_vec()].concat())),
    ];
    for (name, content) in contents {
        let project = place.project(name);
        match content {
            None => std::fs::create_dir_all(project.join(SETTINGS)).expect("writable"),
            Some(bytes) => std::fs::write(project.join(SETTINGS), bytes).expect("writable"),
        }
        let done =
            place.run(["call", "echo", r#"{"text":"x"}"#, "--project", text(&project), "--port", &unity.at()]).await;
        assert_eq!(done.code, Some(0), "{name}: {done:?}");
        let found = place.run(["doctor", "--json", "--project", text(&project), "--port", &unity.at()]).await;
        assert_eq!(found.code, Some(1), "{name}: {found:?}");
        let found = found.json();
        let files = found["findings"].as_array().expect("a list").iter().find(|finding| finding["about"] == "files");
        let files = files.unwrap_or_else(|| panic!("{name}: nothing about the file: {found}"));
        assert!(files["says"].as_str().is_some_and(|says| says.contains(SETTINGS)), "{name}: {files}");
        assert!(files["mend"].as_str().is_some_and(|fix| !fix.is_empty()), "{name}: {files}");
        let mut gateway = Server::start(&place, &["--project", text(&project), "--port", &unity.at()]).await;
        let status = gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;
        assert!(status["problems"].to_string().contains(SETTINGS), "{name}: {status}");
    }

    let project = place.project("Bom");
    let bom = format!("\u{feff}{{\"customPort\":{}}}", unity.port);
    std::fs::write(project.join(SETTINGS), bom).expect("writable");
    let instance = json!({"process_id": unity.child.id()}).to_string();
    std::fs::write(project.join("Library/EditorInstance.json"), instance).expect("writable");
    let done = place.run(["call", "echo", r#"{"text":"x"}"#, "--project", text(&project)]).await;
    assert_eq!(done.code, Some(0), "a byte order mark is no fault: {done:?}");
}

// ---- stdin ---------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn garbage_on_stdin_is_answered_and_the_session_lives() {
    let place = Place::new();
    let unity = Unity::start(&place, &[]).await;
    let mut gateway = Server::start(&place, &["--port", &unity.at()]).await;
    let deep =
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}{},"id":"deep"}}"#, "[".repeat(4000), "]".repeat(4000));
    let long =
        format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"x":"{}"}},"id":"long"}}"#, "x".repeat(17 << 20));
    let bad: [(&[u8], Value); 9] = [
        (b"hello", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"torn\",\"method\":", json!("torn")),
        (b"\xff\xfe\x00\x01", Value::Null),
        (b"GET / HTTP/1.1\r", Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"who\",\"method\":\"no/such\"}", json!("who")),
        (deep.as_bytes(), json!("deep")),
        (long.as_bytes(), json!("long")),
    ];
    for (line, id) in bad {
        gateway.send(line).await;
        let shown = String::from_utf8_lossy(line.get(..60).unwrap_or(line)).into_owned();
        let answer = gateway.answer().await;
        assert_eq!(answer["id"], id, "{shown}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{shown}: {answer}"));
        assert!(message.len() > 20, "{shown}: {message}");
    }
    let result = gateway.call("echo", json!({"text": "still here"})).await;
    assert_eq!(words(&result), r#"{"Echo":"still here","Ver":"2.2.0"}"#);
    let (code, _) = gateway.end().await;
    assert_eq!(code, Some(0));
}

// ---- the bridge ----------------------------------------------------------------------------------------------------

/// What a foreign peer does with a connection.
#[derive(Debug, Clone, Copy)]
enum Peer {
    Http,
    Echo,
    Silent,
    HangsUp,
    Noise,
}

/// A listener that counts its connections and the bytes that it receives.
struct Impostor {
    port: u16,
    heard: Arc<AtomicUsize>,
    met: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Impostor {
    async fn start(peer: Peer) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (heard, met) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, seen) = (Arc::clone(&heard), Arc::clone(&met));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(converse(peer, stream, Arc::clone(&counted)));
            }
        });
        Self { port, heard, met, task }
    }

    fn heard(&self) -> usize {
        self.heard.load(Ordering::SeqCst)
    }

    fn met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }

    fn at(&self) -> String {
        self.port.to_string()
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(peer: Peer, mut stream: TcpStream, counted: Arc<AtomicUsize>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        counted.fetch_add(count, Ordering::SeqCst);
        let said = match peer {
            Peer::Silent => Ok(()),
            Peer::HangsUp => return,
            Peer::Echo => stream.write_all(&buffer[..count]).await,
            Peer::Noise => stream.write_all(&[0xff; 8192]).await,
            Peer::Http => {
                let page =
                    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<h1>no</h1>";
                stream.write_all(page.as_bytes()).await
            }
        };
        if said.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_peer_that_is_no_bridge_costs_a_call_its_sending_and_nothing_else() {
    let place = Place::new();
    let pid = format!("(pid {})", std::process::id());
    for (peer, said, named) in [
        (Peer::Http, "is not a Unity bridge", "an HTTP server"),
        (Peer::Echo, "is not a Unity bridge", "an echo server"),
        (Peer::Noise, "is not a Unity bridge", "does not answer as a Unity bridge does"),
        (Peer::Silent, "Unity", "there was no answer for"),
        (Peer::HangsUp, "Unity", ""),
    ] {
        let is_named = |text: &str| named.is_empty() || text.contains(named) && text.contains(&pid);
        let impostor = Impostor::start(peer).await;
        let done = place.run(["call", "echo", "--timeout", "2", "--port", &impostor.at()]).await;
        assert_eq!((done.code, done.out.as_str()), (Some(3), ""), "{peer:?}: {done:?}");
        assert!(done.err.contains("\nNot executed: ") && done.err.contains(said), "{peer:?}: {done:?}");
        assert!(is_named(&done.err), "{peer:?}: {done:?}");
        assert!(impostor.heard() > 0, "{peer:?}: a port that was named is called");

        let found = place.run(["doctor", "--json", "--port", &impostor.at()]).await;
        assert_eq!(found.code, Some(1), "{peer:?}: {found:?}");
        let found = found.json();
        let list = found["findings"].as_array().expect("a list");
        let problem = list.iter().find(|finding| finding["about"] == "connection" && finding["level"] == "problem");
        assert!(problem.is_some_and(|problem| problem["mend"].is_string()), "{peer:?}: {found}");
        assert!(problem.is_some_and(|problem| is_named(&problem["says"].to_string())), "{peer:?}: {found}");

        let mut gateway = Server::start(&place, &["--port", &impostor.at(), "--patience", "6"]).await;
        // It takes a moment to recognise a silent peer, and calls of this client wait for only one second.
        gateway.status_that("what the peer is", |status| is_named(&status.to_string())).await;
        let result = gateway.call("echo", json!({})).await;
        assert!(result["isError"] == true && words(&result).starts_with("Not executed: "), "{peer:?}: {result}");
        assert!(is_named(words(&result)), "{peer:?}: {result}");
        let status = gateway.call("holdfast_status", json!({})).await;
        assert!(is_named(words(&status)), "{peer:?}: {status}");
        assert_eq!(gateway.request("ping", json!({})).await["result"], json!({}), "{peer:?}");
        let (code, _) = gateway.end().await;
        assert_eq!(code, Some(0), "{peer:?}");
    }
}

#[tokio::test]
async fn a_wrong_peer_on_a_named_port_is_told_although_other_ports_were_tried() {
    let place = Place::new();
    let project = place.project("Castle");
    let impostor = Impostor::start(Peer::Http).await;
    let done = place.run(["call", "echo", "--project", text(&project), "--port", &impostor.at()]).await;
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.err.contains("is not a Unity bridge"), "{done:?}");
}

#[tokio::test]
async fn a_port_from_a_file_that_belongs_to_somebody_else_receives_not_a_single_byte() {
    let place = Place::new();
    let impostor = Impostor::start(Peer::Echo).await;
    // A living editor that does not own the port, so that the project has an editor.
    let other = Unity::start(&place, &[]).await;
    let pid = other.child.id().expect("it lives");
    for (name, editor, said) in
        [("NoEditor", None, "nothing proves"), ("Living", Some(pid), "its bridge did not listen")]
    {
        let project = place.project(name);
        let settings = json!({"customPort": impostor.port}).to_string();
        std::fs::write(project.join("UserSettings/UnityMcpSettings.json"), settings).expect("writable");
        let packages = json!({"dependencies": {"io.github.hatayama.uloopmcp": "0.30.1"}}).to_string();
        std::fs::write(project.join("Packages/manifest.json"), packages).expect("writable");
        if let Some(pid) = editor {
            let instance = json!({"process_id": pid}).to_string();
            std::fs::write(project.join("Library/EditorInstance.json"), instance).expect("writable");
        }
        let project = text(&project).to_owned();
        let met = impostor.met();

        let mut gateway = Server::start(&place, &["--project", &project, "--patience", "7"]).await;
        let result = gateway.call("echo", json!({})).await;
        assert!(words(&result).starts_with("Not executed: ") && words(&result).contains(said), "{name}: {result}");
        let done = place.run(["call", "echo", "--timeout", "2", "--project", &project]).await;
        assert_eq!(done.code, Some(3), "{name}: {done:?}");
        let tools = place.run(["tools", "--project", &project]).await;
        assert_eq!(tools.code, Some(3), "{name}: {tools:?}");
        let status = place.run(["status", "--project", &project]).await;
        assert!(status.code == Some(3) && status.out.contains("is not called"), "{name}: {status:?}");
        let doctor = place.run(["doctor", "--project", &project]).await;
        assert_eq!(doctor.code, Some(1), "{name}: {doctor:?}");
        assert!(doctor.out.contains(&format!("pid {}", std::process::id())), "{name}: {doctor:?}");
        assert!(doctor.out.contains("it is not called"), "{name}: {doctor:?}");
        let (code, _) = gateway.end().await;
        assert_eq!(code, Some(0), "{name}");

        assert!(impostor.met() > met, "{name}: it was connected to, so it could have heard something");
        assert_eq!(impostor.heard(), 0, "{name}: it heard something");
    }
    let project = place.path("NoEditor");
    let named =
        place.run(["call", "echo", "--timeout", "1", "--project", text(&project), "--port", &impostor.at()]).await;
    assert_eq!(named.code, Some(3), "{named:?}");
    assert!(impostor.heard() > 0, "a port that the user named is called");
}

// ---- the push port -------------------------------------------------------------------------------------------------

#[tokio::test]
async fn garbage_on_the_push_port_changes_nothing() {
    let place = Place::new();
    // The greeting contains the push endpoint, so a relay reads it before the editor does.
    let unity = Unity::start(&place, &[]).await;
    let relay = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let port = relay.local_addr().expect("bound").port();
    let (told, mut endpoint) = tokio::sync::mpsc::channel(1);
    let to = unity.port;
    let relaying = tokio::spawn(async move {
        while let Ok((mut client, _)) = relay.accept().await {
            let mut editor = TcpStream::connect(("127.0.0.1", to)).await.expect("it listens");
            let mut first = vec![0; 4096];
            let Ok(count @ 1..) = client.read(&mut first).await else { continue };
            let text = String::from_utf8_lossy(&first[..count]).into_owned();
            let named =
                text.split("\"PushNotificationEndpoint\":\"127.0.0.1:").nth(1).and_then(|rest| rest.split('"').next());
            let _ = told.try_send(named.and_then(|port| port.parse::<u16>().ok()));
            editor.write_all(&first[..count]).await.expect("it listens");
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut editor).await });
        }
    });
    let mut gateway = Server::start(&place, &["--port", &port.to_string()]).await;
    let push = within("the push endpoint", endpoint.recv()).await.flatten().expect("the greeting names it");
    gateway.status_that("readiness", |status| status["editor"]["ready"] == true).await;

    let long = vec![b'x'; 1 << 20];
    let deep = "[".repeat(100_000);
    let garbage: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff\xfe\n\x00\x00\n",
        b"{\"type\":\"NO_SUCH_TYPE\"}\n{\"type\":7}\n{}\n[]\nnull\n",
        &long,
        deep.as_bytes(),
        b"{\"type\":\"DOMAIN_RELOAD\"",
        b"",
    ];
    for bytes in garbage {
        let mut socket = TcpStream::connect(("127.0.0.1", push)).await.expect("the push port is open");
        // The gateway may close the socket before everything is written.
        let _ = within("room in the socket", socket.write_all(bytes)).await;
    }
    let mut many = Vec::new();
    for _ in 0..20 {
        many.push(TcpStream::connect(("127.0.0.1", push)).await.expect("the push port is open"));
    }
    let result = gateway.call("echo", json!({"text": "x"})).await;
    assert_eq!(words(&result), r#"{"Echo":"x","Ver":"2.2.0"}"#);
    let status = gateway.status().await;
    assert_eq!(
        (&status["editor"]["connections"], &status["gateway"]["actor_restarts"]),
        (&json!(1), &json!({})),
        "{status}"
    );
    let (code, _) = gateway.end().await;
    assert_eq!(code, Some(0));
    relaying.abort();
}
