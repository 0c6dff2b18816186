#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading;

namespace Holdfast
{
    /// <summary>
    /// The listening socket on loopback and its connections. After a reload the same port is tried for a while before any
    /// other: the old listener is just going.
    /// </summary>
    internal sealed class Listener
    {
        private readonly object gate = new();
        private readonly List<Connection> connections = new();
        private readonly IConnectionHandler handler;
        private readonly ThreadGroup threads;
        private readonly IEditorLog log;
        private readonly IClock clock;
        private readonly Action<int> listening;
        private readonly ManualResetEvent stop = new(false);
        private Socket? socket;
        private int lastNumber;
        private bool stopped;

        /// <param name="firstNumber">Number of the last connection of an earlier domain.</param>
        /// <param name="listening">Told the port, on the accepting thread.</param>
        public Listener(
            IConnectionHandler handler, ThreadGroup threads, IEditorLog log, IClock clock, int firstNumber, Action<int> listening)
        {
            this.clock = clock;
            this.handler = handler;
            this.threads = threads;
            this.log = log;
            this.listening = listening;
            lastNumber = firstNumber;
        }

        /// <summary>Could this port be listened on now?</summary>
        public static bool IsFree(int port)
        {
            Socket? probe = TryBind(port);
            probe?.Close();
            return probe != null;
        }

        /// <summary>The open connections.</summary>
        public IReadOnlyList<Connection> Connections
        {
            get
            {
                lock (gate) return connections.ToArray();
            }
        }

        /// <summary>Number of the last connection.</summary>
        public int LastNumber => lastNumber;

        /// <param name="port">The port wanted; 0: any.</param>
        /// <param name="insist">It was ours before a reload: wait for it.</param>
        public void Start(int port, bool insist) => threads.Start("listener", () => Run(port, insist));

        /// <summary>Takes no more connections.</summary>
        public void StopListening()
        {
            Socket? listener;
            lock (gate)
            {
                stopped = true;
                listener = socket;
                socket = null;
            }
            stop.Set();
            CloseListener(listener);
        }

        /// <summary>A connection has ended.</summary>
        public void Remove(Connection connection)
        {
            lock (gate) connections.Remove(connection);
        }

        private void Run(int port, bool insist)
        {
            Socket? bound = Bind(port, insist);
            if (bound == null) return;
            lock (gate)
            {
                if (!stopped) socket = bound;
            }
            if (stop.WaitOne(0))
            {
                bound.Close();
                return;
            }
            listening(((IPEndPoint)bound.LocalEndPoint).Port);
            while (true)
            {
                Socket accepted;
                try
                {
                    accepted = bound.Accept();
                }
                catch (SocketException e) when (!stop.WaitOne(0))
                {
                    // A client that was gone before it was accepted, or no more descriptors.
                    log.Warn("A connection could not be accepted: " + e.Message);
                    if (stop.WaitOne(Limits.PortRetryEvery)) return;
                    continue;
                }
                if (!Take(accepted)) return;
            }
        }

        private bool Take(Socket accepted)
        {
            Connection? connection = null;
            lock (gate)
            {
                if (!stopped && connections.Count < Limits.Connections)
                {
                    connection = new Connection(++lastNumber, accepted, handler, clock.UtcNow);
                    connections.Add(connection);
                }
            }
            if (connection != null) connection.Start(threads);
            else Refuse(accepted);
            return !stop.WaitOne(0);
        }

        private static void Refuse(Socket accepted)
        {
            try
            {
                string why = $"{Limits.Connections} connections are open already";
                byte[] body = Json.Utf8.GetBytes(
                    JsonRpc.Error("null", new RpcError("too_many_connections", -32008, false, why).ToJson()));
                accepted.SendTimeout = Limits.DrainTime;
                accepted.Send(FrameParser.Header(body.Length));
                accepted.Send(body);
                accepted.Shutdown(SocketShutdown.Send);
            }
            catch (SocketException)
            {
                // It is gone already.
            }
            finally
            {
                accepted.Close();
            }
        }

        private Socket? Bind(int port, bool insist)
        {
            if (port != 0 && insist)
            {
                for (int waited = 0; waited < Limits.PortRetry; waited += Limits.PortRetryEvery)
                {
                    if (TryBind(port) is { } same) return same;
                    if (stop.WaitOne(Limits.PortRetryEvery)) return null;
                }
                log.Warn($"Port {port} is taken by something else since the reload; another is used");
            }
            if (port != 0)
            {
                foreach (int near in Enumerable.Range(port, Limits.PortScan).Where(p => p <= IPEndPoint.MaxPort))
                {
                    if (TryBind(near) is { } found) return found;
                }
            }
            Socket? any = TryBind(0);
            if (any == null) log.Error("No port on 127.0.0.1 can be listened on; the bridge is down");
            return any;
        }

        private static Socket? TryBind(int port)
        {
            var candidate = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            try
            {
                // Nobody may listen beside us. Elsewhere than on Windows that is so by itself, and asking for reuse would
                // undo it on macOS.
                if (Environment.OSVersion.Platform == PlatformID.Win32NT) candidate.ExclusiveAddressUse = true;
                candidate.Bind(new IPEndPoint(IPAddress.Loopback, port));
                candidate.Listen(Limits.Connections);
                return candidate;
            }
            catch (SocketException)
            {
                candidate.Close();
                return null;
            }
        }

        private static void CloseListener(Socket? listener)
        {
            if (listener == null) return;
            try
            {
                // Closing alone does not end an accept on every system.
                listener.Shutdown(SocketShutdown.Both);
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException)
            {
                // Not connected, as a listener is.
            }
            listener.Close();
        }
    }
}
