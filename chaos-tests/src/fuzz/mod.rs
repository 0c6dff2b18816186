//! Fuzz targets: one list, both for the quick run (`tests/fuzz.rs`) and for libFuzzer (`fuzz/`, `make fuzz`).
//!
//! A target accepts any bytes, and panics if the product breaks a promise for them. "Does not panic" is only the minimum:
//! each target compares the product with a simple model of its promise, or with itself on the same bytes in another split,
//! layout or order.

pub mod dialect;
pub mod framing;
pub mod http;
pub mod jsonrpc;
pub mod mutate;
mod recorded;
pub mod session;

use std::sync::LazyLock;

use dialect::{KINDS, Sides};

/// A fuzz target.
pub struct Target {
    /// Name of the target, and of its corpus's folder below `fuzz/corpus/`.
    pub name: String,
    /// The same name for the targets of all dialects that check the same.
    pub kind: &'static str,
    /// Number of mutated inputs in the quick run: they take about a second in a debug build.
    pub rounds: u32,
    /// Longest input in bytes. Short inputs are enough here; other tests cover the limits for large messages.
    pub max_bytes: usize,
    of: Of,
}

enum Of {
    Bytes(fn(&[u8])),
    Dialect { run: fn(&Sides, &[u8]), seeds: fn(&Sides) -> Vec<Vec<u8>>, sides: &'static Sides },
}

impl Target {
    /// Panics if the product breaks a promise on these bytes.
    pub fn run(&self, bytes: &[u8]) {
        match &self.of {
            Of::Bytes(run) => run(bytes),
            Of::Dialect { run, sides, .. } => run(sides, bytes),
        }
    }

    /// Returns inputs to begin from, beside the corpus.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let Of::Dialect { seeds, sides, .. } = &self.of else { return Vec::new() };
        seeds(sides).into_iter().filter(|seed| seed.len() <= self.max_bytes).collect()
    }
}

/// Every target. Those of a dialect follow from the list of dialects.
pub static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
    let alone = ALONE.iter().map(|&(kind, run, rounds, max_bytes)| {
        let name = kind.to_owned();
        Target { name, kind, rounds, max_bytes, of: Of::Bytes(run) }
    });
    let of_dialects = dialect::all().flat_map(|sides| {
        let sides: &Sides = Box::leak(Box::new(sides));
        KINDS.into_iter().filter_map(move |(kind, run, seeds, is_of, rounds, max_bytes)| {
            let name = format!("{}_{kind}", sides.name());
            let of = Of::Dialect { run, seeds, sides };
            is_of(sides).then_some(Target { name, kind, rounds, max_bytes, of })
        })
    });
    alone.chain(of_dialects).collect()
});

/// A target of no package: its name, what it runs, and the rounds and the longest input of [`Target`].
type Alone = (&'static str, fn(&[u8]), u32, usize);

/// The targets that are of no dialect: name, run, rounds and longest input of each.
const ALONE: [Alone; 8] = [
    ("content_length", framing::content_length, 10_000, 8192),
    ("lines", framing::lines, 20_000, 2048),
    ("jsonrpc_parse", jsonrpc::parse, 20_000, 2048),
    ("jsonrpc_scan", jsonrpc::scan, 20_000, 2048),
    ("jsonrpc_compact", jsonrpc::compact, 20_000, 2048),
    ("http_response", http::response, 20_000, 2048),
    ("http_request", http::request, 1_000, 4096),
    ("session", session::session, 300, 4096),
];
