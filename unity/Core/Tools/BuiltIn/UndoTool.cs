#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>What <see cref="UndoTool"/> does.</summary>
    internal enum UndoAction
    {
        /// <summary>Undoes a step.</summary>
        Undo,

        /// <summary>Does again what was undone.</summary>
        Redo
    }

    /// <summary>Parameters of <see cref="UndoTool"/>.</summary>
    internal sealed class UndoSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Undo or Redo")]
        public UndoAction Action { get; set; }

        /// <summary>Number of steps.</summary>
        [Description("Number of steps")]
        public int Steps { get; set; } = 1;
    }

    /// <summary>Result of <see cref="UndoTool"/>.</summary>
    internal sealed class UndoResponse : BaseToolResponse
    {
        /// <summary>Whether all steps were done.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The names of the steps, in the order in which they were undone or done again.</summary>
        public IReadOnlyList<string> Steps { get; set; } = Array.Empty<string>();
    }

    /// <summary>Undoes and redoes.</summary>
    [McpTool(
        Description = "Undoes the last steps in the editor, or does them again. The steps may be the user's: the answer names each one; those of AI tools begin with AI:",
        Title = "Undo")]
    internal sealed class UndoTool : AbstractUnityTool<UndoSchema, UndoResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "undo";

        /// <inheritdoc/>
        protected override Task<UndoResponse> ExecuteAsync(UndoSchema parameters, IToolContext context)
        {
            if (parameters.Steps < 1 || parameters.Steps > Limits.UndoSteps) throw new ToolParameterException($"Steps must be 1 to {Limits.UndoSteps}");
            if (OpenPrefab.WhyNotChanged(context) is { } reason) return Task.FromResult(new UndoResponse { Message = reason });
            IUndo undo = context.Get<IUndo>();
            var steps = new List<string>();
            while (steps.Count < parameters.Steps && (parameters.Action == UndoAction.Undo ? undo.Undo() : undo.Redo()) is { } name) steps.Add(name);
            string done = parameters.Action == UndoAction.Undo ? "Undid" : "Redid";
            bool all = steps.Count == parameters.Steps;
            return Task.FromResult(new UndoResponse
            {
                Success = all, Steps = steps,
                Message = steps.Count == 0 ? "There is no such step" : $"{done} {string.Join(", ", steps)}" + (all ? "" : "; there are no more steps")
            });
        }
    }
}
