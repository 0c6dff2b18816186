//! Foreign programs that impersonate the editor or the gateway, send to the push port, or simply misbehave.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::stage::{self, Stage, instance_file, on_both, words};
use super::wire::{Recorder, Wire, frame, take_frame};
use super::{Verdict, until};

/// A program that answers each connection's messages with its replies, one after the other, and records what it receives.
struct Impostor {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicUsize>,
}

impl Impostor {
    fn start(replies: Vec<Value>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (heard, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (hearing, counting) = (Arc::clone(&heard), Arc::clone(&connections));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counting.fetch_add(1, Ordering::SeqCst);
                let (hearing, replies) = (Arc::clone(&hearing), replies.clone());
                std::thread::spawn(move || {
                    let (mut unread, mut part, mut replies) = (Vec::new(), [0; 4096], replies.into_iter());
                    while let Ok(count @ 1..) = stream.read(&mut part) {
                        hearing.lock().expect("no holder panics").extend_from_slice(&part[..count]);
                        unread.extend_from_slice(&part[..count]);
                        while let Some(message) = take_frame(&mut unread) {
                            let Some(mut reply) = replies.next() else { continue };
                            reply["id"] = message["id"].clone();
                            let _ = stream.write_all(&frame(&reply));
                        }
                    }
                });
            }
        });
        Self { port, heard, connections }
    }

    fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().expect("no holder panics")).into_owned()
    }
}

fn messages(bytes: &[u8]) -> Vec<Value> {
    let mut bytes = bytes.to_vec();
    std::iter::from_fn(|| take_frame(&mut bytes)).collect()
}

/// Returns the messages between the gateway and the editor on their first connection: those to the editor, and those to the
/// gateway.
fn recorded(stage: &Stage, recorder: &Recorder) -> (Vec<Value>, Vec<Value>) {
    until("the greeting went by", || messages(&recorder.first().to_gateway).len() >= 2);
    let said = recorder.first();
    let token = stage.instance()["token"].as_str().expect("a token").to_owned();
    for bytes in [&said.to_editor, &said.to_gateway] {
        assert!(!String::from_utf8_lossy(bytes).contains(&token), "the token went over the wire");
    }
    (messages(&said.to_editor), messages(&said.to_gateway))
}

fn recording(runtime: stage::Runtime) -> (Stage, Recorder) {
    let mut recorder = None;
    let stage = Stage::with_gateway(runtime, &[], |port| {
        words(["--port", &recorder.insert(Recorder::start(port)).port.to_string()])
    });
    (stage, recorder.expect("it was started"))
}

#[test]
fn a_stranger_that_plays_the_editor_gets_no_call_whatever_it_replays() {
    on_both("impostor", &["X02", "N11"], |runtime, scenario| {
        let (mut stage, recorder) = recording(runtime);
        let (_, replies) = recorded(&stage, &recorder);
        assert!(replies[0]["result"]["proof"].is_string() && replies[1]["result"]["proven"] == true, "{replies:?}");
        // From here on, the editor's proofs cover its own port, as they do outside of these tests.
        stage.unity.say("forward");
        let mut lying = replies.clone();
        lying[0]["result"]["proof"] = json!("0".repeat(64));
        // Four impostors: the recorded conversation again; a false proof; no proof; another protocol.
        let plays = [
            replies,
            lying,
            vec![json!({"jsonrpc": "2.0", "result": {"proven": true}})],
            vec![json!({"jsonrpc": "2.0", "result": {"Message": "pong"}})],
        ];
        for (number, replies) in plays.into_iter().enumerate() {
            let impostor = Impostor::start(replies);
            // The user names this port, so only the proof keeps the calls from the impostor.
            let mut client = stage::gateway(&stage.room, &words(["--port", &impostor.port.to_string()]));
            let key = format!("call{number}");
            // The gateway finds the real editor's port in the instance file. That editor proves its identity, and gets the
            // call.
            let answer = client.done("count", &json!({"key": key}));
            assert_eq!(answer.verdict(), Verdict::Ok, "{}", answer.0);
            assert!(impostor.connections.load(Ordering::SeqCst) > 0, "it was never dialled");
            let heard = impostor.heard();
            assert!(heard.contains("holdfast/hello"), "{heard}");
            for secret in ["holdfast/call", "holdfast/prove", key.as_str()] {
                assert!(!heard.contains(secret), "a stranger heard {secret}");
            }
            assert_eq!(stage.room.runs(&key), 1);
            client.close(&stage.room);
            scenario.record.injected("a stranger that plays the editor");
            scenario.record.checked("I9", 1);
        }
        // A stranger that passes every byte on to the real editor, as one could that took the editor's port during a reload. The
        // editor's proof is for another port, so the gateway goes on at the editor's own.
        let relay = Recorder::start(stage.unity.port);
        let mut client = stage::gateway(&stage.room, &words(["--port", &relay.port.to_string()]));
        assert_eq!(client.done("count", &json!({"key": "relayed"})).verdict(), Verdict::Ok);
        let heard = String::from_utf8_lossy(&relay.first().to_editor).into_owned();
        assert!(heard.contains("holdfast/hello"), "{heard}");
        for secret in ["holdfast/call", "holdfast/prove", "relayed"] {
            assert!(!heard.contains(secret), "a stranger heard {secret}");
        }
        assert!(client.log().contains("was called: another program may stand between"), "{}", client.log());
        assert_eq!(stage.room.runs("relayed"), 1);
        client.close(&stage.room);
        scenario.record.injected("a stranger that passes everything on");
        scenario.record.checked("I9", 1);
        // If the instance file names the port of a foreign program, that program does not even get a greeting, because the
        // port belongs to another process.
        let impostor = Impostor::start(Vec::new());
        let honest = std::fs::read_to_string(instance_file(&stage.room)).expect("the file");
        let mut forged: Value = serde_json::from_str(&honest).expect("JSON");
        forged["port"] = json!(impostor.port);
        std::fs::write(instance_file(&stage.room), forged.to_string()).expect("written");
        let mut client = stage::gateway(&stage.room, &[]);
        let id = client.call("count", &json!({"key": "by-the-file"}));
        until("it was dialled", || impostor.connections.load(Ordering::SeqCst) > 0);
        std::fs::write(instance_file(&stage.room), honest).expect("written");
        assert_eq!(client.answer(id).verdict(), Verdict::Ok);
        assert_eq!(impostor.heard(), "", "a byte went to a stranger");
        scenario.record.checked("I9", 1);
        client.close(&stage.room);
        stage.client.echoes();
        stage.close(scenario);
    });
}

#[test]
fn a_stranger_on_the_push_port_has_no_effect() {
    on_both("push-stranger", &["X01"], |runtime, scenario| {
        let (mut stage, recorder) = recording(runtime);
        let (requests, _) = recorded(&stage, &recorder);
        let push = &requests[0]["params"]["push"];
        let port: u16 =
            push["endpoint"].as_str().and_then(|text| text.rsplit(':').next()?.parse().ok()).expect("a port");
        let token = push["token"].as_str().expect("a token").to_owned();
        let tell = |kinds: &[&str], token: Option<&str>| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the push port");
            for (number, kind) in kinds.iter().enumerate() {
                let mut line = json!({"type": kind, "sequence": number + 1, "timestamp": "", "payload": {}});
                if let Some(token) = token {
                    line["token"] = json!(token);
                }
                stream.write_all(format!("{line}\n").as_bytes()).expect("it is read");
            }
        };
        let logged = stage.log_end();
        let wrong = token.chars().rev().collect::<String>();
        for kind in ["UNITY_SHUTDOWN", "USER_DISCONNECT", "DOMAIN_RELOAD", "TOOLS_CHANGED", "CONNECTION_ESTABLISHED"] {
            for token in [None, Some(""), Some(wrong.as_str())] {
                let before = stage.log_end();
                tell(&[kind], token);
                scenario.record.injected("a stranger's push message");
                stage.logged(before, "push_ignored");
            }
        }
        stage.client.echoes();
        for effect in ["link_down", "tools_listed"] {
            assert_eq!(stage.count_logged(logged, effect), 0, "a stranger had an effect: {effect}");
        }
        scenario.record.checked("I9", 15);
        // If the gateway believed the forged message that the editor quits, it would take this cut for the editor's end, and
        // would not ask the journal.
        let work = stage.begun("work", &json!({"key": "work", "ms": 50}));
        recorder.cut();
        let answer = stage.client.answer(work);
        assert_eq!((answer.verdict(), stage.room.runs("work")), (Verdict::Ok, 1), "{}", answer.0);
        let announced = |stage: &Stage| {
            let log = stage.client.log();
            log.contains(r#""reason":"quit""#) || log.contains(r#""reason":"reload""#)
        };
        assert!(!announced(&stage), "a stranger's word was believed");
        // With the token, the gateway believes an announced reload, which proves that this test would notice it. The gateway
        // asks for the list after that message.
        until("the editor's own word is believed", || {
            until("it is back", || stage.client.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
            let before = stage.log_end();
            tell(&["DOMAIN_RELOAD", "TOOLS_CHANGED"], Some(&token));
            stage.logged(before, "tools_listed");
            recorder.cut();
            stage.logged(before, "link_down");
            announced(&stage)
        });
        until("it comes back", || stage.client.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
        stage.close(scenario);
    });
}

#[test]
fn a_gateway_that_does_not_know_the_token_runs_nothing() {
    on_both("wrong-token", &["X02"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let challenge = "0123456789abcdef".repeat(4);
        let hello = json!({"protocol": 2, "gateway": "stranger", "clientName": "stranger", "challenge": challenge});
        for proof in ["0".repeat(64), String::new(), challenge.clone()] {
            let mut wire = Wire::connect(stage.unity.port);
            let call = json!({"callId": "stranger", "seq": 1, "tool": "count", "arguments": {"key": "stranger"}});
            assert_eq!(wire.ask("holdfast/call", &call)["error"]["data"]["type"], "not_proven");
            // uLoopMCP's methods are refused too, as long as the user has not allowed them.
            let refused = wire.ask("count", &json!({"key": "stranger"}));
            assert_eq!(refused["error"]["data"]["type"], "not_proven", "{refused}");
            assert!(
                refused["error"]["message"].as_str().is_some_and(|text| text.contains("Window > Holdfast")),
                "{refused}"
            );
            assert!(wire.ask("holdfast/hello", &hello)["result"]["challenge"].is_string());
            let refused = wire.ask("holdfast/prove", &json!({"proof": proof}));
            assert_eq!(refused["error"]["data"]["ran"], false, "{refused}");
            if refused["error"]["data"]["type"] == "not_proven" {
                wire.ends();
            } else {
                assert_eq!(wire.ask("holdfast/call", &call)["error"]["data"]["type"], "not_proven");
            }
            scenario.record.checked("I9", 1);
        }
        // A real gateway that read another token: neither side accepts the other until the file is right again.
        let honest = std::fs::read_to_string(instance_file(&stage.room)).expect("the file");
        let mut forged: Value = serde_json::from_str(&honest).expect("JSON");
        forged["token"] = json!("f".repeat(64));
        std::fs::write(instance_file(&stage.room), forged.to_string()).expect("written");
        let mut client = stage::gateway(&stage.room, &[]);
        let id = client.call("count", &json!({"key": "other-token"}));
        until("the greeting failed", || client.log().contains("does not know the token"));
        assert_eq!(stage.room.runs("other-token"), 0);
        std::fs::write(instance_file(&stage.room), honest).expect("written");
        let answer = client.answer(id);
        let runs = stage.room.runs("other-token");
        assert!(
            matches!((answer.verdict(), runs), (Verdict::Ok, 1) | (Verdict::NotExecuted, 0)),
            "{runs}: {}",
            answer.0
        );
        until("it is believed", || client.done("echo", &json!({"text": "x"})).verdict() == Verdict::Ok);
        client.close(&stage.room);
        stage.client.echoes();
        assert_eq!(stage.room.runs("stranger"), 0);
        stage.close(scenario);
    });
}

/// Far more bytes than a foreign program may send in one message.
const FLOOD_BYTES: usize = 64 << 20;

#[test]
fn clients_that_flood_crowd_and_never_close_do_not_disturb_the_gateways_calls() {
    on_both("ill-behaved", &["N07", "N08"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &[]);
        let idle = stage.stats();
        let (port, done) = (stage.unity.port, AtomicBool::new(false));
        let mut calls = 0;
        std::thread::scope(|scope| {
            let abuse = scope.spawn(|| {
                let mut never_closes = Wire::connect(port);
                assert!(never_closes.send(b"Content-Length: 10\r\n\r\n{"));
                garbage(port);
                flood(port);
                crowd(port);
                done.store(true, Ordering::SeqCst);
            });
            while !done.load(Ordering::SeqCst) && !abuse.is_finished() {
                let key = format!("n{calls}");
                let answer = stage.client.done("count", &json!({"key": key}));
                assert_eq!((answer.verdict(), stage.room.runs(&key)), (Verdict::Ok, 1), "{}", answer.0);
                calls += 1;
            }
        });
        assert!(calls >= 3, "only {calls} calls while it was disturbed");
        assert_eq!(stage.count_logged(0, "link_down"), 0, "the gateway's connection fell");
        let late = stage.settled_stats(|stats| stats["sockets"].as_u64() <= idle["sockets"].as_u64());
        assert!(late["sockets"].as_u64() <= idle["sockets"].as_u64(), "sockets are left behind: {idle} -> {late}");
        scenario.record.figure("calls_meanwhile", f64::from(calls));
        for invariant in ["I4", "I8"] {
            scenario.record.checked(invariant, 1);
        }
        stage.close(scenario);
    });
}

fn garbage(port: u16) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut kinds: Vec<Vec<u8>> = [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"Content-Length: -1\r\n\r\n{}",
        b"Content-Length: 99999999999999999999\r\n\r\n{}",
        b"\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    ]
    .iter()
    .map(|bytes| bytes.to_vec())
    .collect();
    kinds.extend((0..20).map(|_| std::iter::repeat_with(|| random.u8(..)).take(16 * 1024).collect()));
    for bytes in kinds {
        let mut wire = Wire::connect(port);
        wire.send(&bytes);
        wire.ends();
    }
}

/// Sends one message that is too long, then the same number of bytes in small ones.
fn flood(port: u16) {
    let mut wire = Wire::connect(port);
    wire.send(format!("Content-Length: {FLOOD_BYTES}\r\n\r\n").as_bytes());
    let part = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < FLOOD_BYTES && wire.send(&part) {
        sent += part.len();
    }
    wire.ends();
    let mut wire = Wire::connect(port);
    let pad = "x".repeat(512 * 1024);
    for _ in 0..FLOOD_BYTES / pad.len() {
        assert!(wire.ask("holdfast/status", &json!({"pad": pad}))["result"].is_object());
    }
}

fn crowd(port: u16) {
    let wires: Vec<Wire> = (0..100).map(|_| Wire::connect(port)).collect();
    drop(wires);
}
