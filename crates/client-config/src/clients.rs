//! The AI clients as data: where each client keeps its list of MCP servers, what an entry looks like, and the source of these
//! facts.

use crate::edit::Format;

/// The folders that paths start from. [`Places`](crate::Places) resolves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The user's home folder.
    Home,
    /// XDG_CONFIG_HOME, otherwise `.config` in the home folder, on every system.
    Config,
    /// [`Base::Config`] on Linux, otherwise `.config` in the home folder.
    DotConfig,
    /// The settings of desktop programs: `Library/Application Support` on macOS, [`Base::Config`] on Linux, %APPDATA% on Windows.
    AppData,
    /// %LOCALAPPDATA%, for programs that use it on Windows.
    LocalAppData,
    /// CLAUDE_CONFIG_DIR, otherwise the home folder.
    ClaudeConfig,
    /// CLAUDE_CONFIG_DIR, otherwise `.claude` in the home folder.
    ClaudeHome,
    /// CODEX_HOME, otherwise `.codex` in the home folder.
    CodexHome,
    /// The project's folder.
    Project,
}

/// The systems that a path applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Linux, macOS and Windows.
    All,
    /// Linux and macOS.
    Unix,
    /// Windows.
    Windows,
    /// Windows, if this package is installed: the path begins with the package's folder. The package sees only its own copy of
    /// %APPDATA%, so in that case no other path applies.
    Package,
}

/// A file or folder of a client.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// The systems that the path applies to.
    pub on: On,
    /// The folder that the path starts from.
    pub base: Base,
    /// The path from there, separated by `/`.
    pub path: &'static str,
}

pub(crate) const fn all(base: Base, path: &'static str) -> Spot {
    Spot { on: On::All, base, path }
}

const fn unix(base: Base, path: &'static str) -> Spot {
    Spot { on: On::Unix, base, path }
}

const fn windows(base: Base, path: &'static str) -> Spot {
    Spot { on: On::Windows, base, path }
}

const fn package(path: &'static str) -> Spot {
    Spot { on: On::Package, base: Base::LocalAppData, path }
}

/// A field of a new entry that does not say what to start. If the user changes it later, it is kept.
#[derive(Debug, Clone, Copy)]
pub enum Given {
    /// A text.
    Text(&'static str),
    /// A boolean.
    Switch(bool),
    /// A number.
    Number(u32),
    /// A list with one text.
    List(&'static str),
}

/// What an entry looks like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The field with the program.
    pub command: &'static str,
    /// The field with the program's arguments. Without it, the program's field is a list that also contains the arguments.
    pub args: Option<&'static str>,
    /// The fields before the program.
    pub before: &'static [(&'static str, Given)],
    /// The fields after the program.
    pub after: &'static [(&'static str, Given)],
}

const PLAIN: Shape = Shape { command: "command", args: Some("args"), before: &[], after: &[] };
const STDIO: Shape = Shape { before: &[("type", Given::Text("stdio"))], ..PLAIN };

/// How a client takes a server over HTTP.
#[derive(Debug, Clone, Copy)]
pub enum Http {
    /// By an entry with a URL and a token.
    Takes(Remote),
    /// Not by its file. Says why, in words that follow the client's name.
    Lacks(&'static str),
}

/// What an entry looks like that connects to a server over HTTP.
#[derive(Debug, Clone, Copy)]
pub struct Remote {
    /// The field with the URL.
    pub url: &'static str,
    /// The fields before the URL.
    pub before: &'static [(&'static str, Given)],
    /// Where the token is.
    pub token: TokenPlace,
    /// The fields at the end.
    pub after: &'static [(&'static str, Given)],
    /// The source of these facts.
    pub source: &'static str,
}

/// Where an entry has the token.
#[derive(Debug, Clone, Copy)]
pub enum TokenPlace {
    /// In the header `Authorization`, in the map of headers at this path of fields.
    Header {
        /// The path of fields from the entry to the map.
        at: &'static [&'static str],
        /// What is before and after the name of an environment variable whose value the client puts there; `None` if the client
        /// is not known to do so.
        variable: Option<(&'static str, &'static str)>,
    },
    /// In an environment variable, which this field names.
    Variable(&'static str),
}

impl Remote {
    /// Whether the client takes the token from an environment variable.
    pub fn reads_variables(&self) -> bool {
        !matches!(self.token, TokenPlace::Header { variable: None, .. })
    }
}

const fn header(variable: Option<(&'static str, &'static str)>) -> TokenPlace {
    TokenPlace::Header { at: &["headers"], variable }
}

/// `${NAME}`.
const DOLLAR: Option<(&str, &str)> = Some(("${", "}"));
/// `${env:NAME}`, as VS Code and its relatives write it.
const ENV: Option<(&str, &str)> = Some(("${env:", "}"));

const fn remote(token: TokenPlace, source: &'static str) -> Remote {
    Remote { url: "url", before: &[], token, after: &[], source }
}

const fn typed(kind: &'static [(&'static str, Given)], remote: Remote) -> Remote {
    Remote { before: kind, ..remote }
}

const HTTP: &[(&str, Given)] = &[("type", Given::Text("http"))];

/// A client.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// The client's name, in lower case, with `-` between its parts.
    pub name: &'static str,
    /// Other names for the client.
    pub aliases: &'static [&'static str],
    /// The paths of the user's own configuration. The first file that exists is used, otherwise the first path.
    pub user: &'static [Spot],
    /// The paths of a project's configuration, with the same rule; empty if the client has none.
    pub project: &'static [Spot],
    /// The format of both configurations.
    pub format: Format,
    /// The path of keys to the map of servers.
    pub keys: &'static [&'static str],
    /// The layout of an entry.
    pub shape: Shape,
    /// The layout of an entry that connects over HTTP.
    pub http: Http,
    /// Files and folders that exist if the client is installed.
    pub signs: &'static [Spot],
    /// The client's programs, as they are named on PATH.
    pub programs: &'static [&'static str],
    /// What the user must do next.
    pub afterwards: &'static str,
    /// Whether the client starts servers in a project's folder or sends its roots to them. If not, the entry must name the
    /// project.
    pub tells_project: bool,
    /// The source of these facts, and what is uncertain about them.
    pub source: &'static str,
}

/// Returns the client with this name or alias; `None` if there is none. Case is ignored, and spaces and underscores count as `-`.
pub fn named(word: &str) -> Option<&'static Client> {
    let word = word.to_ascii_lowercase().replace([' ', '_'], "-");
    CLIENTS.iter().find(|client| client.name == word || client.aliases.contains(&word.as_str()))
}

/// Every client that can be set up.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        aliases: &["claude"],
        user: &[all(Base::ClaudeConfig, ".claude.json")],
        project: &[all(Base::Project, ".mcp.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: STDIO,
        http: Http::Takes(typed(
            HTTP,
            remote(
                header(DOLLAR),
                "code.claude.com/docs/en/mcp, expansion of variables, which it describes for .mcp.json",
            ),
        )),
        signs: &[all(Base::ClaudeConfig, ".claude.json"), all(Base::Home, ".claude")],
        programs: &["claude"],
        afterwards: "start a new session; `/mcp` there shows the server (a project's entry has to be approved once)",
        tells_project: true,
        source: "code.claude.com/docs/en/mcp",
    },
    Client {
        name: "claude-desktop",
        aliases: &[],
        user: &[
            package("Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"),
            all(Base::AppData, "Claude/claude_desktop_config.json"),
        ],
        project: &[],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: PLAIN,
        http: Http::Lacks(
            "starts programs only; the connectors of its settings are reached from its maker's servers, which see no hub of this machine",
        ),
        signs: &[package("Packages/Claude_pzs8sxrjxfjjc"), all(Base::AppData, "Claude")],
        programs: &[],
        afterwards: "quit Claude Desktop and open it again",
        tells_project: false,
        source: "modelcontextprotocol.io/docs; for the package that Windows' installer has placed since February 2026 (and the Store), \
                 github.com/anthropics/claude-code, issue 26073; Linux has no official build",
    },
    Client {
        name: "cursor",
        aliases: &[],
        user: &[all(Base::Home, ".cursor/mcp.json")],
        project: &[all(Base::Project, ".cursor/mcp.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: STDIO,
        http: Http::Takes(remote(header(ENV), "cursor.com/docs/context/mcp, remote servers and interpolation")),
        signs: &[all(Base::Home, ".cursor")],
        programs: &["cursor", "cursor-agent"],
        afterwards: "switch the server on in Cursor Settings > MCP if it is off",
        tells_project: true,
        source: "cursor.com/docs/context/mcp",
    },
    Client {
        name: "vscode",
        aliases: &["vs-code", "code"],
        user: &[all(Base::AppData, "Code/User/mcp.json")],
        project: &[all(Base::Project, ".vscode/mcp.json")],
        format: Format::Json,
        keys: &["servers"],
        shape: STDIO,
        http: Http::Takes(typed(
            HTTP,
            remote(
                header(ENV),
                "code.visualstudio.com/docs/copilot/reference/mcp-configuration, and its variables reference",
            ),
        )),
        signs: &[all(Base::AppData, "Code/User")],
        programs: &["code"],
        afterwards: "`MCP: List Servers` in the command palette shows it; the first start asks whether you trust it",
        tells_project: true,
        source: "code.visualstudio.com/docs/copilot/customization/mcp-servers; Insiders and profiles keep files of their own",
    },
    Client {
        name: "copilot-cli",
        aliases: &["github-copilot-cli"],
        user: &[all(Base::Home, ".copilot/mcp-config.json")],
        project: &[all(Base::Project, ".github/mcp.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape { before: &[("type", Given::Text("local"))], after: &[("tools", Given::List("*"))], ..PLAIN },
        http: Http::Takes(Remote {
            before: HTTP,
            after: &[("tools", Given::List("*"))],
            ..remote(
                header(None),
                "docs.github.com/en/copilot, use Copilot CLI; whether it reads variables there is not known",
            )
        }),
        signs: &[all(Base::Home, ".copilot")],
        programs: &["copilot"],
        afterwards: "start a new session; `/mcp show` there shows the server",
        tells_project: true,
        source: "docs.github.com/en/copilot, use Copilot CLI; the project's file is less certain than the user's",
    },
    Client {
        name: "codex",
        aliases: &["chatgpt", "openai-codex"],
        user: &[all(Base::CodexHome, "config.toml")],
        project: &[all(Base::Project, ".codex/config.toml")],
        format: Format::Toml,
        keys: &["mcp_servers"],
        shape: PLAIN,
        http: Http::Takes(remote(TokenPlace::Variable("bearer_token_env_var"), "developers.openai.com/codex/mcp")),
        signs: &[all(Base::CodexHome, "")],
        programs: &["codex"],
        afterwards: "start a new session; `codex mcp list` shows the server (a project's file counts only if Codex trusts the \
                     project)",
        tells_project: true,
        source: "developers.openai.com/codex/mcp",
    },
    Client {
        name: "gemini",
        aliases: &["gemini-cli"],
        user: &[all(Base::Home, ".gemini/settings.json")],
        project: &[all(Base::Project, ".gemini/settings.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: PLAIN,
        http: Http::Takes(Remote {
            url: "httpUrl",
            ..remote(header(DOLLAR), "geminicli.com/docs/tools/mcp-server, and docs/cli/configuration for variables")
        }),
        signs: &[all(Base::Home, ".gemini")],
        programs: &["gemini"],
        afterwards: "start a new session in a trusted folder; `/mcp` there shows the server",
        tells_project: true,
        source: "geminicli.com/docs/tools/mcp-server",
    },
    Client {
        name: "windsurf",
        aliases: &["codeium"],
        user: &[all(Base::Home, ".codeium/windsurf/mcp_config.json"), all(Base::Home, ".codeium/mcp_config.json")],
        project: &[],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: PLAIN,
        http: Http::Takes(Remote { url: "serverUrl", ..remote(header(ENV), "docs.windsurf.com/windsurf/cascade/mcp") }),
        signs: &[all(Base::Home, ".codeium/windsurf"), all(Base::Home, ".codeium/mcp_config.json")],
        programs: &["windsurf"],
        afterwards: "press Refresh in Windsurf's MCP settings, or restart it",
        tells_project: false,
        source: "docs.windsurf.com/windsurf/cascade/mcp; newer builds may read ~/.codeium/mcp_config.json, and whether it names \
                 the workspace to a server is not known",
    },
    Client {
        name: "cline",
        aliases: &[],
        user: &[
            all(Base::Home, ".cline/data/settings/cline_mcp_settings.json"),
            all(Base::AppData, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        ],
        project: &[],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape { after: &[("disabled", Given::Switch(false))], ..STDIO },
        http: Http::Takes(Remote {
            before: &[("type", Given::Text("streamableHttp"))],
            after: &[("disabled", Given::Switch(false))],
            ..remote(header(None), "docs.cline.bot/mcp, remote servers; it reads no variables there")
        }),
        signs: &[all(Base::Home, ".cline"), all(Base::AppData, "Code/User/globalStorage/saoudrizwan.claude-dev")],
        programs: &["cline"],
        afterwards: "Cline sees the change by itself; its MCP Servers page shows the server",
        tells_project: false,
        source: "github.com/cline/cline, McpHub.ts; versions before the move to ~/.cline read the copy in VS Code's storage",
    },
    Client {
        name: "zed",
        aliases: &[],
        user: &[unix(Base::DotConfig, "zed/settings.json"), windows(Base::AppData, "Zed/settings.json")],
        project: &[all(Base::Project, ".zed/settings.json")],
        format: Format::Json,
        keys: &["context_servers"],
        shape: PLAIN,
        http: Http::Takes(remote(header(None), "zed.dev/docs/ai/mcp; it names no variables")),
        signs: &[unix(Base::DotConfig, "zed"), windows(Base::AppData, "Zed")],
        programs: &["zed", "zeditor"],
        afterwards: "Zed sees the change by itself; a green dot in the Agent Panel's settings shows the server",
        tells_project: true,
        source: "zed.dev/docs/ai/mcp, and docs/configuring-zed for the place; versions of early 2025 want a nested `command` object, \
                 and the Windows path is as other projects write it",
    },
    Client {
        name: "opencode",
        aliases: &["open-code"],
        user: &[
            all(Base::Config, "opencode/opencode.json"),
            all(Base::Config, "opencode/opencode.jsonc"),
            all(Base::Config, "opencode/config.json"),
        ],
        project: &[all(Base::Project, "opencode.json"), all(Base::Project, "opencode.jsonc")],
        format: Format::Json,
        keys: &["mcp"],
        shape: Shape {
            command: "command",
            args: None,
            before: &[("type", Given::Text("local"))],
            after: &[("enabled", Given::Switch(true))],
        },
        http: Http::Takes(Remote {
            before: &[("type", Given::Text("remote"))],
            after: &[("enabled", Given::Switch(true))],
            ..remote(header(Some(("{env:", "}"))), "opencode.ai/docs/mcp-servers")
        }),
        signs: &[all(Base::Config, "opencode")],
        programs: &["opencode"],
        afterwards: "start opencode anew; `opencode mcp list` shows the server",
        tells_project: true,
        source: "opencode.ai/docs/mcp-servers; a second version of its format (mcp.servers) is announced and not written here",
    },
    Client {
        name: "goose",
        aliases: &[],
        user: &[unix(Base::Config, "goose/config.yaml"), windows(Base::AppData, "Block/goose/config/config.yaml")],
        project: &[],
        format: Format::Yaml,
        keys: &["extensions"],
        shape: Shape {
            command: "cmd",
            args: Some("args"),
            before: &[
                ("name", Given::Text("holdfast")),
                ("type", Given::Text("stdio")),
                ("enabled", Given::Switch(true)),
            ],
            after: &[("timeout", Given::Number(300))],
        },
        http: Http::Takes(Remote {
            url: "uri",
            before: &[
                ("name", Given::Text("holdfast")),
                ("type", Given::Text("streamable_http")),
                ("enabled", Given::Switch(true)),
            ],
            after: &[("timeout", Given::Number(300))],
            ..remote(header(None), "block.github.io/goose/docs, config.yaml; how it reads variables there is not known")
        }),
        signs: &[unix(Base::Config, "goose"), windows(Base::AppData, "Block/goose")],
        programs: &["goose"],
        afterwards: "start a new Goose session",
        tells_project: true,
        source: "block.github.io/goose/docs, config.yaml; the timeout of 300 s is what its own wizard writes",
    },
    Client {
        name: "amp",
        aliases: &["ampcode"],
        user: &[all(Base::Home, ".config/amp/settings.json")],
        project: &[all(Base::Project, ".amp/settings.json")],
        format: Format::Json,
        keys: &["amp.mcpServers"],
        shape: PLAIN,
        http: Http::Takes(remote(
            header(None),
            "ampcode.com/manual, as other projects cite it; whether it reads variables is not known",
        )),
        signs: &[all(Base::Home, ".config/amp")],
        programs: &["amp"],
        afterwards: "start a new session; a project's entry has to be approved (`amp mcp approve holdfast`)",
        tells_project: true,
        source: "ampcode.com/manual, as other projects cite it; not read at its source",
    },
    Client {
        name: "junie",
        aliases: &["jetbrains", "intellij"],
        user: &[all(Base::Home, ".junie/mcp/mcp.json")],
        project: &[all(Base::Project, ".junie/mcp/mcp.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: PLAIN,
        http: Http::Lacks("is not known to take a URL with a header"),
        signs: &[all(Base::Home, ".junie")],
        programs: &["junie"],
        afterwards: "open the IDE's Settings > Tools > Junie > MCP Settings; AI Assistant has a list of its own, in Settings > \
                     Tools > AI Assistant > MCP, into which the same entry is pasted",
        tells_project: false,
        source: "junie.jetbrains.com/docs, MCP configuration, as other projects cite it; the working directory it gives a \
                 server is not known",
    },
    Client {
        name: "kiro",
        aliases: &[],
        user: &[all(Base::Home, ".kiro/settings/mcp.json")],
        project: &[all(Base::Project, ".kiro/settings/mcp.json")],
        format: Format::Json,
        keys: &["mcpServers"],
        shape: Shape { after: &[("disabled", Given::Switch(false))], ..PLAIN },
        http: Http::Takes(Remote {
            after: &[("disabled", Given::Switch(false))],
            ..remote(header(DOLLAR), "kiro.dev/docs/mcp/configuration; it asks once whether the variable may be read")
        }),
        signs: &[all(Base::Home, ".kiro")],
        programs: &["kiro", "kiro-cli"],
        afterwards: "Kiro sees the change by itself; its MCP Servers view shows the server",
        tells_project: true,
        source: "kiro.dev/docs/mcp/configuration",
    },
    Client {
        name: "rider",
        aliases: &["copilot-jetbrains"],
        user: &[
            unix(Base::Config, "github-copilot/intellij/mcp.json"),
            windows(Base::LocalAppData, "github-copilot/intellij/mcp.json"),
        ],
        project: &[],
        format: Format::Json,
        keys: &["servers"],
        shape: STDIO,
        http: Http::Takes(remote(
            TokenPlace::Header { at: &["requestInit", "headers"], variable: None },
            "docs.github.com/en/copilot, extend Copilot Chat with MCP in JetBrains IDEs",
        )),
        signs: &[unix(Base::Config, "github-copilot/intellij"), windows(Base::LocalAppData, "github-copilot/intellij")],
        programs: &[],
        afterwards: "start a new chat in Copilot's agent mode; for Junie in Rider use `holdfast setup junie`, and into AI \
                     Assistant (Settings > Tools > AI Assistant > MCP) the same entry is pasted under `mcpServers`",
        tells_project: true,
        source: "docs.github.com/en/copilot, JetBrains IDEs: the folder; the file's layout as other projects write it, not seen \
                 at its source",
    },
];
