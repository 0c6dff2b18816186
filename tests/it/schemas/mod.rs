//! Every schema that is listed is one that the APIs of models take: the table of what they refuse (`refused.json`, with its sources)
//! against the lists of every package, and against a thousand made-up schemas.

mod refused;

use holdfast::protocol::dialect::{Annotations, EditorTool};
use holdfast::protocol::mcp::{Catalogue, ClientProfile, ProtocolVersion, traits_of};
use holdfast_fake_unity::PACKAGES;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::binary::{Place, Unity, text};
use refused::{faults, table};

/// Clients whose lists differ.
const CLIENTS: [&str; 3] = ["some new editor", "claude-code", "Visual Studio Code"];

/// Returns a tool's schema as this client gets it, or why it is not listed.
fn listed(schema: &Value, client: &str) -> Result<Value, String> {
    let input_schema = serde_json::from_value(schema.clone()).map_err(|error| error.to_string())?;
    let annotations = Annotations {
        title: "T".to_owned(),
        read_only_hint: true,
        destructive_hint: false,
        idempotent_hint: true,
        open_world_hint: false,
    };
    let tool: EditorTool = serde_json::from_value(json!({
        "name": "t", "description": "d", "input_schema": {"type": "object"}, "annotations": annotations,
    }))
    .map_err(|error| error.to_string())?;
    let catalogue = Catalogue::new([EditorTool { input_schema, ..tool }], false);
    if let Some((_, why)) = catalogue.dropped().first() {
        return Err(why.clone());
    }
    let profile = ClientProfile { client: traits_of(client), ..ProtocolVersion::LATEST.into() };
    let tools: Value = serde_json::from_str(&catalogue.tools_array(&profile)).map_err(|error| error.to_string())?;
    let last = tools.as_array().and_then(|tools| tools.last()).ok_or("no tool")?;
    Ok(last["inputSchema"].clone())
}

#[test]
fn each_row_of_the_table_is_noticed_and_mended() {
    for row in table() {
        assert!(!row.sources.is_empty() && !row.refused_by.is_empty() && !row.says.is_empty(), "{}", row.rule);
        for example in &row.examples {
            let found = faults(example);
            assert!(found.iter().any(|fault| fault.rule == row.rule), "{}: {example}: {found:?}", row.rule);
            for client in CLIENTS {
                let seen = listed(example, client).unwrap_or_else(|why| panic!("{}: {why}", row.rule));
                assert_eq!(faults(&seen), [], "{}: {example} as {seen}", row.rule);
            }
        }
    }
}

#[test]
fn what_is_fine_is_listed_as_it_is() {
    for fine in [
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 1}}, "required": ["a"]}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"p": {"type": "string"}},
            "properties": {"a": {"$ref": "#/$defs/p", "description": "x"}}, "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A", "enum": ["b"], "default": "b"}}}),
        json!({"type": "object", "properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object",
            "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}),
        json!({"type": "object", "properties": {"required": {"type": "boolean"}, "type": {"type": "string"}, "ref": {"type": "string"}}}),
    ] {
        assert_eq!(listed(&fine, "some new editor"), Ok(fine.clone()), "{fine}");
        assert_eq!(faults(&fine), []);
    }
}

#[test]
fn schemas_are_mended_without_loss() {
    for (given, seen) in [
        (json!({"type": ["integer", "null"], "description": "x"}), json!({"type": "integer", "description": "x"})),
        (json!({"type": ["string", "null"], "enum": ["A", null]}), json!({"type": "string", "enum": ["A"]})),
        (
            json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": null, "title": "T"}),
            json!({"type": "array", "items": {"type": "string"}, "title": "T"}),
        ),
        (
            json!({"type": ["string", "number"], "minLength": 1, "minimum": 0, "description": "x"}),
            json!({"description": "x", "anyOf": [{"type": "string", "minLength": 1}, {"type": "number", "minimum": 0}]}),
        ),
        (json!({"type": "object", "properties": {"b": true}}), json!({"type": "object", "properties": {"b": {}}})),
        (
            json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false}),
            json!({"type": "array", "items": {"type": "number"}, "maxItems": 2}),
        ),
        (
            json!({"type": "array", "items": [{"type": "array"}, {"type": "object"}]}),
            json!({"type": "array", "items": {"anyOf": [{"type": "array", "items": {}}, {"type": "object", "properties": {}}]}}),
        ),
        (json!({"not": {"type": "array"}}), json!({"not": {"type": "array", "items": {}}})),
        (
            json!({"additionalProperties": {"type": "array"}}),
            json!({"additionalProperties": {"type": "array", "items": {}}, "type": "object", "properties": {}}),
        ),
        (json!({"$ref": "#/$defs/System.Single[]"}), json!({"type": "array", "items": {"type": "number"}})),
        (
            json!({"$ref": "#/$defs/System.Single%5B%5D", "description": "x"}),
            json!({"description": "x", "type": "array", "items": {"type": "number"}}),
        ),
        (json!({"$ref": "#/$defs/none", "description": "x"}), json!({"description": "x"})),
        (json!({"$ref": "#/$defs/circle"}), json!({})),
        (json!({"$ref": "https://example.com/a.json"}), json!({})),
        (
            json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            json!({"type": "number", "exclusiveMinimum": 0}),
        ),
        (
            json!({"type": "string", "description": null, "enum": [], "default": "x"}),
            json!({"type": "string", "default": "x"}),
        ),
    ] {
        let whole = json!({"type": "object", "properties": {"a": given}, "$defs": {
            "System.Single[]": {"type": "array", "items": {"type": "number"}}, "circle": {"$ref": "#/$defs/circle"}}});
        let found = listed(&whole, "some new editor").expect("it is listed");
        assert_eq!(found["properties"]["a"], seen, "{given}");
    }
}

#[test]
fn what_takes_null_need_not_be_given() {
    let given = json!({"type": "object", "required": ["a", "b", "c", "d", "e", "a", "", "none"], "properties": {
        "a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "d": {"$ref": "#/$defs/d"}, "e": {}}, "$defs": {"d": {"type": "string", "nullable": true}}});
    assert_eq!(listed(&given, "claude-code").expect("listed")["required"], json!(["a", "e"]));
}

#[test]
fn what_may_never_be_there_is_not_required() {
    let never = json!({"properties": {"a": false, "b": {}}, "required": ["a"]});
    let asks = json!({"required": ["a"]});
    for given in [
        json!({"properties": {}, "anyOf": [never]}),
        json!({"properties": {"a": false}, "anyOf": [asks]}),
        json!({"properties": {}, "allOf": [{"properties": {"a": false}, "not": asks}]}),
        json!({"properties": {}, "not": asks, "dependentSchemas": {"b": never}}),
        json!({"properties": {"o": never}}),
    ] {
        for client in CLIENTS {
            let seen = listed(&given, client).expect("it is listed");
            assert_eq!(faults(&seen), [], "{given} as {seen}");
        }
    }
}

#[test]
fn a_definition_that_is_null_or_itself_is_no_reference_to_itself() {
    for keyword in ["anyOf", "oneOf"] {
        let itself = json!({keyword: [{"type": "null"}, {"$ref": "#/$defs/a", "description": "d"}]});
        let whole = json!({"type": "object", "properties": {"b": {"$ref": "#/$defs/a"}}, "$defs": {"a": itself}});
        for client in CLIENTS {
            let seen = listed(&whole, client).expect("it is listed");
            assert_eq!(faults(&seen), [], "{seen}");
            assert_eq!(listed(&seen, client).expect("it is listed"), seen);
        }
    }
}

#[test]
fn a_schema_that_refers_to_itself_without_end_stays_small() {
    let doubling: Map<String, Value> = (0..40)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/a[{}]", n + 1)});
            (format!("a[{n}]"), json!({"type": "object", "properties": {"l": next, "r": next}}))
        })
        .collect();
    let given = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a[0]"}, "self": {"$ref": "#/properties/self/items"},
        "tree": {"type": "array", "items": {"$ref": "#/properties/tree"}}}, "$defs": doubling});
    let seen = listed(&given, "some new editor").expect("it is listed");
    assert_eq!(faults(&seen), []);
    assert!(seen.to_string().len() < 512 * 1024, "{} bytes", seen.to_string().len());
}

/// Values that stand where a keyword wants something.
fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..9).prop_map(Value::from),
        Just(json!("")),
        Just(json!("null")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["a", null, "a", ""])),
        Just(json!("int")),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]",
        1 => prop::sample::select(vec!["größe", "シーン名", "a b", "rule[]", "$type", "", "holdfast editor", "A", "a_b"]).prop_map(str::to_owned),
        1 => Just("x".repeat(70)),
    ]
}

fn kinds() -> impl Strategy<Value = Value> {
    let kind = || prop::sample::select(vec!["string", "number", "integer", "boolean", "object", "array", "null"]);
    prop_oneof![
        6 => kind().prop_map(Value::from),
        2 => prop::collection::vec(kind(), 0..4).prop_map(Value::from),
        1 => junk(),
    ]
}

fn reference() -> impl Strategy<Value = Value> {
    let targets = vec![
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/$defs/a[]",
        "#/$defs/none",
        "#/properties/a",
        "#/properties/b/items",
        "#anchor",
        "other.json",
        "#/definitions/c",
        "",
    ];
    prop::sample::select(targets).prop_map(Value::from)
}

/// A schema with all that by hand and by generators was seen, and more.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => kinds().prop_map(|kind| json!({ "type": kind })),
        1 => reference().prop_map(|to| json!({"$ref": to, "description": "d"})),
        1 => junk(),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let named = || prop::collection::vec((name(), inner.clone()), 0..4).prop_map(|all| Value::Object(all.into_iter().collect()));
        let list = || prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let member = prop_oneof![
            4 => (Just("type"), kinds().boxed()),
            4 => (Just("properties"), named().boxed()),
            2 => (prop::sample::select(vec!["patternProperties", "$defs", "definitions", "dependentSchemas"]), named().boxed()),
            3 => (prop::sample::select(vec!["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                "unevaluatedProperties", "unevaluatedItems", "contentSchema", "additionalItems"]), inner.clone().boxed()),
            3 => (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"]), list().boxed()),
            2 => (Just("required"), prop::collection::vec(name(), 0..4).prop_map(Value::from).boxed()),
            1 => (Just("$ref"), reference().boxed()),
            1 => (Just("enum"), prop::collection::vec(junk(), 0..4).prop_map(Value::from).boxed()),
            1 => (prop::sample::select(vec!["$anchor", "$id", "$dynamicAnchor"]), Just(json!("anchor")).boxed()),
            2 => (prop::sample::select(vec!["minLength", "maximum", "minItems", "exclusiveMinimum", "uniqueItems", "minProperties",
                "nullable", "description", "default", "title", "required", "enum", "const", "format", "minContains", "multipleOf",
                "dependentRequired", "$schema", "readOnly", "examples", "pattern"]), junk().boxed()),
        ];
        prop::collection::vec(member, 0..6)
            .prop_map(|all| Value::Object(all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_api_refuses_what_is_listed(
        whole in schema(),
        properties in prop::collection::vec((name(), schema()), 0..4),
        definitions in prop::collection::vec((prop::sample::select(vec!["a", "b", "a[]"]), schema()), 0..3),
    ) {
        let mut whole = whole.as_object().cloned().unwrap_or_default();
        whole.insert("type".to_owned(), "object".into());
        whole.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
        let definitions = definitions.into_iter().map(|(name, schema)| (name.to_owned(), schema));
        whole.insert("$defs".to_owned(), Value::Object(definitions.collect()));
        let whole = Value::Object(whole);
        for client in CLIENTS {
            let seen = listed(&whole, client).map_err(|why| TestCaseError::fail(format!("{why}: {whole}")))?;
            prop_assert_eq!(faults(&seen), [], "{} as {}", whole, seen);
            let again = listed(&seen, client).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&again, &seen, "what was mended needs no more");
        }
    }
}

#[tokio::test]
async fn no_api_refuses_the_list_of_any_package() {
    for dialect in PACKAGES.iter().map(|package| package.name) {
        let place = Place::new();
        let project = place.project("Castle");
        let unity =
            Unity::start(&place, &["--dialect", dialect, "--project", text(&project), "--conformance-tools"]).await;
        for client in CLIENTS {
            let at = unity.at();
            let named = ["--project", text(&project), "--dialect", dialect, "--port", &at, "--client", client];
            let arguments = ["tools", "--json"].into_iter().chain(named);
            let shown = place.run(arguments).await.json();
            let tools = shown["tools"].as_array().expect("tools");
            assert!(shown["source"] == "live" && tools.len() > 4, "{dialect}: {shown}");
            for tool in tools {
                assert_eq!(faults(&tool["inputSchema"]), [], "{dialect}, {client}: {tool}");
            }
        }
        unity.quit().await;
    }
}
