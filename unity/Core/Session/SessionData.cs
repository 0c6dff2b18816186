#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>What one process of the editor is known by.</summary>
    internal sealed record SessionSecrets(string Nonce, string Token, int Generation);

    /// <summary>A push listener that a client has named.</summary>
    internal sealed record PushEndpoint(string Endpoint, string? Token, long Sequence);

    /// <summary>A client as the session remembers it.</summary>
    /// <param name="Name">As it gave it.</param>
    /// <param name="LastSeen">When it last greeted, in UTC, as text.</param>
    public sealed record KnownClient(string Name, string LastSeen);

    /// <summary>
    /// What outlives a reload, over <see cref="ISessionStore"/>. Main thread. What cannot be read is as if it were not
    /// there: a reload must not fail for it.
    /// </summary>
    internal sealed class SessionData
    {
        private const string Prefix = "Holdfast.";
        private readonly ISessionStore store;

        public SessionData(ISessionStore store) => this.store = store;

        /// <summary>Nonce and token of this process, made on first use.</summary>
        public SessionSecrets Secrets(int generation)
        {
            string? nonce = store.Get(Prefix + "Nonce"), token = store.Get(Prefix + "Token");
            if (string.IsNullOrEmpty(nonce) || string.IsNullOrEmpty(token))
            {
                store.Set(Prefix + "Nonce", nonce = Hex.Random(16));
                store.Set(Prefix + "Token", token = Hex.Random(32));
            }
            return new SessionSecrets(nonce!, token!, generation);
        }

        /// <summary>Counts the domains of this process, from 1. Called once in each.</summary>
        public int NextGeneration() => SetNumber("Generation", Number("Generation") + 1);

        /// <summary>The port that was listened on; 0 before the first time.</summary>
        public int Port
        {
            get => Number("Port");
            set => SetNumber("Port", value);
        }

        /// <summary>Number of the last connection.</summary>
        public int LastConnection
        {
            get => Number("LastConnection");
            set => SetNumber("LastConnection", value);
        }

        /// <summary>The journal as text.</summary>
        public string? Journal
        {
            get => store.Get(Prefix + "Journal");
            set => store.Set(Prefix + "Journal", value);
        }

        /// <summary>The push listeners.</summary>
        public IReadOnlyList<PushEndpoint> PushEndpoints
        {
            get => List("PushEndpoints", e => new PushEndpoint((string)e[0]!, (string?)e[1], (long)e[2]!));
            set => Save("PushEndpoints", new JArray(value.Select(e => new JArray(e.Endpoint, e.Token!, e.Sequence))));
        }

        /// <summary>The clients that have given a name, the latest last.</summary>
        public IReadOnlyList<KnownClient> Clients
        {
            get => List("Clients", c => new KnownClient((string)c[0]!, (string)c[1]!));
            set => Save("Clients", new JArray(value.Select(c => new JArray(c.Name, c.LastSeen))));
        }

        /// <summary>The log of the communication.</summary>
        public IReadOnlyList<TrafficEntry> Traffic
        {
            get => List("Traffic", TrafficEntry.Read);
            set => Save("Traffic", new JArray(value.Select(e => e.Write())));
        }

        private int Number(string key) =>
            int.TryParse(store.Get(Prefix + key), NumberStyles.None, CultureInfo.InvariantCulture, out int value) ? value : 0;

        private int SetNumber(string key, int value)
        {
            store.Set(Prefix + key, value.ToString(CultureInfo.InvariantCulture));
            return value;
        }

        private IReadOnlyList<T> List<T>(string key, Func<JToken, T> read)
        {
            if (store.Get(Prefix + key) is not { Length: > 0 } text) return Array.Empty<T>();
            try
            {
                return ((JArray)Json.Parse(text)).Select(read).ToList();
            }
            catch (Exception e) when (e is JsonException or InvalidCastException or ArgumentException or FormatException)
            {
                return Array.Empty<T>();
            }
        }

        private void Save(string key, JArray list) => store.Set(Prefix + key, Json.Write(list));
    }
}
