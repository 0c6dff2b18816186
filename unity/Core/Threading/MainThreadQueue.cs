#nullable enable
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Holdfast
{
    /// <summary>
    /// Runs work on the editor's main thread, in the editor's update. Unity's <c>delayCall</c> cannot be used: other threads may
    /// not access it, and it hardly ever runs while the editor has no focus.
    /// </summary>
    internal sealed class MainThreadQueue : IMainThread
    {
        private readonly object gate = new();
        private readonly Queue<Action> actions = new();
        private readonly Queue<Action> cleanups = new();
        private readonly List<Waiter> waiters = new();
        private readonly IClock clock;
        private readonly IEditorLog log;
        private readonly int mainThread;
        private long lastFrame;
        private long frame;
        private bool closed;

        /// <summary>Creates the queue. The thread that calls this must be the main thread.</summary>
        public MainThreadQueue(IClock clock, IEditorLog log)
        {
            this.clock = clock;
            this.log = log;
            mainThread = Environment.CurrentManagedThreadId;
            lastFrame = clock.Now;
        }

        /// <inheritdoc/>
        public bool IsCurrent => Environment.CurrentManagedThreadId == mainThread;

        /// <inheritdoc/>
        public TimeSpan FrameAge => TimeSpan.FromMilliseconds(Math.Max(0, clock.Now - Interlocked.Read(ref lastFrame)));

        /// <summary>Raised on any thread after work was queued, so that the editor can be woken.</summary>
        public event Action? WorkQueued;

        /// <summary>Whether any work waits.</summary>
        public bool HasWork
        {
            get
            {
                lock (gate) return actions.Count > 0 || waiters.Count > 0 || cleanups.Count > 0;
            }
        }

        /// <inheritdoc/>
        public bool Post(Action action)
        {
            lock (gate)
            {
                if (closed || actions.Count >= Limits.MainThreadQueue) return false;
                actions.Enqueue(action);
            }
            WorkQueued?.Invoke();
            return true;
        }

        /// <inheritdoc/>
        public bool PostCleanup(Action action)
        {
            lock (gate)
            {
                if (closed) return false;
                cleanups.Enqueue(action);
            }
            WorkQueued?.Invoke();
            return true;
        }

        /// <inheritdoc/>
        public MainThreadAwaitable Switch(CancellationToken cancellation = default) => new(this, 0, cancellation);

        /// <inheritdoc/>
        public MainThreadAwaitable Frames(int count, CancellationToken cancellation = default) =>
            new(this, Math.Max(1, count), cancellation);

        /// <summary>
        /// Runs, in this order: the cleanups, the continuations that are due, and queued actions until <see
        /// cref="Limits.FrameBudget"/> is used up (at least one action). Called in every update of the editor. If one of them
        /// throws, the exception is logged and the rest still runs.
        /// </summary>
        public void RunFrame()
        {
            long began = clock.Now;
            Interlocked.Exchange(ref lastFrame, began);
            RunCleanups();
            if (TakeDue() is { } due) due.ForEach(Run);
            do
            {
                Action action;
                lock (gate)
                {
                    if (actions.Count == 0) return;
                    action = actions.Dequeue();
                }
                Run(action);
            }
            while (clock.Now - began < Limits.FrameBudget);
        }

        /// <summary>
        /// Drops the queued work and accepts no more, since the domain is about to unload. Cleanups are still run. Main thread.
        /// </summary>
        public void Close()
        {
            lock (gate)
            {
                closed = true;
                actions.Clear();
                waiters.Clear();
            }
            RunCleanups();
        }

        internal void Await(int frames, CancellationToken cancellation, Action continuation)
        {
            if (frames == 0 && Post(continuation)) return;
            // Also if the queue is full: a tool that has begun must go on. Its continuation is due in the next frame.
            lock (gate)
            {
                if (closed) return;
                waiters.Add(new Waiter(frame + frames, cancellation, continuation));
            }
            WorkQueued?.Invoke();
        }

        private void RunCleanups()
        {
            while (true)
            {
                Action action;
                lock (gate)
                {
                    if (cleanups.Count == 0) return;
                    action = cleanups.Dequeue();
                }
                Run(action);
            }
        }

        // Null if nothing is due: most frames then allocate nothing.
        private List<Action>? TakeDue()
        {
            List<Action>? due = null;
            lock (gate)
            {
                frame++;
                for (int i = 0; i < waiters.Count;)
                {
                    Waiter waiter = waiters[i];
                    if (waiter.Frame > frame && !waiter.Cancellation.IsCancellationRequested)
                    {
                        i++;
                        continue;
                    }
                    (due ??= new List<Action>()).Add(waiter.Continuation);
                    waiters.RemoveAt(i);
                }
            }
            return due;
        }

        private void Run(Action action)
        {
            try
            {
                action();
            }
            catch (Exception e)
            {
                log.Error("Work on the main thread failed: " + e);
            }
        }

        private readonly struct Waiter
        {
            public Waiter(long frame, CancellationToken cancellation, Action continuation)
            {
                Frame = frame;
                Cancellation = cancellation;
                Continuation = continuation;
            }

            public long Frame { get; }

            public CancellationToken Cancellation { get; }

            public Action Continuation { get; }
        }
    }

    /// <summary>
    /// Awaitable of <see cref="IMainThread.Switch"/> and <see cref="IMainThread.Frames"/>. Use it only with <c>await</c>.
    /// </summary>
    public readonly struct MainThreadAwaitable : INotifyCompletion
    {
        private readonly MainThreadQueue queue;
        private readonly int frames;
        private readonly CancellationToken cancellation;

        internal MainThreadAwaitable(MainThreadQueue queue, int frames, CancellationToken cancellation)
        {
            this.queue = queue;
            this.frames = frames;
            this.cancellation = cancellation;
        }

        /// <summary>Called by <c>await</c>.</summary>
        public MainThreadAwaitable GetAwaiter() => this;

        /// <summary>Whether <c>await</c> continues at once.</summary>
        public bool IsCompleted => frames == 0 && queue.IsCurrent;

        /// <summary>Called by <c>await</c> when it continues.</summary>
        /// <exception cref="OperationCanceledException">The call was cancelled while it waited.</exception>
        public void GetResult() => cancellation.ThrowIfCancellationRequested();

        /// <summary>Called by <c>await</c> to queue its continuation.</summary>
        public void OnCompleted(Action continuation) => queue.Await(frames, cancellation, continuation);
    }
}
