use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;
use crate::protocol::dialect::{AnswerBody, EditorAnswer};
use crate::protocol::mcp::fit::Refused;

fn of_client(name: &str) -> ClientProfile {
    ClientProfile { client: traits_of(name), ..ProtocolVersion::LATEST.into() }
}

fn png(width: u32, height: u32, more: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([1, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + 40 + more, 7);
    bytes
}

/// A JPEG with a colour profile of this many bytes in front of its size.
fn jpeg(width: u16, height: u16, profile: usize) -> Vec<u8> {
    let mut bytes = b"\xff\xd8".to_vec();
    for part in vec![0xff; profile].chunks(60_000) {
        bytes.extend([0xff, 0xe2]);
        bytes.extend(u16::try_from(part.len() + 2).unwrap().to_be_bytes());
        bytes.extend(part);
    }
    bytes.extend([0xff, 0xff, 0xc2, 0, 17, 8]);
    bytes.extend(height.to_be_bytes());
    bytes.extend(width.to_be_bytes());
    bytes.resize(bytes.len() + 60, 3);
    bytes
}

fn webp(form: &[u8; 4], header: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF\x60\0\0\0WEBP".to_vec();
    bytes.extend(form);
    bytes.extend([0x20, 0, 0, 0]);
    bytes.extend(header);
    bytes.resize(bytes.len() + 60, 3);
    bytes
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.extend(width.to_le_bytes());
    bytes.extend(height.to_le_bytes());
    bytes.resize(60, 0);
    bytes
}

fn block(kind: &str, data: &str, mime: &str) -> ToolResult {
    let block = json!({"type": kind, "data": data, "mimeType": mime, "annotations": {"priority": 0.5}});
    let text = json!({"type": "text", "text": "beside"});
    let blocks = [block, text].iter().map(|block| raw(&block.to_string())).collect();
    ToolResult::from_editor(EditorAnswer { is_error: false, body: AnswerBody::Blocks(blocks) })
}

/// Returns the image's type and data as this client gets them. The error is the reason why the image is left out, or
/// the text in its place.
fn seen(data: &str, mime: &str, client: &str) -> Result<(String, String), String> {
    let (result, profile) = (block("image", data, mime), of_client(client));
    let left = left_out(&result, &profile);
    assert_eq!(fits(&result, &profile), left.is_empty());
    if let Some(left) = left.first() {
        assert!(left.data.is_some());
        return Err(format!("{:?}", left.why));
    }
    let answer: Value = serde_json::from_str(&tool_result(&result, &profile)).unwrap();
    assert_eq!(answer["content"][1]["text"], "beside");
    let block = &answer["content"][0];
    if let Some(text) = block["text"].as_str() {
        return Err(text.to_owned());
    }
    assert_eq!(block["annotations"]["priority"], 0.5);
    Ok((block["mimeType"].as_str().unwrap().to_owned(), block["data"].as_str().unwrap().to_owned()))
}

#[test]
fn an_image_is_what_its_first_bytes_say() {
    let images = [
        (png(64, 64, 0), "image/png"),
        (jpeg(640, 480, 0), "image/jpeg"),
        (jpeg(640, 480, 200_000), "image/jpeg"),
        (gif(10, 20), "image/gif"),
        (webp(b"VP8X", &[0, 0, 0, 0, 0x3f, 1, 0, 0x1f, 0, 0]), "image/webp"),
        (webp(b"VP8L", &[0x2f, 0x3f, 0x40, 1, 0]), "image/webp"),
        (webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 64, 0, 64, 0]), "image/webp"),
    ];
    for (bytes, mime) in images {
        let data = STANDARD.encode(&bytes);
        for said in [mime, "IMAGE/PNG", "image/jpg", "image/x-exr", "text/plain", ""] {
            assert_eq!(seen(&data, said, "claude-code"), Ok((mime.to_owned(), data.clone())), "{said}");
        }
        // The same bytes in other notations.
        let lines: Vec<&str> = data.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
        for other in [
            lines.join("\r\n") + "\n",
            format!("data:image/png;base64,{data}"),
            format!("DATA:image/svg+xml;charset=x;base64, {data}"),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            assert_eq!(seen(&other, "image/png", "some new editor"), Ok((mime.to_owned(), data.clone())), "{mime}");
        }
    }
}

#[test]
fn what_an_api_refuses_is_left_out_with_the_reason() {
    const MOST: usize = 5 * 1024 * 1024;
    // Returns a PNG whose base64 text has this length.
    let of_length = |base64: usize| STANDARD.encode(png(9, 9, base64 / 4 * 3 - png(9, 9, 0).len()));
    for client in ["claude-code", "claude-ai", "some new editor", "Visual Studio Code"] {
        assert_eq!(of_length(MOST).len(), MOST);
        assert!(seen(&of_length(MOST), "image/png", client).is_ok(), "{client}");
        assert_eq!(seen(&of_length(MOST + 4), "image/png", client), Err(format!("{:?}", Refused::Bytes(MOST))));
        for bytes in [png(8001, 1, 0), png(1, 8001, 0), jpeg(9000, 5, 70_000)] {
            let seen = seen(&STANDARD.encode(bytes), "image/png", client);
            assert_eq!(seen, Err(format!("{:?}", Refused::Side(8000))), "{client}");
        }
        assert!(seen(&STANDARD.encode(png(8000, 8000, 0)), "image/png", client).is_ok());
        for (bytes, mime) in [
            ([b"BM".as_slice(), &[0; 200]].concat(), "image/bmp"),
            ([b"v/1\x01".as_slice(), &[0; 200]].concat(), "image/x-exr"),
            ([b"<svg xmlns='http://www.w3.org/2000/svg'>".as_slice(), &[b' '; 99]].concat(), "image/svg+xml"),
            (png(0, 5, 0), "image/png"),
            ([b"\xff\xd8\xff\xe0".as_slice(), &[0; 200]].concat(), "image/jpeg"),
            (png(5, 5, 0)[..20].to_vec(), "image/png"),
        ] {
            assert_eq!(seen(&STANDARD.encode(bytes), mime, client), Err(format!("{:?}", Refused::Type)), "{mime}");
        }
    }
    assert_eq!(seen(&STANDARD.encode(gif(5, 5)), "image/gif", "gemini-cli-mcp-client"), Err("Type".to_owned()));
    assert!(seen(&of_length(MOST + 4), "image/png", "gemini-cli-mcp-client").is_ok());
    let bmp = STANDARD.encode([b"BM".as_slice(), &[0; 200]].concat());
    let left = left_out(&block("image", &bmp, "image/bmp"), &of_client("claude-code"));
    let note = format!("{:?}", left[0].note(&of_client("claude-code"), Ok("/p/a.bmp")));
    assert!(
        left[0].extension == "bmp" && note.contains("PNG, JPEG, GIF and WebP") && note.contains("/p/a.bmp"),
        "{note}"
    );
}

#[test]
fn what_is_no_base64_is_a_text_and_never_lost() {
    for data in [
        "C:\\shots\\a.png",
        "Assets/Shots/abc",
        "/tmp/a b.png",
        "data:image/svg+xml,%3Csvg/%3E",
        "=AAA",
        "AAA=AAAA",
        "é",
        "not base64!",
    ] {
        for kind in ["image", "audio"] {
            if kind == "audio" && data == "Assets/Shots/abc" {
                continue;
            }
            let result = block(kind, data, "image/png");
            let Content::Text(text) = &result.content[0] else { panic!("{data}: {result:?}") };
            assert!(text.ends_with(data) && text.contains("in place of its data"), "{text}");
        }
    }
    for data in ["", " ", "data:image/png;base64,"] {
        let Content::Text(text) = &block("image", data, "image/png").content[0] else { panic!("{data}") };
        assert!(text.starts_with("[An image (image/png) is left out"), "{text}");
    }
    let sound = block("audio", "UklG\nRg", "audio/wav");
    let Content::Raw(raw) = &sound.content[0] else { panic!("{sound:?}") };
    assert!(raw.get().contains(r#""data":"UklGRg==""#), "{raw}");
}

#[test]
fn resources_have_base64_or_a_text() {
    let of = |resource: Value| {
        let block = raw(&json!({"type": "resource", "resource": resource}).to_string());
        let body = AnswerBody::Blocks(vec![block]);
        match &ToolResult::from_editor(EditorAnswer { is_error: false, body }).content[0] {
            Content::Text(text) => Err(text.clone()),
            Content::Raw(raw) => Ok(serde_json::from_str::<Value>(raw.get()).unwrap()["resource"]["blob"].clone()),
            Content::Bytes(bytes) => panic!("{} bytes", bytes.len()),
        }
    };
    assert_eq!(of(json!({"uri": "a:b", "blob": "QUJD"})), Ok(json!("QUJD")));
    assert_eq!(of(json!({"uri": "a:b", "blob": "QU JD\r\n"})), Ok(json!("QUJD")));
    assert_eq!(of(json!({"uri": "a:b", "blob": "_-8"})), Ok(json!("/+8=")));
    assert_eq!(of(json!({"uri": "a:b", "blob": ""})), Ok(json!("")));
    let text = of(json!({"uri": "a:b", "blob": "C:\\a.bin"})).unwrap_err();
    assert!(text.contains("(a:b)") && text.ends_with("C:\\a.bin"), "{text}");
}
