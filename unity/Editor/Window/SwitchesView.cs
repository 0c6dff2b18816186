#nullable enable
using System.Collections.Generic;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws switches, each with a sentence that explains what it allows.</summary>
    internal sealed class SwitchesView : SectionView, IView<Rows<SwitchRow>>
    {
        private readonly SwitchesPresenter presenter;
        private readonly RowList<string, SwitchRow, Item> rows;

        public SwitchesView(IReadOnlyList<Switch> switches)
        {
            presenter = new SwitchesPresenter(switches, this);
            rows = new RowList<string, SwitchRow, Item>(r => r.Id, id => new Item(id, presenter));
            Add(rows);
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(Rows<SwitchRow> state) => rows.Show(state);

        private sealed class Item : VisualElement, IView<SwitchRow>
        {
            private readonly Toggle toggle = new();
            private readonly Label sentence = Ui.Text("", "sentence", "indented");

            public Item(string id, SwitchesPresenter presenter)
            {
                this.Styled("item").With(toggle.Named("switch-" + id).Styled("switch"), sentence);
                toggle.RegisterValueChangedCallback(e => presenter.Set(id, e.newValue));
            }

            public void Show(SwitchRow row)
            {
                toggle.text = row.Title;
                toggle.SetValueWithoutNotify(row.IsOn);
                sentence.text = row.Sentence;
            }
        }
    }
}
