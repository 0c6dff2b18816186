#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Compares names of properties as people write them: <c>mass</c> is <c>m_Mass</c>.</summary>
    internal static class NearNames
    {
        private const int Most = 5;

        /// <summary>The only one of the names that is the wanted one but for case, underscores and m_; null if none or several are.</summary>
        public static string? Same(string wanted, IEnumerable<string> names)
        {
            string plain = Plain(wanted);
            List<string> same = names.Where(n => Plain(n) == plain).Distinct().Take(2).ToList();
            return same.Count == 1 ? same[0] : null;
        }

        /// <summary>The names that may be meant, nearest first.</summary>
        public static IReadOnlyList<string> Of(string wanted, IEnumerable<string> names)
        {
            string plain = Plain(wanted);
            int far = Math.Max(1, plain.Length / 3);
            return names.Distinct().Select(n => (Name: n, Far: Contains(Plain(n), plain) ? 0 : Distance(Plain(n), plain)))
                .Where(n => n.Far <= far).OrderBy(n => n.Far).Take(Most).Select(n => n.Name).ToList();
        }

        private static bool Contains(string name, string wanted) =>
            wanted.Length > 2 && (name.Contains(wanted) || (wanted.Contains(name) && 3 * name.Length >= 2 * wanted.Length));

        private static string Plain(string name)
        {
            string bare = name.StartsWith("m_", StringComparison.Ordinal) ? name.Substring(2) : name;
            return bare.Replace("_", "").ToLowerInvariant();
        }

        // How many letters have to be put in, left out or replaced.
        private static int Distance(string one, string other)
        {
            int[] row = Enumerable.Range(0, other.Length + 1).ToArray();
            for (int i = 1; i <= one.Length; i++)
            {
                int corner = row[0];
                row[0] = i;
                for (int j = 1; j <= other.Length; j++)
                {
                    int replaced = corner + (one[i - 1] == other[j - 1] ? 0 : 1);
                    corner = row[j];
                    row[j] = Math.Min(replaced, Math.Min(row[j], row[j - 1]) + 1);
                }
            }
            return row[other.Length];
        }
    }
}
