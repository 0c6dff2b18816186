//! The package's tools: their names, parameters and defaults, as its protocol page has them, and the form in which it lists them.
//!
//! A line of `tools.txt` is a tool; behind `=>` stand the members of its result. Versions before the name bound in which that line
//! holds. Two states of the catalogue are known; that 3.3.0 has the later one, and those before it the other, is inferred.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::package_version::PackageVersion;
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec};
use crate::tools::TIMEOUT_SECONDS;

struct Line {
    spec: ToolSpec,
    since: PackageVersion,
    before: PackageVersion,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| include_str!("tools.txt").lines().filter_map(read).collect());

fn read(line: &'static str) -> Option<Line> {
    let (mut since, mut before) = (PackageVersion::new(0, 0, 0), PackageVersion::LATEST);
    let (declared, result) = line.split_once(" => ").unwrap_or((line, ""));
    let mut words = declared.split(' ').peekable();
    while let Some(word) = words.next_if(|word| word.starts_with(['<', '>'])) {
        match word.strip_prefix(">=") {
            Some(version) => since = version.parse().ok()?,
            None => before = word.strip_prefix('<')?.parse().ok()?,
        }
    }
    let name = words.next()?;
    let params: Vec<Param> = words.map(param).collect::<Option<_>>()?;
    let spec = ToolSpec {
        name,
        about: "",
        development: false,
        params: params.leak(),
        timeout_seconds: TIMEOUT_SECONDS,
        result,
    };
    Some(Line { spec, since, before })
}

fn param(word: &'static str) -> Option<Param> {
    let (name, rest) = word.split_once(':')?;
    let (kind, default) = rest.split_once('=').unwrap_or((rest, ""));
    let quoted = || &*json!(default).to_string().leak();
    let (kind, default) = match kind {
        "flag" => (Kind::Flag, default),
        "number" => (Kind::Number, default),
        "array" => (Kind::Array, "[]"),
        "text" => (Kind::Text, quoted()),
        words => (Kind::Choice(words.split('|').collect::<Vec<_>>().leak()), quoted()),
    };
    Some(Param { name, kind, default, about: "" })
}

/// The tools that an editor with this version has.
pub(super) fn of(version: PackageVersion) -> impl Iterator<Item = &'static ToolSpec> {
    LINES.iter().filter(move |line| (line.since..line.before).contains(&version)).map(|line| &line.spec)
}

/// Returns a tool in the form in which the list has it: no description of the tool, and nothing is required. That the default of an
/// enumeration is a word is inferred.
pub(super) fn entry(tool: &Tool) -> Value {
    let property = |param: &Param| {
        let (kind, words) = match param.kind {
            Kind::Text => ("string", Value::Null),
            Kind::Flag => ("boolean", Value::Null),
            Kind::Number => ("number", Value::Null),
            Kind::Array => ("array", Value::Null),
            Kind::Choice(words) => ("string", json!(words)),
        };
        let about = if param.about.is_empty() { format!("Parameter: {}", param.name) } else { param.about.to_owned() };
        let default: Value = serde_json::from_str(param.default).unwrap_or_default();
        json!({"Type": kind, "Description": about, "DefaultValue": default, "Enum": words})
    };
    let own = tool.spec.params.iter().map(|param| (param.name.to_owned(), property(param)));
    let properties: Map<String, Value> =
        own.chain(tool.more_params().map(|name| (name, property(&MORE_PARAM)))).collect();
    json!({
        "name": tool.name,
        "parameterSchema": {"Properties": properties, "Required": []},
        "displayDevelopmentOnly": tool.spec.development,
    })
}
