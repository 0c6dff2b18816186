//! What a person does with a client and its servers every day: add one, see its log, start it again, share it with a team. Only
//! the pages show these facts. A fact without a source is left out: it is then unknown.

use crate::protocol::mcp::clients::Evidence::{self, Documents, Users};

/// A fact with its evidence and the place where it was found.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// The fact, in Markdown.
    pub says: &'static str,
    /// How it is known.
    pub evidence: Evidence,
    /// Where it was found.
    pub from: &'static str,
}

/// The facts about one client.
#[derive(Debug, Clone, Copy)]
pub struct Everyday {
    /// The client's label in the table of clients.
    pub label: &'static str,
    /// The client's own command that adds a server.
    pub command: Option<Told>,
    /// A link that adds holdfast with one click, if `holdfast` is on the PATH of the client.
    pub link: Option<Told>,
    /// Where the client shows or keeps what a server writes to stderr.
    pub log: Option<Told>,
    /// How a server is started again.
    pub restart: Option<Told>,
    /// How a team shares the entry.
    pub share: Option<Told>,
}

const fn told(says: &'static str, evidence: Evidence, from: &'static str) -> Option<Told> {
    Some(Told { says, evidence, from })
}

impl Everyday {
    const fn of(label: &'static str) -> Self {
        Self { label, command: None, link: None, log: None, restart: None, share: None }
    }
}

/// Every client of which something of this kind is known.
pub const EVERYDAY: &[Everyday] = &[
    Everyday {
        command: told("`claude mcp add --scope user holdfast -- holdfast`", Documents, "code.claude.com/docs/en/mcp"),
        log: told(
            "`claude --debug` shows them; on macOS they are also below `~/Library/Caches/claude-cli-nodejs/PROJECT/`, in a folder \
             `mcp-logs-holdfast`",
            Users,
            "anthropics/claude-code#72, #69427",
        ),
        restart: told("`/mcp`, choose holdfast, *Reconnect*", Users, "anthropics/claude-code#34744"),
        share: told("commit `.mcp.json`; each user approves it once", Documents, "code.claude.com/docs/en/mcp"),
        ..Everyday::of("claude_code")
    },
    Everyday {
        log: told(
            "macOS: `~/Library/Logs/Claude/mcp-server-holdfast.log`; Windows: `%APPDATA%\\Claude\\logs`, in newer versions \
             `%LOCALAPPDATA%\\Claude\\Logs`",
            Users,
            "modelcontextprotocol.io/docs/tools/debugging (macOS), wonderwhy-er/DesktopCommanderMCP#656 (Windows)",
        ),
        restart: told("quit Claude Desktop and open it again", Documents, "modelcontextprotocol.io/docs"),
        ..Everyday::of("claude_desktop")
    },
    Everyday {
        link: told(
            "[Add to Cursor](https://cursor.com/en/install-mcp?name=holdfast&config=eyJjb21tYW5kIjoiaG9sZGZhc3QifQ%3D%3D), or paste \
             `cursor://anysphere.cursor-deeplink/mcp/install?name=holdfast&config=eyJjb21tYW5kIjoiaG9sZGZhc3QifQ==`",
            Documents,
            "cursor.com/docs/mcp/install-links; the web address is the one that other servers publish",
        ),
        log: told(
            "the *Output* panel (Ctrl+Shift+U, Cmd+Shift+U), *MCP Logs*",
            Documents,
            "cursor.com/docs/context/mcp",
        ),
        restart: told(
            "switch the server off and on in Cursor Settings > MCP",
            Documents,
            "cursor.com/docs/context/mcp",
        ),
        share: told("commit `.cursor/mcp.json`", Documents, "cursor.com/docs/context/mcp"),
        ..Everyday::of("cursor")
    },
    Everyday {
        command: told(
            "`code --add-mcp '{\"name\":\"holdfast\",\"command\":\"holdfast\"}'`",
            Documents,
            "code.visualstudio.com/docs/copilot/customization/mcp-servers",
        ),
        link: told(
            "[Add to VS Code](https://insiders.vscode.dev/redirect/mcp/install?name=holdfast&config=%7B%22command%22%3A%22holdfast%22%7D)",
            Users,
            "github/github-mcp-server and other servers publish links of this form",
        ),
        log: told(
            "`MCP: List Servers` in the command palette, holdfast, *Show Output*",
            Documents,
            "code.visualstudio.com/docs/copilot/customization/mcp-servers",
        ),
        restart: told(
            "`MCP: List Servers`, holdfast, and the action there; or above the entry in the open `mcp.json`",
            Documents,
            "code.visualstudio.com/docs/copilot/customization/mcp-servers",
        ),
        share: told(
            "commit `.vscode/mcp.json`",
            Documents,
            "code.visualstudio.com/docs/copilot/customization/mcp-servers",
        ),
        ..Everyday::of("vscode")
    },
    Everyday {
        command: told(
            "`/mcp add` in a session opens a form",
            Documents,
            "docs.github.com/en/copilot, adding MCP servers for Copilot CLI",
        ),
        log: told(
            "`~/.copilot/logs/`, unless `--log-dir` says otherwise",
            Users,
            "`copilot --help`, as quoted by users",
        ),
        ..Everyday::of("copilot_cli")
    },
    Everyday {
        command: told("`codex mcp add holdfast -- holdfast`", Documents, "developers.openai.com/codex/mcp"),
        log: told(
            "in newer versions the table `logs` of `~/.codex/logs_2.sqlite`",
            Users,
            "SpartanLabsXyz/simmer-sdk#328",
        ),
        restart: told("start a new session", Documents, "developers.openai.com/codex/mcp"),
        share: told(
            "commit `.codex/config.toml`; it counts only where Codex trusts the project",
            Documents,
            "developers.openai.com/codex/mcp",
        ),
        ..Everyday::of("codex")
    },
    Everyday {
        command: told(
            "`gemini mcp add --scope user holdfast holdfast`",
            Documents,
            "geminicli.com/docs/tools/mcp-server",
        ),
        log: told(
            "`gemini --debug` shows what a server writes to stderr",
            Documents,
            "docs/tools/mcp-server.md of google-gemini/gemini-cli",
        ),
        restart: told("start a new session", Documents, "geminicli.com/docs/tools/mcp-server"),
        share: told("commit `.gemini/settings.json`", Documents, "geminicli.com/docs/tools/mcp-server"),
        ..Everyday::of("gemini")
    },
    Everyday {
        restart: told("*Refresh* in the MCP settings", Documents, "docs.windsurf.com, plugins/cascade/mcp"),
        ..Everyday::of("windsurf")
    },
    Everyday {
        restart: told(
            "the *MCP Servers* icon, holdfast, *Restart Server*",
            Documents,
            "docs.cline.bot/mcp/configuring-mcp-servers",
        ),
        ..Everyday::of("cline")
    },
    Everyday {
        log: told("`zed: open log` in the command palette", Users, "documents of Zed extensions"),
        share: told("commit `.zed/settings.json`", Documents, "zed.dev/docs/configuring-zed"),
        ..Everyday::of("zed")
    },
    Everyday {
        command: told("`opencode mcp add` asks for the details", Documents, "opencode.ai/docs/mcp-servers"),
        log: told(
            "`~/.local/share/opencode/log/` (Windows: `%USERPROFILE%\\.local\\share\\opencode\\log`)",
            Documents,
            "opencode.ai/docs/troubleshooting",
        ),
        restart: told("restart opencode", Documents, "opencode.ai/docs/mcp-servers"),
        share: told("commit `opencode.json`", Documents, "opencode.ai/docs/mcp-servers"),
        ..Everyday::of("opencode")
    },
    Everyday {
        command: told(
            "`goose configure`, *Add Extension*, *Command-line Extension*",
            Documents,
            "block.github.io/goose/docs/getting-started/using-extensions",
        ),
        link: told(
            "paste `goose://extension?cmd=holdfast&id=holdfast&name=holdfast&description=Unity` into a browser (Goose Desktop)",
            Documents,
            "tutorials of block.github.io/goose/docs, which have links of this form",
        ),
        log: told(
            "`~/.local/state/goose/logs/` (Windows: `%APPDATA%\\Block\\goose\\data\\logs`)",
            Documents,
            "block.github.io/goose/docs/guides/logs",
        ),
        restart: told("start a new session", Documents, "block.github.io/goose/docs"),
        ..Everyday::of("goose")
    },
    Everyday {
        command: told(
            "`amp mcp add holdfast -- holdfast`",
            Users,
            "documents of other servers, and the examples of hex.pm/packages/amp_sdk",
        ),
        log: told("`~/.cache/amp/logs/cli.log`", Users, "`amp --help`, as quoted by users"),
        share: told(
            "commit `.amp/settings.json`; each user approves it once (`amp mcp approve holdfast`)",
            Users,
            "the examples of hex.pm/packages/amp_sdk",
        ),
        ..Everyday::of("amp")
    },
    Everyday {
        command: told(
            "`kiro-cli mcp add --name holdfast --command holdfast --scope global`",
            Users,
            "notes of users of Kiro CLI",
        ),
        link: told(
            "[Add to Kiro](https://kiro.dev/launch/mcp/add?name=holdfast&config=%7B%22command%22%3A%22holdfast%22%7D)",
            Documents,
            "kiro.dev/docs/mcp/share",
        ),
        log: told("the Kiro panel, *Output*, *Kiro - MCP Logs*", Documents, "kiro.dev/docs/mcp/security"),
        share: told("commit `.kiro/settings/mcp.json`", Documents, "kiro.dev/docs/mcp/configuration"),
        ..Everyday::of("kiro")
    },
    Everyday {
        share: told(
            "the entry's level in the settings can be the current project",
            Documents,
            "jetbrains.com/help/ai-assistant/mcp.html",
        ),
        ..Everyday::of("ai_assistant")
    },
];
