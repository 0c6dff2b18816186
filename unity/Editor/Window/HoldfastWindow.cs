#nullable enable
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// <c>Window > Holdfast</c>. Unity makes it anew after every reload; what it shows comes from the model, and so is
    /// what it was. Nothing of it is serialised.
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
            var setup = new SetupView(model.User, new ProgramLocator(), new ProgramRunner(new UnityLog()), EditorFacts.ProjectPath);
            page = new Page(rootVisualElement)
                .Add(null, new ServerView(model), model.PortField())
                .Add("Connected AI clients", new ClientsView(model))
                .Add("Set up AI editors", setup)
                .Add("What AI editors may do", new SwitchesView(Switch.Security(model.Project)))
                .Add("Tools", new ToolListView(model, model.Project))
                .Add("Log", new TrafficView(model, new EditorClipboard()));
            page.Refresh();
            setup.Begin();
        }

        // Unity calls it ten times a second, as long as the window can be seen.
        private void OnInspectorUpdate() => page?.Refresh();

        // Before every reload too: a program that runs for the window is ended here.
        private void OnDisable()
        {
            page?.Dispose();
            page = null;
        }
    }
}
