#nullable enable
using System;
using System.Globalization;
using System.IO;
using System.Runtime.InteropServices;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// The file <c>Library/Holdfast/instance.json</c>, by which a gateway finds this editor. It is written under a temporary name
    /// and then renamed, so that a reader always sees a whole file. Only its owner may read it, since it contains the token. Any
    /// thread.
    /// </summary>
    internal sealed class InstanceFile
    {
        private readonly object gate = new();
        private readonly string folder;
        private readonly string path;
        private readonly IEditorLog log;
        private string? complaint;

        public InstanceFile(string folder, IEditorLog log)
        {
            this.folder = folder;
            this.log = log;
            path = Path.Combine(folder, "instance.json");
        }

        /// <summary>Writes the file. A failure is logged as a warning, but not again while it stays the same.</summary>
        public void Write(EditorIdentity editor, SessionSecrets secrets, int port, string state, DateTime utcNow)
        {
            var content = new JObject
            {
                ["product"] = "holdfast",
                ["protocol"] = Bridge.Protocol,
                ["packageVersion"] = editor.PackageVersion,
                ["unityVersion"] = editor.UnityVersion,
                ["project"] = editor.ProjectPath,
                ["pid"] = editor.ProcessId,
                ["port"] = port,
                ["state"] = state,
                ["generation"] = secrets.Generation,
                ["nonce"] = secrets.Nonce,
                ["token"] = secrets.Token,
                ["updatedAt"] = utcNow.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture)
            };
            lock (gate)
            {
                try
                {
                    Directory.CreateDirectory(folder);
                    AtomicFile.WritePrivate(path, Json.Utf8.GetBytes(Json.Write(content)));
                    complaint = null;
                }
                catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException)
                {
                    if (complaint == e.Message) return;
                    complaint = e.Message;
                    log.Warn($"{path} cannot be written, so gateways cannot find this editor: {e.Message}");
                }
            }
        }

        /// <summary>
        /// Removes the file. Called when the editor quits or the user stops the bridge. A failure is logged as a warning.
        /// </summary>
        public void Remove()
        {
            lock (gate)
            {
                try
                {
                    File.Delete(path);
                }
                catch (Exception e) when (e is IOException or UnauthorizedAccessException)
                {
                    log.Warn($"{path} cannot be removed: {e.Message}");
                }
            }
        }
    }

    /// <summary>Writes files in such a way that a reader sees either the old file or the whole new one.</summary>
    internal static class AtomicFile
    {
        private static readonly bool IsWindows = Environment.OSVersion.Platform == PlatformID.Win32NT;

        /// <summary>Writes a file that only its owner may read. On Windows no mode is set.</summary>
        /// <exception cref="IOException">The file cannot be written; the old one is unchanged.</exception>
        public static void WritePrivate(string path, byte[] content)
        {
            string temporary = path + "." + Hex.Random(4) + ".tmp";
            try
            {
                using (var stream = new FileStream(temporary, FileMode.CreateNew, FileAccess.Write, FileShare.None))
                {
                    // The mode is set before the file has any content.
                    if (!IsWindows && chmod(temporary, 0x180) != 0) throw new IOException("its mode cannot be set to 0600");
                    stream.Write(content, 0, content.Length);
                }
                Rename(temporary, path);
            }
            catch
            {
                File.Delete(temporary);
                throw;
            }
        }

        private static void Rename(string from, string to)
        {
            if (!IsWindows)
            {
                if (rename(from, to) != 0) throw new IOException($"{from} cannot be renamed to {to}");
                return;
            }
            if (File.Exists(to)) File.Replace(from, to, null);
            else File.Move(from, to);
        }

        [DllImport("libc", SetLastError = true)]
        private static extern int chmod(string path, uint mode);

        [DllImport("libc", SetLastError = true)]
        private static extern int rename(string from, string to);
    }
}
