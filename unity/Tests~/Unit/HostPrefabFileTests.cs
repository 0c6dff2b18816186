#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests of changes of a prefab's file without opening it, in the simulated editor: the prefab Car has a Seat and, nested, a Wheel; Truck is a variant
    /// of Car.
    /// </summary>
    public sealed class HostPrefabFileTests : HostBench
    {
        private const string Car = "Assets/Car.prefab", Wheel = "Assets/Wheel.prefab", Truck = "Assets/Truck.prefab";

        private TestClient Made()
        {
            TestClient client = Greeted();
            object New(string name, string? parent = null) => new { Action = "Create", Name = name, Shape = "Cube", Parent = parent };
            Done(client, "edit-game-object", New("Wheel"));
            Done(client, "edit-game-object", New("Tire", "Wheel"));
            Done(client, "prefabs", new { Action = "Create", Object = "Wheel", Path = Wheel });
            Done(client, "delete-game-object", new { Object = "Wheel" });
            Done(client, "edit-game-object", New("Car"));
            Done(client, "edit-game-object", New("Seat", "Car"));
            Done(client, "prefabs", new { Action = "Create", Object = "Car", Path = Car });
            Done(client, "delete-game-object", new { Object = "Car" });
            Done(client, "prefabs", new { Action = "Instantiate", Path = Wheel, Parent = Car });
            Done(client, "prefabs", new { Action = "Instantiate", Path = Car });
            Done(client, "edit-component", Set("Car/Seat", "speed", 5));
            Done(client, "prefabs", new { Action = "Create", Object = "Car", Path = Truck });
            return client;
        }

        private object Set(string of, string property, JToken value) =>
            new { Action = "Set", Object = of, Component = "BoxCollider", Properties = new JObject { [property] = value } };

        private string Read(TestClient client, string of, string property) => Json.Write(Value(client, "inspect", new { Object = of, Components = new[] { "BoxCollider" } })["Components"]![0]!["properties"]!
            .Single(p => (string)p["name"]! == property)["value"]!);

        private string Children(TestClient client, string of) => string.Join(" ", Value(client, "inspect", new { Object = of })["Children"]!.Select(c => (string)c!));

        private string Undo(TestClient client, string action = "Undo") => string.Join(", ", Value(client, "undo", new { Action = action })["Steps"]!);

        [Test]
        public void What_is_in_a_file_is_read_and_named_by_its_path()
        {
            using TestClient client = Made();
            Assert.That((Children(client, Car), Children(client, Car + "/Wheel"), Children(client, Truck)), Is.EqualTo(("Seat Wheel", "Tire", "Seat Wheel")));
            JToken tire = Value(client, "inspect", new { Object = Car + "/Wheel/Tire" });
            Assert.That(((string)tire["AssetPath"]!, (string)tire["Name"]!, (string)tire["Path"]!), Is.EqualTo((Car + "/Wheel/Tire", "Tire", "")));
            Assert.That(Value(client, "get-hierarchy", new { RootPath = Truck })["hierarchy"]![0]!["children"]!.Count(), Is.EqualTo(2));
            Assert.That(Refused(client, "inspect", new { Object = Car + "/Door" }), Does.Contain($"There is no object {Car}/Door"));
            Done(client, "edit-component", Set("World/Player", "body", Car + "/Seat"));
            string body = JToken.Parse(Read(client, "World/Player", "body")).ToString();
            Assert.That(body, Does.StartWith(Car + "/Seat (BoxCollider, "));
            Assert.That((string)Value(client, "inspect", new { Object = body })["AssetPath"]!, Is.EqualTo(Car + "/Seat"));
        }

        [Test]
        public void A_file_is_changed_and_its_instances_follow_and_undo_sets_it_back()
        {
            using TestClient client = Made();
            Done(client, "prefabs", new { Action = "Instantiate", Path = Car, Parent = "World" });
            byte[] before = File.ReadAllBytes(Path.Combine(project, Car));
            JToken seat = Done(client, "edit-component", Set(Car + "/Seat", "title", "soft"), true, "Set title of Seat");
            Assert.That((string)seat["AssetPath"]!, Is.EqualTo(Car + "/Seat"));
            string Titles() => string.Join(" ", new[] { Car + "/Seat", Truck + "/Seat", "World/Car/Seat" }.Select(s => Read(client, s, "title")));
            Assert.That(Titles(), Is.EqualTo("\"soft\" \"soft\" \"soft\""));
            Done(client, "edit-component", Set(Car + "/Seat", "title", "soft"), true, "Seat had title like this already; nothing was changed");
            Assert.That(Undo(client), Is.EqualTo("AI: Set Seat"));
            Assert.That(Titles(), Is.EqualTo("\"none\" \"none\" \"none\""));
            Assert.That(File.ReadAllBytes(Path.Combine(project, Car)), Is.EqualTo(before));
            Undo(client, "Redo");
            Assert.That(Titles(), Is.EqualTo("\"soft\" \"soft\" \"soft\""));
            Nothing(client);
        }

        [Test]
        public void Objects_and_components_are_made_moved_and_deleted_in_a_file()
        {
            using TestClient client = Made();
            JToken made = Done(client, "edit-game-object", new { Action = "Create", Name = "Door", Shape = "Cube", Parent = Car, Position = new[] { 1, 2, 3 }, Layer = "UI" }, true, $"Created {Car}/Door");
            Assert.That((string)made["AssetPath"]!, Is.EqualTo(Car + "/Door"));
            Done(client, "edit-game-object", new { Action = "Duplicate", Object = Car + "/Door", Name = "Gate", SiblingIndex = 0 }, true, $"Duplicated as {Car}/Gate");
            Done(client, "edit-game-object", new { Action = "Change", Object = Car + "/Gate", Parent = Car + "/Seat", Active = false });
            Assert.That((Children(client, Car), Children(client, Car + "/Seat"), Children(client, Truck)), Is.EqualTo(("Seat Wheel Door", "Gate", "Seat Wheel Door")));
            Done(client, "edit-component", new { Action = "Add", Object = Car, Component = "Rigidbody", Properties = new { speed = 4, target = Car + "/Door" } }, true, $"Added UnityEngine.Rigidbody to {Car}");
            JToken target = Value(client, "inspect", new { Object = Car, Components = new[] { "Rigidbody" } })["Components"]![0]!["properties"]!.Single(p => (string)p["name"]! == "target")["value"]!;
            Assert.That((string)target!, Does.StartWith(Car + "/Door (GameObject, "));
            Done(client, "remove-component", new { Object = Car + "/Door", Component = "BoxCollider" }, true, $"from {Car}/Door");
            Done(client, "delete-game-object", new { Object = Car + "/Seat" }, true, $"Deleted {Car}/Seat");
            Assert.That((Children(client, Car), Children(client, Truck)), Is.EqualTo(("Wheel Door", "Wheel Door")));
            for (int i = 0; i < 6; i++) Undo(client);
            Assert.That((Children(client, Car), Children(client, Truck)), Is.EqualTo(("Seat Wheel", "Seat Wheel")));
            Assert.That(Value(client, "list-scenes", new { })["OpenScenes"]![0]!["RootCount"]!.Value<int>(), Is.EqualTo(3), "nothing is left in the scene");
            Nothing(client);
        }

        [Test]
        public void A_nested_prefab_and_a_variant_get_overrides_of_their_own()
        {
            using TestClient client = Made();
            Done(client, "edit-component", Set(Car + "/Wheel/Tire", "speed", 9), true, $"It belongs to an instance of {Wheel}, which itself stays as it is");
            Assert.That((Read(client, Car + "/Wheel/Tire", "speed"), Read(client, Wheel + "/Tire", "speed"), Read(client, Truck + "/Wheel/Tire", "speed")), Is.EqualTo(("9.0", "1.5", "9.0")));
            Done(client, "edit-component", Set(Truck + "/Seat", "title", "hard"), true, $"an instance of {Car}");
            Assert.That((Read(client, Car + "/Seat", "title"), Read(client, Truck + "/Seat", "title"), Read(client, Truck + "/Seat", "speed")), Is.EqualTo(("\"none\"", "\"hard\"", "5.0")));
            Done(client, "edit-component", Set(Wheel + "/Tire", "speed", 2));
            Done(client, "edit-component", Set(Wheel + "/Tire", "title", "wet"));
            Done(client, "edit-component", Set(Car + "/Seat", "speed", 6));
            Assert.That((Read(client, Car + "/Wheel/Tire", "speed"), Read(client, Truck + "/Wheel/Tire", "title"), Read(client, Truck + "/Seat", "speed")), Is.EqualTo(("9.0", "\"wet\"", "5.0")), "overrides stay, the rest follows");
            Done(client, "edit-game-object", new { Action = "Duplicate", Object = Car + "/Wheel" }, false, "whose copy would be none");
            Done(client, "prefabs", new { Action = "Instantiate", Path = Wheel, Parent = Truck + "/Seat" }, true, $"{Truck}/Seat/Wheel is an instance of {Wheel}");
            Assert.That((Children(client, Truck + "/Seat/Wheel"), Children(client, Car + "/Seat")), Is.EqualTo(("Tire", "")));
            Nothing(client);
        }

        [Test]
        public void What_a_file_cannot_be_is_refused_and_changes_nothing()
        {
            using TestClient client = Made();
            Done(client, "prefabs", new { Action = "Instantiate", Path = Truck, Parent = Wheel }, false, "Unity refuses: Cyclic nesting detected");
            byte[] before = File.ReadAllBytes(Path.Combine(project, Car));
            foreach (var (tool, arguments, says) in new (string, object, string)[]
            {
                ("edit-game-object", new { Action = "Change", Object = Car, Name = "Bus" }, "has the name of its file"),
                ("edit-game-object", new { Action = "Duplicate", Object = Car }, "neither moved nor duplicated"),
                ("edit-game-object", new { Action = "Change", Object = Car + "/Seat", Parent = "/" }, "lies below its root"),
                ("edit-game-object", new { Action = "Change", Object = Car + "/Seat", Parent = Wheel }, $"{Wheel} is not in {Car}, where the other object is"),
                ("edit-game-object", new { Action = "Change", Object = "World", Parent = Car }, "is not in the open scenes, where the other object is"),
                ("delete-game-object", new { Object = Car }, "cannot be deleted"),
                ("edit-component", Set(Car + "/Seat", "target", "World"), "World is an object of a scene, and no file can refer to one"),
                ("edit-component", Set(Car + "/Seat", "speeed", 1), "has no property speeed, but speed"),
                ("edit-component", Set(Car + "/Door", "speed", 1), $"There is no object {Car}/Door"),
                ("edit-component", new { Action = "Add", Object = Car + "/Seat", Component = "Rigidbod" }, "no component type Rigidbod"),
                ("remove-component", new { Object = Car + "/Seat", Component = "Rigidbody" }, "has no component Rigidbody")
            })
            {
                Assert.That(Refused(client, tool, arguments), Does.Contain(says));
            }
            Done(client, "edit-component", new { Action = "Add", Object = Car + "/Seat", Component = "OnlyOne" });
            Done(client, "edit-component", new { Action = "Add", Object = Car + "/Seat", Component = "OnlyOne" }, false, "may have only one");
            Undo(client);
            Assert.That(File.ReadAllBytes(Path.Combine(project, Car)), Is.EqualTo(before));
            Nothing(client);
        }

        [Test]
        public void A_file_that_cannot_be_written_or_is_open_is_not_changed()
        {
            using TestClient client = Made();
            object change = Set(Car + "/Seat", "speed", 7);
            Done(client, "prefabs", new { Action = "Open", Path = Car });
            Done(client, "edit-component", change, false, "is open: change what is open, by its path in the hierarchy");
            Done(client, "edit-component", Set(Wheel + "/Tire", "speed", 7), true, "Set speed of Tire");
            Done(client, "prefabs", new { Action = "Close" });
            File.SetAttributes(Path.Combine(project, Car), FileAttributes.ReadOnly);
            Done(client, "edit-component", change, false, "is read-only");
            File.SetAttributes(Path.Combine(project, Car), FileAttributes.Normal);
            File.WriteAllText(Path.Combine(project, "Assets", ".missingScript"), "");
            Done(client, "edit-component", change, false, $"Unity could not save {Car}");
            File.Delete(Path.Combine(project, "Assets", ".missingScript"));
            Directory.CreateDirectory(Path.Combine(project, "Packages", "com.x"));
            File.Copy(Path.Combine(project, Car), Path.Combine(project, "Packages", "com.x", "Car.prefab"));
            Assert.That(Refused(client, "edit-component", Set("Packages/com.x/Car.prefab/Seat", "speed", 7)), Does.Contain("Assets of packages are not changed"));
            Done(client, "delete-game-object", new { Object = "Packages/com.x/Car.prefab/Seat" }, false, "belongs to a package and is not changed");
            Assert.That(Read(client, Car + "/Seat", "speed"), Is.EqualTo("1.5"));
            Nothing(client);
        }

        [Test]
        public void A_file_is_changed_in_a_batch_and_after_a_reload()
        {
            using (TestClient client = Made())
            {
                Value(client, "batch", new
                {
                    Calls = new object[]
                    {
                        new { Tool = "edit-component", Arguments = Set(Car + "/Seat", "speed", 7) }, new { Tool = "edit-component", Arguments = Set(Car + "/Wheel/Tire", "speed", 8) },
                        new { Tool = "edit-game-object", Arguments = new { Action = "Create", Name = "Door", Parent = Car } }
                    }
                });
                Assert.That((Read(client, Car + "/Wheel/Tire", "speed"), Children(client, Car)), Is.EqualTo(("8.0", "Seat Wheel Door")));
                Assert.That(Undo(client), Is.EqualTo("AI: 3 calls"));
                Assert.That((Read(client, Car + "/Wheel/Tire", "speed"), Children(client, Car)), Is.EqualTo(("1.5", "Seat Wheel")));
                host.Order("reload");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Done(after, "edit-component", Set(Car + "/Seat", "title", "soft"));
            Assert.That((Read(after, "Car/Seat", "title"), Read(after, "Car/Seat", "speed")), Is.EqualTo(("\"soft\"", "5.0")), "the instance of the variant in the scene");
            Nothing(after);
        }

        private void Nothing(TestClient client) => Assert.That((int)Value(client, "counted", new { })["Contents"]!, Is.Zero, "every file that was loaded is unloaded");
    }
}
