#nullable enable
using System;
using System.Threading;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>
    /// Listens to events of Unity for one call, until it has a result. It unsubscribes when it has the result, when it is disposed,
    /// and when the call is cancelled. A domain reload cancels the call too, so nothing of the old domain stays subscribed.
    /// </summary>
    internal abstract class UnityEventJob<T> : IDisposable
    {
        private readonly TaskCompletionSource<T> response = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private IDisposable? subscription;
        private CancellationTokenRegistration registration;

        protected UnityEventJob(IToolContext context) => Context = context;

        /// <summary>The result. The task is cancelled if the call is cancelled.</summary>
        public Task<T> Response => response.Task;

        protected IToolContext Context { get; }

        public void Dispose()
        {
            registration.Dispose();
            StopListening();
        }

        /// <summary>Begins to listen. The constructor of the derived class calls this last.</summary>
        protected void Begin(IDisposable listening)
        {
            subscription = listening;
            registration = Context.Cancellation.Register(Cancelled);
        }

        /// <summary>
        /// Sets the result. Main thread. What must outlive a reload is saved before this, and not by the code that awaits the
        /// result, since a reload may follow at once.
        /// </summary>
        protected void End(T result)
        {
            StopListening();
            response.TrySetResult(result);
        }

        /// <summary>
        /// Called on the main thread if a caller cancelled the call. A reload does not call it: what Unity does continues in the
        /// next domain.
        /// </summary>
        protected virtual void CancelledByCaller()
        {
        }

        private void Cancelled()
        {
            if (response.TrySetCanceled()) StopListening();
        }

        // Unity may be called on the main thread only. A reload cancels the call on that thread; a caller cancels it on another.
        private void StopListening()
        {
            if (!Context.MainThread.IsCurrent)
            {
                Context.MainThread.PostCleanup(() =>
                {
                    if (subscription != null && response.Task.IsCanceled) CancelledByCaller();
                    StopListening();
                });
                return;
            }
            subscription?.Dispose();
            subscription = null;
        }
    }
}
