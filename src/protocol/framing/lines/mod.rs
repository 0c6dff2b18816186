//! One message per line: MCP on stdio, uMCP, turbokettle/unity-mcp, and the push connection.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memrchr};

use super::{BadFrame, Framer};
use crate::limits::DECODER_BUFFER_KEPT_BYTES;
use crate::protocol::jsonrpc::{IdScanner, RequestId};

/// A line without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line that is neither blank nor too long, without the newline and the CR before it.
    Whole(Bytes),
    /// A line that was too long to keep. It is reported when its end arrives.
    TooLong {
        /// The length of the line in bytes, without its line end.
        bytes: u64,
        /// The id of the message in the line, if there was exactly one.
        id: Option<RequestId>,
        /// Whether the message must be answered, under `id` or under null. False if it is clearly a response or a notification.
        request: bool,
    },
}

/// Splits a byte stream into lines. It does not matter how the bytes are split.
///
/// Memory holds at most one line of the allowed length and the bytes of one [`push`](LineDecoder::push). The bytes of a longer
/// line go through an [`IdScanner`] and are not kept. Blank lines are skipped.
#[derive(Debug)]
pub struct LineDecoder {
    max: usize,
    buffer: BytesMut,
    /// No newline is before this index, so the search for one continues here.
    scanned: usize,
    newline: Option<usize>,
    /// Whether the buffer has held a large line: its memory is then released as soon as it is empty.
    large: bool,
    /// Set while the current line is too long.
    over: Option<Box<TooLong>>,
}

#[derive(Debug, Default)]
struct TooLong {
    bytes: u64,
    ends_in_cr: bool,
    scanner: IdScanner,
}

impl TooLong {
    fn take(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.bytes += bytes.len() as u64;
            self.ends_in_cr = *last == b'\r';
            self.scanner.push(bytes);
        }
    }

    fn into_line(self) -> Line {
        Line::TooLong {
            bytes: self.bytes - u64::from(self.ends_in_cr),
            id: self.scanner.finish(),
            request: self.scanner.owes_answer(),
        }
    }
}

impl LineDecoder {
    /// Makes a decoder that keeps lines of up to `max_bytes`, without the line end.
    pub fn new(max_bytes: usize) -> Self {
        Self { max: max_bytes, buffer: BytesMut::new(), scanned: 0, newline: None, large: false, over: None }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        if let Some(over) = &mut self.over
            && self.buffer.is_empty()
        {
            let (of_line, rest) = bytes.split_at(memchr(b'\n', bytes).unwrap_or(bytes.len()));
            over.take(of_line);
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        self.seek();
    }

    /// Returns the next complete line; `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Option<Line> {
        loop {
            self.seek();
            let line = self.buffer.split_to(self.newline.take()?);
            self.buffer.advance(1);
            self.scanned = 0;
            if let Some(line) = self.close(line) {
                return Some(line);
            }
        }
    }

    /// Ends the stream. Each call returns one of the remaining lines (the last one may lack a newline), and then `None`.
    pub fn finish(&mut self) -> Option<Line> {
        self.next_line().or_else(|| {
            self.scanned = 0;
            let rest = self.buffer.split();
            self.close(rest)
        })
    }

    /// Whether the current line is already known to be too long.
    fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Whether the stream may end here without cutting a line.
    fn at_line_end(&self) -> bool {
        let last = memrchr(b'\n', &self.buffer);
        let tail = self.buffer.get(last.map_or(0, |at| at + 1)..).unwrap_or_default();
        (last.is_some() || !self.is_over()) && tail.trim_ascii().is_empty()
    }

    fn seek(&mut self) {
        if self.newline.is_some() {
            return;
        }
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        self.newline = memchr(b'\n', fresh).map(|at| self.scanned + at);
        if self.newline.is_some() {
            return;
        }
        self.scanned = self.buffer.len();
        // One byte above the bound is allowed if it may be the CR of the line end.
        let content = self.buffer.len() - usize::from(self.buffer.last() == Some(&b'\r'));
        if self.over.is_some() || content > self.max {
            self.over.get_or_insert_default().take(&self.buffer);
            self.buffer = BytesMut::new();
            self.scanned = 0;
        }
    }

    fn close(&mut self, mut line: BytesMut) -> Option<Line> {
        self.large |= line.len() > DECODER_BUFFER_KEPT_BYTES;
        if self.large && self.buffer.is_empty() {
            self.large = false;
            self.buffer = BytesMut::new();
        }
        let content = line.len() - usize::from(line.last() == Some(&b'\r'));
        if self.over.is_some() || content > self.max {
            let mut over = self.over.take().unwrap_or_default();
            over.take(&line);
            return Some(over.into_line());
        }
        line.truncate(content);
        if line.trim_ascii().is_empty() { None } else { Some(Line::Whole(line.freeze())) }
    }
}

/// Newline framing of an editor's connection. A line that is too long ends the connection as soon as its length is known.
#[derive(Debug)]
pub struct Lines {
    decoder: LineDecoder,
    max: usize,
    failed: Option<BadFrame>,
}

impl Lines {
    /// Makes a framer for lines of up to `max_bytes`, without the line end.
    pub fn new(max_bytes: usize) -> Self {
        Self { decoder: LineDecoder::new(max_bytes), max: max_bytes, failed: None }
    }
}

impl Framer for Lines {
    fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.decoder.push(bytes);
        }
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        match self.decoder.next_line() {
            Some(Line::Whole(line)) => return Ok(Some(line)),
            None if !self.decoder.is_over() => return Ok(None),
            Some(Line::TooLong { .. }) | None => {}
        }
        // `max + 1` stands for every length above the bound, so that the error does not depend on how the bytes were split.
        let failed = BadFrame::TooLarge { length: (self.max as u64).saturating_add(1), max: self.max };
        self.decoder = LineDecoder::new(self.max);
        self.failed = Some(failed.clone());
        Err(failed)
    }

    fn at_boundary(&self) -> bool {
        self.failed.is_none() && self.decoder.at_line_end()
    }
}

#[cfg(test)]
mod tests;
