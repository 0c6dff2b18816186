#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

namespace Holdfast
{
    /// <summary>The log of requests as the window shows it.</summary>
    /// <param name="Filter">The text that the user searches for.</param>
    /// <param name="Rows">The entries that match, newest first.</param>
    /// <param name="Total">Number of all entries.</param>
    internal sealed record TrafficState(string Filter, Rows<TrafficEntry> Rows, int Total);

    /// <summary>Shows the log of requests.</summary>
    internal sealed class TrafficPresenter : Section<TrafficState>
    {
        private readonly IBridgeHost host;
        private readonly IClipboard clipboard;
        private string filter = "";
        private (TrafficLog Log, long Version, string Filter) seen;
        private TrafficState state = new("", new Rows<TrafficEntry>(Array.Empty<TrafficEntry>()), 0);

        /// <summary>Creates the presenter for this host.</summary>
        public TrafficPresenter(IBridgeHost host, IClipboard clipboard, IView<TrafficState> view) : base(view)
        {
            this.host = host;
            this.clipboard = clipboard;
        }

        /// <summary>Returns an entry as one line.</summary>
        public static string Headline(TrafficEntry entry) => string.Format(
            CultureInfo.InvariantCulture, "{0}  {1}  {2}  {3} ms{4}", LocalTime.Of(entry.At), entry.What, entry.Ended, entry.Milliseconds,
            entry.Client.Length > 0 ? "  " + entry.Client : "");

        /// <summary>Shows only entries that contain this text in the tool, client, result type, request or answer.</summary>
        public void Filter(string text)
        {
            filter = text.Trim();
            Refresh();
        }

        /// <summary>Removes all entries.</summary>
        public void Clear()
        {
            host.Traffic.Clear();
            Refresh();
        }

        /// <summary>Copies one entry to the clipboard.</summary>
        public void Copy(long number)
        {
            TrafficEntry? entry = host.Traffic.Entries.FirstOrDefault(e => e.Number == number);
            if (entry != null) clipboard.Copy(Text(entry));
        }

        /// <summary>Copies the entries that match to the clipboard.</summary>
        public void CopyShown() => clipboard.Copy(string.Join("\n", Fitting(host.Traffic.Entries).Select(Text)));

        /// <inheritdoc/>
        protected override TrafficState Look()
        {
            TrafficLog log = host.Traffic;
            var now = (log, log.Version, filter);
            if (now.Equals(seen)) return state;
            seen = now;
            IReadOnlyList<TrafficEntry> all = log.Entries;
            return state = new TrafficState(filter, new Rows<TrafficEntry>(Fitting(all)), all.Count);
        }

        private static string Text(TrafficEntry entry) => $"{Headline(entry)}\n{entry.Request}\n{entry.Answer}\n";

        private IEnumerable<TrafficEntry> Fitting(IEnumerable<TrafficEntry> all) => all.Reverse().Where(e =>
            Has(e.What) || Has(e.Client) || Has(e.Ended) || Has(e.Request) || Has(e.Answer));

        private bool Has(string text) => text.IndexOf(filter, StringComparison.OrdinalIgnoreCase) >= 0;
    }
}
