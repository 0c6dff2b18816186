#nullable enable
using System;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Decides whether a tool may run. It may not if it is unknown, if its switch is off, or if it is not part of this package
    /// and third-party tools are off. The user's permission for one tool takes precedence over the switches.
    /// </summary>
    internal sealed class SecurityChecker
    {
        private readonly ISecuritySettings settings;

        /// <summary>Creates a checker that reads these settings at every call.</summary>
        public SecurityChecker(ISecuritySettings settings) => this.settings = settings;

        /// <summary>Whether clients that cannot prove themselves may call tools.</summary>
        public bool AllowsUnproven => settings.AllowUnprovenClients;

        /// <summary>Raised on the main thread when the user has switched a group of tools on or off.</summary>
        public event Action<ToolGroup>? GroupSwitched
        {
            add => settings.GroupSwitched += value;
            remove => settings.GroupSwitched -= value;
        }

        /// <summary>Whether clients see the tool. They do not if its group is off, unless the user has allowed the tool itself.</summary>
        public bool IsListed(ToolEntry tool) => settings.PermissionOf(tool.Name) == ToolPermission.Allow || OffGroup(tool) == null;

        /// <summary>The groups that are off, as text.</summary>
        public string OffGroups => string.Concat(((ToolGroup[])Enum.GetValues(typeof(ToolGroup))).Where(settings.IsOff).Select(g => "-" + g));

        private ToolGroup? OffGroup(ToolEntry tool) => ToolGroups.Of(tool) is { } group && settings.IsOff(group) ? group : (ToolGroup?)null;

        /// <summary>Returns null if the tool may run; otherwise why it may not.</summary>
        public SecurityDenial? Check(ToolEntry? tool)
        {
            if (tool == null) return new SecurityDenial("The tool is not known", SecuritySettings.None);
            switch (settings.PermissionOf(tool.Name))
            {
                case ToolPermission.Allow:
                    return null;
                case ToolPermission.Deny:
                    return new SecurityDenial("The user has blocked this tool", SecuritySettings.None);
            }
            if (OffGroup(tool) is { } off) return new SecurityDenial($"The user has switched off the group {off} of tools", SecuritySettings.None);
            SecuritySettings needed = tool.About.RequiredSecuritySetting;
            if (needed != SecuritySettings.None && !settings.IsOn(needed)) return Off(needed);
            bool foreign = !tool.IsBuiltIn && needed != SecuritySettings.AllowThirdPartyTools;
            if (foreign && !settings.IsOn(SecuritySettings.AllowThirdPartyTools))
            {
                return Off(SecuritySettings.AllowThirdPartyTools);
            }
            return null;
        }

        /// <summary>Returns null if a switch is on that some calls of a tool need; otherwise why they may not run.</summary>
        public SecurityDenial? Check(SecuritySettings needed) => settings.IsOn(needed) ? null : Off(needed);

        private static SecurityDenial Off(SecuritySettings setting) =>
            new($"{setting} is off", setting);
    }

    /// <summary>Why a tool may not run.</summary>
    /// <param name="Reason">The reason, without a full stop.</param>
    /// <param name="Setting">The switch that the user can turn on; None if no switch would help.</param>
    internal sealed record SecurityDenial(string Reason, SecuritySettings Setting)
    {
        /// <summary>The refusal of a call, and whose decision it is: a model would look for another way.</summary>
        public string Refusal(string tool) => RefusalOf(tool + " may not run");

        /// <summary>The refusal of what a sentence says, such as "it may not be changed".</summary>
        public string RefusalOf(string doing) =>
            $"{doing} in this project: {Reason}. Only the user can allow it, in Window > Holdfast; do not look for a way around it";
    }
}
