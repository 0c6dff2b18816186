#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Compares names as people write them: <c>mass</c> is <c>m_Mass</c>, <c>search-query</c> is <c>SearchQuery</c>.</summary>
    internal static class NearNames
    {
        private const int Most = 5;

        /// <summary>The only one of the names that is the wanted one but for case, m_, underscores, hyphens and blanks; null if none or several are.</summary>
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
            return names.Distinct().Select(n => (Name: n, Far: Contains(Plain(n), plain) ? 0 : Steps(Plain(n), plain)))
                .Where(n => n.Far <= far).OrderBy(n => n.Far).Take(Most).Select(n => n.Name).ToList();
        }

        private static bool Contains(string name, string wanted) =>
            wanted.Length > 2 && (name.Contains(wanted) || (wanted.Contains(name) && 3 * name.Length >= 2 * wanted.Length));

        private static string Plain(string name)
        {
            string bare = name.StartsWith("m_", StringComparison.Ordinal) ? name.Substring(2) : name;
            return bare.Replace("_", "").Replace("-", "").Replace(" ", "").ToLowerInvariant();
        }

        // How many letters have to be changed, put in, left out, or exchanged with the next one.
        private static int Steps(string a, string b)
        {
            var steps = new int[a.Length + 1, b.Length + 1];
            for (int i = 0; i <= a.Length; i++)
            {
                for (int j = 0; j <= b.Length; j++)
                {
                    if (i == 0 || j == 0)
                    {
                        steps[i, j] = i + j;
                        continue;
                    }
                    int least = Math.Min(Math.Min(steps[i - 1, j], steps[i, j - 1]) + 1, steps[i - 1, j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1));
                    bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                    steps[i, j] = swapped ? Math.Min(least, steps[i - 2, j - 2] + 1) : least;
                }
            }
            return steps[a.Length, b.Length];
        }
    }
}
