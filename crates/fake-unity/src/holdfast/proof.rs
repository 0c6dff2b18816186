//! Computes the proofs by which each side shows that it knows the token. The token itself is never sent.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Returns the proof that the editor sends. `challenges` are the gateway's and the editor's.
pub(crate) fn of_editor(token: &str, challenges: [&str; 2], nonce: &str, pid: u32, project: &str, port: u16) -> String {
    let [gateways, editors] = challenges;
    mac(token, &["holdfast 2 editor", gateways, editors, nonce, &pid.to_string(), project, &port.to_string()])
}

/// Returns the proof that the gateway sends. `challenges` are the editor's and the gateway's.
pub(crate) fn of_gateway(token: &str, challenges: [&str; 2], nonce: &str, gateway: &str, port: u16) -> String {
    let [editors, gateways] = challenges;
    mac(token, &["holdfast 2 gateway", editors, gateways, nonce, gateway, &port.to_string()])
}

/// Returns the first 16 hexadecimal digits of the text's SHA-256 hash.
pub(crate) fn fingerprint(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text.as_bytes()));
    digits.truncate(16);
    digits
}

fn mac(token: &str, lines: &[&str]) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token.as_bytes()) else { return String::new() };
    mac.update(lines.join("\n").as_bytes());
    hex(&mac.finalize().into_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
