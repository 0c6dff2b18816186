#nullable enable
using System;
using System.ComponentModel;
using System.Diagnostics;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="DebugSleepTool"/>.</summary>
    internal sealed class DebugSleepSchema : BaseToolSchema
    {
        /// <summary>Seconds to wait.</summary>
        [Description("Seconds to wait")]
        public int SleepSeconds { get; set; } = 15;

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 10;
    }

    /// <summary>Result of <see cref="DebugSleepTool"/>.</summary>
    internal sealed class DebugSleepResponse : BaseToolResponse
    {
        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Whole seconds that passed.</summary>
        public int ActualSleepSeconds { get; set; }

        /// <summary>Always false: a cancelled call is answered with an error instead.</summary>
        public bool WasCancelled { get; set; }

        /// <summary>The call's time limit in seconds.</summary>
        public int AppliedTimeoutSeconds { get; set; }
    }

    /// <summary>Waits without blocking the editor. It is used to try out time limits, cancellation and progress.</summary>
    [McpTool(
        Description = "Waits for some seconds; for trying time limits, cancelling and progress", Title = "Sleep",
        DisplayDevelopmentOnly = true, ReadOnly = true, Parallel = true)]
    internal sealed class DebugSleepTool : AbstractUnityTool<DebugSleepSchema, DebugSleepResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "debug-sleep";

        /// <inheritdoc/>
        protected override async Task<DebugSleepResponse> ExecuteAsync(DebugSleepSchema parameters, IToolContext context)
        {
            if (parameters.SleepSeconds < 0 || parameters.SleepSeconds > Limits.ToolTimeoutSeconds)
            {
                throw new ToolParameterException($"SleepSeconds must be from 0 to {Limits.ToolTimeoutSeconds}");
            }
            var watch = Stopwatch.StartNew();
            while (watch.Elapsed.TotalSeconds < parameters.SleepSeconds)
            {
                await context.MainThread.Frames(1, context.Cancellation);
                context.ReportProgress(watch.Elapsed.TotalSeconds, parameters.SleepSeconds, "sleeping");
            }
            return new DebugSleepResponse
            {
                Message = $"Slept {parameters.SleepSeconds} s", ActualSleepSeconds = (int)watch.Elapsed.TotalSeconds,
                AppliedTimeoutSeconds = parameters.TimeoutSeconds
            };
        }
    }
}
