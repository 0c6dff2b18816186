//! Reads the golden vectors of `tests/vectors/` for the tests of the dialects. `tests/vectors/README.md` describes the format.

use serde_json::Value;

/// One vector.
pub(super) struct Vector(pub(super) Value);

impl Vector {
    /// Returns a member, which must be a text.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_else(|| panic!("{} has no {name}", self.0["name"]))
    }

    /// Returns a member of `means`; null if it is missing.
    pub(super) fn means(&self, name: &str) -> &Value {
        &self.0["means"][name]
    }

    /// Returns a member of `means`, which must be a text.
    pub(super) fn said(&self, name: &str) -> &str {
        self.means(name).as_str().unwrap_or_else(|| panic!("{} means no {name}", self.0["name"]))
    }
}

/// All vectors of a dialect.
pub(super) fn all(dialect: &str) -> Vec<Vector> {
    let folder = format!("{}/tests/vectors/{dialect}", env!("CARGO_MANIFEST_DIR"));
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file: Value = serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        assert_eq!(file["dialect"], dialect);
        out.extend(file["vectors"].as_array().unwrap().iter().cloned().map(Vector));
    }
    out
}

/// Checks that every vector names its provenance and versions, and that exactly the kinds in `known` occur.
pub(super) fn have_kinds(vectors: &[Vector], known: &[&str]) {
    for vector in vectors {
        assert!(["observed", "read", "inferred"].contains(&vector.text("provenance")), "{}", vector.text("name"));
        assert!(!vector.text("versions").is_empty());
    }
    let kinds: std::collections::BTreeSet<_> = vectors.iter().map(|vector| vector.said("kind")).collect();
    assert!(kinds.iter().eq(known.iter()), "{kinds:?}");
}
