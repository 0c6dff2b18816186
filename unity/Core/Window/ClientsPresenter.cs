#nullable enable
using System;
using System.Linq;

namespace Holdfast
{
    /// <summary>A connected client, as it is shown.</summary>
    /// <param name="Connection">Its connection's number.</param>
    /// <param name="Name">The name it gave.</param>
    /// <param name="Kind">proven or stock.</param>
    /// <param name="Since">Since when, as a time of day.</param>
    /// <param name="Calls">Calls it has made since.</param>
    public sealed record ClientRow(int Connection, string Name, string Kind, string Since, int Calls);

    /// <summary>The connected clients.</summary>
    /// <param name="Rows">The oldest connection first.</param>
    /// <param name="Nobody">What to say if there are none.</param>
    public sealed record ClientsState(Rows<ClientRow> Rows, string Nobody);

    /// <summary>Who is connected.</summary>
    public sealed class ClientsPresenter : Section<ClientsState>
    {
        private readonly IBridgeHost host;

        /// <summary>One over this host.</summary>
        public ClientsPresenter(IBridgeHost host, IView<ClientsState> view) : base(view) => this.host = host;

        private static ClientRow Row(ClientInfo client) => new(
            client.Connection, client.Name.Length > 0 ? client.Name : "(no name yet)", client.IsProven ? "proven" : "stock",
            LocalTime.Of(client.Since), client.Calls);

        /// <inheritdoc/>
        protected override ClientsState Look()
        {
            var clients = host.Running?.Status.Clients ?? Array.Empty<ClientInfo>();
            return new ClientsState(
                new Rows<ClientRow>(clients.Select(Row)),
                host.Running == null
                    ? "The server is stopped."
                    : "Nobody is connected. Set an AI editor up below, then start it; it connects by itself.");
        }
    }
}
