#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Converts console entries from the form in which Unity stores them.</summary>
    internal static class ConsoleText
    {
        // Bits of LogEntry.mode: error, assert, fatal, asset import error, scripting error, script compile error, scripting
        // exception, graph compile error, scripting assertion, visual scripting error.
        private const int Errors = 1 << 0 | 1 << 1 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 11 | 1 << 17 | 1 << 20 | 1 << 21 | 1 << 22;

        // Asset import warning, scripting warning, script compile warning.
        private const int Warnings = 1 << 7 | 1 << 9 | 1 << 12;

        /// <summary>Returns the kind of an entry from the flags of <c>LogEntry.mode</c>.</summary>
        public static ConsoleEntryType TypeOf(int mode) => (mode & Errors) != 0 ? ConsoleEntryType.Error
            : (mode & Warnings) != 0 ? ConsoleEntryType.Warning : ConsoleEntryType.Log;

        /// <summary>Makes an entry. Unity stores the message and the stack trace in one text, which this method splits.</summary>
        /// <param name="mode">The flags of <c>LogEntry.mode</c>.</param>
        /// <param name="text">The message, followed by the stack trace.</param>
        /// <param name="stackStart">Index at which the stack trace begins. If this is 0 or beyond the text, the stack trace is
        /// searched for.</param>
        /// <param name="file">The file that the entry refers to.</param>
        /// <param name="line">The line in the file.</param>
        public static ConsoleEntry Entry(int mode, string? text, int stackStart, string? file, int line)
        {
            text ??= "";
            int at = stackStart > 0 && stackStart <= text.Length ? stackStart : FindStack(text);
            return new ConsoleEntry(TypeOf(mode), text.Substring(0, at).TrimEnd('\n', '\r'), text.Substring(at).Trim('\n', '\r'),
                file ?? "", line);
        }

        // Finds the first line that looks like a stack frame. The first line of the text is never one: it belongs to the message.
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
    /// Keeps the latest messages that were logged since it was created, for editors whose console cannot be read. Messages of the
    /// compiler are missing. Any thread.
    /// </summary>
    internal sealed class ConsoleRing
    {
        private readonly Queue<ConsoleEntry> entries = new();

        /// <summary>All messages, oldest first.</summary>
        public IReadOnlyList<ConsoleEntry> Entries
        {
            get
            {
                lock (entries) return entries.ToArray();
            }
        }

        /// <summary>Adds a message. Beyond <see cref="Limits.ConsoleRing"/> the oldest is dropped.</summary>
        public void Add(ConsoleEntry entry)
        {
            lock (entries)
            {
                entries.Enqueue(entry);
                if (entries.Count > Limits.ConsoleRing) entries.Dequeue();
            }
        }

        /// <summary>Removes all messages.</summary>
        public void Clear()
        {
            lock (entries) entries.Clear();
        }
    }
}
