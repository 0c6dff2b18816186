//! One message per line: MCP on stdio, uMCP and the push socket.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memrchr};

use super::{BadFrame, Framer};
use crate::limits::DECODER_BUFFER_KEPT_BYTES;
use crate::protocol::jsonrpc::{IdScanner, RequestId};

/// A line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line that is neither blank nor too long, without newline and without the CR before it.
    Whole(Bytes),
    /// A line that was too long to keep; reported when it has ended.
    TooLong {
        /// Its length, line end not counted.
        bytes: u64,
        /// The id of the message in it, if there was exactly one.
        id: Option<RequestId>,
        /// An answer is owed, under `id` or under null. False for what is clearly a response or a notification.
        request: bool,
    },
}

/// Cuts a byte stream into lines, in any split of the bytes.
///
/// It holds at most one line of the allowed length plus what one [`push`](LineDecoder::push) brings: a longer line goes
/// through an [`IdScanner`] as it comes and is never kept. Blank lines are skipped.
#[derive(Debug)]
pub struct LineDecoder {
    max: usize,
    buffer: BytesMut,
    /// There is no newline before this index, so it is not looked for again.
    scanned: usize,
    newline: Option<usize>,
    /// The buffer has held a large line and is given back when it is empty.
    large: bool,
    /// The line that the buffer begins in is too long.
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
    /// A decoder that keeps lines of up to `max_bytes`, line end not counted.
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

    /// The next line that has ended.
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

    /// The stream has ended: what is left, last of all a line without newline. Call until `None`.
    pub fn finish(&mut self) -> Option<Line> {
        self.next_line().or_else(|| {
            self.scanned = 0;
            let rest = self.buffer.split();
            self.close(rest)
        })
    }

    /// The first line not yet given out is already known to be too long.
    fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// True unless the stream would cut a line by ending here.
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
        // One byte more is fine if it can be the CR of the line end.
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

/// Newline framing of an editor's connection: a line that is too long ends it as soon as that is known.
#[derive(Debug)]
pub struct Lines {
    decoder: LineDecoder,
    max: usize,
    failed: Option<BadFrame>,
}

impl Lines {
    /// Lines of up to `max_bytes`, line end not counted.
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
        // The length at which it is known, so that the error does not depend on how the bytes were split.
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
