//! Calls from a shell: those of a file, those with an id of their own, and the JSON that each of them ends with.

use holdfast_fake_unity::Package;
use serde_json::Value;

use crate::binary::{Done, Place, Unity, finish, text, within};

/// A project with an editor.
struct Shell {
    place: Place,
    unity: Unity,
    project: String,
}

impl Shell {
    async fn open(flags: &[&str]) -> Self {
        let place = Place::new();
        let project = text(&place.path("Castle")).to_owned();
        let words = ["--project", &project, "--dialect", Package::with_a_journal().name];
        let unity = Unity::start(&place, &[&words[..], flags].concat()).await;
        Self { place, unity, project }
    }

    /// Runs a command on the project, with a text on its stdin.
    async fn says(&self, words: &[&str], input: &str) -> Done {
        let words = words.iter().copied().chain(["--project", &self.project]);
        finish(self.place.command(words), input.as_bytes()).await
    }

    async fn runs(&mut self, key: &str) -> Value {
        self.unity.say("stats").await;
        self.unity.hear("stats").await["stats"]["runs"][key].clone()
    }
}

#[tokio::test]
async fn the_calls_of_a_file_are_made_until_one_fails_and_each_line_says_whether_it_ran() {
    let mut shell = Shell::open(&[]).await;
    let file =
        "# a comment\necho text=\"a b\"\n\n{\"tool\":\"count\",\"arguments\":{\"key\":\"one\"}}\nfail\ncount key=two\n";
    let done = shell.says(&["batch", "-"], file).await;
    assert_eq!((done.code, done.out.lines().count()), (Some(1), 2), "{done:?}");
    assert!(done.out.starts_with("{\"Echo\":\"a b\"") && done.out.contains("\"Runs\":1"), "{done:?}");
    for says in [
        "line 2: echo: it ran (",
        "line 4: count: it ran (",
        "line 5: fail: it ran, and failed (",
        "nothing was sent: 6.",
    ] {
        assert!(done.err.contains(says), "{says}: {done:?}");
    }
    assert_eq!((shell.runs("one").await, shell.runs("two").await), (1.into(), Value::Null));

    let path = shell.place.write("calls", file);
    let done = shell.says(&["batch", text(&path), "--json"], "").await;
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().map(|line| (line["line"].as_u64(), line["verdict"].as_str())).collect();
    assert_eq!(told, [(Some(2), Some("ok")), (Some(4), Some("ok")), (Some(5), Some("tool_error"))], "{done:?}");
    shell.unity.quit().await;
}

#[tokio::test]
async fn nothing_of_a_file_with_a_mistake_is_sent() {
    let mut shell = Shell::open(&[]).await;
    for wrong in
        ["echo 'a", "count --json", "sleep ms=long", "echo text:=x", "{\"tool\":1}", "echo -", "[1]", "ecoh text=x"]
    {
        let done = shell.says(&["batch", "-"], &format!("count key=k\n\n{wrong}\n")).await;
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{wrong}: {done:?}");
        assert!(done.err.contains("line 3: ") && done.err.contains("Nothing was sent"), "{wrong}: {done:?}");
    }
    for file in ["/no/such/file", text(&shell.place.path("elsewhere"))] {
        let done = shell.says(&["batch", file], "").await;
        assert!(done.code == Some(2) && done.err.contains("cannot be read"), "{done:?}");
    }
    assert_eq!(shell.runs("k").await, Value::Null);
    let done = shell.says(&["batch", "-"], "# nothing\n").await;
    assert_eq!(done.code, Some(0), "{done:?}");
    shell.unity.quit().await;
}

#[tokio::test]
async fn an_id_is_one_call_however_often_it_is_given() {
    const ID: &str = "0f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11";
    let mut shell = Shell::open(&["--block-tool", "sleep"]).await;
    let refused = shell.says(&["call", "sleep", "ms=1", "--id", ID], "").await;
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let words = ["call", "count", "key=k", "--id", ID];
    let first = shell.says(&words, "").await;
    assert_eq!(first.code, Some(0), "what did not run leaves the id free: {first:?}");
    let again = shell.says(&words, "").await;
    assert_eq!((again.code, &again.out), (Some(0), &first.out), "{again:?}");
    assert!(again.err.contains("nothing was sent"), "{again:?}");
    let json = shell.says(&[&words[..], &["--json"]].concat(), "").await.json();
    assert_eq!((&json["verdict"], &json["call_id"], &json["ran"]), (&"ok".into(), &ID.into(), &"yes".into()));
    assert_eq!(shell.says(&["result", ID], "").await.out, first.out);
    assert_eq!(shell.runs("k").await, 1);

    // Several at once.
    let id = "1f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11";
    let words = ["call", "count", "key=race", "--id", id];
    let all = (0..6).map(|_| shell.says(&words, ""));
    for done in futures_util::future::join_all(all).await {
        assert!(matches!(done.code, Some(0 | 4)), "{done:?}");
    }
    assert_eq!(shell.runs("race").await, 1);
    assert_eq!(shell.says(&["call", "count", "--id", "12"], "").await.code, Some(2));

    let other = shell.says(&["call", "echo", "text=x", "--id", ID], "").await;
    assert!(other.code == Some(2) && other.err.contains("a call of `count`"), "{other:?}");
    let own = shell.says(&["call", "holdfast_status", "--id", "3f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11"], "").await;
    assert_eq!(own.code, Some(2), "{own:?}");
    // Where ids cannot be noted, it is not known whether this one ran.
    for number in 0..110 {
        shell.place.write(&format!("state/ids/12/x{number}"), "");
    }
    let full =
        shell.says(&["call", "count", "key=full", "--id", "3f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b12", "--json"], "").await;
    assert_eq!((full.code, full.json()["ran"].as_str()), (Some(4), Some("unknown")), "{full:?}");
    assert_eq!(shell.runs("full").await, Value::Null);
    shell.unity.quit().await;
}

#[tokio::test]
async fn a_killed_call_with_an_id_is_not_made_again_by_the_script_that_is_run_again() {
    const ID: &str = "2f6f1c1e-4b0c-4a52-9d0c-3e8d5a3f7b11";
    let mut shell = Shell::open(&[]).await;
    let words = ["call", "count", "key=k", "hold:=true", "--id", ID, "--timeout", "20", "--project"];
    let mut killed = shell.place.command(words.into_iter().chain([&*shell.project])).spawn().unwrap();
    within("the editor has the call", async { while shell.runs("k").await != 1 {} }).await;
    killed.kill().await.unwrap();
    shell.unity.say("release").await;
    let again = shell.says(&words[..words.len() - 1], "").await;
    assert!(again.code == Some(0) && again.out.contains("\"Runs\":1"), "{again:?}");
    // What an earlier command left is no part of another one's result.
    let other = shell.says(&["call", "echo", "text=x"], "").await;
    assert_eq!(other.out.lines().count(), 1, "{other:?}");
    assert!(other.out.starts_with("{\"Echo\":\"x\"") && other.err.lines().count() == 1, "{other:?}");
    assert_eq!(shell.runs("k").await, 1);
    shell.unity.quit().await;
}

#[tokio::test]
async fn no_name_and_no_result_steers_the_terminal() {
    let shell = Shell::open(&[]).await;
    let wild = "a\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}5m\nholdfast: forged";
    let text = format!("text={wild}");
    let line = serde_json::json!({"tool": wild}).to_string();
    for (words, input) in [(&["call", "throw", &text][..], ""), (&["call", wild], ""), (&["batch", "-"], &*line)] {
        let done = shell.says(words, input).await;
        let is_wild = |letter: char| letter.is_control() && letter != '\n';
        assert!(!done.err.contains(is_wild), "{done:?}");
        let json = shell.says(&[words, &["--json"]].concat(), input).await;
        assert!(!json.out.contains(is_wild) && json.out.lines().count() <= 1, "{json:?}");
    }
    let forged = shell.says(&["call", wild], "").await;
    assert!(!forged.err.lines().any(|line| line.starts_with("holdfast: forged")), "{forged:?}");
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let deep = shell.says(&["call", "echo", &deep, "--json"], "").await;
    assert_eq!((deep.code, deep.json()["ran"].as_str()), (Some(2), Some("no")), "{deep:?}");
    shell.unity.quit().await;
}

#[tokio::test]
async fn however_a_call_ends_its_json_has_the_same_members() {
    let shell = Shell::open(&["--block-tool", "count"]).await;
    let rows: [(&[&str], &str, &str, i32); 8] = [
        (&["echo", "text=x"], "ok", "yes", 0),
        (&["holdfast_status"], "ok", "yes", 0),
        (&["fail"], "tool_error", "yes", 1),
        (&["echo", "x"], "not_executed", "no", 2),
        (&["no_such_tool"], "not_executed", "no", 2),
        (&["count", "key=k"], "not_executed", "no", 3),
        (&["echo", "--deny", "echo"], "not_executed", "no", 3),
        (&["hold", "--timeout", "1"], "still_running", "unknown", 4),
    ];
    let members = ["tool", "call_id", "verdict", "cause", "ran", "exit_code", "result", "error"];
    for (words, verdict, ran, code) in rows {
        let done = shell.says(&[&["call"], words, &["--json"]].concat(), "").await;
        let json = done.json();
        let seen: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(seen, members, "{words:?}");
        assert_eq!(done.code, Some(code), "{words:?}: {done:?}");
        assert_eq!((&json["verdict"], &json["ran"]), (&verdict.into(), &ran.into()), "{words:?}: {json}");
        assert_eq!(json["exit_code"], code, "{words:?}");
    }
    shell.unity.quit().await;
}
