using System;
using System.IO;
using System.Linq;

namespace EditorHost
{
    /// <summary>The project's C# files, as far as the simulated editor knows C#: files that changed, and the directive #error.</summary>
    internal sealed class Sources
    {
        private readonly string folder;
        private string seen;

        public Sources(string folder)
        {
            this.folder = folder;
            seen = Look();
        }

        /// <summary>Whether a file was written, added or removed since the last time. An import notices this.</summary>
        public bool HaveChanged()
        {
            string now = Look();
            if (now == seen) return false;
            seen = now;
            return true;
        }

        /// <summary>The first directive #error as three lines: file, line and the compiler's message; null if there is none.</summary>
        public string Error()
        {
            foreach (string file in Files())
            {
                string[] lines = File.ReadAllLines(file);
                int at = Array.FindIndex(lines, l => l.StartsWith("#error ", StringComparison.Ordinal));
                if (at < 0) continue;
                string path = "Assets" + file.Substring(folder.Length).Replace('\\', '/');
                return path + "\n" + (at + 1) + "\nCS1029: #error: '" + lines[at].Substring("#error ".Length) + "'";
            }
            return null;
        }

        private string[] Files() => Directory.GetFiles(folder, "*.cs", SearchOption.AllDirectories).OrderBy(f => f, StringComparer.Ordinal).ToArray();

        private string Look() => string.Join("\n", Files().Select(f => f + " " + new FileInfo(f).Length + " " + File.GetLastWriteTimeUtc(f).Ticks));
    }
}
