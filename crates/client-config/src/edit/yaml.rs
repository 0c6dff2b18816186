//! The part of YAML that Goose's own file needs: a map of maps in block style. `saphyr-parser` locates the parts; splices change
//! whole lines, or values on one line. Any other YAML is refused.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use serde_json::{Map, Value, json};

use super::text::{EditError, Slot, Splice, line_ending, line_start, next_line, spliced};
use crate::limits::DEPTH_MAX;

/// A value with its position.
struct Node<'a> {
    span: Range<usize>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// A map. Its keys may be any node; only text keys are looked up.
    Map {
        block: bool,
        pairs: Vec<(Node<'a>, Node<'a>)>,
    },
    List(Vec<Node<'a>>),
    /// A scalar: its parsed value, and its text.
    Scalar(Value, std::borrow::Cow<'a, str>),
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The offset at which each line starts.
    lines: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn offset(&self, marker: Marker) -> usize {
        let start = self.lines.get(marker.line().saturating_sub(1)).copied().unwrap_or(self.text.len());
        let line = &self.text[start..];
        line.char_indices().nth(marker.col()).map_or(self.text.len(), |(at, _)| start + at)
    }

    fn range(&self, span: Span) -> Range<usize> {
        self.offset(span.start)..self.offset(span.end)
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), EditError> {
        match self.parser.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(EditError::at(self.text, self.offset(*error.marker()), error.info().to_owned())),
            None => Err(EditError::at(self.text, self.text.len(), "it ends too early")),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node<'a>, EditError> {
        let start = self.offset(span.start);
        if depth > DEPTH_MAX {
            return Err(EditError::at(self.text, start, "it is nested too deep"));
        }
        let kind = match event {
            Event::Alias(id) => Kind::Scalar(json!({"alias": id}), "".into()),
            Event::Scalar(text, style, anchor, tag) => {
                let known = anchor == 0 && tag.is_none();
                let value = match style {
                    ScalarStyle::Plain if known => plain(&text),
                    _ if known => json!(text),
                    _ => json!({"anchor": anchor, "tag": tag.map(|tag| tag.to_string()), "text": text}),
                };
                Kind::Scalar(value, text)
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            return Ok(Node { span: start..self.offset(end.end), kind: Kind::List(items) });
                        }
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let block = !self.text[start..].starts_with('{');
                let mut pairs = Vec::new();
                loop {
                    let key = match self.next()? {
                        (Event::MappingEnd, end) => {
                            return Ok(Node { span: start..self.offset(end.end), kind: Kind::Map { block, pairs } });
                        }
                        (event, span) => self.node(event, span, depth + 1)?,
                    };
                    let (event, span) = self.next()?;
                    pairs.push((key, self.node(event, span, depth + 1)?));
                }
            }
            _ => return Err(EditError::at(self.text, start, "a value was expected")),
        };
        Ok(Node { span: self.range(span), kind })
    }
}

/// Returns the value of a scalar without quotes. Recognises only the types that our own fields need.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => json!(true),
        "false" => json!(false),
        _ => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
    }
}

/// Returns the only document of the text; `None` if there is none.
fn parse(text: &str) -> Result<Option<Node<'_>>, EditError> {
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = Reader { text, parser: Parser::new_from_str(text), lines };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(root),
            (Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (_, span) if root.is_some() => {
                return Err(EditError::at(text, reader.offset(span.start), "a second document begins"));
            }
            (event, span) => root = Some(reader.node(event, span, 0)?),
        }
    }
}

fn of_node(node: &Node<'_>) -> Value {
    match &node.kind {
        Kind::Scalar(value, _) => value.clone(),
        Kind::List(items) => items.iter().map(of_node).collect(),
        Kind::Map { pairs, .. } => Value::Object(
            pairs
                .iter()
                .map(|(key, value)| {
                    let name = match &key.kind {
                        Kind::Scalar(_, text) => text.clone().into_owned(),
                        _ => of_node(key).to_string(),
                    };
                    (name, of_node(value))
                })
                .collect(),
        ),
    }
}

pub(super) fn meaning(text: &str) -> Result<Value, EditError> {
    Ok(match parse(text)? {
        None => json!({}),
        Some(root) => match of_node(&root) {
            Value::Null => json!({}),
            value => value,
        },
    })
}

fn unusual(key: &str) -> EditError {
    EditError::Unusual(format!("\"{key}\" is not written as a map with one line or block for each key"))
}

/// Returns the pair with this name in a map in block style; `None` if there is none. Fails for any other node, or if the name
/// occurs twice.
fn member<'t, 'a>(node: &'t Node<'a>, name: &str) -> Result<Option<&'t (Node<'a>, Node<'a>)>, EditError> {
    let Kind::Map { block: true, pairs } = &node.kind else { return Err(unusual(name)) };
    let mut found = pairs.iter().filter(|(key, _)| matches!(&key.kind, Kind::Scalar(_, text) if text == name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError::Unusual(format!("\"{name}\" is there twice"))),
        (found, None) => Ok(found),
    }
}

/// Formats a value in flow style on one line. JSON is valid YAML.
fn render(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(render).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Returns the lines of our entry, indented by `indent`.
fn block(slot: Slot<'_>, fields: &Map<String, Value>, indent: usize, step: usize, eol: &str) -> String {
    let mut lines = vec![format!("{:indent$}{}:", "", slot.name)];
    lines.extend(fields.iter().map(|(field, value)| format!("{:1$}{field}: {2}", "", indent + step, render(value))));
    lines.join(eol)
}

fn column(text: &str, node: &Node<'_>) -> usize {
    node.span.start - line_start(text, node.span.start)
}

pub(super) fn insert(text: &str, slot: Slot<'_>, fields: &Map<String, Value>) -> Result<String, EditError> {
    let [key] = slot.keys else { return Err(unusual(&slot.keys.join("."))) };
    let eol = line_ending(text);
    let root = parse(text)?.filter(|root| !matches!(&root.kind, Kind::Scalar(Value::Null, _)));
    let Some((name, map)) = root.as_ref().map(|root| member(root, key)).transpose()?.flatten() else {
        let entry = block(slot, fields, 2, 2, eol);
        let map = format!("{key}:{eol}{entry}");
        // A file without a final line ending stays without one.
        return Ok(match text.is_empty() || text.ends_with('\n') {
            true => format!("{text}{map}{eol}"),
            false => format!("{text}{eol}{map}"),
        });
    };
    let splice = match &map.kind {
        Kind::Map { block: true, pairs } => {
            let Some((first, value)) = pairs.first() else { return Err(unusual(key)) };
            let indent = column(text, first);
            let inner = match &value.kind {
                Kind::Map { block: true, pairs } => pairs.first().map(|(key, _)| column(text, key)),
                _ => None,
            };
            let step = inner.and_then(|inner| inner.checked_sub(indent)).filter(|step| *step > 0).unwrap_or(2);
            let entry = block(slot, fields, indent, step, eol);
            Splice::insert(next_line(text, name.span.end), format!("{entry}{eol}"))
        }
        // An empty map: either `{}` or nothing after the colon.
        Kind::Map { block: false, pairs } if pairs.is_empty() => {
            let entry = block(slot, fields, column(text, name) + 2, 2, eol);
            let colon = text[name.span.end..map.span.start].trim_end().len() + name.span.end;
            Splice { range: colon..map.span.end, text: format!("{eol}{entry}") }
        }
        Kind::Scalar(Value::Null, words) if words.is_empty() => {
            let entry = block(slot, fields, column(text, name) + 2, 2, eol);
            let line_end = text[name.span.end..].find('\n').map_or(text.len(), |at| name.span.end + at);
            let line_end = text[..line_end].strip_suffix('\r').map_or(line_end, str::len);
            Splice::insert(line_end, format!("{eol}{entry}"))
        }
        _ => return Err(unusual(key)),
    };
    Ok(spliced(text, &[splice]))
}

/// Applies `edit` to our entry's name and value.
fn with_entry(
    text: &str,
    slot: Slot<'_>,
    edit: impl FnOnce(&Node<'_>, &Node<'_>) -> Result<Splice, EditError>,
) -> Result<String, EditError> {
    let root = parse(text)?.ok_or_else(|| unusual(slot.name))?;
    let mut node = &root;
    for key in slot.keys {
        node = &member(node, key)?.ok_or_else(|| unusual(key))?.1;
    }
    let (name, value) = member(node, slot.name)?.ok_or_else(|| unusual(slot.name))?;
    Ok(spliced(text, &[edit(name, value)?]))
}

pub(super) fn set(text: &str, slot: Slot<'_>, field: &str, value: &Value) -> Result<String, EditError> {
    with_entry(text, slot, |name, entry| match member(entry, field)? {
        Some((_, old)) => {
            let on_one_line = !text[old.span.clone()].contains('\n');
            let replaceable = match &old.kind {
                Kind::Scalar(..) => true,
                Kind::List(_) => text[old.span.start..].starts_with('['),
                Kind::Map { block, .. } => !block,
            };
            if !(on_one_line && replaceable) {
                return Err(EditError::Unusual(format!("\"{field}\" is not a value on one line")));
            }
            let blank = if text[..old.span.start].ends_with(':') { " " } else { "" };
            Ok(Splice { range: old.span.clone(), text: format!("{blank}{}", render(value)) })
        }
        None => {
            let Kind::Map { pairs, .. } = &entry.kind else { return Err(unusual(slot.name)) };
            let Some((first, _)) = pairs.first() else { return Err(unusual(slot.name)) };
            let line = format!("{:1$}{field}: {2}{3}", "", column(text, first), render(value), line_ending(text));
            Ok(Splice::insert(next_line(text, name.span.end), line))
        }
    })
}

pub(super) fn take(text: &str, slot: Slot<'_>) -> Result<String, EditError> {
    with_entry(text, slot, |name, _| {
        let start = line_start(text, name.span.start);
        if !text[start..name.span.start].trim().is_empty() {
            return Err(unusual(slot.name));
        }
        let own = name.span.start - start;
        // A block ends before the first line that is not indented deeper. Blank lines at its end belong to the lines after it.
        let (mut end, mut at) = (next_line(text, name.span.start), next_line(text, name.span.start));
        while at < text.len() {
            let after = next_line(text, at);
            let line = &text[at..after];
            let blanks = line.len() - line.trim_start_matches(' ').len();
            if !line.trim().is_empty() {
                if blanks <= own {
                    break;
                }
                end = after;
            }
            at = after;
        }
        // At the end of a text without a final line ending, the line ending before the entry is removed instead.
        let start = if end == text.len() && !text.ends_with('\n') {
            let before = text[..start].strip_suffix('\n').map_or(start, str::len);
            text[..before].strip_suffix('\r').map_or(before, str::len)
        } else {
            start
        };
        Ok(Splice::remove(start..end))
    })
}
