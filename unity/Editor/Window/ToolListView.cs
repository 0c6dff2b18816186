#nullable enable
using System;
using System.Collections.Generic;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws the tools and the user's permission for each.</summary>
    internal sealed class ToolListView : SectionView, IView<ToolListState>
    {
        private readonly ToolListPresenter presenter;
        private readonly RowList<string, ToolRow, Item> rows;
        private readonly Label count = Ui.Text("", "muted").Named("tools-count");
        private readonly Label nothing = Ui.Text("", "sentence");

        public ToolListView(IBridgeHost host, IProjectChoices choices)
        {
            presenter = new ToolListPresenter(host, choices, this);
            rows = new RowList<string, ToolRow, Item>(r => r.Name, name => new Item(name, presenter));
            this.With(
                Ui.Text("What is said about one tool comes before the switches.", "sentence"),
                Ui.Row(Ui.Search("tools-search", "Name or description", presenter.Search), count),
                rows, nothing);
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(ToolListState state)
        {
            rows.Show(state.Rows);
            count.text = state.Rows.Count == state.Total ? $"{state.Total}" : $"{state.Rows.Count} of {state.Total}";
            nothing.ShowText(state.Rows.Count == 0 ? state.Nothing : null);
        }

        private sealed class Item : VisualElement, IView<ToolRow>
        {
            private static readonly (ToolPermission Permission, string Text, string Tooltip)[] Choices =
            {
                (ToolPermission.Default, "Default", "The switches decide."),
                (ToolPermission.Allow, "Allow", "It may run, whatever the switches say."),
                (ToolPermission.Deny, "Deny", "It may not run, whatever the switches say.")
            };

            private readonly Dictionary<ToolPermission, Button> buttons = new();
            private readonly Label description = Ui.Text("", "sentence");
            private readonly Label refused = Ui.Text("", "sentence", "refused");

            public Item(string name, ToolListPresenter presenter)
            {
                VisualElement choice = new VisualElement().Styled("choice");
                foreach ((ToolPermission permission, string text, string tooltip) in Choices)
                {
                    Button button = Ui.Button($"tool-{name}-{text}", text, () => presenter.Set(name, permission)).Styled("choice-button");
                    button.tooltip = tooltip;
                    buttons[permission] = button;
                    choice.Add(button);
                }
                this.Styled("item").With(
                    Ui.Row(Ui.Text(name, "name").Named("tool-" + name), new VisualElement().Styled("grow"), choice), description, refused);
            }

            public void Show(ToolRow row)
            {
                foreach (KeyValuePair<ToolPermission, Button> one in buttons)
                {
                    one.Value.EnableInClassList("holdfast-chosen", one.Key == row.Permission);
                }
                int end = row.Description.IndexOf(". ", StringComparison.Ordinal);
                description.ShowText(end < 0 ? row.Description : row.Description.Substring(0, end + 1));
                description.tooltip = row.Description;
                refused.ShowText(row.Refused);
            }
        }
    }
}
