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
    /// The listening socket on loopback and its connections. After a reload only the old port is tried for a while, since the old
    /// listener is about to release it.
    /// </summary>
    internal sealed class Listener
    {
        private readonly object gate = new();
        private readonly List<Connection> connections = new();
        private readonly IConnectionHandler handler;
        private readonly ThreadGroup threads;
        private readonly IEditorLog log;
        private readonly IClock clock;
        private readonly Func<bool> prepare;
        private readonly Action<int> listening;
        private readonly ManualResetEvent stop = new(false);
        private Socket? socket;
        private int lastNumber;
        private bool stopped;

        /// <param name="firstNumber">Number of the last connection of the earlier domain; the first one here gets the next
        /// number.</param>
        /// <param name="prepare">Called on the accepting thread before it listens. It does not listen after a false.</param>
        /// <param name="listening">Called with the port, on the accepting thread.</param>
        public Listener(
            IConnectionHandler handler, ThreadGroup threads, IEditorLog log, IClock clock, int firstNumber, Func<bool> prepare,
            Action<int> listening)
        {
            this.clock = clock;
            this.handler = handler;
            this.threads = threads;
            this.log = log;
            this.prepare = prepare;
            this.listening = listening;
            lastNumber = firstNumber;
        }

        /// <summary>Whether this port can be listened on now.</summary>
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

        /// <summary>Number of the latest connection.</summary>
        public int LastNumber => lastNumber;

        /// <param name="port">The wanted port; 0 means any.</param>
        /// <param name="insist">Whether the port was ours before a reload, so that it is worth waiting for.</param>
        public void Start(int port, bool insist) => threads.Start("listener", () => Run(port, insist));

        /// <summary>Closes the listening socket. Open connections stay open.</summary>
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

        /// <summary>Removes a connection that has ended.</summary>
        public void Remove(Connection connection)
        {
            lock (gate) connections.Remove(connection);
        }

        private void Run(int port, bool insist)
        {
            if (!prepare()) return;
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
                    // The client left before it was accepted, or the process has no free descriptor.
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
                // The client has closed the connection already.
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
                // Keeps other programs from listening on the same port. Only Windows needs this: the other systems prevent it by
                // default. macOS would permit it if address reuse were requested.
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
                // On some systems, closing the socket alone does not end Accept.
                listener.Shutdown(SocketShutdown.Both);
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException)
            {
                // A listening socket is not connected, so this is expected.
            }
            listener.Close();
        }
    }
}
