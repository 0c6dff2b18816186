//! Splits a source file into tokens, without comments, literals and code for tests only.

/// A token: an identifier (with a `!` behind it if a macro is called), or one other character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

pub(super) fn tokens(code: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word = first.is_alphanumeric() || first == '_';
            let end = if word {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (piece, after) = rest.split_at(end);
            rest = after;
            if piece.trim().is_empty() {
                continue;
            }
            let is_call = word && after.starts_with('!') && !after.starts_with("!=");
            let text = if is_call { format!("{piece}!") } else { piece.to_owned() };
            found.push(Token { text, line: index + 1 });
        }
    }
    found
}

/// Returns the lines with `name`: an identifier, a macro (`name!`) or a path (`a::b`, also written `use a::{b, c}`).
pub(super) fn places(tokens: &[Token], name: &str) -> Vec<usize> {
    match name.rsplit_once("::") {
        Some((parent, child)) => {
            let parent: Vec<&str> = parent.split("::").collect();
            members(tokens, &parent).into_iter().filter(|(_, member)| member == child).map(|(line, _)| line).collect()
        }
        None => tokens.iter().filter(|token| token.text == name).map(|token| token.line).collect(),
    }
}

/// Words that may be followed by a separate path.
const KEYWORDS: &[&str] =
    &["use", "return", "in", "as", "dyn", "impl", "mut", "else", "break", "match", "if", "while", "for"];

/// Returns the lines that name a crate: at the beginning of a path, or in `extern crate`.
pub(super) fn crate_places(tokens: &[Token], name: &str) -> Vec<usize> {
    let at = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    (0..tokens.len())
        .filter(|&i| at(i) == name)
        .filter(|&i| {
            // `a::tokio::b` is not the crate, `::tokio::b` is.
            let is_word =
                |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_') && !KEYWORDS.contains(&text);
            let is_tail = i >= 3 && at(i - 1) == ":" && at(i - 2) == ":" && is_word(at(i - 3));
            let leads = at(i + 1) == ":" && at(i + 2) == ":";
            let alone = i > 0 && (at(i - 1) == "use" || at(i - 1) == "crate");
            (leads && !is_tail) || alone
        })
        .map(|i| tokens[i].line)
        .collect()
}

/// Returns the names directly below the path `parent`, with their lines, also in braces: `std::{env, fs::File}` names `env`
/// and `fs` of `std`.
fn members(tokens: &[Token], parent: &[&str]) -> Vec<(usize, String)> {
    let is = |index: usize, text: &str| tokens.get(index).is_some_and(|token| token.text == text);
    let mut found = Vec::new();
    for start in 0..tokens.len() {
        // `use std::{sync::{mpsc}}`: the steps of the parent may be in braces too, so each step is searched below the previous
        // one.
        let mut spots = if is(start, parent[0]) && !(start >= 2 && is(start - 1, ":") && is(start - 2, ":")) {
            vec![start]
        } else {
            continue;
        };
        for step in &parent[1..] {
            spots = spots.iter().flat_map(|&spot| below(tokens, spot)).filter(|&spot| is(spot, step)).collect();
        }
        for spot in spots.iter().flat_map(|&spot| below(tokens, spot)) {
            found.push((tokens[spot].line, tokens[spot].text.clone()));
        }
    }
    found
}

/// Returns the indices of the tokens directly below the path that ends at `index`.
fn below(tokens: &[Token], index: usize) -> Vec<usize> {
    let is = |index: usize, text: &str| tokens.get(index).is_some_and(|token| token.text == text);
    if !(is(index + 1, ":") && is(index + 2, ":")) {
        return Vec::new();
    }
    if !is(index + 3, "{") {
        return vec![index + 3];
    }
    let (mut depth, mut first, mut found) = (0, true, Vec::new());
    for (at, token) in tokens.iter().enumerate().skip(index + 3) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => first = true,
            _ if depth == 1 && first => {
                found.push(at);
                first = false;
            }
            _ => {}
        }
    }
    found
}

pub(super) fn printing(tokens: &[Token]) -> Vec<usize> {
    ["println!", "print!", "eprintln!", "eprint!", "dbg!"].iter().flat_map(|name| places(tokens, name)).collect()
}

/// `text` with comments and the insides of string and character literals replaced by spaces; the lines stay the same.
pub(super) fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    let skip = |out: &mut String, from: usize, to: usize| {
        out.extend(chars[from..to.min(chars.len())].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
        to
    };
    while i < chars.len() {
        let after_word = i > 0 && (at(i - 1).is_alphanumeric() || at(i - 1) == '_');
        if at(i) == '/' && at(i + 1) == '/' {
            let end = (i..chars.len()).find(|&j| at(j) == '\n').unwrap_or(chars.len());
            i = skip(&mut out, i, end);
        } else if at(i) == '/' && at(i + 1) == '*' {
            let (mut depth, mut end) = (1, i + 2);
            while end < chars.len() && depth > 0 {
                let step = match (at(end), at(end + 1)) {
                    ('/', '*') => 1,
                    ('*', '/') => -1,
                    _ => 0,
                };
                depth += step;
                end += if step == 0 { 1 } else { 2 };
            }
            i = skip(&mut out, i, end);
        } else if let Some((open, hashes)) = (!after_word).then(|| raw_string(&chars, i)).flatten() {
            let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let end =
                (open..chars.len()).find(|&j| chars[j..].starts_with(&close)).map_or(chars.len(), |j| j + close.len());
            i = skip(&mut out, i, end);
        } else if at(i) == '"' {
            let mut end = i + 1;
            while end < chars.len() && at(end) != '"' {
                end += if at(end) == '\\' { 2 } else { 1 };
            }
            i = skip(&mut out, i, end + 1);
        } else if at(i) == '\'' && (at(i + 1) == '\\' || at(i + 2) == '\'') {
            // A character literal; any other quote begins a lifetime.
            let from = if at(i + 1) == '\\' { i + 3 } else { i + 2 };
            let end = (from..chars.len()).find(|&j| at(j) == '\'').unwrap_or(chars.len());
            i = skip(&mut out, i, end + 1);
        } else {
            out.push(at(i));
            i += 1;
        }
    }
    out
}

/// For `r"`, `r#"`, `br"`, ... at `i`: the index where the text begins, and the number of hashes.
fn raw_string(chars: &[char], i: usize) -> Option<(usize, usize)> {
    let rest = &chars[i..];
    let prefix = [&['r'][..], &['b', 'r'], &['c', 'r']].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let hashes = rest[prefix.len()..].iter().take_while(|&&c| c == '#').count();
    let open = prefix.len() + hashes;
    (rest.get(open) == Some(&'"')).then_some((i + open + 1, hashes))
}

/// Removes from blanked `code` the items that only tests see: `#[cfg(test)]` and the item after it, to its `;` or closing brace.
pub(super) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        out.push_str(&rest[..start]);
        let item = &rest[start..];
        let (mut depth, mut end) = (0_usize, item.len());
        for (at, c) in item.char_indices().skip(MARK.len()) {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && c == '}' {
                        end = at + 1;
                        break;
                    }
                }
                ';' if depth == 0 => {
                    end = at + 1;
                    break;
                }
                _ => {}
            }
        }
        out.extend(item[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}
