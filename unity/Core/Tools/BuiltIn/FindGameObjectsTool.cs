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

        /// <summary>Maximum number of results.</summary>
        [Description("The first so many")]
        public int MaxResults { get; set; } = 20;

        /// <summary>Whether to return the properties of components' base types.</summary>
        [Description("With the properties of components' base types")]
        public bool IncludeInheritedProperties { get; set; }
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

        /// <summary>The component's properties.</summary>
        [JsonProperty("properties")]
        public IReadOnlyList<ComponentPropertyInfo> Properties { get; set; } = Array.Empty<ComponentPropertyInfo>();

        /// <summary>Whether properties beyond <see cref="Limits.ComponentProperties"/> were left out.</summary>
        [JsonProperty("propertiesCut", DefaultValueHandling = DefaultValueHandling.Ignore)]
        public bool PropertiesCut { get; set; }

        /// <summary>Reads a component.</summary>
        public static ComponentInfo Of(ISceneComponent component, bool inherited)
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
    }

    /// <summary>Result of <see cref="FindGameObjectsTool"/>.</summary>
    internal sealed class FindGameObjectsResponse : BaseToolResponse
    {
        /// <summary>The objects that match, in the order of the hierarchy.</summary>
        [JsonProperty("results")]
        public IReadOnlyList<FindGameObjectResult> Results { get; set; } = Array.Empty<FindGameObjectResult>();

        /// <summary>Number of objects that match, including those that are not in the results.</summary>
        [JsonProperty("totalFound")]
        public int TotalFound { get; set; }

        /// <summary>Why the search or the results are incomplete; empty if they are complete.</summary>
        [JsonProperty("errorMessage")]
        public string ErrorMessage { get; set; } = "";
    }

    /// <summary>Finds GameObjects in the open scenes.</summary>
    [McpTool(
        Description = "Finds GameObjects in the open scenes by name, path, regular expression, components, tag or layer, and reads " +
            "their components with the properties' values",
        Title = "Find GameObjects", ReadOnly = true, Parallel = true)]
    internal sealed class FindGameObjectsTool : AbstractUnityTool<FindGameObjectsSchema, FindGameObjectsResponse>
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
            Components = spot.Node.Components.Select(c => ComponentInfo.Of(c, inherited)).ToList()
        };
    }
}
