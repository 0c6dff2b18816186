use proptest::prelude::*;

use super::*;

const MAX: usize = 70_000;
const PATH: &str = "/hub/plugin";
/// The example of RFC 6455, 1.3.
const REQUEST: &str = "GET /hub/plugin HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const ANSWER: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Makes a client's frame. `first`: its first byte.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Returns the messages before the error, the error, what was answered, and whether the stream may end after these chunks.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Bytes>, Option<BadFrame>, Vec<Bytes>, bool) {
    let mut framer = WebSocket::new(MAX);
    let (mut frames, mut owed) = (Vec::new(), Vec::new());
    for chunk in chunks {
        framer.push(chunk);
        loop {
            let next = framer.next_frame();
            owed.extend(framer.owed());
            match next {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(bad) => {
                    framer.push(&masked(0x81, b"{}"));
                    assert_eq!(framer.next_frame(), Err(bad.clone()), "the first error repeats");
                    return (frames, Some(bad), owed, framer.at_boundary());
                }
            }
        }
    }
    (frames, None, owed, framer.at_boundary())
}

fn first_error(stream: &[u8]) -> Option<BadFrame> {
    let whole = decode([stream]);
    assert_eq!(decode(stream.chunks(1)), whole, "byte by byte");
    whole.1
}

fn stream() -> Vec<u8> {
    [
        masked(0x81, b"{\"a\":1}"),
        masked(0x01, b"{\"par"),
        masked(0x89, b"are you there"),
        masked(0x00, b""),
        masked(0x80, b"ts\":2}"),
        masked(0x8a, b""),
        masked(0x81, b""),
        masked(0x81, "\u{1F3AE}".repeat(40).as_bytes()),
        masked(0x88, &[0x03, 0xe8, b'b', b'y', b'e']),
        b"what comes after a close".to_vec(),
    ]
    .concat()
}

fn messages() -> Vec<Bytes> {
    ["{\"a\":1}", "{\"parts\":2}", &"\u{1F3AE}".repeat(40), ""]
        .iter()
        .map(|text| Bytes::copy_from_slice(text.as_bytes()))
        .collect()
}

#[test]
fn every_cut_gives_the_same_messages_and_answers() {
    let stream = stream();
    let owed = [&b"\x8a\x0dare you there"[..], b"\x88\x02\x03\xe8"].map(Bytes::from_static);
    for cut in 0..=stream.len() {
        let (frames, bad, answers, is_over) = decode([&stream[..cut], &stream[cut..]]);
        assert_eq!((frames, bad, is_over), (messages(), None, true), "cut at {cut}");
        assert_eq!(answers, owed, "cut at {cut}");
    }
    assert_eq!(decode(stream.chunks(1)).0, messages());
}

#[test]
fn lengths_of_every_form_are_read_and_written() {
    for length in [1, 125, 126, 0xffff, 0x1_0000, MAX] {
        let text = "x".repeat(length);
        let (frames, bad, ..) = decode([&masked(0x81, text.as_bytes())[..]]);
        assert_eq!((frames, bad), (vec![Bytes::from(text.clone())], None), "{length}");
        let written = super::text(&text);
        let mut unmasked = masked(0x81, text.as_bytes());
        let head = unmasked.len() - length - 4;
        unmasked[1] &= 0x7f;
        assert_eq!(&written[..head], &unmasked[..head], "{length}");
        assert_eq!(&written[head..], text.as_bytes(), "{length}");
    }
    assert_eq!(text("hi"), &b"\x81\x02hi"[..]);
}

#[test]
fn a_close_has_its_code_and_as_much_of_the_reason_as_fits() {
    assert_eq!(close(1008, "no"), &b"\x88\x04\x03\xf0no"[..]);
    let long = close(1008, &"\u{e9}".repeat(100));
    assert_eq!(long.len(), 2 + 2 + 122, "no half of a character");
    assert!(std::str::from_utf8(&long[4..]).is_ok());
}

#[test]
fn what_no_client_may_send_ends_the_stream() {
    let malformed = |stream: &[u8], word: &str| match first_error(stream) {
        Some(BadFrame::WebSocket(why)) => assert!(why.contains(word), "{why}"),
        other => panic!("{word}: {other:?}"),
    };
    malformed(b"\x81\x02hi", "not masked");
    for reserved in [0xc1, 0xa1, 0x91] {
        malformed(&masked(reserved, b"hi"), "extension");
    }
    for kind in [0x82, 0x83, 0x8b] {
        malformed(&masked(kind, b"hi"), "kind");
    }
    malformed(&masked(0x09, b"hi"), "only a part");
    malformed(&masked(0x89, &[0; 126]), "too long");
    malformed(&masked(0x80, b"hi"), "has not begun");
    malformed(&[masked(0x01, b"hi"), masked(0x81, b"hi")].concat(), "within another");
}

#[test]
fn a_message_is_bounded_whole_and_in_parts_before_its_bytes_come() {
    let too_large = |length: u64| Some(BadFrame::TooLarge { length, max: MAX });
    let whole = masked(0x81, &vec![b'x'; MAX + 1]);
    assert_eq!(first_error(&whole[..10]), too_large(MAX as u64 + 1));
    assert_eq!(first_error(b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"), too_large(u64::MAX));
    let part = masked(0x01, &vec![b'x'; MAX]);
    let more = masked(0x80, b"x");
    assert_eq!(decode([&part[..], &more[..2]]).1, too_large(MAX as u64 + 1));
    assert_eq!(decode([&part[..], &masked(0x80, b"")]).0.len(), 1);
}

#[test]
fn what_comes_after_a_frame_is_left_for_whoever_reads_on() {
    let mut framer = WebSocket::new(MAX);
    let next = masked(0x81, b"{}");
    framer.push(&[masked(0x81, b"{}"), next[..5].to_vec()].concat());
    assert_eq!(framer.next_frame(), Ok(Some(Bytes::from_static(b"{}"))));
    assert_eq!(framer.into_rest(), next[..5]);
}

#[test]
fn a_request_is_answered_with_the_hash_of_its_key() {
    let whole = format!("{REQUEST}after");
    for cut in 0..REQUEST.len() {
        assert_eq!(Upgrade::read(&whole.as_bytes()[..cut], PATH), Ok(None), "{cut}");
    }
    let upgrade = Upgrade { length: REQUEST.len(), answer: ANSWER.into() };
    assert_eq!(Upgrade::read(whole.as_bytes(), PATH), Ok(Some(upgrade)));
    for host in ["localhost", "LOCALHOST:80", "[::1]:8080", "[::1]", "127.0.0.1"] {
        let request = REQUEST.replace("127.0.0.1:8080", host);
        assert!(matches!(Upgrade::read(request.as_bytes(), PATH), Ok(Some(_))), "{host}");
    }
}

#[test]
fn a_request_that_is_no_editors_is_refused_and_says_why() {
    let refused = |from: &str, to: &str| Upgrade::read(REQUEST.replace(from, to).as_bytes(), PATH).unwrap_err();
    for origin in ["http://127.0.0.1:8080", "null", ""] {
        assert_eq!(refused("Host", &format!("Origin: {origin}\r\nHost")), NotUpgraded::Origin, "{origin}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:8080", "0.0.0.0:8080", "localhost:8080:1x", "", "127.0.0.2"] {
        assert_eq!(refused("127.0.0.1:8080", host), NotUpgraded::Host, "{host}");
    }
    assert_eq!(refused("Connection", "Host: 127.0.0.1\r\nConnection"), NotUpgraded::Host, "two of them");
    assert_eq!(refused("HTTP/1.1", "HTTP/1.0"), NotUpgraded::NotHttp);
    for (from, to) in [
        ("GET", "POST"),
        ("/hub/plugin", "/mcp"),
        ("websocket\r", "h2c\r"),
        ("Connection: Upgrade", "Connection: close"),
        ("Version: 13", "Version: 8"),
        ("dGhlIHNhbXBsZSBub25jZQ==", "short"),
        ("Sec-WebSocket-Key: ", "X-Key: "),
    ] {
        assert_eq!(refused(from, to), NotUpgraded::Other, "{to}");
    }
    assert_eq!(Upgrade::read(b"\x16\x03\x01\x02\x00\x01", PATH), Err(NotUpgraded::NotHttp));
    let endless = format!("GET /{}", "x".repeat(crate::limits::HTTP_HEAD_MAX_BYTES));
    assert_eq!(Upgrade::read(endless.as_bytes(), PATH), Err(NotUpgraded::TooLong));
    let many = "A: b\r\n".repeat(crate::limits::HTTP_HEADERS_MAX + 1);
    assert_eq!(refused("Host", &format!("{many}Host")), NotUpgraded::TooLong);
    assert!(refusal("it is no editor").starts_with(b"HTTP/1.1 403 Forbidden\r\n"));
}

proptest! {
    #[test]
    fn any_split_of_any_messages_gives_the_same_ones(
        texts in prop::collection::vec("[a-z\u{e9}]{1,300}", 0..6),
        part in 1_usize..50,
        chunk in 1_usize..400,
    ) {
        let mut stream = Vec::new();
        for text in &texts {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(part).collect();
            for (at, bytes) in parts.iter().enumerate() {
                let last = if at + 1 == parts.len() { 0x80 } else { 0 };
                stream.extend(masked(last | u8::from(at == 0), bytes));
            }
        }
        let (frames, bad, _, is_over) = decode(stream.chunks(chunk));
        prop_assert_eq!((bad, is_over), (None, true));
        prop_assert_eq!(frames, texts.into_iter().map(Bytes::from).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_read_or_refused_alike_however_they_are_split(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        first in prop::sample::select(vec![0x81_u8, 0x01, 0x89, 0x88, 0x8a, 0x80]),
        cut in 0_usize..600,
    ) {
        let stream = [vec![first, 0x80 | (bytes.len() % 126) as u8], bytes].concat();
        let cut = cut.min(stream.len());
        // Of the answers to several pings only the last one is sure.
        let read = |(frames, bad, _, is_over)| (frames, bad, is_over);
        let whole = read(decode([&stream[..]]));
        prop_assert_eq!(&read(decode([&stream[..cut], &stream[cut..]])), &whole);
        prop_assert_eq!(&read(decode(stream.chunks(1))), &whole);
        let _ = Upgrade::read(&stream, PATH);
    }
}
