#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the tools that change a scene, in the simulated editor.</summary>
    public sealed class HostEditTests : HostBench
    {
        [Test]
        public void A_game_object_is_created_changed_and_undone()
        {
            using TestClient client = Greeted();
            JToken made = Done(client, "edit-game-object", new
            {
                Action = "Create", Name = "Wall", Shape = "Cube", Parent = "World", Position = new[] { 1, 2, 3 }, Tag = "MainCamera", Layer = "UI", Active = false
            });
            Assert.That((string)made["Path"]!, Is.EqualTo("World/Wall"));
            JToken seen = Value(client, "inspect", new { Object = (string)made["GlobalId"]! });
            Assert.That(((string)seen["Tag"]!, (string)seen["Layer"]!, (bool)seen["ActiveSelf"]!), Is.EqualTo(("MainCamera", "UI", false)));
            Assert.That(seen["Components"]!.Select(c => (string)c["type"]!), Is.EqualTo(new[] { "Transform", "MeshRenderer", "BoxCollider" }));
            made = Done(client, "edit-game-object", new { Action = "Change", Object = "World/Wall", Name = "Door", Parent = "/", Active = true });
            Assert.That((string)made["Path"]!, Is.EqualTo("Door"));
            JToken twin = Done(client, "edit-game-object", new { Action = "Duplicate", Object = (string)made["Id"]!, Name = "Gate" });
            Assert.That((string)twin["Path"]!, Is.EqualTo("Gate"));
            JToken undone = Value(client, "undo", new { Action = "Undo", Steps = 3 });
            Assert.That(undone["Steps"]!.Select(s => (string)s!), Is.EqualTo(new[] { "AI: Duplicate Gate", "AI: Change Door", "AI: Create Wall" }));
            Assert.That(Refused(client, "inspect", new { Object = "World/Wall" }), Does.Contain("No open scene"));
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Message"]!, Is.EqualTo("There is no such step"));
            Value(client, "undo", new { Action = "Redo", Steps = 2 });
            Assert.That((bool)Value(client, "inspect", new { Object = "Door" })["ActiveSelf"]!);
        }

        [Test]
        public void What_is_like_this_already_is_told_and_is_no_step()
        {
            using TestClient client = Greeted();
            Done(client, "edit-game-object", new { Action = "Create", Name = "Wall", Parent = "World", Position = new[] { 1, 2, 3 }, Rotation = new[] { 0, 90, 0 }, Tag = "MainCamera", Layer = "UI" });
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
            Done(client, "scene", new { Action = "Save" });
            foreach (object same in new object[]
            {
                new { Action = "Change", Object = "World/Wall" }, new { Action = "Change", Object = "World/Wall", Name = "Wall", Active = true, Tag = "MainCamera", Layer = "UI" },
                new { Action = "Change", Object = "World/Wall", Position = new[] { 1, 2, 3 }, Rotation = new[] { 0, 90, 0 }, Scale = new[] { 1, 1, 1 } },
                new { Action = "Change", Object = "World/Wall", Position = new[] { 1, 2, 3 }, InWorld = true }, new { Action = "Change", Object = "World/Wall", Parent = "World", SiblingIndex = 1 },
                new { Action = "Change", Object = "World", Parent = "Assets/SampleScene.unity" }
            })
            {
                Done(client, "edit-game-object", same, true, "was like this already; nothing was changed");
            }
            Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Color"] = new JArray(1, 1, 1), ["_Metallic"] = 0, ["_Mode"] = 0, ["_MainTex"] = null } }, true,
                "Wall had _Color, _Metallic, _Mode, _MainTex like this already; nothing was changed");
            Assert.That((bool)Value(client, "list-scenes", new { })["OpenScenes"]![0]!["IsDirty"]!, Is.False);
            Done(client, "edit-game-object", new { Action = "Change", Object = "World/Wall", SiblingIndex = 0 }, true, "Changed World/Wall");
            Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Color"] = new JArray(1, 1, 1), ["_Metallic"] = 0.5 } }, true, "Set _Color, _Metallic of Wall");
            Assert.That(Value(client, "undo", new { Action = "Undo", Steps = 3 })["Steps"]!.Select(s => (string)s!), Is.EqualTo(new[] { "AI: Set Wall", "AI: Change Wall", "AI: Create Wall" }));
        }

        [Test]
        public void No_call_of_a_batch_runs_if_one_has_an_argument_that_is_not_known()
        {
            using TestClient client = Greeted();
            var good = new { Tool = "edit-game-object", Arguments = new { Action = "Create", Name = "A" } };
            var bad = new { Tool = "edit-game-object", Arguments = new { Action = "Create", Name = "B", Positon = new[] { 1, 2, 3 } } };
            Assert.That(Refused(client, "batch", new { Calls = new object[] { good, bad } }),
                Is.EqualTo("edit-game-object has no argument Positon; did you mean Position? (Calls, number 2)"));
            Assert.That(Refused(client, "batch", new { Calls = new object[] { new { good.Tool, Args = new { } } } }), Does.Contain("Calls[0].Args"));
            Assert.That(Refused(client, "inspect", new { Object = "A" }), Does.Contain("No open scene"));
            Value(client, "edit-component", new { Action = "Set", Object = "World", Component = "Transform", Properties = new { m_LocalScale = new[] { 1, 2, 3 } } });
        }

        [Test]
        public void What_a_game_object_cannot_be_is_refused_and_changes_nothing()
        {
            using TestClient client = Greeted();
            foreach (var (arguments, says) in new (object, string)[]
            {
                (new { Action = "Create" }, "Name is missing"),
                (new { Action = "Create", Name = " " }, "Name is missing"),
                (new { Action = "Create", Name = "A", Tag = "Nobody" }, "has no tag Nobody (Tag); it has Untagged"),
                (new { Action = "Create", Name = "A", Layer = "Nowhere" }, "has no layer Nowhere"),
                (new { Action = "Create", Name = "A", Position = new[] { 1, 2 } }, "Position must be three numbers"),
                (new { Action = "Create", Name = "A", Position = new object[] { 1, 2, "3" } }, "Position[2] of edit-game-object must be a number, not \"3\""),
                (new { Action = "Create", Name = "A", Positon = new[] { 1, 2, 3 } }, "edit-game-object has no argument Positon; did you mean Position?"),
                (new { Action = "Create", Name = "A", Scale = new[] { 1, 2, 1e300 } }, "Scale must be three numbers"),
                (new { Action = "Create", Name = "A", Parent = "Nobody" }, "No open scene has an object Nobody (Parent)"),
                (new { Action = "Change", Object = "World", Parent = "World/Player" }, "lies below World itself"),
                (new { Action = "Change", Object = "World", SiblingIndex = -1 }, "must not be negative"),
                (new { Action = "Change", Object = "World", Shape = "Cube" }, "Shape is for Create"),
                (new { Action = "Change", Object = "Assets/None.prefab" }, "There is no object Assets/None.prefab")
            })
            {
                Assert.That(Refused(client, "edit-game-object", arguments), Does.Contain(says));
            }
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Message"]!, Is.EqualTo("There is no such step"));
        }

        [Test]
        public void A_deleted_game_object_comes_back_with_undo()
        {
            using TestClient client = Greeted();
            JToken deleted = Value(client, "delete-game-object", new { Object = "World/Player" });
            Assert.That((string)deleted["Message"]!, Is.EqualTo("Deleted World/Player"));
            Assert.That(Refused(client, "delete-game-object", new { Object = "World/Player" }), Does.Contain("No open scene"));
            Value(client, "undo", new { Action = "Undo" });
            Assert.That((string)Value(client, "inspect", new { Object = "World/Player" })["Name"]!, Is.EqualTo("Player"));
        }

        [Test]
        public void Components_are_added_set_and_removed()
        {
            using TestClient client = Greeted();
            object wrong = new { Action = "Add", Object = "World/Player", Component = "Rigidbody", Properties = new JObject { ["title"] = 5 } };
            Assert.That(Refused(client, "edit-component", wrong), Does.Contain("title takes a text"));
            Assert.That((int)Value(client, "inspect", new { Object = "World/Player" })["Components"]!.Count(), Is.EqualTo(2), "the component was taken back");
            Done(client, "edit-component", new
            {
                Action = "Add", Object = "World/Player", Component = "Rigidbody",
                Properties = new JObject
                {
                    ["speed"] = 2.5, ["size"] = new JObject { ["y"] = 7 }, ["huge"] = ulong.MaxValue - 1, ["side"] = "Right", ["letter"] = "y",
                    ["items"] = new JArray(4, 5), ["wave.title"] = "second", ["last"] = false, ["target"] = "World"
                }
            });
            JToken body = Value(client, "inspect", new { Object = "World/Player", Components = new[] { "Rigidbody" } })["Components"]![0]!;
            JToken Of(string name) => body["properties"]!.Single(p => (string)p["name"]! == name)["value"]!;
            Assert.That((double)Of("speed"), Is.EqualTo(2.5));
            Assert.That((double)Of("size")["y"]!, Is.EqualTo(7));
            Assert.That(Json.Write(Of("huge")), Is.EqualTo("18446744073709551614"));
            Assert.That(((string)Of("side")!, (string)Of("letter")!, (bool)Of("last")), Is.EqualTo(("Right", "y", false)));
            Assert.That(Json.Write(Of("items")), Is.EqualTo("[4,5]"));
            Assert.That((string)Of("wave")["title"]!, Is.EqualTo("second"));
            Assert.That((string)Of("target")!, Does.StartWith("World (GameObject"));
            Done(client, "edit-component", new { Action = "Add", Object = "World/Player", Component = "Rigidbody" }, false, "has a Rigidbody already, and may have only one");
            Done(client, "remove-component", new { Object = "World/Player", Component = "Rigidbody" });
            Assert.That(Refused(client, "remove-component", new { Object = "World/Player", Component = "Rigidbody" }), Does.Contain("it has Transform, BoxCollider"));
            Assert.That(Refused(client, "remove-component", new { Object = "World/Player", Component = "Transform" }), Does.Contain("Every GameObject has a Transform"));
        }

        [TestCase("speed", "\"fast\"", "speed takes a number")]
        [TestCase("speed", "1e300", "not too large")]
        [TestCase("huge", "-1", "takes a whole number from 0 to 18446744073709551615")]
        [TestCase("side", "\"Middle\"", "takes one of None, Left, Right")]
        [TestCase("letter", "\"xy\"", "takes one character")]
        [TestCase("size", "[1, 2]", "size has 3 parts: x, y, z")]
        [TestCase("size", "{\"w\": 1}", "size has no part w, but x, y, z")]
        [TestCase("size", "5", "takes an object or a list with x, y, z")]
        [TestCase("items", "5", "items takes a list")]
        [TestCase("target", "\"World/Nobody\"", "No open scene has an object World/Nobody (Properties)")]
        [TestCase("target", "\"Assets/SampleScene.unity\"", "takes a GameObject, which the object neither is nor has")]
        [TestCase("m_Surface", "\"World\"", "takes a NativeSurface, which the object neither is nor has")]
        [TestCase("hash", "\"1\"", "a kind of value that cannot be set")]
        [TestCase("m_Script", "null", "cannot be changed")]
        [TestCase("nothingLikeIt", "1", "BoxCollider has no property nothingLikeIt; inspect shows the names")]
        [TestCase("speeed", "1", "BoxCollider has no property speeed, but speed; inspect")]
        [TestCase("size.w", "1", "BoxCollider has no property size.w, but ")]
        public void A_value_that_a_property_does_not_take_is_refused(string property, string value, string says)
        {
            System.IO.File.WriteAllText(System.IO.Path.Combine(project, "Assets", "SampleScene.unity"), "");
            using TestClient client = Greeted();
            Assert.That(Refused(client, "edit-component", new
            {
                Action = "Set", Object = "World/Player", Component = "BoxCollider",
                Properties = new JObject { ["last"] = false, [property] = JToken.Parse(value) }
            }), Does.Contain(says));
            JToken collider = Value(client, "inspect", new { Object = "World/Player", Components = new[] { "BoxCollider" } })["Components"]![0]!;
            Assert.That((bool)collider["properties"]!.Single(p => (string)p["name"]! == "last")["value"]!, "nothing was changed");
        }

        [Test]
        public void A_step_has_its_name_and_all_that_belongs_to_it_and_nothing_else()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "edit-as-user", new { text = "World" });
            Done(client, "edit-game-object", new { Action = "Change", Object = "World/Player", Layer = "UI", Position = new[] { 1, 2, 3 } });
            string Layer() => (string)Value(client, "inspect", new { Object = "World/Player" })["Layer"]!;
            JToken undone = Value(client, "undo", new { Action = "Undo" });
            Assert.That(((string)undone["Steps"]![0]!, Layer()), Is.EqualTo(("AI: Change Player", "Default")));
            Assert.That((string)Value(client, "inspect", new { Object = "World" })["Layer"]!, Is.EqualTo("UI"), "what the user did is another step");
            Value(client, "undo", new { Action = "Redo" });
            Assert.That(Layer(), Is.EqualTo("UI"));
            Value(client, "execute-csharp", new { Code = "var one = GameObject.CreatePrimitive(PrimitiveType.Cube);\nUndo.RegisterCreatedObjectUndo(one, \"x\");\nUndo.RecordObject(one, \"x\");\none.name = \"Box\";" });
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Steps"]![0]!, Is.EqualTo("AI: code"));
            Assert.That(Refused(client, "inspect", new { Object = "Box" }), Does.Contain("No open scene"));
        }

        [Test]
        public void An_event_without_a_step_is_no_step()
        {
            Restart("--flag", "undoTellsAlways");
            using TestClient client = Greeted();
            Done(client, "edit-game-object", new { Action = "Change", Object = "World", Layer = "UI" });
            JToken undone = Value(client, "undo", new { Action = "Undo", Steps = 5 });
            Assert.That(undone["Steps"]!.Select(s => (string)s!), Is.EqualTo(new[] { "AI: Change World" }));
            Assert.That((string)undone["Message"]!, Does.EndWith("there are no more steps"));
        }

        [Test]
        public void The_place_among_siblings_is_set_and_undone()
        {
            using TestClient client = Greeted();
            Done(client, "edit-game-object", new { Action = "Create", Name = "Second", Parent = "World" });
            Done(client, "edit-game-object", new { Action = "Change", Object = "World/Second", SiblingIndex = 0 });
            string Children() => string.Join(" ", Value(client, "inspect", new { Object = "World" })["Children"]!.Select(c => (string)c!));
            Assert.That(Children(), Is.EqualTo("Second Player"));
            Value(client, "undo", new { Action = "Undo" });
            Assert.That(Children(), Is.EqualTo("Player Second"));
            Value(client, "undo", new { Action = "Redo" });
            Assert.That(Children(), Is.EqualTo("Second Player"));
            Done(client, "edit-game-object", new { Action = "Change", Object = "World", SiblingIndex = 0 });
        }

        [Test]
        public void A_new_object_is_as_its_parent_wants_it()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "execute-csharp", new { Code = "var canvas = new GameObject(\"Canvas\", typeof(RectTransform));\ncanvas.layer = LayerMask.NameToLayer(\"UI\");\ncanvas.transform.localScale = new Vector3(2, 2, 2);" });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Button", Parent = "Canvas" });
            JToken made = Value(client, "inspect", new { Object = "Canvas/Button" });
            Assert.That((string)made["Components"]![0]!["type"]!, Is.EqualTo("RectTransform"));
            Assert.That((string)made["Layer"]!, Is.EqualTo("UI"));
            Done(client, "edit-game-object", new { Action = "Create", Name = "Cube", Shape = "Cube", Parent = "Canvas", Layer = "Default" });
            JToken cube = Value(client, "inspect", new { Object = "Canvas/Cube" });
            Assert.That(((string)cube["Components"]![0]!["type"]!, (string)cube["Layer"]!), Is.EqualTo(("Transform", "Default")));
        }

        [Test]
        public void What_is_changed_while_the_game_runs_is_said_to_be_lost()
        {
            Restart("--flag", "noDomainReload");
            File.WriteAllText(Path.Combine(project, "Assets", "Wall.mat"), "Standard");
            using TestClient client = Greeted();
            host.Order("play on");
            host.Await("done");
            Done(client, "edit-game-object", new { Action = "Create", Name = "A" }, true, "Created A. The game runs: what changed in the scene is lost when it stops");
            Done(client, "edit-component", new { Action = "Add", Object = "A", Component = "Rigidbody" }, true, "is lost when it stops");
            JToken value = Value(client, "edit-component", new { Action = "Set", Object = "Assets/Wall.mat", Properties = new JObject { ["_Mode"] = 1 } });
            Assert.That((string)value["Message"]!, Does.Not.Contain("lost"), "a file stays");
            Assert.That(Refused(client, "inspect", new { Object = "GlobalObjectId_V1-2-00000000000000000000000000000000-999-0" }),
                Does.EndWith("While the game runs, objects of a prefab's instance have other GlobalObjectIds: name it by its path"));
        }

        [TestCase("Speed", "2.5", "speed")]
        [TestCase("surface", "\"Assets/Stone.png\"", "m_Surface")]
        [TestCase("Size.y", "2.5", "size")]
        public void A_property_is_found_by_the_name_that_scripts_use(string name, string value, string property)
        {
            File.WriteAllText(Path.Combine(project, "Assets", "Stone.png"), "");
            using TestClient client = Greeted();
            Done(client, "edit-component", new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = new JObject { [name] = JToken.Parse(value) } });
            JToken collider = Value(client, "inspect", new { Object = "World/Player", Components = new[] { "BoxCollider" }, IncludeHidden = true })["Components"]![0]!;
            Assert.That(Json.Write(collider["properties"]!.Single(p => (string)p["name"]! == property)["value"]!), Does.Contain("2.5").Or.Contain("Stone"));
        }

        [TestCase("World/Player", "Rigidbody2D", "Player has a Rigidbody; physics of 2D and of 3D")]
        [TestCase("World/Player", "Rigidbody", "Player has a Rigidbody already, and may have only one")]
        [TestCase("World/Player", "OnlyOne", "Player has a OnlyOne already, and may have only one")]
        public void A_component_that_unity_would_ask_about_is_refused(string one, string type, string says)
        {
            using TestClient client = Greeted();
            foreach (string first in new[] { "Rigidbody", "OnlyOne" }) Done(client, "edit-component", new { Action = "Add", Object = one, Component = first });
            Done(client, "edit-component", new { Action = "Add", Object = one, Component = type }, false, says);
            Done(client, "edit-component", new { Action = "Add", Object = one, Component = "BoxCollider" });
        }

        [Test]
        public void The_selection_is_set_and_read()
        {
            using TestClient client = Greeted();
            Assert.That((int)Value(client, "set-selection", new { Objects = new[] { "World", "World/Player" } })["SelectedCount"]!, Is.EqualTo(2));
            JToken selected = Value(client, "get-selection", new { });
            Assert.That(selected["Selected"]!.Select(o => (string)o["Path"]!), Is.EqualTo(new[] { "World", "World/Player" }));
            Assert.That(Refused(client, "set-selection", new { Objects = new[] { "World", "" } }), Does.Contain("Objects is empty"));
            Assert.That((int)Value(client, "set-selection", new { Objects = new string[0] })["SelectedCount"]!, Is.Zero);
        }

        [Test]
        public void What_was_changed_is_there_after_a_reload()
        {
            using (TestClient client = Greeted())
            {
                Done(client, "edit-game-object", new { Action = "Create", Name = "Lasting" });
                host.Order("reload");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That((string)Value(after, "inspect", new { Object = "Lasting" })["Name"]!, Is.EqualTo("Lasting"));
        }
    }
}
