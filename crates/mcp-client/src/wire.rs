//! Records the messages between a client and the gateway. `tests/clients/wire_schema.mjs` checks every line of the gateway
//! against the JSON schema of the specification. Off unless `HOLDFAST_WIRE` names a folder.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// In a longer line, texts are shortened before the line is recorded.
const LONG_LINE: usize = 64 * 1024;
/// The length of a shortened text. The schema does not restrict the length.
const LONG_TEXT: usize = 256;
/// A longer line to the server is not recorded, to save memory: some tests send huge lines to find the limit.
const LINE_MAX: usize = 1024 * 1024;

/// The record of one session, in the order of the messages.
#[derive(Default)]
pub struct Recording(Option<Mutex<Record>>);

struct Record {
    file: File,
    /// The beginning of a line whose end was not sent yet; `None` if the line is too long to be recorded.
    sending: Option<Vec<u8>>,
}

impl Recording {
    /// Begins the record of one session. `program` is the test program. Records nothing if `HOLDFAST_WIRE` is not set.
    ///
    /// # Panics
    /// Panics if the folder cannot be written.
    #[must_use]
    pub fn begin(program: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some(folder) = std::env::var_os("HOLDFAST_WIRE") else { return Self(None) };
        // A test's thread has the test's name. The first part of that name is the suite.
        let thread = std::thread::current();
        let suite = thread.name().and_then(|name| name.split("::").next()).unwrap_or("unnamed");
        let (pid, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = format!("{program}-{suite}-{pid}-{number}.wire");
        std::fs::create_dir_all(&folder).expect("the folder in HOLDFAST_WIRE can be made");
        let file = OpenOptions::new().create(true).append(true).open(std::path::Path::new(&folder).join(name));
        let file = file.expect("HOLDFAST_WIRE is writable");
        Self(Some(Mutex::new(Record { file, sending: Some(Vec::new()) })))
    }

    /// Records bytes to the gateway. Must be called before they are written, so that no answer is recorded before its request.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn sent(&self, bytes: &[u8]) {
        let Some(record) = &self.0 else { return };
        let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match &mut record.sending {
                Some(line) if line.len() + piece.len() <= LINE_MAX => line.extend_from_slice(piece),
                rest => *rest = None,
            }
            if piece.ends_with(b"\n")
                && let Some(line) = record.sending.replace(Vec::new())
            {
                record.write(b">", line.trim_ascii_end());
            }
        }
    }

    /// Records a line from the gateway, without its end.
    ///
    /// # Panics
    /// Panics if the file cannot be written.
    pub fn received(&self, line: &[u8]) {
        let Some(record) = &self.0 else { return };
        record.lock().unwrap_or_else(PoisonError::into_inner).write(b"<", line);
    }
}

impl Record {
    fn write(&mut self, sign: &[u8], line: &[u8]) {
        let short = (line.len() > LONG_LINE).then(|| serde_json::from_slice(line).ok()).flatten().map(|mut value| {
            shorten(&mut value);
            value.to_string().into_bytes()
        });
        let line = short.as_deref().unwrap_or(line);
        self.file.write_all(&[sign, line, b"\n"].concat()).expect("HOLDFAST_WIRE is writable");
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONG_TEXT => *text = text.chars().take(LONG_TEXT).collect(),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}
