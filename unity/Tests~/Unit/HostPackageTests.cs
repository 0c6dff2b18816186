#nullable enable
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of packages, of the list of tests, and of batches, in the simulated editor.</summary>
    public sealed class HostPackageTests : HostBench
    {
        [TestCase("com.unity.inputsystem", "com.unity.inputsystem", false)]
        [TestCase("com.slow.one", "com.slow.one", true)]
        [TestCase("com.slow.two@2.0.0", "com.slow.two", true)]
        [TestCase("https://example.com/slow.git", "com.from.git", true)]
        public void A_package_is_added_and_removed_over_the_reload(string id, string name, bool late)
        {
            using (TestClient client = Greeted())
            {
                Value(client, "allow", new { setting = "AllowPackageChanges" });
                Send(client, "change-packages", new { Action = "Add", Package = id });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using (TestClient client = Greeted())
            {
                JToken value = Outcome(client, 2)["result"]!["value"]!;
                Assert.That(((bool)value["Success"]!, (bool)value["DomainReloaded"]!), Is.EqualTo((true, late)), value.ToString());
                Assert.That((string)value["Package"]!["Name"]!, Is.EqualTo(name));
                seq = 2;
                Assert.That(Value(client, "list-packages", new { })["Installed"]!.Select(p => (string)p["Name"]!), Does.Contain(name));
                Send(client, "change-packages", new { Action = "Remove", Package = name });
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            using TestClient last = Greeted();
            Assert.That((bool)Outcome(last, 4)["result"]!["value"]!["Success"]!);
            seq = 4;
            Assert.That(Value(last, "list-packages", new { })["Installed"]!.Select(p => (string)p["Name"]!), Does.Not.Contain(name));
        }

        [Test]
        public void Packages_that_cannot_be_changed_are_said()
        {
            using TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowPackageChanges" });
            Done(client, "change-packages", new { Action = "Add", Package = "com.none" }, false, "Cannot find com.none");
            Done(client, "change-packages", new { Action = "Remove", Package = "com.none" }, false, "The project has no package com.none");
            Done(client, "change-packages", new { Action = "Remove", Package = "com.unity.nuget.newtonsoft-json" }, false, "another package needs it");
            Assert.That(Refused(client, "change-packages", new { Action = "Remove", Package = "dev.holdfast.unity" }), Does.Contain("cannot remove itself"));
            Assert.That(Refused(client, "change-packages", new { Action = "Add", Package = " " }), Does.Contain("Package is empty"));
            JToken found = Value(client, "list-packages", new { Search = "INPUT" });
            Assert.That(found["Found"]!.Select(p => (string)p["Name"]! + " " + (string)p["Version"]!), Is.EqualTo(new[] { "com.unity.inputsystem 1.7.0" }));
        }

        [Test]
        public void Registries_that_cannot_be_reached_are_said()
        {
            Restart("--flag", "offline");
            using TestClient client = Greeted();
            Done(client, "list-packages", new { Search = "input" }, false, "could not be searched: no network");
        }

        [Test]
        public void Tests_are_listed_by_name()
        {
            using TestClient client = Greeted();
            JToken found = Value(client, "list-tests", new { NamePattern = "tests." });
            Assert.That(found["Tests"]!.Select(t => (string)t["FullName"]!), Is.EqualTo(new[] { "Game.Tests.Jumps", "Game.Tests.Walks" }));
            Assert.That((string)found["Tests"]![0]!["Categories"]![0]!, Is.EqualTo("Fast"));
            Assert.That((int)Value(client, "list-tests", new { NamePattern = "Walk", TestMode = "PlayMode" })["TotalCount"]!, Is.EqualTo(1));
        }

        [Test]
        public void A_batch_is_one_step_of_undo_and_stops_at_the_first_failure()
        {
            using TestClient client = Greeted();
            JToken done = Batch(client, ("edit-game-object", new { Action = "Create", Name = "A" }), ("edit-game-object", new { Action = "Create", Name = "B", Parent = "A" }),
                ("screenshot", new { Source = "Camera" }));
            Assert.That((bool)done["value"]!["Success"]!, done.ToString());
            Assert.That((string)done["value"]!["Results"]![1]!["Value"]!["Object"]!["Path"]!, Is.EqualTo("A/B"));
            Assert.That(done["content"]!.Count(), Is.EqualTo(1), "the picture");
            Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Steps"]!.Single()!, Is.EqualTo("AI: 3 calls"));
            Assert.That(Refused(client, "inspect", new { Object = "A" }), Does.Contain("No open scene"));
            done = Batch(client, ("edit-game-object", new { Action = "Create", Name = "C" }), ("inspect", new { Object = "Nobody" }), ("edit-game-object", new { Action = "Create", Name = "D" }));
            Assert.That((bool)done["value"]!["Success"]!, Is.False);
            Assert.That((string)done["value"]!["Message"]!, Does.StartWith("Call 2 of 3 failed (inspect). Those before it are done"));
            Assert.That((string)done["value"]!["Results"]![1]!["Error"]!, Does.Contain("No open scene has an object Nobody"));
            Assert.That(done["value"]!["Results"]!.Count(), Is.EqualTo(2));
            Assert.That((string)Value(client, "inspect", new { Object = "C" })["Name"]!, Is.EqualTo("C"));
        }

        [TestCase("none", "There is no tool none (Calls, number 2)")]
        [TestCase("compile", "compile is called by itself")]
        [TestCase("batch", "batch is called by itself")]
        [TestCase("undo", "undo is called by itself")]
        [TestCase("delete-asset", "delete-asset may not run in this project: AllowDeletingAssets is off. Only the user can allow it")]
        [TestCase("", "Tool is missing (Calls, number 2)")]
        public void A_batch_makes_no_call_if_one_of_them_may_not_be_made(string tool, string says)
        {
            using TestClient client = Greeted();
            object[] calls = { new { Tool = "edit-game-object", Arguments = new { Action = "Create", Name = "A" } }, new { Tool = tool } };
            Assert.That(Refused(client, "batch", new { Calls = calls }), Does.Contain(says));
            Assert.That(Refused(client, "inspect", new { Object = "A" }), Does.Contain("No open scene"));
        }

        [TestCase("edit-game-object", "{\"Action\": \"Create\", \"Name\": \"A\"}", ". Those before it are done; undo takes them back in one step")]
        [TestCase("get-logs", "{}", ". Those before it are done")]
        [TestCase("edit-asset", "{\"Action\": \"CreateFolder\", \"Path\": \"Assets/Made\"}", ". Those before it are done; undo takes back in one step what they changed in scenes and prefabs, not what they did to files")]
        public void A_batch_that_fails_says_only_of_steps_that_undo_takes_them_back(string tool, string arguments, string says)
        {
            using TestClient client = Greeted();
            // Whatever it did to files only would leave an undo to somebody else's step.
            bool files = tool == "edit-asset";
            object[] calls = { new { Tool = tool, Arguments = JToken.Parse(arguments) }, new { Tool = "inspect", Arguments = (object)new { Object = "Nobody" } } };
            if (files) calls = calls.Prepend(new { Tool = "edit-game-object", Arguments = (object)new { Action = "Create", Name = "A" } }).ToArray();
            string message = (string)client.Await(Send(client, "batch", new { Calls = calls }))["result"]!["value"]!["Message"]!;
            Assert.That(message, Is.EqualTo($"Call {calls.Length} of {calls.Length} failed (inspect){says}"));
        }

        [Test]
        public void A_part_of_a_wrong_type_and_a_missing_one_are_named()
        {
            using TestClient client = Greeted();
            object[] calls = { new { Tool = "edit-game-object", Arguments = "{}" } };
            Assert.That(Refused(client, "batch", new { Calls = calls }), Does.Contain("Calls[0].Arguments of batch has a value of a wrong type"));
            var edits = new[] { new { OldText = "class" } };
            Assert.That(Refused(client, "edit-script", new { Action = "Replace", Path = "Assets/A.cs", Edits = edits }), Does.Contain("edit-script needs Edits[0].NewText"));
        }

        [Test]
        public void Only_tools_without_an_effect_of_their_own_may_be_called_again()
        {
            using TestClient client = Greeted();
            JToken tools = client.Ask("holdfast/tools", new { })["result"]!["tools"]!;
            Assert.That(tools.Where(t => (bool)t["annotations"]!["idempotentHint"]! && !(bool)t["annotations"]!["readOnlyHint"]!).Select(t => (string)t["name"]!)
                .Where(name => Shipped.Contains(name)), Is.EqualTo(new[] { "compile" }));
        }

        private static readonly string[] Shipped =
        {
            "clear-console", "compile", "delete-asset", "edit-asset", "edit-script", "execute-menu-item", "play-mode", "prefabs", "scene", "set-selection", "undo"
        };

        private JToken Batch(TestClient client, params (string Tool, object Arguments)[] calls) =>
            client.Await(Send(client, "batch", new { Calls = calls.Select(c => new { c.Tool, c.Arguments }).ToArray() }))["result"]!;
    }
}
