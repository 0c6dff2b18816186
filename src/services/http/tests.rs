use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::*;
use crate::limits::{SERVED_HEAD_MAX_BYTES, SERVED_HEADERS_MAX, SERVED_LINGER, SERVED_TIMEOUT};
use crate::net::{BoxFuture, BoxStream};

const BODY_MAX: usize = 64;
const POSTS: Rules =
    Rules { body_max: Some(BODY_MAX), pages: false, connections_max: 2, beyond: Beyond::Waits, lasting: Lasting::Once };
const PAGES: Rules =
    Rules { body_max: None, pages: true, connections_max: 2, beyond: Beyond::Refused, lasting: Lasting::Once };
const GET: &str = "GET /logs HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A service that records its requests, and answers a refusal with the reason.
struct Echo {
    rules: Rules,
    asked: Mutex<Vec<Request>>,
    refused: Mutex<Vec<Refused>>,
    /// The answer to `/slow` is sent after this is notified.
    go: Notify,
}

impl Service for Echo {
    fn rules(&self) -> Rules {
        self.rules
    }

    async fn answer(&self, request: Request, _: Peer) -> Result<Answer, Refused> {
        if request.method == Method::DELETE {
            return Err(Refused::BadMethod);
        }
        let parts = request.parts()?;
        self.asked.lock().unwrap().push(request.clone());
        match parts.first().map(String::as_str) {
            Some("slow") => self.go.notified().await,
            Some("panic") => std::panic::panic_any("planted"),
            Some("large") => return Ok(Reply::new(StatusCode::OK, "text/plain", "x".repeat(1 << 20)).into()),
            _ => {}
        }
        let body = format!("{} {} {}", request.method, parts.join("|"), request.body.len());
        Ok(Reply::new(StatusCode::OK, "text/plain", body).into())
    }

    fn refuse(&self, why: Refused) -> Option<Reply> {
        self.refused.lock().unwrap().push(why);
        let why: &'static str = why.into();
        (why != "cut_off").then(|| Reply::new(StatusCode::IM_A_TEAPOT, "text/plain", why))
    }
}

/// A listener that accepts the connections which the test sends.
struct Door(tokio::sync::Mutex<mpsc::Receiver<BoxStream>>);

impl Listener for Door {
    fn local_addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 3030))
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            let stream = self.0.lock().await.recv().await.ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((stream, self.local_addr()))
        })
    }
}

/// A server, which ends when this value is dropped.
struct Stage {
    service: Arc<Echo>,
    comes: mpsc::Sender<BoxStream>,
    server: tokio::task::JoinHandle<()>,
}

impl Stage {
    fn new(rules: Rules) -> Self {
        let (comes, come) = mpsc::channel(64);
        let service = Arc::new(Echo { rules, asked: Mutex::default(), refused: Mutex::default(), go: Notify::new() });
        let server = tokio::spawn(serve(Arc::clone(&service), Arc::new(Door(tokio::sync::Mutex::new(come)))));
        Self { service, comes, server }
    }

    async fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(64 * 1024);
        self.comes.send(Box::new(far)).await.unwrap();
        near
    }

    /// Sends these pieces and then closes the sending side. Returns the answer.
    async fn hears<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut socket = self.connect().await;
        for piece in pieces {
            // The write fails if the server has already refused the request.
            let _ = socket.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        let _ = socket.shutdown().await;
        end(socket).await
    }

    async fn says(&self, bytes: &str) -> String {
        self.hears([bytes.as_bytes()]).await
    }

    fn refusals(&self) -> Vec<Refused> {
        std::mem::take(&mut self.service.refused.lock().unwrap())
    }

    fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut self.service.asked.lock().unwrap())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn end(mut socket: DuplexStream) -> String {
    let mut text = Vec::new();
    tokio::time::timeout(Duration::from_secs(60), socket.read_to_end(&mut text)).await.expect("an end").unwrap();
    String::from_utf8(text).unwrap()
}

fn body(text: &str) -> &str {
    text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}")).1
}

#[tokio::test(start_paused = true)]
async fn a_request_is_read_with_its_path_query_and_body() {
    let stage = Stage::new(POSTS);
    let text = stage
        .says("POST /logs/a%2Fb%20c?limit=3&x HTTP/1.1\r\nHost: localhost:3030\r\nContent-Length: 2\r\n\r\n{}more")
        .await;
    assert_eq!(body(&text), "POST logs|a/b c 2");
    let request = stage.asked().remove(0);
    assert_eq!((&request.body[..], request.number("limit"), request.number("x")), (&b"{}"[..], Some(3), None));
    let text = stage.says("GET /logs HTTP/1.1\r\nhOST: [::1]\r\n\r\n").await;
    assert_eq!(body(&text), "GET logs 0");
    let request = stage.asked().remove(0);
    assert_eq!((request.path(), request.number("limit")), (Ok("/logs"), None));
    let text = stage.says("GET /logs?x=1#y HTTP/1.1\r\nHost: 127.0.0.1:3030\r\n\r\n").await;
    assert_eq!(body(&text), "GET logs 0");
    assert_eq!(stage.refusals(), []);
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_its_length_and_its_headers_and_ends_the_connection() {
    let stage = Stage::new(PAGES);
    let headers = "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
                   Cross-Origin-Resource-Policy: same-origin\r\n\r\n";
    let found = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n{headers}GET logs 0");
    assert_eq!(stage.says(GET).await, found);
    // A second request on the same connection is ignored.
    assert_eq!(stage.says(&format!("{GET}{GET}")).await, found);
    assert_eq!(stage.asked().len(), 2);
    let refused =
        format!("HTTP/1.1 418 I'm a teapot\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n{headers}not_http");
    assert_eq!(stage.says("nonsense\r\n\r\n").await, refused);
    // The answer has the client's HTTP version, and no body for HEAD.
    let old = "HEAD /logs HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n";
    let text = stage.says(old).await;
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n") && text.contains("\r\nContent-Length: 11\r\n"), "{text}");
    assert!(text.contains("\r\nConnection: close\r\n") && body(&text).is_empty(), "{text}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_word_before_the_body_gets_it() {
    let stage = Stage::new(POSTS);
    let head = "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut socket = stage.connect().await;
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut word = [0; 25];
    socket.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"{}").await.unwrap();
    assert_eq!(body(&end(socket).await), "POST logs|a 2");
    assert_eq!(stage.says(head).await, "HTTP/1.1 100 Continue\r\n\r\n", "it said no more, and is owed nothing");
    // A client whose body is refused must not get `100 Continue`.
    for refused in [
        head.replace("Content-Length: 2", "Content-Length: 65"),
        head.replace("localhost", "evil.example"),
        head.replace("Content-Length: 2", "Transfer-Encoding: chunked"),
    ] {
        let text = stage.says(&refused).await;
        assert!(text.starts_with("HTTP/1.1 418 "), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_a_request_of_this_machines_programs_is_refused() {
    let stage = Stage::new(POSTS);
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(SERVED_HEADERS_MAX + 1));
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(SERVED_HEAD_MAX_BYTES));
    let whole = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(SERVED_HEAD_MAX_BYTES));
    let large = format!("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1);
    let endless = format!("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", "9".repeat(19));
    let overflow = format!("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", "9".repeat(40));
    for (bytes, refused) in [
        ("nonsense\r\n\r\n", Refused::NotHttp),
        ("{\"jsonrpc\":\"2.0\"}\r\n\r\n", Refused::NotHttp),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refused::NotHttp),
        ("GET /logs HTTP/1.1\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.0\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: evil.example\r\n\r\n", Refused::BadHost),
        ("DELETE /logs HTTP/1.1\r\nHost: evil.example\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", Refused::BadHost),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", Refused::FromAPage),
        ("GET /logs HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3030\r\n\r\n", Refused::FromAPage),
        ("DELETE /logs HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::BadMethod),
        ("GET http://localhost/logs HTTP/1.1\r\nHost: localhost:3030\r\n\r\n", Refused::NotHttp),
        ("GET http://localhost/logs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", Refused::BadHost),
        ("GET http://evil.example/logs HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET http://evil.example/logs HTTP/1.1\r\nHost: evil.example\r\n\r\n", Refused::BadHost),
        ("GET https://localhost/logs HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%4 HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("GET /logs/%+1 HTTP/1.1\r\nHost: localhost\r\n\r\n", Refused::NotHttp),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\n\r\n{}", Refused::NoLength),
        (
            "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            Refused::NoLength,
        ),
        (
            "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            Refused::NoLength,
        ),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", Refused::NotHttp),
        ("POST /logs/a HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", Refused::NotHttp),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", Refused::NotHttp),
        ("POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: +2\r\n\r\n{}", Refused::NotHttp),
        (
            "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            Refused::NotHttp,
        ),
        (&large, Refused::BodyTooLarge),
        (&endless, Refused::BodyTooLarge),
        (&overflow, Refused::NotHttp),
        (&many, Refused::HeadTooLarge),
        (&long, Refused::HeadTooLarge),
        (&whole, Refused::HeadTooLarge),
    ] {
        let text = stage.says(bytes).await;
        assert_eq!(stage.refusals(), [refused], "{bytes:.200}");
        assert_eq!(body(&text), <&str>::from(refused), "{bytes:.200}");
        assert_eq!(text.matches("HTTP/1.").count(), 1, "hyper's own words are not heard: {text}");
    }
    assert_eq!(stage.asked(), []);
}

/// RFC 9112, section 3.2.2: a server takes a target that names its host, which some clients send always.
#[tokio::test(start_paused = true)]
async fn a_target_may_name_the_host_that_the_header_names() {
    let stage = Stage::new(POSTS);
    for (target, parts) in
        [("http://localhost/logs/a%2Fb", "logs|a/b"), ("http://LOCALHOST", ""), ("HTTP://localhost/", "")]
    {
        let text = stage.says(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await;
        assert_eq!(body(&text), format!("GET {parts} 0"), "{target}");
    }
    assert_eq!(stage.refusals(), []);
}

#[tokio::test(start_paused = true)]
async fn a_service_without_bodies_looks_at_none_and_takes_pages() {
    let stage = Stage::new(PAGES);
    let length = usize::MAX / 2;
    for head in [
        "Origin: http://localhost:3030".to_owned(),
        format!("Content-Length: {length}"),
        "Transfer-Encoding: chunked".to_owned(),
    ] {
        let text = stage.says(&format!("POST /logs HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\nabc")).await;
        assert_eq!(body(&text), "POST logs 0", "{head}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_goes_before_it_has_said_all_is_owed_nothing() {
    let whole = "POST /logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    let stage = Stage::new(POSTS);
    for cut in 0..whole.len() {
        assert_eq!(stage.says(&whole[..cut]).await, "", "cut at {cut}");
        let refused = stage.refusals();
        assert!(refused.iter().all(|why| *why == Refused::CutOff), "cut at {cut}: {refused:?}");
        // A client that sent nothing causes no refusal.
        assert_eq!(refused.len(), usize::from(cut > 0), "cut at {cut}");
    }
    assert_eq!(body(&stage.says(whole).await), "POST logs|a 2");
}

#[tokio::test(start_paused = true)]
async fn a_slow_peer_has_its_place_for_a_bounded_time() {
    let stage = Stage::new(POSTS);
    for begun in ["", "GET / HT", "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{"] {
        let mut socket = stage.connect().await;
        let began = Instant::now();
        // Sending a byte from time to time does not extend the time limit.
        for byte in begun.bytes() {
            socket.write_all(&[byte]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(body(&end(socket).await), "too_slow", "{begun}");
        let took = began.elapsed();
        assert!((SERVED_TIMEOUT..SERVED_TIMEOUT + Duration::from_millis(50)).contains(&took), "{begun}: {took:?}");
    }
    // The time that the service itself takes is not limited.
    let mut socket = stage.connect().await;
    socket.write_all(GET.replace("/logs", "/slow").as_bytes()).await.unwrap();
    tokio::time::sleep(10 * SERVED_TIMEOUT).await;
    stage.service.go.notify_one();
    assert_eq!(body(&end(socket).await), "GET slow 0");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_loses_its_answer_and_its_place() {
    let stage = Stage::new(Rules { connections_max: 1, ..POSTS });
    let mut deaf = stage.connect().await;
    deaf.write_all(GET.replace("/logs", "/large").as_bytes()).await.unwrap();
    let began = Instant::now();
    assert_eq!(body(&stage.says(GET).await), "GET logs 0");
    assert!(began.elapsed() < SERVED_TIMEOUT + Duration::from_millis(50), "{:?}", began.elapsed());
    assert!(end(deaf).await.len() < 1 << 20, "it was cut");
    // A client that reads gets all of the answer.
    assert_eq!(body(&stage.says(&GET.replace("/logs", "/large")).await).len(), 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn one_connection_too_many_is_told_so_or_waits() {
    let stage = Stage::new(PAGES);
    let slow = GET.replace("/logs", "/slow");
    let mut held = VecDeque::new();
    for _ in 0..PAGES.connections_max {
        let mut socket = stage.connect().await;
        socket.write_all(slow.as_bytes()).await.unwrap();
        held.push_back(socket);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(body(&end(stage.connect().await).await), "busy");
    stage.service.go.notify_one();
    assert_eq!(body(&end(held.pop_front().unwrap()).await), "GET slow 0");
    tokio::time::sleep(SERVED_LINGER).await;
    assert_eq!(body(&stage.says(GET).await), "GET logs 0");

    let stage = Stage::new(POSTS);
    let mut waits = VecDeque::new();
    for _ in 0..10 * POSTS.connections_max {
        let mut socket = stage.connect().await;
        socket.write_all(GET.as_bytes()).await.unwrap();
        waits.push_back(socket);
    }
    for socket in waits {
        assert_eq!(body(&end(socket).await), "GET logs 0");
    }
    assert_eq!(stage.refusals(), []);
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_request_costs_that_connection() {
    let stage = Stage::new(POSTS);
    for _ in 0..3 * POSTS.connections_max {
        assert_eq!(stage.says(&GET.replace("/logs", "/panic")).await, "");
    }
    assert_eq!(body(&stage.says(GET).await), "GET logs 0");
}

#[tokio::test(start_paused = true)]
async fn what_is_still_sent_is_taken_so_that_the_answer_is_heard() {
    let stage = Stage::new(POSTS);
    let mut socket = stage.connect().await;
    let head = format!("POST /logs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 1 << 20);
    // The body is larger than the pipe: the write can only finish because the server goes on reading.
    socket.write_all(head.as_bytes()).await.unwrap();
    tokio::time::timeout(SERVED_LINGER / 2, socket.write_all(&[b'x'; 1 << 19])).await.expect("it is taken").unwrap();
    assert_eq!(body(&end(socket).await), "body_too_large");
}

/// Pieces of requests, valid and invalid.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"POST /a%20b?limit=3 HTTP/1.1\r\n".to_vec()),
        Just(b"GET / HTTP/1.0\r\n".to_vec()),
        Just(b"Host: localhost\r\n".to_vec()),
        Just(b"Host: evil\r\n".to_vec()),
        Just(b"Origin: null\r\n".to_vec()),
        Just(b"Expect: 100-continue\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        (0..99u32).prop_map(|length| format!("Content-Length: {length}\r\n").into_bytes()),
        Just(b"Upgrade: websocket\r\nConnection: upgrade\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any bytes get at most one answer, which is complete and does not depend on how the bytes are cut into pieces. The
    /// exception is an invalid head: it is refused only if it arrives in one piece or is complete, since hyper parses a partial
    /// head only when more of it arrives.
    #[test]
    fn any_bytes_have_at_most_one_whole_answer(bytes in hostile(), size in 1usize..100, posts: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let stage = Stage::new(if posts { POSTS } else { PAGES });
            let whole = stage.hears([&bytes[..]]).await;
            let in_pieces = stage.hears(bytes.chunks(size)).await;
            let refusals = stage.refusals();
            if refusals != [Refused::NotHttp, Refused::CutOff] {
                assert_eq!(in_pieces, whole, "{refusals:?}");
            }
            assert!(refusals.len() <= 2 && stage.asked().len() <= 2);
            let rest = whole.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&whole);
            if rest.is_empty() {
                // The client closed its side before the request was complete, or sent nothing.
                assert!(refusals.iter().all(|why| *why == Refused::CutOff), "{refusals:?}");
                return;
            }
            let (head, body) = rest.split_once("\r\n\r\n").expect("a head");
            let length = head.split("\r\nContent-Length: ").nth(1).and_then(|rest| rest.split('\r').next());
            assert_eq!(length.expect("a length").parse(), Ok(body.len()), "{whole}");
            assert!(head.contains("\r\nConnection: close"), "{whole}");
        });
    }
}
