#nullable enable
using System;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws a text field whose text takes effect when the user applies it.</summary>
    internal sealed class FieldView : SectionView, IView<FieldState>
    {
        private readonly FieldPresenter presenter;
        private readonly TextField field;
        private readonly Label error = Ui.Text("", "notice", "notice--error").Selectable();
        private readonly Label note = Ui.Text("", "sentence");
        private string? shown;

        /// <param name="name">Prefix of the names of the elements.</param>
        /// <param name="make">Creates the presenter for this view.</param>
        public FieldView(string name, string label, string tooltip, Func<IView<FieldState>, FieldPresenter> make)
        {
            presenter = make(this);
            field = new TextField(label) { tooltip = tooltip }.Named(name + "-field").Styled("field", "grow");
            this.With(
                Ui.Row(field, Ui.Button(name + "-apply", "Apply", () => presenter.Apply(field.value ?? ""))),
                error.Named(name + "-error"), note.Named(name + "-note"));
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(FieldState state)
        {
            // The field is changed only if the setting has changed, so that text that the user is typing is not overwritten.
            if (state.Error == null && state.Value != shown) field.SetValueWithoutNotify(shown = state.Value);
            error.ShowText(state.Error);
            note.ShowText(state.Note);
        }
    }
}
