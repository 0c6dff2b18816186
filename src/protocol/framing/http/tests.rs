use super::*;

const MAX: usize = 64;

/// Decodes a stream that then ends. The test calls it for every split of the stream into two parts: the result must be the same.
fn read(bytes: &[u8]) -> Result<Option<Response>, BadResponse> {
    let in_parts = |at: usize| {
        let mut decoder = ResponseDecoder::new(MAX);
        for part in [&bytes[..at], &bytes[at..]] {
            if let Some(response) = decoder.push(part)? {
                return Ok(Some(response));
            }
        }
        Ok(decoder.end())
    };
    let at_once = in_parts(0);
    for at in 1..bytes.len() {
        assert_eq!(in_parts(at), at_once, "cut at {at}");
    }
    at_once
}

fn body(text: &str) -> Result<Option<Response>, BadResponse> {
    Ok(Some(Response { status: 200, server: None, body: Bytes::copy_from_slice(text.as_bytes()) }))
}

#[test]
fn a_request_always_says_its_length_and_its_host() {
    let to = |path: &'static str, headers, body: &'static str| Request {
        method: "POST",
        path: path.into(),
        headers,
        body: Bytes::from_static(body.as_bytes()),
    };
    assert_eq!(
        to("/a", &[], "").encode(8082, None),
        "POST /a HTTP/1.1\r\nHost: 127.0.0.1:8082\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    );
    assert_eq!(
        to("/b", &[("Content-Type", "text/plain; charset=utf-8")], "ä").encode(80, None),
        "POST /b HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: 2\r\n\r\nä"
    );
}

#[test]
fn what_a_peer_said_begins_no_line_of_a_request() {
    let ask = |path: &'static str, token| {
        let request = Request { method: "GET", path: path.into(), headers: &[], body: Bytes::new() };
        String::from_utf8(request.encode(1, token).to_vec()).unwrap()
    };
    let head = |path: &str, token: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n{token}Content-Length: 0\r\n\r\n")
    };
    assert_eq!(ask("/job?id=7", Some("a/B+9=")), head("/job?id=7", "Authorization: Bearer a/B+9=\r\n"));
    assert_eq!(ask("/job?id= \r\nX: ü", None), head("/job?id=%20%0D%0AX:%20%C3%BC", ""));
    for token in ["a\r\nX: y", "a b", "ü"] {
        assert_eq!(ask("/", Some(token)), head("/", ""), "{token}");
    }
}

#[test]
fn every_way_of_ending_a_body_is_read() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong",
        "HTTP/1.1 200 OK\r\ncontent-length:4\r\n\r\npong and what nobody asked for",
        "HTTP/1.0 200 \r\n\r\npong",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\np\r\n3;x=y\r\nong\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n4\r\npong\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong",
    ] {
        assert_eq!(read(bytes.as_bytes()), body("pong"), "{bytes}");
    }
    assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), body(""));
    let server = read(b"HTTP/1.1 411 Length Required\r\nServer: Mono-HTTPAPI/1.0\r\nContent-Length: 0\r\n\r\n");
    let meant = Response { status: 411, server: Some("Mono-HTTPAPI/1.0".to_owned()), body: Bytes::new() };
    assert_eq!(server, Ok(Some(meant)));
    assert!(read(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap().body.is_empty());
}

#[test]
fn a_response_that_is_cut_is_none() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npong\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    ] {
        for at in 0..bytes.len() {
            let mut decoder = ResponseDecoder::new(MAX);
            assert_eq!(decoder.push(&bytes.as_bytes()[..at]), Ok(None), "cut at {at}");
            assert_eq!(decoder.end(), None, "cut at {at}");
        }
    }
}

#[test]
fn what_is_not_http_and_what_is_too_large_is_refused() {
    let long = |name: &str, bytes: usize| format!("HTTP/1.1 200 OK\r\n{name}: {}\r\n\r\n", "x".repeat(bytes));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(HTTP_HEADERS_MAX + 1));
    let too_large = || BadFrame::TooLarge { length: MAX as u64 + 1, max: MAX }.into();
    let too_long = || BadResponse::Frame(BadFrame::HeaderTooLong { max: HTTP_HEAD_MAX_BYTES });
    let until_close = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MAX + 1));
    for (bytes, meant) in [
        ("{\"jsonrpc\":\"2.0\"}\n", BadResponse::NotHttp),
        ("Content-Length: 2\r\n\r\n{}", BadResponse::NotHttp),
        ("GET /ping HTTP/1.1\r\n\r\n", BadResponse::NotHttp),
        ("HTTP/1.1 099 Odd\r\n\r\n", BadResponse::NotHttp),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", BadResponse::NotHttp),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", BadResponse::NotHttp),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", BadResponse::NotHttp),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", BadFrame::LengthDuplicate.into()),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", BadFrame::LengthMalformed.into()),
        ("HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n", too_large()),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n", too_large()),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n", too_large()),
        (&until_close, too_large()),
        (&many, too_long()),
    ] {
        let bytes = bytes.replace("\r\n40\r\n", &format!("\r\n40\r\n{}\r\n1\r\n", "x".repeat(MAX)));
        assert_eq!(read(bytes.as_bytes()), Err(meant), "{bytes}");
    }
    let mut decoder = ResponseDecoder::new(MAX);
    assert_eq!(decoder.push(long("X", HTTP_HEAD_MAX_BYTES).as_bytes()), Err(too_long()));
    let mut decoder = ResponseDecoder::new(MAX);
    assert_eq!(
        decoder.push(&long("X", 2 * HTTP_HEAD_MAX_BYTES).as_bytes()[..HTTP_HEAD_MAX_BYTES + 1]),
        Err(too_long())
    );
}
