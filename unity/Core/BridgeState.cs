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

        /// <summary>The state: ready, compiling, playing, reloading or stopping.</summary>
        public string Word => leaving ?? word;

        /// <summary>When the state began, in UTC.</summary>
        public DateTime Since => new(Interlocked.Read(ref since), DateTimeKind.Utc);

        /// <summary>What was read of the editor last.</summary>
        public EditorSnapshot Snapshot => snapshot;

        /// <summary>Updates the state from what was read in this frame.</summary>
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

        /// <summary>Sets the last state, reloading or stopping. <see cref="Update"/> does not change it any more.</summary>
        public void Leave(string why, DateTime at)
        {
            Interlocked.Exchange(ref since, at.Ticks);
            leaving = why;
        }
    }
}
