#nullable enable
using System;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>A small window with a colour in each corner. It is there for a few frames, once for each scale of a display.</summary>
    internal sealed class CornersWindow : EditorWindow
    {
        private const int Side = 64;

        // Not kept over a domain reload, after which nobody would close the window.
        [NonSerialized] private bool isMeasured;

        /// <summary>Opens it where another window is, so that it is on the same display.</summary>
        public static CornersWindow Open(Rect over)
        {
            var window = CreateInstance<CornersWindow>();
            window.isMeasured = true;
            window.minSize = new Vector2(Side, Side);
            window.position = new Rect(over.x, over.y, Side, Side);
            window.ShowPopup();
            window.Repaint();
            return window;
        }

        private void OnGUI()
        {
            if (!isMeasured)
            {
                Close();
                return;
            }
            float half = position.width / 2, middle = position.height / 2;
            for (int i = 0; i < WindowGrab.Corners.Count; i++) EditorGUI.DrawRect(new Rect(i % 2 * half, i / 2 * middle, half, middle), WindowGrab.Corners[i]);
        }
    }
}
