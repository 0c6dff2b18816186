#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class PushTests
    {
        private TestEditor editor = null!;
        private TcpListener listener = null!;
        private string endpoint = "";
        private StreamReader? lines;
        private TcpClient? attached;

        [SetUp]
        public void SetUp()
        {
            editor = new TestEditor();
            listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            endpoint = "127.0.0.1:" + ((IPEndPoint)listener.LocalEndpoint).Port;
        }

        [TearDown]
        public void TearDown()
        {
            editor.Dispose();
            attached?.Close();
            listener.Stop();
        }

        private void Attach()
        {
            attached?.Close();
            var accept = listener.AcceptTcpClientAsync();
            Assert.That(accept.Wait(TestEditor.Patience), "the editor did not connect");
            attached = accept.Result;
            attached.ReceiveTimeout = TestEditor.Patience;
            lines = new StreamReader(attached.GetStream(), Encoding.UTF8);
        }

        private JObject Line() => (JObject)Json.Parse(lines!.ReadLine() ?? throw new EndOfStreamException());

        private static (string, long) Brief(JObject line) => ((string)line["type"]!, (long)line["sequence"]!);

        [Test]
        public void What_happens_to_the_editor_is_told_without_a_gap_across_a_reload()
        {
            using var client = new TestClient(editor.Port);
            client.Greet(editor, "g", new { endpoint, token = "t0k" });
            Attach();
            JObject first = Line();
            Assert.That(Brief(first), Is.EqualTo(("CONNECTION_ESTABLISHED", 1L)));
            Assert.That((string)first["token"]!, Is.EqualTo("t0k"));
            Assert.That((string)first["payload"]!["endpoint"]!, Is.EqualTo("localhost:" + editor.Port));
            editor.OnMain(() => editor.Bridge.Info.Tools.Unregister("big"));
            Assert.That(Brief(Line()), Is.EqualTo(("TOOLS_CHANGED", 2L)));
            editor.Reload();
            Assert.That(Brief(Line()), Is.EqualTo(("DOMAIN_RELOAD", 3L)));
            Assert.That(lines!.ReadLine(), Is.Null);
            Attach();
            Assert.That(Brief(Line()), Is.EqualTo(("DOMAIN_RELOAD_RECOVERED", 4L)));
            editor.Stop(StopCause.EditorQuit);
            Assert.That(Brief(Line()), Is.EqualTo(("UNITY_SHUTDOWN", 5L)));
        }

        [TestCase("set-client-name")]
        [TestCase("sendPushNotificationEndpoint")]
        public void A_uloop_client_names_its_listener(string method)
        {
            using var client = new TestClient(editor.Port);
            Assert.That(client.Ask(method, new { ClientName = "cursor", PushNotificationEndpoint = endpoint })["result"], Is.Not.Null);
            Attach();
            JObject first = Line();
            Assert.That(Brief(first), Is.EqualTo(("CONNECTION_ESTABLISHED", 1L)));
            Assert.That(first["token"], Is.Null);
            editor.Stop(StopCause.UserStopped);
            Assert.That(Brief(Line()), Is.EqualTo(("USER_DISCONNECT", 2L)));
        }

        [Test]
        public void A_lost_listener_is_connected_to_again()
        {
            using var client = new TestClient(editor.Port);
            client.Greet(editor, "g", new { endpoint });
            Attach();
            Line();
            Attach();
            Assert.That(Brief(Line()), Is.EqualTo(("CONNECTION_ESTABLISHED", 2L)));
        }

        [TestCase("127.0.0.1:80", true)]
        [TestCase("localhost:65535", true)]
        [TestCase("::1:80", true)]
        [TestCase("127.0.0.1:0", false)]
        [TestCase("127.0.0.1:65536", false)]
        [TestCase("127.0.0.1:+80", false)]
        [TestCase("127.0.0.2:80", false)]
        [TestCase("example.com:80", false)]
        [TestCase("10.0.0.1:80", false)]
        [TestCase("127.0.0.1", false)]
        [TestCase("", false)]
        public void Only_this_machine_is_dialled(string given, bool dialled) =>
            Assert.That(PushClient.Parse(given) != null, Is.EqualTo(dialled));
    }
}
