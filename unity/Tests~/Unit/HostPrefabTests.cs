#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests of prefabs and their instances, in the simulated editor. Auto Save of Prefab Mode is on there, as it is in a new Unity. The
    /// bench fails each test in which a dialog would have opened.
    /// </summary>
    public sealed class HostPrefabTests : HostBench
    {
        private const string Hero = "Assets/Hero.prefab";

        [Test]
        public void The_root_of_an_open_prefab_is_not_renamed()
        {
            using TestClient client = Opened();
            Assert.That(Refused(client, "edit-game-object", new { Action = "Change", Object = "Hero", Name = "Villain" }),
                Is.EqualTo("The root of a prefab has the name of its file. Close the prefab, then rename the file with edit-asset, Move (Name)"));
            Done(client, "edit-game-object", new { Action = "Change", Object = "Hero", Name = "Hero", Layer = "UI" });
            Frames(client);
        }

        [Test]
        public void Only_the_tool_saves_an_open_prefab([Values("prefabs", "open-as-user")] string opener)
        {
            using TestClient client = Created();
            if (opener == "prefabs") Done(client, opener, new { Action = "Open", Path = Hero });
            else Value(client, opener, new { text = Hero });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Hat" });
            Frames(client);
            Assert.That(Children(client), Is.Empty, "Unity did not save");
            Done(client, "prefabs", new { Action = "Save" });
            Assert.That(Children(client), Is.EqualTo(new[] { "Hat" }));
        }

        [Test]
        public void Changes_that_a_tool_makes_in_another_way_are_not_saved_by_unity_either()
        {
            using TestClient client = Created();
            Value(client, "open-as-user", new { text = Hero });
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "execute-csharp", new
            {
                Code = "var root = UnityEditor.SceneManagement.PrefabStageUtility.GetCurrentPrefabStage().prefabContentsRoot;\n" +
                    "Undo.RecordObject(root, \"x\");\nroot.name = \"Villain\";"
            });
            Frames(client);
            Value(client, "undo", new { Action = "Undo" });
            Frames(client);
        }

        [Test]
        public void Saving_tells_those_who_listen_to_it()
        {
            using TestClient client = Opened();
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "execute-csharp", new
            {
                Code = "UnityEditor.SceneManagement.PrefabStage.prefabSaving += r => SessionState.SetString(\"heard\", \"saving \" + r.name);\n" +
                    "UnityEditor.SceneManagement.PrefabStage.prefabSaved += r => SessionState.SetString(\"heard\", SessionState.GetString(\"heard\", \"\") + \", saved\");"
            });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Hat" });
            Done(client, "prefabs", new { Action = "Save" });
            Assert.That((string)Value(client, "execute-csharp", new { Code = "return SessionState.GetString(\"heard\", \"\");" })["Result"]!, Is.EqualTo("saving Hero, saved"));
        }

        [Test]
        public void Unsaved_changes_of_a_prefab_are_dropped_only_if_this_is_asked_for()
        {
            using TestClient client = Opened();
            Done(client, "edit-game-object", new { Action = "Create", Name = "Hat" });
            Done(client, "prefabs", new { Action = "Close" }, false, "has unsaved changes. Save them, or drop them with Close and Discard");
            Done(client, "prefabs", new { Action = "Close", Discard = true }, true, "Its unsaved changes are gone");
            Assert.That(Children(client), Is.Empty);
            Assert.That(Refused(client, "prefabs", new { Action = "Save", Discard = true }), Does.Contain("Discard is for Close"));
        }

        [Test]
        public void A_prefab_that_cannot_be_saved_is_not_changed()
        {
            Directory.CreateDirectory(Path.Combine(project, "Packages", "com.x"));
            using TestClient client = Created();
            File.Copy(Path.Combine(project, Hero), Path.Combine(project, "Packages", "com.x", "Hero.prefab"));
            Done(client, "prefabs", new { Action = "Open", Path = "Packages/com.x/Hero.prefab" });
            object change = new { Action = "Change", Object = "Hero", Layer = "UI" };
            Done(client, "edit-game-object", change, false, "Packages/com.x/Hero.prefab belongs to a package, so the open prefab is not changed");
            Done(client, "prefabs", new { Action = "Close" });
            File.SetAttributes(Path.Combine(project, Hero), FileAttributes.ReadOnly);
            Done(client, "prefabs", new { Action = "Open", Path = Hero });
            Done(client, "edit-game-object", change, false, "is read-only");
            Done(client, "remove-component", new { Object = "Hero", Component = "BoxCollider" }, false, "is read-only");
            Frames(client);
            Done(client, "prefabs", new { Action = "Close" });
            File.SetAttributes(Path.Combine(project, Hero), FileAttributes.Normal);
        }

        [Test]
        public void A_prefab_gets_no_instance_of_itself()
        {
            using TestClient client = Opened();
            Done(client, "prefabs", new { Action = "Instantiate", Path = Hero }, false, "would contain itself");
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Message"]!, Does.Not.Contain("Instantiate"));
            Frames(client);
        }

        [Test]
        public void A_change_of_an_instance_is_in_the_file_that_is_saved_in_the_same_frame()
        {
            using TestClient client = Created();
            Done(client, "scene", new { Action = "Save", Path = "Assets/SampleScene.unity" });
            JToken batch = Value(client, "batch", new
            {
                Calls = new object[]
                {
                    new { Tool = "edit-game-object", Arguments = new { Action = "Change", Object = "World/Player", Layer = "UI", Position = new[] { 1, 2, 3 } } },
                    new { Tool = "scene", Arguments = new { Action = "Save" } }
                }
            });
            Assert.That((bool)batch["Success"]!, batch.ToString());
            Done(client, "scene", new { Action = "Create", Path = "Assets/Other.unity" });
            Done(client, "scene", new { Action = "Open", Path = "Assets/SampleScene.unity" });
            JToken player = Value(client, "inspect", new { Object = "World/Player" });
            Assert.That((string)player["Layer"]!, Is.EqualTo("UI"));
            Assert.That(Json.Write(player["Position"] ?? player), Does.Contain("1").And.Contain("2").And.Contain("3"));
        }

        [Test]
        public void What_unity_refuses_by_an_exception_is_said_and_taken_back()
        {
            using TestClient client = Created();
            Directory.CreateDirectory(Path.Combine(project, "Assets", "StreamingAssets"));
            Done(client, "prefabs", new { Action = "Create", Object = "Main Camera", Path = "Assets/StreamingAssets/A.prefab" }, false, "Unity refuses: Path is in StreamingAssets");
            File.Delete(Path.Combine(project, Hero));
            Done(client, "edit-asset", new { Action = "Import", Path = "Assets/StreamingAssets" });
            Done(client, "prefabs", new { Action = "Revert", Object = "World/Player" }, false, "Unity refuses: Calling revert");
            Assert.That((string)Value(client, "inspect", new { Object = "World/Player" })["Name"]!, Is.EqualTo("Player"), "what it did before is taken back");
        }

        [Test]
        public void A_file_that_unity_refuses_is_told_of()
        {
            using TestClient client = Greeted();
            File.WriteAllText(Path.Combine(project, "Assets", "Merged.unity"), "<<<<<<< HEAD");
            Done(client, "scene", new { Action = "Open", Path = "Assets/Merged.unity" }, false, "Unity refuses: Scene file 'Assets/Merged.unity' cannot be opened.");
            File.WriteAllText(Path.Combine(project, "Assets", ".locked"), "");
            Done(client, "edit-asset", new { Action = "CreateMaterial", Path = "Assets/New.mat" }, false, "Unity refuses: Creating asset at path Assets/New.mat failed.");
        }

        private TestClient Created()
        {
            TestClient client = Greeted();
            Done(client, "prefabs", new { Action = "Create", Object = "World/Player", Path = Hero });
            return client;
        }

        private TestClient Opened()
        {
            TestClient client = Created();
            Done(client, "prefabs", new { Action = "Open", Path = Hero });
            return client;
        }

        private string[] Children(TestClient client) => Value(client, "inspect", new { Object = Hero })["Children"]!.Select(c => (string)c!).ToArray();

        // Each call takes a frame at least.
        private void Frames(TestClient client)
        {
            for (int i = 0; i < 3; i++) Value(client, "echo", new { text = "frame" });
        }
    }
}
