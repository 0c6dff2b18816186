#nullable enable
using System.IO;
using System.Linq;
using System.Text;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the tools that work with the project's files, in the simulated editor.</summary>
    public sealed class HostAssetTests : HostBench
    {
        [Test]
        public void Assets_are_created_found_moved_copied_and_deleted()
        {
            using TestClient client = Greeted();
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Art/Wall.mat" }, false, "There is no folder");
            Done(client, "edit-asset", new { Action = "CreateFolder", Path = "Assets/Art" });
            JToken made = Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Art/Wall.mat" });
            Assert.That(((string)made["AssetPath"]!, (string)made["Type"]!), Is.EqualTo(("Assets/Art/Wall.mat", "UnityEngine.Material")));
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Art/Wall.mat" }, false, "it is not replaced");
            Assert.That(Refused(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Art/B.mat", Type = "None" }), Does.Contain("no shader None"));
            Done(client, "edit-asset", new { Action = "CreateScriptableObject", Path = "Assets/Art/Level.asset", Type = "LevelData" });
            Assert.That(Refused(client, "edit-asset", new { Action = "CreateScriptableObject", Path = "Assets/Art/C.asset", Type = "None" }), Does.Contain("no ScriptableObject type None"));
            Done(client, "edit-asset", new { Action = "Copy", Path = "Assets/Art/Wall.mat", Destination = "Assets/Art/Door.mat" });
            Done(client, "edit-asset", new { Action = "Move", Path = "Assets/Art/Door.mat", Destination = "Assets/Door.mat" });
            Done(client, "edit-asset", new { Action = "Move", Path = "Assets/Door.mat", Destination = "Assets/Art/Wall.mat" }, false, "it is not replaced");
            JToken found = Value(client, "find-assets", new { Filter = "t:Material" });
            Assert.That(found["Assets"]!.Select(a => (string)a["Path"]!), Is.EqualTo(new[] { "Assets/Art/Wall.mat", "Assets/Door.mat" }));
            Assert.That((int)Value(client, "find-assets", new { Filter = "t:Material", Folder = "Assets/Art/", MaxResults = 1 })["TotalCount"]!, Is.EqualTo(1));
            Assert.That(Refused(client, "find-assets", new { Folder = "Assets/None" }), Does.Contain("no folder Assets/None"));
            Done(client, "edit-asset", new { Action = "Import", Path = "Assets/Door.mat" });
            Done(client, "edit-asset", new { Action = "Refresh" });
            Value(client, "allow", new { setting = "AllowDeletingAssets" });
            Done(client, "delete-asset", new { Path = "Assets/Art/" });
            Assert.That(Directory.Exists(Path.Combine(project, "Assets", "Art")), Is.False);
            Assert.That(Refused(client, "delete-asset", new { Path = "Assets/Art" }), Does.Contain("no asset Assets/Art"));
        }

        [TestCase("delete-asset", "{\"Path\": \"Assets/\"}", "Path must begin with Assets/")]
        [TestCase("delete-asset", "{\"Path\": \"Assets/../ProjectSettings\"}", "an empty part, or one that begins")]
        [TestCase("edit-asset", "{\"Action\": \"Move\", \"Path\": \"Packages/a/b.cs\", \"Destination\": \"Assets/b.cs\"}", "Path must begin with Assets/")]
        [TestCase("edit-asset", "{\"Action\": \"Copy\", \"Path\": \"Assets/none.mat\", \"Destination\": \"Assets/b.mat\"}", "There is no asset Assets/none.mat")]
        [TestCase("edit-asset", "{\"Action\": \"CreateMaterial\", \"Path\": \"Assets/a.png\"}", "Path must end with .mat")]
        [TestCase("edit-asset", "{\"Action\": \"Refresh\", \"Path\": \"Assets/a.png\"}", "Refresh imports everything")]
        [TestCase("edit-script", "{\"Action\": \"Create\", \"Path\": \"Assets/a.unity\"}", "Path must end with one of .cs")]
        [TestCase("edit-script", "{\"Action\": \"Create\", \"Path\": \"ProjectSettings/a.txt\"}", "Path must begin with Assets/")]
        [TestCase("edit-script", "{\"Action\": \"Replace\", \"Path\": \"Assets/none.cs\", \"Edits\": [{\"OldText\": \"a\", \"NewText\": \"b\"}]}", "There is no file")]
        [TestCase("edit-script", "{\"Action\": \"Replace\", \"Path\": \"Assets/none.cs\"}", "Edits must have 1 to")]
        [TestCase("read-script", "{\"Path\": \"Assets/none.cs\"}", "There is no file Assets/none.cs")]
        [TestCase("read-script", "{\"Path\": \"Packages/com.unity.a/none.cs\"}", "only those that lie in the project's folder")]
        [TestCase("prefabs", "{\"Action\": \"Open\", \"Path\": \"Assets/none.prefab\"}", "There is no prefab Assets/none.prefab")]
        [TestCase("prefabs", "{\"Action\": \"Create\", \"Path\": \"Assets/a.prefab\"}", "Object is empty")]
        public void What_is_no_file_of_the_project_is_refused(string tool, string arguments, string says)
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowDeletingAssets" });
            Assert.That(Refused(client, tool, JObject.Parse(arguments)), Does.Contain(says));
        }

        [Test]
        public void An_open_scene_is_not_deleted()
        {
            File.WriteAllText(Path.Combine(project, "Assets", "SampleScene.unity"), "");
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowDeletingAssets" });
            Done(client, "delete-asset", new { Path = "Assets/SampleScene.unity" }, false, "is open; close it first");
        }

        [TestCase("_Color", "[1, 0.5, 0]", "_Color 1 0.5 0 1")]
        [TestCase("_Color", "{\"r\": 1, \"g\": 0, \"b\": 0, \"a\": 0.5}", "_Color 1 0 0 0.5")]
        [TestCase("_Offset", "[1, 2, 3, 4]", "_Offset 1 2 3 4")]
        [TestCase("_Metallic", "0.5", "_Metallic 0.5")]
        [TestCase("_Mode", "2", "_Mode 2")]
        [TestCase("_MainTex", "\"Assets/Stone.png\"", "_MainTex Stone")]
        [TestCase("_MainTex", "null", "_MainTex none")]
        public void Properties_of_a_material_are_set_by_the_names_of_its_shader(string name, string value, string set)
        {
            File.WriteAllText(Path.Combine(project, "Assets", "Stone.png"), "");
            using TestClient client = Greeted();
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
            if (value == "null") Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { [name] = "Assets/Stone.png" } });
            Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { [name] = JToken.Parse(value) } });
            Assert.That(Title(client), Is.EqualTo(set));
            foreach (JToken wrong in new JToken[] { "red", new JArray(1), new JObject(), true })
            {
                string refusal = Refused(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Metallic"] = 1, [name] = wrong } });
                Assert.That(refusal, Does.Contain(name).Or.Contain("red"));
                Assert.That(Title(client), Is.EqualTo(set), "nothing was changed");
            }
        }

        [Test]
        public void What_follows_from_a_materials_properties_is_set_too()
        {
            using TestClient client = Greeted();
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
            JToken Of(string name) => Value(client, "inspect", new { Object = "Assets/Wall.mat" })["Components"]![0]!["properties"]!.Single(p => (string)p["name"]! == name)["value"]!;
            Assert.That((double)Of("exact"), Is.EqualTo(4));
            Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Mode"] = 2 } });
            Assert.That((double)Of("speed"), Is.EqualTo("_Mode 2".Length), "the shader's own check ran");
            Value(client, "undo", new { Action = "Undo" });
            Assert.That((double)Of("speed"), Is.EqualTo(1.5), "it is part of the step");
            Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Mode"] = 13 } });
            Assert.That(Title(client), Is.EqualTo("_Mode 13"), "an exception in the shader's own check undoes nothing");
        }

        private string Title(TestClient client) => (string)Value(client, "inspect", new { Object = "Assets/Wall.mat" })["Components"]![0]!["properties"]!
            .Single(p => (string)p["name"]! == "title")["value"]!;

        [Test]
        public void A_prefab_is_created_instantiated_edited_applied_and_reverted()
        {
            const string Hero = "Assets/Hero.prefab";
            using TestClient client = Greeted();
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = Hero });
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = Hero }, false, "it is not replaced");
            JToken made = Done(client, "prefabs", new { Action = "Instantiate", Path = Hero, Parent = "World" });
            string id = (string)made["Id"]!;
            Done(client, "edit-game-object", new { Action = "Change", Object = id, Layer = "UI", Name = "Twin" });
            Done(client, "prefabs", new { Action = "Revert", Object = id });
            Assert.That((string)Value(client, "inspect", new { Object = id })["Layer"]!, Is.EqualTo("Default"));
            Done(client, "edit-game-object", new { Action = "Change", Object = id, Layer = "UI" });
            Done(client, "prefabs", new { Action = "Apply", Object = id });
            Assert.That((string)Value(client, "inspect", new { Object = Hero })["Layer"]!, Is.EqualTo("UI"));
            Done(client, "prefabs", new { Action = "Apply", Object = "World" }, false, "no instance of a prefab");
            Done(client, "prefabs", new { Action = "Open", Path = Hero });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Hat" });
            Assert.That((string)Value(client, "inspect", new { Object = "Hero/Hat" })["Name"]!, Is.EqualTo("Hat"), "it is below the prefab's root");
            Done(client, "prefabs", new { Action = "Close" }, false, "has unsaved changes");
            Assert.That(Refused(client, "delete-game-object", new { Object = "Hero" }), Does.Contain("root of a prefab"));
            Assert.That(Refused(client, "edit-game-object", new { Action = "Duplicate", Object = "Hero" }), Does.Contain("root of a prefab"));
            Assert.That(Refused(client, "edit-game-object", new { Action = "Create", Name = "Free", Parent = "/" }), Does.Contain("below its root, Hero"));
            Done(client, "prefabs", new { Action = "Save" });
            Done(client, "prefabs", new { Action = "Close" });
            Done(client, "prefabs", new { Action = "Save" }, false, "No prefab is open");
            Assert.That(Value(client, "inspect", new { Object = Hero })["Children"]!.Select(c => (string)c!), Is.EqualTo(new[] { "Hat" }));
            Assert.That(Refused(client, "edit-game-object", new { Action = "Change", Object = Hero, Name = "X" }), Does.Contain("has the name of its file"));
        }

        [Test]
        public void A_script_is_created_read_and_edited_by_exact_text()
        {
            const string Player = "Assets/Scripts/Player.cs";
            string file = Path.Combine(project, "Assets", "Scripts", "Player.cs");
            using TestClient client = Greeted();
            Assert.That((int)Value(client, "edit-script", new { Action = "Create", Path = Player, Text = "class Player\n{\n    int a;\n    int b;\n}\n" })["TotalLines"]!, Is.EqualTo(5));
            Done(client, "edit-script", new { Action = "Create", Path = Player, Text = "" }, false, "it is not replaced");
            Done(client, "edit-script", Replace(Player, ("int a;", "int c;"), ("int c;\n    int b;", "int d;")), true, "call compile");
            Assert.That(File.ReadAllText(file), Is.EqualTo("class Player\n{\n    int d;\n}\n"));
            Done(client, "edit-script", Replace(Player, ("int d;", "int e;"), ("int x;", "")), false, "OldText is not in Assets/Scripts/Player.cs; read-script shows what is there; it is number 2");
            Done(client, "edit-script", Replace(Player, ("a", "b")), false, "more than once");
            Assert.That(File.ReadAllText(file), Is.EqualTo("class Player\n{\n    int d;\n}\n"), "all edits or none");
            File.WriteAllText(Path.Combine(project, "Assets", "Late.txt"), "\n\nthird\n");
            Assert.That((string)Value(client, "read-script", new { Path = "Assets/Late.txt" })["Text"]!, Does.StartWith("\n\nthird"));
            JToken read = Value(client, "read-script", new { Path = Player, FirstLine = 2, MaxLines = 2 });
            Assert.That(((string)read["Text"]!, (int)read["TotalLines"]!, (int)read["NextLine"]!), Is.EqualTo(("{\n    int d;", 4, 4)));
            Assert.That(Directory.GetFiles(Path.GetDirectoryName(file)), Has.Length.EqualTo(1), "nothing else was left there");
        }

        [Test]
        public void A_script_keeps_its_line_ends_and_its_byte_order_mark()
        {
            string file = Path.Combine(project, "Assets", "A.cs");
            File.WriteAllText(file, "int a;\r\nint b;\r\n", new UTF8Encoding(true));
            using TestClient client = Greeted();
            Done(client, "edit-script", Replace("Assets/A.cs", ("int a;\nint b;", "int ä;\nint c;")));
            Assert.That(File.ReadAllBytes(file), Is.EqualTo(new byte[] { 0xEF, 0xBB, 0xBF }.Concat(Encoding.UTF8.GetBytes("int ä;\r\nint c;\r\n"))));
            File.WriteAllBytes(file, new byte[] { 0x41, 0xFF });
            Assert.That(Refused(client, "read-script", new { Path = "Assets/A.cs" }), Does.Contain("no text in UTF-8"));
            Assert.That(Refused(client, "edit-script", Replace("Assets/A.cs", ("A", "B"))), Does.Contain("no text in UTF-8"));
            Assert.That(() => new TextAsset("\ud800", false).Bytes(), Throws.TypeOf<ToolParameterException>());
        }

        private static object Replace(string path, params (string Old, string New)[] edits) =>
            new { Action = "Replace", Path = path, Edits = edits.Select(e => new { OldText = e.Old, NewText = e.New }).ToArray() };
    }
}
