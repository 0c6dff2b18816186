use proptest::prelude::*;

use super::*;

const STREAM: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n \t\r\n{\"t\":\"\xC3\xA9\\n\"}\n[\"\xF0\x9F\x8E\xAE\",\"a\\\\\"]\n";

fn frames() -> Vec<Bytes> {
    vec![
        Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
        Bytes::from_static(b"{\"t\":\"\xC3\xA9\\n\"}"),
        Bytes::from_static(b"[\"\xF0\x9F\x8E\xAE\",\"a\\\\\"]"),
    ]
}

/// Returns all lines of a stream that arrives in these chunks and then ends.
fn lines<'a>(max: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let mut decoder = LineDecoder::new(max);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        lines.extend(std::iter::from_fn(|| decoder.next_line()));
    }
    lines.extend(std::iter::from_fn(|| decoder.finish()));
    lines
}

/// Returns the frames before the error, the error, and whether the stream may end after these chunks.
fn framed<'a>(max: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Bytes>, Option<BadFrame>, bool) {
    let mut framer = Lines::new(max);
    let mut frames = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        loop {
            match framer.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(bad) => {
                    assert_eq!(framer.next_frame(), Err(bad.clone()), "the first error repeats");
                    return (frames, Some(bad), framer.at_boundary());
                }
            }
        }
    }
    (frames, None, framer.at_boundary())
}

fn whole(frames: Vec<Bytes>) -> Vec<Line> {
    frames.into_iter().map(Line::Whole).collect()
}

#[test]
fn every_cut_and_every_pair_of_cuts_give_the_same_lines() {
    let expected = whole(frames());
    for first in 0..=STREAM.len() {
        for second in first..=STREAM.len() {
            let chunks = [&STREAM[..first], &STREAM[first..second], &STREAM[second..]];
            assert_eq!(lines(64, chunks), expected, "cuts at {first} and {second}");
            assert_eq!(framed(64, chunks), (frames(), None, true), "cuts at {first} and {second}");
        }
    }
    assert_eq!(lines(64, STREAM.chunks(1)), expected);
    assert_eq!(framed(64, STREAM.chunks(1)), (frames(), None, true));
}

#[test]
fn five_hundred_lines_in_one_read_keep_their_order() {
    let stream: String = (0..500).map(|n| format!("{{\"id\":{n}}}\n")).collect();
    let expected: Vec<Line> = (0..500).map(|n| Line::Whole(format!("{{\"id\":{n}}}").into())).collect();
    assert_eq!(lines(64, [stream.as_bytes()]), expected);
}

#[test]
fn every_truncation_gives_the_whole_lines_and_then_the_rest() {
    for end in 0..=STREAM.len() {
        let cut = &STREAM[..end];
        let ended = cut.iter().filter(|byte| **byte == b'\n').count();
        let (given, bad, at_boundary) = framed(64, [cut]);
        let complete = [0, 1, 1, 1, 2, 3][ended];
        assert_eq!((&given[..], bad), (&frames()[..complete], None), "cut at {end}");

        let tail = cut.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        assert_eq!(at_boundary, tail.is_empty(), "cut at {end}");
        let mut expected = whole(given);
        if !tail.is_empty() {
            expected.push(Line::Whole(Bytes::copy_from_slice(tail)));
        }
        assert_eq!(lines(64, [cut]), expected, "cut at {end}");
    }
}

#[test]
fn a_line_of_exactly_the_bound_passes_whatever_its_end() {
    for (end, fits) in [("\n", true), ("\r\n", true), ("", true), ("\r", true), ("x\n", false), ("\r\r\n", false)] {
        let stream = format!("12345678{end}");
        for chunk in [1, 3, 100] {
            let lines = lines(8, stream.as_bytes().chunks(chunk));
            let expected = match fits {
                true => Line::Whole(Bytes::from_static(b"12345678")),
                false => Line::TooLong { bytes: 9, id: None, request: true },
            };
            assert_eq!(lines, [expected], "{end:?} in chunks of {chunk}");
        }
    }
}

#[test]
fn a_line_too_long_tells_its_id_and_whether_it_wants_an_answer() {
    let pad = "x".repeat(300);
    let nested = "[".repeat(150) + &"]".repeat(150);
    let rows: [(String, Option<&str>, bool); 9] = [
        (format!(r#"{{"method":"m","params":{{"id":1,"t":"{pad}"}},"id":7}}"#), Some("7"), true),
        (format!(r#"{{"id":"a\"b","method":"m","params":["{pad}"]}}"#), Some(r#""a\"b""#), true),
        (format!(r#"{{"method":"m","params":{nested},"id":7}}"#), Some("7"), true),
        (format!(r#"{{"method":"m","params":["{pad}"]}}"#), None, false),
        (format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{pad}"}}"#), Some("7"), false),
        (format!(r#"{{"error":{{"m":"{pad}"}},"id":7}}"#), Some("7"), false),
        (format!(r#"{{"id":null,"method":"m","params":["{pad}"]}}"#), None, true),
        (pad.clone(), None, true),
        (" ".repeat(300), None, false),
    ];
    for (line, id, request) in &rows {
        let expected = [
            Line::Whole(Bytes::from_static(b"before")),
            Line::TooLong {
                bytes: line.len() as u64,
                id: id.map(|id| RequestId::from_json(id).expect("a valid id")),
                request: *request,
            },
            Line::Whole(Bytes::from_static(b"after")),
        ];
        let stream = format!("before\n{line}\r\nafter\n");
        for chunk in [1, 7, 64, 1000] {
            assert_eq!(lines(64, stream.as_bytes().chunks(chunk)), expected, "{line} in chunks of {chunk}");
        }
        assert_eq!(lines(64, [line.as_bytes()]), expected[1..2], "{line} cut by the end of the stream");
    }
}

#[test]
fn a_flood_without_newline_is_not_kept() {
    let mut decoder = LineDecoder::new(1024);
    decoder.push(br#"{"id":5,"method":"m","params":{"t":""#);
    for _ in 0..1000 {
        decoder.push(&[b'x'; 4096]);
        assert!(decoder.buffer.capacity() <= 2 * (1024 + 4096), "kept {}", decoder.buffer.capacity());
        assert_eq!(decoder.next_line(), None, "a line is reported when it has ended");
    }
    decoder.push(b"\"}}\n{}\n");
    let id = Some(RequestId::from_number(5));
    assert_eq!(decoder.next_line(), Some(Line::TooLong { bytes: 36 + 4_096_000 + 3, id, request: true }));
    assert_eq!(decoder.next_line(), Some(Line::Whole(Bytes::from_static(b"{}"))));
}

#[test]
fn memory_is_given_back_after_a_large_line() {
    let mut decoder = LineDecoder::new(1 << 20);
    decoder.push(&vec![b'x'; 1 << 20]);
    decoder.push(b"\nsmall\n");
    assert!(matches!(decoder.next_line(), Some(Line::Whole(line)) if line.len() == 1 << 20));
    assert!(matches!(decoder.next_line(), Some(Line::Whole(_))));
    assert_eq!(decoder.next_line(), None);
    assert_eq!(decoder.buffer.capacity(), 0);
}

#[test]
fn an_editor_line_too_long_fails_before_it_ends_and_after_the_lines_before_it() {
    let mut framer = Lines::new(8);
    framer.push(b"123456789");
    assert!(!framer.at_boundary(), "before anybody asked for a frame");

    let mut framer = Lines::new(8);
    framer.push(b"ok\n123456789");
    assert_eq!(framer.next_frame(), Ok(Some(Bytes::from_static(b"ok"))));
    let too_large = Err(BadFrame::TooLarge { length: 9, max: 8 });
    assert_eq!(framer.next_frame(), too_large);
    framer.push(b"\nfine\n");
    assert_eq!(framer.next_frame(), too_large);
    assert!(!framer.at_boundary());
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks_give_what_they_give_whole(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'"'), Just(b' '), any::<u8>()], 0..200),
        sizes in prop::collection::vec(1usize..20, 1..20),
        max in 0usize..40,
    ) {
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
        prop_assert_eq!(lines(max, chunks.iter().copied()), lines(max, [&bytes[..]]));
        prop_assert_eq!(framed(max, chunks), framed(max, [&bytes[..]]));
        for line in lines(max, [&bytes[..]]) {
            match line {
                Line::Whole(line) => prop_assert!(line.len() <= max && !line.contains(&b'\n')),
                Line::TooLong { bytes, .. } => prop_assert!(bytes > max as u64),
            }
        }
    }
}
