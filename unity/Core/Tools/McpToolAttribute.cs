#nullable enable
using System;

namespace Holdfast
{
    /// <summary>
    /// Makes a class with <see cref="IUnityTool"/> appear in the tool list by itself, and says what is true of it.
    /// </summary>
    [AttributeUsage(AttributeTargets.Class, Inherited = false)]
    public sealed class McpToolAttribute : Attribute
    {
        /// <summary>What the tool does and when to use it, for the AI that chooses it.</summary>
        public string Description { get; set; } = "";

        /// <summary>Listed only for clients that ask for development tools.</summary>
        public bool DisplayDevelopmentOnly { get; set; }

        /// <summary>The switch that must be on before the tool runs.</summary>
        public SecuritySettings RequiredSecuritySetting { get; set; } = SecuritySettings.None;

        /// <summary>A name for people; empty: the tool's name.</summary>
        public string Title { get; set; } = "";

        /// <summary>It changes nothing. MCP's readOnlyHint; a gateway may then repeat a call.</summary>
        public bool ReadOnly { get; set; }

        /// <summary>It may destroy something. MCP's destructiveHint; of no meaning when <see cref="ReadOnly"/>.</summary>
        public bool Destructive { get; set; } = true;

        /// <summary>Calling it twice is as good as once. MCP's idempotentHint; a gateway may then repeat a call.</summary>
        public bool Idempotent { get; set; }

        /// <summary>It reaches beyond this editor (network, other programs). MCP's openWorldHint.</summary>
        public bool OpenWorld { get; set; }

        /// <summary>It may run while other calls run. Else it waits for its turn.</summary>
        public bool Parallel { get; set; }

        /// <summary>It touches nothing of Unity and runs on a worker thread, also while the editor is busy.</summary>
        public bool OffMainThread { get; set; }
    }

    /// <summary>Switches that the user turns on before tools of a kind may run. All are off at first.</summary>
    public enum SecuritySettings
    {
        /// <summary>None is needed.</summary>
        None = 0,

        /// <summary>Menu items may be executed.</summary>
        AllowMenuItemExecution = 1,

        /// <summary>Tests may be run.</summary>
        EnableTestsExecution = 2,

        /// <summary>Tools that are not part of this package may run.</summary>
        AllowThirdPartyTools = 3
    }

    /// <summary>A parameter that the caller must give. Works like Newtonsoft's <c>[JsonRequired]</c>, which counts too.</summary>
    [AttributeUsage(AttributeTargets.Property)]
    public sealed class McpRequiredAttribute : Attribute
    {
    }
}
