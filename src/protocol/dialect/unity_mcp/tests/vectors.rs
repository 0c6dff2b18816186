//! Runs every golden vector of `tests/vectors/unity-mcp/`. `tests/vectors/README.md` describes the format.

use std::collections::BTreeSet;

use super::*;

pub(super) fn all() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/unity-mcp");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        assert_eq!(file["dialect"], "unity-mcp");
        out.extend(file["vectors"].as_array().unwrap().iter().cloned());
    }
    out
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn ask_of(vector: &Value) -> Request {
    let means = &vector["means"];
    let id = WireId {
        number: means["number"].as_u64().unwrap(),
        call: means["call"].as_str().and_then(CallId::parse),
        agreed: None,
    };
    let encoded = match text(&means["kind"]) {
        "greeting" => UnityMcp.encode(id, &Order::Greeting { hello: &Hello::default(), said: &[] }),
        "list_tools" => UnityMcp.encode(id, &Order::ListTools { step: 0, development: true }),
        "pulse" => UnityMcp.encode(id, &Order::Heartbeat),
        "call" => {
            let tool = text(&means["tool"]);
            let call = prepared(tool, text(&means["arguments"]));
            UnityMcp.encode(id, &Order::Call { tool, call: &call, expected: None, progress: false })
        }
        kind => panic!("{kind}"),
    };
    match encoded.unwrap() {
        Encoded::Request(request) => request,
        frame @ Encoded::Frame(_) => panic!("{frame:?}"),
    }
}

#[test]
fn every_vector_says_where_it_is_from() {
    let vectors = all();
    let names: BTreeSet<_> = vectors.iter().map(|vector| (text(&vector["direction"]), text(&vector["name"]))).collect();
    for vector in &vectors {
        assert!(["observed", "read", "inferred"].contains(&text(&vector["provenance"])), "{}", vector["name"]);
        assert!(!text(&vector["versions"]).is_empty());
    }
    assert!(names.len() >= vectors.len() - 1, "names are unique in their files");
}

#[test]
fn requests_are_sent_byte_for_byte() {
    let mut seen = 0;
    for vector in all().iter().filter(|vector| vector["direction"] == "to_editor") {
        let ask = ask_of(vector);
        assert_eq!(ask.body, text(&vector["body"]), "{}", vector["name"]);
        let frame = ask.encode(8082, None);
        assert_eq!(std::str::from_utf8(&frame).unwrap(), text(&vector["frame"]), "{}", vector["name"]);
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn responses_mean_what_their_vectors_say() {
    let vectors = all();
    let mut seen = 0;
    for vector in vectors.iter().filter(|vector| vector["direction"] == "from_editor") {
        let (name, means) = (text(&vector["name"]), &vector["means"]);
        let asked = vectors.iter().find(|asked| asked["direction"] == "to_editor" && asked["name"] == means["request"]);
        let path = ask_of(asked.unwrap_or_else(|| panic!("{name} answers nothing"))).path.into_owned();
        let status = u16::try_from(means["status"].as_u64().unwrap()).unwrap();
        seen += 1;
        if let Some(greets) = means["greets"].as_bool() {
            let greeted = UnityMcp.check_greeting(&Hello::default(), &[ping(status, text(&vector["body"]))]);
            assert_eq!(greeted.is_ok(), greets, "{name}: {greeted:?}");
            continue;
        }
        let answer = UnityMcp.read_answer(reply(&path, status, text(&vector["body"])));
        let AnswerBody::Json(json) = answer.body else { panic!("{name}") };
        let said: Value = serde_json::from_str(json.get()).unwrap();
        assert_eq!(Some(answer.is_error), means["is_error"].as_bool(), "{name}: {said}");
        for (member, meant) in [("status", "answer"), ("executed", "executed"), ("is_complete", "is_complete")] {
            assert_eq!(said[member], means[meant], "{name}: {said}");
        }
        assert_eq!(said["log_id"], CALL, "{name}");
        assert!(!text(&said["message"]).is_empty(), "{name}");
        match means["result"].as_str() {
            // The result must keep the editor's text, including numbers and spaces.
            Some(result) => assert!(json.get().contains(&format!("\"result\":{result},")), "{name}: {json}"),
            None => assert!(said["result"].is_null(), "{name}: {said}"),
        }
    }
    assert_eq!(seen, 23);
}
