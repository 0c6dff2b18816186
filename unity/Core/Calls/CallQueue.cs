#nullable enable
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Whose turn it is. Tools that are not parallel run one after another in the order of arrival, over all connections;
    /// parallel ones beside them, a few at once. Not thread-safe: <see cref="CallCenter"/>'s lock guards it.
    /// </summary>
    internal sealed class CallQueue
    {
        private readonly LinkedList<ToolCall> serial = new();
        private readonly LinkedList<ToolCall> parallel = new();
        private readonly List<ToolCall> active = new();

        /// <summary>Calls that wait for their turn.</summary>
        public int Waiting => serial.Count + parallel.Count;

        /// <summary>Bytes of their arguments.</summary>
        public long WaitingBytes { get; private set; }

        /// <summary>Calls that have their turn.</summary>
        public IReadOnlyList<ToolCall> Active => active;

        /// <summary>All calls.</summary>
        public IEnumerable<ToolCall> All => active.Concat(serial).Concat(parallel);

        /// <summary>Puts a call at the end.</summary>
        public void Add(ToolCall call)
        {
            (call.Tool.About.Parallel ? parallel : serial).AddLast(call);
            WaitingBytes += call.Bytes;
        }

        /// <summary>The next call that has its turn, or null.</summary>
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

        /// <summary>Takes a call out, wherever it is.</summary>
        public void Remove(ToolCall call)
        {
            if (active.Remove(call)) return;
            if ((call.Tool.About.Parallel ? parallel : serial).Remove(call)) WaitingBytes -= call.Bytes;
        }
    }
}
