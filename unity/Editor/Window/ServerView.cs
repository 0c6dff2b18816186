#nullable enable
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>Draws the server's state and a button that starts or stops the server.</summary>
    internal sealed class ServerView : SectionView, IView<ServerState>
    {
        private readonly ServerPresenter presenter;
        private readonly VisualElement dot = new VisualElement().Styled("dot");
        private readonly Label word = Ui.Text("", "word").Named("server-word");
        private readonly Label address = Ui.Text("", "address").Named("server-address");
        private readonly Label since = Ui.Text("", "muted").Named("server-since");
        private readonly Label sentence = Ui.Text("", "sentence").Named("server-sentence");
        private readonly Label start = Ui.Text("", "muted").Named("server-start");
        private readonly Label broken = Ui.Text("", "notice", "notice--error").Named("server-broken").Selectable();
        private readonly Button toggle;
        private string look = "";

        public ServerView(IBridgeHost host)
        {
            presenter = new ServerPresenter(host, this);
            toggle = Ui.Button("server-toggle", "", presenter.Toggle);
            this.With(
                Ui.Row(dot, word, address, new VisualElement().Styled("grow"), toggle),
                Ui.Row(sentence, since),
                Ui.Row(start),
                broken);
        }

        public override void Refresh() => presenter.Refresh();

        public void Show(ServerState state)
        {
            if (look.Length > 0) dot.RemoveFromClassList(look);
            dot.AddToClassList(look = "holdfast-dot--" + state.Word);
            word.text = state.Word;
            address.ShowText(state.Address);
            since.ShowText(state.Since.Length > 0 ? "since " + state.Since : null);
            start.ShowText(state.Start.Length > 0 ? state.Start : null);
            broken.ShowText(state.Broken.Length > 0 ? state.Broken : null);
            sentence.text = state.Sentence;
            toggle.text = state.IsRunning ? "Stop" : "Start";
        }
    }
}
