//! Answers a POST: reads its message, has the message served, and writes the answer as JSON or as a stream.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use tokio::time::sleep;

use super::events::{Events, Shared};
use super::guard::Guard;
use crate::client::{Conversation, Posting};
use crate::limits::http::{
    HTTP_BODIES_MAX_BYTES, HTTP_BODY_TIME_MAX, HTTP_CONNECTIONS_MAX, HTTP_IDLE_MAX, HTTP_REQUEST_MAX_BYTES,
    HTTP_RETRY_AFTER, HTTP_STALL_MAX, HTTP_WHOLE_WITHIN,
};
use crate::net::BoxFuture;
use crate::protocol::jsonrpc::{self, Fault, RequestId, RpcError};
use crate::protocol::mcp::http::{self as rules, Asks, Header, Rejected};
use crate::runtime::enter;
use crate::services::Gateway;
use crate::services::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use crate::services::http::{
    self, Answer, Beyond, Bytes, Head, Kept, Lasting, Method, Peer, Refused, Reply, Request, Rules, StatusCode,
};
use crate::telemetry::metrics::labels::HttpRefusal;

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";
/// The first segment of every path that is served.
const ENDPOINT: &str = "mcp";
/// Tells a proxy that the answer is a stream whose pieces must not wait.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What the service needs of the hub.
pub trait Hub: Gateway {
    fn is_ending(&self) -> bool;
    /// Returns the project that a client named in its URL. The URL has the name of an editor, or the project's path.
    ///
    /// # Errors
    /// Why no project is meant, with the fix.
    fn project(self: &Arc<Self>, name: &str) -> impl Future<Output = Result<PathBuf, String>> + Send;
    /// Waits until the hub has looked which of its known projects have a running editor. Does nothing if it has looked
    /// lately.
    fn look_around(self: &Arc<Self>) -> impl Future<Output = ()> + Send;
    /// Returns the input schema of a tool, as it is listed to clients that use this project, or all editors.
    fn schema(&self, project: Option<&Path>, tool: &str) -> Option<Box<RawValue>>;
    /// Serves a message. `None`: too many messages are being served.
    fn serve(&self, posting: Posting) -> Option<Conversation>;
}

/// The service that the HTTP server calls.
pub(super) struct Post<H> {
    pub(super) hub: Arc<H>,
    pub(super) guard: Arc<Guard>,
}

impl<H: Hub> http::Service for Post<H> {
    fn rules(&self) -> Rules {
        let kept = Kept {
            idle_max: HTTP_IDLE_MAX,
            body_time_max: HTTP_BODY_TIME_MAX,
            stall_max: HTTP_STALL_MAX,
            bodies_max_bytes: HTTP_BODIES_MAX_BYTES,
        };
        Rules {
            body_max: Some(HTTP_REQUEST_MAX_BYTES),
            pages: true,
            connections_max: HTTP_CONNECTIONS_MAX,
            beyond: Beyond::Refused,
            lasting: Lasting::Kept(kept),
        }
    }

    fn admit(&self, head: &Head<'_>) -> Result<(), Refused> {
        self.guard.admit(head)?;
        if self.hub.is_ending() {
            return Err(Refused::Ending);
        }
        if head.parts()?.first().is_none_or(|first| first != ENDPOINT) {
            return Err(Refused::NotFound);
        }
        if head.method != Method::POST {
            return Err(Refused::BadMethod);
        }
        let is_json = |kind: &str| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON);
        if !head.only(header::CONTENT_TYPE).is_some_and(is_json) {
            return Err(Refused::BadType);
        }
        if !takes(head.headers, JSON) || !takes(head.headers, STREAM) {
            return Err(Refused::NotAcceptable);
        }
        Ok(())
    }

    async fn answer(&self, request: Request, peer: Peer) -> Result<Answer, Refused> {
        let parts = request.parts()?;
        let name = parts.get(1..).unwrap_or_default().join("/");
        let project = match name.as_str() {
            "" => {
                self.hub.look_around().await;
                Ok(None)
            }
            name => self.hub.project(name).await.map(Some),
        };
        let schema = |tool: &str| self.hub.schema(project.as_ref().ok()?.as_deref(), tool);
        let asks = match rules::read(&request.body, |name| value_of(&request.headers, name), schema) {
            Ok(rules::Post::Unanswered) => {
                return Ok(Reply::new(StatusCode::ACCEPTED, "", "").into());
            }
            Ok(rules::Post::Asks(asks)) => asks,
            Err(Rejected { id, error }) => {
                return Ok(rejected(StatusCode::BAD_REQUEST, id.as_ref(), &error).into());
            }
        };
        let Asks { opened, request: id, is_stateless, streams } = asks;
        let project = match project {
            Ok(project) => project,
            Err(why) => {
                return Ok(rejected(StatusCode::NOT_FOUND, id.as_ref(), &RpcError::invalid_params(why)).into());
            }
        };
        let cancels = id.filter(|_| is_stateless);
        // In JSON, a line break is only white space.
        let line = if request.body.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            let line: Vec<u8> =
                request.body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
            line.into()
        } else {
            request.body
        };
        let conversation = self.hub.serve(Posting { line, project, opened, cancels });
        let shared: Shared = Arc::new(Mutex::new(Some(conversation.ok_or(Refused::Busy)?)));
        let next = std::future::poll_fn(|context| match enter(&shared).as_mut() {
            Some(conversation) => conversation.poll_next(context),
            None => std::task::Poll::Ready(None),
        });
        let mut first = None;
        if !streams {
            tokio::select! {
                biased;
                line = next => match line {
                    Some((line, true)) => return Ok(whole(line, is_stateless, shared)),
                    Some(other) => first = Some(other),
                    // The session ended without an answer, which is our bug.
                    None => return Err(Refused::CutOff),
                },
                // In the stateless era a closed connection cancels the request. A write shows whether the client still
                // reads.
                () = peer.clone().hung_up(), if is_stateless => {}
                () = sleep(HTTP_WHOLE_WITHIN) => {}
            }
        }
        let hung_up = is_stateless.then(|| -> BoxFuture<'static, ()> { Box::pin(peer.hung_up()) });
        let head = Reply::new(StatusCode::OK, STREAM, "").with(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        let events = Events::of(Arc::clone(&shared), first, hung_up);
        Ok(Answer::stream(head, events).when_delivered(delivered(shared)))
    }

    fn refuse(&self, why: Refused) -> Option<Reply> {
        let (reason, status, what) = match why {
            // The client is gone, or waits for no answer.
            Refused::CutOff => {
                self.hub.events().http_refused(HttpRefusal::CutOff);
                return None;
            }
            Refused::NotHttp => (
                HttpRefusal::NotHttp,
                StatusCode::BAD_REQUEST,
                "this is no request of HTTP/1.1 with a path of this server",
            ),
            Refused::NoLength => {
                (HttpRefusal::NotHttp, StatusCode::LENGTH_REQUIRED, "the request has a body of unknown length")
            }
            Refused::HeadTooLarge => {
                (HttpRefusal::TooLarge, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request's head is too large")
            }
            Refused::BodyTooLarge => (HttpRefusal::TooLarge, StatusCode::PAYLOAD_TOO_LARGE, ""),
            Refused::BadMethod => (
                HttpRefusal::BadMethod,
                StatusCode::METHOD_NOT_ALLOWED,
                "send each message with POST: there are no sessions here, and no streams besides the answers",
            ),
            Refused::BadHost => (
                HttpRefusal::BadHost,
                StatusCode::FORBIDDEN,
                "this service is not known by that Host: use 127.0.0.1, [::1] or localhost with its port, or start the hub with \
                 --http-host",
            ),
            Refused::FromAPage => {
                (HttpRefusal::ForeignPage, StatusCode::FORBIDDEN, "requests of other web pages are not taken")
            }
            Refused::Unauthorized => (
                HttpRefusal::Unauthorized,
                StatusCode::UNAUTHORIZED,
                "send the token, as in Authorization: Bearer TOKEN",
            ),
            Refused::NotFound => {
                (HttpRefusal::NotFound, StatusCode::NOT_FOUND, "MCP is served at /mcp and /mcp/PROJECT")
            }
            Refused::BadType => (
                HttpRefusal::BadType,
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send JSON, with Content-Type: application/json",
            ),
            Refused::NotAcceptable => (
                HttpRefusal::BadType,
                StatusCode::NOT_ACCEPTABLE,
                "accept both types of answers: Accept: application/json, text/event-stream",
            ),
            Refused::TooSlow => {
                (HttpRefusal::TooSlow, StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive")
            }
            Refused::Busy => (
                HttpRefusal::Busy,
                StatusCode::SERVICE_UNAVAILABLE,
                "too much is open at the moment; nothing was executed; come again",
            ),
            Refused::Ending => (
                HttpRefusal::Ending,
                StatusCode::SERVICE_UNAVAILABLE,
                "the hub is ending; nothing was executed; come again",
            ),
        };
        self.hub.events().http_refused(reason);
        let error = match why {
            Refused::BodyTooLarge => RpcError::new(Fault::TooLong.code(), Fault::TooLong.to_string()),
            _ => RpcError::invalid_request(what),
        };
        let reply = rejected(status, None, &error);
        Some(match why {
            Refused::BadMethod => reply.with(header::ALLOW, HeaderValue::from_static("POST")),
            Refused::Unauthorized => reply.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            Refused::Busy | Refused::Ending => reply.with(header::RETRY_AFTER, HTTP_RETRY_AFTER.as_secs().into()),
            _ => reply,
        })
    }
}

fn rejected(status: StatusCode, id: Option<&RequestId>, error: &RpcError) -> Reply {
    Reply::new(status, JSON, jsonrpc::error(id, error))
}

/// Returns the response that consists of the answer only.
fn whole(line: Bytes, is_stateless: bool, shared: Shared) -> Answer {
    let status = StatusCode::from_u16(rules::status_of(&line, is_stateless)).unwrap_or_default();
    Answer::from(Reply::new(status, JSON, line)).when_delivered(delivered(shared))
}

/// Ends a conversation when its answer was delivered.
fn delivered(shared: Shared) -> http::Delivered {
    Box::new(move || {
        if let Some(conversation) = enter(&shared).take() {
            conversation.delivered();
        }
    })
}

/// Whether a client takes answers of this type. A client that names no types takes all.
fn takes(headers: &HeaderMap, kind: &str) -> bool {
    let all = format!("{}/*", kind.split('/').next().unwrap_or_default());
    let mut said = headers.get_all(header::ACCEPT).iter().peekable();
    let is_taken = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().unwrap_or_default();
        let is_refused = parts.filter_map(|part| part.strip_prefix("q=")).any(|q| q.parse() == Ok(0.0));
        [kind, &all, "*/*"].iter().any(|known| known.eq_ignore_ascii_case(named)) && !is_refused
    };
    said.peek().is_none() || said.any(|value| value.to_str().is_ok_and(|value| value.split(',').any(is_taken)))
}

fn value_of<'h>(headers: &'h HeaderMap, name: &str) -> Header<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Header::Missing,
        (Some(one), None) => one.to_str().map_or(Header::Unreadable, |text| Header::Text(text.trim())),
        (Some(_), Some(_)) => Header::Unreadable,
    }
}
