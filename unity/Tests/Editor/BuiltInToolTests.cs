#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests that the built-in tools have the names, parameters and defaults that servers of uLoopMCP expect. Additional
    /// parameters are ours.
    /// </summary>
    public sealed class BuiltInToolTests
    {
        [TestCase(typeof(ClearConsoleTool), "clear-console", "AddConfirmationMessage=true TimeoutSeconds=15")]
        [TestCase(typeof(CompileTool), "compile", "ForceRecompile=false TimeoutSeconds=15")]
        [TestCase(typeof(DebugSleepTool), "debug-sleep", "SleepSeconds=15 TimeoutSeconds=10")]
        [TestCase(typeof(ExecuteMenuItemTool), "execute-menu-item", "MenuItemPath=\"\" UseReflectionFallback=true TimeoutSeconds=15")]
        [TestCase(typeof(FindGameObjectsTool), "find-game-objects",
            "NamePattern=\"\" SearchMode=0 RequiredComponents=[] Tag=\"\" Layer=null IncludeInactive=false MaxResults=20 " +
            "IncludeInheritedProperties=false TimeoutSeconds=60")]
        [TestCase(typeof(GetHierarchyTool), "get-hierarchy",
            "IncludeInactive=true MaxDepth=-1 RootPath=null IncludeComponents=true MaxResponseSizeKB=100 TimeoutSeconds=15")]
        [TestCase(typeof(GetLogsTool), "get-logs",
            "LogType=3 MaxCount=100 SearchText=\"\" UseRegex=false SearchInStackTrace=false IncludeStackTrace=true TimeoutSeconds=15")]
        [TestCase(typeof(GetMenuItemsTool), "get-menu-items",
            "FilterText=\"\" FilterType=0 IncludeValidation=false MaxCount=200 TimeoutSeconds=15")]
        [TestCase(typeof(GetProviderDetailsTool), "get-provider-details",
            "ProviderId=\"\" ActiveOnly=false SortByPriority=true IncludeDescriptions=true TimeoutSeconds=15")]
        [TestCase(typeof(GetToolDetailsTool), "get-tool-details", "IncludeDevelopmentOnly=false TimeoutSeconds=15")]
        [TestCase(typeof(PingTool), "ping", "Message=\"Hello from TypeScript MCP Server\" TimeoutSeconds=15")]
        [TestCase(typeof(RunTestsTool), "run-tests", "TestMode=0 FilterType=0 FilterValue=\"\" SaveXml=false TimeoutSeconds=600")]
        [TestCase(typeof(SetClientNameTool), "set-client-name",
            "ClientName=\"Unknown Client\" PushNotificationEndpoint=\"\" ClientPort=0 TimeoutSeconds=15")]
        [TestCase(typeof(UnitySearchTool), "unity-search",
            "SearchQuery=\"\" Providers=[] MaxResults=50 IncludeDescription=true IncludeMetadata=false SearchFlags=0 SaveToFile=false " +
            "OutputFormat=0 AutoSaveThreshold=100 FileExtensions=[] AssetTypes=[] PathFilter=\"\" TimeoutSeconds=15")]
        public void A_tool_has_the_parameters_that_clients_know(Type type, string name, string parameters)
        {
            var tool = (IUnityTool)Activator.CreateInstance(type)!;
            Assert.That(tool.ToolName, Is.EqualTo(name));
            var schema = (JObject)SchemaGenerator.GenerateLegacy(tool.ParametersType)["Properties"]!;
            string got = string.Join("|", schema.Properties().Select(p => p.Name + "=" + Json.Write(p.Value["DefaultValue"]!)));
            foreach (string expected in Pairs(parameters)) Assert.That("|" + got + "|", Does.Contain("|" + expected + "|"));
            foreach (JProperty property in schema.Properties())
            {
                Assert.That((string)property.Value["Description"]!, Is.Not.Empty.And.Not.StartsWith("Parameter:"), property.Name);
            }
        }

        [Test]
        public void What_reads_is_said_to_read_and_what_acts_is_guarded()
        {
            var registry = new ToolRegistry(new TestLog());
            Type[] types = typeof(ToolRegistry).Assembly.GetTypes()
                .Where(t => t.IsDefined(typeof(McpToolAttribute), false)).ToArray();
            foreach (Type type in types) registry.Register((IUnityTool)Activator.CreateInstance(type)!);
            Assert.That(registry.All, Has.Count.EqualTo(39));
            string[] acting = registry.All.Where(t => !t.About.ReadOnly).Select(t => t.Name).ToArray();
            Assert.That(acting, Is.EquivalentTo(new[]
            {
                "batch", "change-packages", "clear-console", "compile", "delete-asset", "delete-game-object", "edit-asset", "edit-component", "edit-game-object",
                "edit-script", "edit-ui", "execute-csharp", "execute-menu-item", "play-mode", "prefabs", "remove-component", "run-tests", "scene", "set-client-name",
                "set-selection", "undo"
            }));
            var checker = new SecurityChecker(new TestSecurity());
            string[] refused = registry.All.Where(t => checker.Check(t) != null).Select(t => t.Name).ToArray();
            Assert.That(refused, Is.EquivalentTo(new[] { "change-packages", "delete-asset", "execute-csharp", "execute-menu-item", "run-tests" }));
            string[] hidden = registry.All.Where(t => t.About.DisplayDevelopmentOnly).Select(t => t.Name).ToArray();
            Assert.That(hidden, Is.EquivalentTo(new[] { "debug-sleep", "get-tool-details", "ping", "set-client-name" }));
        }

        [Test]
        public void The_limits_that_descriptions_name_are_the_real_ones()
        {
            string inspect = typeof(InspectTool).GetCustomAttribute<McpToolAttribute>()!.Description;
            Assert.That(inspect, Does.Contain($"Of a list it shows {Limits.PropertyItems} items"));
            string values = (string)SchemaGenerator.Generate(typeof(EditComponentSchema))["properties"]!["Properties"]!["description"]!;
            Assert.That(values, Does.Contain($"(at most {Limits.PropertyValues} values in all)").And.Contain("[SerializeReference] field {\"$type\""));
        }

        [Test]
        public void Every_tool_that_clients_see_is_in_one_group_and_they_are_few()
        {
            var registry = new ToolRegistry(new TestLog());
            foreach (Type type in typeof(ToolRegistry).Assembly.GetTypes().Where(t => t.IsDefined(typeof(McpToolAttribute), false)))
            {
                registry.Register((IUnityTool)Activator.CreateInstance(type)!);
            }
            string[] seen = registry.All.Where(t => !t.About.DisplayDevelopmentOnly).Select(t => t.Name).ToArray();
            Assert.That(Enum.GetValues(typeof(ToolGroup)).Cast<ToolGroup>().SelectMany(g => ToolGroups.Of(g)), Is.EquivalentTo(seen));
            // One of the five is listed only where a session may use several editors.
            const int OfGateway = 5;
            Assert.That(seen.Length + OfGateway, Is.LessThanOrEqualTo(40));
        }

        [Test]
        public void Every_other_name_stands_for_one_tool_and_leads_to_arguments_that_it_has()
        {
            Dictionary<string, IUnityTool> tools = typeof(ToolRegistry).Assembly.GetTypes().Where(t => t.IsDefined(typeof(McpToolAttribute), false))
                .Select(t => (IUnityTool)Activator.CreateInstance(t)!).ToDictionary(t => t.ToolName);
            string[] others = OtherNames.Table.SelectMany(o => o.Value.Where(n => n.Name != o.Key)).Select(n => n.Name).ToArray();
            Assert.That(others, Is.Unique);
            Assert.That(others.Where(tools.ContainsKey), Is.Empty);
            foreach (var (tool, name) in OtherNames.Table.SelectMany(o => o.Value.Select(n => (o.Key, n))))
            {
                var properties = (JObject)SchemaGenerator.Generate(tools[tool].ParametersType)["properties"]!;
                foreach (OtherArgument argument in name.Arguments)
                {
                    string at = $"{name.Name}: {argument.From}";
                    Assert.That(properties[argument.To], Is.Not.Null, at);
                    if (name.Name == tool) Assert.That(properties[argument.From], Is.Null, at);
                    string[] Values(string of) => ((properties[of]!["enum"] as JArray)?.Select(v => (string)v!) ?? new string[0]).ToArray();
                    if (Values(argument.To).Length > 0) Assert.That(argument.Values.Values, Is.SubsetOf(Values(argument.To)), at);
                    foreach (var add in argument.Adds) Assert.That(Values(add.Key), Does.Contain(add.Value), at);
                }
            }
        }

        [Test]
        public void The_tools_of_a_group_that_is_off_are_neither_listed_nor_run_unless_the_user_allows_one()
        {
            var registry = new ToolRegistry(new TestLog());
            registry.Register(new ListTestsTool());
            registry.Register(new FindAssetsTool());
            var settings = new TestSecurity { Off = { ToolGroup.Assets } };
            var checker = new SecurityChecker(settings);
            Assert.That(registry.All.Where(checker.IsListed).Select(t => t.Name), Is.EqualTo(new[] { "list-tests" }));
            Assert.That(checker.Check(registry.Find("find-assets"))!.Reason, Is.EqualTo("The user has switched off the group Assets of tools"));
            Assert.That(checker.OffGroups, Is.EqualTo("-Assets"));
            settings.Permissions["find-assets"] = ToolPermission.Allow;
            Assert.That(checker.IsListed(registry.Find("find-assets")!) && checker.Check(registry.Find("find-assets")) == null);
            settings.Off.Clear();
            Assert.That(checker.OffGroups, Is.Empty);
        }

        // A default may contain blanks, so the text is split before each word that is followed by '='.
        private static string[] Pairs(string text) =>
            System.Text.RegularExpressions.Regex.Split(text, @" (?=\w+=)").Where(p => p.Length > 0).ToArray();

        [Test]
        public void A_result_that_cannot_be_asked_whether_it_failed_is_an_answer_too()
        {
            CallOutcome outcome = ToolResults.Outcome(new Sour(), 1);
            Assert.That(outcome.Error!.Type, Is.EqualTo("tool_failed"));
        }

        [Test]
        public void A_result_that_is_nested_too_deep_is_refused_with_the_fix()
        {
            static JToken Deep(int levels)
            {
                JToken value = new JArray();
                for (int i = 1; i < levels; i++) value = new JArray(value);
                return value;
            }
            Assert.That(ToolResults.Outcome(Deep(Limits.ResultDepth), 1).Error, Is.Null);
            string brackets = new('[', 200);
            var chain = new Chain();
            for (int i = 0; i < 100_000; i++) chain = new Chain { Next = chain };
            foreach (object value in new object[] { Deep(Limits.ResultDepth + 1), new JRaw(brackets + brackets.Replace('[', ']')), chain })
            {
                RpcError error = ToolResults.Outcome(value, 1).Error!;
                Assert.That(error.Type, Is.EqualTo("tool_failed"));
                Assert.That(error.Ran, Is.True);
                Assert.That(error.Message, Does.Contain("115 levels").And.Contain("fewer levels"));
                Assert.That(ToolResults.Flaw(value), Does.Contain("levels deep"));
            }
            Assert.That(ToolResults.Flaw(Deep(Limits.InnerResultDepth)), Is.Null);
            Assert.That(ToolResults.Outcome(new JValue(brackets + "\"[" + brackets), 1).Error, Is.Null);
        }

        private sealed class Chain
        {
            public Chain? Next { get; set; }
        }

        private sealed class Sour
        {
            [Newtonsoft.Json.JsonIgnore]
            public bool Success => throw new System.InvalidOperationException("sour");
        }
    }
}
