//! Guesses what a peer is, from its first bytes, if it does not speak the expected dialect. The guess is only shown to
//! people; nothing depends on it.

use super::ALL;

/// How many of the first bytes are kept of each direction.
pub const HEAD_BYTES: usize = 256;

/// First bytes that identify a kind of server. No entry is a prefix of another.
const KINDS: [(&[u8], &str); 10] = [
    (b"HTTP/", "an HTTP server"),
    // A server that takes our bytes for an HTTP/0.9 request answers without a status line.
    (b"<!DOCTYPE", "an HTTP server"),
    (b"<html", "an HTTP server"),
    (b"SSH-", "an SSH server"),
    (b"RFB ", "a VNC server"),
    (b"220", "a mail or FTP server"),
    (b"+OK", "a POP3 or Redis server"),
    (b"-ERR", "a POP3 or Redis server"),
    (b"\x15\x03", "a TLS server"),
    (b"\x16\x03", "a TLS server"),
];

/// Guesses the kind of server from the first bytes that it `said` after `sent` was sent to it. `None` if they match nothing
/// known.
pub fn kind(said: &[u8], sent: &[u8]) -> Option<&'static str> {
    let compared = said.len().min(sent.len());
    if compared >= 8 && said.get(..compared) == sent.get(..compared) {
        return Some("an echo server: it sends back what it is sent");
    }
    let of_a_package = ALL.iter().find_map(|dialect| dialect.recognizes(said));
    of_a_package.or_else(|| KINDS.iter().find(|(beginning, _)| said.starts_with(beginning)).map(|(_, kind)| *kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_servers_are_named_by_their_first_bytes() {
        let sent = b"Content-Length: 90\r\n\r\n{\"jsonrpc\":\"2.0\"";
        for (said, name) in [
            (&sent[..20], "echo"),
            (b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n", "an HTTP server"),
            (b"<!DOCTYPE HTML>\n<html", "an HTTP server"),
            (b"SSH-2.0-OpenSSH_9", "SSH"),
        ] {
            assert!(kind(said, sent).is_some_and(|kind| kind.contains(name)), "{name}");
        }
        for said in [&b""[..], b"{}", b"hello", b"Content", b"\xff\xff"] {
            assert_eq!(kind(said, sent), None, "{said:?}");
        }
    }
}
