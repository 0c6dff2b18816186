#nullable enable
using System;
using System.IO;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>A simulated editor for each test, with the package in it, and calls of its tools.</summary>
    public abstract class HostBench
    {
        protected string project = "";
        internal HostProcess host = null!;
        protected int port;
        protected int seq;

        [SetUp]
        public void SetUp()
        {
            project = Path.Combine(Path.GetTempPath(), "holdfast-host-" + Guid.NewGuid().ToString("N"));
            host = new HostProcess(project);
            port = host.AwaitListening();
            seq = 0;
        }

        [TearDown]
        public void TearDown()
        {
            host.Dispose();
            if (Directory.Exists(project)) Directory.Delete(project, true);
            Assert.That(host.Dialogs, Is.Empty, "a tool was the reason for a dialog");
        }

        private protected void Restart(params string[] flags)
        {
            host.Dispose();
            host = new HostProcess(project, flags);
            port = host.AwaitListening();
        }

        private protected TestClient Greeted()
        {
            var client = new TestClient(port);
            client.Greet(host.Token);
            return client;
        }

        private protected static JToken Outcome(TestClient client, int number)
        {
            JToken outcome = JValue.CreateNull();
            TestEditor.Until(() =>
            {
                var question = new { calls = new[] { new { callId = "call" + number, seq = number } } };
                outcome = client.Ask("holdfast/outcome", question)["result"]!["outcomes"]![0]!;
                return (string)outcome["status"]! == "done";
            });
            return outcome;
        }

        private protected string Send(TestClient client, string tool, object arguments) =>
            client.Post("holdfast/call", new { callId = "call" + ++seq, seq, tool, arguments, timeoutMs = TestEditor.Patience });

        private protected JToken Value(TestClient client, string tool, object arguments)
        {
            JObject answer = client.Await(Send(client, tool, arguments));
            Assert.That(answer["result"], Is.Not.Null, answer.ToString());
            return answer["result"]!["value"]!;
        }

        /// <summary>Calls a tool that says whether it did something. Returns the object that it names.</summary>
        private protected JToken Done(TestClient client, string tool, object arguments, bool success = true, string says = "")
        {
            JToken value = Value(client, tool, arguments);
            Assert.That((bool)value["Success"]!, Is.EqualTo(success), value.ToString());
            Assert.That((string)value["Message"]!, Does.Contain(says));
            return value["Object"] ?? JValue.CreateNull();
        }

        /// <summary>Calls a tool with arguments that it refuses. Returns what it says.</summary>
        private protected string Refused(TestClient client, string tool, object arguments)
        {
            JObject answer = client.Await(Send(client, tool, arguments));
            Assert.That((string?)answer["error"]?["data"]?["type"], Is.EqualTo("invalid_params"), answer.ToString());
            return (string)answer["error"]!["message"]!;
        }
    }
}
