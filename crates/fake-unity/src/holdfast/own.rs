//! What the package's own tools do that is more than to work with the [world](super::world::World): they take time, reload the domain, or
//! concern the bridge.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::desk::Turn;
use super::world::{self, Answer, Stop};
use super::{arguments, catalogue};
use crate::json::Object;
use crate::spec::ToolSpec;
use crate::tools::{self, Arguments};
use crate::work::{Begun, Done, Fault, NextPort, Order};

/// Most calls in a batch (the package's own number).
const BATCH_MAX: usize = 50;

/// Begins a tool of the package, or continues it with the state that it kept before a reload.
pub(crate) fn run(turn: &Turn, spec: &ToolSpec, arguments: &Arguments, resumed: Option<&str>) -> Begun {
    let started = (turn.editor.timestamp(), turn.editor.uptime());
    let begun = match resumed {
        // What it answers was known before the reload.
        Some(kept) => Begun::ok(object(resumed_value(kept))),
        None => begin(turn, spec, arguments),
    };
    match begun {
        begun if !turn.face.speaks_uloop(turn.key) => begun,
        Begun::Done(done) => Begun::Done(timed(turn, started, done)),
        Begun::Later(rest) => {
            let turn = turn.clone();
            Begun::Later(Box::pin(async move { timed(&turn, started, rest.await) }))
        }
    }
}

/// Adds the times of the run, which every result has in uLoopMCP's protocol.
fn timed(turn: &Turn, (at, since): (String, Duration), done: Done) -> Done {
    let took = turn.editor.uptime().saturating_sub(since).as_millis();
    let end = turn.editor.timestamp();
    let add = |result: Object| {
        let result = result.text("StartedAt", &at).text("EndedAt", &end);
        result.number("ExecutionTimeMs", i128::try_from(took).unwrap_or(0))
    };
    Done { result: done.result.map(add), ..done }
}

fn resumed_value(kept: &str) -> Value {
    let mut value: Value = serde_json::from_str(kept).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("DomainReloaded".to_owned(), json!(true));
    }
    value
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(members) => {
            members.iter().fold(Object::new(), |object, (name, value)| object.raw(name, &value.to_string()))
        }
        other => Object::instead(other.to_string()),
    }
}

fn ended(answer: Answer) -> Begun {
    Begun::Done(Done { result: answer.map(object), then: None })
}

fn begin(turn: &Turn, spec: &ToolSpec, arguments: &Arguments) -> Begun {
    match spec.name {
        "compile" => compile(turn, arguments),
        "play-mode" => play_mode(turn, arguments),
        "run-tests" => run_tests(turn, arguments),
        "change-packages" => change_packages(turn, arguments),
        "debug-sleep" => sleep(turn, arguments.number("SleepSeconds").unwrap_or(15)),
        "batch" => ended(batch(turn, arguments)),
        _ => match at_once(turn, spec, arguments) {
            Some(answer) => ended(answer),
            // A test calls every tool of the list, so this is one that came with a newer list.
            None => Begun::fault(Fault::Internal(format!("The simulated editor has no {} yet", spec.name))),
        },
    }
}

/// Runs a tool that ends at once; `None` if it is no such tool.
fn at_once(turn: &Turn, spec: &ToolSpec, arguments: &Arguments) -> Option<Answer> {
    let editor = &turn.editor;
    let value = |object: Object| serde_json::from_str(&object.finish()).unwrap_or_default();
    Some(match spec.name {
        "ping" => Ok(value(turn.face.desk.lock().ping(editor, arguments.text("Message")))),
        "set-client-name" => Ok(value(set_client_name(turn, arguments))),
        "get-tool-details" => {
            editor.state().list_requests += 1;
            let development = arguments.flag("IncludeDevelopmentOnly");
            Ok(value(Object::new().raw("Tools", &turn.face.legacy_entries(editor, development))))
        }
        "screenshot" => match turn.face.desk.world(editor, |world, facts| world::picture(world, facts, arguments)) {
            Ok((told, picture)) => {
                let image = |data: String| {
                    Object::new().text("type", "image").text("data", &data).text("mimeType", "image/png")
                };
                picture.into_iter().for_each(|data| turn.attach(image(data)));
                Ok(told)
            }
            Err(Stop::Wrong(message)) => Err(Fault::Refused(message)),
            Err(Stop::No(message)) => Ok(json!({"Success": false, "Message": message, "Width": 0, "Height": 0})),
        },
        name => return turn.face.desk.world(editor, |world, facts| world::run(world, facts, name, arguments)),
    })
}

/// Saves the result of the call and reloads the domain. The call is answered in the next domain.
fn reload(turn: &Turn, result: &Value) -> Begun {
    turn.face.keep(turn.key, &result.to_string());
    turn.editor.order(Order::Reload { silence: turn.editor.config.compile_reload, port: NextPort::Same });
    Begun::Later(Box::pin(std::future::pending()))
}

/// Answers with this result, after a reload unless reloads are turned off.
fn over_reload(turn: &Turn, result: Value) -> Begun {
    if turn.editor.config.compile_reload.is_zero() { Begun::ok(object(result)) } else { reload(turn, &result) }
}

/// Compiles. A successful compilation ends the domain, unless reloads are turned off, and the answer comes from the next domain.
/// Unlike the real tool, it compiles although nothing has changed: tests want the reload.
fn compile(turn: &Turn, arguments: &Arguments) -> Begun {
    let id = turn.face.call_id(turn.key);
    {
        let mut state = turn.editor.state();
        if state.playing && !arguments.flag("AllowInPlayMode") {
            return Begun::ok(object(json!({
                "Success": false, "ErrorCount": null, "WarningCount": null, "Errors": [], "Warnings": [],
                "Message": "The editor is in play mode; leave it first, or set AllowInPlayMode", "IsIndeterminate": true,
                "UpToDate": false, "DomainReloaded": false, "RequestId": id,
            })));
        }
        state.compiles += 1;
        // Unity leaves play mode to compile.
        state.playing = false;
    }
    turn.face.set_compiling(&turn.editor, true);
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        turn.progress(1.0, 2.0, "compiling");
        tokio::time::sleep(turn.editor.config.compile_time).await;
        turn.editor.main_free().await;
        turn.face.set_compiling(&turn.editor, false);
        let result = compiled(&turn, &id);
        if result["Success"] == false {
            return Done::ok(object(result));
        }
        turn.editor.write_assembly();
        match over_reload(&turn, result) {
            Begun::Later(rest) => rest.await,
            Begun::Done(done) => done,
        }
    }))
}

/// The result of the compilation that ends now.
fn compiled(turn: &Turn, id: &str) -> Value {
    let mut errors = turn.face.desk.world(&turn.editor, |world, facts| {
        let found = world.compile().into_iter().map(
            |issue| json!({"Message": issue.message(), "File": issue.file, "Line": issue.line, "Column": issue.column}),
        );
        let mut errors: Vec<Value> = found.collect();
        if facts.broken {
            errors.push(json!({
                "Message": "error CS0246: The type or namespace name 'Nowhere' could not be found",
                "File": "Assets/Scripts/Broken.cs", "Line": 3, "Column": 1,
            }));
        }
        errors
    });
    let count = errors.len();
    errors.truncate(500);
    let says = if count == 0 { "The scripts compile" } else { "The scripts do not compile" };
    json!({
        "Success": count == 0, "ErrorCount": count, "WarningCount": 0, "Errors": errors, "Warnings": [],
        "Message": format!("{says}: {count} errors, 0 warnings of what was compiled now"), "IsIndeterminate": false,
        "UpToDate": false, "DomainReloaded": false, "RequestId": id,
    })
}

fn play_mode(turn: &Turn, arguments: &Arguments) -> Begun {
    let (editor, desk) = (&turn.editor, &turn.face.desk);
    let playing = editor.state().playing;
    let told = |success: bool, message: &str| {
        let playing = editor.state().playing;
        let paused = playing && desk.world(editor, |world, _| world.is_paused());
        json!({"Success": success, "Message": message, "IsPlaying": playing, "IsPaused": paused, "DomainReloaded": false})
    };
    let action = arguments.word("Action");
    let result = match action {
        "Enter" if playing => told(true, "The editor is in play mode already"),
        "Enter" => {
            let obstacle = desk.world(editor, |world, facts| {
                // Who steers the editor may have ended an earlier game.
                world.end_game();
                let obstacle = world.obstacle(facts);
                if obstacle.is_none() {
                    world.begin_game();
                }
                obstacle
            });
            match obstacle {
                Some(why) => told(false, &why),
                None => {
                    editor.state().playing = true;
                    let result = told(true, "The editor is in play mode");
                    turn.face.tell_state(editor);
                    return over_reload(turn, result);
                }
            }
        }
        "Exit" if !playing => told(true, "The editor is not in play mode"),
        "Exit" => {
            editor.state().playing = false;
            desk.world(editor, |world, _| world.end_game());
            turn.face.tell_state(editor);
            told(true, "The editor has left play mode")
        }
        _ if !playing => told(false, "The editor is not in play mode; enter it first"),
        _ => {
            desk.world(editor, |world, _| {
                world.begin_game();
                world.pause(action != "Resume");
            });
            match action {
                "Pause" => told(true, "The game is paused"),
                "Resume" => told(true, "The game is not paused"),
                _ => told(true, "One frame of the game was run, and it is paused"),
            }
        }
    };
    Begun::ok(object(result))
}

fn run_tests(turn: &Turn, arguments: &Arguments) -> Begun {
    let mode = arguments.word("TestMode");
    let result = match turn.face.desk.world(&turn.editor, |world, facts| world::asked_tests(world, facts, arguments)) {
        Ok((passed, skipped)) => world::summary(passed, skipped, mode, &turn.editor.timestamp()),
        Err(Stop::Wrong(message)) => return Begun::fault(Fault::Refused(message)),
        Err(Stop::No(message)) => {
            let mut none = world::summary(0, 0, mode, "");
            none["Message"] = json!(message);
            return Begun::ok(object(none));
        }
    };
    // A run in play mode reloads the domain.
    if mode == "PlayMode" { over_reload(turn, result) } else { Begun::ok(object(result)) }
}

fn change_packages(turn: &Turn, arguments: &Arguments) -> Begun {
    let adds = arguments.word("Action") == "Add";
    let told = |success: bool, message: String, package: Value| json!({"Success": success, "Message": message, "Package": package, "DomainReloaded": false});
    if turn.editor.state().playing {
        return Begun::ok(object(told(false, "The editor is in play mode; leave it first".to_owned(), Value::Null)));
    }
    let changed =
        turn.face.desk.world(&turn.editor, |world, _| world::change_packages(world, adds, arguments.word("Package")));
    match changed {
        Ok(one) if adds => over_reload(
            turn,
            told(true, format!("Added {} {}; see compile for its scripts", one.0, one.1), world::package(&one)),
        ),
        Ok((name, _)) => over_reload(
            turn,
            told(true, format!("Removed {name}; see compile for the scripts that needed it"), Value::Null),
        ),
        Err(Stop::Wrong(message)) => Begun::fault(Fault::Refused(message)),
        Err(Stop::No(message)) => Begun::ok(object(told(false, message, Value::Null))),
    }
}

/// A call in a batch: its tool and its arguments.
type Step = (crate::spec::Tool, Value);

/// Makes the calls in order, as one step of undo. It stops at the first that fails.
fn batch(turn: &Turn, arguments: &Arguments) -> Answer {
    let calls = arguments.items("Calls");
    if calls.is_empty() || calls.len() > BATCH_MAX {
        return Err(Fault::Refused(format!("Calls must have 1 to {BATCH_MAX} entries")));
    }
    // All are checked before the first is made.
    let checked = calls
        .iter()
        .enumerate()
        .map(|(at, call)| step(turn, call).map_err(|why| Fault::Refused(format!("{why} (Calls, number {})", at + 1))));
    let steps = checked.collect::<Result<Vec<Step>, Fault>>()?;
    let count = steps.len();
    let before = turn.face.desk.world(&turn.editor, |world, _| world.begin_group());
    let mut results = Vec::new();
    let mut failed = None;
    // The tools that may have changed something, before the one that failed.
    let mut changed: Vec<String> = Vec::new();
    for (at, (tool, given)) in steps.into_iter().enumerate() {
        // Exact: there are at most fifty.
        turn.progress(at as f64, count as f64, &tool.name);
        let (success, member, value) = match one(turn, &tool, &given) {
            Ok(value) => (value.get("Success") != Some(&Value::Bool(false)), "Value", value),
            Err(Fault::Refused(message)) => (false, "Error", json!(message)),
            Err(Fault::Internal(message)) => (false, "Error", json!(format!("InvalidOperationException: {message}"))),
            Err(other) => (false, "Error", json!(format!("{other:?}"))),
        };
        let mut result =
            Map::from_iter([("Tool".to_owned(), json!(tool.name)), ("Success".to_owned(), json!(success))]);
        result.insert(member.to_owned(), value);
        results.push(Value::Object(result));
        if !success {
            let before =
                if at == 0 { String::new() } else { format!(". Those before it are done{}", undone(&changed)) };
            failed = Some(format!("Call {} of {count} failed ({}){before}", at + 1, tool.name));
            break;
        }
        if catalogue::packaged(&tool).is_none_or(|packaged| !packaged.traits.read_only) {
            changed.push(tool.name.clone());
        }
    }
    turn.face.desk.world(&turn.editor, |world, _| world.end_group(&format!("AI: {count} calls"), before));
    let done = || if count == 1 { "The call is done".to_owned() } else { format!("All {count} calls are done") };
    Ok(json!({"Success": failed.is_none(), "Message": failed.unwrap_or_else(done), "Results": results}))
}

/// Says what an undo takes back of what these tools changed.
fn undone(changed: &[String]) -> &'static str {
    const STEPS: [&str; 6] =
        ["edit-game-object", "delete-game-object", "edit-component", "remove-component", "edit-ui", "prefabs"];
    let makes_steps = |name: &String| STEPS.contains(&name.as_str());
    match (changed.iter().any(makes_steps), changed.iter().all(makes_steps)) {
        (false, _) => "",
        (true, true) => "; undo takes them back in one step",
        (true, false) => {
            "; undo takes back in one step what they changed in scenes and prefabs, not what they did to files"
        }
    }
}

/// Checks a call in a batch. Returns why it is refused, if it is.
fn step(turn: &Turn, call: &Value) -> Result<Step, String> {
    let member = |name: &str| {
        let found = call.as_object().into_iter().flatten().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_null())
    };
    let name = member("Tool").and_then(|name| Some(name.as_str()?.to_owned())).filter(|name| !name.is_empty());
    let name = name.ok_or("Tool is missing")?;
    let tool = turn.editor.state().tools.iter().find(|tool| tool.name == name).cloned();
    let tool = tool.ok_or_else(|| format!("There is no tool {name}"))?;
    if turn.face.is_blocked(&name) {
        return Err(catalogue::blocked(&name));
    }
    let given = member("Arguments").unwrap_or_else(|| json!({}));
    if let Some(packaged) = catalogue::packaged(&tool) {
        if packaged.traits.resumable || ["batch", "undo", "debug-sleep"].contains(&name.as_str()) {
            return Err(format!("{name} is called by itself, not in a batch"));
        }
        if let Some(members) = given.as_object()
            && let Err(Fault::Refused(why)) = arguments::check_names(packaged, members)
        {
            return Err(why);
        }
    }
    Ok((tool, given))
}

/// Makes a call in a batch.
fn one(turn: &Turn, tool: &crate::spec::Tool, given: &Value) -> Answer {
    let arguments = catalogue::read(tool, Some(&given.to_string()))?;
    let alone = || Err(Fault::Refused(format!("{} is called by itself, not in a batch", tool.name)));
    if catalogue::packaged(tool).is_some() {
        return at_once(turn, tool.spec, &arguments).unwrap_or_else(alone);
    }
    match tools::begin(&turn.editor, tool.spec, &arguments) {
        Some(Begun::Done(done)) => done.result.map(|object| serde_json::from_str(&object.finish()).unwrap_or_default()),
        // A tool for tests that takes time.
        Some(Begun::Later(_)) | None => alone(),
    }
}

fn sleep(turn: &Turn, seconds: u64) -> Begun {
    let turn = turn.clone();
    Begun::Later(Box::pin(async move {
        let (mut slept, total) = (Duration::ZERO, Duration::from_secs(seconds));
        while slept < total {
            let pause = Duration::from_millis(250).min(total - slept);
            tokio::time::sleep(pause).await;
            slept += pause;
            turn.progress(slept.as_secs_f64(), total.as_secs_f64(), "sleeping");
        }
        let message = format!("Slept for {seconds} seconds");
        let result = Object::new().text("Message", &message).number("ActualSleepSeconds", seconds);
        Done::ok(result.flag("WasCancelled", false))
    }))
}

fn set_client_name(turn: &Turn, arguments: &Arguments) -> Object {
    let name = arguments.text("ClientName").unwrap_or_else(|| "Unknown Client".to_owned());
    let endpoint = arguments.text("PushNotificationEndpoint").unwrap_or_default();
    if let Some(connection) = turn.face.connection(turn.key) {
        turn.editor.name_client(connection, &name);
    }
    turn.face.desk.push.register(&turn.editor, &endpoint, None);
    Object::new()
        .text("Message", &format!("Client name registered successfully: {name}"))
        .text("ClientName", &name)
        .text("PushNotificationEndpoint", &endpoint)
}
