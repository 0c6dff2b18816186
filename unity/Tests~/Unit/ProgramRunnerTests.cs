#nullable enable
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>The runner with real processes: <c>/bin/sh</c> and a script.</summary>
    public sealed class ProgramRunnerTests
    {
        private readonly TestLog log = new();
        private string folder = "";

        [SetUp]
        public void SetUp() => Directory.CreateDirectory(folder = Path.Combine(Path.GetTempPath(), "holdfast run \"'$x " + Guid.NewGuid().ToString("N")));

        [TearDown]
        public void TearDown()
        {
            Directory.Delete(folder, true);
            Assert.That(log.Lines, Is.Empty);
        }

        private IProgramRun Start(string script, int timeout = 10_000, int most = 100_000)
        {
            File.WriteAllText(Path.Combine(folder, "script"), script);
            return new ProgramRunner(log, timeout, most).Start(() => new ProgramCall("/bin/sh", "script", folder));
        }

        private static ProgramResult Await(IProgramRun run)
        {
            TestEditor.Until(() => run.Result != null);
            run.Dispose();
            return run.Result!;
        }

        [Test]
        public void Both_outputs_and_the_exit_code_come_back_from_the_projects_folder()
        {
            ProgramResult result = Await(Start("pwd; echo 'nö' >&2; echo \"$NO_COLOR\"; cat; exit 3"));
            Assert.That(result, Is.EqualTo(new ProgramResult(3, folder + "\n1\n", "nö\n", null)));
        }

        [Test]
        public void A_long_output_on_both_sides_blocks_nobody()
        {
            ProgramResult result = Await(Start("i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; " +
                "echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done"));
            Assert.That((result.Output.Length, result.Errors.Length, result.Failure), Is.EqualTo((82_000, 82_000, (string?)null)));
        }

        [Test]
        public void What_hangs_is_ended_and_says_so()
        {
            ProgramResult result = Await(Start("echo $$ > pid; exec sleep 60", 300));
            Assert.That(result.Failure, Is.EqualTo("/bin/sh did not end within 0.3 s and was ended. What it was asked to do may be done or not: look again."));
            AssertGone();
        }

        [Test]
        public void What_never_stops_writing_is_ended_and_says_so()
        {
            ProgramResult result = Await(Start("echo $$ > pid; exec yes", most: 10_000));
            Assert.That(result.Failure, Does.StartWith("/bin/sh wrote more than 10000 characters and was ended."));
            AssertGone();
        }

        [Test]
        public void Disposing_ends_it_at_once()
        {
            IProgramRun run = Start("echo $$ > pid; exec sleep 60");
            TestEditor.Until(() => File.Exists(Path.Combine(folder, "pid")) && new FileInfo(Path.Combine(folder, "pid")).Length > 1);
            var watch = Stopwatch.StartNew();
            run.Dispose();
            Assert.That(watch.ElapsedMilliseconds, Is.LessThan(2_000));
            AssertGone();
        }

        [Test]
        public void What_cannot_be_started_says_why()
        {
            ProgramResult result = Await(new ProgramRunner(log).Start(() => new ProgramCall("/nowhere/holdfast", "setup", folder)));
            Assert.That(result.Failure, Does.StartWith("/nowhere/holdfast could not be started: "));
        }

        [Test]
        public void Where_there_is_nothing_to_run_nothing_runs() =>
            Assert.That(Await(new ProgramRunner(log).Start(() => null)), Is.SameAs(ProgramResult.Nothing));

        // A zombie that nobody has waited for would still be there.
        private void AssertGone()
        {
            string pid = File.ReadAllText(Path.Combine(folder, "pid")).Trim();
            TestEditor.Until(() => !Directory.Exists("/proc/" + pid));
        }
    }
}
