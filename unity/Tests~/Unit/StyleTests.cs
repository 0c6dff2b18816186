#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Compares the window's style sheet with the code that uses it, since no test can draw the window.</summary>
    public sealed class StyleTests
    {
        private static readonly string[] Shorthands = { "margin", "padding", "border-width", "border-radius", "border-color" };

        private static string Package => Path.Combine(Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY")!, "unity");

        private static string Sheet => Regex.Replace(
            File.ReadAllText(Path.Combine(Package, "Editor", "Window", "Holdfast.uss")), @"/\*.*?\*/", "", RegexOptions.Singleline);

        private static IEnumerable<string> Matches(string text, string pattern) =>
            Regex.Matches(text, pattern).Cast<Match>().Select(m => m.Groups[1].Value).Distinct();

        [Test]
        public void The_sheet_lies_where_the_code_looks_for_it()
        {
            string code = File.ReadAllText(Path.Combine(Package, "Editor", "Window", "Ui.cs"));
            string path = Matches(code, "\"Packages/dev\\.holdfast\\.unity/([^\"]+)\"").Single();
            Assert.That(File.Exists(Path.Combine(Package, path)), path);
        }

        [Test]
        public void Every_class_of_the_sheet_is_used_and_every_class_that_is_used_is_in_the_sheet()
        {
            string code = string.Join("\n", Directory.GetFiles(Path.Combine(Package, "Editor", "Window"), "*.cs").Select(File.ReadAllText));
            var used = new HashSet<string>(Matches(code, "\"holdfast-([a-z-]+[a-z])\""));
            foreach (string call in Matches(code, @"(?:Styled|Ui\.Text)\(([^;]*?)\)(?:[.,;)]|\n)"))
            {
                foreach (string word in Matches(call, "\"([a-z]+(?:-[a-z]+)*)\"")) used.Add(word);
            }
            // One class for each state of the server; a stopped server's dot stays grey.
            used.UnionWith(new[] { "starting", "ready", "compiling", "playing", "reloading", "stopping" }.Select(w => "dot--" + w));
            var styled = new HashSet<string>(Matches(Sheet, @"\.holdfast-([a-z-]+)"));
            Assert.That(styled.Except(used), Is.Empty, "in the sheet and not used");
            Assert.That(used.Except(styled), Is.Empty, "used and not in the sheet");
            Assert.That(styled, Has.Count.GreaterThan(20));
        }

        [Test]
        public void Every_property_is_one_that_unity_knows()
        {
            string facts = Path.Combine(Package, "Tests~", "Facts", "unity-api.tsv");
            var known = new HashSet<string>(File.ReadAllLines(facts).Select(l => l.Split('\t'))
                .Where(f => f[0] == "UnityEngine.UIElements.IStyle" && f[1] == "property" && f[7] == "all").Select(f => f[4]));
            Assert.That(known, Has.Count.GreaterThan(50));
            foreach (string property in Matches(Sheet, @"(?m)^\s+([a-z-]+):").Except(Shorthands))
            {
                string name = Regex.Replace(property.TrimStart('-'), "-([a-z])", m => m.Groups[1].Value.ToUpperInvariant());
                if (name == "unityFontStyle") name = "unityFontStyleAndWeight";
                Assert.That(known, Does.Contain(name), property);
            }
        }
    }
}
