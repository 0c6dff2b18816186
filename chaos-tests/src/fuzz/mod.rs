//! Fuzz targets: one list, both for the quick run (`tests/fuzz.rs`) and for libFuzzer (`fuzz/`, `make fuzz`).
//!
//! A target accepts any bytes, and panics if the product breaks a promise for them. "Does not panic" is only the minimum:
//! each target compares the product with a simple model of its promise, or with itself on the same bytes in another split,
//! layout or order.

mod dialect;
pub mod framing;
pub mod holdfast;
pub mod http;
pub mod jsonrpc;
pub mod mutate;
pub mod session;
pub mod turbokettle;
pub mod uloop;
pub mod umcp;
pub mod unity_mcp;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target, and of its corpus's folder below `fuzz/corpus/`.
    pub name: &'static str,
    /// Panics if the product breaks a promise on these bytes.
    pub run: fn(&[u8]),
    /// Number of mutated inputs in the quick run: they take about a second in a debug build.
    pub rounds: u32,
    /// Longest input in bytes. Short inputs are enough here; other tests cover the limits for large messages.
    pub max_bytes: usize,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "content_length", run: framing::content_length, rounds: 10_000, max_bytes: 8192 },
    Target { name: "lines", run: framing::lines, rounds: 20_000, max_bytes: 2048 },
    Target { name: "jsonrpc_parse", run: jsonrpc::parse, rounds: 20_000, max_bytes: 2048 },
    Target { name: "jsonrpc_scan", run: jsonrpc::scan, rounds: 20_000, max_bytes: 2048 },
    Target { name: "jsonrpc_compact", run: jsonrpc::compact, rounds: 20_000, max_bytes: 2048 },
    Target { name: "uloop_decode", run: uloop::decode, rounds: 15_000, max_bytes: 4096 },
    Target { name: "uloop_tools", run: uloop::tools, rounds: 3_000, max_bytes: 8192 },
    Target { name: "uloop_project", run: uloop::project, rounds: 10_000, max_bytes: 4096 },
    Target { name: "uloop_push", run: uloop::push, rounds: 20_000, max_bytes: 2048 },
    Target { name: "uloop_result_file", run: uloop::result_file, rounds: 20_000, max_bytes: 4096 },
    Target { name: "uloop_call", run: uloop::call, rounds: 5_000, max_bytes: 4096 },
    Target { name: "holdfast_decode", run: holdfast::decode, rounds: 15_000, max_bytes: 4096 },
    Target { name: "holdfast_greeting", run: holdfast::greeting, rounds: 5_000, max_bytes: 2048 },
    Target { name: "holdfast_outcomes", run: holdfast::outcomes, rounds: 10_000, max_bytes: 4096 },
    Target { name: "holdfast_tools", run: holdfast::tools, rounds: 10_000, max_bytes: 8192 },
    Target { name: "holdfast_project", run: holdfast::project, rounds: 10_000, max_bytes: 4096 },
    Target { name: "holdfast_push", run: holdfast::push, rounds: 20_000, max_bytes: 2048 },
    Target { name: "holdfast_call", run: holdfast::call, rounds: 3_000, max_bytes: 4096 },
    Target { name: "http_response", run: http::response, rounds: 20_000, max_bytes: 2048 },
    Target { name: "http_request", run: http::request, rounds: 1_000, max_bytes: 4096 },
    Target { name: "turbokettle_decode", run: turbokettle::decode, rounds: 15_000, max_bytes: 4096 },
    Target { name: "turbokettle_tools", run: turbokettle::tools, rounds: 5_000, max_bytes: 8192 },
    Target { name: "turbokettle_project", run: turbokettle::project, rounds: 10_000, max_bytes: 4096 },
    Target { name: "turbokettle_call", run: turbokettle::call, rounds: 5_000, max_bytes: 4096 },
    Target { name: "umcp_decode", run: umcp::decode, rounds: 15_000, max_bytes: 4096 },
    Target { name: "umcp_tools", run: umcp::tools, rounds: 3_000, max_bytes: 8192 },
    Target { name: "umcp_project", run: umcp::project, rounds: 5_000, max_bytes: 4096 },
    Target { name: "umcp_call", run: umcp::call, rounds: 5_000, max_bytes: 8192 },
    Target { name: "unity_mcp_answer", run: unity_mcp::answer, rounds: 5_000, max_bytes: 4096 },
    Target { name: "unity_mcp_decode", run: unity_mcp::decode, rounds: 10_000, max_bytes: 4096 },
    Target { name: "unity_mcp_project", run: unity_mcp::project, rounds: 10_000, max_bytes: 4096 },
    Target { name: "unity_mcp_call", run: unity_mcp::call, rounds: 10_000, max_bytes: 4096 },
    Target { name: "session", run: session::session, rounds: 300, max_bytes: 4096 },
];

/// Separates the fields of an input that has several. JSON does not permit this byte anywhere, and a text editor shows it.
pub const SEPARATOR: u8 = 0x1e;

/// Splits an input into its fields. Missing fields are empty.
fn fields<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut all = input.splitn(N, |byte| *byte == SEPARATOR);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}
