#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net;

namespace Holdfast
{
    /// <summary>Reports events of the editor to every push listener that a client has named. Any thread.</summary>
    internal sealed class PushClient
    {
        private readonly object gate = new();
        private readonly List<PushChannel> channels = new();
        private readonly ThreadGroup threads;
        private readonly IEditorLog log;
        private readonly Func<PushMessage, long, string?, string> write;
        private bool closed;

        public PushClient(ThreadGroup threads, IEditorLog log, Func<PushMessage, long, string?, string> write)
        {
            this.threads = threads;
            this.log = log;
            this.write = write;
        }

        /// <summary>The listeners that have not been given up, each with its last sequence number.</summary>
        public IReadOnlyList<PushEndpoint> Endpoints
        {
            get
            {
                lock (gate)
                {
                    return channels.Where(c => !c.HasGivenUp)
                        .Select(c => new PushEndpoint(c.Endpoint, c.Token, c.Sequence)).ToList();
                }
            }
        }

        /// <summary>Number of connected channels.</summary>
        public int Attached
        {
            get
            {
                lock (gate) return channels.Count(c => c.IsAttached);
            }
        }

        /// <summary>Connects to the listeners that an earlier domain had.</summary>
        public void Recover(IEnumerable<PushEndpoint> endpoints)
        {
            foreach (PushEndpoint endpoint in endpoints) Add(endpoint, true);
        }

        /// <summary>
        /// Adds the listener that a client has named. A known listener with the same token stays as it is; with another token it
        /// is replaced. If there are too many listeners, another one is removed, a listener that is not connected if possible.
        /// </summary>
        /// <returns>False if the endpoint is not a port on this machine, or the client is closed.</returns>
        public bool Register(string endpoint, string? token) => Add(new PushEndpoint(endpoint, token, 0), false);

        /// <summary>Queues a message for every listener.</summary>
        public void Send(PushMessage message)
        {
            lock (gate) channels.ForEach(c => c.Send(message));
        }

        /// <summary>
        /// Queues a last message for every listener, and accepts no new listeners. Call <see cref="Close"/> afterwards.
        /// </summary>
        public void Finish(PushMessage last)
        {
            lock (gate)
            {
                closed = true;
                channels.ForEach(c => c.Finish(last));
            }
        }

        /// <summary>Waits at most <paramref name="milliseconds"/> until the last messages are written.</summary>
        public void WaitWritten(int milliseconds)
        {
            int until = Environment.TickCount + milliseconds;
            List<PushChannel> all;
            lock (gate) all = channels.ToList();
            foreach (PushChannel channel in all) channel.WaitWritten(Math.Max(0, until - Environment.TickCount));
        }

        /// <summary>Closes every channel at once. Queued messages are lost.</summary>
        public void Close()
        {
            lock (gate)
            {
                closed = true;
                channels.ForEach(c => c.Close());
            }
        }

        /// <summary>
        /// Parses an endpoint such as 127.0.0.1:7000. Returns null if it is malformed, or not on loopback: a client must not make
        /// the editor connect to other machines.
        /// </summary>
        public static IPEndPoint? Parse(string endpoint)
        {
            int colon = endpoint.LastIndexOf(':');
            if (colon < 0) return null;
            bool isPort = int.TryParse(endpoint.Substring(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int port);
            if (!isPort || port < 1 || port > IPEndPoint.MaxPort) return null;
            return endpoint.Substring(0, colon) switch
            {
                "127.0.0.1" or "localhost" => new IPEndPoint(IPAddress.Loopback, port),
                "::1" or "[::1]" => new IPEndPoint(IPAddress.IPv6Loopback, port),
                _ => null
            };
        }

        private bool Add(PushEndpoint endpoint, bool recovered)
        {
            if (Parse(endpoint.Endpoint) is not { } address)
            {
                log.Warn("A push listener is not on this machine, and is not dialled");
                return false;
            }
            PushChannel channel;
            lock (gate)
            {
                if (closed) return false;
                PushChannel? known = channels.Find(c => c.Endpoint == endpoint.Endpoint && !c.HasGivenUp);
                if (known != null && known.Token == endpoint.Token) return true;
                if (known != null)
                {
                    known.Close();
                    channels.Remove(known);
                }
                channels.RemoveAll(c => c.HasGivenUp);
                if (channels.Count >= Limits.PushEndpoints)
                {
                    PushChannel first = channels.Find(c => !c.IsAttached) ?? channels[0];
                    first.Close();
                    channels.Remove(first);
                }
                channel = new PushChannel(endpoint, address, recovered, write);
                channels.Add(channel);
            }
            threads.Start("push", channel.Run);
            return true;
        }
    }
}
