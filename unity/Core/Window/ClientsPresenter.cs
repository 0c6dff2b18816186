#nullable enable
using System;
using System.Linq;

namespace Holdfast
{
    /// <summary>A connected client as the window shows it.</summary>
    /// <param name="Connection">Number of the client's connection.</param>
    /// <param name="Name">The name that the client gave, or "(no name yet)".</param>
    /// <param name="Kind">"proven" for a gateway that has proven itself, otherwise "stock".</param>
    /// <param name="Since">When the client connected, as local time of day.</param>
    /// <param name="Calls">Number of calls over this connection.</param>
    internal sealed record ClientRow(int Connection, string Name, string Kind, string Since, int Calls);

    /// <summary>State of the section with the connected clients.</summary>
    /// <param name="Rows">The clients, oldest connection first.</param>
    /// <param name="Nobody">The text to show if there are no clients.</param>
    internal sealed record ClientsState(Rows<ClientRow> Rows, string Nobody);

    /// <summary>Shows the connected clients.</summary>
    internal sealed class ClientsPresenter : Section<ClientsState>
    {
        private readonly IBridgeHost host;

        /// <summary>Creates the presenter for this host.</summary>
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
