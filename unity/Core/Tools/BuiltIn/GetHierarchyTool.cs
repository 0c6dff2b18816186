#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="GetHierarchyTool"/>.</summary>
    internal sealed class GetHierarchySchema : BaseToolSchema
    {
        /// <summary>Whether to include inactive objects and their children.</summary>
        [Description("With inactive GameObjects and what is below them")]
        public bool IncludeInactive { get; set; } = true;

        /// <summary>Maximum depth: 0 means only the roots, -1 means no limit.</summary>
        [Description("How deep: 0 are the roots alone, -1 is no bound")]
        public int MaxDepth { get; set; } = -1;

        /// <summary>Path of the object to begin with; empty means all roots.</summary>
        [Description("Only what is below this GameObject, such as Canvas/Panel; empty: everything")]
        public string? RootPath { get; set; }

        /// <summary>Whether to include the names of components.</summary>
        [Description("With the names of components")]
        public bool IncludeComponents { get; set; } = true;

        /// <summary>Size of the JSON in KiB above which the hierarchy is written to a file.</summary>
        [Description("A hierarchy larger than this many KiB of JSON goes to a file, whose path is answered")]
        public int MaxResponseSizeKB { get; set; } = 100;
    }

    /// <summary>A GameObject with its children. JSON names are uLoopMCP's.</summary>
    internal sealed class HierarchyNodeNested
    {
        /// <summary>The object's id in this session. It is text because newer editors have ids of 64 bits.</summary>
        [JsonProperty("id")]
        public string Id { get; set; } = "";

        /// <summary>The object's name.</summary>
        [JsonProperty("name")]
        public string Name { get; set; } = "";

        /// <summary>Number of levels below the object at which the hierarchy begins; 0 for that object.</summary>
        [JsonProperty("depth")]
        public int Depth { get; set; }

        /// <summary>Whether the object and all its parents are active.</summary>
        [JsonProperty("isActive")]
        public bool IsActive { get; set; }

        /// <summary>Names of the object's components.</summary>
        [JsonProperty("components")]
        public IReadOnlyList<string> Components { get; set; } = Array.Empty<string>();

        /// <summary>The object's children.</summary>
        [JsonProperty("children")]
        public List<HierarchyNodeNested> Children { get; set; } = new();

        /// <summary>Whether children were left out because of a limit.</summary>
        [JsonProperty("childrenCut", DefaultValueHandling = DefaultValueHandling.Ignore)]
        public bool ChildrenCut { get; set; }
    }

    /// <summary>Facts about the hierarchy.</summary>
    internal sealed class HierarchyContext
    {
        /// <summary>Kind of the scene: editor, playmode, or prefab.</summary>
        [JsonProperty("sceneType")]
        public string SceneType { get; set; } = "";

        /// <summary>Name of the active scene or of the prefab.</summary>
        [JsonProperty("sceneName")]
        public string SceneName { get; set; } = "";

        /// <summary>Number of GameObjects in the hierarchy.</summary>
        [JsonProperty("nodeCount")]
        public int NodeCount { get; set; }

        /// <summary>Greatest depth in the hierarchy.</summary>
        [JsonProperty("maxDepth")]
        public int MaxDepth { get; set; }

        /// <summary>Names of all open scenes, in order.</summary>
        [JsonProperty("scenes")]
        public IReadOnlyList<string> Scenes { get; set; } = Array.Empty<string>();

        /// <summary>
        /// Whether objects were left out because of <see cref="Limits.SceneNodes"/> or <see cref="Limits.SceneDepth"/>.
        /// </summary>
        [JsonProperty("truncated")]
        public bool Truncated { get; set; }
    }

    /// <summary>Result of <see cref="GetHierarchyTool"/>.</summary>
    internal sealed class GetHierarchyResponse : BaseToolResponse
    {
        /// <summary>The roots; null if the hierarchy is in the file.</summary>
        [JsonProperty("hierarchy")]
        public IReadOnlyList<HierarchyNodeNested>? Hierarchy { get; set; }

        /// <summary>Facts about the hierarchy.</summary>
        [JsonProperty("context")]
        public HierarchyContext Context { get; set; } = new();

        /// <summary>Whether the hierarchy was written to a file.</summary>
        [JsonProperty("hierarchySavedToFile")]
        public bool SavedToFile { get; set; }

        /// <summary>Absolute path of the file; empty if there is none.</summary>
        [JsonProperty("hierarchyFilePath")]
        public string FilePath { get; set; } = "";

        /// <summary>Why the hierarchy was written to a file; empty if there is no file.</summary>
        [JsonProperty("saveToFileReason")]
        public string SaveToFileReason { get; set; } = "";
    }

    /// <summary>Reads the hierarchy of the open scenes.</summary>
    [McpTool(
        Description = "Reads the GameObjects of the open scenes, or of the prefab that is being edited, as a tree with components. " +
            "A large one goes to a JSON file whose path is answered",
        Title = "Get hierarchy", ReadOnly = true, Parallel = true)]
    internal sealed class GetHierarchyTool : AbstractUnityTool<GetHierarchySchema, GetHierarchyResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-hierarchy";

        /// <inheritdoc/>
        protected override Task<GetHierarchyResponse> ExecuteAsync(GetHierarchySchema parameters, IToolContext context)
        {
            if (parameters.MaxDepth < -1) throw new ToolParameterException("MaxDepth must not be below -1");
            if (parameters.MaxResponseSizeKB < 0) throw new ToolParameterException("MaxResponseSizeKB must not be below 0");
            IReadOnlyList<SceneView> scenes = context.Get<IScenes>().Open();
            IEnumerable<ISceneNode> roots = scenes.SelectMany(s => s.Roots);
            if (!string.IsNullOrEmpty(parameters.RootPath))
            {
                roots = new[] { ObjectFinder.Anywhere(context, parameters.RootPath!, "RootPath").Node! };
            }
            SceneView? active = scenes.FirstOrDefault(s => s.IsActive) ?? scenes.FirstOrDefault();
            bool playing = context.Get<IEditorState>().Read().IsPlaying;
            var about = new HierarchyContext
            {
                SceneType = active?.Kind == SceneKind.Prefab ? "prefab" : playing ? "playmode" : "editor",
                SceneName = active?.Name ?? "",
                Scenes = scenes.Select(s => s.Name).ToList()
            };
            var response = new GetHierarchyResponse
            {
                Context = about,
                Hierarchy = roots.Where(r => Wanted(r, parameters)).Select(r => Read(r, 0, parameters, about)).Where(n => n != null)
                    .Select(n => n!).ToList()
            };
            string json = Json.Write(response.Hierarchy);
            int size = Json.Utf8.GetByteCount(json);
            int bound = (int)Math.Min(parameters.MaxResponseSizeKB * 1024L, Limits.ResultText);
            if (size <= bound) return Task.FromResult(response);
            string file = "{\"context\":" + Json.Write(about) + ",\"hierarchy\":" + json + "}";
            response.FilePath = ResultFiles.Write(context.Get<IBridgeInfo>().Editor, "hierarchy", "json", file);
            response.SavedToFile = true;
            response.SaveToFileReason = $"The hierarchy has {size} bytes of JSON, more than {bound}";
            response.Hierarchy = null;
            return Task.FromResult(response);
        }

        private static bool Wanted(ISceneNode node, GetHierarchySchema parameters) => parameters.IncludeInactive || node.ActiveSelf;

        private static HierarchyNodeNested? Read(ISceneNode node, int depth, GetHierarchySchema parameters, HierarchyContext about)
        {
            if (about.NodeCount >= Limits.SceneNodes)
            {
                about.Truncated = true;
                return null;
            }
            about.NodeCount++;
            about.MaxDepth = Math.Max(about.MaxDepth, depth);
            var read = new HierarchyNodeNested
            {
                Id = node.Id, Name = node.Name, Depth = depth, IsActive = node.ActiveInHierarchy,
                Components = parameters.IncludeComponents ? node.Components.Select(SceneWalk.NameOf).ToList() : Array.Empty<string>()
            };
            List<ISceneNode> children = node.Children.Where(c => Wanted(c, parameters)).ToList();
            bool tooDeep = depth >= Limits.SceneDepth;
            if (tooDeep || depth == parameters.MaxDepth)
            {
                read.ChildrenCut = children.Count > 0;
                about.Truncated |= tooDeep && read.ChildrenCut;
                return read;
            }
            foreach (ISceneNode child in children)
            {
                if (Read(child, depth + 1, parameters, about) is { } below) read.Children.Add(below);
                else read.ChildrenCut = true;
            }
            return read;
        }
    }
}
