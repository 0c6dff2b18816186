#nullable enable
using System;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Results that are too large to answer with, as files in <c>Library/Holdfast/Results</c>. Only the newest are kept.
    /// </summary>
    internal static class ResultFiles
    {
        /// <summary>Writes one.</summary>
        /// <param name="editor">Whose project.</param>
        /// <param name="kind">A short word of letters: the folder, and the beginning of the name.</param>
        /// <param name="extension">Without a dot.</param>
        /// <param name="content">Its text.</param>
        /// <returns>Its absolute path, with '/'.</returns>
        /// <exception cref="IOException">It cannot be written.</exception>
        public static string Write(EditorIdentity editor, string kind, string extension, string content)
        {
            string folder = Path.Combine(editor.StateFolder, "Results", kind);
            Directory.CreateDirectory(folder);
            // The name sorts by age; the counter tells two of one moment apart.
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
                    // Somebody reads it; it goes another time.
                }
            }
            return path.Replace('\\', '/');
        }
    }
}
