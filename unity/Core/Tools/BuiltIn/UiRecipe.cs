#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// What the elements of Unity's user interface are made of: components and serialised properties, as they are in the package
    /// com.unity.ugui and in TextMesh Pro. A project may have neither, so they are known by name only.
    /// </summary>
    internal static class UiRecipe
    {
        public const string Package = "com.unity.ugui", Canvas = "UnityEngine.Canvas", Scaler = "UnityEngine.UI.CanvasScaler", Raycaster = "UnityEngine.UI.GraphicRaycaster",
            Image = "UnityEngine.UI.Image", Button = "UnityEngine.UI.Button", OldText = "UnityEngine.UI.Text", NewText = "TMPro.TextMeshProUGUI",
            Events = "UnityEngine.EventSystems.EventSystem", OldInput = "UnityEngine.EventSystems.StandaloneInputModule",
            NewInput = "UnityEngine.InputSystem.UI.InputSystemUIInputModule";

        // Values of Unity's enums: RenderMode.ScreenSpaceOverlay, CanvasScaler.ScaleMode.ScaleWithScreenSize, Image.Type.Sliced,
        // TextAnchor.MiddleCenter, VerticalWrapMode.Overflow, HorizontalAlignmentOptions.Center and VerticalAlignmentOptions.Middle.
        private const int Overlay = 0, WithScreen = 1, Sliced = 1, Middle = 4, Overflow = 1, TextCenter = 2, TextMiddle = 512;

        /// <summary>The components of an element, in the order in which they are added.</summary>
        /// <param name="kind">The element. A text and an EventSystem have parts that the project decides.</param>
        /// <param name="sprite">Gives one of Unity's own sprites; null if there is none of this name.</param>
        public static IEnumerable<(string Type, JObject Values)> Of(UiKind kind, Func<string, string?> sprite) => kind switch
        {
            UiKind.Canvas => new[]
            {
                (Canvas, new JObject { ["m_RenderMode"] = Overlay }),
                // Half of the width and half of the height count, so that it fits both ways.
                (Scaler, new JObject { ["m_UiScaleMode"] = WithScreen, ["m_ReferenceResolution"] = new JArray(1920, 1080), ["m_MatchWidthOrHeight"] = 0.5 }),
                (Raycaster, new JObject())
            },
            UiKind.Panel => new[] { (Image, Drawn(sprite("Background"), 1, 0.392)) },
            UiKind.Image => new[] { (Image, new JObject()) },
            UiKind.Button => new[] { (Image, Drawn(sprite("UISprite"), 1, 1)), (Button, new JObject()) },
            UiKind.Row => new[] { ("UnityEngine.UI.HorizontalLayoutGroup", Line()) },
            UiKind.Column => new[] { ("UnityEngine.UI.VerticalLayoutGroup", Line()) },
            UiKind.Grid => new[] { ("UnityEngine.UI.GridLayoutGroup", new JObject { ["m_ChildAlignment"] = Middle }) },
            _ => Array.Empty<(string, JObject)>()
        };

        /// <summary>How a new element lies in its parent, and how large it is where it does not stretch.</summary>
        public static (UiAnchor Anchor, double Width, double Height) Place(UiKind kind) => kind switch
        {
            UiKind.Button => (UiAnchor.MiddleCenter, 240, 60),
            UiKind.Text => (UiAnchor.MiddleCenter, 400, 60),
            UiKind.Image => (UiAnchor.MiddleCenter, 100, 100),
            _ => (UiAnchor.StretchAll, 400, 300)
        };

        /// <summary>What a component of a text gets: letters in the middle, which are not cut off.</summary>
        public static JObject Text(bool isNew) => isNew
            ? new JObject { ["m_HorizontalAlignment"] = TextCenter, ["m_VerticalAlignment"] = TextMiddle }
            : new JObject { ["m_FontData.m_Alignment"] = Middle, ["m_FontData.m_VerticalOverflow"] = Overflow };

        /// <summary>The properties of what is written, of the size of the letters and of their colour.</summary>
        public static JObject Letters(bool isNew, string? text, double? size, double[]? color)
        {
            var values = new JObject();
            if (text != null) values[isNew ? "m_text" : "m_Text"] = text;
            if (size is { } points && isNew) (values["m_fontSize"], values["m_fontSizeBase"]) = (points, points);
            else if (size is { } whole) values["m_FontData.m_FontSize"] = (int)Math.Round(whole);
            if (color != null) values[isNew ? "m_fontColor" : "m_Color"] = Color(color);
            return values;
        }

        /// <summary>A colour; without a fourth number it is opaque.</summary>
        public static JArray Color(double[] color) => new(color.Concat(new[] { 1.0 }).Take(4).Cast<object>().ToArray());

        /// <summary>Where an anchor is on an axis: its beginning, its end, and the pivot. 0 is left and below.</summary>
        public static (double From, double To, double Pivot) Axis(UiAnchor anchor, bool across)
        {
            int place = across ? (int)anchor % 4 : (int)anchor / 4;
            if (place == 3) return (0, 1, 0.5);
            double at = across ? place / 2.0 : 1 - place / 2.0;
            return (at, at, at);
        }

        private static JObject Drawn(string? sprite, double grey, double alpha)
        {
            var values = new JObject { ["m_Color"] = Color(new[] { grey, grey, grey, alpha }) };
            if (sprite != null) (values["m_Sprite"], values["m_Type"]) = (sprite, Sliced);
            return values;
        }

        // What is below it keeps its size, and lies together in the middle.
        private static JObject Line() => new()
        {
            ["m_ChildAlignment"] = Middle, ["m_ChildControlWidth"] = false, ["m_ChildControlHeight"] = false, ["m_ChildForceExpandWidth"] = false, ["m_ChildForceExpandHeight"] = false
        };
    }
}
