//! Tests the table of the package's own tools, schemas and tool lists.

use serde_json::{Map, Value, json};

use super::super::super::{Dialect, EditorTool, InputSchema, ListStep, Reply, ToolListing};
use super::super::{Uloop, schema};
use super::raw;
use crate::limits::TOOLS_MAX;

/// The package's tools at v0.30.1 (first) and v2.1.1, with their parameters as on the wire: name, letter of the type, default,
/// and for an enum its names.
const TOOLS: [&str; 2] = [
    r#"
clear-console AddConfirmationMessage:b=true TimeoutSeconds:n=15
compile ForceRecompile:b=false TimeoutSeconds:n=15
debug-sleep SleepSeconds:n=15 TimeoutSeconds:n=10
execute-menu-item MenuItemPath:s="" UseReflectionFallback:b=true TimeoutSeconds:n=15
find-game-objects NamePattern:s="" SearchMode:s=0:Exact,Path,Regex,Contains RequiredComponents:a=[] Tag:s="" Layer:n=null IncludeInactive:b=false MaxResults:n=20 IncludeInheritedProperties:b=false TimeoutSeconds:n=15
get-tool-details IncludeDevelopmentOnly:b=false TimeoutSeconds:n=15
get-hierarchy IncludeInactive:b=true MaxDepth:n=-1 RootPath:s=null IncludeComponents:b=true MaxResponseSizeKB:n=100 TimeoutSeconds:n=15
get-logs LogType:s=3:Log,Warning,Error,All,None MaxCount:n=100 SearchText:s="" UseRegex:b=false SearchInStackTrace:b=false IncludeStackTrace:b=true TimeoutSeconds:n=15
get-menu-items FilterText:s="" FilterType:s=0:contains,exact,startswith IncludeValidation:b=false MaxCount:n=200 TimeoutSeconds:n=15
ping Message:s="Hello" TimeoutSeconds:n=15
run-tests TestMode:s=1:EditMode,PlayMode FilterType:s=0:all,exact,regex,assembly FilterValue:s="" SaveXml:b=false TimeoutSeconds:n=30
set-client-name ClientName:s="Unknown" PushNotificationEndpoint:s="" ClientPort:n=0 TimeoutSeconds:n=15
get-provider-details ProviderId:s="" ActiveOnly:b=false SortByPriority:b=true IncludeDescriptions:b=true TimeoutSeconds:n=15
unity-search SearchQuery:s="" Providers:a=[] MaxResults:n=50 IncludeDescription:b=true IncludeMetadata:b=false SearchFlags:s=0:Default,Synchronous,WantsMore,Packages,Sorted SaveToFile:b=false OutputFormat:s=0:JSON,CSV,TSV AutoSaveThreshold:n=100 FileExtensions:a=[] AssetTypes:a=[] PathFilter:s="" TimeoutSeconds:n=15
"#,
    r#"
clear-console AddConfirmationMessage:b=false
compile ForceRecompile:b=false WaitForDomainReload:b=false
control-play-mode Action:s=0:Play,Stop,Pause
debug-sleep SleepSeconds:n=15
execute-dynamic-code Code:s="" Parameters:s={} CompileOnly:b=false YieldToForegroundRequests:b=false
find-game-objects NamePattern:s="" SearchMode:s=0:Exact,Path,Regex,Contains,Selected RequiredComponents:a=[] Tag:s="" Layer:n=null IncludeInactive:b=false MaxResults:n=20 IncludeInheritedProperties:b=false
focus-window
get-tool-details IncludeDevelopmentOnly:b=false
get-hierarchy IncludeInactive:b=true MaxDepth:n=-1 RootPath:s=null IncludeComponents:b=true IncludePaths:b=false UseComponentsLut:s="auto" UseSelection:b=false
get-logs LogType:s="All" MaxCount:n=100 SearchText:s="" UseRegex:b=false SearchInStackTrace:b=false IncludeStackTrace:b=false
get-version
ping Message:s="Hello"
record-input Action:s=0:Start,Stop OutputPath:s="" Keys:s="" DelaySeconds:n=3 ShowOverlay:b=true
replay-input Action:s=0:Start,Stop,Status InputPath:s="" ShowOverlay:b=true Loop:b=false
run-tests TestMode:s=1:EditMode,PlayMode FilterType:s=0:all,exact,regex,assembly FilterValue:s="" SaveBeforeRun:b=false
screenshot WindowName:s="Game" ResolutionScale:n=1.0 MatchMode:s=0:exact,prefix,contains OutputDirectory:s="" CaptureMode:s=0:window,rendering AnnotateElements:b=false ElementsOnly:b=false
set-client-name ClientName:s="Unknown"
simulate-keyboard Action:s=0:Press Key:s="" Duration:n=0.0
simulate-mouse-input Action:s=0:Click X:n=0.0 Y:n=0.0 Button:s=0:Left Duration:n=0.0 DeltaX:n=0.0 DeltaY:n=0.0 ScrollX:n=0.0 ScrollY:n=0.0
simulate-mouse-ui Action:s=0:Click X:n=0.0 Y:n=0.0 FromX:n=0.0 FromY:n=0.0 DragSpeed:n=2000.0 Duration:n=0.5 Button:s=0:Left BypassRaycast:b=false TargetPath:s="" DropTargetPath:s=""
"#,
];

fn wire_tool(line: &str) -> Value {
    let mut words = line.split(' ');
    let name = words.next().unwrap();
    let mut properties = Map::new();
    for word in words {
        let (parameter, rest) = word.split_once(':').unwrap();
        let (kind, rest) = rest.split_once('=').unwrap();
        let (default, names) = match rest.split_once(':') {
            Some((default, names)) => (default, json!(names.split(',').collect::<Vec<_>>())),
            None => (rest, Value::Null),
        };
        let kind = match kind {
            "b" => "boolean",
            "n" => "number",
            "a" => "array",
            _ => "string",
        };
        let default: Value = serde_json::from_str(default).unwrap();
        properties.insert(
            parameter.to_owned(),
            json!({"Type": kind, "Description": "d", "DefaultValue": default, "Enum": names}),
        );
    }
    json!({"name": name, "description": "d", "parameterSchema": {"Properties": properties, "Required": []},
           "displayDevelopmentOnly": false})
}

fn list(tools: &[Value]) -> ToolListing {
    let reply = Reply::Result(raw(json!({ "Tools": tools }).to_string()));
    match Uloop.read_tools(&reply, 0) {
        ListStep::Tools(listing) => listing,
        other => panic!("{other:?}"),
    }
}

/// Parses one line of the table above into a tool.
pub(super) fn one(line: &str) -> EditorTool {
    EditorTool::clone(&list(&[wire_tool(line)]).tools[0])
}

#[test]
fn every_tool_of_the_package_becomes_a_valid_schema_as_open_as_its_own_servers() {
    for (table, count) in TOOLS.iter().zip([14, 20]) {
        let wire: Vec<Value> = table.lines().filter(|line| !line.is_empty()).map(wire_tool).collect();
        let listing = list(&wire);
        assert_eq!((listing.tools.len(), listing.dropped.len()), (count, 0));
        for tool in &listing.tools {
            assert_eq!(tool.input_schema.parsed()["type"], "object");
            assert_eq!(tool.input_schema.parsed().get("additionalProperties"), None);
            assert!(!tool.input_schema.has_any(&["required"]));
            for (name, property) in tool.input_schema.parsed()["properties"].as_object().unwrap() {
                let kind = property["type"].as_str().unwrap();
                assert_eq!(kind == "array", property.get("items").is_some(), "{name}");
                if let Some(names) = property.get("enum") {
                    let default = property.get("default").unwrap_or_else(|| panic!("{}.{name}", tool.name));
                    assert!(names.as_array().unwrap().contains(default), "{}.{name}", tool.name);
                }
                if let Some(default) = property.get("default") {
                    let fits = match kind {
                        "boolean" => default.is_boolean(),
                        "number" => default.is_number(),
                        "array" => default.is_array(),
                        "object" => default.is_object(),
                        "string" => default.is_string(),
                        other => panic!("{other}"),
                    };
                    assert!(fits, "{}.{name}", tool.name);
                }
            }
        }
    }
}

#[test]
fn only_tools_that_look_are_repeatable_and_the_unknown_is_said_to_be_the_worst() {
    let looks = one("get-logs");
    assert_eq!(looks.annotations.title, "Get logs");
    assert_eq!(
        serde_json::to_value(&looks.annotations).unwrap(),
        json!({"title": "Get logs", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
               "openWorldHint": false})
    );
    assert!(looks.repeatable);
    for line in ["compile", "run-tests", "execute-menu-item", "execute-dynamic-code", "my_own-tool", "Get-Logs"] {
        let tool = one(line);
        let hints = tool.annotations;
        assert!(!tool.repeatable && !hints.read_only_hint && !hints.idempotent_hint, "{line}");
        assert!(hints.destructive_hint && hints.open_world_hint, "{line}");
    }
    assert_eq!(one("my_own-tool").annotations.title, "My own tool");
}

fn converted(parameters: &Value) -> Result<InputSchema, String> {
    schema::convert(Some(&serde_json::value::to_raw_value(parameters).unwrap()))
}

/// Converts the wire form of one property.
fn property(name: &str, wire: Value) -> Value {
    converted(&json!({ "Properties": { name: wire } })).unwrap().property(name).unwrap()
}

#[test]
fn enum_defaults_are_names_where_that_is_certain_and_words_where_it_is_not() {
    let logs = ["Log", "Warning", "Error", "All", "None"].as_slice();
    let search = ["Default", "Synchronous", "WantsMore", "Packages", "Sorted"].as_slice();
    let tests = ["EditMode", "PlayMode"].as_slice();
    let own = ["Low", "Middle", "High"].as_slice();
    let cases: [(&str, &[&str], Value, Option<&str>); 16] = [
        ("LogType", logs, json!(3), Some("All")),
        ("LogType", logs, json!(-1), Some("None")),
        ("LogType", logs, json!(4), None),
        ("SearchFlags", search, json!(0), Some("Default")),
        ("SearchFlags", search, json!(4), Some("Packages")),
        ("SearchFlags", search, json!(3), None),
        ("TestMode", tests, json!(1), Some("EditMode")),
        ("Mode", tests, json!(1), None),
        ("Level", own, json!(0), Some("Low")),
        ("Level", own, json!(2), None),
        ("Level", own, json!(-1), None),
        ("Level", own, json!(17), None),
        ("LevelFlags", own, json!(0), None),
        ("Level", own, json!("High"), Some("High")),
        ("Level", own, json!("high"), Some("High")),
        ("Level", own, json!("Highest"), None),
    ];
    for (name, names, default, meant) in cases {
        let got = property(name, json!({"Type": "string", "Description": "d", "DefaultValue": default, "Enum": names}));
        assert_eq!(got.get("default").and_then(Value::as_str), meant, "{name} {default}");
        let description = got["description"].as_str().unwrap();
        assert_eq!(description != "d", meant.is_none(), "{name} {default}: {description}");
        assert_eq!(got["enum"], json!(names));
    }
}

#[test]
fn types_and_defaults_never_contradict_each_other() {
    let cases = [
        (json!({"Type": "Boolean", "DefaultValue": true}), json!({"type": "boolean", "default": true})),
        (json!({"type": "bool", "default": false}), json!({"type": "boolean", "default": false})),
        (json!({"Type": "number", "DefaultValue": 3}), json!({"type": "number", "default": 3})),
        (json!({"Type": "int", "DefaultValue": 3}), json!({"type": "integer", "default": 3})),
        (json!({"Type": "int", "DefaultValue": null}), json!({"type": "number"})),
        (json!({"Type": "float", "DefaultValue": 1.5}), json!({"type": "number", "default": 1.5})),
        (json!({"Type": "Vector3", "DefaultValue": null, "Enum": null}), json!({"type": "string"})),
        (json!({"Type": "array", "DefaultValue": null}), json!({"type": "array", "items": {"type": "string"}})),
        (
            json!({"Type": "array", "DefaultValue": [1], "Items": {"Type": "number"}}),
            json!({"type": "array", "items": {"type": "number"}, "default": [1]}),
        ),
        (json!({"Type": "string", "DefaultValue": {}}), json!({"type": "object", "default": {}})),
        (json!({"Type": "string", "Enum": []}), json!({"type": "string"})),
        (
            json!({"Type": "number", "DefaultValue": "x"}),
            json!({"type": "number", "description": "Default in Unity: \"x\"."}),
        ),
        (json!({"Description": "", "Type": 7}), json!({"type": "string"})),
        (json!("odd"), json!({"description": "Unity describes no type for `P`."})),
    ];
    for (wire, meant) in cases {
        assert_eq!(property("P", wire.clone()), meant, "{wire}");
    }
}

#[test]
fn a_schema_is_closed_unless_nothing_is_known_and_requires_only_what_it_has() {
    let text = |parameters: Value| converted(&parameters).unwrap().raw().get().to_owned();
    assert_eq!(text(json!({})), r#"{"type":"object","properties":{}}"#);
    assert_eq!(text(Value::Null), r#"{"type":"object","properties":{}}"#);
    let both = converted(&json!({"properties": {"A": {"type": "string"}}, "required": ["A", "A", "B", 3]})).unwrap();
    assert_eq!(both.parsed()["required"], json!(["A"]));
    assert!(converted(&json!("x")).is_err());
    assert!(converted(&json!({"Properties": []})).is_err());
}

#[test]
fn one_bad_tool_never_takes_the_list_with_it() {
    let good = wire_tool("get-logs MaxCount:n=1");
    let text = format!(
        r#"{{"Tools":[3,{{"name":""}},{good},{{"name":"huge","parameterSchema":{{"Properties":{{"X":{{"DefaultValue":1e999}}}}}}}},{good},{{"name":"odd","parameterSchema":7}}],"Ver":"1"}}"#
    );
    let ListStep::Tools(listing) = Uloop.read_tools(&Reply::Result(raw(text)), 0) else { panic!() };
    assert_eq!(listing.tools.len(), 1);
    let names: Vec<&str> = listing.dropped.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["#0", "#1", "huge", "get-logs", "odd"]);

    let many: Vec<Value> = (0..TOOLS_MAX + 5).map(|n| wire_tool(&format!("t{n}"))).collect();
    let listing = list(&many);
    assert_eq!((listing.tools.len(), listing.dropped.len()), (TOOLS_MAX, 1));
    assert!(matches!(Uloop.read_tools(&Reply::Result(raw("{}")), 0), ListStep::Failed(_)));
}

#[test]
fn a_blocked_tool_and_an_undescribed_one_stay_listed() {
    let mut blocked = wire_tool("get-logs");
    blocked["description"] = json!("[BLOCKED] x - Blocked by security settings");
    let mut silent = wire_tool("silent");
    silent["description"] = Value::Null;
    let listing = list(&[blocked, silent]);
    assert!(listing.tools[0].description.starts_with("[BLOCKED] ") && listing.tools[0].annotations.read_only_hint);
    assert!(listing.tools[1].description.contains("`silent`"));
}
