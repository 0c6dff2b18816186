//! What runs changes between a list and a call: editors reload, close, appear and come back, and parts of the gateway fail.

use holdfast::limits::HOLD_MAX;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_editor_that_reloads_stays_in_the_list_and_its_call_waits_for_it() {
    let mut scene = Scene::new(2).await;
    let list = scene.caller.list().await;
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.editors[1].reload(Duration::from_secs(3)).await.unwrap();
    let id = scene.caller.client.call("count", json!({"key": "through", ARGUMENT: "Forest"})).await;
    assert_eq!(scene.caller.list().await, list, "a reload changes no list");
    let (text, error) = scene.caller.client.text(&id).await;
    assert!(!error, "{text}");
    assert_eq!(scene.runs("through"), [0, 1]);
    scene.stage.live(&scene.stage.project(1)).await;
    scene.caller.client.ping().await;
    assert_eq!(scene.caller.client.notifications(CHANGED).len(), heard, "and nobody is told of one");
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_closed_between_list_and_call_is_told_of_and_the_call_goes_to_no_other() {
    let mut scene = Scene::new(3).await;
    let list = scene.caller.list().await;
    assert!(argument(&list, "count")["description"].as_str().unwrap().contains("Forest"));
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    scene.caller.changes(heard + 1).await;
    let told = scene.caller.count_in("Forest", "closed").await;
    refused(&told, &["`Forest` is closed", "no mistake in the call", "open that project", "`Castle` or `Harbour`"]);
    let list = scene.caller.list().await;
    let says = argument(&list, "count")["description"].as_str().unwrap();
    assert!(says.contains("`Castle` or `Harbour`") && !says.contains("Forest"), "{says}");
    // With one editor left nothing must be named, but a name still means that editor only.
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[2].1), Liveness::Dead);
    scene.editors[2].quit().await.unwrap();
    scene.caller.changes(heard + 1).await;
    refused(&scene.caller.count_in("Forest", "closed").await, &["`Forest` is closed", "`Castle`"]);
    refused(&scene.caller.count_in("Harbour", "closed").await, &["`Harbour` is closed"]);
    assert!(!scene.caller.count_in("Castle", "left").await.1);
    assert!(!scene.caller.count("plain").await.1);
    let runs = ["closed", "left", "plain"].map(|key| scene.runs(key));
    assert_eq!(runs, [vec![0, 0, 0], vec![1, 0, 0], vec![1, 0, 0]]);
    scene.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_told_when_an_editor_appears_and_when_its_tools_change() {
    let mut scene = Scene::new(1).await;
    let alone = scene.caller.list().await;
    assert!(argument(&alone, "count").is_null());
    assert!(!scene.caller.count("before").await.1);
    // A call that was accepted for the only editor stays there when another one appears.
    let id = scene.caller.client.call("hold", json!({})).await;
    until("it runs", || scene.editors[0].stats().running == 1).await;
    let held = scene.caller.client.call("count", json!({"key": "held"})).await;
    scene.caller.client.ping().await;
    scene.editors.push(scene.stage.editor(1).await);
    let mut owner = scene.stage.named(1).await;
    assert!(!owner.count("ready").await.1);
    scene.owners.push(owner);
    scene.caller.changes(1).await;
    scene.stage.live(&scene.stage.project(1)).await;
    let both = scene.caller.list().await;
    assert!(!argument(&both, "count").is_null());
    scene.editors[0].release();
    assert!(!scene.caller.client.text(&id).await.1);
    let (text, error) = scene.caller.client.text(&held).await;
    assert!(!error, "{text}");
    assert_eq!(scene.runs("held"), [1, 0]);
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.editors[1].add_tool("only-in-forest").unwrap();
    scene.editors[1].tools_changed().await.unwrap();
    scene.editors[1].reload(Duration::from_millis(100)).await.unwrap();
    scene.caller.changes(heard + 1).await;
    let list = scene.caller.list().await;
    let says = argument(&list, "only-in-forest")["description"].as_str().unwrap();
    assert!(says.contains("`Forest`") && !says.contains("Castle"), "{says}");
    // A tool of one editor only is not sent to the other, and says so as ever.
    let id = scene.caller.client.call("only-in-forest", json!({"text": "a", ARGUMENT: "Castle"})).await;
    let answer = scene.caller.client.answer(&id).await.value;
    assert!(answer["error"]["message"].as_str().unwrap().contains("nothing was executed"), "{answer}");
    scene.caller.client.ok("only-in-forest", json!({"text": "a", ARGUMENT: "Forest"})).await;
    scene.end().await;
}

/// The roots are searched again only after a while, and the choice follows what runs in between.
#[tokio::test(start_paused = true)]
async fn of_several_projects_in_the_roots_the_last_one_that_runs_is_the_sessions_own() {
    let stage = Stage::new();
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    caller.list().await;
    for nth in [0, 1] {
        stage.live(&stage.project(nth)).await;
    }
    refused(&caller.count("none").await, &["several Unity projects fit"]);
    stage.host.set_process(u32::from(PROJECTS[0].1), Liveness::Dead);
    editors[0].quit().await.unwrap();
    until("it is gone", || !stage.parts.links.find(&stage.project(0)).unwrap().is_open()).await;
    refused(&caller.count_in("Castle", "closed").await, &["`Castle` is closed", "`Forest`"]);
    tokio::time::sleep(ROUTE_LOOK_EVERY).await;
    let (text, error) = caller.count("left").await;
    assert!(!error, "{text}");
    // The closed one is in the roots as ever, so it is told of as closed.
    refused(&caller.count_in("Castle", "closed").await, &["`Castle` is closed", "`Forest`"]);
    assert_eq!(["none", "closed", "left"].map(|key| editors[1].runs(key)), [0, 0, 1]);
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

/// While an editor reloads, only the other one's port is open. That makes the other one no session's own.
#[tokio::test(start_paused = true)]
async fn of_several_projects_in_the_roots_one_that_reloads_still_counts() {
    let stage = Stage::new();
    stage.host.look_at(&stage.net);
    let editors = [stage.editor(0).await, stage.editor(1).await];
    let mut caller = stage.rooted_in(&[stage.project(0), stage.project(1)]).await;
    caller.list().await;
    for nth in [0, 1] {
        stage.live(&stage.project(nth)).await;
    }
    let list = caller.list().await;
    let away = ROUTE_LOOK_EVERY * 6;
    editors[0].reload(away).await.unwrap();
    for nth in 0..3 {
        tokio::time::sleep(ROUTE_LOOK_EVERY).await;
        refused(&caller.count(&format!("none {nth}")).await, &["several Unity projects fit", "`Castle` or `Forest`"]);
        assert_eq!(caller.list().await, list);
    }
    let (text, error) = caller.count_in("Castle", "waits").await;
    assert!(!error, "{text}");
    let runs = |key: &str| editors.each_ref().map(|editor| editor.runs(key));
    assert_eq!((runs("waits"), runs("none 0"), runs("none 2")), ([1, 0], [0, 0], [0, 0]));
    assert_eq!(caller.close().await, ShutdownReason::InputEnded);
    stage.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_started_again_lists_and_reaches_the_same() {
    let mut scene = Scene::new(2).await;
    let list = scene.caller.list().await;
    for round in 0..3 {
        scene.caller.session.client.actor.get().unwrap().kill();
        let key = format!("again {round}");
        // The call may meet the end of the actor: then it says so, and was not sent.
        until("a new actor", || {
            let actor = scene.caller.session.client.actor.get();
            actor.is_some_and(|actor| actor.get_status() == ractor::ActorStatus::Running)
        })
        .await;
        assert!(!scene.caller.count_in("Forest", &key).await.1);
        assert_eq!(scene.caller.list().await, list);
        assert_eq!(scene.runs(&key), [0, 1]);
    }
    scene.end().await;
}

/// A link that fails too often rests. That is no mistake of the call, and no other editor gets the name, or becomes the only one.
#[tokio::test(start_paused = true)]
async fn an_editor_whose_link_rested_is_reached_by_its_name_again() {
    for count in [2, 3] {
        let mut scene = Scene::new(count).await;
        let both = scene.caller.list().await;
        let lost = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
        // Only the session that names it in its calls uses it.
        let owner = scene.owners.remove(1);
        assert_eq!(owner.close().await, ShutdownReason::InputEnded);
        until_it_rests(&lost).await;
        refused(&scene.caller.count("none").await, &["several Unity projects fit", "`Castle` or `Forest`"]);
        until("it is back", || lost.contact.view.borrow().availability == Availability::Open).await;
        let (text, error) = scene.caller.count_in("Forest", "again").await;
        assert!(!error, "{text}");
        assert_eq!((scene.runs("again")[1], scene.runs("none")), (1, vec![0; count]));
        scene.stage.live(&scene.stage.project(1)).await;
        assert_eq!(scene.caller.list().await, both);
        // Now it closes as any editor does.
        scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
        scene.editors[1].quit().await.unwrap();
        until("it is gone", || !scene.stage.parts.links.find(&scene.stage.project(1)).unwrap().is_open()).await;
        refused(&scene.caller.count_in("Forest", "closed").await, &["`Forest` is closed"]);
        let told = scene.caller.count("alone").await;
        if count == 2 {
            assert!(!told.1, "one editor is left: {}", told.0);
        } else {
            refused(&told, &["several Unity projects fit", "`Castle` or `Harbour`"]);
        }
        scene.end().await;
    }
}

/// What a link that fails too often still holds is answered at once.
#[tokio::test(start_paused = true)]
async fn a_call_that_a_failing_link_holds_is_answered_when_it_begins_to_rest() {
    let mut scene = Scene::new(2).await;
    scene.editors[1].reload(Duration::from_secs(100)).await.unwrap();
    let named = scene.caller.client.call("count", json!({"key": "held", ARGUMENT: "Forest"})).await;
    let bound = scene.owners[1].client.call("count", json!({"key": "held"})).await;
    scene.caller.client.ping().await;
    let link = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
    until("both are held", || link.calls.ledger(|ledger, _| ledger.counts()) == (2, 0)).await;
    let began = tokio::time::Instant::now();
    until_it_rests(&link).await;
    for told in [scene.caller.client.text(&named).await, scene.owners[1].client.text(&bound).await] {
        assert!(told.1 && told.0.starts_with("Not executed"), "{}", told.0);
    }
    assert!(began.elapsed() < HOLD_MAX, "its time was not up: {:?}", began.elapsed());
    assert_eq!(link.calls.ledger(|ledger, _| ledger.counts()), (0, 0));
    scene.editors[1].up().await.unwrap();
    until("it is back", || link.contact.view.borrow().availability == Availability::Open).await;
    assert!(!scene.caller.count_in("Forest", "after").await.1);
    assert_eq!((scene.runs("held"), scene.runs("after")), (vec![0, 0], vec![0, 1]));
    scene.end().await;
}

/// A client without a handshake hears of changes through its subscription.
#[tokio::test(start_paused = true)]
async fn a_subscription_is_told_of_editors_that_appear_and_go() {
    let mut scene = Scene::new(1).await;
    let mut caller = scene.stage.attach(None);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta.clone()});
    caller.client.request_as(json!("subscription"), "subscriptions/listen", params).await;
    let list = async |caller: &mut Caller| {
        let id = caller.client.request("tools/list", json!({"_meta": meta.clone()})).await;
        caller.client.result(&id).await
    };
    assert!(argument(&list(&mut caller).await, "count").is_null());
    let heard = caller.client.notifications(CHANGED).len();
    scene.editors.push(scene.stage.editor(1).await);
    scene.owners.push(scene.stage.named(1).await);
    assert!(!scene.owners[1].count("ready").await.1);
    caller.changes(heard + 1).await;
    scene.stage.live(&scene.stage.project(1)).await;
    assert!(!argument(&list(&mut caller).await, "count").is_null());
    let heard = caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    caller.changes(heard + 1).await;
    assert!(argument(&list(&mut caller).await, "count").is_null());
    scene.owners.push(caller);
    scene.end().await;
}

/// An editor whose project has two packages runs, and nothing tells which of them it uses.
#[tokio::test(start_paused = true)]
async fn an_editor_that_cannot_be_called_for_another_reason_is_not_told_to_be_closed() {
    let mut scene = Scene::new(3).await;
    let heard = scene.caller.client.notifications(CHANGED).len();
    scene.stage.host.set_process(u32::from(PROJECTS[1].1), Liveness::Dead);
    scene.editors[1].quit().await.unwrap();
    scene.caller.changes(heard + 1).await;
    let again = scene.stage.editor_with(1, |config| config).await;
    let both = json!({"dependencies": {"io.github.hatayama.uloopmcp": "2.1.1", "com.turbokettle.unity-mcp": "1.2.3"}});
    scene.stage.host.put(scene.stage.project(1).join("Packages/manifest.json"), both.to_string());
    // A call has the editor looked for again.
    let link = scene.stage.parts.links.find(&scene.stage.project(1)).unwrap();
    scene.caller.count_in("Forest", "two").await;
    until("the two packages are seen", || {
        link.contact.view.borrow().availability.cause() == Some(holdfast::fsm::cause::Cause::Ambiguous)
    })
    .await;
    let told = scene.caller.count_in("Forest", "two").await;
    refused(&told, &["`Forest` cannot be called", "no mistake in the call", "packages of several protocols", "remove"]);
    assert!(!told.0.contains("closed") && !told.0.contains("open that project"), "{}", told.0);
    let editors = scene.caller.told("holdfast_editors").await;
    let forest = editors["editors"].as_array().unwrap().iter().find(|editor| editor["name"] == "Forest").unwrap();
    assert_eq!((&forest["ready"], &forest["state"]), (&json!(false), &json!("ambiguous")), "{editors:#}");
    assert_eq!((scene.runs("two"), again.runs("two")), (vec![0, 0, 0], 0));
    drop(again);
    scene.end().await;
}
