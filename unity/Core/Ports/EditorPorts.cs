#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>The editor's state, read on its main thread once a frame.</summary>
    internal sealed record EditorSnapshot
    {
        /// <summary>Whether scripts are being compiled.</summary>
        public bool IsCompiling { get; init; }

        /// <summary>Whether assets are being imported.</summary>
        public bool IsUpdating { get; init; }

        /// <summary>Whether the editor is in play mode or entering it.</summary>
        public bool IsPlaying { get; init; }

        /// <summary>Whether the editor's window has the focus.</summary>
        public bool IsFocused { get; init; }

        /// <summary>Whether the last compilation failed.</summary>
        public bool HasCompileErrors { get; init; }
    }

    /// <summary>Reads the editor's state. Main thread.</summary>
    internal interface IEditorState
    {
        /// <summary>Reads the state. Must be cheap: called every frame.</summary>
        EditorSnapshot Read();
    }

    /// <summary>Facts about the editor that do not change while the domain lives.</summary>
    internal sealed record EditorIdentity
    {
        /// <summary>Absolute path of the project's folder, with '/', and with links resolved where possible.</summary>
        public string ProjectPath { get; init; } = "";

        /// <summary>The project's name.</summary>
        public string ProjectName { get; init; } = "";

        /// <summary>Unity's version, such as 6000.0.78f1.</summary>
        public string UnityVersion { get; init; } = "";

        /// <summary>This package's version.</summary>
        public string PackageVersion { get; init; } = "";

        /// <summary>Id of the editor's process.</summary>
        public int ProcessId { get; init; }

        /// <summary>The folder of instance.json: the project's Library/Holdfast.</summary>
        public string StateFolder { get; init; } = "";
    }

    /// <summary>
    /// Stores texts that outlive domain reloads but not the editor's process (Unity's SessionState). Main thread.
    /// </summary>
    internal interface ISessionStore
    {
        /// <summary>Returns a text, or null if there is none.</summary>
        string? Get(string key);

        /// <summary>Stores a text under a key. Null removes it.</summary>
        void Set(string key, string? value);
    }

    /// <summary>Wakes an editor that does not have the focus. Any thread.</summary>
    internal interface IEditorPulse
    {
        /// <summary>Whether this editor can be woken and the user allows it.</summary>
        bool IsAvailable { get; }

        /// <summary>Makes the editor run a frame soon.</summary>
        void Signal();

        /// <summary>
        /// Shows a minimised editor's window again without giving it the focus, if the user allows that and the system can do it.
        /// Some editors run no frames while they are minimised, even after <see cref="Signal"/>.
        /// </summary>
        void Restore();
    }

    /// <summary>Logs the package's own messages. Any thread.</summary>
    internal interface IEditorLog
    {
        /// <summary>Logs an expected event.</summary>
        void Info(string message);

        /// <summary>Logs a problem in spite of which the bridge goes on.</summary>
        void Warn(string message);

        /// <summary>Logs a failure.</summary>
        void Error(string message);
    }

    /// <summary>
    /// What the user allows. The members are called on any thread, so an implementation must read from a copy of the settings
    /// that is replaced as a whole.
    /// </summary>
    internal interface ISecuritySettings
    {
        /// <summary>Whether this switch is on.</summary>
        bool IsOn(SecuritySettings setting);

        /// <summary>The user's permission for this one tool.</summary>
        ToolPermission PermissionOf(string toolName);

        /// <summary>Whether clients that cannot prove themselves, such as stock uLoopMCP servers, may call tools.</summary>
        bool AllowUnprovenClients { get; }

        /// <summary>Whether the user has switched this group of tools off.</summary>
        bool IsOff(ToolGroup group);

        /// <summary>Raised on the main thread when the user has switched a group on or off.</summary>
        event Action<ToolGroup>? GroupSwitched;
    }

    /// <summary>A user's permission for one tool.</summary>
    internal enum ToolPermission
    {
        /// <summary>No permission is set: the switches decide.</summary>
        Default,

        /// <summary>The tool may run, regardless of the switches.</summary>
        Allow,

        /// <summary>The tool may not run, regardless of the switches.</summary>
        Deny
    }

    /// <summary>Finds the classes that carry <see cref="McpToolAttribute"/> (TypeCache). Main thread.</summary>
    internal interface IToolSource
    {
        /// <summary>Returns the classes. The registry leaves out those that cannot be used as tools, with a warning.</summary>
        IEnumerable<Type> FindToolTypes();
    }

    /// <summary>A clock that never runs backwards and is the same for every domain of the process. Any thread.</summary>
    internal interface IClock
    {
        /// <summary>Milliseconds since a fixed moment before the process began.</summary>
        long Now { get; }

        /// <summary>The wall clock, in UTC; it can be changed.</summary>
        DateTime UtcNow { get; }
    }

    /// <summary>The system's clock.</summary>
    internal sealed class SystemClock : IClock
    {
        /// <inheritdoc/>
        public long Now => (long)(System.Diagnostics.Stopwatch.GetTimestamp() * 1000.0 / System.Diagnostics.Stopwatch.Frequency);

        /// <inheritdoc/>
        public DateTime UtcNow => DateTime.UtcNow;
    }
}
