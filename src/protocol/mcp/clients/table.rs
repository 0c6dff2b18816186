//! The table of clients, as of [`AS_OF`](super::AS_OF). A fact without a source is left out: it is then unknown.

use std::time::Duration;

use super::facts::Evidence::{Assumed, Documents, Measured, Registry, Source, Users};
use super::facts::Fact::Known;
use super::facts::Named::{Exactly, From};
use super::facts::TellsProject::{ByRoots, Never};
use super::facts::Wait::{Endless, For};
use super::facts::{Beyond, Client, Evidence, Fact, IMAGE_LIMIT_ASSUMED, ImageLimit, TextLimit, Wait};

const fn seconds(seconds: u64, evidence: Evidence) -> Fact<Wait> {
    Known(For(Duration::from_secs(seconds)), evidence)
}

const fn lost_beyond(bytes: usize, evidence: Evidence) -> Fact<TextLimit> {
    Known(TextLimit { bytes, beyond: Beyond::Lost }, evidence)
}

const fn kept_beyond(bytes: usize, evidence: Evidence) -> Fact<TextLimit> {
    Known(TextLimit { bytes, beyond: Beyond::Kept }, evidence)
}

/// The assumed fact that the client refuses alternatives; [`ASSUMED_FROM`](super::ASSUMED_FROM) has the reason. The error texts
/// of the APIs are in makenotion/notion-mcp-server#340.
const BY_ITS_MODELS: Fact<bool> = Known(true, Assumed);

/// How the official SDKs end a server.
const SDK_ENDS: &str = "stdin ends, SIGTERM after 2 s, SIGKILL after 2 s more";

/// All known clients.
pub(super) static CLIENTS: &[Client] = &[
    Client {
        names: &[Exactly("claude-code"), From("claude-code")],
        version: Known("2025-11-25", Source),
        patience: seconds(30 * 60, Documents),
        raised_by: Some(
            "`MCP_TIMEOUT` (milliseconds, in its environment) for the start, `timeout` (milliseconds) in the server's entry for a call, \
             which progress does not prolong",
        ),
        start: seconds(30, Documents),
        list_changed: Known(true, Documents),
        prefix: Known("mcp__holdfast__", Documents),
        full_name_max: Known(128, Documents),
        defers_tools: Known(true, Documents),
        description_max: Known(2048, Documents),
        text_max: kept_beyond(100_000, Documents),
        images: Known(true, Documents),
        image_limit: Known(IMAGE_LIMIT_ASSUMED, Users),
        refuses_alternatives: Known(true, Users),
        shutdown: Known(SDK_ENDS, Source),
        restart: Known(true, Documents),
        notes: &[
            "A call may run for hours; 30 minutes without an answer or progress end it, and after two minutes it goes on in the \
             background.",
            "A result may have 25 000 tokens (about four bytes each); MAX_MCP_OUTPUT_TOKENS raises that limit. Claude Code puts a longer \
             result into a file by itself, so holdfast does not cut it, and does not ask for more (`anthropic/maxResultSizeChars`): \
             a console of half a million characters helps no model.",
            "It silently drops a tool with `oneOf`, `anyOf` or `allOf` at the top of its schema \
             (anthropics/claude-code#95504).",
            "It decodes audio into a file, and gives the model the name of that file.",
            "It does not restart a stdio server that has ended.",
        ],
        own_command: Known("`claude mcp add --scope user holdfast -- holdfast`", Documents),
        log: Known(
            "`claude --debug` shows them; on macOS they are also below `~/Library/Caches/claude-cli-nodejs/PROJECT/`, in a folder \
             `mcp-logs-holdfast`",
            Users,
        ),
        again: Known("`/mcp`, choose holdfast, *Reconnect*", Users),
        share: Known("commit `.mcp.json`; each user approves it once", Documents),
        sources: "its changelog up to 2.1.240 (2.1.141 of May 2026 added CLAUDE_PROJECT_DIR, 2.1.154 CLAUDE_CODE_SESSION_ID, which 2.1.163 corrected for resumed sessions: anthropics/claude-code#63305 and #65497), code.claude.com/docs/en/mcp and /env-vars, opentokenz/mcpx#28, anthropics/claude-code#11181 and #5147 (images), anthropics/claude-code#72 and #69427 (log), #34744 (starting again)",
        project: Known(ByRoots, Documents),
        project_variable: Known("CLAUDE_PROJECT_DIR", Documents),
        session_variable: Known("CLAUDE_CODE_SESSION_ID", Documents),
        ..Client::unknown("claude_code", "Claude Code")
    },
    Client {
        names: &[Exactly("claude-ai"), From("claude-ai "), From("local-agent-mode-")],
        version: Known("2025-11-25", Measured),
        patience: seconds(60, Users),
        list_changed: Known(false, Users),
        images: Known(true, Documents),
        image_limit: Known(IMAGE_LIMIT_ASSUMED, Documents),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known("a helper of its own ends the process group", Measured),
        copies: Known(2, Measured),
        restart: Known(true, Documents),
        notes: &[
            "It starts two copies of a server at each launch, under two names, in the folder `/`. It does not say which project is open, \
             so the entry must name one (`holdfast setup claude-desktop --project DIR`).",
            "It waits 60 s for a call, and that cannot be changed. A longer call is answered \"still running\"; holdfast_result returns the \
             result later.",
        ],
        log: Known(
            "macOS: `~/Library/Logs/Claude/mcp-server-holdfast.log`; Windows: `%APPDATA%\\Claude\\logs`, in newer versions \
             `%LOCALAPPDATA%\\Claude\\Logs`",
            Users,
        ),
        again: Known("quit Claude Desktop and open it again", Documents),
        sources: "observed launches of September 2026, anthropics/claude-code#22542 and #50339, modelcontextprotocol.io/docs (log on macOS, starting again), wonderwhy-er/DesktopCommanderMCP#656 (log on Windows)",
        project: Known(Never, Measured),
        ..Client::unknown("claude_desktop", "Claude Desktop")
    },
    Client {
        names: &[Exactly("cursor-vscode"), From("cursor")],
        version: Known("2025-11-25", Measured),
        // uLoop's server lists this client among those that react to changes.
        list_changed: Known(true, Users),
        prefix: Known("holdfast", Users),
        full_name_max: Known(60, Users),
        refuses_alternatives: BY_ITS_MODELS,
        copies: Known(2, Measured),
        notes: &[
            "It leaves out a tool if its name and the server's name have more than 60 characters together. holdfast's own tools have fewer.",
            "Its documents of 2025 named a limit of 40 tools in all; it is not known whether that is still true.",
            "In August 2026 it set `WORKSPACE_FOLDER_PATHS` for its servers. holdfast does not use that: one server may serve several \
             windows, and the variable names only the one that started it.",
        ],
        link: Known(
            "[Add to Cursor](https://cursor.com/en/install-mcp?name=holdfast&config=eyJjb21tYW5kIjoiaG9sZGZhc3QifQ%3D%3D), or paste \
             `cursor://anysphere.cursor-deeplink/mcp/install?name=holdfast&config=eyJjb21tYW5kIjoiaG9sZGZhc3QifQ==`",
            Documents,
        ),
        log: Known("the *Output* panel (Ctrl+Shift+U, Cmd+Shift+U), *MCP Logs*", Documents),
        again: Known("switch the server off and on in Cursor Settings > MCP", Documents),
        share: Known("commit `.cursor/mcp.json`", Documents),
        sources: "observed launches of Cursor 3.20, awslabs/mcp#1283, composio#2788, hatayama/uLoopMCP, a public design record of August 2026 that observed Cursor 3.10 (variable), cursor.com/docs/context/mcp (log, starting again, team), cursor.com/docs/mcp/install-links (link; the web address is the one that other servers publish)",
        ..Client::unknown("cursor", "Cursor")
    },
    Client {
        // This name is the product's full name.
        names: &[Exactly("Visual Studio Code"), From("Visual Studio Code")],
        version: Known("2025-11-25", Source),
        patience: Known(Endless, Source),
        start: Known(Endless, Source),
        list_changed: Known(true, Source),
        full_name_max: Known(64, Source),
        tools_max: Known(128, Source),
        images: Known(true, Source),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known("stdin ends, SIGTERM after 10 s, then the whole tree", Source),
        restart: Known(false, Documents),
        notes: &[
            "It starts a server at the first chat that needs it.",
            "If there are more than 128 tools, it groups them, and the model must open a group to see what is in it.",
        ],
        own_command: Known("`code --add-mcp '{\"name\":\"holdfast\",\"command\":\"holdfast\"}'`", Documents),
        link: Known(
            "[Add to VS Code](https://insiders.vscode.dev/redirect/mcp/install?name=holdfast&config=%7B%22command%22%3A%22holdfast%22%7D)",
            Users,
        ),
        log: Known("`MCP: List Servers` in the command palette, holdfast, *Show Output*", Documents),
        again: Known(
            "`MCP: List Servers`, holdfast, and the action there; or above the entry in the open `mcp.json`",
            Documents,
        ),
        share: Known("commit `.vscode/mcp.json`", Documents),
        sources: "mcpServerRequestHandler.ts, mcpStdioStateHandler.ts; vscode#294055, #243602, code.visualstudio.com/docs/copilot/customization/mcp-servers (command, log, starting again, team), links that github/github-mcp-server and others publish",
        project: Known(ByRoots, Source),
        ..Client::unknown("vscode", "VS Code")
    },
    Client {
        restart: Known(true, Documents),
        refuses_alternatives: BY_ITS_MODELS,
        notes: &[
            "Versions of early 2026 kept 10 KB of a result and dropped the middle of the rest (github/copilot-cli#1732); that is \
             closed, and its limit now is not known.",
        ],
        own_command: Known("`/mcp add` in a session opens a form", Documents),
        log: Known("`~/.copilot/logs/`, unless `--log-dir` says otherwise", Users),
        sources: "docs.github.com/en/copilot, github/copilot-cli#1732, its page on adding MCP servers (command), `copilot --help` as quoted by users (log)",
        ..Client::unknown("copilot_cli", "Copilot CLI")
    },
    Client {
        names: &[Exactly("codex-mcp-client"), From("codex")],
        version: Known("2025-06-18", Measured),
        // 60, 120 or 300 s, depending on the version; the value of the oldest version is used.
        patience: seconds(60, Source),
        raised_by: Some("`tool_timeout_sec` and `startup_timeout_sec` in the server's entry of config.toml"),
        start: seconds(10, Source),
        list_changed: Known(false, Users),
        prefix: Known("mcp__holdfast__", Source),
        full_name_max: Known(64, Source),
        text_max: lost_beyond(40_000, Source),
        images: Known(true, Source),
        structured_alone: Known(true, Source),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known("SIGTERM to the process group, SIGKILL after 2 s", Source),
        copies: Known(3, Measured),
        restart: Known(true, Documents),
        notes: &[
            "It waits 60 or 120 s for a call in older versions, 300 s in newer ones, and the name does not tell which: if yours waits \
             longer, `patience` in your settings tells holdfast.",
            "It reads the list of tools once a session; holdfast keeps the list of the last session on disk for that.",
            "It gives the model 10 000 tokens of a result, counted as four bytes each, and drops the middle of a longer one \
             (`tool_output_token_limit` in config.toml changes the limit; for some models it is 10 000 bytes). holdfast shortens the text \
             before that, says so at its beginning, and keeps the full text in a file that Codex can read.",
            "It reads `structuredContent` in place of everything else, so holdfast leaves that out of a result with images.",
            "It asks the user before it calls a tool that is not declared read-only. The desktop app starts three copies of a server.",
        ],
        own_command: Known("`codex mcp add holdfast -- holdfast`", Documents),
        log: Known("in newer versions the table `logs` of `~/.codex/logs_2.sqlite`", Users),
        again: Known("start a new session", Documents),
        share: Known("commit `.codex/config.toml`; it counts only where Codex trusts the project", Documents),
        sources: "codex-rs (rmcp_client.rs, stdio_server_launcher.rs, models.rs, truncate.rs); openai/codex#7906, #14466, #10105, developers.openai.com/codex/mcp (command, starting again, team), SpartanLabsXyz/simmer-sdk#328 (log)",
        ..Client::unknown("codex", "Codex")
    },
    Client {
        names: &[Exactly("gemini-cli-mcp-client"), From("gemini-cli")],
        version: Known("2025-11-25", Source),
        patience: seconds(600, Source),
        raised_by: Some("`timeout` (milliseconds) in the server's entry, for calls and for the start"),
        start: seconds(600, Source),
        // The client reacts even if the server does not declare changes.
        list_changed: Known(true, Source),
        prefix: Known("mcp_holdfast_", Source),
        full_name_max: Known(63, Source),
        text_max: kept_beyond(40_000, Source),
        images: Known(true, Source),
        // 20 MB for a whole request.
        image_limit: Known(ImageLimit { base64_bytes: 20_000_000, side_pixels: u32::MAX, gif: false }, Documents),
        shutdown: Known(SDK_ENDS, Source),
        restart: Known(true, Documents),
        notes: &[
            "The folder must be trusted, or no server starts.",
            "It puts a text of more than 40 000 characters into a file by itself (google-gemini/gemini-cli#19365; \
             `tools.truncateToolOutputThreshold` changes the limit), so holdfast does not cut it.",
        ],
        own_command: Known("`gemini mcp add --scope user holdfast holdfast`", Documents),
        log: Known("`gemini --debug` shows what a server writes to stderr", Documents),
        again: Known("start a new session", Documents),
        share: Known("commit `.gemini/settings.json`", Documents),
        sources: "mcp-client.ts, mcp-tool.ts of August 2026; google-gemini/gemini-cli#19365; ai.google.dev/gemini-api/docs/image-understanding, geminicli.com/docs/tools/mcp-server (command, log, starting again, team)",
        project: Known(ByRoots, Source),
        ..Client::unknown("gemini", "Gemini CLI")
    },
    Client {
        names: &[Exactly("windsurf"), From("windsurf")],
        version: Known("2025-03-26", Registry),
        list_changed: Known(true, Registry),
        tools_max: Known(100, Documents),
        refuses_alternatives: BY_ITS_MODELS,
        restart: Known(false, Documents),
        notes: &["Only a community registry says that it notices changed lists, so holdfast does not rely on it."],
        again: Known("*Refresh* in the MCP settings", Documents),
        sources: "mcp-client-capabilities 0.0.14, docs.windsurf.com (100 tools), its page plugins/cascade/mcp (starting again)",
        ..Client::unknown("windsurf", "Windsurf")
    },
    Client {
        names: &[Exactly("Cline"), From("@cline/")],
        patience: seconds(60, Source),
        raised_by: Some("`timeout` (seconds, at most 3600) in the server's entry, for calls, lists and the start"),
        start: seconds(60, Source),
        list_changed: Known(true, Source),
        prefix: Known("holdfast__", Source),
        full_name_max: Known(64, Source),
        images: Known(true, Source),
        audio: Known(false, Source),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known(SDK_ENDS, Source),
        restart: Known(false, Source),
        notes: &[
            "It replaces a longer full name of a tool by a hash. The names of holdfast's own tools are short enough.",
        ],
        again: Known("the *MCP Servers* icon, holdfast, *Restart Server*", Documents),
        sources: "McpHub.ts, UseMcpToolHandler.ts, name-transform.ts of August 2026, docs.cline.bot/mcp/configuring-mcp-servers (starting again)",
        project: Known(Never, Users),
        ..Client::unknown("cline", "Cline")
    },
    Client {
        names: &[Exactly("Zed")],
        patience: seconds(60, Documents),
        raised_by: Some("`context_server_timeout` (seconds) in its settings, or `timeout` in the server's entry"),
        start: seconds(60, Documents),
        list_changed: Known(true, Documents),
        prefix: Known("", Source),
        images: Known(true, Source),
        audio: Known(false, Source),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known("SIGKILL at once, in the version that was read", Source),
        restart: Known(false, Documents),
        notes: &[
            "Its limit applies to every request, also to `initialize`, and it does not cancel a request when it gives up.",
        ],
        log: Known("`zed: open log` in the command palette", Users),
        share: Known("commit `.zed/settings.json`", Documents),
        sources: "zed.dev/docs/ai/mcp, client.rs, context_server_registry.rs, documents of Zed extensions (log), zed.dev/docs/configuring-zed (team)",
        ..Client::unknown("zed", "Zed")
    },
    Client {
        names: &[Exactly("opencode")],
        // Versions before the change of December 2025 wait 5 s for the list.
        start: seconds(5, Source),
        raised_by: Some("`timeout` (milliseconds) in the server's entry"),
        // Versions since December 2025 react to changes, but the name does not tell the version.
        list_changed: Known(false, Source),
        prefix: Known("holdfast_", Source),
        text_max: kept_beyond(51_200, Source),
        images: Known(true, Source),
        audio: Known(false, Source),
        refuses_alternatives: Known(true, Users),
        shutdown: Known(SDK_ENDS, Source),
        restart: Known(true, Documents),
        notes: &[
            "Versions since December 2025 notice changed lists. The name does not tell the version, so holdfast does not rely on it, unless \
             you set `list_changed = true` in holdfast's settings.",
            "It puts a text of more than 2000 lines or 50 KB into a file by itself, so holdfast does not cut it.",
            "With a model of Anthropic, one schema with `oneOf`, `anyOf` or `allOf` at its top makes every request fail \
             (redhat-et/ripwire#48).",
        ],
        own_command: Known("`opencode mcp add` asks for the details", Documents),
        log: Known(
            "`~/.local/share/opencode/log/` (Windows: `%USERPROFILE%\\.local\\share\\opencode\\log`)",
            Documents,
        ),
        again: Known("restart opencode", Documents),
        share: Known("commit `opencode.json`", Documents),
        sources: "session/tools.ts, PR #5913, opencode.ai/docs/mcp-servers, opencode.ai/docs/troubleshooting (log)",
        ..Client::unknown("opencode", "opencode")
    },
    Client {
        names: &[Exactly("goose"), From("goose")],
        version: Known("2025-03-26", Source),
        patience: Fact::Unknown,
        raised_by: Some(
            "`timeout` (seconds) of the extension: `holdfast setup goose` writes the 300 that its own wizard writes",
        ),
        prefix: Known("holdfast__", Source),
        text_max: kept_beyond(200_000, Source),
        refuses_alternatives: BY_ITS_MODELS,
        shutdown: Known("as the Rust SDK does", Source),
        restart: Known(true, Documents),
        notes: &[
            "Each extension sets its own timeout, so holdfast does not know it and assumes 60 s. The entry that `holdfast setup goose` writes \
             has 300 s: set `patience = 300` in holdfast's settings to use all of it.",
            "It puts a text of more than 200 000 characters into a file by itself (GOOSE_MAX_TOOL_RESPONSE_SIZE).",
        ],
        own_command: Known("`goose configure`, *Add Extension*, *Command-line Extension*", Documents),
        link: Known(
            "paste `goose://extension?cmd=holdfast&id=holdfast&name=holdfast&description=Unity` into a browser (Goose Desktop)",
            Documents,
        ),
        log: Known("`~/.local/state/goose/logs/` (Windows: `%APPDATA%\\Block\\goose\\data\\logs`)", Documents),
        again: Known("start a new session", Documents),
        sources: "mcp_client.rs, large_response_handler.rs, block.github.io/goose/docs: using-extensions (command), guides/logs, and tutorials (link)",
        ..Client::unknown("goose", "Goose")
    },
    Client {
        names: &[Exactly("amp-mcp-client")],
        version: Known("2025-06-18", Registry),
        refuses_alternatives: BY_ITS_MODELS,
        restart: Known(true, Documents),
        own_command: Known("`amp mcp add holdfast -- holdfast`", Users),
        log: Known("`~/.cache/amp/logs/cli.log`", Users),
        share: Known("commit `.amp/settings.json`; each user approves it once (`amp mcp approve holdfast`)", Users),
        sources: "mcp-client-capabilities 0.0.14, documents of other servers and the examples of hex.pm/packages/amp_sdk (command, team), `amp --help` as quoted by users (log)",
        ..Client::unknown("amp", "Amp")
    },
    Client {
        refuses_alternatives: BY_ITS_MODELS,
        sources: "junie.jetbrains.com/docs",
        ..Client::unknown("junie", "JetBrains Junie")
    },
    Client {
        refuses_alternatives: BY_ITS_MODELS,
        by_hand: Some(
            "Its list of servers is in the IDE's settings only: Settings > Tools > AI Assistant > Model Context Protocol (MCP) > Add > \
             As JSON. Paste this there, with the full path of the program (`command -v holdfast` prints it); if no tools of Unity \
             appear, name the project: `\"args\": [\"--project\", \"DIR\"]`.",
        ),
        share: Known("the entry's level in the settings can be the current project", Documents),
        sources: "jetbrains.com/help/ai-assistant, its page mcp.html (team)",
        ..Client::unknown("ai_assistant", "JetBrains AI Assistant")
    },
    Client {
        refuses_alternatives: BY_ITS_MODELS,
        restart: Known(false, Documents),
        own_command: Known("`kiro-cli mcp add --name holdfast --command holdfast --scope global`", Users),
        link: Known(
            "[Add to Kiro](https://kiro.dev/launch/mcp/add?name=holdfast&config=%7B%22command%22%3A%22holdfast%22%7D)",
            Documents,
        ),
        log: Known("the Kiro panel, *Output*, *Kiro - MCP Logs*", Documents),
        share: Known("commit `.kiro/settings/mcp.json`", Documents),
        sources: "kiro.dev/docs/mcp, notes of users of Kiro CLI (command), kiro.dev/docs/mcp: share (link), security (log), configuration (team)",
        ..Client::unknown("kiro", "Kiro")
    },
    Client {
        // The Copilot plugin uses a different name in each IDE.
        names: &[From("JetBrains-")],
        version: Known("2025-06-18", Registry),
        tools_max: Known(128, Users),
        refuses_alternatives: BY_ITS_MODELS,
        notes: &["The same plugin in another JetBrains IDE behaves the same, and reads the same file."],
        sources: "mcp-client-capabilities 0.0.14, microsoft/copilot-intellij-feedback#1842",
        project: Known(ByRoots, Registry),
        ..Client::unknown("rider", "Rider (GitHub Copilot)")
    },
    Client {
        names: &[From("mcp-inspector")],
        // uLoop's server lists this client among those that react to changes.
        list_changed: Known(true, Users),
        by_hand: Some(
            "Start it with the program: `npx @modelcontextprotocol/inspector holdfast --project DIR`. With `--config FILE` it reads a \
             file that says the same:",
        ),
        notes: &[
            "It shows what a server sends, so holdfast changes nothing for it that it does not change for every client.",
        ],
        sources: "hatayama/uLoopMCP, @modelcontextprotocol/inspector",
        ..Client::unknown("mcp_inspector", "MCP Inspector")
    },
];
