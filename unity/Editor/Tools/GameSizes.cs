#nullable enable
using System;
using System.Collections.Generic;
using System.Reflection;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Shows the game at other resolutions, as the list in the game view does. A camera that renders by itself draws no canvas that lies over
    /// the screen, and canvases have the size of the game view; so it is the game view that draws. Its type is internal.
    /// </summary>
    internal sealed class GameSizes
    {
        private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

        // The game view has one entry of this name in its list, which is used again.
        private const string Name = "Holdfast";

        private readonly EditorWindow window;
        private readonly MethodInfo set, select;
        private readonly FieldInfo drawn;
        private readonly int before;

        private GameSizes(EditorWindow window, MethodInfo set, MethodInfo select, FieldInfo drawn, int before) =>
            (this.window, this.set, this.select, this.drawn, this.before) = (window, set, select, drawn, before);

        /// <summary>Returns null if Unity does not let the window be given a resolution.</summary>
        public static GameSizes? Of(EditorWindow window)
        {
            Type type = window.GetType();
            MethodInfo? set = type.GetMethod("SetCustomResolution", Hidden, null, new[] { typeof(Vector2), typeof(string) }, null);
            MethodInfo? select = type.GetMethod("SizeSelectionCallback", Hidden, null, new[] { typeof(int), typeof(object) }, null);
            FieldInfo? drawn = type.GetField("m_RenderTexture", Hidden);
            return set != null && select != null && drawn != null && type.GetProperty("selectedSizeIndex", Hidden)?.GetValue(window) is int before
                ? new GameSizes(window, set, select, drawn, before) : null;
        }

        public void Set(int width, int height) => set.Invoke(window, new object[] { new Vector2(width, height), Name });

        // Canvases and layouts follow in an update of the game, which the editor makes only when it is asked while the game does not run.
        public void Draw()
        {
            EditorApplication.QueuePlayerLoopUpdate();
            window.Repaint();
        }

        /// <summary>What it has drawn, at most this long on each side, or a part of it as it is. Null if it has another resolution.</summary>
        public Texture2D? Take(int width, int height, int longest, IReadOnlyList<double>? region)
        {
            if (drawn.GetValue(window) is not RenderTexture seen || seen == null || seen.width != width || seen.height != height) return null;
            float shrink = region != null ? 1 : Math.Min(1, (float)longest / Math.Max(width, height));
            RenderTexture upright = RenderTexture.GetTemporary(Math.Max(1, (int)(width * shrink)), Math.Max(1, (int)(height * shrink)), 0);
            try
            {
                // The game view turns it, too, when it draws it: what is drawn for a screen begins at the top on some devices.
                if (SystemInfo.graphicsUVStartsAtTop) Graphics.Blit(seen, upright, new Vector2(1, -1), new Vector2(0, 1));
                else Graphics.Blit(seen, upright);
                return EditorScreen.Read(upright, region);
            }
            finally
            {
                RenderTexture.ReleaseTemporary(upright);
            }
        }

        public void End()
        {
            select.Invoke(window, new object?[] { before, null });
            window.Repaint();
        }
    }
}
