#nullable enable
using System;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Writes results that are too large for an answer to files in <c>Library/Holdfast/Results</c>. Only the newest are kept.
    /// </summary>
    internal static class ResultFiles
    {
        /// <summary>Writes a file and removes the oldest beyond <see cref="Limits.ResultFiles"/>.</summary>
        /// <param name="editor">The editor whose project gets the file.</param>
        /// <param name="kind">A short word of letters, for the folder and the beginning of the name.</param>
        /// <param name="extension">The file's extension without a dot.</param>
        /// <param name="content">The file's text.</param>
        /// <returns>Absolute path of the file, with '/'.</returns>
        /// <exception cref="IOException">The file cannot be written.</exception>
        public static string Write(EditorIdentity editor, string kind, string extension, string content)
        {
            string folder = Path.Combine(editor.StateFolder, "Results", kind);
            Directory.CreateDirectory(folder);
            // Names sort by age. The random part separates files of the same millisecond.
            string stamp = DateTime.UtcNow.ToString("yyyyMMdd-HHmmss-fff", CultureInfo.InvariantCulture);
            string path = Path.Combine(folder, $"{kind}-{stamp}-{Hex.Random(2)}.{extension}");
            AtomicFile.WritePrivate(path, Json.Utf8.GetBytes(content));
            foreach (FileInfo old in new DirectoryInfo(folder).GetFiles(kind + "-*")
                         .OrderByDescending(f => f.Name, StringComparer.Ordinal).Skip(Limits.ResultFiles))
            {
                try
                {
                    old.Delete();
                }
                catch (Exception e) when (e is IOException or UnauthorizedAccessException)
                {
                    // Another program reads the file. It is removed at a later call.
                }
            }
            return path.Replace('\\', '/');
        }
    }
}
