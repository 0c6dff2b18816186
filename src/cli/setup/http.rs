//! `holdfast setup CLIENT --http`: the URL and the token in an entry.

use std::path::{Path, PathBuf};

use holdfast_client_config::{Client, Endpoint, Http, Token};

use super::arguments::Shared;
use super::standing::title;
use crate::cli::variables::variable;
use crate::cli::{Exit, complete};
use crate::platform::host::RealHost;
use crate::services::mcp::{HostName, is_loopback};
use crate::storage::http_token;
use crate::storage::hub_folder::HubFolder;

pub const TOKEN_VARIABLE: &str = "HOLDFAST_HTTP_TOKEN";

pub(super) struct OverHttp {
    url: String,
    /// The file with the token of this machine's hub, if that hub is meant.
    token_file: Option<PathBuf>,
}

impl OverHttp {
    /// `named`: the URL that the user gave. `project`: the project that the entry is for.
    pub fn of(named: Option<&str>, project: Option<&Path>, shared: Option<Shared>) -> Result<Self, (Exit, String)> {
        if shared.is_some_and(|shared| shared != Shared::Path) {
            return Err((Exit::Usage, "--http starts no program: use --shared without npx and uvx".to_owned()));
        }
        let state = complete::state();
        let hub = state.as_deref().and_then(|state| HubFolder::of(state).running());
        let served = || hub.as_ref()?.http.clone();
        let url = named.map(str::to_owned).or_else(served).ok_or_else(|| {
            let why = "no hub serves HTTP here. Start one, as in `holdfast hub --http 127.0.0.1:8787`, or name its URL, as in \
                       --http=http://127.0.0.1:8787";
            (Exit::Failed, why.to_owned())
        })?;
        let url = Url::of(&url).map_err(|why| (Exit::Usage, why))?;
        let of_hub = hub.filter(|hub| hub.serves(url.origin)).and_then(|hub| hub.http_token_file);
        let of_state = || state.filter(|_| is_loopback(url.host)).map(|state| http_token::path_in(&state));
        let token_file = of_hub.or_else(of_state);
        let whose = match (project, shared) {
            // A team cannot use a path of this machine.
            (Some(project), Some(_)) => project.file_name().map(|name| name.to_string_lossy().into_owned()),
            (Some(project), None) => Some(project.display().to_string()),
            (None, _) => None,
        };
        let url = match (url.path, whose) {
            ("" | "/" | "/mcp" | "/mcp/", Some(project)) => format!("{}/mcp/{}", url.origin, encoded(&project)),
            ("" | "/", None) => format!("{}/mcp", url.origin),
            (path, _) => format!("{}{path}", url.origin),
        };
        Ok(Self { url, token_file })
    }

    /// Returns the URL and token of a client's entry. `in_project`: the entry is in a file of the project, which a team
    /// may commit.
    pub fn endpoint(&self, client: &Client, in_project: bool) -> Result<Endpoint, (Exit, String)> {
        let (title, name) = (title(client), client.name);
        let remote = match &client.http {
            Http::Takes(remote) => remote,
            Http::Lacks(why) => {
                let why = format!("{title} {why}. It can start holdfast instead: `holdfast setup {name}`");
                return Err((Exit::Failed, why));
            }
        };
        let url = self.url.clone();
        if remote.reads_variables() {
            return Ok(Endpoint { url, token: Token::Variable(TOKEN_VARIABLE.to_owned()) });
        }
        if in_project {
            let why = format!(
                "{title} is not known to take the token from an environment variable, so it would be in a file of the project, which may \
                 be committed. Everybody runs `holdfast setup {name} --http`, which writes their own file"
            );
            return Err((Exit::Failed, why));
        }
        Ok(Endpoint { url, token: Token::Text(self.token(title)?) })
    }

    fn token(&self, title: &str) -> Result<String, (Exit, String)> {
        if let Some(token) = variable(TOKEN_VARIABLE) {
            return http_token::usable(&token, &TOKEN_VARIABLE).map_err(|why| (Exit::Failed, why));
        }
        let needs = format!(
            "{title} is not known to take the token from an environment variable, so its file needs the token itself. Set \
             {TOKEN_VARIABLE} to it and run this again"
        );
        let Some(file) = &self.token_file else { return Err((Exit::Failed, needs)) };
        if !file.exists() {
            return Err((Exit::Failed, format!("{needs}; or start the hub first, which makes {}", file.display())));
        }
        http_token::read(&RealHost, file).map_err(|why| (Exit::Failed, why))
    }

    pub fn how(&self, token: &Token) -> String {
        let Token::Variable(name) = token else {
            return "is in the client's file: keep that file to yourself".to_owned();
        };
        let file = self.token_file.as_ref().map_or_else(|| "FILE".to_owned(), |file| file.display().to_string());
        let set = if cfg!(windows) {
            format!("setx {name} (the text in {file}), and start the client again")
        } else {
            format!("export {name}=\"$(cat '{file}')\"")
        };
        format!("is taken from the environment variable {name}, which the client must be started with: {set}")
    }
}

struct Url<'a> {
    origin: &'a str,
    host: &'a str,
    path: &'a str,
}

impl<'a> Url<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "--http={text}: name a URL without a query, as in http://127.0.0.1:8787 or https://mcp.example.com/mcp/Castle"
            )
        };
        let scheme = ["http://", "https://"].into_iter().find(|scheme| text.starts_with(scheme)).ok_or_else(wrong)?;
        let end = text.get(scheme.len()..).and_then(|rest| rest.find('/')).map_or(text.len(), |at| scheme.len() + at);
        let (origin, path) = text.split_at(end);
        let host = origin.strip_prefix(scheme).unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\"\\<>{}$".contains(&byte);
        let has_endpoint = matches!(path, "" | "/") || path.split('/').any(|part| part == "mcp");
        if host.parse::<HostName>().is_err() || !path.bytes().all(is_plain) || !has_endpoint {
            return Err(wrong());
        }
        if scheme == "http://" && !is_loopback(host) {
            return Err(format!(
                "--http={text}: HTTP to another machine is not encrypted, and the token crosses the wire with each request. Put a proxy with \
                 TLS in front of the hub, and name its https URL"
            ));
        }
        Ok(Self { origin, host, path })
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let piece = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_hub_and_one_of_another_machine_is_encrypted() {
        for (text, origin, path) in [
            ("http://127.0.0.1:8787", "http://127.0.0.1:8787", ""),
            ("http://[::1]:80/mcp", "http://[::1]:80", "/mcp"),
            ("http://localhost:1/", "http://localhost:1", "/"),
            ("https://mcp.example.com/mcp/Castle", "https://mcp.example.com", "/mcp/Castle"),
        ] {
            let url = Url::of(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((url.origin, url.path), (origin, path), "{text}");
        }
        for (text, says) in [
            ("127.0.0.1:8787", "name a URL"),
            ("ftp://localhost", "name a URL"),
            ("http://", "name a URL"),
            ("http:///mcp", "name a URL"),
            ("https://a b/mcp", "name a URL"),
            ("https://mcp.example.com/mcp?a=${HOME}", "name a URL"),
            ("http://localhost:8787/mcp/${HOME}", "name a URL"),
            ("http://localhost:8787/sse", "name a URL"),
            ("http://mcp.example.com/mcp", "not encrypted"),
            ("http://127.0.0.1.evil.example/mcp", "not encrypted"),
        ] {
            let why = Url::of(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn a_project_is_one_segment_of_the_path() {
        assert_eq!(encoded("/home/me/A b%"), "%2Fhome%2Fme%2FA%20b%25");
        assert_eq!(encoded("C:\\Ö"), "C%3A%5C%C3%96");
    }
}
