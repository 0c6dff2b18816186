//! The decoder of HTTP responses: any split of the bytes gives the same, and what a plain writer wrote is what is read.
//!
//! An input's first byte decides how the rest is split.

use holdfast::protocol::framing::http::{BadResponse, Response, ResponseDecoder};

use super::framing::pieces;

/// Longest body: small, so that the bound itself is met.
const MAX: usize = 64;

/// What came of some bytes: a response, a violation, or neither; and what the end of the connection makes of it.
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

/// A response.
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

/// A body written in each of the three ways is read as it was, and not before it is whole.
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
