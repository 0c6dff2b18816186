using System;
using System.Collections.Generic;
using System.Threading;

namespace EditorHost
{
    /// <summary>The part of the simulated editor that outlives every domain.</summary>
    public sealed class NativeSide : MarshalByRefObject, INative
    {
        private readonly object gate = new();
        private readonly Dictionary<string, string> texts = new();
        private readonly Dictionary<string, bool> flags = new();
        private readonly Dictionary<string, string> session = new();
        private readonly Queue<string> requests = new();
        private readonly AutoResetEvent signal = new(false);
        private readonly Action<string> tell;
        private readonly bool verbose;
        private int wakes;

        public NativeSide(Action<string> tell, bool verbose)
        {
            this.tell = tell;
            this.verbose = verbose;
        }

        // The overridden method is obsolete on .NET, where it is not called.
#pragma warning disable CS0672
        public override object InitializeLifetimeService() => null;
#pragma warning restore CS0672

        public string Text(string name)
        {
            lock (gate) return texts.TryGetValue(name, out string value) ? value : "";
        }

        public bool Flag(string name)
        {
            lock (gate) return flags.TryGetValue(name, out bool value) && value;
        }

        public string GetSession(string key)
        {
            lock (gate) return session.TryGetValue(key, out string value) ? value : null;
        }

        public void SetSession(string key, string value)
        {
            lock (gate)
            {
                if (value == null) session.Remove(key);
                else session[key] = value;
            }
        }

        public void Request(string what)
        {
            lock (gate) requests.Enqueue(what);
            signal.Set();
        }

        public void SignalTick()
        {
            Interlocked.Increment(ref wakes);
            signal.Set();
        }

        /// <summary>Number of times that the package has requested a frame.</summary>
        public int Wakes => Volatile.Read(ref wakes);

        /// <summary>Wakes the main loop for the host's own work. Any thread.</summary>
        public void Nudge() => signal.Set();

        public void Log(string kind, string message)
        {
            lock (gate)
            {
                string before = session.TryGetValue("console", out string lines) ? lines : "";
                // The simulated console has a maximum size; more messages are dropped.
                if (before.Length < 100_000) session["console"] = before + kind[0] + " " + Uri.EscapeDataString(message) + "\n";
            }
            if (!verbose && kind is "log" or "warning") return;
            Tell(Lines.Of("console", ("kind", kind), ("message", message)));
        }

        public void Tell(string json) => tell(json);

        public void Set(string name, string value)
        {
            lock (gate) texts[name] = value;
        }

        public void Set(string name, bool value)
        {
            lock (gate) flags[name] = value;
        }

        public string NextRequest()
        {
            lock (gate) return requests.Count == 0 ? null : requests.Dequeue();
        }

        /// <summary>Waits until the next frame is due, or until the host or the package signals.</summary>
        /// <returns>True if the frame is due and there was no signal.</returns>
        public bool WaitFrame(int milliseconds) => !signal.WaitOne(milliseconds);
    }
}
