#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="InspectTool"/>.</summary>
    internal sealed class InspectSchema : BaseToolSchema
    {
        /// <summary>Which object.</summary>
        [McpRequired]
        [Description("The object: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The components of a GameObject that are read.</summary>
        [Description("Types of components that are read, such as Rigidbody; empty: all")]
        public string[] Components { get; set; } = Array.Empty<string>();

        /// <summary>Whether the import settings are read.</summary>
        [Description("Read its import settings")]
        public bool Importer { get; set; }

        /// <summary>Whether to include properties that the inspector does not show.</summary>
        [Description("Include what Unity's inspector hides")]
        public bool IncludeHidden { get; set; }
    }

    /// <summary>Result of <see cref="InspectTool"/>.</summary>
    internal sealed class InspectResponse : BaseToolResponse
    {
        /// <summary>The object's GlobalObjectId, which stays the same in later sessions; empty if it has none, as in a scene that was
        /// never saved.</summary>
        public string GlobalId { get; set; } = "";

        /// <summary>The id in this session; empty for an asset.</summary>
        public string Id { get; set; } = "";

        /// <summary>Name of the object.</summary>
        public string Name { get; set; } = "";

        /// <summary>Name of the object's type with the namespace.</summary>
        public string Type { get; set; } = "";

        /// <summary>The path in the hierarchy; empty if it is not in an open scene.</summary>
        public string Path { get; set; } = "";

        /// <summary>The asset that it is, or the part of one, such as Assets/Hero.png#Hero_3; empty for an object of a scene.</summary>
        public string AssetPath { get; set; } = "";

        /// <summary>Whether the GameObject itself is switched on; null if it is none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public bool? ActiveSelf { get; set; }

        /// <summary>Whether the GameObject and all its parents are switched on; null if it is none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public bool? ActiveInHierarchy { get; set; }

        /// <summary>The GameObject's tag; null if it is none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public string? Tag { get; set; }

        /// <summary>Name of the GameObject's layer; null if it is none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public string? Layer { get; set; }

        /// <summary>Names of the GameObject's children; null if it is none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<string>? Children { get; set; }

        /// <summary>The components of a GameObject; of every other object one entry, which has its own properties.</summary>
        public IReadOnlyList<ComponentInfo> Components { get; set; } = Array.Empty<ComponentInfo>();

        /// <summary>The other objects in an asset's file, at most <see cref="Limits.AssetParts"/>, such as the sprites of a texture; null if
        /// there are none.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<PartInfo>? Parts { get; set; }

        /// <summary>What was left out, and why; empty if nothing was.</summary>
        public string Message { get; set; } = "";
    }

    /// <summary>An object in an asset's file.</summary>
    internal sealed class PartInfo
    {
        /// <summary>Its name, which follows the asset's path and '#'.</summary>
        public string Name { get; set; } = "";

        /// <summary>Name of its type.</summary>
        public string Type { get; set; } = "";
    }

    /// <summary>Reads one object.</summary>
    [McpTool(
        Description = "Reads one object with all values that the inspector shows: a GameObject with its components, a component, or an asset " +
            "such as a material, with its Parts, or settings (ProjectSettings/TagManager.asset). Of a list it shows 32 items. Example: {\"Object\": \"World/Player\", \"Components\": [\"Transform\"]}",
        Title = "Inspect", ReadOnly = true, Parallel = true)]
    internal sealed class InspectTool : AbstractUnityTool<InspectSchema, InspectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "inspect";

        /// <inheritdoc/>
        protected override Task<InspectResponse> ExecuteAsync(InspectSchema parameters, IToolContext context)
        {
            FoundObject found = parameters.Importer ? ObjectFinder.Importer(context, parameters.Object, "Object") : ObjectFinder.Find(context, parameters.Object, "Object");
            ObjectInfo about = ObjectInfo.Of(found);
            InspectResponse response = found.Node is { } node ? Describe(node, parameters) : new InspectResponse
            {
                Components = new[] { ComponentInfo.Of(found.View, parameters.IncludeHidden) }
            };
            (response.GlobalId, response.Id, response.Name, response.Type) = (about.GlobalId, about.Id, about.Name, about.Type);
            (response.Path, response.AssetPath) = (about.Path, about.AssetPath);
            if (found.AssetPath.Length > 0 && !found.IsPart && !found.IsImporter) ListParts(context.Get<IObjects>().Parts(found.AssetPath), response);
            return Task.FromResult(response);
        }

        // The GameObjects and components of a prefab are what the hierarchy shows.
        private static void ListParts(IReadOnlyList<FoundObject> all, InspectResponse response)
        {
            List<FoundObject> parts = all.Where(p => p.IsPart && p.Node == null && p.Owner == null).ToList();
            if (parts.Count == 0) return;
            response.Parts = parts.Take(Limits.AssetParts).Select(p => new PartInfo { Name = p.Name, Type = p.View.IsMissing ? "" : p.View.TypeName }).ToList();
            if (parts.Count > Limits.AssetParts) response.Message = $"The first {Limits.AssetParts} of {parts.Count} parts are listed";
        }

        private static InspectResponse Describe(ISceneNode node, InspectSchema parameters)
        {
            string[] names = parameters.Components;
            List<ISceneComponent> components =
                node.Components.Where(c => names.Length == 0 || (!c.IsMissing && names.Any(c.IsA))).ToList();
            if (names.Length > 0 && components.Count == 0)
            {
                throw new ToolParameterException($"{node.Name} has no component {string.Join(", ", names)} (Components); it has " +
                    string.Join(", ", node.Components.Select(SceneWalk.NameOf)));
            }
            var response = new InspectResponse
            {
                ActiveSelf = node.ActiveSelf, ActiveInHierarchy = node.ActiveInHierarchy, Tag = node.Tag, Layer = node.LayerName,
                Children = node.Children.Take(Limits.ChildNames).Select(c => c.Name).ToList()
            };
            var read = new List<ComponentInfo>();
            long room = Limits.ResultText;
            foreach (ISceneComponent component in components)
            {
                ComponentInfo one = ComponentInfo.Of(component, parameters.IncludeHidden);
                room -= Json.Write(one).Length;
                if (room < 0)
                {
                    response.Message = "The answer would have been too long; name fewer components";
                    break;
                }
                read.Add(one);
            }
            response.Components = read;
            return response;
        }
    }
}
