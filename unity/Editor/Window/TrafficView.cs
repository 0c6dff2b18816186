#nullable enable
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>
    /// Draws the log of requests, newest first. The request and answer of an entry are shown when it is unfolded.
    /// </summary>
    internal sealed class TrafficView : SectionView, IView<TrafficState>
    {
        private readonly TrafficPresenter presenter;
        private readonly RowList<long, TrafficEntry, Item> rows;
        private readonly Label count = Ui.Text("", "muted").Named("log-count");
        private readonly Label nothing = Ui.Text("", "sentence");

        public TrafficView(IBridgeHost host, IClipboard clipboard)
        {
            presenter = new TrafficPresenter(host, clipboard, this);
            rows = new RowList<long, TrafficEntry, Item>(e => e.Number, _ => new Item(presenter));
            this.With(
                Ui.Row(
                    Ui.Search("log-filter", "Tool, client, end, request or answer", presenter.Filter), count,
                    new VisualElement().Styled("grow"),
                    Ui.Button("log-copy", "Copy", presenter.CopyShown), Ui.Button("log-clear", "Clear", presenter.Clear)),
                rows, nothing);
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(TrafficState state)
        {
            rows.Show(state.Rows);
            count.text = state.Rows.Count == state.Total ? $"{state.Total}" : $"{state.Rows.Count} of {state.Total}";
            nothing.ShowText(state.Rows.Count > 0 ? null : state.Total > 0 ? "No entry fits." : "No call yet.");
        }

        private sealed class Item : VisualElement, IView<TrafficEntry>
        {
            private readonly TrafficPresenter presenter;
            private readonly Button head;
            private readonly VisualElement body = new VisualElement().Styled("indented");
            private TrafficEntry entry = new("", "", "", "", 0);
            private bool isOpen;

            public Item(TrafficPresenter presenter)
            {
                this.presenter = presenter;
                head = Ui.Button("", "", Toggle).Styled("fold");
                this.Styled("item").With(head, body);
            }

            public void Show(TrafficEntry row)
            {
                // Entries do not change, so one with the same number is already shown.
                if (entry.Number == row.Number) return;
                entry = row;
                head.name = "log-entry-" + row.Number;
                head.EnableInClassList("holdfast-failed", row.Ended != "ok");
                Draw();
            }

            private void Toggle()
            {
                isOpen = !isOpen;
                Draw();
            }

            private void Draw()
            {
                head.text = (isOpen ? "▾ " : "▸ ") + TrafficPresenter.Headline(entry);
                body.Clear();
                if (!isOpen) return;
                body.With(
                    Ui.Text("Request", "muted"), Ui.Text(entry.Request, "code"), Ui.Text("Answer", "muted"), Ui.Text(entry.Answer, "code"),
                    Ui.Row(Ui.Button("log-copy-" + entry.Number, "Copy", () => presenter.Copy(entry.Number))));
            }
        }
    }
}
