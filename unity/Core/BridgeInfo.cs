#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>State of the bridge at one moment.</summary>
    /// <param name="State">The state as it is written on the wire: ready, compiling, playing, reloading or stopping.</param>
    /// <param name="Since">When this state began, in UTC.</param>
    /// <param name="Generation">Number of the domain in this process, from 1.</param>
    /// <param name="Port">The port on which the bridge listens; 0 while it does not listen.</param>
    /// <param name="FrameAgeMs">Milliseconds since the editor's last frame.</param>
    /// <param name="Clients">Connected clients.</param>
    /// <param name="Queued">Number of calls that have not begun.</param>
    /// <param name="Running">Number of calls that run.</param>
    internal sealed record BridgeStatus(
        string State, DateTime Since, int Generation, int Port, long FrameAgeMs, IReadOnlyList<ClientInfo> Clients, int Queued, int Running);

    /// <summary>A connected client.</summary>
    /// <param name="Connection">Number of the client's connection.</param>
    /// <param name="Name">The name that the client gave; empty if it has not given one.</param>
    /// <param name="IsProven">Whether the client has proven that it is a gateway of this user.</param>
    /// <param name="Since">When the client connected, in UTC.</param>
    /// <param name="Calls">Number of calls over this connection, refused ones included. uLoopMCP's pings are not counted.</param>
    internal sealed record ClientInfo(int Connection, string Name, bool IsProven, DateTime Since, int Calls);

    /// <summary>What built-in tools and the window can read from the bridge. Its members may be called on any thread.</summary>
    internal interface IBridgeInfo
    {
        /// <summary>The current state.</summary>
        BridgeStatus Status { get; }

        /// <summary>For how many milliseconds the start of the bridge used the main thread; 0 while it starts.</summary>
        long StartMilliseconds { get; }

        /// <summary>The parts of the package that cannot be used in this editor, each with the reason. Usually empty.</summary>
        IReadOnlyList<string> BrokenParts { get; }

        /// <summary>The registry of tools.</summary>
        ToolRegistry Tools { get; }

        /// <summary>Decides which tools may run.</summary>
        SecurityChecker Security { get; }

        /// <summary>This package's version.</summary>
        string PackageVersion { get; }

        /// <summary>Facts about this editor.</summary>
        EditorIdentity Editor { get; }

        /// <summary>The log of the latest requests, which the window shows.</summary>
        TrafficLog Traffic { get; }

        /// <summary>Sets the client name and the push listener of the connection on which <paramref name="call"/> came.</summary>
        void NameClient(IToolContext call, string name, string pushEndpoint);
    }
}
