#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests of the bridge over real sockets. A thread of the test ticks the bridge and acts as its main thread.
    /// </summary>
    public sealed class BridgeTests
    {
        private TestEditor editor = null!;
        private int seq;

        [SetUp]
        public void SetUp()
        {
            editor = new TestEditor();
            HoldTool.Begun.Clear();
        }

        [TearDown]
        public void TearDown() => editor.Dispose();

        private TestClient Connect() => new(editor.Port);

        private TestClient Gateway(string gateway = "g")
        {
            TestClient client = Connect();
            Assert.That((bool)client.Greet(editor, gateway)["result"]!["proven"]!);
            return client;
        }

        private string Call(TestClient client, string callId, string tool, object? arguments = null, object? more = null)
        {
            var about = new JObject { ["callId"] = callId, ["seq"] = ++seq, ["tool"] = tool };
            if (arguments != null) about["arguments"] = JObject.FromObject(arguments);
            if (more != null) about.Merge(JObject.FromObject(more));
            return client.Post("holdfast/call", about);
        }

        private static JToken Outcome(TestClient client, string callId, int seq = 1) => client.Ask("holdfast/outcome", new
        {
            calls = new[] { new { callId, seq } }
        })["result"]!["outcomes"]![0]!;

        private static string ErrorType(JObject answer) => (string)answer["error"]!["data"]!["type"]!;

        [Test]
        public void A_call_is_answered_once_and_never_run_twice()
        {
            using TestClient client = Gateway();
            string first = Call(client, "a", "hold", new { Key = "once" });
            HoldTool.AwaitBegun("once");
            Assert.That(ErrorType(client.Await(Call(client, "a", "hold", new { Key = "once" }))), Is.EqualTo("duplicate_call"));
            HoldTool.Release("once");
            Assert.That((string)client.Await(first)["result"]!["value"]!["Key"]!, Is.EqualTo("once"));
            Assert.That(HoldTool.Begun["once"], Is.EqualTo(1));
        }

        [Test]
        public void A_call_brings_its_trace_to_its_tool_and_one_that_cannot_be_read_costs_nothing()
        {
            using TestClient client = Gateway();
            const string parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
            int seq = 0;
            JToken Seen(object trace)
            {
                seq++;
                return client.Ask("holdfast/call", new { callId = "traced-" + seq, seq, tool = "worker", trace })["result"]!["value"]!;
            }
            JToken whole = Seen(new { traceparent = parent, tracestate = "a=1", baggage = "b=2" });
            Assert.That((string?)whole["TraceParent"], Is.EqualTo(parent));
            Assert.That((string?)whole["TraceState"], Is.EqualTo("a=1"));
            Assert.That((string?)whole["Baggage"], Is.EqualTo("b=2"));
            foreach (object odd in new object[] { new { traceparent = 5, baggage = new { } }, "text", new[] { 1 }, new { } })
            {
                Assert.That((string?)Seen(odd)["TraceParent"], Is.Null);
            }
        }

        [Test]
        public void Serial_tools_take_turns_in_the_order_of_arrival_and_parallel_ones_run_beside_them()
        {
            using TestClient one = Gateway("g1"), two = Gateway("g2");
            string a = Call(one, "a", "hold", new { Key = "turn-a" });
            HoldTool.AwaitBegun("turn-a");
            string b = Call(two, "b", "hold", new { Key = "turn-b" });
            string p = Call(two, "p", "echo", new { Text = "beside" });
            Assert.That((string)two.Await(p)["result"]!["value"]!["Text"]!, Is.EqualTo("beside"));
            Assert.That(HoldTool.Begun.ContainsKey("turn-b"), Is.False);
            Assert.That((string)Outcome(two, "b", 2)["status"]!, Is.EqualTo("queued"));
            HoldTool.Release("turn-b");
            HoldTool.Release("turn-a");
            Assert.That(one.Await(a)["result"], Is.Not.Null);
            Assert.That(two.Await(b)["result"], Is.Not.Null);
        }

        [Test]
        public void Calls_of_parallel_tools_run_together_up_to_their_bound()
        {
            using TestClient client = Gateway();
            string[] ids = Enumerable.Range(0, Limits.ParallelCalls + 1)
                .Select(i => Call(client, "p" + i, "parallel-hold", new { Key = "par-" + i })).ToArray();
            for (int i = 0; i < Limits.ParallelCalls; i++) HoldTool.AwaitBegun("par-" + i);
            JToken status = client.Ask("holdfast/status", new { })["result"]!;
            Assert.That(((JArray)status["running"]!).Count, Is.EqualTo(Limits.ParallelCalls));
            Assert.That((int)status["queued"]!, Is.EqualTo(1));
            for (int i = 0; i <= Limits.ParallelCalls; i++) HoldTool.Release("par-" + i);
            var left = new HashSet<string>(ids);
            while (left.Count > 0) left.Remove((string)client.NextJson()["id"]!);
        }

        [Test]
        public void What_waits_goes_on_after_its_connection_until_the_gateway_proves_itself_again()
        {
            using TestClient other = Gateway("another");
            Call(other, "runs", "hold", new { Key = "ended-runs" });
            HoldTool.AwaitBegun("ended-runs");
            TestClient former = Gateway();
            Call(former, "waits", "hold", new { Key = "ended-waits" });
            TestEditor.Until(() => editor.Bridge.Info.Status.Queued == 1);
            former.Dispose();
            TestEditor.Until(() => editor.Bridge.Info.Status.Clients.Count == 1);
            Assert.That(editor.Bridge.Info.Status.Queued, Is.EqualTo(1));
            using TestClient now = Gateway();
            Assert.That((string)Outcome(now, "waits")["reason"]!, Is.EqualTo("dropped"));
            HoldTool.Release("ended-runs");
            Assert.That(now.Await(Call(now, "next", "echo", new { Text = "x" }))["result"], Is.Not.Null);
            Assert.That(HoldTool.Begun.ContainsKey("ended-waits"), Is.False);
        }

        [Test]
        public void A_new_connection_fences_the_former_one_of_its_gateway()
        {
            using TestClient former = Gateway();
            Call(former, "runs", "hold", new { Key = "fence-runs" });
            HoldTool.AwaitBegun("fence-runs");
            Call(former, "waits", "hold", new { Key = "fence-waits" });
            TestEditor.Until(() => editor.Bridge.Info.Status.Queued == 1);
            using TestClient other = Gateway("another");
            using TestClient now = Gateway();
            Assert.That(former.Ended());
            Assert.That((string)Outcome(now, "waits", 2)["reason"]!, Is.EqualTo("dropped"));
            Assert.That((string)Outcome(now, "runs")["status"]!, Is.EqualTo("running"));
            HoldTool.Release("fence-runs");
            JObject settled = now.Await(m => (string?)m["method"] == "holdfast/settled");
            Assert.That((string)settled["params"]!["callId"]!, Is.EqualTo("runs"));
            JToken outcome = Outcome(now, "runs");
            Assert.That((string)outcome["status"]!, Is.EqualTo("done"));
            Assert.That((string)outcome["result"]!["value"]!["Key"]!, Is.EqualTo("fence-runs"));
            Assert.That(HoldTool.Begun.ContainsKey("fence-waits"), Is.False);
            Assert.That(other.Ask("holdfast/status", new { })["result"], Is.Not.Null, "another gateway is not fenced");
        }

        [Test]
        public void Asking_seals_a_call_that_comes_later_also_after_a_reload()
        {
            using (TestClient client = Gateway())
            {
                Assert.That((string)Outcome(client, "late")["reason"]!, Is.EqualTo("sealed"));
                Assert.That(ErrorType(client.Await(Call(client, "late", "echo"))), Is.EqualTo("sealed"));
            }
            editor.Reload();
            using TestClient again = Gateway();
            Assert.That(ErrorType(again.Await(Call(again, "late", "echo"))), Is.EqualTo("sealed"));
        }

        [Test]
        public void A_reload_while_the_next_bridge_still_prepares_loses_nothing_of_the_journal()
        {
            using (TestClient before = Gateway())
            {
                before.Await(Call(before, "done", "echo", new { Text = "x" }));
                Call(before, "job", "job", new { Key = "job-key-2" });
                HoldTool.AwaitBegun("job-key-2");
            }
            SlowStartTool.Waits.Reset();
            SlowStartTool.Gate.Reset();
            try
            {
                editor.Reload();
                Assert.That(SlowStartTool.Waits.Wait(TestEditor.Patience));
                // The stop waits for the preparation that has begun; this lets it go on while the stop waits.
                using var later = new Timer(_ => SlowStartTool.Gate.Set(), null, 50, Timeout.Infinite);
                editor.Stop(StopCause.DomainReload);
            }
            finally
            {
                SlowStartTool.Gate.Set();
            }
            editor.Restart();
            using TestClient after = Gateway();
            Assert.That((string)Outcome(after, "done", 1)["result"]!["value"]!["Text"]!, Is.EqualTo("x"));
            TestEditor.Until(() => (string)Outcome(after, "job", 2)["status"]! == "done");
            Assert.That((string)Outcome(after, "job", 2)["result"]!["value"]!["Resumed"]!, Is.EqualTo("job-key-2"));
        }

        [Test]
        public void A_call_that_goes_on_after_a_reload_has_run_even_if_it_refuses_its_parameters_then()
        {
            using (TestClient before = Gateway())
            {
                Call(before, "job", "job", new { Key = "refused-key" });
                HoldTool.AwaitBegun("refused-key");
            }
            editor.Reload();
            using TestClient after = Gateway();
            TestEditor.Until(() => (string)Outcome(after, "job", 1)["status"]! == "done");
            JToken error = Outcome(after, "job", 1)["error"]!;
            Assert.That((string)error["data"]!["type"]!, Is.EqualTo("invalid_params"));
            Assert.That((bool)error["data"]!["ran"]!);
        }

        [Test]
        public void A_reload_says_what_became_of_every_call()
        {
            using TestClient before = Gateway();
            string done = Call(before, "done", "echo", new { Text = "x" });
            before.Await(done);
            Call(before, "job", "job", new { Key = "job-key" });
            HoldTool.AwaitBegun("job-key");
            Call(before, "cut", "parallel-hold", new { Key = "cut-key" });
            HoldTool.AwaitBegun("cut-key");
            Call(before, "waits", "hold", new { Key = "never" });
            TestEditor.Until(() => editor.Bridge.Info.Status.Queued == 1);
            int port = editor.Port;
            editor.Reload();
            JObject left = before.Await(m => (string?)m["method"] == "notifications/server/shutdown");
            Assert.That((string)left["params"]!["reason"]!, Is.EqualTo("DomainReload"));
            Assert.That(before.Ended());
            Assert.That(editor.Port, Is.EqualTo(port));
            using TestClient after = Gateway();
            Assert.That((string)Outcome(after, "done", 1)["result"]!["value"]!["Text"]!, Is.EqualTo("x"));
            Assert.That((string)Outcome(after, "cut", 3)["status"]!, Is.EqualTo("interrupted"));
            Assert.That((string)Outcome(after, "waits", 4)["reason"]!, Is.EqualTo("dropped"));
            TestEditor.Until(() => (string)Outcome(after, "job", 2)["status"]! == "done");
            Assert.That((string)Outcome(after, "job", 2)["result"]!["value"]!["Resumed"]!, Is.EqualTo("job-key"));
            Assert.That(HoldTool.Begun.ContainsKey("never"), Is.False);
        }

        [Test]
        public void A_bridge_that_fails_to_start_leaves_the_outcomes_of_earlier_calls_and_no_thread()
        {
            using (TestClient client = Gateway()) client.Await(Call(client, "ran", "echo", new { Text = "x" }));
            editor.ToolsFail = true;
            Assert.Throws<AssertionException>(editor.Reload);
            Assert.That(editor.Bridge.LiveThreads, Is.Zero);
            editor.ToolsFail = false;
            editor.Restart();
            using TestClient after = Gateway();
            Assert.That((string)Outcome(after, "ran", 1)["result"]!["value"]!["Text"]!, Is.EqualTo("x"));
        }

        [Test]
        public void Fifty_reloads_leave_no_thread_and_lose_no_call()
        {
            int port = editor.Port;
            for (int i = 1; i <= 50; i++)
            {
                using TestClient client = Gateway();
                string id = Call(client, "call" + i, "echo", new { Text = "n" + i });
                if (i % 2 == 0) Assert.That(client.Await(id)["result"], Is.Not.Null);
                Bridge former = editor.Bridge;
                editor.Reload();
                Assert.That(former.LiveThreads, Is.Zero);
                Assert.That(editor.Port, Is.EqualTo(port));
                using TestClient after = Gateway();
                JToken outcome = Outcome(after, "call" + i, seq);
                string status = (string)outcome["status"]!;
                Assert.That(status, Is.EqualTo("done").Or.EqualTo("notRun"), outcome.ToString());
                if (i % 2 == 0) Assert.That(status, Is.EqualTo("done"));
            }
            Assert.That(editor.Bridge.Info.Status.Generation, Is.EqualTo(51));
            lock (editor.Log.Lines) Assert.That(editor.Log.Lines.Count(l => l.Contains("listens on")), Is.EqualTo(1));
        }

        [Test]
        public void A_call_that_waits_is_cancelled_without_having_run()
        {
            using TestClient client = Gateway();
            string runs = Call(client, "runs", "hold", new { Key = "c-runs" });
            HoldTool.AwaitBegun("c-runs");
            string waits = Call(client, "waits", "hold", new { Key = "c-waits" });
            TestEditor.Until(() => editor.Bridge.Info.Status.Queued == 1);
            client.Post("holdfast/cancel", new { callId = "waits" });
            JObject answer = client.Await(waits);
            Assert.That(ErrorType(answer), Is.EqualTo("cancelled"));
            Assert.That((bool)answer["error"]!["data"]!["ran"]!, Is.False);
            Assert.That((string)Outcome(client, "waits", 2)["reason"]!, Is.EqualTo("cancelled"));
            client.Post("holdfast/cancel", new { callId = "runs" });
            answer = client.Await(runs);
            Assert.That(ErrorType(answer), Is.EqualTo("cancelled"));
            Assert.That((bool)answer["error"]!["data"]!["ran"]!, Is.True);
            Assert.That((string)Outcome(client, "runs", 1)["error"]!["data"]!["type"]!, Is.EqualTo("cancelled"));
        }

        [Test]
        public void A_tool_over_its_time_is_stopped()
        {
            using TestClient client = Gateway();
            JObject answer = client.Await(Call(client, "a", "hold", new { Key = "slow" }, new { timeoutMs = 50 }));
            Assert.That(ErrorType(answer), Is.EqualTo("timed_out"));
            Assert.That((string)answer["error"]!["message"]!, Is.EqualTo("The tool hold was stopped after 1 seconds"));
            answer = client.Await(Call(client, "b", "hold", new { Key = "slow", TimeoutSeconds = 1 }));
            Assert.That((string)answer["error"]!["message"]!, Is.EqualTo(
                "The tool hold was stopped after 1 seconds; the argument TimeoutSeconds gives it another limit"));
        }

        [Test]
        public void A_list_tells_the_time_limit_beside_the_schema()
        {
            using TestClient client = Gateway();
            JToken tools = client.Ask("holdfast/tools", new { includeDevelopmentOnly = true })["result"]!["tools"]!;
            JToken ping = tools.Single(t => (string)t["name"]! == "ping");
            Assert.That((int)ping["timeoutSeconds"]!, Is.EqualTo(15));
            Assert.That(ping["inputSchema"]!["properties"]!["TimeoutSeconds"], Is.Null);
            // No limit, and no parameter of that name.
            Assert.That(tools.Where(t => (string)t["name"]! is "hold" or "echo").Select(t => t["timeoutSeconds"]), Is.EqualTo(new JToken?[] { null, null }));
        }

        [Test]
        public void Only_results_in_the_old_protocol_have_the_times_of_the_run()
        {
            using TestClient gateway = Gateway(), old = Connect();
            JObject now = (JObject)gateway.Await(Call(gateway, "a", "ping", new { Message = "x" }))["result"]!["value"]!;
            JObject before = (JObject)old.Ask("ping", new { Message = "x" })["result"]!;
            string[] times = { "StartedAt", "EndedAt", "ExecutionTimeMs" };
            Assert.That(now.Properties().Select(p => p.Name), Has.Member("Message"));
            Assert.That(now.Properties().Select(p => p.Name).Intersect(times), Is.Empty);
            Assert.That(before.Properties().Select(p => p.Name).Intersect(times), Is.EqualTo(times));
        }

        [Test]
        public void Progress_rises_and_ends_before_the_answer()
        {
            using TestClient client = Gateway();
            string id = Call(client, "a", "hold", new { Key = "prog" }, new { progress = true });
            JObject report = client.NextJson();
            Assert.That((string)report["method"]!, Is.EqualTo("holdfast/progress"));
            Assert.That(Json.Write(report["params"]), Is.EqualTo(
                "{\"callId\":\"a\",\"progress\":1.0,\"total\":2.0,\"message\":\"holding\"}"));
            HoldTool.Release("prog");
            Assert.That((string)client.NextJson()["id"]!, Is.EqualTo(id), "the second report did not rise");
        }

        [Test]
        public void Status_and_ping_are_answered_while_the_editor_stands_still()
        {
            var clock = new TestClock();
            editor.Dispose();
            editor = new TestEditor(e => e.Clock = clock);
            using TestClient client = Gateway(), stranger = Connect();
            using (editor.Freeze())
            {
                Call(client, "a", "hold", new { Key = "frozen" });
                clock.Now += 70_000;
                JToken status = client.Ask("holdfast/status", new { })["result"]!;
                Assert.That((long)status["frameAgeMs"]!, Is.EqualTo(70_000));
                Assert.That((int)status["queued"]!, Is.EqualTo(1));
                Assert.That((long)stranger.Ask("ping", new { })["result"]!["FrameAgeMs"]!, Is.EqualTo(70_000));
                Assert.That((bool)client.Await(Call(client, "w", "worker"))["result"]!["value"]!["OnMain"]!, Is.False);
                Assert.That(HoldTool.Begun.ContainsKey("frozen"), Is.False);
            }
            HoldTool.AwaitBegun("frozen");
        }

        [Test]
        public void The_state_is_told_and_written()
        {
            using TestClient client = Gateway();
            editor.Snapshot = new EditorSnapshot { IsPlaying = true, IsCompiling = true };
            JObject told = client.Await(m => (string?)m["method"] == "holdfast/state");
            Assert.That((string)told["params"]!["state"]!, Is.EqualTo("compiling"));
            TestEditor.Until(() => File.ReadAllText(Path.Combine(editor.Folder, "instance.json")).Contains("\"compiling\""));
            editor.Snapshot = new EditorSnapshot { IsPlaying = true };
            told = client.Await(m => (string?)m["method"] == "holdfast/state");
            Assert.That((string)told["params"]!["state"]!, Is.EqualTo("playing"));
        }

        [Test]
        public void A_uloop_client_is_answered_in_order_and_in_its_own_form()
        {
            using TestClient client = Connect();
            string held = client.Post("hold", new { Key = "legacy" });
            string ping = client.Post("ping", new { Message = "hi" });
            HoldTool.AwaitBegun("legacy");
            HoldTool.Release("legacy");
            JObject first = client.NextJson(), second = client.NextJson();
            Assert.That((string)first["id"]!, Is.EqualTo(held));
            Assert.That(Json.Write(first["result"]), Is.EqualTo("{\"Key\":\"legacy\"}"));
            Assert.That((string)second["id"]!, Is.EqualTo(ping));
            Assert.That((string)second["result"]!["Message"]!, Is.EqualTo("Unity MCP Bridge received: hi"));
            Assert.That(Json.Write(client.Ask("throw", new { })["error"]), Is.EqualTo(
                "{\"code\":-32603,\"message\":\"Internal error\",\"data\":{\"type\":\"internal_error\",\"ran\":true,\"message\":\"Thrown as asked\"}}"));
            Assert.That(ErrorType(client.Ask("guarded", new { })), Is.EqualTo("security_blocked"));
            JObject late = client.Ask("hold", new { Key = "legacy-late", TimeoutSeconds = 1 });
            Assert.That((string)late["error"]!["message"]!, Is.EqualTo("Request timeout"));
            Assert.That((string)late["error"]!["data"]!["message"]!, Is.EqualTo("Tool hold timed out after 1 seconds"));
            JToken tools = client.Ask("get-tool-details", new { IncludeDevelopmentOnly = false })["result"]!["Tools"]!;
            Assert.That(tools.Select(t => (string)t["name"]!), Has.Member("echo").And.No.Member("ping"));
            Assert.That((string)tools.Single(t => (string)t["name"]! == "guarded")["description"]!, Does.StartWith("[BLOCKED] "));
        }

        [Test]
        public void Unproven_clients_can_be_shut_out()
        {
            editor.Security.AllowUnprovenClients = false;
            using TestClient stranger = Connect(), gateway = Gateway();
            Assert.That(ErrorType(stranger.Ask("ping", new { })), Is.EqualTo("not_proven"));
            Assert.That(gateway.Ask("ping", new { })["result"], Is.Not.Null);
        }

        [Test]
        public void A_wrong_proof_ends_the_connection()
        {
            using TestClient client = Connect();
            client.Ask("holdfast/hello", new { protocol = Bridge.Protocol, gateway = "g", clientName = "x", challenge = new string('a', 32) });
            Assert.That(ErrorType(client.Ask("holdfast/prove", new { proof = new string('0', 64) })), Is.EqualTo("not_proven"));
            Assert.That(client.Ended());
        }

        [Test]
        public void After_a_broken_frame_a_client_that_goes_on_is_not_read_for_ever()
        {
            using var client = new TestClient(editor.Port);
            client.SendRaw("GET / HTTP/1.1\r\n\r\n");
            // One byte at a time, so that no read waits for long.
            TestEditor.Until(() => !client.TrySendRaw(new byte[] { 0 }));
        }

        [TestCase("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 46\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}     ")]
        [TestCase("Content-Length: 1048577\r\n\r\n")]
        [TestCase("\u0016\u0003\u0001\u0002")]
        public void A_broken_frame_is_answered_and_ends_the_connection(string bytes)
        {
            using TestClient client = Connect();
            client.SendRaw(bytes);
            JObject answer = client.NextJson();
            Assert.That(ErrorType(answer), Is.EqualTo("bad_frame"));
            Assert.That(answer["id"]!.Type, Is.EqualTo(JTokenType.Null));
            Assert.That(client.Ended());
        }

        [Test]
        public void Sixty_four_mebibytes_of_rubbish_hurt_nobody()
        {
            long before = GC.GetTotalMemory(true);
            using TestClient good = Gateway();
            using TestClient bad = Connect();
            var rubbish = new byte[1 << 20];
            for (int i = 0; i < rubbish.Length; i++) rubbish[i] = (byte)'a';
            try
            {
                for (int i = 0; i < 64; i++) bad.SendRaw(rubbish);
            }
            catch (IOException)
            {
                // The bridge has closed the connection, as it should.
            }
            Assert.That(good.Await(Call(good, "a", "echo", new { Text = "still here" }))["result"], Is.Not.Null);
            Assert.That(GC.GetTotalMemory(true) - before, Is.LessThan(16 << 20));
        }

        [Test]
        public void A_message_that_is_no_json_is_answered_and_the_connection_goes_on()
        {
            using TestClient client = Connect();
            client.Send("{\"jsonrpc\":");
            Assert.That(ErrorType(client.NextJson()), Is.EqualTo("parse_error"));
            client.SendRaw(new byte[] { (byte)'C', (byte)'o', (byte)'n', (byte)'t', (byte)'e', (byte)'n', (byte)'t', (byte)'-', (byte)'L', (byte)'e', (byte)'n', (byte)'g', (byte)'t', (byte)'h', (byte)':', (byte)'1', (byte)'\r', (byte)'\n', (byte)'\r', (byte)'\n', 0xff });
            Assert.That(ErrorType(client.NextJson()), Is.EqualTo("parse_error"));
            client.Send(new string('[', 5000));
            Assert.That(ErrorType(client.NextJson()), Is.EqualTo("parse_error"));
            foreach (string body in new[] { "[]", "7", "{\"id\":1}", "{\"id\":true,\"method\":\"ping\"}", "{\"id\":1e999,\"method\":\"ping\"}" })
            {
                client.Send(body);
                Assert.That(ErrorType(client.NextJson()), Is.EqualTo("invalid_request").Or.EqualTo("parse_error"), body);
            }
            client.Send("{\"method\":\"ping\"}");
            Assert.That(client.Ask("ping", new { })["result"], Is.Not.Null, "a notification is not answered");
        }

        [Test]
        public void A_hundred_connections_are_bounded_and_those_within_the_bound_are_served()
        {
            var clients = new List<TestClient>();
            try
            {
                for (int i = 0; i < 100; i++) clients.Add(Connect());
                clients.ServedOrTold();
                Assert.That(editor.Bridge.Parts.Connections, Has.Count.EqualTo(Limits.Connections));
            }
            finally
            {
                clients.ForEach(c => c.Dispose());
            }
            TestEditor.Until(() => editor.Bridge.Parts.Connections.Count == 0);
            using TestClient next = Connect();
            Assert.That(next.Ask("ping", new { })["result"], Is.Not.Null);
        }

        [Test]
        public void A_client_that_never_reads_holds_up_nobody()
        {
            using var deaf = new TcpClient();
            deaf.ReceiveBufferSize = 4096;
            deaf.Connect(System.Net.IPAddress.Loopback, editor.Port);
            byte[] body = Encoding.UTF8.GetBytes("{\"id\":1,\"method\":\"big\",\"params\":{\"Bytes\":30000000}}");
            byte[] header = Encoding.UTF8.GetBytes($"Content-Length: {body.Length}\r\n\r\n");
            for (int i = 0; i < 8; i++)
            {
                deaf.GetStream().Write(header, 0, header.Length);
                deaf.GetStream().Write(body, 0, body.Length);
            }
            using TestClient good = Gateway();
            Assert.That(good.Await(Call(good, "a", "echo"))["result"], Is.Not.Null);
            // The answers are larger than what may wait for one client, so the bridge closes the connection.
            TestEditor.Until(() => editor.Bridge.Parts.Connections.Count == 1);
        }

        [Test]
        public void A_stop_is_bounded_whatever_clients_and_tools_do()
        {
            // The machine may be busy during one attempt, so only one of several attempts must be fast enough.
            TestEditor.Until(() => Stop() < Limits.Goodbye + Limits.Join + 400);

            long Stop()
            {
                using var leaving = new TestEditor(e => e.LeavesInTime = true);
                using TestClient idle = new(leaving.Port), silent = new(leaving.Port);
                idle.Greet(leaving);
                Call(idle, "s", "stubborn");
                silent.SendRaw("Content-Length: 100\r\n\r\n{");
                TestEditor.Until(() => leaving.Bridge.Info.Status.Running == 1);
                var watch = Stopwatch.StartNew();
                leaving.Stop(StopCause.DomainReload);
                long took = watch.ElapsedMilliseconds;
                TestEditor.Until(() => leaving.Bridge.LiveThreads == 0);
                Assert.That(idle.Ended());
                Assert.That(silent.Ended());
                return took;
            }
        }

        [Test]
        public void A_port_that_is_taken_is_passed_over_at_a_fresh_start()
        {
            int taken = editor.Port;
            using var second = new TestEditor(e => e.PreferredPort = taken);
            Assert.That(second.Port, Is.Not.EqualTo(taken));
            using var client = new TestClient(second.Port);
            Assert.That(client.Ask("ping", new { })["result"], Is.Not.Null);
        }

        [Test]
        public void After_the_users_stop_the_port_of_the_settings_counts()
        {
            int first = editor.Port;
            editor.Stop(StopCause.UserStopped);
            using var other = new TestEditor();
            editor.PreferredPort = other.Port + 1 == first ? other.Port + 2 : other.Port + 1;
            editor.Restart();
            Assert.That(editor.Port, Is.Not.EqualTo(first));
        }

        [Test]
        public void The_first_conversation_is_rehearsed_unseen()
        {
            var log = new TestLog();
            var rehearsal = new Rehearsal(log);
            Assert.That(rehearsal.Join(TestEditor.Patience));
            Assert.That(log.Lines, Is.Empty);
            Assert.That(rehearsal.Succeeded);
            // The rehearsal of a bridge leaves no trace, and ends with the bridge.
            using var rehearsing = new TestEditor(e => e.Rehearses = true);
            Assert.That(rehearsing.Bridge.Info.Status.Clients, Is.Empty);
            Assert.That(rehearsing.Bridge.Info.Tools.Find("rehearsal"), Is.Null);
            rehearsing.Reload();
            Assert.That(rehearsing.Bridge.Info.Traffic.Entries, Is.Empty);
        }

        [Test]
        public void The_port_is_kept_also_when_the_reload_comes_before_a_frame()
        {
            editor.Stop(StopCause.UserStopped);
            using (editor.Freeze())
            {
                editor.Restart();
                int port = editor.Port;
                editor.Reload();
                Assert.That(editor.Port, Is.EqualTo(port));
            }
        }

        [Test]
        public void The_instance_file_is_for_its_owner_alone_and_goes_when_the_editor_quits()
        {
            _ = editor.Port;
            string path = Path.Combine(editor.Folder, "instance.json");
            TestEditor.Until(() => File.Exists(path));
            using (Process ls = Process.Start(new ProcessStartInfo("/bin/ls", "-l " + path) { RedirectStandardOutput = true, UseShellExecute = false })!)
            {
                Assert.That(ls.StandardOutput.ReadToEnd(), Does.StartWith("-rw-------"));
            }
            editor.Stop(StopCause.EditorQuit);
            Assert.That(Directory.GetFiles(editor.Folder), Is.Empty);
        }

        [Test]
        public void Every_connection_hears_that_tools_changed()
        {
            using TestClient gateway = Gateway(), stranger = Connect();
            stranger.Ask("ping", new { });
            string before = (string)gateway.Ask("holdfast/tools", new { })["result"]!["revision"]!;
            editor.OnMain(() => editor.Bridge.Info.Tools.Unregister("big"));
            foreach (TestClient client in new[] { gateway, stranger })
            {
                client.Await(m => (string?)m["method"] == "notifications/tools/list_changed");
            }
            JToken after = gateway.Ask("holdfast/tools", new { })["result"]!;
            Assert.That((string)after["revision"]!, Is.Not.EqualTo(before));
            JToken echo = after["tools"]!.Single(t => (string)t["name"]! == "echo");
            Assert.That((bool)echo["parallel"]! && (bool)echo["annotations"]!["readOnlyHint"]!);
            Assert.That((string)after["tools"]!.Single(t => (string)t["name"]! == "guarded")["blocked"]!, Does.EndWith(" is off"));
        }

        [Test]
        public void Two_hundred_calls_at_once_get_one_answer_each()
        {
            using TestClient client = Gateway();
            var open = new HashSet<string>(Enumerable.Range(0, 200).Select(i => Call(client, "m" + i, i % 2 == 0 ? "echo" : "fail")));
            while (open.Count > 0) Assert.That(open.Remove((string)client.NextJson()["id"]!));
        }

        [Test]
        public void Too_many_calls_are_refused_without_having_run()
        {
            using TestClient client = Gateway();
            string[] ids = Enumerable.Range(0, Limits.RequestsPerConnection + 5)
                .Select(i => Call(client, "b" + i, "hold", new { Key = "flood" })).ToArray();
            for (int i = 0; i < 5; i++)
            {
                JObject refused = client.NextJson();
                Assert.That(ErrorType(refused), Is.EqualTo("busy"));
                Assert.That((bool)refused["error"]!["data"]!["ran"]!, Is.False);
            }
            HoldTool.Release("flood");
            for (int i = 0; i < Limits.RequestsPerConnection; i++) Assert.That(client.NextJson()["result"], Is.Not.Null);
            Assert.That(HoldTool.Begun["flood"], Is.EqualTo(Limits.RequestsPerConnection));
        }
    }
}
