//! The client's roots: the folders in which it works. They are a hint about which Unity project is meant.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::ROOTS_MAX;
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::text::percent_decoded;

/// The request for the client's roots, on one line. Only sent to a client that declared them.
pub fn roots_list_request(id: &RequestId) -> String {
    jsonrpc::request(id, "roots/list", None)
}

/// Returns the paths in an answer to `roots/list`: one for every root that is a `file:` URI, at most [`ROOTS_MAX`], in the
/// client's order. Unreadable entries are left out, because roots are only hints.
///
/// `file:///C:/x` and `file:///c%3A/x` (VS Code) become `C:/x` and `c:/x`, `file://server/share` becomes `//server/share`. A `%`
/// that does not begin a valid escape is kept, because not every client escapes it.
pub fn parse_roots(result: &RawValue) -> Vec<String> {
    #[derive(Deserialize)]
    struct Roots<'a> {
        #[serde(borrow)]
        roots: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Root {
        uri: String,
    }
    let Ok(Roots { roots }) = serde_json::from_str(result.get()) else {
        return Vec::new();
    };
    roots
        .into_iter()
        .filter_map(|root| serde_json::from_str::<Root>(root.get()).ok())
        .filter_map(|root| path_of(&root.uri))
        .take(ROOTS_MAX)
        .collect()
}

/// Returns the path in a `file:` URI (RFC 8089, and the other spellings that clients use); `None` for any other text.
fn path_of(uri: &str) -> Option<String> {
    let uri = uri.trim();
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        None => percent_decoded(rest)?,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (host, path) = (percent_decoded(host)?, percent_decoded(path)?);
            if host.is_empty() || host.eq_ignore_ascii_case("localhost") {
                path
            } else if is_drive(&host) {
                format!("{host}{path}")
            } else {
                format!("//{host}{path}")
            }
        }
    };
    if path.contains('\0') {
        return None;
    }
    let path = match path.strip_prefix('/') {
        Some(tail)
            if tail.get(..2).is_some_and(is_drive) && matches!(tail.as_bytes().get(2), None | Some(b'/' | b'\\')) =>
        {
            tail
        }
        _ => path.as_str(),
    };
    let absolute = path.starts_with('/') || path.get(..2).is_some_and(is_drive);
    absolute.then(|| without_last_slash(path))
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

/// Removes the trailing slash from a folder's path. The root of a file system or of a drive keeps its slash.
fn without_last_slash(path: &str) -> String {
    let short = path.trim_end_matches('/');
    if short.is_empty() || is_drive(short) { format!("{short}/") } else { short.to_owned() }
}
