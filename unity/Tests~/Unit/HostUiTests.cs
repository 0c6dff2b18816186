#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of edit-ui, in the simulated editor.</summary>
    public sealed class HostUiTests : HostBench
    {
        private const string Path = "Canvas/Menu/Start";

        [Test]
        public void The_first_element_brings_a_canvas_that_scales_and_one_undo_takes_all_back()
        {
            using TestClient client = Greeted();
            JToken made = Done(client, "edit-ui", new { Kind = "Button", Name = "Start", Anchor = "BottomRight", Position = new[] { -40, 40 }, Text = "Play" }, true,
                "Created Canvas/Start, in a new Canvas, with EventSystem. Its text is of Unity's older kind");
            Assert.That((string)made["Path"]!, Is.EqualTo("Canvas/Start"));
            Assert.That(Types(client, "Canvas"), Is.EqualTo(new[] { "RectTransform", "Canvas", "CanvasScaler", "GraphicRaycaster" }));
            Assert.That(Types(client, "Canvas/Start"), Is.EqualTo(new[] { "RectTransform", "Image", "Button" }));
            Assert.That(Types(client, "Canvas/Start/Text"), Is.EqualTo(new[] { "RectTransform", "Text" }));
            Assert.That(Types(client, "EventSystem"), Is.EqualTo(new[] { "Transform", "EventSystem", "StandaloneInputModule" }));
            Assert.That((Read(client, "Canvas", "Canvas", "m_RenderMode"), Read(client, "Canvas", "CanvasScaler", "m_UiScaleMode"), Read(client, "Canvas", "CanvasScaler", "m_ReferenceResolution")),
                Is.EqualTo(("0", "\"ScaleWithScreenSize\"", "{\"x\":1920.0,\"y\":1080.0}")));
            Assert.That(Rect(client, "Canvas/Start"), Is.EqualTo("1,0 1,0 -40,40 240,60 1,0"));
            Assert.That(Rect(client, "Canvas/Start/Text"), Is.EqualTo("0,0 1,1 0,0 0,0 0.5,0.5"));
            Assert.That(Read(client, "Canvas/Start/Text", "Text", "m_Text"), Is.EqualTo("\"Play\""));
            Assert.That(Read(client, "Canvas/Start", "Image", "m_Sprite"), Does.Contain("UISprite"));
            Assert.That((string)Value(client, "inspect", new { Object = "Canvas/Start/Text" })["Layer"]!, Is.EqualTo("UI"));
            Done(client, "edit-ui", new { Kind = "Button", Anchor = "TopLeft" }, true, "Created Canvas/Button.");
            Done(client, "edit-ui", new { Kind = "Button", Anchor = "TopLeft" }, true, "Created Canvas/Button (1).");
            Assert.That(Value(client, "undo", new { Action = "Undo", Steps = 3 })["Steps"]!.Select(s => (string)s!), Is.EqualTo(new[] { "AI: Create Button", "AI: Create Button", "AI: Create Start" }));
            Assert.That(Value(client, "get-hierarchy", new { })["hierarchy"]!.Select(n => (string)n["name"]!), Has.None.EqualTo("Canvas").And.None.EqualTo("EventSystem"));
            Value(client, "undo", new { Action = "Redo" });
            Assert.That(Read(client, "Canvas/Start/Text", "Text", "m_Text"), Is.EqualTo("\"Play\""));
        }

        [TestCase("TopLeft", "0,1 0,1", "0,1")]
        [TestCase("TopCenter", "0.5,1 0.5,1", "0.5,1")]
        [TestCase("MiddleRight", "1,0.5 1,0.5", "1,0.5")]
        [TestCase("BottomStretch", "0,0 1,0", "0.5,0")]
        [TestCase("StretchLeft", "0,0 0,1", "0,0.5")]
        [TestCase("StretchAll", "0,0 1,1", "0.5,0.5")]
        public void An_anchor_says_where_an_element_is_held(string anchor, string anchors, string pivot)
        {
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Image", Name = "A", Anchor = anchor });
            int x = anchor is "BottomStretch" or "StretchAll" ? 0 : 100, y = anchor is "StretchLeft" or "StretchAll" ? 0 : 100;
            Assert.That(Rect(client, "Canvas/A"), Is.EqualTo($"{anchors} 0,0 {x},{y} {pivot}"));
        }

        [Test]
        public void An_element_is_changed_by_every_name_and_nothing_changed_is_told()
        {
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Panel", Name = "Menu" });
            JToken made = Done(client, "edit-ui", new { Kind = "Button", Name = "Start", Parent = "Canvas/Menu", Position = new[] { 5, 6 } });
            Done(client, "edit-ui", new { Object = (string)made["Id"]!, Text = "Go", FontSize = 40, Color = new[] { 1, 0, 0 } }, true, "Changed " + Path);
            Assert.That(Read(client, Path + "/Text", "Text", "m_FontData"), Does.Contain("\"m_FontSize\":40").And.Contain("Overflow"));
            Assert.That(Read(client, Path, "Image", "m_Color"), Is.EqualTo("{\"r\":1.0,\"g\":0.0,\"b\":0.0,\"a\":1.0}"));
            foreach (object same in new object[]
            {
                new { Object = Path, Text = "Go" }, new { Object = $"{Path} (Button, {(string)Component(client, Path, "Button")})", Color = new[] { 1, 0, 0, 1 } },
                new { Object = (string)made["GlobalId"]!, Anchor = "MiddleCenter" }, new { Object = Path, Size = new[] { 240, 60 }, FontSize = 40 }
            })
            {
                Done(client, "edit-ui", same, true, "Start was like this already; nothing was changed");
            }
            Done(client, "edit-ui", new { Object = Path, Anchor = "StretchAll" });
            Assert.That(Rect(client, Path), Is.EqualTo("0,0 1,1 0,0 0,0 0.5,0.5"));
            Assert.That(Refused(client, "edit-ui", new { Object = Path, Anchor = "TopLeft" }), Does.Contain("Size is missing"));
            Done(client, "edit-ui", new { Object = Path, Anchor = "TopLeft", Size = new[] { 100, 50 } });
            Done(client, "edit-ui", new { Object = "Canvas", Resolution = new[] { 1080, 1920 } });
            Assert.That(Value(client, "undo", new { Action = "Undo", Steps = 4 })["Steps"]!.Select(s => (string)s!),
                Is.EqualTo(new[] { "AI: Change Canvas", "AI: Change Start", "AI: Change Start", "AI: Change Start" }), "what changed nothing is no step");
            Assert.That(Rect(client, Path), Is.EqualTo("0.5,0.5 0.5,0.5 5,6 240,60 0.5,0.5"));
        }

        [Test]
        public void What_cannot_be_is_refused_and_changes_nothing()
        {
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Column", Name = "Menu", Spacing = 20 });
            Done(client, "edit-ui", new { Kind = "Grid", Name = "Cells", Spacing = 4 });
            foreach (var (arguments, says) in new (object, string)[]
            {
                (new { }, "Kind creates an element"),
                (new { Kind = "Image", Object = "Canvas" }, "Kind creates an element"),
                (new { Kind = "Slider" }, "one of Canvas, EventSystem, Panel"),
                (new { Object = "Canvas/Menu", Name = "B" }, "Name and Parent are for a new element"),
                (new { Kind = "Image", Text = "B" }, "Text is for Text, Button, not for Image"),
                (new { Kind = "Canvas", Anchor = "TopLeft" }, "not for Canvas"),
                (new { Kind = "Image", Size = new[] { 1 } }, "Size must be two numbers"),
                (new { Kind = "Image", Color = new[] { 1, 2, 3 } }, "from 0 to 1"),
                (new { Kind = "Text", FontSize = 0 }, "FontSize is from 1"),
                (new { Kind = "Canvas", Resolution = new[] { 0, 1 } }, "Resolution has pixels"),
                (new { Kind = "Image", Parent = "World" }, "World is in no Canvas"),
                (new { Kind = "Image", Parent = "Canvas/Non" }, "No open scene has an object"),
                (new { Kind = "Canvas", Parent = "Canvas/Menu" }, "is in the Canvas Canvas already"),
                (new { Kind = "Button", Parent = "Canvas/Menu", Anchor = "TopLeft" }, "Menu arranges what is below it (VerticalLayoutGroup)"),
                (new { Kind = "Image", Parent = "Canvas/Cells", Size = new[] { 9, 9 } }, "m_CellSize of its GridLayoutGroup"),
                (new { Object = "World", Anchor = "TopLeft" }, "World has no RectTransform"),
                (new { Object = "Canvas/Menu", Text = "B" }, "Menu has no text"),
                (new { Object = "Canvas/Menu", Color = new[] { 1, 1, 1 } }, "Menu has no Image"),
                (new { Object = "Canvas", Spacing = 1 }, "Canvas has no layout group"),
                (new { Object = "Canvas/Menu", Resolution = new[] { 1, 1 } }, "Menu has no CanvasScaler"),
                (new { Object = "Canvas", Anchor = "TopLeft" }, "fills the screen")
            })
            {
                Assert.That(Refused(client, "edit-ui", arguments), Does.Contain(says));
            }
            Assert.That(Value(client, "undo", new { Action = "Undo", Steps = 5 })["Steps"]!.Count(), Is.EqualTo(2), "a refusal is no step");
        }

        [Test]
        public void Layouts_keep_the_sizes_of_what_is_below_them()
        {
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Column", Name = "Menu", Spacing = 20 });
            Done(client, "edit-ui", new { Kind = "Button", Name = "Start", Parent = "Canvas/Menu" });
            Assert.That(Rect(client, Path), Is.EqualTo("0.5,0.5 0.5,0.5 0,0 240,60 0.5,0.5"));
            Assert.That((Read(client, "Canvas/Menu", "VerticalLayoutGroup", "m_Spacing"), Read(client, "Canvas/Menu", "VerticalLayoutGroup", "m_ChildForceExpandWidth"),
                Read(client, "Canvas/Menu", "VerticalLayoutGroup", "m_ChildControlHeight")), Is.EqualTo(("20.0", "false", "false")));
            Done(client, "edit-ui", new { Object = Path, Size = new[] { 300, 90 } });
            Done(client, "edit-ui", new { Object = "Canvas/Menu", Spacing = 8 });
            Done(client, "edit-ui", new { Object = "Canvas/Menu", Spacing = 8 }, true, "nothing was changed");
            Done(client, "edit-ui", new { Kind = "Grid", Name = "Cells", Spacing = 4, Anchor = "MiddleCenter" });
            Assert.That((Rect(client, "Canvas/Cells"), Read(client, "Canvas/Cells", "GridLayoutGroup", "m_Spacing")), Is.EqualTo(("0.5,0.5 0.5,0.5 0,0 400,300 0.5,0.5", "{\"x\":4.0,\"y\":4.0}")));
        }

        [Test]
        public void TextMesh_pro_writes_if_its_resources_are_there()
        {
            Directory.CreateDirectory(System.IO.Path.Combine(project, "Assets", "TextMesh Pro", "Resources"));
            File.WriteAllText(System.IO.Path.Combine(project, "Assets", "TextMesh Pro", "Resources", "TMP Settings.asset"), "TMPro.TMP_Settings");
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Text", Name = "Title", Text = "Hi", FontSize = 80, Color = new[] { 0, 1, 0 } });
            Assert.That(Types(client, "Canvas/Title"), Is.EqualTo(new[] { "RectTransform", "TextMeshProUGUI" }));
            Assert.That((Read(client, "Canvas/Title", "TextMeshProUGUI", "m_text"), Read(client, "Canvas/Title", "TextMeshProUGUI", "m_fontSize"), Read(client, "Canvas/Title", "TextMeshProUGUI", "m_fontColor")),
                Is.EqualTo(("\"Hi\"", "80.0", "{\"r\":0.0,\"g\":1.0,\"b\":0.0,\"a\":1.0}")));
            Done(client, "edit-ui", new { Object = "Canvas/Title", Text = "Hi" }, true, "nothing was changed");
        }

        [Test]
        public void The_event_system_fits_the_input_that_the_project_has_on()
        {
            Restart("--flag", "inputSystem");
            using (TestClient client = Greeted())
            {
                Done(client, "edit-ui", new { Kind = "EventSystem" }, true, "Created EventSystem with UnityEngine.EventSystems.StandaloneInputModule");
                Done(client, "edit-ui", new { Kind = "EventSystem" }, true, "EventSystem is there already, and fits this project's input; nothing was changed");
            }
            host.Dispose();
            Handler(2);
            Restart("--flag", "inputSystem");
            using (TestClient client = Greeted())
            {
                Done(client, "edit-game-object", new { Action = "Create", Name = "EventSystem" });
                Done(client, "edit-component", new { Action = "Add", Object = "EventSystem", Component = "EventSystem" });
                Done(client, "edit-component", new { Action = "Add", Object = "EventSystem", Component = "StandaloneInputModule" });
                Done(client, "edit-ui", new { Kind = "Canvas" }, true, "EventSystem does not fit this project's input: Kind EventSystem mends it");
                Done(client, "edit-ui", new { Kind = "EventSystem" }, true, "EventSystem has UnityEngine.InputSystem.UI.InputSystemUIInputModule now");
                Assert.That(Types(client, "EventSystem"), Is.EqualTo(new[] { "Transform", "EventSystem", "InputSystemUIInputModule" }));
                Value(client, "undo", new { Action = "Undo" });
                Assert.That(Types(client, "EventSystem"), Is.EqualTo(new[] { "Transform", "EventSystem", "StandaloneInputModule" }));
            }
            host.Dispose();
            Handler(1);
            Restart();
            using TestClient last = Greeted();
            Done(last, "edit-ui", new { Kind = "EventSystem" }, true, "com.unity.inputsystem is missing");
        }

        [Test]
        public void Without_the_package_nothing_is_created()
        {
            Restart("--flag", "noUserInterface");
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Canvas" }, false, "no package com.unity.ugui");
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Message"]!, Is.EqualTo("There is no such step"));
        }

        [Test]
        public void A_prefab_has_user_interface_in_its_file_and_while_it_is_open()
        {
            const string File = "Assets/Menu.prefab";
            using TestClient client = Greeted();
            Done(client, "edit-ui", new { Kind = "Panel", Name = "Menu" });
            Done(client, "prefabs", new { Action = "Create", Object = "Canvas/Menu", Path = File });
            JToken made = Done(client, "edit-ui", new { Kind = "Button", Name = "Start", Parent = File, Anchor = "TopLeft" }, true, $"Created {File}/Start");
            Assert.That((string)made["AssetPath"]!, Is.EqualTo(File + "/Start"));
            Assert.That(Rect(client, File + "/Start"), Is.EqualTo("0,1 0,1 0,0 240,60 0,1"));
            Done(client, "edit-ui", new { Object = File + "/Start", Text = "Go" }, true, $"Changed {File}/Start");
            Done(client, "edit-ui", new { Object = File + "/Start", Text = "Go" }, true, "nothing was changed");
            Assert.That(Read(client, Path + "/Text", "Text", "m_Text"), Is.EqualTo("\"Go\""), "the instance follows");
            Value(client, "undo", new { Action = "Undo" });
            Assert.That(Read(client, Path + "/Text", "Text", "m_Text"), Is.EqualTo("\"Start\""));
            Done(client, "prefabs", new { Action = "Open", Path = File });
            Done(client, "edit-ui", new { Kind = "Image", Name = "Icon" }, true, "Created Menu/Icon");
            Done(client, "prefabs", new { Action = "Close", Discard = true });
        }

        [Test]
        public void What_was_made_outlives_a_reload()
        {
            string id;
            using (TestClient client = Greeted())
            {
                Done(client, "edit-ui", new { Kind = "Panel", Name = "Menu" });
                id = (string)Done(client, "edit-ui", new { Kind = "Button", Name = "Start", Parent = "Canvas/Menu", Anchor = "TopStretch", Size = new[] { -40, 60 }, Position = new[] { 0, -20 } })["Id"]!;
                host.Order("reload");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That(Rect(after, id), Is.EqualTo("0,1 1,1 0,-20 -40,60 0.5,1"));
            Done(after, "edit-ui", new { Object = id, Size = new[] { -40, 60 } }, true, "nothing was changed");
            Done(after, "edit-ui", new { Object = Path, Text = "Go" }, true, "Changed " + Path);
        }

        private void Handler(int value)
        {
            Directory.CreateDirectory(System.IO.Path.Combine(project, "ProjectSettings"));
            File.WriteAllText(System.IO.Path.Combine(project, "ProjectSettings", "ProjectSettings.asset"), $"activeInputHandler\tSystem.Int32\t{value}\n");
        }

        private string[] Types(TestClient client, string path) =>
            Value(client, "inspect", new { Object = path })["Components"]!.Select(c => (string)c["type"]!).ToArray();

        private string Read(TestClient client, string path, string component, string property) =>
            Value(client, "inspect", new { Object = path, Components = new[] { component } })["Components"]!.Single()["properties"]!
                .Single(p => (string)p["name"]! == property)["value"]!.ToString(Newtonsoft.Json.Formatting.None);

        private string Component(TestClient client, string path, string component) =>
            System.Text.RegularExpressions.Regex.Match((string)Done(client, "edit-component", new { Action = "Set", Object = $"{path} ({component})", Properties = new { m_Interactable = true } })["Id"]!, @"\d+").Value;

        private string Rect(TestClient client, string path) => string.Join(" ", new[] { "m_AnchorMin", "m_AnchorMax", "m_AnchoredPosition", "m_SizeDelta", "m_Pivot" }
            .Select(name => JToken.Parse(Read(client, path, "RectTransform", name))).Select(v => $"{(float)v["x"]!},{(float)v["y"]!}"));
    }
}
