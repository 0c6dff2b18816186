#nullable enable
using System;
using System.ComponentModel;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="ReadScriptTool"/>.</summary>
    internal sealed class ReadScriptSchema : BaseToolSchema
    {
        /// <summary>The script's file.</summary>
        [McpRequired]
        [Description("The script's file, such as Assets/Scripts/Player.cs")]
        public string Path { get; set; } = "";

        /// <summary>The first line.</summary>
        [Description("The first line to read, from 1")]
        public int FirstLine { get; set; } = 1;

        /// <summary>Number of lines.</summary>
        [Description("Maximum number of lines")]
        public int MaxLines { get; set; } = 500;
    }

    /// <summary>Result of <see cref="ReadScriptTool"/>.</summary>
    internal sealed class ReadScriptResponse : BaseToolResponse
    {
        /// <summary>The lines, with \n between them.</summary>
        public string Text { get; set; } = "";

        /// <summary>Number of lines of the file.</summary>
        public int TotalLines { get; set; }

        /// <summary>The first line that was not read; 0 if there is none.</summary>
        public int NextLine { get; set; }
    }

    /// <summary>Reads a script.</summary>
    [McpTool(
        Description = "Reads a script or another text file of the project. Example: {\"Path\": \"Assets/Scripts/Player.cs\"}", Title = "Read script",
        ReadOnly = true, Parallel = true, OffMainThread = true)]
    internal sealed class ReadScriptTool : AbstractUnityTool<ReadScriptSchema, ReadScriptResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "read-script";

        /// <inheritdoc/>
        protected override Task<ReadScriptResponse> ExecuteAsync(ReadScriptSchema parameters, IToolContext context)
        {
            if (parameters.FirstLine < 1) throw new ToolParameterException("FirstLine begins with 1");
            if (parameters.MaxLines < 1) throw new ToolParameterException("MaxLines must be at least 1");
            AssetPaths.Readable(parameters.Path, "", "Path");
            string[] lines = TextAsset.Read(context, parameters.Path).Lines();
            var text = new StringBuilder();
            int at = parameters.FirstLine - 1, end = (int)Math.Min(lines.Length, (long)at + parameters.MaxLines);
            // A long line is read as a whole, unless it would be the answer's second.
            for (; at < end && (text.Length == 0 || text.Length + lines[at].Length < Limits.ResultText); at++) text.Append(at == parameters.FirstLine - 1 ? "" : "\n").Append(lines[at]);
            return Task.FromResult(new ReadScriptResponse { Text = text.ToString(), TotalLines = lines.Length, NextLine = at < lines.Length ? at + 1 : 0 });
        }
    }

    /// <summary>What <see cref="EditScriptTool"/> does.</summary>
    internal enum ScriptAction
    {
        /// <summary>Creates a file.</summary>
        Create,

        /// <summary>Replaces texts.</summary>
        Replace
    }

    /// <summary>A text and what takes its place.</summary>
    internal sealed class TextEdit
    {
        /// <summary>The text that is there.</summary>
        [McpRequired]
        [Description("The text that is there, exactly once; enough lines to be the only one")]
        public string OldText { get; set; } = "";

        /// <summary>What takes its place.</summary>
        [McpRequired]
        [Description("What takes its place")]
        public string NewText { get; set; } = "";
    }

    /// <summary>Parameters of <see cref="EditScriptTool"/>.</summary>
    internal sealed class EditScriptSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Create a file with Text, or Replace texts of one by Edits")]
        public ScriptAction Action { get; set; }

        /// <summary>The script's file.</summary>
        [McpRequired]
        [Description("The script's file, such as Assets/Scripts/Player.cs")]
        public string Path { get; set; } = "";

        /// <summary>The whole text.</summary>
        [Description("Create: the whole text")]
        public string Text { get; set; } = "";

        /// <summary>The edits.</summary>
        [Description("Replace: the edits, one after the other, all or none")]
        public TextEdit[] Edits { get; set; } = Array.Empty<TextEdit>();
    }

    /// <summary>Result of <see cref="EditScriptTool"/>.</summary>
    internal sealed class EditScriptResponse : BaseToolResponse
    {
        /// <summary>Whether it was done. If false, nothing was changed.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Number of lines of the file now.</summary>
        public int TotalLines { get; set; }
    }

    /// <summary>Creates and edits scripts.</summary>
    [McpTool(
        Description = "Creates a script or another text file of the project, or replaces exact texts in it. Call compile once after all edits. Example: " +
            "{\"Action\": \"Replace\", \"Path\": \"Assets/Scripts/Player.cs\", \"Edits\": [{\"OldText\": \"speed = 1\", \"NewText\": \"speed = 2\"}]}",
        Title = "Edit script", OffMainThread = true)]
    internal sealed class EditScriptTool : AbstractUnityTool<EditScriptSchema, EditScriptResponse>
    {
        // Unity's own files, such as scenes, are not edited as texts: what Unity has in memory would be lost or written over it.
        private static readonly string[] Endings =
        {
            ".cs", ".asmdef", ".asmref", ".rsp", ".shader", ".hlsl", ".cginc", ".compute", ".uxml", ".uss", ".tss", ".json", ".xml", ".txt", ".md", ".csv", ".yaml", ".yml"
        };

        /// <inheritdoc/>
        public override string ToolName => "edit-script";

        /// <inheritdoc/>
        protected override Task<EditScriptResponse> ExecuteAsync(EditScriptSchema parameters, IToolContext context)
        {
            string path = AssetPaths.Readable(parameters.Path, "", "Path");
            if (!Endings.Any(e => path.EndsWith(e, StringComparison.OrdinalIgnoreCase)))
            {
                throw new ToolParameterException($"Path must end with one of {string.Join(", ", Endings)}: {path}");
            }
            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            try
            {
                return Task.FromResult(parameters.Action == ScriptAction.Create ? Create(path, parameters, editor) : Replace(path, parameters, context));
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                return No($"{path} could not be written: {e.Message}");
            }
        }

        private static EditScriptResponse Create(string path, EditScriptSchema parameters, EditorIdentity editor)
        {
            if (parameters.Edits.Length > 0) throw new ToolParameterException("Edits is for Replace");
            if (AssetPaths.Exists(editor, path)) return Refused($"There is a file {path} already; it is not replaced");
            if (path.StartsWith("Packages/", StringComparison.Ordinal) && !AssetPaths.IsFolder(editor, string.Join("/", path.Split('/').Take(2))))
            {
                return Refused($"The package of {path} is not in the project's folder, so it is not changed");
            }
            if (parameters.Text.Length > Limits.ScriptText) throw new ToolParameterException($"Text has more than {Limits.ScriptText} characters");
            string file = System.IO.Path.Combine(editor.ProjectPath, path);
            Directory.CreateDirectory(System.IO.Path.GetDirectoryName(file));
            return Save(file, path, new TextAsset(parameters.Text, false));
        }

        private static EditScriptResponse Replace(string path, EditScriptSchema parameters, IToolContext context)
        {
            if (parameters.Text.Length > 0) throw new ToolParameterException("Text is for Create");
            if (parameters.Edits.Length == 0 || parameters.Edits.Length > Limits.TextEdits) throw new ToolParameterException($"Edits must have 1 to {Limits.TextEdits} entries");
            TextAsset text = TextAsset.Read(context, path);
            for (int i = 0; i < parameters.Edits.Length; i++)
            {
                string at = parameters.Edits.Length == 1 ? "" : $"; it is number {i + 1} of Edits, and none was made";
                if (string.IsNullOrEmpty(parameters.Edits[i]?.OldText)) throw new ToolParameterException("OldText is missing" + at);
                int found = text.Replace(parameters.Edits[i].OldText, parameters.Edits[i].NewText ?? "");
                if (found != 1)
                {
                    return Refused((found == 0 ? $"OldText is not in {path}; read-script shows what is there" : $"OldText is in {path} more than once; give more lines of it") + at);
                }
            }
            if (text.Length > Limits.ScriptText) throw new ToolParameterException($"The file would have more than {Limits.ScriptText} characters");
            return Save(System.IO.Path.Combine(context.Get<IBridgeInfo>().Editor.ProjectPath, path), path, text);
        }

        private static EditScriptResponse Save(string file, string path, TextAsset text)
        {
            AtomicFile.Write(file, text.Bytes());
            return new EditScriptResponse
            {
                Success = true, TotalLines = text.Lines().Length, Message = $"Saved {path}. Unity does not know it yet: call compile after all edits"
            };
        }

        private static Task<EditScriptResponse> No(string message) => Task.FromResult(Refused(message));

        private static EditScriptResponse Refused(string message) => new() { Message = message };
    }

    /// <summary>The text of a file of the project. It keeps the file's line ends and its byte order mark.</summary>
    internal sealed class TextAsset
    {
        private static readonly UTF8Encoding Strict = new(false, true);
        private readonly bool mark;
        private readonly string newline;
        private string text;

        /// <summary>Takes a text as it is.</summary>
        public TextAsset(string text, bool mark)
        {
            this.text = text;
            this.mark = mark;
            newline = text.Contains("\r\n") ? "\r\n" : "\n";
        }

        /// <summary>Number of characters.</summary>
        public int Length => text.Length;

        /// <summary>Reads a file. Any thread.</summary>
        /// <exception cref="ToolParameterException">There is none, it is too long, or it is no text in UTF-8.</exception>
        public static TextAsset Read(IToolContext context, string path)
        {
            var file = new FileInfo(System.IO.Path.Combine(context.Get<IBridgeInfo>().Editor.ProjectPath, path));
            if (!file.Exists)
            {
                throw new ToolParameterException($"There is no file {path} (Path)" +
                    (path.StartsWith("Packages/", StringComparison.Ordinal) ? "; of packages only those that lie in the project's folder are read" : ""));
            }
            if (file.Length > Limits.ScriptText) throw new ToolParameterException($"{path} has more than {Limits.ScriptText} bytes (Path)");
            byte[] bytes = File.ReadAllBytes(file.FullName);
            bool mark = bytes.Length >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF;
            try
            {
                return new TextAsset(Strict.GetString(bytes, mark ? 3 : 0, bytes.Length - (mark ? 3 : 0)), mark);
            }
            catch (DecoderFallbackException)
            {
                throw new ToolParameterException($"{path} is no text in UTF-8 (Path)");
            }
        }

        /// <summary>The lines, without line ends.</summary>
        public string[] Lines() => text.Replace("\r\n", "\n").TrimEnd('\n').Split('\n');

        /// <summary>The file's content.</summary>
        /// <exception cref="ToolParameterException">The text cannot be written as UTF-8.</exception>
        public byte[] Bytes()
        {
            try
            {
                return (mark ? new byte[] { 0xEF, 0xBB, 0xBF } : Array.Empty<byte>()).Concat(Strict.GetBytes(text)).ToArray();
            }
            catch (EncoderFallbackException)
            {
                throw new ToolParameterException("The text has half of a character (a surrogate that stands alone)");
            }
        }

        /// <summary>Replaces a text that is there once. Line ends may be given as \n, whatever the file has.</summary>
        /// <returns>How often it is there, counted up to 2. Nothing was replaced if this is not 1.</returns>
        public int Replace(string old, string with)
        {
            if (!text.Contains(old)) old = Own(old);
            int at = text.IndexOf(old, StringComparison.Ordinal);
            if (at < 0) return 0;
            if (text.IndexOf(old, at + 1, StringComparison.Ordinal) >= 0) return 2;
            text = text.Substring(0, at) + Own(with) + text.Substring(at + old.Length);
            return 1;
        }

        private string Own(string given) => given.Replace("\r\n", "\n").Replace("\n", newline);
    }
}
