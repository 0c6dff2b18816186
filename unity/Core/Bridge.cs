#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;

namespace Holdfast
{
    /// <summary>What a <see cref="Bridge"/> needs: ports to the editor, and settings.</summary>
    internal sealed record BridgeOptions
    {
        /// <summary>Which editor this is.</summary>
        public EditorIdentity Editor { get; init; } = new();

        /// <summary>Reads what the editor is doing.</summary>
        public IEditorState State { get; init; } = null!;

        /// <summary>Storage that outlives a domain reload.</summary>
        public ISessionStore Session { get; init; } = null!;

        /// <summary>Wakes an editor without focus.</summary>
        public IEditorPulse Pulse { get; init; } = null!;

        /// <summary>Receives the package's log messages.</summary>
        public IEditorLog Log { get; init; } = null!;

        /// <summary>Settings for which tools and clients the user allows.</summary>
        public ISecuritySettings Security { get; init; } = null!;

        /// <summary>Finds the tool classes.</summary>
        public IToolSource Tools { get; init; } = null!;

        /// <summary>
        /// The log of requests. It is shared by all bridges of a domain, so it outlives a bridge that the user stops.
        /// </summary>
        public TrafficLog Traffic { get; init; } = new();

        /// <summary>The source of time.</summary>
        public IClock Clock { get; init; } = new SystemClock();

        /// <summary>Adds the ports of the built-in tools.</summary>
        public Action<ServiceTable> AddServices { get; init; } = _ => { };

        /// <summary>The port to listen on; other ports are tried if it is taken.</summary>
        public int PreferredPort { get; init; }

        /// <summary>Number of the domain in this process, from <see cref="Bridge.CountDomain"/>.</summary>
        public int Generation { get; init; } = 1;

        /// <summary>The rehearsal that was started for this bridge, or null. <see cref="Bridge.Stop"/> ends it.</summary>
        public Rehearsal? Rehearsal { get; init; }

        /// <summary>
        /// Runs since the start of what the user waits for until the bridge has started. <see cref="Bridge.Start"/> reads it.
        /// </summary>
        public Stopwatch Watch { get; init; } = Stopwatch.StartNew();

        /// <summary>
        /// How long <see cref="Bridge.Stop"/> waits for last messages to be written, in milliseconds: <see
        /// cref="Limits.Goodbye"/>, or longer in tests of these messages.
        /// </summary>
        internal int Goodbye { get; init; } = Limits.Goodbye;

        /// <summary>
        /// How long <see cref="Bridge.Stop"/> waits for the bridge's threads, in milliseconds: normally <see
        /// cref="Limits.Join"/>.
        /// </summary>
        internal int Join { get; init; } = Limits.Join;
    }

    /// <summary>Why a bridge stops.</summary>
    internal enum StopCause
    {
        /// <summary>The domain is about to unload. The next domain starts a new bridge and resumes its work.</summary>
        DomainReload,

        /// <summary>The editor quits.</summary>
        EditorQuit,

        /// <summary>The user stopped the bridge.</summary>
        UserStopped
    }

    /// <summary>
    /// The whole server inside the editor. Create, start, tick and stop it on the main thread: the caller listens to Unity's
    /// events and calls these methods. A stopped bridge cannot be started again.
    /// </summary>
    internal sealed class Bridge
    {
        /// <summary>Version of the wire protocol (Documentation~/protocol.md).</summary>
        public const int Protocol = 2;

        private readonly BridgeOptions options;
        private readonly BridgeParts parts;
        private readonly SessionData session;
        private bool stopped;

        /// <summary>Creates a bridge that does not run yet.</summary>
        public Bridge(BridgeOptions options)
        {
            this.options = options;
            session = new SessionData(options.Session);
            try
            {
                parts = new BridgeParts(options, session);
            }
            catch
            {
                // Nobody else stops its thread: there is no bridge to stop.
                options.Rehearsal?.Stop(options.Join);
                throw;
            }
        }

        internal BridgeParts Parts => parts;

        /// <summary>State and parts of the bridge.</summary>
        public IBridgeInfo Info => parts;

        /// <summary>Runs work on the editor's main thread.</summary>
        public IMainThread MainThread => parts.MainThread;

        /// <summary>
        /// Number of the bridge's threads that are alive; 0 after <see cref="Stop"/>, unless one did not end in time.
        /// </summary>
        public int LiveThreads => parts.Threads.Alive;

        /// <summary>
        /// Increments and returns the number of domains of this process. Call once per domain, on the main thread.
        /// </summary>
        public static int CountDomain(ISessionStore session) => new SessionData(session).NextGeneration();

        /// <summary>
        /// Finds the tools and starts the threads. One of them loads the journal, resumes the calls whose state an earlier domain
        /// saved, and then listens. Resumed calls run in later frames.
        /// </summary>
        public void Start()
        {
            bool afterReload = session.Port != 0;
            try
            {
                parts.Begin(afterReload ? session.Port : options.PreferredPort, afterReload);
                parts.StartMilliseconds = options.Watch.ElapsedMilliseconds;
            }
            catch
            {
                // What has begun owns threads and a socket.
                Stop(StopCause.UserStopped);
                throw;
            }
        }

        /// <summary>Runs work that waits for the main thread, and reads the editor's state. Call once a frame.</summary>
        public void Tick()
        {
            if (stopped || !parts.IsPrepared) return;
            parts.Tick(options.State.Read());
            KeepPort();
        }

        /// <summary>
        /// Stops the bridge within about a second, even if clients do not read or answer. Saves the journal for the next domain.
        /// No thread of the bridge runs afterwards, unless one did not end in time (<see cref="LiveThreads"/>). A second call
        /// does nothing.
        /// </summary>
        public void Stop(StopCause cause)
        {
            if (stopped) return;
            stopped = true;
            parts.End(cause);
            // The listener may have got its port after the last tick.
            KeepPort();
            // A bridge that starts after a reload tries only the old port at first. After a stop by the user, the next start must
            // use the configured port instead.
            if (cause == StopCause.UserStopped) session.Port = 0;
        }

        private void KeepPort()
        {
            if (parts.Port != 0 && session.Port != parts.Port) session.Port = parts.Port;
        }
    }
}
