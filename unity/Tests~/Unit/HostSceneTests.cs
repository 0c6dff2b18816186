#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of several open scenes and of dropping the changes of one, in the simulated editor.</summary>
    public sealed class HostSceneTests : HostBench
    {
        private const string A = "Assets/SampleScene.unity", B = "Assets/B.unity";

        private TestClient Two()
        {
            TestClient client = Greeted();
            Done(client, "scene", new { Action = "Save", Path = A });
            Done(client, "scene", new { Action = "Create", Path = B, Additive = true, Empty = true });
            Done(client, "scene", new { Action = "Activate", Path = A });
            return client;
        }

        private string Roots(TestClient client) => string.Join(" ", Value(client, "list-scenes", new { })["OpenScenes"]!.Select(s => $"{s["Name"]}:{s["RootCount"]}:{((bool)s["IsDirty"]! ? "dirty" : "saved")}"));

        [Test]
        public void An_object_is_moved_to_another_open_scene_and_back_by_undo()
        {
            using TestClient client = Two();
            JToken moved = Done(client, "edit-game-object", new { Action = "Change", Object = "World/Player", Parent = B, Position = new[] { 1, 2, 3 } }, true,
                "Changed Player in Assets/B.unity. References between objects of two scenes are lost when they are saved");
            Assert.That(((string)moved["Path"]!, Roots(client)), Is.EqualTo(("Player", "SampleScene:2:dirty B:1:dirty")));
            Assert.That(string.Join(", ", Value(client, "undo", new { Action = "Undo" })["Steps"]!), Is.EqualTo("AI: Change Player"));
            Assert.That((string)Value(client, "inspect", new { Object = "World/Player" })["Name"]!, Is.EqualTo("Player"));
            Value(client, "undo", new { Action = "Redo" });
            Done(client, "edit-game-object", new { Action = "Change", Object = "Player", Parent = "World" });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Lamp", Parent = B }, true, "Created Lamp in Assets/B.unity");
            Assert.That(Roots(client), Does.StartWith("SampleScene:2").And.Contain("B:1"));
            Assert.That(Refused(client, "edit-game-object", new { Action = "Change", Object = "World", Parent = "Assets/C.unity" }), Does.Contain("Assets/C.unity is not open; list-scenes"));
            Done(client, "edit-game-object", new { Action = "Create", Name = "A.unity" });
            Done(client, "edit-game-object", new { Action = "Change", Object = "World", Parent = "A.unity" }, true, "Changed A.unity/World");
        }

        [Test]
        public void Changes_of_a_scene_are_dropped_only_if_this_is_asked_for()
        {
            using TestClient client = Two();
            Done(client, "scene", new { Action = "Discard", Path = A }, true, "has no unsaved changes; nothing was changed");
            Done(client, "edit-game-object", new { Action = "Create", Name = "Lamp", Parent = "World" });
            Done(client, "edit-game-object", new { Action = "Create", Name = "Other", Parent = B });
            Done(client, "scene", new { Action = "Close", Path = A }, false, "save it first, or drop them with Discard");
            Done(client, "scene", new { Action = "Discard", Path = A }, true, "is as in its file again; its unsaved changes are gone");
            Assert.That(Roots(client), Is.EqualTo("SampleScene:2:saved B:1:dirty"), "only of this scene");
            Assert.That(Value(client, "inspect", new { Object = "World" })["Children"]!.Select(c => (string)c!), Is.EqualTo(new[] { "Player" }));
            Done(client, "scene", new { Action = "Discard", Path = "Assets/C.unity" }, false, "Assets/C.unity is not open");
            Assert.That(Refused(client, "scene", new { Action = "Discard" }), Does.Contain("Path is missing"));
            Done(client, "edit-game-object", new { Action = "Create", Name = "Lamp", Parent = "World" });
            File.Delete(Path.Combine(project, A));
            Done(client, "scene", new { Action = "Discard", Path = A }, false, "is not there any more");
            Assert.That((string)Value(client, "inspect", new { Object = "World/Lamp" })["Name"]!, Is.EqualTo("Lamp"));
        }
    }
}
