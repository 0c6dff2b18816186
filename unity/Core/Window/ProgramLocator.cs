#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>Where the gateway's program was looked for, and what was found.</summary>
    /// <param name="Path">Its full path; null if it is not there.</param>
    /// <param name="Sentence">Where it was found; or that it was not, and how to get it.</param>
    public sealed record FoundProgram(string? Path, string Sentence);

    /// <summary>Looks for the gateway's program: where the user says, on PATH, where cargo installs. Any thread.</summary>
    public sealed class ProgramLocator
    {
        private readonly Func<string, string?> environment;
        private readonly Func<string, bool> exists;
        private readonly bool windows;

        /// <summary>One that looks at this machine.</summary>
        public ProgramLocator() : this(
            Environment.GetEnvironmentVariable, File.Exists, Environment.OSVersion.Platform == PlatformID.Win32NT)
        {
        }

        /// <param name="environment">Value of a variable, or null.</param>
        /// <param name="exists">Is there a file of this path?</param>
        /// <param name="windows">Programs end in .exe, and PATH is cut at semicolons.</param>
        public ProgramLocator(Func<string, string?> environment, Func<string, bool> exists, bool windows)
        {
            this.environment = environment;
            this.exists = exists;
            this.windows = windows;
        }

        /// <summary>Is this the full path of a file?</summary>
        public bool IsProgram(string path) => IsFull(path) && exists(path);

        /// <param name="configured">What the user has set; empty if nothing. If it is set, nothing else counts.</param>
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

        // A folder of PATH that is not absolute would mean one inside the project, whose files are not the user's own choice.
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
