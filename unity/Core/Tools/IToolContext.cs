#nullable enable
using System;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>One call, as the tool that runs it sees it. Every member may be used from any thread.</summary>
    public interface IToolContext
    {
        /// <summary>The gateway's id of the call; null if the caller gave none (a client of the uloop dialect).</summary>
        string? CallId { get; }

        /// <summary>
        /// The trace that the call is part of, as its client says (W3C Trace Context), for an <c>Activity</c> of the tool's
        /// own; null if it says none.
        /// </summary>
        string? TraceParent { get; }

        /// <summary>What tracing systems added for themselves (W3C Trace Context); null if nothing.</summary>
        string? TraceState { get; }

        /// <summary>What the client's side wants known along the way (W3C Baggage); null if nothing.</summary>
        string? Baggage { get; }

        /// <summary>Set when the caller cancels, when the time limit passes, and when the domain is about to unload.</summary>
        CancellationToken Cancellation { get; }

        /// <summary>The editor's main thread: to switch to it and to wait for frames.</summary>
        IMainThread MainThread { get; }

        /// <summary>
        /// A port of the editor (<see cref="IConsole"/>, <see cref="ICompiler"/>, ...).
        /// </summary>
        /// <exception cref="NotSupportedException">This editor has none, for instance no test framework.</exception>
        T Get<T>() where T : class;

        /// <summary>
        /// Tells the caller how far the call is. Only rising values are passed on, at most ten a second, and none after
        /// the end.
        /// </summary>
        /// <param name="progress">How much is done; must rise.</param>
        /// <param name="total">Of how much, if that is known.</param>
        /// <param name="message">What is going on now.</param>
        void ReportProgress(double progress, double? total = null, string? message = null);

        /// <summary>
        /// Keeps a value that outlives a domain reload; only for an <see cref="IResumableTool"/>. Call it before the step
        /// that may cause the reload.
        /// </summary>
        /// <returns>False if the call cannot be resumed: it has no call id, or the tool is not resumable.</returns>
        bool KeepAcrossReload(JToken state);
    }

    /// <summary>The editor's main thread.</summary>
    public interface IMainThread
    {
        /// <summary>Is the caller on it?</summary>
        bool IsCurrent { get; }

        /// <summary>Time since the editor last ran a frame. Grows while it is busy or behind a modal dialog.</summary>
        TimeSpan FrameAge { get; }

        /// <summary>
        /// <c>await mainThread.Switch();</c> goes on on the main thread: at once if it is there already, else in the next
        /// frame.
        /// </summary>
        MainThreadAwaitable Switch(CancellationToken cancellation = default);

        /// <summary><c>await mainThread.Frames(2);</c> goes on on the main thread after that many frames, at least one.</summary>
        MainThreadAwaitable Frames(int count, CancellationToken cancellation = default);

        /// <summary>Runs something in the next frame.</summary>
        /// <returns>False if the domain is about to unload: it will not run.</returns>
        bool Post(Action action);

        /// <summary>
        /// Runs something in the next frame, or, if the domain leaves before that, at its end: for what must not outlive
        /// the domain, such as listening to Unity's events. It is to be short.
        /// </summary>
        /// <returns>False if the domain has left.</returns>
        bool PostCleanup(Action action);
    }
}
