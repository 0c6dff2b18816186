#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>What a <see cref="Bridge"/> is made of: the editor, seen through ports.</summary>
    public sealed record BridgeOptions
    {
        /// <summary>Which editor this is.</summary>
        public EditorIdentity Editor { get; init; } = new();

        /// <summary>What it is doing.</summary>
        public IEditorState State { get; init; } = null!;

        /// <summary>What outlives a reload.</summary>
        public ISessionStore Session { get; init; } = null!;

        /// <summary>How it is woken.</summary>
        public IEditorPulse Pulse { get; init; } = null!;

        /// <summary>Where messages go.</summary>
        public IEditorLog Log { get; init; } = null!;

        /// <summary>What the user allows.</summary>
        public ISecuritySettings Security { get; init; } = null!;

        /// <summary>Where the tools are.</summary>
        public IToolSource Tools { get; init; } = null!;

        /// <summary>The log of the communication; it outlives a bridge that is stopped and started.</summary>
        public TrafficLog Traffic { get; init; } = new();

        /// <summary>What time it is.</summary>
        public IClock Clock { get; init; } = new SystemClock();

        /// <summary>Adds the ports of the built-in tools.</summary>
        public Action<ServiceTable> AddServices { get; init; } = _ => { };

        /// <summary>The port to listen on; others are tried if it is taken.</summary>
        public int PreferredPort { get; init; }

        /// <summary>Number of the domain in this process, from <see cref="Bridge.CountDomain"/>.</summary>
        public int Generation { get; init; } = 1;

        /// <summary>The rehearsal that was begun for it, if one was: it ends with the bridge.</summary>
        public Rehearsal? Rehearsal { get; init; }

        /// <summary>See <see cref="Limits.Goodbye"/>; tests of what is said in that time have more of it.</summary>
        internal int Goodbye { get; init; } = Limits.Goodbye;

        /// <summary>See <see cref="Limits.Join"/>.</summary>
        internal int Join { get; init; } = Limits.Join;
    }

    /// <summary>Why a bridge stops.</summary>
    public enum StopCause
    {
        /// <summary>The domain is about to unload; the next one goes on.</summary>
        DomainReload,

        /// <summary>The editor quits.</summary>
        EditorQuit,

        /// <summary>The user has stopped it.</summary>
        UserStopped
    }

    /// <summary>
    /// The editor's half of holdfast, whole: made, started, ticked and stopped on the main thread, by something that knows
    /// Unity's events. One life: a stopped one is not started again.
    /// </summary>
    public sealed class Bridge
    {
        /// <summary>Version of the protocol.</summary>
        public const int Protocol = 1;

        private readonly BridgeOptions options;
        private readonly BridgeParts parts;
        private readonly SessionData session;
        private bool stopped;

        /// <summary>Makes one; nothing runs yet.</summary>
        public Bridge(BridgeOptions options)
        {
            this.options = options;
            session = new SessionData(options.Session);
            parts = new BridgeParts(options, session);
        }

        internal BridgeParts Parts => parts;

        /// <summary>How it stands, and what it consists of.</summary>
        public IBridgeInfo Info => parts;

        /// <summary>The main thread.</summary>
        public IMainThread MainThread => parts.MainThread;

        /// <summary>Threads that live: none after a stop.</summary>
        public int LiveThreads => parts.Threads.Alive;

        /// <summary>Counts the domains of this process. Once in each, on the main thread.</summary>
        public static int CountDomain(ISessionStore session) => new SessionData(session).NextGeneration();

        /// <summary>Finds the tools, listens, and goes on with what an earlier domain left.</summary>
        public void Start()
        {
            bool afterReload = session.Port != 0;
            parts.Begin(afterReload ? session.Port : options.PreferredPort, afterReload);
            Tick();
        }

        /// <summary>Once a frame: runs what waits for the main thread, and looks at what the editor does.</summary>
        public void Tick()
        {
            if (stopped) return;
            parts.Tick(options.State.Read());
            KeepPort();
        }

        /// <summary>
        /// Stops, within about a second whatever clients do. Nothing of it runs after that, and the journal is where the next
        /// domain finds it. A second call does nothing.
        /// </summary>
        public void Stop(StopCause cause)
        {
            if (stopped) return;
            stopped = true;
            parts.End(cause);
            // It may have begun to listen after the last tick.
            KeepPort();
            // Only a reload insists on the port; after the user's stop the one from the settings counts.
            if (cause == StopCause.UserStopped) session.Port = 0;
        }

        private void KeepPort()
        {
            if (parts.Port != 0 && session.Port != parts.Port) session.Port = parts.Port;
        }
    }
}
