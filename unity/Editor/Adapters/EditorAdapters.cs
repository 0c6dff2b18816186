#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using UnityEditor;
using UnityEngine;
using Debug = UnityEngine.Debug;

namespace Holdfast.Editor
{
    // Implements the bridge's own ports with Unity's API. This code contains no logic, since it cannot be tested without Unity.

    internal sealed class UnityLog : IEditorLog
    {
        private const string Prefix = "[Holdfast] ";

        public void Info(string message) => Debug.Log(Prefix + message);

        public void Warn(string message) => Debug.LogWarning(Prefix + message);

        public void Error(string message) => Debug.LogError(Prefix + message);
    }

    internal sealed class EditorStateReader : IEditorState
    {
        private EditorSnapshot last = new();

        // Called every frame, so it allocates only when something has changed.
        public EditorSnapshot Read()
        {
            bool compiling = EditorApplication.isCompiling;
            bool updating = EditorApplication.isUpdating;
            bool playing = EditorApplication.isPlayingOrWillChangePlaymode;
            bool focused = UnityEditorInternal.InternalEditorUtility.isApplicationActive;
            bool errors = EditorUtility.scriptCompilationFailed;
            if (compiling != last.IsCompiling || updating != last.IsUpdating || playing != last.IsPlaying ||
                focused != last.IsFocused || errors != last.HasCompileErrors)
            {
                last = new EditorSnapshot
                {
                    IsCompiling = compiling, IsUpdating = updating, IsPlaying = playing, IsFocused = focused, HasCompileErrors = errors
                };
            }
            return last;
        }
    }

    /// <summary>
    /// Wakes the editor with <c>EditorApplication.SignalTick</c>. This method is internal; it is thread-safe in every version
    /// that was checked. If it is missing, the editor cannot be woken, and a warning is logged once.
    /// </summary>
    internal sealed class EditorPulse : IEditorPulse
    {
        private readonly Action? signalTick;
        private readonly HoldfastPreferences preferences;

        public EditorPulse(HoldfastPreferences preferences)
        {
            this.preferences = preferences;
            MethodInfo? method = typeof(EditorApplication).GetMethod(
                "SignalTick", BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public, null, Type.EmptyTypes, null);
            if (method != null) signalTick = (Action)Delegate.CreateDelegate(typeof(Action), method, false);
            if (signalTick == null) Debug.LogWarning("[Holdfast] This editor cannot be woken while it has no focus; calls may wait");
        }

        public bool IsAvailable => signalTick != null && preferences.WakeUnfocused;

        public void Signal() => signalTick?.Invoke();

        public void Restore()
        {
            if (!preferences.RestoreMinimized || Environment.OSVersion.Platform != PlatformID.Win32NT) return;
            using Process own = Process.GetCurrentProcess();
            IntPtr window = own.MainWindowHandle;
            // ShowWindowAsync does not wait for the editor's main thread, which may be busy.
            if (window != IntPtr.Zero && IsIconic(window)) ShowWindowAsync(window, ShowNoActivate);
        }

        private const int ShowNoActivate = 4;

        [DllImport("user32.dll")]
        private static extern bool IsIconic(IntPtr window);

        [DllImport("user32.dll")]
        private static extern bool ShowWindowAsync(IntPtr window, int command);
    }

    internal sealed class EditorClipboard : IClipboard
    {
        public void Copy(string text) => EditorGUIUtility.systemCopyBuffer = text;
    }

    internal sealed class TypeCacheTools : IToolSource
    {
        // The package's own tools are in an assembly without references to Unity. If the cache leaves such assemblies out, they are added.
        public IEnumerable<Type> FindToolTypes()
        {
            List<Type> found = TypeCache.GetTypesWithAttribute<McpToolAttribute>().ToList();
            Assembly own = typeof(McpToolAttribute).Assembly;
            return found.Exists(t => t.Assembly == own) ? found : own.GetTypes().Where(t => t.IsDefined(typeof(McpToolAttribute), false)).Concat(found);
        }
    }

    internal static class EditorFacts
    {
        public static string ProjectPath => Path.GetDirectoryName(Application.dataPath)!.Replace('\\', '/');

        public static EditorIdentity Read()
        {
            string project = ProjectPath;
            return new EditorIdentity
            {
                ProjectPath = project,
                ProjectName = Path.GetFileName(project),
                UnityVersion = Application.unityVersion,
                PackageVersion = UnityEditor.PackageManager.PackageInfo.FindForAssembly(typeof(Bridge).Assembly)?.version ?? "0.0.0",
                ProcessId = Process.GetCurrentProcess().Id,
                StateFolder = Path.Combine(project, "Library", "Holdfast")
            };
        }
    }

    /// <summary>
    /// Stores texts that outlive a domain reload. The clients and their push listeners are stored in a singleton object that
    /// Unity preserves. All other data of the bridge is in SessionState.
    /// </summary>
    internal sealed class EditorSessionStore : ISessionStore
    {
        public string? Get(string key)
        {
            if (HoldfastSession.Keeps(key)) return HoldfastSession.instance.Get(key);
            string text = SessionState.GetString(key, "");
            return text.Length == 0 ? null : text;
        }

        public void Set(string key, string? value)
        {
            if (HoldfastSession.Keeps(key)) HoldfastSession.instance.Set(key, value);
            else if (value == null) SessionState.EraseString(key);
            else SessionState.SetString(key, value);
        }
    }
}
