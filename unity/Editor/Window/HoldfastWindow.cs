#nullable enable
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// The window <c>Window > Holdfast</c>. Unity creates it again after every reload. It stores nothing itself: it reads
    /// everything from the model, and so shows the same as before the reload.
    /// </summary>
    internal sealed class HoldfastWindow : EditorWindow
    {
        private Page? page;

        [MenuItem("Window/Holdfast")]
        private static void Open() => GetWindow<HoldfastWindow>("Holdfast");

        private void OnEnable() => minSize = new Vector2(320, 240);

        private void CreateGUI()
        {
            var model = new EditorModel();
            var setup = new SetupView(model.User, new ProgramLocator(), new ProgramRunner(new UnityLog()), EditorFacts.ProjectPath,
                new EditorSessionStore());
            page = new Page(rootVisualElement)
                .Add(null, new ServerView(model), model.PortField())
                .Add("Connected AI clients", new ClientsView(model))
                .Add("Set up AI editors", setup)
                .Add("What AI editors may do", new SwitchesView(Switch.Security(model.Project)))
                .Add("Groups of tools that AI editors see", new SwitchesView(Switch.Groups(model.Project)))
                .Add("Tools", new ToolListView(model, model.Project))
                .Add("Log", new TrafficView(model, new EditorClipboard()));
            page.Refresh();
            setup.Begin();
        }

        // Unity calls this ten times a second while the window is visible.
        private void OnInspectorUpdate() => page?.Refresh();

        // Unity calls this before every reload too. It ends a program that runs for the window.
        private void OnDisable()
        {
            page?.Dispose();
            page = null;
        }
    }
}
