#nullable enable
namespace Holdfast
{
    /// <summary>What the window says of the server.</summary>
    /// <param name="Word">stopped, starting, or a state of the bridge: ready, compiling, playing, reloading, stopping.</param>
    /// <param name="Sentence">What that means for a call.</param>
    /// <param name="Address">Where it listens; empty if it does not.</param>
    /// <param name="Since">Time of day at which the state began; empty while stopped or if not known.</param>
    /// <param name="IsRunning">It is not stopped.</param>
    public sealed record ServerState(string Word, string Sentence, string Address, string Since, bool IsRunning);

    /// <summary>State of the server, start and stop.</summary>
    public sealed class ServerPresenter : Section<ServerState>
    {
        private readonly IBridgeHost host;

        /// <summary>Creates the presenter for this host.</summary>
        public ServerPresenter(IBridgeHost host, IView<ServerState> view) : base(view) => this.host = host;

        /// <summary>Starts it if it is stopped, else stops it.</summary>
        public void Toggle()
        {
            if (host.Running == null) host.Start();
            else host.Stop();
            Refresh();
        }

        /// <inheritdoc/>
        protected override ServerState Look()
        {
            if (host.Running?.Status is not { } status)
            {
                return new ServerState("stopped", "No AI editor can reach this Unity Editor.", "", "", false);
            }
            string word = status.Port == 0 && status.State is not ("reloading" or "stopping") ? "starting" : status.State;
            string address = status.Port == 0 ? "" : "127.0.0.1:" + status.Port;
            return new ServerState(word, Explain(word, status), address, LocalTime.Of(status.Since), true);
        }

        private static string Explain(string word, BridgeStatus status)
        {
            if (status.Running > 0) return $"{status.Running} running, {status.Queued} waiting.";
            return word switch
            {
                "starting" => "It waits for its port.",
                "ready" => "Calls run at once.",
                "compiling" => "Scripts are being compiled; a call may wait for the reload.",
                "playing" => "In play mode; tools that cannot run there say so.",
                "reloading" => "The scripts are being reloaded; calls wait in the gateway.",
                _ => "It goes down."
            };
        }
    }
}
