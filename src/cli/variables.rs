//! The settings in the environment: the user's folders, the state folder, and addresses that only a variable names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::config::file::Places;
use crate::platform::host::System;
use crate::protocol::dialect::Companion;
use crate::protocol::text::clean;

/// Parses `AI_LOGGER_URL` into the address of the logger.
///
/// # Errors
/// The URL is not a plain http address on loopback. The text names the fix.
pub(super) fn logger_address(url: &str) -> Result<SocketAddr, String> {
    let rest = url.trim().strip_prefix("http://").map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    let address = rest.and_then(|authority| {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse::<u16>().ok().filter(|port| *port > 0)?),
            // Without a port, the default port of http is used.
            _ => (authority, 80),
        };
        let ip = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(six) => IpAddr::V6(six.parse().ok()?),
            None if host.eq_ignore_ascii_case("localhost") => Ipv4Addr::LOCALHOST.into(),
            None => IpAddr::V4(host.parse().ok()?),
        };
        ip.is_loopback().then_some(SocketAddr::from((ip, port)))
    });
    address.ok_or_else(|| {
        format!(
            "AI_LOGGER_URL is \"{}\", which is no plain http address of this machine, and so --logger takes no logs: holdfast \
             listens on loopback only, and sends logs nowhere. Set it to http://127.0.0.1:{}, or remove it",
            clean(url),
            Companion::Logger.port()
        )
    })
}

/// Whether a host name or address, as people write it, means this machine's loopback interface.
pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the value of a variable; `None` if it is not set, or is empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the folders of the user's configuration. They come from variables that clients pass on even when they clear the
/// environment.
pub(super) fn places(system: System, variable: impl Fn(&str) -> Option<String>) -> Places {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| system.is_absolute(path));
    let home = match system {
        System::Windows => folder("USERPROFILE").or_else(|| folder("HOME")),
        System::Linux | System::Macos => folder("HOME"),
    };
    let below = |path: &[&str]| home.as_ref().map(|home| home.join(path.iter().collect::<PathBuf>()));
    let config = match system {
        System::Windows => folder("APPDATA").or_else(|| below(&["AppData", "Roaming"])),
        System::Macos => below(&["Library", "Application Support"]),
        // XDG_CONFIG_HOME is not used: clients remove it from the environment, and a policy must not apply only when holdfast is
        // started in a shell.
        System::Linux => below(&[".config"]),
    };
    Places { config, home }
}

/// Returns the state folder. It comes from variables that clients pass on even when they clear the environment. Not every client
/// passes on LOCALAPPDATA.
pub(super) fn state_dir(system: System, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    // A relative folder would be another one for each working directory.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| system.is_absolute(path));
    let below = |home: &str, path: &[&str]| Some(folder(home)?.join(path.iter().collect::<PathBuf>()));
    match system {
        System::Windows => {
            let own = folder("LOCALAPPDATA").or_else(|| below("USERPROFILE", &["AppData", "Local"]));
            own.map(|own| own.join("holdfast"))
        }
        System::Macos => below("HOME", &["Library", "Application Support", "holdfast"]),
        System::Linux => below("HOME", &[".local", "state", "holdfast"]),
    }
}

/// Returns where Unity writes its log if nobody named another file.
pub(super) fn editor_log(system: System, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let (folder, rest) = match system {
        System::Windows => ("LOCALAPPDATA", "Unity/Editor/Editor.log"),
        System::Macos => ("HOME", "Library/Logs/Unity/Editor.log"),
        System::Linux => ("HOME", ".config/unity3d/Editor.log"),
    };
    let folder = variable(folder).map(PathBuf::from).filter(|path| system.is_absolute(path))?;
    Some(folder.join(rest))
}

/// Returns the folders of the user's profile: Windows makes them private to this user.
pub(super) fn profile_folders() -> Vec<PathBuf> {
    ["USERPROFILE", "LOCALAPPDATA", "APPDATA"].into_iter().filter_map(variable).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folders_follow_the_system_and_what_the_client_left_of_the_environment() {
        let plain = |path: Option<PathBuf>| path.map(|path| path.to_string_lossy().replace('\\', "/"));
        type Variables = &'static [(&'static str, &'static str)];
        let rows: [(System, Variables, Option<&str>, Option<&str>); 7] = [
            (System::Linux, &[("HOME", "/u")], Some("/u/.config"), Some("/u/.local/state/holdfast")),
            (
                System::Macos,
                &[("HOME", "/u")],
                Some("/u/Library/Application Support"),
                Some("/u/Library/Application Support/holdfast"),
            ),
            (
                System::Windows,
                &[("USERPROFILE", "C:\\u"), ("LOCALAPPDATA", "D:\\l"), ("APPDATA", "D:\\r")],
                Some("D:/r"),
                Some("D:/l/holdfast"),
            ),
            (
                System::Windows,
                &[("USERPROFILE", "C:\\u")],
                Some("C:/u/AppData/Roaming"),
                Some("C:/u/AppData/Local/holdfast"),
            ),
            (System::Windows, &[], None, None),
            (System::Linux, &[("LOCALAPPDATA", "/l")], None, None),
            (System::Linux, &[("HOME", "u")], None, None),
        ];
        for (system, variables, config, state) in rows {
            let of =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(plain(places(system, of).config).as_deref(), config, "{system:?} {variables:?}");
            assert_eq!(plain(state_dir(system, of)).as_deref(), state, "{system:?} {variables:?}");
        }
    }

    #[test]
    fn loopback_is_known_by_its_names() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", " 127.0.0.5 ", "::1", "[::1]"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["192.168.1.2", "0.0.0.0", "example.org", "", "localhost.example.org"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn the_logger_is_where_its_url_says_if_that_is_here() {
        for (url, meant) in [
            ("http://localhost:3030", "127.0.0.1:3030"),
            ("http://LOCALHOST:3030/", "127.0.0.1:3030"),
            ("http://127.0.0.1", "127.0.0.1:80"),
            (" http://127.0.0.2:1 ", "127.0.0.2:1"),
            ("http://[::1]:4000/", "[::1]:4000"),
            ("http://[::1]", "[::1]:80"),
        ] {
            assert_eq!(logger_address(url), Ok(meant.parse().unwrap()), "{url}");
        }
        for url in [
            "http://logs.example.org:3030",
            "http://192.168.1.2:3030",
            "http://0.0.0.0:3030",
            "https://localhost:3030",
            "http://user@localhost:3030",
            "http://localhost:3030/ai",
            "http://localhost:0",
            "http://localhost:",
            "http://localhost:99999",
            "http://::1:3030",
            "localhost:3030",
            "",
        ] {
            let complaint = logger_address(url).unwrap_err();
            assert!(complaint.contains("AI_LOGGER_URL") && complaint.contains("http://127.0.0.1:3030"), "{complaint}");
        }
    }
}
