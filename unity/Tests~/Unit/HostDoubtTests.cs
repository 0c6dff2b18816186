#nullable enable
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests of what Unity's sources leave open, in the simulated editor: it does the worse of what Unity may do. Also of what Unity would ask
    /// the user.
    /// </summary>
    public sealed class HostDoubtTests : HostBench
    {
        [Test]
        public void An_item_that_would_ask_where_to_save_is_not_executed()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowMenuItemExecution" });
            string Said(string item)
            {
                JToken value = Value(client, "execute-menu-item", new { MenuItemPath = item });
                Assert.That((bool)value["Success"]!, Is.EqualTo(((string)value["ErrorMessage"]!).Length == 0), value.ToString());
                return (string)value["ErrorMessage"]! + "; " + (string)value["Details"]!;
            }

            Assert.That(Said("File/Save"), Is.EqualTo("; "));
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "execute-csharp", new { Code = "UnityEditor.SceneManagement.EditorSceneManager.NewScene(UnityEditor.SceneManagement.NewSceneSetup.EmptyScene, UnityEditor.SceneManagement.NewSceneMode.Additive);" });
            Assert.That(Said("File/Save"), Does.StartWith("Unity would ask").And.EndWith("use scene with Save and a Path"));
            Done(client, "scene", new { Action = "Activate", Path = "Assets/SampleScene.unity" });
            host.Order("play on");
            host.Await("done");
            Assert.That(Said("file/save"), Does.Contain("while the game runs"));
            host.Order("play off");
            host.Await("done");
            Assert.That(Said("File/Save As Scene Template..."), Does.StartWith("This item is never executed"));
            Assert.That(Said("Assets/Open"), Does.StartWith("This item is never executed"));
        }

        [Test]
        public void The_tools_are_there_even_if_unitys_cache_leaves_their_assembly_out()
        {
            Restart("--flag", "typeCacheOfUnity");
            using TestClient client = Greeted();
            string tools = client.Ask("holdfast/tools", new { }).ToString();
            Assert.That(tools, Does.Contain("\"edit-game-object\"").And.Contain("\"echo\""));
            Assert.That(Value(client, "editor-state", new { }), Is.Not.Null);
        }

        [Test]
        public void Nothing_stays_subscribed_if_the_code_is_unloaded_without_a_reload()
        {
            Restart("--flag", "codeUnloadOnly");
            using (TestClient client = Greeted())
            {
                Value(client, "editor-state", new { });
                Value(client, "compile", new { });
                Value(client, "list-tests", new { });
                host.Order("reload 0");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            Assert.That(host.Leaked(), Is.Zero);
        }

        [Test]
        public void Scenes_are_read_while_the_game_runs()
        {
            Restart("--flag", "noDomainReload");
            using TestClient client = Greeted();
            host.Order("play on");
            host.Await("done");
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            Value(client, "execute-csharp", new { Code = "Object.DontDestroyOnLoad(new GameObject(\"Music\"));" });
            JToken tree = Value(client, "get-hierarchy", new { });
            Assert.That(tree["hierarchy"]!.Select(n => (string)n["name"]!), Is.EqualTo(new[] { "Main Camera", "World", "Music" }));
        }
    }
}
