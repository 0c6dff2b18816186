#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    // The tools about the bridge itself. They do not need the main thread, so they answer while the editor is busy.

    /// <summary>Parameters of <see cref="PingTool"/>.</summary>
    internal sealed class PingSchema : BaseToolSchema
    {
        /// <summary>Text to send back.</summary>
        [Description("A text that comes back in the answer")]
        public string Message { get; set; } = "Hello from TypeScript MCP Server";
    }

    /// <summary>Result of <see cref="PingTool"/>.</summary>
    internal sealed class PingResponse : BaseToolResponse
    {
        /// <summary>A sentence that contains the text of the call.</summary>
        public string Message { get; set; } = "";

        /// <summary>State of the bridge, as in <see cref="BridgeStatus"/>.</summary>
        public string State { get; set; } = "";

        /// <summary>Number of the domain in this process, from 1.</summary>
        public int Generation { get; set; }

        /// <summary>Milliseconds since the editor's last frame.</summary>
        public long FrameAgeMs { get; set; }
    }

    /// <summary>Reports the state of the bridge. It answers even while the editor is busy.</summary>
    [McpTool(
        Description = "Says whether the bridge answers, what the editor is doing, and how long ago it last ran a frame",
        Title = "Ping", DisplayDevelopmentOnly = true, ReadOnly = true, Parallel = true, OffMainThread = true)]
    internal sealed class PingTool : AbstractUnityTool<PingSchema, PingResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "ping";

        /// <inheritdoc/>
        protected override Task<PingResponse> ExecuteAsync(PingSchema parameters, IToolContext context)
        {
            BridgeStatus status = context.Get<IBridgeInfo>().Status;
            return Task.FromResult(new PingResponse
            {
                Message = "Unity MCP Bridge received: " + parameters.Message,
                State = status.State,
                Generation = status.Generation,
                FrameAgeMs = status.FrameAgeMs
            });
        }
    }

    /// <summary>Parameters of <see cref="SetClientNameTool"/>.</summary>
    internal sealed class SetClientNameSchema : BaseToolSchema
    {
        /// <summary>Name of the AI editor.</summary>
        [Description("Name of the AI editor, shown to the user")]
        public string ClientName { get; set; } = "Unknown Client";

        /// <summary>Address of the client's push listener; empty if it has none.</summary>
        [Description("Where the client listens for push notifications, as HOST:PORT on this machine; empty: nowhere")]
        public string PushNotificationEndpoint { get; set; } = "";

        /// <summary>The editor's port as the client knows it. The tool ignores it.</summary>
        [Description("The editor's port as the client knows it")]
        public int ClientPort { get; set; }
    }

    /// <summary>Result of <see cref="SetClientNameTool"/>.</summary>
    internal sealed class SetClientNameResponse : BaseToolResponse
    {
        /// <summary>A sentence for the user.</summary>
        public string Message { get; set; } = "";

        /// <summary>The name that was set, cut at <see cref="Limits.Name"/> characters.</summary>
        public string ClientName { get; set; } = "";

        /// <summary>The push listener that the client named.</summary>
        public string PushNotificationEndpoint { get; set; } = "";
    }

    /// <summary>Sets the name and the push listener of the call's connection.</summary>
    [McpTool(
        Description = "Gives this connection a name, and says where its client listens for push notifications",
        Title = "Set client name", DisplayDevelopmentOnly = true, Destructive = false, Idempotent = true, Parallel = true,
        OffMainThread = true)]
    internal sealed class SetClientNameTool : AbstractUnityTool<SetClientNameSchema, SetClientNameResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "set-client-name";

        /// <inheritdoc/>
        protected override Task<SetClientNameResponse> ExecuteAsync(SetClientNameSchema parameters, IToolContext context)
        {
            string name = parameters.ClientName.Length <= Limits.Name
                ? parameters.ClientName
                : parameters.ClientName.Substring(0, Limits.Name);
            context.Get<IBridgeInfo>().NameClient(context, name, parameters.PushNotificationEndpoint);
            return Task.FromResult(new SetClientNameResponse
            {
                Message = "Client name registered successfully: " + name,
                ClientName = name,
                PushNotificationEndpoint = parameters.PushNotificationEndpoint
            });
        }
    }

    /// <summary>Parameters of <see cref="GetToolDetailsTool"/>.</summary>
    internal sealed class GetToolDetailsSchema : BaseToolSchema
    {
        /// <summary>Whether to list development tools too.</summary>
        [Description("With the tools that are meant for developing the bridge")]
        public bool IncludeDevelopmentOnly { get; set; }
    }

    /// <summary>Result of <see cref="GetToolDetailsTool"/>.</summary>
    internal sealed class GetToolDetailsResponse : BaseToolResponse
    {
        /// <summary>The tools in uLoopMCP's form.</summary>
        public IReadOnlyList<LegacyToolInfo> Tools { get; set; } = Array.Empty<LegacyToolInfo>();

        /// <summary>The package's version.</summary>
        public string Ver { get; set; } = "";
    }

    /// <summary>A tool in uLoopMCP's form.</summary>
    internal sealed class LegacyToolInfo
    {
        /// <summary>Name of the tool.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>What the tool does.</summary>
        [JsonProperty("description")]
        public string Description { get; set; } = "";

        /// <summary>The tool's parameters.</summary>
        [JsonProperty("parameterSchema")]
        public JObject ParameterSchema { get; set; } = new();

        /// <summary>Whether the tool is for developing the bridge.</summary>
        [JsonProperty("displayDevelopmentOnly")]
        public bool DisplayDevelopmentOnly { get; set; }
    }

    /// <summary>Lists the tools.</summary>
    [McpTool(
        Description = "Lists the tools with their parameters", Title = "Get tool details", DisplayDevelopmentOnly = true,
        ReadOnly = true, Parallel = true, OffMainThread = true)]
    internal sealed class GetToolDetailsTool : AbstractUnityTool<GetToolDetailsSchema, GetToolDetailsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-tool-details";

        /// <inheritdoc/>
        protected override Task<GetToolDetailsResponse> ExecuteAsync(GetToolDetailsSchema parameters, IToolContext context)
        {
            IBridgeInfo bridge = context.Get<IBridgeInfo>();
            var tools = bridge.Tools.All.Where(t => (parameters.IncludeDevelopmentOnly || !t.About.DisplayDevelopmentOnly) && bridge.Security.IsListed(t))
                .Select(tool => Describe(tool, bridge.Security.Check(tool))).ToList();
            return Task.FromResult(new GetToolDetailsResponse { Tools = tools, Ver = bridge.PackageVersion });
        }

        private static LegacyToolInfo Describe(ToolEntry tool, SecurityDenial? denial) => new()
        {
            Name = tool.Name,
            Description = denial == null
                ? tool.About.Description
                : $"[BLOCKED] {tool.About.Description} - Blocked by security settings",
            ParameterSchema = tool.LegacySchema,
            DisplayDevelopmentOnly = tool.About.DisplayDevelopmentOnly
        };
    }
}
