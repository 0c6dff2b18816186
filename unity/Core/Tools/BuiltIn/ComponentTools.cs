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
        [Description("Add a component to a GameObject, or Set properties of a component, an asset or settings")]
        public ComponentAction Action { get; set; }

        /// <summary>Which object.</summary>
        [McpRequired]
        [Description("The GameObject or asset: " + ObjectFinder.Names)]
        public string Object { get; set; } = "";

        /// <summary>The component's type.</summary>
        [Description("The component's type, such as Rigidbody; for an asset none")]
        public string Component { get; set; } = "";

        /// <summary>Whether import settings are set.</summary>
        [Description("Set its import settings")]
        public bool Importer { get; set; }

        /// <summary>Which of several components of the type.</summary>
        [Description("Set: which of several, from 0")]
        public int Index { get; set; }

        /// <summary>The values by the property's path.</summary>
        [Description("Values by the property's path as inspect shows it, such as {\"m_Mass\": 2, \"target\": \"World/Player\"}. " +
            "A structure takes an object or a list of its parts. A list replaces the whole list (at most 256 values in all); items[3] is one item; " +
            "{\"$append\": [5], \"$remove\": [0]} changes it. A reference takes a path or an id; a [SerializeReference] field {\"$type\": \"Burn\"} and parts")]
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
            if (parameters.Importer) throw new ToolParameterException("Importer is for Set only");
            FoundObject one = ObjectFinder.Anywhere(context, parameters.Object, "Object");
            string type = TypeNames.One(parameters.Component, context.Get<IObjectEditor>().ComponentTypes, "component", "Component");
            return Workplace.Run(context, "Add " + parameters.Component, new FoundObject?[] { one }, place =>
            {
                FoundObject here = place.Here(one);
                ISceneComponent made = place.Editor.AddComponent(here, type) ?? throw new ChangeRefusedException(
                    $"Unity does not add {type} to {one.Name}; there may be one already, or another component forbids it. get-logs may tell why");
                Set(place, made, parameters.Properties, context);
                return (here, $"Added {type} to {place.NameOf(here)}");
            });
        }

        private static ObjectResponse Set(EditComponentSchema parameters, IToolContext context)
        {
            if (parameters.Properties.Count == 0) throw new ToolParameterException("Properties is empty");
            FoundObject one = parameters.Importer ? ObjectFinder.Importer(context, parameters.Object, "Object") : ObjectFinder.Find(context, parameters.Object, "Object");
            if (one.AssetPath.StartsWith("Packages/", StringComparison.Ordinal))
            {
                throw new ToolParameterException("Assets of packages are not changed; copy it below Assets/ first (Object)");
            }
            ISceneComponent target = one.View;
            if (one.Owner != null)
            {
                if (parameters.Component.Length > 0 && !target.IsA(parameters.Component)) throw new ToolParameterException($"{parameters.Object} is no {parameters.Component} (Component)");
            }
            else if (one.Node != null) target = Components.Of(one, parameters.Component, parameters.Index);
            else if (parameters.Component.Length > 0) throw new ToolParameterException($"{parameters.Object} is no GameObject, so it has no components (Component)");
            if (one.Node != null || one.Owner != null)
            {
                FoundObject component = context.Get<IObjects>().Of(target);
                return Workplace.Run(context, "Set " + one.Name, new FoundObject?[] { component }, place =>
                {
                    string done = Done(one, parameters.Properties, Set(place, place.Here(component).View, parameters.Properties, context));
                    return (place.Here(one), done);
                });
            }
            // Unity would ask the user what to do with such a file.
            string file = one.IsImporter ? one.AssetPath + ".meta" : one.AssetPath;
            if (AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, file)) return new ObjectResponse { Message = $"{file} is read-only; check it out or make it writable first" };
            if (one.IsSettings && context.Get<IBridgeInfo>().Security.Check(SecuritySettings.AllowProjectSettings) is { } denial)
            {
                throw new ToolParameterException(denial.RefusalOf(one.AssetPath + " may not be changed"));
            }
            return UndoStep.OfAsset(context, "Set " + one.Name, () =>
            {
                string done = Done(one, parameters.Properties, context.Get<IObjectEditor>().Set(target, parameters.Properties, name => Asset(context, name)));
                if (one.IsImporter) return Imported(one, done, context);
                return (one, context.Get<IAssets>().Save(one) ? done : done + ", in memory; Unity writes it to its file with File > Save Project");
            });
        }

        // A script of the project may have the last word about how files are imported. What Unity itself notes in lists is nobody's setting.
        private static (FoundObject?, string) Imported(FoundObject one, string done, IToolContext context)
        {
            Dictionary<string, string> Values(FoundObject of) => of.View.Properties(true).ToDictionary(p => p.Name, p => Json.Write(JToken.FromObject(p.Value ?? JValue.CreateNull())));
            Dictionary<string, string> before = Values(one);
            context.Get<IAssets>().ImportSettings(one.AssetPath);
            FoundObject now = context.Get<IObjects>().Importer(one.AssetPath) ?? one;
            List<string> other = Values(now).Where(v => before.TryGetValue(v.Key, out string was) && was != v.Value && v.Value[0] is not ('[' or '{'))
                .Select(v => $"{v.Key} is {v.Value}").Take(Limits.SameObjects).ToList();
            return (now, $"{done}, and imported it" + (other.Count > 0 ? $". The import changed something: {string.Join(", ", other)}" : ""));
        }

        private static string Done(FoundObject one, JObject values, bool changed)
        {
            string names = string.Join(", ", values.Properties().Select(p => p.Name));
            return changed ? $"Set {names} of {one.Name}" : throw new UnchangedException(one, $"{one.Name} had {names} like this already; nothing was changed");
        }

        private static bool Set(Workplace place, ISceneComponent target, JObject values, IToolContext context) =>
            values.Count > 0 && place.Editor.Set(target, values, name => place.Target(context, name));

        private static FoundObject Asset(IToolContext context, string name)
        {
            FoundObject found = ObjectFinder.Find(context, name, "Properties");
            return found.AssetPath.Length > 0 ? found : throw Workplace.InScene(name);
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
        [Description("Which of several, from 0")]
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
            FoundObject one = ObjectFinder.Anywhere(context, parameters.Object, "Object");
            ISceneComponent removed = Components.Of(one, parameters.Component, parameters.Index);
            if (removed.IsA("Transform")) throw new ToolParameterException("Every GameObject has a Transform; it cannot be removed (Component)");
            string type = removed.FullTypeName;
            FoundObject component = context.Get<IObjects>().Of(removed);
            return Task.FromResult(Workplace.Run(context, "Remove " + removed.TypeName, new FoundObject?[] { one }, place => place.Editor.RemoveComponent(place.Here(one), place.Here(component).View)
                ? (place.Here(one), $"Removed {type} from {place.NameOf(place.Here(one))}")
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
