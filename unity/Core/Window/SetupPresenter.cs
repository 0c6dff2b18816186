#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>An AI editor, as <c>holdfast setup --list --json</c> lists it.</summary>
    /// <param name="Client">The name of the AI editor in commands of <c>holdfast setup</c>.</param>
    /// <param name="Title">Name of the AI editor for people.</param>
    /// <param name="IsFound">Whether the AI editor is installed on this machine.</param>
    /// <param name="State">configured, not_configured, stale, other or broken. A newer program may report another state.</param>
    /// <param name="Detail">The state as a sentence.</param>
    /// <param name="File">The AI editor's configuration file.</param>
    /// <param name="Act">Text of the button that adds or replaces our entry; null if there is nothing to do, or the window cannot
    /// do it.</param>
    /// <param name="CanRemove">Whether the configuration has an entry that can be removed.</param>
    internal sealed record SetupRow(
        string Client, string Title, bool IsFound, string State, string Detail, string File, string? Act, bool CanRemove);

    /// <summary>State of the section that sets up AI editors.</summary>
    /// <param name="Program">The gateway's program; null if it was not found.</param>
    /// <param name="Sentence">Where the program was found, or how to get it.</param>
    /// <param name="Busy">What the program is doing now; null if it does not run.</param>
    /// <param name="Rows">The AI editors that are shown.</param>
    /// <param name="Hidden">Number of AI editors that are not shown: they are not installed here and have no entry of
    /// ours.</param>
    /// <param name="ShowsAll">Whether AI editors that are not installed here are shown too.</param>
    /// <param name="Message">What the program printed last, or why it failed; null if there is nothing to show.</param>
    /// <param name="IsError">Whether Message reports a failure. Has no meaning while Message is null.</param>
    internal sealed record SetupState(
        string? Program, string Sentence, string? Busy, Rows<SetupRow> Rows, int Hidden, bool ShowsAll, string? Message, bool IsError);

    /// <summary>
    /// Sets up AI editors by running <c>holdfast setup</c>, which is the only program that knows their files. The presenter never
    /// waits: the program runs outside the main thread, and <see cref="Section{TState}.Refresh"/> checks whether it has ended.
    /// </summary>
    internal sealed class SetupPresenter : Section<SetupState>, IDisposable
    {
        // The program runs in the project folder, so no path has to be quoted.
        private const string Project = " --project .";
        private readonly IUserChoices choices;
        private readonly ProgramLocator locator;
        private readonly IProgramRunner runner;
        private readonly string project;
        private readonly SessionData session;
        private IReadOnlyList<SetupRow> known = Array.Empty<SetupRow>();
        private FoundProgram found = new(null, "");
        private volatile FoundProgram looked = new(null, "");
        private IProgramRun? run;
        // The user's path of the program when it was started.
        private string asked = "";
        private string? busy;
        private string? message;
        private bool isError;
        private bool showsAll;
        private bool isList;
        private bool closed;

        /// <param name="project">The Unity project's folder.</param>
        /// <param name="session">Keeps the list across reloads.</param>
        public SetupPresenter(
            IUserChoices choices, ProgramLocator locator, IProgramRunner runner, string project, SessionData session,
            IView<SetupState> view) : base(view)
        {
            this.session = session;
            this.choices = choices;
            this.locator = locator;
            this.runner = runner;
            this.project = project;
        }

        /// <summary>
        /// Shows the list that this session read last. If there is none, reads it. Unity creates an open window again after every
        /// reload, which should not start a program each time.
        /// </summary>
        public void Begin()
        {
            if (session.Setup is { } kept && kept[0] == choices.ProgramPath && Read(kept[3]) is { } rows)
            {
                known = rows;
                found = looked = new FoundProgram(kept[1], kept[2]);
                Refresh();
                return;
            }
            LookAgain();
        }

        /// <summary>
        /// Searches for the program again, and asks it for the state of every AI editor. Does nothing while the program runs.
        /// </summary>
        public void LookAgain()
        {
            if (run != null) return;
            message = null;
            isError = false;
            List();
            Refresh();
        }

        /// <summary>
        /// Adds our entry to an AI editor's configuration, or replaces an entry that is stale or starts another program. Does
        /// nothing while the program runs.
        /// </summary>
        public void SetUp(string client) => Run(client, "", "Setting up ");

        /// <summary>Removes our entry from an AI editor's configuration. Does nothing while the program runs.</summary>
        public void Remove(string client) => Run(client, " --remove", "Taking the entry out of ");

        /// <summary>Shows or hides the AI editors that are not installed here.</summary>
        public void ShowAll(bool all)
        {
            showsAll = all;
            Refresh();
        }

        /// <summary>Ends the program if it is running. Nothing is started afterwards.</summary>
        public void Dispose()
        {
            closed = true;
            run?.Dispose();
            run = null;
        }

        /// <inheritdoc/>
        protected override SetupState Look()
        {
            if (run?.Result is { } result)
            {
                run.Dispose();
                run = null;
                busy = null;
                found = looked;
                if (found.Path == null) known = Array.Empty<SetupRow>();
                else if (isList) TakeList(result);
                else TakeOutcome(result);
            }
            List<SetupRow> shown = known.Where(r => showsAll || r.IsFound || r.CanRemove).ToList();
            return new SetupState(
                found.Path, found.Sentence, busy, new Rows<SetupRow>(shown), known.Count - shown.Count, showsAll, message, isError);
        }

        private void Run(string client, string flag, string doing)
        {
            SetupRow? row = known.FirstOrDefault(r => r.Client == client);
            if (run != null || row == null) return;
            message = null;
            isError = false;
            Start("setup " + client + Project + flag, doing + row.Title, false);
            Refresh();
        }

        private void List() => Start("setup --list --json" + Project, "Looking for AI editors", true);

        private void Start(string arguments, string doing, bool list)
        {
            if (closed) return;
            isList = list;
            busy = doing + " …";
            string configured = asked = choices.ProgramPath;
            run = runner.Start(() =>
            {
                FoundProgram now = locator.Find(configured);
                looked = now;
                return now.Path == null ? null : new ProgramCall(now.Path, arguments, project);
            });
        }

        // Shows what the command printed. Reads the list again even if the command failed, since it may have changed something.
        private void TakeOutcome(ProgramResult result)
        {
            isError = result.Failure != null || result.ExitCode != 0;
            string[] texts = { result.Failure ?? "", result.Output.Trim(), result.Errors.Trim() };
            string said = string.Join("\n", texts.Where(t => t.Length > 0));
            message = said.Length > 0 ? said : $"holdfast setup said nothing and ended with {result.ExitCode}.";
            List();
        }

        private void TakeList(ProgramResult result)
        {
            if (result.Failure == null && result.ExitCode == 0 && Read(result.Output) is { } rows)
            {
                known = rows;
                session.Setup = new[] { asked, found.Path!, found.Sentence, result.Output };
                return;
            }
            known = Array.Empty<SetupRow>();
            isError = true;
            string before = message == null ? "" : message + "\n";
            string said = result.Errors.Trim();
            message = before + (result.Failure ?? (result.ExitCode != 0 && said.Length > 0
                ? said
                : $"{found.Path} gave no list of AI editors. It may be older than this package, or another program; " +
                "install holdfast anew."));
        }

        private static IReadOnlyList<SetupRow>? Read(string json)
        {
            try
            {
                return ((JArray)Json.Parse(json)["clients"]!).Select(Row).Where(r => IsWord(r.Client)).ToList();
            }
            catch (Exception e) when (e is JsonException or InvalidCastException or ArgumentException or NullReferenceException
                or InvalidOperationException)
            {
                return null;
            }
        }

        // The client's name is passed to `holdfast setup` as an argument, so only names of plain letters, digits and hyphens are
        // accepted.
        private static bool IsWord(string client) =>
            client.All(c => c is >= 'a' and <= 'z' or >= '0' and <= '9' or '-') && !client.StartsWith("-", StringComparison.Ordinal);

        private static SetupRow Row(JToken client)
        {
            string state = (string)client["state"]!, why = (string?)client["why"] ?? "";
            (string words, string? act) = state switch
            {
                "configured" => ("Set up.", null),
                "not_configured" => ("Not set up.", "Set up"),
                "stale" => ("Its entry is stale: " + why, "Mend"),
                "other" => ("It starts another program: " + why, "Replace"),
                "broken" => ("Its file cannot be read: " + why, null),
                _ => (state + (why.Length > 0 ? ": " + why : ""), (string?)null)
            };
            string scope = (string?)client["scope"] == "project" ? " For this project." : "";
            return new SetupRow((string)client["client"]!, (string)client["title"]!, (bool)client["found"]!, state, words + scope,
                (string)client["file"]!, act, state is "configured" or "stale" or "other");
        }
    }
}
