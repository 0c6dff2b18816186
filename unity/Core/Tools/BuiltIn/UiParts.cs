#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>The components of an element, and what is changed of them.</summary>
    internal static class UiParts
    {
        /// <summary>A component of a GameObject; null if it has none of this type.</summary>
        public static ISceneComponent? Of(ISceneNode node, string type) => node.Components.FirstOrDefault(c => !c.IsMissing && c.IsA(type));

        /// <summary>The component that writes letters, and whether it is TextMesh Pro's; null if there is none.</summary>
        public static (ISceneComponent Component, bool IsNew)? Text(ISceneNode node) =>
            Of(node, "TMP_Text") is { } made ? (made, true) : Of(node, UiRecipe.OldText) is { } old ? (old, false) : null;

        /// <summary>Adds a component.</summary>
        /// <exception cref="ChangeRefusedException">Unity does not add it, or the project does not have it.</exception>
        public static ISceneComponent Add(Workplace place, FoundObject one, string type) =>
            (place.Editor.ComponentTypes(type).Count > 0 ? place.Editor.AddComponent(one, type) : null) ??
            throw new ChangeRefusedException($"Unity does not add {type} to {one.Name}. get-logs may tell why");

        /// <summary>Where an element is to lie, as properties of its RectTransform.</summary>
        /// <param name="given">What the caller wants.</param>
        /// <param name="now">Its RectTransform.</param>
        /// <exception cref="ToolParameterException">It cannot be told how large it shall be.</exception>
        private static JObject Rect(EditUiSchema given, ISceneComponent now)
        {
            var was = new JObject(now.Properties(true).Where(p => p.Name is "m_AnchorMin" or "m_AnchorMax" or "m_SizeDelta").Select(p => new JProperty(p.Name, JToken.FromObject(p.Value!))));
            var values = new JObject();
            if (given.Position is { } position) values["m_AnchoredPosition"] = new JArray(position[0], position[1]);
            if (given.Size is { } size) values["m_SizeDelta"] = new JArray(size[0], size[1]);
            if (given.Anchor is not { } anchor) return values;
            var (x, y) = (UiRecipe.Axis(anchor, true), UiRecipe.Axis(anchor, false));
            bool isOther = (Part(was, "m_AnchorMin", "x"), Part(was, "m_AnchorMax", "x"), Part(was, "m_AnchorMin", "y"), Part(was, "m_AnchorMax", "y")) != (x.From, x.To, y.From, y.To);
            (values["m_AnchorMin"], values["m_AnchorMax"], values["m_Pivot"]) = (new JArray(x.From, y.From), new JArray(x.To, y.To), new JArray(x.Pivot, y.Pivot));
            if (isOther && given.Position == null) values["m_AnchoredPosition"] = new JArray(0, 0);
            if (isOther && given.Size == null) values["m_SizeDelta"] = new JArray(Length(was, x, "x"), Length(was, y, "y"));
            return values;
        }

        private static double Part(JObject of, string name, string axis) => (double)of[name]![axis]!;

        // What stretched has no size of its own.
        private static double Length(JObject was, (double From, double To, double Pivot) axis, string name)
        {
            bool didStretch = Part(was, "m_AnchorMin", name) != Part(was, "m_AnchorMax", name), stretches = axis.From != axis.To;
            if (didStretch && !stretches) throw new ToolParameterException("Size is missing: it has none of its own so far, since it stretches with its parent");
            return didStretch == stretches ? Part(was, "m_SizeDelta", name) : 0;
        }

        /// <summary>What is to be changed of an element that is there.</summary>
        /// <exception cref="ToolParameterException">It has no part that this could be changed of.</exception>
        public static IEnumerable<(ISceneComponent Component, JObject Values)> Changes(EditUiSchema given, ISceneNode node)
        {
            ToolParameterException Without(string what, string parameter) => new($"{node.Name} has no {what} ({parameter})");
            if (given.Anchor != null || given.Position != null || given.Size != null)
            {
                ISceneComponent rect = Of(node, "RectTransform") ?? throw Without("RectTransform: it is no element of a user interface", "Object");
                yield return (rect, Rect(given, rect));
            }
            var own = Text(node);
            ISceneComponent? picture = Of(node, UiRecipe.Image);
            bool isOfText = given.Color != null && own != null;
            if (given.Text != null || given.FontSize != null || isOfText)
            {
                var (component, isNew) = own ?? node.Children.Select(Text).FirstOrDefault(t => t != null) ?? throw Without("text, nor has what is directly below it", given.Text != null ? "Text" : "FontSize");
                yield return (component, UiRecipe.Letters(isNew, given.Text, given.FontSize, isOfText ? given.Color : null));
            }
            if (given.Color != null && own == null) yield return (picture ?? throw Without("Image and no text", "Color"), new JObject { ["m_Color"] = UiRecipe.Color(given.Color) });
            if (given.Spacing is { } spacing)
            {
                ISceneComponent layout = Of(node, "LayoutGroup") ?? throw Without("layout group", "Spacing");
                yield return (layout, new JObject { ["m_Spacing"] = layout.IsA("GridLayoutGroup") ? new JArray(spacing, spacing) : new JValue(spacing) });
            }
            if (given.Resolution is { } screen)
            {
                yield return (Of(node, UiRecipe.Scaler) ?? throw Without("CanvasScaler", "Resolution"), new JObject { ["m_ReferenceResolution"] = new JArray(screen[0], screen[1]) });
            }
        }
    }
}
