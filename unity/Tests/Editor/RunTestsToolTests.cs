#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using System.Xml;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class ModelTestRunner : ITestRunner
    {
        private readonly List<ITestListener> listeners = new();

        public List<TestRequest> Begun { get; } = new();

        public List<string> Cancelled { get; } = new();

        public bool IsRunning { get; set; }

        public bool HasDirtyScenes { get; set; }

        public bool CanSave { get; set; } = true;

        public int Listening => listeners.Count;

        public string Begin(TestRequest request)
        {
            Begun.Add(request);
            return "run-" + Begun.Count;
        }

        public IDisposable Listen(ITestListener listener)
        {
            listeners.Add(listener);
            return new Ending(() => listeners.Remove(listener));
        }

        public bool Cancel(string run)
        {
            Cancelled.Add(run);
            return true;
        }

        public bool SaveScenes() => CanSave;

        public void List(bool playMode, Action<IReadOnlyList<TestFact>> found) => found(new TestFact[0]);

        public void Tell(Action<ITestListener> what)
        {
            foreach (ITestListener one in listeners.ToArray()) what(one);
        }

        private sealed class Ending : IDisposable
        {
            private readonly Action end;

            public Ending(Action end) => this.end = end;

            public void Dispose() => end();
        }
    }

    public sealed class RunTestsToolTests
    {
        private static readonly TestSummary Mixed = new(2, 1, 1, 0, 1.5, "<test-suite name=\"Game &amp; co\"/>");

        private ToolBench bench = null!;
        private ModelTestRunner runner = null!;
        private ModelScenes scenes = null!;

        [SetUp]
        public void SetUp()
        {
            runner = new ModelTestRunner();
            scenes = new ModelScenes();
            bench = new ToolBench().With<ITestRunner>(runner).With<IScenes>(scenes).With<ICompiler>(new ModelCompiler());
        }

        [TearDown]
        public void TearDown()
        {
            bench.Dispose();
            Assert.That(runner.Listening, Is.Zero, "the tool still listens");
        }

        [Test]
        public void A_run_is_answered_with_counts_failures_and_xml()
        {
            Task<object?> task = bench.Start(new RunTestsTool(), new { TestMode = "PlayMode", SaveXml = true });
            runner.Tell(l => l.RunStarted(4));
            runner.Tell(l => l.TestFinished("A.Fails", "Failed", 0.1, "Expected: 1"));
            runner.Tell(l => l.TestFinished("A.Passes", "Passed", 0.1, ""));
            runner.Tell(l => l.RunFinished(Mixed));
            JToken got = bench.Finish(task);
            Assert.That(runner.Begun.Single().PlayMode);
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That((int)got["TestCount"]!, Is.EqualTo(4));
            Assert.That((int)got["SkippedCount"]!, Is.EqualTo(1));
            Assert.That(got["FailedTests"]!.Select(f => (string)f["Name"]!), Is.EqualTo(new[] { "A.Fails" }));
            var xml = new XmlDocument();
            xml.Load((string)got["XmlPath"]!);
            Assert.That(xml.DocumentElement!.GetAttribute("failed"), Is.EqualTo("1"));
            Assert.That(xml.DocumentElement.GetAttribute("result"), Is.EqualTo("Failed"));
            Assert.That(xml.DocumentElement.GetAttribute("duration"), Is.EqualTo("1.5"));
            Assert.That(((XmlElement)xml.DocumentElement.FirstChild!).GetAttribute("name"), Is.EqualTo("Game & co"));
        }

        [TestCase("exact", "A.B", "A.B", "", "")]
        [TestCase("regex", "^A", "", "^A", "")]
        [TestCase("assembly", "Game.Tests", "", "", "Game.Tests")]
        [TestCase("all", "", "", "", "")]
        public void A_filter_is_passed_on(string type, string value, string names, string groups, string assemblies)
        {
            Task<object?> task = bench.Start(new RunTestsTool(), new { FilterType = type, FilterValue = value });
            runner.Tell(l => l.RunFinished(new TestSummary(1, 0, 0, 0, 0, "")));
            Assert.That((bool)bench.Finish(task)["Success"]!);
            TestRequest asked = runner.Begun.Single();
            Assert.That(string.Join(",", asked.Names), Is.EqualTo(names));
            Assert.That(string.Join(",", asked.Groups), Is.EqualTo(groups));
            Assert.That(string.Join(",", asked.Assemblies), Is.EqualTo(assemblies));
        }

        [Test]
        public void A_run_that_a_reload_cuts_is_not_cancelled_and_goes_on_in_the_next_domain()
        {
            bench.Start(new RunTestsTool(), new { TestMode = "PlayMode" });
            runner.Tell(l => l.RunStarted(2));
            runner.Tell(l => l.TestFinished("A.Fails", "Failed", 0, "before"));
            bench.Cancel();
            bench.Frame();
            Assert.That(runner.Listening, Is.Zero);
            Assert.That(runner.Cancelled, Is.Empty);

            using var next = new ToolBench();
            next.With<ITestRunner>(runner);
            Task<object?> resumed = next.Resume(new RunTestsTool(), bench.Kept.Last());
            next.Frame();
            runner.Tell(l => l.TestFinished("A.FailsToo", "Failed", 0, "after"));
            runner.Tell(l => l.RunFinished(new TestSummary(0, 2, 0, 0, 1, "")));
            JToken got = next.Finish(resumed);
            Assert.That(got["FailedTests"]!.Select(f => (string)f["Message"]!), Is.EqualTo(new[] { "before", "after" }));
            Assert.That((bool)got["DomainReloaded"]!);
            Assert.That(runner.Begun, Has.Count.EqualTo(1), "the tests were run again");
        }

        [Test]
        public void A_result_that_came_just_before_the_reload_is_answered_after_it()
        {
            bench.Start(new RunTestsTool(), new { });
            runner.Tell(l => l.RunFinished(Mixed));
            Assert.That(runner.Listening, Is.Zero, "no frame may come any more, and nothing of the old domain may stay subscribed");
            bench.Cancel();
            using var next = new ToolBench();
            JToken got = next.Finish(next.Resume(new RunTestsTool(), bench.Kept.Last()));
            Assert.That((int)got["FailedCount"]!, Is.EqualTo(1));
        }

        [Test]
        public void Cancelling_from_another_thread_stops_the_run()
        {
            Task<object?> task = bench.Start(new RunTestsTool(), new { });
            // Uses a thread instead of a Task, since waiting for a Task may run it on this thread.
            var other = new Thread(bench.Cancel);
            other.Start();
            other.Join();
            bench.Frame();
            Assert.That(runner.Cancelled, Is.EqualTo(new[] { "run-1" }));
            Assert.That(() => bench.Finish(task), Throws.InstanceOf<OperationCanceledException>());
            bench.Frame();
            Assert.That(runner.Cancelled, Has.Count.EqualTo(1));
        }

        [Test]
        public void A_run_that_breaks_off_says_so()
        {
            Task<object?> task = bench.Start(new RunTestsTool(), new { });
            runner.Tell(l => l.RunFailed("no player"));
            JToken got = bench.Finish(task);
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That((string)got["Message"]!, Does.Contain("no player"));
        }

        [Test]
        public void No_test_is_no_success()
        {
            Task<object?> task = bench.Start(new RunTestsTool(), new { });
            runner.Tell(l => l.RunFinished(new TestSummary(0, 0, 0, 0, 0, "")));
            Assert.That((bool)bench.Finish(task)["Success"]!, Is.False);
        }

        [TestCase(true, false, false, false, "play mode")]
        [TestCase(false, true, false, false, "do not compile")]
        [TestCase(false, false, true, false, "going on already")]
        [TestCase(false, false, false, true, "unsaved")]
        public void What_cannot_run_is_not_begun(bool playing, bool errors, bool running, bool dirty, string why)
        {
            bench.Snapshot = new EditorSnapshot { IsPlaying = playing, HasCompileErrors = errors };
            runner.IsRunning = running;
            runner.HasDirtyScenes = dirty;
            JToken got = bench.Run(new RunTestsTool(), new { });
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That((string)got["Message"]!, Does.Contain(why));
            Assert.That(runner.Begun, Is.Empty);
        }

        [Test]
        public void Dirty_scenes_are_saved_when_asked_and_possible()
        {
            runner.HasDirtyScenes = true;
            runner.CanSave = false;
            Assert.That((string)bench.Run(new RunTestsTool(), new { SaveScenes = true })["Message"]!, Does.Contain("could not be saved"));
            runner.CanSave = true;
            Task<object?> task = bench.Start(new RunTestsTool(), new { SaveScenes = true });
            runner.Tell(l => l.RunFinished(new TestSummary(1, 0, 0, 0, 0, "")));
            Assert.That((bool)bench.Finish(task)["Success"]!);
        }

        [Test]
        public void Sleeping_ends_by_itself_and_when_cancelled()
        {
            Assert.That((int)bench.Run(new DebugSleepTool(), new { SleepSeconds = 0 })["AppliedTimeoutSeconds"]!, Is.EqualTo(10));
            Task<object?> task = bench.Start(new DebugSleepTool(), new { SleepSeconds = 1000 });
            bench.Cancel();
            Assert.That(() => bench.Finish(task), Throws.InstanceOf<OperationCanceledException>());
            Assert.That(bench.Refusal(new DebugSleepTool(), new { SleepSeconds = -1 }), Does.Contain("SleepSeconds"));
        }
    }
}
