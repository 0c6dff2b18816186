//! The gateway's own tools. They are listed in every state of the editor; `holdfast_tools` only where there are tools that are not.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::limits::{CALLS_LISTED_MAX, LOG_FIELD_MAX_BYTES, WAIT_READY_MAX};
use crate::protocol::dialect::{Annotations, InputSchema};
use crate::protocol::ids::CallId;
use crate::protocol::text::cut_with_ellipsis;

/// A tool of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GatewayTool {
    /// Reports the state of the connection to the editor, and the reason.
    Status,
    /// Waits until the editor accepts calls.
    WaitReady,
    /// Returns the late result of a call.
    Result,
    /// Lists the recent calls.
    Calls,
    /// Lists the editors that run and those that are known. Only in a session that may use several editors.
    Editors,
    /// Finds tools that are not listed, and calls them.
    Tools,
}

/// A call of a gateway tool with checked arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayCall {
    /// [`GatewayTool::Status`].
    Status,
    /// [`GatewayTool::WaitReady`].
    WaitReady {
        /// The longest wait, if the caller gave one; at most [`WAIT_READY_MAX`].
        timeout: Option<Duration>,
    },
    /// [`GatewayTool::Result`].
    Result {
        /// The call whose result the caller wants.
        call: CallId,
    },
    /// [`GatewayTool::Calls`].
    Calls {
        /// How many calls to show, if the caller gave a number; 1 to [`CALLS_LISTED_MAX`].
        limit: Option<usize>,
        /// Only calls older than this one.
        before: Option<CallId>,
        /// Only calls with this verdict, one of [`VERDICTS`].
        verdict: Option<String>,
    },
    /// [`GatewayTool::Editors`].
    Editors,
    /// [`GatewayTool::Tools`], to find tools.
    Find {
        /// What is looked for.
        words: String,
    },
    /// [`GatewayTool::Tools`], to call one. It is the call of that tool and nothing else: the session takes it as that.
    Call {
        /// The tool's name.
        tool: String,
        /// Its arguments: a JSON object, as it was written.
        arguments: String,
    },
}

/// The verdicts that [`GatewayTool::Calls`] accepts: the labels of metrics and logs.
pub const VERDICTS: [&str; 7] =
    ["ok", "tool_error", "not_executed", "outcome_unknown", "still_running", "cancelled", "internal"];

/// The entry of a gateway tool in the tool list.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name on the wire.
    pub name: &'static str,
    /// The purpose of the tool, for the model.
    pub description: Cow<'static, str>,
    /// JSON Schema of the arguments: a closed object.
    pub input_schema: InputSchema,
    /// MCP annotations; [`GatewayTool::Tools`] alone may change something.
    pub annotations: Annotations,
}

impl GatewayTool {
    /// The gateway tools, in the order of the list.
    pub const ALL: [Self; 6] = [Self::Status, Self::WaitReady, Self::Result, Self::Calls, Self::Editors, Self::Tools];

    /// The tool's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "holdfast_status",
            Self::WaitReady => "holdfast_wait_ready",
            Self::Result => "holdfast_result",
            Self::Calls => "holdfast_calls",
            Self::Editors => "holdfast_editors",
            Self::Tools => "holdfast_tools",
        }
    }

    /// Whether the tool speaks of one editor, which a call may name.
    pub fn takes_editor(self) -> bool {
        matches!(self, Self::Status | Self::WaitReady | Self::Calls)
    }

    /// The tool with exactly this name; `None` if the gateway has none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool's entry in the tool list.
    pub fn definition(self) -> Definition {
        let (title, description, schema) = match self {
            Self::Status => (
                "Unity connection status",
                "Tells whether the Unity Editor is connected and ready, and if not, why and what helps. Also names the project, \
                 the last domain reload, and the calls that wait or run. Answers at once, without Unity. Call it when a Unity \
                 tool failed or is missing from the list.",
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
            Self::WaitReady => (
                "Wait until Unity is ready",
                "Returns as soon as the Unity Editor can take calls, or when the time is up, and says which. Use it after a \
                 compile, a domain reload or an editor start in place of repeated attempts. It changes nothing in Unity.",
                json!({
                    "type": "object",
                    "properties": {
                        "timeout_seconds": {
                            "type": "number",
                            "minimum": 0,
                            "maximum": WAIT_READY_MAX.as_secs(),
                            "description": "Longest wait in seconds; 0 only looks. Left out: as long as this client allows.",
                        },
                    },
                    "additionalProperties": false,
                }),
            ),
            Self::Result => (
                "Fetch a late result",
                "Returns the result of an earlier call that was answered \"still running\" or \"outcome unknown\", by the call id \
                 in that answer. Says so if the call still runs, is not known or its result has expired. It never runs the \
                 call again.",
                json!({
                    "type": "object",
                    "properties": {
                        "call_id": {"type": "string", "description": "The call id (a GUID) from the earlier answer."},
                    },
                    "required": ["call_id"],
                    "additionalProperties": false,
                }),
            ),
            Self::Calls => (
                "Recent Unity calls",
                "Lists the recent calls to Unity, newest first: call id, tool, when, how long, and its verdict (whether it ran \
                 and how it ended). Use it to find the id of a call or to check what has run before repeating anything.",
                json!({
                    "type": "object",
                    "properties": {
                        "limit": {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": CALLS_LISTED_MAX,
                            "description": "The most calls to list.",
                        },
                        "before": {
                            "type": "string",
                            "description": "Only calls older than this one: the last `call_id` of a list that said `more`.",
                        },
                        "verdict": {"type": "string", "enum": VERDICTS, "description": "Only calls that ended like this."},
                    },
                    "additionalProperties": false,
                }),
            ),
            Self::Editors => (
                "Unity Editors",
                "Lists the Unity Editors that run, each with its name, project, package, state, how many clients use it, and whether \
                 this session may use it; and the projects that are known and closed. The name goes into the argument \
                 `holdfast_editor` of a Unity tool. Answers at once, without Unity.",
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
            Self::Tools => (
                "Find and call more Unity tools",
                "Unity has more tools than are listed. With `find`: returns the tools whose names and descriptions have these words, each \
                 with its input schema. With `call`: calls the tool of that name with `arguments`, for clients that can call only \
                 what is listed.",
                json!({
                    "type": "object",
                    "properties": {
                        "find": {"type": "string", "description": "A few words: what the tool should do, or its name."},
                        "call": {"type": "string", "description": "The name of a tool to call, in place of `find`."},
                        "arguments": {
                            "type": "object",
                            "properties": {},
                            "description": "The arguments of the tool that is called, by its own schema.",
                        },
                    },
                    "additionalProperties": false,
                }),
            ),
        };
        let input_schema = schema.as_object().map(InputSchema::from).unwrap_or_default();
        // A client must ask its user for a call through this tool as for any tool.
        let is_any = self == Self::Tools;
        let annotations = Annotations {
            title: title.to_owned(),
            read_only_hint: !is_any,
            destructive_hint: is_any,
            idempotent_hint: !is_any,
            open_world_hint: is_any,
        };
        Definition { name: self.name(), description: Cow::Borrowed(description), input_schema, annotations }
    }

    /// Checks the arguments of a call.
    ///
    /// A text for the model, with the fix. The caller sends it as a tool error, not as a protocol error: MCP demands that since
    /// 2025-11-25, and older clients also show tool errors to the model.
    pub fn parse_arguments(self, arguments: &RawValue) -> Result<GatewayCall, String> {
        let mut given: Map<String, Value> = serde_json::from_str(arguments.get()).map_err(|error| {
            format!("{}: not executed: the arguments are no usable JSON object ({error}).", self.name())
        })?;
        // Models write null for an optional parameter that they leave out.
        given.retain(|_, value| !value.is_null());
        let call = match self {
            Self::Status => GatewayCall::Status,
            Self::Editors => GatewayCall::Editors,
            Self::WaitReady => {
                let timeout = given.remove("timeout_seconds").map(|value| self.seconds(&value)).transpose()?;
                GatewayCall::WaitReady { timeout }
            }
            Self::Result => {
                let id = given.remove("call_id").unwrap_or_default();
                GatewayCall::Result { call: self.call_id("call_id", &id)? }
            }
            Self::Tools => self.found_or_called(arguments, &mut given)?,
            Self::Calls => {
                let limit = given.remove("limit").map(|value| self.count(&value)).transpose()?;
                let before = given.remove("before").map(|value| self.call_id("before", &value)).transpose()?;
                let verdict = given.remove("verdict").map(|value| self.verdict(&value)).transpose()?;
                GatewayCall::Calls { limit, before, verdict }
            }
        };
        match given.keys().next() {
            None => Ok(call),
            Some(key) => {
                let known = self.parameters();
                let known = if known.is_empty() {
                    String::from("no parameters")
                } else {
                    format!("only `{}`", known.join("`, `"))
                };
                Err(self.bad(&format!(
                    "`{}` is not a parameter; it takes {known}",
                    cut_with_ellipsis(key, LOG_FIELD_MAX_BYTES)
                )))
            }
        }
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Status | Self::Editors => &[],
            Self::WaitReady => &["timeout_seconds"],
            Self::Result => &["call_id"],
            Self::Calls => &["limit", "before", "verdict"],
            Self::Tools => &["find", "call", "arguments"],
        }
    }

    fn found_or_called(self, written: &RawValue, given: &mut Map<String, Value>) -> Result<GatewayCall, String> {
        /// The arguments as they were written: a number must reach the editor with all its digits.
        #[derive(Deserialize)]
        struct Written<'a> {
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
        }
        let (find, call, arguments) = (given.remove("find"), given.remove("call"), given.remove("arguments"));
        match (find, call, arguments) {
            (Some(Value::String(words)), None, None) if !words.trim().is_empty() => Ok(GatewayCall::Find { words }),
            (None, Some(Value::String(tool)), arguments) if tool != self.name() && !tool.is_empty() => {
                let written = serde_json::from_str::<Written<'_>>(written.get()).ok().and_then(|all| all.arguments);
                let arguments = match (arguments, written) {
                    (None, _) => "{}".to_owned(),
                    (Some(Value::Object(_)), Some(written)) => written.get().to_owned(),
                    _ => return Err(self.bad("`arguments` must be an object of the called tool's parameters by name")),
                };
                Ok(GatewayCall::Call { tool, arguments })
            }
            _ => Err(self.bad(
                "it takes either `find` (a text: words of what is looked for) or `call` (a text: another tool's name) with \
                 `arguments`",
            )),
        }
    }

    fn seconds(self, value: &Value) -> Result<Duration, String> {
        value
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|wait| *wait <= WAIT_READY_MAX)
            .ok_or_else(|| {
                self.bad(&format!("`timeout_seconds` must be a number from 0 to {}", WAIT_READY_MAX.as_secs()))
            })
    }

    fn count(self, value: &Value) -> Result<usize, String> {
        let bad = || self.bad(&format!("`limit` must be a whole number from 1 to {CALLS_LISTED_MAX}"));
        let number = value.as_f64().ok_or_else(bad)?;
        // In JSON Schema 5.0 is an integer, and models write it.
        (1..=CALLS_LISTED_MAX)
            .find(|limit| u32::try_from(*limit).is_ok_and(|limit| f64::from(limit) == number))
            .ok_or_else(bad)
    }

    fn call_id(self, parameter: &str, value: &Value) -> Result<CallId, String> {
        value.as_str().and_then(CallId::parse).ok_or_else(|| {
            self.bad(&format!(
                "`{parameter}` must be the call id (a GUID) from an earlier answer; holdfast_calls lists them"
            ))
        })
    }

    fn verdict(self, value: &Value) -> Result<String, String> {
        value
            .as_str()
            .and_then(|verdict| VERDICTS.into_iter().find(|known| *known == verdict))
            .map(str::to_owned)
            .ok_or_else(|| self.bad(&format!("`verdict` must be one of {}", VERDICTS.join(", "))))
    }

    fn bad(self, fix: &str) -> String {
        format!("{}: not executed: {fix}.", self.name())
    }
}
