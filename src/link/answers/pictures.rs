//! Adds pictures to an answer that only names their files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::time::timeout;

use crate::config::canonical;
use crate::limits::{IMAGE_BASE64_MAX_BYTES, PICTURES_MAX, PICTURES_READ_MAX};
use crate::platform::host::Host;
use crate::protocol::dialect::EditorAnswer;
use crate::protocol::text::clean;

/// Adds the pictures in these files to an answer. A picture that cannot be read becomes a line that says so: the file stays where the
/// answer says.
pub(super) async fn added(
    host: &Arc<dyn Host>,
    project: PathBuf,
    named: Vec<String>,
    answer: EditorAnswer,
) -> EditorAnswer {
    let (reading, files) = (Arc::clone(host), named.clone());
    let read = crate::platform::host::run(&**host, move || {
        files.iter().take(PICTURES_MAX).map(|file| read(&*reading, &project, file)).collect::<Vec<_>>()
    });
    let read = timeout(PICTURES_READ_MAX, read).await.ok().flatten().unwrap_or_default();
    named.iter().zip(read).fold(answer, |answer, (name, read)| match read {
        Ok((bytes, kind)) => {
            let block = json!({"type": "image", "data": STANDARD.encode(bytes), "mimeType": kind});
            match to_raw_value(&block) {
                Ok(block) => answer.with_block(block),
                Err(_) => answer,
            }
        }
        Err(why) => {
            answer.with_note(&format!("The picture {} is not shown: {}.", clean(name), clean(&why.to_string())))
        }
    })
}

/// Reads a picture of the project. No other file is read, whatever an answer names.
fn read(host: &dyn Host, project: &Path, file: &str) -> io::Result<(Vec<u8>, &'static str)> {
    let path = project.join(file);
    let real = |path: &Path| canonical(path).unwrap_or_else(|| path.to_path_buf());
    let (path, project) = (real(&path), real(project));
    let is_inside = path.starts_with(&project) && !path.components().any(|part| part.as_os_str() == "..");
    if !is_inside {
        return Err(io::Error::other("it is not in the project"));
    }
    let bytes = host.read(&path, IMAGE_BASE64_MAX_BYTES / 4 * 3)?;
    match &*bytes {
        [0x89, b'P', b'N', b'G', ..] => Ok((bytes, "image/png")),
        [0xff, 0xd8, 0xff, ..] => Ok((bytes, "image/jpeg")),
        _ => Err(io::Error::other("it is neither a PNG nor a JPEG")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::host::RealHost;
    use crate::protocol::dialect::AnswerBody;
    use serde_json::value::RawValue;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    /// Returns the blocks that are added to an answer which names these files.
    async fn blocks(project: &Path, named: &[&str]) -> Vec<String> {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let json = RawValue::from_string("{}".to_owned()).unwrap();
        let answer = EditorAnswer { is_error: false, body: AnswerBody::Json(json) };
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        match added(&host, project.to_path_buf(), named, answer).await.body {
            AnswerBody::JsonAndBlocks(_, blocks) => blocks.iter().map(|block| block.get().to_owned()).collect(),
            AnswerBody::Json(_) => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn only_pictures_of_the_project_are_added_to_an_answer() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = folder.path();
        std::fs::create_dir_all(project.join(".uloop/outputs")).unwrap();
        std::fs::write(project.join(".uloop/outputs/a.png"), PNG).unwrap();
        std::fs::write(project.join("b.png"), "no picture").unwrap();
        std::fs::write(project.join("c.jpg"), [0xff, 0xd8, 0xff, 0]).unwrap();
        std::fs::write(outside.path().join("secret.png"), PNG).unwrap();
        let inside = project.join("c.jpg").display().to_string();
        let told = blocks(project, &[".uloop/outputs/a.png", &inside]).await;
        assert!(told[0].contains("image/png") && told[1].contains("image/jpeg"), "{told:?}");
        let secret = outside.path().join("secret.png").display().to_string();
        let up = format!("../{}/secret.png", outside.path().file_name().unwrap().to_str().unwrap());
        for wrong in ["b.png", "missing.png", ".uloop", &secret, &up] {
            let told = blocks(project, &[wrong]).await;
            assert!(told.len() == 1 && told[0].contains("is not shown"), "{wrong}: {told:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, project.join("link.png")).unwrap();
            let told = blocks(project, &["link.png"]).await;
            assert!(told[0].contains("is not in the project"), "{told:?}");
        }
        assert_eq!(blocks(project, &["c.jpg"; 9]).await.len(), PICTURES_MAX, "no more are read");
        assert_eq!(blocks(project, &[]).await, Vec::<String>::new());
    }
}
