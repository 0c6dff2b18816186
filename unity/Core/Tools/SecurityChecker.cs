#nullable enable
namespace Holdfast
{
    /// <summary>
    /// May this tool run? What nobody allowed is denied: an unknown name, a tool whose switch is off, a tool that is not
    /// part of the package while third-party tools are off. The user's word about one tool comes before the switches.
    /// </summary>
    public sealed class SecurityChecker
    {
        private readonly ISecuritySettings settings;

        /// <summary>One that asks these settings at every call.</summary>
        public SecurityChecker(ISecuritySettings settings) => this.settings = settings;

        /// <summary>May clients call tools that cannot prove themselves?</summary>
        public bool AllowsUnproven => settings.AllowUnprovenClients;

        /// <summary>Null if it may run, else why not.</summary>
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
            SecuritySettings needed = tool.About.RequiredSecuritySetting;
            if (needed != SecuritySettings.None && !settings.IsOn(needed)) return Off(needed);
            bool foreign = !tool.IsBuiltIn && needed != SecuritySettings.AllowThirdPartyTools;
            if (foreign && !settings.IsOn(SecuritySettings.AllowThirdPartyTools))
            {
                return Off(SecuritySettings.AllowThirdPartyTools);
            }
            return null;
        }

        private static SecurityDenial Off(SecuritySettings setting) =>
            new("Tool is blocked by security settings", setting);
    }

    /// <summary>Why a tool may not run.</summary>
    /// <param name="Reason">In words.</param>
    /// <param name="Setting">The switch to turn on; None if no switch is meant.</param>
    public sealed record SecurityDenial(string Reason, SecuritySettings Setting)
    {
        /// <summary>What to do about it.</summary>
        public string Mend => Setting == SecuritySettings.None
            ? "Allow the tool in Window > Holdfast, if that is wanted"
            : $"Turn on {Setting} in Window > Holdfast, or allow this one tool there, if that is wanted";
    }
}
