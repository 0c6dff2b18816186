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
