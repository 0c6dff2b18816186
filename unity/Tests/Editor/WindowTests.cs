#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of what the window shows and what its buttons do.</summary>
    public sealed class WindowTests
    {
        private WindowBench bench = null!;

        [SetUp]
        public void SetUp() => bench = new WindowBench();

        [McpTool(Description = "Hides the moon. Really.", RequiredSecuritySetting = SecuritySettings.EnableTestsExecution)]
        private sealed class Moon : IUnityTool
        {
            public string ToolName => "moon";

            public Type? ParametersType => null;

            public Task<object?> ExecuteAsync(JToken? parameters, IToolContext context) => Task.FromResult<object?>(null);
        }

        [McpTool(DisplayDevelopmentOnly = true)]
        private sealed class Workshop : IUnityTool
        {
            public string ToolName => "workshop";

            public Type? ParametersType => null;

            public Task<object?> ExecuteAsync(JToken? parameters, IToolContext context) => Task.FromResult<object?>(null);
        }

        private static void Log(TrafficLog log, string what, string client = "Cursor", string request = "{}", string answer = "{}") =>
            log.Add(new TrafficEntry("2026-01-31T12:00:00.000Z", client, what, "ok", 5, request, answer));

        [Test]
        public void The_server_is_shown_as_it_is_and_only_when_it_changes()
        {
            var view = new FakeView<ServerState>();
            var presenter = new ServerPresenter(bench, view);
            presenter.Refresh();
            presenter.Refresh();
            Assert.That(view.Shown, Has.Count.EqualTo(1));
            Assert.That(view.Now.Word, Is.EqualTo("ready"));
            Assert.That(view.Now.Address, Is.EqualTo("127.0.0.1:8711"));
            Assert.That(view.Now.Since, Is.EqualTo(LocalTime.Of(WindowBench.Noon)));
            bench.Status = bench.Status with { State = "compiling" };
            presenter.Refresh();
            Assert.That(view.Now.Word, Is.EqualTo("compiling"));
            bench.Status = bench.Status with { State = "playing", Running = 1, Queued = 2 };
            presenter.Refresh();
            Assert.That(view.Now.Sentence, Is.EqualTo("1 running, 2 waiting."));
            bench.Status = bench.Status with { State = "ready", Port = 0 };
            presenter.Refresh();
            Assert.That((view.Now.Word, view.Now.Address), Is.EqualTo(("starting", "")));
            bench.Status = bench.Status with { State = "reloading" };
            presenter.Refresh();
            Assert.That(view.Now.Word, Is.EqualTo("reloading"));
        }

        [Test]
        public void One_button_stops_and_starts_the_server()
        {
            var view = new FakeView<ServerState>();
            var presenter = new ServerPresenter(bench, view);
            presenter.Toggle();
            Assert.That((view.Now.Word, view.Now.IsRunning), Is.EqualTo(("stopped", false)));
            presenter.Toggle();
            Assert.That((view.Now.Word, view.Now.IsRunning), Is.EqualTo(("ready", true)));
            Assert.That(bench.Done, Is.EqualTo(new[] { "stop", "start" }));
        }

        [TestCase("")]
        [TestCase("eight")]
        [TestCase("-1")]
        [TestCase("1023")]
        [TestCase("65536")]
        [TestCase("99999999999")]
        public void What_is_no_port_changes_nothing(string text)
        {
            var view = new FakeView<FieldState>();
            new PortPresenter(bench, bench, view, _ => true).Apply(text);
            Assert.That(view.Now.Error, Does.Contain("from 1024 to 65535"));
            Assert.That(bench.Port, Is.EqualTo(8711));
            Assert.That(bench.Done, Is.Empty);
        }

        [Test]
        public void A_port_that_another_program_has_is_refused_and_nothing_stops()
        {
            var other = new TcpListener(IPAddress.Loopback, 0);
            other.Start();
            int taken = ((IPEndPoint)other.LocalEndpoint).Port;
            var view = new FakeView<FieldState>();
            var presenter = new PortPresenter(bench, bench, view);
            presenter.Apply(taken.ToString());
            Assert.That(view.Now.Error, Is.EqualTo(
                $"Port {taken} is in use by another program. Nothing was changed; choose another, or 0 for any free one."));
            Assert.That((view.Now.Value, bench.Port, bench.Done.Count), Is.EqualTo(("8711", 8711, 0)));
            other.Stop();
            presenter.Apply(" " + taken + " ");
            Assert.That(view.Now.Error, Is.Null);
            Assert.That(bench.Port, Is.EqualTo(taken));
            Assert.That(bench.Done, Is.EqualTo(new[] { "stop", "start" }));
        }

        [Test]
        public void A_port_is_applied_without_a_restart_where_none_is_needed()
        {
            var presenter = new PortPresenter(bench, bench, new FakeView<FieldState>(), port => port != 8711);
            presenter.Apply("8711");
            presenter.Apply("0");
            Assert.That((bench.Port, bench.Done.Count), Is.EqualTo((0, 0)));
            bench.IsRunning = false;
            presenter.Apply("9000");
            Assert.That((bench.Port, bench.Done.Count), Is.EqualTo((9000, 0)));
        }

        [Test]
        public void A_port_that_was_not_to_be_had_is_told()
        {
            bench.Status = bench.Status with { Port = 8712 };
            var view = new FakeView<FieldState>();
            new PortPresenter(bench, bench, view).Refresh();
            Assert.That(view.Now.Note, Does.StartWith("Port 8711 was not free when the server started, so it listens on 8712."));
        }

        [Test]
        public void Clients_are_shown_with_what_they_have_proven()
        {
            bench.Status = bench.Status with
            {
                Clients = new[] { new ClientInfo(3, "Claude Code", true, WindowBench.Noon, 7), new ClientInfo(4, "", false, WindowBench.Noon, 0) }
            };
            var view = new FakeView<ClientsState>();
            var presenter = new ClientsPresenter(bench, view);
            presenter.Refresh();
            string at = LocalTime.Of(WindowBench.Noon);
            Assert.That(view.Now.Rows, Is.EqualTo(new[]
            {
                new ClientRow(3, "Claude Code", "proven", at, 7), new ClientRow(4, "(no name yet)", "stock", at, 0)
            }));
            bench.IsRunning = false;
            presenter.Refresh();
            Assert.That(view.Now.Rows, Is.Empty);
            Assert.That(view.Now.Nobody, Is.EqualTo("The server is stopped."));
        }

        [Test]
        public void Every_switch_there_is_can_be_turned_and_says_what_it_allows()
        {
            var view = new FakeView<Rows<SwitchRow>>();
            var presenter = new SwitchesPresenter(Switch.Security(bench), view);
            presenter.Refresh();
            IEnumerable<string> wanted = Enum.GetNames(typeof(SecuritySettings)).Where(n => n != "None").Concat(new[] { "AllowUnprovenClients" });
            Assert.That(view.Now.Select(r => r.Id), Is.EquivalentTo(wanted));
            Assert.That(view.Now.All(r => r.Sentence.EndsWith(".") && r.Sentence.Length > 40 && r.Title.Length > 0));
            foreach (SwitchRow row in view.Now.ToList())
            {
                presenter.Set(row.Id, !row.IsOn);
                Assert.That(view.Now.Single(r => r.Id == row.Id).IsOn, Is.Not.EqualTo(row.IsOn), row.Id);
            }
            Assert.That(bench.AllowUnprovenClients, Is.False);
            presenter = new SwitchesPresenter(Switch.Project(bench).Concat(Switch.User(bench)).ToList(), view);
            presenter.Set("RunInBatchMode", true);
            presenter.Set("WakeUnfocused", false);
            presenter.Set("RestoreMinimized", true);
            Assert.That((bench.RunInBatchMode, bench.WakeUnfocused, bench.RestoreMinimized), Is.EqualTo((true, false, true)));
        }

        [Test]
        public void Tools_are_found_allowed_and_denied()
        {
            bench.Tools.Register(new Moon());
            bench.Tools.Register(new Workshop());
            bench.SetSwitch(SecuritySettings.AllowThirdPartyTools, true);
            bench.SetPermission("gone", ToolPermission.Allow);
            var view = new FakeView<ToolListState>();
            var presenter = new ToolListPresenter(bench, bench, view);
            presenter.Refresh();
            Assert.That(view.Now.Rows, Is.EqualTo(new[]
            {
                new ToolRow("gone", "There is no such tool in this project now.", ToolPermission.Allow, null),
                new ToolRow("moon", "Hides the moon. Really.", ToolPermission.Default, "Refused while \"Tests\" is off.")
            }));
            presenter.Search(" REALLY ");
            Assert.That(view.Now.Rows.Select(r => r.Name), Is.EqualTo(new[] { "moon" }));
            Assert.That(view.Now.Total, Is.EqualTo(2));
            presenter.Set("moon", ToolPermission.Allow);
            Assert.That((view.Now.Rows[0].Permission, view.Now.Rows[0].Refused), Is.EqualTo((ToolPermission.Allow, (string?)null)));
            presenter.Set("moon", ToolPermission.Deny);
            Assert.That(view.Now.Rows[0].Refused, Is.EqualTo("The user has blocked this tool"));
            presenter.Search("");
            presenter.Set("gone", ToolPermission.Default);
            Assert.That(view.Now.Rows.Select(r => r.Name), Is.EqualTo(new[] { "moon" }));
            presenter.Search("nowhere");
            Assert.That((view.Now.Rows.Count, view.Now.Nothing), Is.EqualTo((0, "No tool fits.")));
        }

        [Test]
        public void The_log_is_shown_newest_first_filtered_copied_and_cleared()
        {
            Log(bench.Traffic, "compile");
            Log(bench.Traffic, "get-logs", "Codex", "{\"MaxCount\":7}", "{\"Logs\":[\"needle\"]}");
            var view = new FakeView<TrafficState>();
            var presenter = new TrafficPresenter(bench, bench, view);
            presenter.Refresh();
            presenter.Refresh();
            Assert.That(view.Shown, Has.Count.EqualTo(1));
            Assert.That(view.Now.Rows.Select(r => r.What), Is.EqualTo(new[] { "get-logs", "compile" }));
            foreach (string part in new[] { "GET-", "codex", "maxcount", "Needle" })
            {
                presenter.Filter(part);
                Assert.That(view.Now.Rows.Select(r => r.What), Is.EqualTo(new[] { "get-logs" }), part);
            }
            presenter.CopyShown();
            string line = LocalTime.Of(WindowBench.Noon) + "  get-logs  ok  5 ms  Codex\n{\"MaxCount\":7}\n{\"Logs\":[\"needle\"]}\n";
            Assert.That(bench.Done, Is.EqualTo(new[] { "copy " + line }));
            presenter.Copy(view.Now.Rows[0].Number);
            Assert.That(bench.Done[1], Is.EqualTo("copy " + line));
            presenter.Clear();
            Assert.That((view.Now.Rows.Count, view.Now.Total), Is.EqualTo((0, 0)));
        }

        [Test]
        public void Another_log_of_the_same_length_is_shown_too()
        {
            Log(bench.Traffic, "one");
            var view = new FakeView<TrafficState>();
            var presenter = new TrafficPresenter(bench, bench, view);
            presenter.Refresh();
            bench.Traffic = new TrafficLog();
            Log(bench.Traffic, "two");
            presenter.Refresh();
            Assert.That(view.Now.Rows.Single().What, Is.EqualTo("two"));
        }

        [Test]
        public void The_log_is_bounded_in_number_and_size_and_its_numbers_go_on_over_a_reload()
        {
            var store = new Dictionary<string, string>();
            for (int i = 0; i < Limits.TrafficEntries + 5; i++) Log(bench.Traffic, "t" + i);
            Assert.That(bench.Traffic.Entries, Has.Count.EqualTo(Limits.TrafficEntries));
            Assert.That(bench.Traffic.Entries[0].What, Is.EqualTo("t5"));
            for (int i = 0; i < Limits.TrafficEntries; i++) Log(bench.Traffic, "big", request: new string('x', 100_000), answer: new string('y', 100_000));
            IReadOnlyList<TrafficEntry> entries = bench.Traffic.Entries;
            Assert.That(entries.Sum(e => e.Request.Length + e.Answer.Length), Is.LessThanOrEqualTo(Limits.TrafficTotal));
            Assert.That(entries, Has.Count.EqualTo(Limits.TrafficTotal / (2 * Limits.TrafficText)));
            Assert.That(entries[0].Request, Has.Length.EqualTo(Limits.TrafficText));
            Assert.That(entries[0].Request, Does.EndWith(" … (100000 characters)"));
            var kept = new TestStore(store);
            bench.Traffic.Save(kept);
            TrafficLog next = TrafficLog.Load(kept);
            Assert.That(next.Entries, Is.EqualTo(entries));
            Log(next, "after");
            Assert.That(next.Entries.Last().Number, Is.EqualTo(entries.Last().Number + 1));
            kept.Set("Holdfast.Traffic", "[[1,2]]");
            Assert.That(TrafficLog.Load(kept).Entries, Is.Empty);
        }
    }
}
