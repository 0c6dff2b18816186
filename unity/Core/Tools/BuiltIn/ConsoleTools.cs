#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Which entries of the console. The numbers are uLoopMCP's.</summary>
    public enum McpLogType
    {
        /// <summary>None: only the counts.</summary>
        None = -1,

        /// <summary>Messages.</summary>
        Log = 0,

        /// <summary>Warnings.</summary>
        Warning = 1,

        /// <summary>Errors, exceptions, failed assertions.</summary>
        Error = 2,

        /// <summary>All.</summary>
        All = 3
    }

    /// <summary>Parameters of <see cref="GetLogsTool"/>.</summary>
    public sealed class GetLogsSchema : BaseToolSchema
    {
        /// <summary>Kinds.</summary>
        [Description("Which entries: Log, Warning, Error, All, or None for the counts alone")]
        public McpLogType LogType { get; set; } = McpLogType.All;

        /// <summary>Bound.</summary>
        [Description("The newest so many of the entries that fit")]
        public int MaxCount { get; set; } = 100;

        /// <summary>What to look for.</summary>
        [Description("Only entries with this text, whatever its case; empty: all")]
        public string SearchText { get; set; } = "";

        /// <summary>How.</summary>
        [Description("SearchText is a regular expression")]
        public bool UseRegex { get; set; }

        /// <summary>Where.</summary>
        [Description("Look for SearchText in stack traces too")]
        public bool SearchInStackTrace { get; set; }

        /// <summary>With stack traces.</summary>
        [Description("Answer with stack traces")]
        public bool IncludeStackTrace { get; set; } = true;
    }

    /// <summary>An entry of <see cref="GetLogsResponse"/>.</summary>
    public sealed class LogEntryInfo
    {
        /// <summary>Its kind.</summary>
        public McpLogType Type { get; set; }

        /// <summary>Its text.</summary>
        public string Message { get; set; } = "";

        /// <summary>Its stack trace; null if none was asked for.</summary>
        public string? StackTrace { get; set; }

        /// <summary>The file that it points to; empty: none.</summary>
        public string File { get; set; } = "";

        /// <summary>The line there.</summary>
        public int Line { get; set; }
    }

    /// <summary>Result of <see cref="GetLogsTool"/>.</summary>
    public sealed class GetLogsResponse : BaseToolResponse
    {
        /// <summary>Entries that fit.</summary>
        public int TotalCount { get; set; }

        /// <summary>Entries in <see cref="Logs"/>.</summary>
        public int DisplayedCount { get; set; }

        /// <summary>As asked.</summary>
        public string LogType { get; set; } = "";

        /// <summary>As asked.</summary>
        public int MaxCount { get; set; }

        /// <summary>As asked.</summary>
        public string SearchText { get; set; } = "";

        /// <summary>As asked.</summary>
        public bool IncludeStackTrace { get; set; }

        /// <summary>The oldest first.</summary>
        public IReadOnlyList<LogEntryInfo> Logs { get; set; } = Array.Empty<LogEntryInfo>();

        /// <summary>How many of each kind the console has.</summary>
        public ClearedLogCounts ConsoleCounts { get; set; } = new();

        /// <summary>Older entries that fit were left out since the answer would have been too long.</summary>
        public bool Truncated { get; set; }
    }

    /// <summary>Reads the console.</summary>
    [McpTool(
        Description = "Reads the entries of Unity's console: messages, warnings and errors, with a filter and stack traces",
        Title = "Get console logs", ReadOnly = true, Parallel = true)]
    public sealed class GetLogsTool : AbstractUnityTool<GetLogsSchema, GetLogsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-logs";

        /// <inheritdoc/>
        protected override Task<GetLogsResponse> ExecuteAsync(GetLogsSchema parameters, IToolContext context)
        {
            if (parameters.MaxCount < 0) throw new ToolParameterException("MaxCount must not be below 0");
            var filter = new TextFilter(
                nameof(parameters.SearchText), parameters.SearchText, parameters.UseRegex ? TextMatch.Regex : TextMatch.Contains, true);
            IReadOnlyList<ConsoleEntry> all = context.Get<IConsole>().Read();
            List<ConsoleEntry> fitting = all.Where(e => IsOf(e, parameters.LogType) &&
                (filter.Fits(e.Message) || (parameters.SearchInStackTrace && filter.Fits(e.StackTrace)))).ToList();
            var shown = new List<LogEntryInfo>();
            long room = Limits.ResultText;
            int wanted = Math.Min(parameters.MaxCount, fitting.Count);
            for (int i = fitting.Count - 1; i >= fitting.Count - wanted; i--)
            {
                LogEntryInfo info = Describe(fitting[i], parameters.IncludeStackTrace);
                room -= info.Message.Length + (info.StackTrace?.Length ?? 0) + info.File.Length;
                if (room < 0) break;
                shown.Add(info);
            }
            shown.Reverse();
            return Task.FromResult(new GetLogsResponse
            {
                TotalCount = fitting.Count,
                DisplayedCount = shown.Count,
                LogType = parameters.LogType.ToString(),
                MaxCount = parameters.MaxCount,
                SearchText = parameters.SearchText,
                IncludeStackTrace = parameters.IncludeStackTrace,
                Logs = shown,
                ConsoleCounts = ClearedLogCounts.Of(all),
                Truncated = shown.Count < wanted
            });
        }

        private static bool IsOf(ConsoleEntry entry, McpLogType type) => type == McpLogType.All || TypeOf(entry) == type;

        private static McpLogType TypeOf(ConsoleEntry entry) => entry.Type switch
        {
            ConsoleEntryType.Error => McpLogType.Error,
            ConsoleEntryType.Warning => McpLogType.Warning,
            _ => McpLogType.Log
        };

        // One entry may be longer than the whole answer may be.
        private static LogEntryInfo Describe(ConsoleEntry entry, bool withStack) => new()
        {
            Type = TypeOf(entry), Message = Cut(entry.Message), StackTrace = withStack ? Cut(entry.StackTrace) : null,
            File = entry.File, Line = entry.Line
        };

        private static string Cut(string text) =>
            text.Length <= Limits.LogText ? text : text.Substring(0, Limits.LogText) + $"... ({text.Length} characters)";
    }

    /// <summary>Parameters of <see cref="ClearConsoleTool"/>.</summary>
    public sealed class ClearConsoleSchema : BaseToolSchema
    {
        /// <summary>Say so in the console.</summary>
        [Description("Write into the cleared console that it was cleared")]
        public bool AddConfirmationMessage { get; set; } = true;
    }

    /// <summary>Entries by kind.</summary>
    public sealed class ClearedLogCounts
    {
        /// <summary>Errors.</summary>
        public int ErrorCount { get; set; }

        /// <summary>Warnings.</summary>
        public int WarningCount { get; set; }

        /// <summary>Messages.</summary>
        public int LogCount { get; set; }

        internal static ClearedLogCounts Of(IReadOnlyList<ConsoleEntry> entries) => new()
        {
            ErrorCount = entries.Count(e => e.Type == ConsoleEntryType.Error),
            WarningCount = entries.Count(e => e.Type == ConsoleEntryType.Warning),
            LogCount = entries.Count(e => e.Type == ConsoleEntryType.Log)
        };
    }

    /// <summary>Result of <see cref="ClearConsoleTool"/>.</summary>
    public sealed class ClearConsoleResponse : BaseToolResponse
    {
        /// <summary>It was cleared.</summary>
        public bool Success { get; set; }

        /// <summary>How many entries went.</summary>
        public int ClearedLogCount { get; set; }

        /// <summary>The same by kind.</summary>
        public ClearedLogCounts ClearedCounts { get; set; } = new();

        /// <summary>A sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Empty.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>Entries that stayed: errors of the compiler, and what Unity keeps.</summary>
        public int RemainingCount { get; set; }
    }

    /// <summary>Clears the console.</summary>
    [McpTool(
        Description = "Clears Unity's console. Errors of the compiler stay until they are mended", Title = "Clear console",
        Idempotent = true)]
    public sealed class ClearConsoleTool : AbstractUnityTool<ClearConsoleSchema, ClearConsoleResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "clear-console";

        /// <inheritdoc/>
        protected override Task<ClearConsoleResponse> ExecuteAsync(ClearConsoleSchema parameters, IToolContext context)
        {
            IConsole console = context.Get<IConsole>();
            ConsoleCounts before = console.Count();
            console.Clear();
            ConsoleCounts after = console.Count();
            var cleared = new ClearedLogCounts
            {
                ErrorCount = Math.Max(0, before.Errors - after.Errors),
                WarningCount = Math.Max(0, before.Warnings - after.Warnings),
                LogCount = Math.Max(0, before.Logs - after.Logs)
            };
            int count = cleared.ErrorCount + cleared.WarningCount + cleared.LogCount;
            int left = after.Errors + after.Warnings + after.Logs;
            string message = $"Cleared {count} console entries" + (left > 0 ? $"; {left} stay, which Unity does not clear" : "");
            if (parameters.AddConfirmationMessage) console.Write(ConsoleEntryType.Log, message);
            return Task.FromResult(new ClearConsoleResponse
            {
                Success = true, ClearedLogCount = count, ClearedCounts = cleared, Message = message, RemainingCount = left
            });
        }
    }
}
