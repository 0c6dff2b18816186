#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Groups of the package's own tools. The user can switch each off: then AI editors do not see its tools.</summary>
    internal enum ToolGroup
    {
        /// <summary>The editor itself: state, console, compilation, play mode, menu, undo, pictures.</summary>
        Editor,

        /// <summary>Scenes, their objects, and prefabs.</summary>
        Scenes,

        /// <summary>The project's files.</summary>
        Assets,

        /// <summary>Scripts as texts, and code.</summary>
        Scripts,

        /// <summary>Tests.</summary>
        Tests,

        /// <summary>Packages.</summary>
        Packages
    }

    /// <summary>Says which tool is in which group.</summary>
    internal static class ToolGroups
    {
        private static readonly Dictionary<ToolGroup, string[]> Names = new()
        {
            [ToolGroup.Editor] = new[]
            {
                "editor-state", "compile", "get-logs", "clear-console", "play-mode", "get-menu-items", "execute-menu-item", "undo", "screenshot", "batch"
            },
            [ToolGroup.Scenes] = new[]
            {
                "list-scenes", "scene", "get-hierarchy", "find-game-objects", "inspect", "get-selection", "set-selection", "edit-game-object",
                "delete-game-object", "edit-component", "remove-component", "edit-ui", "prefabs"
            },
            [ToolGroup.Assets] = new[] { "find-assets", "edit-asset", "delete-asset", "unity-search", "get-provider-details" },
            [ToolGroup.Scripts] = new[] { "read-script", "edit-script", "execute-csharp" },
            [ToolGroup.Tests] = new[] { "list-tests", "run-tests" },
            [ToolGroup.Packages] = new[] { "list-packages", "change-packages" }
        };

        private static readonly Dictionary<string, ToolGroup> Groups =
            Names.SelectMany(g => g.Value.Select(n => (Name: n, Group: g.Key))).ToDictionary(p => p.Name, p => p.Group, StringComparer.Ordinal);

        /// <summary>The tools of a group, in the order in which people would look for them.</summary>
        public static IReadOnlyList<string> Of(ToolGroup group) => Names[group];

        /// <summary>The group of a tool. Returns null for tools for development, and for those that are not part of this package.</summary>
        public static ToolGroup? Of(ToolEntry tool) => tool.IsBuiltIn && Groups.TryGetValue(tool.Name, out ToolGroup group) ? group : (ToolGroup?)null;
    }
}
