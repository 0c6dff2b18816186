#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEngine;
using UnityEngine.Rendering;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of pictures.</summary>
    internal sealed class EditorScreen : IScreen
    {
        private CornersWindow? corners;

        public bool HasGraphics => SystemInfo.graphicsDeviceType != GraphicsDeviceType.Null;

        public IReadOnlyList<string> Windows() =>
            Resources.FindObjectsOfTypeAll<EditorWindow>().Select(w => w.titleContent.text).Where(t => !string.IsNullOrEmpty(t)).Distinct().OrderBy(t => t, StringComparer.Ordinal).ToList();

        public bool Show(string window)
        {
            EditorWindow? found = Find(window);
            if (found == null) return false;
            // It has the focus among the tabs of its place, which is not the focus of the keyboard.
            if (!found.hasFocus) found.Focus();
            found.Repaint();
            return true;
        }

        public bool BeginMeasuring(string window)
        {
            EditorWindow? found = Application.isBatchMode ? null : Find(window);
            if (found == null || WindowGrab.Of(found) is not { IsMeasured: false } grab) return false;
            grab.Begin();
            corners = CornersWindow.Open(found.position);
            return true;
        }

        public void EndMeasuring()
        {
            if (corners == null) return;
            try
            {
                WindowGrab.Of(corners)?.Measure();
            }
            finally
            {
                corners.Close();
                corners = null;
            }
        }

        public Picture? OfWindow(string window, int width)
        {
            WindowGrab? grab = Find(window) is { } found ? WindowGrab.Of(found) : null;
            return grab == null ? null : Encoded(grab.Take(width), grab.IsSure);
        }

        public Picture? OfCamera(FoundObject? one, int width, int height)
        {
            Camera? camera = one == null ? Camera.main : EditorObjects.GameObject(one).GetComponents<Camera>().FirstOrDefault();
            if (camera == null) return null;
            RenderTexture? before = camera.targetTexture;
            RenderTexture target = RenderTexture.GetTemporary(width, height, 24);
            try
            {
                camera.targetTexture = target;
                camera.Render();
                return Encoded(Read(target), true);
            }
            finally
            {
                camera.targetTexture = before;
                RenderTexture.ReleaseTemporary(target);
            }
        }

        private static Picture Encoded(Texture2D read, bool isSure)
        {
            try
            {
                return new Picture(read.EncodeToPNG(), read.width, read.height, isSure);
            }
            finally
            {
                UnityEngine.Object.DestroyImmediate(read);
            }
        }

        /// <summary>Reads what was rendered.</summary>
        internal static Texture2D Read(RenderTexture from)
        {
            RenderTexture? before = RenderTexture.active;
            var read = new Texture2D(from.width, from.height, TextureFormat.RGB24, false);
            try
            {
                RenderTexture.active = from;
                read.ReadPixels(new Rect(0, 0, from.width, from.height), 0, 0);
                read.Apply();
                return read;
            }
            finally
            {
                RenderTexture.active = before;
            }
        }

        // The type of the game view is internal. The device simulator can stand in its place.
        private static EditorWindow? Find(string window) => window switch
        {
            "Game" => Resources.FindObjectsOfTypeAll<EditorWindow>().FirstOrDefault(w => w.GetType().Name is "GameView" or "SimulatorWindow"),
            "Scene" => UnityEditor.SceneView.lastActiveSceneView,
            _ => Resources.FindObjectsOfTypeAll<EditorWindow>().FirstOrDefault(w => string.Equals(w.titleContent.text, window, StringComparison.OrdinalIgnoreCase))
        };
    }
}
