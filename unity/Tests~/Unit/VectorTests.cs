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
    /// <summary>Tests with the literal messages in tests/vectors, which the Rust tests read too.</summary>
    public sealed class VectorTests
    {
        private const string Token = "5f0c3a9e1b7d4826aa90cc31fe27d5580b64e9137fa2486dcd05b1e82a7f93c6";

        private static string Folder => Path.Combine(
            Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY") ??
            throw new InvalidOperationException("HOLDFAST_REPOSITORY names the repository's folder"), "tests", "vectors");

        private static JObject File(string name) =>
            (JObject)Json.Parse(System.IO.File.ReadAllText(Path.Combine(Folder, name), Encoding.UTF8));

        private static IEnumerable<JObject> Vectors(string name) => File(name)["vectors"]!.Cast<JObject>();

        private static TestEditor Editor(JObject file, Action<TestEditor>? more = null)
        {
            JToken env = file["environment"]!;
            return new TestEditor(e =>
            {
                e.Preset("Holdfast.Token", (string)env["token"]!);
                e.Preset("Holdfast.Nonce", (string)env["nonce"]!);
                e.Preset("Holdfast.Generation", "2");
                e.Clock = new TestClock();
                e.Challenge = () => (string)env["editor_challenge"]!;
                e.Identity = e.Identity with { ProjectPath = (string)env["project"]!, ProcessId = (int)env["pid"]! };
                more?.Invoke(e);
            });
        }

        // Returns the editor's and the gateway's proof of the conversations for this port.
        private static (string Editor, string Gateway) ProofsFor(int port)
        {
            JObject file = File("holdfast/greeting.json");
            JToken env = file["environment"]!, hello = file["vectors"]![0]!["means"]!;
            string token = (string)env["token"]!, nonce = (string)env["nonce"]!, project = (string)env["project"]!;
            string own = (string)env["editor_challenge"]!, theirs = (string)hello["challenge"]!;
            return (Proofs.OfEditor(token, theirs, own, nonce, (int)env["pid"]!, project, port),
                Proofs.OfGateway(token, own, theirs, nonce, (string)hello["gateway"]!, port));
        }

        // The proofs cover the port, which the system chooses here.
        private static string WithProofs(string message, int port)
        {
            (string editor, string gateway) = ProofsFor(8711);
            (string newEditor, string newGateway) = ProofsFor(port);
            return message.Replace(editor, newEditor).Replace(gateway, newGateway);
        }

        [Test]
        public void The_proofs_are_those_of_the_vectors()
        {
            JToken vectors = File("holdfast/greeting.json")["vectors"]!;
            Assert.That(ProofsFor(8711), Is.EqualTo(((string)vectors[1]!["means"]!["proof"]!, (string)vectors[2]!["means"]!["proof"]!)));
        }

        [TestCase("greeting")]
        [TestCase("refusals")]
        [TestCase("calls")]
        public void The_bridge_plays_its_side_of_a_conversation_to_the_byte(string name)
        {
            JObject file = File($"holdfast/{name}.json");
            Assert.That((bool)file["conversation"]!);
            using TestEditor editor = Editor(file);
            using var client = new TestClient(editor.Port);
            foreach (JObject vector in file["vectors"]!.Cast<JObject>())
            {
                string body = (string)vector["body"]!;
                if ((string?)vector["direction"] == "to_editor")
                {
                    Assert.That((string)vector["frame"]!, Is.EqualTo(Frame(body)));
                    client.SendRaw(WithProofs((string)vector["frame"]!, editor.Port));
                    continue;
                }
                // Port and revision cannot be fixed in the file: the system chooses the port, and the tools determine the
                // revision.
                string expected = WithProofs(body, editor.Port).Replace("\"port\":8711", "\"port\":" + editor.Port)
                    .Replace("<revision>", editor.Bridge.Parts.Tools.Revision);
                Assert.That(client.Next(), Is.EqualTo(expected), (string)vector["name"]!);
            }
        }

        [Test]
        public void Every_body_of_the_dialect_is_one_message_of_json()
        {
            foreach (string path in Directory.GetFiles(Path.Combine(Folder, "holdfast"), "*.json"))
            {
                foreach (JObject vector in Vectors("holdfast/" + Path.GetFileName(path)))
                {
                    Assert.That(Json.Parse((string)vector["body"]!), Is.InstanceOf<JObject>());
                    if (vector["frame"] != null) Assert.That((string)vector["frame"]!, Is.EqualTo(Frame((string)vector["body"]!)));
                }
            }
        }

        [Test]
        public void Pushes_are_written_as_the_vectors_say()
        {
            JObject file = File("holdfast/push.json");
            var editor = new EditorIdentity { ProjectPath = "/projects/Täst", UnityVersion = "6000.0.78f1" };
            var messages = new Dictionary<string, PushMessage>
            {
                ["connection_established"] = PushMessage.Established,
                ["domain_reload"] = PushMessage.Reload,
                ["domain_reload_recovered"] = PushMessage.Recovered,
                ["tools_changed"] = PushMessage.ToolsChanged(ToolChange.Added, 2, new[] { "echo" }),
                ["user_disconnect"] = PushMessage.Disconnect,
                ["unity_shutdown"] = PushMessage.Shutdown
            };
            foreach (JObject vector in file["vectors"]!.Cast<JObject>())
            {
                string body = (string)vector["body"]!;
                JToken line = Json.Parse(body);
                string written = messages[(string)vector["means"]!["event"]!].ToLine(
                    (long)line["sequence"]!, (string?)line["token"], new TestClock().UtcNow, editor,
                    (string)file["environment"]!["nonce"]!, 8711);
                Assert.That(written, Is.EqualTo(body), (string)vector["name"]!);
            }
        }

        [Test]
        public void The_instance_file_is_written_as_the_vector_says()
        {
            JObject file = File("holdfast/instance.json");
            using TestEditor editor = Editor(file);
            int port = editor.Port;
            string path = Path.Combine(editor.Folder, "instance.json");
            TestEditor.Until(() => System.IO.File.Exists(path));
            string expected = ((string)file["vectors"]![0]!["body"]!).Replace("\"port\":8711", "\"port\":" + port);
            Assert.That(System.IO.File.ReadAllText(path), Is.EqualTo(expected));
            editor.Stop(StopCause.DomainReload);
            Assert.That(System.IO.File.ReadAllText(path), Is.EqualTo(expected.Replace("\"ready\"", "\"reloading\"")));
        }

        [Test]
        public void What_a_uloop_client_sends_is_understood()
        {
            using TestEditor editor = Editor(File("holdfast/calls.json"));
            using var client = new TestClient(editor.Port);
            foreach (JObject vector in Vectors("uloop/requests.json"))
            {
                client.SendRaw((string)vector["frame"]!);
                JObject answer = client.NextJson();
                JToken sent = Json.Parse((string)vector["body"]!);
                Assert.That((string?)answer["id"], Is.EqualTo((string?)sent["id"]));
                string method = (string)sent["method"]!;
                if (method is "set-client-name" or "get-tool-details")
                {
                    Assert.That(answer["result"], Is.Not.Null, method);
                }
                else
                {
                    Assert.That((string?)answer["error"]!["message"], Is.EqualTo("Internal error"));
                    Assert.That((string?)answer["error"]!["data"]!["message"], Is.EqualTo("Unknown tool: " + method));
                }
            }
        }

        private static string Frame(string body) => $"Content-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n{body}";
    }
}
