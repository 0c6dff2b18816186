//! The zip archive of a report.

use std::io::{self, Write as _};
use std::path::Path;

use rawzip::{CompressionMethod, DataDescriptorOutput, Error, ZipArchiveWriter, crc32};

/// How hard the files are compressed: from here on more takes much longer and saves little.
const LEVEL: u8 = 6;

/// Returns a zip archive of these files, each with its name.
///
/// # Errors
/// The crate's error. Writing into memory has none.
pub(super) fn zipped(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, content) in files {
        let file = archive.new_file(name.as_str()).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, _) = file.start()?;
        entry.write_all(&miniz_oxide::deflate::compress_to_vec(content, LEVEL))?;
        entry.finish(DataDescriptorOutput::new(crc32(content), content.len() as u64))?;
    }
    archive.finish()
}

/// Writes a new file that only this user can read.
///
/// # Errors
/// The system's error; `AlreadyExists` if something is there.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = crate::platform::host::create_private(path)?;
    file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))
}
