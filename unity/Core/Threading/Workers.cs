#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Threading;

namespace Holdfast
{
    /// <summary>
    /// Makes threads that end well: in the background, with the outermost catch that keeps a closed socket from ending
    /// the process, and joined within a bound before the domain unloads.
    /// </summary>
    internal sealed class ThreadGroup
    {
        private readonly object gate = new();
        private readonly List<Thread> threads = new();
        private readonly IEditorLog log;

        public ThreadGroup(IEditorLog log) => this.log = log;

        /// <summary>How many live.</summary>
        public int Alive
        {
            get
            {
                lock (gate) return threads.Count(t => t.IsAlive);
            }
        }

        public Thread Start(string name, Action body)
        {
            var thread = new Thread(() => Guard(name, body)) { IsBackground = true, Name = "Holdfast " + name };
            lock (gate)
            {
                threads.RemoveAll(t => !t.IsAlive);
                // Within the lock: joining one that is not started yet would throw.
                thread.Start();
                threads.Add(thread);
            }
            return thread;
        }

        /// <summary>Waits for all, together at most so long. Never for the caller's own thread.</summary>
        /// <returns>The names of those that have not ended.</returns>
        public IReadOnlyList<string> Join(int milliseconds)
        {
            Stopwatch watch = Stopwatch.StartNew();
            while (true)
            {
                // One that ends may have started another just before.
                List<Thread> all;
                lock (gate) all = threads.Where(t => t.IsAlive && t != Thread.CurrentThread).ToList();
                if (all.Count == 0) return Array.Empty<string>();
                foreach (Thread thread in all)
                {
                    int remaining = (int)Math.Max(0, milliseconds - watch.ElapsedMilliseconds);
                    if (!thread.Join(remaining)) return all.Where(t => t.IsAlive).Select(t => t.Name).ToList();
                }
            }
        }

        private void Guard(string name, Action body)
        {
            try
            {
                body();
            }
            catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException or OperationCanceledException)
            {
                // The socket was closed under it; that is how it is told to end.
            }
            catch (Exception e) when (e is not ThreadAbortException)
            {
                log.Error($"The thread {name} failed: {e}");
            }
        }
    }

    /// <summary>A few threads for tools that need no main thread; the pool's would outlive a reload. Started when needed.</summary>
    internal sealed class Workers
    {
        private readonly object gate = new();
        private readonly Queue<Action> work = new();
        private readonly ThreadGroup threads;
        private readonly IEditorLog log;
        private int started;
        private int idle;
        private bool closed;

        public Workers(ThreadGroup threads, IEditorLog log)
        {
            this.threads = threads;
            this.log = log;
        }

        /// <summary>Runs something on a worker.</summary>
        /// <returns>False if they are closed.</returns>
        public bool Post(Action action)
        {
            bool more;
            lock (gate)
            {
                if (closed) return false;
                work.Enqueue(action);
                Monitor.Pulse(gate);
                more = idle < work.Count && started < Limits.Workers;
                if (more) started++;
            }
            if (more) threads.Start("worker", Loop);
            return true;
        }

        /// <summary>Drops what waits; the threads end after what they do now.</summary>
        public void Close()
        {
            lock (gate)
            {
                closed = true;
                work.Clear();
                Monitor.PulseAll(gate);
            }
        }

        private void Loop()
        {
            while (true)
            {
                Action action;
                lock (gate)
                {
                    idle++;
                    while (work.Count == 0 && !closed) Monitor.Wait(gate);
                    idle--;
                    if (closed) return;
                    action = work.Dequeue();
                }
                try
                {
                    action();
                }
                catch (Exception e) when (e is not ThreadAbortException)
                {
                    log.Error("Work on a worker failed: " + e);
                }
            }
        }
    }
}
