#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Text.RegularExpressions;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the real window in the simulated editor. The tests operate it as a person would.</summary>
    public sealed class HostWindowTests
    {
        private string project = "";
        private HostProcess host = null!;
        private int port;

        [SetUp]
        public void SetUp()
        {
            project = Path.Combine(Path.GetTempPath(), "holdfast window " + Guid.NewGuid().ToString("N"));
            host = new HostProcess(project);
            port = host.AwaitListening();
            Do("menu Window/Holdfast");
        }

        [TearDown]
        public void TearDown()
        {
            host.Dispose();
            Directory.Delete(project, true);
        }

        private string Do(string order)
        {
            host.Order("window " + order);
            return (string)host.Await("window")["seen"]!;
        }

        private void Until(string wanted) => TestEditor.Until(() => Do("look").Contains(wanted));

        private void Until(Func<string, bool> holds) => TestEditor.Until(() => holds(Do("look")));

        // Waits until the button is enabled: it is disabled while the window itself looks for AI editors.
        private void LookForEditors()
        {
            Until(seen => !seen.Contains("setup-busy"));
            Do("click setup-look");
        }

        private TestClient Greeted()
        {
            TestEditor.Until(() => File.Exists(host.InstanceFile));
            port = (int)host.Instance["port"]!;
            var client = new TestClient(port);
            Assert.That(client.Greet(host.Token)["result"], Is.Not.Null);
            return client;
        }

        private static int FreePort()
        {
            var probe = new TcpListener(IPAddress.Loopback, 0);
            probe.Start();
            int free = ((IPEndPoint)probe.LocalEndpoint).Port;
            probe.Stop();
            return free;
        }

        private void UseProgram(string script)
        {
            string program = Path.Combine(project, "holdfast");
            File.WriteAllText(program, "#!/bin/sh\n" + script);
            using (Process chmod = Process.Start("/bin/chmod", "755 \"" + program + "\"")!) chmod.WaitForExit();
            Do("settings Preferences/Holdfast");
            Do("type program-field " + program);
            string seen = Do("click program-apply");
            Assert.That(seen, Does.Contain("program-field: Path of holdfast [" + program + "]").And.Not.Contain("program-error"));
        }

        [Test]
        public void The_server_is_stopped_and_started_by_its_button_also_over_a_reload()
        {
            string seen = Do("look");
            Assert.That(seen, Does.Contain("server-word: ready").And.Contain("server-address: 127.0.0.1:" + port).And.Contain("server-toggle: Stop"));
            Assert.That(Do("click server-toggle"), Does.Contain("server-word: stopped").And.Contain("server-toggle: Start"));
            Assert.That(File.Exists(host.InstanceFile), Is.False);
            host.Order("reload 0");
            host.Await("done");
            Assert.That(Do("look"), Does.Contain("server-word: stopped"), "the window is there again, and so is what the user chose");
            Do("click server-toggle");
            Until("server-word: ready");
            using TestClient client = Greeted();
        }

        [Test]
        public void A_folded_section_stays_folded_over_a_reload()
        {
            Assert.That(Do("look"), Does.Contain("switch-AllowCodeExecution"));
            Assert.That(Do("fold What AI editors may do"), Does.Not.Contain("switch-AllowCodeExecution"));
            host.Order("reload 0");
            host.Await("done");
            Assert.That(Do("look"), Does.Contain("What AI editors may do").And.Not.Contain("switch-AllowCodeExecution"));
        }

        [Test]
        public void A_port_is_refused_while_another_program_has_it_and_taken_over_once_it_is_free()
        {
            var other = new TcpListener(IPAddress.Loopback, 0);
            other.Start();
            int taken = ((IPEndPoint)other.LocalEndpoint).Port;
            int before = port;
            Do("type port-field " + taken);
            Assert.That(Do("click port-apply"), Does.Contain($"port-error: Port {taken} is in use by another program."));
            using (TestClient still = Greeted())
            {
                Assert.That(port, Is.EqualTo(before), "nothing was changed");
            }
            other.Stop();
            int free = FreePort();
            Do("type port-field " + free);
            Do("click port-apply");
            Until("server-address: 127.0.0.1:" + free);
            Assert.That(Do("look"), Does.Not.Contain("port-error"));
            using (TestClient client = Greeted()) Assert.That(port, Is.EqualTo(free));
            Do("close");
            Assert.That(Do("settings Project/Holdfast"), Does.Contain($"port-field: Port [{free}]"), "one model behind both");
            host.Order("reload 0");
            Assert.That((int)host.Await("reload_ended")["port"]!, Is.EqualTo(free));
        }

        [Test]
        public void A_click_is_not_lost_when_a_call_is_added_to_the_log_meanwhile()
        {
            using TestClient client = Greeted();
            client.Await(client.Post("holdfast/call", new { callId = "a", seq = 1, tool = "echo", arguments = new { text = "x" } }));
            Until("log-entry-1");
            Do("press log-entry-1");
            client.Await(client.Post("holdfast/call", new { callId = "b", seq = 2, tool = "echo", arguments = new { text = "y" } }));
            Until("log-entry-2");
            Assert.That(Do("release"), Does.Contain("log-entry-1: ▾"));
        }

        [Test]
        public void Clients_and_what_they_ask_are_shown_and_the_log_outlives_reloads()
        {
            Assert.That(Do("look"), Does.Contain("Nobody is connected."));
            using (TestClient stock = new(port))
            using (TestClient client = Greeted())
            {
                Assert.That((string)stock.Ask("ping", new { })["error"]!["data"]!["type"]!, Is.EqualTo("not_proven"));
                Do("set switch-AllowUnprovenClients on");
                Assert.That(stock.Ask("ping", new { })["result"], Is.Not.Null);
                stock.Ask("set-client-name", new { ClientName = "Stock" });
                // The bridge sends the answer first and logs it afterwards, in parallel with other requests.
                Until("log-entry-1");
                client.Await(client.Post("holdfast/call", new { callId = "a", seq = 1, tool = "echo", arguments = new { text = "<b>needle</b>" } }));
                client.Await(client.Post("holdfast/call", new { callId = "b", seq = 2, tool = "run-tests", arguments = new { } }));
                Until(seen => Regex.IsMatch(seen, @"tests\nproven\n2 calls, since \d\d:") && Regex.IsMatch(seen, @"Stock\nstock\n1 calls, since \d\d:"));
            }
            Until("Nobody is connected.");
            for (int i = 0; i < 2; i++)
            {
                string[] lines = Do("look").Split('\n').Where(l => l.StartsWith("log-entry-")).ToArray();
                Assert.That(lines.Select(l => Regex.Replace(l, @"\d\d:\d\d:\d\d|\d+ ms", "#")), Is.EqualTo(new[]
                {
                    "log-entry-3: ▸ #  run-tests  security_blocked  #  tests", "log-entry-2: ▸ #  echo  ok  #  tests",
                    "log-entry-1: ▸ #  set-client-name  ok  #  Stock"
                }));
                host.Order("reload 0");
                host.Await("done");
            }
            string open = Do("click log-entry-2");
            Assert.That(open, Does.Contain("Request\n{\"text\":\"<b>needle</b>\"}\nAnswer\n{\"Echo\":\"<b>needle</b>\"}"));
            Do("type log-filter needle");
            Assert.That(Do("look"), Does.Contain("log-count: 1 of 3").And.Not.Contain("log-entry-1"));
            Do("click log-clear");
            host.Order("reload 0");
            host.Await("done");
            Assert.That(Do("look"), Does.Contain("log-count: 0"));
        }

        [Test]
        public void The_log_of_a_stopped_server_stays_over_a_reload()
        {
            Do("set switch-AllowUnprovenClients on");
            using (TestClient stock = new(port)) stock.Ask("set-client-name", new { ClientName = "Stock" });
            Until("log-entry-1");
            Do("click server-toggle");
            host.Order("reload 0");
            host.Await("done");
            Assert.That(Do("look"), Does.Contain("server-word: stopped").And.Contain("log-entry-1"));
        }

        [Test]
        public void Switches_and_permissions_count_for_the_next_call_and_outlive_the_editor()
        {
            using (TestClient client = Greeted())
            {
                string Refusal(int seq, string tool) => (string?)client.Await(client.Post(
                    "holdfast/call", new { callId = "c" + seq, seq, tool, arguments = tool == "execute-menu-item" ? new { MenuItemPath = "Tools/Count" } : (object)new { } }))["error"]?["data"]?["type"] ?? "";
                Assert.That(Refusal(1, "execute-menu-item"), Is.EqualTo("security_blocked"));
                Do("set switch-AllowMenuItemExecution on");
                Assert.That(Refusal(2, "execute-menu-item"), Is.Empty);
                Do("click tool-echo-Deny");
                Assert.That(Refusal(3, "echo"), Is.EqualTo("security_blocked"));
                Do("type tools-search ECHO");
                Assert.That(Do("look"), Does.Contain("The user has blocked this tool").And.Not.Contain("tool-big"));
                Do("set switch-AllowThirdPartyTools off");
                Do("click tool-echo-Allow");
                Assert.That(Refusal(4, "echo"), Is.Empty);
                Assert.That(Refusal(5, "runs"), Is.EqualTo("security_blocked"));
                Assert.That(Listed(client), Does.Contain("find-assets"));
                Do("set switch-GroupAssets off");
                JObject told = client.Await(m => (string?)m["method"] == "notifications/tools/list_changed");
                Assert.That(told, Is.Not.Null);
                Assert.That(Listed(client), Does.Not.Contain("find-assets").And.Contain("list-scenes"));
                Assert.That(Refusal(6, "find-assets"), Is.EqualTo("security_blocked"));
            }
            Do("settings Project/Holdfast");
            Do("set switch-RunInBatchMode on");
            string saved = File.ReadAllText(Path.Combine(project, "UserSettings", "Holdfast.asset"));
            Assert.That(saved, Does.Contain("switchesOn=AllowMenuItemExecution").And.Contain("allowedTools=echo").And.Contain("runInBatchMode=True"));
            Do("settings Preferences/Holdfast");
            Do("set switch-WakeUnfocused off");
            Assert.That(File.ReadAllText(Path.Combine(project, "Preferences", "Holdfast", "Holdfast.asset")), Does.Contain("wakeUnfocused=False"));
        }

        private static string[] Listed(TestClient client) =>
            client.Ask("holdfast/tools", new { })["result"]!["tools"]!.Select(t => (string)t["name"]!).ToArray();

        [Test]
        public void Without_the_wake_up_a_call_waits_for_the_editors_own_frame()
        {
            // The setting is off from the start, so that no wake-up is requested.
            host.Dispose();
            Directory.CreateDirectory(Path.Combine(project, "Preferences", "Holdfast"));
            File.WriteAllText(Path.Combine(project, "Preferences", "Holdfast", "Holdfast.asset"), "wakeUnfocused=False");
            host = new HostProcess(project);
            port = host.AwaitListening();
            Do("settings Preferences/Holdfast");
            using TestClient client = Greeted();
            int seq = 0;
            string Post() => client.Post("holdfast/call", new { callId = "c" + ++seq, seq, tool = "count", arguments = new { key = "x" } });
            int Wakes() => (int)host.Stats()["wakes"]!;
            host.Order("focus off");
            host.Await("done");
            int before = (int)host.Stats()["own_frames"]!;
            // The commands to the host cause frames too, but fewer.
            for (int i = 0; i < 10; i++) client.Await(Post());
            JToken stats = host.Stats();
            Assert.That((int)stats["own_frames"]!, Is.GreaterThan(before), "its own frames carried them out");
            Assert.That((int)stats["wakes"]!, Is.Zero);

            host.Order("freeze");
            host.Await("done");
            string waits = Post();
            TestEditor.Until(() => (int)client.Ask("holdfast/status", new { })["result"]!["queued"]! == 1);
            Assert.That(Wakes(), Is.Zero);
            Do("set switch-WakeUnfocused on");
            TestEditor.Until(() => Wakes() > 0);
            host.Order("thaw");
            client.Await(waits);

            Do("set switch-WakeUnfocused off");
            // A wake-up that was requested earlier may still be in progress.
            TestEditor.Until(() =>
            {
                int asked = Wakes();
                for (int i = 0; i < 3; i++) client.Await(Post());
                return Wakes() == asked;
            });
        }

        [Test]
        public void An_ai_editor_is_set_up_by_the_program_in_the_projects_folder()
        {
            UseProgram("pwd > where; echo \"$@\" >> asked\n" +
                "state=not_configured; [ -f done ] && state=configured\n" +
                "case \"$*\" in *--list*) echo '{\"clients\":[{\"client\":\"cursor\",\"title\":\"Cursor\",\"found\":true,\"scope\":\"project\",'\\\n" +
                "'\"file\":\"/x/mcp.json\",\"state\":\"'$state'\",\"why\":null}]}' ;; *) touch done; echo 'Cursor is set up.' ;; esac\n");
            LookForEditors();
            Until("setup-cursor: Set up");
            Do("click setup-cursor");
            Until("setup-message: Cursor is set up.");
            Until("setup-remove-cursor: Remove");
            Assert.That(Do("look"), Does.Contain("Set up. For this project.").And.Not.Contain("setup-cursor:"));
            Assert.That(File.ReadAllText(Path.Combine(project, "where")).Trim(), Is.EqualTo(project));
            Assert.That(File.ReadAllLines(Path.Combine(project, "asked")), Is.EqualTo(new[]
            {
                "setup --list --json --project .", "setup cursor --project .", "setup --list --json --project ."
            }));
        }

        [Test]
        public void A_program_that_hangs_holds_up_neither_frames_nor_a_reload()
        {
            UseProgram("echo $$ > pid; exec sleep 60");
            LookForEditors();
            Assert.That(Do("look"), Does.Contain("setup-busy: Looking for AI editors"));
            string pid = Path.Combine(project, "pid");
            TestEditor.Until(() => File.Exists(pid) && new FileInfo(pid).Length > 1);
            string number = File.ReadAllText(pid).Trim();
            using (TestClient client = Greeted())
            {
                client.Await(client.Post("holdfast/call", new { callId = "a", seq = 1, tool = "count", arguments = new { key = "x" } }));
            }
            File.WriteAllText(Path.Combine(project, "holdfast"), "#!/bin/sh\nexit 0\n");
            host.Order("reload 0");
            host.Await("done");
            TestEditor.Until(() => !Directory.Exists("/proc/" + number));
            Until("gave no list of AI editors");
        }

        [Test]
        public void Reloads_with_everything_open_leave_nothing_behind()
        {
            UseProgram("echo '{\"clients\":[]}'");
            JToken? early = null;
            for (int i = 1; i <= 8; i++)
            {
                Do("settings Project/Holdfast");
                using (TestClient client = Greeted())
                {
                    client.Await(client.Post("holdfast/call", new { callId = "e" + i, seq = i, tool = "echo", arguments = new { text = "x" } }));
                    Until("log-entry-" + i + ":");
                    Do("click log-entry-" + i);
                    if (i % 2 == 0) LookForEditors();
                    host.Order("reload 0");
                    Assert.That(client.Ended());
                }
                Assert.That(host.AwaitListening(), Is.EqualTo(port));
                if (i == 3) early = host.Stats();
            }
            int threads = (int)early!["threads"]! + 3, descriptors = (int)early["descriptors"]! + 8, sockets = (int)early["sockets"]! + 1;
            JToken late = host.SettledStats(s => (int)s["leaked"]! == 0 && (int)s["threads"]! <= threads &&
                (int)s["descriptors"]! <= descriptors && (int)s["sockets"]! <= sockets);
            Assert.That((int)late["domain"]!, Is.EqualTo(9));
            Assert.That((int)late["leaked"]!, Is.Zero, "domains are still in memory");
            Assert.That((int)late["threads"]!, Is.LessThanOrEqualTo(threads));
            Assert.That((int)late["descriptors"]!, Is.LessThanOrEqualTo(descriptors));
            Assert.That((int)late["sockets"]!, Is.LessThanOrEqualTo(sockets));
        }
    }
}
