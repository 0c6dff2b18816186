use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::limits::{DESCRIPTION_MAX_BYTES, TOOL_NAME_MAX_BYTES, TOOLS_LISTED_MAX, TOOLS_MAX};
use crate::protocol::dialect::{Annotations, EditorTool, InputSchema, OtherName};

fn tool(name: &str, schema: Value) -> EditorTool {
    EditorTool {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: schema.as_object().map(InputSchema::from).unwrap_or_default(),
        annotations: Annotations {
            title: name.to_owned(),
            read_only_hint: true,
            destructive_hint: false,
            idempotent_hint: true,
            open_world_hint: false,
        },
        development_only: false,
        repeatable: false,
        parallel: false,
        resumable: false,
        timeout_seconds: None,
        group: None,
        other_names: Vec::new(),
    }
}

fn plain(name: &str) -> EditorTool {
    tool(name, json!({"type": "object", "properties": {"Message": {"type": "string"}}}))
}

fn other(name: &str) -> EditorTool {
    tool(name, json!({"type": "object", "properties": {"Count": {"type": "integer"}}}))
}

fn member(name: &str, tools: Vec<EditorTool>) -> Member {
    Member { name: name.to_owned(), catalogue: Arc::new(Catalogue::new(tools, false)) }
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.entries().iter().map(|entry| entry.name.as_str()).collect()
}

fn origin<'a>(catalogue: &'a Catalogue, name: &str) -> (&'a str, Vec<&'a str>, bool) {
    let origin = catalogue.find(name).and_then(|entry| entry.origin.as_ref()).unwrap();
    (&origin.name, origin.editors.iter().map(String::as_str).collect(), origin.is_bound)
}

fn profile(tools_max: Option<usize>) -> ClientProfile {
    let profile = ClientProfile::from(ProtocolVersion::LATEST);
    ClientProfile { client: ClientTraits { tools_max, ..profile.client }, ..profile }
}

#[test]
fn a_tool_that_is_the_same_in_several_editors_is_listed_once_and_names_those_that_have_it() {
    let all = union(&[
        member("Castle", vec![plain("compile"), plain("look")]),
        member("Forest", vec![plain("fell"), plain("compile")]),
        member("Harbour", vec![]),
    ]);
    assert_eq!(names(&all), ["compile", "look", "fell"]);
    assert_eq!(origin(&all, "compile"), ("compile", vec!["Castle", "Forest"], false));
    assert_eq!(origin(&all, "fell"), ("fell", vec!["Forest"], false));
    let says = |name: &str| {
        all.find(name).unwrap().tool.input_schema.property(EDITOR_ARGUMENT).unwrap()["description"].clone()
    };
    assert_eq!(says("compile"), "The Unity Editor that runs this: `Castle` or `Forest`.");
    assert_eq!(says("fell"), "The Unity Editor that runs this: `Forest`.");
    assert_eq!(all.editors(), ["Castle", "Forest", "Harbour"]);
}

#[test]
fn one_name_for_different_tools_is_listed_for_each_editor() {
    let members = [
        member("Castle", vec![plain("look"), plain("look_Forest"), plain("go")]),
        member("Forest", vec![other("look"), plain("go")]),
        member("demos/Castle", vec![plain("look"), plain("go")]),
    ];
    let all = union(&members);
    let [castle, forest, demo, taken, go] = names(&all)[..] else { panic!("{:?}", names(&all)) };
    assert_eq!((castle, demo, taken, go), ("look_Castle", "look_demos_Castle", "look_Forest", "go"));
    assert!(forest.starts_with("look_Forest_"), "the plain name is another tool's: {forest}");
    assert_eq!(origin(&all, forest), ("look", vec!["Forest"], true));
    assert_eq!(origin(&all, demo), ("look", vec!["demos/Castle"], true));
    assert_eq!(origin(&all, "look_Forest"), ("look_Forest", vec!["Castle"], false));
    let entry = all.find(forest).unwrap();
    assert_eq!(entry.tool.description, "Does look. Runs in the Unity Editor `Forest`.");
    assert!(entry.tool.input_schema.property(EDITOR_ARGUMENT).is_none());
    assert!(all.find("look").is_none(), "it would not say which");
    let mut given = names(&all);
    // The names do not depend on the order of the editors' lists.
    let turned = [
        member("Castle", vec![plain("go"), plain("look_Forest"), plain("look")]),
        member("Forest", vec![plain("go"), other("look")]),
        member("demos/Castle", vec![plain("look"), plain("go")]),
    ];
    let turned = union(&turned);
    let mut again = names(&turned);
    given.sort_unstable();
    again.sort_unstable();
    assert_eq!(given, again);
    assert_eq!(all, turned);
}

#[test]
fn the_same_name_of_tools_that_the_editors_call_differently_is_not_one_tool() {
    let all = union(&[member("A", vec![plain("a.b")]), member("B", vec![plain("a_b")])]);
    assert_eq!(names(&all), ["a_b_A", "a_b_B"]);
    let called = |name: &str| all.find(name).unwrap().tool.name.clone();
    assert_eq!((called("a_b_A"), called("a_b_B")), ("a.b".to_owned(), "a_b".to_owned()));
    assert_eq!(origin(&all, "a_b_A").0, "a_b", "the name in the editor's own catalogue");
}

#[test]
fn a_tool_that_cannot_have_the_argument_says_where_the_editor_is_named() {
    let has_it = tool("own", json!({"type": "object", "properties": {"Holdfast_Editor": {"type": "number"}}}));
    let choice = tool("choice", json!({"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]}));
    let schemas = [has_it.input_schema.clone(), choice.input_schema.clone()];
    let all = union(&[member("A", vec![has_it.clone(), choice.clone()]), member("B", vec![has_it, choice])]);
    for (entry, schema) in all.entries().iter().zip(schemas) {
        assert_eq!(entry.tool.input_schema, schema, "it stays as it is");
        let says = &entry.tool.description;
        assert!(says.ends_with("in `_meta` as `dev.holdfast/editor`: `A` or `B`."), "{says}");
    }
}

#[test]
fn a_tool_counts_as_harmless_only_if_it_is_harmless_in_each_editor() {
    let mut harmful = plain("x");
    harmful.annotations = Annotations {
        title: "x".to_owned(),
        read_only_hint: false,
        destructive_hint: true,
        idempotent_hint: false,
        open_world_hint: true,
    };
    for tools in [[plain("x"), harmful.clone()], [harmful.clone(), plain("x")]] {
        let [first, second] = tools.map(|tool| vec![tool]);
        let all = union(&[member("A", first), member("B", second)]);
        assert_eq!(all.find("x").unwrap().tool.annotations, harmful.annotations);
    }
}

#[test]
fn a_name_of_another_package_leads_to_a_tool_and_says_nothing_of_the_editor() {
    let known_as = |tool: EditorTool| EditorTool {
        other_names: vec![OtherName { name: "old".to_owned(), arguments: Vec::new() }],
        ..tool
    };
    let all = union(&[member("A", vec![known_as(plain("new"))]), member("B", vec![known_as(other("new"))])]);
    let found = all.find("old").unwrap();
    assert!(found.name != "old" && found.origin.as_ref().unwrap().is_bound, "so a caller compares the names");
}

#[test]
fn the_list_is_bounded_and_everything_in_it_fits() {
    let long = |count: usize, mark: &str| (0..count).map(|nth| plain(&format!("{mark}-{nth:05}"))).collect::<Vec<_>>();
    let all = union(&[member("A", long(TOOLS_MAX, "a")), member("B", long(10, "b"))]);
    assert_eq!(all.entries().len(), TOOLS_MAX);
    assert!(all.dropped().iter().any(|(what, _)| what == "the last 10 tools"), "{:?}", all.dropped());

    let talkative = |mut tool: EditorTool| {
        tool.description = "x".repeat(DESCRIPTION_MAX_BYTES);
        tool
    };
    let name = "n".repeat(TOOL_NAME_MAX_BYTES);
    let editors = ["Castle of the North", "Castle of the South"];
    let all =
        union(&[member(editors[0], vec![talkative(plain(&name))]), member(editors[1], vec![talkative(other(&name))])]);
    for (entry, editor) in all.entries().iter().zip(editors) {
        assert!(entry.name.len() <= TOOL_NAME_MAX_BYTES, "{}", entry.name);
        assert!(entry.tool.description.len() <= DESCRIPTION_MAX_BYTES);
        assert!(entry.tool.description.ends_with(&format!("`{editor}`.")), "the note is not cut");
    }
    assert_eq!(all.entries().len(), 2);
}

#[test]
fn what_is_listed_at_first_leaves_each_editor_its_turn_and_the_rest_is_named() {
    let several = |mark: &str, count: usize| (0..count).map(|nth| plain(&format!("{mark}{nth}"))).collect::<Vec<_>>();
    let members = [member("A", several("a", 90)), member("B", several("b", 3)), member("C", several("c", 9))];
    let all = Arc::new(union(&members));
    let own = GatewayTool::ALL.len();
    let listed = |tools_max| all.listed(&Terms { tools_max, toolsets: &[], found: &[] });
    assert_eq!(names(&listed(Some(own + 8))), ["a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1"]);
    assert_eq!(listed(Some(own + 8)).rest().len(), 102 - 8);
    assert_eq!(names(&listed(Some(2))), [""; 0], "the gateway's own tools stay");
    let at_first = listed(None);
    let of = |mark: &str| names(&at_first).iter().filter(|name| name.starts_with(mark)).count();
    assert_eq!((of("a"), of("b"), of("c")), (TOOLS_LISTED_MAX - own - 12, 3, 9));
}

#[test]
fn the_list_of_a_routed_session_has_one_more_tool_and_the_same_for_the_same_editors() {
    let alone = Catalogue::new(vec![plain("a")], false);
    let list = one_line(&alone.list_result(&profile(None)));
    let names_of = |list: &Value| {
        let tools = list["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let own: Vec<String> = alone.own().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(names_of(&list), own.iter().cloned().chain(["a".to_owned()]).collect::<Vec<_>>());
    let tools = list["tools"].as_array().unwrap();
    assert!(
        tools.iter().all(|tool| tool["inputSchema"]["properties"][EDITOR_ARGUMENT].is_null()),
        "no choice, no argument"
    );
    let members = || [member("A", vec![plain("a"), plain("x")]), member("B", vec![plain("a"), other("x")])];
    let (first, again) = (union(&members()), union(&members()));
    assert_eq!(first.list_result(&profile(None)), again.list_result(&profile(None)));
    let list = one_line(&first.list_result(&profile(None)));
    let takes = |name: &str| {
        let tools = list["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        !tool["inputSchema"]["properties"][EDITOR_ARGUMENT].is_null()
    };
    assert_eq!(own.iter().map(|name| takes(name)).collect::<Vec<_>>(), [true, true, false, true, false]);
    let stateless = one_line(&first.list_result(&ProtocolVersion::STATELESS.into()));
    assert!(stateless["ttlMs"].is_number(), "{stateless}");
}
