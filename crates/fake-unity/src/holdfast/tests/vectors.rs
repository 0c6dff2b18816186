//! Tests with the literal messages in `tests/vectors/holdfast/` that the editor writes or answers.

use super::*;
use crate::holdfast::desk::{Fixed, HoldfastFace, Own, Setup};
use crate::holdfast::package::Traits;
use crate::json::Object;
use crate::spec::text as text_param;
use crate::spec::{Param, ToolSpec};
use crate::work::{Begun, Fault};

fn file(name: &str) -> Value {
    let path = format!("{}/../../tests/vectors/holdfast/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

const fn spec(name: &'static str, params: &'static [Param]) -> ToolSpec {
    ToolSpec { name, about: "", development: false, params, timeout_seconds: 15, result: "" }
}

/// The tools that the vectors' conversations use.
static TOOLS: [Own; 5] = [
    Own {
        spec: spec("echo", &[text_param("Text", "\"\"", "")]),
        traits: Traits::of("echo", "echo"),
        run: |_, arguments| Begun::ok(Object::new().text("Text", &arguments.text("Text").unwrap_or_default())),
    },
    Own {
        spec: spec("fail", &[]),
        traits: Traits::of("fail", "fail"),
        run: |_, _| Begun::ok(Object::new().flag("Success", false).text("Message", "no such thing")),
    },
    Own {
        spec: spec("throw", &[]),
        traits: Traits::of("throw", "throw"),
        run: |_, _| Begun::fault(Fault::Internal("Thrown as asked".to_owned())),
    },
    Own {
        spec: spec("picture", &[]),
        traits: Traits::of("picture", "picture"),
        run: |turn, _| {
            turn.attach(Object::new().text("type", "image").text("data", "AQID").text("mimeType", "image/png"));
            turn.attach(Object::new().text("type", "text").text("text", "ein Bild"));
            Begun::ok(Object::new().number("Width", 1))
        },
    },
    Own { spec: spec("guarded", &[]), traits: Traits::of("guarded", "guarded"), run: |_, _| Begun::ok(Object::new()) },
];

const TOKEN: &str = "5f0c3a9e1b7d4826aa90cc31fe27d5580b64e9137fa2486dcd05b1e82a7f93c6";
const NONCE: &str = "00112233445566778899aabbccddeeff";

/// The port that the vectors' proofs cover.
const PORT: u16 = 8711;

/// The editor's and the gateway's proof of the conversations for this port.
fn proofs(port: u16) -> [String; 2] {
    let greeting = file("greeting");
    let hello = &greeting["vectors"][0]["means"];
    let [gateways, editors] = [text(hello, "challenge"), text(&greeting["environment"], "editor_challenge")];
    [
        proof::of_editor(TOKEN, [gateways, editors], NONCE, 4242, "/projects/Täst", port),
        proof::of_gateway(TOKEN, [editors, gateways], NONCE, text(hello, "gateway"), port),
    ]
}

/// Replaces the proofs for the port `from` by those for the port `to`.
fn with_proofs(message: &str, from: u16, to: u16) -> String {
    let ([editor, gateway], [new_editor, new_gateway]) = (proofs(from), proofs(to));
    message.replace(&editor, &new_editor).replace(&gateway, &new_gateway)
}

#[test]
fn the_proofs_are_the_vectors() {
    let greeting = file("greeting");
    let said = |vector: usize| text(&greeting["vectors"][vector]["means"], "proof").to_owned();
    assert_eq!(proofs(PORT), [said(1), said(2)]);
}

/// Starts an editor with the values of the vectors' environment instead of random ones.
async fn fixed(project: Option<std::path::PathBuf>) -> FakeUnity {
    let environment = &file("calls")["environment"];
    assert_eq!((text(environment, "token"), text(environment, "nonce")), (TOKEN, NONCE));
    let fixed = Fixed {
        nonce: NONCE,
        token: TOKEN,
        challenge: "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfb0b1b2b3b4b5b6b7b8b9babbbcbdbebf",
        project: "/projects/Täst",
        tools: &TOOLS,
    };
    let setup = Setup { blocked: vec!["guarded".to_owned()], test_tools: true, fixed: Some(fixed), ..Setup::default() };
    let face = HoldfastFace::with(setup);
    let config = FakeUnityConfig { package: &PACKAGE, pid: Some(4242), project, ..config() };
    FakeUnity::start_with(config, Arc::new(AbortiveTcp::default()), Arc::new(face)).await.unwrap()
}

/// Replaces the members that depend on the environment or the clock by the vector's values.
fn like_the_vector(unity: &FakeUnity, body: &str) -> String {
    let port = unity.port().unwrap();
    let mut body = with_proofs(body, port, PORT);
    let port = format!(r#""port":{port},"#);
    body = body.replace(&port, r#""port":8711,"#).replace(r#""generation":1,"#, r#""generation":3,"#);
    body = body.replace(r#""unityVersion":"2022.3.62f1""#, r#""unityVersion":"6000.0.78f1""#);
    for (start, end, put) in [
        (r#""durationMs":"#, "}", "0"),
        (r#""toolsRevision":"#, "}", r#""<revision>""#),
        (r#""updatedAt":"#, "}", r#""2026-01-31T12:34:56.789Z""#),
    ] {
        let mut from = 0;
        while let Some(at) = body[from..].find(start).map(|at| from + at + start.len()) {
            let stop = at + body[at..].find(end).unwrap();
            body.replace_range(at..stop, put);
            from = at + put.len();
        }
    }
    body
}

#[tokio::test]
async fn the_conversations_are_held_to_the_letter() {
    for name in ["greeting", "calls", "refusals"] {
        let unity = fixed(None).await;
        let mut client = Client::to(&unity).await;
        let mut answered = 0;
        for vector in file(name)["vectors"].as_array().unwrap() {
            let body = text(vector, "body");
            if vector["direction"] == "to_editor" {
                let frame = text(vector, "frame");
                assert_eq!(frame.split("\r\n\r\n").nth(1), Some(body), "the vector itself");
                let frame = with_proofs(frame, PORT, unity.port().unwrap());
                within(client.stream.write_all(frame.as_bytes())).await.unwrap();
            } else {
                let answer = client.text().await;
                assert_eq!(like_the_vector(&unity, &answer), body, "{name}: {}", vector["name"]);
                answered += 1;
            }
        }
        assert!(answered >= 2, "{name}: {answered}");
    }
}

#[tokio::test]
async fn the_instance_file_is_the_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let unity = fixed(Some(folder.path().into())).await;
    let written = std::fs::read_to_string(folder.path().join("Library/Holdfast/instance.json")).unwrap();
    assert_eq!(like_the_vector(&unity, &written), text(&file("instance")["vectors"][0], "body"));
}
