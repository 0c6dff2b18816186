#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the project's settings and of import settings, in the simulated editor.</summary>
    public sealed class HostSettingsTests : HostBench
    {
        private const string Tags = "ProjectSettings/TagManager.asset", Build = "ProjectSettings/EditorBuildSettings.asset", Stone = "Assets/Stone.png";

        private object Setting(string file, string property, JToken value) =>
            new { Action = "Set", Object = file, Properties = new JObject { [property] = value } };

        private object Import(string property, JToken value, string of = Stone) =>
            new { Action = "Set", Object = of, Importer = true, Properties = new JObject { [property] = value } };

        private JToken Read(TestClient client, string of, string property, bool importer = false) =>
            Value(client, "inspect", new { Object = of, Importer = importer })["Components"]![0]!["properties"]!.Single(p => (string)p["name"]! == property)["value"]!;

        private string Undo(TestClient client, string action = "Undo") => string.Join(", ", Value(client, "undo", new { Action = action })["Steps"]!);

        private TestClient Allowed()
        {
            TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowProjectSettings" });
            return client;
        }

        [Test]
        public void Settings_are_read_by_everybody_and_changed_only_if_the_user_allows_it()
        {
            using TestClient client = Greeted();
            Assert.That(Read(client, Tags, "tags").Count(), Is.Zero);
            Assert.That(Refused(client, "edit-component", Setting(Tags, "tags", new JArray("Enemy"))), Is.EqualTo(
                Tags + " may not be changed in this project: AllowProjectSettings is off. Only the user can allow it, in Window > Holdfast; do not look for a way around it"));
            Assert.That(Refused(client, "inspect", new { Object = "ProjectSettings/None.asset" }), Does.Contain("There is no object ProjectSettings/None.asset"));
            Assert.That(Refused(client, "inspect", new { Object = "ProjectSettings/../Assets/Stone.png" }), Does.Contain("There is no object"));
            Value(client, "allow", new { setting = "AllowProjectSettings" });
            JToken tags = Done(client, "edit-component", Setting(Tags, "tags", new JArray("Enemy")), true, "Set tags of TagManager");
            Assert.That(((string)tags["AssetPath"]!, (string)tags["GlobalId"]!), Is.EqualTo((Tags, "")));
            Assert.That(File.ReadAllText(Path.Combine(project, Tags)), Does.Contain("Enemy"));
        }

        [Test]
        public void A_new_tag_and_a_new_layer_are_there_at_once_and_after_a_reload_and_undo_takes_them_back()
        {
            using (TestClient client = Allowed())
            {
                Done(client, "edit-component", Setting(Tags, "tags", new JObject { ["$append"] = new JArray("Enemy", "Ally") }));
                Done(client, "edit-component", Setting(Tags, "layers[8]", "Ground"));
                Done(client, "edit-game-object", new { Action = "Change", Object = "World/Player", Tag = "Ally", Layer = "Ground" });
                Done(client, "edit-component", Setting(Tags, "tags", new JObject { ["$append"] = "Ally", ["$remove"] = new JArray(1) }), true, "TagManager had tags like this already; nothing was changed");
                host.Order("reload");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Allowed();
            Assert.That(Json.Write(Read(after, Tags, "tags")), Is.EqualTo("[\"Enemy\",\"Ally\"]"));
            Assert.That(Value(after, "editor-state", new { })["Layers"]!.Select(l => (string)l!), Does.Contain("Ground"));
            Done(after, "edit-component", Setting(Tags, "tags[1]", "Friend"));
            Assert.That(Undo(after), Is.EqualTo("AI: Set TagManager"));
            Assert.That(Json.Write(Read(after, Tags, "tags")), Is.EqualTo("[\"Enemy\",\"Ally\"]"));
            Assert.That(Refused(after, "edit-component", Setting(Tags, "layers[32]", "X")), Does.Contain("layers has 32 items, counted from 0"));
        }

        [Test]
        public void What_could_not_be_written_is_said()
        {
            Restart("--flag", "settingsAreNotSaved");
            using TestClient client = Allowed();
            Done(client, "edit-component", Setting("ProjectSettings/TimeManager.asset", "timeScale", 0.5), true,
                "Set timeScale of TimeManager, in memory; Unity writes it to its file with File > Save Project");
            File.WriteAllText(Path.Combine(project, "ProjectSettings", "TimeManager.asset"), "");
            File.SetAttributes(Path.Combine(project, "ProjectSettings", "TimeManager.asset"), FileAttributes.ReadOnly);
            Done(client, "edit-component", Setting("ProjectSettings/TimeManager.asset", "timeScale", 0.2), false, "is read-only; check it out");
            Assert.That((double)Read(client, "ProjectSettings/TimeManager.asset", "m_TimeScale"), Is.EqualTo(0.5));
        }

        [Test]
        public void The_scenes_of_the_build_have_the_ids_of_their_files()
        {
            foreach (string scene in new[] { "A", "B" }) File.WriteAllText(Path.Combine(project, "Assets", scene + ".unity"), "");
            using TestClient client = Allowed();
            Done(client, "edit-component", Setting(Build, "m_Scenes", new JArray("Assets/A.unity")));
            Done(client, "edit-component", Setting(Build, "scenes", new JArray("Assets/A.unity")), true, "nothing was changed");
            Done(client, "edit-component", Setting(Build, "m_Scenes", new JObject { ["$append"] = new JArray(new JObject { ["path"] = "Assets/B.unity", ["enabled"] = false }) }));
            JToken scenes = Read(client, Build, "m_Scenes");
            Assert.That(scenes.Select(s => $"{s["path"]} {s["guid"]} {s["enabled"]}"), Is.EqualTo(new[] { "Assets/A.unity id of Assets/A.unity True", "Assets/B.unity id of Assets/B.unity False" }));
            Done(client, "edit-component", Setting(Build, "m_Scenes", new JArray(scenes.Reverse())));
            Done(client, "edit-component", Setting(Build, "m_Scenes[0].enabled", true));
            Assert.That((bool)Read(client, Build, "m_Scenes")[0]!["enabled"]!);
            Assert.That(Undo(client) + "; " + Undo(client), Is.EqualTo("AI: Set EditorBuildSettings; AI: Set EditorBuildSettings"));
            Assert.That(Json.Write(Read(client, Build, "m_Scenes")), Is.EqualTo(Json.Write(scenes)));
            foreach (var (property, value, says) in new (string, JToken, string)[]
            {
                ("m_Scenes", "Assets/A.unity", "takes a list of paths"), ("m_Scenes", new JArray("Assets/C.unity"), "takes scenes, and Assets/C.unity is none"),
                ("m_Scenes", new JArray("Assets/A.unity", "Assets/A.unity"), "would have Assets/A.unity twice"), ("m_Scenes", new JArray(5), "takes paths, or"),
                ("m_Scenes[0].path", "Assets/B.unity", "is set as a whole"), ("m_Scenes", new JObject { ["$remove"] = 2 }, "has 2 items to remove, counted from 0")
            })
            {
                Assert.That(Refused(client, "edit-component", Setting(Build, property, value)), Does.Contain(says));
            }
        }

        [Test]
        public void Import_settings_are_set_imported_and_undone()
        {
            File.WriteAllText(Path.Combine(project, "Assets", "Stone.png"), "Stone_0");
            string Meta() => File.ReadAllText(Path.Combine(project, "Assets", "Stone.png.meta"));
            using TestClient client = Greeted();
            JToken done = Done(client, "edit-component", Import("textureType", "Sprite"), true, "Set textureType of Stone.png, and imported it");
            Assert.That(((string)done["Type"]!, (string)done["AssetPath"]!), Is.EqualTo(("UnityEditor.TextureImporter", Stone)));
            Assert.That(Meta(), Does.Contain("m_TextureType").And.Contain("8"));
            Assert.That(Imports(client), Is.EqualTo(1));
            Done(client, "edit-component", Import("m_TextureType", 8), true, "nothing was changed");
            Assert.That(Imports(client), Is.EqualTo(1), "what is not changed is not imported");
            Assert.That(Undo(client), Is.EqualTo("AI: Set Stone.png"));
            Assert.That(((int)Read(client, Stone, "m_TextureType", true), Meta(), Imports(client)), Is.EqualTo((0, "", 2)));
            Undo(client, "Redo");
            Assert.That((int)Read(client, Stone, "m_TextureType", true), Is.EqualTo(8));
            Assert.That((int)Read(client, Stone + " (TextureImporter)", "m_TextureType"), Is.EqualTo(8), "as a reference");
            File.WriteAllText(Path.Combine(project, "Assets", ".postprocessor"), "");
            Done(client, "edit-component", Import("m_IsReadable", true), true, "The import changed something: m_MaxTextureSize is 512");
        }

        [Test]
        public void What_is_no_import_setting_is_refused()
        {
            File.WriteAllText(Path.Combine(project, "Assets", "Stone.png"), "Stone_0");
            using TestClient client = Allowed();
            Assert.That(Refused(client, "edit-component", Import("textureType", "Sprit")), Does.Contain("m_TextureType takes one of Default, Sprite, or a number"));
            Assert.That(Refused(client, "edit-component", Import("textureTyp", 8)), Does.Contain("TextureImporter has no property textureTyp, but m_TextureType"));
            Assert.That(Refused(client, "edit-component", Import("textureType", 8, "World")), Does.Contain("World is in no asset's file"));
            Assert.That(Refused(client, "edit-component", Import("tags", 8, Tags)), Does.Contain(Tags + " has no import settings (Importer)"));
            Assert.That(Refused(client, "inspect", new { Object = "Assets/None.png", Importer = true }), Does.Contain("There is no object Assets/None.png"));
            Assert.That(Refused(client, "edit-component", new { Action = "Add", Object = Stone, Importer = true, Component = "Rigidbody" }), Does.Contain("Importer is for Set only"));
            Assert.That(Undo(client), Is.Empty, "no step is left");
            File.SetAttributes(Path.Combine(project, "Assets", "Stone.png"), FileAttributes.Normal);
            File.WriteAllText(Path.Combine(project, "Assets", "Stone.png.meta"), "");
            File.SetAttributes(Path.Combine(project, "Assets", "Stone.png.meta"), FileAttributes.ReadOnly);
            Done(client, "edit-component", Import("textureType", "Sprite"), false, "Assets/Stone.png.meta is read-only");
            File.SetAttributes(Path.Combine(project, "Assets", "Stone.png.meta"), FileAttributes.Normal);
        }

        private int Imports(TestClient client) => (int)Value(client, "counted", new { })["Imports"]!;
    }
}
