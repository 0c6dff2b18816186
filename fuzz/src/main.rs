//! libFuzzer over one of the targets in `chaos_tests::fuzz`; `HOLDFAST_FUZZ` says which. See `README.md` beside this crate.

#![no_main]

use std::sync::OnceLock;

use chaos_tests::fuzz::{self, Target};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fn target() -> &'static Target {
    let name = std::env::var("HOLDFAST_FUZZ").unwrap_or_default();
    match fuzz::TARGETS.iter().find(|target| target.name == name) {
        Some(target) => target,
        None => {
            let names: Vec<&str> = fuzz::TARGETS.iter().map(|target| target.name).collect();
            panic!("HOLDFAST_FUZZ={name} is no target; there are {}", names.join(", "))
        }
    }
}

libfuzzer_sys::fuzz_target!(init: { TARGET.get_or_init(target); }, |bytes: &[u8]| {
    (TARGET.get_or_init(target).run)(bytes);
});
