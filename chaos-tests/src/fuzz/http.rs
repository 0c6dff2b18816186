//! Both sides of HTTP: the decoder of an editor's responses, and the server that answers requests. However the bytes are
//! split, the result must be the same. The decoder must read what a simple writer wrote, and must accept what the server
//! answers.
//!
//! The first byte of an input decides how the rest is split.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast::net::{BoxFuture, BoxStream, Listener};
use holdfast::protocol::framing::http::{BadResponse, Response, ResponseDecoder};
use holdfast::services::http::{self, Answer, Beyond, Lasting, Peer, Refused, Reply, Request, Rules, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::framing::pieces;

/// Longest body in bytes. Small, so that inputs reach the limit.
const MAX: usize = 64;

/// Returns what the decoder made of the bytes (a response, a violation, or neither), and the response that the end of the
/// connection completes.
fn read(pieces: &[&[u8]]) -> (Result<Option<Response>, BadResponse>, Option<Response>) {
    let mut decoder = ResponseDecoder::new(MAX);
    for piece in pieces {
        match decoder.push(piece) {
            Ok(None) => {}
            done => return (done, None),
        }
    }
    (Ok(None), decoder.end())
}

/// Decodes a response.
pub fn response(input: &[u8]) {
    let Some((seed, stream)) = input.split_first() else { return };
    let whole = read(&[stream]);
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    for pieces in [single, pieces(*seed, stream)] {
        let found = read(&pieces);
        assert_eq!(found, whole, "in {} pieces: {:?}", pieces.len(), String::from_utf8_lossy(stream));
    }
    if let (Ok(Some(response)), _) | (_, Some(response)) = &whole {
        assert!(response.body.len() <= MAX, "longer than it may be");
        assert!((200..1000).contains(&response.status), "{} is no end", response.status);
    }
    check_written(*seed, stream.get(..stream.len().min(MAX)).unwrap_or_default());
}

/// Checks that a body written in each of the three ways (by length, chunked, until the end) is read unchanged, and not before it
/// is whole.
fn check_written(seed: u8, body: &[u8]) {
    let known = [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat();
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in pieces(seed, body) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    for written in [&known, &chunked] {
        let (found, _) = read(&pieces(seed, written));
        let found = found.expect("a response").expect("and whole");
        assert_eq!((found.status, found.body.as_ref()), (200, body));
        let cut = usize::from(seed) % written.len();
        assert_eq!(read(&[&written[..cut]]), (Ok(None), None), "whole after {cut} of {} bytes", written.len());
    }
    let open = [b"HTTP/1.1 200 OK\r\n\r\n", body].concat();
    let (found, at_end) = read(&pieces(seed, &open));
    assert_eq!((found, at_end.map(|response| response.body.to_vec())), (Ok(None), Some(body.to_vec())));
}

// ---- The server ------------------------------------------------------------------------------------------------------

/// Capacity of a connection in bytes. Small, so that both sides meet a full connection.
const PIPE: usize = 256;
/// Virtual time within which the server ends a connection after its peer has ended its side.
const END_MAX: Duration = Duration::from_secs(30);

/// A service that records the requests that it receives, and answers each with the request's body.
struct Echo {
    bodies: bool,
    asked: Mutex<Vec<Request>>,
    refused: Mutex<Vec<Refused>>,
}

impl http::Service for Echo {
    fn rules(&self) -> Rules {
        let body_max = self.bodies.then_some(MAX);
        Rules { body_max, pages: !self.bodies, connections_max: 1, beyond: Beyond::Waits, lasting: Lasting::Once }
    }

    async fn answer(&self, request: Request, _: Peer) -> Result<Answer, Refused> {
        self.asked.lock().expect("nobody panics in it").push(request.clone());
        request.parts()?;
        Ok(Reply::new(StatusCode::OK, "text/plain", String::from_utf8_lossy(&request.body).into_owned()).into())
    }

    fn refuse(&self, why: Refused) -> Option<Reply> {
        self.refused.lock().expect("nobody panics in it").push(why);
        let what: &'static str = why.into();
        (why != Refused::CutOff).then(|| Reply::new(StatusCode::BAD_REQUEST, "text/plain", what))
    }
}

/// A listener that accepts one connection.
struct Once(tokio::sync::Mutex<Option<BoxStream>>);

impl Listener for Once {
    fn local_addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 9464))
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<(BoxStream, SocketAddr)>> {
        Box::pin(async move {
            match self.0.lock().await.take() {
                Some(stream) => Ok((stream, self.local_addr())),
                None => std::future::pending().await,
            }
        })
    }
}

/// What the server did with a request: the bytes of its answer, the requests that the service received, and why the server
/// refused a request.
#[derive(Debug, PartialEq, Eq)]
struct Served {
    answer: Vec<u8>,
    asked: Vec<Request>,
    refused: Vec<Refused>,
}

async fn serve(pieces: &[&[u8]], bodies: bool) -> Served {
    let (mut near, far) = tokio::io::duplex(PIPE);
    let service = Arc::new(Echo { bodies, asked: Mutex::default(), refused: Mutex::default() });
    let listener = Arc::new(Once(tokio::sync::Mutex::new(Some(Box::new(far)))));
    let server = tokio::spawn(http::serve(Arc::clone(&service), listener));
    let mut answer = Vec::new();
    let (mut hear, mut say) = tokio::io::split(&mut near);
    let said = async {
        for piece in pieces {
            // This write fails if the server has already refused the request; that is allowed.
            let _ = say.write_all(piece).await;
            tokio::task::yield_now().await;
        }
        let _ = say.shutdown().await;
    };
    let heard = async { tokio::time::timeout(END_MAX, hear.read_to_end(&mut answer)).await.expect("an end") };
    let ((), heard) = tokio::join!(said, heard);
    heard.expect("a duplex pipe only ends");
    server.abort();
    let taken = |lock: &Mutex<Vec<Request>>| std::mem::take(&mut *lock.lock().expect("nobody panics in it"));
    let asked = taken(&service.asked);
    let refused = std::mem::take(&mut *service.refused.lock().expect("nobody panics in it"));
    Served { answer, asked, refused }
}

/// Serves a request, first whole and then in pieces, and compares the results.
pub fn request(input: &[u8]) {
    let Some((seed, stream)) = input.split_first() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let bodies = seed % 2 == 0;
        let whole = serve(&[stream], bodies).await;
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        for pieces in [single, pieces(*seed, stream)] {
            let found = serve(&pieces, bodies).await;
            // A head that arrives in pieces is checked only when it is complete. If the stream ends before that, it is
            // `CutOff` when it arrives in pieces, but may be `NotHttp` when it arrives in one piece.
            if (&whole.refused[..], &found.refused[..]) == (&[Refused::NotHttp], &[Refused::CutOff]) {
                assert!(found.answer.is_empty() && found.asked.is_empty(), "{found:?}");
                continue;
            }
            assert_eq!(found, whole, "in {} pieces: {:?}", pieces.len(), String::from_utf8_lossy(stream));
        }
        check_served(stream, &whole);
    });
}

/// Checks that there is at most one answer, that our own decoder reads it to the last byte, and that the service received
/// only requests that the rules allow.
fn check_served(stream: &[u8], served: &Served) {
    let Served { answer, asked, refused } = served;
    assert!(asked.len() <= 1 && refused.len() <= 1, "{asked:?} {refused:?}");
    if asked.is_empty() && refused.first().is_none_or(|why| *why == Refused::CutOff) {
        let rest = answer.strip_prefix(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(answer);
        assert!(rest.is_empty(), "who says nothing whole is owed nothing: {:?}", String::from_utf8_lossy(answer));
        return;
    }
    // An answer to HEAD has a length but no body.
    if !stream.windows(4).any(|part| part == b"HEAD") {
        let mut decoder = ResponseDecoder::new(1 << 20);
        let response = decoder.push(answer).expect("an answer that our own decoder takes").expect("a whole one");
        assert!(answer.ends_with(&response.body), "nothing follows it");
        let expected = if refused.is_empty() { 200 } else { 400 };
        assert_eq!(response.status, expected);
    }
    if let Some(request) = asked.first() {
        assert!(request.body.len() <= MAX, "longer than it may be");
        assert!(
            stream.windows(request.body.len().max(1)).any(|part| part == &*request.body || request.body.is_empty())
        );
        let head = String::from_utf8_lossy(stream).to_lowercase();
        let lines = head.lines().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
        let mut hosts = lines.filter_map(|line| line.strip_prefix("host:"));
        let host = hosts.next().expect("a host was named").trim();
        let ours = ["localhost", "127.", "[::1]", "::1"].iter().any(|name| host.starts_with(name));
        assert!(ours && hosts.next().is_none(), "another host's name: {host}");
    }
}
