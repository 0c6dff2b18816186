use std::time::Duration;

use super::super::parts::Parts;
use super::*;
use crate::config::Config;
use crate::net::Tcp;
use crate::platform::host::RealHost;

#[tokio::test]
async fn a_successor_that_starts_while_the_gateway_stops_looks_for_no_editor() {
    let config = Config { seed: Some(1), ..Config::default() };
    let parts = Parts::new(config, Arc::new(Tcp), Arc::new(RealHost));
    parts.link().contact.want_editor();
    parts.link().calls.begin_draining();
    let mut link = parts.link().contact.view.subscribe();
    let actor = BridgeActor::of(parts.links.first(), Tasks::default());
    let (actor, task) = Actor::spawn(None, actor, ()).await.unwrap();
    let begun = link.wait_for(|link| ["seeking", "stopped"].contains(&link.state));
    let state = tokio::time::timeout(Duration::from_secs(20), begun).await.expect("it begins").unwrap().state;
    assert_eq!(state, "stopped");
    actor.stop(None);
    task.await.unwrap();
}
