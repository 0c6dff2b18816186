#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="GetSelectionTool"/>.</summary>
    internal sealed class GetSelectionSchema : BaseToolSchema
    {
    }

    /// <summary>Parameters of <see cref="SetSelectionTool"/>.</summary>
    internal sealed class SetSelectionSchema : BaseToolSchema
    {
        /// <summary>What to select.</summary>
        [McpRequired]
        [Description("The objects, each by " + ObjectFinder.Names + "; none: select nothing")]
        public string[] Objects { get; set; } = Array.Empty<string>();
    }

    /// <summary>Result of the tools of the selection.</summary>
    internal sealed class SelectionResponse : BaseToolResponse
    {
        /// <summary>The selected objects, at most <see cref="Limits.SelectedObjects"/>.</summary>
        public IReadOnlyList<ObjectInfo> Selected { get; set; } = Array.Empty<ObjectInfo>();

        /// <summary>Number of selected objects.</summary>
        public int SelectedCount { get; set; }

        /// <summary>Reads the selection.</summary>
        public static SelectionResponse Read(IToolContext context)
        {
            IReadOnlyList<FoundObject> selected = context.Get<IObjects>().Selected(Limits.SelectedObjects, out int count);
            return new SelectionResponse { SelectedCount = count, Selected = selected.Select(ObjectInfo.Of).ToList() };
        }
    }

    /// <summary>Reads the selection.</summary>
    [McpTool(
        Description = "Returns the objects and assets that the user has selected in the editor", Title = "Get selection", ReadOnly = true,
        Parallel = true)]
    internal sealed class GetSelectionTool : AbstractUnityTool<GetSelectionSchema, SelectionResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-selection";

        /// <inheritdoc/>
        protected override Task<SelectionResponse> ExecuteAsync(GetSelectionSchema parameters, IToolContext context) =>
            Task.FromResult(SelectionResponse.Read(context));
    }

    /// <summary>Sets the selection.</summary>
    [McpTool(
        Description = "Selects objects or assets in the editor, and nothing else. Example: {\"Objects\": [\"World/Player\"]}",
        Title = "Set selection", Destructive = false)]
    internal sealed class SetSelectionTool : AbstractUnityTool<SetSelectionSchema, SelectionResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "set-selection";

        /// <inheritdoc/>
        protected override Task<SelectionResponse> ExecuteAsync(SetSelectionSchema parameters, IToolContext context)
        {
            if (parameters.Objects.Length > Limits.SelectedObjects) throw new ToolParameterException($"Objects has more than {Limits.SelectedObjects} entries");
            context.Get<IObjects>().Select(parameters.Objects.Select(o => ObjectFinder.Find(context, o ?? "", "Objects")).ToList());
            return Task.FromResult(SelectionResponse.Read(context));
        }
    }
}
