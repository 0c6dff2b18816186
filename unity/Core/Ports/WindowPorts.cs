#nullable enable
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>The bridge as its user handles it: there, or stopped. Main thread.</summary>
    public interface IBridgeHost
    {
        /// <summary>The bridge; null while it is stopped.</summary>
        IBridgeInfo? Running { get; }

        /// <summary>The log of the communication, also of a bridge that is stopped.</summary>
        TrafficLog Traffic { get; }

        /// <summary>Starts it, also after later reloads.</summary>
        void Start();

        /// <summary>Stops it till <see cref="Start"/>, or till the editor is started anew.</summary>
        void Stop();
    }

    /// <summary>What this user has chosen for this project. Main thread; what is set is saved and counts at once.</summary>
    public interface IProjectChoices
    {
        /// <summary>The port to listen on; 0 is any. Counts at the next start.</summary>
        int Port { get; set; }

        /// <summary>May the bridge run in batch mode? Counts when the editor is started.</summary>
        bool RunInBatchMode { get; set; }

        /// <summary>May clients that cannot prove themselves call tools, as stock uLoopMCP servers?</summary>
        bool AllowUnprovenClients { get; set; }

        /// <summary>The choices about security, for any thread.</summary>
        ISecuritySettings Security { get; }

        /// <summary>Names of the tools about which the user has said something.</summary>
        IReadOnlyList<string> NamedTools { get; }

        /// <summary>Turns a switch on or off.</summary>
        void SetSwitch(SecuritySettings setting, bool on);

        /// <summary>Says what holds for one tool.</summary>
        void SetPermission(string tool, ToolPermission permission);
    }

    /// <summary>What this user has chosen for every project on this machine. Main thread.</summary>
    public interface IUserChoices
    {
        /// <summary>Is an editor without focus woken for a call?</summary>
        bool WakeUnfocused { get; set; }

        /// <summary>Is a minimised editor shown again for a call that it lets wait? On Windows.</summary>
        bool RestoreMinimized { get; set; }

        /// <summary>Path of the gateway's program; empty: it is looked for.</summary>
        string ProgramPath { get; set; }
    }

    /// <summary>The system's clipboard. Main thread.</summary>
    public interface IClipboard
    {
        /// <summary>Puts a text there.</summary>
        void Copy(string text);
    }
}
