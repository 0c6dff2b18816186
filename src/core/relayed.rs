//! The requests of one client that a hub answers, as the session keeps them: what is needed to send them again to the hub's
//! successor, or to answer them in this process.
//!
//! A request is sent under the number of its key, which is never used twice, so an answer of an earlier hub cannot reach another
//! request. The client's own id stays in the table of open requests.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::core::requests::Hold;
use crate::limits::SESSION_CALLS_MAX_BYTES;
use crate::protocol::hub::OpenRequest;
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::mcp::stateless::Requester;

/// A request that is to be answered by a hub.
#[derive(Debug, Clone)]
pub struct Relayed {
    /// The open request.
    pub hold: Hold,
    /// The id that the client gave it.
    pub id: RequestId,
    /// The requester, for a request of the stateless era.
    pub requester: Option<Arc<Requester>>,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Box<RawValue>>,
    /// The client's progress token.
    pub token: Option<Box<RawValue>>,
    /// When the request came.
    pub since: Instant,
    /// Whether the request was sent to a hub.
    pub sent: bool,
}

impl Relayed {
    /// Returns the name of the tool that the request calls; `None` if it is no such request.
    pub fn tool(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Params {
            name: String,
        }
        let params = self.params.as_deref().filter(|_| self.method == "tools/call")?;
        Some(serde_json::from_str::<Params>(params.get()).ok()?.name)
    }

    /// Returns the line with which the request is sent.
    fn line(&self) -> String {
        let number = RequestId::from_number(self.hold.key().number);
        jsonrpc::request(&number, &self.method, self.params.as_deref().map(RawValue::get))
    }

    fn told(&self, now: Instant) -> OpenRequest {
        let waited = now.saturating_duration_since(self.since).as_millis();
        let waited_ms = u64::try_from(waited).unwrap_or(u64::MAX);
        OpenRequest { request: self.hold.key().number, sent: self.sent, waited_ms }
    }

    fn bytes(&self) -> usize {
        self.params.as_ref().map_or(0, |params| params.get().len())
    }
}

/// The client's open requests would have more than [`SESSION_CALLS_MAX_BYTES`] bytes of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyBytes;

/// The open requests; see the module's documentation.
#[derive(Debug, Default)]
pub struct RelayedRequests {
    open: BTreeMap<u64, Relayed>,
    /// The requests by their progress tokens, as the client wrote these.
    tokens: HashMap<String, u64>,
    bytes: usize,
    /// The parameters of the client's `initialize`.
    opening: Option<Option<Box<RawValue>>>,
    /// Whether the client said that the handshake is complete.
    initialized: bool,
    /// Our last request for the client's roots, and the hub's request that it stands for.
    roots: Option<(RequestId, RequestId)>,
}

impl RelayedRequests {
    /// Adds a request. Returns the line with which it is sent.
    ///
    /// # Errors
    /// [`TooManyBytes`]: the request must be answered here.
    pub fn add(&mut self, request: Relayed) -> Result<String, TooManyBytes> {
        if self.bytes + request.bytes() > SESSION_CALLS_MAX_BYTES {
            return Err(TooManyBytes);
        }
        let (line, number) = (request.line(), request.hold.key().number);
        self.bytes += request.bytes();
        if let Some(token) = &request.token {
            self.tokens.insert(token.get().to_owned(), number);
        }
        self.open.insert(number, request);
        Ok(line)
    }

    /// Removes a request that is answered or cancelled. `None` if it is not open.
    pub fn remove(&mut self, number: u64) -> Option<Relayed> {
        let request = self.open.remove(&number)?;
        self.bytes -= request.bytes();
        if let Some(token) = &request.token
            && self.tokens.get(token.get()) == Some(&number)
        {
            self.tokens.remove(token.get());
        }
        Some(request)
    }

    /// Removes all requests, in the order in which they came.
    pub fn take_all(&mut self) -> Vec<Relayed> {
        let numbers: Vec<u64> = self.open.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Remembers that a request was sent to a hub.
    pub fn was_sent(&mut self, number: u64) {
        if let Some(request) = self.open.get_mut(&number) {
            request.sent = true;
        }
    }

    /// Remembers that the hub gave a request back: nothing of it was sent.
    pub fn was_given_back(&mut self, number: u64) {
        if let Some(request) = self.open.get_mut(&number) {
            request.sent = false;
        }
    }

    /// Removes the requests that no hub has and that came more than `patience` before `now`.
    pub fn take_overdue(&mut self, now: Instant, patience: Duration) -> Vec<Relayed> {
        let is_overdue = |request: &&Relayed| !request.sent && now.saturating_duration_since(request.since) >= patience;
        let overdue: Vec<u64> =
            self.open.values().filter(is_overdue).map(|request| request.hold.key().number).collect();
        overdue.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Returns what another gateway is told of the open requests, in the order in which they came.
    pub fn told(&self, now: Instant) -> Vec<OpenRequest> {
        self.open.values().map(|request| request.told(now)).collect()
    }

    /// Whether a request is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the key of the open request with this number.
    pub fn key_of(&self, number: u64) -> Option<RequestKey> {
        self.open.get(&number).map(|request| request.hold.key())
    }

    /// Returns the open request with this progress token.
    pub fn with_token(&self, token: &str) -> Option<RequestKey> {
        let number = self.tokens.get(token)?;
        self.open.get(number).map(|request| request.hold.key())
    }

    /// Remembers the client's handshake: it is repeated for each hub.
    pub fn opened(&mut self, params: Option<Box<RawValue>>) {
        (self.opening, self.initialized) = (Some(params), false);
    }

    /// Remembers that the client said that the handshake is complete.
    pub fn initialized(&mut self) {
        self.initialized = true;
    }

    /// Whether the client said that the handshake is complete.
    pub fn is_initialized(&self) -> bool {
        self.initialized
    }

    /// Returns everything that a hub must be told from the start: the handshake, then the open requests. The hub's answer to the
    /// handshake is for nobody: the session gave it. So its number is 0, which no request has. The requests count as sent from here
    /// on.
    pub fn resume(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(params) = &self.opening {
            let params = params.as_deref().map(RawValue::get);
            lines.push(jsonrpc::request(&RequestId::from_number(0), "initialize", params));
            if self.initialized {
                lines.push(jsonrpc::notification("notifications/initialized", None));
            }
        }
        for request in self.open.values_mut() {
            request.sent = true;
            lines.push(request.line());
        }
        lines
    }

    /// Remembers that our request `ours` for the client's roots stands for the hub's request `hubs`.
    pub fn roots_asked(&mut self, ours: RequestId, hubs: RequestId) {
        self.roots = Some((ours, hubs));
    }

    /// Returns the hub's request that the client's response answers; `None` if it answers none.
    pub fn roots_told(&mut self, id: Option<&RequestId>) -> Option<RequestId> {
        let is_it = self.roots.as_ref().is_some_and(|(ours, _)| Some(ours) == id);
        if is_it { self.roots.take().map(|(_, hubs)| hubs) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::requests::Requests;
    use crate::protocol::mcp::Method;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn request(requests: &mut Requests, id: &str, params: &str, token: Option<&str>) -> Relayed {
        let id = RequestId::from_text(id);
        let hold = requests.open(&id, Method::CallTool, None, tokio::time::Instant::now()).unwrap();
        let method = "tools/call".to_owned();
        let (since, sent) = (Instant::now(), false);
        Relayed { hold, id, requester: None, method, params: Some(raw(params)), token: token.map(raw), since, sent }
    }

    #[test]
    fn a_hub_is_told_the_handshake_and_the_open_requests_in_their_order() {
        let (mut requests, mut relayed) = (Requests::default(), RelayedRequests::default());
        assert!(relayed.resume().is_empty());
        relayed.opened(Some(raw(r#"{"a":1}"#)));
        relayed.initialized();
        let first = relayed.add(request(&mut requests, "x", "{}", None)).unwrap();
        let second = relayed.add(request(&mut requests, "y", r#"{"n":2}"#, None)).unwrap();
        assert_eq!(second, r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"n":2}}"#);
        assert_eq!(
            relayed.resume(),
            [
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"a":1}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                &first,
                &second
            ]
        );
        assert!(relayed.remove(1).is_some() && relayed.remove(1).is_none(), "one answer");
        relayed.add(request(&mut requests, "z", "{}", None)).unwrap();
        let later = Instant::now() + std::time::Duration::from_secs(7);
        let told = relayed.told(later);
        assert_eq!(told.iter().map(|open| (open.request, open.sent)).collect::<Vec<_>>(), [(2, true), (3, false)]);
        assert!(told.iter().all(|open| (6900..=7000).contains(&open.waited_ms)), "{told:?}");
        relayed.was_sent(3);
        assert!(relayed.told(later).iter().all(|open| open.sent));
        relayed.remove(3);
        assert_eq!(relayed.take_all().len(), 1);
        assert!(relayed.is_empty() && relayed.bytes == 0);
    }

    #[test]
    fn progress_finds_its_request_as_long_as_that_is_open() {
        let (mut requests, mut relayed) = (Requests::default(), RelayedRequests::default());
        relayed.add(request(&mut requests, "x", "{}", Some("7"))).unwrap();
        let key = relayed.with_token("7").unwrap();
        assert_eq!((key.number, relayed.with_token("\"7\"")), (1, None));
        // A client that uses a token twice gets the progress of the newer request.
        relayed.add(request(&mut requests, "y", "{}", Some("7"))).unwrap();
        relayed.remove(1);
        assert_eq!(relayed.with_token("7").unwrap().number, 2);
        relayed.remove(2);
        assert_eq!(relayed.with_token("7"), None);
    }

    #[test]
    fn the_open_requests_are_bounded_in_bytes() {
        let (mut requests, mut relayed) = (Requests::default(), RelayedRequests::default());
        let half = format!("\"{}\"", "x".repeat(SESSION_CALLS_MAX_BYTES / 2));
        relayed.add(request(&mut requests, "x", &half, None)).unwrap();
        assert_eq!(relayed.add(request(&mut requests, "y", &half, None)), Err(TooManyBytes));
        relayed.remove(1);
        relayed.add(request(&mut requests, "z", &half, None)).unwrap();
    }

    #[test]
    fn an_answer_about_roots_goes_to_the_hub_that_asked_last() {
        let mut relayed = RelayedRequests::default();
        let id = RequestId::from_text;
        relayed.roots_asked(id("ours-1"), id("hubs-1"));
        relayed.roots_asked(id("ours-2"), id("hubs-9"));
        assert_eq!(relayed.roots_told(Some(&id("ours-1"))), None);
        assert_eq!(relayed.roots_told(Some(&id("ours-2"))), Some(id("hubs-9")));
        assert_eq!(relayed.roots_told(Some(&id("ours-2"))), None);
    }
}
