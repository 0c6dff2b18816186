#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="GetProviderDetailsTool"/>.</summary>
    internal sealed class GetProviderDetailsSchema : BaseToolSchema
    {
        /// <summary>Id of the provider to list; empty lists all.</summary>
        [Description("Only the provider of this id; empty: all")]
        public string ProviderId { get; set; } = "";

        /// <summary>Whether to list only active providers.</summary>
        [Description("Only active ones")]
        public bool ActiveOnly { get; set; }

        /// <summary>Whether to sort by priority; if not, the list is sorted by id.</summary>
        [Description("By priority; else by id")]
        public bool SortByPriority { get; set; } = true;

        /// <summary>Whether to return descriptions.</summary>
        [Description("With descriptions")]
        public bool IncludeDescriptions { get; set; } = true;
    }

    /// <summary>A search provider.</summary>
    internal sealed class ProviderInfo
    {
        /// <summary>Id of the provider.</summary>
        public string Id { get; set; } = "";

        /// <summary>Name of the provider.</summary>
        public string DisplayName { get; set; } = "";

        /// <summary>How to use the provider; empty if that was not asked for.</summary>
        public string Description { get; set; } = "";

        /// <summary>Whether the provider is switched on in Unity Search.</summary>
        public bool IsActive { get; set; }

        /// <summary>A provider with a lower value is listed earlier.</summary>
        public int Priority { get; set; }

        /// <summary>Prefix of a query that only this provider answers.</summary>
        public string FilterId { get; set; } = "";

        /// <summary>Whether the provider is used only if a query names it.</summary>
        public bool IsExplicit { get; set; }

        /// <summary>Whether the search window has a pane for details of the provider's results.</summary>
        public bool ShowDetails { get; set; }

        /// <summary>Contents of that pane, for example: Preview, Description.</summary>
        public string ShowDetailsOptions { get; set; } = "";

        /// <summary>
        /// The type that the provider declares for its results; empty if it declares none. Unity allows at most one.
        /// </summary>
        public string[] SupportedTypes { get; set; } = Array.Empty<string>();

        /// <summary>Number of actions that the provider offers for its results.</summary>
        public int ActionCount { get; set; }
    }

    /// <summary>Result of <see cref="GetProviderDetailsTool"/>.</summary>
    internal sealed class GetProviderDetailsResponse : BaseToolResponse
    {
        /// <summary>The providers that match.</summary>
        public IReadOnlyList<ProviderInfo> Providers { get; set; } = Array.Empty<ProviderInfo>();

        /// <summary>Number of providers listed.</summary>
        public int TotalCount { get; set; }

        /// <summary>Number of active providers among them.</summary>
        public int ActiveCount { get; set; }

        /// <summary>Number of inactive providers among them.</summary>
        public int InactiveCount { get; set; }

        /// <summary>False if the provider that was asked for is not listed.</summary>
        public bool Success { get; set; }

        /// <summary>Why Success is false; empty if it is true.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>Which filter was applied: an id, active or all.</summary>
        public string AppliedFilter { get; set; } = "";

        /// <summary>Whether the list is sorted by priority.</summary>
        public bool SortedByPriority { get; set; }
    }

    /// <summary>Lists search providers.</summary>
    [McpTool(
        Description = "Lists the providers of Unity Search, for unity-search", Title = "Get search providers", ReadOnly = true,
        Parallel = true)]
    internal sealed class GetProviderDetailsTool : AbstractUnityTool<GetProviderDetailsSchema, GetProviderDetailsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-provider-details";

        /// <inheritdoc/>
        protected override Task<GetProviderDetailsResponse> ExecuteAsync(GetProviderDetailsSchema parameters, IToolContext context)
        {
            IEnumerable<SearchProviderEntry> found = context.Get<ISearch>().Providers().Where(p =>
                (!parameters.ActiveOnly || p.IsActive) && (parameters.ProviderId.Length == 0 || p.Id == parameters.ProviderId));
            List<ProviderInfo> listed = (parameters.SortByPriority
                ? found.OrderBy(p => p.Priority).ThenBy(p => p.Id, StringComparer.Ordinal)
                : found.OrderBy(p => p.Id, StringComparer.Ordinal)).Select(p => Describe(p, parameters.IncludeDescriptions)).ToList();
            bool missing = parameters.ProviderId.Length > 0 && listed.Count == 0;
            return Task.FromResult(new GetProviderDetailsResponse
            {
                Providers = listed,
                TotalCount = listed.Count,
                ActiveCount = listed.Count(p => p.IsActive),
                InactiveCount = listed.Count(p => !p.IsActive),
                Success = !missing,
                ErrorMessage = missing
                    ? $"There is no{(parameters.ActiveOnly ? " active" : "")} search provider '{parameters.ProviderId}'"
                    : "",
                AppliedFilter = parameters.ProviderId.Length > 0 ? "id " + parameters.ProviderId
                    : parameters.ActiveOnly ? "active" : "all",
                SortedByPriority = parameters.SortByPriority
            });
        }

        private static ProviderInfo Describe(SearchProviderEntry provider, bool described) => new()
        {
            Id = provider.Id, DisplayName = provider.Name, IsActive = provider.IsActive, Priority = provider.Priority,
            FilterId = provider.Filter, IsExplicit = provider.IsExplicit, ShowDetails = provider.ShowsDetails,
            ShowDetailsOptions = provider.DetailsOptions, ActionCount = provider.Actions,
            SupportedTypes = provider.Type.Length > 0 ? new[] { provider.Type } : Array.Empty<string>(),
            Description = !described ? "" : provider.IsExplicit
                ? $"{provider.Name}: takes part only if it is named, or the query begins with {provider.Filter}"
                : $"{provider.Name}: takes part by itself; the query can begin with {provider.Filter} to ask it alone"
        };
    }
}
