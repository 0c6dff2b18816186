#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Unity's own way of storing console entries -> entries.</summary>
    public static class ConsoleText
    {
        // Bits of LogEntry.mode: error, assert, fatal, asset import error, scripting error, script compile error, scripting
        // exception, graph compile error, scripting assertion.
        private const int Errors = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 11 | 1 << 17 | 1 << 20 | 1 << 21;

        // Asset import warning, scripting warning, script compile warning.
        private const int Warnings = 1 << 7 | 1 << 9 | 1 << 12;

        /// <summary>The kind of an entry by its mode.</summary>
        public static ConsoleEntryType TypeOf(int mode) => (mode & Errors) != 0 ? ConsoleEntryType.Error
            : (mode & Warnings) != 0 ? ConsoleEntryType.Warning : ConsoleEntryType.Log;

        /// <summary>An entry of its parts: Unity keeps message and stack trace in one text.</summary>
        /// <param name="mode">Bits that say what it is.</param>
        /// <param name="text">Message, then stack trace.</param>
        /// <param name="stackStart">Where the stack trace begins; 0 or outside: it is not known.</param>
        /// <param name="file">The file that it points to.</param>
        /// <param name="line">The line there.</param>
        public static ConsoleEntry Entry(int mode, string? text, int stackStart, string? file, int line)
        {
            text ??= "";
            int at = stackStart > 0 && stackStart <= text.Length ? stackStart : FindStack(text);
            return new ConsoleEntry(TypeOf(mode), text.Substring(0, at).TrimEnd('\n', '\r'), text.Substring(at).Trim('\n', '\r'),
                file ?? "", line);
        }

        // A line that looks like a frame of a stack trace begins it.
        private static int FindStack(string text)
        {
            for (int at = 0; at < text.Length;)
            {
                int end = text.IndexOf('\n', at);
                if (end < 0) end = text.Length;
                string line = text.Substring(at, end - at);
                bool frame = line.StartsWith("  at ", StringComparison.Ordinal) ||
                    (line.IndexOf(" (at ", StringComparison.Ordinal) > 0 && line.EndsWith(")", StringComparison.Ordinal)) ||
                    line.StartsWith("UnityEngine.Debug:", StringComparison.Ordinal);
                if (frame && at > 0) return at;
                at = end + 1;
            }
            return text.Length;
        }
    }

    /// <summary>
    /// The latest messages, for editors whose console cannot be read: what came since it was made, without the compiler's.
    /// Any thread.
    /// </summary>
    public sealed class ConsoleRing
    {
        private readonly Queue<ConsoleEntry> entries = new();

        /// <summary>Everything, the oldest first.</summary>
        public IReadOnlyList<ConsoleEntry> Entries
        {
            get
            {
                lock (entries) return entries.ToArray();
            }
        }

        /// <summary>Adds one; the oldest goes when there are too many.</summary>
        public void Add(ConsoleEntry entry)
        {
            lock (entries)
            {
                entries.Enqueue(entry);
                if (entries.Count > Limits.ConsoleRing) entries.Dequeue();
            }
        }

        /// <summary>Forgets everything.</summary>
        public void Clear()
        {
            lock (entries) entries.Clear();
        }
    }
}
