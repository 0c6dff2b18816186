using System;
using System.Collections.Generic;
using System.Linq;
using EditorHost;
using UnityEngine;
using UnityEngine.SceneManagement;
using UnityEngine.UI;

namespace UnityEditor
{
    // The sizes are in a list, as in Unity: the first one is the window's own, and those of tools follow.
    internal sealed class GameView : EditorWindow
    {
        private readonly List<(Vector2 Size, string Name)> sizes = new() { (new Vector2(800, 426), "Free Aspect"), (new Vector2(1920, 1080), "Full HD") };

        private RenderTexture m_RenderTexture;

        public int selectedSizeIndex
        {
            get => Counted.GameSize;
            private set => Counted.GameSize = value;
        }

        internal Vector2 Size => sizes[selectedSizeIndex].Size;

        public void SizeSelectionCallback(int indexClicked, object objectSelected) => selectedSizeIndex = indexClicked;

        // A size with this name is changed, and used again.
        internal void SetCustomResolution(Vector2 res, string baseName)
        {
            int known = sizes.FindIndex(s => s.Name.StartsWith(baseName));
            if (known < 0) sizes.Add((res, baseName));
            else sizes[known] = (res, baseName);
            selectedSizeIndex = known < 0 ? sizes.Count - 1 : known;
        }

        /// <summary>Draws what a player would see. Some graphics devices have the first row of a screen at the top.</summary>
        internal void Render()
        {
            Color[] seen = UiScreen.Seen(Size.x, Size.y);
            if (SystemInfo.graphicsUVStartsAtTop) seen = seen.Skip(2).Concat(seen.Take(2)).ToArray();
            int most = Native.Current.Flag("smallTextures") ? 1000 : 16384;
            m_RenderTexture = new RenderTexture { width = Math.Min(most, (int)Size.x), height = Math.Min(most, (int)Size.y), Corners = seen };
        }
    }

    /// <summary>
    /// What canvases that lie over the screen show of the open scenes: the colour of each quarter is that of the last image or text whose
    /// middle is in it, or which covers the quarter's middle. Elements lie as RectTransforms, canvas scalers and layout groups put them.
    /// </summary>
    internal static class UiScreen
    {
        private static readonly Color Nothing = new(0x80 / 255f, 0x80 / 255f, 0x80 / 255f, 1);

        public static Color[] Seen(float width, float height)
        {
            var seen = new[] { Nothing, Nothing, Nothing, Nothing };
            foreach (GameObject one in SceneManager.Open.SelectMany(s => s.All()).Where(o => o.activeInHierarchy && Of<Canvas>(o) is { } canvas && Number(canvas, "m_RenderMode") == 0))
            {
                float scale = Of<CanvasScaler>(one) is { } scaler ? Scale(scaler, width, height) : 1;
                Draw(one, new Rect(0, 0, width / scale, height / scale), scale, width, height, seen);
            }
            return seen;
        }

        private static float Scale(CanvasScaler scaler, float width, float height)
        {
            if (Number(scaler, "m_UiScaleMode") != 1) return 1;
            double across = Math.Log(width / Number(scaler, "m_ReferenceResolution.x"), 2), down = Math.Log(height / Number(scaler, "m_ReferenceResolution.y"), 2);
            double match = Number(scaler, "m_MatchWidthOrHeight");
            return (float)Math.Pow(2, across + (down - across) * match);
        }

        private static void Draw(GameObject one, Rect place, float scale, float width, float height, Color[] seen)
        {
            foreach (Graphic graphic in one.GetComponents<Graphic>())
            {
                for (int quarter = 0; quarter < 4; quarter++)
                {
                    float x = (quarter % 2 == 0 ? 0.25f : 0.75f) * width / scale, y = (quarter < 2 ? 0.75f : 0.25f) * height / scale;
                    bool covers = x >= place.x && x <= place.x + place.width && y >= place.y && y <= place.y + place.height;
                    float middleX = place.x + place.width / 2, middleY = place.y + place.height / 2;
                    bool isIn = Math.Abs(middleX - x) < width / scale / 4 && Math.Abs(middleY - y) < height / scale / 4;
                    if (covers || isIn) seen[quarter] = ColorOf(graphic);
                }
            }
            List<GameObject> below = Enumerable.Range(0, one.transform.childCount).Select(i => one.transform.GetChild(i).gameObject).Where(o => o.activeSelf && o.transform is RectTransform).ToList();
            Rect[] places = Of<LayoutGroup>(one) is { } layout ? Arranged(layout, below, place) : below.Select(o => Placed(o.transform, place)).ToArray();
            for (int i = 0; i < below.Count; i++) Draw(below[i], places[i], scale, width, height, seen);
        }

        private static Rect Placed(Transform one, Rect parent)
        {
            (float, float) Axis(string axis, float from, float length)
            {
                float low = from + length * Number(one, "m_AnchorMin." + axis), high = from + length * Number(one, "m_AnchorMax." + axis);
                float pivot = Number(one, "m_Pivot." + axis), size = high - low + Number(one, "m_SizeDelta." + axis);
                return (low + (high - low) * pivot + Number(one, "m_AnchoredPosition." + axis) - size * pivot, size);
            }
            var (x, width) = Axis("x", parent.x, parent.width);
            var (y, height) = Axis("y", parent.y, parent.height);
            return new Rect(x, y, width, height);
        }

        // In the middle, each with its own size.
        private static Rect[] Arranged(LayoutGroup layout, List<GameObject> below, Rect parent)
        {
            bool isRow = layout is HorizontalLayoutGroup;
            float Side(GameObject one, string axis) => layout is GridLayoutGroup ? Number(layout, "m_CellSize." + axis) : Number(one.transform, "m_SizeDelta." + axis);
            float space = layout is GridLayoutGroup ? Number(layout, "m_Spacing.x") : Number(layout, "m_Spacing");
            string along = isRow || layout is GridLayoutGroup ? "x" : "y";
            float whole = below.Sum(o => Side(o, along)) + space * Math.Max(0, below.Count - 1), middleX = parent.x + parent.width / 2, middleY = parent.y + parent.height / 2, at = -whole / 2;
            return below.Select(o =>
            {
                (float width, float height) = (Side(o, "x"), Side(o, "y"));
                float from = at;
                at += (along == "x" ? width : height) + space;
                return along == "x" ? new Rect(middleX + from, middleY - height / 2, width, height) : new Rect(middleX - width / 2, middleY - from - height, width, height);
            }).ToArray();
        }

        private static T Of<T>(GameObject one) => one.GetComponents<T>().FirstOrDefault();

        private static Color ColorOf(Graphic graphic)
        {
            string name = graphic is TMPro.TMP_Text ? "m_fontColor." : "m_Color.";
            return new Color(Number(graphic, name + "r"), Number(graphic, name + "g"), Number(graphic, name + "b"), 1);
        }

        private static float Number(Component one, string path)
        {
            using var serialized = new SerializedObject(one);
            SerializedProperty property = serialized.FindProperty(path);
            return property.propertyType == SerializedPropertyType.Float ? property.floatValue : property.intValue;
        }
    }
}
