// Stubs of the part of Unity's test framework that the package uses. Signatures are those of the framework (1.1 to 2.0). The run
// is simulated: two tests, and in play mode a reload between them.
using System;
using System.Collections.Generic;
using EditorHost;
using NUnit.Framework.Interfaces;
using UnityEngine;

namespace UnityEditor.TestTools.TestRunner.Api
{
    [Flags]
    public enum TestMode
    {
        EditMode = 1 << 0,
        PlayMode = 1 << 1
    }

    public enum TestStatus
    {
        Inconclusive,
        Skipped,
        Passed,
        Failed
    }

    public class Filter
    {
        public TestMode testMode;
        public string[] testNames;
        public string[] groupNames;
        public string[] categoryNames;
        public string[] assemblyNames;
    }

    public class ExecutionSettings
    {
        public Filter[] filters;

        public ExecutionSettings(params Filter[] filtersToExecute) => filters = filtersToExecute;
    }

    public interface ITestAdaptor
    {
        int TestCaseCount { get; }

        bool IsSuite { get; }

        string FullName { get; }

        string[] Categories { get; }

        IEnumerable<ITestAdaptor> Children { get; }
    }

    public interface ITestResultAdaptor
    {
        ITestAdaptor Test { get; }

        string FullName { get; }

        TestStatus TestStatus { get; }

        double Duration { get; }

        string Message { get; }

        int FailCount { get; }

        int PassCount { get; }

        int SkipCount { get; }

        int InconclusiveCount { get; }

        bool HasChildren { get; }

        TNode ToXml();
    }

    public interface ICallbacks
    {
        void RunStarted(ITestAdaptor testsToRun);

        void RunFinished(ITestResultAdaptor result);

        void TestStarted(ITestAdaptor test);

        void TestFinished(ITestResultAdaptor result);
    }

    public interface IErrorCallbacks : ICallbacks
    {
        void OnError(string message);
    }

    public class TestRunnerApi : ScriptableObject
    {
        private static readonly List<ICallbacks> Callbacks = new();
        private static bool following;

        public string Execute(ExecutionSettings executionSettings)
        {
            Native.Current.SetSession("testRun", executionSettings.filters[0].testMode + ":0:" + string.Join("|", executionSettings.filters[0].testNames ?? Array.Empty<string>()));
            Follow();
            return "run-1";
        }

        public void RetrieveTestList(TestMode testMode, Action<ITestAdaptor> callback)
        {
            EditorApplication.CallbackFunction answer = null;
            answer = () =>
            {
                EditorApplication.update -= answer;
                callback(new Listed("Game", true, new Listed("Game.Tests.Walks", false), new Listed("Game.Tests.Jumps", false)));
            };
            EditorApplication.update += answer;
        }

        private sealed class Listed : ITestAdaptor
        {
            public Listed(string name, bool suite, params ITestAdaptor[] below) => (FullName, IsSuite, Children) = (name, suite, below);

            public int TestCaseCount => 1;

            public bool IsSuite { get; }

            public string FullName { get; }

            public string[] Categories => new[] { "Fast" };

            public IEnumerable<ITestAdaptor> Children { get; }
        }

        public void RegisterCallbacks<T>(T testCallbacks, int priority = 0) where T : ICallbacks
        {
            Callbacks.Add(testCallbacks);
            // A test run that a domain reload interrupted continues here.
            if (IsRunActive()) Follow();
        }

        public void UnregisterCallbacks<T>(T testCallbacks) where T : ICallbacks => Callbacks.Remove(testCallbacks);

#if HOLDFAST_TEST_FRAMEWORK_1_4
        public static bool CancelTestRun(string guid)
        {
            bool was = IsRunActive();
            Native.Current.SetSession("testRun", null);
            return was;
        }
#endif

        internal static bool IsRunActive() => Native.Current.GetSession("testRun") != null;

        private static void Follow()
        {
            if (following) return;
            following = true;
            EditorApplication.update += Step;
            AssemblyReloadEvents.beforeAssemblyReload += Stop;
        }

        private static void Stop()
        {
            following = false;
            EditorApplication.update -= Step;
            AssemblyReloadEvents.beforeAssemblyReload -= Stop;
        }

        private static void Step()
        {
            string[] run = (Native.Current.GetSession("testRun") ?? "none:9:").Split(':');
            int step = int.Parse(run[1]);
            Native.Current.SetSession("testRun", step >= 4 ? null : run[0] + ":" + (step + 1) + ":" + run[2]);
            // A run by names runs these alone.
            int walks = Wanted(run[2], "Game.Tests.Walks"), jumps = Wanted(run[2], "Game.Tests.Jumps");
            switch (step)
            {
                case 0:
                    Each(c => c.RunStarted(new Result(walks + jumps)));
                    break;
                case 1 when walks > 0:
                    Each(c => c.TestFinished(new Result(0) { FullName = "Game.Tests.Walks", PassCount = 1, TestStatus = TestStatus.Passed }));
                    break;
                case 2 when run[0] == "PlayMode":
                    EditorUtility.RequestScriptReload();
                    break;
                case 3 when jumps > 0:
                    Each(c => c.TestFinished(new Result(0) { FullName = "Game.Tests.Jumps", FailCount = 1, TestStatus = TestStatus.Failed, Message = "Expected: 2" }));
                    break;
                case 4:
                    Stop();
                    Each(c => c.RunFinished(new Result(walks + jumps) { FullName = "Game", PassCount = walks, FailCount = jumps, TestStatus = jumps > 0 ? TestStatus.Failed : TestStatus.Passed }));
                    break;
                case 9:
                    Stop();
                    break;
            }
        }

        private static int Wanted(string names, string test) => names.Length == 0 || Array.IndexOf(names.Split('|'), test) >= 0 ? 1 : 0;

        private static void Each(Action<ICallbacks> call)
        {
            foreach (ICallbacks one in Callbacks.ToArray()) Engine.Guard(() => call(one));
        }

        private sealed class Result : ITestResultAdaptor, ITestAdaptor
        {
            public Result(int tests) => TestCaseCount = tests;

            public ITestAdaptor Test => this;

            public int TestCaseCount { get; }

            public bool IsSuite => TestCaseCount > 0;

            public string[] Categories => Array.Empty<string>();

            public IEnumerable<ITestAdaptor> Children => Array.Empty<ITestAdaptor>();

            public bool HasChildren => IsSuite;

            public string FullName { get; set; } = "";

            public TestStatus TestStatus { get; set; }

            public double Duration => 0.5;

            public string Message { get; set; } = "";

            public int FailCount { get; set; }

            public int PassCount { get; set; }

            public int SkipCount => 0;

            public int InconclusiveCount => 0;

            public TNode ToXml()
            {
                var node = new TNode("test-suite");
                node.AddAttribute("name", FullName);
                return node;
            }
        }
    }
}
