#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Sends invalid or excessive data to the package in the simulated editor.</summary>
    public sealed class HostAbuseTests
    {
        private const int Flood = 64 << 20;

        private string project = "";

        [SetUp]
        public void SetUp() => project = Path.Combine(Path.GetTempPath(), "holdfast-abuse-" + Guid.NewGuid().ToString("N"));

        [TearDown]
        public void TearDown() => Directory.Delete(project, true);

        [Test]
        public void Garbage_floods_and_crowds_leave_nothing_behind()
        {
            using var host = new HostProcess(project);
            int port = host.AwaitListening();
            int idle = (int)host.Stats()["sockets"]!;
            var after = new List<JToken>();
            for (int round = 0; round < 3; round++)
            {
                using (var good = new TestClient(port))
                {
                    good.Greet(host.Token);
                    Garbage(port, round);
                    ManySmallMessages(port);
                    OneTooLongFrame(port, host.Token);
                    Assert.That(good.Ask("holdfast/status", new { })["result"], Is.Not.Null, "one that behaves is served meanwhile");
                }
                // Waits until the connections of the earlier clients are closed.
                host.SettledStats(s => (int)s["sockets"]! <= idle);
                Crowd(port);
                int threads = after.Count == 0 ? int.MaxValue : (int)after[0]["threads"]! + 3;
                after.Add(host.SettledStats(s => (int)s["sockets"]! <= idle && (int)s["threads"]! <= threads));
                Assert.That((int)after[round]["sockets"]!, Is.LessThanOrEqualTo(idle));
                Assert.That((int)after[round]["threads"]!, Is.LessThanOrEqualTo(threads));
            }
            Assert.That((int)after[2]["rss_kb"]!, Is.LessThan((int)after[0]["rss_kb"]! * 3 / 2), "memory grows");
            host.Order("reload 0");
            Assert.That(host.AwaitListening(), Is.EqualTo(port));
            using var next = new TestClient(port);
            Assert.That(next.Greet(host.Token)["result"], Is.Not.Null);
            Assert.That(host.Leaked(), Is.Zero);
            HostProcess.Say("garbage, 2 x 64 MiB and 100 connections, three times: threads " +
                $"{Each(after, "threads")}, sockets {Each(after, "sockets")}, memory {Each(after, "rss_kb")} KiB");
        }

        private static string Each(IEnumerable<JToken> stats, string name) => string.Join(" ", stats.Select(s => (string)s[name]!));

        // Sends invalid messages of every kind, then random bytes.
        private static void Garbage(int port, int seed)
        {
            var random = new Random(seed);
            var kinds = new List<byte[]>
            {
                Encoding.ASCII.GetBytes("GET / HTTP/1.1\r\n\r\n"), Encoding.ASCII.GetBytes("Content-Length: -1\r\n\r\n{}"),
                Encoding.ASCII.GetBytes("Content-Length: 99999999999999999999\r\n\r\n{}"), Encoding.ASCII.GetBytes("\r\n\r\n"),
                Encoding.ASCII.GetBytes("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), new byte[8192]
            };
            for (int i = 0; i < 20; i++)
            {
                var bytes = new byte[Limits.FrameHeader + 1 + random.Next(8192)];
                random.NextBytes(bytes);
                kinds.Add(bytes);
            }
            foreach (byte[] bytes in kinds)
            {
                using var client = new TestClient(port);
                client.TrySendRaw(bytes);
                Assert.That(client.Ended(), "garbage ends a connection");
            }
        }

        private static void ManySmallMessages(int port)
        {
            using var client = new TestClient(port);
            const int Size = 4096, Batch = 128;
            string frame = "";
            for (int sent = 0; sent < Flood; sent += Size * Batch)
            {
                if (frame.Length == 0)
                {
                    string body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"holdfast/status\",\"params\":{\"pad\":\"" + new string('x', Size) + "\"}}";
                    frame = string.Concat(Enumerable.Repeat($"Content-Length: {body.Length}\r\n\r\n{body}", Batch));
                }
                client.SendRaw(frame);
                for (int i = 0; i < Batch; i++) Assert.That(client.NextJson()["result"], Is.Not.Null);
            }
        }

        // Sends frames that are longer than the limit of an unproven client, and longer than the limit of a proven gateway.
        private static void OneTooLongFrame(int port, string token)
        {
            foreach (bool proven in new[] { false, true })
            {
                using var client = new TestClient(port);
                if (proven) client.Greet(token, "floods");
                client.SendRaw($"Content-Length: {Flood}\r\n\r\n");
                var part = new byte[1 << 20];
                // The bridge closes the connection as soon as it has read the header, so later sends may fail.
                for (int sent = 0; sent < Flood && client.TrySendRaw(part); sent += part.Length)
                {
                }
                Assert.That(client.Ended(), "a frame that is too long ends a connection");
            }
        }

        private static void Crowd(int port)
        {
            var clients = new List<TestClient>();
            try
            {
                for (int i = 0; i < 100; i++) clients.Add(new TestClient(port));
                clients.ServedOrTold();
            }
            finally
            {
                clients.ForEach(c => c.Dispose());
            }
        }
    }
}
