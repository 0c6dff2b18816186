#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Takes what a window has drawn, with its tabs. Unity has no public method for this in all versions, so the one that its own
    /// recorder uses is called by reflection: GUIView.GrabPixels. Its source is not public. So how it has to be called is measured
    /// once for each scale of a display: with a window of ours whose corners have known colours.
    /// </summary>
    internal sealed class WindowGrab
    {
        private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

        // How far a part of a colour may be off. A colour that was encoded once too often or too little is further off.
        private const float Tolerance = 0.1f;

        private readonly object view;
        private readonly MethodInfo grab;
        private readonly float wide, high, scale;

        private WindowGrab(object view, MethodInfo grab, Rect place, float scale) =>
            (this.view, this.grab, wide, high, this.scale) = (view, grab, place.width, place.height, scale);

        /// <summary>Returns null if Unity does not give what the window has drawn.</summary>
        public static WindowGrab? Of(EditorWindow window)
        {
            object? view = typeof(EditorWindow).GetField("m_Parent", Hidden)?.GetValue(window);
            MethodInfo? grab = view?.GetType().GetMethod("GrabPixels", Hidden, null, new[] { typeof(RenderTexture), typeof(Rect) }, null);
            if (grab == null || view!.GetType().GetProperty("position", Hidden)?.GetValue(view) is not Rect { width: >= 1, height: >= 1 } place) return null;
            // The scale of the display on which the window is.
            object? own = view.GetType().GetMethod("GetBackingScaleFactor", Hidden, null, Type.EmptyTypes, null)?.Invoke(view, null);
            return new WindowGrab(view, grab, place, own is float and > 0 ? (float)own : EditorGUIUtility.pixelsPerPoint);
        }

        /// <summary>Whether it is known how windows on this display are taken, or that it cannot be found out.</summary>
        public bool IsMeasured => SessionState.GetString(Key, "").Length > 0;

        /// <summary>Whether the picture shows the whole window upright and in its colours.</summary>
        public bool IsSure => SessionState.GetString(Key, "") is { Length: > 0 } known && known != Unknown;

        /// <summary>Its width in pixels.</summary>
        public int Width => Math.Max(1, (int)Math.Round(wide * scale));

        /// <summary>Its height in pixels.</summary>
        public int Height => Math.Max(1, (int)Math.Round(high * scale));

        /// <summary>What the window has drawn, at most this wide, or a part of it as it is.</summary>
        public Texture2D Take(int width, IReadOnlyList<double>? region) =>
            Take(Way.Read(SessionState.GetString(Key, "")), region == null ? width : int.MaxValue, region);

        /// <summary>Says that it will be measured. If that does not end, for instance by a domain reload, it is not tried again.</summary>
        public void Begin() => SessionState.SetString(Key, Unknown);

        /// <summary>Finds out how windows on this display are taken. This one has drawn <see cref="Corners"/>.</summary>
        public void Measure()
        {
            Way? found = null;
            foreach (Way way in Way.All)
            {
                Texture2D seen = Take(way, int.MaxValue, null);
                try
                {
                    List<Color> corners = CornersOf(seen);
                    if (AreAlike(corners, Corners)) found = way;
                    else if (AreAlike(corners.Skip(2).Concat(corners.Take(2)).ToList(), Corners)) found = way with { UpsideDown = true };
                }
                finally
                {
                    UnityEngine.Object.DestroyImmediate(seen);
                }
                if (found != null) break;
            }
            SessionState.SetString(Key, found?.ToString() ?? Unknown);
        }

        /// <summary>The colours at the top left, top right, bottom left and bottom right of the window that is measured.</summary>
        public static readonly IReadOnlyList<Color> Corners = new[]
        {
            new Color(0.75f, 0.25f, 0.25f, 1), new Color(0.25f, 0.75f, 0.25f, 1), new Color(0.25f, 0.25f, 0.75f, 1), new Color(0.75f, 0.75f, 0.25f, 1)
        };

        private const string Unknown = "unknown";

        private string Key => "Holdfast.Grab." + scale.ToString(CultureInfo.InvariantCulture);

        private Texture2D Take(Way way, int width, IReadOnlyList<double>? region)
        {
            (int across, int down) = (Width, Height);
            float shrink = Math.Min(1, (float)width / across);
            int least = Math.Max(1, (int)(across * shrink)), lower = Math.Max(1, (int)(down * shrink));
            RenderTextureReadWrite colours = way.Linear ? RenderTextureReadWrite.Linear : RenderTextureReadWrite.Default;
            RenderTexture grabbed = RenderTexture.GetTemporary(across, down, 0, RenderTextureFormat.Default, colours);
            RenderTexture turned = RenderTexture.GetTemporary(least, lower, 0, RenderTextureFormat.Default, colours);
            RenderTexture upright = RenderTexture.GetTemporary(least, lower, 0, RenderTextureFormat.Default, colours);
            try
            {
                grab.Invoke(view, new object[] { grabbed, way.Pixels ? new Rect(0, 0, across, down) : new Rect(0, 0, wide, high) });
                // Unity's own material turns the picture if the graphics device needs it.
                if (EditorGUIUtility.Load("SceneView/BlitSceneViewCapture.mat") is Material turn) Graphics.Blit(grabbed, turned, turn);
                else Graphics.Blit(grabbed, turned);
                if (way.UpsideDown) Graphics.Blit(turned, upright, new Vector2(1, -1), new Vector2(0, 1));
                else Graphics.Blit(turned, upright);
                return EditorScreen.Read(upright, region);
            }
            finally
            {
                foreach (RenderTexture one in new[] { grabbed, turned, upright }) RenderTexture.ReleaseTemporary(one);
            }
        }

        // The first row of a texture is the lowest one.
        private static List<Color> CornersOf(Texture2D seen)
        {
            int left = seen.width / 8, right = seen.width - 1 - left, low = seen.height / 8, top = seen.height - 1 - low;
            return new List<Color> { seen.GetPixel(left, top), seen.GetPixel(right, top), seen.GetPixel(left, low), seen.GetPixel(right, low) };
        }

        private static bool AreAlike(IReadOnlyList<Color> seen, IReadOnlyList<Color> drawn) => seen.Zip(drawn, (a, b) =>
            Math.Abs(a.r - b.r) < Tolerance && Math.Abs(a.g - b.g) < Tolerance && Math.Abs(a.b - b.b) < Tolerance).All(alike => alike);

        /// <summary>A way to call GrabPixels, and what its picture needs.</summary>
        /// <param name="Pixels">Whether the place is given in pixels. Otherwise it is in points, as in Unity's own calls.</param>
        /// <param name="Linear">Whether the texture takes colours as they are. Otherwise the project's colour space decides.</param>
        /// <param name="UpsideDown">Whether the picture has to be turned.</param>
        private sealed record Way(bool Pixels, bool Linear, bool UpsideDown)
        {
            public static readonly Way[] All = { new(false, false, false), new(true, false, false), new(false, true, false), new(true, true, false) };

            public override string ToString() => $"{(Pixels ? "pixels" : "points")} {(Linear ? "linear" : "default")} {(UpsideDown ? "turned" : "upright")}";

            public static Way Read(string text) => new(text.StartsWith("pixels", StringComparison.Ordinal), text.Contains(" linear "), text.EndsWith(" turned", StringComparison.Ordinal));
        }
    }
}
