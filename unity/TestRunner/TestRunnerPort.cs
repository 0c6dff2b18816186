#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEditor.TestTools.TestRunner.Api;
using UnityEngine;
using UnityEngine.SceneManagement;

namespace Holdfast.Editor.TestRunner
{
    /// <summary>
    /// Adds the port of the test framework. This assembly is compiled only if the framework's package is installed.
    /// </summary>
    internal sealed class TestRunnerPorts : IPortProvider
    {
        public void AddPorts(ServiceTable ports) => ports.Add<ITestRunner>(new TestRunnerPort());
    }

    /// <summary>Implements the port with Unity's test framework, version 1.1 or later.</summary>
    internal sealed class TestRunnerPort : ITestRunner
    {
        // This method is internal in versions 1.1 to 1.4. If it is missing, a run in progress is not detected.
        private readonly MethodInfo? isRunActive = typeof(TestRunnerApi).GetMethod(
            "IsRunActive", BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public, null, Type.EmptyTypes, null);

        private TestRunnerApi? api;

        public bool IsRunning => isRunActive != null && (bool)isRunActive.Invoke(null, null)!;

        public bool HasDirtyScenes
        {
            get
            {
                for (int i = 0; i < SceneManager.sceneCount; i++)
                {
                    if (SceneManager.GetSceneAt(i).isDirty) return true;
                }
                return false;
            }
        }

        private TestRunnerApi Api
        {
            get
            {
                if (api == null)
                {
                    api = ScriptableObject.CreateInstance<TestRunnerApi>();
                    api.hideFlags = HideFlags.HideAndDontSave;
                    AssemblyReloadEvents.beforeAssemblyReload += Destroy;
                    CodeUnload.Unloading += Destroy;
                }
                return api;
            }
        }

        public string Begin(TestRequest request)
        {
            var filter = new Filter
            {
                testMode = request.PlayMode
                    ? UnityEditor.TestTools.TestRunner.Api.TestMode.PlayMode
                    : UnityEditor.TestTools.TestRunner.Api.TestMode.EditMode,
                testNames = request.Names.Count > 0 ? request.Names.ToArray() : null,
                groupNames = request.Groups.Count > 0 ? request.Groups.ToArray() : null,
                assemblyNames = request.Assemblies.Count > 0 ? request.Assemblies.ToArray() : null,
                categoryNames = request.Categories.Count > 0 ? request.Categories.ToArray() : null
            };
            return Api.Execute(new ExecutionSettings(filter));
        }

        public void List(bool playMode, Action<IReadOnlyList<TestFact>> found) => Api.RetrieveTestList(
            playMode ? UnityEditor.TestTools.TestRunner.Api.TestMode.PlayMode : UnityEditor.TestTools.TestRunner.Api.TestMode.EditMode,
            root => found(Below(root).Select(t => new TestFact(t.FullName, t.Categories ?? Array.Empty<string>())).ToList()));

        private static IEnumerable<ITestAdaptor> Below(ITestAdaptor test) =>
            test.IsSuite ? test.Children.SelectMany(Below) : new[] { test };

        public IDisposable Listen(ITestListener listener)
        {
            var callbacks = new Callbacks(listener);
            TestRunnerApi used = Api;
            used.RegisterCallbacks(callbacks);
            return new Ending(() => used.UnregisterCallbacks(callbacks));
        }

        public bool Cancel(string run)
        {
#if HOLDFAST_TEST_FRAMEWORK_1_4
            return TestRunnerApi.CancelTestRun(run);
#else
            return false;
#endif
        }

        // An untitled scene has no path, and saving it would open a dialog.
        public bool SaveScenes()
        {
            for (int i = 0; i < SceneManager.sceneCount; i++)
            {
                Scene scene = SceneManager.GetSceneAt(i);
                if (scene.isDirty && string.IsNullOrEmpty(scene.path)) return false;
            }
            return EditorSceneManager.SaveOpenScenes();
        }

        // Unity keeps an object with these flags over a reload, and the next domain makes one of its own.
        private void Destroy()
        {
            AssemblyReloadEvents.beforeAssemblyReload -= Destroy;
            CodeUnload.Unloading -= Destroy;
            UnityEngine.Object.DestroyImmediate(api);
            api = null;
        }

        private sealed class Ending : IDisposable
        {
            private readonly Action end;

            public Ending(Action end) => this.end = end;

            public void Dispose() => end();
        }

        private sealed class Callbacks : IErrorCallbacks
        {
            private readonly ITestListener listener;

            public Callbacks(ITestListener listener) => this.listener = listener;

            public void RunStarted(ITestAdaptor testsToRun) => listener.RunStarted(testsToRun.TestCaseCount);

            public void TestStarted(ITestAdaptor test)
            {
            }

            public void TestFinished(ITestResultAdaptor result)
            {
                if (!result.HasChildren && !result.Test.IsSuite)
                {
                    listener.TestFinished(result.FullName, result.TestStatus.ToString(), result.Duration, result.Message ?? "");
                }
            }

            public void RunFinished(ITestResultAdaptor result) => listener.RunFinished(new TestSummary(
                result.PassCount, result.FailCount, result.SkipCount, result.InconclusiveCount, result.Duration, result.ToXml().OuterXml));

            public void OnError(string message) => listener.RunFailed(message);
        }
    }
}
