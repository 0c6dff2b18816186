#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>How Unity searches.</summary>
    internal enum UnitySearchFlags
    {
        /// <summary>Unity's default.</summary>
        Default,

        /// <summary>Completes the search in one step.</summary>
        Synchronous,

        /// <summary>Returns all matches, not only the best ones.</summary>
        WantsMore,

        /// <summary>Searches packages too.</summary>
        Packages,

        /// <summary>Lists the best match first.</summary>
        Sorted
    }

    /// <summary>Format of a file of results.</summary>
    internal enum SearchOutputFormat
    {
        /// <summary>A JSON list of objects.</summary>
        JSON,

        /// <summary>Values separated by commas.</summary>
        CSV,

        /// <summary>Values separated by tabs.</summary>
        TSV
    }

    /// <summary>Parameters of <see cref="UnitySearchTool"/>.</summary>
    internal sealed class UnitySearchSchema : BaseToolSchema
    {
        /// <summary>The query in the language of Unity Search.</summary>
        [Description("What to search for, in the language of Unity Search, such as: t:Prefab player")]
        public string SearchQuery { get; set; } = "";

        /// <summary>Ids of the providers to ask; empty means the active ones.</summary>
        [Description("Ids of search providers; empty: the active ones. get-provider-details lists them")]
        public string[] Providers { get; set; } = Array.Empty<string>();

        /// <summary>Maximum number of results.</summary>
        [Description("The first so many")]
        public int MaxResults { get; set; } = 50;

        /// <summary>Whether to return descriptions.</summary>
        [Description("With descriptions")]
        public bool IncludeDescription { get; set; } = true;

        /// <summary>Whether to return the size and the modification time of files.</summary>
        [Description("With size and time of change of files")]
        public bool IncludeMetadata { get; set; }

        /// <summary>How Unity searches.</summary>
        [Description("Default, Synchronous, WantsMore, Packages, or Sorted")]
        public UnitySearchFlags SearchFlags { get; set; } = UnitySearchFlags.Default;

        /// <summary>Whether to write the results to a file even if they are few.</summary>
        [Description("Write the results to a file, and answer with its path alone")]
        public bool SaveToFile { get; set; }

        /// <summary>Format of the file.</summary>
        [Description("The file's form: JSON, CSV, or TSV")]
        public SearchOutputFormat OutputFormat { get; set; } = SearchOutputFormat.JSON;

        /// <summary>If there are more results than this, they are written to a file. 0 means never.</summary>
        [Description("More results than this go to a file by themselves; 0: never")]
        public int AutoSaveThreshold { get; set; } = 100;

        /// <summary>File extensions. A result's path must have one of them; an empty list allows all.</summary>
        [Description("Only files with these extensions, with or without a dot")]
        public string[] FileExtensions { get; set; } = Array.Empty<string>();

        /// <summary>Types. A result must have one of them; an empty list allows all.</summary>
        [Description("Only assets of these types, such as Texture2D")]
        public string[] AssetTypes { get; set; } = Array.Empty<string>();

        /// <summary>
        /// Text that a result's path must contain. A * in it matches any characters. An empty text allows all paths.
        /// </summary>
        [Description("Only paths that have this text; * stands for any letters")]
        public string PathFilter { get; set; } = "";
    }

    /// <summary>A search result.</summary>
    internal sealed class SearchResultItem
    {
        /// <summary>The provider's id of the result.</summary>
        public string Id { get; set; } = "";

        /// <summary>Name of the result.</summary>
        public string Label { get; set; } = "";

        /// <summary>The provider's description of the result; empty if it was not asked for.</summary>
        public string Description { get; set; } = "";

        /// <summary>Id of the provider.</summary>
        public string Provider { get; set; } = "";

        /// <summary>
        /// Type of the result's object; empty if there is none. For a part of an asset it is the type of the whole asset.
        /// </summary>
        public string Type { get; set; } = "";

        /// <summary>Path of the asset; empty if the result is not an asset.</summary>
        public string Path { get; set; } = "";

        /// <summary>
        /// Id of the result's object in this session, as text; empty if there is none, and for an asset, which is not loaded.
        /// </summary>
        public string ObjectId { get; set; } = "";

        /// <summary>Name of the result's icon; empty if the provider has set none.</summary>
        public string Thumbnail { get; set; } = "";

        /// <summary>Unity's rank of the result. A result with a lower value is listed earlier.</summary>
        public float Score { get; set; }

        /// <summary>The asset's labels in Unity; empty if the result is not an asset.</summary>
        public IReadOnlyList<string> Tags { get; set; } = Array.Empty<string>();

        /// <summary>Whether the result can be selected in the editor.</summary>
        public bool IsSelectable { get; set; }

        /// <summary>Size of the file in bytes; 0 if it was not asked for or there is no file.</summary>
        public long FileSize { get; set; }

        /// <summary>When the file was modified, in UTC; empty if that was not asked for or there is no file.</summary>
        public string LastModified { get; set; } = "";
    }

    /// <summary>The filters that this tool adds to Unity's, and how many results they removed.</summary>
    internal sealed class SearchFilterInfo
    {
        /// <summary>The extensions that were asked for.</summary>
        public string[] FileExtensions { get; set; } = Array.Empty<string>();

        /// <summary>The types that were asked for.</summary>
        public string[] AssetTypes { get; set; } = Array.Empty<string>();

        /// <summary>The path filter that was asked for.</summary>
        public string PathFilter { get; set; } = "";

        /// <summary>Number of results that the filters removed.</summary>
        public int FilteredOutCount { get; set; }
    }

    /// <summary>Result of <see cref="UnitySearchTool"/>.</summary>
    internal sealed class UnitySearchResponse : BaseToolResponse
    {
        /// <summary>The results; empty if they are in the file.</summary>
        public IReadOnlyList<SearchResultItem> Results { get; set; } = Array.Empty<SearchResultItem>();

        /// <summary>
        /// Number of results, at most <see cref="Limits.SearchHits"/>. With filters only the results that passed them count, and
        /// no more are read than were asked for.
        /// </summary>
        public int TotalCount { get; set; }

        /// <summary>Number of results in this answer or in the file.</summary>
        public int DisplayedCount { get; set; }

        /// <summary>The query that was asked for.</summary>
        public string SearchQuery { get; set; } = "";

        /// <summary>Ids of the providers that were asked for or that found something.</summary>
        public IReadOnlyList<string> ProvidersUsed { get; set; } = Array.Empty<string>();

        /// <summary>Duration of the search in milliseconds.</summary>
        public long SearchDurationMs { get; set; }

        /// <summary>Always true: a search that fails is answered with an error instead.</summary>
        public bool Success { get; set; }

        /// <summary>Why the results are incomplete; empty if they are complete.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>Absolute path of the file; empty if there is none.</summary>
        public string ResultsFilePath { get; set; } = "";

        /// <summary>Whether the results were written to a file.</summary>
        public bool ResultsSavedToFile { get; set; }

        /// <summary>Format of the file; empty if there is none.</summary>
        public string SavedFileFormat { get; set; } = "";

        /// <summary>Why the results were written to a file; empty if there is no file.</summary>
        public string SaveToFileReason { get; set; } = "";

        /// <summary>The filters that this tool adds to Unity's, and how many results they removed.</summary>
        public SearchFilterInfo AppliedFilters { get; set; } = new();
    }

    /// <summary>Searches with Unity Search.</summary>
    [McpTool(
        Description = "Searches assets, scene objects, menu items, settings and packages with Unity Search. Many results go to a JSON, " +
            "CSV or TSV file whose path is answered",
        Title = "Unity Search", ReadOnly = true, Parallel = true)]
    internal sealed class UnitySearchTool : AbstractUnityTool<UnitySearchSchema, UnitySearchResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "unity-search";

        /// <inheritdoc/>
        protected override async Task<UnitySearchResponse> ExecuteAsync(UnitySearchSchema parameters, IToolContext context)
        {
            if (parameters.SearchQuery.Trim().Length == 0) throw new ToolParameterException("SearchQuery is empty");
            if (parameters.MaxResults < 0) throw new ToolParameterException("MaxResults must not be below 0");
            ISearch search = context.Get<ISearch>();
            HashSet<string> known = new(search.Providers().Select(p => p.Id));
            string? unknown = parameters.Providers.FirstOrDefault(p => !known.Contains(p));
            if (unknown != null) throw new ToolParameterException($"There is no search provider '{unknown}' (Providers)");

            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            var filters = new SearchFilters(parameters);
            var watch = Stopwatch.StartNew();
            var shown = new List<SearchHit>();
            int total;
            string[] flags = parameters.SearchFlags == UnitySearchFlags.Default
                ? Array.Empty<string>()
                : new[] { parameters.SearchFlags.ToString() };
            using (ISearchQuery query = search.Begin(new SearchRequest(parameters.SearchQuery, parameters.Providers, flags)))
            {
                // Frames() continues on the main thread, where Unity Search must be called.
                while (query.IsPending && query.Count <= Limits.SearchHits)
                {
                    context.ReportProgress(query.Count, null, "searching");
                    await context.MainThread.Frames(1, context.Cancellation);
                }
                total = query.Count;
                int end = Math.Min(total, Limits.SearchHits);
                var slices = new FrameSlices(context);
                for (int i = 0; i < end && shown.Count < parameters.MaxResults; i++)
                {
                    await slices.Next(i, end, "reading");
                    SearchHit hit = query.Read(i);
                    if (filters.Fits(hit)) shown.Add(hit);
                }
            }
            bool cut = total > Limits.SearchHits;
            List<SearchResultItem> items = shown.Select(h => Describe(h, parameters, editor)).ToList();
            var response = new UnitySearchResponse
            {
                Success = true,
                TotalCount = filters.IsEmpty ? Math.Min(total, Limits.SearchHits) : shown.Count,
                DisplayedCount = items.Count,
                SearchQuery = parameters.SearchQuery,
                ProvidersUsed = parameters.Providers.Concat(shown.Select(h => h.Provider)).Distinct().ToList(),
                SearchDurationMs = watch.ElapsedMilliseconds,
                ErrorMessage = cut ? $"More than {Limits.SearchHits} results; the others were not looked at" : "",
                AppliedFilters = filters.Info
            };
            string? reason = WhyToFile(parameters, items);
            if (reason == null)
            {
                response.Results = items;
                return response;
            }
            string format = parameters.OutputFormat.ToString();
            response.ResultsFilePath =
                ResultFiles.Write(editor, "search", format.ToLowerInvariant(), SearchFile.Write(items, parameters.OutputFormat));
            response.ResultsSavedToFile = true;
            response.SavedFileFormat = format;
            response.SaveToFileReason = reason;
            return response;
        }

        private static string? WhyToFile(UnitySearchSchema parameters, List<SearchResultItem> items)
        {
            if (parameters.SaveToFile) return "As asked";
            if (parameters.AutoSaveThreshold > 0 && items.Count > parameters.AutoSaveThreshold)
            {
                return $"There are more than {parameters.AutoSaveThreshold} results";
            }
            return Json.Write(items).Length > Limits.ResultText ? "The results are too long for an answer" : null;
        }

        private static SearchResultItem Describe(SearchHit hit, UnitySearchSchema parameters, EditorIdentity editor)
        {
            var item = new SearchResultItem
            {
                Id = hit.Id, Label = hit.Label, Description = parameters.IncludeDescription ? hit.Description : "",
                Provider = hit.Provider, Type = hit.Type, Path = hit.Path, ObjectId = hit.ObjectId,
                Thumbnail = hit.Thumbnail, Score = hit.Score, Tags = hit.Tags, IsSelectable = hit.IsSelectable
            };
            if (!parameters.IncludeMetadata || hit.Path.Length == 0) return item;
            var file = new FileInfo(Path.Combine(editor.ProjectPath, hit.Path));
            if (!file.Exists) return item;
            item.FileSize = file.Length;
            item.LastModified = file.LastWriteTimeUtc.ToString("yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture);
            return item;
        }
    }

    /// <summary>The filters that this tool adds to Unity's own.</summary>
    internal sealed class SearchFilters
    {
        private readonly HashSet<string> extensions;
        private readonly HashSet<string> types;
        private readonly string[] pathParts;

        public SearchFilters(UnitySearchSchema parameters)
        {
            extensions = new HashSet<string>(
                parameters.FileExtensions.Select(e => "." + e.TrimStart('*').TrimStart('.')), StringComparer.OrdinalIgnoreCase);
            types = new HashSet<string>(parameters.AssetTypes, StringComparer.OrdinalIgnoreCase);
            pathParts = parameters.PathFilter.Split(new[] { '*' }, StringSplitOptions.RemoveEmptyEntries);
            Info = new SearchFilterInfo
            {
                FileExtensions = parameters.FileExtensions, AssetTypes = parameters.AssetTypes, PathFilter = parameters.PathFilter
            };
        }

        public SearchFilterInfo Info { get; }

        public bool IsEmpty => extensions.Count == 0 && types.Count == 0 && pathParts.Length == 0;

        public bool Fits(SearchHit hit)
        {
            bool fits = (extensions.Count == 0 || extensions.Contains(Path.GetExtension(hit.Path))) &&
                (types.Count == 0 || types.Contains(hit.Type)) && FitsPath(hit.Path);
            if (!fits) Info.FilteredOutCount++;
            return fits;
        }

        private bool FitsPath(string path)
        {
            int at = 0;
            foreach (string part in pathParts)
            {
                int found = path.IndexOf(part, at, StringComparison.OrdinalIgnoreCase);
                if (found < 0) return false;
                at = found + part.Length;
            }
            return true;
        }
    }

    /// <summary>Writes results as a file.</summary>
    internal static class SearchFile
    {
        private static readonly string[] Columns =
        {
            "Id", "Label", "Description", "Provider", "Type", "Path", "ObjectId", "FileSize", "LastModified", "Thumbnail", "Score", "Tags",
            "IsSelectable"
        };

        public static string Write(IReadOnlyList<SearchResultItem> items, SearchOutputFormat format)
        {
            if (format == SearchOutputFormat.JSON) return Json.Write(items);
            Func<string, string> cell = format == SearchOutputFormat.CSV ? Comma : Tab;
            string separator = format == SearchOutputFormat.CSV ? "," : "\t";
            IEnumerable<string> lines = items.Select(i => string.Join(separator, new[]
            {
                i.Id, i.Label, i.Description, i.Provider, i.Type, i.Path, i.ObjectId,
                i.FileSize.ToString(CultureInfo.InvariantCulture), i.LastModified, i.Thumbnail, i.Score.ToString(CultureInfo.InvariantCulture),
                string.Join(";", i.Tags), i.IsSelectable ? "true" : "false"
            }.Select(cell)));
            return string.Join("\r\n", new[] { string.Join(separator, Columns) }.Concat(lines)) + "\r\n";
        }

        // Follows RFC 4180. A text that begins like a formula gets an apostrophe, so that a spreadsheet does not execute it.
        private static string Comma(string text)
        {
            if (text.Length > 0 && "=+-@".IndexOf(text[0]) >= 0) text = "'" + text;
            return text.IndexOfAny(new[] { ',', '"', '\r', '\n', '\'' }) < 0 ? text : "\"" + text.Replace("\"", "\"\"") + "\"";
        }

        private static string Tab(string text)
        {
            if (text.Length > 0 && "=+-@".IndexOf(text[0]) >= 0) text = "'" + text;
            return text.Replace('\t', ' ').Replace("\r\n", " ").Replace('\n', ' ').Replace('\r', ' ');
        }
    }
}
