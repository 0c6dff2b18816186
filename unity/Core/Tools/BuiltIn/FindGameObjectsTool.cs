#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>How a name is compared.</summary>
    public enum SearchMode
    {
        /// <summary>It is the name.</summary>
        Exact,

        /// <summary>It is the path from a root on.</summary>
        Path,

        /// <summary>It is a regular expression over the name.</summary>
        Regex,

        /// <summary>It is in the name, whatever its case.</summary>
        Contains
    }

    /// <summary>Parameters of <see cref="FindGameObjectsTool"/>.</summary>
    public sealed class FindGameObjectsSchema : BaseToolSchema
    {
        /// <summary>What to look for.</summary>
        [Description("Name, path, part of a name or regular expression, as SearchMode says; empty: any")]
        public string NamePattern { get; set; } = "";

        /// <summary>How.</summary>
        [Description("Exact (name), Path (from a root, with /), Regex (over the name), Contains (in the name)")]
        public SearchMode SearchMode { get; set; } = SearchMode.Exact;

        /// <summary>Components.</summary>
        [Description("Only with all these components, by type name with or without namespace; base types count")]
        public string[] RequiredComponents { get; set; } = Array.Empty<string>();

        /// <summary>Tag.</summary>
        [Description("Only with this tag; empty: any")]
        public string Tag { get; set; } = "";

        /// <summary>Layer.</summary>
        [Description("Only on this layer, by number; null: any")]
        public int? Layer { get; set; }

        /// <summary>With inactive ones.</summary>
        [Description("With inactive GameObjects and what is below them")]
        public bool IncludeInactive { get; set; }

        /// <summary>Bound.</summary>
        [Description("The first so many")]
        public int MaxResults { get; set; } = 20;

        /// <summary>All properties.</summary>
        [Description("With the properties of components' base types")]
        public bool IncludeInheritedProperties { get; set; }
    }

    /// <summary>A property. Names as uLoopMCP writes them.</summary>
    public sealed class ComponentPropertyInfo
    {
        /// <summary>Its name.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>Its type.</summary>
        [JsonProperty("type")]
        public string Type { get; set; } = "";

        /// <summary>Its value.</summary>
        [JsonProperty("value")]
        public object? Value { get; set; }
    }

    /// <summary>A component.</summary>
    public sealed class ComponentInfo
    {
        /// <summary>Its type's name.</summary>
        [JsonProperty("type")]
        public string Type { get; set; } = "";

        /// <summary>The same with the namespace.</summary>
        [JsonProperty("fullTypeName")]
        public string FullTypeName { get; set; } = "";

        /// <summary>On or off; null where there is no such switch.</summary>
        [JsonProperty("enabled")]
        public bool? Enabled { get; set; }

        /// <summary>Its properties.</summary>
        [JsonProperty("properties")]
        public IReadOnlyList<ComponentPropertyInfo> Properties { get; set; } = Array.Empty<ComponentPropertyInfo>();

        /// <summary>Properties were left out by a bound.</summary>
        [JsonProperty("propertiesCut", DefaultValueHandling = DefaultValueHandling.Ignore)]
        public bool PropertiesCut { get; set; }
    }

    /// <summary>A GameObject that fits.</summary>
    public sealed class FindGameObjectResult
    {
        /// <summary>Its id in this session, a text.</summary>
        [JsonProperty("id")]
        public string Id { get; set; } = "";

        /// <summary>Its name.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>Its path.</summary>
        [JsonProperty("path")]
        public string Path { get; set; } = "";

        /// <summary>Active, with all its parents.</summary>
        [JsonProperty("isActive")]
        public bool IsActive { get; set; }

        /// <summary>Its tag.</summary>
        [JsonProperty("tag")]
        public string Tag { get; set; } = "";

        /// <summary>Its layer.</summary>
        [JsonProperty("layer")]
        public int Layer { get; set; }

        /// <summary>Its layer's name.</summary>
        [JsonProperty("layerName")]
        public string LayerName { get; set; } = "";

        /// <summary>Its components.</summary>
        [JsonProperty("components")]
        public IReadOnlyList<ComponentInfo> Components { get; set; } = Array.Empty<ComponentInfo>();
    }

    /// <summary>Result of <see cref="FindGameObjectsTool"/>.</summary>
    public sealed class FindGameObjectsResponse : BaseToolResponse
    {
        /// <summary>What fits, in the order of the hierarchy.</summary>
        [JsonProperty("results")]
        public IReadOnlyList<FindGameObjectResult> Results { get; set; } = Array.Empty<FindGameObjectResult>();

        /// <summary>How many fit in all.</summary>
        [JsonProperty("totalFound")]
        public int TotalFound { get; set; }

        /// <summary>Empty, or why there are fewer results than there could be.</summary>
        [JsonProperty("errorMessage")]
        public string ErrorMessage { get; set; } = "";
    }

    /// <summary>Finds GameObjects.</summary>
    [McpTool(
        Description = "Finds GameObjects in the open scenes by name, path, regular expression, components, tag or layer, and reads " +
            "their components with the properties' values",
        Title = "Find GameObjects", ReadOnly = true, Parallel = true)]
    public sealed class FindGameObjectsTool : AbstractUnityTool<FindGameObjectsSchema, FindGameObjectsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "find-game-objects";

        /// <inheritdoc/>
        protected override Task<FindGameObjectsResponse> ExecuteAsync(FindGameObjectsSchema parameters, IToolContext context)
        {
            if (parameters.MaxResults < 0) throw new ToolParameterException("MaxResults must not be below 0");
            if (parameters.NamePattern.Length == 0 && parameters.RequiredComponents.Length == 0 && parameters.Tag.Length == 0 &&
                parameters.Layer == null)
            {
                throw new ToolParameterException("Give at least one of NamePattern, RequiredComponents, Tag, Layer");
            }
            bool byPath = parameters.SearchMode == SearchMode.Path;
            string pattern = byPath ? parameters.NamePattern.Trim('/') : parameters.NamePattern;
            var filter = new TextFilter(nameof(parameters.NamePattern), pattern, parameters.SearchMode switch
            {
                SearchMode.Regex => TextMatch.Regex,
                SearchMode.Contains => TextMatch.Contains,
                _ => TextMatch.Exact
            }, parameters.SearchMode == SearchMode.Contains);
            var response = new FindGameObjectsResponse();
            var results = new List<FindGameObjectResult>();
            long room = Limits.ResultText;
            int walked = 0;
            foreach (SceneSpot spot in SceneWalk.All(context.Get<IScenes>().Open(), parameters.IncludeInactive))
            {
                if (++walked > Limits.SceneNodes)
                {
                    response.ErrorMessage = $"There are more than {Limits.SceneNodes} GameObjects; the others were not looked at";
                    break;
                }
                if (!filter.Fits(byPath ? spot.Path : spot.Node.Name) || !Fits(spot.Node, parameters)) continue;
                response.TotalFound++;
                if (results.Count >= parameters.MaxResults || room < 0) continue;
                FindGameObjectResult found = Describe(spot, parameters.IncludeInheritedProperties);
                room -= Json.Write(found).Length;
                if (room >= 0) results.Add(found);
                else response.ErrorMessage = "The answer would have been too long; ask for fewer results at a time";
            }
            response.Results = results;
            return Task.FromResult(response);
        }

        private static bool Fits(ISceneNode node, FindGameObjectsSchema parameters) =>
            (parameters.Tag.Length == 0 || node.Tag == parameters.Tag) &&
            (parameters.Layer == null || node.Layer == parameters.Layer) &&
            parameters.RequiredComponents.All(name => node.Components.Any(c => !c.IsMissing && c.IsA(name)));

        private static FindGameObjectResult Describe(SceneSpot spot, bool inherited) => new()
        {
            Id = spot.Node.Id, Name = spot.Node.Name, Path = spot.Path, IsActive = spot.Node.ActiveInHierarchy, Tag = spot.Node.Tag,
            Layer = spot.Node.Layer, LayerName = spot.Node.LayerName,
            Components = spot.Node.Components.Select(c => Describe(c, inherited)).ToList()
        };

        private static ComponentInfo Describe(ISceneComponent component, bool inherited)
        {
            if (component.IsMissing) return new ComponentInfo { Type = SceneWalk.NameOf(component) };
            List<SceneProperty> properties = component.Properties(inherited).Take(Limits.ComponentProperties + 1).ToList();
            return new ComponentInfo
            {
                Type = component.TypeName, FullTypeName = component.FullTypeName, Enabled = component.Enabled,
                PropertiesCut = properties.Count > Limits.ComponentProperties,
                Properties = properties.Take(Limits.ComponentProperties)
                    .Select(p => new ComponentPropertyInfo { Name = p.Name, Type = p.Type, Value = p.Value }).ToList()
            };
        }
    }
}
