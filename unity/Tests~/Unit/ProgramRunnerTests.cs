#nullable enable
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the runner with real processes: <c>/bin/sh</c> and a script.</summary>
    public sealed class ProgramRunnerTests
    {
        private TestLog log = null!;
        private string folder = "";
        private string[] before = Array.Empty<string>();

        [SetUp]
        public void SetUp()
        {
            Directory.CreateDirectory(folder = Path.Combine(Path.GetTempPath(), "holdfast run \"'$x " + Guid.NewGuid().ToString("N")));
            before = Children();
            log = new TestLog();
        }

        [TearDown]
        public void TearDown()
        {
            Directory.Delete(folder, true);
            Assert.That(log.Lines, Is.Empty);
        }

        private IProgramRun Start(string script, int timeout = TestEditor.Patience, int most = 100_000)
        {
            File.WriteAllText(Path.Combine(folder, "script"), script);
            return new ProgramRunner(log, timeout, most, TestEditor.Patience).Start(() => new ProgramCall("/bin/sh", "script", folder));
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
            ProgramResult result = Await(Start("exec sleep 600", 300));
            Assert.That(result.Failure, Is.EqualTo("/bin/sh did not end within 0.3 s and was ended. What it was asked to do may be done or not: look again."));
            AssertGone();
        }

        [Test]
        public void What_never_stops_writing_is_ended_and_says_so()
        {
            ProgramResult result = Await(Start("exec yes", most: 10_000));
            Assert.That(result.Failure, Does.StartWith("/bin/sh wrote more than 10000 characters and was ended."));
            AssertGone();
        }

        [Test]
        public void Disposing_ends_it_at_once()
        {
            IProgramRun run = Start("exec sleep 600");
            TestEditor.Until(() => Children().Except(before).Any());
            run.Dispose();
            Assert.That(run.Result?.Failure, Does.StartWith("/bin/sh was ended."), "when it is disposed of, it has ended, and not by itself");
            AssertGone();
        }

        [Test]
        public void Disposing_waits_for_nothing_that_does_not_end()
        {
            using var gate = new ManualResetEventSlim();
            IProgramRun run = new ProgramRunner(log, join: 1).Start(() =>
            {
                gate.Wait();
                return null;
            });
            run.Dispose();
            Assert.That((run.Result, log.Lines.Single()), Is.EqualTo(((ProgramResult?)null, "warn A program could not be ended in time")));
            log.Lines.Clear();
            gate.Set();
            TestEditor.Until(() => run.Result != null);
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

        // Waits until no process is left. A zombie process, which nobody has waited for, would still be listed.
        private void AssertGone() => TestEditor.Until(() => !Children().Except(before).Any());

        // Lists the children of this process. In /proc/PID/stat, the parent's id is the second word after the name in
        // parentheses, and the name may contain anything.
        private static string[] Children()
        {
            string own = Process.GetCurrentProcess().Id.ToString();
            return Directory.GetDirectories("/proc").Where(d => char.IsDigit(Path.GetFileName(d)[0]) && ParentOf(d) == own).ToArray();
        }

        private static string? ParentOf(string process)
        {
            try
            {
                string stat = File.ReadAllText(Path.Combine(process, "stat"));
                return stat.Substring(stat.LastIndexOf(')') + 2).Split(' ')[1];
            }
            catch (IOException)
            {
                // The process has ended in the meantime.
                return null;
            }
        }
    }
}
