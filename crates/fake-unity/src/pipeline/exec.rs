//! `POST /api/exec`: reads a command, and runs it behind the gate or as a job.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::forms::{self, Form};
use super::reply::{self, Failure, Reply};
use super::server::{self, Domain, Server, WAIT, lock};
use super::versions::{V0_5, V0_6};
use super::wire::{EXEC_MAX_BYTES, Request};
use super::{catalogue, commands};
use crate::events::Event;
use crate::model::Editor;
use crate::spec::{Tool, ToolSpec};
use crate::tools::Arguments;
use crate::work::{Begun, Done, Fault};

/// A command that may run.
struct Call {
    tool: Tool,
    arguments: Arguments,
    connection: u64,
    is_background: bool,
    /// What the editor bound, if the command was not given as an object.
    bound: Option<Value>,
    is_job: bool,
    timeout: Duration,
    is_verbose: bool,
}

/// Counts a command among those that wait or run.
struct Active(Arc<Domain>);

impl Active {
    fn of(domain: &Arc<Domain>) -> Self {
        domain.active.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(domain))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers a request to run a command.
pub(super) async fn answer(
    server: &Arc<Server>,
    editor: &Arc<Editor>,
    connection: u64,
    request: &Request,
) -> Result<Reply, Failure> {
    let call = read(server, editor, connection, request)?;
    let snapshot = commands::snapshot(server, editor, call.tool.spec);
    if let Some(reason) = server::is_busy(server, editor).filter(|_| !call.is_background && snapshot.is_none()) {
        let dialogs: Vec<Value> = server::dialog(server, editor).into_iter().collect();
        let failure = Failure::of(503, "Server Busy", "The editor takes no command now");
        let failure = failure.with("status", "busy".into()).with("busyReason", reason.into());
        return Err(failure.with("retryable", true.into()).with("dialogs", dialogs.into()));
    }
    if call.is_job {
        return enqueue(server, editor, call);
    }
    let domain = server.domain();
    let _active = Active::of(&domain);
    let _turn = if server.version < V0_5 { None } else { Some(domain.gate.lock().await) };
    let name = call.tool.name.clone();
    let (bound, is_verbose, timeout) = (call.bound.clone(), call.is_verbose, call.timeout);
    let (result, outcome) = match snapshot {
        Some(said) => (Ok(said.to_string()), "ok"),
        None => {
            let done = run(server, editor, call, Some(timeout), || {}).await?;
            let outcome = if done.is_ok() { "ok" } else { "error" };
            (done, outcome)
        }
    };
    let mut reply = match result {
        Ok(result) => {
            let mut body = reply::success(editor, server.version, &name, &result, is_verbose);
            if let Some(bound) = bound {
                body = body.raw("parameters", &bound.to_string());
            }
            Reply::of(server.version, body.finish())
        }
        Err(failure) => failure.reply(editor, server.version),
    };
    reply.ended = Some((name, outcome));
    reply.may_be_lost = true;
    Ok(reply)
}

/// Makes a job of a command.
fn enqueue(server: &Arc<Server>, editor: &Arc<Editor>, call: Call) -> Result<Reply, Failure> {
    let domain = server.domain();
    let id = lock(&domain.jobs).enqueue(editor, &call.tool.name)?;
    let said = json!({"jobId": id, "state": "queued"});
    let body = reply::success(editor, server.version, &call.tool.name, &said.to_string(), false);
    let (server_, editor_, active) = (Arc::clone(server), Arc::clone(editor), Active::of(&domain));
    let (connection, name) = (call.connection, call.tool.name.clone());
    server.spawn(async move {
        let (server, editor, _active) = (server_, editor_, active);
        let _turn = domain.gate.lock().await;
        if !lock(&domain.jobs).begins(&id) {
            return;
        }
        let (of, begun, told) = (Arc::clone(&domain), id.clone(), Arc::clone(&editor));
        let starts = move || lock(&of.jobs).started(&told, &begun);
        // A job has no time limit.
        let how = run(&server, &editor, call, None, starts).await.unwrap_or_else(Err);
        let outcome = if how.is_ok() { "ok" } else { "error" };
        lock(&domain.jobs).ended(&editor, &id, how);
        editor.event(Event::CallEnded { connection, tool: name, outcome });
    });
    let mut reply = Reply::of(server.version, body.finish());
    reply.may_be_lost = true;
    Ok(reply)
}

/// Runs a command. Returns its result as JSON, or how it failed.
///
/// # Errors
/// The main thread was not free in time. The command will run all the same.
async fn run(
    server: &Arc<Server>,
    editor: &Arc<Editor>,
    call: Call,
    limit: Option<Duration>,
    starts: impl FnOnce() + Send + 'static,
) -> Result<Result<String, Failure>, Failure> {
    let Call { tool, arguments, connection, is_background, .. } = call;
    let (spec, name) = (tool.spec, tool.name);
    let of = Arc::clone(server);
    let begin = move |editor: &Arc<Editor>| {
        starts();
        let begun = commands::begin(&of, editor, spec, &arguments);
        editor.event(Event::CallBegun { connection, tool: name, call: None, parallel: false });
        begun
    };
    let done = if is_background {
        match begin(editor) {
            Begun::Done(done) => done,
            Begun::Later(rest) => rest.await,
        }
    } else {
        wait(editor.submit(begin), limit).await?
    };
    server.process().settled |= !is_background;
    if let Some(order) = done.then {
        editor.order(order);
    }
    Ok(done.result.map(|result| editor.oddly(result).finish()).map_err(failure))
}

/// Waits for the main thread. What is late is not taken back: it runs when the main thread is free.
pub(super) async fn wait(work: oneshot::Receiver<Done>, limit: Option<Duration>) -> Result<Done, Failure> {
    let ended = async {
        match work.await {
            Ok(done) => done,
            // The domain ends, and this request with it.
            Err(_) => std::future::pending().await,
        }
    };
    let Some(limit) = limit else { return Ok(ended.await) };
    let text = format!("Main thread operation timed out after {}ms", limit.as_millis());
    tokio::time::timeout(limit, ended).await.map_err(|_| Failure::of(400, "Internal Server Error", text))
}

/// Returns what is said of a command that failed.
pub(super) fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Refused(text) => Failure::of(400, "Parameter Validation Failed", text),
        Fault::Internal(text) | Fault::Blocked(text) => Failure::of(400, "Command Execution Failed", text),
        Fault::Timeout { tool, seconds } => {
            Failure::of(400, "Command Execution Failed", format!("{tool} took more than {seconds} s"))
        }
        Fault::Cancelled => Failure::of(400, "Command Execution Failed", "It was cancelled"),
    }
}

/// Reads which command is to run, without running anything.
fn read(server: &Server, editor: &Editor, connection: u64, request: &Request) -> Result<Call, Failure> {
    if request.length > EXEC_MAX_BYTES {
        return Err(Failure::of(413, "Payload Too Large", format!("At most {EXEC_MAX_BYTES} bytes")));
    }
    if request.body.trim_ascii().is_empty() {
        return Err(Failure::of(400, "Bad Request", "The body is empty"));
    }
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| {
        editor.state().unparsable += 1;
        Failure::of(400, "Invalid JSON", error.to_string())
    })?;
    let Form { command, parameters, is_raw } = forms::read(server.version, &body)?;
    let known = editor.state().tools.iter().find(|tool| tool.name == command).cloned();
    let tool = known.ok_or_else(|| Failure::of(400, "Command Not Found", format!("There is no command {command}")))?;
    let members = match is_raw {
        true => forms::bind(tool.spec, &parameters)?,
        false => parameters.as_object().cloned().unwrap_or_default(),
    };
    let bound = is_raw.then(|| Value::from(members.clone()));
    let arguments = arguments(server, tool.spec, members)?;
    let has = |name: &str| body.get(name) == Some(&Value::Bool(true));
    let timeout = body.get("timeout").and_then(Value::as_u64).filter(|ms| server.version >= V0_5 && *ms > 0);
    Ok(Call {
        is_background: catalogue::own(tool.spec.name).is_some_and(|command| command.is_background),
        tool,
        arguments,
        connection,
        bound,
        is_job: server.version >= V0_5 && has("job"),
        timeout: timeout.map_or(WAIT, Duration::from_millis),
        is_verbose: server.version >= V0_6 && has("verbose"),
    })
}

/// Checks arguments. What the command does not know is ignored. Before 0.6 the default takes the place of a value of another type.
fn arguments(server: &Server, spec: &'static ToolSpec, mut members: Map<String, Value>) -> Result<Arguments, Failure> {
    let missing = |(nth, name): (usize, &str)| catalogue::type_of(spec, nth).1 && !members.contains_key(name);
    let mut names = spec.params.iter().map(|param| param.name).enumerate();
    if let Some((_, name)) = names.find(|param| missing(*param)) {
        return Err(Failure::of(400, "Parameter Validation Failed", format!("The parameter {name} is required")));
    }
    let fits = |name: &str, value: &Value| {
        let one = json!({name: value}).to_string();
        Arguments::read(spec.name, spec, Some(&one)).is_ok()
    };
    if server.version < V0_6 {
        members.retain(|name, value| fits(name, value));
    } else if let Some((name, _)) = members.iter().find(|(name, value)| !fits(name, value)) {
        let wrong = format!("The value of {name} cannot be converted");
        return Err(Failure::of(400, "Parameter Validation Failed", wrong));
    }
    Ok(Arguments::of(members))
}
