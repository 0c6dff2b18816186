//! Tests the messages of the simulated uLoop package against literal examples from the protocol's description (read from
//! hatayama/uLoopMCP v0.30.1, v2.1.1 and pull request 239, or observed between a client and the package).

use crate::tests::*;

/// Replaces the values of `description` and `Description`, because the simulation has texts of its own there.
fn without_words(json: &str) -> String {
    let mut text = String::new();
    let mut rest = json;
    while let Some(at) = rest.to_ascii_lowercase().find("\"description\":\"") {
        let value = at + "\"description\":\"".len();
        text.push_str(&rest[..value]);
        text.push_str("<text>");
        let end = rest[value..].find('"').unwrap();
        rest = &rest[value + end..];
    }
    text + rest
}

/// Returns the entry of a tool in the list as it is sent, but with its descriptions replaced.
async fn entry(client: &mut Client, tool: &str) -> String {
    client.call("1", "get-tool-details", r#"{"IncludeDevelopmentOnly":true}"#).await;
    let text = client.reply_text().await;
    let start = text.find(&format!(r#"{{"name":"{tool}","#)).unwrap();
    let end = start + text[start..].find(r#","displayDevelopmentOnly":"#).unwrap();
    let end = end + text[end..].find('}').unwrap() + 1;
    without_words(&text[start..end])
}

#[tokio::test]
async fn tool_entries_of_v0_30_1() {
    let unity = start(version("0.30.1")).await;
    let mut client = Client::to(&unity).await;
    assert_eq!(
        entry(&mut client, "compile").await,
        r#"{"name":"compile","description":"<text>","parameterSchema":{"Properties":{"ForceRecompile":{"Type":"boolean","Description":"<text>","DefaultValue":false,"Enum":null},"TimeoutSeconds":{"Type":"number","Description":"<text>","DefaultValue":15,"Enum":null}},"Required":[]},"displayDevelopmentOnly":false}"#
    );
    assert_eq!(
        entry(&mut client, "get-logs").await,
        r#"{"name":"get-logs","description":"<text>","parameterSchema":{"Properties":{"LogType":{"Type":"string","Description":"<text>","DefaultValue":3,"Enum":["Log","Warning","Error","All","None"]},"MaxCount":{"Type":"number","Description":"<text>","DefaultValue":100,"Enum":null},"SearchText":{"Type":"string","Description":"<text>","DefaultValue":"","Enum":null},"UseRegex":{"Type":"boolean","Description":"<text>","DefaultValue":false,"Enum":null},"SearchInStackTrace":{"Type":"boolean","Description":"<text>","DefaultValue":false,"Enum":null},"IncludeStackTrace":{"Type":"boolean","Description":"<text>","DefaultValue":true,"Enum":null},"TimeoutSeconds":{"Type":"number","Description":"<text>","DefaultValue":15,"Enum":null}},"Required":[]},"displayDevelopmentOnly":false}"#
    );
    let search = entry(&mut client, "unity-search").await;
    assert!(search.contains(r#""Providers":{"Type":"array","Description":"<text>","DefaultValue":[],"Enum":null}"#));
    assert!(entry(&mut client, "run-tests").await.contains(r#""DefaultValue":30"#));
    assert!(entry(&mut client, "ping").await.ends_with(r#""displayDevelopmentOnly":true}"#));
}

#[tokio::test]
async fn results_carry_timing_then_nothing_then_the_version() {
    const PING: &str = r#"{"Message":"connection_test"}"#;
    const NAME: &str = r#"{"ClientName":"cursor"}"#;
    let of_the_version = |text: &str| {
        let config = version(text);
        async move {
            let unity = start(config).await;
            let mut client = Client::to(&unity).await;
            client.call("1", "ping", PING).await;
            let ping = client.reply_text().await;
            client.call("\"x\"", "set-client-name", NAME).await;
            (timeless(&ping), timeless(&client.reply_text().await))
        }
    };
    let timing = r#""StartedAt":"<time>","EndedAt":"<time>","ExecutionTimeMs":<ms>}}"#;
    let (ping, name) = of_the_version("0.30.1").await;
    let pong = r#"{"jsonrpc":"2.0","id":1,"result":{"Message":"Unity MCP Bridge received: connection_test","#;
    assert_eq!(ping, format!("{pong}{timing}"));
    let named = r#"{"jsonrpc":"2.0","id":"x","result":{"Message":"Client name registered successfully: cursor","ClientName":"cursor""#;
    assert_eq!(name, format!("{named},{timing}"));
    let (_, name) = of_the_version("0.40.0").await;
    assert_eq!(name, format!("{named}}}}}"));
    let (ping, name) = of_the_version("2.1.1").await;
    assert_eq!(ping, format!(r#"{pong}"Ver":"2.1.1"}}}}"#));
    assert_eq!(name, format!(r#"{named},"Ver":"2.1.1"}}}}"#));
}

/// Replaces timestamps such as `2025-07-22T21:34:56.789` by `<time>`, and a duration by `<ms>`: on a busy machine it is not 0.
pub(crate) fn timeless(text: &str) -> String {
    let mut parts = text.split("\"2025-07-22T");
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        let (time, rest) = part.split_once('"').unwrap();
        assert_eq!(time.len(), "21:34:56.789".len(), "{time}");
        result.push_str("\"<time>\"");
        result.push_str(rest);
    }
    let Some((before, duration)) = result.split_once("\"ExecutionTimeMs\":") else { return result };
    let after = duration.trim_start_matches(|digit: char| digit.is_ascii_digit());
    assert_ne!(after.len(), duration.len(), "a duration is a number: {text}");
    format!("{before}\"ExecutionTimeMs\":<ms>{after}")
}

#[tokio::test]
async fn the_push_branch_echoes_the_endpoint_before_the_timing() {
    let unity = start(FakeUnityConfig { push: true, ..version("0.30.1") }).await;
    let mut client = Client::to(&unity).await;
    let params = r#"{"ClientName":"cursor","ClientPort":8700,"PushNotificationEndpoint":""}"#;
    client.call("1", "set-client-name", params).await;
    let expected = r#""ClientName":"cursor","PushNotificationEndpoint":"","StartedAt""#;
    assert!(client.reply_text().await.contains(expected));
}

#[tokio::test]
async fn error_shapes() {
    let blocked_tools = vec!["run-tests".to_owned()];
    let unity = start(FakeUnityConfig { blocked_tools, ..version("0.30.1") }).await;
    let mut client = Client::to(&unity).await;
    client.call("\"ts_1795294833173_9780_281_0003\"", "foo", "{}").await;
    assert_eq!(
        client.reply_text().await,
        r#"{"jsonrpc":"2.0","id":"ts_1795294833173_9780_281_0003","error":{"code":-32603,"message":"Internal error","data":{"type":"internal_error","message":"Unknown tool: foo"}}}"#
    );
    client.call("7", "run-tests", "{}").await;
    let text = client.reply_text().await;
    let expected = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Tool blocked by security settings","data":{"type":"security_blocked","command":"run-tests","reason":"Tool is blocked by security settings","message":""#;
    assert!(text.starts_with(expected), "{text}");
    client.call("8", "sleep", r#"{"ms":600000,"TimeoutSeconds":1}"#).await;
    assert_eq!(
        client.reply_text().await,
        r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32603,"message":"Request timeout","data":{"type":"internal_error","message":"Tool sleep timed out after 1 seconds"}}}"#
    );
    for junk in ["{\"id\":1,", "[]", "nonsense"] {
        client.send(junk).await;
        let reply = client.reply().await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&Value::Null, &Value::from(-32603)), "{junk}");
    }
    assert!(entry(&mut client, "run-tests").await.contains("<text>"));
    client.call("9", "get-tool-details", "{}").await;
    assert!(
        client.reply_text().await.contains("\"[BLOCKED] Runs the project's tests. - Blocked by security settings\"")
    );
}

#[tokio::test]
async fn a_parameter_of_another_type_is_refused_in_the_message_of_later_versions() {
    for (text, message) in [("0.30.1", "Internal error"), ("2.1.1", "Parameter type mismatch for tool 'compile': ")] {
        let unity = start(version(text)).await;
        let mut client = Client::to(&unity).await;
        client.call("1", "compile", r#"{"ForceRecompile":"perhaps"}"#).await;
        let reply = client.reply().await;
        assert!(reply["error"]["message"].as_str().unwrap().starts_with(message), "{reply}");
        assert_eq!(unity.stats().compiles, 0);
    }
}

#[tokio::test]
async fn notifications_of_the_bridge() {
    let unity = start(config()).await;
    let mut client = Client::to(&unity).await;
    client.result("ping", "{}").await;
    unity.tools_changed().await.unwrap();
    let text = loop {
        let text = client.text().await;
        if text.contains("list_changed") {
            break text;
        }
    };
    let time = text.split("\"timestamp\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(time.starts_with("2025-07-22T") && time.ends_with('Z'), "{time}");
    assert_eq!(
        text,
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"timestamp":"{time}","message":"Unity tools have been updated"}}}}"#
        )
    );
}
