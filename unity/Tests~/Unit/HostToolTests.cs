#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the built-in tools with their real adapters, in the simulated editor.</summary>
    public sealed class HostToolTests : HostBench
    {
        [Test]
        public void A_compilation_that_succeeds_is_answered_after_its_own_reload()
        {
            host.Order("edit");
            host.Await("done");
            using (TestClient client = Greeted())
            {
                Send(client, "compile", new { TimeoutSeconds = 60 });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            JToken value = Outcome(after, 1)["result"]!["value"]!;
            Assert.That((bool)value["Success"]! && (bool)value["DomainReloaded"]!, value.ToString());
            Assert.That((string)value["Warnings"]![0]!["Message"]!, Does.Contain("CS0168"));
            Assert.That((string)value["RequestId"]!, Is.EqualTo("call1"));
            seq = 1;
            Assert.That((bool)Value(after, "compile", new { })["UpToDate"]!);
            Assert.That(host.Leaked(), Is.Zero);
        }

        [Test]
        public void A_compilation_ends_in_an_editor_without_focus()
        {
            // If the editor were not kept awake, the end of the compilation would be seen after an hour.
            Restart("--unfocused-ms", "3600000", "--compile-ms", "1000");
            foreach (string order in new[] { "edit", "focus off" })
            {
                host.Order(order);
                host.Await("done");
            }
            using (TestClient client = Greeted())
            {
                Send(client, "compile", new { TimeoutSeconds = 60 });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That((bool)Outcome(after, 1)["result"]!["value"]!["Success"]!);
        }

        [Test]
        public void A_reload_that_something_holds_back_is_told_and_blocks_no_call()
        {
            foreach (string order in new[] { "edit", "lock-reload on" })
            {
                host.Order(order);
                host.Await("done");
            }
            using (TestClient client = Greeted())
            {
                Value(client, "allow", new { setting = "EnableTestsExecution" });
                JToken first = Value(client, "compile", new { });
                Assert.That((bool)first["Success"]! && !(bool)first["DomainReloaded"]!, first.ToString());
                Assert.That((string)first["Message"]!, Does.Contain("held back"));
                JToken second = Value(client, "compile", new { });
                Assert.That((bool)second["IsIndeterminate"]!, second.ToString());
                Assert.That(second["Success"]!.Type, Is.EqualTo(JTokenType.Null));
                Assert.That((string)second["Message"]!, Does.Contain("held back"));
                Assert.That((string)Value(client, "run-tests", new { })["Message"]!, Does.Contain("holds the reload back"));
                host.Order("lock-reload off");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            Assert.That((bool)Value(after, "compile", new { })["UpToDate"]!);
            Assert.That(host.Leaked(), Is.Zero);
        }

        [Test]
        public void A_compilation_that_fails_is_answered_with_its_errors()
        {
            host.Order("edit");
            host.Await("done");
            host.Order("compile-error on");
            host.Await("done");
            using TestClient client = Greeted();
            JToken value = Value(client, "compile", new { });
            Assert.That((bool)value["Success"]!, Is.False);
            Assert.That((string)value["Errors"]![0]!["Message"]!, Does.Contain("CS1002"));
            Assert.That((int)value["Errors"]![0]!["Line"]!, Is.EqualTo(7));
            // Nothing has changed since then, but the errors are reported again.
            Assert.That((int)Value(client, "compile", new { })["ErrorCount"]!, Is.EqualTo(1));
        }

        [Test]
        public void The_console_is_read_and_cleared_whatever_its_window_shows()
        {
            using TestClient client = Greeted();
            Value(client, "clear-console", new { });
            JToken logs = Value(client, "get-logs", new { SearchText = "Cleared" });
            Assert.That((int)logs["TotalCount"]!, Is.EqualTo(1), logs.ToString());
            Assert.That((string)logs["Logs"]![0]!["File"]!, Is.EqualTo("Assets/Player.cs"));
            // The user has hidden messages, collapsed entries and set a filter. The tool still reads everything, and the user's
            // options stay.
            Value(client, "console-view", new { flags = 1 << 0 | 1 << 9, filter = "nothing has this" });
            Assert.That((int)Value(client, "get-logs", new { })["TotalCount"]!, Is.GreaterThan(0));
            JToken view = Value(client, "console-view", new { flags = -1 });
            Assert.That((int)view["Flags"]!, Is.EqualTo(1 << 0 | 1 << 9));
            Assert.That((string)view["Filter"]!, Is.EqualTo("nothing has this"));
        }

        [Test]
        public void Scenes_menu_and_search_are_read()
        {
            using TestClient client = Greeted();
            JToken tree = Value(client, "get-hierarchy", new { });
            Assert.That((string)tree["hierarchy"]![1]!["children"]![0]!["name"]!, Is.EqualTo("Player"));
            JToken found = Value(client, "find-game-objects", new { RequiredComponents = new[] { "BoxCollider" } });
            Assert.That((string)found["results"]![0]!["path"]!, Is.EqualTo("World/Player"));
            JToken property = found["results"]![0]!["components"]![1]!["properties"]![0]!;
            Assert.That((string)property["name"]!, Is.EqualTo("speed"));
            Assert.That((double)property["value"]!, Is.EqualTo(1.5));
            JToken menu = Value(client, "get-menu-items", new { });
            Assert.That(menu["MenuItems"]!.Select(i => (string)i["Path"]!), Is.EqualTo(new[] { "Edit/Undo", "File/Exit", "Tools/Count", "Window/Holdfast" }));
            Assert.That((string)menu["MenuItems"]![2]!["Shortcut"]!, Is.EqualTo("%&c"));
            JToken providers = Value(client, "get-provider-details", new { });
            Assert.That((int)providers["ActiveCount"]!, Is.EqualTo(1));
            JToken provider = providers["Providers"]![0]!;
            Assert.That((bool)provider["ShowDetails"]!);
            Assert.That((string)provider["ShowDetailsOptions"]!, Is.EqualTo("Default"));
            Assert.That(provider["SupportedTypes"]!.Select(t => (string)t!), Is.EqualTo(new[] { "asset" }));
            Assert.That((int)provider["ActionCount"]!, Is.EqualTo(1));
            JToken results = Value(client, "unity-search", new { SearchQuery = "player", Providers = new[] { "asset" } });
            JToken hit = results["Results"]![0]!;
            Assert.That((string)hit["Label"]!, Is.EqualTo("found:player"));
            Assert.That((string)hit["Path"]!, Is.EqualTo("Assets/Player.asset"));
            Assert.That((string)hit["Thumbnail"]!, Is.EqualTo("d_Prefab Icon"));
            Assert.That((float)hit["Score"]!, Is.EqualTo(3));
            Assert.That(hit["Tags"]!.Select(t => (string)t!), Is.EqualTo(new[] { "Hero" }));
            Assert.That((bool)hit["IsSelectable"]!);
        }

        [Test]
        public void Values_of_properties_are_json_with_full_precision()
        {
            using TestClient client = Greeted();
            JToken found = Value(client, "find-game-objects", new { RequiredComponents = new[] { "BoxCollider" } });
            JToken Of(string name) => found["results"]![0]!["components"]![1]!["properties"]!.Single(p => (string)p["name"]! == name)["value"]!;
            Assert.That(Json.Write(Of("size")), Is.EqualTo("{\"x\":0.004,\"y\":123.4567,\"z\":-2.0}"));
            Assert.That((double)Of("exact"), Is.EqualTo(0.1234567890123));
            Assert.That(Json.Write(Of("huge")), Is.EqualTo("18446744073709551615"));
            Assert.That((string)Of("side")!, Is.EqualTo("Left"));
            Assert.That((int)Of("sides"), Is.EqualTo(-1));
            Assert.That((string)Of("letter")!, Is.EqualTo("x"));
            Assert.That((string)Of("hash")!, Is.EqualTo("00000000000000000000000000000001"));
            Assert.That(Of("nothing").Type, Is.EqualTo(JTokenType.Null));
            var items = (JArray)Of("items");
            Assert.That(items, Has.Count.EqualTo(Limits.PropertyItems + 1));
            Assert.That((int)items[31], Is.EqualTo(31));
            Assert.That((string)items.Last!, Is.EqualTo("... 1000 items"));
            JToken wave = Of("wave");
            Assert.That((string)wave["title"]!, Is.EqualTo("first"));
            for (int i = 1; i < Limits.PropertyDepth; i++) wave = wave["next"]!;
            Assert.That((string)wave["next"]!, Is.EqualTo("..."));
            Assert.That((bool)Of("last"));
        }

        [Test]
        public void A_search_with_many_results_loads_no_asset_and_lists_none_twice()
        {
            using TestClient client = Greeted();
            JToken found = Value(client, "unity-search", new { SearchQuery = "many", MaxResults = 1500, AutoSaveThreshold = 0 });
            Assert.That((int)found["TotalCount"]!, Is.EqualTo(5000));
            string[] ids = found["Results"]!.Select(r => (string)r["Path"]!).ToArray();
            Assert.That(ids, Is.EqualTo(Enumerable.Range(0, 1500).Select(i => $"Assets/{i:x32}.png")), "the best first, none twice");
            Assert.That((string)found["Results"]![0]!["Type"]!, Is.EqualTo("Texture2D"));
            Assert.That((bool)found["Results"]![0]!["IsSelectable"]!);
        }

        [Test]
        public void A_menu_item_is_executed_once_the_user_allows_it()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowMenuItemExecution" });
            JToken value = Value(client, "execute-menu-item", new { MenuItemPath = "Tools/Count" });
            Assert.That((bool)value["Success"]!, value.ToString());
            Assert.That((string)Value(client, "execute-menu-item", new { MenuItemPath = "Edit/Undo" })["ErrorMessage"]!, Does.Contain("disabled"));
        }

        [Test]
        public void Tests_in_edit_mode_are_run_and_written_as_xml()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "EnableTestsExecution" });
            JToken value = Value(client, "run-tests", new { SaveXml = true });
            Assert.That((int)value["PassedCount"]!, Is.EqualTo(1), value.ToString());
            Assert.That((int)value["FailedCount"]!, Is.EqualTo(1));
            Assert.That((bool)value["Success"]!, Is.False);
            Assert.That((string)value["FailedTests"]![0]!["Name"]!, Is.EqualTo("Game.Tests.Jumps"));
            Assert.That(File.ReadAllText((string)value["XmlPath"]!), Does.Contain("<test-suite name=\"Game\""));
        }

        [Test]
        public void Tests_do_not_begin_while_unity_would_ask_about_a_prefab()
        {
            Restart("--flag", "prefabOpen", "--flag", "sceneDirty");
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "EnableTestsExecution" });
            JToken value = Value(client, "run-tests", new { SaveScenes = true });
            Assert.That((string)value["Message"]!, Does.StartWith("A prefab"), value.ToString());
            Assert.That((int)value["TestCount"]!, Is.Zero);
        }

        [Test]
        public void A_test_run_goes_on_over_the_reload_of_play_mode()
        {
            using (TestClient client = Greeted())
            {
                Value(client, "allow", new { setting = "EnableTestsExecution" });
                Send(client, "run-tests", new { TestMode = "PlayMode", TimeoutSeconds = 60 });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            JToken value = Outcome(after, 2)["result"]!["value"]!;
            Assert.That((int)value["PassedCount"]!, Is.EqualTo(1), value.ToString());
            Assert.That((int)value["FailedCount"]!, Is.EqualTo(1));
            Assert.That((bool)value["DomainReloaded"]!);
            Assert.That((string)value["FailedTests"]![0]!["Message"]!, Is.EqualTo("Expected: 2"));
            Assert.That(host.Leaked(), Is.Zero);
        }

        [Test]
        public void Play_mode_is_entered_over_the_domain_reload_and_left_again()
        {
            using (TestClient client = Greeted())
            {
                Send(client, "play-mode", new { Action = "Enter" });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient after = Greeted();
            JToken value = Outcome(after, 1)["result"]!["value"]!;
            Assert.That((bool)value["Success"]! && (bool)value["IsPlaying"]! && (bool)value["DomainReloaded"]!, value.ToString());
            seq = 1;
            Assert.That((bool)Value(after, "play-mode", new { Action = "Enter" })["Success"]!, "it is in play mode already");
            Assert.That((bool)Value(after, "play-mode", new { Action = "Pause" })["IsPaused"]!);
            Assert.That((bool)Value(after, "play-mode", new { Action = "Step" })["IsPaused"]!);
            Assert.That((bool)Value(after, "play-mode", new { Action = "Resume" })["Success"]!);
            value = Value(after, "play-mode", new { Action = "Exit" });
            Assert.That(((bool)value["Success"]!, (bool)value["IsPlaying"]!, (bool)value["DomainReloaded"]!), Is.EqualTo((true, false, false)));
        }

        [Test]
        public void No_tool_fails_for_a_null_in_the_place_of_an_argument()
        {
            using TestClient client = Greeted();
            JToken tools = client.Ask("holdfast/tools", new { })["result"]!["tools"]!;
            IEnumerable<Type> ours = typeof(CompileTool).Assembly.GetTypes().Where(t => t.IsDefined(typeof(McpToolAttribute), false));
            var names = new HashSet<string>(ours.Select(t => ((IUnityTool)Activator.CreateInstance(t)!).ToolName));
            foreach (JToken tool in tools.Where(t => names.Contains((string)t["name"]!)))
            {
                var nulls = new JObject();
                foreach (JProperty property in ((JObject)tool["inputSchema"]!["properties"]!).Properties()) nulls[property.Name] = JValue.CreateNull();
                JObject answer = client.Await(Send(client, (string)tool["name"]!, nulls));
                Assert.That((string?)answer["error"]?["data"]?["type"], Is.Null.Or.EqualTo("invalid_params").Or.EqualTo("security_blocked"), answer.ToString());
            }
        }

        [TestCase("Enter, Exit")]
        [TestCase(99)]
        public void An_action_is_exactly_one_of_the_names(object action)
        {
            using TestClient client = Greeted();
            foreach (string tool in new[] { "play-mode", "scene" })
            {
                Assert.That(Refused(client, tool, new { Action = action }), Does.StartWith($"Action of {tool} must be one of"));
            }
        }

        [TestCase("noDomainReload", true, "The editor is in play mode")]
        [TestCase("compileErrors", false, "The scripts do not compile")]
        [TestCase("cannotPlay", false, "Unity did not enter play mode")]
        public void Play_mode_without_a_reload_is_answered_too(string flag, bool success, string says)
        {
            Restart("--flag", flag);
            using TestClient client = Greeted();
            JToken value = Value(client, "play-mode", new { Action = "Enter" });
            Assert.That(((bool)value["Success"]!, (bool)value["IsPlaying"]!), Is.EqualTo((success, success)));
            Assert.That((string)value["Message"]!, Does.StartWith(says));
            if (!success) Assert.That((string)Value(client, "play-mode", new { Action = "Step" })["Message"]!, Does.Contain("enter it first"));
        }

        private (bool Success, string Message) Scene(TestClient client, object arguments)
        {
            JToken value = Value(client, "scene", arguments);
            return ((bool)value["Success"]!, (string)value["Message"]!);
        }

        [Test]
        public void Scenes_are_created_opened_saved_and_closed()
        {
            const string Level = "Assets/Level.unity";
            using TestClient client = Greeted();
            Assert.That(Scene(client, new { Action = "Create", Path = "Assets/No/Level.unity" }), Is.EqualTo((false, "There is no folder for Assets/No/Level.unity; create it first")));
            Assert.That(Scene(client, new { Action = "Create", Path = Level, Additive = true }).Success);
            Assert.That(File.Exists(Path.Combine(project, Level)));
            Assert.That(Scene(client, new { Action = "Create", Path = Level }), Is.EqualTo((false, $"There is a file {Level} already; it is not replaced")));
            Assert.That(Scene(client, new { Action = "Save", Path = "Assets/Copy.unity" }).Success, "the active scene goes to a new file");
            JToken listed = Value(client, "list-scenes", new { });
            Assert.That(listed["ProjectScenes"]!.Select(p => (string)p!), Is.EqualTo(new[] { "Assets/Copy.unity", Level }));
            Assert.That(listed["OpenScenes"]!.Select(s => (string)s["Path"]! + (bool)s["IsActive"]!), Is.EqualTo(new[] { "Assets/SampleScene.unityFalse", "Assets/Copy.unityTrue" }));
            Assert.That(Scene(client, new { Action = "Activate", Path = "Assets/SampleScene.unity" }).Success);
            Assert.That(Scene(client, new { Action = "Close", Path = "Assets/Copy.unity" }).Success);
            Assert.That(Scene(client, new { Action = "Close", Path = "Assets/SampleScene.unity" }).Message, Does.StartWith("Unity keeps at least one scene open"));
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/Missing.unity" }).Message, Does.StartWith("There is no scene Assets/Missing.unity"));
            Assert.That(Scene(client, new { Action = "Open", Path = Level }), Is.EqualTo((true, "Opened " + Level)));
            Assert.That((int)Value(client, "list-scenes", new { })["OpenScenes"]!.Count(), Is.EqualTo(1));
        }

        [Test]
        public void Unsaved_changes_of_a_scene_are_never_lost()
        {
            Restart("--flag", "sceneDirty");
            File.WriteAllText(Path.Combine(project, "Assets", "Other.unity"), "");
            using TestClient client = Greeted();
            foreach (string action in new[] { "Open", "Create" })
            {
                string path = action == "Open" ? "Assets/Other.unity" : "Assets/New.unity";
                Assert.That(Scene(client, new { Action = action, Path = path }),
                    Is.EqualTo((false, "Assets/SampleScene.unity has changes that would be lost; save it first")));
            }
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/Other.unity", Additive = true }).Success);
            Assert.That(Scene(client, new { Action = "Close", Path = "Assets/SampleScene.unity" }), Is.EqualTo((false, "Assets/SampleScene.unity has unsaved changes; save it first, or drop them with Discard")));
            string sample = Path.Combine(project, "Assets", "SampleScene.unity");
            File.WriteAllText(sample, "");
            File.SetAttributes(sample, FileAttributes.ReadOnly);
            foreach (string path in new[] { "", "Assets/SampleScene.unity" })
            {
                Assert.That(Scene(client, new { Action = "Save", Path = path }).Message, Does.StartWith("Assets/SampleScene.unity is read-only"));
            }
            File.SetAttributes(sample, FileAttributes.Normal);
            Assert.That(Scene(client, new { Action = "Save" }), Is.EqualTo((true, "Saved Assets/SampleScene.unity")));
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/Other.unity", Additive = true }), Is.EqualTo((true, "It is open already")));
            Assert.That(Scene(client, new { Action = "Close", Path = "Assets/SampleScene.unity" }).Success);
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/SampleScene.unity", Additive = true }).Success);
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/Other.unity" }).Success, "alone, though it is open already");
            Assert.That(Value(client, "list-scenes", new { })["OpenScenes"]!.Select(s => (string)s["Path"]!), Is.EqualTo(new[] { "Assets/Other.unity" }));
        }

        [Test]
        public void Nothing_that_makes_unity_ask_about_a_prefab_is_done()
        {
            Restart("--flag", "prefabOpen", "--flag", "sceneDirty");
            File.WriteAllText(Path.Combine(project, "Assets", "Other.unity"), "");
            using TestClient client = Greeted();
            Assert.That(Scene(client, new { Action = "Open", Path = "Assets/Other.unity", Additive = true }), Is.EqualTo((false, SceneTool.UnsavedPrefab)));
            JToken play = Value(client, "play-mode", new { Action = "Enter" });
            Assert.That(((bool)play["Success"]!, (string)play["Message"]!), Is.EqualTo((false, SceneTool.UnsavedPrefab)));
        }

        [TestCase("Level.unity", "must begin with Assets/")]
        [TestCase("Assets/Level.scene", "must end with .unity")]
        [TestCase("Assets/../../Level.unity", "has an empty part")]
        [TestCase("Assets//Level.unity", "has an empty part")]
        [TestCase("Assets/C:Level.unity", "has a character")]
        [TestCase("Assets\\..\\Level.unity", "must begin with Assets/")]
        public void A_path_outside_of_the_assets_is_refused(string path, string why)
        {
            using TestClient client = Greeted();
            JObject answer = client.Await(Send(client, "scene", new { Action = "Create", Path = path }));
            Assert.That((string)answer["error"]!["data"]!["type"]!, Is.EqualTo("invalid_params"));
            Assert.That((string)answer["error"]!["message"]!, Does.Contain("Path " + why));
        }

        [Test]
        public void An_object_is_inspected_by_its_path_its_ids_and_as_an_asset()
        {
            File.WriteAllText(Path.Combine(project, "Assets", "hero.png"), "");
            using TestClient client = Greeted();
            JToken player = Value(client, "inspect", new { Object = "World/Player" });
            Assert.That(((string)player["Name"]!, (string)player["Path"]!, (string)player["Tag"]!), Is.EqualTo(("Player", "World/Player", "Untagged")));
            Assert.That(player["Components"]!.Select(c => (string)c["type"]!), Is.EqualTo(new[] { "Transform", "BoxCollider" }));
            Assert.That(player["Components"]![1]!["properties"]!.Count(), Is.GreaterThan(3));
            foreach (string id in new[] { "Id", "GlobalId" })
            {
                JToken again = Value(client, "inspect", new { Object = (string)player[id]!, Components = new[] { "BoxCollider" } });
                Assert.That((string)again["GlobalId"]!, Is.EqualTo((string)player["GlobalId"]!));
                Assert.That(again["Components"]!.Select(c => (string)c["type"]!), Is.EqualTo(new[] { "BoxCollider" }));
            }
            JToken asset = Value(client, "inspect", new { Object = "Assets/hero.png" });
            Assert.That(((string)asset["Type"]!, (string)asset["AssetPath"]!), Is.EqualTo(("UnityEngine.Texture2D", "Assets/hero.png")));
            Assert.That(asset["Components"]![0]!["properties"]!.Count(), Is.GreaterThan(3));
            foreach (var (given, why) in new[]
            {
                (new { Object = "Assets/none.png", Components = new string[0] }, "There is no object Assets/none.png"),
                (new { Object = "Player", Components = new string[0] }, "A path begins at the root"),
                (new { Object = "World/Player", Components = new[] { "Light" } }, "it has Transform, BoxCollider")
            })
            {
                JObject answer = client.Await(Send(client, "inspect", given));
                Assert.That((string)answer["error"]!["message"]!, Does.Contain(why));
            }
        }

        [Test]
        public void The_editors_state_and_the_project_are_told()
        {
            using TestClient client = Greeted();
            JToken state = Value(client, "editor-state", new { });
            Assert.That(((string)state["UnityVersion"]!, (string)state["ProductName"]!, (bool)state["IsPlaying"]!), Is.EqualTo(("6000.0.78f1", "Game", false)));
            Assert.That((string)state["OpenScenes"]![0]!["Path"]!, Is.EqualTo("Assets/SampleScene.unity"));
            Assert.That(state["Layers"]!.Select(l => (string)l!), Does.Contain("UI"));
            Assert.That(state["Packages"], Is.Null);
            host.Order("compile-error on");
            host.Await("done");
            state = Value(client, "editor-state", new { IncludePackages = true });
            Assert.That((bool)state["HasCompileErrors"]!);
            Assert.That(state["Packages"]!.ToObject<Dictionary<string, string>>(), Is.EqualTo(new Dictionary<string, string> { ["dev.holdfast.unity"] = "0.1.0" }));
        }

        [Test]
        public void Every_tool_answers_in_an_editor_without_focus()
        {
            // Arguments with which each tool runs. A new tool needs a line here.
            var arguments = new Dictionary<string, object>
            {
                ["ping"] = new { },
                ["set-client-name"] = new { ClientName = "me" },
                ["get-tool-details"] = new { },
                ["get-hierarchy"] = new { },
                ["find-game-objects"] = new { NamePattern = "Player" },
                ["compile"] = new { },
                ["debug-sleep"] = new { SleepSeconds = 1 },
                ["get-logs"] = new { },
                ["clear-console"] = new { },
                ["unity-search"] = new { SearchQuery = "player" },
                ["get-provider-details"] = new { },
                ["get-menu-items"] = new { },
                ["execute-menu-item"] = new { MenuItemPath = "Tools/Count" },
                ["run-tests"] = new { SaveScenes = true },
                ["play-mode"] = new { Action = "Pause" },
                ["list-scenes"] = new { },
                ["editor-state"] = new { },
                ["inspect"] = new { Object = "World/Player" },
                ["edit-game-object"] = new { Action = "Create", Name = "Wall" },
                ["edit-component"] = new { Action = "Add", Object = "Wall", Component = "Rigidbody" },
                ["edit-ui"] = new { Kind = "Canvas" },
                ["remove-component"] = new { Object = "Wall", Component = "Rigidbody" },
                ["delete-game-object"] = new { Object = "Wall" },
                ["get-selection"] = new { },
                ["set-selection"] = new { Objects = new[] { "World" } },
                ["undo"] = new { Action = "Undo" },
                ["screenshot"] = new { Source = "Camera" },
                ["list-packages"] = new { },
                ["change-packages"] = new { Action = "Remove", Package = "none" },
                ["list-tests"] = new { },
                ["batch"] = new { Calls = new[] { new { Tool = "list-scenes" } } },
                ["execute-csharp"] = new { Code = "return 1;" },
                ["find-assets"] = new { },
                ["edit-asset"] = new { Action = "CreateMaterial", Path = "Assets/Wall.mat" },
                ["delete-asset"] = new { Path = "Assets/Wall.mat" },
                ["prefabs"] = new { Action = "Create", Object = "World", Path = "Assets/World.prefab" },
                ["edit-script"] = new { Action = "Create", Path = "Assets/A.cs", Text = "class A { }" },
                ["read-script"] = new { Path = "Assets/A.cs" },
                ["scene"] = new { Action = "Save" }
            };
            IEnumerable<string> all = typeof(CompileTool).Assembly.GetTypes()
                .Where(t => t.IsDefined(typeof(McpToolAttribute), false)).Select(t => ((IUnityTool)Activator.CreateInstance(t)!).ToolName);
            Assert.That(arguments.Keys, Is.EquivalentTo(all));
            // Without being woken, this editor runs no frame for an hour.
            Restart("--unfocused-ms", "3600000");
            using TestClient client = Greeted();
            foreach (string setting in Enum.GetNames(typeof(SecuritySettings)).Skip(1)) Value(client, "allow", new { setting });
            foreach (var call in arguments)
            {
                JObject answer = client.Await(Send(client, call.Key, call.Value));
                Assert.That(answer["result"], Is.Not.Null, call.Key + ": " + answer);
            }
        }

        [Test]
        public void What_the_user_has_not_allowed_is_refused()
        {
            using TestClient client = Greeted();
            foreach (string tool in new[] { "execute-menu-item", "run-tests", "delete-asset", "change-packages", "execute-csharp" })
            {
                JToken error = client.Await(Send(client, tool, new { MenuItemPath = "Tools/Count" }))["error"]!;
                Assert.That((string)error["data"]!["type"]!, Is.EqualTo("security_blocked"));
                Assert.That((bool)error["data"]!["ran"]!, Is.False);
                string setting = (string)error["data"]!["setting"]!;
                Assert.That((string)error["message"]!, Is.EqualTo($"{tool} may not run in this project: {setting} is off. Only the user can " +
                    "allow it, in Window > Holdfast; do not look for a way around it"));
                // The gateway joins them, and says nothing twice.
                Assert.That((string)error["message"]!, Does.Contain((string)error["data"]!["message"]!).And.Contain((string)error["data"]!["reason"]!));
            }
        }
    }
}
