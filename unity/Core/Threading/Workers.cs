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
    /// Starts background threads and joins them before the domain unloads. Each thread catches exceptions, such as those of a
    /// closed socket, which would otherwise end the editor's process.
    /// </summary>
    internal sealed class ThreadGroup
    {
        private readonly object gate = new();
        private readonly List<Thread> threads = new();
        private readonly IEditorLog log;

        public ThreadGroup(IEditorLog log) => this.log = log;

        /// <summary>Number of threads that are alive.</summary>
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
                // Started under the lock, since Join would throw for a thread that has not been started.
                thread.Start();
                threads.Add(thread);
            }
            return thread;
        }

        /// <summary>
        /// Waits for the end of all threads except the calling one, at most <paramref name="milliseconds"/> in total.
        /// </summary>
        /// <returns>The names of the threads that have not ended.</returns>
        public IReadOnlyList<string> Join(int milliseconds)
        {
            Stopwatch watch = Stopwatch.StartNew();
            while (true)
            {
                // A thread may have started another one just before it ended, so look again.
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
                // The socket was closed, which is how this thread is asked to end.
            }
            catch (Exception e) when (e is not ThreadAbortException)
            {
                log.Error($"The thread {name} failed: {e}");
            }
        }
    }

    /// <summary>
    /// A few threads for tools that do not need the main thread. They are started on demand. Threads of the .NET thread pool are
    /// not used, since they would outlive a domain reload.
    /// </summary>
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

        /// <summary>Queues an action, which a worker runs.</summary>
        /// <returns>False after <see cref="Close"/>.</returns>
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

        /// <summary>Drops the queued actions. Each thread ends after its current action.</summary>
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
