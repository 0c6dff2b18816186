use proptest::prelude::*;

use super::*;
use crate::limits::DECODER_GROWTH;

const MAX: usize = 1000;

fn bodies() -> Vec<Bytes> {
    let bodies: [&'static [u8]; 3] = [
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        b"",
        "{\"t\":\"\u{1F3AE}\\r\\n\\r\\n\u{E9}\r\n\r\n\"}".as_bytes(),
    ];
    bodies.map(Bytes::from_static).into()
}

fn stream() -> Vec<u8> {
    bodies().iter().flat_map(|body| encode(body)).collect()
}

/// Returns the bodies before the error, the error, and whether the stream may end after these chunks.
fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Bytes>, Option<BadFrame>, bool) {
    let mut framer = ContentLength::new(MAX);
    let mut frames = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        loop {
            match framer.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(bad) => {
                    framer.push(b"Content-Length: 2\r\n\r\n{}");
                    assert_eq!(framer.next_frame(), Err(bad.clone()), "the first error repeats");
                    return (frames, Some(bad), framer.at_boundary());
                }
            }
        }
    }
    (frames, None, framer.at_boundary())
}

fn first_error(stream: &[u8]) -> Option<BadFrame> {
    let (frames, bad, at_boundary) = decode([stream]);
    assert_eq!(decode(stream.chunks(1)), (frames, bad.clone(), at_boundary), "byte by byte");
    bad
}

#[test]
fn a_frame_is_written_as_real_peers_write_it() {
    assert_eq!(encode("{\"a\":\"\u{E9}\"}".as_bytes()), "Content-Length: 10\r\n\r\n{\"a\":\"\u{E9}\"}".as_bytes());
    assert_eq!(encode(b""), &b"Content-Length: 0\r\n\r\n"[..]);
}

#[test]
fn every_cut_and_every_pair_of_cuts_give_the_same_frames() {
    let stream = stream();
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let chunks = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(decode(chunks), (bodies(), None, true), "cuts at {first} and {second}");
        }
    }
    assert_eq!(decode(stream.chunks(1)), (bodies(), None, true));
}

#[test]
fn five_hundred_frames_in_one_read_keep_their_order() {
    let bodies: Vec<Bytes> = (0..500).map(|n| Bytes::from(format!("{{\"id\":{n}}}"))).collect();
    let stream: Vec<u8> = bodies.iter().flat_map(|body| encode(body)).collect();
    assert_eq!(decode([&stream[..]]), (bodies, None, true));
}

#[test]
fn every_truncation_gives_the_whole_frames_and_no_error() {
    let stream = stream();
    let mut ends = vec![0];
    for body in bodies() {
        ends.push(ends[ends.len() - 1] + encode(&body).len());
    }
    for cut in 0..=stream.len() {
        let complete = ends.iter().filter(|end| **end <= cut).count() - 1;
        let expected = (bodies()[..complete].to_vec(), None, ends.contains(&cut));
        assert_eq!(decode([&stream[..cut]]), expected, "cut at {cut}");
    }
}

/// A flipped bit in the header of the first of three frames has one of three effects. Outside the number it changes nothing (a
/// letter in the other case, or a blank that becomes a leading zero), or it ends the stream before any frame is returned. In the
/// number, a digit may become another digit. Then the first body has the wrong length, which no receiver can notice, and the
/// stream ends because no header follows that body.
#[test]
fn every_flipped_bit_of_a_header_changes_nothing_or_ends_the_stream() {
    let stream = stream();
    let header = encode(&bodies()[0]).len() - bodies()[0].len();
    let number = b"Content-Length: ".len()..header - b"\r\n\r\n".len();
    let (mut unchanged, mut refused, mut cut_elsewhere) = (0, 0, 0);
    for at in 0..header {
        for bit in 0..8 {
            let mut flipped = stream.clone();
            flipped[at] ^= 1 << bit;
            let (frames, bad, at_boundary) = decode([&flipped[..]]);
            let what = format!("bit {bit} of byte {at}: {frames:?} {bad:?}");
            if number.contains(&at) && flipped[at].is_ascii_digit() {
                assert!(bad.is_some() && frames.len() <= 1 && frames.first() != Some(&bodies()[0]), "{what}");
                cut_elsewhere += 1;
            } else if bad.is_some() {
                assert!(frames.is_empty(), "{what}");
                refused += 1;
            } else {
                assert!(frames == bodies() && at_boundary, "{what}");
                unchanged += 1;
            }
        }
    }
    // Unchanged: 13 letters in the other case, and the blank.
    assert_eq!((unchanged, cut_elsewhere, refused), (14, 6, header * 8 - 20));
}

#[test]
fn a_length_that_is_off_by_one_never_passes_unseen() {
    let next = encode(b"{}");
    let short = [b"Content-Length: 1\r\n\r\n{}", &next[..]].concat();
    assert_eq!(first_error(&short), Some(BadFrame::HeaderMalformed));

    let long = decode([&b"Content-Length: 3\r\n\r\n{}"[..]]);
    assert_eq!(long, (vec![], None, false), "waits, and an end of the stream here is a cut frame");
    let long = [b"Content-Length: 3\r\n\r\n{}", &next[..]].concat();
    assert_eq!(first_error(&long), Some(BadFrame::LengthMissing), "`ontent-Length` is another header");
}

#[test]
fn lengths_are_judged_at_the_header() {
    let zeros = "0".repeat(400);
    let too_large = |length| Some(BadFrame::TooLarge { length, max: MAX });
    let malformed = Some(BadFrame::LengthMalformed);
    let rows: [(&str, Option<BadFrame>); 24] = [
        ("1000", None),
        ("0999", None),
        ("\t 12 \t", None),
        ("1001", too_large(1001)),
        ("2147483648", too_large(1 << 31)),
        ("9223372036854775808", too_large(1 << 63)),
        ("18446744073709551615", too_large(u64::MAX)),
        ("18446744073709551616", malformed.clone()),
        ("99999999999999999999999999", malformed.clone()),
        (&zeros, malformed.clone()),
        ("", malformed.clone()),
        ("  ", malformed.clone()),
        ("-1", malformed.clone()),
        ("+5", malformed.clone()),
        ("0x10", malformed.clone()),
        ("1e2", malformed.clone()),
        ("5.0", malformed.clone()),
        ("5,5", malformed.clone()),
        ("5 5", malformed.clone()),
        ("5;q=1", malformed.clone()),
        ("1_0", malformed.clone()),
        ("NaN", malformed.clone()),
        (": 5", malformed.clone()),
        ("\u{0665}", Some(BadFrame::HeaderMalformed)),
    ];
    for (value, expected) in rows {
        let header = format!("Content-Length: {value}\r\n\r\n");
        assert_eq!(first_error(header.as_bytes()), expected, "{value:?}");
        let mut framer = ContentLength::new(MAX);
        framer.push(header.as_bytes());
        let _ = framer.next_frame();
        assert!(framer.buffer.capacity() < 1024, "{value:?} reserved {}", framer.buffer.capacity());
    }
}

#[test]
fn headers_are_read_as_one_meaning_or_refused() {
    let folded = "Content-Length:\r\n 2\r\n\r\n{}";
    let rows: [(&str, Option<BadFrame>); 20] = [
        ("content-length:2\r\n\r\n{}", None),
        ("CONTENT-LENGTH: 2\r\n\r\n{}", None),
        ("Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\nX-A:\r\n\r\n{}", None),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", Some(BadFrame::LengthDuplicate)),
        ("Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", Some(BadFrame::LengthDuplicate)),
        ("Content-Type: a\r\n\r\n{}", Some(BadFrame::LengthMissing)),
        ("XContent-Length: 2\r\n\r\n{}", Some(BadFrame::LengthMissing)),
        ("\r\n", Some(BadFrame::LengthMissing)),
        ("Content-Length: 2\n\n{}", Some(BadFrame::HeaderMalformed)),
        ("Content-Length: 2\r\n\n{}", Some(BadFrame::HeaderMalformed)),
        ("Content-Length: 2\r\r\n\r\n{}", Some(BadFrame::HeaderMalformed)),
        ("Content-Length : 2\r\n\r\n{}", Some(BadFrame::HeaderMalformed)),
        (" Content-Length: 2\r\n\r\n{}", Some(BadFrame::HeaderMalformed)),
        (folded, Some(BadFrame::LengthMalformed)),
        ("Content-Length: 2\r\n 3\r\n\r\n{}", Some(BadFrame::HeaderMalformed)),
        (": 2\r\n\r\n{}", Some(BadFrame::HeaderMalformed)),
        ("X-\u{E9}: 2\r\n", Some(BadFrame::HeaderMalformed)),
        ("X: \0\r\n", Some(BadFrame::HeaderMalformed)),
        ("GET / HTTP/1.1\r\n", Some(BadFrame::HeaderMalformed)),
        ("\u{16}\u{3}\u{1}\u{2}", Some(BadFrame::HeaderMalformed)),
    ];
    for (stream, expected) in rows {
        assert_eq!(first_error(stream.as_bytes()), expected, "{stream:?}");
    }
}

#[test]
fn garbage_between_frames_ends_the_stream_after_the_good_ones() {
    for garbage in ["\n", "{}\r\n", "HTTP/1.1 200 OK\r\n", "\u{FEFF}"] {
        let stream = [&encode(b"{}")[..], garbage.as_bytes(), &encode(b"{}")].concat();
        let (frames, bad, at_boundary) = decode([&stream[..]]);
        assert_eq!(frames, [Bytes::from_static(b"{}")], "{garbage:?}");
        assert_eq!((bad, at_boundary), (Some(BadFrame::HeaderMalformed), false), "{garbage:?}");
    }
}

#[test]
fn the_header_block_is_bounded() {
    let rest = "\r\nContent-Length: 2\r\n\r\n";
    for (bytes, fits) in [(FRAME_HEADER_MAX_BYTES, true), (FRAME_HEADER_MAX_BYTES + 1, false), (1 << 20, false)] {
        let header = format!("X: {}{rest}", "x".repeat(bytes - rest.len() - 3));
        assert_eq!(header.len(), bytes);
        let expected = (!fits).then_some(BadFrame::HeaderTooLong { max: FRAME_HEADER_MAX_BYTES });
        assert_eq!(decode([format!("{header}{{}}").as_bytes()]).1, expected, "{bytes}");
    }
}

#[test]
fn memory_follows_the_bytes_received_and_is_given_back() {
    let mut framer = ContentLength::new(1 << 30);
    framer.push(b"Content-Length: 1000000000\r\n\r\n");
    assert_eq!(framer.next_frame(), Ok(None));
    framer.push(&[b'x'; 1000]);
    assert_eq!(framer.next_frame(), Ok(None));
    assert!(framer.buffer.capacity() < 8192, "reserved {}", framer.buffer.capacity());

    for _ in 0..20 {
        framer.push(&[b'x'; 10_000]);
        assert_eq!(framer.next_frame(), Ok(None));
        let (has, came) = (framer.buffer.capacity(), framer.buffer.len());
        assert!(has <= DECODER_GROWTH * came.max(4096), "reserved {has} for {came}");
    }

    let mut framer = ContentLength::new(1 << 30);
    framer.push(&encode(&vec![b'x'; 1 << 20]));
    framer.push(&encode(b"{}"));
    assert!(framer.next_frame().is_ok_and(|frame| frame.is_some_and(|body| body.len() == 1 << 20)));
    assert_eq!(framer.next_frame(), Ok(Some(Bytes::from_static(b"{}"))));
    assert_eq!(framer.buffer.capacity(), 0);
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks_give_what_they_give_whole(
        parts in prop::collection::vec(
            prop_oneof![
                4 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|body| encode(&body).to_vec()),
                1 => "(Content-Length|X|content-length): ?[0-9+x]{0,4}(\r\n|\n){0,2}".prop_map(String::into_bytes),
                1 => prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..6,
        ),
        sizes in prop::collection::vec(1usize..20, 1..20),
    ) {
        let bytes = parts.concat();
        let mut rest = &bytes[..];
        let mut chunks = Vec::new();
        for size in sizes.iter().cycle() {
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            chunks.push(chunk);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(decode(chunks), decode([&bytes[..]]));
    }
}
