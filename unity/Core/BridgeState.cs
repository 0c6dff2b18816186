#nullable enable
using System;
using System.Threading;

namespace Holdfast
{
    /// <summary>The editor's state as gateways see it. Written on the main thread, read on any thread.</summary>
    internal sealed class BridgeState
    {
        private volatile string word = "ready";
        private volatile string? leaving;
        private volatile EditorSnapshot snapshot = new();
        private long since;

        public BridgeState(DateTime now) => since = now.Ticks;

        /// <summary>The state as it is written on the wire: ready, compiling, playing, reloading or stopping.</summary>
        public string Word => leaving ?? word;

        /// <summary>When the state began, in UTC.</summary>
        public DateTime Since => new(Interlocked.Read(ref since), DateTimeKind.Utc);

        /// <summary>The editor's properties as they were last read.</summary>
        public EditorSnapshot Snapshot => snapshot;

        /// <summary>Stores the properties that were read in this frame, and sets the state accordingly.</summary>
        /// <returns>True if <see cref="Word"/> changed.</returns>
        public bool Update(EditorSnapshot now, DateTime at)
        {
            snapshot = now;
            string next = now.IsCompiling ? "compiling" : now.IsPlaying ? "playing" : "ready";
            if (next == word) return false;
            Interlocked.Exchange(ref since, at.Ticks);
            word = next;
            return leaving == null;
        }

        /// <summary>
        /// Sets the last state, reloading or stopping. Later calls of <see cref="Update"/> do not change <see cref="Word"/>.
        /// </summary>
        public void Leave(string why, DateTime at)
        {
            Interlocked.Exchange(ref since, at.Ticks);
            leaving = why;
        }
    }
}
