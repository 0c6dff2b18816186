//! Proofs that a call did not run. Each row of the table is tested with the package's own error, and with the same
//! words in every place that a tool can write to.

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::super::super::{Dialect, Inbound, Refusal, Reply};
use super::super::Uloop;
use super::super::errors::{Place, REFUSALS, Words};
use crate::protocol::dialect::umcp::Umcp;

const CALLED: &str = "call-me";

fn internal(message: &str) -> Value {
    json!({"type": "internal_error", "message": message})
}

/// Returns what this error object proves about a call of [`CALLED`].
fn proves(dialect: &dyn Dialect, error: &Value, names_editor: bool) -> Option<Refusal> {
    // uMCP's ids are bare numbers, uLoopMCP's are texts.
    let id = if dialect.name() == "umcp" { json!(3) } else { json!("holdfast.3") };
    let frame = to_raw_value(&json!({"jsonrpc": "2.0", "id": id, "error": error})).unwrap();
    match dialect.decode(frame.get().as_bytes()).unwrap() {
        Inbound::Reply { number: 3, reply: Reply::Error(error) } => {
            error.refusal.and_then(|refused| refused.for_call(CALLED, names_editor))
        }
        other => panic!("{other:?}"),
    }
}

/// The words of a row about this tool.
fn words(words: Words, tool: &str) -> String {
    match words {
        Words::OfEditor(exact) => exact.to_owned(),
        Words::OfTool(before, "") => format!("{before}{tool}"),
        Words::OfTool(before, after) => format!("{before}{tool}{after}and so on"),
    }
}

/// An error of the package with these words in this place.
fn of_package(place: Place, words: &str) -> Value {
    match place {
        Place::Headline => json!({"code": -32603, "message": words, "data": internal("")}),
        Place::Explained(explanation) => json!({"code": -32603, "message": words, "data": internal(explanation)}),
        Place::BlockedCommand => json!({
            "code": -32603,
            "message": "Tool blocked by security settings",
            "data": {"type": "security_blocked", "command": words, "reason": "Tool is blocked by security settings", "message": ""},
        }),
    }
}

#[test]
fn each_row_is_proof_in_its_place_alone() {
    for (place, row, how) in REFUSALS {
        let said = words(row, CALLED);
        let shape = of_package(place, &said);
        assert_eq!(proves(&Uloop, &shape, true), Some(how), "{shape}");
        let of_editor = matches!(row, Words::OfEditor(_));
        assert_eq!(proves(&Uloop, &shape, false), (!of_editor).then_some(how), "no editor was named: {shape}");
        let other = of_package(place, &words(row, "another"));
        assert_eq!(proves(&Uloop, &other, true).is_some(), of_editor, "another tool's refusal: {other}");
        let elsewhere = [
            json!({"code": -32603, "message": "Internal error", "data": internal(&said)}),
            json!({"code": -32603, "message": "Request timeout", "data": internal(&said)}),
            json!({"code": -32603, "message": "Internal error", "data": said}),
            json!({"code": -32603, "message": said, "data": internal(&said)}),
            json!({"code": -32603, "message": said, "data": internal("A tool's own words")}),
            json!({"code": -32603, "message": said, "data": {"message": ""}}),
            json!({"code": -32603, "message": said, "data": ""}),
            json!({"code": -32603, "message": said}),
            json!({"code": -32603, "message": "Internal error", "data": {"type": "internal_error", "command": said, "message": ""}}),
            json!({"code": -32603, "message": said, "data": {"type": "security_blocked", "message": ""}}),
            of_package(place, &format!("It failed: {said}")),
            of_package(place, &said.to_uppercase()),
        ];
        for error in elsewhere {
            assert_eq!(proves(&Uloop, &error, true), None, "{error}");
        }
        if of_editor || matches!(place, Place::BlockedCommand) {
            let longer = of_package(place, &format!("{said} (it ran)"));
            assert_eq!(proves(&Uloop, &longer, true), None, "{longer}");
        }
    }
}

/// `Unknown tool` is a message of the package, but a tool can throw the same bytes.
#[test]
fn what_a_tool_can_throw_byte_for_byte_is_no_proof() {
    for unknown in ["Unknown tool: call-me", "Unknown command: call-me", "Command not registered: call-me"] {
        for error in [
            json!({"code": -32603, "message": "Internal error", "data": internal(unknown)}),
            json!({"code": -32603, "message": "Internal error", "data": unknown}),
        ] {
            assert_eq!(proves(&Uloop, &error, true), None, "{error}");
            assert_eq!(proves(&Umcp, &error, true), None, "{error}");
        }
    }
}

#[test]
fn before_frames_only_the_security_settings_are_proof() {
    for (place, row, how) in REFUSALS {
        let shape = of_package(place, &words(row, CALLED));
        let meant = matches!(place, Place::BlockedCommand).then_some(how);
        assert_eq!(proves(&Umcp, &shape, true), meant, "{shape}");
    }
}
