#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>What the editor is doing, as read on its main thread once a frame.</summary>
    public sealed record EditorSnapshot
    {
        /// <summary>Scripts are being compiled.</summary>
        public bool IsCompiling { get; init; }

        /// <summary>Assets are being imported.</summary>
        public bool IsUpdating { get; init; }

        /// <summary>In play mode, or on the way into it.</summary>
        public bool IsPlaying { get; init; }

        /// <summary>The editor's window has the focus.</summary>
        public bool IsFocused { get; init; }

        /// <summary>The last compilation failed.</summary>
        public bool HasCompileErrors { get; init; }
    }

    /// <summary>Reads the editor's state. Main thread.</summary>
    public interface IEditorState
    {
        /// <summary>Cheap enough for every frame.</summary>
        EditorSnapshot Read();
    }

    /// <summary>What does not change while the domain lives.</summary>
    public sealed record EditorIdentity
    {
        /// <summary>The project's folder, absolute, without links where they can be resolved, with '/'.</summary>
        public string ProjectPath { get; init; } = "";

        /// <summary>The project's name.</summary>
        public string ProjectName { get; init; } = "";

        /// <summary>Unity's version, such as 6000.0.78f1.</summary>
        public string UnityVersion { get; init; } = "";

        /// <summary>This package's version.</summary>
        public string PackageVersion { get; init; } = "";

        /// <summary>The process.</summary>
        public int ProcessId { get; init; }

        /// <summary>Where instance.json lies: the project's Library/Holdfast.</summary>
        public string StateFolder { get; init; } = "";
    }

    /// <summary>Texts that live as long as the editor's process, through every reload (SessionState). Main thread.</summary>
    public interface ISessionStore
    {
        /// <summary>The text, or null if there is none.</summary>
        string? Get(string key);

        /// <summary>Keeps a text; null erases it.</summary>
        void Set(string key, string? value);
    }

    /// <summary>Wakes an editor without focus. Any thread.</summary>
    public interface IEditorPulse
    {
        /// <summary>Can it?</summary>
        bool IsAvailable { get; }

        /// <summary>Makes the editor run a frame soon.</summary>
        void Signal();

        /// <summary>
        /// Shows a minimised editor again, without giving it the focus, if the user wants that and the system can: some run
        /// no frames while they are minimised, whoever signals.
        /// </summary>
        void Restore();
    }

    /// <summary>The package's own messages. Any thread.</summary>
    public interface IEditorLog
    {
        /// <summary>Something went as it should.</summary>
        void Info(string message);

        /// <summary>Something is not as it should be, and the bridge goes on.</summary>
        void Warn(string message);

        /// <summary>Something is broken.</summary>
        void Error(string message);
    }

    /// <summary>What the user allows. Read from any thread: keep a copy that is replaced as a whole.</summary>
    public interface ISecuritySettings
    {
        /// <summary>Is this switch on?</summary>
        bool IsOn(SecuritySettings setting);

        /// <summary>What the user said about this one tool.</summary>
        ToolPermission PermissionOf(string toolName);

        /// <summary>May clients that cannot prove themselves call tools, as stock uLoopMCP servers?</summary>
        bool AllowUnprovenClients { get; }
    }

    /// <summary>A user's word about one tool.</summary>
    public enum ToolPermission
    {
        /// <summary>None: the switches decide.</summary>
        Default,

        /// <summary>It may run, whatever the switches say.</summary>
        Allow,

        /// <summary>It may not run, whatever the switches say.</summary>
        Deny
    }

    /// <summary>Finds the classes that carry <see cref="McpToolAttribute"/> (TypeCache). Main thread.</summary>
    public interface IToolSource
    {
        /// <summary>The types; the registry leaves out what is no tool and says so.</summary>
        IEnumerable<Type> FindToolTypes();
    }

    /// <summary>Time that only rises, the same for every domain of the process. Any thread.</summary>
    public interface IClock
    {
        /// <summary>Milliseconds since some moment before the process began.</summary>
        long Now { get; }

        /// <summary>The wall clock, in UTC.</summary>
        DateTime UtcNow { get; }
    }

    /// <summary>The system's clock.</summary>
    public sealed class SystemClock : IClock
    {
        /// <inheritdoc/>
        public long Now => (long)(System.Diagnostics.Stopwatch.GetTimestamp() * 1000.0 / System.Diagnostics.Stopwatch.Frequency);

        /// <inheritdoc/>
        public DateTime UtcNow => DateTime.UtcNow;
    }
}
