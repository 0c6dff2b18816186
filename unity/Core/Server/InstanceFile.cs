#nullable enable
using System;
using System.Globalization;
using System.IO;
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
                    bool isPrivate = AtomicFile.WritePrivate(path, Json.Utf8.GetBytes(Json.Write(content)));
                    Complain(isPrivate ? null : $"{path} contains a secret, and Windows could not keep other users from reading it");
                }
                catch (Exception e) when (e is IOException or UnauthorizedAccessException or NotSupportedException)
                {
                    Complain($"{path} cannot be written, so gateways cannot find this editor: {e.Message}");
                }
            }
        }

        // Under the lock. Warns, but not again while the complaint stays the same; null means that there is none.
        private void Complain(string? now)
        {
            if (now != null && now != complaint) log.Warn(now);
            complaint = now;
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
}
