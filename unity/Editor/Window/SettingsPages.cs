#nullable enable
using System;
using System.Collections.Generic;
using UnityEditor;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>
    /// The two settings pages. Project Settings > Holdfast has the settings for this project: port, batch mode, what AI editors
    /// may do. Preferences > Holdfast has the settings for all projects on this machine: where the program is, and whether the
    /// editor is woken. Neither is shared with other people, since both are the user's own choices for this machine.
    /// </summary>
    internal sealed class SettingsPages : SettingsProvider
    {
        public const string ProjectPath = "Project/Holdfast";
        public const string UserPath = "Preferences/Holdfast";

        private readonly Action<Page, EditorModel> fill;
        private Page? page;

        private SettingsPages(string path, SettingsScope scope, IEnumerable<string> keywords, Action<Page, EditorModel> fill)
            : base(path, scope, keywords)
        {
            this.fill = fill;
            label = "Holdfast";
        }

        public override void OnActivate(string searchContext, VisualElement rootElement)
        {
            page = new Page(rootElement);
            fill(page, new EditorModel());
            page.Refresh();
        }

        public override void OnDeactivate()
        {
            page?.Dispose();
            page = null;
        }

        public override void OnInspectorUpdate() => page?.Refresh();

        [SettingsProvider]
        private static SettingsProvider OfProject() => new SettingsPages(
            ProjectPath, SettingsScope.Project, new[] { "AI", "MCP", "port", "batch mode", "security", "tools" }, (page, model) => page
                .Add("Server", model.PortField(), new SwitchesView(Switch.Project(model.Project)))
                .Add("What AI editors may do", new SwitchesView(Switch.Security(model.Project)))
                .Add("Groups of tools that AI editors see", new SwitchesView(Switch.Groups(model.Project)))
                .Add("Tools", new ToolListView(model, model.Project)));

        [SettingsProvider]
        private static SettingsProvider OfUser() => new SettingsPages(
            UserPath, SettingsScope.User, new[] { "AI", "MCP", "wake", "focus", "program", "gateway" }, (page, model) => page
                .Add("Editor", new SwitchesView(Switch.User(model.User)))
                .Add("Gateway", new FieldView(
                    "program", "Path of holdfast", "Empty: it is looked for.",
                    view => new ProgramPathPresenter(model.User, new ProgramLocator(), view))));
    }
}
