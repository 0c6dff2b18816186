#nullable enable
using System;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>What <see cref="EditGameObjectTool"/> does.</summary>
    internal enum GameObjectAction
    {
        /// <summary>Creates a GameObject.</summary>
        Create,

        /// <summary>Copies a GameObject with all that is below it.</summary>
        Duplicate,

        /// <summary>Changes a GameObject.</summary>
        Change
    }

    /// <summary>The shape of a new GameObject: names of Unity's PrimitiveType.</summary>
    internal enum Shape
    {
        /// <summary>No shape.</summary>
        None,

        /// <summary>A cube.</summary>
        Cube,

        /// <summary>A sphere.</summary>
        Sphere,

        /// <summary>A capsule.</summary>
        Capsule,

        /// <summary>A cylinder.</summary>
        Cylinder,

        /// <summary>A plane.</summary>
        Plane,

        /// <summary>A square.</summary>
        Quad
    }

    /// <summary>Parameters of <see cref="EditGameObjectTool"/>.</summary>
    internal sealed class EditGameObjectSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Create, Duplicate (with all that is below it), or Change. Each also sets what else is given")]
        public GameObjectAction Action { get; set; }

        /// <summary>Which object.</summary>
        [Description("Duplicate, Change: the object: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The name.</summary>
        [Description("The (new) name")]
        public string? Name { get; set; }

        /// <summary>The shape of a new object.</summary>
        [Description("Create: a shape with mesh and collider")]
        public Shape Shape { get; set; }

        /// <summary>The object below which it shall be.</summary>
        [Description("The object below which it shall be; \"/\": none; an open scene's file: none, in it. Changing it keeps the place in the world")]
        public string? Parent { get; set; }

        /// <summary>The place among its siblings.</summary>
        [Description("The place among its siblings, from 0")]
        public int? SiblingIndex { get; set; }

        /// <summary>The position.</summary>
        [Description("[x, y, z], relative to the parent")]
        public double[]? Position { get; set; }

        /// <summary>The rotation in degrees.</summary>
        [Description("[x, y, z] in degrees, relative to the parent")]
        public double[]? Rotation { get; set; }

        /// <summary>The scale.</summary>
        [Description("[x, y, z], relative to the parent")]
        public double[]? Scale { get; set; }

        /// <summary>Whether position and rotation are those of the world.</summary>
        [Description("Position and Rotation are those in the world")]
        public bool InWorld { get; set; }

        /// <summary>Whether it is switched on.</summary>
        [Description("Whether it is active")]
        public bool? Active { get; set; }

        /// <summary>The tag.</summary>
        [Description("A tag; editor-state lists them")]
        public string? Tag { get; set; }

        /// <summary>The layer.</summary>
        [Description("Name of a layer; editor-state lists them")]
        public string? Layer { get; set; }
    }

    /// <summary>Creates, copies and changes GameObjects.</summary>
    [McpTool(
        Description = "Creates, duplicates or changes a GameObject: name, parent, transform, active, tag, layer. The user can undo it. " +
            "Example: {\"Action\": \"Create\", \"Name\": \"Wall\", \"Shape\": \"Cube\", \"Parent\": \"World\", \"Position\": [0, 1, 0]}",
        Title = "Edit GameObject", Destructive = false)]
    internal sealed class EditGameObjectTool : AbstractUnityTool<EditGameObjectSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "edit-game-object";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(EditGameObjectSchema parameters, IToolContext context)
        {
            bool creates = parameters.Action == GameObjectAction.Create;
            if (creates && string.IsNullOrWhiteSpace(parameters.Name)) throw new ToolParameterException("Name is missing");
            if (creates && parameters.Object.Length > 0) throw new ToolParameterException("Object is for Duplicate and Change; where a new object shall be is Parent");
            if (!creates && parameters.Shape != Shape.None) throw new ToolParameterException("Shape is for Create only");
            ObjectChange change = Checked(parameters, context);
            FoundObject? one = creates ? null : ObjectFinder.Anywhere(context, parameters.Object, "Object");
            bool moves = !string.IsNullOrEmpty(parameters.Parent);
            string? scene = moves ? Scene(parameters.Parent!.Trim(), context) : null;
            FoundObject? parent = moves && scene == null && parameters.Parent != "/" ? ObjectFinder.Anywhere(context, parameters.Parent!, "Parent") : null;
            if (one?.AssetPath.Length > 0)
            {
                if (parameters.Parent == "/" || scene != null) throw new ToolParameterException("Everything in a prefab lies below its root (Parent)");
                if (one.Inside.Length == 0) CheckRoot(parameters, one.Node!, moves);
            }
            if (OpenPrefab.Root(context) is { } root)
            {
                if (parameters.Parent == "/" || scene != null) throw new ToolParameterException($"Everything in a prefab lies below its root, {root.Name} (Parent)");
                if (one?.Node!.Id == root.Id) CheckRoot(parameters, root, moves);
            }
            if (parent != null && parameters.Action == GameObjectAction.Change && context.Get<IObjectEditor>().Contains(one!, parent))
            {
                throw new ToolParameterException($"{parameters.Parent} lies below {parameters.Object} itself (Parent)");
            }
            return Task.FromResult(Workplace.Run(context, $"{parameters.Action} {parameters.Name ?? one!.Name}", new[] { one, parent }, place =>
            {
                IObjectEditor editor = place.Editor;
                FoundObject? below = parent == null ? null : place.Here(parent);
                FoundObject made = parameters.Action switch
                {
                    GameObjectAction.Create => editor.Create(parameters.Name!, parameters.Shape == Shape.None ? "" : parameters.Shape.ToString(), below),
                    GameObjectAction.Duplicate => editor.Duplicate(place.Here(one!)),
                    _ => place.Here(one!)
                };
                MoveResult move = scene != null ? editor.MoveToScene(made, scene) : moves && !creates ? editor.Reparent(made, below) : MoveResult.WasThere;
                if (move == MoveResult.Refused)
                {
                    throw new ChangeRefusedException($"Unity does not move {made.Name} there. A part of a prefab's instance is moved in the prefab itself: open it with prefabs");
                }
                if (!editor.Change(made, change) && move == MoveResult.WasThere && parameters.Action == GameObjectAction.Change)
                {
                    throw new UnchangedException(one!, $"{one!.Name} was like this already; nothing was changed");
                }
                // Its name and its place have changed.
                made = context.Get<IObjects>().Of(made.Node!);
                return (made, $"{parameters.Action}d {place.NameOf(made)}".Replace("Duplicated", "Duplicated as") + (scene == null ? ""
                    : $" in {scene}" + (creates ? "" : ". References between objects of two scenes are lost when they are saved")));
            }));
        }

        private static void CheckRoot(EditGameObjectSchema parameters, ISceneNode root, bool moves)
        {
            if (parameters.Name != null && parameters.Name != root.Name)
            {
                throw new ToolParameterException("The root of a prefab has the name of its file. Close the prefab, then rename the file with edit-asset, Move (Name)");
            }
            if (moves || parameters.Action == GameObjectAction.Duplicate) throw new ToolParameterException("The root of a prefab can be neither moved nor duplicated (Object)");
        }

        // An open scene, by its file. Whatever else ends like this is the name of an object.
        private static string? Scene(string parent, IToolContext context)
        {
            if (!parent.EndsWith(".unity", StringComparison.Ordinal)) return null;
            SceneFile? open = context.Get<ISceneFiles>().Open().FirstOrDefault(s => s.Path == parent);
            return open is { IsLoaded: true } ? open.Path
                : parent.StartsWith("Assets/", StringComparison.Ordinal) ? throw new ToolParameterException($"{parent} is not open; list-scenes has the open scenes (Parent)")
                : null;
        }

        private static ObjectChange Checked(EditGameObjectSchema given, IToolContext context)
        {
            CheckName(given.Name);
            ProjectFacts project = context.Get<IProjectFacts>().Read();
            if (given.Tag is { } tag && !project.Tags.Contains(tag)) throw Unknown("tag", tag, "Tag", project.Tags);
            if (given.Layer is { } layer && !project.Layers.Contains(layer)) throw Unknown("layer", layer, "Layer", project.Layers);
            if (given.SiblingIndex < 0) throw new ToolParameterException("SiblingIndex must not be negative");
            return new ObjectChange
            {
                Name = given.Action == GameObjectAction.Create ? null : given.Name, Active = given.Active, Tag = given.Tag, Layer = given.Layer,
                Index = given.SiblingIndex, InWorld = given.InWorld, Position = Three(given.Position, "Position"),
                Rotation = Three(given.Rotation, "Rotation"), Scale = Three(given.Scale, "Scale")
            };
        }

        /// <exception cref="ToolParameterException">No object may have this name.</exception>
        internal static void CheckName(string? name)
        {
            if (name != null && (name.Trim().Length == 0 || name.Length > Limits.Name || name.Any(char.IsControl)))
            {
                throw new ToolParameterException($"Name must have 1 to {Limits.Name} characters, and no control characters");
            }
        }

        private static ToolParameterException Unknown(string what, string value, string parameter, System.Collections.Generic.IReadOnlyList<string> known) =>
            new($"The project has no {what} {value} ({parameter}); it has {string.Join(", ", known.Take(Limits.ChildNames))}");

        private static double[]? Three(double[]? given, string parameter) =>
            given == null || (given.Length == 3 && given.All(IsNumber))
                ? given
                : throw new ToolParameterException($"{parameter} must be three numbers, such as [0, 1.5, 0]");

        /// <summary>Whether Unity can have it as a number of its own.</summary>
        internal static bool IsNumber(double value) => !float.IsNaN((float)value) && !float.IsInfinity((float)value);
    }

    /// <summary>Parameters of <see cref="DeleteGameObjectTool"/>.</summary>
    internal sealed class DeleteGameObjectSchema : BaseToolSchema
    {
        /// <summary>Which object.</summary>
        [McpRequired]
        [Description("The object: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";
    }

    /// <summary>Deletes a GameObject.</summary>
    [McpTool(
        Description = "Deletes a GameObject with all that is below it. The user can undo it until the scene is closed. Example: {\"Object\": \"World/Wall\"}",
        Title = "Delete GameObject")]
    internal sealed class DeleteGameObjectTool : AbstractUnityTool<DeleteGameObjectSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "delete-game-object";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(DeleteGameObjectSchema parameters, IToolContext context)
        {
            FoundObject one = ObjectFinder.Anywhere(context, parameters.Object, "Object");
            if (OpenPrefab.Root(context)?.Id == one.Node!.Id || (one.AssetPath.Length > 0 && one.Inside.Length == 0)) throw new ToolParameterException("The root of a prefab cannot be deleted; delete the prefab's file (Object)");
            return Task.FromResult(Workplace.Run(context, "Delete " + one.Name, new FoundObject?[] { one }, place =>
            {
                FoundObject deleted = place.Here(one);
                string path = place.NameOf(deleted);
                place.Editor.Delete(deleted);
                return (null, "Deleted " + path);
            }));
        }
    }
}
