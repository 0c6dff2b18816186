//! The unanswered calls that a session gave to a hub. The session keeps what it needs to give them again to the hub's
//! successor, or to a link of this process.
//!
//! A call is given under the number of its request's key. That number is never used twice, so an answer of an earlier
//! hub cannot reach another request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::core::calls::NewCall;
use crate::core::port::messages::{self, Opened};
use crate::core::requests::{Asked, Hold};
use crate::limits::SESSION_CALLS_MAX_BYTES;
use crate::limits::hub::HUB_RESULT_MAX_BYTES;
use crate::protocol::hub::OpenRequest;
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::mcp::AnswerForm;

/// A call that is to be made by a hub.
#[derive(Debug)]
pub struct Said {
    /// The open request.
    pub hold: Hold,
    /// The client's id of the request, for the log.
    pub id: String,
    pub project: PathBuf,
    pub call: NewCall,
    /// When the request came.
    pub since: Instant,
    /// Whether the call was sent to a hub.
    pub sent: bool,
}

impl Said {
    /// Returns a call that was not sent yet.
    pub fn new(hold: Hold, id: &str, project: PathBuf, call: NewCall, now: Instant) -> Self {
        let since = now.checked_sub(call.waited).unwrap_or(now);
        Self { hold, id: id.to_owned(), project, call, since, sent: false }
    }

    /// Returns the request with the profile and form of its answer.
    pub fn asked(&self) -> Asked {
        Asked { key: self.call.request, profile: self.call.profile, form: self.call.form.clone() }
    }

    fn line(&self, now: Instant) -> String {
        let call = &self.call;
        let raw = |json: String| RawValue::from_string(json).ok();
        let said = messages::Call {
            call: Some(call.id),
            project: self.project.clone(),
            tool: call.tool.clone(),
            arguments: RawValue::to_owned(&call.arguments),
            progress: call.progress_token.is_some(),
            reads: match &call.form {
                AnswerForm::ToolResult => None,
                AnswerForm::ResourceText(uri) => Some(uri.to_string()),
            },
            trace: call.trace.as_ref().and_then(|trace| raw(trace.json())),
            client: call.requester.as_ref().map(|client| Opened {
                name: client.name.clone(),
                release: client.version.clone(),
                version: call.profile.version.label().to_owned(),
                session: client.session.clone(),
            }),
            waited_ms: millis(now.saturating_duration_since(self.since)),
            whole: call.profile.whole,
        };
        // Serializing such a value cannot fail. If it failed, the hub would refuse the line, and the request would be
        // answered with that.
        let params = serde_json::to_string(&said).unwrap_or_default();
        jsonrpc::request(&RequestId::from_number(self.hold.key().number), messages::CALL, Some(&params))
    }

    fn bytes(&self) -> usize {
        self.call.arguments.get().len()
    }
}

/// The open calls would have more than [`SESSION_CALLS_MAX_BYTES`] bytes of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyBytes;

/// A piece that does not follow those before it, or that makes the answer longer than an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPiece;

/// The open calls; see the module's documentation.
#[derive(Debug, Default)]
pub struct SaidCalls {
    open: BTreeMap<u64, Said>,
    bytes: usize,
}

impl SaidCalls {
    /// Adds a call. Returns the line that gives it to a hub.
    ///
    /// # Errors
    /// [`TooManyBytes`]: the request must be answered here.
    pub fn add(&mut self, said: Said, now: Instant) -> Result<String, TooManyBytes> {
        if self.bytes + said.bytes() > SESSION_CALLS_MAX_BYTES {
            return Err(TooManyBytes);
        }
        let line = said.line(now);
        self.bytes += said.bytes();
        self.open.insert(said.hold.key().number, said);
        Ok(line)
    }

    /// Removes a call that is answered or cancelled. `None` if it is not open.
    pub fn remove(&mut self, number: u64) -> Option<Said> {
        let said = self.open.remove(&number)?;
        self.bytes -= said.bytes();
        Some(said)
    }

    /// Removes all calls, in the order in which they came.
    pub fn take_all(&mut self) -> Vec<Said> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// Remembers that a call was sent to a hub.
    pub fn was_sent(&mut self, number: u64) {
        if let Some(said) = self.open.get_mut(&number) {
            said.sent = true;
        }
    }

    /// Remembers that the hub gave a call back: nothing of it was sent.
    pub fn was_given_back(&mut self, number: u64) {
        if let Some(said) = self.open.get_mut(&number) {
            said.sent = false;
        }
    }

    /// Removes the calls that no hub has and that came more than `patience` before `now`.
    pub fn take_overdue(&mut self, now: Instant) -> Vec<Said> {
        let is_overdue = |said: &&Said| !said.sent && now.saturating_duration_since(said.since) >= said.call.patience;
        let overdue: Vec<u64> = self.open.values().filter(is_overdue).map(|said| said.hold.key().number).collect();
        overdue.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Removes the calls to this project's editor that no hub has.
    pub fn take_unsent_to(&mut self, project: &Path) -> Vec<Said> {
        let is_it = |said: &&Said| !said.sent && said.project == project;
        let numbers: Vec<u64> = self.open.values().filter(is_it).map(|said| said.hold.key().number).collect();
        numbers.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Returns the open calls as another gateway is told of them, in the order in which they came.
    pub fn told(&self, now: Instant) -> Vec<OpenRequest> {
        let told = |(number, said): (&u64, &Said)| OpenRequest {
            request: *number,
            sent: said.sent,
            waited_ms: millis(now.saturating_duration_since(said.since)),
        };
        self.open.iter().map(told).collect()
    }

    /// Whether no call is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether the call of this request is open.
    pub fn has(&self, number: u64) -> bool {
        self.open.contains_key(&number)
    }

    pub fn get(&self, number: u64) -> Option<&Said> {
        self.open.get(&number)
    }

    /// Returns the bytes of the arguments of all open calls.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns everything that a hub must be told of the calls. They count as sent from here on.
    pub fn resume(&mut self, now: Instant) -> Vec<String> {
        let say = |said: &mut Said| {
            said.sent = true;
            said.line(now)
        };
        self.open.values_mut().map(say).collect()
    }
}

/// Answers that come in pieces over the present connection.
#[derive(Debug, Default)]
pub struct Pieces(BTreeMap<u64, (usize, String)>);

impl Pieces {
    /// Keeps a piece.
    ///
    /// # Errors
    /// [`BadPiece`]: the answer cannot be put together.
    pub fn add(&mut self, piece: messages::Piece) -> Result<(), BadPiece> {
        let (count, text) = self.0.entry(piece.request).or_default();
        if piece.nth != *count || text.len() + piece.text.len() > HUB_RESULT_MAX_BYTES {
            return Err(BadPiece);
        }
        *count += 1;
        text.push_str(&piece.text);
        Ok(())
    }

    /// Drops the pieces of a request that nobody waits for.
    pub fn forget(&mut self, request: u64) {
        self.0.remove(&request);
    }

    /// Removes the pieces of this request. Returns the whole answer if there are `count` pieces.
    pub fn take(&mut self, request: u64, count: usize) -> Option<Box<RawValue>> {
        let (have, text) = self.0.remove(&request)?;
        (have == count).then(|| RawValue::from_string(text).ok()).flatten()
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::requests::Requests;
    use crate::protocol::ids::CallId;
    use crate::protocol::mcp::{Method, ProtocolVersion};

    fn said(requests: &mut Requests, id: &str, arguments: &str) -> Said {
        let hold = requests.open(&RequestId::from_text(id), Method::CallTool, None).unwrap();
        let call = NewCall {
            id: CallId::from_random([1; 16]),
            request: hold.key(),
            tool: "t".to_owned(),
            arguments: Arc::from(RawValue::from_string(arguments.to_owned()).unwrap()),
            progress_token: None,
            trace: None,
            requester: None,
            parallel: false,
            patience: Duration::from_secs(60),
            waited: Duration::ZERO,
            profile: ProtocolVersion::LATEST.into(),
            form: AnswerForm::ToolResult,
        };
        Said::new(hold, id, "/p".into(), call, Instant::now())
    }

    #[test]
    fn a_hub_is_told_the_open_calls_in_their_order() {
        let now = Instant::now();
        let (mut requests, mut calls) = (Requests::default(), SaidCalls::default());
        assert!(calls.resume(now).is_empty());
        let first = calls.add(said(&mut requests, "x", "{}"), now).unwrap();
        let second = calls.add(said(&mut requests, "y", r#"{"n":2}"#), now).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":2,"method":"port/call","params":{"call":"01010101-0101-4101-8101-010101010101","project":"/p","tool":"t","arguments":{"n":2},"waited_ms":0}}"#;
        assert_eq!(second, expected);
        assert_eq!(calls.resume(now), [first, second]);
        assert!(calls.remove(1).is_some() && calls.remove(1).is_none(), "one answer");
        calls.add(said(&mut requests, "z", "{}"), now).unwrap();
        let told = calls.told(Instant::now() + Duration::from_secs(7));
        assert_eq!(told.iter().map(|open| (open.request, open.sent)).collect::<Vec<_>>(), [(2, true), (3, false)]);
        assert!(told.iter().all(|open| (6900..=7100).contains(&open.waited_ms)), "{told:?}");
        calls.was_sent(3);
        calls.was_given_back(2);
        let sent: Vec<bool> = calls.told(now).iter().map(|open| open.sent).collect();
        assert_eq!(sent, [false, true]);
        let overdue = calls.take_overdue(Instant::now() + Duration::from_secs(61));
        assert_eq!(overdue.iter().map(|said| said.hold.key().number).collect::<Vec<_>>(), [2]);
        assert_eq!(calls.take_all().len(), 1);
        assert!(calls.is_empty() && calls.bytes() == 0);
    }

    #[test]
    fn the_open_calls_are_bounded_in_bytes() {
        let now = Instant::now();
        let (mut requests, mut calls) = (Requests::default(), SaidCalls::default());
        let half = format!("\"{}\"", "x".repeat(SESSION_CALLS_MAX_BYTES / 2));
        calls.add(said(&mut requests, "x", &half), now).unwrap();
        assert_eq!(calls.add(said(&mut requests, "y", &half), now), Err(TooManyBytes));
        calls.remove(1);
        calls.add(said(&mut requests, "z", &half), now).unwrap();
    }

    #[test]
    fn an_answer_in_pieces_is_put_together_only_if_all_came() {
        let mut pieces = Pieces::default();
        let piece = |nth, text: &str| messages::Piece { request: 1, nth, text: text.to_owned() };
        pieces.add(piece(0, r#"{"b""#)).unwrap();
        assert_eq!(pieces.add(piece(2, "}")), Err(BadPiece), "one is missing");
        pieces.add(piece(1, ":1}")).unwrap();
        assert_eq!(pieces.take(1, 2).unwrap().get(), r#"{"b":1}"#);
        pieces.add(piece(0, "{}")).unwrap();
        assert!(pieces.take(1, 2).is_none() && pieces.take(1, 1).is_none());
    }
}
