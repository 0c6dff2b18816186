#nullable enable
using System;
using System.Threading;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Where a call stands in <see cref="CallCenter"/>, whose lock guards it.</summary>
    internal enum CallPhase
    {
        /// <summary>It waits for its turn.</summary>
        Waiting,

        /// <summary>It has its turn and waits for its thread.</summary>
        Scheduled,

        /// <summary>Its tool has begun.</summary>
        Running,

        /// <summary>It has ended, or will not begin.</summary>
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

    /// <summary>One call of a tool, from reading it to answering it; also what the tool sees of it.</summary>
    internal sealed class ToolCall : IToolContext
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

        /// <summary>Size of the arguments on the wire.</summary>
        public int Bytes { get; }

        public string? CallId { get; set; }

        public string? TraceParent { get; set; }

        public string? TraceState { get; set; }

        public string? Baggage { get; set; }

        public string? Gateway { get; set; }

        public long Seq { get; set; }

        /// <summary>The connection that it came over; null if it crossed a reload.</summary>
        public Connection? Origin { get; set; }

        /// <summary>Time limit in milliseconds that the caller gave.</summary>
        public int? TimeoutMs { get; set; }

        public bool WantsProgress { get; set; }

        /// <summary>What a resumable tool kept in an earlier domain.</summary>
        public JToken? Resumed { get; set; }

        /// <summary>Told once, on any thread, when it has ended.</summary>
        public Action<ToolCall, CallOutcome> Ended { get; set; } = (_, _) => { };

        /// <summary>Passes a report of progress on.</summary>
        public Action<ToolCall, double, double?, string?> Progressed { get; set; } = (_, _, _, _) => { };

        /// <summary>Puts what the tool keeps into the journal.</summary>
        public Func<ToolCall, JToken, bool> Kept { get; set; } = (_, _) => false;

        // The following belong to CallCenter.
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

        /// <summary>Nothing is reported after this has returned.</summary>
        public void EndProgress()
        {
            lock (progressGate) lastProgress = double.PositiveInfinity;
        }

        public bool KeepAcrossReload(JToken state) => Kept(this, state.DeepClone());

        /// <summary>Asks the tool to stop. What listeners of the token throw is theirs.</summary>
        public void CancelToken()
        {
            try
            {
                cancellation.Cancel();
            }
            catch (AggregateException)
            {
                // The tool's own callbacks failed; the call ends by what its task says.
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

        /// <summary>The tool's value as JSON.</summary>
        public string Value { get; }

        /// <summary>The list of its other parts as JSON, or null.</summary>
        public string? Content { get; }

        /// <summary>Does the tool say that it failed?</summary>
        public bool IsError { get; }

        public long DurationMs { get; }

        public RpcError? Error { get; }

        public static CallOutcome Of(string value, string? content, bool isError, long durationMs) =>
            new(value, content, isError, durationMs, null);

        public static CallOutcome Of(RpcError error) => new("null", null, true, 0, error);

        /// <summary>What <c>holdfast/call</c> answers with: its result, or its error.</summary>
        public string ToJson(string callId)
        {
            if (Error != null) return Error.ToJson();
            string content = Content == null ? "" : ",\"content\":" + Content;
            return text ??= "{\"callId\":" + JsonConvert.ToString(callId) + ",\"isError\":" + (IsError ? "true" : "false") +
                ",\"value\":" + Value + content + ",\"durationMs\":" + DurationMs + "}";
        }
    }
}
