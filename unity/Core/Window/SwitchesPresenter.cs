#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>A setting that is on or off, with a sentence that explains what it allows.</summary>
    internal sealed class Switch
    {
        /// <summary>Creates a switch from a getter and a setter.</summary>
        public Switch(string id, string title, string sentence, Func<bool> get, Action<bool> set)
        {
            Id = id;
            Title = title;
            Sentence = sentence;
            Get = get;
            Set = set;
        }

        /// <summary>Identifies the switch.</summary>
        public string Id { get; }

        /// <summary>Short title.</summary>
        public string Title { get; }

        /// <summary>What the switch allows, and who may do it.</summary>
        public string Sentence { get; }

        internal Func<bool> Get { get; }

        internal Action<bool> Set { get; }

        /// <summary>Returns the switches for what AI editors may do in this project.</summary>
        public static IReadOnlyList<Switch> Security(IProjectChoices choices) => new[]
        {
            Of(choices, SecuritySettings.AllowThirdPartyTools, "Tools of this project",
                "Tools that are not part of Holdfast may run: every class of this project and its packages that carries [McpTool]."),
            Of(choices, SecuritySettings.AllowMenuItemExecution, "Menu items",
                "AI editors may execute menu items. Some delete or overwrite without asking. Those that end or block the editor stay " +
                "refused."),
            Of(choices, SecuritySettings.EnableTestsExecution, "Tests",
                "AI editors may run this project's tests. A test is code: it does whatever is written in it."),
            Of(choices, SecuritySettings.AllowDeletingAssets, "Deleting assets",
                "AI editors may delete files of this project: scripts, scenes, prefabs and all others. They go to the trash of this machine; " +
                "Unity's Undo does not bring them back."),
            Of(choices, SecuritySettings.AllowPackageChanges, "Packages",
                "AI editors may add packages to this project, from any address, and remove them. A package is code that runs in the editor."),
            Of(choices, SecuritySettings.AllowCodeExecution, "Code",
                "AI editors may send C# code that runs in the editor at once. It can do whatever you can do on this machine."),
            Of(choices, SecuritySettings.AllowProjectSettings, "Project settings",
                "AI editors may change what is in ProjectSettings: tags, layers, scenes in the build, physics, quality, the player and all others. " +
                "Undo takes it back."),
            new Switch("AllowUnprovenClients", "Clients that cannot prove themselves",
                "Any program on this machine, also of another user, may call tools if it knows the port. Stock uLoopMCP servers need " +
                "this. Off: only holdfast's gateway, which proves that it can read this project's files; nothing has to be set up.",
                () => choices.AllowUnprovenClients, on => choices.AllowUnprovenClients = on)
        };

        /// <summary>Returns the switches for the groups of tools that AI editors see in this project.</summary>
        public static IReadOnlyList<Switch> Groups(IProjectChoices choices) => ((ToolGroup[])Enum.GetValues(typeof(ToolGroup))).Select(group => new Switch(
            "Group" + group, group.ToString(), string.Join(", ", ToolGroups.Of(group)), () => !choices.Security.IsOff(group), on => choices.SetGroup(group, on))).ToList();

        /// <summary>Returns the other switches of this project.</summary>
        public static IReadOnlyList<Switch> Project(IProjectChoices choices) => new[]
        {
            new Switch("RunInBatchMode", "Run in batch mode",
                "The server starts in editors without a window too (-batchmode). HOLDFAST_BATCH_MODE=1 does the same for one start.",
                () => choices.RunInBatchMode, on => choices.RunInBatchMode = on)
        };

        /// <summary>Returns the user's switches for all projects on this machine.</summary>
        public static IReadOnlyList<Switch> User(IUserChoices choices) => new[]
        {
            new Switch("WakeUnfocused", "Wake the editor for calls",
                "While a call waits, an editor without focus runs its frames at full speed. Off: a call waits for the editor's own " +
                "next frame, which can take seconds.",
                () => choices.WakeUnfocused, on => choices.WakeUnfocused = on),
            new Switch("RestoreMinimized", "Show a minimised editor for calls",
                "On Windows an editor may run no frames while it is minimised. If a call has waited for a second, its window is shown " +
                "again, behind the one that has the focus.",
                () => choices.RestoreMinimized, on => choices.RestoreMinimized = on)
        };

        private static Switch Of(IProjectChoices choices, SecuritySettings setting, string title, string sentence) =>
            new(setting.ToString(), title, sentence, () => choices.Security.IsOn(setting), on => choices.SetSwitch(setting, on));
    }

    /// <summary>A switch as the window shows it.</summary>
    internal sealed record SwitchRow(string Id, string Title, string Sentence, bool IsOn);

    /// <summary>Shows a list of switches.</summary>
    internal sealed class SwitchesPresenter : Section<Rows<SwitchRow>>
    {
        private readonly IReadOnlyList<Switch> switches;

        /// <summary>Creates the presenter for these switches.</summary>
        public SwitchesPresenter(IReadOnlyList<Switch> switches, IView<Rows<SwitchRow>> view) : base(view) => this.switches = switches;

        /// <summary>Turns the switch with this id on or off.</summary>
        public void Set(string id, bool on)
        {
            switches.First(s => s.Id == id).Set(on);
            Refresh();
        }

        /// <inheritdoc/>
        protected override Rows<SwitchRow> Look() => new(switches.Select(s => new SwitchRow(s.Id, s.Title, s.Sentence, s.Get())));
    }
}
