#nullable enable
using System;

namespace Holdfast
{
    /// <summary>Makes an <see cref="IUnityTool"/> class appear in the tool list, and describes the tool.</summary>
    [AttributeUsage(AttributeTargets.Class, Inherited = false)]
    public sealed class McpToolAttribute : Attribute
    {
        /// <summary>What the tool does and when to use it, for the AI that selects it.</summary>
        public string Description { get; set; } = "";

        /// <summary>Whether the tool is listed only for clients that ask for development tools.</summary>
        public bool DisplayDevelopmentOnly { get; set; }

        /// <summary>The switch that must be on for the tool to run, unless the user has allowed this particular tool.</summary>
        public SecuritySettings RequiredSecuritySetting { get; set; } = SecuritySettings.None;

        /// <summary>A name for people; if empty, the tool's name is used.</summary>
        public string Title { get; set; } = "";

        /// <summary>Whether the tool changes nothing (MCP's readOnlyHint). If so, a gateway may repeat a call.</summary>
        public bool ReadOnly { get; set; }

        /// <summary>
        /// Whether the tool may destroy data (MCP's destructiveHint). Has no meaning if <see cref="ReadOnly"/> is set.
        /// </summary>
        public bool Destructive { get; set; } = true;

        /// <summary>
        /// Whether a second call with the same arguments has no further effect (MCP's idempotentHint). If so, a gateway may
        /// repeat a call.
        /// </summary>
        public bool Idempotent { get; set; }

        /// <summary>
        /// Whether the tool reaches beyond this editor, to the network or other programs (MCP's openWorldHint).
        /// </summary>
        public bool OpenWorld { get; set; }

        /// <summary>
        /// Whether calls may run at the same time as other calls. If not, a call waits for earlier calls of all tools that are
        /// not parallel.
        /// </summary>
        public bool Parallel { get; set; }

        /// <summary>
        /// Whether the tool runs on a worker thread, even while the editor is busy. Such a tool must not use Unity's API.
        /// </summary>
        public bool OffMainThread { get; set; }
    }

    /// <summary>Switches that the user turns on before tools of a kind may run. Initially all are off.</summary>
    public enum SecuritySettings
    {
        /// <summary>No switch is needed.</summary>
        None = 0,

        /// <summary>Menu items may be executed.</summary>
        AllowMenuItemExecution = 1,

        /// <summary>Tests may be run.</summary>
        EnableTestsExecution = 2,

        /// <summary>Tools that are not part of this package may run.</summary>
        AllowThirdPartyTools = 3,

        /// <summary>Assets may be deleted: they go to the trash of the operating system.</summary>
        AllowDeletingAssets = 4,

        /// <summary>Packages may be added to the project and removed from it. A package is code of somebody else.</summary>
        AllowPackageChanges = 5,

        /// <summary>C# code that a client sends may be compiled and run in the editor.</summary>
        AllowCodeExecution = 6,

        /// <summary>The project's settings may be changed: everything in ProjectSettings/.</summary>
        AllowProjectSettings = 7
    }

    /// <summary>Marks a parameter that the caller must give. Newtonsoft's <c>[JsonRequired]</c> has the same effect.</summary>
    [AttributeUsage(AttributeTargets.Property)]
    public sealed class McpRequiredAttribute : Attribute
    {
    }
}
