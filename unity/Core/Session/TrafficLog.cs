#nullable enable
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>One request and how it ended, as the window shows it.</summary>
    /// <param name="At">UTC, as text.</param>
    /// <param name="Client">The client's name.</param>
    /// <param name="What">Method or tool.</param>
    /// <param name="Ended">ok, tool_error, or the type of the error.</param>
    /// <param name="Milliseconds">How long it took.</param>
    /// <param name="Request">The arguments as JSON, cut at <see cref="Limits.TrafficText"/>; empty if they were let go.</param>
    /// <param name="Answer">The result or the error, likewise.</param>
    public sealed record TrafficEntry(
        string At, string Client, string What, string Ended, long Milliseconds, string Request = "", string Answer = "")
    {
        /// <summary>Number in the log: rises by one with every entry, over reloads too.</summary>
        public long Number { get; init; }

        internal int Size => Request.Length + Answer.Length;

        internal JArray Write() => new(At, Client, What, Ended, Milliseconds, Request, Answer, Number);

        internal static TrafficEntry Read(JToken e) =>
            new((string)e[0]!, (string)e[1]!, (string)e[2]!, (string)e[3]!, (long)e[4]!, (string)e[5]!, (string)e[6]!)
            {
                Number = (long)e[7]!
            };
    }

    /// <summary>
    /// The latest requests, for the window. What they carry may be secret: it stays in the editor's memory, and goes with
    /// its process. Any thread, unless a member says otherwise.
    /// </summary>
    public sealed class TrafficLog
    {
        private readonly LinkedList<TrafficEntry> entries = new();
        private long lastNumber;
        private int size;

        /// <summary>Rises with every change.</summary>
        public long Version { get; private set; }

        /// <summary>The oldest first.</summary>
        public IReadOnlyList<TrafficEntry> Entries
        {
            get
            {
                lock (entries) return entries.ToList();
            }
        }

        /// <summary>What earlier domains of this process have kept. Main thread.</summary>
        public static TrafficLog Load(ISessionStore store)
        {
            var log = new TrafficLog();
            foreach (TrafficEntry entry in new SessionData(store).Traffic) log.Put(entry);
            return log;
        }

        /// <summary>Keeps it for the next domain. Main thread.</summary>
        public void Save(ISessionStore store) => new SessionData(store).Traffic = Entries;

        /// <summary>Forgets all.</summary>
        public void Clear()
        {
            lock (entries)
            {
                entries.Clear();
                size = 0;
                Version++;
            }
        }

        internal void Add(TrafficEntry entry)
        {
            lock (entries) Put(entry with { Number = lastNumber + 1, Request = Cut(entry.Request), Answer = Cut(entry.Answer) });
        }

        /// <summary>A text that is short enough to be shown, and says if it is not all.</summary>
        internal static string Cut(string text)
        {
            if (text.Length <= Limits.TrafficText) return text;
            string more = $" … ({text.Length} characters)";
            int keep = Limits.TrafficText - more.Length;
            if (char.IsHighSurrogate(text[keep - 1])) keep--;
            return text.Substring(0, keep) + more;
        }

        private void Put(TrafficEntry entry)
        {
            lastNumber = entry.Number;
            entries.AddLast(entry);
            size += entry.Size;
            while (entries.Count > Limits.TrafficEntries || size > Limits.TrafficTotal)
            {
                size -= entries.First.Value.Size;
                entries.RemoveFirst();
            }
            Version++;
        }
    }
}
