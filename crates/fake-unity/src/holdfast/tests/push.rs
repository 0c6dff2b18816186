//! Tests of the push channel: its token, its sequence numbers, and its first message after a reload.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;

use super::*;

async fn line(stream: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut line = String::new();
    let count = within(stream.read_line(&mut line)).await.unwrap();
    (count > 0).then(|| serde_json::from_str(&line).unwrap())
}

/// Returns the type and the number of a message.
fn said(message: &Value) -> (&str, u64) {
    (text(message, "type"), message["sequence"].as_u64().unwrap())
}

#[tokio::test]
async fn messages_are_numbered_over_reconnects_and_reloads() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap();
    let editor = Editor::start().await;
    let named = format!(r#","push":{{"endpoint":"{endpoint}","token":"t0k"}}"#);
    let prove = async |named: &str| {
        let mut gateway = Gateway::plain(&editor.unity).await;
        let hello = gateway.hello(GATEWAY, named).await;
        let proof = of_gateway(&editor.instance(), &hello, GATEWAY);
        let proven = gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{proof}"}}"#)).await;
        assert_eq!(proven["result"]["proven"], true);
        gateway
    };
    let _first = prove(&named).await;
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    let established = line(&mut push).await.unwrap();
    assert_eq!((said(&established), &established["token"]), (("CONNECTION_ESTABLISHED", 1), &"t0k".into()));
    let (instance, about) = (editor.instance(), &established["payload"]["clientInfo"]);
    assert_eq!((&about["sessionId"], &about["projectPath"]), (&instance["nonce"], &instance["project"]));
    assert_eq!(established["payload"]["endpoint"], format!("localhost:{}", instance["port"]));
    // Registering the same listener again changes nothing.
    let mut gateway = prove(&named).await;
    gateway.call("1", 1, "swap", "{}").await;
    let changed = line(&mut push).await.unwrap();
    assert_eq!(said(&changed), ("TOOLS_CHANGED", 2));
    assert_eq!(changed["payload"]["toolsInfo"]["changedTools"], serde_json::json!(["swapped"]));
    drop(push);
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    assert_eq!(said(&line(&mut push).await.unwrap()), ("CONNECTION_ESTABLISHED", 3));
    editor.unity.reload(Duration::ZERO).await.unwrap();
    assert_eq!(said(&line(&mut push).await.unwrap()), ("DOMAIN_RELOAD", 4));
    assert_eq!(line(&mut push).await, None);
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    assert_eq!(said(&line(&mut push).await.unwrap()), ("DOMAIN_RELOAD_RECOVERED", 5));
    editor.unity.quit().await.unwrap();
    assert_eq!(said(&line(&mut push).await.unwrap()), ("UNITY_SHUTDOWN", 6));
    assert_eq!(line(&mut push).await, None);
}

#[tokio::test]
async fn another_token_is_another_listener_and_none_is_left_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap();
    let editor = Editor::start().await;
    let mut client = Gateway::plain(&editor.unity).await;
    let params = format!(r#"{{"PushNotificationEndpoint":"{endpoint}"}}"#);
    assert_eq!(client.ask("sendPushNotificationEndpoint", &params).await["result"]["Success"], true);
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    let established = line(&mut push).await.unwrap();
    assert_eq!((said(&established).1, established.get("token")), (1, None));
    let mut gateway = Gateway::plain(&editor.unity).await;
    let hello = gateway.hello(GATEWAY, &format!(r#","push":{{"endpoint":"{endpoint}","token":"t"}}"#)).await;
    let proof = of_gateway(&editor.instance(), &hello, GATEWAY);
    gateway.ask("holdfast/prove", &format!(r#"{{"proof":"{proof}"}}"#)).await;
    assert_eq!(line(&mut push).await, None, "the one without a token is given up");
    let mut push = BufReader::new(within(listener.accept()).await.unwrap().0);
    let established = line(&mut push).await.unwrap();
    assert_eq!((said(&established).1, &established["token"]), (1, &"t".into()));
    until(&editor.unity, |stats| stats.push_connections == 1).await;
}
