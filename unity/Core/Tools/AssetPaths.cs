#nullable enable
using System.IO;
using System.Linq;

namespace Holdfast
{
    /// <summary>Checks the paths of assets that callers give.</summary>
    internal static class AssetPaths
    {
        private const string Assets = "Assets/", Packages = "Packages/";

        // Windows does not accept these, and a project must work there too.
        private const string Forbidden = "\\:*?\"<>|";

        /// <summary>Checks the path of an asset that a tool may write: below Assets/, and with this ending.</summary>
        /// <exception cref="ToolParameterException">It is not one.</exception>
        public static string Writable(string path, string ending, string parameter)
        {
            if (path.Length > 0 && !path.StartsWith(Assets, System.StringComparison.Ordinal)) throw Refusal(parameter, "must begin with " + Assets, path);
            return Readable(path, ending, parameter);
        }

        /// <summary>Checks the path of an asset: below Assets/ or Packages/, and with this ending.</summary>
        /// <exception cref="ToolParameterException">It is not one.</exception>
        public static string Readable(string path, string ending, string parameter)
        {
            if (path.Length == 0) throw new ToolParameterException(parameter + " is missing");
            bool rooted = path.StartsWith(Assets, System.StringComparison.Ordinal) || path.StartsWith(Packages, System.StringComparison.Ordinal);
            string? wrong = !rooted ? $"must begin with {Assets} or {Packages}"
                : !path.EndsWith(ending, System.StringComparison.Ordinal) ? "must end with " + ending
                : path.Length > Limits.AssetPath ? $"must not be longer than {Limits.AssetPath} characters"
                : path.Any(c => c < ' ' || Forbidden.IndexOf(c) >= 0) ? "has a character that no file may have on every system"
                : path.Split('/').Any(IsNoName) ? "has an empty part, or one that begins or ends with a dot or a blank"
                : null;
            return wrong == null ? path : throw Refusal(parameter, wrong, path);
        }

        /// <summary>Checks the path of a folder: Assets or Packages, or one below them.</summary>
        /// <exception cref="ToolParameterException">It is not one.</exception>
        public static void Folder(string path, string parameter)
        {
            if (path is not ("Assets" or "Packages")) Readable(path, "", parameter);
        }

        /// <summary>Whether the project has this folder.</summary>
        public static bool IsFolder(EditorIdentity editor, string path) => Directory.Exists(Path.Combine(editor.ProjectPath, path));

        /// <summary>Whether the project has this file.</summary>
        public static bool Exists(EditorIdentity editor, string path) => File.Exists(Path.Combine(editor.ProjectPath, path));

        /// <summary>Whether the file exists and may not be written, for instance since version control has locked it.</summary>
        public static bool IsReadOnly(EditorIdentity editor, string path)
        {
            var file = new FileInfo(Path.Combine(editor.ProjectPath, path));
            return file.Exists && file.IsReadOnly;
        }

        /// <summary>Whether the project has the folder in which this file is or would be.</summary>
        public static bool HasFolder(EditorIdentity editor, string path) =>
            Directory.Exists(Path.GetDirectoryName(Path.Combine(editor.ProjectPath, path)));

        private static ToolParameterException Refusal(string parameter, string wrong, string path) => new(
            $"{parameter} {wrong}: {(path.Length <= Limits.AssetPath ? path : path.Substring(0, Limits.AssetPath) + "...")}");

        // This refuses ".." too. Unity ignores files that begin with a dot.
        private static bool IsNoName(string part) => part.Length == 0 || part.Trim(' ', '.') != part;
    }
}
