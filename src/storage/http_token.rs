//! The token with which clients of MCP over HTTP prove that they may use the hub. It is in a file that only its user can read.

use std::path::{Path, PathBuf};

use crate::limits::http::{HTTP_TOKEN_MAX_BYTES, HTTP_TOKEN_MIN_BYTES};
use crate::platform::filesystem;
use crate::platform::host::Host;

/// Returns the path of the hub's own token.
pub fn path_in(state: &Path) -> PathBuf {
    state.join("http_token")
}

/// Reads the hub's own token. Makes one if there is none.
///
/// # Errors
/// Why there is no token, with the fix.
pub fn own(host: &dyn Host, state: &Path) -> Result<String, String> {
    let path = path_in(state);
    if host.exists(&path) {
        return read(host, &path);
    }
    let secret = host.secret().map_err(|error| {
        format!(
            "no token for HTTP can be made: the system gives no random bytes that nobody can guess ({error}). Name a token of yours \
             with --http-token-file"
        )
    })?;
    let token: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    host.write(&path, format!("{token}\n").as_bytes())
        .map_err(|error| format!("the token for HTTP cannot be written to {}: {error}", path.display()))?;
    Ok(token)
}

/// Reads a token from a file.
///
/// # Errors
/// Why the file has none, with the fix. The error has nothing of the token.
pub fn read(host: &dyn Host, path: &Path) -> Result<String, String> {
    let shown = path.display();
    if filesystem::others_may_read(path) {
        return Err(format!("others may read the token in {shown}: make it private with chmod 600 {shown}"));
    }
    let bytes = host
        .read(path, HTTP_TOKEN_MAX_BYTES + 2)
        .map_err(|error| format!("the token for HTTP in {shown} cannot be read: {error}"))?;
    usable(&String::from_utf8(bytes).unwrap_or_default(), &shown)
}

/// Returns the token in a text. `of`: where the text comes from.
///
/// # Errors
/// Why the text is no token, with the fix. The error has nothing of the text.
pub fn usable(text: &str, of: &dyn std::fmt::Display) -> Result<String, String> {
    let token = text.trim_end_matches(['\r', '\n']);
    let is_usable = (HTTP_TOKEN_MIN_BYTES..=HTTP_TOKEN_MAX_BYTES).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_usable {
        return Err(format!(
            "{of} has no usable token for HTTP: it must be one line of {HTTP_TOKEN_MIN_BYTES} to {HTTP_TOKEN_MAX_BYTES} visible \
             ASCII characters, as from openssl rand -hex 32"
        ));
    }
    Ok(token.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::platform::host::RealHost;

    #[test]
    fn a_token_is_made_once_and_is_private() {
        let state = tempfile::tempdir().unwrap();
        let made = own(&RealHost, state.path()).unwrap();
        assert_eq!(made.len(), 64);
        assert_eq!(own(&RealHost, state.path()), Ok(made.clone()));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(own(&RealHost, other.path()), Ok(made));
        let mode = std::fs::metadata(path_in(state.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_others_may_read_or_that_has_no_token_is_refused_without_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let write = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&RealHost, &path)
        };
        let token = "secret-secret-secret";
        assert_eq!(write(&format!("{token}\r\n"), 0o600).as_deref(), Ok(token));
        assert_eq!(write(token, 0o400).as_deref(), Ok(token));
        let long = "x".repeat(HTTP_TOKEN_MAX_BYTES + 1);
        let bad = [
            (token, 0o640),
            (token, 0o604),
            ("secret", 0o600),
            ("secret secret secret", 0o600),
            ("", 0o600),
            (&*long, 0o600),
        ];
        for (text, mode) in bad {
            let why = write(text, mode).unwrap_err();
            assert!(why.contains(&path.display().to_string()) && !why.contains("secret"), "{why}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read(&RealHost, &link).unwrap_err().contains("link"));
        assert!(read(&RealHost, &folder.path().join("missing")).is_err());
    }
}
