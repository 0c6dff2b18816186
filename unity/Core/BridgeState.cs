#nullable enable
using System;
using System.Threading;

namespace Holdfast
{
    /// <summary>What the editor is doing, as gateways are told. Written on the main thread, read on any.</summary>
    internal sealed class BridgeState
    {
        private volatile string word = "ready";
        private volatile string? leaving;
        private volatile EditorSnapshot snapshot = new();
        private long since;

        public BridgeState(DateTime now) => since = now.Ticks;

        /// <summary>ready, compiling, playing, reloading, stopping.</summary>
        public string Word => leaving ?? word;

        /// <summary>Since when it is so, in UTC.</summary>
        public DateTime Since => new(Interlocked.Read(ref since), DateTimeKind.Utc);

        /// <summary>The rest of what is known.</summary>
        public EditorSnapshot Snapshot => snapshot;

        /// <summary>Takes in what was read in this frame.</summary>
        /// <returns>True if the word is another one now.</returns>
        public bool Update(EditorSnapshot now, DateTime at)
        {
            snapshot = now;
            string next = now.IsCompiling ? "compiling" : now.IsPlaying ? "playing" : "ready";
            if (next == word) return false;
            Interlocked.Exchange(ref since, at.Ticks);
            word = next;
            return leaving == null;
        }

        /// <summary>It goes; nothing changes that.</summary>
        public void Leave(string why, DateTime at)
        {
            Interlocked.Exchange(ref since, at.Ticks);
            leaving = why;
        }
    }
}
