#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Creates and connects the parts of a <see cref="Bridge"/>. Members may be called on any thread, unless they say otherwise.
    /// </summary>
    internal sealed class BridgeParts : IBridgeInfo, IConnectionHandler
    {
        private readonly BridgeOptions options;
        private readonly SessionData session;
        private readonly ServiceTable services;
        private readonly Workers workers;
        private readonly Housekeeper housekeeper;
        private readonly Listener listener;
        private readonly PushClient push;
        private readonly InstanceFile instance;
        private readonly Dispatcher dispatcher;
        private readonly KnownClients clients;
        private readonly Notifications notifications;
        private readonly Lazy<List<PushEndpoint>> knownEndpoints;
        private readonly object loading = new();
        // The journal of earlier domains, until it is loaded. Guarded by `loading`, as is `ended`, until the end.
        private string? unread;
        private bool ended;
        private bool isPrepared;
        private volatile int port;

        // Main thread.
        public BridgeParts(BridgeOptions options, SessionData session)
        {
            this.options = options;
            this.session = session;
            IClock clock = options.Clock;
            State = new BridgeState(clock.UtcNow);
            Log = options.Log;
            Secrets = session.Secrets(options.Generation);
            Threads = new ThreadGroup(Log);
            MainThread = new MainThreadQueue(clock, Log);
            Tools = new ToolRegistry(Log);
            Security = new SecurityChecker(options.Security);
            clients = new KnownClients(session.ReadClients());
            Records = new CallRecords(options.Traffic, clock);
            knownEndpoints = session.ReadPushEndpoints();
            workers = new Workers(Threads, Log);
            Calls = new CallCenter(MainThread, workers, clock, Log);
            housekeeper = new Housekeeper(MainThread, Calls, options.Pulse, clock);
            listener = new Listener(this, Threads, Log, clock, session.LastConnection, Prepare, Listening);
            notifications = new Notifications(() => listener.Connections);
            push = new PushClient(Threads, Log, (message, sequence, token) =>
                message.ToLine(sequence, token, clock.UtcNow, options.Editor, Secrets.Nonce, port));
            instance = new InstanceFile(options.Editor.StateFolder, Log);
            dispatcher = new Dispatcher(this);
            services = new ServiceTable(clock).Add<IBridgeInfo>(this);
        }

        public IEditorLog Log { get; }

        public SessionSecrets Secrets { get; }

        public ThreadGroup Threads { get; }

        public MainThreadQueue MainThread { get; }

        public ToolRegistry Tools { get; }

        public SecurityChecker Security { get; }

        public TrafficLog Traffic => options.Traffic;

        /// <summary>Writes calls into the log of requests.</summary>
        public CallRecords Records { get; }

        public CallCenter Calls { get; }

        public BridgeState State { get; }

        public EditorIdentity Editor => options.Editor;

        public string PackageVersion => options.Editor.PackageVersion;

        public int Port => port;

        public long StartMilliseconds { get; set; }

        public IReadOnlyList<string> BrokenParts =>
            services.Broken.Select(part => $"{part.Key.Name} cannot be used: {part.Value.Message}").ToList();

        /// <summary>
        /// Whether the listener's thread has done its part of the start. Until then nothing waits for a frame, and the main thread
        /// must not even compile code that uses Newtonsoft: if two threads use a class for the first time at the same moment, Mono
        /// may fail to load a class in a later domain ("Recursive type definition detected").
        /// </summary>
        public bool IsPrepared
        {
            get => Volatile.Read(ref isPrepared);
            private set => Volatile.Write(ref isPrepared, value);
        }

        public IReadOnlyList<Connection> Connections => listener.Connections;

        /// <summary>Creates the challenge that the editor sends in a greeting. Tests replace it.</summary>
        internal Func<string> NewChallenge { get; set; } = () => Hex.Random(32);

        /// <summary>
        /// The port that a connection's proofs cover. Tests that put a faulty network between replace it, since a gateway calls
        /// another port there.
        /// </summary>
        internal Func<Connection, int> PortOf { get; set; } = connection => connection.Port;

        public BridgeStatus Status
        {
            get
            {
                var (queued, running) = Calls.Status();
                var connected = Connections.Select(c => new ClientInfo(c.Number, c.ClientName, c.IsProven, c.Since, c.Calls)).ToList();
                return new BridgeStatus(State.Word, State.Since, Secrets.Generation, port, FrameAge, connected, queued, running.Count);
            }
        }

        /// <summary>Milliseconds since the editor's last frame.</summary>
        public long FrameAge => (long)MainThread.FrameAge.TotalMilliseconds;

        /// <summary>Changes when the tools do that clients see.</summary>
        public string ToolsRevision => Tools.Revision + Security.OffGroups;

        private void GroupSwitched(ToolGroup group) => Tools.NotifyChanged(ToolGroups.Of(group).ToArray());

        // Main thread.
        public void Begin(int wantedPort, bool insist)
        {
            // It stays in the session until it is loaded. If a later step fails, or the next reload comes first, it is what the
            // next domain loads: an empty one in its place would say of calls that ran that they did not run.
            unread = session.Journal;
            options.AddServices(services);
            Tools.Discover(options.Tools);
            Tools.Changed += ToolsChanged;
            Security.GroupSwitched += GroupSwitched;
            MainThread.WorkQueued += housekeeper.Nudge;
            State.Update(options.State.Read(), options.Clock.UtcNow);
            Threads.Start("housekeeper", housekeeper.Run);
            listener.Start(wantedPort, insist);
        }

        // On the listener's thread, before it listens, so no call and no question comes before the journal is loaded. Here, since
        // all of this may take long, and the main thread is what the user waits for.
        private bool Prepare()
        {
            lock (loading)
            {
                if (ended) return false;
                foreach (IUnityTool tool in Tools.MakeSchemas()) MainThread.Post(() => Tools.RegisterAgain(tool));
                _ = Tools.Revision;
                _ = Traffic.Version;
                if (unread != null && Calls.Load(unread) is { } failure)
                {
                    Log.Warn("The journal of calls could not be read; nothing is said of calls before this reload: " + failure);
                }
                unread = null;
                MainThread.Post(() => session.Journal = null);
                ResumeCalls();
                IsPrepared = true;
                return true;
            }
        }

        // Main thread.
        public void Tick(EditorSnapshot now)
        {
            bool changed = State.Update(now, options.Clock.UtcNow);
            MainThread.RunFrame();
            if (!changed) return;
            if (port != 0) WriteInstance();
            var about = new JObject { ["state"] = State.Word, ["generation"] = Secrets.Generation };
            notifications.Broadcast("holdfast/state", about, c => c.IsProven);
        }

        // Main thread. Documentation~/protocol.md (section 7, Reload) gives the order.
        public void End(StopCause cause)
        {
            bool reload = cause == StopCause.DomainReload;
            Calls.Close(reload
                ? "The editor is about to reload its domain; send the call again when it is back"
                : "The bridge is being stopped");
            // Waits for a Prepare that has begun. One that has not begun leaves the saved journal as it is.
            lock (loading) ended = true;
            Tools.Changed -= ToolsChanged;
            Security.GroupSwitched -= GroupSwitched;
            MainThread.WorkQueued -= housekeeper.Nudge;
            string now = Calls.Interrupt("The bridge is being stopped");
            if (unread == null) session.Journal = now;
            session.LastConnection = listener.LastNumber;
            clients.Save(session);
            State.Leave(reload ? "reloading" : "stopping", options.Clock.UtcNow);
            WriteInstance();
            listener.StopListening();
            notifications.Broadcast("notifications/server/shutdown", new JObject { ["reason"] = cause.ToString() }, _ => true);
            push.Finish(reload ? PushMessage.Reload : cause == StopCause.EditorQuit ? PushMessage.Shutdown : PushMessage.Disconnect);
            CloseConnections();
            push.WaitWritten(options.Goodbye);
            push.Close();
            // push.Close has counted every unsent message as lost, so the sequence numbers no longer change.
            session.PushEndpoints = !reload ? Array.Empty<PushEndpoint>() : port == 0 ? knownEndpoints.Value : push.Endpoints;
            housekeeper.Stop();
            workers.Close();
            IReadOnlyList<string> left = Threads.Join(options.Join);
            if (options.Rehearsal?.Stop(options.Join) == false) Log.Warn("The rehearsal has not ended in time");
            // After the threads have ended, since they may have posted cleanups.
            MainThread.Close();
            if (left.Count > 0) Log.Warn("Threads have not ended in time: " + string.Join(", ", left));
            if (!reload) instance.Remove();
        }

        public ToolCall NewCall(ToolEntry tool, JToken? arguments, int bytes)
        {
            housekeeper.Nudge();
            return new ToolCall(tool, arguments, bytes, MainThread, services)
            {
                Progressed = notifications.Progress,
                Kept = Keep
            };
        }

        /// <summary>
        /// Logs and answers a gateway's call that has ended. If the connection that it came on is gone, notifies the gateway on
        /// its current connection.
        /// </summary>
        public void Answered(ToolCall call, CallOutcome outcome, Connection connection, string id)
        {
            string json = outcome.ToJson(call.CallId!);
            Records.Ended(connection, call, outcome);
            bool sent = connection.Send(outcome.Error == null ? JsonRpc.Result(id, json) : JsonRpc.Error(id, json));
            if (!sent) notifications.Settled(call);
        }

        public void NameClient(IToolContext call, string name, string pushEndpoint)
        {
            if (call is ToolCall { Origin: { } connection }) NameClient(connection, name, pushEndpoint, null);
        }

        public void NameClient(Connection connection, string name, string? pushEndpoint, string? pushToken)
        {
            connection.ClientName = name;
            if (name.Length > 0) clients.Seen(name, Now());
            if (!string.IsNullOrEmpty(pushEndpoint)) push.Register(pushEndpoint!, pushToken);
        }

        void IConnectionHandler.Received(Connection connection, byte[] message) => dispatcher.Received(connection, message);

        void IConnectionHandler.Broken(Connection connection, string why)
        {
            connection.Send(JsonRpc.Error("null", new RpcError("bad_frame", -32700, false, "The frame is broken: " + why).ToJson()));
            connection.Finish();
        }

        void IConnectionHandler.Ended(Connection connection) => listener.Remove(connection);

        private void Listening(int listenedOn)
        {
            port = listenedOn;
            WriteInstance();
            // Once a session: a line at every reload would bury what the user looks for. The window shows the port.
            if (Secrets.Generation == 1) Log.Info($"Holdfast listens on 127.0.0.1:{listenedOn}");
            push.Recover(knownEndpoints.Value);
        }

        private void WriteInstance() => instance.Write(Editor, Secrets, State.Word == "stopping" ? 0 : port, State.Word, options.Clock.UtcNow);

        private void CloseConnections()
        {
            IReadOnlyList<Connection> open = Connections;
            foreach (Connection connection in open) connection.Finish();
            int until = Environment.TickCount + options.Goodbye;
            foreach (Connection connection in open) connection.WaitWritten(Math.Max(0, until - Environment.TickCount));
            foreach (Connection connection in open) connection.Close();
        }

        private void ResumeCalls()
        {
            foreach (JournalEntry entry in Calls.Resumable())
            {
                if (Tools.Find(entry.Tool) is not { Tool: IResumableTool } tool)
                {
                    Calls.GiveUp(entry.CallId);
                    continue;
                }
                ToolCall call = NewCall(tool, null, 0);
                call.CallId = entry.CallId;
                call.Gateway = entry.Gateway;
                call.Seq = entry.Seq;
                call.WantsProgress = true;
                call.TimeoutMs = Limits.ToolTimeoutSeconds * 1000;
                call.Resumed = Json.Parse(entry.Kept!);
                call.Ended = (ended, outcome) =>
                {
                    Records.Ended(null, ended, outcome);
                    notifications.Settled(ended);
                };
                Calls.Resume(call);
            }
        }

        private bool Keep(ToolCall call, JToken state) =>
            call.CallId != null && call.Tool.Tool is IResumableTool && Calls.Keep(call, Json.Write(state));

        private void ToolsChanged(ToolChange change, IReadOnlyList<string> names)
        {
            var about = new JObject { ["timestamp"] = Now(), ["message"] = "Unity tools have been updated" };
            notifications.Broadcast("notifications/tools/list_changed", about, _ => true);
            push.Send(PushMessage.ToolsChanged(change, Tools.All.Count, names));
        }

        private string Now() => CallRecords.Time(options.Clock.UtcNow);
    }
}
