//! The clients, as their documentation describes them. Written here a second time, so that a mistake in the program's own table
//! is found.

use serde_json::{Value, json};

/// The facts about one client.
pub struct Case {
    pub client: &'static str,
    /// The client's file on this system, below the home.
    pub file: &'static str,
    /// The folder that shows that the client is installed.
    pub folder: &'static str,
    /// The client's file in a project, if it has one.
    pub project: Option<&'static str>,
    /// The key of the map of servers.
    pub key: &'static str,
    /// The entry, with placeholders: PROGRAM; ARGS, the arguments as a list; MORE, the same arguments, each after a comma.
    entry: &'static str,
    pub content: &'static str,
    /// Whether the content has servers that the user added.
    pub has_servers: bool,
}

impl Case {
    /// Our entry in a file whose parsed content is `meaning`.
    pub fn entry<'v>(&self, meaning: &'v Value) -> Option<&'v Value> {
        meaning.get(self.key)?.get("holdfast")
    }

    /// The entry that a file should have.
    pub fn expected(&self, program: &str, args: &[&str]) -> Value {
        let list: Vec<String> = args.iter().map(|arg| json!(arg).to_string()).collect();
        let more: String = list.iter().map(|arg| format!(",{arg}")).collect();
        let text = self.entry.replace("PROGRAM", &json!(program).to_string());
        let text = text.replace("ARGS", &format!("[{}]", list.join(","))).replace("MORE", &more);
        serde_json::from_str(&text).expect("the table holds JSON")
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/setup/", $name))
    };
}

/// The value for this system.
const fn on(linux: &'static str, macos: &'static str, windows: &'static str) -> &'static str {
    if cfg!(windows) {
        windows
    } else if cfg!(target_os = "macos") {
        macos
    } else {
        linux
    }
}

const PLAIN: &str = r#"{"command":PROGRAM,"args":ARGS}"#;
const STDIO: &str = r#"{"type":"stdio","command":PROGRAM,"args":ARGS}"#;

pub const CASES: &[Case] = &[
    Case {
        client: "claude-code",
        file: ".claude.json",
        folder: ".claude",
        project: Some(".mcp.json"),
        key: "mcpServers",
        entry: STDIO,
        content: fixture!("claude-code.json"),
        has_servers: true,
    },
    Case {
        client: "claude-desktop",
        file: on(
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        folder: on(".config/Claude", "Library/Application Support/Claude", "AppData/Roaming/Claude"),
        project: None,
        key: "mcpServers",
        entry: PLAIN,
        content: fixture!("claude-desktop.json"),
        has_servers: true,
    },
    Case {
        client: "cursor",
        file: ".cursor/mcp.json",
        folder: ".cursor",
        project: Some(".cursor/mcp.json"),
        key: "mcpServers",
        entry: STDIO,
        content: fixture!("cursor.json"),
        has_servers: true,
    },
    Case {
        client: "vscode",
        file: on(
            ".config/Code/User/mcp.json",
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
        ),
        folder: on(".config/Code/User", "Library/Application Support/Code/User", "AppData/Roaming/Code/User"),
        project: Some(".vscode/mcp.json"),
        key: "servers",
        entry: STDIO,
        content: fixture!("vscode.json"),
        has_servers: true,
    },
    Case {
        client: "copilot-cli",
        file: ".copilot/mcp-config.json",
        folder: ".copilot",
        project: Some(".github/mcp.json"),
        key: "mcpServers",
        entry: r#"{"type":"local","command":PROGRAM,"args":ARGS,"tools":["*"]}"#,
        content: fixture!("copilot-cli.json"),
        has_servers: true,
    },
    Case {
        client: "codex",
        file: ".codex/config.toml",
        folder: ".codex",
        project: Some(".codex/config.toml"),
        key: "mcp_servers",
        entry: PLAIN,
        content: fixture!("codex.toml"),
        has_servers: true,
    },
    Case {
        client: "gemini",
        file: ".gemini/settings.json",
        folder: ".gemini",
        project: Some(".gemini/settings.json"),
        key: "mcpServers",
        entry: PLAIN,
        content: fixture!("gemini.json"),
        has_servers: true,
    },
    Case {
        client: "windsurf",
        file: ".codeium/windsurf/mcp_config.json",
        folder: ".codeium/windsurf",
        project: None,
        key: "mcpServers",
        entry: PLAIN,
        content: fixture!("windsurf.json"),
        has_servers: false,
    },
    Case {
        client: "cline",
        file: ".cline/data/settings/cline_mcp_settings.json",
        folder: ".cline",
        project: None,
        key: "mcpServers",
        entry: r#"{"type":"stdio","command":PROGRAM,"args":ARGS,"disabled":false}"#,
        content: fixture!("cline.json"),
        has_servers: true,
    },
    Case {
        client: "zed",
        file: on(".config/zed/settings.json", ".config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
        folder: on(".config/zed", ".config/zed", "AppData/Roaming/Zed"),
        project: Some(".zed/settings.json"),
        key: "context_servers",
        entry: PLAIN,
        content: fixture!("zed.json"),
        has_servers: false,
    },
    Case {
        client: "opencode",
        file: ".config/opencode/opencode.json",
        folder: ".config/opencode",
        project: Some("opencode.json"),
        key: "mcp",
        entry: r#"{"type":"local","command":[PROGRAMMORE],"enabled":true}"#,
        content: fixture!("opencode.json"),
        has_servers: true,
    },
    Case {
        client: "goose",
        file: on(
            ".config/goose/config.yaml",
            ".config/goose/config.yaml",
            "AppData/Roaming/Block/goose/config/config.yaml",
        ),
        folder: on(".config/goose", ".config/goose", "AppData/Roaming/Block/goose"),
        project: None,
        key: "extensions",
        entry: r#"{"name":"holdfast","type":"stdio","enabled":true,"cmd":PROGRAM,"args":ARGS,"timeout":300}"#,
        content: fixture!("goose.yaml"),
        has_servers: true,
    },
    Case {
        client: "amp",
        file: ".config/amp/settings.json",
        folder: ".config/amp",
        project: Some(".amp/settings.json"),
        key: "amp.mcpServers",
        entry: PLAIN,
        content: fixture!("amp.json"),
        has_servers: true,
    },
    Case {
        client: "junie",
        file: ".junie/mcp/mcp.json",
        folder: ".junie",
        project: Some(".junie/mcp/mcp.json"),
        key: "mcpServers",
        entry: PLAIN,
        content: fixture!("junie.json"),
        has_servers: true,
    },
    Case {
        client: "kiro",
        file: ".kiro/settings/mcp.json",
        folder: ".kiro",
        project: Some(".kiro/settings/mcp.json"),
        key: "mcpServers",
        entry: r#"{"command":PROGRAM,"args":ARGS,"disabled":false}"#,
        content: fixture!("kiro.json"),
        has_servers: true,
    },
    Case {
        client: "rider",
        file: on(
            ".config/github-copilot/intellij/mcp.json",
            ".config/github-copilot/intellij/mcp.json",
            "AppData/Local/github-copilot/intellij/mcp.json",
        ),
        folder: on(
            ".config/github-copilot/intellij",
            ".config/github-copilot/intellij",
            "AppData/Local/github-copilot/intellij",
        ),
        project: None,
        key: "servers",
        entry: STDIO,
        content: fixture!("rider.json"),
        has_servers: false,
    },
];

/// The row of a client in `setup --list --json`.
pub fn row<'v>(listed: &'v Value, client: &str) -> &'v Value {
    let rows = listed["clients"].as_array().expect("a list");
    rows.iter().find(|row| row["client"] == client).unwrap_or_else(|| panic!("no {client} in {listed:#}"))
}

/// Returns the text with a comment and a field added to our entry, as a user or the client could have done.
pub fn with_a_users_field(case: &Case, text: &str) -> String {
    let eol = "\n";
    let (marks, field): (&[&str], String) = match case.file.rsplit('.').next() {
        Some("toml") => (&["[mcp_servers.holdfast]"], format!("{eol}tool_timeout_sec = 900 # long builds")),
        Some("yaml") => (&["  holdfast:"], format!("{eol}    available_tools: [] # all")),
        _ => (&["\"holdfast\": {", "\"holdfast\":{"], "\"alwaysAllow\": [\"compile\"], /* mine */ ".to_owned()),
    };
    let mark = marks.iter().find(|mark| text.contains(**mark)).unwrap_or_else(|| panic!("no entry in {text}"));
    text.replacen(*mark, &format!("{mark}{field}"), 1)
}
