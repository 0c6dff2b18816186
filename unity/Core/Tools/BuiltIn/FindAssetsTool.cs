#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="FindAssetsTool"/>.</summary>
    internal sealed class FindAssetsSchema : BaseToolSchema
    {
        /// <summary>The filter.</summary>
        [Description("A filter as in Unity's project window: parts of the name, t:TYPE, l:LABEL; empty: all assets")]
        public string Filter { get; set; } = "";

        /// <summary>The folder.</summary>
        [Description("Only assets below this folder")]
        public string Folder { get; set; } = "Assets";

        /// <summary>To what an asset must refer; empty matches any.</summary>
        [Description("Only assets whose saved file refers to this one, such as Assets/Hero.cs")]
        public string ReferencesTo { get; set; } = "";

        /// <summary>Whether an asset must lack a script.</summary>
        [Description("Only prefabs and .asset files with a missing script; loads them")]
        public bool MissingScripts { get; set; }

        /// <summary>Maximum number of assets.</summary>
        [Description("So many at a time")]
        public int MaxResults { get; set; } = 100;

        /// <summary>Where the results begin; empty for the first.</summary>
        [Description("NextPage of the answer before")]
        public string Page { get; set; } = "";

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>An asset in a result.</summary>
    /// <param name="Path">The asset's file.</param>
    /// <param name="Type">Full name of its type.</param>
    internal sealed record AssetInfo(string Path, string Type)
    {
        /// <summary>Its labels; null if it has none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<string>? Labels { get; init; }

        /// <summary>The first objects in it that lack a script; null if that was not asked for.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<string>? MissingScripts { get; init; }
    }

    /// <summary>Result of <see cref="FindAssetsTool"/>.</summary>
    internal sealed class FindAssetsResponse : BaseToolResponse
    {
        /// <summary>What was looked at and what was not, as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The assets, sorted by path.</summary>
        public IReadOnlyList<AssetInfo> Assets { get; set; } = Array.Empty<AssetInfo>();

        /// <summary>Number of assets that match, on all pages.</summary>
        public int TotalCount { get; set; }

        /// <summary>What <c>Page</c> has to be for the next results; null if there are none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public string? NextPage { get; set; }

        /// <summary>The first scenes that were not looked at, since nothing loads them; null if there are none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<string>? NotLoaded { get; set; }
    }

    /// <summary>Finds assets.</summary>
    [McpTool(
        Description = "Finds assets by name, type or label, by the asset to which they refer, or by a missing script. " +
            "Example: {\"Filter\": \"t:Prefab wall\", \"Folder\": \"Assets/Art\", \"ReferencesTo\": \"Assets/Art/Wall.mat\"}",
        Title = "Find assets", ReadOnly = true, Parallel = true)]
    internal sealed class FindAssetsTool : AbstractUnityTool<FindAssetsSchema, FindAssetsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "find-assets";

        /// <inheritdoc/>
        protected override async Task<FindAssetsResponse> ExecuteAsync(FindAssetsSchema parameters, IToolContext context)
        {
            if (parameters.MaxResults < 1 || parameters.MaxResults > Limits.FoundAssets) throw new ToolParameterException($"MaxResults must be 1 to {Limits.FoundAssets}");
            string folder = parameters.Folder.TrimEnd('/');
            AssetPaths.Folder(folder, "Folder");
            IAssets assets = context.Get<IAssets>();
            if (!assets.IsFolder(folder)) throw new ToolParameterException($"There is no folder {folder} (Folder)");
            string target = parameters.ReferencesTo.Length > 0 ? FileOf(context, parameters.ReferencesTo) : "";
            List<string> found = assets.Find(parameters.Filter, folder).OrderBy(p => p, StringComparer.Ordinal).ToList();
            int all = found.Count;
            var response = new FindAssetsResponse();
            if (target.Length > 0) found = await Referring(found, target, context);
            Dictionary<string, IReadOnlyList<string>>? missing = null;
            int loaded = 0;
            if (parameters.MissingScripts)
            {
                List<string> candidates = found.Where(p => Ends(p, ".prefab") || Ends(p, ".asset")).ToList();
                loaded = candidates.Count;
                missing = await WithoutScripts(candidates, context);
                List<string> scenes = found.Where(p => Ends(p, ".unity")).ToList();
                if (scenes.Count > 0) response.NotLoaded = scenes.Take(Limits.NamedScenes).ToList();
                found = found.Where(missing.ContainsKey).ToList();
            }
            response.TotalCount = found.Count;
            response.Message = $"Looked at {all} assets below {folder}" + (target.Length > 0 ? SaidOfReferences(target, context) : "") +
                (missing != null ? $". Loaded {loaded} prefabs and .asset files for missing scripts" : "") +
                (response.NotLoaded != null ? ", and no scenes: find-game-objects looks into an open one" : "");
            // A page begins after a path, so it is right also if assets have come or gone.
            List<string> rest = found.Where(p => string.CompareOrdinal(p, parameters.Page) > 0).ToList();
            IFinder finder = context.Get<IFinder>();
            response.Assets = rest.Take(parameters.MaxResults).Select(p => new AssetInfo(p, assets.TypeOf(p))
            {
                Labels = finder.LabelsOf(p) is { Count: > 0 } labels ? labels : null,
                MissingScripts = missing?[p].Take(Limits.FoundReferences).ToList()
            }).ToList();
            if (rest.Count > parameters.MaxResults) response.NextPage = rest[parameters.MaxResults - 1];
            return response;
        }

        private static string FileOf(IToolContext context, string name)
        {
            FoundObject target = ObjectFinder.Find(context, name, "ReferencesTo");
            if (target.AssetPath.Length > 0) return target.AssetPath;
            throw new ToolParameterException($"{target.Reference} is in a scene, to which no other file can refer (ReferencesTo); find-game-objects finds what refers to it");
        }

        private static async Task<List<string>> Referring(List<string> paths, string target, IToolContext context)
        {
            IFinder finder = context.Get<IFinder>();
            var slices = new FrameSlices(context);
            var found = new List<string>();
            for (int i = 0; i < paths.Count; i++)
            {
                await slices.Next(i, paths.Count, "reading references");
                if (paths[i] != target && finder.DependenciesOf(paths[i]).Contains(target)) found.Add(paths[i]);
            }
            return found;
        }

        // By path, what lacks a script.
        private static async Task<Dictionary<string, IReadOnlyList<string>>> WithoutScripts(List<string> candidates, IToolContext context)
        {
            IFinder finder = context.Get<IFinder>();
            var slices = new FrameSlices(context);
            var found = new Dictionary<string, IReadOnlyList<string>>();
            for (int i = 0; i < candidates.Count; i++)
            {
                await slices.Next(i, candidates.Count, "loading");
                if (finder.MissingScripts(candidates[i]) is { Count: > 0 } missing) found[candidates[i]] = missing;
            }
            return found;
        }

        private static bool Ends(string path, string extension) => path.EndsWith(extension, StringComparison.OrdinalIgnoreCase);

        private static string SaidOfReferences(string target, IToolContext context)
        {
            List<string> unsaved = context.Get<ISceneFiles>().Open().Where(s => s.IsDirty).Select(s => s.Path.Length > 0 ? s.Path : "a scene without a file").ToList();
            return $". References to {target} were read from the saved files: not those that code makes by a name" + (unsaved.Count == 0 ? ""
                : $", and not the unsaved changes of {string.Join(", ", unsaved.Take(Limits.NamedScenes))}, which find-game-objects reads");
        }
    }
}
