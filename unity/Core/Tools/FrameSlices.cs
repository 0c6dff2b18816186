#nullable enable
using System.Diagnostics;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Divides long work on the main thread among frames, so that the editor stays usable and the call can be cancelled.</summary>
    internal sealed class FrameSlices
    {
        private readonly IToolContext context;
        private readonly Stopwatch frame = Stopwatch.StartNew();

        public FrameSlices(IToolContext context) => this.context = context;

        /// <summary>Waits for the next frame if this one's share is used up. Whatever was read before may be gone then.</summary>
        public async Task Next(int done, int total, string doing)
        {
            if (frame.ElapsedMilliseconds < Limits.SearchFrame) return;
            context.ReportProgress(done, total, doing);
            await context.MainThread.Frames(1, context.Cancellation);
            frame.Restart();
        }
    }
}
