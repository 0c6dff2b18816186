#nullable enable
using System;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of pictures, in the simulated editor.</summary>
    public sealed class HostScreenTests : HostBench
    {
        // The scene view is in front at first, so the game view has to be shown.
        [TestCase("{}", 800, 450, 0x40)]
        [TestCase("{\"Source\": \"Scene\", \"Width\": 400}", 400, 225, 0x40)]
        [TestCase("{\"Source\": \"Window\", \"Name\": \"game\"}", 800, 450, 0x40)]
        [TestCase("{\"Source\": \"Camera\", \"Width\": 64, \"Height\": 48}", 64, 48, 0x80)]
        [TestCase("{\"Source\": \"Camera\", \"Name\": \"Main Camera\", \"Width\": 16, \"Height\": 16}", 16, 16, 0x80)]
        public void A_picture_is_content_of_its_own(string arguments, int width, int height, int grey)
        {
            using TestClient client = Greeted();
            JToken result = client.Await(Send(client, "screenshot", JObject.Parse(arguments)))["result"]!;
            Assert.That((bool)result["value"]!["Success"]!, result.ToString());
            Assert.That(result["value"]!["Content"], Is.Null, "the picture is there only once");
            JToken part = result["content"]!.Single();
            Assert.That(((string)part["type"]!, (string)part["mimeType"]!), Is.EqualTo(("image", "image/png")));
            byte[] png = Convert.FromBase64String((string)part["data"]!);
            Assert.That(png.Take(4), Is.EqualTo(new byte[] { 0x89, 0x50, 0x4E, 0x47 }));
            Assert.That((png[18] << 8 | png[19], png[22] << 8 | png[23]), Is.EqualTo((width, height)));
            Assert.That(Grey(png), Is.EqualTo(grey), "it was drawn before");
        }

        [Test]
        public void What_cannot_be_seen_is_said()
        {
            using TestClient client = Greeted();
            Done(client, "screenshot", new { Source = "Window", Name = "None" }, false, "No window None is open; there are Game, Scene");
            Done(client, "screenshot", new { Source = "Camera", Name = "World" }, false, "World has no camera");
            Done(client, "edit-game-object", new { Action = "Change", Object = "Main Camera", Active = false });
            Done(client, "screenshot", new { Source = "Camera" }, false, "No camera has the tag MainCamera");
            Assert.That(Refused(client, "screenshot", new { Width = 5000 }), Does.Contain("must be 16 to 2048"));
            Assert.That(Refused(client, "screenshot", new { Source = "Window" }), Does.Contain("Name is missing"));
        }

        [Test]
        public void An_editor_without_graphics_says_so()
        {
            Restart("--flag", "noGraphics");
            using TestClient client = Greeted();
            Done(client, "screenshot", new { }, false, "-nographics");
        }

        // The first byte of the picture, behind the filter of its first row.
        private static int Grey(byte[] png)
        {
            using var packed = new System.IO.MemoryStream(png, 43, png.Length - 43);
            using var rows = new System.IO.Compression.DeflateStream(packed, System.IO.Compression.CompressionMode.Decompress);
            rows.ReadByte();
            return rows.ReadByte();
        }
    }
}
