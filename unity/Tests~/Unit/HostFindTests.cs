#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of finding in the simulated editor.</summary>
    public sealed class HostFindTests : HostBench
    {
        [Test]
        public void What_refers_to_an_asset_is_found_in_open_scenes_and_in_files()
        {
            using TestClient client = Greeted();
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
            Assert.That((int)Referring(client, "Assets/Wall.mat")["totalFound"]!, Is.Zero);
            Done(client, "edit-component", new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = new { paint = "Assets/Wall.mat" } });
            JToken found = Referring(client, "Assets/Wall.mat");
            JToken reference = found["results"]!.Single()["references"]!.Single();
            Assert.That((string)reference["component"]!, Does.StartWith("World/Player (BoxCollider, "));
            Assert.That((string)reference["property"]!, Is.EqualTo("paint"));
            // Both are names that other tools take.
            Done(client, "edit-component", new
            {
                Action = "Set", Object = (string)reference["component"]!, Properties = new JObject { [(string)reference["property"]!] = JValue.CreateNull() }
            });
            Assert.That((int)Referring(client, "Assets/Wall.mat")["totalFound"]!, Is.Zero);
            Done(client, "undo", new { Action = "Undo" });
            Assert.That((int)Referring(client, "Assets/Wall.mat")["totalFound"]!, Is.EqualTo(1));
            JToken files = Value(client, "find-assets", new { ReferencesTo = "Assets/Wall.mat" });
            Assert.That((int)files["TotalCount"]!, Is.Zero);
            Assert.That((string)files["Message"]!, Does.Contain("not the unsaved changes of Assets/SampleScene.unity"));
            Done(client, "scene", new { Action = "Save" });
            files = Value(client, "find-assets", new { ReferencesTo = "Assets/Wall.mat" });
            Assert.That(files["Assets"]!.Select(a => (string)a["Path"]!), Is.EqualTo(new[] { "Assets/SampleScene.unity" }));
            Assert.That((string)files["Message"]!, Does.Not.Contain("unsaved"));
            Assert.That(Refused(client, "find-assets", new { ReferencesTo = "World/Player" }), Does.Contain("find-game-objects finds what refers to it"));
        }

        [Test]
        public void References_outlive_a_reload()
        {
            using (TestClient client = Greeted())
            {
                Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/Wall.mat" });
                Done(client, "edit-component", new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = new { paint = "Assets/Wall.mat", target = "World" } });
                Done(client, "edit-game-object", new { Action = "Create", Name = "Second" });
            }
            host.Order("reload");
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That((string)Referring(after, "Assets/Wall.mat")["results"]!.Single()["path"]!, Is.EqualTo("World/Player"));
            Assert.That((string)Referring(after, "World")["results"]!.Single()["references"]!.Single()["property"]!, Is.EqualTo("target"));
        }

        [Test]
        public void A_reference_to_a_prefab_outlives_a_change_of_its_file_and_a_reload()
        {
            using (TestClient client = Greeted())
            {
                Done(client, "edit-game-object", new { Action = "Create", Name = "Wheel", Shape = "Cube" });
                Done(client, "prefabs", new { Action = "Create", Object = "Wheel", Path = "Assets/Wheel.prefab" });
                Done(client, "delete-game-object", new { Object = "Wheel" });
                Done(client, "edit-component", new { Action = "Set", Object = "World/Player", Component = "BoxCollider", Properties = new { target = "Assets/Wheel.prefab" } });
                Done(client, "edit-component", new { Action = "Set", Object = "Assets/Wheel.prefab", Component = "BoxCollider", Properties = new { speed = 7 } });
                Assert.That((string)Referring(client, "Assets/Wheel.prefab")["results"]!.Single()["path"]!, Is.EqualTo("World/Player"));
                Done(client, "scene", new { Action = "Save" });
                JToken files = Value(client, "find-assets", new { ReferencesTo = "Assets/Wheel.prefab" });
                Assert.That(files["Assets"]!.Select(a => (string)a["Path"]!), Is.EqualTo(new[] { "Assets/SampleScene.unity" }));
            }
            host.Order("reload");
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That((string)Referring(after, "Assets/Wheel.prefab")["results"]!.Single()["references"]!.Single()["property"]!, Is.EqualTo("target"));
        }

        [Test]
        public void Instances_and_files_of_a_prefab_are_found()
        {
            using TestClient client = Greeted();
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = "Assets/Player.prefab" });
            Done(client, "prefabs", new { Action = "Instantiate", Path = "Assets/Player.prefab" });
            JToken found = Referring(client, "Assets/Player.prefab");
            Assert.That(found["results"]!.Select(r => (string)r["references"]!.Single()["property"]!), Is.EqualTo(new[] { "(prefab)", "(prefab)" }));
            Done(client, "scene", new { Action = "Save" });
            JToken files = Value(client, "find-assets", new { ReferencesTo = "Assets/Player.prefab", Filter = "t:Scene" });
            Assert.That((string)files["Assets"]!.Single()["Path"]!, Is.EqualTo("Assets/SampleScene.unity"));
            Done(client, "prefabs", new { Action = "Open", Path = "Assets/Player.prefab" });
            JToken inside = Value(client, "find-game-objects", new { RequiredComponents = new[] { "BoxCollider" } });
            Assert.That(((int)inside["searched"]!, (string)inside["notSearched"]!.Single()!), Is.EqualTo((1, "Assets/SampleScene.unity")));
        }

        [Test]
        public void Missing_scripts_are_found_in_scenes_and_prefabs()
        {
            using TestClient client = Greeted();
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = "Assets/Player.prefab" });
            Assert.That((int)Value(client, "find-assets", new { MissingScripts = true })["TotalCount"]!, Is.Zero);
            Value(client, "lose-script", new { text = "Assets/Player.prefab" });
            Value(client, "lose-script", new { text = "Player" });
            JToken found = Value(client, "find-game-objects", new { MissingScripts = true });
            Assert.That((string)found["results"]!.Single()["path"]!, Is.EqualTo("World/Player"));
            Assert.That(found["results"]![0]!["components"]!.Select(c => (string)c["type"]!), Has.Member("Missing Script"));
            File.WriteAllText(Path.Combine(project, "Assets", "Cave.unity"), "");
            JToken files = Value(client, "find-assets", new { MissingScripts = true });
            JToken asset = files["Assets"]!.Single();
            Assert.That(((string)asset["Path"]!, (string)asset["MissingScripts"]!.Single()!), Is.EqualTo(("Assets/Player.prefab", "Player")));
            Assert.That((string)files["NotLoaded"]!.Single()!, Is.EqualTo("Assets/Cave.unity"));
            Assert.That((string)files["Message"]!, Does.Contain("Loaded 1 prefabs and .asset files for missing scripts, and no scenes"));
        }

        [Test]
        public void Assets_are_found_by_label_page_after_page()
        {
            foreach (string name in new[] { "A", "B", "C" })
            {
                File.WriteAllText(Path.Combine(project, "Assets", name + ".png"), "");
                File.WriteAllText(Path.Combine(project, "Assets", name + ".png.meta"), name == "B" ? "guid: 0\n" : "labels:\n- Hero\n- Big\n");
            }
            using TestClient client = Greeted();
            JToken first = Value(client, "find-assets", new { Filter = "l:Hero t:Texture2D", MaxResults = 1 });
            Assert.That(((int)first["TotalCount"]!, (string)first["NextPage"]!), Is.EqualTo((2, "Assets/A.png")));
            Assert.That(first["Assets"]!.Single()["Labels"]!.Select(l => (string)l!), Is.EqualTo(new[] { "Hero", "Big" }));
            JToken next = Value(client, "find-assets", new { Filter = "l:Hero t:Texture2D", MaxResults = 1, Page = (string)first["NextPage"]! });
            Assert.That(((string)next["Assets"]!.Single()["Path"]!, next["NextPage"]), Is.EqualTo(("Assets/C.png", (JToken?)null)));
            Assert.That(Value(client, "find-assets", new { Filter = "t:Texture2D" })["Assets"]![1]!["Labels"], Is.Null);
        }

        private JToken Referring(TestClient client, string to) => Value(client, "find-game-objects", new { ReferencesTo = to, IncludeProperties = false });
    }
}
