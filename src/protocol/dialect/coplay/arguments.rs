//! Translates the arguments of the package's tools into what its editor takes. The package's server does this between its clients and
//! the editor: `tools.json` says for each parameter how, and an argument that needs no translation keeps its text.
//!
//! Each call is one request. What the package's server does with several, by reading a file first, is refused with a sentence.

mod edits;
mod scripts;
mod sent;
mod shapes;
mod steps;
#[cfg(test)]
mod tests;
mod textures;
mod values;

use serde_json::Value;
use serde_json::value::RawValue;

use self::sent::{Sent, Why};
use self::steps::take;
use super::super::members::Members;
use super::catalogue::{self, Parameter, Tool};
use super::form::Form;
use crate::protocol::text::{cut_with_ellipsis, quote};

/// Arguments that one refusal names.
const NAMED_MAX: usize = 12;
/// Bytes of an argument's name that a refusal shows.
const NAME_SHOWN_MAX_BYTES: usize = 64;
/// With this argument of every tool the package's server chooses among editors.
const INSTANCE: &str = "unity_instance";

/// Returns the arguments as the editor takes them.
///
/// # Errors
/// A sentence for the user: why nothing was sent.
pub(super) fn prepare(tool: &str, arguments: &RawValue) -> Result<Box<RawValue>, String> {
    let Some(stated) = catalogue::stated(tool) else { return Ok(arguments.to_owned()) };
    let members = Members::of(arguments).ok_or_else(|| format!("The arguments of `{tool}` must be an object."))?;
    let mut call = Call { given: members.unique(), sent: Sent::default() };
    if let Some((unknown, _)) =
        call.given.iter().find(|(name, _)| stated.parameters.iter().all(|one| one.name != *name))
    {
        return Err(unknown_argument(tool, stated, unknown));
    }
    for (name, value) in &stated.adds {
        call.sent.set(name, value.to_string());
    }
    for parameter in &stated.parameters {
        let action = call.sent.text("action");
        if action.is_some_and(|action| !parameter.actions.is_empty() && !parameter.actions.contains(&action)) {
            continue;
        }
        let value = match call.given(&parameter.name) {
            Some(raw) => call.translate(&stated.wire(parameter), parameter, raw),
            None => Ok(None),
        };
        let value = value.map_err(|why| format!("The argument `{}` of `{tool}` {why}.", parameter.name))?;
        if let Some(value) = value.or_else(|| parameter.sent.as_ref().map(Value::to_string)) {
            call.sent.set(&stated.wire(parameter), value);
        }
    }
    for step in &stated.steps {
        take(*step, &mut call.sent).map_err(|why| format!("`{tool}` {why}."))?;
    }
    call.sent.finish().ok_or_else(|| format!("The arguments of `{tool}` cannot be written as JSON."))
}

fn unknown_argument(tool: &str, stated: &Tool, unknown: &str) -> String {
    if unknown == INSTANCE {
        return format!(
            "`{tool}` takes no `{INSTANCE}` here: holdfast finds the editor of the client's project by itself. Leave it out."
        );
    }
    let plain = |name: &str| name.to_lowercase().replace(['_', '-'], "");
    let mut names = stated.parameters.iter().map(|one| one.name.as_str());
    let shown = quote(&cut_with_ellipsis(unknown, NAME_SHOWN_MAX_BYTES));
    if let Some(meant) = names.find(|name| plain(name) == plain(unknown)) {
        return format!("`{tool}` has no argument {shown} (did you mean \"{meant}\"?), and Unity would ignore it.");
    }
    let mut has: Vec<&str> = stated.parameters.iter().map(|one| one.name.as_str()).take(NAMED_MAX).collect();
    has.extend((stated.parameters.len() > NAMED_MAX).then_some("and more"));
    format!("`{tool}` has no argument {shown}, and Unity would ignore it. It has: {}.", has.join(", "))
}

/// A call while it is translated.
struct Call<'a> {
    given: Vec<(&'a str, &'a RawValue)>,
    sent: Sent,
}

impl<'a> Call<'a> {
    /// An argument of the client, if it has one that is not null.
    fn given(&self, name: &str) -> Option<&'a RawValue> {
        self.given.iter().find(|(key, raw)| *key == name && raw.get() != "null").map(|(_, raw)| *raw)
    }

    /// Returns the value as it is sent; `None`: it is the same as no value, or its members are sent already.
    fn translate(&mut self, wire: &str, parameter: &Parameter, raw: &RawValue) -> Result<Option<String>, Why> {
        let sent = &mut self.sent;
        match parameter.form() {
            Form::Given => Ok(Some(raw.get().to_owned())),
            Form::Local => Ok(None),
            Form::Flag => values::flag(raw).map(|flag| flag.map(|flag| flag.to_string())),
            Form::SetFlag => values::flag(raw).map(|flag| flag.filter(|flag| *flag).map(|flag| flag.to_string())),
            Form::FlagWord => values::flag(raw).map(|flag| flag.map(|flag| format!("\"{flag}\""))),
            Form::Integer => values::integer(raw),
            Form::Number => values::number(raw),
            Form::Word => Ok(Some(values::word(raw, &parameter.of))),
            Form::Object => values::object(raw),
            Form::List => values::list(raw),
            Form::Json => Ok(values::json(raw)),
            Form::Texts => values::texts(raw, false),
            Form::Words => values::words(raw),
            Form::Commas => values::texts(raw, true),
            Form::Count => values::count(raw),
            Form::Vector => shapes::vector(raw).map(Some),
            Form::Color => shapes::color(raw).map(Some),
            Form::ColorBytes => shapes::color_bytes(raw).map(Some),
            Form::Palette => textures::palette(raw),
            Form::Pixels => textures::pixels(raw).map(Some),
            Form::Region => textures::region(raw),
            Form::Sprite => textures::sprite(raw),
            Form::ImportSettings => textures::import_settings(raw),
            Form::Components => shapes::components(raw),
            Form::Children => shapes::children(raw).map(Some),
            Form::Commands => shapes::commands(raw).map(Some),
            Form::Encoded => scripts::encoded(sent, wire, raw),
            Form::Uri => scripts::uri(sent, raw, false),
            Form::AssetUri => scripts::uri(sent, raw, true),
            Form::ScriptPath => scripts::script_path(sent, raw),
            Form::UiPath => scripts::ui_path(sent, raw),
            Form::TextEdits => {
                let strict = self.given("strict").is_some_and(|strict| values::flag(strict) == Ok(Some(true)));
                edits::text_edits(raw, strict).map(Some)
            }
            Form::ScriptName => {
                let path = self.given("path");
                scripts::script_name(&mut self.sent, raw, path)
            }
            Form::ScriptEdits => {
                let name = self.sent.text("name").unwrap_or_default();
                edits::script_edits(raw, &name).map(Some)
            }
        }
    }
}
