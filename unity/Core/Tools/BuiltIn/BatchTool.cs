#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>A call in a batch.</summary>
    internal sealed class BatchCall
    {
        /// <summary>Name of the tool.</summary>
        [McpRequired]
        [Description("Name of the tool")]
        public string Tool { get; set; } = "";

        /// <summary>The tool's arguments.</summary>
        [Description("The tool's arguments")]
        public JObject Arguments { get; set; } = new();
    }

    /// <summary>Parameters of <see cref="BatchTool"/>.</summary>
    internal sealed class BatchSchema : BaseToolSchema
    {
        /// <summary>The calls.</summary>
        [McpRequired]
        [Description("The calls, in order")]
        public BatchCall[] Calls { get; set; } = Array.Empty<BatchCall>();

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 120;
    }

    /// <summary>What became of a call in a batch.</summary>
    internal sealed class BatchResult
    {
        /// <summary>Name of the tool.</summary>
        public string Tool { get; set; } = "";

        /// <summary>Whether the tool did what it was asked.</summary>
        public bool Success { get; set; }

        /// <summary>The tool's result; null if it threw an exception.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public object? Value { get; set; }

        /// <summary>Why it failed; null if it returned a result.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public string? Error { get; set; }
    }

    /// <summary>Result of <see cref="BatchTool"/>.</summary>
    internal sealed class BatchResponse : BaseToolResponse, IToolContent
    {
        /// <summary>Whether all calls did what they were asked.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The calls that were made, in order. The last one is the one that failed, if one did.</summary>
        public List<BatchResult> Results { get; set; } = new();

        /// <inheritdoc/>
        [JsonIgnore]
        public IReadOnlyList<ToolContent> Content => Results.SelectMany(r => (r.Value as IToolContent)?.Content ?? Array.Empty<ToolContent>()).ToList();
    }

    /// <summary>Makes several calls, which the user undoes in one step.</summary>
    [McpTool(
        Description = "Makes several calls of other tools in order, as one step of Undo. Stops at the first that fails; those before it stay done. Not for " +
            "tools that reload the domain. Example: {\"Calls\": [{\"Tool\": \"edit-game-object\", \"Arguments\": {\"Action\": \"Create\", \"Name\": \"A\"}}]}",
        Title = "Batch")]
    internal sealed class BatchTool : AbstractUnityTool<BatchSchema, BatchResponse>
    {
        // The tools that make steps of Undo.
        private static readonly string[] Undone = { "edit-game-object", "delete-game-object", "edit-component", "remove-component", "edit-ui", "prefabs" };

        /// <inheritdoc/>
        public override string ToolName => "batch";

        /// <inheritdoc/>
        protected override async Task<BatchResponse> ExecuteAsync(BatchSchema parameters, IToolContext context)
        {
            if (parameters.Calls.Length == 0 || parameters.Calls.Length > Limits.BatchCalls) throw new ToolParameterException($"Calls must have 1 to {Limits.BatchCalls} entries");
            IBridgeInfo bridge = context.Get<IBridgeInfo>();
            // All are checked before the first is made.
            ToolEntry[] tools = parameters.Calls.Select((call, i) => Checked(bridge, call, i)).ToArray();
            var response = new BatchResponse();
            IUndo undo = context.Get<IUndo>();
            int step = undo.Begin($"AI: {tools.Length} calls");
            try
            {
                for (int i = 0; i < tools.Length; i++)
                {
                    context.ReportProgress(i, tools.Length, tools[i].Name);
                    context.Cancellation.ThrowIfCancellationRequested();
                    BatchResult result = await Call(tools[i], parameters.Calls[i].Arguments, context);
                    response.Results.Add(result);
                    if (result.Success) continue;
                    response.Message = $"Call {i + 1} of {tools.Length} failed ({result.Tool})" + Done(tools.Take(i).ToList());
                    return response;
                }
            }
            finally
            {
                undo.End(step);
            }
            response.Success = true;
            response.Message = tools.Length == 1 ? "The call is done" : $"All {tools.Length} calls are done";
            return response;
        }

        // What the calls before a failed one did. An undo where they made no step would take back somebody else's.
        private static string Done(IReadOnlyCollection<ToolEntry> before)
        {
            List<ToolEntry> changed = before.Where(t => !t.About.ReadOnly).ToList();
            string undo = !changed.Any(t => Undone.Contains(t.Name)) ? ""
                : changed.All(t => Undone.Contains(t.Name)) ? "; undo takes them back in one step"
                : "; undo takes back in one step what they changed in scenes and prefabs, not what they did to files";
            return before.Count == 0 ? "" : ". Those before it are done" + undo;
        }

        private static ToolEntry Checked(IBridgeInfo bridge, BatchCall? call, int index)
        {
            string at = $"Calls, number {index + 1}";
            if (string.IsNullOrEmpty(call?.Tool)) throw new ToolParameterException($"Tool is missing ({at})");
            ToolEntry? tool = bridge.Tools.Find(call!.Tool);
            if (tool == null) throw new ToolParameterException($"There is no tool {call.Tool} ({at})");
            if (bridge.Security.Check(tool) is { } denial) throw new ToolParameterException($"{denial.Refusal(tool.Name)} ({at})");
            if (tool.Tool is IResumableTool or BatchTool or UndoTool) throw new ToolParameterException($"{tool.Name} is called by itself, not in a batch ({at})");
            try
            {
                ToolParameters.CheckNames(tool.Name, tool.Tool.ParametersType, call.Arguments);
            }
            catch (ToolParameterException e)
            {
                throw new ToolParameterException($"{e.Message} ({at})");
            }
            return tool;
        }

        private static async Task<BatchResult> Call(ToolEntry tool, JObject? arguments, IToolContext context)
        {
            try
            {
                object? value = await tool.Tool.ExecuteAsync(arguments, context);
                if (ToolResults.Flaw(value) is { } flaw) return new BatchResult { Tool = tool.Name, Error = flaw };
                return new BatchResult { Tool = tool.Name, Success = !ToolResults.SaysItFailed(value), Value = value };
            }
            catch (Exception e) when (e is not OperationCanceledException)
            {
                return new BatchResult { Tool = tool.Name, Error = e is ToolParameterException ? e.Message : $"{e.GetType().Name}: {e.Message}" };
            }
        }
    }
}
