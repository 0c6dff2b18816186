//! `holdfast call --out`: writes the images and sounds of a result into files.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::output;
use crate::protocol::mcp::fit::extension;
use crate::protocol::text::clean;

pub(super) struct Images<'a> {
    out: &'a Path,
    tool: &'a str,
    count: usize,
    all_written: bool,
}

/// Returns why nothing can be written to this place. Called before the tool is called.
pub(super) fn no_place(out: &Path) -> Option<String> {
    let folder =
        if is_folder(out) { out } else { out.parent().filter(|folder| *folder != "").unwrap_or(Path::new(".")) };
    let says = format!("--out: there is no folder {}; make it, or name another one", folder.display());
    (!folder.is_dir()).then_some(says)
}

fn is_folder(out: &Path) -> bool {
    out.is_dir() || out.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
}

impl<'a> Images<'a> {
    pub(super) fn new(out: &'a Path, tool: &'a str) -> Self {
        Self { out, tool, count: 0, all_written: true }
    }

    /// Writes a block of the result if it is an image or a sound. Returns whether it is one.
    pub(super) fn keep(&mut self, block: &RawValue) -> bool {
        #[derive(Deserialize)]
        struct Media {
            data: String,
            #[serde(rename = "mimeType")]
            mime_type: String,
        }
        let Ok(Media { data, mime_type }) = serde_json::from_str(block.get()) else { return false };
        self.count += 1;
        let path = self.path(&mime_type);
        let written = match STANDARD.decode(data) {
            Ok(bytes) => std::fs::write(&path, &bytes).map(|()| bytes.len()).map_err(|error| error.to_string()),
            Err(_) => Err("its data is no base64".to_owned()),
        };
        let (path, mime_type) = (path.display(), clean(&mime_type));
        output::complain(&match written {
            Ok(bytes) => format!("holdfast call: wrote {path} ({mime_type}, {bytes} bytes)"),
            Err(why) => {
                self.all_written = false;
                format!(
                    "holdfast call: {path} ({mime_type}) could not be written: {why}; the tool ran, and --json prints all of it"
                )
            }
        });
        true
    }

    /// Whether something was written and nothing is missing. Prints it if there was nothing to write.
    pub(super) fn told(&self) -> bool {
        if self.count == 0 {
            output::complain(&format!(
                "holdfast call: the tool ran, and its result has no image or sound, so {} was not written",
                self.out.display()
            ));
        }
        self.count > 0 && self.all_written
    }

    fn path(&self, mime_type: &str) -> PathBuf {
        if is_folder(self.out) {
            let tool: String =
                self.tool.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect();
            return self.out.join(format!("{tool}-{}.{}", self.count, extension(mime_type)));
        }
        if self.count == 1 {
            return self.out.to_path_buf();
        }
        let stem = self.out.file_stem().unwrap_or_default().to_string_lossy();
        let ending = self.out.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
        self.out.with_file_name(format!("{stem}-{}{ending}", self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_images_are_numbered_and_a_folder_gives_them_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |out: &Path, count: usize| Images { count, ..Images::new(out, "get/shot") }.path("image/jpeg");
        let file = folder.path().join("shot.png");
        assert_eq!(path(&file, 1), file);
        assert_eq!(path(&file, 2), folder.path().join("shot-2.png"));
        assert_eq!(path(&folder.path().join("shot"), 3), folder.path().join("shot-3"));
        assert_eq!(path(folder.path(), 1), folder.path().join("get_shot-1.jpg"));
        assert_eq!(no_place(&file), None);
        assert!(no_place(&folder.path().join("none/shot.png")).is_some_and(|says| says.contains("no folder")));
    }
}
