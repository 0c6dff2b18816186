#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class ModelFinder : IFinder
    {
        /// <summary>The properties by which an object refers to whatever is looked for.</summary>
        public Func<ISceneNode, string[]> Properties { get; set; } = _ => Array.Empty<string>();

        public HashSet<ISceneNode> Gone { get; } = new();

        public string[] Hidden { get; set; } = Array.Empty<string>();

        public bool Cuts { get; set; }

        public bool IsThere(ISceneNode node) => !Gone.Contains(node);

        public bool IsComponentType(string name) => name is "Component" or "RigidPlayer";

        public IReadOnlyList<string> HiddenScenes() => Hidden;

        public IReadOnlyList<ReferenceInfo> References(ISceneNode from, FoundObject to, ref bool isCut)
        {
            isCut |= Cuts;
            return Properties(from).Select(p => new ReferenceInfo($"{from.Name} (Rigid, {from.Id})", p)).ToList();
        }

        public IReadOnlyList<string> DependenciesOf(string path) => Array.Empty<string>();

        public IReadOnlyList<string> LabelsOf(string path) => Array.Empty<string>();

        public IReadOnlyList<string> MissingScripts(string path) => Array.Empty<string>();
    }

    /// <summary>Tests of finding: pages, references, and what is said of what was not looked at.</summary>
    public sealed class FindToolTests
    {
        private ToolBench bench = null!;
        private ModelFinder finder = null!;
        private ModelNode[] roots = null!;

        [SetUp]
        public void SetUp()
        {
            roots = Enumerable.Range(0, 5).Select(i => new ModelNode("Wall" + i) { Id = "10" + i }).ToArray();
            finder = new ModelFinder();
            bench = new ToolBench().With<IScenes>(new ModelScenes(roots)).With<IFinder>(finder).With<IObjects>(new ModelObjects(roots));
        }

        [TearDown]
        public void TearDown() => bench.Dispose();

        [Test]
        public void Pages_follow_each_other_and_end()
        {
            var seen = new List<string>();
            string? page = "";
            for (int i = 0; page != null; i++)
            {
                Assert.That(i, Is.LessThan(3));
                JToken got = bench.Run(new FindGameObjectsTool(), new { NamePattern = "Wall", SearchMode = "Contains", MaxResults = 2, Page = page });
                Assert.That((int)got["totalFound"]!, Is.EqualTo(5));
                Assert.That((int)got["searched"]!, Is.EqualTo(5));
                seen.AddRange(got["results"]!.Select(r => (string)r["name"]!));
                page = (string?)got["nextPage"];
            }
            Assert.That(seen, Is.EqualTo(new[] { "Wall0", "Wall1", "Wall2", "Wall3", "Wall4" }));
        }

        [Test]
        public void A_page_after_an_object_that_is_gone_is_refused()
        {
            Assert.That(bench.Refusal(new FindGameObjectsTool(), new { NamePattern = "Wall", SearchMode = "Contains", Page = "999" }),
                Does.Contain("begin again without Page"));
        }

        [Test]
        public void Values_are_left_out_if_they_are_not_wanted()
        {
            JToken got = bench.Run(new FindGameObjectsTool(), new { NamePattern = "Wall0", IncludeProperties = false });
            Assert.That(Json.Write(got["results"]![0]!["components"]![0]), Is.EqualTo(@"{""type"":""RigidWall0"",""fullTypeName"":""Game.RigidWall0"",""enabled"":true}"));
            Assert.That(got["results"]![0]!["references"], Is.Null);
        }

        [Test]
        public void References_are_told_by_component_and_property()
        {
            finder.Properties = node => node.Name == "Wall3" ? new[] { "target", "m_Materials.Array.data[0]" } : Array.Empty<string>();
            JToken got = bench.Run(new FindGameObjectsTool(), new { ReferencesTo = "101" });
            JToken only = got["results"]!.Single();
            Assert.That((string)only["path"]!, Is.EqualTo("Wall3"));
            Assert.That(Json.Write(only["references"]![0]), Is.EqualTo(@"{""component"":""Wall3 (Rigid, 103)"",""property"":""target""}"));
            Assert.That(only["references"]!.Count(), Is.EqualTo(2));
            Assert.That((string)got["errorMessage"]!, Is.Empty);
            Assert.That(bench.Refusal(new FindGameObjectsTool(), new { ReferencesTo = "None" }), Does.Contain("(ReferencesTo)"));
        }

        [Test]
        public void A_component_that_was_not_read_whole_is_told()
        {
            finder.Cuts = true;
            Assert.That((string)bench.Run(new FindGameObjectsTool(), new { ReferencesTo = "101" })["errorMessage"]!, Does.Contain("were not looked at"));
        }

        [Test]
        public void An_object_that_goes_during_the_search_is_no_result()
        {
            finder.Properties = node =>
            {
                // Longer than a frame's share. In the next frame, the one after it is gone.
                if (node.Name == "Wall1")
                {
                    Thread.Sleep(Limits.SearchFrame + 5);
                    finder.Gone.Add(roots[2]);
                    finder.Gone.Add(roots[0]);
                }
                return new[] { "target" };
            };
            Task<object?> task = bench.Start(new FindGameObjectsTool(), new { ReferencesTo = "101" });
            Assert.That(task.IsCompleted, Is.False, "it takes a second frame");
            Assert.That(bench.Finish(task)["results"]!.Select(r => (string)r["name"]!), Is.EqualTo(new[] { "Wall1", "Wall3", "Wall4" }));
        }

        [Test]
        public void Objects_without_a_script_are_found()
        {
            roots[4].IsMissing = true;
            roots[4].ActiveSelf = false;
            JToken got = bench.Run(new FindGameObjectsTool(), new { MissingScripts = true });
            Assert.That((string)got["results"]!.Single()["components"]![0]!["type"]!, Is.EqualTo("Missing Script"));
        }

        [Test]
        public void What_was_not_looked_at_is_told()
        {
            Assert.That(bench.Run(new FindGameObjectsTool(), new { Tag = "Untagged" })["notSearched"], Is.Null);
            finder.Hidden = new[] { "Assets/Cave.unity" };
            Assert.That((string)bench.Run(new FindGameObjectsTool(), new { Tag = "Untagged" })["notSearched"]![0]!, Is.EqualTo("Assets/Cave.unity"));
            JToken none = bench.Run(new FindGameObjectsTool(), new { RequiredComponents = new[] { "Rigidbodi" } });
            Assert.That((string)none["errorMessage"]!, Is.EqualTo("There is no type of component Rigidbodi (RequiredComponents)"));
            Assert.That((string)bench.Run(new FindGameObjectsTool(), new { RequiredComponents = new[] { "RigidPlayer" } })["errorMessage"]!, Is.Empty);
        }
    }
}
