#nullable enable
using System;
using System.Linq;

namespace Holdfast
{
    /// <summary>The prefab that is open for editing.</summary>
    internal static class OpenPrefab
    {
        /// <summary>Its root; null if none is open.</summary>
        public static ISceneNode? Root(IToolContext context) =>
            context.Get<IScenes>().Open().Where(s => s.Kind == SceneKind.Prefab).SelectMany(s => s.Roots).FirstOrDefault();

        /// <summary>
        /// Makes the open prefab ready for a change: from now on only a tool or the user saves it. Unity's Auto Save opens a dialog
        /// whenever it cannot save.
        /// </summary>
        /// <returns>Why it may not be changed; null if it may, or if none is open.</returns>
        public static string? WhyNotChanged(IToolContext context)
        {
            IPrefabs prefabs = context.Get<IPrefabs>();
            string path = prefabs.OpenPath;
            if (path.Length == 0) return null;
            prefabs.StopAutoSave();
            if (!path.StartsWith("Assets/", StringComparison.Ordinal))
            {
                return $"{path} belongs to a package, so the open prefab is not changed. Close it, copy it below Assets/ with edit-asset, and open the copy";
            }
            return AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, path)
                ? $"{path} is read-only, so the open prefab is not changed; check it out or make it writable first"
                : null;
        }
    }
}
