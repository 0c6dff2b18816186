#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>A name that a tool like one of ours has in another package, and what differs in its arguments.</summary>
    /// <param name="Name">The other name. If it is the tool's own name, only arguments differ.</param>
    /// <param name="Package">The package that has it, for people.</param>
    internal sealed record OtherName(string Name, string Package)
    {
        /// <summary>The arguments that differ.</summary>
        public IReadOnlyList<OtherArgument> Arguments { get; init; } = Array.Empty<OtherArgument>();
    }

    /// <summary>An argument that another package calls differently.</summary>
    internal sealed class OtherArgument
    {
        /// <summary>Its name in the other package.</summary>
        public string From { get; set; } = "";

        /// <summary>Its name here.</summary>
        public string To { get; set; } = "";

        /// <summary>The values that differ, and what they are here.</summary>
        public Dictionary<string, string> Values { get; set; } = new();

        /// <summary>Arguments that this one implies.</summary>
        public Dictionary<string, string> Adds { get; set; } = new();
    }

    /// <summary>
    /// Names of uLoopMCP 2.1.1 and other packages, for whoever has them in prompts, notes and policies. The gateway resolves them;
    /// they are not listed. docs/migrating.md has the table.
    /// </summary>
    internal static class OtherNames
    {
        private const string ULoop = "uLoopMCP 2.1.1", Turbokettle = "turbokettle/unity-mcp", TSavo = "TSavo/Unity-MCP";

        private static readonly Dictionary<string, OtherName[]> All = new()
        {
            ["play-mode"] = new[]
            {
                new OtherName("control-play-mode", ULoop)
                {
                    Arguments = new[] { new OtherArgument { From = "Action", To = "Action", Values = { ["Play"] = "Enter", ["Stop"] = "Exit" } } }
                }
            },
            ["execute-csharp"] = new[] { new OtherName("execute-dynamic-code", ULoop), new OtherName("execute_code", TSavo) },
            ["editor-state"] = new[] { new OtherName("get-version", ULoop), new OtherName("get_project_info", Turbokettle) },
            ["get-logs"] = new[]
            {
                new OtherName("read_console_logs", Turbokettle)
                {
                    Arguments = new[]
                    {
                        new OtherArgument { From = "count", To = "MaxCount" },
                        new OtherArgument { From = "filter", To = "LogType", Values = { ["all"] = "All", ["errors"] = "Error", ["warnings"] = "Warning" } }
                    }
                }
            },
            ["execute-menu-item"] = new[]
            {
                new OtherName("execute_menu_item", Turbokettle) { Arguments = new[] { new OtherArgument { From = "path", To = "MenuItemPath" } } }
            },
            ["screenshot"] = new[]
            {
                new OtherName("screenshot", ULoop)
                {
                    Arguments = new[] { new OtherArgument { From = "WindowName", To = "Name", Adds = { ["Source"] = "Window" } } }
                }
            },
            ["run-tests"] = new[]
            {
                new OtherName("run-tests", ULoop) { Arguments = new[] { new OtherArgument { From = "SaveBeforeRun", To = "SaveScenes" } } }
            }
        };

        /// <summary>The other names of a tool; null if it has none, or is not part of this package.</summary>
        public static JArray? Of(ToolEntry tool) =>
            tool.IsBuiltIn && All.TryGetValue(tool.Name, out OtherName[] names) ? new JArray(names.Select(Write)) : null;

        private static JObject Write(OtherName name) => new()
        {
            ["name"] = name.Name,
            ["arguments"] = new JArray(name.Arguments.Select(a => new JObject
            {
                ["from"] = a.From, ["to"] = a.To, ["values"] = Write(a.Values), ["adds"] = Write(a.Adds)
            }))
        };

        private static JObject Write(Dictionary<string, string> texts) => new(texts.Select(t => new JProperty(t.Key, t.Value)));

        /// <summary>All, by the tool's name.</summary>
        public static IReadOnlyDictionary<string, OtherName[]> Table => All;
    }
}
