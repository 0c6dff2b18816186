#nullable enable
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Starts and stops the bridge for the user. Main thread.</summary>
    internal interface IBridgeHost
    {
        /// <summary>The running bridge; null while it is stopped.</summary>
        IBridgeInfo? Running { get; }

        /// <summary>The log of requests; it stays readable while the bridge is stopped.</summary>
        TrafficLog Traffic { get; }

        /// <summary>Starts the bridge now. It also starts again after each later reload.</summary>
        void Start();

        /// <summary>Stops the bridge. It stays stopped until <see cref="Start"/> is called or the editor is restarted.</summary>
        void Stop();
    }

    /// <summary>The user's settings for this project. Main thread. A change is saved at once.</summary>
    /// <remarks>It also takes effect at once, unless the member says otherwise.</remarks>
    internal interface IProjectChoices
    {
        /// <summary>The port to listen on; 0 means any. Takes effect at the next start of the bridge.</summary>
        int Port { get; set; }

        /// <summary>Whether the bridge runs in batch mode. Takes effect when the editor is started.</summary>
        bool RunInBatchMode { get; set; }

        /// <summary>Whether clients that cannot prove themselves, such as stock uLoopMCP servers, may call tools.</summary>
        bool AllowUnprovenClients { get; set; }

        /// <summary>The security settings. Any thread.</summary>
        ISecuritySettings Security { get; }

        /// <summary>Names of the tools for which the user has set a permission.</summary>
        IReadOnlyList<string> NamedTools { get; }

        /// <summary>Turns one security setting on or off.</summary>
        void SetSwitch(SecuritySettings setting, bool on);

        /// <summary>Switches a group of tools on or off.</summary>
        void SetGroup(ToolGroup group, bool on);

        /// <summary>Sets the permission of one tool.</summary>
        void SetPermission(string tool, ToolPermission permission);
    }

    /// <summary>The user's settings for every project on this machine. Main thread.</summary>
    internal interface IUserChoices
    {
        /// <summary>Whether an editor without focus is woken for a call.</summary>
        bool WakeUnfocused { get; set; }

        /// <summary>
        /// Whether to show a minimised editor's window again if a call waits for it. Has an effect on Windows only.
        /// </summary>
        bool RestoreMinimized { get; set; }

        /// <summary>Path of the gateway's program. If it is empty, the program is searched for.</summary>
        string ProgramPath { get; set; }
    }

    /// <summary>The system's clipboard. Main thread.</summary>
    internal interface IClipboard
    {
        /// <summary>Copies a text to the clipboard.</summary>
        void Copy(string text);
    }
}
