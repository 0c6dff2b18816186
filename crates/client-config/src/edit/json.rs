//! JSON with comments. `jsonc-parser` locates the parts, and splices change them. (The parser's own editing tree would spread a
//! one-line object over several lines, turn CRLF inside the object into LF, and drop blank lines at its ends.)

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use super::text::{EditError, Slot, Splice, indentation, line_ending, spliced};

/// A parsed text.
struct Tree<'a> {
    text: &'a str,
    root: Option<Node<'a>>,
    /// The tokens, including comments.
    tokens: Vec<TokenAndRange<'a>>,
}

fn parse(text: &str) -> Result<Tree<'_>, EditError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    // Allow only what the clients' own parsers accept: comments and trailing commas.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &collect, &options)
        .map_err(|error| EditError::at(text, error.range().start, error.kind().to_string()))?;
    Ok(Tree { text, root: parsed.value, tokens: parsed.tokens.unwrap_or_default() })
}

pub(super) fn meaning(text: &str) -> Result<Value, EditError> {
    Ok(parse(text)?.root.map_or_else(|| json!({}), Value::from))
}

pub(super) fn insert(text: &str, slot: Slot<'_>, fields: &Map<String, Value>) -> Result<String, EditError> {
    let tree = parse(text)?;
    let path: Vec<&str> = slot.keys.iter().copied().chain([slot.name]).collect();
    let value = Value::Object(fields.clone());
    let Some(root) = &tree.root else {
        let eol = line_ending(text);
        let apart = if text.is_empty() || text.ends_with('\n') { "" } else { eol };
        let whole = Layout::of(text).render(&nested(&path, value), "");
        return Ok(format!("{text}{apart}{whole}{eol}"));
    };
    let mut object = as_object(root, "the whole file")?;
    let mut rest = path.as_slice();
    while let Some((key, others)) = rest.split_first() {
        match member(object, key)? {
            Some(prop) => object = as_object(&prop.value, key)?,
            None => return Ok(spliced(text, &tree.insertion(object, key, &nested(others, value)))),
        }
        rest = others;
    }
    Err(EditError::Unusual(format!("\"{}\" is there already", slot.name)))
}

pub(super) fn set(text: &str, slot: Slot<'_>, field: &str, value: &Value) -> Result<String, EditError> {
    let tree = parse(text)?;
    let (_, ours) = tree.find(slot)?;
    let entry = as_object(&ours.value, slot.name)?;
    let splices = match member(entry, field)? {
        None => tree.insertion(entry, field, value),
        Some(prop) => {
            let range = prop.value.range();
            let old = &text[range.start..range.end];
            let base = indentation(text, prop.range.start);
            let new = if old.contains('\n') { Layout::of(text).render(value, base) } else { value.to_string() };
            vec![Splice { range: range.start..range.end, text: new }]
        }
    };
    Ok(spliced(text, &splices))
}

pub(super) fn take(text: &str, slot: Slot<'_>) -> Result<String, EditError> {
    let tree = parse(text)?;
    let (map, ours) = tree.find(slot)?;
    Ok(spliced(text, &tree.removal(map, ours)))
}

/// Returns `value` inside new objects, one for each key, the first key outermost.
fn nested(keys: &[&str], value: Value) -> Value {
    keys.iter().rev().fold(value, |value, key| json!({ *key: value }))
}

fn as_object<'t, 'a>(node: &'t Node<'a>, what: &str) -> Result<&'t Object<'a>, EditError> {
    node.as_object().ok_or_else(|| EditError::Unusual(format!("\"{what}\" is not an object")))
}

/// Returns the member with this name; `None` if there is none. Fails if the name occurs twice: programs disagree on which one
/// counts.
fn member<'t, 'a>(object: &'t Object<'a>, name: &str) -> Result<Option<&'t ObjectProp<'a>>, EditError> {
    let mut found = object.properties.iter().filter(|prop| prop.name.as_str() == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError::Unusual(format!("\"{name}\" is there twice"))),
        (found, None) => Ok(found),
    }
}

/// The layout of a text.
struct Layout {
    eol: &'static str,
    /// One step of indentation.
    step: String,
}

impl Layout {
    fn of(text: &str) -> Self {
        let step = text.lines().find_map(|line| {
            let member = line.trim_start_matches([' ', '\t']);
            let blanks = &line[..line.len() - member.len()];
            let step = if blanks.starts_with('\t') { "\t" } else { blanks };
            (member.starts_with('"') && !step.is_empty()).then(|| step.to_owned())
        });
        Self { eol: line_ending(text), step: step.unwrap_or_else(|| "  ".to_owned()) }
    }

    /// Formats the value over several lines. Every line except the first is indented by `base`; the caller indents the first.
    fn render(&self, value: &Value, base: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.step.as_bytes());
        let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        debug_assert!(written.is_ok(), "a value with string keys can be written to memory");
        // A line feed inside a string is written as an escape, so every line feed here ends a line.
        String::from_utf8(bytes).unwrap_or_default().replace('\n', &format!("{}{base}", self.eol))
    }
}

impl<'a> Tree<'a> {
    /// Returns the map of servers and our entry in it.
    fn find(&self, slot: Slot<'_>) -> Result<(&Object<'a>, &ObjectProp<'a>), EditError> {
        let missing = || EditError::Unusual(format!("\"{}\" is not there", slot.name));
        let mut object = as_object(self.root.as_ref().ok_or_else(missing)?, "the whole file")?;
        for key in slot.keys {
            object = as_object(&member(object, key)?.ok_or_else(missing)?.value, key)?;
        }
        Ok((object, member(object, slot.name)?.ok_or_else(missing)?))
    }

    /// Returns the position of the comma between two positions, if there is one.
    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        let mut between = self.tokens.iter().filter(|token| token.range.start >= from && token.range.end <= to);
        between.find(|token| token.token == Token::Comma).map(|token| token.range.start)
    }

    /// Returns the splices that append a member to an object.
    fn insertion(&self, object: &Object<'a>, name: &str, value: &Value) -> Vec<Splice> {
        let text = self.text;
        let layout = Layout::of(text);
        let (open, close) = (object.range.start, object.range.end - 1);
        let inner = &text[open + 1..close];
        let base = indentation(text, open);
        let key = json!(name);
        let Some((first, last)) = object.properties.first().zip(object.properties.last()) else {
            let indent = format!("{base}{}", layout.step);
            let member = format!("{}{indent}{key}: {}", layout.eol, layout.render(value, &indent));
            // Comments in the object stay before the member.
            let end = open + 1 + inner.trim_end().len();
            let closing = if text[end..close].contains('\n') && end > open + 1 {
                String::new()
            } else {
                format!("{}{base}", layout.eol)
            };
            let range = if end == open + 1 { end..close } else { end..end };
            return vec![Splice { range, text: format!("{member}{closing}") }];
        };
        let comma = self.comma(last.range.end, close);
        if !inner.contains('\n') {
            return vec![match comma {
                None => Splice::insert(last.range.end, format!(", {key}: {value}")),
                Some(at) => Splice::insert(at + 1, format!(" {key}: {value},")),
            }];
        }
        let own_line = text[..first.range.start].trim_end_matches([' ', '\t']).ends_with('\n');
        let indent =
            if own_line { indentation(text, first.range.start).to_owned() } else { format!("{base}{}", layout.step) };
        let member = format!("{}{indent}{key}: {}", layout.eol, layout.render(value, &indent));
        let end = open + 1 + inner.trim_end().len();
        match comma {
            Some(_) => vec![Splice::insert(end, format!("{member},"))],
            None => vec![Splice::insert(last.range.end, ","), Splice::insert(end, member)],
        }
    }

    /// Returns the splices that remove a member: the inverse of [`Self::insertion`].
    fn removal(&self, object: &Object<'a>, ours: &ObjectProp<'a>) -> Vec<Splice> {
        let text = self.text;
        let (open, close) = (object.range.start, object.range.end - 1);
        let (start, end) = (ours.range.start, ours.range.end);
        let previous = object.properties.iter().rfind(|prop| prop.range.end <= start);
        let next = object.properties.iter().find(|prop| prop.range.start >= end);
        let comma = self.comma(end, next.map_or(close, |next| next.range.start));
        let end = comma.map_or(end, |at| at + 1);
        let before = self.tokens.iter().rfind(|token| token.range.end <= start);
        let from = match before {
            // Keep the line break after a `//` comment. Otherwise the text
            // after the removed member would become part of the comment.
            Some(TokenAndRange { token: Token::CommentLine(_), .. }) if !ends_line(text, end) => start,
            Some(token) => token.range.start + text[token.range.start..token.range.end].trim_end().len(),
            None => start,
        };
        if object.properties.len() == 1 && text[open + 1..from].trim().is_empty() && text[end..close].trim().is_empty()
        {
            return vec![Splice::remove(open + 1..close)];
        }
        let mut splices = Vec::new();
        if let (Some(previous), None) = (previous, comma)
            && let Some(at) = self.comma(previous.range.end, start)
        {
            // The removed range may begin right after this comma; then one splice removes both.
            if at + 1 == from {
                return vec![Splice::remove(at..end)];
            }
            splices.push(Splice::remove(at..at + 1));
        }
        splices.push(Splice::remove(from..end));
        splices
    }
}

/// Whether only blanks follow `offset` on its line.
fn ends_line(text: &str, offset: usize) -> bool {
    text[offset..].split('\n').next().is_none_or(|rest| rest.trim().is_empty())
}
