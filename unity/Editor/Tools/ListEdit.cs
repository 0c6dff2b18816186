#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast.Editor
{
    /// <summary>What is to be done with a list: {"$remove": [3]}, {"$append": [1, 2]}, or both. The numbers are those of the items before.</summary>
    internal sealed class ListEdit
    {
        private ListEdit(IReadOnlyList<int> removed, IReadOnlyList<JToken> appended) => (Removed, Appended) = (removed, appended);

        /// <summary>Places of the items that are taken out, the last first.</summary>
        public IReadOnlyList<int> Removed { get; }

        /// <summary>The new items.</summary>
        public IReadOnlyList<JToken> Appended { get; }

        /// <summary>Reads it. Returns null if the value is none.</summary>
        /// <param name="value">The value that was given.</param>
        /// <param name="count">Number of items that the list has.</param>
        /// <param name="refusal">Makes the refusal of the value from what the list takes.</param>
        public static ListEdit? Of(JToken value, int count, Func<string, ToolParameterException> refusal)
        {
            if (value is not JObject given || given.Count == 0 || given.Properties().Any(p => p.Name is not ("$remove" or "$append"))) return null;
            List<JToken> places = Items(given["$remove"]), appended = Items(given["$append"]);
            if (places.Any(p => p.Type != JTokenType.Integer || (long)p < 0 || (long)p >= count))
            {
                throw refusal(count == 0 ? "has no item to remove" : $"has {count} items to remove, counted from 0");
            }
            if (appended.Count > Limits.PropertyValues) throw refusal($"gets at most {Limits.PropertyValues} items at once");
            return new ListEdit(places.Select(p => (int)p).Distinct().OrderByDescending(p => p).ToList(), appended);
        }

        private static List<JToken> Items(JToken? given) => given is JArray list ? list.ToList() : given == null ? new List<JToken>() : new List<JToken> { given };
    }
}
