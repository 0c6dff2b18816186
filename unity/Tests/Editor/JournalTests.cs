#nullable enable
using System;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class TestClock : IClock
    {
        public long Now { get; set; } = 1_000_000;

        public DateTime UtcNow { get; set; } = new(2026, 1, 31, 12, 34, 56, 789, DateTimeKind.Utc);
    }

    public sealed class JournalTests
    {
        private readonly TestClock clock = new();
        private CallJournal journal = null!;

        [SetUp]
        public void SetUp() => journal = Greeted(new CallJournal(clock));

        private static CallJournal Greeted(CallJournal fresh)
        {
            fresh.Greet("g");
            return fresh;
        }

        private static void Run(CallJournal where, string id, long seq, string answer = "{}")
        {
            where.Enter("g", id, seq, "tool");
            where.Begin(id);
            Assert.That(where.Complete(id, answer, false));
        }

        private CallJournal Reloaded()
        {
            journal.Interrupt();
            var next = new CallJournal(clock);
            Assert.That(next.Load(journal.Save()), Is.Null);
            return next;
        }

        [Test]
        public void A_call_goes_from_queued_to_done_and_keeps_its_answer()
        {
            journal.Enter("g", "a", 1, "tool");
            Assert.That(journal.Ask("g", "a", 1).Status, Is.EqualTo(CallStatus.Queued));
            journal.Begin("a");
            Assert.That(journal.Ask("g", "a", 1).Status, Is.EqualTo(CallStatus.Running));
            journal.Complete("a", "{\"x\":1}", false);
            Assert.That(journal.Ask("g", "a", 1).Answer, Is.EqualTo("{\"x\":1}"));
            Assert.That(journal.Complete("a", "{\"x\":2}", false), Is.False);
            Assert.That(journal.Ask("g", "a", 1).Answer, Is.EqualTo("{\"x\":1}"));
        }

        [Test]
        public void Asking_for_an_id_that_never_came_seals_it_across_reloads()
        {
            Assert.That(journal.Ask("g", "a", 1).Reason, Is.EqualTo("sealed"));
            Assert.That(Reloaded().Find("a")!.Reason, Is.EqualTo("sealed"));
        }

        [Test]
        public void A_reload_cuts_what_runs_and_drops_what_waits()
        {
            journal.Enter("g", "waits", 1, "tool");
            journal.Enter("g", "runs", 2, "tool");
            journal.Begin("runs");
            journal.Enter("g", "kept", 3, "tool");
            journal.Begin("kept");
            journal.Keep("kept", "{\"job\":7}");
            CallJournal next = Reloaded();
            Assert.That(next.Ask("g", "waits", 1).Reason, Is.EqualTo("dropped"));
            Assert.That(next.Ask("g", "runs", 2).Status, Is.EqualTo(CallStatus.Interrupted));
            Assert.That(next.Ask("g", "kept", 3).Status, Is.EqualTo(CallStatus.Running));
            Assert.That(next.Resumable()[0].Kept, Is.EqualTo("{\"job\":7}"));
            Assert.That(next.Complete("kept", "{}", false));
            Assert.That(next.Complete("runs", "{}", false), Is.False);
        }

        /// <summary>
        /// The call began before the reload. So it must not be reported as not run, and must not be resumed after the next
        /// reload.
        /// </summary>
        [Test]
        public void A_call_that_is_cancelled_before_it_can_go_on_ends_as_cancelled_while_it_ran()
        {
            journal.Enter("g", "job", 1, "compile");
            journal.Begin("job");
            journal.Keep("job", "{}");
            var log = new TestLog();
            var frames = new MainThreadQueue(clock, log);
            var calls = new CallCenter(frames, new Workers(new ThreadGroup(log), log), clock, log);
            Assert.That(calls.Load(Reloaded().Save()), Is.Null);
            CallOutcome? told = null;
            var tool = new ToolEntry(new CompileTool(), new McpToolAttribute(), true);
            calls.Resume(new ToolCall(tool, null, 0, frames, new ServiceTable(clock))
            {
                CallId = "job", Gateway = "g", Resumed = new JObject(), Ended = (_, outcome) => told = outcome
            });
            Assert.That(calls.Cancel("job"), Is.EqualTo(CallStatus.Done));
            Assert.That(told!.Error!.Type, Is.EqualTo("cancelled"));
            Assert.That(told.Error.Ran);
            Assert.That(calls.Outcomes("g", new[] { ("job", 1L) }), Does.Contain("\"error\":"));
            Assert.That(calls.Resumable(), Is.Empty);
        }

        [Test]
        public void What_was_let_go_is_forgotten_and_never_taken_for_unseen()
        {
            Run(journal, "old", 5);
            clock.Now += Limits.JournalAge + 1;
            Assert.That(journal.Ask("g", "old", 5).Status, Is.EqualTo(CallStatus.Forgotten));
            Assert.That(journal.Ask("g", "older", 4).Status, Is.EqualTo(CallStatus.Forgotten));
            Assert.That(journal.Ask("g", "newer", 6).Reason, Is.EqualTo("sealed"));
            Assert.That(Reloaded().Ask("g", "old", 5).Status, Is.EqualTo(CallStatus.Forgotten));
        }

        [Test]
        public void A_call_that_runs_is_never_let_go()
        {
            journal.Enter("g", "runs", 1, "tool");
            journal.Begin("runs");
            clock.Now += 10 * Limits.JournalAge;
            for (int i = 0; i < Limits.JournalEntries + 10; i++) Run(journal, "x" + i, i + 2);
            Assert.That(journal.Count, Is.EqualTo(Limits.JournalEntries));
            Assert.That(journal.Ask("g", "runs", 1).Status, Is.EqualTo(CallStatus.Running));
            Assert.That(journal.Ask("g", "x0", 2).Status, Is.EqualTo(CallStatus.Forgotten));
        }

        [Test]
        public void Answers_are_bounded_in_bytes_the_oldest_goes_first()
        {
            string answer = new('x', Limits.JournalResult);
            Run(journal, "a", 1, answer);
            Run(journal, "b", 2, answer);
            Run(journal, "c", 3, answer);
            Assert.That(journal.AnswerBytes, Is.EqualTo(Limits.JournalBytes));
            Assert.That(journal.Ask("g", "a", 1).Status, Is.EqualTo(CallStatus.Done));
            Assert.That(journal.Ask("g", "a", 1).Lost, Is.EqualTo("expired"));
            Assert.That(journal.Ask("g", "c", 3).Answer, Is.EqualTo(answer));
            Run(journal, "d", 4, answer + "x");
            Assert.That(journal.Ask("g", "d", 4).Lost, Is.EqualTo("too_large"));
        }

        [Test]
        public void A_gateway_that_was_let_go_is_told_nothing_of_before_its_next_call()
        {
            Run(journal, "a", 7);
            clock.Now += Limits.JournalAge + 1;
            for (int i = 0; i < Limits.JournalGateways; i++) journal.Greet("other" + i);
            journal.Greet("g");
            Assert.That(journal.Ask("g", "a", 7).Status, Is.EqualTo(CallStatus.Forgotten));
            journal.Greet("g");
            Assert.That(journal.Ask("g", "a", 7).Status, Is.EqualTo(CallStatus.Forgotten));
            Run(journal, "b", 9);
            Assert.That(journal.Ask("g", "a", 7).Status, Is.EqualTo(CallStatus.Forgotten));
            Assert.That(journal.Ask("g", "lost", 10).Reason, Is.EqualTo("sealed"));
        }

        [TestCase("")]
        [TestCase("{}")]
        [TestCase("[1]")]
        [TestCase("{\"v\":1,\"letGo\":false,\"gateways\":[],\"entries\":[[1]]}")]
        public void A_journal_that_cannot_be_read_makes_no_claims(string text)
        {
            var next = new CallJournal(clock);
            Assert.That(next.Load(text), Is.Not.Null);
            next.Greet("g");
            Assert.That(next.Ask("g", "a", 1).Status, Is.EqualTo(CallStatus.Forgotten));
        }

        [Test]
        public void Only_what_waits_is_dropped()
        {
            journal.Enter("g", "a", 1, "tool");
            Assert.That(journal.Drop("a", "cancelled"));
            Assert.That(journal.Ask("g", "a", 1).Reason, Is.EqualTo("cancelled"));
            journal.Enter("g", "b", 2, "tool");
            journal.Begin("b");
            Assert.That(journal.Drop("b", "cancelled"), Is.False);
        }
    }
}
