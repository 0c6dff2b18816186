#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.Rendering;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of pictures.</summary>
    internal sealed class EditorScreen : IScreen
    {
        private CornersWindow? corners;
        private GameSizes? game;

        public bool HasGraphics => SystemInfo.graphicsDeviceType != GraphicsDeviceType.Null;

        public IReadOnlyList<string> Windows() =>
            Resources.FindObjectsOfTypeAll<EditorWindow>().Select(w => w.titleContent.text).Where(t => !string.IsNullOrEmpty(t)).Distinct().OrderBy(t => t, StringComparer.Ordinal).ToList();

        public bool? Show(string window)
        {
            EditorWindow? found = Find(window);
            if (found == null) return null;
            // It has the focus among the tabs of its place, which is not the focus of the keyboard.
            bool wasBehind = !found.hasFocus;
            if (wasBehind) found.Focus();
            found.Repaint();
            return wasBehind;
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

        public Picture? OfWindow(string window, PictureFrame frame)
        {
            WindowGrab? grab = Find(window) is { } found ? WindowGrab.Of(found) : null;
            return grab == null ? null : Encoded(grab.Take(frame.Width, frame.Region), grab.IsSure, frame, grab.Width, grab.Height);
        }

        public string? SetGameSize(int width, int height)
        {
            game ??= Find("Game") is { } window ? GameSizes.Of(window) : null;
            if (game == null) return "Only the game view can be given a resolution, and the device simulator is in its place, or this Unity does not let it";
            game.Set(width, height);
            return null;
        }

        public void DrawGame() => game?.Draw();

        public Picture? OfGame(int width, int height, PictureFrame frame) =>
            game?.Take(width, height, frame.Width, frame.Region) is { } read ? Encoded(read, true, frame, width, height) : null;

        public void EndGameSizes()
        {
            game?.End();
            game = null;
        }

        public Picture? OfCamera(FoundObject? one, PictureFrame frame)
        {
            Camera? camera = one == null ? Camera.main : EditorObjects.GameObject(one).GetComponents<Camera>().FirstOrDefault();
            return camera == null ? null : Rendered(camera, frame);
        }

        public ObjectBox BoxOf(FoundObject one)
        {
            GameObject root = EditorObjects.GameObject(one);
            Bounds? box = null;
            foreach (Renderer renderer in root.GetComponentsInChildren<Renderer>().Where(r => r.enabled))
            {
                Bounds all = box ?? renderer.bounds;
                all.Encapsulate(renderer.bounds);
                box = all;
            }
            Vector3 center = box?.center ?? root.transform.position, half = box?.extents ?? new Vector3(0.5f, 0.5f, 0.5f);
            return new ObjectBox(new double[] { center.x, center.y, center.z }, Math.Sqrt(half.x * half.x + half.y * half.y + half.z * half.z), box != null);
        }

        // Unity's own previews are made by such objects, too.
        public Picture OfPlace(CameraPlace place, PictureFrame frame)
        {
            GameObject holder = EditorUtility.CreateGameObjectWithHideFlags("Holdfast Camera", HideFlags.HideAndDontSave, typeof(Camera));
            try
            {
                Camera camera = holder.GetComponents<Camera>()[0];
                camera.enabled = false;
                if (PrefabStageUtility.GetCurrentPrefabStage() is { } stage) camera.scene = stage.scene;
                holder.transform.position = Vector(place.Position);
                holder.transform.eulerAngles = Vector(place.Rotation);
                (camera.fieldOfView, camera.nearClipPlane, camera.farClipPlane) = ((float)place.FieldOfView, (float)place.Near, (float)place.Far);
                return Rendered(camera, frame);
            }
            finally
            {
                UnityEngine.Object.DestroyImmediate(holder);
            }
        }

        private static Vector3 Vector(IReadOnlyList<double> parts) => new((float)parts[0], (float)parts[1], (float)parts[2]);

        private static Picture Rendered(Camera camera, PictureFrame frame)
        {
            RenderTexture? before = camera.targetTexture;
            RenderTexture target = RenderTexture.GetTemporary(frame.Width, frame.Height, 24);
            try
            {
                camera.targetTexture = target;
                camera.Render();
                return Encoded(Read(target, frame.Region), true, frame, frame.Width, frame.Height);
            }
            finally
            {
                camera.targetTexture = before;
                RenderTexture.ReleaseTemporary(target);
            }
        }

        // A picture without losses, unless it is too large for whoever gets it.
        private static Picture Encoded(Texture2D read, bool isSure, PictureFrame frame, int wholeWidth, int wholeHeight)
        {
            try
            {
                byte[] data = read.EncodeToPNG();
                string type = "image/png";
                foreach (int quality in new[] { 90, 75, 50 })
                {
                    if (data.Length <= frame.Bytes) break;
                    (data, type) = (read.EncodeToJPG(quality), "image/jpeg");
                }
                return new Picture(data.Length <= frame.Bytes ? data : null, type, read.width, read.height, isSure) { WholeWidth = wholeWidth, WholeHeight = wholeHeight };
            }
            finally
            {
                UnityEngine.Object.DestroyImmediate(read);
            }
        }

        /// <summary>Reads what was rendered, or a part of it.</summary>
        internal static Texture2D Read(RenderTexture from, IReadOnlyList<double>? region)
        {
            RenderTexture? before = RenderTexture.active;
            Rect part = Part(from.width, from.height, region);
            var read = new Texture2D((int)part.width, (int)part.height, TextureFormat.RGB24, false);
            try
            {
                RenderTexture.active = from;
                read.ReadPixels(part, 0, 0);
                read.Apply();
                return read;
            }
            finally
            {
                RenderTexture.active = before;
            }
        }

        // Whole pixels, counted from the lower left.
        private static Rect Part(int width, int height, IReadOnlyList<double>? region)
        {
            if (region == null) return new Rect(0, 0, width, height);
            int left = Math.Min(width - 1, (int)(region[0] * width)), top = Math.Min(height - 1, (int)(region[1] * height));
            int across = Math.Max(1, Math.Min(width - left, (int)Math.Round(region[2] * width))), down = Math.Max(1, Math.Min(height - top, (int)Math.Round(region[3] * height)));
            return new Rect(left, height - top - down, across, down);
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
