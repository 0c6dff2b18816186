//! Unusual requests of a client: a reused id, batches, more requests than the gateway accepts.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use super::Room;
use super::client::{Client, Verdict, command};
use super::unity::Unity;

/// Starts a client with this protocol version. Also returns the read end of the gateway's stdout, because the client's own
/// reader does not accept arrays.
fn raw(room: &Room, version: &str, arguments: &[&str]) -> (Client, BufReader<std::process::ChildStdout>) {
    let mut command = command(room);
    command.args(arguments);
    let mut client = Client::deaf(room, command);
    let mut stdout = BufReader::new(client.take_stdout());
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "batches", "version": "1"}});
    client.send(&json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params}));
    assert_eq!(next(&mut stdout)["result"]["protocolVersion"], version);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    (client, stdout)
}

fn next(stdout: &mut impl BufRead) -> Value {
    loop {
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line of UTF-8");
        assert!(line.len() <= 8 * 1024 * 1024, "{} bytes", line.len());
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        // Notifications are not in arrays.
        if message.get("method").is_none() {
            return message;
        }
    }
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_batch_of_2025_03_26_is_answered_as_one_array_and_without_what_wants_no_answer() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let (mut client, mut stdout) = raw(&room, "2025-03-26", &["--port", &unity.port.to_string()]);
    let count = |id, key: &str| request(id, "tools/call", json!({"name": "count", "arguments": {"key": key}}));
    client.send(&json!([
        request(1, "ping", json!({})),
        count(2, "in a batch"),
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        // The call is long enough for the cancel to arrive before it ends.
        request(3, "tools/call", json!({"name": "sleep", "arguments": {"ms": 3000}})),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}},
        request(4, "initialize", json!({})),
        request(1, "no/such/method", json!({})),
        7,
    ]));
    let answers = next(&mut stdout);
    let of = |id: Value| -> Vec<&Value> {
        answers.as_array().expect("an array").iter().filter(|answer| answer["id"] == id).collect()
    };
    assert!(
        of(json!(2))[0]["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("in a batch")),
        "{answers}"
    );
    assert!(of(json!(3)).is_empty() && room.runs("in a batch") == 1, "{answers}");
    assert_eq!(
        (of(json!(4))[0]["error"]["code"].clone(), of(Value::Null)[0]["error"]["code"].clone()),
        (json!(-32600), json!(-32600))
    );
    assert!(of(json!(1)).iter().any(|answer| answer["result"] == json!({})), "{answers}");
    // A batch with only notifications, an empty batch, and a single answer, which is an array too.
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/whatever"}]));
    client.send(&json!([]));
    let refused = next(&mut stdout);
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    client.send(&json!([request(5, "ping", json!({}))]));
    assert_eq!(next(&mut stdout), json!([{"jsonrpc": "2.0", "id": 5, "result": {}}]));
    // The answers exceed the size of one line: three results of 4 MB of text are sent in several arrays, each below the
    // limit.
    let big = |id| request(id, "tools/call", json!({"name": "big", "arguments": {"n": 4_000_000}}));
    client.send(&json!([big(6), big(7), big(8)]));
    let mut left = vec![json!(6), json!(7), json!(8)];
    while !left.is_empty() {
        let answers = next(&mut stdout);
        for answer in answers.as_array().expect("an array") {
            left.retain(|id| *id != answer["id"]);
        }
    }
    // An array inside of a batch is not a message.
    client.send(&json!([[request(9, "ping", json!({}))]]));
    let refused = next(&mut stdout)[0]["error"]["message"].to_string();
    assert!(refused.contains("not a JSON object"), "{refused}");
    // The batch has more calls than may be open, but each must be answered.
    let batch = (100..1100).map(|id| if id % 2 == 0 { request(id, "ping", json!({})) } else { count(id, "many") });
    client.send(&Value::Array(batch.collect()));
    let mut left: std::collections::BTreeSet<u64> = (100..1100).collect();
    while !left.is_empty() {
        let answers = next(&mut stdout);
        for answer in answers.as_array().expect("an array") {
            assert!(left.remove(&answer["id"].as_u64().expect("its own id")), "{answer}");
        }
    }
}

#[test]
fn a_batch_written_at_once_with_the_handshake_is_answered() {
    let room = Room::new();
    let mut client = Client::deaf(&room, command(&room));
    let mut stdout = BufReader::new(client.take_stdout());
    let params =
        json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "batches", "version": "1"}});
    client.send(&request(1, "initialize", params));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!([request(2, "ping", json!({})), request(3, "tools/list", json!({}))]));
    assert_eq!(next(&mut stdout)["id"], 1);
    let answers = next(&mut stdout);
    assert!(answers.as_array().is_some_and(|answers| answers.len() == 2), "{answers}");
}

#[test]
fn a_batch_of_another_version_is_refused_and_nothing_in_it_runs() {
    let room = Room::new();
    let (mut client, mut stdout) = raw(&room, "2025-06-18", &[]);
    client.send(&json!([request(1, "ping", json!({}))]));
    let refused = next(&mut stdout);
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
}

#[test]
fn a_client_that_hears_of_changes_gets_the_tools_of_a_running_editor_with_its_first_list() {
    let room = Room::new();
    let unity = Unity::start(&room, &["--quiet"]);
    let mut command = command(&room);
    command.args(["--port", &unity.port.to_string()]);
    let mut client = Client::spawn(&room, command);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}});
    let open = client.ask("initialize", &params);
    client.answer(open);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = client.tools();
    assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
    // The editor may connect before the client asks for the list.
    let told = client.notified("notifications/tools/list_changed");
    client.echoes();
    assert_eq!(client.notified("notifications/tools/list_changed"), told, "the list was whole");
    client.close(&room);
}

#[test]
fn an_id_that_is_used_again_after_a_cancel_gets_the_answer_of_its_second_request() {
    let room = Room::new();
    let _unity = Unity::of_project(&room, &["--quiet", "--dialect", "holdfast"]);
    let mut client = Client::open(&room, &["--project", &room.project().display().to_string()]);
    client.echoes();
    let mut asked = Vec::new();
    for round in 0..400 {
        // The editor answers this call only after its cancel, so the client must never get that answer.
        let (id, first) = client.request_line("tools/call", &json!({"name": "hold", "arguments": {}}));
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        let key = format!("second-{round}");
        let second = json!({"name": "count", "arguments": {"key": key}});
        let second = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": second});
        client.write(format!("{first}{cancel}\n{second}\n").as_bytes()).expect("the gateway reads stdin");
        let answer = client.answer(id);
        assert_eq!((answer.verdict(), &answer.body()["Key"]), (Verdict::Ok, &json!(key)), "{}", answer.0);
        asked.push((round, key));
    }
    client.echoes();
    for (round, key) in asked {
        assert_eq!(room.runs(&key), 1, "round {round}");
    }
    client.close(&room);
}
