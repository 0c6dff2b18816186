//! Which tools a client lists, and how the others are found and called.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::limits::{TOOLS_LISTED_MAX, TOOLS_SHOWN_MAX, TOOLS_SHOWN_MAX_BYTES};
use crate::protocol::dialect::{self, EditorTool, InputSchema};
use crate::protocol::policy::{Toolset, unstated};

fn tool(name: &str, group: Option<&str>) -> EditorTool {
    EditorTool {
        name: name.to_owned(),
        description: format!("Does {name}. And more."),
        input_schema: json!({"type": "object", "properties": {}})
            .as_object()
            .map(InputSchema::from)
            .unwrap_or_default(),
        annotations: unstated(),
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: group.map(str::to_owned),
        other_names: Vec::new(),
    }
}

fn of(tools: impl IntoIterator<Item = EditorTool>) -> Arc<Catalogue> {
    Arc::new(Catalogue::new(tools, false))
}

fn numbered(count: usize) -> Arc<Catalogue> {
    of((0..count).map(|nth| tool(&format!("t{nth}"), None)))
}

fn terms<'a>(tools_max: Option<usize>, toolsets: &'a [Toolset], found: &'a [String]) -> Terms<'a> {
    Terms { tools_max, toolsets, found }
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.entries().iter().map(|entry| entry.name.as_str()).collect()
}

/// What `tools/list` has: the names of all tools.
fn list(catalogue: &Catalogue) -> Vec<String> {
    let list = one_line(&catalogue.list_result(&ProtocolVersion::LATEST.into()));
    let tools = list["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

const OWN: usize = GatewayTool::ALL.len();
/// The most tools that are all listed: without a rest, the tool that finds it is not listed.
const ALL_LISTED: usize = TOOLS_LISTED_MAX - (OWN - 1);

#[test]
fn a_list_that_fits_is_whole_and_a_longer_one_keeps_the_editors_order_and_names_the_rest() {
    let nothing = terms(None, &[], &[]);
    for count in [0, 1, ALL_LISTED] {
        let all = numbered(count);
        assert!(Arc::ptr_eq(&all.listed(&nothing), &all));
        let listed = list(&all);
        assert!(listed.len() == count + OWN - 1 && !listed.contains(&"holdfast_tools".to_owned()), "{listed:?}");
    }
    for count in [ALL_LISTED + 1, 500] {
        let all = numbered(count);
        let listed = all.listed(&nothing);
        assert_eq!(list(&listed).len(), TOOLS_LISTED_MAX);
        assert_eq!(names(&listed), &names(&all)[..TOOLS_LISTED_MAX - OWN]);
        assert_eq!(listed.rest().iter().map(String::as_str).collect::<Vec<_>>(), names(&all)[TOOLS_LISTED_MAX - OWN..]);
        let result = one_line(&listed.list_result(&ProtocolVersion::STATELESS.into()));
        let finds = result["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "holdfast_tools").unwrap();
        let says = finds["description"].as_str().unwrap();
        assert!(says.contains(&format!("{} tools are not listed: t34", listed.rest().len())), "{says}");
        assert_eq!(finds["annotations"]["readOnlyHint"], false);
        assert!(all.find("t35").is_some(), "it can be called by its name");
    }
}

#[test]
fn what_the_packages_facts_name_comes_before_the_editors_order() {
    for dialect in dialect::ALL.iter() {
        let properties = dialect.properties();
        let roles = properties.roles;
        let facts = [roles.compile, roles.code, roles.play_mode].concat().into_iter().map(|name| tool(name, None));
        let groups = properties.listed_first.iter().map(|group| tool(&format!("of-{group}"), Some(group)));
        let first: Vec<EditorTool> = facts.chain(groups).collect();
        let others = (0..60).map(|nth| tool(&format!("t{nth}"), Some("Another")));
        let all = Catalogue::new(others.chain(first.iter().cloned()), false);
        let all = Arc::new(all.with_turns(|tool| dialect.turn(tool)));
        let listed = all.listed(&terms(None, &[], &[]));
        for tool in &first {
            assert!(listed.find(&tool.name).is_some(), "{}: {}", dialect.name(), tool.name);
        }
        assert_eq!(list(&listed).len(), TOOLS_LISTED_MAX, "{}", dialect.name());
    }
}

#[test]
fn a_toolset_is_all_a_group_or_a_rule_and_is_listed_whole() {
    let group = |nth: usize| if nth < 50 { Some("Scenes") } else { Some("Assets") };
    let all = of((0..100).map(|nth| tool(&format!("t{nth}"), group(nth))));
    for (words, count) in [
        (&["all"][..], 100),
        (&["*"], 100),
        (&["scenes"], 50),
        (&["@group:Scenes"], 50),
        (&["Assets", "Scenes"], 100),
        // What does not fill the list leaves its room to the others.
        (&["t99"], TOOLS_LISTED_MAX - OWN),
        (&["t9*", "t8?"], TOOLS_LISTED_MAX - OWN),
        (&["Nothing"], TOOLS_LISTED_MAX - OWN),
        (&["@read-only"], TOOLS_LISTED_MAX - OWN),
    ] {
        let toolsets: Vec<Toolset> = words.iter().map(|word| Toolset::parse(word).unwrap()).collect();
        let listed = all.listed(&terms(None, &toolsets, &[]));
        assert_eq!(listed.entries().len(), count, "{words:?}");
        let holds = |entry: &&Entry| toolsets.iter().any(|toolset| toolset.has(&entry.facts()));
        assert!(all.entries().iter().filter(holds).all(|entry| listed.find(&entry.name).is_some()), "{words:?}");
        // The client shows no more, whoever chose.
        assert_eq!(list(&all.listed(&terms(Some(20), &toolsets, &[]))).len(), 20, "{words:?}");
    }
    assert!(Toolset::parse("").is_err() && Toolset::parse("@nothing").is_err());
}

#[test]
fn what_was_found_is_listed_besides_and_the_newest_stays_within_a_clients_limit() {
    let all = numbered(100);
    let found: Vec<String> = ["t90", "t1", "gone", "t80"].map(str::to_owned).into();
    let listed = all.listed(&terms(None, &[], &found));
    assert_eq!(list(&listed).len(), TOOLS_LISTED_MAX + 2, "t1 is listed anyway");
    assert!(listed.find("t90").is_some() && listed.find("t80").is_some());
    assert_ne!(*listed, *all.listed(&terms(None, &[], &[])), "the client is told");
    assert_eq!(*listed, *all.listed(&terms(None, &[], &found)));
    let narrow = all.listed(&terms(Some(OWN + 1), &[], &found));
    assert_eq!(names(&narrow), ["t90"]);
    // What is found of a list that has all is listed already.
    let few = numbered(5);
    assert!(Arc::ptr_eq(&few.listed(&terms(None, &[], &["t3".to_owned()])), &few));
}

#[test]
fn tools_are_found_by_words_of_their_names_first_and_then_of_their_descriptions() {
    let said = |name: &str, says: &str| EditorTool { description: says.to_owned(), ..tool(name, None) };
    let all = of([
        said("assets-find", "Finds assets, also a material."),
        said("material_create", "Creates one with a shader."),
        said("renderMaterial", "Shows it."),
        said("scene-open", "Opens a scene."),
        tool("bake", Some("Lighting")),
        tool("a.b", None),
    ]);
    let find = |words: &str| all.search(words).iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
    for (words, names) in [
        ("material", &["material_create", "renderMaterial", "assets-find"][..]),
        ("Materials!", &["material_create", "renderMaterial", "assets-find"]),
        ("create a material", &["material_create", "renderMaterial", "assets-find"]),
        ("shader", &["material_create"]),
        ("lighting", &["bake"]),
        ("scene-open", &["scene-open"]),
        ("a_b", &["a_b"]),
        (" A.B ", &["a_b"]),
        ("quaternion", &[]),
        ("…", &[]),
        ("", &[]),
    ] {
        assert_eq!(find(words), names, "{words}");
    }
    assert!(find(&"ü".repeat(100_000)).is_empty());
}

#[test]
fn what_is_told_of_found_tools_is_bounded_in_number_and_bytes() {
    let profile = ProtocolVersion::LATEST.into();
    let told = |all: &Catalogue| serde_json::to_value(Found::of(&all.search("does"), &profile)).unwrap();
    let found = told(&numbered(30));
    assert_eq!(found["tools"].as_array().unwrap().len(), TOOLS_SHOWN_MAX);
    assert_eq!(found["more"], 30 - TOOLS_SHOWN_MAX);
    assert_eq!(
        found["tools"][0],
        json!({"name": "t0", "does": "Does t0.", "input_schema": {"type": "object", "properties": {}}})
    );
    let fat = |nth: usize| {
        let schema = json!({"type": "object", "description": "x".repeat(TOOLS_SHOWN_MAX_BYTES / 2)});
        let input_schema = schema.as_object().map(InputSchema::from).unwrap();
        EditorTool { input_schema, ..tool(&format!("t{nth}"), None) }
    };
    let found = told(&of((0..3).map(fat)));
    let has_schema = |nth: usize| found["tools"][nth]["input_schema"].is_object();
    assert_eq!([0, 1, 2].map(has_schema), [true, false, false]);
    assert!(found["next"].as_str().unwrap().contains("null") && found.to_string().len() < 2 * TOOLS_SHOWN_MAX_BYTES);
    let nothing = serde_json::to_value(Found::of(&[], &profile)).unwrap();
    assert!(nothing["next"].as_str().unwrap().contains("other words"));
}

#[test]
fn a_call_through_the_tool_is_the_call_that_it_names_with_every_byte_of_its_arguments() {
    let params = |arguments: &str| {
        raw(&format!(r#"{{"name":"holdfast_tools","arguments":{arguments},"_meta":{{"progressToken":7}}}}"#))
    };
    let called = |arguments: &str| match parse_request("tools/call", Some(&params(arguments))) {
        Ok(Request::CallTool(call)) => call.of_inner(),
        other => panic!("{other:?}"),
    };
    let written = r#"{"z":1.0, "a":12345678901234567890123,"z2":"\u00e9"}"#;
    let call = called(&format!(r#"{{"call":"t7","arguments":{written}}}"#));
    assert_eq!((call.name.as_str(), call.arguments.get()), ("t7", written));
    assert_eq!(call.progress_token.unwrap().get(), "7");
    for none in [r#"{"call":"t7"}"#, r#"{"call":"t7","arguments":null,"find":null}"#] {
        let call = called(none);
        assert_eq!((call.name.as_str(), call.arguments.get()), ("t7", "{}"), "{none}");
    }
    for (wrong, says) in [
        ("{}", "either `find`"),
        (r#"{"find":" "}"#, "either `find`"),
        (r#"{"find":7}"#, "either `find`"),
        (r#"{"find":"a","call":"b"}"#, "either `find`"),
        (r#"{"find":"a","arguments":{}}"#, "either `find`"),
        (r#"{"call":"holdfast_tools","arguments":{"call":"t7"}}"#, "another tool"),
        (r#"{"call":"t7","arguments":[1]}"#, "`arguments` must be an object"),
        (r#"{"call":"t7","arguments":"{}"}"#, "`arguments` must be an object"),
        (r#"{"find":"a","limit":3}"#, "`limit` is not a parameter"),
    ] {
        let call = called(wrong);
        assert_eq!(call.name, "holdfast_tools", "{wrong}");
        let said = GatewayTool::Tools.parse_arguments(&call.arguments).unwrap_err();
        assert!(said.starts_with("holdfast_tools: not executed: ") && said.contains(says), "{wrong}: {said}");
    }
}
