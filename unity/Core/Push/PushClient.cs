#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net;

namespace Holdfast
{
    /// <summary>Tells every push listener that clients have named what happens to the editor. Any thread.</summary>
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

        /// <summary>The listeners, with the number of the last message.</summary>
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

        /// <summary>How many are attached.</summary>
        public int Attached
        {
            get
            {
                lock (gate) return channels.Count(c => c.IsAttached);
            }
        }

        /// <summary>Connects to those that were known before a reload.</summary>
        public void Recover(IEnumerable<PushEndpoint> endpoints)
        {
            foreach (PushEndpoint endpoint in endpoints) Add(endpoint, true);
        }

        /// <summary>A client has named its listener; the same one again changes nothing.</summary>
        /// <returns>False if it is none that is dialled: not on this machine, or no port.</returns>
        public bool Register(string endpoint, string? token) => Add(new PushEndpoint(endpoint, token, 0), false);

        /// <summary>Tells all.</summary>
        public void Send(PushMessage message)
        {
            lock (gate) channels.ForEach(c => c.Send(message));
        }

        /// <summary>Tells all one last thing. <see cref="Close"/> follows.</summary>
        public void Finish(PushMessage last)
        {
            lock (gate)
            {
                closed = true;
                channels.ForEach(c => c.Finish(last));
            }
        }

        /// <summary>Waits till the last thing is written, at most so long.</summary>
        public void WaitWritten(int milliseconds)
        {
            int until = Environment.TickCount + milliseconds;
            List<PushChannel> all;
            lock (gate) all = channels.ToList();
            foreach (PushChannel channel in all) channel.WaitWritten(Math.Max(0, until - Environment.TickCount));
        }

        /// <summary>Ends all.</summary>
        public void Close()
        {
            lock (gate)
            {
                closed = true;
                channels.ForEach(c => c.Close());
            }
        }

        /// <summary>Only loopback is dialled: a client must not make the editor talk to others.</summary>
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
