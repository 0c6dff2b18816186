#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>What the editor's command line says.</summary>
    internal static class CommandLine
    {
        private const string VirtualProject = "--virtual-project-clone";
        private const string EditorMode = "-editor-mode";
        private const string CloneMode = "com.unity.mppm.clone";

        /// <summary>
        /// Whether these are the arguments with which Multiplayer Play Mode starts a virtual player: an editor process on a view of
        /// the same project. Whether every version gives such a process a level of its own is not known, so both are asked.
        /// </summary>
        public static bool IsVirtualPlayer(IReadOnlyList<string> arguments) =>
            arguments.Contains(VirtualProject, StringComparer.Ordinal) ||
            arguments.Zip(arguments.Skip(1), (name, value) => name == EditorMode && value == CloneMode).Contains(true);
    }
}
