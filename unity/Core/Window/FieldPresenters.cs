#nullable enable
using System;
using System.Globalization;

namespace Holdfast
{
    /// <summary>A text that is typed and then applied.</summary>
    /// <param name="Value">What counts now.</param>
    /// <param name="Error">Why what was applied last does not; null if it does.</param>
    /// <param name="Note">What is to be said beside it; null if nothing.</param>
    public sealed record FieldState(string Value, string? Error, string? Note);

    /// <summary>A setting that is a text: checked when it is applied, and not changed if it cannot be.</summary>
    public abstract class FieldPresenter : Section<FieldState>
    {
        /// <summary>One in this view.</summary>
        protected FieldPresenter(IView<FieldState> view) : base(view)
        {
        }

        /// <summary>Why what was applied last was refused.</summary>
        protected string? Error { get; private set; }

        /// <summary>Takes a text over, or says why not.</summary>
        public void Apply(string text)
        {
            Error = TryApply(text.Trim());
            Refresh();
        }

        /// <summary>Takes a text over.</summary>
        /// <returns>Null, or why nothing was changed.</returns>
        protected abstract string? TryApply(string text);
    }

    /// <summary>The port to listen on.</summary>
    public sealed class PortPresenter : FieldPresenter
    {
        private readonly IBridgeHost host;
        private readonly IProjectChoices choices;
        private readonly Func<int, bool> isFree;

        /// <param name="isFree">Could a port be listened on now? Null: ask the system.</param>
        public PortPresenter(IBridgeHost host, IProjectChoices choices, IView<FieldState> view, Func<int, bool>? isFree = null)
            : base(view)
        {
            this.host = host;
            this.choices = choices;
            this.isFree = isFree ?? Listener.IsFree;
        }

        /// <inheritdoc/>
        protected override FieldState Look() => new(choices.Port.ToString(CultureInfo.InvariantCulture), Error, Note());

        /// <inheritdoc/>
        protected override string? TryApply(string text)
        {
            bool isNumber = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int port);
            if (!isNumber || (port != 0 && port is < Limits.LeastPort or > ushort.MaxValue))
            {
                return $"A port is a whole number from {Limits.LeastPort} to {ushort.MaxValue}, or 0 for any free one. " +
                    "Nothing was changed.";
            }
            int now = host.Running?.Status.Port ?? 0;
            if (port != 0 && port != now && !isFree(port))
            {
                return $"Port {port} is in use by another program. Nothing was changed; choose another, or 0 for any free one.";
            }
            choices.Port = port;
            if (host.Running == null || port == now || (port == 0 && now != 0)) return null;
            host.Stop();
            host.Start();
            return null;
        }

        private string? Note()
        {
            int now = host.Running?.Status.Port ?? 0;
            if (now == 0 || now == choices.Port) return null;
            return choices.Port == 0
                ? $"Any free port; now it is {now}."
                : $"Port {choices.Port} was not free when the server started, so it listens on {now}. AI editors find it all the same.";
        }
    }

    /// <summary>The path of the gateway's program.</summary>
    public sealed class ProgramPathPresenter : FieldPresenter
    {
        private const string Elsewhere =
            "While this is empty, the program is looked for on PATH and where cargo installs. Window > Holdfast says what was found.";

        private readonly IUserChoices choices;
        private readonly ProgramLocator locator;

        /// <summary>One over these choices.</summary>
        public ProgramPathPresenter(IUserChoices choices, ProgramLocator locator, IView<FieldState> view) : base(view)
        {
            this.choices = choices;
            this.locator = locator;
        }

        /// <inheritdoc/>
        protected override FieldState Look() => new(choices.ProgramPath, Error, choices.ProgramPath.Length > 0 ? null : Elsewhere);

        /// <inheritdoc/>
        protected override string? TryApply(string text)
        {
            if (text.Length > 0 && !locator.IsProgram(text))
            {
                return $"There is no file {text}. Nothing was changed; give the full path of the program, or nothing.";
            }
            choices.ProgramPath = text;
            return null;
        }
    }
}
