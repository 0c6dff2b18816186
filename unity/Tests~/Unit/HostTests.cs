#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// A process with the simulated editor: the stubs, and the real package in a domain that is really unloaded.
    /// </summary>
    internal sealed class HostProcess : IDisposable
    {
        private readonly Process process;
        private readonly BlockingCollection<string> events = new();
        private readonly ConcurrentQueue<string> dialogs = new();

        public HostProcess(string project, params string[] flags)
        {
            Project = project;
            string[] command = (Environment.GetEnvironmentVariable("HOLDFAST_HOST") ??
                throw new InvalidOperationException("HOLDFAST_HOST is the command that starts the simulated editor")).Split('|');
            IEnumerable<string> words = command.Skip(1).Concat(new[] { "--project", project }).Concat(flags);
            var start = new ProcessStartInfo(command[0], string.Join(" ", words.Select(w => "\"" + w + "\"")))
            {
                UseShellExecute = false, RedirectStandardInput = true, RedirectStandardOutput = true
            };
            // Otherwise .NET opens an additional socket for debuggers.
            start.EnvironmentVariables["DOTNET_EnableDiagnostics"] = "0";
            process = Process.Start(start)!;
            new Thread(() =>
            {
                while (process.StandardOutput.ReadLine() is { } line)
                {
                    if (line.StartsWith("{\"event\":\"dialog\"", StringComparison.Ordinal)) dialogs.Enqueue(line);
                    events.Add(line);
                }
                events.CompleteAdding();
            }) { IsBackground = true }.Start();
        }

        /// <summary>The dialogs that Unity would have opened, which would have stopped the editor.</summary>
        public IReadOnlyCollection<string> Dialogs => dialogs;

        public string Project { get; }

        /// <summary>A part of the warnings that this test expects in the console. Any other warning or error fails the test.</summary>
        public string? Expected { get; set; }

        public int ExpectedSeen { get; private set; }

        public string InstanceFile => Path.Combine(Project, "Library", "Holdfast", "instance.json");

        public JToken Instance => Json.Parse(File.ReadAllText(InstanceFile));

        public string Token => (string)Instance["token"]!;

        public int ExitCode
        {
            get
            {
                Assert.That(process.WaitForExit(TestEditor.Patience));
                return process.ExitCode;
            }
        }

        public void Order(string line) => process.StandardInput.WriteLine(line);

        public JToken Await(string name)
        {
            while (events.TryTake(out string line, TestEditor.Patience))
            {
                JToken told = Json.Parse(line);
                Assert.That((string)told["event"]!, Is.Not.EqualTo("bad_line").And.Not.EqualTo("failed"), line);
                if ((string)told["event"]! == "console" && Expected != null && ((string)told["message"]!).Contains(Expected)) ExpectedSeen++;
                else if ((string)told["event"]! == "console") Assert.Fail("the editor's console: " + told["message"]);
                if ((string)told["event"]! == name) return told;
            }
            throw new TimeoutException($"the simulated editor never said {name}");
        }

        public int AwaitListening() => (int)Await("listening")["port"]!;

        public JToken Stats()
        {
            Order("stats");
            return Await("stats");
        }

        /// <summary>
        /// Polls the stats until they match, and returns them. After <see cref="TestEditor.Patience"/> it returns them even if
        /// they do not match. Threads of the pool stay idle for a while, and closed connections and unloaded domains are released
        /// late; only real leaks never disappear.
        /// </summary>
        public JToken SettledStats(Func<JToken, bool> fits)
        {
            var watch = Stopwatch.StartNew();
            JToken stats = Stats();
            while (!fits(stats) && watch.ElapsedMilliseconds < TestEditor.Patience) stats = Stats();
            return stats;
        }

        /// <summary>Number of former domains that remain in memory.</summary>
        public int Leaked() => (int)SettledStats(s => (int)s["leaked"]! == 0)["leaked"]!;

        /// <summary>Adds a line to the report of the run.</summary>
        public static void Say(string line)
        {
            using var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
            output.WriteLine("measured: " + line);
        }

        public void Dispose()
        {
            if (!process.HasExited) process.Kill();
            process.WaitForExit();
        }
    }

    public sealed class HostTests
    {
        private string project = "";

        [SetUp]
        public void SetUp() => project = Path.Combine(Path.GetTempPath(), "holdfast-host-" + Guid.NewGuid().ToString("N"));

        [TearDown]
        public void TearDown() => Directory.Delete(project, true);

        private static string Call(TestClient client, string callId, int seq, string tool, object arguments) =>
            client.Post("holdfast/call", new { callId, seq, tool, arguments });

        private static JToken Outcome(TestClient client, string callId, int seq) => client.Ask("holdfast/outcome", new
        {
            calls = new[] { new { callId, seq } }
        })["result"]!["outcomes"]![0]!;

        [Test]
        public void A_broken_part_of_another_package_stops_no_bridge_and_is_told_once()
        {
            using var host = new HostProcess(project, "--flag", "brokenPart") { Expected = "BrokenPorts could not be used" };
            host.AwaitListening();
            host.Order("reload 0");
            host.AwaitListening();
            host.Stats();
            Assert.That(host.ExpectedSeen, Is.EqualTo(1));
            host.Order("window menu Window/Holdfast");
            Assert.That((string)host.Await("window")["seen"]!, Does.Contain("server-broken: BrokenPorts cannot be used: this part is broken"));
        }

        [Test]
        public void Fifty_reloads_with_a_client_attached_leave_nothing_behind()
        {
            using var host = new HostProcess(project);
            int port = host.AwaitListening(), seq = 0, interrupted = 0, told = 0;
            string token = host.Token;
            var recovery = new List<long>();
            JToken? early = null;
            var deaf = new List<TestClient>();
            for (int i = 1; i <= 50; i++)
            {
                // This client never closes its end of the connection.
                deaf.Add(new TestClient(port));
                deaf[i - 1].Greet(token, "deaf" + i);
                using (var client = new TestClient(port))
                {
                    Assert.That(client.Greet(token)["result"], Is.Not.Null);
                    client.Await(Call(client, "echo" + i, ++seq, "echo", new { text = "x" }));
                    // Writes classes of the package and of the user as JSON. No cache may keep these classes after the reload.
                    client.Await(Call(client, "fail" + i, ++seq, "fail", new { }));
                    client.Await(Call(client, "picture" + i, ++seq, "picture", new { }));
                    client.Ask("get-tool-details", new { });
                    Call(client, "held" + i, ++seq, "count", new { key = "k" + i, hold = true });
                    TestEditor.Until(() => ((JArray)client.Ask("holdfast/status", new { })["result"]!["running"]!).Count == 1);
                    host.Order("reload 0");
                    // On a loaded machine the last message may not be written in time. BridgeTests checks that it is sent.
                    if (client.Farewell() is { } farewell)
                    {
                        Assert.That((string)farewell["params"]!["reason"]!, Is.EqualTo("DomainReload"));
                        told++;
                    }
                }
                Assert.That(host.AwaitListening(), Is.EqualTo(port));
                var watch = Stopwatch.StartNew();
                using var after = new TestClient(port);
                after.Greet(token);
                after.Await(Call(after, "after" + i, ++seq, "echo", new { text = "y" }));
                recovery.Add(watch.ElapsedMilliseconds);
                Assert.That((string)Outcome(after, "echo" + i, seq - 4)["status"]!, Is.EqualTo("done"));
                JToken held = Outcome(after, "held" + i, seq - 1);
                Assert.That((string)held["status"]!, Is.EqualTo("interrupted"), held.ToString());
                interrupted++;
                JObject runs = after.Await(Call(after, "runs" + i, ++seq, "runs", new { key = "k" + i }));
                Assert.That((int)runs["result"]!["value"]!["Runs"]!, Is.EqualTo(1));
                if (i == 10) early = host.Stats();
            }
            int threads = (int)early!["threads"]! + 3, sockets = (int)early["sockets"]! + 1;
            JToken late = host.SettledStats(s => (int)s["leaked"]! == 0 && (int)s["threads"]! <= threads && (int)s["sockets"]! <= sockets);
            Assert.That((int)late["domain"]!, Is.EqualTo(51));
            Assert.That((int)late["leaked"]!, Is.Zero, "domains are still in memory");
            Assert.That((int)late["threads"]!, Is.LessThanOrEqualTo(threads));
            Assert.That((int)late["sockets"]!, Is.LessThanOrEqualTo(sockets));
            Assert.That((int)late["rss_kb"]!, Is.LessThan((int)early["rss_kb"]! * 3 / 2));
            recovery.Sort();
            HostProcess.Say($"50 reloads, {interrupted} calls cut and accounted for, {told} goodbyes; listening -> first answer p50 {recovery[25]} ms, max {recovery[49]} ms; " +
                $"threads {early["threads"]} -> {late["threads"]}, sockets {early["sockets"]} -> {late["sockets"]}, " +
                $"memory {(int)early["rss_kb"]! / 1024} -> {(int)late["rss_kb"]! / 1024} MiB, domains leaked {late["leaked"]}");
            foreach (TestClient one in deaf)
            {
                Assert.That(one.Ended());
                one.Dispose();
            }
            host.Order("quit");
            Assert.That(host.ExitCode, Is.Zero);
            Assert.That(File.Exists(host.InstanceFile), Is.False);
        }

        [Test]
        public void A_call_cut_by_the_reload_that_it_causes_returns_its_true_result()
        {
            using var host = new HostProcess(project);
            int port = host.AwaitListening();
            using (var client = new TestClient(port))
            {
                client.Greet(host.Token);
                Call(client, "c", 1, "reload-and-answer", new { text = "across" });
                Assert.That(client.Ended());
            }
            host.AwaitListening();
            using var after = new TestClient(port);
            after.Greet(host.Token);
            TestEditor.Until(() => (string)Outcome(after, "c", 1)["status"]! == "done");
            Assert.That((string)Outcome(after, "c", 1)["result"]!["value"]!["Echo"]!, Is.EqualTo("across"));
        }

        [Test]
        public void An_editor_without_focus_is_woken_for_a_call()
        {
            using var host = new HostProcess(project, "--unfocused-ms", "3600000");
            using var client = new TestClient(host.AwaitListening());
            client.Greet(host.Token);
            host.Order("focus off");
            host.Await("done");
            // If the editor were not woken, the next frame would come after an hour.
            client.Await(Call(client, "a", 1, "count", new { key = "x" }));
        }

        [Test]
        public void An_editor_that_stands_still_says_so()
        {
            using var host = new HostProcess(project);
            using var client = new TestClient(host.AwaitListening());
            client.Greet(host.Token);
            host.Order("modal on");
            host.Await("done");
            long FrameAge() => (long)client.Ask("holdfast/status", new { })["result"]!["frameAgeMs"]!;
            long still = 0;
            TestEditor.Until(() => (still = FrameAge()) > 90);
            Assert.That(FrameAge(), Is.GreaterThanOrEqualTo(still), "no frame comes");
            host.Order("modal off");
            TestEditor.Until(() => FrameAge() < still);
        }

        [TestCase("importWorker")]
        [TestCase("batchMode")]
        [TestCase("secondary")]
        public void Where_it_is_not_wanted_nothing_starts(string flag)
        {
            using var host = new HostProcess(project, "--flag", flag);
            Assert.That((int)host.Stats()["sockets"]!, Is.Zero);
            host.Order("reload 0");
            host.Await("done");
            Assert.That(Directory.Exists(Path.Combine(project, "Library")), Is.False);
        }

        [Test]
        public void A_crash_leaves_the_file_and_the_next_process_is_another()
        {
            string nonce;
            using (var host = new HostProcess(project))
            {
                host.AwaitListening();
                nonce = (string)host.Instance["nonce"]!;
                host.Order("crash");
                Assert.That(host.ExitCode, Is.EqualTo(134));
                Assert.That((string)host.Instance["nonce"]!, Is.EqualTo(nonce));
            }
            using var next = new HostProcess(project);
            next.AwaitListening();
            Assert.That((string)next.Instance["nonce"]!, Is.Not.EqualTo(nonce));
            Assert.That((int)next.Instance["generation"]!, Is.EqualTo(1));
        }

        [Test]
        public void The_user_stops_and_starts_the_bridge_and_a_reload_keeps_it_stopped()
        {
            using var host = new HostProcess(project);
            host.AwaitListening();
            host.Order("down");
            host.Await("done");
            Assert.That(File.Exists(host.InstanceFile), Is.False);
            host.Order("reload 0");
            host.Await("done");
            Assert.That((int)host.Stats()["sockets"]!, Is.LessThanOrEqualTo(1), "no listener");
            Assert.That(File.Exists(host.InstanceFile), Is.False);
            host.Order("up");
            using var client = new TestClient(host.AwaitListening());
            Assert.That(client.Ask("holdfast/status", new { })["result"], Is.Not.Null);
        }
    }
}
