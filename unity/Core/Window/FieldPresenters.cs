#nullable enable
using System;
using System.Globalization;

namespace Holdfast
{
    /// <summary>State of a text field whose text takes effect when the user applies it.</summary>
    /// <param name="Value">The current value of the setting.</param>
    /// <param name="Error">Why the text that the user applied last was refused; null if it was accepted.</param>
    /// <param name="Note">A remark to show next to the field; null if there is none.</param>
    internal sealed record FieldState(string Value, string? Error, string? Note);

    /// <summary>
    /// Edits a setting that is a text. The text is checked when the user applies it. A refused text changes nothing.
    /// </summary>
    internal abstract class FieldPresenter : Section<FieldState>
    {
        /// <summary>Creates the presenter for this view.</summary>
        protected FieldPresenter(IView<FieldState> view) : base(view)
        {
        }

        /// <summary>Why the text that the user applied last was refused; null if it was accepted.</summary>
        protected string? Error { get; private set; }

        /// <summary>Sets the setting to a text, or shows why it is refused.</summary>
        public void Apply(string text)
        {
            Error = TryApply(text.Trim());
            Refresh();
        }

        /// <summary>Sets the setting to a text if it is valid.</summary>
        /// <returns>Null, or why the text was refused.</returns>
        protected abstract string? TryApply(string text);
    }

    /// <summary>Edits the port to listen on.</summary>
    internal sealed class PortPresenter : FieldPresenter
    {
        private readonly IBridgeHost host;
        private readonly IProjectChoices choices;
        private readonly Func<int, bool> isFree;

        /// <param name="isFree">Returns whether a port can be listened on now. If it is null, the port is tried.</param>
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

    /// <summary>Edits the path of the gateway's program.</summary>
    internal sealed class ProgramPathPresenter : FieldPresenter
    {
        private const string Elsewhere =
            "While this is empty, the program is looked for on PATH and where cargo installs. Window > Holdfast says what was found.";

        private readonly IUserChoices choices;
        private readonly ProgramLocator locator;

        /// <summary>Creates the presenter for these settings.</summary>
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
