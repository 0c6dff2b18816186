#nullable enable
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Holdfast
{
    // The ports behind the built-in tools. Adapters in Holdfast.Editor implement them over Unity's API and hold no logic:
    // filtering, bounding, formatting and files are the tools' work, in this assembly, where they are tested.
    // Every method is called on the main thread unless it says otherwise.

    /// <summary>The console.</summary>
    public interface IConsole
    {
        /// <summary>Every entry, the oldest first, whatever the user's filter in the console window shows.</summary>
        IReadOnlyList<ConsoleEntry> Read();

        /// <summary>How many entries there are.</summary>
        ConsoleCounts Count();

        /// <summary>Clears it; errors of the compiler and sticky entries stay.</summary>
        void Clear();

        /// <summary>Writes an entry.</summary>
        void Write(ConsoleEntryType type, string message);
    }

    /// <summary>The kinds of console entries.</summary>
    public enum ConsoleEntryType
    {
        /// <summary>A message.</summary>
        Log,

        /// <summary>A warning.</summary>
        Warning,

        /// <summary>An error, an exception, a failed assertion.</summary>
        Error
    }

    /// <summary>One entry.</summary>
    public sealed record ConsoleEntry(ConsoleEntryType Type, string Message, string StackTrace, string File, int Line);

    /// <summary>Entries by kind.</summary>
    public sealed record ConsoleCounts(int Logs, int Warnings, int Errors);

    /// <summary>The script compiler.</summary>
    public interface ICompiler
    {
        /// <summary>Is a compilation running?</summary>
        bool IsCompiling { get; }

        /// <summary>Did the last one fail?</summary>
        bool HasErrors { get; }

        /// <summary>Takes in changed files, which may begin a compilation.</summary>
        void Refresh();

        /// <summary>Asks for a compilation.</summary>
        /// <param name="clean">All of it, without what the last one left.</param>
        void Request(bool clean);

        /// <summary>Listens to what a compilation says. Subscribe before <see cref="Refresh"/>.</summary>
        IDisposable Listen(ICompilationListener listener);
    }

    /// <summary>Hears of a compilation. Main thread.</summary>
    public interface ICompilationListener
    {
        /// <summary>It began.</summary>
        void Started();

        /// <summary>An assembly is done.</summary>
        void AssemblyFinished(string assemblyPath, IReadOnlyList<CompilerNote> notes);

        /// <summary>All are done. If none failed, a domain reload follows.</summary>
        void Finished();
    }

    /// <summary>A message of the compiler.</summary>
    public sealed record CompilerNote(bool IsError, string Message, string File, int Line, int Column);

    /// <summary>The open scenes.</summary>
    public interface IScenes
    {
        /// <summary>What is open: the scenes, or the prefab that is being edited.</summary>
        IReadOnlyList<SceneView> Open();
    }

    /// <summary>An open scene, or a prefab stage. Its objects are looked up as one walks, never all at once.</summary>
    public sealed record SceneView(string Name, string Path, SceneKind Kind, bool IsActive, IReadOnlyList<ISceneNode> Roots);

    /// <summary>What a <see cref="SceneView"/> is.</summary>
    public enum SceneKind
    {
        /// <summary>A scene.</summary>
        Scene,

        /// <summary>A prefab in its own stage.</summary>
        Prefab,

        /// <summary>What play mode does not destroy between scenes.</summary>
        DontDestroyOnLoad
    }

    /// <summary>A GameObject, read as it is walked over.</summary>
    public interface ISceneNode
    {
        /// <summary>Its id in this session, as a text: it has 64 bits in newer editors.</summary>
        string Id { get; }

        /// <summary>Its name.</summary>
        string Name { get; }

        /// <summary>Its tag.</summary>
        string Tag { get; }

        /// <summary>Its layer's number.</summary>
        int Layer { get; }

        /// <summary>Its layer's name.</summary>
        string LayerName { get; }

        /// <summary>Its own switch.</summary>
        bool ActiveSelf { get; }

        /// <summary>On, with all its parents.</summary>
        bool ActiveInHierarchy { get; }

        /// <summary>Its children, in order.</summary>
        IEnumerable<ISceneNode> Children { get; }

        /// <summary>Its components, in order.</summary>
        IEnumerable<ISceneComponent> Components { get; }
    }

    /// <summary>A component.</summary>
    public interface ISceneComponent
    {
        /// <summary>Its script is missing; the other members say nothing then.</summary>
        bool IsMissing { get; }

        /// <summary>Its type, or a base type of it, has this name (with or without namespace).</summary>
        bool IsA(string typeName);

        /// <summary>Its type's name.</summary>
        string TypeName { get; }

        /// <summary>Its type's name with the namespace.</summary>
        string FullTypeName { get; }

        /// <summary>On or off; null where a component has no such switch.</summary>
        bool? Enabled { get; }

        /// <summary>Its serialised properties.</summary>
        /// <param name="inherited">With those of its base types.</param>
        IEnumerable<SceneProperty> Properties(bool inherited);
    }

    /// <summary>A property of a component: a value that can be written as JSON.</summary>
    public sealed record SceneProperty(string Name, string Type, object? Value);

    /// <summary>The menu.</summary>
    public interface IMenu
    {
        /// <summary>Every item.</summary>
        IReadOnlyList<MenuEntry> Items();

        /// <summary>Executes an item.</summary>
        /// <returns>False if there is none, or it is disabled.</returns>
        bool Execute(string path);

        /// <summary>Calls the method behind an item of a script.</summary>
        /// <returns>False if no method has this item.</returns>
        bool Invoke(string path);

        /// <summary>Is there such an item?</summary>
        bool Exists(string path);

        /// <summary>Can it be executed now?</summary>
        bool IsEnabled(string path);
    }

    /// <summary>A menu item.</summary>
    public sealed record MenuEntry(
        string Path, string Method, string Assembly, int Priority, bool IsValidation, bool IsNative, string Shortcut);

    /// <summary>Unity Search.</summary>
    public interface ISearch
    {
        /// <summary>The providers.</summary>
        IReadOnlyList<SearchProviderEntry> Providers();

        /// <summary>Begins a search. Poll it over frames, then dispose it.</summary>
        ISearchQuery Begin(SearchRequest request);
    }

    /// <summary>A provider of Unity Search.</summary>
    public sealed record SearchProviderEntry(
        string Id, string Name, string Filter, int Priority, bool IsActive, bool IsExplicit)
    {
        /// <summary>Its type, as it says it; empty if it does not.</summary>
        public string Type { get; init; } = "";

        /// <summary>Does the search window have a pane for details of what it finds?</summary>
        public bool ShowsDetails { get; init; }

        /// <summary>What is in that pane: names of <c>ShowDetailsOptions</c>.</summary>
        public string DetailsOptions { get; init; } = "";

        /// <summary>How many actions it offers for what it finds.</summary>
        public int Actions { get; init; }
    }

    /// <summary>What to search for.</summary>
    /// <param name="Query">In the language of Unity Search.</param>
    /// <param name="Providers">Ids; none: the active ones.</param>
    /// <param name="Flags">Names of <c>UnityEditor.Search.SearchFlags</c>, such as Sorted.</param>
    public sealed record SearchRequest(string Query, IReadOnlyList<string> Providers, IReadOnlyList<string> Flags);

    /// <summary>A search that runs.</summary>
    public interface ISearchQuery : IDisposable
    {
        /// <summary>May more come?</summary>
        bool IsPending { get; }

        /// <summary>What came since the last asking, at most so many; texts are fetched here.</summary>
        IReadOnlyList<SearchHit> Take(int max);
    }

    /// <summary>Something found.</summary>
    public sealed record SearchHit(
        string Id, string Label, string Description, string Provider, string Type, string Path, string ObjectId)
    {
        /// <summary>Name of its icon, where the provider has given one; nothing is drawn for it.</summary>
        public string Thumbnail { get; init; } = "";

        /// <summary>Its place among the results: the lower, the earlier.</summary>
        public int Score { get; init; }

        /// <summary>The labels of the asset.</summary>
        public IReadOnlyList<string> Tags { get; init; } = Array.Empty<string>();

        /// <summary>It is an object of Unity's, which can be selected in the editor.</summary>
        public bool IsSelectable { get; init; }
    }

    /// <summary>The test framework; absent where the package is not installed.</summary>
    public interface ITestRunner
    {
        /// <summary>Begins a run. What it says comes through the listeners, also those of a later domain.</summary>
        /// <returns>The run's id in the test framework.</returns>
        string Begin(TestRequest request);

        /// <summary>Listens to every run of the editor, ours or the user's. Subscribe again after a reload.</summary>
        IDisposable Listen(ITestListener listener);

        /// <summary>Stops a run.</summary>
        /// <returns>False if this test framework cannot.</returns>
        bool Cancel(string run);

        /// <summary>Is a run going on?</summary>
        bool IsRunning { get; }

        /// <summary>Saves dirty scenes without asking.</summary>
        /// <returns>False if one could not be saved; a run would open a dialog then.</returns>
        bool SaveScenes();

        /// <summary>Are there scenes with changes that are not saved?</summary>
        bool HasDirtyScenes { get; }
    }

    /// <summary>Which tests to run; an empty list means no such bound.</summary>
    public sealed record TestRequest
    {
        /// <summary>In play mode, else in edit mode.</summary>
        public bool PlayMode { get; init; }

        /// <summary>Full names.</summary>
        public IReadOnlyList<string> Names { get; init; } = Array.Empty<string>();

        /// <summary>Regular expressions over full names.</summary>
        public IReadOnlyList<string> Groups { get; init; } = Array.Empty<string>();

        /// <summary>Assemblies.</summary>
        public IReadOnlyList<string> Assemblies { get; init; } = Array.Empty<string>();

        /// <summary>Categories.</summary>
        public IReadOnlyList<string> Categories { get; init; } = Array.Empty<string>();
    }

    /// <summary>Hears of test runs. Main thread.</summary>
    public interface ITestListener
    {
        /// <summary>A run began with so many tests.</summary>
        void RunStarted(int tests);

        /// <summary>A test ended.</summary>
        void TestFinished(string fullName, string status, double seconds, string message);

        /// <summary>The run ended.</summary>
        void RunFinished(TestSummary summary);

        /// <summary>The run broke off.</summary>
        void RunFailed(string message);
    }

    /// <summary>How a run ended; <paramref name="Xml"/> is NUnit's.</summary>
    public sealed record TestSummary(int Passed, int Failed, int Skipped, int Inconclusive, double Seconds, string Xml);
}
