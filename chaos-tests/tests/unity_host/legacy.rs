//! Our package's uLoopMCP protocol, used by the gateway, and by a client that does what uLoopMCP's own server does.

use holdfast::protocol::dialect;
use serde_json::json;

use super::stage::{Stage, on_both, words};
use super::wire::Wire;
use super::{Verdict, until};

#[test]
fn a_gateway_that_speaks_uloop_calls_our_package_and_comes_back_after_reloads() {
    on_both("legacy", &["U01", "U09", "R07"], |runtime, scenario| {
        let mut stage = Stage::with_gateway(runtime, &["--unproven"], |port| {
            words(["--dialect", dialect::FALLBACK[0].name(), "--port", &port.to_string()])
        });
        for (tool, verdict) in
            [("fail", Verdict::ToolError), ("throw", Verdict::ToolError), ("get-hierarchy", Verdict::Ok)]
        {
            let answer = stage.client.done(tool, &json!({}));
            assert_eq!(answer.verdict(), verdict, "{tool}: {}", answer.0);
        }
        let told = stage.client.notified("notifications/tools/list_changed");
        stage.unity.say("addtool fresh");
        until("the change is told", || stage.client.notified("notifications/tools/list_changed") > told);
        until("the new tool is listed", || stage.client.tools().contains(&"fresh".to_owned()));
        for round in 0..5 {
            let key = |name: &str| format!("{name}{round}");
            let cut = stage.begun("count", &json!({"key": key("cut"), "hold": true}));
            let waiting = stage.client.call("count", &json!({"key": key("waits")}));
            stage.unity.order("reload 0");
            scenario.record.injected("domain reload");
            // This protocol has no journal: the outcome of a call that was sent and not answered is unknown.
            let answer = stage.client.answer(cut);
            scenario.verdict(answer.verdict());
            assert_eq!(answer.verdict(), Verdict::Unknown, "{}", answer.0);
            assert_eq!(stage.client.answer(waiting).verdict(), Verdict::Ok);
            assert_eq!((stage.room.runs(&key("cut")), stage.room.runs(&key("waits"))), (1, 1));
            scenario.record.checked("I2", 2);
        }
        stage.close(scenario);
    });
}

#[test]
fn a_client_of_uloops_own_kind_is_served_told_of_changes_and_of_the_end() {
    on_both("legacy-client", &["R07"], |runtime, scenario| {
        let mut stage = Stage::open(runtime, &["--unproven"]);
        let mut client = Wire::connect(stage.unity.port);
        let pong = client.ask("ping", &json!({"Message": "hello"}));
        assert!(pong["result"]["Message"].as_str().is_some_and(|text| text.contains("hello")), "{pong}");
        let named = client.ask("set-client-name", &json!({"ClientName": "stock", "PushNotificationEndpoint": ""}));
        assert!(named["result"].is_object(), "{named}");
        let tools = client.ask("get-tool-details", &json!({"IncludeDevelopmentOnly": false}));
        let listed = tools["result"]["Tools"].as_array().unwrap_or_else(|| panic!("no tools: {tools}"));
        assert!(listed.iter().any(|tool| tool["name"] == "echo"), "{tools}");
        assert_eq!(client.ask("echo", &json!({"text": "x"}))["result"]["Echo"], "x");
        assert_eq!(client.ask("no-such-tool", &json!({}))["error"]["data"]["type"], "internal_error");
        stage.unity.say("addtool fresh");
        client.notified("notifications/tools/list_changed");
        // The gateway is notified in addition to this client, and the editor serves both.
        until("the new tool is listed", || stage.client.tools().contains(&"fresh".to_owned()));
        assert_eq!(client.ask("count", &json!({"key": "stock"}))["result"]["Runs"], 1);
        let heard = stage.unity.mark();
        stage.unity.order("reload 0");
        scenario.record.injected("domain reload");
        assert_eq!(client.notified("notifications/server/shutdown")["params"]["reason"], "DomainReload");
        client.ends();
        stage.unity.hear(heard, |event| event["event"] == "listening");
        assert_eq!(Wire::connect(stage.unity.port).ask("echo", &json!({"text": "y"}))["result"]["Echo"], "y");
        stage.client.echoes();
        scenario.record.checked("I8", 1);
        stage.close(scenario);
    });
}
