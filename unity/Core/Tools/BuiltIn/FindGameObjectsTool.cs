#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>How the pattern is compared with objects.</summary>
    internal enum SearchMode
    {
        /// <summary>The pattern equals the name.</summary>
        Exact,

        /// <summary>The pattern equals the path from the root.</summary>
        Path,

        /// <summary>The pattern is a regular expression that matches the name.</summary>
        Regex,

        /// <summary>The name contains the pattern, ignoring case.</summary>
        Contains
    }

    /// <summary>Parameters of <see cref="FindGameObjectsTool"/>.</summary>
    internal sealed class FindGameObjectsSchema : BaseToolSchema
    {
        /// <summary>The pattern; empty matches any name.</summary>
        [Description("Name, path, part of a name or regular expression, as SearchMode says; empty: any")]
        public string NamePattern { get; set; } = "";

        /// <summary>How the pattern is compared.</summary>
        [Description("Exact (name), Path (from a root, with /), Regex (over the name), Contains (in the name)")]
        public SearchMode SearchMode { get; set; } = SearchMode.Exact;

        /// <summary>Types of components. An object must have all of them.</summary>
        [Description("Only with all these components, by type name with or without namespace; base types count")]
        public string[] RequiredComponents { get; set; } = Array.Empty<string>();

        /// <summary>Tag that the object must have; empty matches any.</summary>
        [Description("Only with this tag; empty: any")]
        public string Tag { get; set; } = "";

        /// <summary>Number of the layer that the object must be on; null matches any.</summary>
        [Description("Only on this layer, by number; null: any")]
        public int? Layer { get; set; }

        /// <summary>Whether to include inactive objects and their children.</summary>
        [Description("With inactive GameObjects and what is below them")]
        public bool IncludeInactive { get; set; }

        /// <summary>What the object must refer to; empty matches any.</summary>
        [Description("Only what refers to this asset or object, by a property or as an instance of the prefab, inactive ones too; any name that inspect takes")]
        public string ReferencesTo { get; set; } = "";

        /// <summary>Whether the object must lack a script.</summary>
        [Description("Only with a missing script, inactive ones too")]
        public bool MissingScripts { get; set; }

        /// <summary>Maximum number of results.</summary>
        [Description("So many at a time")]
        public int MaxResults { get; set; } = 20;

        /// <summary>Where the results begin; empty for the first.</summary>
        [Description("nextPage of the answer before")]
        public string Page { get; set; } = "";

        /// <summary>Whether to return the values of the components.</summary>
        [Description("With the values of the components")]
        public bool IncludeProperties { get; set; } = true;

        /// <summary>Whether to return the properties of components' base types.</summary>
        [Description("With the properties of components' base types")]
        public bool IncludeInheritedProperties { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>A property of a component. JSON names are uLoopMCP's.</summary>
    internal sealed class ComponentPropertyInfo
    {
        /// <summary>Name of the property.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>Type of the property.</summary>
        [JsonProperty("type")]
        public string Type { get; set; } = "";

        /// <summary>Value of the property.</summary>
        [JsonProperty("value")]
        public object? Value { get; set; }
    }

    /// <summary>A component of a result.</summary>
    internal sealed class ComponentInfo
    {
        /// <summary>Name of the component's type.</summary>
        [JsonProperty("type")]
        public string Type { get; set; } = "";

        /// <summary>Name of the component's type with the namespace.</summary>
        [JsonProperty("fullTypeName")]
        public string FullTypeName { get; set; } = "";

        /// <summary>Whether the component is enabled; null if it has no such switch.</summary>
        [JsonProperty("enabled")]
        public bool? Enabled { get; set; }

        /// <summary>The component's properties; null if they were not asked for.</summary>
        [JsonProperty("properties", NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<ComponentPropertyInfo>? Properties { get; set; }

        /// <summary>Whether properties beyond <see cref="Limits.ComponentProperties"/> were left out.</summary>
        [JsonProperty("propertiesCut", DefaultValueHandling = DefaultValueHandling.Ignore)]
        public bool PropertiesCut { get; set; }

        /// <summary>Reads a component.</summary>
        public static ComponentInfo Of(ISceneComponent component, bool inherited, bool withProperties = true)
        {
            if (component.IsMissing) return new ComponentInfo { Type = SceneWalk.NameOf(component), Properties = Array.Empty<ComponentPropertyInfo>() };
            var info = new ComponentInfo { Type = component.TypeName, FullTypeName = component.FullTypeName, Enabled = component.Enabled };
            if (!withProperties) return info;
            List<SceneProperty> properties = component.Properties(inherited).Take(Limits.ComponentProperties + 1).ToList();
            info.PropertiesCut = properties.Count > Limits.ComponentProperties;
            info.Properties = properties.Take(Limits.ComponentProperties)
                .Select(p => new ComponentPropertyInfo { Name = p.Name, Type = p.Type, Value = p.Value }).ToList();
            return info;
        }
    }

    /// <summary>A GameObject that matches.</summary>
    internal sealed class FindGameObjectResult
    {
        /// <summary>The object's id in this session, as text.</summary>
        [JsonProperty("id")]
        public string Id { get; set; } = "";

        /// <summary>The object's name.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>The object's path from the root.</summary>
        [JsonProperty("path")]
        public string Path { get; set; } = "";

        /// <summary>Whether the object and all its parents are active.</summary>
        [JsonProperty("isActive")]
        public bool IsActive { get; set; }

        /// <summary>The object's tag.</summary>
        [JsonProperty("tag")]
        public string Tag { get; set; } = "";

        /// <summary>Number of the object's layer.</summary>
        [JsonProperty("layer")]
        public int Layer { get; set; }

        /// <summary>Name of the object's layer.</summary>
        [JsonProperty("layerName")]
        public string LayerName { get; set; } = "";

        /// <summary>The object's components.</summary>
        [JsonProperty("components")]
        public IReadOnlyList<ComponentInfo> Components { get; set; } = Array.Empty<ComponentInfo>();

        /// <summary>The first properties that refer to what was asked for; null if nothing was.</summary>
        [JsonProperty("references", NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<ReferenceInfo>? References { get; set; }
    }

    /// <summary>Result of <see cref="FindGameObjectsTool"/>.</summary>
    internal sealed class FindGameObjectsResponse : BaseToolResponse
    {
        /// <summary>The objects that match, in the order of the hierarchy.</summary>
        [JsonProperty("results")]
        public IReadOnlyList<FindGameObjectResult> Results { get; set; } = Array.Empty<FindGameObjectResult>();

        /// <summary>Number of objects that match, on all pages.</summary>
        [JsonProperty("totalFound")]
        public int TotalFound { get; set; }

        /// <summary>Number of objects that were looked at.</summary>
        [JsonProperty("searched")]
        public int Searched { get; set; }

        /// <summary>What <c>Page</c> has to be for the next results; null if there are none.</summary>
        [JsonProperty("nextPage", NullValueHandling = NullValueHandling.Ignore)]
        public string? NextPage { get; set; }

        /// <summary>The first scenes that were not looked at, though they are in the hierarchy; null if there are none.</summary>
        [JsonProperty("notSearched", NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<string>? NotSearched { get; set; }

        /// <summary>Why the search or the results are incomplete; empty if they are complete.</summary>
        [JsonProperty("errorMessage")]
        public string ErrorMessage { get; set; } = "";
    }

    /// <summary>Finds GameObjects in the open scenes.</summary>
    [McpTool(
        Description = "Finds GameObjects in the open scenes by name, path, regular expression, components, tag, layer, by what they refer to, or by a " +
            "missing script, and reads their components with the properties' values. Example: {\"ReferencesTo\": \"Assets/Wall.mat\", " +
            "\"IncludeProperties\": false}",
        Title = "Find GameObjects", ReadOnly = true, Parallel = true)]
    internal sealed class FindGameObjectsTool : AbstractUnityTool<FindGameObjectsSchema, FindGameObjectsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "find-game-objects";

        /// <inheritdoc/>
        protected override async Task<FindGameObjectsResponse> ExecuteAsync(FindGameObjectsSchema parameters, IToolContext context)
        {
            if (parameters.MaxResults < 0) throw new ToolParameterException("MaxResults must not be below 0");
            if (parameters.NamePattern.Length == 0 && parameters.RequiredComponents.Length == 0 && parameters.Tag.Length == 0 &&
                parameters.Layer == null && parameters.ReferencesTo.Length == 0 && !parameters.MissingScripts)
            {
                throw new ToolParameterException("Give at least one of NamePattern, RequiredComponents, Tag, Layer, ReferencesTo, MissingScripts");
            }
            FoundObject? target = parameters.ReferencesTo.Length > 0 ? ObjectFinder.Find(context, parameters.ReferencesTo, "ReferencesTo") : null;
            var response = new FindGameObjectsResponse();
            IFinder finder = context.Get<IFinder>();
            if (finder.HiddenScenes() is { Count: > 0 } hidden) response.NotSearched = hidden.Take(Limits.NamedScenes).ToList();
            List<SceneSpot> found = Fitting(parameters, context, response);
            var references = new Dictionary<string, IReadOnlyList<ReferenceInfo>>();
            if (target != null) found = await Referring(found, target, references, context, response);
            response.TotalFound = found.Count;
            string? unknown = found.Count > 0 ? null : parameters.RequiredComponents.FirstOrDefault(name => !finder.IsComponentType(name));
            if (unknown != null) response.ErrorMessage = $"There is no type of component {unknown} (RequiredComponents)";
            Show(found, references, parameters, response);
            return response;
        }

        private static List<SceneSpot> Fitting(FindGameObjectsSchema parameters, IToolContext context, FindGameObjectsResponse response)
        {
            bool byPath = parameters.SearchMode == SearchMode.Path;
            string pattern = byPath ? parameters.NamePattern.Trim('/') : parameters.NamePattern;
            var filter = new TextFilter(nameof(parameters.NamePattern), pattern, parameters.SearchMode switch
            {
                SearchMode.Regex => TextMatch.Regex,
                SearchMode.Contains => TextMatch.Contains,
                _ => TextMatch.Exact
            }, parameters.SearchMode == SearchMode.Contains);
            var found = new List<SceneSpot>();
            // Whoever asks what refers to an object wants to change or delete it, so nothing may be left out.
            bool intoInactive = parameters.IncludeInactive || parameters.ReferencesTo.Length > 0 || parameters.MissingScripts;
            foreach (SceneSpot spot in SceneWalk.All(context.Get<IScenes>().Open(), intoInactive))
            {
                if (response.Searched == Limits.SceneNodes)
                {
                    response.ErrorMessage = $"There are more than {Limits.SceneNodes} GameObjects; the others were not looked at";
                    break;
                }
                response.Searched++;
                if (filter.Fits(byPath ? spot.Path : spot.Node.Name) && Fits(spot.Node, parameters)) found.Add(spot);
            }
            return found;
        }

        private static bool Fits(ISceneNode node, FindGameObjectsSchema parameters) =>
            (parameters.Tag.Length == 0 || node.Tag == parameters.Tag) &&
            (parameters.Layer == null || node.Layer == parameters.Layer) &&
            parameters.RequiredComponents.All(name => node.Components.Any(c => !c.IsMissing && c.IsA(name))) &&
            (!parameters.MissingScripts || node.Components.Any(c => c.IsMissing));

        // Reading the properties of all components takes long in a large scene.
        private static async Task<List<SceneSpot>> Referring(List<SceneSpot> spots, FoundObject target,
            Dictionary<string, IReadOnlyList<ReferenceInfo>> references, IToolContext context, FindGameObjectsResponse response)
        {
            IFinder finder = context.Get<IFinder>();
            var slices = new FrameSlices(context);
            var found = new List<SceneSpot>();
            bool isCut = false;
            for (int i = 0; i < spots.Count; i++)
            {
                await slices.Next(i, spots.Count, "reading references");
                if (!finder.IsThere(spots[i].Node)) continue;
                IReadOnlyList<ReferenceInfo> own = finder.References(spots[i].Node, target, ref isCut);
                if (own.Count == 0) continue;
                found.Add(spots[i]);
                references[spots[i].Node.Id] = own;
            }
            if (isCut) response.ErrorMessage = $"A component has more than {Limits.SearchedProperties} properties; the others were not looked at";
            return found.Where(spot => finder.IsThere(spot.Node)).ToList();
        }

        private static void Show(List<SceneSpot> found, Dictionary<string, IReadOnlyList<ReferenceInfo>> references,
            FindGameObjectsSchema parameters, FindGameObjectsResponse response)
        {
            int first = 0;
            if (parameters.Page.Length > 0)
            {
                first = found.FindIndex(spot => spot.Node.Id == parameters.Page) + 1;
                if (first == 0) throw new ToolParameterException("The object at which Page ends is not found any more: begin again without Page");
            }
            var results = new List<FindGameObjectResult>();
            long room = Limits.ResultText;
            foreach (SceneSpot spot in found.Skip(first).Take(parameters.MaxResults))
            {
                FindGameObjectResult one = Describe(spot, parameters);
                one.References = references.TryGetValue(one.Id, out IReadOnlyList<ReferenceInfo> own) ? own.Take(Limits.FoundReferences).ToList() : null;
                room -= Json.Write(one).Length;
                if (room < 0)
                {
                    response.ErrorMessage = "The answer would have been too long; ask for fewer results at a time";
                    break;
                }
                results.Add(one);
            }
            response.Results = results;
            if (results.Count > 0 && first + results.Count < found.Count) response.NextPage = results[results.Count - 1].Id;
        }

        private static FindGameObjectResult Describe(SceneSpot spot, FindGameObjectsSchema parameters) => new()
        {
            Id = spot.Node.Id, Name = spot.Node.Name, Path = spot.Path, IsActive = spot.Node.ActiveInHierarchy, Tag = spot.Node.Tag,
            Layer = spot.Node.Layer, LayerName = spot.Node.LayerName,
            Components = spot.Node.Components.Select(c => ComponentInfo.Of(c, parameters.IncludeInheritedProperties, parameters.IncludeProperties)).ToList()
        };
    }
}
