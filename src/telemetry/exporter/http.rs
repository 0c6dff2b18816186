//! The few lines of HTTP that a scrape needs: one GET a connection, answered and closed.
//!
//! `httparse` reads the head, which is the part that goes wrong. hyper's `http1` server would bring ten crates and an adapter
//! between its I/O traits and ours for keep-alive, bodies and upgrades, and nothing here wants any of them.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::pages::{self, Page};
use crate::estate::Estate;
use crate::limits::{SCRAPE_HEAD_MAX_BYTES, SCRAPE_HEADERS_MAX, SCRAPE_TIMEOUT};
use crate::net::{self, BoxStream};
use crate::telemetry::metrics::labels::ScrapeResult;

/// A request that may be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Get {
    path: String,
    head_only: bool,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    NotHttp,
    TooLarge,
    BadMethod,
    /// Another host's name: a web page whose name was made to point here would read what is nobody else's business.
    BadHost,
}

/// Reads one request and answers it. The time for either is bounded.
pub(super) async fn answer(estate: &Estate, mut socket: BoxStream, own: SocketAddr) {
    let Ok(read) = timeout(SCRAPE_TIMEOUT, read_head(&mut socket)).await else {
        estate.events.scraped(ScrapeResult::TimedOut);
        return send(&mut socket, &plain(408, "Request Timeout", "the request's head took too long\n", ""), false)
            .await;
    };
    let Some(head) = read else { return };
    let (result, response, head_only) = match head.and_then(|head| parse(&head, own)) {
        Ok(get) => match pages::page(estate, &get.path) {
            Some(page) => (ScrapeResult::Ok, found(&page), get.head_only),
            None => (
                ScrapeResult::NotFound,
                plain(404, "Not Found", "/metrics, /status.json, /healthz and / are served\n", ""),
                get.head_only,
            ),
        },
        Err(refused) => refusal(refused),
    };
    estate.events.scraped(result);
    send(&mut socket, &response, head_only).await;
}

/// Tells one connection too many to come again.
pub(super) async fn refuse_busy(socket: &mut BoxStream) {
    let response = plain(503, "Service Unavailable", "too many connections; come again\n", "Retry-After: 1\r\n");
    let _ = socket.write_all(&response.concat()).await;
    let _ = socket.shutdown().await;
}

/// The head as far as it is one; `None` when the peer went without a word.
async fn read_head(socket: &mut BoxStream) -> Option<Result<Vec<u8>, Refused>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        match socket.read(&mut buffer).await {
            Ok(count @ 1..) => head.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Ok(_) | Err(_) => return (!head.is_empty()).then_some(Err(Refused::NotHttp)),
        }
        let mut headers = [httparse::EMPTY_HEADER; SCRAPE_HEADERS_MAX];
        match httparse::Request::new(&mut headers).parse(&head) {
            Ok(httparse::Status::Complete(_)) => return Some(Ok(head)),
            Ok(httparse::Status::Partial) if head.len() < SCRAPE_HEAD_MAX_BYTES => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Some(Err(Refused::TooLarge));
            }
            Err(_) => return Some(Err(Refused::NotHttp)),
        }
    }
}

fn parse(head: &[u8], own: SocketAddr) -> Result<Get, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; SCRAPE_HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let complete = request.parse(head).is_ok_and(|status| status.is_complete());
    let (Some(method), Some(target), true) = (request.method, request.path, complete) else {
        return Err(Refused::NotHttp);
    };
    // The host first: to somebody else's page not even the method is worth a word.
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = hosts.next().and_then(|header| std::str::from_utf8(header.value).ok());
    if !host.is_some_and(|host| net::is_loopback_host(host.trim(), own.port())) || hosts.next().is_some() {
        return Err(Refused::BadHost);
    }
    let head_only = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(Refused::BadMethod),
    };
    if !target.starts_with('/') {
        return Err(Refused::NotHttp);
    }
    let path = target.split(['?', '#']).next().unwrap_or(target).to_owned();
    Ok(Get { path, head_only })
}

/// A response: its head, and its body.
type Response = [Vec<u8>; 2];

fn response(status: u16, reason: &str, kind: &str, extra: &str, body: Vec<u8>) -> Response {
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         {extra}\r\n",
        body.len()
    );
    [head.into_bytes(), body]
}

fn plain(status: u16, reason: &str, text: &str, extra: &str) -> Response {
    response(status, reason, "text/plain; charset=utf-8", extra, text.as_bytes().to_vec())
}

fn found(page: &Page) -> Response {
    response(200, "OK", page.kind, &page.extra, page.body.clone().into_bytes())
}

fn refusal(refused: Refused) -> (ScrapeResult, Response, bool) {
    let (result, response) = match refused {
        Refused::NotHttp => {
            (ScrapeResult::BadRequest, plain(400, "Bad Request", "this is no request of HTTP/1.1\n", ""))
        }
        Refused::TooLarge => (
            ScrapeResult::BadRequest,
            plain(431, "Request Header Fields Too Large", "the request's head is too large\n", ""),
        ),
        Refused::BadMethod => (
            ScrapeResult::BadMethod,
            plain(405, "Method Not Allowed", "GET and HEAD are served\n", "Allow: GET, HEAD\r\n"),
        ),
        Refused::BadHost => (
            ScrapeResult::BadHost,
            plain(421, "Misdirected Request", "use 127.0.0.1, [::1] or localhost, with this port\n", ""),
        ),
    };
    (result, response, false)
}

async fn send(socket: &mut BoxStream, response: &Response, head_only: bool) {
    let [head, body] = response;
    let sent = async {
        socket.write_all(head).await?;
        if !head_only {
            socket.write_all(body).await?;
        }
        socket.shutdown().await
    };
    // A scraper that does not read loses its answer, and its place is free.
    let _ = timeout(SCRAPE_TIMEOUT, sent).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: ([u8; 4], u16) = ([127, 0, 0, 1], 9464);

    #[test]
    fn requests_are_taken_or_refused_by_the_table() {
        let own = SocketAddr::from(OWN);
        let get = |path: &str, head_only| Ok(Get { path: path.to_owned(), head_only });
        for (head, meant) in [
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", get("/metrics", false)),
            ("GET /metrics?x=1 HTTP/1.1\r\nhOST: 127.0.0.1:9464\r\n\r\n", get("/metrics", false)),
            ("HEAD / HTTP/1.0\r\nHost: localhost\r\n\r\n", get("/", true)),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", Err(Refused::BadMethod)),
            ("POST /metrics HTTP/1.1\r\nHost: evil\r\n\r\n", Err(Refused::BadHost)),
            ("OPTIONS /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", Err(Refused::BadMethod)),
            ("GET /metrics HTTP/1.1\r\n\r\n", Err(Refused::BadHost)),
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", Err(Refused::BadHost)),
            ("GET http://localhost/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", Err(Refused::NotHttp)),
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n", Err(Refused::NotHttp)),
            ("{\"jsonrpc\":\"2.0\"}\r\n\r\n", Err(Refused::NotHttp)),
        ] {
            assert_eq!(parse(head.as_bytes(), own), meant, "{head}");
        }
    }

    async fn head_of(bytes: Vec<u8>) -> Option<Result<Vec<u8>, Refused>> {
        let (mut near, far) = tokio::io::duplex(64 * 1024);
        near.write_all(&bytes).await.unwrap();
        near.shutdown().await.unwrap();
        let mut far: BoxStream = Box::new(far);
        read_head(&mut far).await
    }

    #[tokio::test]
    async fn a_head_is_bounded_in_bytes_and_headers() {
        let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(SCRAPE_HEAD_MAX_BYTES));
        assert_eq!(head_of(long.into_bytes()).await, Some(Err(Refused::TooLarge)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(SCRAPE_HEADERS_MAX + 1));
        assert_eq!(head_of(many.into_bytes()).await, Some(Err(Refused::TooLarge)));
        assert_eq!(head_of(b"GET / HTT".to_vec()).await, Some(Err(Refused::NotHttp)));
        assert_eq!(head_of(Vec::new()).await, None);
        let good = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
        assert_eq!(head_of(good.clone()).await, Some(Ok(good)));
    }
}
