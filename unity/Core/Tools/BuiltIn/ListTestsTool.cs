#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="ListTestsTool"/>.</summary>
    internal sealed class ListTestsSchema : BaseToolSchema
    {
        /// <summary>The mode.</summary>
        [Description("Tests of EditMode or of PlayMode")]
        public TestMode TestMode { get; set; } = TestMode.EditMode;

        /// <summary>A part of the name.</summary>
        [Description("Only tests whose full name has this text")]
        public string NamePattern { get; set; } = "";

        /// <summary>Maximum number of tests.</summary>
        [Description("Maximum number of tests")]
        public int MaxResults { get; set; } = 200;

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>Result of <see cref="ListTestsTool"/>.</summary>
    internal sealed class ListTestsResponse : BaseToolResponse
    {
        /// <summary>The tests, sorted by name.</summary>
        public IReadOnlyList<TestFact> Tests { get; set; } = Array.Empty<TestFact>();

        /// <summary>Number of tests that match.</summary>
        public int TotalCount { get; set; }
    }

    /// <summary>Lists tests.</summary>
    [McpTool(
        Description = "Lists the project's tests by full name; run-tests runs one by FilterType exact. Example: {\"NamePattern\": \"Player\"}",
        Title = "List tests", ReadOnly = true, Parallel = true)]
    internal sealed class ListTestsTool : AbstractUnityTool<ListTestsSchema, ListTestsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "list-tests";

        /// <inheritdoc/>
        protected override async Task<ListTestsResponse> ExecuteAsync(ListTestsSchema parameters, IToolContext context)
        {
            if (parameters.MaxResults < 1 || parameters.MaxResults > Limits.ListedTests) throw new ToolParameterException($"MaxResults must be 1 to {Limits.ListedTests}");
            IReadOnlyList<TestFact>? tests = null;
            context.Get<ITestRunner>().List(parameters.TestMode == TestMode.PlayMode, found => tests = found);
            while (tests == null) await context.MainThread.Frames(1, context.Cancellation);
            List<TestFact> matching = tests.Where(t => t.FullName.IndexOf(parameters.NamePattern, StringComparison.OrdinalIgnoreCase) >= 0)
                .OrderBy(t => t.FullName, StringComparer.Ordinal).ToList();
            return new ListTestsResponse { TotalCount = matching.Count, Tests = matching.Take(parameters.MaxResults).ToList() };
        }
    }
}
