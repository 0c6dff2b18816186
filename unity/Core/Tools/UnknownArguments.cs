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
            List<string?> near = unknown.Select(name => Other(tool, at, name, known) ?? NearNames.Of(name, known)).ToList();
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
    }

    /// <summary>Finds the name that somebody meant.</summary>
    internal static class NearNames
    {
        /// <summary>Returns the known name that is nearest to a wrong one; null if none is near.</summary>
        public static string? Of(string wrong, IEnumerable<string> known)
        {
            string plain = Plain(wrong);
            if (plain.Length < Limits.NearLength || plain.Length > Limits.ShownArgument) return null;
            return known.Select(name => (Name: name, Steps: Steps(plain, Plain(name)))).Where(k => k.Steps <= plain.Length / 3)
                .OrderBy(k => k.Steps).Select(k => k.Name).FirstOrDefault() ??
                known.Where(name => Plain(name).Contains(plain) || (Plain(name).Length >= Limits.NearLength && plain.Contains(Plain(name))))
                .OrderBy(name => Math.Abs(name.Length - wrong.Length)).FirstOrDefault();
        }

        // Search_Query, search-query and SearchQuery are alike.
        private static string Plain(string name) => name.Replace("_", "").Replace("-", "").Replace(" ", "").ToLowerInvariant();

        // How many letters have to be changed, put in, left out, or exchanged with the next one.
        private static int Steps(string a, string b)
        {
            var steps = new int[a.Length + 1, b.Length + 1];
            for (int i = 0; i <= a.Length; i++)
            {
                for (int j = 0; j <= b.Length; j++)
                {
                    if (i == 0 || j == 0)
                    {
                        steps[i, j] = i + j;
                        continue;
                    }
                    int least = Math.Min(Math.Min(steps[i - 1, j], steps[i, j - 1]) + 1, steps[i - 1, j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
                    bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    steps[i, j] = swapped ? Math.Min(least, steps[i - 2, j - 2] + 1) : least;
                }
            }
            return steps[a.Length, b.Length];
        }
    }
}
