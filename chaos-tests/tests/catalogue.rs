//! The catalogue of faults (`README.md`) is complete and names only tests that exist.

use std::path::Path;

use chaos_tests::catalogue;

#[test]
fn every_fault_has_a_test_that_exists_or_a_waiver_with_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let readme = std::fs::read_to_string(root.join("chaos-tests/README.md")).expect("the catalogue");
    let wrong = catalogue::faults(&readme, |path| std::fs::read_to_string(root.join(path)).ok());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
