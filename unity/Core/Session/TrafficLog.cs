#nullable enable
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>One request and its result, as the window shows it.</summary>
    /// <param name="At">When the request ended, in UTC, as text.</param>
    /// <param name="Client">The client's name.</param>
    /// <param name="What">The method or tool.</param>
    /// <param name="Ended">How the request ended: ok, tool_error, or the type of the error.</param>
    /// <param name="Milliseconds">How long the tool ran.</param>
    /// <param name="Request">
    /// The arguments as JSON, cut at <see cref="Limits.TrafficText"/>; only their size if they exceed
    /// <see cref="Limits.TrafficRequest"/>.
    /// </param>
    /// <param name="Answer">The result or the error as JSON, cut at <see cref="Limits.TrafficText"/>.</param>
    internal sealed record TrafficEntry(
        string At, string Client, string What, string Ended, long Milliseconds, string Request = "", string Answer = "")
    {
        /// <summary>Number of the entry in the log. It increases by one with every entry and is not reset by a reload.</summary>
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
    /// The latest requests, for the window. They may contain secrets, so they are kept only in the memory of the editor's
    /// process. Members may be called on any thread unless they say otherwise.
    /// </summary>
    internal sealed class TrafficLog
    {
        private readonly LinkedList<TrafficEntry> entries = new();
        private long lastNumber;
        private int size;
        private long version;
        // What an earlier domain saved, until it is parsed: by the first thread that needs it, normally not the main thread.
        private string? unread;

        /// <summary>A number that increases with every change of the log.</summary>
        public long Version
        {
            get
            {
                lock (entries)
                {
                    Parse();
                    return version;
                }
            }
        }

        /// <summary>The entries, oldest first.</summary>
        public IReadOnlyList<TrafficEntry> Entries
        {
            get
            {
                lock (entries)
                {
                    Parse();
                    return entries.ToList();
                }
            }
        }

        /// <summary>Loads the log that earlier domains of this process saved. Main thread.</summary>
        public static TrafficLog Load(ISessionStore store) => new() { unread = new SessionData(store).Traffic };

        /// <summary>Saves the log for the next domain. Main thread.</summary>
        public void Save(ISessionStore store)
        {
            lock (entries) new SessionData(store).Traffic = unread ?? SessionData.WriteTraffic(entries);
        }

        /// <summary>Removes all entries.</summary>
        public void Clear()
        {
            lock (entries)
            {
                Parse();
                entries.Clear();
                size = 0;
                version++;
            }
        }

        internal void Add(TrafficEntry entry)
        {
            lock (entries)
            {
                Parse();
                Put(entry with { Number = lastNumber + 1, Request = Cut(entry.Request), Answer = Cut(entry.Answer) });
            }
        }

        /// <summary>
        /// Cuts a text to <see cref="Limits.TrafficText"/> characters. A text that was cut says how long it was.
        /// </summary>
        internal static string Cut(string text)
        {
            if (text.Length <= Limits.TrafficText) return text;
            string more = $" … ({text.Length} characters)";
            int keep = Limits.TrafficText - more.Length;
            if (char.IsHighSurrogate(text[keep - 1])) keep--;
            return text.Substring(0, keep) + more;
        }

        private void Parse()
        {
            if (unread == null) return;
            string text = unread;
            unread = null;
            foreach (TrafficEntry entry in SessionData.ReadTraffic(text)) Put(entry);
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
            version++;
        }
    }
}
