#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Threading;

namespace Holdfast
{
    /// <summary>
    /// Sends push messages to one listener. Its thread connects, writes the queued messages, and reconnects when the connection
    /// is lost. A push message is only a hint for the gateway: if one cannot be sent, the sequence numbers have a gap.
    /// </summary>
    internal sealed class PushChannel
    {
        private readonly object gate = new();
        private readonly Queue<PushMessage> queue = new();
        private readonly IPEndPoint address;
        private readonly Func<PushMessage, long, string?, string> write;
        private Socket? socket;
        private PushMessage greeting;
        private bool closed;
        private bool finishing;

        /// <param name="write">Writes a message, its sequence number and the token as one JSON line.</param>
        /// <param name="recovered">Whether the listener was known before a reload.</param>
        public PushChannel(
            PushEndpoint endpoint, IPEndPoint address, bool recovered, Func<PushMessage, long, string?, string> write)
        {
            Endpoint = endpoint.Endpoint;
            Token = endpoint.Token;
            Sequence = endpoint.Sequence;
            this.address = address;
            this.write = write;
            greeting = recovered ? PushMessage.Recovered : PushMessage.Established;
        }

        public string Endpoint { get; }

        public string? Token { get; }

        /// <summary>Sequence number of the last message, sent or lost.</summary>
        public long Sequence { get; private set; }

        /// <summary>
        /// Whether <see cref="Limits.PushAttempts"/> attempts in a row have failed, so that the thread has ended.
        /// </summary>
        public bool HasGivenUp { get; private set; }

        /// <summary>Whether the channel is connected.</summary>
        public bool IsAttached
        {
            get
            {
                lock (gate) return socket != null;
            }
        }

        /// <summary>
        /// Queues a message. If the queue is full, the oldest message is dropped. Does nothing after <see cref="Finish"/> or <see
        /// cref="Close"/>.
        /// </summary>
        public void Send(PushMessage message)
        {
            lock (gate)
            {
                if (closed || finishing) return;
                queue.Enqueue(message);
                if (queue.Count > Limits.PushQueue)
                {
                    queue.Dequeue();
                    Sequence++;
                }
                Monitor.PulseAll(gate);
            }
        }

        /// <summary>Queues a last message, which is sent only if the listener is connected. Then the channel ends.</summary>
        public void Finish(PushMessage last)
        {
            Send(last);
            lock (gate)
            {
                finishing = true;
                Monitor.PulseAll(gate);
            }
        }

        /// <summary>
        /// Waits at most <paramref name="milliseconds"/> until everything is written and the connection is closed. Call it after
        /// <see cref="Finish"/>.
        /// </summary>
        public void WaitWritten(int milliseconds)
        {
            int until = Environment.TickCount + milliseconds;
            lock (gate)
            {
                while (socket != null && !closed)
                {
                    int left = until - Environment.TickCount;
                    if (left <= 0 || !Monitor.Wait(gate, left)) return;
                }
            }
        }

        /// <summary>Closes the channel at once. Queued messages count as lost: their sequence numbers are skipped.</summary>
        public void Close()
        {
            Socket? open;
            lock (gate)
            {
                closed = true;
                Sequence += queue.Count;
                queue.Clear();
                open = socket;
                socket = null;
                Monitor.PulseAll(gate);
            }
            open?.Close();
        }

        /// <summary>Connects and sends until the channel ends. This is the body of the channel's thread.</summary>
        public void Run()
        {
            int pause = Limits.PushRetryFirst;
            for (int attempt = 0; attempt < Limits.PushAttempts; attempt++)
            {
                if (Connect() is { } connected)
                {
                    attempt = -1;
                    pause = Limits.PushRetryFirst;
                    Serve(connected);
                }
                lock (gate)
                {
                    if (closed || finishing) return;
                    Monitor.Wait(gate, pause);
                    if (closed || finishing) return;
                }
                pause = Math.Min(pause * 2, Limits.PushRetryLast);
            }
            HasGivenUp = true;
        }

        private Socket? Connect()
        {
            var candidate = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp)
            {
                NoDelay = true, SendTimeout = Limits.PushConnect
            };
            try
            {
                // On loopback, Connect succeeds or fails at once.
                candidate.Connect(address);
            }
            catch (SocketException)
            {
                candidate.Close();
                return null;
            }
            lock (gate)
            {
                if (!closed)
                {
                    socket = candidate;
                    return candidate;
                }
            }
            candidate.Close();
            return null;
        }

        private void Serve(Socket connected)
        {
            try
            {
                Put(connected, greeting);
                greeting = PushMessage.Established;
                while (true)
                {
                    PushMessage? message = null;
                    lock (gate)
                    {
                        if (queue.Count == 0 && !closed && !finishing) Monitor.Wait(gate, Limits.PushWatch);
                        if (closed || (finishing && queue.Count == 0)) break;
                        if (queue.Count > 0) message = queue.Dequeue();
                    }
                    if (message != null) Put(connected, message);
                    else if (connected.Poll(0, SelectMode.SelectRead) && Drained(connected)) break;
                }
            }
            catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
            {
                // The connection is lost. Run connects again.
            }
            finally
            {
                lock (gate)
                {
                    socket = null;
                    Monitor.PulseAll(gate);
                }
                connected.Close();
            }
        }

        // Whether the listener has closed the connection. A listener sends nothing; if it does, the bytes are ignored.
        private static bool Drained(Socket connected) => connected.Receive(new byte[1024]) == 0;

        private void Put(Socket connected, PushMessage message)
        {
            long sequence;
            lock (gate) sequence = ++Sequence;
            byte[] line = Json.Utf8.GetBytes(write(message, sequence, Token) + "\n");
            for (int sent = 0; sent < line.Length;) sent += connected.Send(line, sent, line.Length - sent, SocketFlags.None);
        }
    }
}
