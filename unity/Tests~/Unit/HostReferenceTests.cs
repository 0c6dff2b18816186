#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests that whatever a tool calls an object is a name by which every tool finds it, in the simulated editor with the real
    /// adapters.
    /// </summary>
    public sealed class HostReferenceTests : HostBench
    {
        private const string Sheet = "Assets/Hero.png";

        private JToken Read(TestClient client, string of, string component, string property) =>
            Value(client, "inspect", new { Object = of, Components = component == "" ? new string[0] : new[] { component } })["Components"]![0]!["properties"]!
                .Single(p => (string)p["name"]! == property)["value"]!;

        private void Set(TestClient client, string of, string property, JToken value, string component = "BoxCollider") =>
            Done(client, "edit-component", new { Action = "Set", Object = of, Component = component, Properties = new JObject { [property] = value } });

        private string Refused(TestClient client, string property, string value) => Refused(client, "edit-component",
            new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = new JObject { [property] = value } });

        private void MakeSheet(params string[] sprites) => File.WriteAllText(Path.Combine(project, "Assets", "Hero.png"), string.Join("\n", sprites));

        [TestCase("target", "World", "World (GameObject, ")]
        [TestCase("body", "World/Player", "World/Player (BoxCollider, ")]
        [TestCase("body", "World/Player (BoxCollider)", "World/Player (BoxCollider, ")]
        [TestCase("body", "World/Player (BoxCollider, 999999)", "World/Player (BoxCollider, ")]
        [TestCase("picture", "Assets/Hero.png#Hero_1", "Assets/Hero.png#Hero_1 (Sprite, ")]
        [TestCase("picture", "Assets/Hero.png#Hero_1 (Sprite)", "Assets/Hero.png#Hero_1 (Sprite, ")]
        [TestCase("paint", "Assets/Wall.mat", "Assets/Wall.mat")]
        [TestCase("paint", "Resources/unity_builtin_extra#Default-Material", "Resources/unity_builtin_extra#Default-Material (Material, ")]
        public void What_is_read_of_a_reference_can_be_written_back(string property, string written, string read)
        {
            MakeSheet("Hero_0", "Hero_1");
            using TestClient client = Greeted();
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
            Set(client, "World/Player", property, written);
            string first = (string)Read(client, "World/Player", "BoxCollider", property)!;
            Assert.That(first, Does.StartWith(read));
            Set(client, "World/Player", property, JValue.CreateNull());
            Set(client, "World/Player", property, first);
            Assert.That((string)Read(client, "World/Player", "BoxCollider", property)!, Is.EqualTo(first));
            // The same text names the object for every other tool.
            Assert.That((string)Value(client, "set-selection", new { Objects = new[] { first } })["Selected"]![0]!["Name"]!, Is.Not.Empty);
            Assert.That((string)Value(client, "inspect", new { Object = first })["Name"]!, Is.Not.Empty);
        }

        [Test]
        public void An_id_of_whatever_object_is_found()
        {
            MakeSheet("Hero_0");
            using TestClient client = Greeted();
            foreach ((string property, string value, string type) in new[]
            {
                ("body", "World/Player", "UnityEngine.BoxCollider"), ("picture", Sheet, "UnityEngine.Sprite"),
                ("paint", "Resources/unity_builtin_extra#Default-Material", "UnityEngine.Material")
            })
            {
                Set(client, "World/Player", property, value);
                string id = ((string)Read(client, "World/Player", "BoxCollider", property)!).Split(' ').Last().TrimEnd(')');
                Assert.That((string)Value(client, "inspect", new { Object = id })["Type"]!, Is.EqualTo(type));
                Set(client, "World/Player", property, id);
            }
            Assert.That(Refused(client, "inspect", new { Object = "999999" }), Does.Contain("No open scene has an object 999999"));
        }

        [Test]
        public void A_component_stands_for_its_game_object_and_can_be_set_by_itself()
        {
            using TestClient client = Greeted();
            const string Body = "World/Player (BoxCollider)";
            Set(client, Body, "title", "second", "");
            Set(client, Body, "speed", 3);
            Assert.That((string)Read(client, "World/Player", "BoxCollider", "title")!, Is.EqualTo("second"));
            JToken seen = Value(client, "inspect", new { Object = Body });
            Assert.That(((string)seen["Path"]!, (string)seen["Type"]!), Is.EqualTo(("World/Player", "UnityEngine.BoxCollider")));
            Assert.That((string)seen["Id"]!, Is.Not.EqualTo((string)Value(client, "inspect", new { Object = "World/Player" })["Id"]!));
            Assert.That((string)Done(client, "edit-game-object", new { Action = "Change", Object = (string)seen["Id"]!, Name = "Knight" })["Path"]!, Is.EqualTo("World/Knight"));
            Assert.That(Refused(client, "edit-component", new { Action = "Set", Object = "World/Knight (BoxCollider)", Component = "Rigidbody", Properties = new { speed = 1 } }),
                Does.Contain("is no Rigidbody"));
            Assert.That(Value(client, "get-hierarchy", new { RootPath = (string)seen["Id"]! })["hierarchy"]!.Count(), Is.EqualTo(1));
        }

        [Test]
        public void The_parts_of_an_asset_are_listed_and_named()
        {
            MakeSheet("Hero_0", "Hero_1", "Hero", "Twin", "Twin");
            using TestClient client = Greeted();
            JToken seen = Value(client, "inspect", new { Object = Sheet });
            Assert.That(seen["Parts"]!.Select(p => $"{p["Name"]} {p["Type"]}"), Is.EqualTo(new[] { "Hero_0 Sprite", "Hero_1 Sprite", "Hero Sprite", "Twin Sprite", "Twin Sprite" }));
            seen = Value(client, "inspect", new { Object = Sheet + "#Hero_1" });
            Assert.That(((string)seen["AssetPath"]!, (string)seen["Type"]!, seen["Parts"]), Is.EqualTo((Sheet + "#Hero_1", "UnityEngine.Sprite", (JToken?)null)));
            // The texture has the name of one of its sprites.
            Assert.That((string)Value(client, "inspect", new { Object = Sheet + "#Hero" })["Type"]!, Is.EqualTo("UnityEngine.Sprite"));
            Assert.That((string)Value(client, "inspect", new { Object = Sheet + "#Hero (Texture2D)" })["Type"]!, Is.EqualTo("UnityEngine.Texture2D"));
            Assert.That(Value(client, "inspect", new { Object = "World" })["Parts"], Is.Null);
            Assert.That(Refused(client, "inspect", new { Object = Sheet + "#None" }), Does.Contain("There is no object Assets/Hero.png#None"));
            MakeSheet(Enumerable.Range(0, 300).Select(i => "S" + i).ToArray());
            seen = Value(client, "inspect", new { Object = Sheet });
            Assert.That((seen["Parts"]!.Count(), (string)seen["Message"]!), Is.EqualTo((100, "The first 100 of 300 parts are listed")));
        }

        [Test]
        public void What_is_ambiguous_is_refused_and_names_the_candidates()
        {
            MakeSheet("Hero_0", "Hero_1", "Twin", "Twin");
            using TestClient client = Greeted();
            string several = Refused(client, "picture", Sheet);
            Assert.That(several, Does.Contain("takes one Sprite of several there: Assets/Hero.png#Hero_0 (Sprite, "));
            string twins = Refused(client, "picture", Sheet + "#Twin");
            Assert.That(twins, Does.StartWith("Several objects are called Assets/Hero.png#Twin (Properties); name one of Assets/Hero.png#Twin (Sprite, "));
            string one = twins.Substring(twins.IndexOf("one of ") + 7).Split(new[] { ", Assets" }, System.StringSplitOptions.None)[0];
            Set(client, "World/Player", "picture", one);
            Assert.That((string)Read(client, "World/Player", "BoxCollider", "picture")!, Is.EqualTo(one));
            Done(client, "edit-component", new { Action = "Add", Object = "World/Player", Component = "BoxCollider" });
            Assert.That(Refused(client, "body", "World/Player"), Does.Contain("takes one BoxCollider of several there: World/Player (BoxCollider, "));
            Assert.That(Refused(client, "body", "World/Player (BoxCollider)"), Does.Contain("name one of World/Player (BoxCollider, "));
        }

        [TestCase("Cube (1)")]
        [TestCase("Cube (Clone)")]
        [TestCase("12345")]
        [TestCase("Tower #3")]
        public void A_name_that_looks_like_a_reference_is_a_name(string name)
        {
            using TestClient client = Greeted();
            JToken made = Done(client, "edit-game-object", new { Action = "Create", Name = name, Parent = "World" });
            Assert.That((string)Value(client, "inspect", new { Object = (string)made["Path"]! })["Id"]!, Is.EqualTo((string)made["Id"]!));
            Done(client, "edit-game-object", new { Action = "Create", Name = name });
            Assert.That((string)Value(client, "inspect", new { Object = name })["Name"]!, Is.EqualTo(name));
        }

        [Test]
        public void What_tools_do_not_see_is_not_found_by_its_id()
        {
            using TestClient client = Greeted();
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = "Assets/Hero.prefab" });
            string id = (string)Value(client, "inspect", new { Object = "World" })["Id"]!;
            Done(client, "prefabs", new { Action = "Open", Path = "Assets/Hero.prefab" });
            Assert.That(Refused(client, "inspect", new { Object = id }), Does.Contain("No open scene"));
            Done(client, "prefabs", new { Action = "Close" });
            Assert.That((string)Value(client, "inspect", new { Object = id })["Name"]!, Is.EqualTo("World"));
        }

        [Test]
        public void A_reference_costs_no_walk_through_the_scenes_and_no_global_id()
        {
            using TestClient client = Greeted();
            Done(client, "batch", new
            {
                Calls = Enumerable.Range(0, 50).Select(i => new { Tool = "edit-game-object", Arguments = new { Action = "Create", Name = "Tree" + i, Parent = "World/Player" } })
            });
            Value(client, "counted", new { });
            Set(client, "World/Player", "target", "World");
            JToken counted = Value(client, "counted", new { });
            Assert.That((int)counted["GlobalIds"]!, Is.EqualTo(1), "only of the object in the result");
            Assert.That((int)counted["Names"]!, Is.LessThan(50), counted.ToString());
        }
    }
}
