#nullable enable
using System.IO;
using System.Linq;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of code that a client sends, in the simulated editor and with a true compiler.</summary>
    public sealed class HostCodeTests : HostBench
    {
        [TestCase("return 1 + 2;", "3")]
        [TestCase("return new { Name = \"a\", List = new[] { 1, 2 } };", "{\"Name\":\"a\",\"List\":[1,2]}")]
        [TestCase("var made = new GameObject(\"Made\"); Undo.RegisterCreatedObjectUndo(made, \"x\");", "null")]
        [TestCase("using System.Text;\n\nawait Task.Yield();\nreturn new StringBuilder(\"b\").ToString();", "\"b\"")]
        [TestCase("return typeof(Holdfast.HostTools.LevelData).Name;", "\"LevelData\"")]
        [TestCase("return typeof(System.Net.Http.HttpClient).Name + typeof(System.IO.Compression.ZipArchive).Name;", "\"HttpClientZipArchive\"")]
        [TestCase("return Random.Range(3, 4);", "3")]
        [TestCase("using Object = UnityEngine.Object;\nusing Random = System.Random;\nreturn new Random(1).Next(1) + typeof(Object).Name;", "\"0Object\"")]
        [TestCase("return typeof(ThreadPriority).FullName;", "\"UnityEngine.ThreadPriority\"")]
        public void Code_returns_a_value(string code, string result)
        {
            using TestClient client = Allowed();
            JToken value = Value(client, "execute-csharp", new { Code = code });
            Assert.That((bool)value["Success"]!, value.ToString());
            Assert.That(Json.Write(value["Result"]!), Is.EqualTo(result));
            if (code.Contains("Undo.")) Assert.That((string)Value(client, "undo", new { Action = "Undo" })["Steps"]![0]!, Is.EqualTo("AI: code"));
            Assert.That(Directory.GetDirectories(Path.Combine(project, "Temp")), Is.Empty, "nothing is left");
        }

        [Test]
        public void Objects_of_unity_are_named_and_logs_are_returned()
        {
            using TestClient client = Allowed();
            JToken value = Value(client, "execute-csharp", new { Code = "Debug.LogWarning(\"look\");\nreturn new[] { (Object)new GameObject(\"Made\") };" });
            Assert.That((string)value["Result"]![0]!, Does.StartWith("Made (GameObject, "), value.ToString());
            Assert.That(((string)value["Logs"]![0]!["Type"]!, (string)value["Logs"]![0]!["Message"]!), Is.EqualTo(("Warning", "look")));
        }

        [Test]
        public void Code_that_is_only_compiled_does_not_run()
        {
            using TestClient client = Allowed();
            Done(client, "execute-csharp", new { Code = "new GameObject(\"Made\");", CompileOnly = true }, true, "nothing ran");
            Assert.That(Refused(client, "inspect", new { Object = "Made" }), Does.Contain("No open scene"));
        }

        [Test]
        public void Code_that_ran_is_gone_after_the_reload()
        {
            using (TestClient client = Allowed())
            {
                foreach (int number in new[] { 1, 2 }) Value(client, "execute-csharp", new { Code = $"return typeof(Holdfast.HostTools.LevelData).Name + {number};" });
                host.Order("reload");
                Assert.That(client.Ended());
            }
            host.Await("reload_ended");
            Assert.That(host.Leaked(), Is.Zero);
        }

        [Test]
        public void A_result_without_an_end_is_bounded()
        {
            using TestClient client = Allowed();
            JToken value = Value(client, "execute-csharp", new { Code = "return Enumerable.Repeat(1, int.MaxValue);" });
            Assert.That((string)value["Result"]!, Does.StartWith("(the result has more than"));
        }

        [Test]
        public void Code_that_does_not_compile_is_answered_with_its_lines()
        {
            using TestClient client = Allowed();
            JToken value = Value(client, "execute-csharp", new { Code = "using System.Text;\nint a = 1;\nint b = \"x\";\nreturn c;" });
            Assert.That((string)value["Message"]!, Is.EqualTo("The code does not compile; nothing ran"), value.ToString());
            Assert.That(value["Errors"]!.Select(e => (int)e["Line"]! + " " + (string)e["Code"]!), Is.EqualTo(new[] { "3 CS0029", "4 CS0103" }));
        }

        [Test]
        public void Code_that_throws_says_what_and_keeps_what_it_did()
        {
            using TestClient client = Allowed();
            Done(client, "execute-csharp", new { Code = "new GameObject(\"Before\");\nthrow new InvalidOperationException(\"no\");" }, false, "The code threw InvalidOperationException: no. What it did before stays done");
            Assert.That((string)Value(client, "inspect", new { Object = "Before" })["Name"]!, Is.EqualTo("Before"));
        }

        [Test]
        public void Code_that_waits_too_long_is_cancelled()
        {
            using TestClient client = Allowed();
            string sent = client.Post("holdfast/call", new { callId = "late", seq = ++seq, tool = "execute-csharp", arguments = new { Code = "await Task.Delay(-1);" }, timeoutMs = 5000 });
            JObject answer = client.Await(sent);
            Assert.That((string)answer["error"]!["data"]!["type"]!, Is.EqualTo("timed_out"), answer.ToString());
            Assert.That((bool)Value(client, "execute-csharp", new { Code = "return true;" })["Result"]!, "the next call runs");
        }

        [Test]
        public void An_editor_without_its_compiler_says_so()
        {
            using TestClient client = Allowed();
            Value(client, "contents", new { folder = project });
            Done(client, "execute-csharp", new { Code = "return 1;" }, false, "not where Unity installs it");
            Assert.That(Refused(client, "execute-csharp", new { Code = " " }), Does.Contain("Code is empty"));
        }

        [Test]
        public void The_compiler_is_started_as_unity_starts_it()
        {
            using TestClient client = Allowed();
            foreach (string folder in new[] { "NetCoreRuntime", "DotNetSdkRoslyn" }) Directory.CreateDirectory(Path.Combine(project, folder));
            string dotnet = Path.Combine(project, "NetCoreRuntime", "dotnet");
            File.WriteAllText(dotnet, "#!/bin/sh\necho $DOTNET_ROOT $DOTNET_MULTILEVEL_LOOKUP $DOTNET_SYSTEM_GLOBALIZATION_INVARIANT\nexit 1\n");
            using (var chmod = System.Diagnostics.Process.Start("/bin/chmod", "755 \"" + dotnet + "\"")!) chmod.WaitForExit();
            File.WriteAllText(Path.Combine(project, "DotNetSdkRoslyn", "csc.dll"), "");
            Value(client, "contents", new { folder = project });
            Done(client, "execute-csharp", new { Code = "return 1;" }, false, $"It says: {project}/NetCoreRuntime 0 1");
        }

        private TestClient Allowed()
        {
            TestClient client = Greeted();
            Value(client, "allow", new { setting = "AllowCodeExecution" });
            return client;
        }
    }
}
