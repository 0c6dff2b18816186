#nullable enable
using System;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Holds that the adapters to Unity, which these tests cannot load, offer no public type.</summary>
    public sealed class SurfaceSourceTests
    {
        private const string PublicType = @"^    public [\w ]*\b(?:class|struct|interface|enum|record|delegate)\b";

        // From 6000.6 on, Unity's analyzer warns of these in each compilation (UAC0005, UAC0006, UAC0007, UAC0020).
        [TestCase("Core")]
        [TestCase("Editor")]
        [TestCase("TestRunner")]
        public void What_does_not_go_with_unitys_code_reload_is_used_in_older_versions_only(string folder)
        {
            string package = Path.Combine(Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY")!, "unity", folder);
            foreach (string file in Directory.GetFiles(package, "*.cs", SearchOption.AllDirectories))
            {
                string code = Regex.Replace(File.ReadAllText(file), @"(?ms)^#if (UNITY_6000_\d)_OR_NEWER$(.*?)^#else$.*?^#endif$", "$2");
                Assert.That(Regex.Match(code, @"\bAppDomain\.|\bAssembly\.Load\w*\(|\b\w+\.Location\b(?!\.)").Value, Is.Empty, file);
            }
        }

        [TestCase("Editor", false)]
        [TestCase("TestRunner", false)]
        [TestCase("Core", true)]
        public void Public_types_are_only_in_the_core(string folder, bool expected)
        {
            string package = Path.Combine(Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY")!, "unity", folder);
            string[] sources = Directory.GetFiles(package, "*.cs", SearchOption.AllDirectories);
            Assert.That(sources, Is.Not.Empty);
            bool any = sources.Any(file => Regex.IsMatch(File.ReadAllText(file), PublicType, RegexOptions.Multiline));
            Assert.That(any, Is.EqualTo(expected));
        }
    }
}
