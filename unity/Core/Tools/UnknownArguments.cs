#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>An argument that a program adds to calls without having been asked for it.</summary>
    /// <param name="Name">Its name.</param>
    /// <param name="Tool">The tool to whose calls it is added; empty if it is added to all.</param>
    /// <param name="Source">Who adds it, and where that can be read.</param>
    internal sealed record AddedArgument(string Name, string Tool, string Source);

    /// <summary>
    /// Refuses arguments that a tool does not know. Without this, a misspelt argument would be left out, and the call would succeed
    /// with another effect than the caller wanted.
    /// </summary>
    internal static class UnknownArguments
    {
        /// <summary>The arguments that are left out in silence, since no caller chose to send them.</summary>
        public static readonly IReadOnlyList<AddedArgument> Added = new[]
        {
            // The bridge itself obeys it, for each tool (CallCenter).
            new AddedArgument("TimeoutSeconds", "", "uLoopMCP to 0.43: a parameter of every tool, by its BaseToolSchema"),
            new AddedArgument("RequestId", "compile", "uLoopMCP 2.1.1, TypeScriptServer~/src/compile/compile-domain-reload-helpers.ts: ensureCompileRequestId"),
            // Its server tests this argument to know whether it adds the one before. Here, `compile` waits always.
            new AddedArgument("WaitForDomainReload", "compile", "uLoopMCP 2.1.1, Editor/Api/McpTools/Compile/CompileSchema.cs"),
            new AddedArgument("toolCallId", "", "n8n's MCP Client Tool from 1.119: github.com/n8n-io/n8n/issues/21500 and 21716"),
            new AddedArgument("random_string", "", "Cursor shows it to models in tools without parameters, and servers declare it for this reason: " +
                "github.com/tsaboin/outline-mcp-server, src/tools/listTeams.ts")
        };

        /// <summary>Refuses what is not known.</summary>
        /// <param name="tool">Name of the tool.</param>
        /// <param name="at">Where the object is in the arguments, with a dot at the end; empty for the arguments themselves.</param>
        /// <param name="given">The object.</param>
        /// <param name="known">The names that the tool knows there.</param>
        /// <exception cref="ToolParameterException">There is an unknown name.</exception>
        public static void Refuse(string tool, string at, JObject given, IReadOnlyList<string> known)
        {
            List<string> unknown = given.Properties().Select(p => p.Name)
                .Where(name => !known.Contains(name, StringComparer.OrdinalIgnoreCase) && !(at.Length == 0 && IsAdded(tool, name))).ToList();
            if (unknown.Count == 0) return;
            List<string?> near = unknown.Select(name => Other(tool, at, name, known) ?? Near(name, known)).ToList();
            string names = string.Join(" and ", unknown.Take(Limits.ShownArguments).Select(name => ToolParameters.Shortened(at + name)));
            string mend = near.All(name => name != null) ? $"did you mean {string.Join(" and ", near.Take(Limits.ShownArguments).Distinct())}?"
                : known.Count == 0 ? "it takes none"
                : "it has " + string.Join(", ", known.Where(name => name != nameof(BaseToolSchema.TimeoutSeconds)));
            throw new ToolParameterException($"{tool} has no argument {names}; {mend}");
        }

        private static bool IsAdded(string tool, string name) => Added.Any(a =>
            (a.Tool.Length == 0 || a.Tool == tool) && string.Equals(a.Name, name, StringComparison.OrdinalIgnoreCase));

        // What an argument of another package is called here.
        private static string? Other(string tool, string at, string name, IReadOnlyList<string> known) =>
            at.Length == 0 && OtherNames.Table.TryGetValue(tool, out OtherName[] names)
                ? names.SelectMany(n => n.Arguments).FirstOrDefault(a => a.From == name && known.Contains(a.To))?.To
                : null;

        // Too short a name is like many.
        private static string? Near(string name, IReadOnlyList<string> known) =>
            name.Length < Limits.NearLength || name.Length > Limits.ShownArgument ? null : NearNames.Of(name, known).FirstOrDefault();
    }
}
