#nullable enable
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class ConsoleToolTests
    {
        private ToolBench bench = null!;
        private ModelConsole console = null!;

        [SetUp]
        public void SetUp()
        {
            console = new ModelConsole();
            bench = new ToolBench().With<IConsole>(console);
            console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Log, "player spawned", "Spawner.cs:1", "Assets/Spawner.cs", 1));
            console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Warning, "low memory", "", "", 0));
            console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Error, "player died", "", "", 0));
        }

        [TearDown]
        public void TearDown() => bench.Dispose();

        [Test]
        public void Logs_come_oldest_first_with_their_counts()
        {
            JToken got = bench.Run(new GetLogsTool(), new { });
            Assert.That(Messages(got), Is.EqualTo(new[] { "player spawned", "low memory", "player died" }));
            Assert.That((int)got["TotalCount"]!, Is.EqualTo(3));
            Assert.That((string)got["Logs"]![2]!["Type"]!, Is.EqualTo("Error"));
            Assert.That((string)got["Logs"]![0]!["StackTrace"]!, Is.EqualTo("Spawner.cs:1"));
            Assert.That((int)got["ConsoleCounts"]!["WarningCount"]!, Is.EqualTo(1));
        }

        [Test]
        public void The_newest_are_kept_when_there_are_more_than_asked_for()
        {
            JToken got = bench.Run(new GetLogsTool(), new { MaxCount = 2, IncludeStackTrace = false });
            Assert.That(Messages(got), Is.EqualTo(new[] { "low memory", "player died" }));
            Assert.That((int)got["TotalCount"]!, Is.EqualTo(3));
            Assert.That((int)got["DisplayedCount"]!, Is.EqualTo(2));
            Assert.That(got["Logs"]![0]!["StackTrace"]!.Type, Is.EqualTo(JTokenType.Null));
            Assert.That((bool)got["Truncated"]!, Is.False);
        }

        [TestCase("All", 2, 2, 1003)]
        [TestCase("Warning", 1, 1002, 1)]
        [TestCase("None", 5, 0, 0)]
        [TestCase("All", 0, 0, 1003)]
        public void Only_what_is_returned_is_read(string type, int max, int reads, int total)
        {
            for (int i = 0; i < 1000; i++) console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Log, "m" + i, "", "", 0));
            JToken got = bench.Run(new GetLogsTool(), new { LogType = type, MaxCount = max });
            Assert.That(console.Reads, Is.EqualTo(reads));
            Assert.That((int)got["TotalCount"]!, Is.EqualTo(total));
            Assert.That((int)got["ConsoleCounts"]!["LogCount"]!, Is.EqualTo(1001));
            Assert.That((bool)got["Truncated"]!, Is.False);
        }

        [TestCase("Error", "", false, false, "player died")]
        [TestCase("All", "PLAYER", false, false, "player spawned,player died")]
        [TestCase("All", "^low", true, false, "low memory")]
        [TestCase("All", "Spawner.cs", false, false, "")]
        [TestCase("All", "Spawner.cs", false, true, "player spawned")]
        [TestCase("None", "", false, false, "")]
        public void Logs_are_filtered(string type, string text, bool regex, bool inStack, string expected)
        {
            JToken got = bench.Run(new GetLogsTool(), new { LogType = type, SearchText = text, UseRegex = regex, SearchInStackTrace = inStack });
            Assert.That(string.Join(",", Messages(got)), Is.EqualTo(expected));
        }

        [Test]
        public void A_regular_expression_that_never_ends_is_stopped()
        {
            console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Log, new string('a', 40) + "!", "", "", 0));
            Assert.That(bench.Refusal(new GetLogsTool(), new { SearchText = "^(a+)+$", UseRegex = true }), Does.Contain("takes too long"));
            Assert.That(bench.Refusal(new GetLogsTool(), new { SearchText = "(", UseRegex = true }), Does.Contain("no regular expression"));
        }

        [Test]
        public void An_answer_has_a_bound()
        {
            for (int i = 0; i < 40; i++) console.Entries.Add(new ConsoleEntry(ConsoleEntryType.Log, new string('x', 200_000), "", "", 0));
            JToken got = bench.Run(new GetLogsTool(), new { });
            Assert.That((bool)got["Truncated"]!);
            Assert.That(Json.Write(got).Length, Is.LessThan(2 * Limits.ResultText));
            Assert.That((string)got["Logs"]!.Last!["Message"]!, Does.EndWith("(200000 characters)"));
        }

        [Test]
        public void Clearing_says_what_went_and_what_stays()
        {
            console.Sticky = 1;
            JToken got = bench.Run(new ClearConsoleTool(), new { AddConfirmationMessage = false });
            Assert.That((int)got["ClearedLogCount"]!, Is.EqualTo(2));
            Assert.That((int)got["ClearedCounts"]!["ErrorCount"]!, Is.Zero);
            Assert.That((int)got["RemainingCount"]!, Is.EqualTo(1));
            Assert.That(console.Entries, Has.Count.EqualTo(1));
            bench.Run(new ClearConsoleTool(), new { });
            Assert.That(console.Entries.Last().Message, Does.StartWith("Cleared"));
        }

        [TestCase(1 << 8, "Error")]
        [TestCase(1 << 11, "Error")]
        [TestCase(1 << 22, "Error")]
        [TestCase(1 << 9, "Warning")]
        [TestCase(1 << 12, "Warning")]
        [TestCase(1 << 10, "Log")]
        public void The_kind_is_read_from_the_mode(int mode, string kind) => Assert.That(ConsoleText.TypeOf(mode).ToString(), Is.EqualTo(kind));

        [Test]
        public void Message_and_stack_trace_are_told_apart()
        {
            ConsoleEntry known = ConsoleText.Entry(0, "first\nsecond\nFoo:Bar () (at Assets/Foo.cs:3)", 13, "Assets/Foo.cs", 3);
            ConsoleEntry guessed = ConsoleText.Entry(0, "first\nsecond\nFoo:Bar () (at Assets/Foo.cs:3)", 0, null, 0);
            Assert.That(known.Message, Is.EqualTo("first\nsecond"));
            Assert.That(guessed.Message, Is.EqualTo("first\nsecond"));
            Assert.That(guessed.StackTrace, Is.EqualTo("Foo:Bar () (at Assets/Foo.cs:3)"));
            Assert.That(ConsoleText.Entry(0, null, 5, null, 0).Message, Is.Empty);
        }

        [Test]
        public void The_ring_keeps_the_latest()
        {
            var ring = new ConsoleRing();
            for (int i = 0; i < Limits.ConsoleRing + 5; i++) ring.Add(new ConsoleEntry(ConsoleEntryType.Log, i.ToString(), "", "", 0));
            Assert.That(ring.Entries, Has.Count.EqualTo(Limits.ConsoleRing));
            Assert.That(ring.Entries[0].Message, Is.EqualTo("5"));
        }

        private static string[] Messages(JToken got) => got["Logs"]!.Select(l => (string)l["Message"]!).ToArray();
    }
}
