use proptest::prelude::*;

use super::*;
use crate::limits::RESULT_TEXT_MIN_BYTES;
use crate::protocol::dialect::{AnswerBody, EditorAnswer};
use crate::protocol::jsonrpc::quoted_len;
use crate::protocol::mcp::fit::head;

const PNG: &str = r#"{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==","mimeType":"image/png"}"#;
const WAV: &str = r#"{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}"#;

fn of_client(name: &str) -> ClientProfile {
    ClientProfile { client: traits_of(name), ..ProtocolVersion::LATEST.into() }
}

fn limited(bytes: usize) -> ClientProfile {
    let unknown: ClientProfile = ProtocolVersion::LATEST.into();
    ClientProfile { client: ClientTraits { result_text_max: Some(bytes), ..unknown.client }, ..unknown }
}

fn result(body: AnswerBody) -> ToolResult {
    ToolResult::from_editor(EditorAnswer { is_error: false, body })
}

fn blocks(texts: &[&str]) -> ToolResult {
    result(AnswerBody::Blocks(texts.iter().map(|text| raw(text)).collect()))
}

fn text_of(content: &Content) -> &str {
    match content {
        Content::Text(text) => text,
        Content::Raw(_) | Content::Bytes(_) => panic!("{content:?}"),
    }
}

#[test]
fn what_a_client_takes_or_may_take_passes_as_it_is() {
    let result = blocks(&[PNG, WAV, r#"{"type":"text","text":"x"}"#]);
    for name in ["claude-code", "some new editor", "codex-mcp-client", "gemini-cli-mcp-client", "mcp-inspector"] {
        assert!(fits(&result, &of_client(name)), "{name}");
        assert!(left_out(&result, &of_client(name)).is_empty(), "{name}");
    }
    let long = ToolResult::text("x".repeat(4 << 20));
    for name in ["claude-code", "some new editor", "gemini-cli-mcp-client"] {
        assert!(fits(&long, &of_client(name)), "{name}: it keeps long text itself, or nobody knows");
    }
    assert!(!fits(&long, &of_client("codex-mcp-client")));
}

#[test]
fn what_a_client_does_not_take_is_named_with_its_type_size_and_file() {
    let result = blocks(&[PNG, WAV]);
    let zed = of_client("Zed");
    assert!(!fits(&result, &zed));
    let left = left_out(&result, &zed);
    assert_eq!(left.len(), 1, "Zed shows images: {left:?}");
    assert_eq!((left[0].index, left[0].kind, left[0].extension), (1, "audio", "wav"));
    assert_eq!(left[0].data.as_deref(), Some(b"RIFF".as_slice()));
    let note = left[0].note(&zed, Ok("/p/Logs/a.wav"));
    assert!(text_of(&note).contains("(audio/wav, 4 bytes)") && text_of(&note).contains("/p/Logs/a.wav"), "{note:?}");
    let note = left[0].note(&zed, Err("the file could not be written"));
    assert!(
        text_of(&note).contains("not kept: the file could not be written") && text_of(&note).contains("Zed"),
        "{note:?}"
    );
}

#[test]
fn structured_content_never_hides_an_image() {
    let with_image = result(AnswerBody::JsonAndBlocks(raw(r#"{"a":1}"#), vec![raw(PNG)]));
    let without = result(AnswerBody::Json(raw(r#"{"a":1}"#)));
    for (name, with_is, without_is) in
        [("codex-mcp-client", false, true), ("claude-code", true, true), ("who", true, true)]
    {
        let profile = of_client(name);
        for (result, is) in [(&with_image, with_is), (&without, without_is)] {
            let json = tool_result(result, &profile);
            assert_eq!(json.contains("structuredContent"), is, "{name}: {json}");
            assert_eq!(json.len(), result_size(result, &profile), "{name}");
        }
    }
}

#[test]
fn a_long_text_is_cut_behind_a_note_that_names_size_and_file() {
    let lines: String = (0..4000).map(|n| format!("line {n}: \"quoted\"\n")).collect();
    let whole = lines.len();
    let result = ToolResult { is_error: true, ..ToolResult::text(lines) };
    let profile = limited(10_000);
    let cut = cut_text(result, &profile, "/p/Logs/holdfast/results/x.json");
    let [note, shown] = cut.content.as_slice() else { panic!("{cut:?}") };
    let (note, shown) = (text_of(note), text_of(shown));
    assert!(shown.starts_with("line 0") && shown.ends_with("\"\n"), "it ends with a line: {shown:?}");
    for says in [
        format!("{whole} bytes"),
        format!("first {} bytes", shown.len()),
        "/p/Logs/holdfast/results/x.json".to_owned(),
        "Executed: the tool failed".to_owned(),
        "Do not repeat".to_owned(),
    ] {
        assert!(note.contains(&says), "{says}: {note}");
    }
    assert!(fits(&cut, &profile) && cut.is_error);
    assert!(quoted_len(note) + quoted_len(shown) > 9_000, "as much as fits is shown");
}

#[test]
fn a_cut_keeps_images_and_drops_what_repeats_the_text() {
    let long = format!(r#"{{"log":"{}"}}"#, "0123456789 ".repeat(2000));
    let result = result(AnswerBody::JsonAndBlocks(raw(&long), vec![raw(PNG)]));
    assert!(result.structured.is_some());
    let profile = limited(8000);
    let cut = cut_text(result, &profile, "/f");
    assert!(cut.structured.is_none() && fits(&cut, &profile));
    assert!(matches!(cut.content.as_slice(), [Content::Text(_), Content::Text(_), Content::Raw(_)]), "{cut:?}");
    let texts = blocks(&[&format!(r#"{{"type":"text","text":"{}"}}"#, "a\\n".repeat(5000)), WAV]);
    let cut = cut_text(texts, &profile, "/f");
    assert!(text_of(&cut.content[1]).starts_with("a\na\n"), "a text block is cut as the text it holds");
    let short = ToolResult::text("short");
    assert_eq!(cut_text(short, &profile, "/f").content.len(), 1);
}

#[test]
fn a_head_ends_at_a_line_a_comma_or_a_space_and_never_within_an_escape() {
    for (text, max, shown) in [
        ("whole", 5, "whole"),
        ("0123456\n890123", 10, "0123456\n"),
        ("\n123456789012", 10, "\n12345678"),
        ("0123456,89012", 10, "0123456,"),
        ("0123456 89012", 10, "0123456 "),
        ("aaaa\u{e9}\u{e9}", 5, "aaaa"),
        ("aaaa\u{e9}\u{e9}", 6, "aaaa\u{e9}"),
        ("\u{1F600}\u{1F600}", 7, "\u{1F600}"),
        // The text itself contains escapes: each of its backslashes takes two bytes in a message.
        (r"aaaaaaa\nbbbb", 9, "aaaaaaa"),
        (r"aaaaaaa\nbbbb", 10, r"aaaaaaa\n"),
        (r"aaaaaaa\\bbbb", 9, "aaaaaaa"),
        (r"aaaaaaa\\bbbb", 11, r"aaaaaaa\\"),
        (r"aaaaaaa\u00e9bbbb", 11, "aaaaaaa"),
        (r"aaaaaaa\u00e9bbbb", 14, r"aaaaaaa\u00e9"),
        (r"aaaaaaa\ud83d\ude00bbbb", 14, "aaaaaaa"),
        (r"aaaaaaa\ud83d\ude00bbbb", 18, "aaaaaaa"),
        (r"aaaaaaa\ud83d\ude00bbbb", 21, r"aaaaaaa\ud83d\ude00"),
        ("\u{1}\u{1}", 7, "\u{1}"),
        ("abc", 0, ""),
        ("", 0, ""),
    ] {
        assert_eq!(head(text, max), shown, "{text:?} at {max}");
    }
}

proptest! {
    #[test]
    fn a_head_is_a_beginning_of_whole_characters_within_its_bound(text in "(?s).{0,200}", max in 0usize..300) {
        let head = head(&text, max);
        prop_assert!(text.starts_with(head));
        prop_assert!(quoted_len(head) - 2 <= max);
        // To end at a line end, comma or space, the cut may leave up to a quarter unused, and in addition one escape or surrogate
        // pair.
        if head.len() < text.len() {
            let next = text[head.len()..].chars().next().map_or(0, |c| quoted_len(&c.to_string()) - 2);
            let room = max.saturating_sub(quoted_len(head) - 2 + next);
            prop_assert!(room <= max / 4 + 24 + 6 * head.len() / 4, "{room} of {max} left");
        }
    }

    #[test]
    fn a_json_text_is_never_cut_within_an_escape(text in "(?s).{0,120}", max in 0usize..400) {
        let json = serde_json::to_string(&text).unwrap().replace('/', "\\u002f");
        let head = head(&json, max);
        // The remaining text is still a valid string once it is closed.
        if head.len() > 1 && head.len() < json.len() {
            prop_assert!(serde_json::from_str::<String>(&format!("{head}\"")).is_ok(), "{head}");
        }
    }

    #[test]
    fn a_cut_result_fits_and_its_size_is_known_before(
        text in "(?s)[a-z\"\\\\\n ,é\u{1}]{0,9000}",
        structured in any::<bool>(),
        most in RESULT_TEXT_MIN_BYTES..9000,
    ) {
        let body = if structured {
            AnswerBody::Json(serde_json::value::to_raw_value(&serde_json::json!({"log": text})).unwrap())
        } else {
            AnswerBody::Text(text)
        };
        let result = result(body);
        let profile = limited(most);
        let fitted = cut_text(result.clone(), &profile, "/project/Logs/holdfast/results/0.json");
        prop_assert!(fits(&fitted, &profile));
        prop_assert_eq!(tool_result(&fitted, &profile).len(), result_size(&fitted, &profile));
        if fits(&result, &profile) {
            prop_assert_eq!(tool_result(&fitted, &profile), tool_result(&result, &profile), "untouched");
        }
    }
}
