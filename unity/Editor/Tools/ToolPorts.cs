#nullable enable
namespace Holdfast.Editor
{
    /// <summary>Adds the ports behind the built-in tools.</summary>
    internal sealed class ToolPorts : IPortProvider
    {
        public void AddPorts(ServiceTable ports) => ports.Add<IEditorState>(() => new EditorStateReader())
            .Add<IConsole>(() => new EditorConsole()).Add<ICompiler>(() => new EditorCompiler()).Add<IScenes>(() => new EditorScenes())
            .Add<IProjectFacts>(() => new EditorProjectFacts()).Add<IObjects>(() => new EditorObjects()).Add<IObjectEditor>(() => new EditorObjectEditor(new UndoSteps())).Add<IUndo>(() => new EditorUndo())
            .Add<IAssets>(() => new EditorAssets()).Add<IPrefabs>(() => new EditorPrefabs()).Add<IScreen>(() => new EditorScreen())
            .Add<IPackages>(() => new EditorPackages()).Add<ICodeRunner>(() => new EditorCodeRunner())
            .Add<ISceneFiles>(() => new EditorSceneFiles()).Add<IPlayMode>(() => new EditorPlayMode())
            .Add<IFinder>(() => new EditorFinder()).Add<IMenu>(() => new EditorMenu()).Add<ISearch>(() => new EditorSearch());
    }

    /// <summary>Runs an action when Dispose is called for the first time, and never again.</summary>
    internal sealed class Subscription : System.IDisposable
    {
        private System.Action? end;

        public Subscription(System.Action end) => this.end = end;

        public void Dispose()
        {
            System.Action? once = end;
            end = null;
            once?.Invoke();
        }
    }
}
