#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEngine;
using UnityEngine.Rendering;

namespace Holdfast.Editor
{
    /// <summary>
    /// Implements the port of pictures. Unity offers no public method for a picture of a window in all versions, so the one
    /// that its own recorder uses is called by reflection: GUIView.GrabPixels.
    /// </summary>
    internal sealed class EditorScreen : IScreen
    {
        private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

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

        public Picture? OfWindow(string window, int width)
        {
            EditorWindow? found = Find(window);
            object? view = found == null ? null : typeof(EditorWindow).GetField("m_Parent", Hidden)?.GetValue(found);
            MethodInfo? grab = view?.GetType().GetMethod("GrabPixels", Hidden, null, new[] { typeof(RenderTexture), typeof(Rect) }, null);
            if (grab == null) return null;
            Rect place = found!.position;
            float scale = EditorGUIUtility.pixelsPerPoint;
            int across = (int)(place.width * scale), down = (int)(place.height * scale);
            if (across < 1 || down < 1) return null;
            float shrink = Math.Min(1, (float)width / across);
            RenderTexture grabbed = RenderTexture.GetTemporary(across, down, 0);
            RenderTexture upright = RenderTexture.GetTemporary(Math.Max(1, (int)(across * shrink)), Math.Max(1, (int)(down * shrink)), 0);
            try
            {
                grab.Invoke(view, new object[] { grabbed, new Rect(0, 0, place.width, place.height) });
                // Unity's own material turns the picture if the graphics device needs it.
                if (EditorGUIUtility.Load("SceneView/BlitSceneViewCapture.mat") is Material turn) Graphics.Blit(grabbed, upright, turn);
                else Graphics.Blit(grabbed, upright);
                return Read(upright);
            }
            finally
            {
                RenderTexture.ReleaseTemporary(grabbed);
                RenderTexture.ReleaseTemporary(upright);
            }
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
                return Read(target);
            }
            finally
            {
                camera.targetTexture = before;
                RenderTexture.ReleaseTemporary(target);
            }
        }

        private static Picture Read(RenderTexture from)
        {
            RenderTexture? before = RenderTexture.active;
            var read = new Texture2D(from.width, from.height, TextureFormat.RGB24, false);
            try
            {
                RenderTexture.active = from;
                read.ReadPixels(new Rect(0, 0, from.width, from.height), 0, 0);
                read.Apply();
                return new Picture(read.EncodeToPNG(), from.width, from.height);
            }
            finally
            {
                RenderTexture.active = before;
                UnityEngine.Object.DestroyImmediate(read);
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
