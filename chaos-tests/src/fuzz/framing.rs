//! The decoders of byte streams. However the bytes are split, a decoder must find the same frames as a simple reader of the
//! whole stream.
//!
//! The first byte of an input decides how the rest of it, the stream, is split.

use holdfast::limits::FRAME_HEADER_MAX_BYTES;
use holdfast::protocol::framing::content_length::{self, ContentLength};
use holdfast::protocol::framing::lines::{Line, LineDecoder, Lines};
use holdfast::protocol::framing::{BadFrame, Framer};
use holdfast::protocol::jsonrpc::IdScanner;

/// Longest body and longest line in bytes. Small, so that inputs reach the limit.
const MAX: usize = 64;

/// What a decoder found in a stream: its frames, the violation that ended it, and whether the stream may end there.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The frames' bodies.
    pub frames: Vec<Vec<u8>>,
    /// The first violation.
    pub bad: Option<BadFrame>,
    /// Whether the stream may end here, which means that its end does not cut off a frame.
    pub at_boundary: bool,
}

/// Splits a stream into pieces of random sizes from `seed`. A third of them are single bytes.
pub(super) fn pieces(seed: u8, stream: &[u8]) -> Vec<&[u8]> {
    let mut dice = fastrand::Rng::with_seed(seed.into());
    let mut rest = stream;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let most = if dice.u8(..3) == 0 { 1 } else { 40 };
        let (piece, tail) = rest.split_at(dice.usize(1..=most).min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

fn read(mut framer: impl Framer, pieces: &[&[u8]]) -> Found {
    let mut found = Found { frames: Vec::new(), bad: None, at_boundary: true };
    for piece in pieces {
        framer.push(piece);
        loop {
            match framer.next_frame() {
                Ok(Some(frame)) => found.frames.push(frame.to_vec()),
                Ok(None) => break,
                Err(bad) => {
                    assert!(found.bad.as_ref().is_none_or(|first| *first == bad), "an error is repeated as it was");
                    found.bad = Some(bad);
                    break;
                }
            }
        }
    }
    found.at_boundary = framer.at_boundary();
    found
}

/// Compares a framer with `model`, which reads the whole stream. The framer gets the stream whole, in single bytes, and in
/// pieces that the input's first byte decides.
pub fn check_framer<F: Framer>(input: &[u8], make: impl Fn() -> F, model: impl Fn(&[u8]) -> Found) {
    let Some((seed, stream)) = input.split_first() else { return };
    let meant = model(stream);
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    for pieces in [vec![stream], single, pieces(*seed, stream)] {
        let found = read(make(), &pieces);
        assert_eq!(found, meant, "in {} pieces: {:?}", pieces.len(), String::from_utf8_lossy(stream));
    }
}

/// Checks the framer of Content-Length frames, and that an encoded frame is read back unchanged.
pub fn content_length(input: &[u8]) {
    check_framer(input, || ContentLength::new(MAX), model_of_content_length);
    let body = input.get(..input.len().min(MAX)).unwrap_or_default();
    let written = read(ContentLength::new(MAX), &[&content_length::encode(body)]);
    assert_eq!(written, Found { frames: vec![body.to_vec()], bad: None, at_boundary: true });
}

/// The expected result of `content_length`, from a simple reader of the whole stream.
pub fn model_of_content_length(stream: &[u8]) -> Found {
    let mut found = Found { frames: Vec::new(), bad: None, at_boundary: true };
    let mut rest = stream;
    while !rest.is_empty() {
        match model_header(rest) {
            Err(bad) => {
                found.bad = Some(bad);
                found.at_boundary = false;
                return found;
            }
            Ok(Some((header, length))) if rest.len() - header >= length => {
                found.frames.push(rest[header..header + length].to_vec());
                rest = &rest[header + length..];
            }
            Ok(_) => {
                found.at_boundary = false;
                return found;
            }
        }
    }
    found
}

/// Returns the length of the header block at the start of `bytes`, and the length of the body. Returns `None` if the header
/// is incomplete.
fn model_header(bytes: &[u8]) -> Result<Option<(usize, usize)>, BadFrame> {
    let (mut from, mut length) = (0, None);
    loop {
        let rest = &bytes[from..];
        // A header line as far as it has been received: printable ASCII and tabs, with a CR only before the LF.
        let end = rest.iter().position(|byte| *byte == b'\n' || !matches!(byte, b'\r' | b'\t' | b' '..=b'~'));
        let cr = rest.iter().position(|byte| *byte == b'\r').filter(|cr| end.is_none_or(|end| *cr < end));
        // `wrong` is the first byte that is not allowed at its place. `ends` is the CR that ends the line, if no byte is wrong.
        let wrong = match (cr, end) {
            (Some(cr), _) if rest.get(cr + 1).is_some_and(|byte| *byte != b'\n') => Some(cr + 1),
            (Some(_), _) => None,
            (None, end) => end,
        };
        let ends = if wrong.is_none() { cr.filter(|cr| cr + 1 < rest.len()) } else { None };
        let too_long = match wrong.or(ends.map(|cr| cr + 1)) {
            Some(decides) => from + decides >= FRAME_HEADER_MAX_BYTES,
            None => bytes.len() > FRAME_HEADER_MAX_BYTES,
        };
        if too_long {
            return Err(BadFrame::HeaderTooLong { max: FRAME_HEADER_MAX_BYTES });
        }
        if wrong.is_some() {
            return Err(BadFrame::HeaderMalformed);
        }
        let Some(cr) = ends else { return Ok(None) };
        let line = std::str::from_utf8(&rest[..cr]).map_err(|_| BadFrame::HeaderMalformed)?;
        from += cr + 2;
        if line.is_empty() {
            return length.map(|length| Some((from, length))).ok_or(BadFrame::LengthMissing);
        }
        let (name, value) = line.split_once(':').ok_or(BadFrame::HeaderMalformed)?;
        if name.is_empty() || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"!#$%&'*+-.^_`|~".contains(c)) {
            return Err(BadFrame::HeaderMalformed);
        }
        if !name.eq_ignore_ascii_case("content-length") {
            continue;
        }
        let digits = value.trim_matches([' ', '\t']);
        let plain = !digits.is_empty() && digits.len() <= 20 && digits.chars().all(|c| c.is_ascii_digit());
        let told: u64 = digits.parse().ok().filter(|_| plain).ok_or(BadFrame::LengthMalformed)?;
        if told > MAX as u64 {
            return Err(BadFrame::TooLarge { length: told, max: MAX });
        }
        if length.replace(usize::try_from(told).unwrap_or(MAX)).is_some() {
            return Err(BadFrame::LengthDuplicate);
        }
    }
}

/// Checks how lines are read. On the client's stdin a line that is too long is reported and skipped; on the push socket it
/// ends the stream.
pub fn lines(input: &[u8]) {
    check_framer(input, || Lines::new(MAX), model_of_lines);
    let Some((seed, stream)) = input.split_first() else { return };
    let meant = model_of_client_lines(stream);
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    for pieces in [vec![stream], single, pieces(*seed, stream)] {
        let mut decoder = LineDecoder::new(MAX);
        let mut found = Vec::new();
        for piece in &pieces {
            decoder.push(piece);
            found.extend(std::iter::from_fn(|| decoder.next_line()));
        }
        found.extend(std::iter::from_fn(|| decoder.finish()));
        assert_eq!(found, meant, "in {} pieces: {:?}", pieces.len(), String::from_utf8_lossy(stream));
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

fn model_of_client_lines(stream: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    for whole in stream.split(|byte| *byte == b'\n') {
        let line = without_cr(whole);
        if line.len() > MAX {
            let mut scanner = IdScanner::new();
            scanner.push(whole);
            lines.push(Line::TooLong {
                bytes: line.len() as u64,
                id: scanner.finish(),
                request: scanner.owes_answer(),
            });
        } else if !is_blank(line) {
            lines.push(Line::Whole(bytes::Bytes::copy_from_slice(line)));
        }
    }
    lines
}

/// The expected result of `Lines`, from a simple reader of the whole stream.
pub fn model_of_lines(stream: &[u8]) -> Found {
    let mut found = Found { frames: Vec::new(), bad: None, at_boundary: true };
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let tail = lines.pop().unwrap_or_default();
    let too_long = BadFrame::TooLarge { length: MAX as u64 + 1, max: MAX };
    for line in lines.into_iter().map(without_cr) {
        if line.len() > MAX {
            found.bad = Some(too_long.clone());
            break;
        }
        if !is_blank(line) {
            found.frames.push(line.to_vec());
        }
    }
    if without_cr(tail).len() > MAX {
        found.bad.get_or_insert(too_long);
    }
    found.at_boundary = found.bad.is_none() && is_blank(tail);
    found
}
