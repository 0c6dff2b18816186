use serde_json::json;

use super::redact::Redactor;
use super::*;

#[test]
fn what_is_planted_in_any_input_is_in_no_file() {
    let planted = ["ann", "annbook", "/home/ann", "/home/ann/games/Castle", "Castle", "hunter2hunter2"];
    let text = planted.join(" | ");
    let mut redactor = Redactor::default();
    redactor.path("/home/ann", "<home>");
    redactor.name("ann", "<user>");
    redactor.name("annbook", "<host>");
    redactor.project("/home/ann/games/Castle");
    redactor.project("/srv/Keep (Acme)");
    redactor.project("/AcmeCorp/Castle");
    redactor.secret("hunter2hunter2");
    let value = json!({"deep": [{"text": text, "api_token": "zzz-secret"}]});
    let material = Material {
        about: value.clone(),
        doctor: value.clone(),
        status: value.clone(),
        settings: value.clone(),
        logs: vec![("logs/1.jsonl".into(), vec![value.to_string(), format!("cut off: {text}")])],
        metrics: vec![(
            "metrics/1.prom".into(),
            format!(
                "up{{project=\"Castle\"}} 1\nup{{project=\"Keep _Acme_\"}} 1\nup{{project=\"AcmeCorp/Castle\"}} 1\n# {text}\n"
            ),
        )],
        redactor,
    };
    let files = files(material);
    assert_eq!(files.len(), 7);
    for (name, content) in files {
        let content = String::from_utf8(content).unwrap();
        for secret in planted.iter().copied().chain(["zzz-secret", "Acme"]) {
            assert!(!content.contains(secret), "{secret} is in {name}: {content}");
        }
        assert!(name == "README.txt" || content.contains("<project-1>"), "{name}: {content}");
    }
}

#[test]
fn an_archive_has_each_file_as_it_was() {
    use rawzip::{CompressionMethod, ZipArchive};

    let long = "the same again and again ".repeat(10_000);
    let files = [("a/empty.txt".to_owned(), Vec::new()), ("long.txt".to_owned(), long.into_bytes())];
    let bytes = zipped(&files).unwrap();
    assert!(bytes.len() < 10_000, "it is compressed: {}", bytes.len());
    let archive = ZipArchive::from_slice(&bytes).unwrap();
    let mut entries = archive.entries();
    for (name, content) in &files {
        let entry = entries.next_entry().unwrap().unwrap();
        assert_eq!(entry.file_path().try_normalize().unwrap().as_ref(), name);
        assert_eq!(entry.compression_method(), CompressionMethod::DEFLATE);
        let data = archive.get_entry(entry.wayfinder()).unwrap();
        assert_eq!(&miniz_oxide::inflate::decompress_to_vec(data.data()).unwrap(), content);
    }
    assert!(entries.next_entry().unwrap().is_none());
}
