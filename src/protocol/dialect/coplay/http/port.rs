//! The port of the package's own server, and how a user frees it.

/// What the command line of the package's own server has in it, under each of its names.
const OWN_SERVER: [&str; 3] = ["mcp-for-unity", "mcp_for_unity", "mcpforunity"];

/// Says what a user can do if a program with this command line has the port.
pub(super) fn frees(command_line: &[String]) -> &'static str {
    let is_own = |word: &String| OWN_SERVER.iter().any(|name| word.to_ascii_lowercase().contains(name));
    if command_line.iter().any(is_own) {
        "it is the server that the package starts, which holdfast replaces: stop it in Unity's window MCP for Unity, or end it, and remove \
         it from the configurations of your AI clients. Then press Connect in that window; or choose the transport Stdio in that window"
    } else {
        "end it, or set another port in the HTTP URL of Unity's window MCP for Unity and name that one here (--port), or choose the \
         transport Stdio in that window"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_own_server_is_told_apart() {
        let fix = |words: &[&str]| frees(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        for word in ["/home/me/.cache/uv/bin/mcp-for-unity", "C:\\MCPForUnity\\server.py", "mcp_for_unity.main"] {
            assert!(fix(&["python3", word, "--transport", "http"]).contains("which holdfast replaces"), "{word}");
        }
        assert!(fix(&["node", "server.js"]).contains("HTTP URL"));
        assert!(fix(&[]).contains("HTTP URL"));
    }
}
