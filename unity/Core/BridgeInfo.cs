#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>What the bridge says of itself at one moment.</summary>
    /// <param name="State">ready, compiling, playing, reloading, stopping, as on the wire.</param>
    /// <param name="Since">Since when that is its state, in UTC.</param>
    /// <param name="Generation">Number of the domain.</param>
    /// <param name="Port">Where it listens; 0: nowhere yet.</param>
    /// <param name="FrameAgeMs">Time since the editor's last frame.</param>
    /// <param name="Clients">Connected clients.</param>
    /// <param name="Queued">Calls that wait.</param>
    /// <param name="Running">Calls that run.</param>
    public sealed record BridgeStatus(
        string State, DateTime Since, int Generation, int Port, long FrameAgeMs, IReadOnlyList<ClientInfo> Clients, int Queued, int Running);

    /// <summary>A connected client.</summary>
    /// <param name="Connection">Its connection's number.</param>
    /// <param name="Name">The name it gave; empty if none.</param>
    /// <param name="IsProven">It has proven that it is a gateway of this user.</param>
    /// <param name="Since">Since when it is connected, in UTC.</param>
    /// <param name="Calls">Calls that it has made over this connection, refused ones too.</param>
    public sealed record ClientInfo(int Connection, string Name, bool IsProven, DateTime Since, int Calls);

    /// <summary>What built-in tools and the window may ask of the bridge. Any thread.</summary>
    public interface IBridgeInfo
    {
        /// <summary>How it stands now.</summary>
        BridgeStatus Status { get; }

        /// <summary>The tools.</summary>
        ToolRegistry Tools { get; }

        /// <summary>What may run.</summary>
        SecurityChecker Security { get; }

        /// <summary>This package's version.</summary>
        string PackageVersion { get; }

        /// <summary>The editor.</summary>
        EditorIdentity Editor { get; }

        /// <summary>The latest requests.</summary>
        TrafficLog Traffic { get; }

        /// <summary>Gives the connection of a call its client's name and push listener.</summary>
        void NameClient(IToolContext call, string name, string pushEndpoint);
    }
}
