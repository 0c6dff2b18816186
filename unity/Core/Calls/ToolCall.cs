#nullable enable
using System;
using System.Threading;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Phase of a call in <see cref="CallCenter"/>, guarded by its lock.</summary>
    internal enum CallPhase
    {
        /// <summary>The call waits in the queue.</summary>
        Waiting,

        /// <summary>The call was chosen to run, and posted to its thread.</summary>
        Scheduled,

        /// <summary>The tool has begun.</summary>
        Running,

        /// <summary>The call has ended, or will not begin.</summary>
        Ended
    }

    /// <summary>Why a running call was asked to stop.</summary>
    internal enum StopReason
    {
        None,
        Cancelled,
        TimedOut,
        Leaving
    }

    /// <summary>One call of a tool, from reception to answer; also the context that the tool gets.</summary>
    internal sealed class ToolCall : IToolContext, IPortSource
    {
        private readonly ServiceTable services;
        private readonly CancellationTokenSource cancellation = new();
        private readonly object progressGate = new();
        private double lastProgress = double.NegativeInfinity;
        private long lastProgressAt = long.MinValue / 2;

        public ToolCall(ToolEntry tool, JToken? arguments, int bytes, IMainThread mainThread, ServiceTable services)
        {
            Tool = tool;
            Arguments = arguments;
            Bytes = bytes;
            MainThread = mainThread;
            this.services = services;
        }

        public ToolEntry Tool { get; }

        public JToken? Arguments { get; }

        /// <summary>Size of the call's whole message on the wire, in bytes.</summary>
        public int Bytes { get; }

        public string? CallId { get; set; }

        public string? TraceParent { get; set; }

        public string? TraceState { get; set; }

        public string? Baggage { get; set; }

        public string? Gateway { get; set; }

        public long Seq { get; set; }

        /// <summary>The connection on which the call came; null for a call that is resumed after a reload.</summary>
        public Connection? Origin { get; set; }

        /// <summary>
        /// The caller's time limit in milliseconds. 0 means no limit; null means that the tool's own limit applies.
        /// </summary>
        public int? TimeoutMs { get; set; }

        public bool WantsProgress { get; set; }

        /// <summary>Whether the result tells the times of the run. Only uLoopMCP's protocol does; in the other the answer does.</summary>
        public bool WantsTimes { get; set; }

        /// <summary>The state that a resumable tool saved in an earlier domain; null for a new call.</summary>
        public JToken? Resumed { get; set; }

        /// <summary>
        /// Called at most once, on any thread, when the call ends. Not called for a call that was dropped because its gateway
        /// opened a newer connection, nor for a call that the end of the domain interrupted.
        /// </summary>
        public Action<ToolCall, CallOutcome> Ended { get; set; } = (_, _) => { };

        /// <summary>Sends a progress report to the caller.</summary>
        public Action<ToolCall, double, double?, string?> Progressed { get; set; } = (_, _, _, _) => { };

        /// <summary>Writes the state that the tool saves into the journal. Returns false if the state was not saved.</summary>
        public Func<ToolCall, JToken, bool> Kept { get; set; } = (_, _) => false;

        // Only CallCenter sets the members from here to `Stop`.
        public CallPhase Phase { get; set; }

        public long StartedAt { get; set; }

        public long Deadline { get; set; } = long.MaxValue;

        public long StopAsked { get; set; } = long.MaxValue;

        public int TimeoutSeconds { get; set; }

        public StopReason Stop { get; set; }

        public CancellationToken Cancellation => cancellation.Token;

        public IMainThread MainThread { get; }

        public T Get<T>() where T : class => services.Get<T>();

        public void ReportProgress(double progress, double? total = null, string? message = null)
        {
            if (!WantsProgress || double.IsNaN(progress) || double.IsInfinity(progress)) return;
            lock (progressGate)
            {
                long now = services.Clock.Now;
                if (progress <= lastProgress || now - lastProgressAt < Limits.ProgressEvery) return;
                lastProgress = progress;
                lastProgressAt = now;
                Progressed(this, progress, total, message);
            }
        }

        /// <summary>Stops progress reports: none is sent after this method has returned.</summary>
        public void EndProgress()
        {
            lock (progressGate) lastProgress = double.PositiveInfinity;
        }

        public bool KeepAcrossReload(JToken state) => Kept(this, state.DeepClone());

        /// <summary>
        /// Cancels the tool's token. Exceptions of callbacks that the tool has registered on the token are ignored.
        /// </summary>
        public void CancelToken()
        {
            try
            {
                cancellation.Cancel();
            }
            catch (AggregateException)
            {
                // A callback of the tool failed. This is ignored: the tool's task decides how the call ends.
            }
        }
    }

    /// <summary>How a call ended: a result or an error, as JSON.</summary>
    internal sealed class CallOutcome
    {
        private string? text;

        private CallOutcome(string value, string? content, bool isError, long durationMs, RpcError? error)
        {
            Value = value;
            Content = content;
            IsError = isError;
            DurationMs = durationMs;
            Error = error;
        }

        /// <summary>The tool's result as JSON.</summary>
        public string Value { get; }

        /// <summary>The result's text, image and audio parts as a JSON list; null if the tool returned none.</summary>
        public string? Content { get; }

        /// <summary>Whether the tool reports that it failed.</summary>
        public bool IsError { get; }

        public long DurationMs { get; }

        public RpcError? Error { get; }

        public static CallOutcome Of(string value, string? content, bool isError, long durationMs) =>
            new(value, content, isError, durationMs, null);

        public static CallOutcome Of(RpcError error) => new("null", null, true, 0, error);

        /// <summary>The result or error with which <c>holdfast/call</c> is answered, as JSON.</summary>
        public string ToJson(string callId)
        {
            if (Error != null) return Error.ToJson();
            string content = Content == null ? "" : ",\"content\":" + Content;
            return text ??= "{\"callId\":" + JsonConvert.ToString(callId) + ",\"isError\":" + (IsError ? "true" : "false") +
                ",\"value\":" + Value + content + ",\"durationMs\":" + DurationMs + "}";
        }
    }
}
