#nullable enable
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws the connected clients.</summary>
    internal sealed class ClientsView : SectionView, IView<ClientsState>
    {
        private readonly ClientsPresenter presenter;
        private readonly RowList<int, ClientRow, Item> rows = new(r => r.Connection, _ => new Item());
        private readonly Label nobody = Ui.Text("", "sentence").Named("clients-nobody");

        public ClientsView(IBridgeHost host)
        {
            presenter = new ClientsPresenter(host, this);
            this.With(rows, nobody);
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(ClientsState state)
        {
            rows.Show(state.Rows);
            nobody.ShowText(state.Rows.Count == 0 ? state.Nobody : null);
        }

        private sealed class Item : VisualElement, IView<ClientRow>
        {
            private readonly Label who = Ui.Text("", "name");
            private readonly Label kind = Ui.Text("", "badge");
            private readonly Label rest = Ui.Text("", "muted");

            public Item() => this.Styled("item").With(Ui.Row(who, kind, new VisualElement().Styled("grow"), rest));

            public void Show(ClientRow row)
            {
                who.text = row.Name;
                kind.text = row.Kind;
                kind.EnableInClassList("holdfast-badge--good", row.Kind == "proven");
                kind.tooltip = row.Kind == "proven"
                    ? "A holdfast gateway that has proven that it belongs to this user."
                    : "It has proven nothing: a stock uLoopMCP server, or another program on this machine.";
                rest.text = $"{row.Calls} calls, since {row.Since}";
            }
        }
    }
}
