//! Reads C# as far as the simulated compiler does: it finds what no C# parser takes, and the classes of a file.
//!
//! An error that it reports is one for the real compiler too: brackets that do not pair, a text, character or comment without its
//! end, `#error`, and a missing semicolon at the end of a block, after a literal, or after a call that is a statement by itself. It knows no
//! names and no types, so most code that the real compiler refuses passes. A file with conditional directives (`#if`) passes whole,
//! since which part of it counts is not known here.

mod tokens;

use serde_json::{Value, json};

use self::tokens::{Issue, Kind, Token};
use super::node::{Component, Property};

/// A class of a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Class {
    /// Its name with the namespace.
    pub(crate) name: String,
    /// What it derives from, as the script has it; empty if it says nothing.
    pub(crate) base: String,
    /// Its public fields of simple types, and those with `[SerializeField]`.
    fields: Vec<Property>,
    /// Names of its methods with `[Test]` and with `[UnityTest]`.
    pub(crate) tests: Vec<(String, bool)>,
}

impl Class {
    /// A new component, or asset, of this class.
    pub(crate) fn component(&self, switch: bool) -> Component {
        Component { kind: self.name.clone(), enabled: switch.then_some(true), properties: self.fields.clone() }
    }
}

/// Returns the errors of a file, or else its classes.
///
/// # Errors
/// The first errors that any C# compiler has.
pub(crate) fn read(text: &str) -> Result<Vec<Class>, Vec<Issue>> {
    let tokens = match tokens::read(text) {
        Ok(tokens) => tokens,
        Err(issue) => return Err(vec![issue]),
    };
    let issues = if tokens.iter().any(|token| token.kind == Kind::Conditional) { Vec::new() } else { check(&tokens) };
    if issues.is_empty() { Ok(classes(&tokens)) } else { Err(issues) }
}

fn issue(token: &Token, says: &str) -> Issue {
    Issue { line: token.line, column: token.column, says: says.to_owned() }
}

const SEMICOLON: &str = "error CS1002: ; expected";

/// An open bracket.
struct Open {
    at: usize,
    closer: &'static str,
    /// Whether it begins a block of statements.
    block: bool,
}

fn check(tokens: &[Token]) -> Vec<Issue> {
    let mut open: Vec<Open> = Vec::new();
    // For each closing bracket, where it was opened.
    let mut opened = vec![None; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Sign {
            continue;
        }
        let closer = match token.text.as_str() {
            "{" => "}",
            "(" => ")",
            "[" => "]",
            "}" | ")" | "]" => {
                match open.pop() {
                    None => {
                        return vec![issue(
                            token,
                            "error CS1022: Type or namespace definition, or end-of-file expected",
                        )];
                    }
                    Some(last) if last.closer != token.text => {
                        return vec![issue(token, &format!("error CS1003: Syntax error, '{}' expected", last.closer))];
                    }
                    Some(last) => {
                        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
                        // What may stand before the end of a block: a statement's end, or nothing.
                        let ends = before.is_none_or(|one| {
                            one.kind == Kind::Sign && [";", "}", "{", ":"].contains(&one.text.as_str())
                        });
                        if last.block && !ends {
                            return vec![after(before.unwrap_or(token), SEMICOLON)];
                        }
                        if let Some(slot) = opened.get_mut(at) {
                            *slot = Some(last.at);
                        }
                    }
                }
                continue;
            }
            _ => continue,
        };
        let block = closer == "}" && begins_block(tokens, &opened, at);
        open.push(Open { at, closer, block });
    }
    if let (Some(last), Some(end)) = (open.last(), tokens.last()) {
        let code = if last.closer == "}" { "CS1513" } else { "CS1026" };
        return vec![after(end, &format!("error {code}: {} expected", last.closer))];
    }
    missing_semicolon(tokens, &opened)
}

fn after(token: &Token, says: &str) -> Issue {
    Issue { line: token.end_line, column: token.end_column, says: says.to_owned() }
}

fn is_sign(tokens: &[Token], at: Option<usize>, text: &str) -> bool {
    at.and_then(|at| tokens.get(at)).is_some_and(|token| token.kind == Kind::Sign && token.text == text)
}

fn word(tokens: &[Token], at: Option<usize>) -> Option<&str> {
    at.and_then(|at| tokens.get(at)).filter(|token| token.kind == Kind::Word).map(|token| token.text.as_str())
}

/// Whether this `{` surely begins a block of statements: the one of `if (...)`, or of a method.
fn begins_block(tokens: &[Token], opened: &[Option<usize>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    if let Some(word) = word(tokens, Some(before)) {
        return ["else", "do", "try", "finally"].contains(&word);
    }
    let Some(Some(paren)) = opened.get(before).filter(|_| is_sign(tokens, Some(before), ")")) else { return false };
    let name = paren.checked_sub(1);
    match word(tokens, name) {
        Some("if" | "for" | "foreach" | "while" | "switch" | "using" | "lock" | "fixed" | "catch") => true,
        // A method: its name stands behind its type. Behind `new`, it is an object with its values.
        Some(name_word) if !tokens::is_keyword(name_word) => {
            let kind = name.and_then(|name| name.checked_sub(1));
            match word(tokens, kind) {
                Some(word) => !["new", "is", "case", "and", "or", "not", "when"].contains(&word),
                None => false,
            }
        }
        _ => false,
    }
}

/// Words that may stand behind an expression.
const BEHIND: [&str; 24] = [
    "is",
    "as",
    "switch",
    "where",
    "with",
    "and",
    "or",
    "in",
    "when",
    "select",
    "group",
    "into",
    "orderby",
    "join",
    "let",
    "on",
    "equals",
    "by",
    "ascending",
    "descending",
    "from",
    "else",
    "while",
    "not",
];

fn missing_semicolon(tokens: &[Token], opened: &[Option<usize>]) -> Vec<Issue> {
    for (at, token) in tokens.iter().enumerate() {
        let Some(next) = word(tokens, Some(at + 1)).filter(|word| !BEHIND.contains(word)) else { continue };
        let literal = matches!(token.kind, Kind::Number | Kind::Text);
        let call =
            token.kind == Kind::Sign && token.text == ")" && opened.get(at).is_some_and(|open| is_call(tokens, *open));
        if (literal || call) && !next.is_empty() {
            return vec![after(token, SEMICOLON)];
        }
    }
    Vec::new()
}

/// Whether this `(` belongs to a call with which a statement begins, such as `a.b(`.
fn is_call(tokens: &[Token], paren: Option<usize>) -> bool {
    let Some(mut at) = paren.and_then(|paren| paren.checked_sub(1)) else { return false };
    let mut dotted = false;
    loop {
        match word(tokens, Some(at)) {
            Some(word) if !tokens::is_keyword(word) || word == "this" || word == "base" => {}
            _ => return false,
        }
        let Some(before) = at.checked_sub(1) else { return false };
        if is_sign(tokens, Some(before), ".") {
            dotted = true;
            match before.checked_sub(1) {
                Some(name) => at = name,
                None => return false,
            }
            continue;
        }
        // Without a dot it may be a constructor or a macro-like attribute in an unusual place.
        return dotted && [";", "{", "}"].iter().any(|sign| is_sign(tokens, Some(before), sign));
    }
}

fn classes(tokens: &[Token]) -> Vec<Class> {
    let mut found: Vec<Class> = Vec::new();
    let mut depth = 0usize;
    let mut namespaces: Vec<(usize, String)> = Vec::new();
    // The class whose members are read, and the depth of its members.
    let mut inside: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    // Where the current member of a class begins.
    let mut begin = 0;
    while let Some(token) = tokens.get(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Word, "namespace") => {
                let name: String = tokens
                    .iter()
                    .skip(at + 1)
                    .take_while(|one| one.text != "{" && one.text != ";")
                    .map(|one| one.text.as_str())
                    .collect();
                namespaces.push((depth, name));
            }
            (Kind::Word, "class") if word(tokens, Some(at + 1)).is_some() => {
                let name = word(tokens, Some(at + 1)).unwrap_or_default();
                let base = tokens.get(at + 2).filter(|one| one.text == ":").map(|_| {
                    let rest = tokens.iter().skip(at + 3).take_while(|one| one.kind == Kind::Word || one.text == ".");
                    rest.map(|one| one.text.as_str()).collect::<String>()
                });
                let space =
                    namespaces.iter().map(|(_, name)| name.as_str()).chain([name]).collect::<Vec<_>>().join(".");
                found.push(Class {
                    name: space,
                    base: base.unwrap_or_default(),
                    fields: Vec::new(),
                    tests: Vec::new(),
                });
                inside.push((found.len() - 1, depth + 1));
            }
            (Kind::Sign, sign @ ("{" | ";")) => {
                let of = inside.last().filter(|(_, members)| *members == depth);
                if let (Some((class, _)), Some(all)) = (of, tokens.get(begin..at)) {
                    found.get_mut(*class).into_iter().for_each(|class| member(all, sign == "{", class));
                }
                depth += usize::from(sign == "{");
                begin = at + 1;
            }
            (Kind::Sign, "}") => {
                depth = depth.saturating_sub(1);
                inside.retain(|(_, members)| *members <= depth);
                namespaces.retain(|(outer, _)| *outer < depth);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads a member of a class: a test, or a field that Unity shows. `body`: whether a body follows, which no field has.
fn member(all: &[Token], body: bool, class: &mut Class) {
    let words = ["public", "private", "protected", "internal", "void"];
    let end = all.iter().position(|token| words.contains(&token.text.as_str())).unwrap_or(all.len());
    let marks = all.iter().take(end).rposition(|one| one.text == "]");
    let (attributes, all) = all.split_at(marks.map_or(0, |at| at + 1));
    let marked = |name: &str| attributes.iter().any(|token| token.text == name);
    let has = |name: &str| all.iter().any(|token| token.kind == Kind::Word && token.text == name);
    let text = |at: usize| all.get(at).map(|token| token.text.as_str()).unwrap_or_default();
    let stop = all.iter().position(|token| token.text == "=").unwrap_or(all.len());
    // The name of a method stands before its parameters.
    if let Some(paren) = all.iter().take(stop).position(|token| token.text == "(") {
        if (marked("Test") || marked("UnityTest")) && paren > 0 {
            class.tests.push((text(paren - 1).to_owned(), marked("UnityTest")));
        }
        return;
    }
    let hidden =
        ["static", "const", "readonly", "class", "event", "delegate"].into_iter().any(has) || marked("NonSerialized");
    let value = all.get(stop + 1..).unwrap_or_default();
    // Behind `=>` is the body of a property.
    let computed = value.first().is_some_and(|token| token.text == ">");
    if body || hidden || computed || !(has("public") || marked("SerializeField")) {
        return;
    }
    let (Some(name), Some(kind)) = (stop.checked_sub(1), stop.checked_sub(2)) else { return };
    if let (Some(Kind::Word), Some(Kind::Word)) = (all.get(name).map(|one| one.kind), all.get(kind).map(|one| one.kind))
        && let Some((kind, default)) = field(text(kind), value)
    {
        class.fields.push(Property { name: text(name).to_owned(), kind, value: default });
    }
}

/// The property of a field of this type, with its first value; `None` if Unity does not store such a field, or the model has no
/// values of its type.
fn field(kind: &str, value: &[Token]) -> Option<(String, Value)> {
    let (negative, one) = match value {
        [sign, one] if sign.text == "-" => (-1.0, Some(one)),
        [one] => (1.0, Some(one)),
        _ => (1.0, None),
    };
    let number = one.filter(|one| one.kind == Kind::Number).map_or(0.0, |one| negative * tokens::number(&one.text));
    let zero = json!({"x": 0.0, "y": 0.0, "z": 0.0});
    let value = match kind {
        "int" | "long" | "uint" => json!(number as i64),
        "float" | "double" => json!(number),
        "bool" => json!(one.is_some_and(|one| one.text == "true")),
        "string" => {
            json!(one.filter(|one| one.kind == Kind::Text).map(|one| tokens::literal(&one.text)).unwrap_or_default())
        }
        "Vector3" => zero,
        "Vector2" => json!({"x": 0.0, "y": 0.0}),
        "Color" => json!({"r": 0.0, "g": 0.0, "b": 0.0, "a": 0.0}),
        "GameObject" | "Transform" | "Rigidbody" | "Collider" | "Camera" | "Light" | "Material" | "Sprite"
        | "AudioClip" => {
            return Some((format!("PPtr<${kind}>"), Value::Null));
        }
        _ => return None,
    };
    Some((kind.to_owned(), value))
}
