//! Lists the files of the Unity package for the binary, which carries them: `holdfast unity install` places them.
//!
//! What belongs in stands in `src/cli/unity/placed.rs`. A file that is added below those entries is found by itself.

#[path = "src/cli/unity/placed.rs"]
mod placed;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use placed::{LEFT_OUT, PLACED, passed_over};

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
    let mut table = String::from("/// Every file of the package: its path in there, with `/`, and its bytes.\n");
    writeln!(table, "static FILES: &[(&str, &[u8])] = &[")?;
    for path in files {
        writeln!(table, "    ({path:?}, include_bytes!({:?})),", package.join(&path))?;
    }
    writeln!(table, "];")?;
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("unity_package.rs"), table)?;
    Ok(())
}

/// The files at or below a path of the package.
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
