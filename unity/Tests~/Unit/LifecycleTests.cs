#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Checks the types with methods that Unity's lifecycle attributes mark. Unity's own analyzer, which is not here, reports a
    /// type that is not partial as an error (UAC0031). Its generated registration runs static constructors and fields too early.
    /// </summary>
    public sealed class LifecycleTests
    {
        private const string Attribute = @"\[(?:\w+\.)*On(?:Code|Entering|Exiting|Entered|Exited)\w*(?:\([^)]*\))?\]";
        private const string Declaration = @"^[ \t]*((?:(?:public|internal|private|static|sealed|abstract|partial)[ \t]+)*)(?:class|struct)[ \t]+(\w+)";

        private static IEnumerable<string> Sources()
        {
            string package = Path.Combine(Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY")!, "unity");
            return new[] { "Core", "Editor", "TestRunner", "Samples~" }
                .SelectMany(f => Directory.GetFiles(Path.Combine(package, f), "*.cs", SearchOption.AllDirectories));
        }

        // Returns what is wrong with the types of this source.
        private static IEnumerable<string> Faults(string code)
        {
            Match[] types = Regex.Matches(code, Declaration, RegexOptions.Multiline).Cast<Match>().ToArray();
            for (int i = 0; i < types.Length; i++)
            {
                int end = i + 1 < types.Length ? types[i + 1].Index : code.Length;
                string body = code.Substring(types[i].Index, end - types[i].Index), name = types[i].Groups[2].Value;
                if (!Regex.IsMatch(body, Attribute)) continue;
                if (!types[i].Groups[1].Value.Contains("partial")) yield return name + " is not partial";
                if (Regex.IsMatch(body, @"\bstatic\s+" + name + @"\s*\(")) yield return name + " has a static constructor";
                if (Regex.IsMatch(body, @"\bstatic\s+[^(){};=]*(?:;|=(?!>))")) yield return name + " has a static field";
            }
        }

        [Test]
        public void A_type_with_a_lifecycle_method_is_partial_and_has_nothing_static_to_run()
        {
            string[] marked = Sources().Where(f => Regex.IsMatch(File.ReadAllText(f), Attribute)).ToArray();
            Assert.That(marked, Is.Not.Empty);
            foreach (string file in marked) Assert.That(Faults(File.ReadAllText(file)), Is.Empty, file);
        }

        [TestCase("internal static class A {\n [OnCodeUnloading] static void E() { } }", "A is not partial")]
        [TestCase("static partial class A {\n static A() { }\n [OnCodeLoaded] static void E() { } }", "A has a static constructor")]
        [TestCase("static partial class A {\n private static bool begun;\n [OnExitingPlayMode(1)] static void E() { } }", "A has a static field")]
        [TestCase("static partial class A {\n static readonly X Y = new();\n [OnCodeUnloading] static void E() { } }", "A has a static field")]
        public void What_breaks_the_rule_is_found(string code, string fault) => Assert.That(Faults(code), Is.EqualTo(new[] { fault }));

        [Test]
        public void What_keeps_the_rule_is_not_reported() => Assert.That(
            Faults("static class B {\n static int c;\n}\nstatic partial class A {\n [OnCodeUnloading] static void E() => B.Go(); }"), Is.Empty);
    }
}
