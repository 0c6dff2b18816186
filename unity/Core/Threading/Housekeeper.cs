#nullable enable
using System;
using System.Threading;

namespace Holdfast
{
    /// <summary>
    /// A thread that wakes an editor without focus, or shows a minimised editor again, while work waits for its main thread or a
    /// call runs. The thread also checks the time limits of calls. It sleeps while no work waits and no call runs.
    /// </summary>
    internal sealed class Housekeeper
    {
        private readonly AutoResetEvent nudge = new(false);
        private readonly MainThreadQueue mainThread;
        private readonly CallCenter calls;
        private readonly IEditorPulse pulse;
        private readonly IClock clock;
        private volatile bool stopped;

        public Housekeeper(MainThreadQueue mainThread, CallCenter calls, IEditorPulse pulse, IClock clock)
        {
            this.mainThread = mainThread;
            this.calls = calls;
            this.pulse = pulse;
            this.clock = clock;
        }

        /// <summary>Wakes this thread, since there is new work. Any thread.</summary>
        public void Nudge()
        {
            if (!stopped) nudge.Set();
        }

        /// <summary>Asks the thread to end.</summary>
        public void Stop()
        {
            stopped = true;
            nudge.Set();
        }

        /// <summary>Wakes the editor and checks time limits until <see cref="Stop"/>. This is the body of the thread.</summary>
        public void Run()
        {
            long awakeUntil = 0;
            bool restored = false;
            while (!stopped)
            {
                // A call that runs may wait for something that Unity does only in its frames, such as a compilation or a test.
                // It puts nothing into the queue meanwhile.
                bool waiting = mainThread.HasWork, busy = calls.IsBusy;
                if (waiting || busy) awakeUntil = clock.Now + Limits.WakeTail;
                bool awake = clock.Now < awakeUntil;
                if (awake && pulse.IsAvailable) pulse.Signal();
                // The window is shown again only once until frames run again: a user who then minimises the editor wants it
                // minimised.
                bool missed = awake && mainThread.FrameAge.TotalMilliseconds > Limits.FrameMissed;
                if (missed && !restored) pulse.Restore();
                restored = missed;
                calls.CheckDeadlines();
                int pause = !awake ? Timeout.Infinite : busy && !waiting ? Limits.WakeWhileBusy : Limits.WakeEvery;
                nudge.WaitOne(pause);
            }
        }
    }
}
