#nullable enable
using System.Collections.Generic;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Stores the names of clients and their push listeners for as long as the editor runs.</summary>
    internal sealed class HoldfastSession : ScriptableSingleton<HoldfastSession>
    {
        [SerializeField]
        private List<string> keys = new();

        [SerializeField]
        private List<string> values = new();

        public static bool Keeps(string key) => key is "Holdfast.Clients" or "Holdfast.PushEndpoints";

        public string? Get(string key)
        {
            int at = keys.IndexOf(key);
            return at < 0 ? null : values[at];
        }

        public void Set(string key, string? value)
        {
            int at = keys.IndexOf(key);
            if (at >= 0)
            {
                keys.RemoveAt(at);
                values.RemoveAt(at);
            }
            if (value == null) return;
            keys.Add(key);
            values.Add(value);
        }
    }
}
