#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>The clients that have given a name in this session, the latest one last. Any thread.</summary>
    internal sealed class KnownClients
    {
        private readonly Lazy<List<KnownClient>> clients;

        public KnownClients(Lazy<List<KnownClient>> clients) => this.clients = clients;

        /// <summary>Notes that a client gave its name. Only the latest <see cref="Limits.SessionClients"/> names are kept.</summary>
        public void Seen(string name, string time)
        {
            lock (clients)
            {
                clients.Value.RemoveAll(c => c.Name == name);
                clients.Value.Add(new KnownClient(name, time));
                if (clients.Value.Count > Limits.SessionClients) clients.Value.RemoveAt(0);
            }
        }

        /// <summary>Saves them for the next domain.</summary>
        public void Save(SessionData session)
        {
            lock (clients) session.Clients = clients.Value;
        }
    }
}
