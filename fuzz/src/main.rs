//! libFuzzer over one of the targets in `chaos_tests::fuzz`; `HOLDFAST_FUZZ` says which. If `HOLDFAST_SEEDS` names a folder, it
//! only writes there, for each target, what it begins from beside its corpus. See `README.md` beside this crate.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use chaos_tests::fuzz::{self, Target};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fn target() -> &'static Target {
    if let Some(folder) = std::env::var_os("HOLDFAST_SEEDS") {
        write_seeds(Path::new(&folder)).expect("the folder can be written");
        std::process::exit(0);
    }
    let name = std::env::var("HOLDFAST_FUZZ").unwrap_or_default();
    match fuzz::TARGETS.iter().find(|target| target.name == name) {
        Some(target) => target,
        None => {
            let names: Vec<&str> = fuzz::TARGETS.iter().map(|target| target.name.as_str()).collect();
            panic!("HOLDFAST_FUZZ={name} is no target; there are {}", names.join(", "))
        }
    }
}

fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for target in fuzz::TARGETS.iter() {
        let folder = folder.join(&target.name);
        std::fs::create_dir_all(&folder)?;
        for (nth, seed) in target.seeds().iter().enumerate() {
            std::fs::write(folder.join(nth.to_string()), seed)?;
        }
    }
    Ok(())
}

libfuzzer_sys::fuzz_target!(init: { TARGET.get_or_init(target); }, |bytes: &[u8]| {
    TARGET.get_or_init(target).run(bytes);
});
