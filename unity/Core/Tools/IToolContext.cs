#nullable enable
using System;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>One call, as its tool sees it. Its members may be used on any thread.</summary>
    public interface IToolContext
    {
        /// <summary>The id that the gateway gave to the call; null if there is none, as in uLoopMCP's protocol.</summary>
        string? CallId { get; }

        /// <summary>
        /// The trace that the call belongs to, as the client sent it (W3C Trace Context); null if the client sent none. A tool
        /// can use it as the parent of its own <c>Activity</c>.
        /// </summary>
        string? TraceParent { get; }

        /// <summary>Data that tracing systems added for themselves (W3C Trace Context); null if there is none.</summary>
        string? TraceState { get; }

        /// <summary>Data that the client passes along with the trace (W3C Baggage); null if there is none.</summary>
        string? Baggage { get; }

        /// <summary>
        /// Cancelled when the caller cancels, when the time limit passes, and when the bridge stops or the domain unloads.
        /// </summary>
        CancellationToken Cancellation { get; }

        /// <summary>The editor's main thread, to switch to it and to wait for frames.</summary>
        IMainThread MainThread { get; }

        /// <summary>
        /// Reports progress to the caller. A value is sent only if it is higher than the last one, at most ten are sent per
        /// second, and none after the call has ended.
        /// </summary>
        /// <param name="progress">How much is done.</param>
        /// <param name="total">The value at the end, if known.</param>
        /// <param name="message">What the tool is doing now.</param>
        void ReportProgress(double progress, double? total = null, string? message = null);

        /// <summary>
        /// Saves a state that outlives a domain reload, for an <see cref="IResumableTool"/>. Call it before the step that may
        /// cause the reload.
        /// </summary>
        /// <returns>
        /// False if nothing was saved: the call has no id or has ended, the tool is not resumable, or the domain is about to
        /// unload.
        /// </returns>
        bool KeepAcrossReload(JToken state);
    }

    /// <summary>The editor's main thread.</summary>
    public interface IMainThread
    {
        /// <summary>Whether the calling thread is the main thread.</summary>
        bool IsCurrent { get; }

        /// <summary>Time since the editor's last frame. It grows while the editor is busy or shows a modal dialog.</summary>
        TimeSpan FrameAge { get; }

        /// <summary>
        /// <c>await mainThread.Switch();</c> continues on the main thread: at once if it is called there, otherwise in the next
        /// frame.
        /// </summary>
        MainThreadAwaitable Switch(CancellationToken cancellation = default);

        /// <summary>
        /// <c>await mainThread.Frames(2);</c> continues on the main thread after that many frames, at least one.
        /// </summary>
        MainThreadAwaitable Frames(int count, CancellationToken cancellation = default);

        /// <summary>Queues an action for the next frame.</summary>
        /// <returns>False if it will not run: the domain is about to unload, or the queue is full.</returns>
        bool Post(Action action);

        /// <summary>
        /// Runs a short action in the next frame, or when the domain unloads if that is earlier. Use it to undo what must not
        /// outlive the domain, such as a subscription to Unity's events.
        /// </summary>
        /// <returns>False if the domain has already unloaded, so that the action will not run.</returns>
        bool PostCleanup(Action action);
    }
}
