#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Selects entries of the console. The numbers are those of uLoopMCP.</summary>
    internal enum McpLogType
    {
        /// <summary>No entries, only the counts.</summary>
        None = -1,

        /// <summary>Messages.</summary>
        Log = 0,

        /// <summary>Warnings.</summary>
        Warning = 1,

        /// <summary>Errors, exceptions, failed assertions.</summary>
        Error = 2,

        /// <summary>All entries.</summary>
        All = 3
    }

    /// <summary>Parameters of <see cref="GetLogsTool"/>.</summary>
    internal sealed class GetLogsSchema : BaseToolSchema
    {
        /// <summary>Kind of the entries to return.</summary>
        [Description("Which entries: Log, Warning, Error, All, or None for the counts alone")]
        public McpLogType LogType { get; set; } = McpLogType.All;

        /// <summary>Maximum number of entries to return; the newest are chosen.</summary>
        [Description("The newest so many of the entries that fit")]
        public int MaxCount { get; set; } = 100;

        /// <summary>Text that an entry must contain; empty matches all.</summary>
        [Description("Only entries with this text, whatever its case; empty: all")]
        public string SearchText { get; set; } = "";

        /// <summary>Whether SearchText is a regular expression.</summary>
        [Description("SearchText is a regular expression")]
        public bool UseRegex { get; set; }

        /// <summary>Whether to search stack traces too.</summary>
        [Description("Look for SearchText in stack traces too")]
        public bool SearchInStackTrace { get; set; }

        /// <summary>Whether to return stack traces.</summary>
        [Description("Answer with stack traces")]
        public bool IncludeStackTrace { get; set; } = true;
    }

    /// <summary>An entry of <see cref="GetLogsResponse"/>.</summary>
    internal sealed class LogEntryInfo
    {
        /// <summary>Kind of the entry.</summary>
        public McpLogType Type { get; set; }

        /// <summary>The message, cut at <see cref="Limits.LogText"/> characters.</summary>
        public string Message { get; set; } = "";

        /// <summary>The stack trace; null if it was not asked for.</summary>
        public string? StackTrace { get; set; }

        /// <summary>The file that the entry refers to; empty if there is none.</summary>
        public string File { get; set; } = "";

        /// <summary>The line in the file.</summary>
        public int Line { get; set; }
    }

    /// <summary>Result of <see cref="GetLogsTool"/>.</summary>
    internal sealed class GetLogsResponse : BaseToolResponse
    {
        /// <summary>Number of entries that match, including those that are not returned.</summary>
        public int TotalCount { get; set; }

        /// <summary>Number of entries in <see cref="Logs"/>.</summary>
        public int DisplayedCount { get; set; }

        /// <summary>The kind that was asked for.</summary>
        public string LogType { get; set; } = "";

        /// <summary>The maximum that was asked for.</summary>
        public int MaxCount { get; set; }

        /// <summary>The text that was searched for.</summary>
        public string SearchText { get; set; } = "";

        /// <summary>Whether stack traces were asked for.</summary>
        public bool IncludeStackTrace { get; set; }

        /// <summary>The entries, oldest first.</summary>
        public IReadOnlyList<LogEntryInfo> Logs { get; set; } = Array.Empty<LogEntryInfo>();

        /// <summary>Number of entries of each kind in the console.</summary>
        public ClearedLogCounts ConsoleCounts { get; set; } = new();

        /// <summary>Whether older entries were left out because the answer would have become too long.</summary>
        public bool Truncated { get; set; }
    }

    /// <summary>Reads the console.</summary>
    [McpTool(
        Description = "Reads the entries of Unity's console: messages, warnings and errors, with a filter and stack traces",
        Title = "Get console logs", ReadOnly = true, Parallel = true)]
    internal sealed class GetLogsTool : AbstractUnityTool<GetLogsSchema, GetLogsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-logs";

        /// <inheritdoc/>
        protected override Task<GetLogsResponse> ExecuteAsync(GetLogsSchema parameters, IToolContext context)
        {
            if (parameters.MaxCount < 0) throw new ToolParameterException("MaxCount must not be below 0");
            var filter = new TextFilter(
                nameof(parameters.SearchText), parameters.SearchText, parameters.UseRegex ? TextMatch.Regex : TextMatch.Contains, true);
            IConsole console = context.Get<IConsole>();
            ConsoleCounts counts = console.Count();
            // Without a text to search for, Unity's own counts tell how many entries match. So only those that are returned have
            // to be read.
            bool counted = parameters.SearchText.Length == 0;
            int ofType = Of(counts, parameters.LogType), fitting = 0;
            bool truncated = false;
            var shown = new List<LogEntryInfo>();
            long room = Limits.ResultText;
            if (ofType > 0 && !(counted && parameters.MaxCount == 0))
            {
                foreach (ConsoleEntry entry in console.NewestFirst())
                {
                    if (!IsOf(entry, parameters.LogType)) continue;
                    if (!filter.Fits(entry.Message) && !(parameters.SearchInStackTrace && filter.Fits(entry.StackTrace))) continue;
                    fitting++;
                    if (!truncated && shown.Count < parameters.MaxCount)
                    {
                        LogEntryInfo info = Describe(entry, parameters.IncludeStackTrace);
                        room -= info.Message.Length + (info.StackTrace?.Length ?? 0) + info.File.Length;
                        truncated = room < 0;
                        if (!truncated) shown.Add(info);
                    }
                    if (counted && (truncated || shown.Count == parameters.MaxCount)) break;
                }
            }
            shown.Reverse();
            return Task.FromResult(new GetLogsResponse
            {
                TotalCount = counted ? ofType : fitting,
                DisplayedCount = shown.Count,
                LogType = parameters.LogType.ToString(),
                MaxCount = parameters.MaxCount,
                SearchText = parameters.SearchText,
                IncludeStackTrace = parameters.IncludeStackTrace,
                Logs = shown,
                ConsoleCounts = ClearedLogCounts.Of(counts),
                Truncated = truncated
            });
        }

        private static int Of(ConsoleCounts counts, McpLogType type) => type switch
        {
            McpLogType.All => counts.Errors + counts.Warnings + counts.Logs,
            McpLogType.Error => counts.Errors,
            McpLogType.Warning => counts.Warnings,
            McpLogType.Log => counts.Logs,
            _ => 0
        };

        private static bool IsOf(ConsoleEntry entry, McpLogType type) => type == McpLogType.All || TypeOf(entry) == type;

        private static McpLogType TypeOf(ConsoleEntry entry) => entry.Type switch
        {
            ConsoleEntryType.Error => McpLogType.Error,
            ConsoleEntryType.Warning => McpLogType.Warning,
            _ => McpLogType.Log
        };

        // A single entry may be longer than the limit of the whole answer, so its texts are cut.
        private static LogEntryInfo Describe(ConsoleEntry entry, bool withStack) => new()
        {
            Type = TypeOf(entry), Message = Cut(entry.Message), StackTrace = withStack ? Cut(entry.StackTrace) : null,
            File = entry.File, Line = entry.Line
        };

        private static string Cut(string text) =>
            text.Length <= Limits.LogText ? text : text.Substring(0, Limits.LogText) + $"... ({text.Length} characters)";
    }

    /// <summary>Parameters of <see cref="ClearConsoleTool"/>.</summary>
    internal sealed class ClearConsoleSchema : BaseToolSchema
    {
        /// <summary>Whether to write a confirmation into the cleared console.</summary>
        [Description("Write into the cleared console that it was cleared")]
        public bool AddConfirmationMessage { get; set; } = true;
    }

    /// <summary>Numbers of entries by kind.</summary>
    internal sealed class ClearedLogCounts
    {
        /// <summary>Number of errors.</summary>
        public int ErrorCount { get; set; }

        /// <summary>Number of warnings.</summary>
        public int WarningCount { get; set; }

        /// <summary>Number of messages.</summary>
        public int LogCount { get; set; }

        internal static ClearedLogCounts Of(ConsoleCounts counts) => new()
        {
            ErrorCount = counts.Errors, WarningCount = counts.Warnings, LogCount = counts.Logs
        };
    }

    /// <summary>Result of <see cref="ClearConsoleTool"/>.</summary>
    internal sealed class ClearConsoleResponse : BaseToolResponse
    {
        /// <summary>Always true.</summary>
        public bool Success { get; set; }

        /// <summary>Number of entries that were removed.</summary>
        public int ClearedLogCount { get; set; }

        /// <summary>Number of removed entries by kind.</summary>
        public ClearedLogCounts ClearedCounts { get; set; } = new();

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Always empty.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>Number of entries that stayed: compiler errors, and entries that Unity does not clear.</summary>
        public int RemainingCount { get; set; }
    }

    /// <summary>Clears the console.</summary>
    [McpTool(
        Description = "Clears Unity's console. Errors of the compiler stay until they are fixed", Title = "Clear console")]
    internal sealed class ClearConsoleTool : AbstractUnityTool<ClearConsoleSchema, ClearConsoleResponse>
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
