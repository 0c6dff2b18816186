//! The client's roots: the folders in which it works. They are a hint about which Unity project is meant.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::{ROOT_SHOWN_MAX_BYTES, ROOTS_MAX};
use crate::protocol::jsonrpc::{self, RequestId};
use crate::protocol::text::{cut_with_ellipsis, percent_decoded};

/// The request for the client's roots, on one line. Only sent to a client that declared them.
pub fn roots_list_request(id: &RequestId) -> String {
    jsonrpc::request(id, "roots/list", None)
}

/// What an answer to `roots/list` names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedRoots {
    /// The folders, in the client's order. A text that can be read in two ways is here in both, the decoded path first.
    pub folders: Vec<String>,
    /// The beginnings of the roots that name no folder of a file system, as the client wrote them.
    pub others: Vec<String>,
}

/// Reads an answer to `roots/list`, at most [`ROOTS_MAX`] roots of it. Unreadable entries are left out, because roots are only
/// hints.
///
/// `file:///C:/x` and `file:///c%3A/x` (VS Code) become `C:/x` and `c:/x`, `file://server/share` becomes `//server/share`. A `%`
/// that does not begin a valid escape is kept, because not every client escapes it; for the same reason a path with valid escapes
/// is also taken as it is written. A path that is no URI is taken as a path. `vscode-remote://HOST/path` (older VS Code in WSL or over
/// SSH) is a path on the machine on which the editor's server runs, which is mostly this one.
pub fn parse_roots(result: &RawValue) -> NamedRoots {
    #[derive(Deserialize)]
    struct Roots<'a> {
        #[serde(borrow)]
        roots: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Root {
        uri: String,
    }
    let mut named = NamedRoots::default();
    let Ok(Roots { roots }) = serde_json::from_str(result.get()) else {
        return named;
    };
    let roots = roots.into_iter().filter_map(|root| serde_json::from_str::<Root>(root.get()).ok());
    for Root { uri } in roots.take(ROOTS_MAX) {
        let uri = uri.trim();
        match readings_of(uri) {
            readings if readings.is_empty() => named.others.push(cut_with_ellipsis(uri, ROOT_SHOWN_MAX_BYTES)),
            readings => named.folders.extend(readings),
        }
    }
    named
}

/// Returns the paths that a root may mean, the likeliest first.
fn readings_of(uri: &str) -> Vec<String> {
    if uri.contains('\0') {
        return Vec::new();
    }
    if is_absolute(uri) || uri.starts_with(r"\\") {
        return vec![without_last_slash(uri)];
    }
    let rest = |scheme: &str| {
        let (said, rest) = uri.split_once(':')?;
        said.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    if let Some(rest) = rest("file") {
        let as_written = || path_of(rest, |text| Some(text.to_owned()));
        let Some(decoded) = path_of(rest, percent_decoded) else { return Vec::new() };
        let second = as_written().filter(|written| *written != decoded);
        return [Some(decoded), second].into_iter().flatten().collect();
    }
    let remote = rest("vscode-remote").and_then(|rest| rest.strip_prefix("//"));
    let path = remote.and_then(|rest| path_of(rest.get(rest.find('/')?..)?, percent_decoded));
    path.into_iter().collect()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
        || path.get(..2).is_some_and(is_drive) && matches!(path.as_bytes().get(2), None | Some(b'/' | b'\\'))
}

/// Returns the path in what follows `file:` (RFC 8089, and the other spellings that clients use), with its parts decoded by `decode`;
/// `None` for any other text.
fn path_of(rest: &str, decode: impl Fn(&str) -> Option<String>) -> Option<String> {
    let path = match rest.strip_prefix("//") {
        None => decode(rest)?,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (host, path) = (decode(host)?, decode(path)?);
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
    let path = path.strip_prefix('/').filter(|tail| !tail.starts_with('/') && is_absolute(tail)).unwrap_or(&path);
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
