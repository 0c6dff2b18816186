#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>The secrets of this editor process, and the number of the current domain.</summary>
    internal sealed record SessionSecrets(string Nonce, string Token, int Generation);

    /// <summary>A push listener that a client has named.</summary>
    internal sealed record PushEndpoint(string Endpoint, string? Token, long Sequence);

    /// <summary>A client that the session remembers.</summary>
    /// <param name="Name">The name that the client gave.</param>
    /// <param name="LastSeen">When the client last gave its name, in UTC, as text.</param>
    internal sealed record KnownClient(string Name, string LastSeen);

    /// <summary>
    /// Data that outlives a domain reload, stored in <see cref="ISessionStore"/>. Data that cannot be read is treated as missing,
    /// so that a reload does not fail. Main thread.
    /// </summary>
    internal sealed class SessionData
    {
        private const string Prefix = "Holdfast.";
        private readonly ISessionStore store;

        public SessionData(ISessionStore store) => this.store = store;

        /// <summary>Nonce and token of this process, created on first use.</summary>
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

        /// <summary>Increments and returns the number of domains of this process, from 1. Call once per domain.</summary>
        public int NextGeneration() => SetNumber("Generation", Number("Generation") + 1);

        /// <summary>The port on which the last bridge listened; 0 if there was none, or if the user stopped it.</summary>
        public int Port
        {
            get => Number("Port");
            set => SetNumber("Port", value);
        }

        /// <summary>Number of the latest connection. The next domain continues to count from it.</summary>
        public int LastConnection
        {
            get => Number("LastConnection");
            set => SetNumber("LastConnection", value);
        }

        /// <summary>The journal as text, for the next domain; null if there is none.</summary>
        public string? Journal
        {
            get => store.Get(Prefix + "Journal");
            set => store.Set(Prefix + "Journal", value);
        }

        /// <summary>The push listeners that the next domain reconnects to. Its value is parsed by the thread that needs it.</summary>
        public Lazy<List<PushEndpoint>> ReadPushEndpoints() =>
            Later("PushEndpoints", e => new PushEndpoint((string)e[0]!, (string?)e[1], (long)e[2]!));

        /// <summary>The push listeners that the next domain reconnects to.</summary>
        public IReadOnlyList<PushEndpoint> PushEndpoints
        {
            set => Save("PushEndpoints", new JArray(value.Select(e => new JArray(e.Endpoint, e.Token!, e.Sequence))));
        }

        /// <summary>The clients that have given a name, the latest one last. Its value is parsed by the thread that needs it.</summary>
        public Lazy<List<KnownClient>> ReadClients() =>
            Later("Clients", c => new KnownClient((string)c[0]!, (string)c[1]!));

        /// <summary>The clients that have given a name, the latest one last.</summary>
        public IReadOnlyList<KnownClient> Clients
        {
            set => Save("Clients", new JArray(value.Select(c => new JArray(c.Name, c.LastSeen))));
        }

        /// <summary>The log of requests, as <see cref="WriteTraffic"/> wrote it; null if there is none.</summary>
        public string? Traffic
        {
            get => store.Get(Prefix + "Traffic");
            set => store.Set(Prefix + "Traffic", value);
        }

        /// <summary>
        /// The AI editors as the window read them last: the path that the user had set for the program, the program that was
        /// found, where, and its list. Null if there is none.
        /// </summary>
        public IReadOnlyList<string>? Setup
        {
            get => List(store.Get(Prefix + "Setup"), t => (string)t!) is { Count: 4 } kept ? kept : null;
            set => Save("Setup", new JArray(value!));
        }

        /// <summary>Writes a log of requests as text. Any thread.</summary>
        public static string WriteTraffic(IEnumerable<TrafficEntry> entries) => Json.Write(new JArray(entries.Select(e => e.Write())));

        /// <summary>Reads what <see cref="WriteTraffic"/> wrote. Any thread.</summary>
        public static IReadOnlyList<TrafficEntry> ReadTraffic(string? text) => List(text, TrafficEntry.Read);

        private int Number(string key) =>
            int.TryParse(store.Get(Prefix + key), NumberStyles.None, CultureInfo.InvariantCulture, out int value) ? value : 0;

        private int SetNumber(string key, int value)
        {
            store.Set(Prefix + key, value.ToString(CultureInfo.InvariantCulture));
            return value;
        }

        private Lazy<List<T>> Later<T>(string key, Func<JToken, T> read)
        {
            string? text = store.Get(Prefix + key);
            return new Lazy<List<T>>(() => List(text, read));
        }

        private static List<T> List<T>(string? text, Func<JToken, T> read)
        {
            if (string.IsNullOrEmpty(text)) return new List<T>();
            try
            {
                return ((JArray)Json.Parse(text!)).Select(read).ToList();
            }
            catch (Exception e) when (e is JsonException or InvalidCastException or ArgumentException or FormatException)
            {
                return new List<T>();
            }
        }

        private void Save(string key, JArray list) => store.Set(Prefix + key, Json.Write(list));
    }
}
