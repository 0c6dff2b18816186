#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>Result of the search for the gateway's program.</summary>
    /// <param name="Path">The program's full path; null if it was not found.</param>
    /// <param name="Sentence">Where the program was found, or how to get it.</param>
    internal sealed record FoundProgram(string? Path, string Sentence);

    /// <summary>Searches for the gateway's program in the user's setting, on PATH, and in cargo's folder. Any thread.</summary>
    internal sealed class ProgramLocator
    {
        private readonly Func<string, string?> environment;
        private readonly Func<string, bool> exists;
        private readonly bool windows;

        /// <summary>Creates a locator that searches this machine.</summary>
        public ProgramLocator() : this(
            Environment.GetEnvironmentVariable, File.Exists, Environment.OSVersion.Platform == PlatformID.Win32NT)
        {
        }

        /// <param name="environment">Returns the value of an environment variable, or null.</param>
        /// <param name="exists">Returns whether a file with this path exists.</param>
        /// <param name="windows">Whether the rules of Windows apply: programs end in .exe, and PATH is split at
        /// semicolons.</param>
        public ProgramLocator(Func<string, string?> environment, Func<string, bool> exists, bool windows)
        {
            this.environment = environment;
            this.exists = exists;
            this.windows = windows;
        }

        /// <summary>Whether this is a full path at which a file exists.</summary>
        public bool IsProgram(string path) => IsFull(path) && exists(path);

        /// <param name="configured">The path that the user has set. If it is not empty, nothing else is searched.</param>
        public FoundProgram Find(string configured)
        {
            if (configured.Length > 0)
            {
                return IsProgram(configured)
                    ? new FoundProgram(configured, "As set in Preferences > Holdfast.")
                    : new FoundProgram(null,
                        $"Preferences > Holdfast says {configured}, and there is no such file. Correct it there, or clear it.");
            }
            foreach ((string folder, string where) in Folders())
            {
                string path = folder.TrimEnd('/', '\\') + (windows ? "\\holdfast.exe" : "/holdfast");
                if (exists(path)) return new FoundProgram(path, $"Found {where}: {path}");
            }
            return new FoundProgram(null,
                "The program holdfast, which AI editors start, is neither on PATH nor where cargo installs programs. Get it with " +
                "\"cargo install --path .\" in a copy of Holdfast's repository; if it is elsewhere, name it in Preferences > Holdfast.");
        }

        // Skips relative folders of PATH: such a folder would be inside the project, whose files the user has not chosen.
        private IEnumerable<(string Folder, string Where)> Folders()
        {
            foreach (string folder in (environment("PATH") ?? "").Split(windows ? ';' : ':').Select(f => f.Trim('"')))
            {
                if (IsFull(folder)) yield return (folder, "on PATH");
            }
            string? cargo = environment("CARGO_HOME");
            string? home = environment(windows ? "USERPROFILE" : "HOME");
            if (cargo == null && home != null) cargo = home.TrimEnd('/', '\\') + (windows ? "\\.cargo" : "/.cargo");
            if (cargo != null && IsFull(cargo)) yield return (cargo + (windows ? "\\bin" : "/bin"), "where cargo installs");
        }

        private bool IsFull(string path) => windows
            ? path.Length > 3 && path[1] == ':' && path[2] is '\\' or '/' || path.StartsWith("\\\\", StringComparison.Ordinal)
            : path.StartsWith("/", StringComparison.Ordinal);
    }
}
