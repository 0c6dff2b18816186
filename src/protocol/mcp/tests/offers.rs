//! Resources and prompts.

use super::*;
use crate::limits::CLIENT_MESSAGE_MAX_BYTES;
use crate::limits::resources::{
    PROMPT_ARGUMENT_MAX_BYTES, RESOURCE_TEXT_MAX_BYTES, RESOURCE_URI_MAX_BYTES, RESOURCES_LISTED_MAX,
};
use crate::protocol::dialect::{self, PackageResource};
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::stateless;

fn offer(method: &str, params: &str) -> Result<OfferRequest, RpcError> {
    match parse_request(method, Some(&raw(params)))? {
        Request::Offer(offer) => Ok(offer),
        other => panic!("{method} {params}: {other:?}"),
    }
}

fn read(params: &str) -> ReadResource {
    match offer("resources/read", params) {
        Ok(OfferRequest::Read(read)) => read,
        other => panic!("{params}: {other:?}"),
    }
}

fn get(params: &str) -> GetPrompt {
    match offer("prompts/get", params) {
        Ok(OfferRequest::GetPrompt(get)) => get,
        other => panic!("{params}: {other:?}"),
    }
}

#[test]
fn an_address_names_a_resource_and_perhaps_an_editor() {
    for resource in Resource::ALL {
        for editor in [None, Some("Castle"), Some("games/Castle 2 é?&=#%")] {
            let uri = resource.uri(editor);
            assert!(uri.is_ascii() && !uri.contains([' ', '#']), "{uri}");
            let read = read(&serde_json::json!({"uri": uri}).to_string());
            assert_eq!(
                (&*read.uri, read.resource, read.editor.as_deref()),
                (uri.as_str(), AnyResource::Own(*resource), editor)
            );
        }
    }
    for same in ["holdfast://status/", "HOLDFAST://Status", "holdfast://status?editor="] {
        let read = read(&serde_json::json!({"uri": same}).to_string());
        assert_eq!((&*read.uri, read.resource, read.editor), (same, AnyResource::Own(Resource::Status), None));
        assert_eq!(read.arguments.get(), "{}");
    }
    let with = read(
        r#"{"uri":"holdfast://console","_meta":{"progressToken":7,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}"#,
    );
    assert_eq!((with.progress_token.unwrap().get(), with.trace.is_some()), ("7", true));
}

/// The resources of all packages.
fn of_package() -> Vec<&'static PackageResource> {
    dialect::ALL.iter().flat_map(|dialect| dialect.resources()).collect()
}

#[test]
fn an_address_of_a_packages_server_is_a_call_with_what_stands_in_it() {
    for resource in of_package() {
        let address = resource.address.replace(['{', '}'], "");
        let is_number = |name: &str| resource.numbers.iter().any(|number| number == name);
        let address = resource.numbers.iter().fold(address, |address, name| address.replace(name, "-12"));
        for (uri, editor) in [(address.clone(), None), (format!("{address}?editor=Castle%202"), Some("Castle 2"))] {
            let read = read(&serde_json::json!({"uri": uri}).to_string());
            assert_eq!((&*read.uri, read.editor.as_deref()), (uri.as_str(), editor));
            assert_eq!(read.resource, AnyResource::Package(resource), "{uri}");
            let arguments: Value = serde_json::from_str(read.arguments.get()).unwrap();
            for variable in resource.address.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
                let value = if is_number(variable) { Value::from(-12) } else { Value::from(variable) };
                assert_eq!(arguments[variable], value, "{uri}");
            }
        }
        for name in &resource.numbers {
            let uri = resource.address.replace(&format!("{{{name}}}"), "seven").replace(['{', '}'], "");
            let params = serde_json::json!({"uri": uri}).to_string();
            let error = offer("resources/read", &params).expect_err(&uri);
            assert_eq!(error.code, -32602, "{uri}");
            assert!(error.message.contains("a whole number; nothing was read"), "{}", error.message);
        }
    }
}

#[test]
fn a_resource_that_is_not_there_has_the_code_of_its_era() {
    for uri in [
        "holdfast://",
        "holdfast://statu",
        "holdfast:status",
        "file:///etc/passwd",
        "holdfast://status?editor=%ff",
        "holdfast://status?x=1",
        "holdfast://status/x",
        "",
    ] {
        let params = serde_json::json!({"uri": uri}).to_string();
        let error = offer("resources/read", &params).expect_err(uri);
        assert_eq!((error.code, error.data.unwrap().get()), (-32002, raw(&params).get()), "{uri}");
        assert!(error.message.contains("nothing was read") && error.message.contains("resources/list"));
        let modern = stateless::parse_request("resources/read", Some(&raw(&params))).expect_err(uri);
        assert_eq!(modern.code, -32602, "{uri}");
    }
    let long = format!(r#"{{"uri":"holdfast://status?editor={}"}}"#, "x".repeat(RESOURCE_URI_MAX_BYTES));
    for params in ["{}", r#"{"uri":null}"#, r#"{"uri":5}"#, r#"{"uri":"a","uri":"b"}"#, r#"["x"]"#, &long] {
        assert_eq!(offer("resources/read", params).expect_err(params).code, -32602, "{params}");
    }
}

#[test]
fn each_list_has_one_page() {
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        for params in ["{}", "null", r#"{"_meta":{}}"#, r#"{"cursor":null}"#] {
            assert!(offer(method, params).is_ok(), "{method} {params}");
        }
        for params in [r#"{"cursor":"x"}"#, r#"{"cursor":1}"#, "[]"] {
            assert_eq!(offer(method, params).expect_err(method).code, -32602, "{method} {params}");
        }
        // The list of templates has no series of its own.
        let counted = if method == "resources/templates/list" { "other" } else { method };
        assert_eq!(<&str>::from(Method::from_name(method)), counted);
    }
}

#[test]
fn lists_are_bounded_and_say_what_each_version_knows() {
    let of = |resource, editor: Option<&str>| Offered { resource, editor: editor.map(Into::into) };
    let console = of(AnyResource::Own(Resource::Console), Some("Castle 2"));
    let of_package = of_package();
    let template = of_package.iter().find(|one| one.is_template()).unwrap();
    let offered = [
        of(AnyResource::Own(Resource::Status), None),
        console.clone(),
        of(AnyResource::Package(template), Some("Castle 2")),
    ];
    for version in ProtocolVersion::ALL {
        let profile: ClientProfile = version.into();
        let list = one_line(&resources_list_result(&offered, &profile));
        let [status, console] = list["resources"].as_array().unwrap().as_slice() else { panic!("{list}") };
        assert_eq!((&status["uri"], &status["mimeType"]), (&"holdfast://status".into(), &"application/json".into()));
        assert_eq!((&status["name"], status.get("title").is_some()), (&"status".into(), version.title()));
        assert_eq!(console["uri"], "holdfast://console?editor=Castle%202");
        assert_eq!((&console["name"], console.get("mimeType")), (&"console (Castle 2)".into(), None));
        let prompts = one_line(&prompts_list_result(&profile));
        let listed = prompts["prompts"].as_array().unwrap();
        let names: Vec<&str> = listed.iter().filter_map(|prompt| prompt["name"].as_str()).collect();
        assert_eq!(names, ["fix-compile-errors", "why-is-unity-silent"]);
        assert_eq!(listed[0]["arguments"][0]["required"], false);
        assert_eq!((listed[0].get("title").is_some(), listed[1].get("arguments")), (version.title(), None));
        let templates = one_line(&templates_list_result(&offered, &profile));
        let [listed] = templates["resourceTemplates"].as_array().unwrap().as_slice() else { panic!("{templates}") };
        assert_eq!(listed["uriTemplate"], format!("{}?editor=Castle%202", template.address));
        assert_eq!((&listed["description"], listed.get("uri")), (&template.description.as_str().into(), None));
        assert_eq!(listed.get("title").is_some(), version.title());
        let text = one_line(&read_result("holdfast://status", "{}", &profile));
        for result in [&list, &prompts, &templates, &text] {
            let hints = (result.get("ttlMs").is_some(), result.get("cacheScope").is_some());
            assert_eq!(hints, (version.is_stateless(), version.is_stateless()), "{result}");
        }
    }
    let many = vec![console; RESOURCES_LISTED_MAX + 5];
    let list = one_line(&resources_list_result(&many, &ProtocolVersion::LATEST.into()));
    assert_eq!(list["resources"].as_array().unwrap().len(), RESOURCES_LISTED_MAX);
}

#[test]
fn a_text_is_read_as_it_is_and_cut_with_a_note_if_it_is_too_long() {
    let profile: ClientProfile = ProtocolVersion::LATEST.into();
    let contents = |text: &str| one_line(&read_result("holdfast://console", text, &profile))["contents"][0].clone();
    for (text, kind) in [
        ("{\"a\": [1e400]}", "application/json"),
        ("[\n1]", "application/json"),
        ("[LOG] a line", "text/plain"),
        ("", "text/plain"),
        ("plain \u{1} \"text\"", "text/plain"),
    ] {
        let read = contents(text);
        assert_eq!((&read["uri"], &read["text"]), (&"holdfast://console".into(), &text.into()));
        assert_eq!(read["mimeType"], kind, "{text}");
    }
    let long = format!("[{}]", "\u{1}".repeat(2 * RESOURCE_TEXT_MAX_BYTES));
    let line = read_result("holdfast://console", &long, &profile);
    assert!(line.len() < CLIENT_MESSAGE_MAX_BYTES - 64 * 1024, "{} bytes", line.len());
    let read = contents(&long);
    assert_eq!(read["mimeType"], "text/plain");
    assert!(read["text"].as_str().unwrap().ends_with("arguments that ask for less]"));
    let error = read_error("holdfast://console", &long, Some(("id".into(), "not_executed")));
    assert!(error.message.len() <= RESOURCE_TEXT_MAX_BYTES);
    let data: Value = serde_json::from_str(error.data.unwrap().get()).unwrap();
    assert_eq!((error.code, &data["verdict"], &data["call_id"]), (-32603, &"not_executed".into(), &"id".into()));
}

#[test]
fn a_prompt_takes_its_own_arguments_only() {
    let fix = |place: Option<&str>| GetPrompt { prompt: Prompt::FixCompileErrors, place: place.map(Into::into) };
    for (params, expected) in [
        (r#"{"name":"fix-compile-errors"}"#, fix(None)),
        (r#"{"name":"fix-compile-errors","arguments":null}"#, fix(None)),
        (r#"{"name":"fix-compile-errors","arguments":{"where":" "}}"#, fix(None)),
        (r#"{"name":"fix-compile-errors","arguments":{"where":"Assets/Game"}}"#, fix(Some("Assets/Game"))),
        (
            r#"{"name":"why-is-unity-silent","arguments":{}}"#,
            GetPrompt { prompt: Prompt::WhyIsUnitySilent, place: None },
        ),
    ] {
        assert_eq!(get(params), expected, "{params}");
    }
    let long = "x".repeat(PROMPT_ARGUMENT_MAX_BYTES + 1);
    let long = format!(r#"{{"name":"fix-compile-errors","arguments":{{"where":"{long}"}}}}"#);
    for (params, fix) in [
        ("{}", "no string `name`"),
        (r#"{"name":7}"#, "no string `name`"),
        (r#"{"name":"fix-compile-error"}"#, "Did you mean `fix-compile-errors`?"),
        (r#"{"name":"x"}"#, "why-is-unity-silent"),
        (r#"{"name":"fix-compile-errors","arguments":[]}"#, "not an object"),
        (r#"{"name":"fix-compile-errors","arguments":{"where":7}}"#, "must be a text"),
        (r#"{"name":"fix-compile-errors","arguments":{"path":"x"}}"#, "no argument `path`"),
        (r#"{"name":"why-is-unity-silent","arguments":{"where":"x"}}"#, "no argument `where`"),
        (&long, "at most 1024 bytes"),
    ] {
        let error = offer("prompts/get", params).expect_err(params);
        assert_eq!(error.code, -32602, "{params}");
        assert!(error.message.contains(fix), "{params}: {}", error.message);
    }
    let result = one_line(&prompt_result(Prompt::FixCompileErrors, "Do\nit."));
    let message = serde_json::json!({"role": "user", "content": {"type": "text", "text": "Do\nit."}});
    assert_eq!(result["messages"], serde_json::json!([message]));
}
