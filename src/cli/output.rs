//! The only place that prints for people on stdout. `serve` never calls it: there, stdout is for MCP alone.

use std::io::Write as _;

/// Prints a line. A reader that went away (`| head`) is no error.
pub fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}");
    let _ = out.flush();
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Says something on stderr.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
