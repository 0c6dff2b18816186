#nullable enable
namespace Holdfast
{
    /// <summary>What the window shows about the server in this editor.</summary>
    /// <param name="Word">stopped, starting, or a state of the bridge: ready, compiling, playing, reloading, stopping.</param>
    /// <param name="Sentence">What the state means for a call.</param>
    /// <param name="Address">Address and port on which the server listens; empty if it does not listen.</param>
    /// <param name="Since">Local time of day at which the state began; empty while the server is stopped.</param>
    /// <param name="IsRunning">Whether the server is not stopped.</param>
    /// <param name="Start">For how long the start used the main thread; empty while the server is stopped.</param>
    /// <param name="Broken">The parts of the package that cannot be used, one a line; empty if all can.</param>
    internal sealed record ServerState(
        string Word, string Sentence, string Address, string Since, bool IsRunning, string Start = "", string Broken = "");

    /// <summary>Shows the state of the server, and starts and stops it.</summary>
    internal sealed class ServerPresenter : Section<ServerState>
    {
        private readonly IBridgeHost host;

        /// <summary>Creates the presenter for this host.</summary>
        public ServerPresenter(IBridgeHost host, IView<ServerState> view) : base(view) => this.host = host;

        /// <summary>Starts the server if it is stopped, otherwise stops it.</summary>
        public void Toggle()
        {
            if (host.Running == null) host.Start();
            else host.Stop();
            Refresh();
        }

        /// <inheritdoc/>
        protected override ServerState Look()
        {
            if (host.Running is not { Status: { } status } running)
            {
                return new ServerState("stopped", "No AI editor can reach this Unity Editor.", "", "", false);
            }
            string word = status.Port == 0 && status.State is not ("reloading" or "stopping") ? "starting" : status.State;
            string address = status.Port == 0 ? "" : "127.0.0.1:" + status.Port;
            return new ServerState(word, Explain(word, status), address, LocalTime.Of(status.Since), true,
                $"Start took {running.StartMilliseconds} ms on the main thread.", string.Join("\n", running.BrokenParts));
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
