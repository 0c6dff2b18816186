#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class ModelMenu : IMenu
    {
        public List<string> Executed { get; } = new();

        public IReadOnlyList<MenuEntry> Items() => new[]
        {
            new MenuEntry("Tools/Bake", "Game.Tools.Bake", "Game.Editor", 5, false, false, "%b"),
            new MenuEntry("Tools/Bake", "Game.Tools.CanBake", "Game.Editor", 5, true, false, ""),
            new MenuEntry("Edit/Undo", "", "", 1, false, true, "")
        };

        public bool Execute(string path)
        {
            Executed.Add(path);
            return path == "Tools/Bake";
        }

        public bool Invoke(string path) => path == "Tools/Hidden";

        public bool Exists(string path) => path is "Tools/Bake" or "Edit/Undo";

        public bool IsEnabled(string path) => path != "Edit/Undo";
    }

    internal sealed class ModelSearch : ISearch
    {
        public int Hits { get; set; } = 3;

        public int Open { get; private set; }

        public int Described { get; private set; }

        /// <summary>Milliseconds that one result takes.</summary>
        public int Cost { get; set; }

        public SearchRequest? Asked { get; private set; }

        public IReadOnlyList<SearchProviderEntry> Providers() => new[]
        {
            new SearchProviderEntry("asset", "Assets", "p:", 25, true, false), new SearchProviderEntry("log", "Logs", "log:", 5, false, true)
        };

        public ISearchQuery Begin(SearchRequest request)
        {
            Asked = request;
            Open++;
            return new Query(this);
        }

        private sealed class Query : ISearchQuery
        {
            private readonly ModelSearch search;
            private int polls;
            private bool read;

            public Query(ModelSearch search) => this.search = search;

            // A few results arrive per frame, like those of a search that takes several frames.
            public bool IsPending => Count < search.Hits && polls++ < 20;

            public int Count => Math.Min(search.Hits, polls * Math.Max(2, search.Hits / 10));

            public SearchHit Read(int i)
            {
                Assert.That(read || Count == search.Hits || Count > Limits.SearchHits, "results are read before their order is fixed");
                read = true;
                search.Described++;
                if (search.Cost > 0) Thread.Sleep(search.Cost);
                return new SearchHit("id" + i, "=Label, \"" + i + "\"", "a\tb", "asset", i % 2 == 0 ? "Texture2D" : "Material",
                    $"Assets/A/f{i}.png", "7")
                {
                    Thumbnail = "icon", Score = i, Tags = new[] { "Hero", "Old" }, IsSelectable = true
                };
            }

            public void Dispose() => search.Open--;
        }
    }

    public sealed class MenuSearchToolTests
    {
        private ToolBench bench = null!;
        private ModelMenu menu = null!;
        private ModelSearch search = null!;

        [SetUp]
        public void SetUp()
        {
            menu = new ModelMenu();
            search = new ModelSearch();
            bench = new ToolBench().With<IMenu>(menu).With<ISearch>(search);
        }

        [TearDown]
        public void TearDown()
        {
            bench.Dispose();
            Assert.That(search.Open, Is.Zero, "a search is still open");
        }

        [Test]
        public void Results_that_cost_time_are_read_over_many_frames()
        {
            search.Hits = 40;
            search.Cost = 2 * Limits.SearchFrame;
            Task<object?> task = bench.Start(new UnitySearchTool(), new { SearchQuery = "f", MaxResults = 40 });
            int before = 0, frames = 0;
            var watch = System.Diagnostics.Stopwatch.StartNew();
            while (!task.IsCompleted)
            {
                Assert.That(watch.Elapsed.TotalSeconds, Is.LessThan(60), "the search does not end");
                bench.OneFrame();
                // Each result uses up the frame, so another one would have to wait. A busy machine can only make it slower.
                Assert.That(search.Described - before, Is.LessThanOrEqualTo(1));
                if (search.Described > before) frames++;
                before = search.Described;
            }
            Assert.That(frames, Is.EqualTo(40));
        }

        [Test]
        public void The_menu_is_listed_and_filtered()
        {
            JToken got = bench.Run(new GetMenuItemsTool(), new { FilterText = "tools", FilterType = "startswith" });
            Assert.That((int)got["TotalCount"]!, Is.EqualTo(2));
            Assert.That((int)got["FilteredCount"]!, Is.EqualTo(1));
            Assert.That((string)got["MenuItems"]![0]!["TypeName"]!, Is.EqualTo("Game.Tools"));
            Assert.That((string)got["MenuItems"]![0]!["MethodName"]!, Is.EqualTo("Bake"));
            Assert.That((string)got["AppliedFilterType"]!, Is.EqualTo("startswith"));
            JToken all = bench.Run(new GetMenuItemsTool(), new { IncludeValidation = true, MaxCount = 2 });
            Assert.That((int)all["FilteredCount"]!, Is.EqualTo(3));
            Assert.That(all["MenuItems"]!.Count(), Is.EqualTo(2));
        }

        [TestCase("Tools/Bake", true, "EditorApplication")]
        [TestCase("Tools/Hidden", true, "Reflection")]
        [TestCase("Tools/Nothing", false, "")]
        [TestCase("Edit/Undo", false, "")]
        public void An_item_is_executed(string path, bool success, string how)
        {
            JToken got = bench.Run(new ExecuteMenuItemTool(), new { MenuItemPath = path });
            Assert.That((bool)got["Success"]!, Is.EqualTo(success), got.ToString());
            Assert.That((string)got["ExecutionMethod"]!, Is.EqualTo(how));
            Assert.That((bool)bench.Run(new ExecuteMenuItemTool(), new { MenuItemPath = "Tools/Hidden", UseReflectionFallback = false })["Success"]!, Is.False);
        }

        [TestCase("File/Exit")]
        [TestCase("file/quit")]
        [TestCase("File/New Scene")]
        [TestCase("Assets/Reimport All")]
        [TestCase("Help/Reset Packages to defaults")]
        [TestCase("File/New Project...")]
        [TestCase("File/Open Project\u2026")]
        [TestCase(" File/Build And Run ")]
        [TestCase("File//Exit")]
        [TestCase("window/Holdfast/Allow Clients To Run Tests")]
        [TestCase("/File/Open Recent Scene/A")]
        public void What_ends_or_blocks_the_editor_is_never_executed(string path)
        {
            JToken got = bench.Run(new ExecuteMenuItemTool(), new { MenuItemPath = path });
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That(menu.Executed, Is.Empty);
        }

        [TestCase("Tools/Bake %b", "Tools/Bake", "%b")]
        [TestCase("Tools/Bake All", "Tools/Bake All", "")]
        [TestCase("Tools/R&D", "Tools/R&D", "")]
        [TestCase("Tools/Go _g", "Tools/Go", "_g")]
        public void Keys_are_no_part_of_a_path(string text, string path, string keys) =>
            Assert.That(MenuPath.Split(text), Is.EqualTo((path, keys)));

        [Test]
        public void A_search_is_polled_to_its_end()
        {
            search.Hits = 5;
            JToken got = bench.Run(new UnitySearchTool(), new { SearchQuery = "t:Texture", MaxResults = 3, SearchFlags = "WantsMore" });
            Assert.That((int)got["TotalCount"]!, Is.EqualTo(5));
            Assert.That(got["Results"]!.Count(), Is.EqualTo(3));
            Assert.That(search.Described, Is.EqualTo(3), "no more is read than was asked for");
            Assert.That((string)got["Results"]![2]!["Id"]!, Is.EqualTo("id2"));
            Assert.That(search.Asked!.Flags, Is.EqualTo(new[] { "WantsMore" }));
            Assert.That(got["ProvidersUsed"]!.Select(p => (string)p!), Is.EqualTo(new[] { "asset" }));
        }

        [Test]
        public void A_search_is_filtered()
        {
            search.Hits = 6;
            JToken got = bench.Run(new UnitySearchTool(), new
            {
                SearchQuery = "x", AssetTypes = new[] { "texture2d" }, FileExtensions = new[] { "png" }, PathFilter = "A/f*4"
            });
            Assert.That(got["Results"]!.Select(r => (string)r["Id"]!), Is.EqualTo(new[] { "id4" }));
            Assert.That((int)got["AppliedFilters"]!["FilteredOutCount"]!, Is.EqualTo(5));
        }

        [TestCase("GlobalObjectId_V1-1-0123456789abcdef0123456789abcdef-100100000-0", "0123456789abcdef0123456789abcdef")]
        [TestCase("GlobalObjectId_V1-3-0123456789abcdef0123456789abcdef-2800000-0", "0123456789abcdef0123456789abcdef")]
        [TestCase("GlobalObjectId_V1-2-0123456789abcdef0123456789abcdef-1-0", "")]
        [TestCase("GlobalObjectId_V1-1-0123-1-0", "")]
        [TestCase("Assets/A.png", "")]
        [TestCase("12345", "")]
        public void The_id_of_a_result_names_its_asset(string id, string guid) => Assert.That(GlobalIds.AssetGuid(id), Is.EqualTo(guid));

        [TestCase("JSON", "{\"Id\":\"id0\"")]
        [TestCase("CSV", "id0,\"'=Label, \"\"0\"\"\"")]
        [TestCase("TSV", "id0\t'=Label, \"0\"\ta b\t")]
        [TestCase("CSV", ",icon,0,Hero;Old,true\r\n")]
        [TestCase("TSV", "\ticon\t0\tHero;Old\ttrue\r\n")]
        public void Results_go_to_a_file(string format, string part)
        {
            JToken got = bench.Run(new UnitySearchTool(), new { SearchQuery = "x", SaveToFile = true, OutputFormat = format });
            Assert.That((bool)got["ResultsSavedToFile"]!);
            Assert.That(got["Results"]!.Count(), Is.Zero);
            string path = (string)got["ResultsFilePath"]!;
            Assert.That(path, Does.EndWith("." + format.ToLowerInvariant()));
            Assert.That(File.ReadAllText(path), Does.Contain(part));
        }

        [Test]
        public void Many_results_go_to_a_file_by_themselves_and_old_files_go()
        {
            search.Hits = 20;
            string path = "";
            for (int i = 0; i < Limits.ResultFiles + 3; i++)
            {
                path = (string)bench.Run(new UnitySearchTool(), new { SearchQuery = "x", AutoSaveThreshold = 10 })["ResultsFilePath"]!;
            }
            Assert.That(Directory.GetFiles(Path.GetDirectoryName(path)!), Has.Length.EqualTo(Limits.ResultFiles));
            Assert.That(File.Exists(path));
        }

        [Test]
        public void A_search_has_an_end()
        {
            search.Hits = Limits.SearchHits * 3;
            JToken got = bench.Run(new UnitySearchTool(), new { SearchQuery = "x" });
            Assert.That((string)got["ErrorMessage"]!, Does.Contain("not looked at"));
            Assert.That(bench.Refusal(new UnitySearchTool(), new { SearchQuery = "x", Providers = new[] { "nope" } }), Does.Contain("nope"));
            Assert.That(bench.Refusal(new UnitySearchTool(), new { }), Does.Contain("SearchQuery"));
        }

        [Test]
        public void Providers_are_listed()
        {
            JToken got = bench.Run(new GetProviderDetailsTool(), new { });
            Assert.That(got["Providers"]!.Select(p => (string)p["Id"]!), Is.EqualTo(new[] { "log", "asset" }));
            Assert.That((int)got["InactiveCount"]!, Is.EqualTo(1));
            JToken missing = bench.Run(new GetProviderDetailsTool(), new { ProviderId = "log", ActiveOnly = true });
            Assert.That((bool)missing["Success"]!, Is.False);
        }
    }
}
