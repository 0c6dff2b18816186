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
                Assert.That((string)result["value"]!["Message"]!, Is.EqualTo($"A picture of {(int)(800 * factor)} x {(int)(476 * factor)} pixels" +
                    (i == 0 ? ". The window was behind another tab; now it is in front" : "")));
            }
            Assert.That((string)Value(client, "screenshot", new { Source = "Window", Name = "None" })["Message"]!, Does.Contain("there are Game, Scene"), "ours is closed");
        }

        [Test]
        public void An_object_fills_the_picture_from_every_side_and_nothing_else_changes()
        {
            using TestClient client = Greeted();
            Done(client, "edit-game-object", new { Action = "Create", Name = "Box", Shape = "Cube", Position = new[] { 30, 4, -7 } });
            // Behind it from the front, before it from the back.
            Done(client, "edit-game-object", new { Action = "Create", Name = "Wall", Shape = "Cube", Position = new[] { 30, 4, -20 }, Layer = "UI", Scale = new[] { 9, 9, 1 } });
            Done(client, "scene", new { Action = "Save" });
            string[] sides = { "Front", "Back", "Left", "Right", "Top", "Bottom", "Angle" };
            JToken result = client.Await(Send(client, "screenshot", new { Source = "Object", Name = "Box", Sides = sides, Width = 64, Height = 48 }))["result"]!;
            Assert.That((bool)result["value"]!["Success"]!, result.ToString());
            Assert.That(((int)result["value"]!["Width"]!, (int)result["value"]!["Height"]!), Is.EqualTo((64, 48)));
            Assert.That(result["value"]!["Views"]!.Select(v => (string)v["Side"]!), Is.EqualTo(sides));
            foreach (JToken part in result["content"]!)
            {
                Assert.That(Corners(Convert.FromBase64String((string)part["data"]!)), Is.EqualTo(new[] { 0xC0, 0xC0, 0xC0, 0xC0 }), "the box, and not the wall");
            }
            JToken front = result["value"]!["Views"]![0]!;
            Assert.That(front["Position"]!.Take(2).Select(x => (double)x), Is.EqualTo(new[] { 30.0, 4 }));
            Assert.That((double)front["Position"]![2]!, Is.GreaterThan(-6));
            Assert.That((bool)Value(client, "list-scenes", new { })["OpenScenes"]![0]!["IsDirty"]!, Is.False);
            Assert.That((int)Value(client, "counted", new { })["Hidden"]!, Is.Zero);
            Assert.That(Value(client, "get-hierarchy", new { })["hierarchy"]!.Count(), Is.EqualTo(4));
        }

        [Test]
        public void A_part_of_a_prefab_is_seen_where_the_prefab_is_open()
        {
            using TestClient client = Greeted();
            Done(client, "edit-game-object", new { Action = "Create", Name = "Box", Shape = "Cube", Layer = "UI" });
            Done(client, "prefabs", new { Action = "Create", Object = "Box", Path = "Assets/Box.prefab" });
            Assert.That(Refused(client, "screenshot", new { Source = "Object", Name = "Assets/Box.prefab" }), Does.Contain("is a prefab's file"));
            Done(client, "edit-game-object", new { Action = "Change", Object = "Box", Layer = "Default" });
            Done(client, "prefabs", new { Action = "Open", Path = "Assets/Box.prefab" });
            JToken result = client.Await(Send(client, "screenshot", new { Source = "Object", Name = "Box", Width = 16, Height = 16 }))["result"]!;
            Assert.That(Grey(Convert.FromBase64String((string)result["content"]![0]!["data"]!)), Is.EqualTo(0xD0), "the prefab's, and not the one in the scene");
        }

        [Test]
        public void The_game_is_seen_at_each_resolution_with_its_user_interface([Values("", "screenFromTop")] string flag)
        {
            if (flag.Length > 0) Restart("--flag", flag);
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Image", Name = "Health", Anchor = "TopLeft", Position = new[] { 40, -40 }, Size = new[] { 400, 60 }, Color = new[] { 1, 1, 1 } });
            Done(client, "edit-ui", new { Kind = "Image", Name = "Fire", Anchor = "BottomRight", Position = new[] { -40, 40 }, Color = new[] { 0, 0, 0 } });
            // What is held in the middle and lies far below it is not on a low screen.
            Done(client, "edit-ui", new { Kind = "Image", Name = "Lost", Position = new[] { -300, -700 }, Color = new[] { 0.2, 0.2, 0.2 } });
            JToken result = client.Await(Send(client, "screenshot", new { Sizes = new[] { "1280x720", "1920x1080", "1080x1920" }, Width = 640 }))["result"]!;
            Assert.That((string)result["value"]!["Message"]!, Is.EqualTo("3 pictures of 640 x 360 pixels, of 1280 x 720; 640 x 360 pixels, of 1920 x 1080; 360 x 640 pixels, of 1080 x 1920. The window was behind another tab; now it is in front"));
            byte[][] pictures = result["content"]!.Select(part => Convert.FromBase64String((string)part["data"]!)).ToArray();
            Assert.That(pictures.Select(png => (png[18] << 8 | png[19], png[22] << 8 | png[23])), Is.EqualTo(new[] { (640, 360), (640, 360), (360, 640) }));
            foreach (byte[] png in pictures.Take(2)) Assert.That(Corners(png), Is.EqualTo(new[] { 0xFF, 0x80, 0x80, 0x00 }), "each in its corner, and one below the screen");
            Assert.That(Corners(pictures[2]), Is.EqualTo(new[] { 0xFF, 0x80, 0x33, 0x00 }), "in a high one it is seen");
            Assert.That((int)Value(client, "counted", new { })["GameSize"]!, Is.Zero, "the game view has its own resolution again");
            Done(client, "screenshot", new { Sizes = new[] { "4096x2160" }, Width = 64, Region = new[] { 0, 0, 0.25, 0.25 } }, true, "A picture of 1024 x 540 pixels, of 4096 x 2160");
            foreach (var (arguments, says) in new (object, string)[]
            {
                (new { Sizes = new string[0] }, "Sizes has 1 to 6"), (new { Sizes = new[] { "1920" } }, "and 1920 is none"), (new { Sizes = new[] { "1920x9000" } }, "16 to 8192 pixels"),
                (new { Source = "Camera", Sizes = new[] { "1920x1080" } }, "Sizes are for Game only")
            })
            {
                Assert.That(Refused(client, "screenshot", arguments), Does.Contain(says));
            }
        }

        [Test]
        public void A_resolution_that_unity_does_not_draw_is_told()
        {
            Restart("--flag", "smallTextures");
            using TestClient client = Greeted();
            Done(client, "screenshot", new { Sizes = new[] { "640x360", "1920x1080" } }, false, "Unity did not draw the game at 1920 x 1080");
            Assert.That((int)Value(client, "counted", new { })["GameSize"]!, Is.Zero);
        }

        // The window has 800 x 476 points; its quarters have the shades 40, 50, 60, 70.
        [TestCase("[0.5, 0, 0.5, 0.5]", 800, 476, 0x50)]
        [TestCase("[0, 0.5, 0.25, 0.5]", 400, 476, 0x60)]
        [TestCase("[0.75, 0.75, 0.25, 0.25]", 400, 238, 0x70)]
        public void A_part_of_a_window_has_its_full_size(string region, int width, int height, int grey)
        {
            Restart("--flag", "scale200");
            using TestClient client = Greeted();
            JToken result = client.Await(Send(client, "screenshot", JObject.Parse($"{{\"Width\": 100, \"Region\": {region}}}")))["result"]!;
            byte[] png = Convert.FromBase64String((string)result["content"]![0]!["data"]!);
            Assert.That((png[18] << 8 | png[19], png[22] << 8 | png[23]), Is.EqualTo((width, height)));
            Assert.That(Corners(png), Is.EqualTo(new[] { grey, grey, grey, grey }));
            Assert.That((string)result["value"]!["Message"]!, Does.Contain($"A picture of {width} x {height} pixels, of 1600 x 952"));
            Done(client, "screenshot", new { Width = 100 }, true, "A picture of 100 x 59 pixels, of 1600 x 952");
            Done(client, "screenshot", new { Source = "Camera", Width = 64, Height = 48, Region = new[] { 0.5, 0.5, 0.5, 0.5 } }, true, "A picture of 32 x 24 pixels, of 64 x 48");
        }

        [Test]
        public void A_picture_is_never_larger_than_clients_take()
        {
            Restart("--flag", "noisyPictures");
            using TestClient client = Greeted();
            JToken small = client.Await(Send(client, "screenshot", new { Source = "Camera", Width = 1024, Height = 1024 }))["result"]!["content"]!.Single();
            Assert.That((string)small["mimeType"]!, Is.EqualTo("image/png"));
            JToken large = client.Await(Send(client, "screenshot", new { Source = "Camera", Width = 1200, Height = 1200 }))["result"]!["content"]!.Single();
            Assert.That((string)large["mimeType"]!, Is.EqualTo("image/jpeg"));
            Assert.That(Convert.FromBase64String((string)large["data"]!), Has.Length.LessThan(Limits.PictureBytes));
            Done(client, "screenshot", new { Source = "Camera", Width = 2048, Height = 2048 }, false, "ask for a smaller one");
            Done(client, "screenshot", new { Source = "Object", Name = "World", Width = 1400, Height = 1400, Sides = new[] { "Front", "Top" } }, false, "more than 1950000 bytes");
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
            Done(client, "screenshot", new { Source = "Camera", Name = "World" }, false, "World has no camera. There are cameras at Main Camera");
            Done(client, "screenshot", new { Source = "Object", Name = "World" }, true, "Nothing of World is drawn");
            Done(client, "screenshot", new { Source = "Window", Name = "Game" }, true, "was behind another tab");
            Assert.That(Refused(client, "screenshot", new { Source = "Object" }), Does.Contain("Name is missing: the GameObject"));
            Assert.That(Refused(client, "screenshot", new { Source = "Object", Name = "World", Sides = new[] { "Top", "Top" } }), Does.Contain("none twice"));
            Assert.That(Refused(client, "screenshot", new { Source = "Object", Name = "World", Sides = new[] { "Topp" } }), Does.Contain("Sides"));
            Assert.That(Refused(client, "screenshot", new { Source = "Object", Name = "Nobody" }), Does.Contain("No open scene has an object Nobody"));
            foreach (double[] region in new[] { new[] { 0.0, 0, 1 }, new[] { 0, 0, 1.5, 1 }, new[] { 0.5, 0, 0.6, 1 }, new[] { 0.0, 0, 0, 1 } })
            {
                Assert.That(Refused(client, "screenshot", new { Region = region }), Does.Contain("Region must be left, top, width and height"));
            }
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
