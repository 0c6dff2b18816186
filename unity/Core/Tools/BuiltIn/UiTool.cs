#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Creates and changes elements of Unity's user interface (uGUI).</summary>
    [McpTool(
        Description = "Creates or changes user interface (Unity UI) that fits every screen: a Canvas that scales, texts, buttons, layout, anchors. The " +
            "user can undo it; screenshot shows it at several Sizes. Example: {\"Kind\": \"Button\", \"Name\": \"Start\", \"Anchor\": \"BottomRight\", \"Position\": [-40, 40], \"Text\": \"Play\"}",
        Title = "Edit UI", Destructive = false)]
    internal sealed class EditUiTool : AbstractUnityTool<EditUiSchema, ObjectResponse>
    {
        private const string BuiltIn = "Resources/unity_builtin_extra";

        // Of the letters on a button, as Unity's menu has it.
        private static readonly double[] Dark = { 0.196, 0.196, 0.196 };

        /// <inheritdoc/>
        public override string ToolName => "edit-ui";

        /// <inheritdoc/>
        protected override Task<ObjectResponse> ExecuteAsync(EditUiSchema parameters, IToolContext context)
        {
            Check(parameters);
            if (context.Get<IObjectEditor>().ComponentTypes(UiRecipe.Raycaster).Count == 0)
            {
                return Task.FromResult(new ObjectResponse { Message = $"This project has no package {UiRecipe.Package} (Unity UI), so nothing was changed; change-packages adds it" });
            }
            return Task.FromResult(
                parameters.Kind == UiKind.EventSystem ? Events(parameters, context)
                : parameters.Kind is { } kind ? Create(kind, parameters, context)
                : Change(parameters, context));
        }

        private static void Check(EditUiSchema given)
        {
            if ((given.Kind == null) == (given.Object.Length == 0)) throw new ToolParameterException("Kind creates an element, and Object names one to change: give one of them");
            if (given.Kind == null && (given.Name != null || given.Parent != null)) throw new ToolParameterException("Name and Parent are for a new element; of one that is there, edit-game-object changes them");
            EditGameObjectTool.CheckName(given.Name);
            Numbers(given.Position, "Position", 2, 2);
            Numbers(given.Size, "Size", 2, 2);
            Numbers(given.Color, "Color", 3, 4);
            Numbers(given.Resolution, "Resolution", 2, 2);
            if (given.Color?.Any(part => part < 0 || part > 1) == true) throw new ToolParameterException("Color has numbers from 0 to 1, such as [1, 0.5, 0]");
            if (given.Resolution?.Any(side => side < 1) == true) throw new ToolParameterException("Resolution has pixels, such as [1920, 1080]");
            if (given.FontSize is { } size && !(size >= 1 && size <= Limits.FontSize)) throw new ToolParameterException($"FontSize is from 1 to {Limits.FontSize}");
            if (given.Spacing is { } spacing && !EditGameObjectTool.IsNumber(spacing)) throw new ToolParameterException("Spacing is too large");
            if (given.Kind is not { } kind) return;
            void Only(bool isGiven, string parameter, params UiKind[] kinds)
            {
                if (isGiven && !kinds.Contains(kind)) throw new ToolParameterException($"{parameter} is for {string.Join(", ", kinds)}, not for {kind}");
            }
            UiKind[] elements = { UiKind.Panel, UiKind.Image, UiKind.Text, UiKind.Button, UiKind.Row, UiKind.Column, UiKind.Grid };
            Only(given.Anchor != null, "Anchor", elements);
            Only(given.Position != null, "Position", elements);
            Only(given.Size != null, "Size", elements);
            Only(given.Text != null, "Text", UiKind.Text, UiKind.Button);
            Only(given.FontSize != null, "FontSize", UiKind.Text, UiKind.Button);
            Only(given.Color != null, "Color", UiKind.Panel, UiKind.Image, UiKind.Text, UiKind.Button);
            Only(given.Spacing != null, "Spacing", UiKind.Row, UiKind.Column, UiKind.Grid);
            Only(given.Resolution != null, "Resolution", UiKind.Canvas);
        }

        private static void Numbers(double[]? given, string parameter, int least, int most)
        {
            if (given != null && (given.Length < least || given.Length > most || !given.All(EditGameObjectTool.IsNumber)))
            {
                throw new ToolParameterException($"{parameter} must be {(least == most ? "two" : "three or four")} numbers");
            }
        }

        private static ObjectResponse Events(EditUiSchema given, IToolContext context)
        {
            var events = new UiEvents(context);
            FoundObject? parent = given.Parent == null ? null : ObjectFinder.Anywhere(context, given.Parent, "Parent");
            if ((parent == null || parent.AssetPath.Length == 0) && events.Present() is { } there)
            {
                FoundObject found = context.Get<IObjects>().Of(there);
                if (events.Fits(there)) return new ObjectResponse { Success = true, Message = $"{there.Path} is there already, and fits this project's input; nothing was changed{events.Lack}", Object = ObjectInfo.Of(found) };
                return Workplace.Run(context, "Change " + there.Name, new FoundObject?[] { found }, place =>
                {
                    events.Mend(place, found);
                    return (found, $"{there.Path} has {events.Module} now, which fits this project's input{events.Lack}");
                });
            }
            return Workplace.Run(context, "Create EventSystem", new[] { parent }, place =>
            {
                FoundObject made = events.Create(place, given.Name ?? "EventSystem", parent == null ? null : place.Here(parent));
                return (made, $"Created {place.NameOf(made)} with {events.Module}{events.Lack}");
            });
        }

        private static ObjectResponse Change(EditUiSchema given, IToolContext context)
        {
            FoundObject one = ObjectFinder.Anywhere(context, given.Object, "Object");
            return Workplace.Run(context, "Change " + one.Name, new FoundObject?[] { one }, place =>
            {
                FoundObject here = place.Here(one);
                CheckArranged(given, place.Editor.ParentOf(here.Node!));
                if (UiParts.Of(here.Node!, UiRecipe.Canvas) != null && Places(given)) throw new ToolParameterException($"{one.Name} is a Canvas, which fills the screen (Anchor, Position, Size)");
                return Set(place, here, given, context) ? (here, "Changed " + place.NameOf(here))
                    : throw new UnchangedException(one, $"{one.Name} was like this already; nothing was changed");
            });
        }

        private static ObjectResponse Create(UiKind kind, EditUiSchema given, IToolContext context)
        {
            FoundObject? parent = given.Parent == null ? null : ObjectFinder.Anywhere(context, given.Parent, "Parent");
            return Workplace.Run(context, $"Create {given.Name ?? kind.ToString()}", new[] { parent }, place =>
            {
                FoundObject? below = parent == null ? null : place.Here(parent);
                bool isPrefab = place.IsFile || OpenPrefab.Root(context) != null;
                string more = "";
                if (kind == UiKind.Canvas)
                {
                    if (below != null && CanvasOf(place, below.Node) is { } outer) throw new ToolParameterException($"{given.Parent} is in the Canvas {outer.Name} already (Parent); a Panel holds elements together");
                }
                else if (below != null)
                {
                    if (UiParts.Of(below.Node!, "RectTransform") == null || (!isPrefab && CanvasOf(place, below.Node) == null))
                    {
                        throw new ToolParameterException($"{given.Parent} is in no Canvas, so nothing below it would be seen (Parent); create one there first (Kind)");
                    }
                }
                else
                {
                    below = FirstCanvas(context);
                    if (below == null && isPrefab) throw new ToolParameterException("The open prefab has no Canvas and is no element itself: name an element of it (Parent), or create a Canvas");
                    if (below == null)
                    {
                        below = Make(UiKind.Canvas, new EditUiSchema(), null, place, context);
                        more = ", in a new Canvas" + WithEvents(place, context);
                    }
                }
                CheckArranged(given, below?.Node);
                FoundObject made = Make(kind, given, below, place, context);
                if (kind == UiKind.Canvas && !isPrefab) more = WithEvents(place, context);
                return (made, $"Created {place.NameOf(made)}{more}" + (kind is UiKind.Text or UiKind.Button ? TextLack(context) : ""));
            });
        }

        private static string WithEvents(Workplace place, IToolContext context)
        {
            var events = new UiEvents(context);
            if (events.Present() is { } there) return events.Fits(there) ? events.Lack : $". {there.Path} does not fit this project's input: Kind EventSystem mends it{events.Lack}";
            return $", with {place.NameOf(events.Create(place, "EventSystem", null))}{events.Lack}";
        }

        private static FoundObject Make(UiKind kind, EditUiSchema given, FoundObject? below, Workplace place, IToolContext context)
        {
            IEnumerable<ISceneNode> beside = below?.Node!.Children ?? context.Get<IScenes>().Open().SelectMany(s => s.Roots);
            string name = given.Name ?? Free(kind.ToString(), beside.Select(n => n.Name));
            FoundObject made = place.Editor.Create(name, "", below, true);
            foreach (var (type, values) in UiRecipe.Of(kind, sprite => Sprite(context, sprite)))
            {
                ISceneComponent added = UiParts.Add(place, made, type);
                if (values.Count > 0) place.Editor.Set(added, values, target => ObjectFinder.Find(context, target, "Kind"));
            }
            if (kind == UiKind.Canvas && context.Get<IProjectFacts>().Read().Layers.Contains("UI")) place.Editor.Change(made, new ObjectChange { Layer = "UI" });
            if (kind == UiKind.Text) AddText(place, made, null, context);
            if (kind == UiKind.Button)
            {
                FoundObject letters = place.Editor.Create("Text", "", made, true);
                AddText(place, letters, Dark, context);
                Set(place, letters, new EditUiSchema { Anchor = UiAnchor.StretchAll, Size = new double[] { 0, 0 } }, context);
            }
            var (anchor, width, height) = UiRecipe.Place(kind);
            bool isArranged = below != null && UiParts.Of(below.Node!, "LayoutGroup") != null, isWritten = kind is UiKind.Text or UiKind.Button;
            anchor = given.Anchor ?? anchor;
            double Length(bool across, double own) => !isArranged && UiRecipe.Axis(anchor, across) is var axis && axis.From != axis.To ? 0 : own;
            Set(place, made, new EditUiSchema
            {
                Anchor = isArranged || kind == UiKind.Canvas ? null : anchor, Position = given.Position,
                Size = kind == UiKind.Canvas ? null : given.Size ?? new[] { Length(true, width), Length(false, height) },
                Text = given.Text ?? (isWritten ? name : null), FontSize = given.FontSize ?? (isWritten ? 28 : (double?)null),
                Color = given.Color, Spacing = given.Spacing, Resolution = given.Resolution
            }, context);
            return made;
        }

        private static bool Set(Workplace place, FoundObject one, EditUiSchema wanted, IToolContext context)
        {
            bool isChanged = false;
            foreach (var (component, values) in UiParts.Changes(wanted, one.Node!).ToList()) isChanged |= place.Editor.Set(component, values, target => place.Target(context, target));
            return isChanged;
        }

        private static void AddText(Workplace place, FoundObject one, double[]? color, IToolContext context)
        {
            bool isNew = HasNewText(context) && HasFonts(context);
            ISceneComponent text = UiParts.Add(place, one, isNew ? UiRecipe.NewText : UiRecipe.OldText);
            JObject values = UiRecipe.Text(isNew);
            values.Merge(UiRecipe.Letters(isNew, null, null, color));
            place.Editor.Set(text, values, target => place.Target(context, target));
        }

        private static bool HasNewText(IToolContext context) => context.Get<IObjectEditor>().ComponentTypes(UiRecipe.NewText).Count > 0;

        // Without them TextMesh Pro opens a window.
        private static bool HasFonts(IToolContext context) => context.Get<IAssets>().Find("t:TMP_Settings", "Assets").Count > 0;

        private static string TextLack(IToolContext context) => !HasNewText(context) || HasFonts(context) ? ""
            : ". Its text is of Unity's older kind, since TextMesh Pro's resources are not imported; the user can do it: Window > TextMeshPro > Import TMP Essential Resources";

        // A missing sprite is no reason to do nothing: then it is a plain rectangle.
        private static string? Sprite(IToolContext context, string name) =>
            context.Get<IObjects>().Parts(BuiltIn).Any(p => p.Name == name && p.View.IsA("Sprite")) ? $"{BuiltIn}#{name} (Sprite)" : null;

        private static string Free(string name, IEnumerable<string> taken)
        {
            var names = new HashSet<string>(taken, StringComparer.Ordinal);
            string free = name;
            for (int i = 1; names.Contains(free); i++) free = $"{name} ({i})";
            return free;
        }

        // The outermost one that is seen. A prefab that is open may be an element itself.
        private static FoundObject? FirstCanvas(IToolContext context)
        {
            ISceneNode? root = OpenPrefab.Root(context);
            ISceneNode? found = SceneWalk.All(context.Get<IScenes>().Open(), false).Take(Limits.SceneNodes).Select(s => s.Node).FirstOrDefault(n => UiParts.Of(n, UiRecipe.Canvas) != null) ??
                (root != null && UiParts.Of(root, "RectTransform") != null ? root : null);
            return found == null ? null : context.Get<IObjects>().Of(found);
        }

        private static ISceneNode? CanvasOf(Workplace place, ISceneNode? node)
        {
            for (ISceneNode? at = node; at != null; at = place.Editor.ParentOf(at))
            {
                if (UiParts.Of(at, UiRecipe.Canvas) != null) return at;
            }
            return null;
        }

        private static bool Places(EditUiSchema given) => given.Anchor != null || given.Position != null || given.Size != null;

        private static void CheckArranged(EditUiSchema given, ISceneNode? parent)
        {
            if (parent == null || UiParts.Of(parent, "LayoutGroup") is not { } layout) return;
            bool isGrid = layout.IsA("GridLayoutGroup");
            if (given.Anchor != null || given.Position != null || (isGrid && given.Size != null))
            {
                throw new ToolParameterException($"{parent.Name} arranges what is below it ({layout.TypeName}), so " + (isGrid
                    ? "Anchor, Position and Size are not to be given; the cells have m_CellSize of its GridLayoutGroup"
                    : "Anchor and Position are not to be given; SiblingIndex of edit-game-object is the order"));
            }
        }
    }
}
