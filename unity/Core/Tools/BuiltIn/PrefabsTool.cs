#nullable enable
using System;
using System.ComponentModel;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>What <see cref="PrefabsTool"/> does.</summary>
    internal enum PrefabAction
    {
        /// <summary>Makes a GameObject a prefab.</summary>
        Create,

        /// <summary>Puts an instance into the scene.</summary>
        Instantiate,

        /// <summary>Opens a prefab for editing.</summary>
        Open,

        /// <summary>Saves the open prefab.</summary>
        Save,

        /// <summary>Closes the open prefab.</summary>
        Close,

        /// <summary>Writes the changes of an instance into its prefab.</summary>
        Apply,

        /// <summary>Takes back the changes of an instance.</summary>
        Revert
    }

    /// <summary>Parameters of <see cref="PrefabsTool"/>.</summary>
    internal sealed class PrefabsSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Create (from Object, to Path), Instantiate (Path, below Parent), Open (Path: its objects then take the place of the scenes), " +
            "Save, Close (Discard drops unsaved changes), Apply (changes of the instance Object to its prefab), Revert (drop them)")]
        public PrefabAction Action { get; set; }

        /// <summary>The prefab's file.</summary>
        [Description("The prefab's file, such as Assets/Prefabs/Wall.prefab")]
        public string Path { get; set; } = "";

        /// <summary>The GameObject.</summary>
        [Description("Create, Apply, Revert: the GameObject: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The object below which an instance is put.</summary>
        [Description("Instantiate: the object below which it shall be, also in a prefab's file")]
        public string Parent { get; set; } = "";

        /// <summary>Whether unsaved changes are dropped.</summary>
        [Description("Close: drop unsaved changes")]
        public bool Discard { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>Works with prefabs. It replaces no file but the one of an applied prefab, and lets Unity ask nothing.</summary>
    [McpTool(
        Description = "Creates, instantiates, opens, saves and closes prefabs, and applies or reverts the changes of an instance. " +
            "Example: {\"Action\": \"Instantiate\", \"Path\": \"Assets/Prefabs/Wall.prefab\", \"Parent\": \"World\"}",
        Title = "Prefabs")]
    internal sealed class PrefabsTool : AbstractUnityTool<PrefabsSchema, ObjectResponse>
    {
        private const string Ending = ".prefab";

        /// <inheritdoc/>
        public override string ToolName => "prefabs";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(PrefabsSchema parameters, IToolContext context)
        {
            IPrefabs prefabs = context.Get<IPrefabs>();
            if (parameters.Discard && parameters.Action != PrefabAction.Close) throw new ToolParameterException("Discard is for Close only");
            return Task.FromResult(parameters.Action switch
            {
                PrefabAction.Create => Create(prefabs, parameters, context),
                PrefabAction.Instantiate => Instantiate(prefabs, parameters, context),
                PrefabAction.Open => Open(prefabs, parameters, context),
                PrefabAction.Save => Save(prefabs, context),
                PrefabAction.Close => Close(prefabs, parameters.Discard, context),
                _ => Merge(prefabs, parameters, context)
            });
        }

        private static ObjectResponse Create(IPrefabs prefabs, PrefabsSchema parameters, IToolContext context)
        {
            string path = AssetPaths.Writable(parameters.Path, Ending, "Path");
            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            FoundObject one = ObjectFinder.GameObject(context, parameters.Object, "Object");
            if (AssetPaths.Exists(editor, path)) return No($"There is a file {path} already; it is not replaced. Apply writes an instance's changes into it");
            if (!AssetPaths.HasFolder(editor, path)) return No($"There is no folder for {path}; create it first");
            return UndoStep.Run(context, "Create prefab " + one.Name, () => prefabs.Create(one, path)
                ? (one, $"Saved {path}; {one.Node!.Path} is an instance of it now")
                : throw new ChangeRefusedException($"Unity could not save {path}; get-logs may tell why"));
        }

        private static ObjectResponse Instantiate(IPrefabs prefabs, PrefabsSchema parameters, IToolContext context)
        {
            FoundObject prefab = Prefab(parameters.Path, context);
            if (prefabs.OpenPath.Length > 0 && prefabs.WouldContainItself(prefab)) return No($"{prefabs.OpenPath} is open, and would contain itself");
            FoundObject? parent = parameters.Parent.Length > 0 ? ObjectFinder.Anywhere(context, parameters.Parent, "Parent") : null;
            if (parent?.AssetPath.Length > 0)
            {
                return Workplace.Run(context, "Instantiate " + prefab.Name, new[] { parent }, place =>
                {
                    FoundObject made = place.Nest(prefab, place.Here(parent)) ?? throw new ChangeRefusedException($"Unity makes no instance of {parameters.Path} there; get-logs may tell why");
                    return (made, $"{place.NameOf(made)} is an instance of {parameters.Path}");
                });
            }
            return UndoStep.Run(context, "Instantiate " + prefab.Name, () =>
            {
                FoundObject made = prefabs.Instantiate(prefab) ?? throw new ChangeRefusedException($"Unity makes no instance of {parameters.Path} here; get-logs may tell why");
                if (parent != null && context.Get<IObjectEditor>().Reparent(made, parent) == MoveResult.Refused) throw new ChangeRefusedException($"Unity does not put it below {parameters.Parent}");
                made = context.Get<IObjects>().Of(made.Node!);
                return (made, $"{made.Node!.Path} is an instance of {parameters.Path}");
            });
        }

        private static ObjectResponse Open(IPrefabs prefabs, PrefabsSchema parameters, IToolContext context)
        {
            Prefab(parameters.Path, context);
            if (prefabs.OpenPath == parameters.Path) return new ObjectResponse { Success = true, Message = "It is open already" };
            if (context.Get<IScenes>().HasDirtyPrefab) return No(SceneTool.UnsavedPrefab);
            if (context.Get<IEditorState>().Read().IsPlaying) return No("The editor is in play mode; leave it first");
            try
            {
                if (!prefabs.Open(parameters.Path)) return No($"Unity could not open {parameters.Path}; get-logs may tell why");
            }
            catch (Exception e) when (UndoStep.Refusal(e) is { } refusal)
            {
                return No(refusal);
            }
            prefabs.StopAutoSave();
            return new ObjectResponse
            {
                Success = true,
                Message = $"Opened {parameters.Path}; tools that name objects by path see this prefab now, until Close. Only Save saves it: Auto Save is off meanwhile"
            };
        }

        private static ObjectResponse Save(IPrefabs prefabs, IToolContext context)
        {
            string path = prefabs.OpenPath;
            if (path.Length == 0) return No("No prefab is open");
            // Unity would ask the user what to do with such a file.
            if (AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, path)) return No($"{path} is read-only; check it out or make it writable first");
            if (prefabs.HasLostParent) return No($"{path} is a variant of a prefab that is gone, so Unity cannot save it; bring that prefab back, or use Close with Discard");
            return prefabs.Save() ? new ObjectResponse { Success = true, Message = "Saved " + path } : No($"Unity could not save {path}; get-logs may tell why");
        }

        private static ObjectResponse Close(IPrefabs prefabs, bool discard, IToolContext context)
        {
            string path = prefabs.OpenPath;
            if (path.Length == 0) return new ObjectResponse { Success = true, Message = "No prefab is open" };
            bool dirty = context.Get<IScenes>().HasDirtyPrefab;
            if (dirty && !discard) return No($"{path} has unsaved changes. Save them, or drop them with Close and Discard");
            prefabs.Close();
            if (prefabs.OpenPath.Length > 0) return No("Unity did not close " + path);
            return new ObjectResponse { Success = true, Message = $"Closed {path}" + (dirty ? ". Its unsaved changes are gone" : "") };
        }

        private static ObjectResponse Merge(IPrefabs prefabs, PrefabsSchema parameters, IToolContext context)
        {
            FoundObject one = ObjectFinder.GameObject(context, parameters.Object, "Object");
            if (prefabs.InstanceRoot(one) is not { } root) return No($"{one.Name} is no instance of a prefab");
            string path = prefabs.PathOf(root);
            bool applies = parameters.Action == PrefabAction.Apply;
            if (applies && !path.StartsWith("Assets/", StringComparison.Ordinal)) return No($"{path} belongs to a package, or is a model; Unity does not change it");
            if (applies && AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, path)) return No($"{path} is read-only; check it out or make it writable first");
            return UndoStep.Run(context, $"{parameters.Action} {root.Name}", () =>
            {
                if (applies) prefabs.Apply(root);
                else prefabs.Revert(root);
                return (root, applies ? $"Wrote the changes of {root.Node!.Path} into {path}" : $"{root.Node!.Path} is as {path} again");
            });
        }

        private static FoundObject Prefab(string path, IToolContext context)
        {
            AssetPaths.Readable(path, Ending, "Path");
            return context.Get<IObjects>().Find(path) is { Node: not null } found
                ? found
                : throw new ToolParameterException($"There is no prefab {path} (Path); find-assets with t:Prefab lists them");
        }

        private static ObjectResponse No(string message) => new() { Message = message };
    }
}
