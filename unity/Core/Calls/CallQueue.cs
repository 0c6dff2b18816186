#nullable enable
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Decides which call begins next. Calls of tools that are not parallel run one after another, in the order of arrival,
    /// whichever connection they came on. Calls of parallel tools run at the same time as those, at most <see
    /// cref="Limits.ParallelCalls"/> at once. Not thread-safe: the lock of <see cref="CallCenter"/> guards it.
    /// </summary>
    internal sealed class CallQueue
    {
        private readonly LinkedList<ToolCall> serial = new();
        private readonly LinkedList<ToolCall> parallel = new();
        private readonly List<ToolCall> active = new();

        /// <summary>Number of calls that wait.</summary>
        public int Waiting => serial.Count + parallel.Count;

        /// <summary>Total size of the messages of the calls that wait, in bytes.</summary>
        public long WaitingBytes { get; private set; }

        /// <summary>Calls that are scheduled or running.</summary>
        public IReadOnlyList<ToolCall> Active => active;

        /// <summary>All calls, waiting and active.</summary>
        public IEnumerable<ToolCall> All => active.Concat(serial).Concat(parallel);

        /// <summary>Appends a call to the calls that wait.</summary>
        public void Add(ToolCall call)
        {
            (call.Tool.About.Parallel ? parallel : serial).AddLast(call);
            WaitingBytes += call.Bytes;
        }

        /// <summary>Takes the next call that may begin, and makes it active. Returns null if no call may begin now.</summary>
        public ToolCall? Next()
        {
            int running = active.Count(c => c.Tool.About.Parallel);
            LinkedList<ToolCall>? line =
                serial.Count > 0 && active.Count == running ? serial
                : parallel.Count > 0 && running < Limits.ParallelCalls ? parallel
                : null;
            if (line == null) return null;
            ToolCall call = line.First.Value;
            line.RemoveFirst();
            WaitingBytes -= call.Bytes;
            active.Add(call);
            return call;
        }

        /// <summary>Removes a call, waiting or active.</summary>
        public void Remove(ToolCall call)
        {
            if (active.Remove(call)) return;
            if ((call.Tool.About.Parallel ? parallel : serial).Remove(call)) WaitingBytes -= call.Bytes;
        }
    }
}
