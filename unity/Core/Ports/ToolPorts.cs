#nullable enable
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Holdfast
{
    // The interfaces through which the built-in tools use Unity. Adapters in Holdfast.Editor implement them with Unity's API and
    // contain no logic. The tools in this assembly filter, limit, format and write files, because that can be tested without
    // Unity. Every method is called on the main thread unless its comment says otherwise.

    /// <summary>Unity's console.</summary>
    internal interface IConsole
    {
        /// <summary>
        /// Reads the entries one by one, newest first, regardless of the filter in the console window. The filter is put aside
        /// until the reading ends, so it must end within one frame.
        /// </summary>
        IEnumerable<ConsoleEntry> NewestFirst();

        /// <summary>Counts the entries by kind.</summary>
        ConsoleCounts Count();

        /// <summary>Clears the console. Compiler errors and sticky entries stay.</summary>
        void Clear();

        /// <summary>Writes an entry to the console.</summary>
        void Write(ConsoleEntryType type, string message);
    }

    /// <summary>The kinds of console entries.</summary>
    internal enum ConsoleEntryType
    {
        /// <summary>A message.</summary>
        Log,

        /// <summary>A warning.</summary>
        Warning,

        /// <summary>An error, an exception, a failed assertion.</summary>
        Error
    }

    /// <summary>A console entry.</summary>
    internal sealed record ConsoleEntry(ConsoleEntryType Type, string Message, string StackTrace, string File, int Line);

    /// <summary>Numbers of entries by kind.</summary>
    internal sealed record ConsoleCounts(int Logs, int Warnings, int Errors);

    /// <summary>The script compiler.</summary>
    internal interface ICompiler
    {
        /// <summary>
        /// Whether Unity says that it compiles. That stays true after a compilation until the reload, which other code may hold
        /// back for hours.
        /// </summary>
        bool IsCompiling { get; }

        /// <summary>Whether a compilation has begun and has not ended.</summary>
        bool IsRunning { get; }

        /// <summary>Whether the user has chosen that Unity compiles changed scripts only after play mode has ended.</summary>
        bool WaitsForPlayMode { get; }

        /// <summary>Whether the last compilation failed.</summary>
        bool HasErrors { get; }

        /// <summary>Imports changed files, which may start a compilation.</summary>
        void Refresh();

        /// <summary>Requests a compilation.</summary>
        /// <param name="clean">Whether to compile everything, without the results of the last compilation.</param>
        void Request(bool clean);

        /// <summary>Reports the events of compilations to a listener. Subscribe before <see cref="Refresh"/>.</summary>
        IDisposable Listen(ICompilationListener listener);
    }

    /// <summary>Receives the events of a compilation. Main thread.</summary>
    internal interface ICompilationListener
    {
        /// <summary>The compilation began.</summary>
        void Started();

        /// <summary>One assembly was compiled.</summary>
        void AssemblyFinished(string assemblyPath, IReadOnlyList<CompilerNote> notes);

        /// <summary>All assemblies were compiled. If none failed, a domain reload follows.</summary>
        void Finished();
    }

    /// <summary>A message of the compiler: an error or a warning.</summary>
    internal sealed record CompilerNote(bool IsError, string Message, string File, int Line, int Column);

    /// <summary>Play mode.</summary>
    internal interface IPlayMode
    {
        /// <summary>Whether the game runs, or is paused.</summary>
        bool IsPlaying { get; }

        /// <summary>Whether the game runs or will run. Differs from <see cref="IsPlaying"/> while Unity enters or leaves play mode.</summary>
        bool WillPlay { get; }

        /// <summary>Whether the game is paused.</summary>
        bool IsPaused { get; set; }

        /// <summary>Requests to enter play mode. A domain reload usually follows.</summary>
        void Enter();

        /// <summary>Requests to leave play mode.</summary>
        void Exit();

        /// <summary>Runs one frame of the game and pauses it.</summary>
        void Step();
    }

    /// <summary>The open scenes.</summary>
    internal interface IScenes
    {
        /// <summary>Returns the open scenes, or the prefab that is being edited.</summary>
        IReadOnlyList<SceneView> Open();

        /// <summary>Whether a prefab with unsaved changes is open for editing.</summary>
        bool HasDirtyPrefab { get; }
    }

    /// <summary>An open scene or a prefab stage. Its objects are read one by one as they are visited.</summary>
    internal sealed record SceneView(string Name, string Path, SceneKind Kind, bool IsActive, IReadOnlyList<ISceneNode> Roots);

    /// <summary>Kind of a <see cref="SceneView"/>.</summary>
    internal enum SceneKind
    {
        /// <summary>A scene.</summary>
        Scene,

        /// <summary>A prefab in its own stage.</summary>
        Prefab,

        /// <summary>The scene of the objects that play mode keeps when it changes scenes.</summary>
        DontDestroyOnLoad
    }

    /// <summary>A GameObject, read when it is visited.</summary>
    internal interface ISceneNode
    {
        /// <summary>The object's id in this session. It is text because newer editors have ids of 64 bits.</summary>
        string Id { get; }

        /// <summary>The object's name.</summary>
        string Name { get; }

        /// <summary>The names of the objects from the root to this object, joined with '/'; empty if it is in no open scene.</summary>
        string Path { get; }

        /// <summary>The object's tag.</summary>
        string Tag { get; }

        /// <summary>Number of the object's layer.</summary>
        int Layer { get; }

        /// <summary>Name of the object's layer.</summary>
        string LayerName { get; }

        /// <summary>Whether the object itself is switched on.</summary>
        bool ActiveSelf { get; }

        /// <summary>Whether the object and all its parents are switched on.</summary>
        bool ActiveInHierarchy { get; }

        /// <summary>The object's children, in order.</summary>
        IEnumerable<ISceneNode> Children { get; }

        /// <summary>The object's components, in order.</summary>
        IEnumerable<ISceneComponent> Components { get; }
    }

    /// <summary>A component.</summary>
    internal interface ISceneComponent
    {
        /// <summary>Whether the component's script is missing. If so, the other members are meaningless.</summary>
        bool IsMissing { get; }

        /// <summary>The id in this session. It is text because newer editors have ids of 64 bits.</summary>
        string Id { get; }

        /// <summary>
        /// The GlobalObjectId, which stays the same in later sessions; empty if it has none. Much slower than <see cref="Id"/>.
        /// </summary>
        string GlobalId { get; }

        /// <summary>
        /// Whether this is the name of the component's type or of one of its base types, with or without namespace.
        /// </summary>
        bool IsA(string typeName);

        /// <summary>Name of the component's type.</summary>
        string TypeName { get; }

        /// <summary>Name of the component's type with the namespace.</summary>
        string FullTypeName { get; }

        /// <summary>Whether the component is enabled; null if it has no such switch.</summary>
        bool? Enabled { get; }

        /// <summary>The component's serialised properties.</summary>
        /// <param name="inherited">Whether to include the properties of base types.</param>
        IEnumerable<SceneProperty> Properties(bool inherited);
    }

    /// <summary>A property of a component; its value can be written as JSON.</summary>
    internal sealed record SceneProperty(string Name, string Type, object? Value);

    /// <summary>The editor's menu.</summary>
    internal interface IMenu
    {
        /// <summary>All menu items.</summary>
        IReadOnlyList<MenuEntry> Items();

        /// <summary>Executes a menu item.</summary>
        /// <returns>False if the item does not exist or is disabled.</returns>
        bool Execute(string path);

        /// <summary>Calls the method that a script declares as this menu item.</summary>
        /// <returns>False if no method declares it.</returns>
        bool Invoke(string path);

        /// <summary>Whether the item exists.</summary>
        bool Exists(string path);

        /// <summary>Whether the item can be executed now.</summary>
        bool IsEnabled(string path);
    }

    /// <summary>A menu item.</summary>
    internal sealed record MenuEntry(
        string Path, string Method, string Assembly, int Priority, bool IsValidation, bool IsNative, string Shortcut);

    /// <summary>Searches with Unity Search.</summary>
    internal interface ISearch
    {
        /// <summary>Lists the search providers.</summary>
        IReadOnlyList<SearchProviderEntry> Providers();

        /// <summary>Starts a search. Poll the query over several frames, then dispose it.</summary>
        ISearchQuery Begin(SearchRequest request);
    }

    /// <summary>A provider of Unity Search.</summary>
    internal sealed record SearchProviderEntry(
        string Id, string Name, string Filter, int Priority, bool IsActive, bool IsExplicit)
    {
        /// <summary>The type that the provider declares for its results; empty if it declares none.</summary>
        public string Type { get; init; } = "";

        /// <summary>Whether the search window has a pane for details of the provider's results.</summary>
        public bool ShowsDetails { get; init; }

        /// <summary>Contents of that pane: names of <c>ShowDetailsOptions</c>.</summary>
        public string DetailsOptions { get; init; } = "";

        /// <summary>Number of actions that the provider offers for its results.</summary>
        public int Actions { get; init; }
    }

    /// <summary>A search to run.</summary>
    /// <param name="Query">The query in the language of Unity Search.</param>
    /// <param name="Providers">Ids of the providers to ask; empty means the active ones.</param>
    /// <param name="Flags">Names of <c>UnityEditor.Search.SearchFlags</c>, such as Sorted.</param>
    internal sealed record SearchRequest(string Query, IReadOnlyList<string> Providers, IReadOnlyList<string> Flags);

    /// <summary>A running search.</summary>
    internal interface ISearchQuery : IDisposable
    {
        /// <summary>Whether more results may still arrive.</summary>
        bool IsPending { get; }

        /// <summary>Number of results that have arrived.</summary>
        int Count { get; }

        /// <summary>
        /// Returns a result with its texts. Unity may put new results before old ones, so the first call fixes the results and
        /// their order. No asset is loaded.
        /// </summary>
        SearchHit Read(int index);
    }

    /// <summary>A search result.</summary>
    internal sealed record SearchHit(
        string Id, string Label, string Description, string Provider, string Type, string Path, string ObjectId)
    {
        /// <summary>Name of the result's icon, if the provider has set one. No icon is drawn to find it.</summary>
        public string Thumbnail { get; init; } = "";

        /// <summary>Rank of the result. A result with a lower value is listed earlier.</summary>
        public int Score { get; init; }

        /// <summary>The asset's labels in Unity; empty if the result is not an asset.</summary>
        public IReadOnlyList<string> Tags { get; init; } = Array.Empty<string>();

        /// <summary>Whether the result is a Unity object that can be selected in the editor.</summary>
        public bool IsSelectable { get; init; }
    }

    /// <summary>The test framework. This port is missing if the framework's package is not installed.</summary>
    internal interface ITestRunner
    {
        /// <summary>Starts a run. Its events are reported to all listeners, including those that a later domain adds.</summary>
        /// <returns>The run's id in the test framework.</returns>
        string Begin(TestRequest request);

        /// <summary>
        /// Reports the events of every test run in the editor to a listener, including runs that the user starts. Call it again
        /// after a reload.
        /// </summary>
        IDisposable Listen(ITestListener listener);

        /// <summary>Stops a test run.</summary>
        /// <returns>False if this version of the test framework cannot stop runs.</returns>
        bool Cancel(string run);

        /// <summary>Whether a run is in progress.</summary>
        bool IsRunning { get; }

        /// <summary>Lists the tests of a mode. The action is called on the main thread, in this frame or in a later one.</summary>
        void List(bool playMode, Action<IReadOnlyList<TestFact>> found);

        /// <summary>Saves dirty scenes without asking.</summary>
        /// <returns>False if a scene could not be saved. A test run would then open a dialog.</returns>
        bool SaveScenes();

        /// <summary>Whether scenes have unsaved changes.</summary>
        bool HasDirtyScenes { get; }
    }

    /// <summary>A test of the project.</summary>
    /// <param name="FullName">Its full name.</param>
    /// <param name="Categories">Its categories.</param>
    internal sealed record TestFact(string FullName, IReadOnlyList<string> Categories);

    /// <summary>Selects the tests to run. A list that is empty excludes nothing.</summary>
    internal sealed record TestRequest
    {
        /// <summary>Whether the tests run in play mode; false means edit mode.</summary>
        public bool PlayMode { get; init; }

        /// <summary>Full names of the tests.</summary>
        public IReadOnlyList<string> Names { get; init; } = Array.Empty<string>();

        /// <summary>Regular expressions that full names must match.</summary>
        public IReadOnlyList<string> Groups { get; init; } = Array.Empty<string>();

        /// <summary>Names of the test assemblies.</summary>
        public IReadOnlyList<string> Assemblies { get; init; } = Array.Empty<string>();

        /// <summary>Names of the test categories.</summary>
        public IReadOnlyList<string> Categories { get; init; } = Array.Empty<string>();
    }

    /// <summary>Receives the events of test runs. Main thread.</summary>
    internal interface ITestListener
    {
        /// <summary>A run began with this number of tests.</summary>
        void RunStarted(int tests);

        /// <summary>One test ended.</summary>
        void TestFinished(string fullName, string status, double seconds, string message);

        /// <summary>The run ended.</summary>
        void RunFinished(TestSummary summary);

        /// <summary>The run was aborted.</summary>
        void RunFailed(string message);
    }

    /// <summary>Result of a test run. <paramref name="Xml"/> has the run's suites as NUnit XML.</summary>
    internal sealed record TestSummary(int Passed, int Failed, int Skipped, int Inconclusive, double Seconds, string Xml);
}
