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
        [TestCase("{}", 800, 476, 0x40)]
        [TestCase("{\"Source\": \"Scene\", \"Width\": 400}", 400, 238, 0x40)]
        [TestCase("{\"Source\": \"Window\", \"Name\": \"game\"}", 800, 476, 0x40)]
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
        public void A_picture_of_a_window_shows_all_of_it_on_every_display(
            [Values("", "scale150", "scale200")] string scale, [Values("", "grabsPixels")] string unit, [Values("", "grabsUpsideDown")] string turned,
            [Values("", "grabsEncoded")] string colours)
        {
            Restart(new[] { scale, unit, turned, colours }.Where(f => f.Length > 0).SelectMany(f => new[] { "--flag", f }).ToArray());
            using TestClient client = Greeted();
            for (int i = 0; i < 2; i++)
            {
                JToken result = client.Await(Send(client, "screenshot", new { Width = 2048 }))["result"]!;
                byte[] png = Convert.FromBase64String((string)result["content"]![0]!["data"]!);
                float factor = scale == "" ? 1 : scale == "scale150" ? 1.5f : 2;
                Assert.That((png[18] << 8 | png[19], png[22] << 8 | png[23]), Is.EqualTo(((int)(800 * factor), (int)(476 * factor))));
                Assert.That(Corners(png), Is.EqualTo(new[] { 0x40, 0x50, 0x60, 0x70 }), "top left, top right, bottom left, bottom right");
                Assert.That((string)result["value"]!["Message"]!, Does.EndWith("pixels"));
            }
            Assert.That((string)Value(client, "screenshot", new { Source = "Window", Name = "None" })["Message"]!, Does.Contain("there are Game, Scene"), "ours is closed");
        }

        [Test]
        public void The_window_with_corners_is_there_once_in_a_session()
        {
            using (TestClient client = Greeted())
            {
                Value(client, "screenshot", new { });
                Assert.That((int)Value(client, "counted", new { })["Popups"]!, Is.EqualTo(1));
                Value(client, "screenshot", new { Source = "Scene" });
                Assert.That((int)Value(client, "counted", new { })["Popups"]!, Is.Zero);
            }
            host.Order("reload");
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Value(after, "screenshot", new { });
            Assert.That((int)Value(after, "counted", new { })["Popups"]!, Is.Zero);
        }

        [Test]
        public void A_picture_that_could_not_be_checked_says_so()
        {
            Restart("--flag", "grabsNothing");
            using TestClient client = Greeted();
            Done(client, "screenshot", new { }, true, "did not let its pictures of windows be checked");
            Done(client, "screenshot", new { Source = "Camera" }, true, "pixels");
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

        // The shade at the top left.
        private static int Grey(byte[] png) => Corners(png)[0];

        // The shades at the top left, top right, bottom left and bottom right.
        private static int[] Corners(byte[] png)
        {
            using var packed = new System.IO.MemoryStream(png, 43, png.Length - 43);
            using var deflated = new System.IO.Compression.DeflateStream(packed, System.IO.Compression.CompressionMode.Decompress);
            using var rows = new System.IO.MemoryStream();
            deflated.CopyTo(rows);
            byte[] all = rows.ToArray();
            int row = 1 + 3 * (png[18] << 8 | png[19]);
            return new int[] { all[1], all[row - 1], all[all.Length - row + 1], all[all.Length - 1] };
        }
    }
}
