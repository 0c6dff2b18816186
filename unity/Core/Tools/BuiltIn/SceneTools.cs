#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="ListScenesTool"/>.</summary>
    internal sealed class ListScenesSchema : BaseToolSchema
    {
    }

    /// <summary>Result of <see cref="ListScenesTool"/>.</summary>
    internal sealed class ListScenesResponse : BaseToolResponse
    {
        /// <summary>The open scenes, in the order of the hierarchy window.</summary>
        public IReadOnlyList<SceneFile> OpenScenes { get; set; } = Array.Empty<SceneFile>();

        /// <summary>The scene files of the project, at most <see cref="Limits.ScenePaths"/>.</summary>
        public IReadOnlyList<string> ProjectScenes { get; set; } = Array.Empty<string>();

        /// <summary>Number of scene files of the project.</summary>
        public int ProjectSceneCount { get; set; }
    }

    /// <summary>Lists scenes.</summary>
    [McpTool(
        Description = "Lists the open scenes (path, active, unsaved changes) and the scene files of the project",
        Title = "List scenes", ReadOnly = true, Parallel = true)]
    internal sealed class ListScenesTool : AbstractUnityTool<ListScenesSchema, ListScenesResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "list-scenes";

        /// <inheritdoc/>
        protected override Task<ListScenesResponse> ExecuteAsync(ListScenesSchema parameters, IToolContext context)
        {
            ISceneFiles scenes = context.Get<ISceneFiles>();
            IReadOnlyList<string> paths = scenes.InProject();
            return Task.FromResult(new ListScenesResponse
            {
                OpenScenes = scenes.Open(), ProjectSceneCount = paths.Count,
                ProjectScenes = paths.OrderBy(p => p, StringComparer.Ordinal).Take(Limits.ScenePaths).ToList()
            });
        }
    }

    /// <summary>What <see cref="SceneTool"/> does.</summary>
    internal enum SceneAction
    {
        /// <summary>Opens a scene.</summary>
        Open,

        /// <summary>Creates a scene and saves it.</summary>
        Create,

        /// <summary>Saves a scene, or all.</summary>
        Save,

        /// <summary>Closes a scene.</summary>
        Close,

        /// <summary>Reads a scene from its file again.</summary>
        Discard,

        /// <summary>Makes an open scene the one that gets new objects.</summary>
        Activate
    }

    /// <summary>Parameters of <see cref="SceneTool"/>.</summary>
    internal sealed class SceneSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Open, Create, Save, Close, Discard (drop unsaved changes), or Activate (make it the one that gets new objects)")]
        public SceneAction Action { get; set; }

        /// <summary>The scene's file.</summary>
        [Description("The scene's file, such as Assets/Scenes/Level1.unity. Save without it saves every open scene; Save with a new file " +
            "saves the active scene there")]
        public string Path { get; set; } = "";

        /// <summary>Whether Open and Create leave the open scenes open.</summary>
        [Description("Open and Create: leave the open scenes open")]
        public bool Additive { get; set; }

        /// <summary>Whether Create leaves out camera and light.</summary>
        [Description("Create: without camera and light")]
        public bool Empty { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>Result of <see cref="SceneTool"/>.</summary>
    internal sealed class SceneResponse : BaseToolResponse
    {
        /// <summary>Whether it was done. If false, nothing was changed, unless the message says otherwise.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The scenes that are open now.</summary>
        public IReadOnlyList<SceneFile> OpenScenes { get; set; } = Array.Empty<SceneFile>();
    }

    /// <summary>
    /// Opens, creates, saves and closes scenes. It discards unsaved changes only if this is asked for, never replaces another file, and
    /// never lets Unity ask the user.
    /// </summary>
    [McpTool(
        Description = "Opens, creates, saves, closes or activates a scene. Only Discard drops unsaved changes. " +
            "Example: {\"Action\": \"Open\", \"Path\": \"Assets/Scenes/Level1.unity\"}",
        Title = "Scene")]
    internal sealed class SceneTool : AbstractUnityTool<SceneSchema, SceneResponse>
    {
        public const string UnsavedPrefab = "A prefab with unsaved changes is open, and Unity would ask about it; call prefabs with Save, or with Close and Discard";

        private const string Ending = ".unity";

        /// <inheritdoc/>
        public override string ToolName => "scene";

        /// <inheritdoc/>
        protected override Task<SceneResponse> ExecuteAsync(SceneSchema parameters, IToolContext context)
        {
            try
            {
                return Act(parameters, context);
            }
            catch (Exception e) when (UndoStep.Refusal(e) is { } reason)
            {
                return Done(context, false, reason);
            }
        }

        private static Task<SceneResponse> Act(SceneSchema parameters, IToolContext context)
        {
            if (parameters.Path.Length > 0) AssetPaths.Readable(parameters.Path, Ending, "Path");
            if (context.Get<IEditorState>().Read().IsPlaying) return Done(context, false, "The editor is in play mode; leave it first");
            ISceneFiles scenes = context.Get<ISceneFiles>();
            IReadOnlyList<SceneFile> open = scenes.Open();
            if (parameters.Path.Length == 0)
            {
                if (parameters.Action == SceneAction.Save) return SaveAll(scenes, open, context);
                throw new ToolParameterException("Path is missing: the scene's file, such as Assets/Scenes/Level1.unity");
            }
            SceneFile? named = open.FirstOrDefault(s => s.Path == parameters.Path);
            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            if (parameters.Action == SceneAction.Save && named != null && AssetPaths.IsReadOnly(editor, named.Path))
            {
                return Done(context, false, ReadOnly(named));
            }
            // Unity leaves the prefab then, and asks what to do with its changes.
            if (parameters.Action is SceneAction.Open or SceneAction.Create && context.Get<IScenes>().HasDirtyPrefab)
            {
                return Done(context, false, UnsavedPrefab);
            }
            switch (parameters.Action)
            {
                case SceneAction.Save when named != null:
                    return Saved(scenes, named, parameters.Path, context);
                case SceneAction.Save:
                    return RefuseToWrite(parameters.Path, editor) is { } taken
                        ? Done(context, false, taken)
                        : Saved(scenes, open.First(s => s.IsActive), parameters.Path, context);
                case SceneAction.Create:
                    if (RefuseToWrite(parameters.Path, editor) is { } reason) return Done(context, false, reason);
                    if (!parameters.Additive && Unsaved(open) is { } unsaved) return Done(context, false, unsaved);
                    // Unity refuses a second scene beside one that was never saved.
                    if (parameters.Additive && open.Any(s => s.Path.Length == 0)) return Done(context, false, "An open scene was never saved; save it first");
                    scenes.Create(parameters.Empty, parameters.Additive);
                    return scenes.Save(scenes.Open().First(s => s.IsActive), parameters.Path)
                        ? Done(context, true, "Saved " + parameters.Path)
                        : Done(context, false, "The new scene is open, and Unity could not save it; get-logs may tell why");
                case SceneAction.Open:
                    if (named is { IsLoaded: true } && (parameters.Additive || open.Count == 1)) return Done(context, true, "It is open already");
                    // Unity opens no scene of a package that lies outside of the project's folder.
                    if (!AssetPaths.Exists(editor, parameters.Path))
                    {
                        return Done(context, false, $"There is no scene {parameters.Path}; list-scenes has the files");
                    }
                    if (!parameters.Additive && Unsaved(open) is { } dirty) return Done(context, false, dirty);
                    scenes.Load(parameters.Path, parameters.Additive);
                    return Done(context, true, "Opened " + parameters.Path);
            }
            if (named == null) return Done(context, false, $"{parameters.Path} is not open; list-scenes has the open scenes");
            if (parameters.Action == SceneAction.Activate)
            {
                return scenes.Activate(named)
                    ? Done(context, true, "New objects are put into " + parameters.Path)
                    : Done(context, false, "Unity did not make it the active scene; is it loaded?");
            }
            if (parameters.Action == SceneAction.Discard)
            {
                if (!named.IsDirty) return Done(context, true, parameters.Path + " has no unsaved changes; nothing was changed");
                if (!AssetPaths.Exists(editor, named.Path)) return Done(context, false, $"{named.Path} is not there any more, so its scene is all there is; save it");
                return scenes.Reload(named) ? Done(context, true, $"{parameters.Path} is as in its file again; its unsaved changes are gone")
                    : Done(context, false, "Unity did not read it again; get-logs may tell why");
            }
            if (named.IsDirty) return Done(context, false, parameters.Path + " has unsaved changes; save it first, or drop them with Discard");
            if (named.IsLoaded && open.Count(s => s.IsLoaded) == 1) return Done(context, false, "Unity keeps at least one scene open; open another one instead");
            return scenes.Close(named) ? Done(context, true, "Closed " + parameters.Path) : Done(context, false, "Unity did not close it");
        }

        private static Task<SceneResponse> SaveAll(ISceneFiles scenes, IReadOnlyList<SceneFile> open, IToolContext context)
        {
            List<SceneFile> dirty = open.Where(s => s.IsDirty).ToList();
            if (dirty.Count == 0) return Done(context, true, "No open scene has unsaved changes");
            // Unity would ask the user for the file.
            if (dirty.Any(s => s.Path.Length == 0)) return Done(context, false, "An open scene was never saved; name its file in Path");
            if (dirty.Find(s => AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, s.Path)) is { } locked) return Done(context, false, ReadOnly(locked));
            foreach (SceneFile scene in dirty)
            {
                if (!scenes.Save(scene, scene.Path)) return Done(context, false, $"Unity could not save {scene.Path}; scenes before it are saved");
            }
            return Done(context, true, "Saved " + string.Join(", ", dirty.Select(s => s.Path)));
        }

        private static Task<SceneResponse> Saved(ISceneFiles scenes, SceneFile scene, string path, IToolContext context) =>
            scenes.Save(scene, path) ? Done(context, true, "Saved " + path) : Done(context, false, $"Unity could not save {path}; get-logs may tell why");

        private static string? RefuseToWrite(string path, EditorIdentity editor) =>
            AssetPaths.Exists(editor, AssetPaths.Writable(path, Ending, "Path")) ? $"There is a file {path} already; it is not replaced"
            : !AssetPaths.HasFolder(editor, path) ? $"There is no folder for {path}; create it first"
            : null;

        // Unity would ask the user what to do with such a file.
        private static string ReadOnly(SceneFile scene) => $"{scene.Path} is read-only; check it out or make it writable first";

        private static string? Unsaved(IReadOnlyList<SceneFile> open) =>
            open.FirstOrDefault(s => s.IsDirty) is { } dirty
                ? $"{(dirty.Path.Length > 0 ? dirty.Path : "An open scene that was never saved")} has changes that would be lost; save it first"
                : null;

        private static Task<SceneResponse> Done(IToolContext context, bool success, string message) => Task.FromResult(new SceneResponse
        {
            Success = success, Message = message, OpenScenes = context.Get<ISceneFiles>().Open()
        });
    }
}
