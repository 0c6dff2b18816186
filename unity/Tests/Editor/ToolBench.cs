#nullable enable
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Runs a tool frame by frame, without a bridge. The editor's ports are fakes.</summary>
    internal sealed class ToolBench : IToolContext, IPortSource, IBridgeInfo, IEditorState, IDisposable
    {
        private readonly CancellationTokenSource cancellation = new();
        private readonly MainThreadQueue queue;
        private readonly ServiceTable services;
        private readonly List<Task> started = new();

        public ToolBench()
        {
            queue = new MainThreadQueue(new SystemClock(), new TestLog());
            services = new ServiceTable(new SystemClock()).Add<IBridgeInfo>(this).Add<IEditorState>(this);
            With<IPrefabs>(new ModelPrefabs()).With<IFinder>(new ModelFinder());
            string folder = Path.Combine(Path.GetTempPath(), "holdfast-tools-" + Guid.NewGuid().ToString("N"));
            Editor = new EditorIdentity { ProjectPath = folder, StateFolder = Path.Combine(folder, "Library", "Holdfast") };
        }

        public EditorSnapshot Snapshot { get; set; } = new();

        public List<JToken> Kept { get; } = new();

        public bool Resumable { get; set; } = true;

        public string? CallId => "call-1";

        public string? TraceParent => null;

        public string? TraceState => null;

        public string? Baggage => null;

        public CancellationToken Cancellation => cancellation.Token;

        public IMainThread MainThread => queue;

        public EditorIdentity Editor { get; }

        public BridgeStatus Status => throw new NotSupportedException();

        public long StartMilliseconds => throw new NotSupportedException();

        public IReadOnlyList<string> BrokenParts => throw new NotSupportedException();

        public ToolRegistry Tools => throw new NotSupportedException();

        public SecurityChecker Security => throw new NotSupportedException();

        public TrafficLog Traffic => throw new NotSupportedException();

        public string PackageVersion => "0";

        public ToolBench With<T>(T port) where T : class
        {
            services.Add(port);
            return this;
        }

        public T Get<T>() where T : class => services.Get<T>();

        public void ReportProgress(double progress, double? total = null, string? message = null)
        {
        }

        public bool KeepAcrossReload(JToken state)
        {
            if (Resumable) Kept.Add(state.DeepClone());
            return Resumable;
        }

        public EditorSnapshot Read() => Snapshot;

        public void NameClient(IToolContext call, string name, string pushEndpoint)
        {
        }

        public void Cancel() => cancellation.Cancel();

        /// <summary>
        /// Runs one frame, and up to five more while work waits: on a busy machine the first action may use up a frame's time
        /// budget.
        /// </summary>
        public void Frame()
        {
            queue.RunFrame();
            for (int i = 0; i < 5 && queue.HasWork; i++) queue.RunFrame();
        }

        /// <summary>Runs one frame and no more.</summary>
        public void OneFrame() => queue.RunFrame();

        public Task<object?> Start(IUnityTool tool, object parameters) => Begun(tool.ExecuteAsync(JObject.FromObject(parameters), this));

        /// <summary>Resumes a call with a state that was saved on another bench, which stands for the earlier domain.</summary>
        public Task<object?> Resume(IResumableTool tool, JToken kept) => Begun(tool.ResumeAsync(kept, this));

        /// <summary>Runs a tool to its end and returns its result as JSON, in the form that a caller gets.</summary>
        public JToken Run(IUnityTool tool, object parameters) => Finish(Start(tool, parameters));

        public JToken Finish(Task<object?> task)
        {
            Pump(() => task.IsCompleted, "the tool does not end");
            Frame();
            return Json.Token(task.GetAwaiter().GetResult());
        }

        public string Refusal(IUnityTool tool, object parameters) =>
            Assert.Throws<ToolParameterException>(() => Run(tool, parameters))!.Message;

        /// <summary>
        /// Waits until no tool runs and nothing waits for the main thread. A tool may end on another thread after the test has
        /// finished.
        /// </summary>
        public void Dispose()
        {
            cancellation.Cancel();
            Pump(() => started.All(t => t.IsCompleted) && !queue.HasWork, "a cancelled tool does not end");
            if (Directory.Exists(Editor.ProjectPath)) Directory.Delete(Editor.ProjectPath, true);
        }

        private Task<object?> Begun(Task<object?> task)
        {
            started.Add(task);
            return task;
        }

        // The time limit only detects a test that hangs. Even slow machines stay far below it.
        private void Pump(Func<bool> until, string otherwise)
        {
            var watch = Stopwatch.StartNew();
            while (!until())
            {
                if (watch.Elapsed.TotalSeconds > 60) throw new TimeoutException(otherwise);
                queue.RunFrame();
                if (!until()) Thread.Sleep(1);
            }
        }
    }

    internal sealed class ModelConsole : IConsole
    {
        public List<ConsoleEntry> Entries { get; } = new();

        public int Sticky { get; set; }

        public int Reads { get; private set; }

        public IEnumerable<ConsoleEntry> NewestFirst()
        {
            for (int i = Entries.Count - 1; i >= 0; i--)
            {
                Reads++;
                yield return Entries[i];
            }
        }

        public ConsoleCounts Count() => new(Of(ConsoleEntryType.Log), Of(ConsoleEntryType.Warning), Of(ConsoleEntryType.Error));

        public void Clear() => Entries.RemoveRange(0, Entries.Count - Sticky);

        public void Write(ConsoleEntryType type, string message) => Entries.Add(new ConsoleEntry(type, message, "", "", 0));

        private int Of(ConsoleEntryType type) => Entries.Count(e => e.Type == type);
    }

    internal sealed class ModelPrefabs : IPrefabs
    {
        public string OpenPath { get; set; } = "";

        public bool HasLostParent => false;

        public bool Create(FoundObject one, string path) => false;

        public FoundObject? Instantiate(FoundObject prefab) => null;

        public FoundObject? InstanceRoot(FoundObject one) => null;

        public string PathOf(FoundObject instance) => "";

        public void Apply(FoundObject instance)
        {
        }

        public void Revert(FoundObject instance)
        {
        }

        public bool Open(string path) => false;

        public bool Save() => false;

        public bool WouldContainItself(FoundObject prefab) => false;

        public PrefabEdit EditFile(string path, Func<IPrefabContents, FoundObject?> change) => new(null, false, false);

        public void StopAutoSave()
        {
        }

        public void Close()
        {
        }
    }

    internal sealed class ModelObjects : IObjects
    {
        private readonly ModelNode[] nodes;

        public ModelObjects(params ModelNode[] nodes) => this.nodes = nodes;

        public FoundObject? Find(string id) => null;

        public FoundObject? ById(string id) => nodes.Where(n => n.Id == id).Select(n => Of((ISceneNode)n)).FirstOrDefault();

        public IReadOnlyList<FoundObject> Parts(string path) => new FoundObject[0];

        public FoundObject? Importer(string path) => null;

        public FoundObject Of(ISceneComponent component) => Of((ISceneNode)component);

        public FoundObject Of(ISceneNode node) => new(node.Name, "", node, (ModelNode)node);

        public IReadOnlyList<FoundObject> Selected(int most, out int count)
        {
            count = 0;
            return new FoundObject[0];
        }

        public void Select(IReadOnlyList<FoundObject> objects)
        {
        }
    }

    internal sealed class ModelNode : ISceneNode, ISceneComponent
    {
        private readonly List<ModelNode> children = new();
        private readonly string name;

        public ModelNode(string name, params ModelNode[] below)
        {
            this.name = name;
            children.AddRange(below);
        }

        public string Id { get; set; } = "18446744073709551615";

        public string GlobalId => "GlobalObjectId_V1-2-" + Name;

        public string Name
        {
            get
            {
                NamesRead++;
                return name;
            }
        }

        /// <summary>How many names were read of all objects.</summary>
        public static int NamesRead { get; set; }

        public string Path => Name;

        public string Tag { get; set; } = "Untagged";

        public int Layer { get; set; }

        public string LayerName => "Default";

        public bool ActiveSelf { get; set; } = true;

        public bool ActiveInHierarchy => ActiveSelf;

        public IEnumerable<ISceneNode> Children => children;

        public bool IsMissing { get; set; }

        public string TypeName => IsMissing ? throw new InvalidOperationException("a missing script has no type") : "Rigid" + Name;

        public string FullTypeName => "Game." + TypeName;

        public bool? Enabled => true;

        public int PropertyCount { get; set; } = 1;

        public IEnumerable<ISceneComponent> Components => new[] { this };

        public bool IsA(string typeName) => typeName == TypeName || typeName == FullTypeName || typeName == "Component";

        public IEnumerable<SceneProperty> Properties(bool inherited) =>
            Enumerable.Range(0, PropertyCount).Select(i => new SceneProperty("p" + i, "float", 1.5));
    }

    internal sealed class ModelScenes : IScenes
    {
        private readonly ModelNode[] roots;

        public ModelScenes(params ModelNode[] roots) => this.roots = roots;

        public bool HasDirtyPrefab { get; set; }

        public IReadOnlyList<SceneView> Open() => new[] { new SceneView("Level", "Assets/Level.unity", SceneKind.Scene, true, roots) };
    }
}
