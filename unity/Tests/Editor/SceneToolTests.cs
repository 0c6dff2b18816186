#nullable enable
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    public sealed class SceneToolTests
    {
        private ToolBench bench = null!;

        [SetUp]
        public void SetUp() => bench = new ToolBench().With<IObjects>(new ModelObjects()).With<IScenes>(new ModelScenes(
            new ModelNode("World", new ModelNode("Player", new ModelNode("Hand")) { Tag = "Player", Layer = 3 },
                new ModelNode("Ghost", new ModelNode("Sheet")) { ActiveSelf = false }),
            new ModelNode("Broken") { IsMissing = true }));

        [TearDown]
        public void TearDown() => bench.Dispose();

        [Test]
        public void A_hierarchy_is_a_tree_with_components()
        {
            JToken got = bench.Run(new GetHierarchyTool(), new { });
            Assert.That((int)got["context"]!["nodeCount"]!, Is.EqualTo(6));
            Assert.That((int)got["context"]!["maxDepth"]!, Is.EqualTo(2));
            Assert.That((string)got["context"]!["sceneName"]!, Is.EqualTo("Level"));
            JToken player = got["hierarchy"]![0]!["children"]![0]!;
            Assert.That((string)player["name"]!, Is.EqualTo("Player"));
            Assert.That((int)player["depth"]!, Is.EqualTo(1));
            Assert.That((string)player["components"]![0]!, Is.EqualTo("RigidPlayer"));
            Assert.That(player["id"]!.Type, Is.EqualTo(JTokenType.String));
            Assert.That((string)got["hierarchy"]![1]!["components"]![0]!, Is.EqualTo("Missing Script"));
        }

        [Test]
        public void An_object_is_not_guessed_if_several_have_its_path()
        {
            ModelNode[] nodes = { new("A") { Id = "1" }, new("A") { Id = "2" } };
            using var two = new ToolBench().With<IObjects>(new ModelObjects(nodes)).With<IScenes>(new ModelScenes(nodes));
            Assert.That(two.Refusal(new InspectTool(), new { Object = "A" }), Does.EndWith("name one by its id: 1, 2"));
            JToken one = two.Run(new InspectTool(), new { Object = "2" });
            Assert.That(((string)one["Id"]!, (string)one["GlobalId"]!), Is.EqualTo(("2", "GlobalObjectId_V1-2-A")));
        }

        [TestCase("9/Player", true)]
        [TestCase("9/Player/Hat/Feather", true)]
        [TestCase("/9/Player/", true)]
        [TestCase("9/Play", false)]
        [TestCase("9/Player/Hat/", false)]
        [TestCase("9/Player/Feather", false)]
        [TestCase("9/9/Player", false)]
        public void Only_what_lies_on_a_path_is_visited(string path, bool there)
        {
            // The name of one object has a slash itself.
            ModelNode[] roots = Enumerable.Range(0, 10)
                .Select(i => new ModelNode(i.ToString(), Enumerable.Range(0, 1000).Select(n => new ModelNode("n" + n)).Append(new ModelNode("Player", new ModelNode("Hat/Feather"))).ToArray()))
                .ToArray();
            IReadOnlyList<SceneView> scenes = new ModelScenes(roots).Open();
            ModelNode.NamesRead = 0;
            Assert.That(SceneWalk.At(scenes.SelectMany(s => s.Roots), path).Count(), Is.EqualTo(there ? 1 : 0));
            Assert.That(ModelNode.NamesRead, Is.LessThan(1100), "of more than 10,000 objects");
        }

        [Test]
        public void A_hierarchy_is_bounded()
        {
            JToken shallow = bench.Run(new GetHierarchyTool(), new { MaxDepth = 1, IncludeInactive = false, IncludeComponents = false });
            JToken world = shallow["hierarchy"]![0]!;
            Assert.That(world["children"]!.Count(), Is.EqualTo(1));
            Assert.That((bool)world["children"]![0]!["childrenCut"]!);
            Assert.That(world["components"]!.Count(), Is.Zero);
            JToken below = bench.Run(new GetHierarchyTool(), new { RootPath = "World/Player" });
            Assert.That((string)below["hierarchy"]![0]!["children"]![0]!["name"]!, Is.EqualTo("Hand"));
            Assert.That(bench.Refusal(new GetHierarchyTool(), new { RootPath = "World/Nobody" }), Does.Contain("World/Nobody"));
        }

        [Test]
        public void A_large_hierarchy_goes_to_a_file()
        {
            bench.With<IScenes>(new ModelScenes(Enumerable.Range(0, 400).Select(i => new ModelNode("N" + i)).ToArray()));
            JToken got = bench.Run(new GetHierarchyTool(), new { MaxResponseSizeKB = 10 });
            Assert.That((bool)got["hierarchySavedToFile"]!);
            Assert.That(got["hierarchy"]!.Type, Is.EqualTo(JTokenType.Null));
            JToken file = Json.Parse(File.ReadAllText((string)got["hierarchyFilePath"]!));
            Assert.That(file["hierarchy"]!.Count(), Is.EqualTo(400));
        }

        [Test]
        public void A_deep_hierarchy_stays_below_the_nesting_of_json()
        {
            var deep = new ModelNode("leaf");
            for (int i = 0; i < 5000; i++) deep = new ModelNode("n", deep);
            bench.With<IScenes>(new ModelScenes(deep));
            JToken got = bench.Run(new GetHierarchyTool(), new { });
            Assert.That((bool)got["context"]!["truncated"]!);
            Assert.That(() => Json.Parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"value\":" + Json.Write(got) + "}}"), Throws.Nothing);
            JToken found = bench.Run(new FindGameObjectsTool(), new { NamePattern = "leaf" });
            Assert.That((int)found["totalFound"]!, Is.EqualTo(1));
        }

        [TestCase("Player", "Exact", "World/Player")]
        [TestCase("play", "Contains", "World/Player")]
        [TestCase("^[PH]", "Regex", "World/Player,World/Player/Hand")]
        [TestCase("World/Player/Hand", "Path", "World/Player/Hand")]
        [TestCase("Ghost", "Exact", "")]
        public void Objects_are_found_by_name(string pattern, string mode, string expected)
        {
            JToken got = bench.Run(new FindGameObjectsTool(), new { NamePattern = pattern, SearchMode = mode });
            Assert.That(string.Join(",", got["results"]!.Select(r => (string)r["path"]!)), Is.EqualTo(expected));
        }

        [Test]
        public void Objects_are_found_by_what_they_are()
        {
            JToken byTag = bench.Run(new FindGameObjectsTool(), new { Tag = "Player" });
            Assert.That((string)byTag["results"]![0]!["components"]![0]!["properties"]![0]!["name"]!, Is.EqualTo("p0"));
            JToken byLayer = bench.Run(new FindGameObjectsTool(), new { Layer = 3 });
            Assert.That((int)byLayer["totalFound"]!, Is.EqualTo(1));
            JToken byComponent = bench.Run(new FindGameObjectsTool(), new { RequiredComponents = new[] { "Component" }, MaxResults = 1, IncludeInactive = true });
            Assert.That((int)byComponent["totalFound"]!, Is.EqualTo(5));
            Assert.That(byComponent["results"]!.Count(), Is.EqualTo(1));
            Assert.That(bench.Refusal(new FindGameObjectsTool(), new { }), Does.Contain("at least one"));
        }

        [Test]
        public void A_component_with_too_many_properties_is_cut()
        {
            bench.With<IScenes>(new ModelScenes(new ModelNode("Big") { PropertyCount = 1000 }));
            JToken component = bench.Run(new FindGameObjectsTool(), new { NamePattern = "Big" })["results"]![0]!["components"]![0]!;
            Assert.That(component["properties"]!.Count(), Is.EqualTo(Limits.ComponentProperties));
            Assert.That((bool)component["propertiesCut"]!);
        }
    }
}
