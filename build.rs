//! Lists the files of the Unity package, which the binary carries and `holdfast unity install` places in a project. Also names
//! the commit that a release is built from.
//!
//! `src/cli/unity/placed.rs` says which entries belong to the package. Files below those entries are found by themselves.

#[path = "src/cli/unity/placed.rs"]
mod placed;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use placed::{LEFT_OUT, PLACED, passed_over};

/// The level at which the files are compressed.
const BEST: u8 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let package = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("unity");
    for entry in fs::read_dir(&package)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let known = PLACED.contains(&name.as_str()) || LEFT_OUT.contains(&name.as_str());
        if !known && !passed_over(&name) {
            return Err(
                format!("src/cli/unity/placed.rs does not say whether unity/{name} belongs into a project").into()
            );
        }
    }
    let mut files = BTreeSet::new();
    println!("cargo::rerun-if-changed=build.rs");
    for name in PLACED {
        println!("cargo::rerun-if-changed=unity/{name}");
        walk(&package, name, &mut files)?;
    }
    // One stream for all: the files are alike, and are a tenth of the program when they are not compressed.
    let (mut table, mut plain) = (String::new(), Vec::new());
    writeln!(table, "/// Every file of the package: its path in there, with `/`, and its length in bytes.")?;
    writeln!(table, "static PACKED: &[(&str, usize)] = &[")?;
    for path in files {
        let content = fs::read(package.join(&path))?;
        writeln!(table, "    ({path:?}, {}),", content.len())?;
        plain.extend(content);
    }
    writeln!(table, "];")?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("unity_package.rs"), table)?;
    fs::write(out.join("unity_package.deflate"), miniz_oxide::deflate::compress_to_vec(&plain, BEST))?;
    name_commit();
    Ok(())
}

/// Puts the commit that the program is built from into `HOLDFAST_REVISION`, and its day into `HOLDFAST_REVISION_DAY`. Who packages
/// the program without its repository sets the first one, and SOURCE_DATE_EPOCH, which gives the day. Otherwise git is asked, else
/// cargo's own record in a packaged crate. Only in a release: otherwise a developer would wait for a whole build after each commit.
fn name_commit() {
    for name in ["HOLDFAST_REVISION", "HOLDFAST_REVISION_DAY", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let day_of_epoch = || {
        let seconds = set("SOURCE_DATE_EPOCH")?.parse().ok()?;
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
        // humantime writes years of four digits only.
        let latest = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        (time <= latest)
            .then(|| humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect::<String>())
    };
    if std::env::var_os("HOLDFAST_REVISION").is_some() {
        if let (None, Some(day)) = (std::env::var_os("HOLDFAST_REVISION_DAY"), day_of_epoch()) {
            println!("cargo::rustc-env=HOLDFAST_REVISION_DAY={day}");
        }
        return;
    }
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let of_git = || {
        // In a subfolder of another repository git would name that repository's commit.
        git(&["rev-parse", "--show-prefix"]).filter(String::is_empty)?;
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())?;
        println!("cargo::rerun-if-changed={log}");
        let line = git(&["log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%d"])?;
        let (commit, day) = line.split_once(' ')?;
        Some((commit.to_owned(), Some(day.to_owned())))
    };
    let of_cargo = || {
        let record = fs::read_to_string(".cargo_vcs_info.json").ok()?;
        let rest = record.split_once("\"sha1\"")?.1.split_once('"')?.1;
        Some((rest.split_once('"')?.0.to_owned(), None))
    };
    let Some((commit, day)) = of_git().or_else(of_cargo) else { return };
    let day = day.or_else(day_of_epoch);
    let short: String = commit.chars().take(9).filter(char::is_ascii_hexdigit).collect();
    println!("cargo::rustc-env=HOLDFAST_REVISION={short}");
    if let Some(day) = day {
        println!("cargo::rustc-env=HOLDFAST_REVISION_DAY={day}");
    }
}

/// The output of a git command, if git runs and succeeds. Times are in UTC, not in the builder's time zone.
fn git(words: &[&str]) -> Option<String> {
    let said = Command::new("git").args(words).env("TZ", "UTC").output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
}

/// Collects the files at or below a path of the package.
fn walk(package: &Path, path: &str, files: &mut BTreeSet<String>) -> Result<(), Box<dyn Error>> {
    let full = package.join(path);
    if !full.is_dir() {
        files.insert(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(full)? {
        let name = entry?.file_name().into_string().map_err(|name| format!("{name:?} is not Unicode"))?;
        if !passed_over(&name) {
            walk(package, &format!("{path}/{name}"), files)?;
        }
    }
    Ok(())
}
