#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the section that sets up AI editors, with a fake program.</summary>
    public sealed class SetupTests
    {
        private const string Program = "/home/me/bin/holdfast";

        // The output of `holdfast setup --list --json`.
        private const string Listed =
            "{\"program\":\"/home/me/bin/holdfast\",\"clients\":[" +
            "{\"client\":\"claude-code\",\"title\":\"Claude Code\",\"found\":true,\"found_by\":\"/home/me/.claude\",\"scope\":\"project\"," +
            "\"file\":\"/game/.mcp.json\",\"state\":\"not_configured\",\"why\":null,\"mend\":\"holdfast setup claude-code\",\"source\":\"s\"}," +
            "{\"client\":\"cursor\",\"title\":\"Cursor\",\"found\":true,\"found_by\":\"x\",\"scope\":\"project\",\"file\":\"/game/.cursor/mcp.json\"," +
            "\"state\":\"configured\",\"why\":null,\"mend\":null,\"source\":\"s\"}," +
            "{\"client\":\"codex\",\"title\":\"Codex\",\"found\":true,\"found_by\":\"x\",\"scope\":\"user\",\"file\":\"/home/me/.codex/config.toml\"," +
            "\"state\":\"stale\",\"why\":\"it starts /old, which does not exist\",\"mend\":\"m\",\"source\":\"s\"}," +
            "{\"client\":\"zed\",\"title\":\"Zed\",\"found\":true,\"found_by\":\"x\",\"scope\":\"user\",\"file\":\"/z\",\"state\":\"broken\"," +
            "\"why\":\"line 3\",\"mend\":\"m\",\"source\":\"s\"}," +
            "{\"client\":\"goose\",\"title\":\"Goose\",\"found\":false,\"found_by\":null,\"scope\":\"user\",\"file\":\"/g\"," +
            "\"state\":\"not_configured\",\"why\":null,\"mend\":\"m\",\"source\":\"s\"}]}";

        private WindowBench bench = null!;
        private FakeView<SetupState> view = null!;
        private HashSet<string> files = null!;
        private SetupPresenter presenter = null!;
        private Dictionary<string, string> kept = null!;

        [SetUp]
        public void SetUp()
        {
            bench = new WindowBench();
            view = new FakeView<SetupState>();
            files = new HashSet<string> { Program };
            kept = new Dictionary<string, string>();
            presenter = Presenter();
        }

        private ProgramLocator Locator(string path, bool windows = false, string? cargo = null) => new(
            name => name == "PATH" ? path : name == "HOME" ? "/home/me" : name == "CARGO_HOME" ? cargo : null, files.Contains, windows);

        private SetupPresenter Presenter() => new(
            bench, Locator("/usr/bin:/home/me/bin"), bench, "/game", new SessionData(new TestStore(kept)), view);

        private void TakeList(string json)
        {
            bench.LastRun.End(0, json);
            presenter.Refresh();
        }

        [Test]
        public void The_list_is_asked_for_in_the_project_and_shown()
        {
            presenter.LookAgain();
            Assert.That(bench.LastRun.Call, Is.EqualTo(new ProgramCall(Program, "setup --list --json --project .", "/game")));
            Assert.That(view.Now.Busy, Is.EqualTo("Looking for AI editors …"));
            presenter.Refresh();
            Assert.That(view.Shown, Has.Count.EqualTo(1), "nothing waits for the program");
            TakeList(Listed);
            Assert.That(bench.LastRun.IsDisposed);
            Assert.That((view.Now.Busy, view.Now.Message, view.Now.Program, view.Now.Hidden), Is.EqualTo(((string?)null, (string?)null, Program, 1)));
            Assert.That(view.Now.Rows, Is.EqualTo(new[]
            {
                new SetupRow("claude-code", "Claude Code", true, "not_configured", "Not set up. For this project.", "/game/.mcp.json", "Set up", false),
                new SetupRow("cursor", "Cursor", true, "configured", "Set up. For this project.", "/game/.cursor/mcp.json", null, true),
                new SetupRow("codex", "Codex", true, "stale", "Its entry is stale: it starts /old, which does not exist",
                    "/home/me/.codex/config.toml", "Mend", true),
                new SetupRow("zed", "Zed", true, "broken", "Its file cannot be read: line 3", "/z", null, false)
            }));
            presenter.ShowAll(true);
            Assert.That((view.Now.Rows.Count, view.Now.Hidden, view.Now.ShowsAll), Is.EqualTo((5, 0, true)));
        }

        [Test]
        public void After_a_reload_the_window_shows_the_list_of_the_session_and_starts_no_program()
        {
            presenter.Begin();
            TakeList(Listed);
            SetupState before = view.Now;
            presenter.Dispose();
            int runs = bench.Runs.Count;
            presenter = Presenter();
            presenter.Begin();
            Assert.That(bench.Runs, Has.Count.EqualTo(runs));
            Assert.That(view.Now, Is.EqualTo(before));
            presenter.SetUp("claude-code");
            Assert.That(bench.Runs, Has.Count.EqualTo(runs + 1), "the list can be used");
        }

        [Test]
        public void The_list_of_the_session_is_read_anew_if_it_is_broken_or_the_user_names_another_program()
        {
            presenter.Begin();
            TakeList(Listed);
            int runs = bench.Runs.Count;
            bench.ProgramPath = Program;
            presenter = Presenter();
            presenter.Begin();
            Assert.That(bench.Runs, Has.Count.EqualTo(runs + 1));
            TakeList(Listed);
            kept["Holdfast.Setup"] = "[1,[]]";
            presenter = Presenter();
            presenter.Begin();
            Assert.That(bench.Runs, Has.Count.EqualTo(runs + 2));
        }

        [Test]
        public void One_click_sets_a_client_up_says_what_the_program_said_and_looks_again()
        {
            presenter.LookAgain();
            TakeList(Listed);
            presenter.SetUp("claude-code");
            Assert.That(bench.LastRun.Call.Arguments, Is.EqualTo("setup claude-code --project ."));
            Assert.That(view.Now.Busy, Is.EqualTo("Setting up Claude Code …"));
            presenter.SetUp("codex");
            Assert.That(bench.Runs, Has.Count.EqualTo(2), "one at a time");
            bench.LastRun.End(0, "Claude Code is set up.\n  next    restart it\n", "holdfast setup: a note");
            presenter.Refresh();
            Assert.That(view.Now.Message, Is.EqualTo("Claude Code is set up.\n  next    restart it\nholdfast setup: a note"));
            Assert.That(view.Now.IsError, Is.False);
            Assert.That(bench.LastRun.Call.Arguments, Is.EqualTo("setup --list --json --project ."));
            TakeList(Listed);
            Assert.That(view.Now.Message, Does.StartWith("Claude Code is set up."), "the list does not take it away");
            presenter.Remove("cursor");
            Assert.That(bench.LastRun.Call.Arguments, Is.EqualTo("setup cursor --project . --remove"));
        }

        [Test]
        public void A_refusal_is_shown_in_the_programs_own_words()
        {
            presenter.LookAgain();
            TakeList(Listed);
            presenter.SetUp("goose");
            bench.LastRun.End(1, "", "holdfast setup: Goose is not found here. Nothing was changed.\n");
            presenter.Refresh();
            Assert.That((view.Now.Message, view.Now.IsError), Is.EqualTo(("holdfast setup: Goose is not found here. Nothing was changed.", true)));
        }

        [Test]
        public void A_program_that_fails_hangs_or_is_another_one_is_told_as_such()
        {
            presenter.LookAgain();
            bench.LastRun.Fail(Program + " did not end within 10 s and was ended.");
            presenter.Refresh();
            Assert.That((view.Now.Message, view.Now.IsError), Is.EqualTo((Program + " did not end within 10 s and was ended.", true)));
            foreach (string answer in new[] { "", "hello", "[]", "{\"clients\":3}", "{\"clients\":[{\"client\":\"x\"}]}", "{\"clients\":[7]}", "{}" })
            {
                presenter.LookAgain();
                TakeList(answer);
                Assert.That(view.Now.Message, Does.StartWith(Program + " gave no list of AI editors."), answer);
                Assert.That((view.Now.IsError, view.Now.Rows.Count), Is.EqualTo((true, 0)));
            }
            presenter.LookAgain();
            bench.LastRun.End(2, "", "error: unexpected argument '--list'\n");
            presenter.Refresh();
            Assert.That(view.Now.Message, Is.EqualTo("error: unexpected argument '--list'"));
            presenter.LookAgain();
            TakeList(Listed);
            Assert.That((view.Now.Message, view.Now.IsError, view.Now.Rows.Count), Is.EqualTo(((string?)null, false, 4)));
        }

        [Test]
        public void A_name_that_is_no_word_never_becomes_an_argument()
        {
            foreach (string odd in new[] { "cursor --remove", "--remove", "../x", "Cursor" })
            {
                presenter.LookAgain();
                TakeList(Listed.Replace("\"cursor\"", "\"" + odd + "\""));
                Assert.That(view.Now.Rows.Select(r => r.Client), Is.EqualTo(new[] { "claude-code", "codex", "zed" }), odd);
                int before = bench.Runs.Count;
                presenter.SetUp(odd);
                Assert.That(bench.Runs, Has.Count.EqualTo(before), odd);
            }
        }

        [Test]
        public void Without_the_program_the_window_says_how_to_get_it_and_finds_it_once_it_is_there()
        {
            files.Clear();
            presenter.LookAgain();
            presenter.Refresh();
            Assert.That((view.Now.Program, view.Now.Busy), Is.EqualTo(((string?)null, (string?)null)));
            Assert.That(view.Now.Sentence, Does.Contain("cargo install").And.Contain("Preferences > Holdfast"));
            Assert.That((view.Now.Message, view.Now.Rows.Count), Is.EqualTo(((string?)null, 0)));
            files.Add(Program);
            presenter.LookAgain();
            TakeList(Listed);
            Assert.That((view.Now.Program, view.Now.Rows.Count), Is.EqualTo((Program, 4)));
            files.Clear();
            presenter.SetUp("codex");
            presenter.Refresh();
            Assert.That((view.Now.Program, view.Now.Busy, view.Now.Rows.Count), Is.EqualTo(((string?)null, (string?)null, 0)));
        }

        [Test]
        public void Closing_the_window_ends_the_program_and_starts_none()
        {
            presenter.LookAgain();
            presenter.Dispose();
            Assert.That(bench.LastRun.IsDisposed);
            presenter.LookAgain();
            Assert.That(bench.Runs, Has.Count.EqualTo(1));
        }

        [Test]
        public void The_program_is_looked_for_where_the_user_says_then_on_path_then_where_cargo_installs()
        {
            files.UnionWith(new[] { "/opt/holdfast", "/home/me/.cargo/bin/holdfast", "/cargo/bin/holdfast" });
            Assert.That(Locator("/usr/bin:/home/me/bin").Find("/opt/holdfast").Path, Is.EqualTo("/opt/holdfast"));
            Assert.That(Locator("/usr/bin:/home/me/bin/").Find("").Path, Is.EqualTo(Program));
            Assert.That(Locator("/usr/bin").Find("").Path, Is.EqualTo("/home/me/.cargo/bin/holdfast"));
            Assert.That(Locator("/usr/bin", cargo: "/cargo").Find("").Path, Is.EqualTo("/cargo/bin/holdfast"));
            FoundProgram gone = Locator("/home/me/bin").Find("/gone/holdfast");
            Assert.That(gone.Path, Is.Null, "what the user set is not replaced in silence");
            Assert.That(gone.Sentence, Does.Contain("/gone/holdfast"));
            files.Add("C:\\Tools\\holdfast.exe");
            Assert.That(Locator("bin;\"C:\\Tools\";D:\\x", windows: true).Find("").Path, Is.EqualTo("C:\\Tools\\holdfast.exe"));
        }

        [TestCase(".")]
        [TestCase("")]
        [TestCase("bin:./tools:../x")]
        public void A_program_inside_the_project_is_never_taken_for_the_users(string path)
        {
            files = new HashSet<string> { "./holdfast", "holdfast", "/holdfast", "bin/holdfast", "./tools/holdfast", "../x/holdfast" };
            Assert.That(Locator(path).Find("").Path, Is.Null);
        }

        [Test]
        public void The_path_of_the_program_is_checked_before_it_counts()
        {
            var field = new FakeView<FieldState>();
            var path = new ProgramPathPresenter(bench, Locator("/usr/bin"), field);
            foreach (string wrong in new[] { "/nowhere", "holdfast" })
            {
                path.Apply(wrong);
                Assert.That(field.Now.Error, Does.StartWith($"There is no file {wrong}."));
                Assert.That(bench.ProgramPath, Is.Empty);
            }
            path.Apply(Program);
            Assert.That((field.Now.Error, field.Now.Value, field.Now.Note), Is.EqualTo(((string?)null, Program, (string?)null)));
            path.Apply("");
            Assert.That(bench.ProgramPath, Is.Empty);
            Assert.That(field.Now.Note, Does.Contain("looked for on PATH"));
        }
    }
}
