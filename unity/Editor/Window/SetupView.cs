#nullable enable
using System;
using UnityEditor;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws the section that sets up AI editors.</summary>
    internal sealed class SetupView : SectionView, IView<SetupState>, IDisposable
    {
        private readonly SetupPresenter presenter;
        private readonly RowList<string, SetupRow, Item> rows;
        private readonly Label sentence = Ui.Text("", "sentence").Named("setup-sentence");
        private readonly Label busy = Ui.Text("", "muted").Named("setup-busy");
        private readonly Label message = Ui.Text("", "notice").Named("setup-message").Selectable();
        private readonly Toggle all = new Toggle().Named("setup-all");
        private readonly Button again;

        public SetupView(IUserChoices choices, ProgramLocator locator, IProgramRunner runner, string project, ISessionStore session)
        {
            presenter = new SetupPresenter(choices, locator, runner, project, new SessionData(session), this);
            rows = new RowList<string, SetupRow, Item>(r => r.Client, client => new Item(client, presenter));
            again = Ui.Button("setup-look", "Look again", presenter.LookAgain);
            all.RegisterValueChangedCallback(e => presenter.ShowAll(e.newValue));
            this.With(
                sentence,
                Ui.Row(again, Ui.Button("setup-path", "Preferences…", OpenPreferences), busy),
                message, rows, all);
        }

        private static void OpenPreferences() => SettingsService.OpenUserPreferences(SettingsPages.UserPath);

        /// <summary>Shows the AI editors for the first time.</summary>
        public void Begin() => presenter.Begin();

        public override void Refresh() => presenter.Refresh();

        public void Dispose() => presenter.Dispose();

        public void Show(SetupState state)
        {
            sentence.text = state.Sentence;
            busy.ShowText(state.Busy);
            message.ShowText(state.Message);
            message.EnableInClassList("holdfast-notice--error", state.IsError);
            again.SetEnabled(state.Busy == null);
            rows.SetEnabled(state.Busy == null);
            rows.Show(state.Rows);
            all.text = state.ShowsAll ? "Show AI editors that are not found here" : $"Show {state.Hidden} more that are not found here";
            all.Show(state.ShowsAll || state.Hidden > 0);
        }

        private sealed class Item : VisualElement, IView<SetupRow>
        {
            private readonly Label title = Ui.Text("", "name");
            private readonly Label detail = Ui.Text("", "sentence").Selectable();
            private readonly Label file = Ui.Text("", "muted", "path");
            private readonly Button act;
            private readonly Button remove;

            public Item(string client, SetupPresenter presenter)
            {
                act = Ui.Button("setup-" + client, "", () => presenter.SetUp(client));
                remove = Ui.Button("setup-remove-" + client, "Remove", () => presenter.Remove(client));
                remove.tooltip = "Takes the entry out of the file again.";
                this.Styled("item").With(Ui.Row(title, new VisualElement().Styled("grow"), act, remove), detail, file);
            }

            public void Show(SetupRow row)
            {
                title.text = row.IsFound ? row.Title : row.Title + " (not found here)";
                detail.text = row.Detail;
                detail.EnableInClassList("holdfast-refused", row.State is "stale" or "broken");
                file.text = row.File;
                file.tooltip = row.File;
                act.text = row.Act ?? "";
                act.Show(row.Act != null);
                remove.Show(row.CanRemove);
            }
        }
    }
}
