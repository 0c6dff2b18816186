#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>What <see cref="EditComponentTool"/> does.</summary>
    internal enum ComponentAction
    {
        /// <summary>Adds a component.</summary>
        Add,

        /// <summary>Sets properties.</summary>
        Set
    }

    /// <summary>Parameters of <see cref="EditComponentTool"/>.</summary>
    internal sealed class EditComponentSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Add a component to a GameObject, or Set properties of a component or an asset")]
        public ComponentAction Action { get; set; }

        /// <summary>Which object.</summary>
        [McpRequired]
        [Description("The GameObject or asset: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The component's type.</summary>
        [Description("The component's type, such as Rigidbody; for an asset none")]
        public string Component { get; set; } = "";

        /// <summary>Which of several components of the type.</summary>
        [Description("Set: which of several components of this type, from 0")]
        public int Index { get; set; }

        /// <summary>The values by the property's path.</summary>
        [Description("Values by the property's path as inspect shows it, such as {\"m_Mass\": 2, \"m_Size.x\": 1, \"target\": \"World/Player\"}. " +
            "A structure takes an object or a list of its parts; a list replaces the whole list (at most 256 values in all); a reference takes a path or an id. " +
            "[SerializeReference] values cannot be set")]
        public JObject Properties { get; set; } = new();
    }

    /// <summary>Adds components, and sets properties.</summary>
    [McpTool(
        Description = "Adds a component to a GameObject, or sets serialised properties of a component or an asset, all or none. The user can undo it. " +
            "Example: {\"Action\": \"Add\", \"Object\": \"World/Player\", \"Component\": \"Rigidbody\", \"Properties\": {\"m_Mass\": 2}}",
        Title = "Edit component", Destructive = false)]
    internal sealed class EditComponentTool : AbstractUnityTool<EditComponentSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "edit-component";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(EditComponentSchema parameters, IToolContext context)
        {
            return Task.FromResult(parameters.Action == ComponentAction.Add ? Add(parameters, context) : Set(parameters, context));
        }

        private static ObjectResponse Add(EditComponentSchema parameters, IToolContext context)
        {
            FoundObject one = ObjectFinder.GameObject(context, parameters.Object, "Object");
            IObjectEditor editor = context.Get<IObjectEditor>();
            string type = TypeNames.One(parameters.Component, editor.ComponentTypes, "component", "Component");
            return UndoStep.Run(context, "Add " + parameters.Component, () =>
            {
                ISceneComponent made = editor.AddComponent(one, type) ?? throw new ChangeRefusedException(
                    $"Unity does not add {type} to {one.Name}; there may be one already, or another component forbids it. get-logs may tell why");
                Set(editor, made, parameters.Properties, context);
                return (one, $"Added {type} to {one.Node!.Path}");
            });
        }

        private static ObjectResponse Set(EditComponentSchema parameters, IToolContext context)
        {
            if (parameters.Properties.Count == 0) throw new ToolParameterException("Properties is empty");
            FoundObject one = ObjectFinder.Find(context, parameters.Object, "Object");
            if (one.AssetPath.StartsWith("Packages/", StringComparison.Ordinal))
            {
                throw new ToolParameterException("Assets of packages are not changed; copy it below Assets/ first (Object)");
            }
            ISceneComponent target = one.View;
            if (one.Owner != null)
            {
                if (parameters.Component.Length > 0 && !target.IsA(parameters.Component)) throw new ToolParameterException($"{parameters.Object} is no {parameters.Component} (Component)");
            }
            else if (one.Node != null) target = Components.Of(ObjectFinder.GameObject(context, parameters.Object, "Object"), parameters.Component, parameters.Index);
            else if (parameters.Component.Length > 0) throw new ToolParameterException($"{parameters.Object} is no GameObject, so it has no components (Component)");
            bool isAsset = one.AssetPath.Length > 0;
            Func<IToolContext, string, Func<(FoundObject?, string)>, ObjectResponse> step = isAsset ? UndoStep.OfAsset : UndoStep.Run;
            return step(context, "Set " + one.Name, () =>
            {
                Set(context.Get<IObjectEditor>(), target, parameters.Properties, context);
                if (isAsset) context.Get<IAssets>().Save(one);
                return (one, $"Set {string.Join(", ", parameters.Properties.Properties().Select(p => p.Name))} of {one.Name}");
            });
        }

        private static void Set(IObjectEditor editor, ISceneComponent target, JObject values, IToolContext context)
        {
            if (values.Count > 0) editor.Set(target, values, name => ObjectFinder.Find(context, name, "Properties"));
        }
    }

    /// <summary>Parameters of <see cref="RemoveComponentTool"/>.</summary>
    internal sealed class RemoveComponentSchema : BaseToolSchema
    {
        /// <summary>Which object.</summary>
        [McpRequired]
        [Description("The GameObject: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The component's type.</summary>
        [McpRequired]
        [Description("The component's type, such as Rigidbody")]
        public string Component { get; set; } = "";

        /// <summary>Which of several components of the type.</summary>
        [Description("Which of several components of this type, from 0")]
        public int Index { get; set; }
    }

    /// <summary>Removes a component.</summary>
    [McpTool(
        Description = "Removes a component from a GameObject. The user can undo it. Example: {\"Object\": \"World/Player\", \"Component\": \"Rigidbody\"}",
        Title = "Remove component")]
    internal sealed class RemoveComponentTool : AbstractUnityTool<RemoveComponentSchema, ObjectResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "remove-component";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(RemoveComponentSchema parameters, IToolContext context)
        {
            FoundObject one = ObjectFinder.GameObject(context, parameters.Object, "Object");
            ISceneComponent removed = Components.Of(one, parameters.Component, parameters.Index);
            if (removed.IsA("Transform")) throw new ToolParameterException("Every GameObject has a Transform; it cannot be removed (Component)");
            string type = removed.FullTypeName;
            return Task.FromResult(UndoStep.Run(context, "Remove " + removed.TypeName, () => context.Get<IObjectEditor>().RemoveComponent(one, removed)
                ? (one, $"Removed {type} from {one.Node!.Path}")
                : throw new ChangeRefusedException($"Unity does not remove {type}; another component may need it. get-logs may tell which")));
        }
    }

    /// <summary>Finds components.</summary>
    internal static class Components
    {
        /// <summary>Returns a component of a GameObject.</summary>
        /// <exception cref="ToolParameterException">It does not have it.</exception>
        public static ISceneComponent Of(FoundObject one, string type, int index)
        {
            if (type.Length == 0) throw new ToolParameterException("Component is missing");
            List<ISceneComponent> all = one.Node!.Components.ToList();
            List<ISceneComponent> found = all.Where(c => !c.IsMissing && c.IsA(type)).ToList();
            if (index >= 0 && index < found.Count) return found[index];
            throw new ToolParameterException(found.Count == 0
                ? $"{one.Name} has no component {type} (Component); it has {string.Join(", ", all.Select(SceneWalk.NameOf))}"
                : $"{one.Name} has {found.Count} of {type}, counted from 0 (Index)");
        }
    }
}
