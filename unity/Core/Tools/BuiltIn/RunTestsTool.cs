#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Mode in which tests run.</summary>
    internal enum TestMode
    {
        /// <summary>In edit mode.</summary>
        EditMode,

        /// <summary>In play mode.</summary>
        PlayMode
    }

    /// <summary>What <see cref="RunTestsSchema.FilterValue"/> is compared with. The names are those of uLoopMCP.</summary>
    internal enum TestFilterType
    {
        /// <summary>No filter: all tests run.</summary>
        all,

        /// <summary>Full name of a test, fixture or namespace.</summary>
        exact,

        /// <summary>Regular expression for full names.</summary>
        regex,

        /// <summary>Name of an assembly.</summary>
        assembly
    }

    /// <summary>Parameters of <see cref="RunTestsTool"/>.</summary>
    internal sealed class RunTestsSchema : BaseToolSchema
    {
        /// <summary>Mode in which the tests run.</summary>
        [Description("EditMode or PlayMode")]
        public TestMode TestMode { get; set; } = TestMode.EditMode;

        /// <summary>What FilterValue is compared with.</summary>
        [Description("all; or FilterValue is: exact (full name), regex (over full names), assembly (its name)")]
        public TestFilterType FilterType { get; set; } = TestFilterType.all;

        /// <summary>A name or a regular expression, depending on FilterType.</summary>
        [Description("What FilterType says")]
        public string FilterValue { get; set; } = "";

        /// <summary>Whether to write the results to an XML file.</summary>
        [Description("Write the results as NUnit 3 XML, and answer with the file's path")]
        public bool SaveXml { get; set; }

        /// <summary>Whether to save changed scenes first.</summary>
        [Description("Save scenes with changes before; else the tool refuses to run while there are any, since Unity would ask")]
        public bool SaveScenes { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the run is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 600;
    }

    /// <summary>A test that failed.</summary>
    internal sealed class FailedTestInfo
    {
        /// <summary>Full name of the test.</summary>
        public string Name { get; set; } = "";

        /// <summary>The test's failure message.</summary>
        public string Message { get; set; } = "";
    }

    /// <summary>Result of <see cref="RunTestsTool"/>.</summary>
    internal sealed class RunTestsResponse : BaseToolResponse
    {
        /// <summary>Whether the run completed with at least one test and no failure.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>When the run ended, in local time.</summary>
        public string CompletedAt { get; set; } = "";

        /// <summary>Number of tests.</summary>
        public int TestCount { get; set; }

        /// <summary>Number of tests that passed.</summary>
        public int PassedCount { get; set; }

        /// <summary>Number of tests that failed.</summary>
        public int FailedCount { get; set; }

        /// <summary>Number of tests that were skipped or inconclusive.</summary>
        public int SkippedCount { get; set; }

        /// <summary>Path of the XML file; empty if none was asked for or it could not be written.</summary>
        public string XmlPath { get; set; } = "";

        /// <summary>The first failed tests, at most <see cref="Limits.FailedTests"/>.</summary>
        public IReadOnlyList<FailedTestInfo> FailedTests { get; set; } = Array.Empty<FailedTestInfo>();

        /// <summary>Whether the domain was reloaded during the run.</summary>
        public bool DomainReloaded { get; set; }
    }

    /// <summary>
    /// Runs tests. A run in play mode reloads the domain, and so do some tests. The run continues in Unity, and the call is
    /// resumed in the new domain.
    /// </summary>
    [McpTool(
        Description = "Runs tests of the Unity Test Framework in edit or play mode, and answers with the counts, the failed tests and, " +
            "if asked, an NUnit XML file",
        Title = "Run tests", RequiredSecuritySetting = SecuritySettings.EnableTestsExecution)]
    internal sealed class RunTestsTool : AbstractUnityTool<RunTestsSchema, RunTestsResponse>, IResumableTool
    {
        /// <inheritdoc/>
        public override string ToolName => "run-tests";

        /// <inheritdoc/>
        protected override async Task<RunTestsResponse> ExecuteAsync(RunTestsSchema parameters, IToolContext context)
        {
            if (parameters.FilterType != TestFilterType.all && parameters.FilterValue.Length == 0)
            {
                throw new ToolParameterException("FilterValue is empty, and FilterType wants one");
            }
            if (parameters.FilterType == TestFilterType.regex)
            {
                _ = new TextFilter(nameof(parameters.FilterValue), parameters.FilterValue, TextMatch.Regex, false);
            }
            ITestRunner runner = context.Get<ITestRunner>();
            if (WhyNot(runner, parameters, context) is { } why) return new RunTestsResponse { Message = why };
            var state = new TestRunState { SaveXml = parameters.SaveXml, Mode = parameters.TestMode.ToString() };
            // The state is saved before the run begins. Otherwise a reload could come first, and the call could not be resumed.
            state.Keep(context);
            using var job = new TestJob(runner, context, state);
            state.Run = runner.Begin(Request(parameters));
            state.Keep(context);
            return await job.Response;
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            TestRunState state = TestRunState.Of(kept);
            state.Reloads++;
            if (state.Result != null)
            {
                state.Result.DomainReloaded = true;
                return state.Result;
            }
            ITestRunner runner = context.Get<ITestRunner>();
            using var job = new TestJob(runner, context, state);
            var watch = Stopwatch.StartNew();
            long heard = job.Heard;
            while (!job.Response.IsCompleted)
            {
                await context.MainThread.Frames(1, context.Cancellation);
                if (job.Heard != heard || runner.IsRunning) watch.Restart();
                heard = job.Heard;
                if (watch.ElapsedMilliseconds < Limits.TestSilence) continue;
                return new RunTestsResponse
                {
                    Message = "The editor reloaded its scripts and the test framework has not gone on with the run; what ran, ran",
                    DomainReloaded = true
                };
            }
            return await job.Response;
        }

        private static string? WhyNot(ITestRunner runner, RunTestsSchema parameters, IToolContext context)
        {
            EditorSnapshot now = context.Get<IEditorState>().Read();
            if (now.IsPlaying) return "The editor is in play mode; leave it first";
            if (now.IsCompiling && !context.Get<ICompiler>().IsRunning)
            {
                return "Scripts wait to be compiled or reloaded, so the tests would be old ones; if this stays so, something " +
                    "else holds the reload back, such as a tool that locks it";
            }
            if (now.IsCompiling || now.IsUpdating) return "The editor is compiling or importing; try again when it is done";
            if (now.HasCompileErrors) return "The scripts do not compile, so the tests would be old ones; fix them first";
            if (runner.IsRunning) return "A test run is going on already; try again when it is over";
            if (context.Get<IScenes>().HasDirtyPrefab) return SceneTool.UnsavedPrefab;
            if (!runner.HasDirtyScenes) return null;
            if (!parameters.SaveScenes) return "There are scenes with unsaved changes; save them first, or set SaveScenes";
            return runner.SaveScenes() ? null : "A scene could not be saved without asking the user; save it first";
        }

        private static TestRequest Request(RunTestsSchema parameters)
        {
            string[] value = { parameters.FilterValue };
            var request = new TestRequest { PlayMode = parameters.TestMode == TestMode.PlayMode };
            return parameters.FilterType switch
            {
                TestFilterType.exact => request with { Names = value },
                TestFilterType.regex => request with { Groups = value },
                TestFilterType.assembly => request with { Assemblies = value },
                _ => request
            };
        }
    }

    /// <summary>State of a test run, which is saved across a reload.</summary>
    internal sealed class TestRunState
    {
        public string Run { get; set; } = "";

        public string Mode { get; set; } = "";

        public bool SaveXml { get; set; }

        public int Tests { get; set; }

        public int Done { get; set; }

        public int Reloads { get; set; }

        public List<FailedTestInfo> Failed { get; set; } = new();

        /// <summary>The result of the run; null while the run is not complete.</summary>
        public RunTestsResponse? Result { get; set; }

        public static TestRunState Of(JToken kept) => (TestRunState)Json.To(kept, typeof(TestRunState))!;

        public void Keep(IToolContext context) => context.KeepAcrossReload(Json.Token(this));
    }

    /// <summary>Listens to one test run.</summary>
    internal sealed class TestJob : UnityEventJob<RunTestsResponse>, ITestListener
    {
        private readonly ITestRunner runner;
        private readonly TestRunState state;
        private readonly Stopwatch sinceKept = Stopwatch.StartNew();

        public TestJob(ITestRunner runner, IToolContext context, TestRunState state) : base(context)
        {
            this.runner = runner;
            this.state = state;
            Begin(runner.Listen(this));
        }

        /// <summary>Number of events received.</summary>
        public long Heard { get; private set; }

        public void RunStarted(int tests)
        {
            Heard++;
            state.Tests = Math.Max(state.Tests, tests);
            state.Keep(Context);
        }

        public void TestFinished(string fullName, string status, double seconds, string message)
        {
            Heard++;
            state.Done++;
            bool failed = status == "Failed";
            if (failed && state.Failed.Count < Limits.FailedTests)
            {
                string text = message.Length <= Limits.LogText ? message : message.Substring(0, Limits.LogText) + "...";
                state.Failed.Add(new FailedTestInfo { Name = fullName, Message = text });
            }
            Context.ReportProgress(state.Done, state.Tests > 0 ? state.Tests : (double?)null, fullName);
            // The state is not saved after every test, since there may be thousands of quick ones. A reload can only lose some of
            // the progress count: failed tests are always saved, and the totals come from the test framework.
            if (!failed && sinceKept.ElapsedMilliseconds < Limits.ProgressEvery) return;
            sinceKept.Restart();
            state.Keep(Context);
        }

        public void RunFinished(TestSummary summary)
        {
            Heard++;
            int count = summary.Passed + summary.Failed + summary.Skipped + summary.Inconclusive;
            var told = new RunTestsResponse
            {
                Success = summary.Failed == 0 && count > 0,
                Message = count == 0 ? "No test fits" :
                    $"{summary.Passed} passed, {summary.Failed} failed, {summary.Skipped + summary.Inconclusive} skipped ({state.Mode})",
                CompletedAt = DateTime.Now.ToString("yyyy-MM-ddTHH:mm:ss.fff", CultureInfo.InvariantCulture),
                TestCount = count,
                PassedCount = summary.Passed,
                FailedCount = summary.Failed,
                SkippedCount = summary.Skipped + summary.Inconclusive,
                FailedTests = state.Failed,
                DomainReloaded = state.Reloads > 0
            };
            if (state.SaveXml) SaveXml(summary, told);
            Finish(told);
        }

        public void RunFailed(string message)
        {
            Heard++;
            Finish(new RunTestsResponse { Message = "The run broke off: " + message, DomainReloaded = state.Reloads > 0, FailedTests = state.Failed });
        }

        protected override void CancelledByCaller()
        {
            if (state.Run.Length > 0) runner.Cancel(state.Run);
        }

        private void SaveXml(TestSummary summary, RunTestsResponse told)
        {
            try
            {
                told.XmlPath = ResultFiles.Write(Context.Get<IBridgeInfo>().Editor, "tests", "xml", NUnitXml.Write(summary, DateTime.UtcNow));
            }
            catch (Exception e) when (e is System.IO.IOException or UnauthorizedAccessException or System.Xml.XmlException)
            {
                told.Message += "; the XML could not be written: " + e.Message;
            }
        }

        private void Finish(RunTestsResponse told)
        {
            state.Result = told;
            state.Keep(Context);
            End(told);
        }
    }
}
