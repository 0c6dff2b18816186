//! `holdfast report`: collects the content of a bug report in one archive, without the names and secrets of its author.

mod ends;
mod gather;
mod redact;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use rawzip::{CompressionMethod, DataDescriptorOutput, Error, ZipArchiveWriter, crc32};
use serde_json::Value;

use super::gateway_args::EditorArgs;
use super::{Exit, one_shot, output};
use crate::platform::host::{Host as _, RealHost};
use gather::Material;
#[cfg(feature = "demo")]
pub(in crate::cli) use gather::of_this_machine;
#[cfg(feature = "demo")]
pub(in crate::cli) use redact::Redactor;

#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Write the archive to this file
    ///
    /// It must not exist yet. Without it: holdfast-report-TIME.zip in the working directory.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub editor: EditorArgs,
}

const README: &str = "\
A report of holdfast, made by `holdfast report`. Nothing was sent anywhere: whoever made it decides.

about.json      the program's version, and the system
doctor.json     what `holdfast doctor --json` says
status.json     what `holdfast status --json` says
settings.json   the variables that are set for holdfast, and its configuration files without comments
logs/           the last lines of the logs of a few gateways
metrics/        the metrics of running gateways that serve them, once

What was replaced, in each file: the names of user, machine and projects, the paths of home and projects, however they are written,
and the secrets that are known: of this environment, of the editors, of the hub. The same thing has the same placeholder everywhere.
Names of tools and clients stay. Arguments and results of calls were never in here. What your settings say besides is in settings.json as it
is. Look at it before you send it.
";

pub fn run(arguments: &ReportArgs) -> ExitCode {
    let (config, complaints) = arguments.editor.config();
    one_shot::block_on(&arguments.editor, async move {
        let material = gather::gather(&config, &complaints).await;
        let placeholders: Vec<String> = material.redactor.placeholders().into_iter().map(str::to_owned).collect();
        write(arguments.out.clone(), &files(material), &placeholders)
    })
}

fn files(material: Material) -> Vec<(String, Vec<u8>)> {
    let Material { about, doctor, status, settings, logs, metrics, redactor } = material;
    let mut files = vec![("README.txt".to_owned(), README.to_owned())];
    for (name, mut value) in
        [("about.json", about), ("doctor.json", doctor), ("status.json", status), ("settings.json", settings)]
    {
        redactor.json(&mut value);
        files.push((name.to_owned(), pretty(&value)));
    }
    for (name, lines) in logs {
        let lines: String = lines.iter().map(|line| redactor.line(line) + "\n").collect();
        files.push((name, lines));
    }
    files.extend(metrics.into_iter().map(|(name, text)| (name, redactor.text(&text))));
    files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect()
}

fn pretty(value: &Value) -> String {
    // Values that were read as JSON can be written as JSON.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn write(out: Option<PathBuf>, files: &[(String, Vec<u8>)], placeholders: &[String]) -> Exit {
    let path = out.unwrap_or_else(|| {
        let time = humantime::format_rfc3339_seconds(RealHost.now()).to_string();
        PathBuf::from(format!("holdfast-report-{}.zip", time.replace(':', "")))
    });
    if let Err(exit) = write_archive("holdfast report", &path, files) {
        return exit;
    }
    output::hung("Replaced: ", &format!("{}.", placeholders.join(", ")));
    output::hung(
        "",
        "Nothing was sent anywhere. Look at the files before you send it: names of tools and clients and your settings are in them. \
         https://github.com/holdfast-mcp/holdfast/issues takes it.",
    );
    Exit::Ok
}

/// Writes an archive of these files, and prints what is in it. `command`: the command that prints it.
pub(in crate::cli) fn write_archive(command: &str, path: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Exit> {
    let bytes = zipped(files).map_err(|error| {
        output::complain(&format!("{command}: the archive could not be made ({error}); please report this"));
        Exit::Internal
    })?;
    write_new(path, &bytes).map_err(|error| {
        let path = path.display();
        output::complain(&match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{command}: {path} exists already, and is left as it is. Name another file with --out")
            }
            _ => format!("{command}: {path} could not be written ({error}). Name another file with --out"),
        });
        Exit::Failed
    })?;
    output::line(&format!("Wrote {} ({} KB):", path.display(), bytes.len().div_ceil(1000)));
    for (name, content) in files {
        output::line(&format!("  {:>7} KB  {name}", content.len().div_ceil(1000)));
    }
    Ok(())
}

/// The level of compression: a higher one takes much longer and saves little.
const LEVEL: u8 = 6;

/// Returns a zip archive of these files, each with its name.
fn zipped(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, content) in files {
        let file = archive.new_file(name.as_str()).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, _) = file.start()?;
        entry.write_all(&miniz_oxide::deflate::compress_to_vec(content, LEVEL))?;
        entry.finish(DataDescriptorOutput::new(crc32(content), content.len() as u64))?;
    }
    archive.finish()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = crate::platform::host::create_private(path)?;
    file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))
}

#[cfg(test)]
mod tests;
