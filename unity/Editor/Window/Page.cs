#nullable enable
using System;
using System.Collections.Generic;
using UnityEditor;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>
    /// A column of sections that show one model. The window and the settings pages use it. It subscribes to nothing: its owner
    /// calls <see cref="Refresh"/>.
    /// </summary>
    internal sealed class Page : IDisposable
    {
        private readonly List<SectionView> sections = new();
        // Without a key of its own, Unity would keep nothing of what is in it: neither how far it is scrolled nor what is folded.
        private readonly ScrollView body = new ScrollView { viewDataKey = "holdfast-page" }.Styled("page");

        public Page(VisualElement root)
        {
            StyleSheet? style = AssetDatabase.LoadAssetAtPath<StyleSheet>(Ui.StyleSheet);
            // If the style sheet is missing, everything still works, with a plain look.
            if (style != null) root.styleSheets.Add(style);
            root.Add(body);
        }

        public Page Add(string? title, params SectionView[] views)
        {
            VisualElement card = title == null
                ? new VisualElement()
                : new Foldout { text = title, value = true, viewDataKey = "holdfast-" + title };
            body.Add(card.Styled("card").With(views));
            sections.AddRange(views);
            return this;
        }

        public void Refresh()
        {
            foreach (SectionView section in sections) section.Refresh();
        }

        public void Dispose()
        {
            foreach (SectionView section in sections) (section as IDisposable)?.Dispose();
            sections.Clear();
        }
    }

    /// <summary>The model of every page: the bridge and the settings.</summary>
    internal sealed class EditorModel : IBridgeHost
    {
        public IBridgeInfo? Running => Controller.Bridge?.Info;

        public TrafficLog Traffic => Controller.Traffic;

        public IProjectChoices Project => HoldfastSettings.instance;

        public IUserChoices User => HoldfastPreferences.instance;

        public void Start() => Controller.Start();

        public void Stop() => Controller.Stop();

        public FieldView PortField() => new(
            "port", "Port", "0 is any free port. Applying it restarts the server: calls that run are cut.",
            view => new PortPresenter(this, Project, view));
    }
}
