#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Threading;

namespace Holdfast
{
    /// <summary>Receives a connection's messages and its end. Called on the connection's reading thread.</summary>
    internal interface IConnectionHandler
    {
        void Received(Connection connection, byte[] message);

        void Broken(Connection connection, string why);

        void Ended(Connection connection);
    }

    /// <summary>
    /// The connection of one client. It has one thread that reads and one that writes, so that a client that reads slowly delays
    /// nobody else. The messages that wait to be written are limited in number and size.
    /// </summary>
    internal sealed class Connection
    {
        private readonly object gate = new();
        private readonly Queue<byte[]> outgoing = new();
        private readonly Socket socket;
        private readonly IConnectionHandler handler;
        private readonly MessageReassembler reassembler;
        private long outgoingBytes;
        private int calls;
        private bool lastQueued;
        private bool writing;
        private bool closed;

        public Connection(int number, Socket socket, IConnectionHandler handler, DateTime now)
        {
            Number = number;
            Since = now;
            this.socket = socket;
            this.handler = handler;
            Port = (socket.LocalEndPoint as IPEndPoint)?.Port ?? 0;
            socket.NoDelay = true;
            socket.SendTimeout = Limits.SendTimeout;
            reassembler = new MessageReassembler(() => IsProven ? Limits.MessageFromGateway : Limits.MessageFromStranger);
            Lane = new SerialLane();
        }

        /// <summary>Number of the connection, from 1. No number is used twice while the editor's process lives.</summary>
        public int Number { get; }

        /// <summary>The local port on which the client reached the bridge; 0 if the socket is not connected.</summary>
        public int Port { get; }

        /// <summary>Runs the requests that must be answered in the order in which they came.</summary>
        public SerialLane Lane { get; }

        /// <summary>
        /// What the client said in <c>holdfast/hello</c>; null before that. Set and read on the reading thread.
        /// </summary>
        public Greeting? Greeting { get; set; }

        /// <summary>The gateway's id; null until the gateway has proven itself.</summary>
        public string? Gateway { get; private set; }

        public bool IsProven => Gateway != null;

        /// <summary>When the connection was accepted, in UTC.</summary>
        public DateTime Since { get; }

        /// <summary>
        /// Number of calls that came on this connection, including refused ones. uLoopMCP's pings are not counted.
        /// </summary>
        public int Calls => calls;

        /// <summary>The client's name; empty while it has not given one.</summary>
        public string ClientName { get; set; } = "";

        /// <summary>
        /// Whether a newer connection of the same gateway has replaced this one. Calls from this one are then refused. Guarded by
        /// the lock of <see cref="CallCenter"/>.
        /// </summary>
        public bool IsFenced { get; set; }

        public bool IsClosed
        {
            get
            {
                lock (gate) return closed;
            }
        }

        /// <summary>Counts one more call.</summary>
        public void CountCall() => Interlocked.Increment(ref calls);

        public void Prove(string gateway) => Gateway = gateway;

        public void Start(ThreadGroup threads)
        {
            threads.Start("writer " + Number, Write);
            threads.Start("reader " + Number, Read);
        }

        /// <summary>Queues a message. If too much is queued already, closes the connection.</summary>
        /// <returns>False if the message will not be written, because the connection is ending.</returns>
        public bool Send(string message)
        {
            byte[] body = Json.Utf8.GetBytes(message);
            byte[] header = FrameParser.Header(body.Length);
            var frame = new byte[header.Length + body.Length];
            Buffer.BlockCopy(header, 0, frame, 0, header.Length);
            Buffer.BlockCopy(body, 0, frame, header.Length, body.Length);
            lock (gate)
            {
                if (closed || lastQueued) return false;
                if (outgoing.Count < Limits.OutgoingMessages && outgoingBytes + frame.Length <= Limits.OutgoingBytes)
                {
                    outgoing.Enqueue(frame);
                    outgoingBytes += frame.Length;
                    Monitor.PulseAll(gate);
                    return true;
                }
            }
            // The client does not read. Unsent answers would fill the editor's memory, so the connection is closed.
            Close();
            return false;
        }

        /// <summary>
        /// Writes the queued messages, accepts no more, and shuts down sending. Then the client closes the connection, or <see
        /// cref="Close"/> does.
        /// </summary>
        public void Finish()
        {
            lock (gate)
            {
                lastQueued = true;
                Monitor.PulseAll(gate);
            }
        }

        /// <summary>
        /// Waits until all messages are written or the connection is closed, at most <paramref name="milliseconds"/>.
        /// </summary>
        public void WaitWritten(int milliseconds)
        {
            int until = Environment.TickCount + milliseconds;
            lock (gate)
            {
                while (!closed && (outgoing.Count > 0 || writing))
                {
                    int left = until - Environment.TickCount;
                    if (left <= 0 || !Monitor.Wait(gate, left)) return;
                }
            }
        }

        /// <summary>Closes the connection at once, from any thread. Queued messages and requests are dropped.</summary>
        public void Close()
        {
            lock (gate)
            {
                if (closed) return;
                closed = true;
                outgoing.Clear();
                Monitor.PulseAll(gate);
            }
            Lane.Clear();
            try
            {
                socket.Shutdown(SocketShutdown.Both);
            }
            catch (Exception e) when (e is SocketException or ObjectDisposedException)
            {
                // The client has closed the connection already.
            }
            socket.Close();
        }

        private void Read()
        {
            try
            {
                while (true)
                {
                    ArraySegment<byte> room = reassembler.Reserve();
                    int count = socket.Receive(room.Array!, room.Offset, room.Count, SocketFlags.None);
                    if (count == 0) return;
                    reassembler.Commit(count);
                    for (byte[]? message = reassembler.Next(); message != null; message = reassembler.Next())
                    {
                        if (IsClosed) return;
                        handler.Received(this, message);
                    }
                }
            }
            catch (FrameException e)
            {
                handler.Broken(this, e.Message);
                Drain();
            }
            finally
            {
                Close();
                handler.Ended(this);
            }
        }

        // If a socket is closed while received bytes are unread, the connection is reset, and the client might not get the error.
        // So some bytes are read and ignored first.
        private void Drain()
        {
            WaitWritten(Limits.SendTimeout);
            var scratch = new byte[16 * 1024];
            socket.ReceiveTimeout = Limits.DrainTime;
            var watch = System.Diagnostics.Stopwatch.StartNew();
            for (int read = 0; read < Limits.DrainBytes && watch.ElapsedMilliseconds < Limits.DrainTotal;)
            {
                int count = socket.Receive(scratch);
                if (count == 0) return;
                read += count;
            }
        }

        private void Write()
        {
            try
            {
                while (true)
                {
                    byte[] frame;
                    lock (gate)
                    {
                        writing = false;
                        Monitor.PulseAll(gate);
                        while (outgoing.Count == 0 && !closed && !lastQueued) Monitor.Wait(gate);
                        if (closed) return;
                        if (outgoing.Count == 0) break;
                        frame = outgoing.Dequeue();
                        outgoingBytes -= frame.Length;
                        writing = true;
                    }
                    for (int sent = 0; sent < frame.Length;)
                    {
                        sent += socket.Send(frame, sent, Math.Min(frame.Length - sent, 1 << 20), SocketFlags.None);
                    }
                }
                socket.Shutdown(SocketShutdown.Send);
            }
            catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
            {
                Close();
            }
        }
    }

    /// <summary>
    /// What a client said in <c>holdfast/hello</c>, and the challenge that it was answered with (<c>OwnChallenge</c>).
    /// </summary>
    internal sealed record Greeting(
        string Gateway, string ClientName, string Challenge, string OwnChallenge, string? PushEndpoint, string? PushToken);

    /// <summary>Runs a connection's jobs one at a time, so that answers have the order of the requests. Thread-safe.</summary>
    internal sealed class SerialLane
    {
        private readonly Queue<Action<Action>> jobs = new();
        private bool busy;

        /// <summary>
        /// Appends a job. It starts when the jobs before it are done. The job gets a callback, which it must call when it is
        /// done.
        /// </summary>
        /// <returns>False if too many jobs wait already.</returns>
        public bool Post(Action<Action> job)
        {
            lock (jobs)
            {
                if (jobs.Count >= Limits.RequestsPerConnection) return false;
                jobs.Enqueue(job);
            }
            Advance();
            return true;
        }

        /// <summary>Drops the jobs that have not started.</summary>
        public void Clear()
        {
            lock (jobs) jobs.Clear();
        }

        private void Advance()
        {
            while (true)
            {
                Action<Action> job;
                lock (jobs)
                {
                    if (busy || jobs.Count == 0) return;
                    busy = true;
                    job = jobs.Dequeue();
                }
                // A job may be done before this call returns. The next one is then started by this loop, since recursion would
                // let the stack grow.
                int state = 0;
                job(() =>
                {
                    lock (jobs) busy = false;
                    if (Interlocked.Exchange(ref state, 1) == 2) Advance();
                });
                if (Interlocked.CompareExchange(ref state, 2, 0) == 0) return;
            }
        }
    }
}
