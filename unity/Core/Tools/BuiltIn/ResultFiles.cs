#nullable enable
using System;
using System.Globalization;
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Writes results that are too large for an answer to files in <c>Library/Holdfast/Results</c>. Only the newest files are
    /// kept.
    /// </summary>
    internal static class ResultFiles
    {
        /// <summary>
        /// Writes a file. Then removes the oldest files of the same kind beyond <see cref="Limits.ResultFiles"/>.
        /// </summary>
        /// <param name="editor">The editor whose project gets the file.</param>
        /// <param name="kind">A short word of letters. It is the name of the folder and the beginning of the file's name.</param>
        /// <param name="extension">The file's extension without a dot.</param>
        /// <param name="content">The file's text.</param>
        /// <returns>Absolute path of the file, with '/'.</returns>
        /// <exception cref="IOException">The file cannot be written.</exception>
        public static string Write(EditorIdentity editor, string kind, string extension, string content)
        {
            string folder = Path.Combine(editor.StateFolder, "Results", kind);
            Directory.CreateDirectory(folder);
            // Sorted by name, the files are sorted by age. The random part distinguishes files of the same millisecond.
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
                    // Another program has the file open. A later call removes it.
                }
            }
            return path.Replace('\\', '/');
        }
    }
}
