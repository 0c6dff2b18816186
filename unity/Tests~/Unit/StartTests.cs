#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Prints for how long the start of the bridge holds the simulated editor's main thread. No test asserts a time: that would
    /// test the machine.
    /// </summary>
    public sealed class StartTests
    {
        private string project = "";
        private int seq;

        [SetUp]
        public void SetUp() => project = Path.Combine(Path.GetTempPath(), "holdfast-host-" + Guid.NewGuid().ToString("N"));

        [TearDown]
        public void TearDown() => Directory.Delete(project, true);

        [Test]
        public void A_start_after_a_reload_with_a_full_journal_keeps_every_outcome()
        {
            const int Reloads = 3, Answer = 1_000_000;
            using var host = new HostProcess(project);
            int port = host.AwaitListening();
            string token = host.Token;
            var little = new List<int>();
            var full = new List<int>();
            int first = StartTime(port, token);
            for (int i = 0; i < Reloads; i++)
            {
                host.Order("reload 0");
                port = host.AwaitListening();
                little.Add(StartTime(port, token));
            }
            using (var client = new TestClient(port))
            {
                client.Greet(token);
                // As much as the journal and the traffic log keep: 8 Mi characters of answers, and 512 Ki of requests and answers.
                for (int i = 0; i < 200; i++) Call(client, "text" + i, "echo", new { text = new string('x', 3000) });
                for (int i = 0; i < 8; i++) Call(client, "big" + i, "big", new { n = Answer });
            }
            for (int i = 0; i < Reloads; i++)
            {
                host.Order("reload 0");
                port = host.AwaitListening();
                full.Add(StartTime(port, token));
                using var client = new TestClient(port);
                client.Greet(token);
                for (int one = 0; one < 8; one++)
                {
                    string answer = client.Ask("holdfast/outcome", new { calls = new[] { new { callId = "big" + one, seq = 201 + one } } })
                        ["result"]!["outcomes"]![0]!.ToString();
                    Assert.That(answer, Does.Contain("\"done\""));
                    Assert.That(answer.Length, Is.GreaterThan(Answer));
                }
            }
            HostProcess.Say($"start of the bridge on the main thread: {first} ms at first; after a reload {Median(little)} ms; " +
                $"with a full journal {Median(full)} ms (medians of {Reloads})");
        }

        private static int Median(List<int> of) => of.OrderBy(n => n).ElementAt(of.Count / 2);

        private int StartTime(int port, string token)
        {
            using var client = new TestClient(port);
            client.Greet(token);
            string id = client.Post("holdfast/call", new { callId = Guid.NewGuid().ToString(), seq = 1000 + ++seq, tool = "start-time", arguments = new { } });
            return (int)client.Await(id)["result"]!["value"]!["Ms"]!;
        }

        private void Call(TestClient client, string callId, string tool, object arguments)
        {
            string id = client.Post("holdfast/call", new { callId, seq = callId.StartsWith("big") ? 201 + int.Parse(callId.Substring(3)) : 1 + int.Parse(callId.Substring(4)), tool, arguments });
            Assert.That(client.Await(id)["result"], Is.Not.Null);
        }
    }
}
