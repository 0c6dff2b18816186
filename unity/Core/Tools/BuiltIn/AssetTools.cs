#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>What <see cref="EditAssetTool"/> does.</summary>
    internal enum AssetAction
    {
        /// <summary>Creates a folder.</summary>
        CreateFolder,

        /// <summary>Creates a material.</summary>
        CreateMaterial,

        /// <summary>Creates an asset of a ScriptableObject type.</summary>
        CreateScriptableObject,

        /// <summary>Moves or renames.</summary>
        Move,

        /// <summary>Copies.</summary>
        Copy,

        /// <summary>Imports again.</summary>
        Import,

        /// <summary>Imports what was changed outside of Unity.</summary>
        Refresh
    }

    /// <summary>Parameters of <see cref="EditAssetTool"/>.</summary>
    internal sealed class EditAssetSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("CreateFolder, CreateMaterial, CreateScriptableObject, Move (or rename), Copy, Import (one asset again), or Refresh (import what was " +
            "changed outside of Unity)")]
        public AssetAction Action { get; set; }

        /// <summary>The file or folder.</summary>
        [Description("The file or folder, such as Assets/Art/Wall.mat; not for Refresh")]
        public string Path { get; set; } = "";

        /// <summary>Where it is moved or copied to.</summary>
        [Description("Move, Copy: the new path, with the name")]
        public string Destination { get; set; } = "";

        /// <summary>The type or the shader.</summary>
        [Description("CreateScriptableObject: the type. CreateMaterial: the shader; without it the usual one of the project's render pipeline")]
        public string Type { get; set; } = "";

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 120;
    }

    /// <summary>Creates, moves, copies and imports assets. It never replaces a file.</summary>
    [McpTool(
        Description = "Creates folders, materials and ScriptableObjects; moves, copies and imports assets. Never replaces a file; Undo does not cover " +
            "files. Values are set with edit-component. Example: {\"Action\": \"CreateMaterial\", \"Path\": \"Assets/Art/Wall.mat\"}",
        Title = "Edit asset", Destructive = false)]
    internal sealed class EditAssetTool : AbstractUnityTool<EditAssetSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "edit-asset";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(EditAssetSchema parameters, IToolContext context)
        {
            IAssets assets = context.Get<IAssets>();
            string path = parameters.Path.TrimEnd('/');
            try
            {
                switch (parameters.Action)
                {
                    case AssetAction.Refresh:
                        if (path.Length > 0) throw new ToolParameterException("Refresh imports everything that has changed; to import one asset use Import (Path)");
                        assets.Refresh();
                        return Done(context, "", "Imported what had changed; changed scripts are compiled now, see compile");
                    case AssetAction.Import:
                        AssetPaths.Readable(path, "", "Path");
                        if (assets.TypeOf(path).Length == 0) throw new ToolParameterException($"There is no asset {path} (Path)");
                        assets.Import(path);
                        return Done(context, path, "Imported " + path);
                    case AssetAction.CreateFolder:
                        New(context, path, "", "Path");
                        if (!assets.CreateFolder(path)) throw new ChangeRefusedException($"Unity could not create {path}; get-logs may tell why");
                        return Done(context, path, "Created " + path);
                    case AssetAction.CreateMaterial:
                        New(context, path, ".mat", "Path");
                        if (!assets.CreateMaterial(path, parameters.Type)) throw new ToolParameterException($"There is no shader {parameters.Type} (Type), such as Standard");
                        return Done(context, path, "Created " + path);
                    case AssetAction.CreateScriptableObject:
                        New(context, path, ".asset", "Path");
                        assets.CreateScriptableObject(path, TypeNames.One(parameters.Type, assets.ScriptableTypes, "ScriptableObject", "Type"));
                        return Done(context, path, "Created " + path);
                    default:
                        string to = parameters.Destination.TrimEnd('/');
                        if (parameters.Action == AssetAction.Move) AssetPaths.Writable(path, "", "Path");
                        else AssetPaths.Readable(path, "", "Path");
                        if (assets.TypeOf(path).Length == 0) throw new ToolParameterException($"There is no asset {path} (Path)");
                        New(context, to, "", "Destination");
                        string? wrong = parameters.Action == AssetAction.Move ? assets.Move(path, to)
                            : assets.Copy(path, to) ? null
                            : "get-logs may tell why";
                        if (wrong != null) throw new ChangeRefusedException($"Unity could not {(parameters.Action == AssetAction.Move ? "move" : "copy")} {path}: {wrong}");
                        return Done(context, to, $"{(parameters.Action == AssetAction.Move ? "Moved" : "Copied")} {path} to {to}");
                }
            }
            catch (Exception e) when (UndoStep.Refusal(e) is { } reason)
            {
                return Task.FromResult(new ObjectResponse { Message = reason });
            }
        }

        private static void New(IToolContext context, string path, string ending, string parameter)
        {
            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            AssetPaths.Writable(path, ending, parameter);
            if (AssetPaths.Exists(editor, path) || AssetPaths.IsFolder(editor, path)) throw new ChangeRefusedException($"There is {path} already; it is not replaced");
            if (!AssetPaths.HasFolder(editor, path)) throw new ChangeRefusedException($"There is no folder for {path}; create it first");
        }

        private static Task<ObjectResponse> Done(IToolContext context, string path, string message) => Task.FromResult(new ObjectResponse
        {
            Success = true, Message = message, Object = path.Length > 0 && context.Get<IObjects>().Find(path) is { } found ? ObjectInfo.Of(found) : null
        });
    }

    /// <summary>Parameters of <see cref="DeleteAssetTool"/>.</summary>
    internal sealed class DeleteAssetSchema : BaseToolSchema
    {
        /// <summary>The file or folder.</summary>
        [McpRequired]
        [Description("The file or folder, such as Assets/Old/Wall.mat")]
        public string Path { get; set; } = "";
    }

    /// <summary>Deletes an asset.</summary>
    [McpTool(
        Description = "Moves an asset, a script or a folder to the trash of the operating system. Undo does not bring it back. Example: {\"Path\": \"Assets/Old\"}",
        Title = "Delete asset", RequiredSecuritySetting = SecuritySettings.AllowDeletingAssets)]
    internal sealed class DeleteAssetTool : AbstractUnityTool<DeleteAssetSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "delete-asset";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(DeleteAssetSchema parameters, IToolContext context)
        {
            string path = parameters.Path.TrimEnd('/');
            AssetPaths.Writable(path, "", "Path");
            IAssets assets = context.Get<IAssets>();
            if (assets.TypeOf(path).Length == 0) throw new ToolParameterException($"There is no asset {path} (Path)");
            string below = path + "/";
            SceneFile? open = context.Get<ISceneFiles>().Open().FirstOrDefault(s => s.Path == path || s.Path.StartsWith(below, StringComparison.Ordinal));
            if (open != null) return Task.FromResult(new ObjectResponse { Message = $"{open.Path} is open; close it first" });
            string prefab = context.Get<IPrefabs>().OpenPath;
            if (prefab == path || prefab.StartsWith(below, StringComparison.Ordinal))
            {
                return Task.FromResult(new ObjectResponse { Message = $"{prefab} is open; close it first, with prefabs" });
            }
            return Task.FromResult(assets.Trash(path)
                ? new ObjectResponse { Success = true, Message = $"Moved {path} to the trash" }
                : new ObjectResponse { Message = $"Unity could not move {path} to the trash; get-logs may tell why" });
        }
    }
}
