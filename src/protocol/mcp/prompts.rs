//! Prompts: texts with which a user asks the AI to do a frequent task. All prompts are always listed; their texts
//! depend on what is known at the moment ([`crate::core::user_text`]).
//!
//! Source: the specification's page "Prompts" of each version. The list has one page.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::limits::LOG_FIELD_MAX_BYTES;
use crate::limits::resources::PROMPT_ARGUMENT_MAX_BYTES;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::text::{cut_with_ellipsis, nearest};

use super::caching::with_hints;
use super::clients::ClientProfile;
use super::params::{invalid, object, required};

/// A prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Prompt {
    /// Make the scripts compile.
    FixCompileErrors,
    /// Find out why Unity does not answer.
    WhyIsUnitySilent,
}

/// The argument of [`Prompt::FixCompileErrors`]: a path, an assembly or a file to which the work is limited.
const WHERE: &str = "where";

impl Prompt {
    /// All prompts, in the order of the list.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The prompt's name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The prompt's name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::FixCompileErrors => "Fix compile errors",
            Self::WhyIsUnitySilent => "Why is Unity silent?",
        }
    }

    /// What the AI is asked to do, in a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Self::FixCompileErrors => "Compile the Unity project, and fix the errors until it compiles.",
            Self::WhyIsUnitySilent => "Find out why Unity does not answer, and what helps.",
        }
    }

    /// The arguments: the name of each, and what it is. None is required.
    pub fn arguments(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::FixCompileErrors => &[(
                WHERE,
                "A folder, a file or an assembly to which the work is limited. Without it: the whole project.",
            )],
            Self::WhyIsUnitySilent => &[],
        }
    }
}

/// The params of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// Where the work is to be done, if the client says so; at most [`PROMPT_ARGUMENT_MAX_BYTES`] bytes.
    pub place: Option<String>,
}

/// Parses the params of `prompts/get`.
pub(super) fn get_prompt(params: Option<&RawValue>) -> Result<GetPrompt, RpcError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Params<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let params: Params<'_> = object("prompts/get", params)?;
    let names = || Prompt::ALL.iter().map(|prompt| prompt.name());
    let example = format!(r#"{{"name":"{}"}}"#, Prompt::WhyIsUnitySilent.name());
    let name = required("prompts/get", "name", params.name, &example)?;
    let Some(prompt) = Prompt::ALL.iter().copied().find(|prompt| prompt.name() == name) else {
        let meant = nearest(&name, names()).map(|meant| format!(" Did you mean `{meant}`?")).unwrap_or_default();
        let (name, known) = (cut_with_ellipsis(&name, LOG_FIELD_MAX_BYTES), names().collect::<Vec<_>>().join(", "));
        return Err(invalid(format!("there is no prompt `{name}`.{meant} The prompts are {known}")));
    };
    let given: Map<String, Value> = match params.arguments {
        None => Map::new(),
        Some(arguments) if arguments.get() == "null" => Map::new(),
        Some(arguments) => serde_json::from_str(arguments.get())
            .map_err(|_| invalid(String::from("the `arguments` of prompts/get are not an object; leave them out")))?,
    };
    let mut place = None;
    for (argument, value) in given {
        if !prompt.arguments().iter().any(|(known, _)| *known == argument) {
            let argument = cut_with_ellipsis(&argument, LOG_FIELD_MAX_BYTES);
            return Err(invalid(format!("the prompt `{name}` has no argument `{argument}`; leave it out")));
        }
        match value {
            // Clients send an empty text for a field that the user left empty.
            Value::String(text) if text.trim().is_empty() => {}
            Value::String(text) if text.len() <= PROMPT_ARGUMENT_MAX_BYTES => place = Some(text),
            _ => {
                return Err(invalid(format!(
                    "the argument `{argument}` of the prompt `{name}` must be a text of at most {PROMPT_ARGUMENT_MAX_BYTES} bytes"
                )));
            }
        }
    }
    Ok(GetPrompt { prompt, place })
}

/// The `result` of `prompts/list`: JSON on one line.
pub fn prompts_list_result(profile: &ClientProfile) -> String {
    let listed = Prompt::ALL.iter().map(|prompt| {
        let argument =
            |(name, description): &(&str, &str)| json!({"name": name, "description": description, "required": false});
        let mut listed = json!({"name": prompt.name(), "description": prompt.description()});
        if let Value::Object(members) = &mut listed {
            if profile.version.title() {
                members.insert("title".to_owned(), json!(prompt.title()));
            }
            if !prompt.arguments().is_empty() {
                let arguments: Vec<Value> = prompt.arguments().iter().map(argument).collect();
                members.insert("arguments".to_owned(), json!(arguments));
            }
        }
        listed
    });
    with_hints("prompts", &json!(listed.collect::<Vec<_>>()).to_string(), profile)
}

/// The `result` of `prompts/get` with this text: JSON on one line.
pub fn prompt_result(prompt: Prompt, text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    json!({"description": prompt.description(), "messages": [{"role": "user", "content": content}]}).to_string()
}
