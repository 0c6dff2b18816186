// Runs an assembly of NUnit 3 tests: Runner.exe TESTS.dll [RESULT.xml] [PART-OF-A-NAME]
// The last line of the output is "N passed, N failed, N skipped". The exit code is 0 only if at least one test passed and none
// failed or was skipped, so that a test that cannot run is noticed.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Xml;
using NUnit.Framework.Api;
using NUnit.Framework.Interfaces;
using NUnit.Framework.Internal;

internal static class Runner
{
    // Output that NUnit does not redirect: it replaces Console.Out while a test runs.
    private static readonly StreamWriter Out = new(Console.OpenStandardOutput()) { AutoFlush = true };

    private static void Main(string[] args)
    {
        var runner = new NUnitTestAssemblyRunner(new DefaultTestAssemblyBuilder());
        runner.Load(Assembly.LoadFrom(Path.GetFullPath(args[0])), new Dictionary<string, object> { ["NumberOfTestWorkers"] = 0 });
        ITestFilter filter = args.Length > 2 ? new PartOfName(args[2]) : TestFilter.Empty;
        ITestResult result = runner.Run(new Printer(), filter);
        if (args.Length > 1)
        {
            using XmlWriter xml = XmlWriter.Create(args[1], new XmlWriterSettings { Indent = true });
            result.ToXml(true).WriteTo(xml);
        }
        int skipped = result.SkipCount + result.InconclusiveCount;
        // If the set-up of a fixture fails, NUnit counts none of its tests as failed, so at least one failure is reported here.
        int failed = Math.Max(result.FailCount, result.ResultState.Status == TestStatus.Failed ? 1 : 0);
        Say($"{result.PassCount} passed, {failed} failed, {skipped} skipped");
        // Exits explicitly, since a thread that a test left behind must not keep the process alive.
        Environment.Exit(failed > 0 || skipped > 0 ? 1 : result.PassCount == 0 ? 2 : 0);
    }

    private static void Say(string line)
    {
        lock (Out) Out.WriteLine(line);
    }

    private sealed class PartOfName : TestFilter
    {
        private readonly string part;

        public PartOfName(string part) => this.part = part;

        public override bool Match(ITest test) => test.FullName.Contains(part);

        public override TNode AddToXml(TNode parent, bool recursive) => parent.AddElement("name", part);
    }

    private sealed class Printer : ITestListener
    {
        public void TestStarted(ITest test)
        {
        }

        public void TestOutput(TestOutput output)
        {
        }

        public void SendMessage(TestMessage message)
        {
        }

        public void TestFinished(ITestResult result)
        {
            if (!result.Test.IsSuite || (result.ResultState.Status == TestStatus.Failed && !result.HasChildren))
            {
                Say($"{result.ResultState.Status,-8} {result.FullName} ({result.Duration:0.000} s)");
            }
            if (result.ResultState.Status != TestStatus.Passed && !string.IsNullOrEmpty(result.Message) &&
                (!result.Test.IsSuite || result.ResultState.Site == FailureSite.SetUp))
            {
                Say("    " + result.Message.Replace("\n", "\n    "));
                if (result.StackTrace != null) Say("    " + result.StackTrace.Replace("\n", "\n    "));
            }
        }
    }
}
