#nullable enable
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>One request and how it ended. Without arguments and results: they may be secret, and they are large.</summary>
    /// <param name="At">UTC, as text.</param>
    /// <param name="Client">The client's name.</param>
    /// <param name="What">Method or tool.</param>
    /// <param name="Ended">ok, or the type of the error.</param>
    /// <param name="Milliseconds">How long it took.</param>
    public sealed record TrafficEntry(string At, string Client, string What, string Ended, long Milliseconds)
    {
        internal JArray Write() => new(At, Client, What, Ended, Milliseconds);

        internal static TrafficEntry Read(JToken e) =>
            new((string)e[0]!, (string)e[1]!, (string)e[2]!, (string)e[3]!, (long)e[4]!);
    }

    /// <summary>The latest requests, for the window. Any thread.</summary>
    public sealed class TrafficLog
    {
        private readonly Queue<TrafficEntry> entries;

        internal TrafficLog(IEnumerable<TrafficEntry> earlier) => entries = new Queue<TrafficEntry>(earlier);

        /// <summary>Rises with every entry.</summary>
        public long Version { get; private set; }

        /// <summary>The oldest first.</summary>
        public IReadOnlyList<TrafficEntry> Entries
        {
            get
            {
                lock (entries) return entries.ToList();
            }
        }

        /// <summary>Forgets all.</summary>
        public void Clear()
        {
            lock (entries)
            {
                entries.Clear();
                Version++;
            }
        }

        internal void Add(TrafficEntry entry)
        {
            lock (entries)
            {
                entries.Enqueue(entry);
                while (entries.Count > Limits.TrafficEntries) entries.Dequeue();
                Version++;
            }
        }
    }
}
