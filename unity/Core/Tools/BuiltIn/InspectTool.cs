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
        [Description("The object: a path in the hierarchy (World/Player), an asset's path (Assets/Hero.prefab), a GlobalObjectId, or an " +
            "id that another tool returned")]
        public string Object { get; set; } = "";

        /// <summary>The components of a GameObject that are read.</summary>
        [Description("Types of the GameObject's components that are read, such as Rigidbody; empty: all")]
        public string[] Components { get; set; } = Array.Empty<string>();

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

        /// <summary>The asset that it is or is part of; empty for an object of a scene.</summary>
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

        /// <summary>What was left out, and why; empty if nothing was.</summary>
        public string Message { get; set; } = "";
    }

    /// <summary>Reads one object.</summary>
    [McpTool(
        Description = "Reads one object with all values that the inspector shows: a GameObject with its components, a component, or an asset " +
            "such as a material. Example: {\"Object\": \"World/Player\", \"Components\": [\"Transform\"]}",
        Title = "Inspect", ReadOnly = true, Parallel = true)]
    internal sealed class InspectTool : AbstractUnityTool<InspectSchema, InspectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "inspect";

        /// <inheritdoc/>
        protected override Task<InspectResponse> ExecuteAsync(InspectSchema parameters, IToolContext context)
        {
            string wanted = parameters.Object.Trim();
            if (wanted.Length == 0) throw new ToolParameterException("Object is empty");
            InspectResponse response = IsStable(wanted) ? Stable(wanted, parameters, context) : InScene(wanted, parameters, context);
            return Task.FromResult(response);
        }

        private static bool IsStable(string id) => id.StartsWith("GlobalObjectId_", StringComparison.Ordinal) ||
            id.StartsWith("Assets/", StringComparison.Ordinal) || id.StartsWith("Packages/", StringComparison.Ordinal);

        private static InspectResponse Stable(string id, InspectSchema parameters, IToolContext context)
        {
            FoundObject found = context.Get<IObjects>().Find(id) ??
                throw new ToolParameterException($"There is no object {id} (Object). An object of a scene is found only while the scene is open");
            if (found.Node is { } node) return Describe(node, "", found.GlobalId, found.AssetPath, parameters);
            return new InspectResponse
            {
                GlobalId = found.GlobalId, Name = found.Name, Type = found.View.IsMissing ? "" : found.View.FullTypeName,
                AssetPath = found.AssetPath, Components = new[] { ComponentInfo.Of(found.View, parameters.IncludeHidden) }
            };
        }

        private static InspectResponse InScene(string wanted, InspectSchema parameters, IToolContext context)
        {
            string path = wanted.Trim('/');
            List<SceneSpot> found = SceneWalk.All(context.Get<IScenes>().Open(), true).Take(Limits.SceneNodes)
                .Where(s => s.Node.Id == wanted || s.Path == path).Take(Limits.SameObjects).ToList();
            if (found.Count == 0)
            {
                throw new ToolParameterException($"No open scene has an object {wanted} (Object). A path begins at the root, such as World/Player; " +
                    "find-game-objects finds objects by name");
            }
            if (found.Count > 1)
            {
                throw new ToolParameterException($"Several objects have the path {path} (Object); name one by its id: " +
                    string.Join(", ", found.Select(s => s.Node.Id)) + (found.Count == Limits.SameObjects ? ", ..." : ""));
            }
            return Describe(found[0].Node, found[0].Path, found[0].Node.GlobalId, "", parameters);
        }

        private static InspectResponse Describe(
            ISceneNode node, string path, string globalId, string assetPath, InspectSchema parameters)
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
                GlobalId = globalId, Id = node.Id, Name = node.Name, Type = "UnityEngine.GameObject", Path = path, AssetPath = assetPath,
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
