//! Splits C# into words, numbers, texts and signs.

/// An error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// Such as `error CS1002: ; expected`.
    pub(crate) says: String,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// A text or a character, with its quotes.
    Text,
    Sign,
    /// A directive such as `#if`, which decides what counts.
    Conditional,
}

/// A token with its place, from 1.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) end_line: usize,
    pub(super) end_column: usize,
}

/// Words of C# that are no names.
const KEYWORDS: [&str; 77] = [
    "abstract",
    "as",
    "base",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "checked",
    "class",
    "const",
    "continue",
    "decimal",
    "default",
    "delegate",
    "do",
    "double",
    "else",
    "enum",
    "event",
    "explicit",
    "extern",
    "false",
    "finally",
    "fixed",
    "float",
    "for",
    "foreach",
    "goto",
    "if",
    "implicit",
    "in",
    "int",
    "interface",
    "internal",
    "is",
    "lock",
    "long",
    "namespace",
    "new",
    "null",
    "object",
    "operator",
    "out",
    "override",
    "params",
    "private",
    "protected",
    "public",
    "readonly",
    "ref",
    "return",
    "sbyte",
    "sealed",
    "short",
    "sizeof",
    "stackalloc",
    "static",
    "string",
    "struct",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "uint",
    "ulong",
    "unchecked",
    "unsafe",
    "ushort",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// The value of a literal number; 0 for a form that is rarely used.
pub(super) fn number(text: &str) -> f64 {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    plain.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(0.0)
}

/// The content of a literal text; its escapes stay as they are.
pub(super) fn literal(text: &str) -> String {
    text.trim_start_matches(['@', '$']).trim_matches('"').to_owned()
}

/// Deepest nesting of interpolated texts, each in a hole of another.
const HOLES_MAX: usize = 16;

struct Reader<'a> {
    rest: std::str::Chars<'a>,
    line: usize,
    column: usize,
    /// Where the token begins that is read, which is where the compiler reports it.
    begun: (usize, usize),
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.clone().nth(ahead)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        Some(next)
    }

    fn issue(&self, says: &str) -> Issue {
        Issue { line: self.begun.0, column: self.begun.1, says: says.to_owned() }
    }

    /// Skips the rest of a comment of several lines.
    fn comment(&mut self) -> Result<(), Issue> {
        let begun = self.issue("error CS1035: End-of-file found, '*/' expected");
        while let Some(next) = self.next() {
            if next == '*' && self.peek(0) == Some('/') {
                self.next();
                return Ok(());
            }
        }
        Err(begun)
    }

    /// Reads the rest of a text, whose opening quote was read.
    fn text(&mut self, into: &mut String, verbatim: bool, holes: bool, depth: usize) -> Result<(), Issue> {
        let newline = self.issue("error CS1010: Newline in constant");
        let open = self.issue("error CS1039: Unterminated string literal");
        while let Some(next) = self.next() {
            into.push(next);
            match next {
                '"' if verbatim && self.peek(0) == Some('"') => into.extend(self.next()),
                '"' => return Ok(()),
                '\\' if !verbatim => into.extend(self.next().filter(|c| *c != '\n')),
                '\n' if !verbatim => return Err(newline),
                '{' if holes && self.peek(0) == Some('{') => into.extend(self.next()),
                '{' if holes => self.hole(into, verbatim, depth)?,
                _ => {}
            }
        }
        Err(if verbatim { open } else { newline })
    }

    /// Reads the code in a hole of an interpolated text.
    fn hole(&mut self, into: &mut String, verbatim: bool, depth: usize) -> Result<(), Issue> {
        let open = self.issue("error CS8076: Missing close delimiter '}' for interpolated expression started with '{'");
        let mut braces = 1usize;
        while let Some(next) = self.next() {
            into.push(next);
            match next {
                '{' => braces += 1,
                '}' => {
                    braces -= 1;
                    if braces == 0 {
                        return Ok(());
                    }
                }
                // A text in a hole of a text. Deeper than this nobody writes; the file then passes or fails as it may.
                '"' if depth < HOLES_MAX => {
                    let before = into.trim_end_matches('"');
                    let (at, dollar) = (
                        before.ends_with('@') || before.ends_with("@$"),
                        before.ends_with('$') || before.ends_with("$@"),
                    );
                    self.text(into, at, dollar, depth + 1)?;
                }
                '\'' => self.character(into)?,
                '\n' if !verbatim => return Err(open),
                _ => {}
            }
        }
        Err(open)
    }

    fn character(&mut self, into: &mut String) -> Result<(), Issue> {
        let newline = self.issue("error CS1010: Newline in constant");
        while let Some(next) = self.next() {
            into.push(next);
            match next {
                '\\' => into.extend(self.next()),
                '\'' => return Ok(()),
                '\n' => return Err(newline),
                _ => {}
            }
        }
        Err(newline)
    }
}

/// Splits a file.
///
/// # Errors
/// The first text, character or comment without its end, or `#error` outside of `#if`.
pub(super) fn read(source: &str) -> Result<Vec<Token>, Issue> {
    let source = source.replace("\r\n", "\n");
    let mut reader = Reader { rest: source.trim_start_matches('\u{feff}').chars(), line: 1, column: 1, begun: (1, 1) };
    let mut tokens: Vec<Token> = Vec::new();
    let mut begins_line = true;
    while let Some(first) = reader.peek(0) {
        let (line, column) = (reader.line, reader.column);
        reader.begun = (line, column);
        reader.next();
        if first.is_whitespace() {
            begins_line |= first == '\n';
            continue;
        }
        let mut text = first.to_string();
        let kind = match (first, reader.peek(0)) {
            ('/', Some('/')) => {
                while reader.peek(0).is_some_and(|next| next != '\n') {
                    reader.next();
                }
                continue;
            }
            ('/', Some('*')) => {
                reader.next();
                reader.comment()?;
                continue;
            }
            ('#', _) if begins_line => {
                while let Some(next) = reader.peek(0).filter(|next| *next != '\n') {
                    text.push(next);
                    reader.next();
                }
                let word = text.trim_start_matches('#').trim_start();
                let error = word.strip_prefix("error").filter(|rest| rest.is_empty() || rest.starts_with(' '));
                if let Some(why) = error.filter(|_| !tokens.iter().any(|token| token.kind == Kind::Conditional)) {
                    let says = format!("error CS1029: #error: '{}'", why.trim());
                    return Err(Issue { line, column, says });
                }
                if !["if", "elif", "else", "endif"].iter().any(|one| word.starts_with(one)) {
                    continue;
                }
                Kind::Conditional
            }
            ('"', _) => {
                reader.text(&mut text, false, false, 0)?;
                Kind::Text
            }
            ('\'', _) => {
                reader.character(&mut text)?;
                Kind::Text
            }
            ('@' | '$', _) if begins_text(&reader) => {
                while let Some(next) = reader.next() {
                    text.push(next);
                    if next == '"' {
                        break;
                    }
                }
                let (verbatim, holes) = (text.contains('@'), text.contains('$'));
                reader.text(&mut text, verbatim, holes, 0)?;
                Kind::Text
            }
            (c, _) if c == '_' || c == '@' || c.is_alphabetic() => {
                while let Some(next) = reader.peek(0).filter(|next| *next == '_' || next.is_alphanumeric()) {
                    text.push(next);
                    reader.next();
                }
                Kind::Word
            }
            (c, _) if c.is_ascii_digit() => {
                let part = |reader: &Reader, next: char| {
                    next.is_alphanumeric()
                        || next == '_'
                        || (next == '.' && reader.peek(1).is_some_and(|c| c.is_ascii_digit()))
                };
                while let Some(next) = reader.peek(0).filter(|next| part(&reader, *next)) {
                    text.push(next);
                    reader.next();
                    // As in 1e-3.
                    if matches!(next, 'e' | 'E') && !text.starts_with("0x") && matches!(reader.peek(0), Some('-' | '+'))
                    {
                        text.extend(reader.next());
                    }
                }
                Kind::Number
            }
            _ => Kind::Sign,
        };
        begins_line = false;
        tokens.push(Token { kind, text, line, column, end_line: reader.line, end_column: reader.column });
    }
    Ok(tokens)
}

/// Whether a text follows an `@` or `$`, perhaps behind the other of the two.
fn begins_text(reader: &Reader) -> bool {
    match reader.peek(0) {
        Some('"') => true,
        Some('@' | '$') => reader.peek(1) == Some('"'),
        _ => false,
    }
}
